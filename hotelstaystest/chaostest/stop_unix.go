//go:build unix && !linux

package chaostest

// awaitStop does nothing, because package syscall has no waitid on this system.
func awaitStop(int) {}
