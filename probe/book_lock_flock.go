//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package probe

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file. It fails if the file is locked already, in this or another process. The lock ends with
// the process, even if the process is killed.
func lock(file *os.File) (unlock func(), err error) {
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrJournalInUse
	}
	return func() {}, err
}
