//go:build unix

package chaostest

import "syscall"

// Freeze stops the process with SIGSTOP, as if its machine were suspended. On Linux it returns when all
// threads of the process have stopped.
func (p *Process) Freeze() error {
	if err := p.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	awaitStop(p.Cmd.Process.Pid)
	return nil
}

// Thaw continues a process after Freeze.
func (p *Process) Thaw() error { return p.Cmd.Process.Signal(syscall.SIGCONT) }
