// Beginning: the job is committed before Book is sent.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// bookingArgs are the arguments of a booking's job. They show no secret, and of the guests only the
// caller's WithUserRef.
type bookingArgs struct {
	Reference string `json:"reference" river:"unique"`
	Account   string `json:"account" river:"unique"`
	durable.Booking
	// Request is encrypted, and there until Book is marked.
	Request []byte `json:"request,omitempty"`
}

func (a bookingArgs) key() (reference, account string) { return a.Reference, a.Account }

// Kind is River's name for these jobs.
func (bookingArgs) Kind() string { return "hotelstays_booking" }

// MarshalJSON stores the arguments.
func (a bookingArgs) MarshalJSON() ([]byte, error) {
	type plain bookingArgs
	return marshal(plain(a))
}

type bookingJob = storedJob[bookingArgs]

// become stores a transition. The request is erased when Book is marked.
func (a *bookingArgs) become(next durable.Booking) {
	if a.Booking = next; !next.BookBy.IsZero() {
		a.Request = nil
	}
}

// BeginTx stores a booking in the caller's transaction: together with the caller's own row, or
// not at all. Nothing is sent. Commit, then call Send, in this process or another. A booking
// that is committed is sent: if nobody calls Send within BookTimeout, a worker does, unless it
// is given up by Abandon. tx must belong to the database of Config.Pool.
//
// The request is stored encrypted, with opts, and erased when it is sent. Who sends adds the
// options of that Send alone. Options that are no data, such as WithRequestID, and those that
// every poll needs, WithServiceFacts and WithHeader, cannot be stored: give them to the client.
//
// An invalid request or option is a *hotelstays.ValidationError, as in Client.BookAndRecover.
//
// If a booking under the same reference and account has not ended, the error matches
// durable.ErrAlreadyBegun, and durable.ErrAlreadyBooked if it has ended with an order and River
// still has its job: roll tx back. One that has ended without an order begins again. If it was
// given up after its Book, it is without an order only ten minutes after that.
func (b *Bookings) BeginTx(ctx context.Context, tx pgx.Tx, req *hotelstays.BookRequest, opts ...hotelstays.CallOption) error {
	if err := b.check(req, opts); err != nil {
		return fmt.Errorf("hotelstaysriver: BeginTx: %w", err)
	}
	if tx == nil {
		return errors.New("hotelstaysriver: BeginTx: tx is nil; pass the transaction of your own row, or call Book")
	}
	booking := durable.New(*b.cfg.Client.NewBookingRecovery(req, opts...), time.Now().Add(b.cfg.BookTimeout))
	sealed, err := booking.SealRequest(b.keys, req, opts...)
	if err == nil {
		_, err = b.insert(ctx, tx, booking, sealed)
	}
	if err != nil {
		return fmt.Errorf("hotelstaysriver: BeginTx: reference %q: %w; roll back", req.CustomerReferenceNo, err)
	}
	return nil
}

// check refuses what Book of the client would refuse, before it is stored.
func (b *Bookings) check(req *hotelstays.BookRequest, opts []hotelstays.CallOption) error {
	if err := b.cfg.Client.ValidateBook(req, opts...); err != nil {
		return err
	}
	if strings.ContainsRune(req.CustomerReferenceNo, 0) {
		return fmt.Errorf("customerReferenceNo is %q; PostgreSQL cannot store the character NUL", req.CustomerReferenceNo)
	}
	return nil
}

// Priorities of River, the first ones first.
const (
	priorityBooking = iota + 1
	priorityCancel
	priorityOrder
)

// insertOpts returns the options of a job. One that is due at a time waits for River's scheduler, which
// runs every five seconds; due is zero if a worker may begin at once.
func (b *Bookings) insertOpts(due time.Time, priority int) *river.InsertOpts {
	return &river.InsertOpts{
		// River discards a job after its last attempt; snoozeFailure saves attempts.
		MaxAttempts: math.MaxInt16,
		Queue:       b.cfg.Queue,
		ScheduledAt: due,
		Priority:    priority,
		UniqueOpts:  river.UniqueOpts{ByArgs: true, ByState: liveStates},
	}
}

// insert inserts the job of a booking.
func (b *Bookings) insert(ctx context.Context, tx pgx.Tx, booking durable.Booking, request []byte) (*bookingJob, error) {
	args := bookingArgs{booking.Recovery.CustomerReferenceNo, b.account, booking, request}
	inserted, err := b.river.InsertTx(ctx, tx, args, b.insertOpts(args.Due, priorityBooking))
	switch {
	case err != nil:
		return nil, err
	case inserted.UniqueSkippedAsDuplicate:
		return nil, durable.ErrAlreadyBegun
	}
	job := &bookingJob{ID: inserted.Job.ID, Args: args}
	return job, b.keepEarlier(ctx, tx, job)
}

// keepEarlier makes a new job remember when the last Book under its reference has ended, if that
// may have made an order. The job is there already, so that no other round can begin or end. The
// one before is not locked: whoever has locked it may wait for the new one.
func (b *Bookings) keepEarlier(ctx context.Context, tx pgx.Tx, job *bookingJob) error {
	before, err := b.bookings.latest(ctx, tx, job.Args.Reference, job.ID, "")
	switch {
	case errors.Is(err, durable.ErrNotBegun):
		return nil
	case err != nil:
		return err
	case before.Args.Ending.HasOrder():
		return durable.ErrAlreadyBooked
	case before.Args.Ending == "": // it has ended since the snapshot of tx
		before.Args.Ending = durable.EndingAbandoned
	}
	last := before.Args.LastBook()
	if last.IsZero() {
		return nil
	}
	next, _ := job.Args.EarlierEnded(last)
	return b.reschedule(ctx, tx, job, next)
}

// reschedule stores a booking in its locked job, which is then due as the booking is.
func (b *Bookings) reschedule(ctx context.Context, tx pgx.Tx, job *bookingJob, next durable.Booking) error {
	job.Args.become(next)
	return b.bookings.reschedule(ctx, tx, job, next.Due)
}
