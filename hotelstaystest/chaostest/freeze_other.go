//go:build !unix

package chaostest

import "errors"

// Freeze returns an error, because it can stop a process only on Unix.
func (p *Process) Freeze() error { return errors.ErrUnsupported }

// Thaw returns an error, as Freeze does.
func (p *Process) Thaw() error { return errors.ErrUnsupported }
