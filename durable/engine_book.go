// The steps of a booking.

package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// InTx calls f in a transaction, and commits it if f returns nil: call BeginTx or CancelTx in f, and then write
// your own row. If the database undid the transaction because of another transaction, as after a deadlock, f is
// called again. So everything that f does outside tx must be repeatable. f must use its ctx, and return the
// error of each statement.
//
// InTx returns the error of f unchanged. The database ends a transaction that is idle for too long.
func (e *Engine[Tx]) InTx(ctx context.Context, f func(ctx context.Context, tx Tx) error) error {
	var failed error
	err := e.store.InTx(ctx, true, func(ctx context.Context, tx Tx) error {
		failed = f(ctx, tx)
		return failed
	})
	if failed != nil {
		return err
	}
	return e.failed(err, "InTx")
}

// BeginTx stores a booking in the caller's transaction: together with the caller's own row, or
// not at all. Nothing is sent. Commit, then call Send, in this process or another. A booking
// that is committed is sent: if nobody calls Send within BookTimeout, a worker sends it, unless
// Abandon ends it before.
//
// The request is stored encrypted, with opts, and erased when it is sent. Send may add options for
// its own call. Some options cannot be stored: options that are not data, such as WithRequestID,
// and options that every poll needs, WithServiceFacts and WithHeader. Give them to the client.
//
// An invalid request or option is a *hotelstays.ValidationError, as in Client.BookAndRecover.
//
// If a booking under the same reference and account has not ended, the error matches ErrAlreadyBegun.
// If that booking has ended with an order, the error matches ErrAlreadyBooked. After an error roll tx
// back. A booking that has ended without an order begins again. If a cancellation of the earlier round
// was not sent, the cancellation ends, and OnCancel receives it as refused. While the Cancel of an
// earlier round may be in progress, the error matches ErrAlreadyCancelling.
func (e *Engine[Tx]) BeginTx(ctx context.Context, tx Tx, req *hotelstays.BookRequest, opts ...hotelstays.CallOption) error {
	if err := e.checkBook(req, opts); err != nil {
		return e.failed(err, "BeginTx")
	}
	booking := newBooking(*e.client.NewBookingRecovery(req, opts...), time.Now().Add(e.opts.BookTimeout))
	sealed, err := booking.sealRequest(e.keys, req, opts...)
	if err == nil {
		_, err = e.begin(ctx, tx, booking, sealed)
	}
	return e.failed(err, "BeginTx: reference %q", req.CustomerReferenceNo)
}

func (e *Engine[Tx]) checkBook(req *hotelstays.BookRequest, opts []hotelstays.CallOption) error {
	if err := e.checkClient(); err != nil {
		return err
	}
	return e.client.ValidateBook(req, opts...)
}

// begin stores a new booking, or the next round of a booking that has ended without an order.
func (e *Engine[Tx]) begin(ctx context.Context, tx Tx, b booking, sealed []byte) (booking, error) {
	b.Begun = wallClock(time.Now())
	row := &Row{ID: e.id(KindBooking, b.Recovery.CustomerReferenceNo), Sealed: sealed}
	again := false
	err := insert(ctx, e, tx, row, b, func(before *Row) (_ booking, err error) {
		was, err := read[booking](before)
		if err == nil {
			b, err = b.after(was)
		}
		again = true
		return b, err
	})
	if err == nil && again {
		err = changeTx(ctx, e, tx, e.id(KindCancel, row.Reference), func(row *Row, c *cancellation) (_ delivery[Tx], err error) {
			if c.Delivered {
				return nil, errKeep
			}
			*c, err = c.bookingBegins(time.Now())
			return nil, err
		})
	}
	if errors.Is(err, errKeep) || errors.Is(err, ErrNotBegun) { // no cancellation is stored, or OnCancel has received its ending
		err = nil
	}
	return b, err
}

// Send books a booking that BeginTx has stored and whose transaction is committed. If Send is not
// called within BookTimeout, for example because the process died, a worker sends the booking.
//
// [Bookings] documents the results of Send.
func (e *Engine[Tx]) Send(ctx context.Context, customerReferenceNo string,
	opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	limit := time.Now().Add(e.opts.BookTimeout) // the mark and Book share this time limit
	ctx, cancel := context.WithTimeout(ctx, e.opts.BookTimeout)
	defer cancel()
	marked, req, all, err := e.mark(ctx, customerReferenceNo, limit, opts)
	if err != nil {
		return nil, e.failed(err, "Send: reference %q: nothing was sent by this call", customerReferenceNo)
	}
	return e.book(ctx, marked, req, all)
}

// Book stores a booking and sends it: BeginTx and Send in one call, for callers who have no row of
// their own to commit. It returns the results of Send and the errors of BeginTx.
func (e *Engine[Tx]) Book(ctx context.Context, req *hotelstays.BookRequest,
	opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	if err := e.checkBook(req, opts); err != nil {
		return nil, e.failed(err, "Book")
	}
	limit := time.Now().Add(e.opts.BookTimeout)
	ctx, cancel := context.WithTimeout(ctx, e.opts.BookTimeout)
	defer cancel()
	marked, err := newBooking(*e.client.NewBookingRecovery(req, opts...), limit).start(limit, opts...)
	if err == nil {
		begun := marked
		err = e.store.InTx(ctx, false, func(ctx context.Context, tx Tx) (err error) {
			marked, err = e.begin(ctx, tx, begun, nil)
			return err
		})
	}
	if err != nil {
		return nil, e.failed(err, "Book: reference %q: nothing was sent", req.CustomerReferenceNo)
	}
	return e.book(ctx, marked, req, opts)
}

// mark commits that this process is about to send Book, and erases the stored request. It returns the decrypted
// request, and the stored options followed by opts.
func (e *Engine[Tx]) mark(ctx context.Context, reference string, bookBy time.Time, opts []hotelstays.CallOption) (marked booking,
	req *hotelstays.BookRequest, all []hotelstays.CallOption, err error) {
	err = change(ctx, e, e.id(KindBooking, reference), false, func(row *Row, b *booking) (_ delivery[Tx], err error) {
		if err = e.checkClient(); err != nil {
			return nil, err
		}
		sealed := row.Sealed
		if marked, err = b.start(bookBy, opts...); err != nil {
			return nil, err
		}
		if req, all, err = b.openRequest(e.keys, sealed); err != nil {
			return nil, err
		}
		if len(opts) > 0 { // only the new options need a check: BeginTx has checked the stored options
			all = append(all, opts...)
			err = e.client.ValidateBook(req, all...)
		}
		*b = marked
		return nil, err
	})
	return marked, req, all, err
}

// book calls Book for a marked booking. It stores the result even if ctx has ended.
func (e *Engine[Tx]) book(ctx context.Context, marked booking, req *hotelstays.BookRequest,
	opts []hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	outcome, bookErr := e.client.BookAndRecover(ctx, req, opts...)

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	id, ended := e.id(KindBooking, marked.Recovery.CustomerReferenceNo), sent{marked, time.Now(), outcome, bookErr}
	_, is := ended.settle(marked) // the result for Send, in case change cannot read the row
	err := change(ctx, e, id, true, func(_ *Row, b *booking) (then delivery[Tx], err error) {
		*b, is = ended.settle(*b)
		switch {
		case is.deliver:
			then = e.outcomeTo(id, is.outcome)
		case !is.store:
			err = errKeep
		}
		return then, err
	})
	if is.outcome == nil {
		if err != nil {
			e.log.WarnContext(ctx, "cannot store that the outcome of a Book is unknown; workers poll from the end of its BookTimeout",
				slog.String("reference", id.Reference), slog.String("error", err.Error()))
		}
		e.wakeRun()
		return nil, marked.unknown(outcome, bookErr)
	}
	return is.outcome, e.failed(cmp.Or(err, is.err), "the booking under reference %q is %s, but that was not stored",
		id.Reference, EndingOf(is.outcome))
}

// outcomeTo returns a delivery that calls OnOutcome. If OnOrder is set, the delivery also makes workers follow the order.
func (e *Engine[Tx]) outcomeTo(id ID, outcome *hotelstays.BookingOutcome) delivery[Tx] {
	return func(ctx context.Context, tx Tx) error {
		if err := e.follow(ctx, tx, outcome); err != nil {
			return err
		}
		return e.handle(ctx, id, "OnOutcome", func() error { return e.opts.OnOutcome(ctx, tx, outcome) })
	}
}

// workBooking sends a booking that waits for Send, or polls for its order. It returns the time of the next
// step.
func (e *Engine[Tx]) workBooking(ctx context.Context, row *Row) (due time.Time, err error) {
	b, err := read[booking](row)
	if err != nil || b.Ending != "" {
		return due, err
	}
	if b.Phase(time.Now()) == PhaseWaiting {
		_, err := e.Send(ctx, row.Reference)
		switch {
		case isOfHandler(err):
		case isUnknown(err), errors.Is(err, ErrAlreadyStarted): // workers poll: the outcome is unknown, or another call sent Book
			err = ErrMoved
		case errors.Is(err, ErrAlreadyBooked), errors.Is(err, ErrNotBegun): // the booking has ended
			err = nil
		}
		return due, err
	}
	at, recovery := time.Now(), b.Recovery
	outcome, err := e.client.StepRecovery(ctx, &recovery)
	next, final := b.polled(at, outcome, err)
	switch {
	case final != nil:
		return due, e.storeFinal(ctx, row, b, final)
	case err != nil:
		return due, err
	case b.Recovery.EndedAt.IsZero() && !next.Recovery.EndedAt.IsZero(): // the process that called Book cannot log this, because it has died
		e.log.WarnContext(ctx, "the process of a booking ended during Book, so the outcome is unknown; workers poll for the order",
			slog.String("reference", row.Reference), slog.Time("begun", next.Begun),
			slog.Time("absenceProvenAt", next.Recovery.EndedAt.Add(provenAfter)))
	case next.Unverified > b.Unverified:
		e.log.WarnContext(ctx, "a booking is still unverified; its polls continue",
			slog.String("reference", row.Reference), slog.Int("polls", next.Unverified), slog.String("error", fmt.Sprint(outcome.Err)))
	}
	return next.Due, change(ctx, e, e.id(KindBooking, row.Reference), false, func(locked *Row, b *booking) (delivery[Tx], error) {
		if locked.Version != row.Version {
			return nil, ErrMoved
		}
		*b = next
		return nil, nil
	})
}

// storeFinal ends a booking with the outcome of a poll. If the row has changed since the poll began, storeFinal stores
// the outcome only if an order was found.
func (e *Engine[Tx]) storeFinal(ctx context.Context, row *Row, polled booking, final *hotelstays.BookingOutcome) error {
	id := e.id(KindBooking, row.Reference)
	err := change(ctx, e, id, true, func(locked *Row, b *booking) (delivery[Tx], error) {
		order := final.State == hotelstays.BookingFound && sameRound(*b, polled)
		if !order && locked.Version != row.Version {
			return nil, ErrMoved
		}
		ended, first, err := b.end(final)
		if !first {
			return nil, cmp.Or(err, errKeep)
		}
		*b = ended
		return e.outcomeTo(id, final), nil
	})
	if errors.Is(err, ErrConflictingOutcome) && !isOfHandler(err) { // the booking has already ended, with another outcome
		e.log.ErrorContext(ctx, "a booking has two outcomes", slog.String("reference", id.Reference), slog.String("error", err.Error()))
		return nil
	}
	return err
}

// pollInterrupted makes bookings due for a poll if an earlier process ended while it was sending them.
func (e *Engine[Tx]) pollInterrupted(ctx context.Context) {
	for b, err := range e.List(ctx) {
		of := e.of(b.Account())
		if err == nil && b.Phase(time.Now()) == PhaseBooking {
			err = wake(ctx, of, KindBooking, b.Recovery.CustomerReferenceNo, booking.wake)
		}
		if err != nil {
			of.log.WarnContext(ctx, "cannot poll immediately for a booking of an earlier process; its polls begin at the end of its BookTimeout",
				slog.String("reference", b.Recovery.CustomerReferenceNo), slog.String("error", err.Error()))
		}
	}
}
