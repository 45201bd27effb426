// Rules of searches, offers, and reads of orders.

package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// ratesOf returns the offers of hotels.
func ratesOf(hotels []types.Hotel) (rates []types.RoomRatePkg) {
	for _, h := range hotels {
		rates = append(rates, ratesIn(h.Rooms)...)
	}
	return rates
}

func ratesIn(rooms []types.Room) (rates []types.RoomRatePkg) {
	for _, room := range rooms {
		rates = append(rates, room.Rates...)
	}
	return rates
}

// existing expects offers, because a rule that has seen none says nothing.
func existing(rates []types.RoomRatePkg) []types.RoomRatePkg {
	skip(len(rates) == 0, "there are no offers")
	return rates
}

// listed searches the city.
func (r *run) listed(more obj) *hotelstays.HotelListResponse {
	return read[hotelstays.HotelListResponse](r.list(more))
}

// byID searches hotels by ids.
func (r *run) byID(ids ...string) *answer {
	return r.get(opHotelList, r.stay(obj{"hotelIds": ids}))
}

// foreign are ids that no hotel has.
func foreign(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("probe-none-%d", i)
	}
	return ids
}

var listRules = []Rule{
	{"list/default-size", "HotelList", "a page has 50 hotels by default", "", byDefault(opHotelList, 50)},
	{"list/ids-limit", "HotelList", "hotelIds takes 1000 ids, or 200 with a visibility band", "", func(r *run) {
		at := r.byID(foreign(1000)...)
		if at.allowed(); at.succeeded() {
			r.find("1000 ids, no visibility band")
			return
		}
		r.byID(foreign(200)...).ok()
		r.byID(foreign(201)...).refused(0, types.CodeParam)
		r.find("200 ids, a visibility band")
	}},
	{"list/foreign-ids", "HotelList", "ids of another platform are a success with an empty list and total 0", "", func(r *run) {
		a := r.byID(foreign(2)...)
		resp := read[hotelstays.HotelListResponse](a)
		breaks(len(resp.List) > 0 || resp.Total != 0 || said(resp.HasMore), "the list has %d hotels, total %d, hasMore %t",
			len(resp.List), resp.Total, said(resp.HasMore))
	}},
	{"list/by-id", "Hotel (search and static detail)", "id and platformHotelId are accepted back", "", func(r *run) {
		h, empty := r.search().List[0], ""
		known := slices.DeleteFunc([]string{h.ID, h.PlatformHotelID}, func(id string) bool { return id == "" })
		for i, id := range known {
			list := read[hotelstays.HotelListResponse](r.byID(id)).List
			breaks(len(list) > 1 || len(list) == 1 && hotelID(list[0]) != hotelID(h) && list[0].ID != h.ID,
				"a search for the id %s finds %v", id, ids(list, hotelID))
			skip(len(list) == 0 && len(known) == 1, "the hotel is sold out by now")
			breaks(i == 1 && (len(list) == 0) != (empty != ""), "a search for the id %s finds the hotel, and for %s none", h.ID, h.PlatformHotelID)
			if len(list) == 0 {
				empty = id
			}
		}
		skip(empty != "", "the hotel is sold out by now")
	}},
	{"list/by-name", "HotelList", "destinationName resolves to cities of that name", "", func(r *run) {
		name := r.city().Name.String()
		skip(name == "" || r.city().Type != types.DestinationCity, "there is no city with a name")
		list := r.listed(obj{"destinationId": nil, "destinationName": name, "maxRatesPerHotel": 1}).List
		breaks(len(list) == 0, "the name of a city with hotels finds none")
	}},
	{"list/total", "PageResp", "a total is 0, or at least what the page has; whether searches have totals", "", totals(opHotelList)},
	{"list/dates-required", "HotelList", "what a search without checkIn and checkOut gets", "", func(r *run) {
		a := r.list(obj{"checkIn": nil, "checkOut": nil})
		a.allowed()
		r.find("%s", a)
	}},
}

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

var ratesRules = []Rule{
	{"rates/session", "HotelRates", "a session is needed; what an unknown one gets", "", func(r *run) {
		r.inSession(opHotelRates, "").refused(0, 0)
		unknown := r.inSession(opHotelRates, noSession)
		unknown.allowed()
		r.find("an unknown session gets %s", unknown)
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
		_, _, resp := r.checked()
		r.find("%d is AVAILABLE", resp.Status)
	}},
	{"check/session", "CheckAvail", "a session is needed, and has to be known", "", func(r *run) {
		r.inSession(opCheckAvail, "").unavailable()
		unknown := r.inSession(opCheckAvail, noSession)
		unknown.unavailable()
		r.find("an unknown session gets %s", unknown)
	}},
	{"check/other-session", "Book", "an offer is resolvable in its own session alone", "", func(r *run) {
		known := r.offer()
		r.anew()
		other := r.search().Basic.SessionID
		skip(known.session == other, "two searches share a session")
		r.check(other, known.RatePkgID).unavailable()
	}},
	{"check/unknown", "CheckAvail", "what an offer that never was gets", "", func(r *run) {
		a := r.check(r.offer().session, "probe-no-offer")
		a.unavailable()
		r.find("%s, status %s", a, a.member("status"))
	}},
	{"check/same", "CheckAvail", "a price that moved has a statusRemark; where", "", func(r *run) {
		r.anew() // a remark may come with the first answer alone
		_, a, _ := r.checked()
		where := ""
		for name, value := range *read[map[string]json.RawMessage](a) {
			if name == "statusRemark" {
				where = "data"
			} else if where == "" && bytes.Contains(value, []byte(`"statusRemark"`)) {
				where = "data." + name
			}
		}
		if where != "" {
			r.find("statusRemark is in %s", where)
		}
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
}

// ages are when a session is tried again.
var ages = []time.Duration{5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute, 45 * time.Minute,
	time.Hour, 90 * time.Minute, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour}

var patientRules = []Rule{
	{"session/life", "Common request headers", "how long a used session lives, and what an expired one gets", "-patience", func(r *run) {
		skip(r.cfg.Patience < ages[0], "the first look is after %s", ages[0])
		r.anew()
		found := r.search()
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
