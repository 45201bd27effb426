//go:build unix

package chaostest

import "syscall"

// Freeze stops the process with SIGSTOP, as if its machine were suspended.
func (p *Process) Freeze() error { return p.Cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw continues a process after Freeze.
func (p *Process) Thaw() error { return p.Cmd.Process.Signal(syscall.SIGCONT) }
