// Rules of searches, offers, and reads of orders.

package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
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

// rateForm is the form of an offer, below a path.
func rateForm(path string) (lines []string) {
	for _, line := range []string{"ratePkgId text", "refundableMode full|partial|no", "refundableUntil? string", "cancelFees[]?.until? string",
		"cancelFees[]?.fee?.amount number", "cancelFees[]?.fee?.currency text", "rate.netRate.currency text", "rate.netRate.amount number",
		"totalRate.netRate.currency text", "totalRate.netRate.amount number", "totalRate.grossRate?.amount number",
		"totalRate.commissionableRate?.amount number", "totalRate.respectGrossRate? boolean", "includesPackaging? boolean", "checkIn date",
		"checkOut date", "board?.boardId RO|BB|HB|FB|AI|TI|BI|LU|DI|BD|BL|LD", "tax?.total?.amount number", "tax?.items[]?.amount?.amount number",
		"originalRoomNaming?.supplier? integer"} {
		lines = append(lines, path+line)
	}
	return lines
}

// existing expects offers, because a rule that has seen none says nothing.
func existing(rates []types.RoomRatePkg) []types.RoomRatePkg {
	skip(len(rates) == 0, "there are no offers")
	return rates
}

// dated expects that offers have the dates of the request.
func (r *run) dated(a *answer, path string) {
	want := r.stay(nil)
	n := a.shape(fmt.Sprintf("%s.checkIn %s", path, want["checkIn"]), fmt.Sprintf("%s.checkOut %s", path, want["checkOut"]))
	skip(n == 0, "there are no offers")
}

// times expects that the total of each offer is so many times its rate.
func times(a *answer, path string, rooms int) {
	n := a.each(path, func(p place) {
		o := as[types.RoomRatePkg](p)
		want, err := o.Rate.NetRate, error(nil)
		for range rooms - 1 {
			want, err = want.Add(o.Rate.NetRate)
		}
		p.breaks(err != nil || !want.Equal(o.TotalRate.NetRate), "expected a totalRate of %s for %d rooms of %s, got %s", want, rooms,
			o.Rate.NetRate, o.TotalRate.NetRate)
	})
	skip(n == 0, "there are no offers")
}

// listed searches the city.
func (r *run) listed(more obj) *hotelstays.HotelListResponse {
	return read[hotelstays.HotelListResponse](r.list(more))
}

// found is a page of a search.
func found(r *run, size, num int) page {
	body := obj{"pageSize": size, "pageNum": num, "maxRatesPerHotel": 1}
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == 0 })
	resp := r.listed(body)
	return page{resp.Total, said(resp.HasMore), ids(resp.List, hotelID)}
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

// sorted expects that a member of the hotels is in order.
func sorted(by, member string, less func(a, b types.Hotel) bool) func(*run) {
	return func(r *run) {
		var list []types.Hotel
		was := ""
		r.list(obj{"sortBy": by}).each("list[]", func(p place) {
			h, is := *as[types.Hotel](p), encoded(p.v.(obj)[member])
			n := len(list) - 1
			p.breaks(n >= 0 && less(h, list[max(n, 0)]), "%s: its %s is %s, and that of the hotel before it %s", by, member, is, was)
			list, was = append(list, h), is
		})
		skip(!slices.ContainsFunc(list, func(h types.Hotel) bool { return less(h, list[0]) || less(list[0], h) }),
			"the search found no two hotels that differ")
	}
}

// searching is a search that is refused.
func searching(more obj) func(*run) *answer { return func(r *run) *answer { return r.list(more) } }

// cheaper reports whether a has a lower minPrice than b.
func cheaper(a, b types.Hotel) bool {
	if a.MinPrice == nil || b.MinPrice == nil {
		return false
	}
	n, err := a.MinPrice.Cmp(*b.MinPrice)
	return err == nil && n < 0
}

func better(a, b types.Hotel) bool {
	return a.Rating != nil && b.Rating != nil && *a.Rating > *b.Rating
}

var listRules = []Rule{
	{"list/form", "HotelList", "list and basic have the documented form", "", func(r *run) {
		r.whole = true
		r.search().shape(slices.Concat([]string{"list array", "basic.sessionId text", "basic.notices[]? string", "basic.statusRemark? string",
			"total? integer", "hasMore? boolean", "list[].id? text", "list[].platformHotelId? text", "list[].destinationId? string",
			"list[].minPrice?.amount number", "list[].minPrice?.currency text", "list[].isAvailable? boolean", "list[].rating? number",
			"list[].rooms[]?.roomTypeId text", "list[].rooms[]?.roomTypeName object"}, rateForm("list[].rooms[]?.rates[]?."))...)
	}},
	{"list/rating", "Hotel (search and static detail)", "a rating is between 0 and 5", "", func(r *run) {
		skip(r.search().shape("list[].rating? 0..5") == 0, "no hotel has a rating")
	}},
	{"list/room-hotel", "Room", "a room repeats its hotel's id", "", func(r *run) {
		rooms := 0
		r.search().each("list[]", func(p place) {
			h := as[types.Hotel](p)
			for i, room := range h.Rooms {
				if h.ID == "" {
					return // it may be the one that rooms repeat
				}
				p.breaks(room.HotelID != h.ID && room.HotelID != h.PlatformHotelID, "rooms[%d].hotelId: expected %q or %q, got %q",
					i, h.ID, h.PlatformHotelID, room.HotelID)
				rooms++
			}
		})
		skip(rooms == 0, "no hotel has rooms")
	}},
	{"list/dates", "RoomRatePkg (a priced offer)", "offers have the dates of the search", "", func(r *run) {
		r.dated(r.search().answer, "list[].rooms[]?.rates[]?")
	}},
	{"list/one-room", "RoomRatePkg (a priced offer)", "the total of one room is its rate", "", func(r *run) {
		times(r.search().answer, "list[].rooms[]?.rates[]?", 1)
	}},
	{"list/selector", "HotelList", "a search without destination and hotels is refused", "", func(r *run) {
		a := r.get(opHotelList, r.stay(nil))
		a.refused(0, 0)
		r.find("a missing selector gets %s", a)
	}},
	{"list/rooms", "HotelList", "at least one room is required", "",
		refuses(0, 0, searching(obj{"roomOccupancies": nil}), searching(obj{"roomOccupancies": []obj{}}))},
	{"list/page-num", "HotelList", "a pageNum below 1 is refused", "", func(r *run) {
		for _, num := range []int{0, -1} {
			a := r.list(obj{"pageNum": num})
			a.refused(0, 0)
			r.find("a pageNum below 1 gets %s", a)
		}
	}},
	{"list/size-largest", "HotelList", "a pageSize of 200 is accepted", "", pager(found).takes(200)},
	{"list/size-above", "HotelList", "a pageSize of 201 is refused with code 100000400", "",
		refuses(0, types.CodeParam, searching(obj{"pageSize": 201}))},
	{"list/default-size", "HotelList", "a page has 50 hotels by default", "", pager(found).byDefault(50)},
	{"list/size", "HotelList", "a page has no more hotels than pageSize", "", pager(found).takes(2)},
	{"list/pages", "HotelList", "pages do not repeat each other, and hasMore says whether one follows", "", func(r *run) {
		var sessions []string
		pager(func(r *run, size, num int) page {
			c := call{op: opHotelList, body: r.stayIn(obj{"pageSize": size, "pageNum": num})}
			if len(sessions) > 0 {
				c.session = sessions[0]
			}
			resp := read[hotelstays.HotelListResponse](r.do(c))
			sessions = append(sessions, resp.Basic.SessionID)
			return page{resp.Total, said(resp.HasMore), ids(resp.List, hotelID)}
		}).follow(r)
		r.find("the pages share a session: %t", sessions[0] == sessions[1])
	}},
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
	{"list/ids-above", "HotelList", "1001 hotelIds are refused with code 100000400", "",
		refuses(0, types.CodeParam, func(r *run) *answer { return r.byID(foreign(1001)...) })},
	{"list/foreign-ids", "HotelList", "ids of another platform are a success with an empty list and total 0", "", func(r *run) {
		a := r.byID(foreign(2)...)
		resp := read[hotelstays.HotelListResponse](a)
		breaks(len(resp.List) > 0 || resp.Total != 0 || said(resp.HasMore), "the list has %d hotels, total %d, hasMore %t",
			len(resp.List), resp.Total, said(resp.HasMore))
		a.shape("list array",
			"basic.emptyReason?.code NO_SUPPLIER_ENABLED|NO_SUPPLIER_PERMITTED|ALL_SUPPLIERS_EXCLUDED|NO_SUPPLIER_ANSWERED")
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
	{"list/max-rates", "HotelList", "maxRatesPerHotel 1 returns one rate of a hotel", "", func(r *run) {
		list := r.listed(obj{"pageSize": 10, "maxRatesPerHotel": 1}).List
		for _, h := range list {
			n := len(ratesIn(h.Rooms))
			breaks(n > 1, "hotel %s: expected one rate, got %d", hotelID(h), n)
		}
		existing(ratesOf(list))
	}},
	{"list/price-asc", "HotelList", "the cheapest hotel comes first", "", sorted("price-asc", "minPrice", cheaper)},
	{"list/price-desc", "HotelList", "the cheapest hotel comes last", "",
		sorted("price-desc", "minPrice", func(a, b types.Hotel) bool { return cheaper(b, a) })},
	{"list/rating-desc", "HotelList", "the best rating comes first", "", sorted("rating-desc", "rating", better)},
	{"list/reasons", "HotelList", "notices never come with emptyReason", "", func(r *run) {
		for _, a := range []*answer{r.search().answer, r.byID(foreign(1)...)} {
			basic := read[hotelstays.HotelListResponse](a).Basic
			breaks(len(basic.Notices) > 0 && basic.EmptyReason != nil, "an answer has both")
		}
	}},
	{"list/total", "PageResp", "whether searches have totals", "", pager(found).totals},
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

// twoRooms asks for offers for two equal rooms.
func (r *run) twoRooms() *answer {
	offered := r.offer()
	return r.do(call{op: opHotelRates, session: offered.session,
		body: r.stay(obj{"hotelId": offered.hotel, "roomOccupancies": []obj{{"adultCount": 2}, {"adultCount": 2}}})})
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
	{"rates/dates", "HotelRates", "offers have the dates of the request", "", func(r *run) { r.dated(r.offer().answer, "rooms[].rates[]?") }},
	{"rates/two-rooms", "RoomRatePkg (a priced offer)", "the total of two equal rooms is twice the rate", "", func(r *run) {
		times(r.twoRooms(), "rooms[].rates[]?", 2)
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
	{"check/required", "CheckAvail", "ratePkgId is required", "", refuses(0, 0, func(r *run) *answer {
		return r.do(call{op: opCheckAvail, session: r.offer().session, body: obj{}})
	})},
	{"check/unknown", "CheckAvail", "what an offer that never was gets", "", func(r *run) {
		a := r.check(r.offer().session, "probe-no-offer")
		a.unavailable()
		r.find("%s, status %s", a, a.member("status"))
	}},
	{"check/same", "CheckAvail", "a price that moved has a statusRemark; where", "", func(r *run) {
		r.anew() // a remark may come with the first answer alone
		offered, a, resp := r.checked()
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
		was, is := offered.TotalRate.NetRate, resp.RoomRatePkg.TotalRate.NetRate
		breaks(!was.Equal(is) && where == "", "the price of %s moved from %s to %s without a statusRemark", offered.RatePkgID, was, is)
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
