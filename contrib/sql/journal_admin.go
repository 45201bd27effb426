// What pages and the people on call need.

package hotelstayssql

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/hotelstays/hotelstays-go/durable"
)

// Watch returns a channel for a page that waits. It receives a value after a transaction of OnOutcome,
// OnCancel or OnOrder for the reference was committed in this process; values that nobody has received
// are one. Watch first, then look at your own row, and look again after each value. Another process
// may commit as well, which is not noticed here: look every few seconds, too. Call stop at the end.
func (j *Journal) Watch(customerReferenceNo string) (changed <-chan struct{}, stop func()) {
	return j.watchers.Watch(customerReferenceNo)
}

// List returns the open bookings of the client's account, in the order of their references. It
// reads them in pages, without a transaction. Due is when Run acts next, or the end of a
// worker's lease. Unverified counts the polls that showed nothing: such a booking needs a
// person if it stays so.
//
// A row that somebody has changed by hand is an error that names its reference, and the list
// continues. An error of the database ends it.
func (j *Journal) List(ctx context.Context) iter.Seq2[durable.Booking, error] {
	return func(yield func(durable.Booking, error) bool) {
		for after := ""; ; {
			page, unreadable, err := bookings.page(ctx, j, pageSize, `reference > ? ORDER BY reference`, []byte(after))
			if err != nil {
				yield(durable.Booking{}, j.db.failed(err, "List"))
				return
			}
			for _, bad := range unreadable {
				after = max(after, bad.reference)
				if !yield(durable.Booking{}, fmt.Errorf("hotelstayssql: List: %w", bad)) {
					return
				}
			}
			for _, e := range page {
				after = max(after, e.reference)
				if !yield(e.Booking, nil) {
					return
				}
			}
			if len(page)+len(unreadable) < pageSize {
				return
			}
		}
	}
}

// Retry makes Run poll for a booking now. A booking that was abandoned opens again. It is
// refused while the booking waits for Send. The error is durable.ErrNotBegun if the booking has an
// outcome or is unknown.
func (j *Journal) Retry(ctx context.Context, customerReferenceNo string) error {
	defer j.wakeRun()
	return j.command(ctx, "Retry", customerReferenceNo, durable.Booking.Retry)
}

// Abandon ends a booking without an outcome: it is neither sent nor polled for any more, and
// OnOutcome is not called. Ask the service first whether there is an order. It is refused
// while Book may be under way. The error is durable.ErrNotBegun if the booking has ended or is
// unknown.
func (j *Journal) Abandon(ctx context.Context, customerReferenceNo string) error {
	return j.command(ctx, "Abandon", customerReferenceNo, durable.Booking.Abandon)
}

func (j *Journal) command(ctx context.Context, name, reference string,
	transition func(durable.Booking, time.Time) (durable.Booking, error)) error {
	e, err := j.read(ctx, reference)
	if err == nil {
		err = j.apply(ctx, e, func(b durable.Booking) (durable.Booking, bool, error) {
			next, err := transition(b, time.Now())
			return next, true, err
		}, nil)
	}
	if err != nil {
		return j.db.failed(err, "%s: reference %q", name, reference)
	}
	return nil
}
