// Messages for guests. Errors of the SDK are for engineers and go to the log. A guest reads
// what they mean for the booking, and what to do now.

package main

import (
	"errors"
	"net/http"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// message describes a problem to a guest.
type message struct {
	Status      int // of the page, if the message has its own page
	Title, Text string
}

var (
	// errExpired reports a page whose search or checkout is no longer stored.
	errExpired = errors.New("not remembered any more")
	// errNoOrder reports an address without an order.
	errNoOrder = errors.New("no such order")
	// errNoPage reports an address without a page.
	errNoPage = errors.New("no such page")
	// errElsewhere reports a request with a host name of another machine.
	errElsewhere = errors.New("asked for under a name that is not this machine's")
	// errForeign reports a form of another site.
	errForeign = errors.New("sent from another site")
	// errForm reports a request that no page of this site sends.
	errForm = errors.New("not a form of this site")
	// errNoBooking reports a booking on a real service that is not allowed.
	errNoBooking = errors.New("booking on a real service costs money: HOTELSTAYS_ALLOW_BOOKING=1 allows it")
)

// nothingBooked is for a booking that was certainly not made.
var nothingBooked = message{http.StatusOK, "Your booking did not reach the hotel", "Please check the offer once more, then book again."}

// notCancelled is for a cancellation whose outcome was unknown.
var notCancelled = message{http.StatusOK, "Your booking is not cancelled", "The cancellation did not reach the hotel. You can send it again."}

// ownMessages are the messages for errors of this site, and of vouchers.
var ownMessages = []struct {
	err error
	message
}{
	{errExpired, message{http.StatusNotFound, "This page has expired", "Prices hold for a while only. Please search again."}},
	{errNoOrder, message{http.StatusNotFound, "There is no such booking", "Please check the address of this page."}},
	{errNoPage, message{http.StatusNotFound, "There is no such page", "Please check the address, or begin with a new search."}},
	{errElsewhere, message{http.StatusMisdirectedRequest, "This site is not to be had here",
		"It has no login, and is open only on the machine that it runs on."}},
	{errForeign, message{http.StatusForbidden, "That did not come from here", "Another site sent this form. Nothing was done."}},
	{errForm, message{http.StatusBadRequest, "That did not work", "Please go back and send the form again."}},
	{hotelstays.ErrVoucherNotReady, noVoucher}, {hotelstays.ErrNoVoucher, noVoucher},
	{hotelstays.ErrVoucherAltered, message{http.StatusBadGateway, "The voucher could not be verified",
		"What we received is not the document that was issued, so we do not hand it out. Please try again."}},
	{errNoBooking, message{http.StatusForbidden, "Booking is switched off", "You can look at hotels and prices, but not book here."}},
}

// sdkMessages are the messages for kinds of errors of the SDK; internal is that of the others. Their
// statuses are those of the kinds.
var sdkMessages = map[hotelstays.ErrorKind]message{
	hotelstays.KindOutcomeUnknown:  doubtful,
	hotelstays.KindReferenceReused: mismatch,
	hotelstays.KindRateChanged: {Title: "The offer has changed",
		Text: "The hotel changed its price or its terms a moment ago. Please look at the offer as it is now."},
	hotelstays.KindDuplicateBooking: {Title: "You have this booking already",
		Text: "There is a booking of the same guests for the same hotel and dates. To book again, cancel that one first."},
	hotelstays.KindCancelRefused: {Title: "This booking cannot be cancelled online",
		Text: "Nothing has changed: your room is still booked. Please contact us."},
	hotelstays.KindParam: {Title: "These details were not accepted",
		Text: "Please check what you entered, names and dates above all."},
	hotelstays.KindTransport: busy, hotelstays.KindTimeout: busy, hotelstays.KindCanceled: busy, hotelstays.KindVoucher: busy,
	hotelstays.KindRateLimited: busy, hotelstays.KindUpstreamTimeout: busy, hotelstays.KindServerError: busy,
}

var (
	internal  = message{http.StatusInternalServerError, "Something went wrong on our side", "We are looking into it. Please try again later."}
	noVoucher = message{http.StatusNotFound, "There is no voucher",
		"It is made once the hotel has confirmed, and withdrawn when a booking is cancelled."}
	busy     = message{Title: "We could not reach the hotels", Text: "Please try again in a moment."}
	doubtful = message{Title: "We are finding out", Text: "Please do not send it again. This page keeps itself up to date."}
	mismatch = message{Title: "We are checking this booking",
		Text: "The hotel's answer differs from what you agreed to. Please do not book again; we will contact you."}
)

// messageFor returns the message for an error.
func messageFor(err error) message {
	for _, own := range ownMessages {
		if errors.Is(err, own.err) {
			return own.message
		}
	}
	kind := hotelstays.KindOf(err)
	if known, ok := sdkMessages[kind]; ok {
		known.Status = kind.HTTPStatus()
		return known
	}
	return internal
}
