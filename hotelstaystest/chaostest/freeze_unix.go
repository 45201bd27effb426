//go:build unix

package chaostest

import (
	"errors"
	"syscall"
)

// Freeze stops the process with SIGSTOP, as if its machine were suspended, and returns when it stands still:
// until then some of its threads may go on.
func (p *Process) Freeze() error {
	if err := p.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		if _, err := syscall.Wait4(p.Cmd.Process.Pid, nil, syscall.WUNTRACED, nil); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Thaw continues a process after Freeze.
func (p *Process) Thaw() error { return p.Cmd.Process.Signal(syscall.SIGCONT) }
