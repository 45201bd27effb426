// Amounts, terms and texts for people. Amounts use the exact digits of the service, never a
// float.

package main

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

var templateFuncs = template.FuncMap{
	"price":     price,
	"selling":   selling,
	"text":      text,
	"deadline":  deadline,
	"refund":    refund,
	"fee":       fee,
	"cheapest":  cheapest,
	"count":     count,
	"occupancy": occupancy,
	"segment":   url.PathEscape, // ids may contain any character
	"nights":    nights,
}

// selling returns the price for the guest: the supplier's binding selling price, or the net
// price. A real engine adds its markup to the latter.
func selling(rate types.Rate) types.Money {
	if rate.RespectGrossRate && rate.GrossRate != nil {
		return *rate.GrossRate
	}
	return rate.NetRate
}

// price formats an amount with all its digits, such as "EUR 1,044.30".
func price(m types.Money) string {
	amount, err := m.Decimal()
	if err != nil {
		return "price on request" // absent is not zero
	}
	digits, fraction, _ := strings.Cut(amount.Abs().StringFixed(max(0, -amount.Exponent())), ".")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if fraction != "" {
		digits += "." + fraction
	}
	if amount.IsNegative() {
		digits = "-" + digits
	}
	return m.Currency + "\u00a0" + digits
}

// text returns a text in English, or in any other language.
func text(t *types.I18N) string {
	if t == nil {
		return ""
	}
	for _, s := range []string{t.EN, t.AR, t.ZH} {
		if s != "" {
			return s
		}
	}
	return ""
}

// deadline formats a time in the service's zone, or returns it unchanged.
func deadline(t types.Timestamp) string {
	at, err := t.Time()
	if err != nil {
		return string(t)
	}
	zone := "UTC"
	if _, offset := at.Zone(); offset != 0 {
		zone = at.Format("UTC-07:00")
	}
	return at.Format("2006-01-02 15:04 ") + zone
}

// refund describes how far an offer is refundable.
func refund(r types.RoomRatePkg) string {
	until, err := r.RefundableUntil.Time()
	switch {
	case r.RefundableMode == types.RefundableNo:
		return "Not refundable"
	case err == nil && time.Now().After(until):
		return "See the cancellation terms"
	case r.RefundableMode == types.RefundableFull && r.RefundableUntil != "":
		return "Free cancellation until " + deadline(r.RefundableUntil)
	case r.RefundableMode == types.RefundablePartial:
		return "Partly refundable"
	}
	return "See the cancellation terms"
}

// fee describes a step of the cancellation terms.
func fee(m types.Money) string {
	if amount, err := m.Decimal(); err == nil && amount.IsZero() {
		return "free"
	}
	return price(m)
}

// feeStep returns the current step of the cancellation terms: the one that ends next. It is
// unknown if a deadline is malformed or all are past.
func feeStep(steps []types.CancelFee, now time.Time) (step types.CancelFee, known bool) {
	var ends time.Time
	for _, s := range steps {
		until, err := s.Until.Time()
		if err != nil {
			return types.CancelFee{}, false
		}
		if until.After(now) && (!known || until.Before(ends)) {
			step, ends, known = s, until, true
		}
	}
	return step, known
}

// cheapest returns the lowest price of a hotel.
func cheapest(h types.Hotel) types.Money {
	for _, room := range h.Rooms {
		for _, rate := range room.Rates {
			return selling(rate.TotalRate)
		}
	}
	if h.MinPrice != nil {
		return *h.MinPrice
	}
	return types.Money{}
}

// count formats a number of things, such as "2 rooms", without a line break.
func count(n int, thing string) string {
	switch {
	case n == 1: // as it is
	case thing == "child":
		thing = "children"
	default:
		thing += "s"
	}
	return fmt.Sprintf("%d\u00a0%s", n, thing)
}

// occupancy describes who sleeps in the rooms.
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

// nights formats the length of a stay.
func nights(checkIn, checkOut types.Date) string {
	from, err := checkIn.Time()
	to, err2 := checkOut.Time()
	if err != nil || err2 != nil {
		return ""
	}
	return count(int(to.Sub(from)/(24*time.Hour)), "night")
}
