// What pages and the people on call need.

package hotelstaysriver

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotelstays/hotelstays-go/durable"
)

// Watch returns a channel for a page that waits. It receives a value after a transaction of OnOutcome,
// OnCancel or OnOrder for the reference was committed in this process; values that nobody has received
// are one. Watch first, then look at your own row, and look again after each value. Another process
// may commit as well, which is not noticed here: look every few seconds, too. Call stop at the end.
func (b *Bookings) Watch(customerReferenceNo string) (changed <-chan struct{}, stop func()) {
	return b.watchers.Watch(customerReferenceNo)
}

// List returns the open bookings of the client's account, in the order of their references. It
// reads them in pages, without a transaction. Due is when a worker acts next. Unverified counts
// the polls that showed nothing: such a booking needs a person if it stays so.
//
// A job whose arguments somebody has changed by hand is an error that names its reference, and the
// list continues. An error of the database ends it.
func (b *Bookings) List(ctx context.Context) iter.Seq2[durable.Booking, error] {
	return func(yield func(durable.Booking, error) bool) {
		for after := ""; ; {
			page, err := b.bookings.page(ctx, b.cfg.Pool, after)
			if err != nil {
				yield(durable.Booking{}, fmt.Errorf("hotelstaysriver: List: %w", err))
				return
			}
			for _, job := range page {
				if after = job.Reference; job.unreadable != nil {
					err = fmt.Errorf("hotelstaysriver: List: reference %q: %w", after, job.unreadable)
				}
				if !yield(job.Args.Booking, err) {
					return
				}
				err = nil
			}
			if len(page) < pageSize {
				return
			}
		}
	}
}

// Retry makes a worker poll for a booking now. A booking that was abandoned opens again, while
// River has its job. It is refused while the booking waits for Send. The error is
// durable.ErrNotBegun if the booking has an outcome or is unknown.
//
// If a worker is polling at this moment, Retry waits for it, at most five seconds.
func (b *Bookings) Retry(ctx context.Context, customerReferenceNo string) error {
	return b.pollNow(ctx, "Retry", customerReferenceNo, durable.Booking.Retry)
}

// Abandon ends a booking without an outcome: it is neither sent nor polled for any more, and
// OnOutcome is not called. Ask the service first whether there is an order. It is refused
// while Book may be under way. The error is durable.ErrNotBegun if the booking has ended or is
// unknown.
func (b *Bookings) Abandon(ctx context.Context, customerReferenceNo string) error {
	err := b.transact(ctx, func(tx pgx.Tx) error {
		job, err := b.bookings.lockLatest(ctx, tx, customerReferenceNo)
		if err != nil {
			return err
		}
		next, err := job.Args.Abandon(time.Now())
		if err != nil {
			return err
		}
		return b.end(ctx, tx, job, next)
	})
	if err != nil {
		return fmt.Errorf("hotelstaysriver: Abandon: reference %q: %w", customerReferenceNo, err)
	}
	return nil
}
