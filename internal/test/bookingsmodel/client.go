// The Client of the engine, and the functions of its caller.

package bookingsmodel

import (
	"context"
	"net/http"
	"slices"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
	"github.com/hotelstays/hotelstays-go/types"
)

// client is the Client of the engine. RoundTrip answers each request with a reply of the script, so no request leaves
// the process.
type client struct {
	*hotelstays.Client
	m *model

	reply reply
	end   context.CancelFunc
	known map[bookReply]booked // the results of BookAndRecover
}

type bookReply struct {
	code code
	view view
}

type booked struct {
	at      time.Time
	outcome *hotelstays.BookingOutcome
	err     error
}

// RoundTrip answers a request with the reply that the method answer has set. If the answer is lost, it also ends the
// request's ctx.
func (c *client) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.reply.code == lost {
		c.end()
	}
	return c.reply.roundTrip(req)
}

// answer sets the reply to the next request, and returns a ctx for the request that ignores the end of the given ctx.
func (c *client) answer(ctx context.Context, r reply) (context.Context, context.CancelFunc) {
	ctx, c.end = context.WithCancel(context.WithoutCancel(ctx))
	if c.reply = r; r.code == unsent {
		c.end()
	}
	return ctx, c.end
}

// BookAndRecover returns what the real BookAndRecover would return after the next reply of the script. The reply is
// the answer to Book, or the last answer to a poll.
func (c *client) BookAndRecover(ctx context.Context, req *hotelstays.BookRequest,
	opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	switch r := c.m.nextReply(ctx, operation{opKind: books}); r.code {
	case polled:
		ctx, cancel := c.answer(ctx, r)
		defer cancel()
		return c.Client.StepRecovery(ctx, c.m.recovery(r.recovery))
	case gaveUp: // the ctx of BookAndRecover has ended
		return &hotelstays.BookingOutcome{State: hotelstays.BookingOpen, Recovery: c.m.recovery(r.recovery)},
			&hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, Err: context.Canceled}
	default:
		return c.booked(ctx, r, req, opts)
	}
}

// booked returns the result of BookAndRecover for a reply to Book. It calls the real BookAndRecover once for each
// kind of reply. Later it returns the cached result with new times.
func (c *client) booked(ctx context.Context, r reply, req *hotelstays.BookRequest,
	opts []hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	is, known := c.known[bookReply{r.code, r.view}]
	if !known {
		ctx, cancel := c.answer(ctx, r)
		defer cancel()
		is.outcome, is.err = c.Client.BookAndRecover(ctx, req, opts...)
		is.at = time.Now()
		c.known[bookReply{r.code, r.view}] = is
	}
	if is.outcome == nil {
		return nil, is.err
	}
	outcome, recovery := *is.outcome, *is.outcome.Recovery
	for _, t := range []*time.Time{&recovery.EndedAt, &recovery.NextPoll} {
		if !t.IsZero() {
			*t = t.Add(time.Since(is.at))
		}
	}
	outcome.Recovery = &recovery
	return &outcome, is.err
}

func (c *client) StepRecovery(ctx context.Context, recovery *hotelstays.BookingRecovery,
	opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	ctx, cancel := c.answer(ctx, c.m.nextReply(ctx, operation{opKind: steps}))
	defer cancel()
	return c.Client.StepRecovery(ctx, recovery, opts...)
}

// QueryOrders answers for the world's reference, and for the second reference that World.Many adds.
func (c *client) QueryOrders(ctx context.Context, req *hotelstays.QueryOrdersRequest,
	opts ...hotelstays.CallOption) (*hotelstays.QueryOrdersResponse, error) {
	var orders []types.Order
	if slices.Contains(req.CustomerReferenceNos, another) {
		kind, _, _ := c.m.script.call.runs()
		if o := orderOf(0, 1); kind == followed {
			o.CustomerReferenceNo = another
			orders = append(orders, o)
		}
	}
	if !slices.Contains(req.CustomerReferenceNos, reference) {
		return &hotelstays.QueryOrdersResponse{Orders: orders}, nil
	}
	r := c.m.nextReply(ctx, operation{opKind: queries})
	if r.code != succeeds {
		ctx, cancel := c.answer(ctx, r)
		defer cancel()
		return c.Client.QueryOrders(ctx, req, opts...)
	}
	return &hotelstays.QueryOrdersResponse{Orders: append(orders, r.view.orders()...)}, nil
}

// Cancel sends a Cancel with a constant trace id and request id. With random ids, the rows that store equal refusals
// would differ.
func (c *client) Cancel(ctx context.Context, req *hotelstays.CancelRequest,
	opts ...hotelstays.CallOption) (*hotelstays.CancelResponse, error) {
	slot := 0
	for req.SupplierReferenceNo != orderOf(slot, 1).SupplierReferenceNo {
		slot++
	}
	ctx, cancel := c.answer(ctx, c.m.nextReply(ctx, operation{opKind: sendsCancel, slot: slot}))
	defer cancel()
	return c.Client.Cancel(ctx, req, append(opts, hotelstays.WithTraceID("trace"),
		hotelstays.WithRequestID(func(context.Context) string { return "id" }))...)
}

// handlers sets OnOutcome, OnCancel and OnOrder to functions that record what they receive.
func (m *model) handlers(o *durable.Options[*memstore.Tx]) {
	o.OnOutcome = func(_ context.Context, _ *memstore.Tx, outcome *hotelstays.BookingOutcome) error {
		t := &m.script.result.deliveries
		if t.outcome = durable.EndingOf(outcome); outcome.Order != nil {
			t.slot, t.revision = slotAndRevision(outcome.Order)
		}
		return nil
	}
	if m.Cancels > 0 {
		o.OnCancel = func(_ context.Context, _ *memstore.Tx, c *durable.Cancellation) error {
			m.script.result.deliveries.cancel = c.Ending
			return nil
		}
	}
	if m.Follows {
		o.OnOrder = func(_ context.Context, _ *memstore.Tx, change *durable.OrderChange) error {
			t := &m.script.result.deliveries
			t.slot, t.revision = slotAndRevision(change.After)
			if t.changed = true; change.Before != nil {
				_, t.before = slotAndRevision(change.Before)
			}
			return nil
		}
	}
}
