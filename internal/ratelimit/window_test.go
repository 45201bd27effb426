// Tests of the rolling window. The root's tests use storetest to check what every RateLimiter promises.

package ratelimit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/pacing"
)

const ms = time.Millisecond

// mustAcquire acquires n slots and lets their requests leave immediately.
func mustAcquire(t *testing.T, w *Window, n int) {
	t.Helper()
	for range n {
		leave(acquire(t, w))
	}
}

func acquire(t *testing.T, w *Window) *Permit {
	t.Helper()
	p, err := w.Acquire(t.Context(), pacing.Caller{})
	require.NoError(t, err)
	return p
}

// leave sends a request. The answer proves that the request arrived immediately.
func leave(p *Permit) {
	p.Sent()
	p.Done(pacing.PermitResult{ArrivedBy: time.Now()})
}

// unused gives a permit back without sending a request.
func unused(p *Permit) { p.Done(pacing.PermitResult{}) }

// waiter starts a caller that waits for a slot. The channel receives its permit.
func waiter(t *testing.T, w *Window) <-chan *Permit {
	granted := make(chan *Permit, 1)
	go func() {
		if p, err := w.Acquire(t.Context(), pacing.Caller{}); err == nil {
			granted <- p
		}
	}()
	synctest.Wait()
	return granted
}

func acquireWithin(t *testing.T, w *Window, deadline time.Duration) error {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	_, err := w.Acquire(ctx, pacing.Caller{})
	return err
}

func wantNoTimer(t *testing.T, w *Window) {
	t.Helper()
	require.False(t, w.timer != nil && w.timer.Stop(), "no timer runs while nobody waits")
}

// A slot is free, but its timer has not run yet. A new caller must not take this slot before the callers that already wait.
func TestNewCallerDoesNotOvertakeWaitingCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(1, time.Second, 0)
		mustAcquire(t, w, 1)
		next := waiter(t, w)
		w.mu.Lock()
		w.timer.Stop() // as if the timer were late
		w.mu.Unlock()
		time.Sleep(time.Second)

		assert.ErrorIs(t, acquireWithin(t, w, time.Second/2), context.DeadlineExceeded)
		assert.Len(t, next, 1, "the waiting caller got the slot")
		<-next
	})
}

// The test runs on the real clock, because times in a bubble have no monotonic reading.
func TestPauseIsMeasuredByTheMonotonicClock(t *testing.T) {
	w := NewWindow(1, time.Second, 0)
	date := time.Now().Add(time.Hour).Round(0)
	w.Pause(date)
	assert.NotEqual(t, w.pausedUntil.Round(0), w.pausedUntil, "it has a monotonic reading")
	assert.WithinDuration(t, date, w.pausedUntil, time.Second)
}

// A caller gets a slot at the moment when its ctx ends. The caller may first see the slot, or first see the end of ctx.
// In both cases, the next caller must get the slot immediately.
func TestSlotGrantedToACancelledCallerGoesToTheNextCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 30 {
			w, start := NewWindow(1, time.Second, 0), time.Now()
			acquire(t, w)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if p, err := w.Acquire(ctx, pacing.Caller{}); err == nil {
					unused(p)
				}
			}()
			synctest.Wait()
			next := waiter(t, w)
			// While the test holds this lock, the caller cannot leave the queue. So ctx ends and the slot is granted at
			// the same moment.
			w.mu.Lock()
			cancel()
			w.unused++
			w.serve(time.Now())
			w.mu.Unlock()
			<-next
			require.Zero(t, time.Since(start))
			wantNoTimer(t, w)
		}
	})
}

func TestWrongUseOfAPermitPanics(t *testing.T) {
	for name, twice := range map[string]func(p *Permit){
		"Done":            func(p *Permit) { unused(p); unused(p) },
		"Sent":            func(p *Permit) { p.Sent(); defer unused(p); p.Sent() },
		"Sent after Done": func(p *Permit) { unused(p); p.Sent() },
	} {
		w := NewWindow(2, time.Hour, 0)
		p := acquire(t, w)
		assert.Panics(t, func() { twice(p) }, name)
		mustAcquire(t, w, 1) // the window still works
	}
}

func TestAcquireOfAFreeSlotNeedsNoAllocationAndNoTimer(t *testing.T) {
	long, short := NewWindow(3000, time.Hour, 0), NewWindow(3, time.Nanosecond, 0)
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		for _, w := range []*Window{long, short} {
			p, _ := w.Acquire(t.Context(), pacing.Caller{})
			leave(p)
			p, _ = w.Acquire(t.Context(), pacing.Caller{})
			unused(p)
			time.Sleep(time.Nanosecond) // after this time, the short window has a free slot, even if the clock is coarse
		}
	}))
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for range 50 { // requests without an answer
			p, _ := short.Acquire(t.Context(), pacing.Caller{})
			p.Sent()
			p.Done(pacing.PermitResult{})
			time.Sleep(2 * time.Nanosecond)
		}
	}))
	assert.Nil(t, long.timer)
	assert.Nil(t, short.timer)
}

func TestTimerStopsWithTheLastWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(1, time.Second, 0)
		mustAcquire(t, w, 1)
		assert.ErrorIs(t, acquireWithin(t, w, time.Second/2), context.DeadlineExceeded)
		wantNoTimer(t, w)
	})
}
