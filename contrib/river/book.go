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
	"github.com/hotelstays/hotelstays-go/durable"
)

var (
	// ErrNotEnqueued: no open booking has this reference.
	ErrNotEnqueued = errors.New("no booking under this reference is waiting")
	// ErrAlreadyStarted: Book was called before for this booking, or a worker already polls
	// for its order.
	ErrAlreadyStarted = durable.ErrAlreadyStarted
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
//	*hotelstays.OutcomeUnknownError    a worker continues, and will store the outcome. It may
//	                                   wrap a refusal, while an order of an earlier round may
//	                                   appear
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
	job, err := b.start(booking, req.CustomerReferenceNo, limit)
	if err != nil {
		return nil, fmt.Errorf("hotelstaysriver: Book: reference %q: nothing was sent: %w", req.CustomerReferenceNo, err)
	}
	outcome, err := b.cfg.Client.BookAndRecover(booking, req, opts...)

	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	final, stored := job.Args.Booked(time.Now(), outcome, err), errMoved
	if final != nil {
		stored = b.finish(storing, job.ID, func(now *lockedJob) *hotelstays.BookingOutcome {
			return now.Args.Booked(time.Now(), outcome, err) // the Book of an earlier round may have ended since
		})
	}
	if errors.Is(stored, errMoved) {
		return nil, b.handOver(storing, job, outcome, err)
	}
	return final, stored
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
		}
		next, err := job.Args.Start(bookBy)
		if err != nil {
			return fmt.Errorf("%w: wait for its outcome", err)
		}
		if err := commitToDisk(ctx, tx); err != nil {
			return err
		}
		return b.jobs.store(ctx, tx, job, next)
	})
	return job, err
}

// handOver leaves a booking to the workers, with the state of its recovery, and returns an
// OutcomeUnknownError. If the recovery cannot be stored, the workers start at BookBy.
func (b *Bookings) handOver(ctx context.Context, job *lockedJob, outcome *hotelstays.BookingOutcome, cause error) error {
	if outcome != nil && outcome.Recovery != nil {
		if err := b.storeRecovery(ctx, job, outcome.Recovery); err != nil {
			b.cfg.Logger.WarnContext(ctx, "cannot hand a booking over; a worker starts later",
				slog.String("reference", job.Args.Reference), slog.String("error", err.Error()))
		}
	}
	return job.Args.Unknown(outcome, cause)
}

// storeRecovery makes the polls for a booking continue with a recovery. If its job has ended
// without an order, this process was frozen for long, and its Book may have made an order since:
// the booking is enqueued again, or a later round polls for as long as its own Book would need.
func (b *Bookings) storeRecovery(ctx context.Context, job *lockedJob, recovery *hotelstays.BookingRecovery) (err error) {
	for {
		err = b.transact(ctx, func(tx pgx.Tx) error {
			now, err := b.jobs.lockLatest(ctx, tx, job.Args.Reference, job.Args.Account)
			if err != nil {
				return err
			}
			next, ok := now.Args.HandOver(*recovery)
			if now.ID != job.ID && now.Args.Ending == "" {
				next, ok = now.Args.EarlierEnded(recovery.EndedAt)
			}
			switch {
			case !ok:
				return nil
			case now.Args.Ending != "":
				return b.EnqueueTx(ctx, tx, recovery)
			}
			return b.jobs.store(ctx, tx, now, next)
		})
		if !errors.Is(err, ErrAlreadyEnqueued) { // another round has begun just now
			return err
		}
	}
}
