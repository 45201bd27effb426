// Cancellations: each is sent once, and how it ended is delivered once.

package hotelstayssql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// cancelEntry is a row of hotelstays_cancels. It is live until OnCancel has received how it ended.
type cancelEntry struct {
	row
	durable.Cancellation
}

func (e *cancelEntry) setDue(due time.Time) { e.Due = due }

// CancelTx stores a cancellation in the caller's transaction: together with the caller's own row, or
// not at all. Once that is committed, Run reads the order, looks at MaxFee, sends Cancel once, and
// calls OnCancel with how it ended. It waits for an order whose booking is still open.
//
// The request and opts are stored in plain text. Options that are no data cannot be stored, as in
// BeginTx. An incomplete request is a *hotelstays.ValidationError.
//
// If a cancellation under the same reference and account has not ended, the error matches
// durable.ErrAlreadyCancelling, and durable.ErrAlreadyCancelled if it has cancelled the order: roll
// tx back. After one that was refused, or that left the order standing, another one begins.
func (j *Journal) CancelTx(ctx context.Context, tx *sql.Tx, req durable.CancelRequest, opts ...hotelstays.CallOption) error {
	fail := func(err error) error { return j.db.failed(err, "CancelTx: reference %q", req.CustomerReferenceNo) }
	if tx == nil || j.opts.OnCancel == nil {
		return fail(errors.New("tx and JournalOptions.OnCancel are required"))
	}
	if err := checkReference(req.CustomerReferenceNo); err != nil {
		return fail(err)
	}
	c, err := durable.NewCancellation(req, string(j.account), time.Now(), opts...)
	if err == nil {
		err = j.insertCancel(ctx, tx, c)
	}
	if err != nil {
		return fail(fmt.Errorf("%w; roll back", err))
	}
	return nil
}

func newCancelEntry(c durable.Cancellation) *cancelEntry {
	return &cancelEntry{row{table: tableOfCancels, reference: c.CustomerReferenceNo, fence: newID()}, c}
}

// insertCancel stores a cancellation, or replaces one that may begin again.
func (j *Journal) insertCancel(ctx context.Context, tx *sql.Tx, c durable.Cancellation) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	e := newCancelEntry(c)
	_, err = j.db.dialect.exec(ctx, tx, `INSERT INTO hotelstays_cancels (account, reference, fence, live, due, state) VALUES (?, ?, ?, 1, ?, ?)
		{conflict account, reference} `+replaced(tableOfCancels, "live = 0", "fence", "due", "state", "live"),
		j.account, []byte(e.reference), e.fence, micros(e.Due), text)
	if err != nil {
		return err
	}
	stored, err := cancels.find(ctx, j, tx, e.reference)
	switch {
	case err != nil:
		return err
	case stored.fence == e.fence:
		return nil
	case stored.Again() != nil:
		return stored.Again()
	}
	return durable.ErrAlreadyCancelling // OnCancel has not received how it ended
}

// scanCancel reads a row.
func (j *Journal) scanCancel(scan func(...any) error) (*cancelEntry, error) {
	e := newCancelEntry(durable.Cancellation{})
	return e, j.scanState(scan, e, &e.Cancellation, func() (string, string) { return e.CustomerReferenceNo, e.Fingerprint })
}

// stepCancel does the next step of a leased cancellation. Only who has stored the mark sends Cancel.
func (j *Journal) stepCancel(ctx context.Context, e *cancelEntry) error {
	at := time.Now()
	phase := e.Phase(at)
	storeCtx, cancel := context.WithDeadline(ctx, e.Due.Add(deliverBy-lease))
	defer cancel()
	switch {
	case late(e.Due, at): // this process was frozen
		return errMoved
	case phase == durable.PhaseEnded:
		return j.deliverCancel(storeCtx, e)
	case phase == durable.PhaseSending: // it is not due, by this clock
		_, err := postpone(ctx, j, []*cancelEntry{e}, func(e *cancelEntry) time.Time { return e.SendBy })
		return err
	}
	order, err := j.client.FindOrder(ctx, e.CustomerReferenceNo, append(e.ReadOptions(), hotelstays.WithTimeout(pollWithin))...)
	if err != nil && !errors.Is(err, hotelstays.ErrNotFound) {
		if ctx.Err() != nil || phase == durable.PhaseWaiting {
			return err
		}
		j.opts.Logger.WarnContext(ctx, "an order cannot be read after its Cancel",
			slog.String("reference", e.reference), slog.String("error", err.Error()))
	}
	if phase == durable.PhasePolling {
		return j.storeCancel(storeCtx, e, e.Read(at, order, j.client.OrderStates()))
	}
	return j.startCancel(ctx, storeCtx, e, order)
}

// startCancel marks a cancellation, and sends it until ctx ends.
func (j *Journal) startCancel(ctx, storeCtx context.Context, e *cancelEntry, order *types.Order) error {
	now := time.Now()
	limit := now.Add(j.opts.BookTimeout)
	next, err := e.Start(now, limit, order, j.client.OrderStates())
	if err == nil && order == nil && next.Ending != "" { // nobody knows yet whether there will be an order
		booking, err := j.read(ctx, e.reference)
		if !errors.Is(err, durable.ErrNotBegun) && (err != nil || booking.Ending == "") {
			return err // its lease ends
		}
	}
	if err == nil {
		err = j.storeCancel(storeCtx, e, next)
	}
	if err != nil || next.Phase(now) != durable.PhaseSending {
		return err
	}
	sendCtx, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	req, opts := next.Send()
	resp, sendErr := j.client.Cancel(sendCtx, req, opts...)
	at := time.Now()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	for {
		if !e.Begun.Equal(next.Begun) || e.Ending != "" { // another has ended it, while this process was frozen
			return errors.New("its Cancel has ended after its time, and this is not stored; check the order by hand")
		}
		err := j.storeCancel(ctx, e, e.Answered(at, resp, sendErr, j.client.OrderStates()))
		if !errors.Is(err, errMoved) {
			return err
		}
		latest, err := cancels.find(ctx, j, j.db, e.reference)
		if err != nil {
			return err
		}
		*e = *latest
	}
}

// storeCancel stores the next state of a cancellation, and delivers one that has ended.
func (j *Journal) storeCancel(ctx context.Context, e *cancelEntry, next durable.Cancellation) error {
	if next.Ending != "" {
		next.Due = time.Now().Add(lease) // of the delivery
	}
	text, err := withUnknown(e.stored, e.Cancellation, next)
	if err == nil {
		err = j.write(ctx, &e.row, nil, `due = ?, state = ?`, micros(next.Due), text)
	}
	if err != nil {
		return err
	}
	if e.Cancellation, e.stored = next, text; e.Ending != "" {
		return j.deliverCancel(ctx, e)
	}
	return nil
}

// deliverCancel passes to the caller how a cancellation has ended. If that fails, another worker
// does it at the end of the lease.
func (j *Journal) deliverCancel(ctx context.Context, e *cancelEntry) error {
	live := liveEnded
	if e.Again() != nil {
		live = liveBooked // for good
	}
	err := j.write(ctx, &e.row, func(ctx context.Context, tx *sql.Tx) error {
		if err := j.opts.OnCancel(ctx, tx, &e.Cancellation); err != nil {
			return fmt.Errorf("OnCancel: %w", err)
		}
		return nil
	}, `live = ?`, live)
	if err == nil && e.Ending == durable.CancelDone {
		err = j.wakeOrder(ctx, e.reference)
	}
	return err
}

// workCancel does a step of a cancellation. After a failure its lease ends, and any worker continues.
func (j *Journal) workCancel(ctx context.Context, e *cancelEntry) {
	defer j.logPanic(ctx, "a cancellation continues later")
	err := j.stepCancel(ctx, e)
	if err != nil && ctx.Err() != nil && e.Phase(time.Now()) == durable.PhaseWaiting {
		err = giveBack(ctx, j, e)
	}
	if err != nil && !errors.Is(err, errMoved) {
		j.opts.Logger.ErrorContext(ctx, "a cancellation continues later",
			slog.String("reference", e.reference), slog.String("error", err.Error()))
	}
}

// wakeCancel makes the cancellation of a reference due, if there is one.
func (j *Journal) wakeCancel(ctx context.Context, reference string) error {
	return cancels.change(ctx, j, reference, func(e *cancelEntry) error {
		next, ok := e.Wake(time.Now())
		if !ok {
			return nil
		}
		return j.storeCancel(ctx, e, next)
	})
}
