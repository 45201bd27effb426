// Texts for guests: amounts, dates, terms, and messages. A message says what an error means for the booking, and what
// the guest can do. The error itself is for engineers, and goes to the log.

package main

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// message describes a problem to a guest. It is also the type of the site's own errors.
type message struct {
	Status      int // HTTP status of the page, if the message has a separate page
	Title, Text string
}

func (m *message) Error() string { return m.Title }

var (
	// errExpired reports a page whose search or checkout is no longer stored.
	errExpired = &message{http.StatusNotFound, "This page has expired", "Prices are valid only for a while. Please search again."}
	errNoOrder = &message{http.StatusNotFound, "There is no such booking", "Please check the address of this page."}
	errNoPage  = &message{http.StatusNotFound, "There is no such page", "Please check the address, or begin with a new search."}
	// errElsewhere reports a request whose host name is not a loopback name.
	errElsewhere = &message{http.StatusMisdirectedRequest, "This site is not available under this address",
		"It has no login, and can be opened only on the machine on which it runs."}
	errForeign = &message{http.StatusForbidden, "This form came from another site", "We ignore forms of other sites. Nothing was done."}
	// errForm reports a request that no page of this site sends.
	errForm = &message{http.StatusBadRequest, "That did not work", "Please go back and send the form again."}
	// errNoBooking reports a booking on a real service without HOTELSTAYS_ALLOW_BOOKING=1.
	errNoBooking = &message{http.StatusForbidden, "Booking is switched off", "You can look at hotels and prices, but not book here."}

	// notCancelled and cancelUnknown describe cancellations to which the service did not answer.
	notCancelled  = message{Title: "Your booking is not cancelled", Text: "The cancellation did not reach the hotel. You can send it again."}
	cancelUnknown = message{Title: "We do not know whether your booking was cancelled", Text: "Please contact us."}
	dearer        = message{Title: "Your booking is not cancelled",
		Text: "Cancelling costs more now than when you asked for it. Please look at the terms again."}

	internal = message{http.StatusInternalServerError, "Something went wrong on our side", "We are looking into it. Please try again later."}
	busy     = message{Title: "We could not reach the hotels", Text: "Please try again in a moment."}
)

// messages maps kinds of the SDK's errors to messages for the guest. For any other kind the guest sees the message internal.
var messages = map[hotelstays.ErrorKind]message{
	"": {Title: "Your booking did not reach the hotel", // Book was never sent
		Text: "Please check the offer once more, then book again."},
	hotelstays.KindReferenceReused: {Title: "We are checking this booking",
		Text: "The hotel's answer differs from what you agreed to. Please do not book again; we will contact you."},
	hotelstays.KindRateChanged: {Title: "The offer has changed",
		Text: "The hotel changed its price or its terms a moment ago. Please look at the offer as it is now."},
	hotelstays.KindDuplicateBooking: {Title: "You have this booking already",
		Text: "There is a booking of the same guests for the same hotel and dates. To book again, cancel that booking first."},
	hotelstays.KindRefused: {Title: "That was not accepted", Text: "Nothing was done. Please choose another offer."},
	hotelstays.KindCancelRefused: {Title: "This booking cannot be cancelled online",
		Text: "Nothing has changed: your room is still booked. Please contact us."},
	hotelstays.KindParam: {Title: "These details were not accepted",
		Text: "Please check what you entered, especially names and dates."},
	hotelstays.KindVoucherNotReady: {Title: "The voucher is not ready",
		Text: "It is made once the hotel has confirmed. Please try again in a minute."},
	hotelstays.KindNoVoucher: {Title: "There is no voucher",
		Text: "A cancelled booking has no voucher. If your booking is not cancelled, please contact us."},
	hotelstays.KindVoucher: {Title: "The voucher could not be verified",
		Text: "The document that we received is not the one that was issued, so we do not show it. Please try again."},
	hotelstays.KindTransport: busy, hotelstays.KindTimeout: busy, hotelstays.KindCanceled: busy,
	hotelstays.KindRateLimited: busy, hotelstays.KindUpstreamTimeout: busy, hotelstays.KindServerError: busy,
}

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

var templateFuncs = template.FuncMap{
	"price":     price,
	"selling":   selling,
	"deadline":  deadline,
	"day":       day,
	"meals":     meals,
	"refund":    refund,
	"fee":       fee,
	"cheapest":  cheapest,
	"count":     count,
	"occupancy": occupancy,
	"segment":   url.PathEscape, // ids may contain any character, such as a slash
	"nights":    nights,
}

// selling returns the price for the guest: the supplier's binding selling price, or the net
// price. A real engine adds its markup to the net price.
func selling(rate types.Rate) types.Money {
	if rate.RespectGrossRate && rate.GrossRate != nil {
		return *rate.GrossRate
	}
	return rate.NetRate
}

// price formats an amount with all its digits, such as "EUR 1,044.30". A float would round the amount.
func price(m types.Money) string {
	amount, err := m.Decimal()
	if err != nil {
		return "price on request" // a missing price must not appear as zero
	}
	digits := amount.StringFixed(max(0, -amount.Exponent()))
	for i := strings.Index(digits+".", ".") - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return m.Currency + "\u00a0" + digits
}

func fee(m types.Money) string {
	if amount, err := m.Decimal(); err == nil && amount.IsZero() {
		return "free"
	}
	return price(m)
}

// deadline formats a time with its zone, and returns an invalid time unchanged.
func deadline(t types.Timestamp) string {
	at, err := t.Time()
	if err != nil {
		return string(t)
	}
	return strings.TrimSuffix(at.Format("Mon 2 Jan 2006, 15:04 UTC-07:00"), "+00:00")
}

// day formats a date, such as "Thu 24 Dec 2026", and returns an invalid date unchanged.
func day(d types.Date) string {
	at, err := d.Time()
	if err != nil {
		return string(d)
	}
	return at.Format("Mon 2 Jan 2006")
}

func meals(board *types.Board) string {
	if board == nil {
		return "Meals not stated"
	}
	return cmp.Or(board.BoardName.In("en"), "Meal plan "+string(board.BoardID))
}

// refund describes whether and until when an offer is refundable.
func refund(r types.RoomRatePkg) string {
	until, err := r.RefundableUntil.Time()
	switch past := err == nil && time.Now().After(until); {
	case r.RefundableMode == types.RefundableNo:
		return "Not refundable"
	case r.RefundableMode == types.RefundableFull && r.RefundableUntil != "" && !past:
		return "Free cancellation until " + deadline(r.RefundableUntil)
	case r.RefundableMode == types.RefundablePartial && !past:
		return "Partly refundable"
	}
	return "See the cancellation terms"
}

// cheapest returns the price of the first offer, because the search requested only one offer per hotel.
func cheapest(h types.Hotel) types.Money {
	for _, room := range h.Rooms {
		for _, rate := range room.Rates {
			return selling(rate.TotalRate)
		}
	}
	return *cmp.Or(h.MinPrice, &types.Money{})
}

// count formats a number of things, such as "2 rooms", without a line break.
func count(n int, thing string) string {
	if n != 1 {
		thing = cmp.Or(map[string]string{"child": "children"}[thing], thing+"s")
	}
	return fmt.Sprintf("%d\u00a0%s", n, thing)
}

func occupancy(rooms []types.GuestPerRoom) string {
	adults, children := 0, 0
	for _, room := range rooms {
		adults += room.AdultCount
		children += len(room.ChildrenAges)
	}
	text := count(len(rooms), "room") + ", " + count(adults, "adult")
	if children > 0 {
		text += ", " + count(children, "child")
	}
	return text
}

func nights(checkIn, checkOut types.Date) string {
	from, err := checkIn.Time()
	to, err2 := checkOut.Time()
	if err != nil || err2 != nil {
		return ""
	}
	return count(int(to.Sub(from)/(24*time.Hour)), "night")
}
