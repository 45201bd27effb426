//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package probe

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file that no other open file of this or another process has locked. The lock ends with
// the process, however that ends.
func lock(file *os.File) (unlock func(), err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrJournalInUse
	}
	return func() {}, err
}
