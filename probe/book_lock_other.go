//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package probe

import (
	"fmt"
	"os"
)

// openLocked opens a file, and makes another beside it that stands for the lock. A killed process leaves
// that one behind.
func openLocked(path string) (unlock func(), file *os.File, err error) {
	name := path + ".lock"
	lock, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil && !os.IsExist(err) {
		return nil, nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: if no run is alive, delete %s: %w", ErrJournalInUse, name, err)
	}
	lock.Close()
	unlock = func() { os.Remove(name) }
	file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the path is the caller's
	if err != nil {
		unlock()
		return nil, nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return unlock, file, nil
}
