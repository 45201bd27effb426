// Cancellations: each is sent once, and how it ended is delivered once.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// pollTimeout bounds a read of an order.
const pollTimeout = 20 * time.Second

// cancelArgs are the arguments of a job that cancels.
type cancelArgs struct {
	Reference string `json:"reference" river:"unique"`
	Account   string `json:"account" river:"unique"`
	durable.Cancellation
}

func (a cancelArgs) key() (reference, account string) { return a.Reference, a.Account }

// Kind is River's name for these jobs.
func (cancelArgs) Kind() string { return "hotelstays_cancel" }

// MarshalJSON stores the arguments.
func (a cancelArgs) MarshalJSON() ([]byte, error) {
	type plain cancelArgs
	return marshal(plain(a))
}

// CancelTx stores a cancellation in the caller's transaction: together with the caller's own row, or
// not at all. Once that is committed, a worker reads the order, looks at MaxFee, sends Cancel once,
// and calls OnCancel with how it ended. It waits for an order whose booking is still open. tx must
// belong to the database of Config.Pool.
//
// The request and opts are stored in plain text. Options that are no data cannot be stored, as in
// BeginTx. An incomplete request is a *hotelstays.ValidationError.
//
// If a cancellation under the same reference and account has not ended, the error matches
// durable.ErrAlreadyCancelling, and durable.ErrAlreadyCancelled if it has cancelled the order and
// River still has its job: roll tx back. After one that was refused, or that left the order
// standing, another one begins.
func (b *Bookings) CancelTx(ctx context.Context, tx pgx.Tx, req durable.CancelRequest, opts ...hotelstays.CallOption) error {
	fail := func(err error) error {
		return fmt.Errorf("hotelstaysriver: CancelTx: reference %q: %w; roll back", req.CustomerReferenceNo, err)
	}
	if tx == nil || b.cfg.OnCancel == nil {
		return fail(errors.New("tx and Config.OnCancel are required"))
	}
	c, err := durable.NewCancellation(req, b.account, time.Now(), opts...)
	if err != nil {
		return fail(err)
	}
	inserted, err := b.river.InsertTx(ctx, tx, cancelArgs{req.CustomerReferenceNo, b.account, c}, b.insertOpts(time.Time{}, priorityCancel))
	if err == nil && inserted.UniqueSkippedAsDuplicate {
		err = durable.ErrAlreadyCancelling
	}
	if err == nil { // the job is there already, so that no other cancellation can begin or end
		var before *storedJob[cancelArgs]
		before, err = b.cancels.latest(ctx, tx, req.CustomerReferenceNo, inserted.Job.ID, "")
		switch {
		case errors.Is(err, durable.ErrNotBegun):
			err = nil
		case err == nil && (before.live() || before.Args.Ending != "" || !before.Args.SendBy.IsZero()): // else a person has ended it in time
			err = before.Args.Again()
		}
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// workCancel does a step of a cancellation.
func (b *Bookings) workCancel(ctx context.Context, job *river.Job[cancelArgs]) (due time.Time, err error) {
	next, err := b.stepCancel(ctx, job)
	if err == nil && next.Ending != "" {
		return due, b.deliverCancel(ctx, job.ID, job.Args.Reference)
	}
	return next.Due, err
}

// stepCancel reads the order, and sends Cancel if nobody has. It returns the cancellation as it is stored.
func (b *Bookings) stepCancel(ctx context.Context, job *river.Job[cancelArgs]) (durable.Cancellation, error) {
	at, c, client := time.Now(), job.Args.Cancellation, b.cfg.Client
	phase := c.Phase(at)
	if phase == durable.PhaseEnded {
		return c, nil
	}
	if phase == durable.PhaseSending {
		c.Due = c.SendBy
		return c, nil
	}
	order, err := client.FindOrder(ctx, c.CustomerReferenceNo, append(c.ReadOptions(), hotelstays.WithTimeout(pollTimeout))...)
	if err != nil && !errors.Is(err, hotelstays.ErrNotFound) {
		b.cfg.Logger.WarnContext(ctx, "the order of a cancellation cannot be read",
			slog.String("reference", c.CustomerReferenceNo), slog.String("error", err.Error()))
		if ctx.Err() != nil {
			return c, errMoved
		}
		if phase == durable.PhaseWaiting {
			c.Due = at.Add(waitPause)
			return c, nil
		}
	}
	if phase == durable.PhasePolling {
		return b.storeCancel(ctx, job, c.Read(at, order, client.OrderStates()))
	}
	now := time.Now()
	limit := now.Add(b.cfg.BookTimeout)
	next, err := c.Start(now, limit, order, client.OrderStates())
	if err == nil && order == nil && next.Ending != "" { // nobody knows yet whether there will be an order
		var open bool
		if open, err = b.open(ctx, c); open {
			c.Due = now.Add(waitPause)
			return c, nil
		}
	}
	if err == nil {
		next, err = b.storeCancel(ctx, job, next)
	}
	if err != nil || next.Phase(now) != durable.PhaseSending {
		return next, err
	}
	return b.sendCancel(ctx, job.ID, next, limit)
}

// storeCancel stores the next state of a cancellation, unless its job has changed since the run began.
func (b *Bookings) storeCancel(ctx context.Context, job *river.Job[cancelArgs], next durable.Cancellation) (durable.Cancellation, error) {
	return next, b.transact(ctx, func(tx pgx.Tx) error {
		locked, err := b.cancels.lockUnchanged(ctx, tx, job)
		if err != nil {
			return err
		}
		if err := commitToDisk(ctx, tx); err != nil { // it may be the mark
			return err
		}
		locked.Args.Cancellation = next
		return b.cancels.store(ctx, tx, locked)
	})
}

// waitPause is how long a cancellation waits while its booking is open, or its order cannot be read.
const waitPause = time.Minute

// open reports whether the booking of a cancellation is open.
func (b *Bookings) open(ctx context.Context, c durable.Cancellation) (open bool, err error) {
	err = b.transact(ctx, func(tx pgx.Tx) error {
		job, err := b.bookings.latest(ctx, tx, c.CustomerReferenceNo, 0, "")
		if errors.Is(err, durable.ErrNotBegun) {
			return nil
		}
		open = err == nil && job.Args.Ending == ""
		return err
	})
	return open, err
}

// sendCancel sends Cancel for a job that is marked, and stores the answer, also after ctx has ended.
func (b *Bookings) sendCancel(ctx context.Context, id int64, marked durable.Cancellation,
	limit time.Time) (next durable.Cancellation, err error) {
	sendCtx, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	req, opts := marked.Send()
	resp, sendErr := b.cfg.Client.Cancel(sendCtx, req, opts...)
	at := time.Now()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	err = b.transact(ctx, func(tx pgx.Tx) error {
		locked, err := b.cancels.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if !locked.live() || locked.Args.Ending != "" { // another has ended it, while this process was frozen
			b.cfg.Logger.ErrorContext(ctx, "a Cancel has ended after its time; check the order by hand",
				slog.String("reference", marked.CustomerReferenceNo))
			return errMoved
		}
		next = locked.Args.Answered(at, resp, sendErr, b.cfg.Client.OrderStates())
		locked.Args.Cancellation = next
		return b.cancels.store(ctx, tx, locked)
	})
	return next, err
}

// deliverCancel passes to the caller how a cancellation has ended, and completes its job, in one transaction.
func (b *Bookings) deliverCancel(ctx context.Context, id int64, reference string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	done := false
	err := b.deliver(ctx, reference, func(tx pgx.Tx) error {
		job, err := b.cancels.lock(ctx, tx, id)
		if err != nil || !job.live() {
			return err
		}
		if err := b.cancels.end(ctx, tx, job, string(job.Args.Ending)); err != nil {
			return err
		}
		if err := b.cfg.OnCancel(ctx, tx, &job.Args.Cancellation); err != nil {
			return fmt.Errorf("hotelstaysriver: OnCancel of reference %q: %w", reference, err)
		}
		done = job.Args.Ending == durable.CancelDone
		return nil
	})
	if err == nil && done && b.cfg.OnOrder != nil {
		if err := b.wakeOrder(ctx, reference); err != nil {
			b.cfg.Logger.WarnContext(ctx, "an order is read later", slog.String("error", err.Error()))
		}
	}
	return err
}
