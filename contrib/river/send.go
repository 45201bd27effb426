// Send, the part of a durable booking that books, and how its outcome is stored.

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

// Send books a booking that BeginTx has stored and whose transaction is committed. If it is not
// called within BookTimeout, as after the end of a process, a worker does it.
//
// Its results are those of Send in [durable.Bookings].
func (b *Bookings) Send(ctx context.Context, customerReferenceNo string,
	opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	limit := time.Now().Add(b.cfg.BookTimeout) // counts from before the job is marked
	ctx, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	job, req, all, err := b.start(ctx, customerReferenceNo, limit, opts...)
	if err != nil {
		return nil, fmt.Errorf("hotelstaysriver: Send: reference %q: nothing was sent by this call: %w", customerReferenceNo, err)
	}
	return b.book(ctx, job, req, all)
}

// Book stores a booking and sends it: BeginTx and Send in one call, for callers who have no row
// of their own to commit before. Its results are those of Send, and the errors of BeginTx.
func (b *Bookings) Book(ctx context.Context, req *hotelstays.BookRequest,
	opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	if err := b.check(req, opts); err != nil {
		return nil, fmt.Errorf("hotelstaysriver: Book: %w", err)
	}
	limit := time.Now().Add(b.cfg.BookTimeout)
	ctx, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	var job *bookingJob
	started, err := durable.New(*b.cfg.Client.NewBookingRecovery(req, opts...), limit).Start(limit, opts...)
	if err == nil {
		err = b.transact(ctx, func(tx pgx.Tx) (err error) {
			if err = commitToDisk(ctx, tx); err == nil {
				job, err = b.insert(ctx, tx, started, nil)
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("hotelstaysriver: Book: reference %q: nothing was sent: %w", req.CustomerReferenceNo, err)
	}
	return b.book(ctx, job, req, opts)
}

// start marks a job and erases its request and options: from now on its Book may have been sent. It
// returns them, with opts behind.
func (b *Bookings) start(ctx context.Context, reference string, bookBy time.Time, opts ...hotelstays.CallOption) (job *bookingJob,
	req *hotelstays.BookRequest, all []hotelstays.CallOption, err error) {
	err = b.transact(ctx, func(tx pgx.Tx) error {
		job, err = b.bookings.lockLatest(ctx, tx, reference)
		if err != nil {
			return err
		}
		next, err := job.Args.Start(bookBy, opts...)
		if err != nil {
			return err
		}
		if req, all, err = job.Args.OpenRequest(b.keys, job.Args.Request); err != nil {
			return err
		}
		if len(opts) > 0 { // the others were checked before they were stored
			all = append(all, opts...)
			if err := b.cfg.Client.ValidateBook(req, all...); err != nil {
				return err
			}
		}
		if err := commitToDisk(ctx, tx); err != nil {
			return err
		}
		return b.reschedule(ctx, tx, job, next)
	})
	return job, req, all, err
}

// book sends a booking that is marked, until ctx ends, and stores what happens, also after that.
func (b *Bookings) book(ctx context.Context, job *bookingJob, req *hotelstays.BookRequest,
	opts []hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	outcome, err := b.cfg.Client.BookAndRecover(ctx, req, opts...)

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	final, stored := job.Args.Booked(time.Now(), outcome, err), errMoved
	if final != nil {
		stored = b.finish(ctx, job.ID, job.Args.Reference, func(locked *bookingJob) *hotelstays.BookingOutcome {
			return locked.Args.Booked(time.Now(), outcome, err) // the Book of an earlier round may have ended since
		})
	}
	switch {
	case errors.Is(stored, errMoved):
		return nil, b.handOver(ctx, job, outcome, err)
	case errors.Is(stored, durable.ErrConflictingOutcome) && durable.EndingOf(final).HasOrder():
		stored = errors.Join(stored, b.tellLaterRound(ctx, job))
	}
	return final, stored
}

// tellLaterRound makes a round that has begun since a job has ended poll for the order of that job's
// Book as well.
func (b *Bookings) tellLaterRound(ctx context.Context, job *bookingJob) error {
	return b.transact(ctx, func(tx pgx.Tx) error {
		latest, err := b.bookings.lockLatest(ctx, tx, job.Args.Reference)
		if err != nil {
			return err
		}
		if next, open := latest.Args.EarlierEnded(time.Now()); open {
			err = b.reschedule(ctx, tx, latest, next)
		}
		return err
	})
}

// handOver leaves a booking to the workers, with the state of its recovery, and returns an
// OutcomeUnknownError. If the recovery cannot be stored, the workers start at BookBy.
func (b *Bookings) handOver(ctx context.Context, job *bookingJob, outcome *hotelstays.BookingOutcome, cause error) error {
	if outcome != nil && outcome.Recovery != nil {
		if err := b.storeRecovery(ctx, job, outcome.Recovery); err != nil {
			b.cfg.Logger.WarnContext(ctx, "cannot hand a booking over; its polls start later",
				slog.String("reference", job.Args.Reference), slog.String("error", err.Error()))
		}
	}
	return job.Args.Unknown(outcome, cause)
}

// storeRecovery makes the polls for a booking continue with a recovery. If its job has ended
// without an order, this process was frozen for long, and its Book may have made an order since:
// the booking gets a new job, or a later round polls for as long as its own Book would need.
func (b *Bookings) storeRecovery(ctx context.Context, job *bookingJob, recovery *hotelstays.BookingRecovery) (err error) {
	for {
		err = b.transact(ctx, func(tx pgx.Tx) error {
			latest, err := b.bookings.lockLatest(ctx, tx, job.Args.Reference)
			if err != nil {
				return err
			}
			next, ok := latest.Args.HandOver(*recovery)
			again := latest.ID != job.ID
			if again && latest.Args.Ending == "" {
				next, ok = latest.Args.EarlierEnded(recovery.EndedAt)
			}
			switch {
			case again && latest.Args.Ending == durable.EndingFailed && !recovery.EndedAt.After(job.Args.BookBy): // it says nothing new
				return nil
			case !ok:
				return nil
			case latest.Args.Ending != "":
				_, err := b.insert(ctx, tx, next, nil)
				return err
			}
			return b.reschedule(ctx, tx, latest, next)
		})
		if !errors.Is(err, durable.ErrAlreadyBegun) && !errors.Is(err, durable.ErrAlreadyBooked) { // else another round has begun just now
			return err
		}
	}
}

// finish completes a job and calls OnOutcome, in one transaction, with the outcome that final
// returns for the stored job. If that is nil, finish returns errMoved. A job that has ended before
// stays as it is.
func (b *Bookings) finish(ctx context.Context, id int64, reference string, final func(*bookingJob) *hotelstays.BookingOutcome) error {
	return b.deliver(ctx, reference, func(tx pgx.Tx) error {
		job, err := b.bookings.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		outcome := final(job)
		if outcome == nil {
			return errMoved
		}
		next, first, err := job.Args.End(outcome)
		switch {
		case err != nil:
			return fmt.Errorf("hotelstaysriver: job %d: %w", id, err)
		case !first:
			return nil
		}
		// End it before OnOutcome, so that the reference can begin again there.
		if err := b.end(ctx, tx, job, next); err != nil {
			return err
		}
		if err := b.follow(ctx, tx, outcome); err != nil {
			return err
		}
		if err := b.cfg.OnOutcome(ctx, tx, outcome); err != nil {
			return &onOutcomeError{fmt.Errorf("hotelstaysriver: OnOutcome of reference %q, which is %s: %w",
				next.Recovery.CustomerReferenceNo, next.Ending, err)}
		}
		return nil
	})
}

// end ends the locked job of a booking.
func (b *Bookings) end(ctx context.Context, tx pgx.Tx, job *bookingJob, ended durable.Booking) error {
	job.Args.Changes, job.Args.Request = ended.Changes, nil
	return b.bookings.end(ctx, tx, job, string(ended.Ending))
}

// onOutcomeError is an error of OnOutcome. What it wraps is the caller's, and is never
// taken for an error of this package.
type onOutcomeError struct{ error }

func (e *onOutcomeError) Unwrap() error { return e.error }
