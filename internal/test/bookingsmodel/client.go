// The Client of the engine, and the functions of its caller.

package bookingsmodel

import (
	"context"
	"slices"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
	"github.com/hotelstays/hotelstays-go/types"
)

// client is the Client of the engine.
type client struct {
	*service
	m *model
}

// BookAndRecover ends with its Book, or with the polls of its process.
func (c client) BookAndRecover(ctx context.Context, req *hotelstays.BookRequest,
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

// StatusMeanings returns the meanings of the service's states.
func (c client) StatusMeanings() hotelstays.StatusMeanings { return orderStates }

// StepRecovery polls for an order.
func (c client) StepRecovery(ctx context.Context, recovery *hotelstays.BookingRecovery,
	opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	ctx, cancel := c.answer(ctx, c.m.take(ctx, asked{what: steps}))
	defer cancel()
	return c.Client.StepRecovery(ctx, recovery, opts...)
}

// QueryOrders returns the orders under one or two references.
func (c client) QueryOrders(ctx context.Context, req *hotelstays.QueryOrdersRequest,
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
func (c client) Cancel(ctx context.Context, req *hotelstays.CancelRequest,
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
			slot, look := looks(outcome.Order)
			t.slot, t.look = int8(slot), look
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
			slot, look := looks(change.After)
			t.slot, t.look = int8(slot), look
			if t.changed = true; change.Before != nil {
				_, t.before = looks(change.Before)
			}
			return nil
		}
	}
}
