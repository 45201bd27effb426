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

// partVariable holds the part of a process of Start.
const partVariable = "HOTELSTAYS_CHAOSTEST_PART"

// Process is another process of this program, with its own part. It is not safe for concurrent use.
type Process struct {
	Cmd      *exec.Cmd // started; call Wait of the Process, not of Cmd
	input    io.WriteCloser
	out      *os.File
	lines    *bufio.Scanner
	discards sync.Once
	ended    chan struct{}
	err      error // valid after ended is closed
}

// Start starts this program again. Its [Main] receives part as JSON in an environment
// variable, which other programs of the same user can read. Both processes share the standard error.
func Start(part any) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe() // not StdoutPipe: Wait would close it before its lines are read
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // the process has its own copy
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

// Wait waits until the process ends. If its exit status is not 0, the error says how it ended. Output that
// was not read is lost.
func (p *Process) Wait() error {
	p.discard()
	<-p.ended
	_ = p.out.Close() // even if a child of the process still has the other end
	return p.err
}

// discard reads the remaining output, so that the process never waits for a reader.
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

// Main runs a process of [Start]: it decodes the part, calls run, and exits. The status is 1 if
// run fails, which is printed. In any other process it returns at once. Call it first in main
// or TestMain. A process whose run ignores [UntilClosed] outlives a test that panics.
func Main[Part any](run func(Part) error) {
	text, started := os.LookupEnv(partVariable)
	if !started {
		return
	}
	_ = os.Unsetenv(partVariable) // so that child processes do not run the part, too
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

// UntilClosed reads the process's standard input, and returns a context that ends with the input. The
// input ends when the parent calls [Process.Close] or dies.
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

// blockLine makes the next MayBlock of a process block.
const blockLine = "block\n"

var blocks atomic.Bool

// MayBlock returns at once. But in a process that Fleet.Blocks has chosen, and that uses
// [UntilClosed], one call never returns. Call it in the handler that a service runs for each booking.
func MayBlock() {
	if blocks.CompareAndSwap(true, false) {
		select {}
	}
}
