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

// Permit is a granted slot. Exactly one of its methods is called, once. Neither may
// block: Left is called while the request is being written.
type Permit interface {
	// Left says that the request leaves now: the slot comes back one window later.
	Left()
	// Unused says that no request left: the slot comes back at once.
	Unused()
}

// windowMargin is added to the service's second. The service counts arrivals and
// the client departures: a request that travels up to this much faster than the
// one a window before it still keeps the ceiling.
const windowMargin = 10 * time.Millisecond

// ceilings is the limiter of one process: an exact rolling window for each
// operation that has a figure.
type ceilings map[Operation]*ratelimit.Window

func newCeilings() ceilings {
	c := make(ceilings)
	for op := range operations {
		if n := Ceiling(op); n > 0 {
			c[op] = ratelimit.NewWindow(n, time.Second+windowMargin)
		}
	}
	return c
}

func (c ceilings) Acquire(ctx context.Context, op Operation) (Permit, error) {
	w, limited := c[op]
	if !limited {
		return unlimited{}, nil
	}
	if err := w.Acquire(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

func (c ceilings) Pause(op Operation, until time.Time) {
	if w, limited := c[op]; limited {
		w.Pause(until)
	}
}

type unlimited struct{}

func (unlimited) Left()   {}
func (unlimited) Unused() {}

// opCeiling is the limiter as the transport sees it: of one operation.
type opCeiling struct {
	limiter RateLimiter
	op      Operation
}

func (o opCeiling) Acquire(ctx context.Context) (transport.Permit, error) {
	permit, err := o.limiter.Acquire(ctx, o.op)
	if err == nil && isNil(permit) {
		permit = unlimited{}
	}
	return permit, err
}

func (o opCeiling) Pause(until time.Time) { o.limiter.Pause(o.op, until) }
