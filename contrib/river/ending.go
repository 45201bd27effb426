// Endings: what a booking came to, and how that is stored.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// State is what a booking came to. Its text is fit to be stored.
type State string

const (
	// Found: the order exists. Its own status says how far it has come.
	Found State = "found"
	// Reused: an order exists under the reference that is not the expected one; Err is
	// the *hotelstays.ReferenceReusedError. Most likely the reference was used before.
	Reused State = "reused"
	// Failed: nothing was booked. Err is the refusal, or why nothing was sent.
	Failed State = "failed"
	// Absent: nothing is booked; the recovery's last poll found no order. Check the
	// offer again; then it may be booked again, under the same reference.
	Absent State = "absent"
)

// Ending is what became of a booking. It is plain data, made anew for each call.
type Ending struct {
	State State
	// CustomerReferenceNo is the reference that the booking was enqueued with.
	CustomerReferenceNo string
	// Order is set when State is Found or Reused, and nil otherwise.
	Order *types.Order
	// Err is why a booking Failed or was Reused. Otherwise it is nil.
	Err error
	// Recovery is the recovery as it is now. Store its SessionID: Cancel needs it.
	Recovery *hotelstays.BookingRecovery
}

// ErrEndedOtherwise: the booking was stored before, as ended in another way.
var ErrEndedOtherwise = errors.New("the booking was stored before as ended in another way")

// endingOf is what an outcome and its error amount to, of BookAndRecover or of
// StepRecovery, or nil where it is not known yet what there is.
func endingOf(reference string, outcome *hotelstays.BookingOutcome, err error) *Ending {
	e := &Ending{CustomerReferenceNo: reference}
	if outcome != nil {
		e.Order, e.Recovery = outcome.Order, outcome.Recovery
	}
	var unknown *hotelstays.OutcomeUnknownError
	var reused *hotelstays.ReferenceReusedError
	switch {
	case errors.As(err, &unknown):
		return nil
	case errors.As(err, &reused):
		e.State, e.Order, e.Err = Reused, reused.Order, err
	case err != nil && outcome != nil:
		return nil
	case err != nil:
		e.State, e.Err = Failed, err
	case outcome.State == hotelstays.BookingFound:
		e.State = Found
	case outcome.State == hotelstays.BookingAbsent:
		e.State = Absent
	default:
		return nil
	}
	return e
}

// end completes a job and has the ending stored, in one transaction. A job that has
// ended before is left as it is, and ended otherwise is ErrEndedOtherwise.
func (b *Bookings) end(ctx context.Context, id int64, e *Ending) error {
	return b.transact(ctx, func(tx pgx.Tx) error {
		job, err := b.jobs.lock(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case !job.live():
			if job.Ending != e.State {
				return e.otherwise(job)
			}
			return nil
		}
		// Complete before OnEnd is called, so that it can enqueue the reference anew.
		if err := b.jobs.complete(ctx, tx, id, e.State); err != nil {
			return err
		}
		return b.store(ctx, tx, e)
	})
}

// otherwise is the error of an ending that comes after another one.
func (e *Ending) otherwise(job *lockedJob) error {
	return fmt.Errorf("hotelstaysriver: reference %q is %s: %w (%s, job %d); look at the booking by hand", e.CustomerReferenceNo, e.State, ErrEndedOtherwise, job.describe(), job.ID)
}

// store calls OnEnd.
func (b *Bookings) store(ctx context.Context, tx pgx.Tx, e *Ending) error {
	if err := b.cfg.OnEnd(ctx, tx, e); err != nil {
		return &onEndError{fmt.Errorf("hotelstaysriver: OnEnd of reference %q, which is %s: %w", e.CustomerReferenceNo, e.State, err)}
	}
	return nil
}

// onEndError is OnEnd's failure. Whatever it wraps is the caller's: it says nothing of
// how the booking's own steps went.
type onEndError struct{ error }

func (e *onEndError) Unwrap() error { return e.error }
