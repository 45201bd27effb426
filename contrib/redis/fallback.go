// What a process may send alone while Redis is unavailable.

package hotelstaysredis

import (
	"context"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// fallback is one process's part of a rate limit: some slots, each free again one window
// after its request arrived. The first caller is served first, as channels do.
type fallback struct {
	window time.Duration
	free   chan struct{}

	mu     sync.Mutex
	paused time.Time
}

func newFallback(n int, window time.Duration) *fallback {
	f := &fallback{window: window, free: make(chan struct{}, n)}
	for range n {
		f.free <- struct{}{}
	}
	return f
}

func (f *fallback) acquire(ctx context.Context) (hotelstays.Permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-f.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		f.mu.Lock()
		wait := time.Until(f.paused)
		f.mu.Unlock()
		if wait <= 0 {
			return &fallbackPermit{fallback: f}, nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			f.free <- struct{}{}
			return nil, ctx.Err()
		}
	}
}

// pause grants nothing before until. The longest pause counts.
func (f *fallback) pause(until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if until.After(f.paused) {
		f.paused = until
	}
}

type fallbackPermit struct {
	*fallback
	expiry *time.Timer // frees the slot; nil: the request has not left
}

// Sent assumes that the request travels for up to a window.
func (p *fallbackPermit) Sent() {
	p.expiry = time.AfterFunc(p.window+window, func() { p.free <- struct{}{} })
}

func (p *fallbackPermit) Done(r hotelstays.PermitResult) {
	by := r.ArrivedBy
	if by.IsZero() {
		by = r.FirstByte
	}
	switch {
	case p.expiry == nil:
		p.free <- struct{}{}
	case !by.IsZero() && p.expiry.Stop():
		p.expiry.Reset(max(0, time.Until(by.Add(p.window))))
	}
}
