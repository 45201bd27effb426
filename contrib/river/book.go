// Book: the process's own part of a durable booking.

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
	// ErrNotEnqueued: there is no booking under this reference that has not ended.
	ErrNotEnqueued = errors.New("no booking under this reference is waiting")
	// ErrBegun: Book has been called for this booking before, or a worker has begun to
	// ask for its order.
	ErrBegun = errors.New("the booking has begun already")
)

// Book sends a booking that EnqueueTx has put into the queue and whose transaction is
// committed. Give it the request and the options that the recovery was made with.
//
// It does what Client.BookAndRecover does, for as long as ctx and Config.BookTimeout
// allow, and stores a certain end by OnEnd, in the transaction that completes the job.
// That end is returned without an error: look at its State; a refusal is Failed.
//
// An error means that something is left to be done:
//
//	*hotelstays.OutcomeUnknownError   a worker goes on asking, and will store the end
//	ErrNotEnqueued                    nothing was sent: enqueue it first, and commit
//	ErrBegun                          nothing was sent: it has been, or will not be
//	any other, without an ending      nothing was sent: the database failed; a worker
//	                                  will find that there is no order
//	any other, with an ending         the ending is true, and could not be stored: a
//	                                  worker will find out, and store it
//	ErrEndedOtherwise, with one       the ending is true, and another one was stored
//	                                  before: see the package documentation
func (b *Bookings) Book(ctx context.Context, req *hotelstays.BookRequest, opts ...hotelstays.CallOption) (*Ending, error) {
	if req == nil || req.CustomerReferenceNo == "" {
		return nil, errors.New("hotelstaysriver: Book: the request has no customerReferenceNo")
	}
	limit := time.Now().Add(b.cfg.BookTimeout) // counted from before the job is marked
	booking, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	job, err := b.begin(booking, req.CustomerReferenceNo, limit.Add(clockMargin))
	if err != nil {
		return nil, fmt.Errorf("hotelstaysriver: Book: reference %q: nothing was sent: %w", req.CustomerReferenceNo, err)
	}
	outcome, err := b.cfg.Client.BookAndRecover(booking, req, hotelstays.JoinCallOptions(opts...))

	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	ending := endingOf(req.CustomerReferenceNo, outcome, err)
	if ending == nil {
		return nil, b.handOver(storing, job, outcome, err)
	}
	if ending.Recovery == nil {
		ending.Recovery = &job.Args.Recovery
	}
	return ending, b.end(storing, job.ID, ending)
}

// begin marks a job: from here on it may have been sent.
func (b *Bookings) begin(ctx context.Context, reference string, bookBy time.Time) (job *lockedJob, err error) {
	err = b.transact(ctx, func(tx pgx.Tx) error {
		job, err = b.jobs.lockLive(ctx, tx, reference, b.account)
		switch {
		case errors.Is(err, errNoJob):
			return fmt.Errorf("%w: call EnqueueTx first, and commit", ErrNotEnqueued)
		case err != nil:
			return err
		case job.begun():
			return fmt.Errorf("%w: wait for its end", ErrBegun)
		}
		if err := outliveCrash(ctx, tx); err != nil {
			return err
		}
		job.Args.BookBy = wall(bookBy)
		if err := b.jobs.set(ctx, tx, job); err != nil {
			return err
		}
		return b.jobs.due(ctx, tx, job.ID, bookBy)
	})
	return job, err
}

// handOver leaves a booking to the workers, with what the recovery has come to in this
// process, and returns the error that says so. Where that cannot be stored, they begin
// at BookBy.
func (b *Bookings) handOver(ctx context.Context, job *lockedJob, outcome *hotelstays.BookingOutcome, cause error) error {
	reference := job.Args.Reference
	if outcome != nil && outcome.Recovery != nil {
		if err := b.storeRecovery(ctx, job.ID, outcome.Recovery); err != nil {
			b.cfg.Logger.WarnContext(ctx, "a booking could not be handed over; a worker begins later", slog.String("reference", reference), slog.String("error", err.Error()))
		}
		if cause == nil { // not even the polls of this process know
			cause = outcome.Err
		}
	}
	if cause == nil {
		cause = errors.New("no poll has shown what there is")
	}
	var unknown *hotelstays.OutcomeUnknownError
	if !errors.As(cause, &unknown) {
		cause = &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, CustomerReferenceNo: reference, Err: cause}
	}
	return cause
}

// storeRecovery makes a job go on with a recovery. A job that has ended without an order
// does not any more: this process was frozen for so long that its Book may have been
// carried out since. It is asked for anew then, unless a later round's job does that.
func (b *Bookings) storeRecovery(ctx context.Context, id int64, recovery *hotelstays.BookingRecovery) error {
	return b.transact(ctx, func(tx pgx.Tx) error {
		job, err := b.jobs.lock(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case job.Ending == Found || job.Ending == Reused:
			return nil
		case !job.live():
			if err := b.EnqueueTx(ctx, tx, recovery); !errors.Is(err, ErrEnqueued) {
				return err
			}
			return nil
		}
		job.Args.Recovery = *recovery
		job.Args.BookBy = recovery.EndedAt
		if err := b.jobs.set(ctx, tx, job); err != nil {
			return err
		}
		return b.jobs.due(ctx, tx, job.ID, recovery.NextPoll)
	})
}

// wall is a time as it is stored: without a monotonic reading.
func wall(t time.Time) time.Time { return t.UTC().Round(0) }
