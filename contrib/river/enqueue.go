// Enqueueing: the job that is committed before Book is sent.

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
)

// ErrEnqueued: a booking under this reference has not ended yet.
var ErrEnqueued = errors.New("a booking under this reference has not ended yet")

// jobArgs are the arguments of a job. They hold no secret, and nothing of the guests but
// what the caller named the user by (WithUserRef).
type jobArgs struct {
	// Reference and Account make the job unique while it has not ended.
	Reference string                     `json:"reference" river:"unique"`
	Account   string                     `json:"account" river:"unique"`
	Recovery  hotelstays.BookingRecovery `json:"recovery"`
	// BookBy is when Book has ended for certain. It is zero while nobody has begun to
	// book, nor to ask.
	BookBy time.Time `json:"bookBy,omitzero"`
	// Doubts is how often a poll ended as unverified.
	Doubts int `json:"doubts,omitempty"`
}

// jobKind is how River knows the jobs.
const jobKind = "hotelstays_booking"

// Kind is for River.
func (jobArgs) Kind() string { return jobKind }

// liveStates are those of a job that has not ended.
var liveStates = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

// EnqueueTx puts the recovery of a Book that has not been sent yet into the queue, in
// the caller's transaction: together with the caller's own row, or not at all. Commit,
// then call Book. tx must be of the database that Config.Pool reaches.
//
// While a booking under the same reference and account has not ended, the error
// matches ErrEnqueued, and nothing is changed; roll tx back, for its row would be a
// second one of the same booking. A recovery that is nil, without a reference, or of
// another environment or account is refused, too.
//
// Of a Book that ended before, with an unknown outcome, the recovery can be handed over
// as well: it is asked for from its next poll on, and Book refuses it. Its EndedAt must be
// set, as BookAndRecover does: a recovery without one is of a Book that was never sent,
// and one poll decides that there is no order.
func (b *Bookings) EnqueueTx(ctx context.Context, tx pgx.Tx, recovery *hotelstays.BookingRecovery) error {
	switch {
	case recovery == nil:
		return errors.New("hotelstaysriver: EnqueueTx: recovery is nil; make one with Client.NewBookingRecovery")
	case recovery.CustomerReferenceNo == "":
		return errors.New("hotelstaysriver: EnqueueTx: recovery.customerReferenceNo is required")
	case strings.ContainsRune(recovery.CustomerReferenceNo, 0):
		return fmt.Errorf("hotelstaysriver: EnqueueTx: recovery.customerReferenceNo is %q; PostgreSQL cannot store the character NUL", recovery.CustomerReferenceNo)
	case recovery.Fingerprint != b.account:
		return fmt.Errorf("hotelstaysriver: EnqueueTx: the recovery of reference %q is of another environment or account than Config.Client, and could not be asked for", recovery.CustomerReferenceNo)
	}
	args := jobArgs{Reference: recovery.CustomerReferenceNo, Account: b.account, Recovery: *recovery}
	due := time.Now().Add(b.cfg.BookTimeout + clockMargin) // Book has begun by then, or will not
	if !recovery.EndedAt.IsZero() {
		args.BookBy, due = recovery.EndedAt, recovery.NextPoll
	}
	inserted, err := b.river.InsertTx(ctx, tx, args, &river.InsertOpts{
		// River gives a job up after its last attempt; worker.uncounted keeps away from it.
		MaxAttempts: math.MaxInt16,
		Queue:       b.cfg.Queue,
		ScheduledAt: due,
		UniqueOpts:  river.UniqueOpts{ByArgs: true, ByState: liveStates},
	})
	switch {
	case err != nil:
		return fmt.Errorf("hotelstaysriver: EnqueueTx: reference %q: %w", args.Reference, err)
	case inserted.UniqueSkippedAsDuplicate:
		return fmt.Errorf("hotelstaysriver: EnqueueTx: reference %q: %w; roll back, and wait for its end", args.Reference, ErrEnqueued)
	}
	return nil
}

// encode is the JSON of the arguments, as River stores it.
func (a *jobArgs) encode() ([]byte, error) { return json.Marshal(a) }

// withoutNUL takes the escape of NUL out of JSON, and leaves that of a backslash before
// the same letters.
var withoutNUL = strings.NewReplacer(`\\`, `\\`, `\u0000`, ``)

// MarshalJSON leaves out the character NUL, which jsonb cannot hold. A text of the
// expected offer may have one, such as its RateComment; its dates count.
func (a jobArgs) MarshalJSON() ([]byte, error) {
	type plain jobArgs
	text, err := json.Marshal(plain(a))
	return []byte(withoutNUL.Replace(string(text))), err
}
