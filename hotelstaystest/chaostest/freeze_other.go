//go:build !unix

package chaostest

import "errors"

// Freeze stops the process. It works on Unix only.
func (p *Process) Freeze() error { return errors.ErrUnsupported }

// Thaw continues a process after Freeze.
func (p *Process) Thaw() error { return errors.ErrUnsupported }
