// Processes that run the program of the test again.

package chaostest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// partVariable holds the part of a process of Start.
const partVariable = "HOTELSTAYS_CHAOSTEST_PART"

// Process is this program, started again with a part to play. It is not safe for concurrent use.
type Process struct {
	Cmd   *exec.Cmd // started; call Wait of the Process, not of Cmd
	input io.WriteCloser
	out   *os.File
	lines *bufio.Scanner
	ended chan struct{}
	err   error // after ended
}

// Start starts this program again. Its [Main] receives part, by way of JSON and the
// environment, which other programs of the same user can read. Its standard error is that of
// this process.
func Start(part any) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	p := &Process{Cmd: exec.Command(self), ended: make(chan struct{})}
	p.Cmd.Env = append(os.Environ(), partVariable+"="+string(text))
	p.Cmd.Stderr = os.Stderr
	if p.input, err = p.Cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, in, err := os.Pipe() // not StdoutPipe: Wait would close it before its lines are read
	if err != nil {
		return nil, err
	}
	p.Cmd.Stdout, p.out, p.lines = in, out, bufio.NewScanner(out)
	err = p.Cmd.Start()
	_ = in.Close() // the process has it
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
	if err := p.lines.Err(); err != nil {
		return "", err
	}
	return "", io.EOF
}

// Write writes to the process's standard input.
func (p *Process) Write(b []byte) (int, error) { return p.input.Write(b) }

// Wait waits until the process ends. The error says how, unless its exit status is 0. What it
// has written and nobody has read is lost.
func (p *Process) Wait() error {
	for p.lines.Scan() { // it may be writing
	}
	<-p.ended
	_ = p.out.Close()
	return p.err
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
// or TestMain.
func Main[Part any](run func(Part) error) {
	text, started := os.LookupEnv(partVariable)
	if !started {
		return
	}
	_ = os.Unsetenv(partVariable) // a process of this one is an ordinary one
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

// UntilClosed returns a context that ends when the process's standard input does: its parent
// calls [Process.Close], or dies.
func UntilClosed() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx
}
