//go:build unix && !linux

package chaostest

// awaitStop does nothing: package syscall has no waitid here.
func awaitStop(int) {}
