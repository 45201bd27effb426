// A state: the order at the service, and what each worker does.

package bookingsmodel

import (
	"cmp"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// state is a state of the world. Its times, also those of its bookings, are seconds from now, so that
// states that differ in nothing but the time are one.
type state struct {
	skew      int16 // of the second worker
	row       int32 // the stored booking
	round     uint8
	called    bool // the caller's Send of this round came
	delivered uint8
	told      ending // what was delivered last in this round
	books     [2]book
	workers   [2]worker
	faults    uint8 // that are left, as are these
	wakes     uint8
	acts      uint8

	// Only around a cancellation, whose Cancel is the first of books:
	order   uint8 // its status; 0 while it does not show
	shownBy int16
	left    uint8 // Cancels
	live    bool  // OnCancel has not received how it ended
}

// book is a Book that may make an order, or has made it.
type book struct {
	is bookIs
	by int16 // when it is shown at the latest
}

type bookIs uint8

const (
	noBook bookIs = iota
	flying        // it may arrive
	made          // the order exists
	shown         // QueryOrders returns it
)

// worker is a process that books or polls.
type worker struct {
	does  does
	fresh bool  // the row has not changed since it was read
	still bool  // it stands still while time passes
	mine  int8  // the Book that is under way
	final uint8 // the ending that it will store, the result of Book, or what became of its Cancel
	read  int32 // the booking that it has read
	next  int32 // the booking that it will store, or has a recovery for itself
	at    int16 // a time of its clock
}

type does uint8

const (
	nothing does = iota
	startsBook
	sends
	awaits   // the answer of Book
	recovers // polls by itself, after Book
	endsBook
	polls
	stores // what a poll says
)

// ending is a durable.Ending.
type ending uint8

var endings = []durable.Ending{"", durable.EndingFound, durable.EndingAbsent, durable.EndingFailed, durable.EndingAbandoned}

const (
	found  ending = 1
	absent ending = 2
	failed ending = 3
)

// outcomes are what is delivered.
var outcomes = []*hotelstays.BookingOutcome{found: {State: hotelstays.BookingFound}, absent: {State: hotelstays.BookingAbsent},
	failed: {State: hotelstays.BookingAbsent, Err: hotelstays.ErrRateChanged}}

// before orders workers.
func (a worker) before(b worker) bool {
	if a.does != b.does {
		return a.does > b.does
	}
	if a.still != b.still || a.fresh != b.fresh {
		return a.still && !b.still || a.still == b.still && a.fresh
	}
	return cmp.Compare(a.final, b.final)*16+cmp.Compare(a.read, b.read)*8+cmp.Compare(a.next, b.next)*4+
		cmp.Compare(a.at, b.at)*2+cmp.Compare(a.mine, b.mine) < 0
}

func endingOf(outcome *hotelstays.BookingOutcome) ending {
	for i, e := range endings {
		if e == durable.EndingOf(outcome) {
			return ending(i)
		}
	}
	panic("an unknown ending")
}
