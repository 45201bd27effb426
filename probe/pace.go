// Pace: a part of the rate limits.

package probe

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go"
)

// pace grants slots one by one, at equal distances. It is a hotelstays.RateLimiter.
type pace struct {
	share float64

	mu   sync.Mutex
	next map[hotelstays.RateLimitKey]time.Time
}

// burst is the key of a context whose calls are not paced.
type burst struct{}

// Acquire waits for the next slot of an operation. One without a documented limit has one a second.
func (p *pace) Acquire(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	distance := time.Second
	if limit := key.Operation.RateLimit(); limit > 0 {
		distance = time.Duration(float64(time.Second) / (p.share * float64(limit)))
	}
	if ctx.Value(burst{}) != nil {
		return nil, ctx.Err()
	}
	p.mu.Lock()
	at := p.next[key]
	if now := time.Now(); at.Before(now) {
		at = now
	}
	if end, ok := ctx.Deadline(); ok && at.After(end) { // a Retry-After of hours is no reason to wait minutes
		p.mu.Unlock()
		return nil, fmt.Errorf("%w: the next slot is in %s", hotelstays.ErrRateLimited, time.Until(at).Round(time.Second))
	}
	p.set(key, at.Add(distance))
	p.mu.Unlock()
	return nil, wait(ctx, time.Until(at))
}

// Pause puts off the next slot.
func (p *pace) Pause(key hotelstays.RateLimitKey, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.next[key]) {
		p.set(key, until)
	}
}

func (p *pace) set(key hotelstays.RateLimitKey, at time.Time) {
	if p.next == nil {
		p.next = map[hotelstays.RateLimitKey]time.Time{}
	}
	p.next[key] = at
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
