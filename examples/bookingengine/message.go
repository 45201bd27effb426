// Messages for guests. Errors of the SDK are for engineers and go to the log. A guest reads
// what they mean for the booking, and what to do now.

package main

import (
	"errors"
	"net/http"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// message describes a problem to a guest. Those of this site are its errors, too.
type message struct {
	Status      int // of the page, if the message has its own page
	Title, Text string
}

func (m *message) Error() string { return m.Title }

var (
	// errExpired reports a page whose search or checkout is no longer stored.
	errExpired = &message{http.StatusNotFound, "This page has expired", "Prices hold for a while only. Please search again."}
	errNoOrder = &message{http.StatusNotFound, "There is no such booking", "Please check the address of this page."}
	errNoPage  = &message{http.StatusNotFound, "There is no such page", "Please check the address, or begin with a new search."}
	// errElsewhere reports a request with a host name of another machine.
	errElsewhere = &message{http.StatusMisdirectedRequest, "This site is not to be had here",
		"It has no login, and is open only on the machine that it runs on."}
	errForeign = &message{http.StatusForbidden, "That did not come from here", "Another site sent this form. Nothing was done."}
	// errForm reports a request that no page of this site sends.
	errForm = &message{http.StatusBadRequest, "That did not work", "Please go back and send the form again."}
	// errNoBooking reports a booking on a real service without HOTELSTAYS_ALLOW_BOOKING=1.
	errNoBooking = &message{http.StatusForbidden, "Booking is switched off", "You can look at hotels and prices, but not book here."}

	// nothingBooked is for a booking that was certainly not made.
	nothingBooked = message{Title: "Your booking did not reach the hotel", Text: "Please check the offer once more, then book again."}
	// notCancelled and cancelUnknown are for cancellations without an answer.
	notCancelled  = message{Title: "Your booking is not cancelled", Text: "The cancellation did not reach the hotel. You can send it again."}
	cancelUnknown = message{Title: "We do not know whether your booking was cancelled", Text: "Please contact us."}
	dearer        = message{Title: "Your booking is not cancelled",
		Text: "Cancelling costs more now than when you asked for it. Please look at the terms again."}

	internal = message{http.StatusInternalServerError, "Something went wrong on our side", "We are looking into it. Please try again later."}
	busy     = message{Title: "We could not reach the hotels", Text: "Please try again in a moment."}
)

// messages are those for kinds of errors of the SDK, whose statuses are those of the kinds. The
// message of all other kinds is internal.
var messages = map[hotelstays.ErrorKind]message{
	hotelstays.KindReferenceReused: {Title: "We are checking this booking",
		Text: "The hotel's answer differs from what you agreed to. Please do not book again; we will contact you."},
	hotelstays.KindRateChanged: {Title: "The offer has changed",
		Text: "The hotel changed its price or its terms a moment ago. Please look at the offer as it is now."},
	hotelstays.KindDuplicateBooking: {Title: "You have this booking already",
		Text: "There is a booking of the same guests for the same hotel and dates. To book again, cancel that one first."},
	hotelstays.KindCancelRefused: {Title: "This booking cannot be cancelled online",
		Text: "Nothing has changed: your room is still booked. Please contact us."},
	hotelstays.KindParam: {Title: "These details were not accepted",
		Text: "Please check what you entered, names and dates above all."},
	hotelstays.KindVoucherNotReady: {Title: "The voucher is not ready",
		Text: "It is made once the hotel has confirmed. Please try again in a minute."},
	hotelstays.KindNoVoucher: {Title: "There is no voucher",
		Text: "It is withdrawn when a booking is cancelled. If yours is not, please contact us."},
	hotelstays.KindVoucher: {Title: "The voucher could not be verified",
		Text: "What we received is not the document that was issued, so we do not hand it out. Please try again."},
	hotelstays.KindTransport: busy, hotelstays.KindTimeout: busy, hotelstays.KindCanceled: busy,
	hotelstays.KindRateLimited: busy, hotelstays.KindUpstreamTimeout: busy, hotelstays.KindServerError: busy,
}

// messageFor returns the message for an error.
func messageFor(err error) message {
	if own, ok := errors.AsType[*message](err); ok {
		return *own
	}
	if errors.Is(err, durable.ErrCancelCost) {
		return dearer
	}
	kind := hotelstays.KindOf(err)
	known, ok := messages[kind]
	if !ok {
		return internal
	}
	known.Status = kind.HTTPStatus()
	return known
}
