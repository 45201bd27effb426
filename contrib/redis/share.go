// What one process may send by itself while Redis is away.

package hotelstaysredis

import (
	"context"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// share is a process's part of a rate limit: n slots, each of which comes back a window
// after its request arrived. Whoever comes first is served first, as channels do.
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
	back *time.Timer // gives the slot back; nil: its request has not left
}

// Sent takes the request for up to a window on its way.
func (p *sharePermit) Sent() {
	p.back = time.AfterFunc(p.window+window, func() { p.free <- struct{}{} })
}

func (p *sharePermit) Done(r hotelstays.PermitResult) {
	by := r.ArrivedBy
	if by.IsZero() {
		by = r.FirstByte
	}
	switch {
	case p.back == nil:
		p.free <- struct{}{}
	case !by.IsZero() && p.back.Stop():
		p.back.Reset(max(0, time.Until(by.Add(p.window))))
	}
}
