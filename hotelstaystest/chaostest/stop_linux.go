package chaostest

import "syscall"

// awaitStop returns when the process has stopped or ended. A signal takes effect only when the kernel
// next runs the process. Until then some of its threads may continue.
func awaitStop(pid int) {
	const byPID, options = 1, syscall.WSTOPPED | syscall.WEXITED | syscall.WNOWAIT // WNOWAIT leaves the exit status to Cmd.Wait
	for {
		if _, _, err := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), 0, options, 0, 0); err != syscall.EINTR {
			return
		}
	}
}
