package chaostest

import "syscall"

// awaitStop waits until the process has stopped or ended. Without it, some threads of the process could still run for
// a moment after Freeze.
func awaitStop(pid int) {
	const byPID, options = 1, syscall.WSTOPPED | syscall.WEXITED | syscall.WNOWAIT // WNOWAIT leaves the exit status to Cmd.Wait
	for {
		if _, _, err := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), 0, options, 0, 0); err != syscall.EINTR {
			return
		}
	}
}
