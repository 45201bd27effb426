// Package chaostest shows whether a service that books with hotelstays-go loses a booking, or
// makes one twice, when its processes are killed, its servers crash and answers get lost.
//
// The test starts a sandbox with [Config] and [Inject], processes of the service with [Start],
// and a [Fleet], which kills and freezes them until all bookings have ended. Then [Check]
// compares what the service has stored with the sandbox's ledger:
//
//	func TestMain(m *testing.M) {
//		chaostest.Main(serve) // does not return in a process of Start
//		os.Exit(m.Run())
//	}
//
//	func TestNothingIsLost(t *testing.T) {
//		srv := hotelstaystest.NewServer(chaostest.Config(1))
//		defer srv.Close()
//		chaostest.Inject(srv)
//		db := newDatabase(t, 100) // with 100 bookings to make
//		fleet := chaostest.Fleet{
//			Bookings:  100,
//			Processes: 5,
//			Kills:     10,
//			Freezes:   3,
//			Lease:     time.Minute,
//			Start:     func(int) (*chaostest.Process, error) { return chaostest.Start(settings{URL: srv.URL, DSN: db.dsn}) },
//			Ended:     db.ended,
//			Hurry:     db.passTime,
//		}
//		require.NoError(t, fleet.Survive(t.Context()))
//		require.NoError(t, chaostest.Check(srv.Ledger(), db.rounds(), db.outcomes()))
//	}
//
// A recovery takes ten minutes. Hurry makes time pass faster, by moving the times that the service
// has stored.
//
// A process that is frozen during Book may continue after its booking was stored as having no
// order. If Book then ends without an answer, the journal of contrib/hotelstayssql and
// contrib/hotelstaysriver open the booking again, and OnOutcome receives another outcome. Count that
// outcome as a further round.
//
// This package is outside the compatibility promise: a minor version may change it.
package chaostest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Fleet runs the processes of a service until they have made all bookings, and disturbs them.
type Fleet struct {
	// Bookings is the number of bookings that the processes have to make.
	Bookings int
	// Processes is the number of processes at the same time. Default: 4.
	Processes int
	// Start starts process number i, counted from 0. Survive calls it again for each process that it has killed.
	// Survive has no timeout for Start. It discards the standard output of the process after Start.
	Start func(i int) (*Process, error)
	// Ended returns the number of bookings that have ended and will not be tried again. A booking that was
	// opened again has not ended. After an error Ended is called again, because the database may be starting.
	Ended func(context.Context) (int, error)

	// Kills is the number of times that a process is killed with SIGKILL and started again.
	Kills int
	// Crashes are functions that crash a server and start it again. Survive calls each function once.
	Crashes []func(context.Context) error
	// Lease is the maximum time until other processes continue the work of a frozen process. If Lease is set, Survive
	// fails if no booking ends for this time, except while the last tenth of the bookings is open.
	Lease time.Duration
	// Freezes is the number of times that a process is frozen. The first freeze lasts one and a half leases. The second
	// lasts until all bookings have ended. The third lasts half a lease. Later freezes repeat these three. Freezes need
	// Unix.
	Freezes int
	// Blocks is the number of handlers that block forever, see [MayBlock]. The process of a blocked handler is
	// not killed. There must be more processes than Freezes and Blocks together.
	Blocks int
	// Hurry subtracts d from the times that the service has stored, as if d had passed. Hurry must not change the times of
	// a Book that may be in progress, because the sandbox answers in real time. Survive calls Hurry at most five times per
	// second, while the other functions run. Without Hurry a recovery takes ten minutes, which exceeds the time limit of
	// Survive for fewer than 600 bookings.
	Hurry func(ctx context.Context, d time.Duration)
	// When all bookings have ended, Survive closes the input of the processes, as [Process.Close] does. Grace is the
	// maximum time that the processes may then take to stop. If Grace is 0, Survive kills the processes instead.
	Grace time.Duration
	// Seed decides which processes are disturbed, and when.
	Seed uint64
	// Logf, if set, is called for each disturbance.
	Logf func(format string, args ...any)

	processes []*Process
	held      map[int]held // the key is the index of the process
	rng       *rand.Rand
}

// held describes a process that is frozen or has a blocked handler. Other disturbances choose another process.
type held struct {
	frozen bool
	until  time.Time // time at which the freeze ends; zero: when all bookings have ended
}

// Survive returns when all bookings have ended and the processes have stopped. It returns an error if a process ended
// by itself, a function of Crashes failed, ctx ended, a process did not stop within Grace, or no booking ended for a
// Lease. It also returns an error after five minutes plus half a second per booking.
//
// Kills and the other disturbances are spread at random over the run. The number of ended bookings decides when each
// of them happens.
func (f *Fleet) Survive(ctx context.Context) error {
	f.Processes = cmp.Or(f.Processes, 4)
	if f.Freezes+f.Blocks >= f.Processes {
		return fmt.Errorf("chaostest: Processes (%d) must be greater than Freezes (%d) plus Blocks (%d)", f.Processes, f.Freezes, f.Blocks)
	}
	f.held = map[int]held{}
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

// stop closes the input of all processes at the same time, and waits until they have ended. After Grace it kills
// them.
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

// disturbance is a kill, a freeze, a blocked handler or a crash.
type disturbance struct {
	after int // the number of bookings that must have ended before do is called
	do    func(context.Context) error
}

func (f *Fleet) disturbances() (all []disturbance) {
	spread := func(n int, do func(ctx context.Context, i int) error) {
		for i := range n {
			share := (float64(i) + f.rng.Float64()) / float64(n)
			all = append(all, disturbance{int(share * 0.9 * float64(f.Bookings)), func(ctx context.Context) error { return do(ctx, i) }})
		}
	}
	spread(f.Kills, func(context.Context, int) error { return f.kill() })
	spread(f.Freezes, func(_ context.Context, i int) error { return f.freeze(i) })
	spread(f.Blocks, func(context.Context, int) error { return f.block() })
	spread(len(f.Crashes), func(ctx context.Context, i int) error {
		f.Logf("server %d crashes", i)
		return f.Crashes[i](ctx)
	})
	slices.SortStableFunc(all, func(a, b disturbance) int { return cmp.Compare(a.after, b.after) })
	return all
}

func (f *Fleet) disturb(ctx context.Context) error {
	coming := f.disturbances()
	var ended int
	var failure error // the error of the last call of Ended
	var stall time.Duration
	for progress := time.Now(); ; {
		n, err := f.Ended(ctx)
		if err := f.alive(); err != nil { // called after Ended, because a process may end while Ended runs
			return err
		}
		if ctx.Err() != nil {
			err := fmt.Errorf("chaostest: %d of %d bookings have ended: %w", ended, f.Bookings, context.Cause(ctx))
			if failure != nil {
				err = fmt.Errorf("%w; the last call of Ended failed: %w", err, failure)
			}
			return err
		}
		if f.Bookings-ended > f.Bookings/10 {
			stall = max(stall, time.Since(progress))
		}
		if f.Lease > 0 && stall > f.Lease {
			return fmt.Errorf("chaostest: no booking has ended for %s, with %d of %d left", stall, f.Bookings-ended, f.Bookings)
		}
		if failure = err; err == nil && n != ended {
			ended, progress = n, time.Now()
		}
		thawed, err := f.thaw(len(coming) == 0 && ended >= f.Bookings)
		switch {
		case err != nil:
			return err
		case failure != nil || thawed:
		case len(coming) > 0 && ended >= coming[0].after:
			if err := coming[0].do(ctx); err != nil {
				return fmt.Errorf("chaostest: %w", err)
			}
			coming = coming[1:]
		case len(coming) == 0 && ended >= f.Bookings && len(f.held) == f.Blocks:
			f.Logf("no booking ended for at most %s", stall.Round(time.Millisecond))
			return nil
		}
		pause := time.Duration(f.rng.IntN(200)) * time.Millisecond
		if thawed {
			pause = min(time.Second, f.Lease/4) // the thawed process needs time to finish its current work
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// alive returns an error if a process has ended without being killed.
func (f *Fleet) alive() error {
	for i, p := range f.processes {
		select {
		case <-p.ended:
			return fmt.Errorf("chaostest: process %d has ended although Survive did not stop it: %w", i, cmp.Or(p.err, errors.New("exit status 0")))
		default:
		}
	}
	return nil
}

// choose returns the index of a random process that is neither frozen nor blocked.
func (f *Fleet) choose() int {
	for {
		i := f.rng.IntN(len(f.processes))
		if _, taken := f.held[i]; !taken {
			return i
		}
	}
}

func (f *Fleet) kill() error {
	i := f.choose()
	f.processes[i].Kill()
	f.Logf("process %d was killed", i)
	p, err := f.start(i)
	if err != nil {
		return err
	}
	f.processes[i] = p
	return nil
}

// freeze freezes a process. The parameter n is the number of earlier freezes, which decides how long this freeze lasts.
func (f *Fleet) freeze(n int) error {
	i := f.choose()
	if err := f.processes[i].Freeze(); err != nil {
		return fmt.Errorf("freezing process %d: %w", i, err)
	}
	h, until := held{frozen: true}, "all bookings have ended"
	if leases := []float64{1.5, 0, 0.5}[n%3]; leases > 0 {
		d := time.Duration(leases * float64(f.Lease))
		h.until, until = time.Now().Add(d), d.String()+" have passed"
	}
	f.held[i] = h
	f.Logf("process %d is frozen until %s", i, until)
	return nil
}

func (f *Fleet) thaw(ended bool) (thawed bool, err error) {
	for i, h := range f.held {
		if !h.frozen || h.until.IsZero() && !ended || time.Now().Before(h.until) {
			continue
		}
		if err := f.processes[i].Thaw(); err != nil {
			return thawed, fmt.Errorf("chaostest: thawing process %d: %w", i, err)
		}
		delete(f.held, i)
		f.Logf("process %d continues", i)
		thawed = true
	}
	return thawed, nil
}

func (f *Fleet) block() error {
	i := f.choose()
	f.held[i] = held{}
	f.Logf("a handler of process %d blocks", i)
	_, err := io.WriteString(f.processes[i], blockLine)
	return err
}

func (f *Fleet) hurry(ctx context.Context) {
	const tick = 200 * time.Millisecond
	if f.Hurry == nil {
		return
	}
	last := time.Now()
	for ticks := time.Tick(tick); ; {
		select {
		case now := <-ticks:
			// The steps are short, because Hurry does not move the start of a Book in progress: a long step could end the
			// recovery of its booking before the Book ends.
			f.Hurry(ctx, min(now.Sub(last), 2*tick)*(Speed-1))
			last = now
		case <-ctx.Done():
			return
		}
	}
}

// ShellCrash returns a function for Fleet.Crashes, which runs the shell command in an environment variable. The
// command must crash a server, start it again, and return when the server answers.
func ShellCrash(variable string) func(context.Context) error {
	return func(ctx context.Context) error {
		command := os.Getenv(variable)
		if command == "" {
			return fmt.Errorf("%s is not set: set it to a shell command that crashes the server and starts it again", variable)
		}
		// The output goes to a file, because the server may inherit the output. With a pipe, Run would wait until the server ends.
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
