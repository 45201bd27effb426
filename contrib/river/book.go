// Book: the part of a durable booking that the calling process does.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

var (
	// ErrNotEnqueued: no open booking has this reference.
	ErrNotEnqueued = errors.New("no booking under this reference is waiting")
	// ErrAlreadyStarted: Book was called before for this booking, or a worker already polls
	// for its order.
	ErrAlreadyStarted = errors.New("the booking has started already")
)

// Book sends a booking whose job EnqueueTx has inserted and whose transaction is committed.
// Pass the request and the options that the recovery was made with.
//
// It does what Client.BookAndRecover does, within ctx and Config.BookTimeout, and calls
// OnOutcome in the transaction that completes the job. It returns that outcome with a nil
// error: check State and Err, which holds a refusal.
//
// An error means that something is left to do:
//
//	*hotelstays.OutcomeUnknownError    a worker continues, and will store the outcome
//	ErrNotEnqueued                     nothing was sent: enqueue the booking and commit first
//	ErrAlreadyStarted                  nothing was sent by this call
//	ErrConflictingOutcome, an outcome  the outcome is true, but another one was stored
//	                                   before: see the package documentation
//	any other, with an outcome         the outcome is true, but was not stored: a worker
//	                                   finds it again and stores it
//	any other, without an outcome      the database failed and nothing was sent: a worker
//	                                   will find no order
func (b *Bookings) Book(ctx context.Context, req *hotelstays.BookRequest,
	opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	if req == nil || req.CustomerReferenceNo == "" {
		return nil, errors.New("hotelstaysriver: Book: the request has no customerReferenceNo")
	}
	limit := time.Now().Add(b.cfg.BookTimeout) // counts from before the job is marked
	booking, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	job, err := b.start(booking, req.CustomerReferenceNo, limit.Add(clockMargin))
	if err != nil {
		return nil, fmt.Errorf("hotelstaysriver: Book: reference %q: nothing was sent: %w", req.CustomerReferenceNo, err)
	}
	outcome, err := b.cfg.Client.BookAndRecover(booking, req, hotelstays.JoinCallOptions(opts...))

	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	final := finalOutcome(&job.Args.Recovery, outcome, err)
	if final == nil {
		return nil, b.handOver(storing, job, outcome, err)
	}
	return final, b.finish(storing, job.ID, final)
}

// start marks a job: from now on its Book may have been sent.
func (b *Bookings) start(ctx context.Context, reference string, bookBy time.Time) (job *lockedJob, err error) {
	err = b.transact(ctx, func(tx pgx.Tx) error {
		job, err = b.jobs.lockLive(ctx, tx, reference, b.account)
		switch {
		case errors.Is(err, errNoJob):
			return fmt.Errorf("%w: call EnqueueTx and commit first", ErrNotEnqueued)
		case err != nil:
			return err
		case job.started():
			return fmt.Errorf("%w: wait for its outcome", ErrAlreadyStarted)
		}
		if err := commitToDisk(ctx, tx); err != nil {
			return err
		}
		job.Args.BookBy = wallClock(bookBy)
		if err := b.jobs.setArgs(ctx, tx, job); err != nil {
			return err
		}
		return b.jobs.schedule(ctx, tx, job.ID, bookBy)
	})
	return job, err
}

// handOver leaves a booking to the workers, with the state of its recovery, and returns an
// OutcomeUnknownError. If the recovery cannot be stored, the workers start at BookBy.
func (b *Bookings) handOver(ctx context.Context, job *lockedJob, outcome *hotelstays.BookingOutcome, cause error) error {
	reference := job.Args.Reference
	if outcome != nil && outcome.Recovery != nil {
		if err := b.storeRecovery(ctx, job.ID, outcome.Recovery); err != nil {
			b.cfg.Logger.WarnContext(ctx, "cannot hand a booking over; a worker starts later",
				slog.String("reference", reference), slog.String("error", err.Error()))
		}
		if cause == nil {
			cause = outcome.Err
		}
	}
	if cause == nil {
		cause = errors.New("no poll has shown whether there is an order")
	}
	var unknown *hotelstays.OutcomeUnknownError
	if !errors.As(cause, &unknown) {
		cause = &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, CustomerReferenceNo: reference, Err: cause}
	}
	return cause
}

// storeRecovery makes a job continue with a recovery. If the job has ended without an order,
// this process was frozen for long, and its Book may have made an order since: the booking
// is enqueued again, unless a later round's job exists.
func (b *Bookings) storeRecovery(ctx context.Context, id int64, recovery *hotelstays.BookingRecovery) error {
	return b.transact(ctx, func(tx pgx.Tx) error {
		job, err := b.jobs.lock(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case job.Ending == endingFound || job.Ending == endingReused:
			return nil
		case !job.live():
			if err := b.EnqueueTx(ctx, tx, recovery); !errors.Is(err, ErrAlreadyEnqueued) {
				return err
			}
			return nil
		}
		job.Args.Recovery = *recovery
		job.Args.BookBy = recovery.EndedAt
		if err := b.jobs.setArgs(ctx, tx, job); err != nil {
			return err
		}
		return b.jobs.schedule(ctx, tx, job.ID, recovery.NextPoll)
	})
}

// wallClock drops the monotonic reading, which cannot be stored.
func wallClock(t time.Time) time.Time { return t.UTC().Round(0) }
