// Rules of searches, offers, and reads of orders.

package probe

import (
	"fmt"
	"maps"
	"slices"

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
func (r *run) dated(rates []types.RoomRatePkg) {
	want := r.stay(nil)
	for _, rate := range existing(rates) {
		breaks(rate.CheckIn != want["checkIn"] || rate.CheckOut != want["checkOut"], "an offer is for %s to %s", rate.CheckIn, rate.CheckOut)
	}
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
	return page{resp.Total, resp.HasMore, ids(resp.List, hotelID)}
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

// sorted expects that minPrice or rating of the hotels is in order.
func sorted(by string, less func(a, b types.Hotel) bool) func(*run) {
	return func(r *run) {
		list := r.listed(obj{"sortBy": by}).List
		for i := 1; i < len(list); i++ {
			breaks(less(list[i], list[i-1]), "hotel %d of %d comes before hotel %d by %s", i+1, len(list), i, by)
		}
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
			"total? integer", "hasMore? boolean", "list[].id text", "list[].platformHotelId? text", "list[].destinationId? string",
			"list[].minPrice?.amount number", "list[].minPrice?.currency text", "list[].isAvailable? boolean", "list[].rating? number",
			"list[].rooms[]?.roomTypeId text", "list[].rooms[]?.roomTypeName object"}, rateForm("list[].rooms[]?.rates[]?."))...)
	}},
	{"list/rating", "Hotel (search and static detail)", "a rating is between 0 and 5", "", func(r *run) {
		seen := false
		for _, h := range r.search().List {
			breaks(h.Rating != nil && (*h.Rating < 0 || *h.Rating > 5), "a rating is out of range")
			seen = seen || h.Rating != nil
		}
		skip(!seen, "no hotel has a rating")
	}},
	{"list/room-hotel", "Room", "a room repeats its hotel's id", "", func(r *run) {
		rooms := 0
		for _, h := range r.search().List {
			for _, room := range h.Rooms {
				breaks(room.HotelID != h.ID && room.HotelID != h.PlatformHotelID, "a room of hotel %s has the hotelId %q", h.ID, room.HotelID)
				rooms++
			}
		}
		skip(rooms == 0, "no hotel has rooms")
	}},
	{"list/dates", "RoomRatePkg (a priced offer)", "offers have the dates of the search", "", func(r *run) {
		r.dated(ratesOf(r.search().List))
	}},
	{"list/one-room", "RoomRatePkg (a priced offer)", "the total of one room is its rate", "", func(r *run) {
		for _, rate := range existing(ratesOf(r.search().List)) {
			breaks(!rate.Rate.NetRate.Equal(rate.TotalRate.NetRate), "rate is %s, and totalRate of the one room %s", rate.Rate.NetRate,
				rate.TotalRate.NetRate)
		}
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
			return page{resp.Total, resp.HasMore, ids(resp.List, hotelID)}
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
		breaks(len(resp.List) > 0 || resp.Total != 0 || resp.HasMore, "the list has %d hotels, total %d, hasMore %t", len(resp.List), resp.Total,
			resp.HasMore)
		a.shape("list array",
			"basic.emptyReason?.code NO_SUPPLIER_ENABLED|NO_SUPPLIER_PERMITTED|ALL_SUPPLIERS_EXCLUDED|NO_SUPPLIER_ANSWERED")
	}},
	{"list/by-id", "Hotel (search and static detail)", "id and platformHotelId are accepted back", "", func(r *run) {
		h := r.search().List[0]
		for _, id := range []string{h.ID, hotelID(h)} {
			list := read[hotelstays.HotelListResponse](r.byID(id)).List
			breaks(len(list) != 1 || hotelID(list[0]) != hotelID(h) && list[0].ID != h.ID,
				"a search for the id %s does not find that hotel alone", id)
		}
	}},
	{"list/by-name", "HotelList", "destinationName resolves to cities of that name", "", func(r *run) {
		name := r.city().Name.String()
		skip(name == "", "the city has no name")
		list := r.listed(obj{"destinationId": nil, "destinationName": name, "maxRatesPerHotel": 1}).List
		breaks(len(list) == 0, "the name of a city with hotels finds none")
	}},
	{"list/max-rates", "HotelList", "maxRatesPerHotel 1 returns one rate of a hotel", "", func(r *run) {
		list := r.listed(obj{"pageSize": 10, "maxRatesPerHotel": 1}).List
		for _, h := range list {
			n := len(ratesIn(h.Rooms))
			breaks(n > 1, "a hotel has %d rates", n)
		}
		existing(ratesOf(list))
	}},
	{"list/price-asc", "HotelList", "the cheapest hotel comes first", "", sorted("price-asc", cheaper)},
	{"list/price-desc", "HotelList", "the cheapest hotel comes last", "",
		sorted("price-desc", func(a, b types.Hotel) bool { return cheaper(b, a) })},
	{"list/rating-desc", "HotelList", "the best rating comes first", "", sorted("rating-desc", better)},
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
