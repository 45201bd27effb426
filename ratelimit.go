// The rate limits of the operations.

package hotelstays

import (
	"context"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/internal/transport"
)

// RateLimiter keeps each operation within its rate limit. The service counts requests by
// endpoint and client address over a rolling second; the client's own limiter knows only
// the requests of this client. Replace it with WithRateLimiter where several processes
// share an address.
//
// Each operation needs its own budget, OpTicket and OpOAuthToken too: a call may hold its
// slot while the token is fetched. Implementations must be safe for concurrent use.
type RateLimiter interface {
	// Acquire waits for a slot, or returns an error when ctx ends first. It grants
	// operations without a rate limit at once; their permit may be nil.
	Acquire(ctx context.Context, op Operation) (Permit, error)
	// Pause grants nothing to op before until. It is called after a 429.
	Pause(op Operation, until time.Time)
}

// Permit is a granted slot. Its methods must not block: Sent is called while the request
// is being written. They are never called at the same time.
type Permit interface {
	// Sent is called when the request leaves, at most once.
	Sent()
	// Done is called when the answer has begun or the attempt has failed: exactly once,
	// last. Without Sent no request left, and the slot is free at once.
	Done(PermitResult)
}

// PermitResult is what an answer proves about its request. Without an answer it is the
// zero value.
type PermitResult struct {
	// ArrivedBy is the latest time at which the request can have arrived: the answer's
	// first byte less Server-Cost-Milliseconds, which may be rounded up to a whole
	// millisecond. Zero if the answer does not say.
	ArrivedBy time.Time
	// FirstByte is when the answer began. Without ArrivedBy it is the only proof of
	// arrival, and a weak one: the service may have taken long.
	FirstByte time.Time
	// RateLimited reports whether the answer was a 429. Pause follows.
	RateLimited bool
}

// defaultLimitMargin covers the time between a request's arrival and its count.
const defaultLimitMargin = 10 * time.Millisecond

// processLimiter is the RateLimiter of one process: a rolling window for each operation
// with a rate limit.
type processLimiter map[Operation]*ratelimit.Window

func newProcessLimiter(margin time.Duration) processLimiter {
	l := make(processLimiter)
	for op := range operations {
		if n := op.RateLimit(); n > 0 {
			l[op] = ratelimit.NewWindow(n, time.Second, margin)
		}
	}
	return l
}

func (l processLimiter) Acquire(ctx context.Context, op Operation) (Permit, error) {
	w, limited := l[op]
	if !limited {
		return unlimited{}, nil
	}
	permit, err := w.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return (*windowPermit)(permit), nil
}

func (l processLimiter) Pause(op Operation, until time.Time) {
	if w, limited := l[op]; limited {
		w.Pause(until)
	}
}

// windowPermit gives a permit of a Window the methods of a Permit.
type windowPermit ratelimit.Permit

func (p *windowPermit) Sent()               { (*ratelimit.Permit)(p).Sent() }
func (p *windowPermit) Done(r PermitResult) { (*ratelimit.Permit)(p).Done(ratelimit.Result(r)) }

// unlimited is the permit of an operation without a rate limit.
type unlimited struct{}

func (unlimited) Sent()             {}
func (unlimited) Done(PermitResult) {}

// callLimiter adapts a RateLimiter to one call, which holds one permit at a time.
type callLimiter struct {
	limiter RateLimiter
	op      Operation
	permit  Permit
}

func (l *callLimiter) Acquire(ctx context.Context) (transport.Permit, error) {
	permit, err := l.limiter.Acquire(ctx, l.op)
	if err != nil {
		return nil, err
	}
	if isNil(permit) {
		permit = unlimited{}
	}
	l.permit = permit
	return l, nil
}

func (l *callLimiter) Sent()                         { l.permit.Sent() }
func (l *callLimiter) Done(r transport.PermitResult) { l.permit.Done(PermitResult(r)) }
func (l *callLimiter) Pause(until time.Time)         { l.limiter.Pause(l.op, until) }
