// How a booking ends.

package durable

import (
	"errors"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// Ending says how a booking has ended. Its text can be stored. The zero value means that the booking has not ended.
type Ending string

const (
	// EndingFound: the order exists.
	EndingFound Ending = "found"
	// EndingReused: an order exists under the reference, but it is not the expected order.
	EndingReused Ending = "reused"
	// EndingAbsent: the recovery has proven that there is no order.
	EndingAbsent Ending = "absent"
	// EndingFailed: there is no order, because Book was refused or not sent.
	EndingFailed Ending = "failed"
	// EndingAbandoned: a person gave the booking up before it had an outcome.
	EndingAbandoned Ending = "abandoned"
)

func (e Ending) hasOrder() bool { return e == EndingFound || e == EndingReused }

// EndingOf returns the ending of an outcome whose State is found or absent. For any other outcome it returns the zero
// value.
func EndingOf(outcome *hotelstays.BookingOutcome) Ending {
	switch {
	case outcome == nil:
	case outcome.State == hotelstays.BookingFound && outcome.Err != nil:
		return EndingReused
	case outcome.State == hotelstays.BookingFound:
		return EndingFound
	case outcome.State == hotelstays.BookingAbsent && outcome.Err != nil:
		return EndingFailed
	case outcome.State == hotelstays.BookingAbsent:
		return EndingAbsent
	}
	return ""
}

// known returns the final outcome according to the results of BookAndRecover or StepRecovery. It returns nil if the
// results do not prove whether there is an order.
func (b booking) known(outcome *hotelstays.BookingOutcome, err error) *hotelstays.BookingOutcome {
	final := &hotelstays.BookingOutcome{Recovery: &b.Recovery}
	if outcome != nil {
		final.State, final.Order, final.Changes, final.Recovery = outcome.State, outcome.Order, outcome.Changes, outcome.Recovery
	}
	if reused, ok := errors.AsType[*hotelstays.ReferenceReusedError](err); ok {
		final.State, final.Order, final.Err = hotelstays.BookingFound, reused.Order, err
		return final
	}
	if err != nil || final.State != hotelstays.BookingFound && final.State != hotelstays.BookingAbsent {
		return nil
	}
	return final
}

func isUnknown(err error) bool {
	_, unknown := errors.AsType[*hotelstays.OutcomeUnknownError](err)
	return unknown
}

// unknown returns a *hotelstays.OutcomeUnknownError for a booking whose outcome workers have to find. outcome and err
// are the results of BookAndRecover.
func (b booking) unknown(outcome *hotelstays.BookingOutcome, err error) error {
	if err == nil && outcome != nil {
		err = outcome.Err
	}
	if err == nil {
		err = errors.New("no poll has shown whether there is an order")
	}
	if isUnknown(err) {
		return err
	}
	return &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, CustomerReferenceNo: b.Recovery.CustomerReferenceNo, Err: err}
}
