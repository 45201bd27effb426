// Rules of offers, checks and reads of orders.

package probe

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// inSession calls an operation lawfully, but in another session; "": in none.
func (r *run) inSession(op operation, session string) *answer {
	c := r.lawful(op)
	c.session = session
	return r.do(c)
}

// unavailable expects that an offer cannot be had, in whatever words.
func (a *answer) unavailable() {
	a.allowed()
	breaks(a.succeeded() && read[hotelstays.CheckAvailResponse](a).Available(), "the offer is available")
}

// twoRooms are offers for two equal rooms.
func (r *run) twoRooms() []types.RoomRatePkg {
	offered := r.offer()
	return existing(ratesIn(read[hotelstays.HotelRatesResponse](r.do(call{op: opHotelRates, session: offered.session,
		body: r.stay(obj{"hotelId": offered.hotel, "roomOccupancies": []obj{{"adultCount": 2}, {"adultCount": 2}}})})).Rooms))
}

var ratesRules = []Rule{
	{"rates/form", "HotelRates", "rooms have the documented form", "", func(r *run) {
		r.whole = true
		r.offer().shape(slices.Concat([]string{"rooms[].roomTypeId text", "rooms[].roomTypeName object", "rooms[].hotelId text"},
			rateForm("rooms[].rates[]?."))...)
	}},
	{"rates/session", "HotelRates", "a session is needed; what an unknown one gets", "", func(r *run) {
		r.inSession(opHotelRates, "").refused(0, 0)
		unknown := r.inSession(opHotelRates, noSession)
		unknown.allowed()
		r.find("an unknown session gets %s", unknown)
	}},
	{"rates/dates", "HotelRates", "offers have the dates of the request", "", func(r *run) { r.dated(ratesIn(r.offer().Rooms)) }},
	{"rates/two-rooms", "RoomRatePkg (a priced offer)", "the total of two equal rooms is twice the rate", "", func(r *run) {
		for _, rate := range r.twoRooms() {
			twice, err := rate.Rate.NetRate.Add(rate.Rate.NetRate)
			breaks(err != nil || !twice.Equal(rate.TotalRate.NetRate), "rate is %s, and totalRate of two rooms %s", rate.Rate.NetRate,
				rate.TotalRate.NetRate)
		}
	}},
}

// checked is an offer that is still there.
func (r *run) checked() (*offer, *answer, *hotelstays.CheckAvailResponse) {
	offered := r.offer()
	a := r.check(offered.session, offered.RatePkgID)
	resp := read[hotelstays.CheckAvailResponse](a)
	skip(resp.RoomRatePkg == nil, "the offer is gone")
	return offered, a, resp
}

var checkRules = []Rule{
	{"check/form", "CheckAvail", "an available offer has a status and the package", "", func(r *run) {
		_, a, resp := r.checked()
		a.shape(append(rateForm("roomRatePkg."), "status 1|2", "statusRemark? string", "exchangeRateSnapshot?.date? string",
			"exchangeRateSnapshot?.usd? object")...)
		r.find("%d is AVAILABLE", resp.Status)
	}},
	{"check/same", "CheckAvail", "a price that moved has a statusRemark; where", "", func(r *run) {
		offered, a, resp := r.checked()
		remark := true
		switch {
		case a.member("statusRemark") != "absent":
			r.find("statusRemark is in data")
		case strings.Contains(a.member("basic"), "statusRemark"):
			r.find("statusRemark is in data.basic")
		default:
			remark = false
		}
		was, is := offered.TotalRate.NetRate, resp.RoomRatePkg.TotalRate.NetRate
		breaks(!was.Equal(is) && !remark, "the price moved from %s to %s without a statusRemark", was, is)
	}},
	{"check/session", "CheckAvail", "a session is needed, and has to be known", "", func(r *run) {
		r.inSession(opCheckAvail, "").unavailable()
		unknown := r.inSession(opCheckAvail, noSession)
		unknown.unavailable()
		r.find("an unknown session gets %s", unknown)
	}},
	{"check/other-session", "Book", "an offer is resolvable in its own session alone", "", func(r *run) {
		other := r.searchInto(&r.world.other).Basic.SessionID
		skip(r.offer().session == other, "two searches share a session")
		r.inSession(opCheckAvail, other).unavailable()
	}},
	{"check/required", "CheckAvail", "ratePkgId is required", "", refuses(0, 0, func(r *run) *answer {
		return r.do(call{op: opCheckAvail, session: r.offer().session, body: obj{}})
	})},
	{"check/unknown", "CheckAvail", "what an offer that never was gets", "", func(r *run) {
		a := r.check(r.offer().session, "probe-no-offer")
		a.unavailable()
		r.find("%s, status %s", a, a.member("status"))
	}},
}

const emptySuccess = "a reference without an order is a success; the form of an empty list"

var emptyOrders = Rule{"orders/empty", "QueryOrders", emptySuccess, "", func(r *run) {
	a := r.get(opQueryOrders, unknownOrder())
	a.ok()
	list := strings.Join(strings.Fields(a.member("orders")), "")
	breaks(!slices.Contains([]string{"[]", "null", "absent"}, list), "orders is not empty")
	r.find("orders: %s", list)
	if list != "absent" {
		r.facts.NullOrders = list == "null"
	}
	known := r.cfg.Facts
	breaks(known != nil && known.NullOrders != r.facts.NullOrders, "ServiceFacts.NullOrders is configured as %t, and the list is %s",
		known != nil && known.NullOrders, list)
}}

var orderRules = []Rule{
	emptyOrders,
	{"orders/windows", "QueryOrders", "which forms of window bounds are accepted", "", func(r *run) {
		var windows []any
		at := time.Now().AddDate(-1, 0, 0).UTC().Truncate(24 * time.Hour)
		for _, form := range []string{at.Format(time.DateOnly), at.Format(time.RFC3339), at.Format(time.DateTime),
			fmt.Sprint(at.Unix()), fmt.Sprint(at.UnixMilli())} {
			windows = append(windows, obj{"start": form, "end": form})
		}
		r.find("accepted: %s", r.accepted(windows, r.filtered("bookingTimeWindow")))
	}},
	{"orders/status-list", "QueryOrders", "what statusList holds", "", func(r *run) {
		r.find("accepted: %s", r.accepted([]any{[]any{1}, []any{"1"}, []any{"CONFIRMED"}}, r.filtered("statusList")))
	}},
	{"voucher/unknown", "OrderVoucher", "a reference without an order gets HTTP 404 and code 100000404", "",
		refuses(http.StatusNotFound, types.CodeNotFound, asking(opOrderVoucher, obj{"customerReferenceNo": unknownReference}))},
	{"voucher/reference", "OrderVoucher", "at least one reference is required", "", refuses(0, 0, asking(opOrderVoucher, obj{}))},
}

// ages are when a session is tried again.
var ages = []time.Duration{5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute, 45 * time.Minute,
	time.Hour, 90 * time.Minute, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour}

var patientRules = []Rule{
	{"session/life", "Common request headers", "how long a used session lives, and what an expired one gets", "Patience", func(r *run) {
		skip(r.cfg.Patience < ages[0], "the first look is after %s", ages[0])
		var own world // of a session that no other rule has used
		found := r.searchInto(&own.search)
		rate := existing(ratesOf(found.List))[0]
		began, alive := time.Now(), time.Duration(0)
		for _, age := range ages {
			if age > r.cfg.Patience {
				break
			}
			r.wait(time.Until(began.Add(age)))
			a := r.check(found.Basic.SessionID, rate.RatePkgID)
			a.allowed()
			if !a.succeeded() || !read[hotelstays.CheckAvailResponse](a).Available() {
				r.find("between %s and %s; then %s, status %s", alive, age, a, a.member("status"))
				return
			}
			alive = age
		}
		r.find("at least %s", alive)
	}},
}
