// Outcomes: what happened to a booking, and how that is stored.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// ErrConflictingOutcome: another outcome of the booking was stored before.
var ErrConflictingOutcome = errors.New("another outcome of the booking was stored before")

// finalOutcome returns the outcome that ends a booking, from the results of BookAndRecover
// or StepRecovery. It is nil while nothing is known.
func finalOutcome(recovery *hotelstays.BookingRecovery, outcome *hotelstays.BookingOutcome, err error) *hotelstays.BookingOutcome {
	final := &hotelstays.BookingOutcome{State: hotelstays.BookingAbsent, Recovery: recovery}
	if outcome != nil {
		final.State, final.Order, final.Recovery = outcome.State, outcome.Order, outcome.Recovery
	}
	var unknown *hotelstays.OutcomeUnknownError
	var reused *hotelstays.ReferenceReusedError
	switch {
	case errors.As(err, &unknown):
		return nil
	case errors.As(err, &reused):
		final.State, final.Order, final.Err = hotelstays.BookingFound, reused.Order, err
	case err != nil && outcome != nil:
		return nil
	case err != nil: // Book was refused, or never left
		final.Err = err
	case final.State != hotelstays.BookingFound && final.State != hotelstays.BookingAbsent:
		return nil
	}
	return final
}

// ending is the word for a final outcome in the metadata of a job.
type ending string

const (
	endingFound  ending = "found"
	endingReused ending = "reused" // found, but not the expected order
	endingAbsent ending = "absent"
	endingFailed ending = "failed" // absent, because Book was refused or never left
)

func endingOf(o *hotelstays.BookingOutcome) ending {
	switch found := o.State == hotelstays.BookingFound; {
	case found && o.Err != nil:
		return endingReused
	case found:
		return endingFound
	case o.Err != nil:
		return endingFailed
	}
	return endingAbsent
}

// finish completes a job and calls OnOutcome, in one transaction. A job that has ended
// before stays as it is.
func (b *Bookings) finish(ctx context.Context, id int64, outcome *hotelstays.BookingOutcome) error {
	end, reference := endingOf(outcome), outcome.Recovery.CustomerReferenceNo
	return b.transact(ctx, func(tx pgx.Tx) error {
		job, err := b.jobs.lock(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case !job.live() && job.Ending != end:
			return fmt.Errorf("hotelstaysriver: reference %q is %s: %w (%s, job %d); check the booking by hand",
				reference, end, ErrConflictingOutcome, job.describe(), job.ID)
		case !job.live():
			return nil
		}
		// Complete before OnOutcome, so that it can enqueue the reference again.
		if err := b.jobs.complete(ctx, tx, id, end); err != nil {
			return err
		}
		if err := b.cfg.OnOutcome(ctx, tx, outcome); err != nil {
			return &onOutcomeError{fmt.Errorf("hotelstaysriver: OnOutcome of reference %q, which is %s: %w", reference, end, err)}
		}
		return nil
	})
}

// onOutcomeError is an error of OnOutcome. What it wraps is the caller's, and is never
// taken for an error of this package.
type onOutcomeError struct{ error }

func (e *onOutcomeError) Unwrap() error { return e.error }
