// What one process may send by itself while Redis is away.

package hotelstaysredis

import (
	"context"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// share is a process's part of a rate limit: n slots, each of which comes back a window
// after its request left. Whoever comes first is served first, as channels do.
type share struct {
	window time.Duration
	free   chan struct{}

	mu     sync.Mutex
	paused time.Time
}

func newShare(n int, window time.Duration) *share {
	s := &share{window: window, free: make(chan struct{}, n)}
	for range n {
		s.free <- struct{}{}
	}
	return s
}

func (s *share) acquire(ctx context.Context) (hotelstays.Permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-s.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		s.mu.Lock()
		wait := time.Until(s.paused)
		s.mu.Unlock()
		if wait <= 0 {
			return &sharePermit{share: s}, nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			s.free <- struct{}{}
			return nil, ctx.Err()
		}
	}
}

// pause grants nothing before until. Of several pauses the longest counts.
func (s *share) pause(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if until.After(s.paused) {
		s.paused = until
	}
}

// sharePermit is a slot that was granted here.
type sharePermit struct {
	*share
	sent bool
}

func (p *sharePermit) Sent() {
	p.sent = true
	time.AfterFunc(p.window, func() { p.free <- struct{}{} })
}

func (p *sharePermit) Done(hotelstays.PermitResult) {
	if !p.sent {
		p.free <- struct{}{}
	}
}
