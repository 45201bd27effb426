// Outcomes: what happened to a booking, and how that is stored.

package hotelstaysriver

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

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
