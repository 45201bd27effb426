// Ceilings: how many requests each operation may send in a second.

package hotelstays

import (
	"context"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/internal/transport"
)

// Ceiling is how many requests of op the service takes from one client address in
// any second; 0 where no figure is shown. It is for a RateLimiter of one's own.
func Ceiling(op Operation) int {
	if o := operations[op]; o != nil {
		return o.ceiling
	}
	return 0
}

// RateLimiter holds each operation to its ceiling. The service counts requests
// by endpoint and client address over a rolling second; the client's own limiter
// knows the requests of this client alone. Replace it with WithRateLimiter where
// several processes share one address.
//
// Each operation needs a budget of its own, OpTicket and OpOAuthToken too: a call
// may hold its slot while the token is fetched. Implementations must be safe for
// concurrent use.
type RateLimiter interface {
	// Acquire waits for a slot, or returns an error when ctx ends first.
	// Operations without a ceiling are granted at once; their permit may be nil.
	Acquire(ctx context.Context, op Operation) (Permit, error)
	// Pause keeps op from being granted until a time, after a 429.
	Pause(op Operation, until time.Time)
}

// Permit is a granted slot. Its methods may not block: Sent is called while the
// request is being written. They are never called at the same time.
type Permit interface {
	// Sent says that the request leaves now. It is called at most once.
	Sent()
	// Done says that the attempt is over: its answer has begun, or there will be none.
	// It is called exactly once, last. Without Sent no request left, and the slot is
	// free at once.
	Done(PermitResult)
}

// PermitResult is what is known of a request once its attempt is over. It is the zero
// value where no answer came.
type PermitResult struct {
	// ArrivedBy is the latest time at which the request can have arrived, as its answer
	// proves: its first byte less Server-Cost-Milliseconds, which may be rounded up to
	// a whole millisecond. Zero where unknown.
	ArrivedBy time.Time
	// FirstByte is when the answer began. Without ArrivedBy it is the only proof, and a
	// weak one: the service may have taken long. Zero where no answer came.
	FirstByte time.Time
	// RateLimited reports whether the answer was a 429. Pause follows, with the time that
	// the service asks for.
	RateLimited bool
}

// defaultLimitMargin is the least time beyond a second that a slot stays taken: the
// way to the service varies a little, also where nothing says how much.
const defaultLimitMargin = 10 * time.Millisecond

// ceilings is the limiter of one process: an exact rolling window for each
// operation that has a figure.
type ceilings map[Operation]*ratelimit.Window

func newCeilings(margin time.Duration) ceilings {
	c := make(ceilings)
	for op := range operations {
		if n := Ceiling(op); n > 0 {
			c[op] = ratelimit.NewWindow(n, time.Second, margin)
		}
	}
	return c
}

func (c ceilings) Acquire(ctx context.Context, op Operation) (Permit, error) {
	w, limited := c[op]
	if !limited {
		return unlimited{}, nil
	}
	permit, err := w.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return (*slot)(permit), nil
}

func (c ceilings) Pause(op Operation, until time.Time) {
	if w, limited := c[op]; limited {
		w.Pause(until)
	}
}

// slot is a permit of a Window, with the names of this package.
type slot ratelimit.Permit

func (s *slot) Sent()               { (*ratelimit.Permit)(s).Sent() }
func (s *slot) Done(r PermitResult) { (*ratelimit.Permit)(s).Done(ratelimit.Result(r)) }

type unlimited struct{}

func (unlimited) Sent()             {}
func (unlimited) Done(PermitResult) {}

// opCeiling is the limiter as one call's transport sees it: of one operation, and one
// permit at a time.
type opCeiling struct {
	limiter RateLimiter
	op      Operation
	permit  Permit
}

func (o *opCeiling) Acquire(ctx context.Context) (transport.Permit, error) {
	permit, err := o.limiter.Acquire(ctx, o.op)
	if err != nil {
		return nil, err
	}
	if isNil(permit) {
		permit = unlimited{}
	}
	o.permit = permit
	return o, nil
}

func (o *opCeiling) Sent()                         { o.permit.Sent() }
func (o *opCeiling) Done(r transport.PermitResult) { o.permit.Done(PermitResult(r)) }
func (o *opCeiling) Pause(until time.Time)         { o.limiter.Pause(o.op, until) }
