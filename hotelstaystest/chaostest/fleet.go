// The fleet, whose processes are killed while they work.

package chaostest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Fleet runs the processes of a service until they have made all bookings, and disturbs them.
type Fleet struct {
	// Bookings is how many bookings the processes have to make.
	Bookings int
	// Processes is how many run at the same time. Default: 4.
	Processes int
	// Start starts the process with an index, also in place of one that was killed. Survive waits
	// for it without a limit. What the process writes later is discarded.
	Start func(i int) (*Process, error)
	// Ended counts the bookings that have ended and are not tried again. After an error it is
	// called again, because the database may be starting.
	Ended func(context.Context) (int, error)

	// Kills is how often a process is killed with SIGKILL and started again.
	Kills int
	// Crashes are called once each. One crashes a server and starts it again.
	Crashes []func(context.Context) error
	// Hurry moves times that the service has stored back by d. Times of a Book that may be under
	// way stay: the sandbox answers in real time. It is called five times a second, while the
	// other functions run. Without it a recovery takes ten minutes, which is longer than Survive
	// waits for a few bookings.
	Hurry func(ctx context.Context, d time.Duration)
	// Grace is how long the processes have to stop when all bookings have ended. Survive then
	// closes their input, as [Process.Close] does. If it is 0, they are killed instead.
	Grace time.Duration
	// Seed decides what is killed and when.
	Seed uint64
	// Logf receives what happens. Optional.
	Logf func(format string, args ...any)

	processes []*Process
	rng       *rand.Rand
}

// Survive returns when all bookings have ended and the processes are gone. The error says
// that a process ended by itself, that a crash failed, that ctx ended, that a process failed to
// stop within Grace, or that half a second for each booking and five minutes were not enough.
//
// Kills and crashes are spread at random over the run, by the number of bookings that have ended.
func (f *Fleet) Survive(ctx context.Context) error {
	f.Processes = cmp.Or(f.Processes, 4)
	f.rng = rand.New(rand.NewPCG(f.Seed, 1))
	if f.Logf == nil {
		f.Logf = func(string, ...any) {}
	}
	limit := 5*time.Minute + time.Duration(f.Bookings)*time.Second/2
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the bookings have not ended after %s", limit))
	hurried := make(chan struct{})
	go func() { defer close(hurried); f.hurry(ctx) }()
	defer func() { cancel(); <-hurried }()
	f.processes = nil
	defer func() {
		for _, p := range f.processes {
			p.Kill()
		}
	}()
	for i := range f.Processes {
		p, err := f.start(i)
		if err != nil {
			return fmt.Errorf("chaostest: %w", err)
		}
		f.processes = append(f.processes, p)
	}
	if err := f.disturb(ctx); err != nil || f.Grace == 0 {
		return err
	}
	return f.stop()
}

// stop lets all processes stop at the same time.
func (f *Fleet) stop() error {
	late := time.AfterFunc(f.Grace, func() {
		for _, p := range f.processes {
			_ = p.Cmd.Process.Kill()
		}
	})
	defer late.Stop()
	for _, p := range f.processes {
		_ = p.input.Close()
	}
	var problems []error
	for i, p := range f.processes {
		if err := p.Wait(); err != nil {
			problems = append(problems, fmt.Errorf("chaostest: process %d failed to stop within %s: %w", i, f.Grace, err))
		}
	}
	return errors.Join(problems...)
}

func (f *Fleet) start(i int) (*Process, error) {
	p, err := f.Start(i)
	if err != nil {
		return nil, fmt.Errorf("starting process %d: %w", i, err)
	}
	p.discard()
	return p, nil
}

// disturbance happens after some bookings have ended.
type disturbance struct {
	after int
	do    func(context.Context) error
}

func (f *Fleet) disturbances() (all []disturbance) {
	spread := func(i, n int, do func(context.Context) error) {
		share := (float64(i) + f.rng.Float64()) / float64(n)
		all = append(all, disturbance{int(share * 0.9 * float64(f.Bookings)), do})
	}
	for i := range f.Kills {
		spread(i, f.Kills, f.kill)
	}
	for i, crash := range f.Crashes {
		spread(i, len(f.Crashes), func(ctx context.Context) error {
			f.Logf("server %d crashes", i)
			return crash(ctx)
		})
	}
	slices.SortStableFunc(all, func(a, b disturbance) int { return cmp.Compare(a.after, b.after) })
	return all
}

// disturb makes the disturbances, and waits until all bookings have ended.
func (f *Fleet) disturb(ctx context.Context) error {
	coming := f.disturbances()
	var ended int
	var failure error // of the last call of Ended
	for {
		n, err := f.Ended(ctx)
		if err := f.alive(); err != nil { // after Ended, which may take long
			return err
		}
		if ctx.Err() != nil {
			err := fmt.Errorf("chaostest: %d of %d bookings have ended: %w", ended, f.Bookings, context.Cause(ctx))
			if failure != nil {
				err = fmt.Errorf("%w; Ended fails: %w", err, failure)
			}
			return err
		}
		if failure = err; err == nil {
			ended = n
		}
		switch {
		case failure != nil:
		case len(coming) > 0 && ended >= coming[0].after:
			if err := coming[0].do(ctx); err != nil {
				return fmt.Errorf("chaostest: %w", err)
			}
			coming = coming[1:]
		case len(coming) == 0 && ended >= f.Bookings:
			return nil
		}
		pause := time.NewTimer(time.Duration(f.rng.IntN(200)) * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
	}
}

// alive returns an error if a process has ended that was not killed.
func (f *Fleet) alive() error {
	for i, p := range f.processes {
		select {
		case <-p.ended:
			return fmt.Errorf("chaostest: process %d has ended by itself: %w", i, cmp.Or(p.err, errors.New("exit status 0")))
		default:
		}
	}
	return nil
}

// kill kills a process and starts it again.
func (f *Fleet) kill(context.Context) error {
	i := f.rng.IntN(len(f.processes))
	f.processes[i].Kill()
	f.Logf("process %d was killed", i)
	p, err := f.start(i)
	if err != nil {
		return err
	}
	f.processes[i] = p
	return nil
}

func (f *Fleet) hurry(ctx context.Context) {
	const tick = 200 * time.Millisecond
	if f.Hurry == nil {
		return
	}
	for ticker := time.NewTicker(tick); ; {
		select {
		case <-ticker.C:
			f.Hurry(ctx, tick*(Speed-1))
		case <-ctx.Done():
			ticker.Stop()
			return
		}
	}
}

// ShellCrash returns a function for Fleet.Crashes. It executes the shell command in an environment
// variable, which crashes a server, starts it again, and returns when it answers.
func ShellCrash(variable string) func(context.Context) error {
	return func(ctx context.Context) error {
		command := os.Getenv(variable)
		if command == "" {
			return fmt.Errorf("%s is not set: set it to a shell command that restarts the server as after a crash", variable)
		}
		// Not a pipe: the server may inherit it, and then it never ends.
		out, err := os.CreateTemp("", "")
		if err != nil {
			return err
		}
		defer func() { _, _ = out.Close(), os.Remove(out.Name()) }()
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Run(); err != nil {
			said, _ := os.ReadFile(out.Name())
			return fmt.Errorf("the command in %s: %w\n%s", variable, cmp.Or(context.Cause(ctx), err), said)
		}
		return nil
	}
}
