// Rate limiters with a fault that the suites must find. Tests of package hotelstays run the suites with a correct limiter.

package storetest_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

type countsHalf struct{ hotelstays.RateLimiter }

func (l countsHalf) Acquire(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	if rand.IntN(2) == 0 {
		req.Key.BaseURL = "https://another.example"
	}
	return l.RateLimiter.Acquire(ctx, req)
}

type freesAtDone struct{ hotelstays.RateLimiter }

func (l freesAtDone) Acquire(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	p, err := l.RateLimiter.Acquire(ctx, req)
	if p != nil {
		p = neverSent{p}
	}
	return p, err
}

type neverSent struct{ hotelstays.Permit }

func (neverSent) Sent() {}

// lastPause looks only at the last pause, before it waits.
type lastPause struct {
	hotelstays.RateLimiter
	mu     sync.Mutex
	paused time.Time
}

func (l *lastPause) Pause(_ hotelstays.RateLimitKey, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = until
}

func (l *lastPause) Acquire(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	l.mu.Lock()
	pause := time.Until(l.paused)
	l.mu.Unlock()
	time.Sleep(pause)
	return l.RateLimiter.Acquire(ctx, req)
}

// losesSlots takes a slot for a caller whose ctx has ended.
type losesSlots struct{ hotelstays.RateLimiter }

func (l losesSlots) Acquire(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	p, err := l.RateLimiter.Acquire(patient, req)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return p, err
}

type unfair struct{ hotelstays.RateLimiter }

func (l unfair) Acquire(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	return l.RateLimiter.Acquire(ctx, hotelstays.RateLimitRequest{Key: req.Key})
}

var limiterFaults = map[string]func(hotelstays.RateLimiter) hotelstays.RateLimiter{
	"no more slots are granted than the limit":          func(l hotelstays.RateLimiter) hotelstays.RateLimiter { return countsHalf{l} },
	"no more requests leave in a second than the limit": func(l hotelstays.RateLimiter) hotelstays.RateLimiter { return freesAtDone{l} },
	"the longest pause counts in every process": func(l hotelstays.RateLimiter) hotelstays.RateLimiter {
		return &lastPause{RateLimiter: l}
	},
	"a caller that gives up takes no slot":          func(l hotelstays.RateLimiter) hotelstays.RateLimiter { return losesSlots{l} },
	"an account with many calls delays only itself": func(l hotelstays.RateLimiter) hotelstays.RateLimiter { return unfair{l} },
}
