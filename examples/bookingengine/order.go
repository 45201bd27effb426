// An order and its states.

package main

import (
	"bytes"
	"encoding/json"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// bookingState is the state of a booking.
type bookingState string

const (
	placing   bookingState = "placing"    // its outcome is unknown
	booked    bookingState = "booked"     // there is one
	notBooked bookingState = "not booked" // there is none
)

// order is a booking of a guest, from just before Book.
type order struct {
	// Checkout is what the guest agreed to. Its reference names the order everywhere.
	Checkout checkout
	State    bookingState
	Problem  *message     // why nothing was booked or cancelled
	Booked   *types.Order // last read; nil unless State is booked
	Voucher  types.VoucherStatus

	Cancelling time.Time // since when the outcome of Cancel is unknown; zero: it is not
	Cancelled  bool
	Fee        *types.Money // of the cancellation

	Since    time.Time // of the last change or event
	nextRead int64     // a column
}

const (
	// readBatch is how many orders one request reads. The limit is undocumented.
	readBatch = 100
	// readSoon is the pause after which a new order is read again, and readLate the longest one.
	// In between it is a tenth of the age of the order.
	readSoon = 5 * time.Second
	readLate = 12 * time.Hour
	// readLease is how long a process may take to read an order. It is also the pause after a
	// failure.
	readLease = time.Minute
	// cancelEnd is how long after a Cancel with an unknown outcome an order that is not
	// cancelled stays.
	cancelEnd = 10 * time.Minute
)

// settle stores the outcome of a booking.
func (o *order) settle(outcome *hotelstays.BookingOutcome) {
	o.State, o.Problem = notBooked, &nothingBooked
	if outcome.State == hotelstays.BookingFound {
		o.State, o.Problem, o.Booked, o.Since = booked, nil, outcome.Order, time.Now()
		o.nextRead = o.Since.Add(readSoon).UnixMilli()
	}
	if outcome.Err != nil {
		o.Problem = new(messageFor(outcome.Err))
	}
}

// readNow makes an order new again, and due.
func (o *order) readNow() {
	o.Since = time.Now()
	o.nextRead = o.Since.UnixMilli()
}

// saw stores the order as it was read, if it was found.
func (o *order) saw(seen *types.Order) {
	now := time.Now()
	if seen != nil && !same(o.Booked, seen) {
		o.Booked, o.Since = seen, now
	}
	switch {
	case cancelled(o.Booked):
		o.Cancelled, o.Cancelling, o.Problem = true, time.Time{}, nil
	case seen != nil && !o.Cancelling.IsZero() && now.Sub(o.Cancelling) > cancelEnd:
		o.Cancelling, o.Problem = time.Time{}, &notCancelled
	}
	o.nextRead = 0
	if !o.over(now) {
		o.nextRead = now.Add(pauseAt(now.Sub(o.Since))).UnixMilli()
	}
}

// pauseAt is the pause between two reads of an order of this age, if no event comes. Webhooks
// can be lost.
func pauseAt(age time.Duration) time.Duration { return min(max(age/10, readSoon), readLate) }

// over reports whether an order cannot change any more: it is cancelled, or the stay is past
// in all time zones.
func (o order) over(now time.Time) bool {
	if cancelled(o.Booked) {
		return true
	}
	out, err := o.Checkout.Offer.CheckOut.Time()
	return err == nil && now.After(out.AddDate(0, 0, 2))
}

// lacksVoucher reports whether the hotel has answered, and a voucher may still come.
func (o order) lacksVoucher(states hotelstays.OrderStates) bool {
	switch o.Voucher {
	case "", types.VoucherNotGenerated, types.VoucherPending:
		return states.StateOf(o.Booked.Status) != hotelstays.OrderStateOpen && !cancelled(o.Booked)
	}
	return false
}

// CanCancel reports whether a guest can cancel.
func (o order) CanCancel() bool { return o.State == booked && o.Cancelling.IsZero() && !o.Cancelled }

// cancelled reports whether an order is certainly cancelled, whatever the number of that
// state.
func cancelled(o *types.Order) bool { return o != nil && o.CancelTime != "" }

// same reports whether two orders are equal after they were stored.
func same(a, b *types.Order) bool {
	textA, errA := json.Marshal(a)
	textB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(textA, textB)
}
