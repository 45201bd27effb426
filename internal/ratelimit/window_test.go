// The rolling window. What a RateLimiter promises, storetest shows of it in the tests of the root.

package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

// busiest returns the largest number of times that share one half-open window.
func busiest(times []time.Time, window time.Duration) int {
	slices.SortFunc(times, time.Time.Compare)
	most, from := 0, 0
	for to := range times {
		for times[to].Sub(times[from]) >= window {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

func upTo(rnd *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(rnd.Int64N(int64(d)))
}

// mustAcquire takes n slots and lets their requests leave at once.
func mustAcquire(t *testing.T, w *Window, n int) {
	t.Helper()
	for range n {
		leave(acquire(t, w))
	}
}

func acquire(t *testing.T, w *Window) *Permit {
	t.Helper()
	p, err := w.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// leave sends a request that arrives at once, as its answer proves.
func leave(p *Permit) {
	p.Sent()
	p.Done(Result{ArrivedBy: time.Now()})
}

// unused gives back the permit of a request that never left.
func unused(p *Permit) { p.Done(Result{}) }

// inLine starts a caller that gets in line, and sends its permit when it is granted.
func inLine(t *testing.T, w *Window) <-chan *Permit {
	granted := make(chan *Permit, 1)
	go func() {
		if p, err := w.Acquire(t.Context()); err == nil {
			granted <- p
		}
	}()
	synctest.Wait()
	return granted
}

func wantAfter(t *testing.T, start time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(start); got != want {
		t.Fatalf("granted after %v, want %v", got, want)
	}
}

func wantNoTimer(t *testing.T, w *Window) {
	t.Helper()
	if w.timer != nil && w.timer.Stop() {
		t.Fatal("a timer runs, and nobody waits")
	}
}

// A newcomer finds a slot that is due, but whose timer has not run yet: those in line come first.
func TestNewcomerDoesNotOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(1, time.Second, 0)
		mustAcquire(t, w, 1)
		next := inLine(t, w)
		w.mu.Lock()
		w.timer.Stop() // a timer that is late
		w.mu.Unlock()
		time.Sleep(time.Second)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, err := w.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the newcomer got %v", err)
		}
		if len(next) != 1 {
			t.Error("the one in line was not served")
		}
		<-next
	})
}

func TestPauseAgainstADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, start := NewWindow(2, time.Second, 0), time.Now()
		until := func(deadline time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			_, err := w.Acquire(ctx)
			return err
		}
		w.Pause(start.Add(7 * time.Second))
		if err := until(7*time.Second + 1); err != nil {
			t.Error(err)
		}
		wantAfter(t, start, 7*time.Second)
		w.Pause(time.Unix(1<<55, 0))
		if err := until(24 * time.Hour); !errors.Is(err, ErrPaused) || errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		wantAfter(t, start, 7*time.Second)
		wantNoTimer(t, w)
	})
}

// On the real clock: times in a bubble have no monotonic reading.
func TestPauseDoesNotFollowTheWallClock(t *testing.T) {
	w := NewWindow(1, time.Second, 0)
	date := time.Now().Add(time.Hour).Round(0)
	w.Pause(date)
	if w.pausedUntil == w.pausedUntil.Round(0) {
		t.Error("no monotonic reading")
	}
	if off := w.pausedUntil.Sub(date).Abs(); off > time.Second {
		t.Errorf("%v beside the date", off)
	}
}

// A slot is granted to a caller at the very moment its ctx ends. Whichever of the two the caller sees first, the
// slot must reach the next in line without delay.
func TestGrantToACancelledWaiterIsHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 30 {
			w, start := NewWindow(1, time.Second, 0), time.Now()
			acquire(t, w)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if p, err := w.Acquire(ctx); err == nil {
					unused(p)
				}
			}()
			synctest.Wait()
			next := inLine(t, w)
			w.mu.Lock() // over both
			cancel()
			w.unused++
			w.serve(time.Now())
			w.mu.Unlock()
			<-next
			wantAfter(t, start, 0)
			wantNoTimer(t, w)
		}
	})
}

func TestGivingBackTooOftenPanics(t *testing.T) {
	for name, twice := range map[string]func(p *Permit){
		"Done":            func(p *Permit) { unused(p); unused(p) },
		"Sent":            func(p *Permit) { p.Sent(); defer unused(p); p.Sent() },
		"Sent after Done": func(p *Permit) { unused(p); p.Sent() },
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWindow(2, time.Hour, 0)
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the rate limit was raised")
					}
				}()
				twice(acquire(t, w))
			}()
			mustAcquire(t, w, 1) // and goes on working
		})
	}
}

func TestRoomCostsNoAllocationAndNoTimer(t *testing.T) {
	long, short := NewWindow(3000, time.Hour, 0), NewWindow(3, time.Nanosecond, 0)
	if got := testing.AllocsPerRun(1000, func() {
		for _, w := range []*Window{long, short} {
			p, _ := w.Acquire(t.Context())
			leave(p)
			p, _ = w.Acquire(t.Context())
			unused(p)
			time.Sleep(time.Nanosecond) // on a coarse clock, too, the short one has room
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
	if got := testing.AllocsPerRun(100, func() {
		for range 50 { // requests without an answer
			p, _ := short.Acquire(t.Context())
			p.Sent()
			p.Done(Result{})
			time.Sleep(2 * time.Nanosecond)
		}
	}); got != 0 {
		t.Errorf("%v allocations in 50 requests without an answer", got)
	}
	if long.timer != nil || short.timer != nil {
		t.Error("a timer")
	}
}

// A visit is what became of one caller of a random schedule.
type visit struct {
	came, done time.Time // in line during [came, done)
	granted    bool
	back       time.Time // the slot was out or resting during [done, back)
}

type pause struct{ from, until time.Time }

// check recounts a schedule from scratch at each moment when something happened: no more slots in use than there
// are, nobody granted in a pause, nobody overtaken, and nobody kept waiting without need.
func check(n int, visits []visit, pauses []pause) error {
	var moments []time.Time
	for _, v := range visits {
		moments = append(moments, v.came, v.done)
		if v.granted {
			moments = append(moments, v.back)
		}
	}
	for _, p := range pauses {
		moments = append(moments, p.from, p.until)
	}
	during := func(at, from, to time.Time) bool { return !at.Before(from) && at.Before(to) }

	for _, at := range moments {
		waiting, used := 0, 0
		for _, v := range visits {
			if during(at, v.came, v.done) {
				waiting++
			}
			if v.granted && during(at, v.done, v.back) {
				used++
			}
		}
		paused := slices.ContainsFunc(pauses, func(p pause) bool { return during(at, p.from, p.until) })
		if used > n {
			return fmt.Errorf("%v: %d slots in use, limit %d", at, used, n)
		}
		if waiting > 0 && used < n && !paused {
			return fmt.Errorf("%v: %d callers wait, and only %d of %d slots are in use", at, waiting, used, n)
		}
	}
	for _, v := range visits {
		if !v.granted {
			continue
		}
		for _, p := range pauses {
			if during(v.done, p.from, p.until) {
				return fmt.Errorf("%v: a grant in the pause from %v", v.done, p.from)
			}
		}
		for _, before := range visits {
			if before.came.Before(v.came) && before.done.After(v.done) {
				return fmt.Errorf("%v: a grant to one who came %v, ahead of one who came %v", v.done, v.came, before.came)
			}
		}
	}
	return nil
}

// Random callers, dials, failures, cancellations and pauses, on a grid so coarse that many things happen at once.
func TestRandomSchedules(t *testing.T) {
	const grid = 10 * ms
	granted, cancelled := 0, 0
	schedules := uint64(300)
	if os.Getenv("HOTELSTAYS_LONG") == "" {
		schedules = 60
		t.Log("60 schedules; HOTELSTAYS_LONG=1 tries 300")
	}
	for seed := range schedules {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			steps := func(n int) time.Duration { return time.Duration(rnd.IntN(n)) * grid }

			n, window := 1+rnd.IntN(8), grid+steps(100)
			w := NewWindow(n, window, 0)
			visits := make([]visit, 20+rnd.IntN(100))
			pauses := make([]pause, rnd.IntN(4))
			var wg sync.WaitGroup
			for i := range visits {
				v := &visits[i]
				came, dial, notSent := steps(300), time.Duration(0), rnd.IntN(5) == 0
				if rnd.IntN(3) == 0 {
					dial = steps(60)
				}
				patience := time.Hour
				if rnd.IntN(3) == 0 {
					patience = steps(200)
				}
				wg.Go(func() {
					time.Sleep(came)
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					v.came = time.Now()
					p, err := w.Acquire(ctx)
					v.done = time.Now()
					if v.granted = err == nil; !v.granted {
						return
					}
					time.Sleep(dial)
					v.back = time.Now()
					if notSent {
						unused(p)
					} else {
						v.back = v.back.Add(window)
						leave(p)
					}
				})
			}
			for i := range pauses {
				// Between two points of the grid: what a pause does to a grant of the same moment is open.
				from, length := steps(400)+grid/2, steps(100)+grid/2
				wg.Go(func() {
					time.Sleep(from)
					pauses[i] = pause{time.Now(), time.Now().Add(length)}
					w.Pause(pauses[i].until)
				})
			}
			wg.Wait()
			if err := check(n, visits, pauses); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			wantNoTimer(t, w)
			for _, v := range visits {
				if v.granted {
					granted++
				} else {
					cancelled++
				}
			}
		})
	}
	t.Logf("%d granted, %d cancelled", granted, cancelled)
}
