// Enqueueing: the job is committed before Book is sent.

package hotelstaysriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// ErrAlreadyEnqueued: a booking under this reference has not ended yet.
var ErrAlreadyEnqueued = errors.New("a booking under this reference has not ended yet")

// jobArgs are the arguments of a job. They hold no secret, and of the guests only the
// caller's WithUserRef.
type jobArgs struct {
	// Reference and Account make a live job unique.
	Reference string `json:"reference" river:"unique"`
	Account   string `json:"account" river:"unique"`
	durable.Booking
}

// jobKind is River's name for these jobs.
const jobKind = "hotelstays_booking"

func (jobArgs) Kind() string { return jobKind }

// liveStates are the states of a job that has not ended.
var liveStates = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

// EnqueueTx inserts the job of a Book that has not been sent, in the caller's transaction:
// together with the caller's own row, or not at all. Commit, then call Book. tx must belong
// to the database of Config.Pool.
//
// If a booking under the same reference and account has not ended, the error matches
// ErrAlreadyEnqueued and nothing is changed: roll tx back. A recovery that is nil, has no
// reference, or belongs to another environment or account is refused, too.
//
// The recovery of a Book that has ended with an unknown outcome can be enqueued as well.
// Workers continue with its next poll, and Book refuses it. Its EndedAt must be set, as
// BookAndRecover does. Without EndedAt it counts as never sent, and one poll without an order
// decides.
func (b *Bookings) EnqueueTx(ctx context.Context, tx pgx.Tx, recovery *hotelstays.BookingRecovery) error {
	switch {
	case recovery == nil:
		return errors.New("hotelstaysriver: EnqueueTx: recovery is nil; create one with Client.NewBookingRecovery")
	case recovery.CustomerReferenceNo == "":
		return errors.New("hotelstaysriver: EnqueueTx: recovery.customerReferenceNo is required")
	case strings.ContainsRune(recovery.CustomerReferenceNo, 0):
		return fmt.Errorf("hotelstaysriver: EnqueueTx: recovery.customerReferenceNo is %q; PostgreSQL cannot store the character NUL",
			recovery.CustomerReferenceNo)
	case recovery.Fingerprint != b.account:
		return fmt.Errorf("hotelstaysriver: EnqueueTx: the recovery of reference %q is of another environment or account than Config.Client",
			recovery.CustomerReferenceNo)
	}
	args := jobArgs{recovery.CustomerReferenceNo, b.account, durable.New(*recovery, time.Now().Add(b.cfg.BookTimeout))}
	inserted, err := b.river.InsertTx(ctx, tx, args, &river.InsertOpts{
		// River discards a job after its last attempt; worker.snoozeFailure saves attempts.
		MaxAttempts: math.MaxInt16,
		Queue:       b.cfg.Queue,
		ScheduledAt: args.Due,
		UniqueOpts:  river.UniqueOpts{ByArgs: true, ByState: liveStates},
	})
	switch {
	case err != nil:
		return fmt.Errorf("hotelstaysriver: EnqueueTx: reference %q: %w", args.Reference, err)
	case inserted.UniqueSkippedAsDuplicate:
		return fmt.Errorf("hotelstaysriver: EnqueueTx: reference %q: %w; roll back, and wait for its outcome", args.Reference, ErrAlreadyEnqueued)
	}
	if err := b.keepEarlier(ctx, tx, &lockedJob{ID: inserted.Job.ID, Args: args}); err != nil {
		return fmt.Errorf("hotelstaysriver: EnqueueTx: reference %q: %w", args.Reference, err)
	}
	return nil
}

// keepEarlier makes a new job remember when the last Book under its reference has ended, if that
// may have made an order. The job is there already, so that no other round can begin or end. The
// one before is not locked: whoever has locked it may wait for the new one.
func (b *Bookings) keepEarlier(ctx context.Context, tx pgx.Tx, job *lockedJob) error {
	before, err := b.jobs.latest(ctx, tx, job.Args.Reference, job.Args.Account, job.ID, "")
	switch {
	case errors.Is(err, errNoJob):
		return nil
	case err != nil:
		return err
	case before.Args.Ending == "": // it has ended since the snapshot of tx
		before.Args.Ending = durable.EndingAbandoned
	}
	last := before.Args.LastBook()
	if last.IsZero() {
		return nil
	}
	next, _ := job.Args.EarlierEnded(last)
	return b.jobs.store(ctx, tx, job, next)
}

// withoutNUL removes the escape of NUL from JSON, but not an escaped backslash before the
// same letters.
var withoutNUL = strings.NewReplacer(`\\`, `\\`, `\u0000`, ``)

// MarshalJSON removes the character NUL, which jsonb cannot hold, from the texts of the
// expected offer.
func (a jobArgs) MarshalJSON() ([]byte, error) {
	type plain jobArgs
	text, err := json.Marshal(plain(a))
	return []byte(withoutNUL.Replace(string(text))), err
}
