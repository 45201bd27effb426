// The rolling window. What a RateLimiter promises, storetest shows of it in the tests of the root.

package ratelimit

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
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

func TestTimerStopsWithTheLastWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(1, time.Second, 0)
		mustAcquire(t, w, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, err := w.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		wantNoTimer(t, w)
	})
}
