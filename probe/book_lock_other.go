//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package probe

import (
	"fmt"
	"os"
)

// lock creates a lock file next to the file. A killed process leaves the lock file behind.
func lock(file *os.File) (unlock func(), err error) {
	name := file.Name() + ".lock"
	beside, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case os.IsExist(err):
		return nil, fmt.Errorf("%w: if no run is alive, delete %s", ErrJournalInUse, name)
	case err != nil:
		return nil, err
	}
	return func() { os.Remove(name) }, beside.Close()
}
