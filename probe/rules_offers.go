// Rules of offers, checks and reads of orders.

package probe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// within calls HotelRates or CheckAvail for the offer in another session; "": in none.
func (r *run) within(op operation, session string) (*answer, error) {
	offered, err := r.offer()
	if err != nil {
		return nil, err
	}
	found, _ := r.search() // the offer has it
	body := obj{"ratePkgId": offered.RatePkgID}
	if op == opHotelRates {
		body = r.stay(obj{"hotelId": hotelID(found.List[0])})
	}
	return r.do(call{op: op, session: session, body: body}), nil
}

// sessionless expects that an operation needs a session that the service made.
func (r *run) sessionless(op operation) error {
	none := must(r.within(op, ""))
	unknown, _ := r.within(op, anySession(op))
	return first(none.refused(0), unknown.refused(0))
}

var ratesRules = []Rule{
	{"rates/form", "HotelRates", "rooms have the documented form", 0, func(r *run) error {
		offered, err := r.offer()
		if err != nil {
			return blame(err)
		}
		return offered.shape(slices.Concat([]string{"rooms[].roomTypeId text", "rooms[].roomTypeName object", "rooms[].hotelId text"},
			rateForm("rooms[].rates[]?."))...)
	}},
	{"rates/session", "HotelRates", "a session is needed, and has to be known", 0, func(r *run) error { return r.sessionless(opHotelRates) }},
	{"rates/dates", "HotelRates", "offers have the dates of the request", 0, func(r *run) error {
		offered := must(r.offer())
		want := r.stay(nil)
		for _, rate := range ratesIn(offered.Rooms) {
			if rate.CheckIn != want["checkIn"] || rate.CheckOut != want["checkOut"] {
				return fmt.Errorf("an offer is for %s to %s", rate.CheckIn, rate.CheckOut)
			}
		}
		return nil
	}},
	{"rates/two-rooms", "RoomRatePkg (a priced offer)", "the total of two equal rooms is twice the rate", 0, func(r *run) error {
		offered := must(r.offer())
		found, _ := r.search() // the offer has it
		resp, err := read[hotelstays.HotelRatesResponse](r.do(call{op: opHotelRates, session: offered.session,
			body: r.stay(obj{"hotelId": hotelID(found.List[0]), "roomOccupancies": []obj{{"adultCount": 2}, {"adultCount": 2}}})}))
		if err != nil {
			return err
		}
		for _, rate := range ratesIn(resp.Rooms) {
			if twice, err := rate.Rate.NetRate.Add(rate.Rate.NetRate); err != nil || !twice.Equal(rate.TotalRate.NetRate) {
				return fmt.Errorf("rate is %s, and totalRate of two rooms %s", rate.Rate.NetRate, rate.TotalRate.NetRate)
			}
		}
		return nil
	}},
}

var checkRules = []Rule{
	{"check/form", "CheckAvail", "an available offer has a status and the package", 0, func(r *run) error {
		offered := must(r.offer())
		a := r.check(offered.session, offered.RatePkgID)
		resp := must(read[hotelstays.CheckAvailResponse](a))
		if resp.RoomRatePkg == nil {
			return notTried("the offer is gone")
		}
		r.find("%d is AVAILABLE", resp.Status)
		return a.shape(append(rateForm("roomRatePkg."), "status 1|2", "statusRemark? string", "exchangeRateSnapshot?.date date",
			"exchangeRateSnapshot?.usd object")...)
	}},
	{"check/same", "CheckAvail", "a price that moved has a statusRemark", 0, func(r *run) error {
		offered := must(r.offer())
		a := r.check(offered.session, offered.RatePkgID)
		resp := must(read[hotelstays.CheckAvailResponse](a))
		if resp.RoomRatePkg == nil {
			return notTried("the offer is gone")
		}
		remark := a.member("statusRemark") != "absent" || strings.Contains(a.member("basic"), "statusRemark")
		if diff := hotelstays.CompareOffer(&offered.RoomRatePkg, resp.RoomRatePkg); len(diff.Changes) > 0 && !remark {
			return fmt.Errorf("the offer changed without a statusRemark: %s", diff)
		}
		return nil
	}},
	{"check/session", "CheckAvail", "a session is needed, and has to be known", 0, func(r *run) error { return r.sessionless(opCheckAvail) }},
	{"check/other-session", "Book", "an offer is resolvable in its own session alone", 0, func(r *run) error {
		other := must(r.searchInto(&r.world.other))
		if offered, err := r.offer(); err == nil && offered.session == other.Basic.SessionID {
			return notTried("two searches share a session")
		}
		a := must(r.within(opCheckAvail, other.Basic.SessionID))
		if resp, err := read[hotelstays.CheckAvailResponse](a); err == nil && resp.Available() {
			return fmt.Errorf("the offer is available in another session")
		}
		return a.barred()
	}},
	{"check/required", "CheckAvail", "ratePkgId is required", 0, func(r *run) error {
		offered := must(r.offer())
		return r.do(call{op: opCheckAvail, session: offered.session, body: obj{}}).refused(0)
	}},
	{"check/unknown", "CheckAvail", "what an offer that never was gets", 0, func(r *run) error {
		offered := must(r.offer())
		a := r.check(offered.session, "probe-no-offer")
		if resp, err := read[hotelstays.CheckAvailResponse](a); err == nil && resp.Available() {
			return fmt.Errorf("it is available")
		}
		r.find("%s, status %s", a, a.member("status"))
		return a.barred()
	}},
}

var orderRules = []Rule{
	{"orders/empty", "QueryOrders", "a reference without an order is a success; the form of an empty list", 0, func(r *run) error {
		a := r.get(opQueryOrders, unknownOrder())
		check(a.ok())
		list := strings.Join(strings.Fields(a.member("orders")), "")
		breaks(!slices.Contains([]string{"[]", "null", "absent"}, list), "orders is not empty")
		r.facts.NullOrders = list == "null"
		r.find("orders: %s", list)
		if known := r.cfg.Facts; known != nil && known.NullOrders != r.facts.NullOrders {
			return fmt.Errorf("ServiceFacts.NullOrders is configured as %t, and the list is %s", known.NullOrders, list)
		}
		return nil
	}},
	{"orders/windows", "QueryOrders", "which forms of window bounds are accepted", 0, func(r *run) error {
		at := time.Now().AddDate(-1, 0, 0).UTC()
		forms := map[string]string{"date": at.Format(time.DateOnly), "RFC 3339": at.Format(time.RFC3339),
			"date and time": at.Format(time.DateTime),
			"Unix seconds":  fmt.Sprint(at.Unix()), "Unix milliseconds": fmt.Sprint(at.UnixMilli())}
		var taken []string
		for _, form := range slices.Sorted(maps.Keys(forms)) {
			body := unknownOrder()
			body["bookingTimeWindow"] = obj{"start": forms[form], "end": forms[form]}
			a := r.get(opQueryOrders, body)
			check(a.barred())
			if a.ok() == nil {
				taken = append(taken, form)
			}
		}
		r.find("accepted: %s", strings.Join(taken, ", "))
		return nil
	}},
	{"orders/status-list", "QueryOrders", "what statusList holds", 0, func(r *run) error {
		var taken []string
		for _, value := range []any{1, "1", "CONFIRMED"} {
			body := unknownOrder()
			body["statusList"] = []any{value}
			a := r.get(opQueryOrders, body)
			check(a.barred())
			if a.ok() == nil {
				taken = append(taken, fmt.Sprintf("%#v", value))
			}
		}
		r.find("accepted: %s", strings.Join(taken, ", "))
		return nil
	}},
	{"voucher/unknown", "OrderVoucher", "a reference without an order gets HTTP 404 and code 100000404", 0, func(r *run) error {
		return r.get(opOrderVoucher, obj{"customerReferenceNo": unknownReference}).refusedWith(404, types.CodeNotFound)
	}},
	{"voucher/reference", "OrderVoucher", "at least one reference is required", 0, func(r *run) error {
		return r.get(opOrderVoucher, obj{}).refused(0)
	}},
}

// ages are when a session is tried again.
var ages = []time.Duration{5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute, 45 * time.Minute,
	time.Hour, 90 * time.Minute, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour}

var patientRules = []Rule{
	{"session/life", "Common request headers", "how long a session lives, and what an expired one gets", NeedPatience, func(r *run) error {
		var own world // of a session that no other rule has used
		found := must(r.searchInto(&own.search))
		rates := ratesOf(found.List)
		if len(rates) == 0 {
			return notTried("the search has no offers")
		}
		began, alive := time.Now(), time.Duration(0)
		for _, age := range ages {
			if age > r.cfg.Patience {
				break
			}
			check(wait(r.ctx, time.Until(began.Add(age))))
			a := r.check(found.Basic.SessionID, rates[0].RatePkgID)
			check(a.barred())
			if a.Code == nil || *a.Code != 0 {
				r.find("between %s and %s; then %s", alive, age, a)
				return nil
			}
			alive = age
		}
		r.find("at least %s", alive)
		return nil
	}},
}
