// An order, and its status for its guest in every state.

package main

import (
	"fmt"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// bookingState is the state of a booking.
type bookingState string

const (
	placing   bookingState = "placing"    // its outcome is unknown
	booked    bookingState = "booked"     // there is one
	notBooked bookingState = "not booked" // there is none
	unclear   bookingState = "unclear"    // a person has to look; nothing can be done here
)

// order is a booking of a guest, from just before Book.
type order struct {
	// Checkout is what the guest agreed to. Its reference names the order everywhere.
	Checkout checkout
	State    bookingState
	Problem  *message     // why nothing was booked or cancelled, or what is unclear
	Booked   *types.Order // last read; nil if there is none, or another one has the reference
	Changed  bool         // it is not what the guest agreed to
	Since    time.Time    // of Book

	Cancelling time.Time // since when a cancellation is open; zero: none is
	Cancelled  bool
	Fee        *types.Money // of the cancellation
}

// settle stores the outcome of a booking.
func (o *order) settle(outcome *hotelstays.BookingOutcome, states hotelstays.OrderStates) {
	o.State, o.Problem = notBooked, &nothingBooked
	if outcome.Err != nil {
		o.Problem = new(messageFor(outcome.Err))
	}
	switch durable.EndingOf(outcome) {
	case durable.EndingFound:
		o.State, o.Problem, o.Changed = booked, nil, !outcome.Changes.Within(acceptable)
		o.read(outcome.Order, states)
	case durable.EndingReused: // outcome.Order is another one: a guest must neither see nor cancel it
		o.State = unclear
	}
}

// read stores the order as it was read.
func (o *order) read(seen *types.Order, states hotelstays.OrderStates) {
	o.Booked = seen
	if states.StateOf(seen.Status) == hotelstays.OrderStateCancelled {
		o.State, o.Cancelled, o.Problem = booked, true, nil
	}
}

// cancelled stores how a cancellation has ended.
func (o *order) cancelled(c *durable.Cancellation) {
	o.Cancelling, o.Fee = time.Time{}, c.ServiceFee
	switch {
	case o.Cancelled || c.Ending == durable.CancelDone: // the hotel may have been first
		o.Cancelled = true
	case c.Ending == durable.CancelStanding:
		o.Problem = &notCancelled
	case c.Ending == durable.CancelUnknown: // the journal begins no other one
		o.State, o.Problem = unclear, &cancelUnknown
	default:
		o.Problem = new(messageFor(c.Err()))
	}
}

// CanCancel reports whether a guest can cancel.
func (o order) CanCancel() bool { return o.State == booked && o.Cancelling.IsZero() && !o.Cancelled }

// Price returns the price of the order.
func (o order) Price() types.Money {
	if o.Booked == nil {
		return selling(o.Checkout.Offer.TotalRate)
	}
	return selling(types.Rate{NetRate: o.Booked.NetRate, GrossRate: o.Booked.GrossRate, RespectGrossRate: o.Booked.RespectGrossRate})
}

// status is the headline of an order.
type status struct {
	Kind             string // "wait", "good", "bad" or "over": its colour
	Headline, Detail string
	Voucher          bool // there may be one
}

// patient is how long an answer typically takes. A guest reads when one is overdue, also after
// a restart.
const patient = 10 * time.Second

// statusOf returns the status of an order. It says no more than is known.
func statusOf(o order, states hotelstays.OrderStates) status {
	const keepsItself = " Please do not book again: this page keeps itself up to date."
	switch {
	case o.State == placing && time.Since(o.Since) < patient:
		return status{"wait", "We are booking your room", "This takes a moment." + keepsItself, false}
	case o.State == placing:
		return status{"wait", "We are finding out whether your room is booked",
			"There is no answer yet. Finding out takes up to eleven minutes." + keepsItself, false}
	case o.State == notBooked:
		return status{"bad", o.Problem.Title, "Nothing was booked. " + o.Problem.Text, false}
	case o.State == unclear:
		return status{"wait", o.Problem.Title, o.Problem.Text, false}
	case o.Cancelled:
		return status{"over", "Your booking is cancelled", kept(o.Fee), false}
	case !o.Cancelling.IsZero() && time.Since(o.Cancelling) < patient:
		return status{"wait", "We are cancelling your booking", "This takes a moment.", false}
	case !o.Cancelling.IsZero():
		return status{"wait", "We are finding out whether your booking is cancelled",
			"There is no answer yet. Finding out takes up to eleven minutes. This page keeps itself up to date.", false}
	case o.Booked.HotelConfirmNo != "" || states.StateOf(o.Booked.Status) == hotelstays.OrderStateConfirmed:
		return status{"good", "Your booking is confirmed", "The hotel expects you.", true}
	case states.StateOf(o.Booked.Status) == hotelstays.OrderStateOpen:
		return status{"wait", "Waiting for the hotel to confirm", "Your room is booked. The hotel usually confirms within ten minutes.", false}
	}
	return status{"wait", "The hotel has answered",
		fmt.Sprintf("The booking is in state %d. We will tell you what that means.", o.Booked.Status), true}
}

// kept describes the cost of a cancellation.
func kept(m *types.Money) string {
	switch {
	case m == nil:
		return "What it costs follows from the cancellation terms below."
	case fee(*m) == "free":
		return "It costs you nothing."
	}
	return "The hotel keeps " + price(*m) + "."
}
