// The rate limits of the operations.

package hotelstays

import (
	"context"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/internal/transport"
)

// RateLimiter keeps each operation within its rate limit. The service counts requests by
// endpoint and client address over a rolling second. The default limiter knows only the
// requests of its client: replace it with WithRateLimiter if several processes share an
// address.
//
// Each operation needs its own budget, including OpTicket and OpOAuthToken, because a call
// may hold its slot while the token is fetched. A limiter that processes share must free the
// slots of a process that dies, and keep the limit if a server's clock is set back.
// Implementations must be safe for concurrent use. Package hotelstaystest/storetest tests
// them.
type RateLimiter interface {
	// Acquire waits for a slot, or returns an error that wraps ctx's when ctx ends. It grants
	// operations without a rate limit at once; their permit may be nil.
	Acquire(ctx context.Context, op Operation) (Permit, error)
	// Pause grants nothing to op until the given time, also to callers that wait. The longest
	// pause counts. It is called after a 429.
	Pause(op Operation, until time.Time)
}

// Permit is a granted slot. Its methods must not block, because Sent is called while the
// request is written. They are not called concurrently.
type Permit interface {
	// Sent is called when the request leaves, at most once.
	Sent()
	// Done is called once, last, when the answer has begun or the attempt has failed. Without
	// a call of Sent, no request was sent, and the slot is free at once.
	Done(PermitResult)
}

// PermitResult is what an answer proves about its request. It is zero without an answer.
type PermitResult struct {
	// ArrivedBy is the latest time at which the request can have arrived: the first byte of
	// the answer less Server-Cost-Milliseconds, which may be rounded up to a whole
	// millisecond. Zero means unknown.
	ArrivedBy time.Time
	// FirstByte is when the answer began. Without ArrivedBy it is a weak proof of arrival,
	// because the service may have taken long.
	FirstByte time.Time
	// RateLimited reports whether the answer was a 429. A call of Pause follows.
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

type windowPermit ratelimit.Permit

func (p *windowPermit) Sent()               { (*ratelimit.Permit)(p).Sent() }
func (p *windowPermit) Done(r PermitResult) { (*ratelimit.Permit)(p).Done(ratelimit.Result(r)) }

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
