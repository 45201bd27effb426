// Faults of rate limiters.

package storetest_test

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
)

func TestRateLimiter(t *testing.T) {
	storetest.TestRateLimiter(t, limiterFleet(func(windows, *limiter) {}, false), storetest.InBubble())
}

// limiterFleet makes fleets whose limiters have a fault.
func limiterFleet(plant func(windows, *limiter), immortal bool) func(*testing.T) storetest.Fleet[hotelstays.RateLimiter] {
	return func(*testing.T) storetest.Fleet[hotelstays.RateLimiter] {
		shared := newWindows(hotelstays.Operation.RateLimit, time.Second)
		setBack := new(atomic.Bool)
		fleet := fleetOf[hotelstays.RateLimiter, *limiter](func() hotelstays.RateLimiter {
			l := shared.open()
			l.setBack = setBack
			plant(shared, l)
			return l
		})
		fleet.SetBack = func(time.Duration) { setBack.Store(true) }
		if immortal {
			fleet.Freeze = func(hotelstays.RateLimiter) func() { return func() {} }
		}
		return fleet
	}
}

// keyOf is the key of an operation in the suite's first environment.
func keyOf(op hotelstays.Operation) hotelstays.RateLimitKey {
	return hotelstays.RateLimitKey{BaseURL: "https://host.example", Operation: op}
}

// changedPermit ends another way than its permit.
type changedPermit struct {
	hotelstays.Permit
	sent bool
	at   time.Time
	done func(p *changedPermit, r hotelstays.PermitResult)
}

func (p *changedPermit) Sent() {
	p.sent, p.at = true, time.Now()
	p.Permit.Sent()
}

func (p *changedPermit) Done(r hotelstays.PermitResult) { p.done(p, r) }

// changeDone makes a limiter's permits end another way.
func changeDone(w windows, l *limiter, done func(p *changedPermit, r hotelstays.PermitResult)) {
	l.acquire = func(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
		p, err := w.acquire(ctx, key)
		if err != nil || p == nil {
			return nil, err
		}
		return &changedPermit{Permit: p, done: done}, nil
	}
}

// changeLimit makes a limiter use other windows.
func changeLimit(w windows, n func(hotelstays.Operation) int, window time.Duration) {
	other := newWindows(n, window)
	maps.Copy(w, other)
}

// once plants in the first process to open, for what processes share.
func once(w windows, plant func()) {
	if planted := (hotelstays.RateLimitKey{}); w[planted] == nil {
		w[planted] = ratelimit.NewWindow(1, time.Second, 0)
		plant()
	}
}

// pauseEnd is when a pause ends.
type pauseEnd struct{ nano atomic.Int64 }

func (e *pauseEnd) set(until time.Time) { e.nano.Store(until.UnixNano()) }
func (e *pauseEnd) wait()               { time.Sleep(time.Until(time.Unix(0, e.nano.Load()))) }

// poll tries again and again to get a slot that is free.
func poll(ctx context.Context, w windows, key hotelstays.RateLimitKey, pause time.Duration) (hotelstays.Permit, error) {
	if !isLimited(key) {
		return w.acquire(ctx, key)
	}
	for {
		try, cancel := context.WithTimeout(ctx, time.Nanosecond)
		p, err := w.acquire(try, key)
		cancel()
		if err == nil {
			return p, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func isLimited(key hotelstays.RateLimitKey) bool { return key.Operation.RateLimit() > 0 }

var limiterFaults = []struct {
	name, caughtBy string
	plant          func(w windows, l *limiter)
	immortal       bool // processes
}{
	{name: "grants one slot less", caughtBy: "all slots are granted", plant: func(w windows, _ *limiter) {
		once(w, func() { changeLimit(w, func(op hotelstays.Operation) int { return op.RateLimit() - 1 }, time.Second) })
	}},
	{name: "counts in its own process", caughtBy: "no more slots are granted than the limit", plant: func(_ windows, l *limiter) {
		alone := newWindows(hotelstays.Operation.RateLimit, time.Second)
		l.acquire, l.pause = alone.acquire, alone.pause
	}},
	{name: "frees a slot at Done", caughtBy: "no more requests leave in a second than the limit", plant: func(w windows, _ *limiter) {
		once(w, func() { changeLimit(w, hotelstays.Operation.RateLimit, time.Millisecond) })
	}},
	{name: "counts from the departure", caughtBy: "no more requests arrive in a second than the limit", plant: func(w windows, l *limiter) {
		changeDone(w, l, func(p *changedPermit, _ hotelstays.PermitResult) {
			p.Permit.Done(hotelstays.PermitResult{ArrivedBy: p.at})
		})
	}},
	{name: "forgets slots from the future", caughtBy: "the limit holds if a clock is set back", plant: func(w windows, l *limiter) {
		empty := newWindows(hotelstays.Operation.RateLimit, time.Second)
		l.acquire = func(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
			if l.setBack.Load() {
				return empty.acquire(ctx, key)
			}
			return w.acquire(ctx, key)
		}
	}},
	{name: "counts over three seconds", caughtBy: "waiting callers use most of the limit", plant: func(w windows, _ *limiter) {
		once(w, func() { changeLimit(w, hotelstays.Operation.RateLimit, 3*time.Second) })
	}},
	{name: "forgets who waits", caughtBy: "every waiting caller gets a slot", plant: func(w windows, l *limiter) {
		l.acquire = func(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
			return poll(ctx, w, key, 1000*time.Hour)
		}
	}},
	{name: "takes a permit that was not sent for sent", caughtBy: "a permit that was not sent is free at once", plant: func(w windows, l *limiter) {
		changeDone(w, l, func(p *changedPermit, r hotelstays.PermitResult) {
			if !p.sent {
				p.Permit.Sent()
			}
			p.Permit.Done(r)
		})
	}},
	{name: "looks for a slot each second", caughtBy: "a caller that waits gets a permit that was not sent", plant: func(w windows, l *limiter) {
		l.acquire = func(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
			return poll(ctx, w, key, time.Second)
		}
	}},
	{name: "ignores Pause", caughtBy: "Pause grants nothing until its end", plant: func(_ windows, l *limiter) {
		l.pause = func(hotelstays.RateLimitKey, time.Time) {}
	}},
	{name: "pauses its own process", caughtBy: "Pause holds every process", plant: func(w windows, l *limiter) {
		alone := newWindows(hotelstays.Operation.RateLimit, time.Second)
		l.pause = alone.pause
		l.acquire = func(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
			if isLimited(key) {
				p, err := alone.acquire(ctx, key)
				if err != nil {
					return nil, err
				}
				p.Done(hotelstays.PermitResult{})
			}
			return w.acquire(ctx, key)
		}
	}},
	{name: "keeps the last pause", caughtBy: "the longest pause counts", plant: func(w windows, l *limiter) {
		var paused pauseEnd
		l.pause = func(key hotelstays.RateLimitKey, until time.Time) {
			if isLimited(key) {
				paused.set(until)
			}
		}
		l.acquire = func(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
			paused.wait()
			return w.acquire(ctx, key)
		}
	}},
	{name: "pauses all operations", caughtBy: "Pause holds its key alone", plant: func(w windows, l *limiter) {
		l.pause = func(_ hotelstays.RateLimitKey, until time.Time) {
			for key := range w {
				w.pause(key, until)
			}
		}
	}},
	{name: "takes all environments for one", caughtBy: "operations and environments have separate budgets", plant: func(w windows, l *limiter) {
		l.acquire = func(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
			return w.acquire(ctx, keyOf(key.Operation))
		}
	}},
	{name: "pauses all environments", caughtBy: "Pause holds its key alone", plant: func(w windows, l *limiter) {
		l.pause = func(key hotelstays.RateLimitKey, until time.Time) {
			key.BaseURL = "https://other.example"
			w.pause(key, until)
			w.pause(keyOf(key.Operation), until)
		}
	}},
	{name: "counts the token's request with the ticket's", caughtBy: "operations and environments have separate budgets", plant: func(w windows, _ *limiter) {
		w[keyOf(hotelstays.OpOAuthToken)] = w[keyOf(hotelstays.OpTicket)]
	}},
	{name: "limits all operations", caughtBy: "operations without a rate limit are granted at once", plant: func(w windows, _ *limiter) {
		w[keyOf(hotelstays.OpOAuthToken)] = ratelimit.NewWindow(10, time.Second, 0)
	}},
	{name: "hides ctx's error", caughtBy: "Acquire returns ctx's error when ctx ends", plant: func(w windows, l *limiter) {
		l.acquire = func(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
			p, err := w.acquire(ctx, key)
			if err != nil {
				err = errors.New("no slot")
			}
			return p, err
		}
	}},
	{name: "takes a slot for an ended ctx", caughtBy: "an ended ctx takes no slot", plant: func(w windows, l *limiter) {
		l.acquire = func(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
			if ctx.Err() != nil {
				lost, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Nanosecond)
				defer cancel()
				_, _ = w.acquire(lost, key)
				return nil, ctx.Err()
			}
			return w.acquire(ctx, key)
		}
	}},
	{name: "grants a slot to a caller that gave up", caughtBy: "a caller that gives up takes no slot", plant: func(w windows, l *limiter) {
		l.acquire = func(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
			if ctx.Err() != nil || !isLimited(key) {
				return w.acquire(ctx, key)
			}
			forLong, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			p, err := w.acquire(forLong, key)
			if ctx.Err() != nil { // and loses it
				return nil, ctx.Err()
			}
			return p, err
		}
	}},
	{name: "waits for its server in Done", caughtBy: "Sent and Done do not block", plant: func(_ windows, l *limiter) { l.slow = time.Second }},
	{name: "keeps the slots of the dead", caughtBy: "slots of a dead process come back", plant: func(windows, *limiter) {}, immortal: true},
}
