// Processes that run the program of the test again.

package chaostest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
)

// partVariable is the name of the environment variable in which Start passes the part to the new process, as JSON.
const partVariable = "HOTELSTAYS_CHAOSTEST_PART"

// Process is a child process that runs the same program as its parent. The argument of [Start] tells the child what to
// do. A Process is not safe for concurrent use.
type Process struct {
	Cmd      *exec.Cmd // the started process; call Process.Wait instead of Cmd.Wait
	input    io.WriteCloser
	out      *os.File
	lines    *bufio.Scanner
	discards sync.Once
	ended    chan struct{}
	err      error // valid after ended is closed
}

// Start starts this program again as a child process. Its [Main] receives part as JSON in an environment variable,
// which other programs of the same user can read. The child writes to the standard error of its parent.
func Start(part any) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe() // with StdoutPipe, Cmd.Wait would close the pipe before all lines are read
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // the new process has its own copy of this end of the pipe
	p := &Process{Cmd: exec.Command(self), out: out, lines: bufio.NewScanner(out), ended: make(chan struct{})}
	p.lines.Buffer(nil, math.MaxInt)
	p.Cmd.Env = append(os.Environ(), partVariable+"="+string(text))
	p.Cmd.Stdout, p.Cmd.Stderr = in, os.Stderr
	if p.input, err = p.Cmd.StdinPipe(); err == nil {
		err = p.Cmd.Start()
	}
	if err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("chaostest: starting %s again: %w", self, err)
	}
	go func() {
		p.err = p.Cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// Line returns the next line of the process's standard output. The error is io.EOF if the
// process has ended.
func (p *Process) Line() (string, error) {
	if p.lines.Scan() {
		return p.lines.Text(), nil
	}
	return "", cmp.Or(p.lines.Err(), io.EOF)
}

// Write writes to the process's standard input.
func (p *Process) Write(b []byte) (int, error) { return p.input.Write(b) }

// Wait waits until the process ends. If its exit status is not 0, Wait returns an error with the status. It discards
// the output that Line has not returned.
func (p *Process) Wait() error {
	p.discard()
	<-p.ended
	_ = p.out.Close() // closes the pipe even if a child of the process still holds the other end
	return p.err
}

// discard reads the remaining output of the process. Otherwise the process could block when it writes more.
func (p *Process) discard() {
	p.discards.Do(func() {
		go func() { _, _ = io.Copy(io.Discard, p.out) }()
	})
}

// Close ends the process's standard input, and waits as Wait does.
func (p *Process) Close() error {
	_ = p.input.Close()
	return p.Wait()
}

// Kill kills the process, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	_ = p.Wait()
}

// Main does nothing in a process that [Start] has not started. In a process of Start, it decodes the part, calls run,
// and exits. If run fails, Main prints the error and exits with status 1. Call Main first in main or TestMain. If run
// ignores [UntilClosed], the process continues even if the test of its parent panics.
func Main[Part any](run func(Part) error) {
	text, started := os.LookupEnv(partVariable)
	if !started {
		return
	}
	_ = os.Unsetenv(partVariable) // child processes must not run the part, too
	var part Part
	err := json.Unmarshal([]byte(text), &part)
	if err == nil {
		err = run(part)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "a process of chaostest has failed:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// UntilClosed returns a context that ends when the parent calls [Process.Close] or dies. It reads the process's
// standard input, which ends at that moment.
func UntilClosed() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		for input := bufio.NewReader(os.Stdin); ; {
			line, err := input.ReadString('\n')
			if err != nil {
				return
			}
			if line == blockLine {
				blocks.Store(true)
			}
		}
	}()
	return ctx
}

// blockLine is a line of standard input. After a process has read it, its next call of MayBlock blocks.
const blockLine = "block\n"

var blocks atomic.Bool

// MayBlock returns immediately, except in a process that Fleet.Blocks has chosen and that uses [UntilClosed]. There,
// one call never returns. Call MayBlock in the handler that a service runs for each booking.
func MayBlock() {
	if blocks.CompareAndSwap(true, false) {
		select {}
	}
}
