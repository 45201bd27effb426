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

// client is the Client of the engine. Its transport answers with a reply of the script.
type client struct {
	*hotelstays.Client
	m *model

	reply reply
	end   context.CancelFunc
	known map[bookReply]booked // results of BookAndRecover
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

// RoundTrip answers a request. If the answer is lost, the ctx of the call ends.
func (c *client) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.reply.code == lost {
		c.end()
	}
	return c.reply.roundTrip(req)
}

// answer sets the answer to a call with the returned ctx, even if that ctx has ended.
func (c *client) answer(ctx context.Context, r reply) (context.Context, context.CancelFunc) {
	ctx, c.end = context.WithCancel(context.WithoutCancel(ctx))
	if c.reply = r; r.code == unsent {
		c.end()
	}
	return ctx, c.end
}

// BookAndRecover ends with the answer to Book, or with the polls of its own process.
func (c *client) BookAndRecover(ctx context.Context, req *hotelstays.BookRequest,
	opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	switch r := c.m.take(ctx, asked{what: books}); r.code {
	case polled:
		ctx, cancel := c.answer(ctx, r)
		defer cancel()
		return c.Client.StepRecovery(ctx, c.m.recovery(r.recovery, c.m.script.base))
	case gaveUp: // its ctx has ended
		return &hotelstays.BookingOutcome{State: hotelstays.BookingOpen, Recovery: c.m.recovery(r.recovery, c.m.script.base)},
			&hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, Err: context.Canceled}
	default:
		return c.booked(ctx, r, req, opts)
	}
}

// booked calls BookAndRecover once for each kind of reply, and keeps the result: further results would differ only in
// their times.
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

// StepRecovery polls for an order.
func (c *client) StepRecovery(ctx context.Context, recovery *hotelstays.BookingRecovery,
	opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	ctx, cancel := c.answer(ctx, c.m.take(ctx, asked{what: steps}))
	defer cancel()
	return c.Client.StepRecovery(ctx, recovery, opts...)
}

// QueryOrders returns the orders under one or two references.
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
	r := c.m.take(ctx, asked{what: queries})
	if r.code != succeeds {
		ctx, cancel := c.answer(ctx, r)
		defer cancel()
		return c.Client.QueryOrders(ctx, req, opts...)
	}
	return &hotelstays.QueryOrdersResponse{Orders: append(orders, r.view.orders()...)}, nil
}

// Cancel sends a Cancel. Refusals do not differ in what the engine stores.
func (c *client) Cancel(ctx context.Context, req *hotelstays.CancelRequest,
	opts ...hotelstays.CallOption) (*hotelstays.CancelResponse, error) {
	slot := 0
	for req.SupplierReferenceNo != orderOf(slot, 1).SupplierReferenceNo {
		slot++
	}
	ctx, cancel := c.answer(ctx, c.m.take(ctx, asked{what: sendsCancel, slot: slot}))
	defer cancel()
	return c.Client.Cancel(ctx, req, append(opts, hotelstays.WithTraceID("trace"),
		hotelstays.WithRequestID(func(context.Context) string { return "id" }))...)
}

// handlers are the functions of the caller.
func (m *model) handlers(o *durable.Options[*memstore.Tx]) {
	o.OnOutcome = func(_ context.Context, _ *memstore.Tx, outcome *hotelstays.BookingOutcome) error {
		t := &m.script.result.told
		if t.outcome = durable.EndingOf(outcome); outcome.Order != nil {
			t.slot, t.look = looks(outcome.Order)
		}
		return nil
	}
	if m.Cancels > 0 {
		o.OnCancel = func(_ context.Context, _ *memstore.Tx, c *durable.Cancellation) error {
			m.script.result.told.cancel = c.Ending
			return nil
		}
	}
	if m.Follows {
		o.OnOrder = func(_ context.Context, _ *memstore.Tx, change *durable.OrderChange) error {
			t := &m.script.result.told
			t.slot, t.look = looks(change.After)
			if t.changed = true; change.Before != nil {
				_, t.before = looks(change.Before)
			}
			return nil
		}
	}
}
