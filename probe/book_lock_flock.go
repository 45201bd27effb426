//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package probe

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openLocked opens a file that no other open file of this or another process has locked. The lock ends
// with the process, however that ends.
func openLocked(path string) (unlock func(), file *os.File, err error) {
	file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the path is the caller's
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil, fmt.Errorf("%w: %s", ErrJournalInUse, path)
		}
		return nil, nil, fmt.Errorf("%w: %s cannot be locked: %w", ErrConfig, path, err)
	}
	return func() {}, file, nil
}
