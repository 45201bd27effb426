// The steps of a cancellation.

package durable

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

const readTimeout = 20 * time.Second

// Cancellation is a cancellation that CancelTx has stored. Its fields also say how it has ended.
type Cancellation struct {
	// CancelOrder is the request, with the PlatformReferenceNo as soon as it is known.
	CancelOrder
	Account string    // hotelstays.Client.Account
	Begun   time.Time // time at which CancelTx stored the cancellation
	// SendBy is the time at which the call of Cancel has certainly ended. It is zero while no Cancel was sent.
	SendBy time.Time
	// Accepted: the service has accepted Cancel, but the order's status is not cancelled yet.
	Accepted bool
	// Due is when a worker acts next, or when the lease of a worker ends.
	Due    time.Time
	Ending CancelEnding
	// Cost is the expected fee when Cancel was sent, according to Order.CancelFeeAt. It is nil if the
	// fee was unknown.
	Cost *types.Money
	// ServiceFee is the fee in the answer to Cancel, or nil.
	ServiceFee *types.Money
	// Err says why the cancellation did nothing, or may have done nothing. It is nil for CancelDone. Otherwise
	// it is the *hotelstays.APIError of the service, an error that matches ErrCancelCost or ErrNothingToCancel,
	// a *hotelstays.OrderNotFoundError, or an error with only a text.
	Err error
}

// CancelTx stores a cancellation in the caller's transaction: together with the caller's own row, or
// not at all. Once the transaction is committed and the booking has ended, a worker reads the order, and
// compares its fee with MaxFee. Then the worker sends Cancel once, and calls OnCancel with the result.
//
// The cancellation belongs to the latest round of the booking under its reference, and cancels only the
// order of that round. To cancel an order without a stored booking, set the request's PlatformReferenceNo.
//
// The request and opts are stored in plain text. Options that are not data cannot be stored, as in
// BeginTx. An incomplete request is a *hotelstays.ValidationError.
//
// The error matches ErrNothingToCancel if there is no such booking, or if it has ended as absent, failed
// or reused. It matches ErrAlreadyCancelling if a cancellation under the same reference has not ended, and
// ErrAlreadyCancelled if an earlier cancellation has cancelled the order. After an error roll tx back. Another cancellation
// may begin if the earlier cancellation was refused, left the order standing, or was of another order.
func (e *Engine[Tx]) CancelTx(ctx context.Context, tx Tx, req CancelOrder, opts ...hotelstays.CallOption) error {
	return e.failed(e.beginCancel(ctx, tx, req, opts), "CancelTx: reference %q", req.CustomerReferenceNo)
}

func (e *Engine[Tx]) beginCancel(ctx context.Context, tx Tx, req CancelOrder, opts []hotelstays.CallOption) error {
	if err := e.checkClient(); err != nil {
		return err
	}
	if e.opts.OnCancel == nil {
		return errors.New("OnCancel is required to cancel; set it in the options of every process")
	}
	row, err := e.store.Look(ctx, tx, e.id(KindBooking, req.CustomerReferenceNo))
	if err != nil {
		return err
	}
	var latest *booking
	if row != nil {
		b, err := read[booking](row)
		if err != nil {
			return err
		}
		latest = &b
	}
	c, err := newCancellation(req, latest, e.account, time.Now(), opts...)
	if err != nil {
		return err
	}
	return insert(ctx, e, tx, &Row{ID: e.id(KindCancel, req.CustomerReferenceNo)}, c, func(before *Row) (cancellation, error) {
		was, err := read[cancellation](before)
		switch {
		case err != nil:
		case was.Delivered && c.namesOtherOrder(was):
		case was.again() != nil:
			err = was.again()
		case !was.Delivered:
			err = ErrAlreadyCancelling
		}
		return c, err
	})
}

// workCancel does the next step of a cancellation, and returns when the following step is due.
func (e *Engine[Tx]) workCancel(ctx context.Context, row *Row) (due time.Time, err error) {
	c, err := read[cancellation](row)
	if err != nil || c.Delivered {
		return due, err
	}
	at := time.Now()
	switch c.phase(at) {
	case phaseEnded:
		return due, e.deliverCancel(ctx, row.Reference)
	case phaseSending, PhasePolling:
		order, err := e.orderOf(ctx, row, &c)
		if ctx.Err() != nil {
			return due, ctx.Err()
		}
		next := func(c cancellation) cancellation { return c.polled(at, order, e.client.StatusMeanings()) }
		if err != nil {
			next = func(c cancellation) cancellation { return c.readFailed(at) }
		}
		return e.endedOr(ctx, row, next(c), e.storeCancel(ctx, row, next))
	}
	bound, waits, err := e.bound(ctx, at, c)
	switch {
	case err != nil:
		return due, err
	case waits || bound.Ending != "":
		return e.endedOr(ctx, row, bound, e.storeCancel(ctx, row, func(cancellation) cancellation { return bound }))
	}
	order, err := e.orderOf(ctx, row, &bound)
	switch {
	case ctx.Err() != nil:
		return due, ctx.Err()
	case err != nil:
		return at.Add(lease), nil //nolint:nilerr // orderOf has logged the error
	}
	return e.sendCancel(ctx, row, bound, order)
}

// bound gives a cancellation the order of the latest booking under its reference. If the booking has not ended, the
// result waits is true, and bound makes a worker poll for the booking now.
func (e *Engine[Tx]) bound(ctx context.Context, at time.Time, c cancellation) (bound cancellation, waits bool, err error) {
	row, err := e.store.Read(ctx, e.id(KindBooking, c.CustomerReferenceNo))
	if err != nil || row == nil {
		c, _ = c.bind(at, nil)
		return c, false, err
	}
	b, err := read[booking](row)
	if err != nil {
		return c, false, err
	}
	bound, waits = c.bind(at, &b)
	if bound.expect = b.Recovery.Expect; !waits && bound.Bound.IsZero() {
		bound.Bound = wallClock(at)
	}
	if waits && b.Phase(at) == PhasePolling && !row.Busy {
		err = wake(ctx, e, KindBooking, c.CustomerReferenceNo, booking.wake)
	}
	return bound, waits, err
}

// orderOf reads the order of a cancellation. The order is nil if a complete answer lacks it. If several orders are
// under the reference, and the cancellation has no order number, orderOf ends the cancellation unless its Cancel was sent.
func (e *Engine[Tx]) orderOf(ctx context.Context, row *Row, c *cancellation) (*types.Order, error) {
	of := e.readTogether(ctx, []Row{*row})[row.Reference]
	order, others := identify(of.orders, c.PlatformReferenceNo)
	if len(others) > 0 {
		e.log.ErrorContext(ctx, "several orders are under the reference of a cancellation",
			slog.String("reference", c.CustomerReferenceNo), slog.String("order", c.PlatformReferenceNo),
			slog.String("others", strings.Join(others, ", ")))
		if c.PlatformReferenceNo == "" && c.SendBy.IsZero() {
			c.Ending = CancelRefused
			c.Problem = "several orders are under the reference: " + strings.Join(others, ", ") + "; name one by PlatformReferenceNo"
		}
	}
	return order, of.err
}

// sendCancel commits that this process is about to send Cancel, and then sends it, all within BookTimeout. No other
// process sends Cancel after this commit.
func (e *Engine[Tx]) sendCancel(ctx context.Context, row *Row, bound cancellation, order *types.Order) (due time.Time, err error) {
	now, id := time.Now(), e.id(KindCancel, row.Reference)
	limit := now.Add(e.opts.BookTimeout) // the mark and Cancel share this time limit
	sendCtx, cancel := context.WithTimeout(ctx, e.opts.BookTimeout)
	defer cancel()
	marked := bound
	err = change(sendCtx, e, id, false, func(_ *Row, c *cancellation) (delivery[Tx], error) {
		// Someone else has changed the cancellation: another worker, BeginTx or a person.
		if c.Delivered || c.Ending != "" || !c.SendBy.IsZero() || !c.same(bound) {
			return nil, ErrMoved
		}
		if bound.Ending == "" {
			marked = bound.start(now, limit, order, e.client.StatusMeanings())
		}
		*c = e.delivering(marked)
		return nil, nil
	})
	if err != nil || marked.phase(now) != phaseSending {
		return e.endedOr(ctx, row, marked, err)
	}
	req, opts := marked.request()
	resp, sendErr := e.client.Cancel(sendCtx, req, opts...)
	at := time.Now()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	var next cancellation
	err = change(ctx, e, id, false, func(_ *Row, c *cancellation) (delivery[Tx], error) {
		if !c.same(marked) || c.Ending != "" { // while this process was frozen, another worker has ended the cancellation
			return nil, errors.New("the Cancel ended after its time limit, so its result is not stored; check the order by hand")
		}
		*c = e.delivering(c.answered(at, resp, sendErr, e.client.StatusMeanings()))
		next = *c
		return nil, nil
	})
	return e.endedOr(ctx, row, next, err)
}

// storeCancel stores the state that the function next returns. If the row has changed since the worker read it, for
// example by Wake, storeCancel stores the state only if the state has an ending.
func (e *Engine[Tx]) storeCancel(ctx context.Context, row *Row, next func(cancellation) cancellation) error {
	return change(ctx, e, e.id(KindCancel, row.Reference), false, func(locked *Row, c *cancellation) (delivery[Tx], error) {
		n := next(*c)
		ends := n.Ending != "" && c.Ending == "" && c.same(n) && c.SendBy.Equal(n.SendBy)
		if c.Delivered || locked.Version != row.Version && !ends {
			return nil, ErrMoved
		}
		*c = e.delivering(n)
		return nil, nil
	})
}

// delivering returns the state of a cancellation to store. If the cancellation has ended, the caller calls
// deliverCancel immediately after the commit. The stored row is due at the end of a lease, so that a worker repeats a
// failed delivery.
func (e *Engine[Tx]) delivering(c cancellation) cancellation {
	if c.Ending != "" {
		c.Due = wallClock(time.Now().Add(lease))
	}
	return c
}

// endedOr is called after a cancellation was stored. It delivers a cancellation that has ended, and otherwise returns
// when the next step is due. If the cancellation could not be stored, endedOr only returns err.
func (e *Engine[Tx]) endedOr(ctx context.Context, row *Row, stored cancellation, err error) (due time.Time, _ error) {
	switch {
	case err != nil:
		return due, err
	case stored.Ending != "":
		return due, e.deliverCancel(ctx, row.Reference)
	}
	return stored.Due, nil
}

// deliverCancel calls OnCancel for a cancellation that has ended. It uses a separate transaction, so that the answer to
// Cancel stays stored if OnCancel fails.
func (e *Engine[Tx]) deliverCancel(ctx context.Context, reference string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	id := e.id(KindCancel, reference)
	err := change(ctx, e, id, true, func(_ *Row, c *cancellation) (delivery[Tx], error) {
		if c.Ending == "" || c.Delivered {
			return nil, errKeep
		}
		c.Delivered = true
		result := c.result()
		return func(ctx context.Context, tx Tx) error {
			return e.handle(ctx, id, "OnCancel", func() error { return e.opts.OnCancel(ctx, tx, &result) })
		}, nil
	})
	if err != nil {
		return err
	}
	if err := wake(ctx, e, KindOrder, reference, followed.wake); err != nil {
		e.log.WarnContext(ctx, "cannot wake an order after its cancellation; it is read later",
			slog.String("reference", reference), slog.String("error", err.Error()))
	}
	return nil
}
