// Amounts, terms and texts for people. Amounts use the exact digits of the service, never a
// float.

package main

import (
	"cmp"
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
	"deadline":  deadline,
	"day":       day,
	"meals":     meals,
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
	digits := amount.StringFixed(max(0, -amount.Exponent()))
	for i := strings.Index(digits+".", ".") - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return m.Currency + "\u00a0" + digits
}

// fee describes what a cancellation costs.
func fee(m types.Money) string {
	if amount, err := m.Decimal(); err == nil && amount.IsZero() {
		return "free"
	}
	return price(m)
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
	return at.Format("Mon 2 Jan 2006, 15:04 ") + zone
}

// day formats a date such as "Thu 24 Dec 2026", or returns it unchanged.
func day(d types.Date) string {
	at, err := d.Time()
	if err != nil {
		return string(d)
	}
	return at.Format("Mon 2 Jan 2006")
}

// boards are names of meal plans, for offers that have the code alone. They are what the trade
// calls these codes; the API's document names none.
var boards = map[types.BoardID]string{
	types.BoardRO: "Room only", types.BoardBB: "Bed and breakfast", types.BoardHB: "Half board", types.BoardFB: "Full board",
	types.BoardAI: "All inclusive",
}

// meals describes the meals of an offer.
func meals(board *types.Board) string {
	if board == nil {
		return "Meals not stated"
	}
	return cmp.Or(board.BoardName.In("en"), boards[board.BoardID], "Meal plan "+string(board.BoardID))
}

// refund describes how far an offer is refundable.
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

// cheapest returns the lowest price of a hotel. The search asked for one offer.
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
	if n != 1 {
		thing = cmp.Or(map[string]string{"child": "children"}[thing], thing+"s")
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
