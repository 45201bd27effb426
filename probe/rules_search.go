// Rules of searches, offers, and reads of orders.

package probe

import (
	"fmt"
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

// listed searches the city.
func (r *run) listed(more obj) (*hotelstays.HotelListResponse, error) {
	return read[hotelstays.HotelListResponse](r.list(more))
}

// byID searches hotels by ids.
func (r *run) byID(ids ...string) (*answer, *hotelstays.HotelListResponse, error) {
	a := r.get(opHotelList, r.stay(obj{"hotelIds": ids}))
	resp, err := read[hotelstays.HotelListResponse](a)
	return a, resp, err
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
func (r *run) sorted(by string, less func(a, b types.Hotel) bool) error {
	resp := must(r.listed(obj{"sortBy": by}))
	for i := 1; i < len(resp.List); i++ {
		breaks(less(resp.List[i], resp.List[i-1]), "hotel %d of %d comes before hotel %d by %s", i+1, len(resp.List), i, by)
	}
	if len(resp.List) < 2 {
		return notTried("the search found %d hotels", len(resp.List))
	}
	return nil
}

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
	{"list/form", "HotelList", "list and basic have the documented form", 0, func(r *run) error {
		found, err := r.search()
		if err != nil {
			return blame(err)
		}
		return found.shape(slices.Concat([]string{"list array", "basic.sessionId text", "basic.notices[]? string", "basic.statusRemark? string",
			"total? integer", "hasMore? boolean", "list[].id text", "list[].platformHotelId? text", "list[].destinationId? string",
			"list[].minPrice?.amount number", "list[].minPrice?.currency text", "list[].isAvailable? boolean", "list[].rating? number",
			"list[].rooms[]?.roomTypeId text", "list[].rooms[]?.roomTypeName object"}, rateForm("list[].rooms[]?.rates[]?."))...)
	}},
	{"list/rating", "Hotel (search and static detail)", "a rating is between 0 and 5", 0, func(r *run) error {
		found := must(r.search())
		for _, h := range found.List {
			breaks(h.Rating != nil && (*h.Rating < 0 || *h.Rating > 5), "a rating is %g", *h.Rating)
		}
		return nil
	}},
	{"list/room-hotel", "Room", "a room repeats its hotel's id", 0, func(r *run) error {
		found := must(r.search())
		for _, h := range found.List {
			for _, room := range h.Rooms {
				if room.HotelID != h.ID && room.HotelID != h.PlatformHotelID {
					return fmt.Errorf("a room of hotel %s has the hotelId %q", h.ID, room.HotelID)
				}
			}
		}
		return nil
	}},
	{"list/dates", "RoomRatePkg (a priced offer)", "offers have the dates of the search", 0, func(r *run) error {
		found := must(r.search())
		want := r.stay(nil)
		for _, rate := range ratesOf(found.List) {
			if rate.CheckIn != want["checkIn"] || rate.CheckOut != want["checkOut"] {
				return fmt.Errorf("an offer is for %s to %s", rate.CheckIn, rate.CheckOut)
			}
		}
		return nil
	}},
	{"list/one-room", "RoomRatePkg (a priced offer)", "the total of one room is its rate", 0, func(r *run) error {
		found := must(r.search())
		for _, rate := range ratesOf(found.List) {
			if !rate.Rate.NetRate.Equal(rate.TotalRate.NetRate) {
				return fmt.Errorf("rate is %s, and totalRate of the one room %s", rate.Rate.NetRate, rate.TotalRate.NetRate)
			}
		}
		return nil
	}},
	{"list/selector", "HotelList", "a search without destination and hotels is refused", 0, func(r *run) error {
		a := r.get(opHotelList, r.stay(nil))
		check(a.refused(0))
		r.find("a missing selector gets %s", a)
		return nil
	}},
	{"list/rooms", "HotelList", "at least one room is required", 0, func(r *run) error {
		return first(r.list(obj{"roomOccupancies": nil}).refused(0), r.list(obj{"roomOccupancies": []obj{}}).refused(0))
	}},
	{"list/page-num", "HotelList", "a pageNum below 1 is refused", 0, func(r *run) error {
		a := r.list(obj{"pageNum": 0})
		check(first(a.refused(0), r.list(obj{"pageNum": -1}).refused(0)))
		r.find("a pageNum below 1 gets %s", a)
		return nil
	}},
	{"list/size-largest", "HotelList", "a pageSize of 200 is accepted", 0, func(r *run) error {
		resp := must(r.listed(obj{"pageSize": 200, "maxRatesPerHotel": 1}))
		breaks(len(resp.List) > 200, "the page has %d hotels", len(resp.List))
		return nil
	}},
	{"list/size-above", "HotelList", "a pageSize of 201 is refused with code 100000400", 0, func(r *run) error {
		return r.list(obj{"pageSize": 201}).refused(types.CodeParam)
	}},
	{"list/default-size", "HotelList", "a page has 50 hotels by default", 0, func(r *run) error {
		resp, err := r.listed(obj{"maxRatesPerHotel": 1})
		if err == nil && len(resp.List) != 50 {
			breaks(len(resp.List) > 50 || resp.HasMore, "the page has %d hotels", len(resp.List))
			return notTried("the city has %d hotels", len(resp.List))
		}
		return err
	}},
	{"list/size", "HotelList", "a page has no more hotels than pageSize", 0, func(r *run) error {
		resp := must(r.listed(obj{"pageSize": 2}))
		breaks(len(resp.List) > 2, "a page of 2 has %d hotels", len(resp.List))
		return nil
	}},
	{"list/pages", "HotelList", "pages do not repeat each other, and hasMore says whether one follows", 0, func(r *run) error {
		one := must(r.listed(obj{"pageSize": 2, "pageNum": 1}))
		city, _ := r.city() // one has it
		two, err := read[hotelstays.HotelListResponse](r.do(call{op: opHotelList, session: one.Basic.SessionID,
			body: r.stay(obj{"destinationId": city.ID, "pageSize": 2, "pageNum": 2})}))
		if err != nil {
			return err
		}
		switch {
		case one.HasMore != (len(two.List) > 0):
			return fmt.Errorf("hasMore of page 1 is %t, and page 2 has %d hotels", one.HasMore, len(two.List))
		case one.HasMore && len(one.List) > 0 && slices.ContainsFunc(two.List, func(h types.Hotel) bool { return hotelID(h) == hotelID(one.List[0]) }):
			return fmt.Errorf("page 2 repeats a hotel of page 1")
		}
		r.find("the pages share a session: %t", one.Basic.SessionID == two.Basic.SessionID)
		return nil
	}},
	{"list/ids-limit", "HotelList", "hotelIds takes 1000 ids, or 200 with a visibility band", 0, func(r *run) error {
		at, _, err := r.byID(foreign(1000)...)
		if err == nil {
			r.find("1000 ids, no visibility band")
			return nil
		}
		within, _, err2 := r.byID(foreign(200)...)
		if why := first(at.barred(), within.barred()); why != nil || err2 != nil {
			return first(why, err2)
		}
		above, _, _ := r.byID(foreign(201)...)
		if err := above.refused(types.CodeParam); err != nil {
			return fmt.Errorf("1000 ids are refused and 201 are not: %w", err)
		}
		r.find("200 ids, a visibility band")
		return nil
	}},
	{"list/ids-above", "HotelList", "1001 hotelIds are refused with code 100000400", 0, func(r *run) error {
		a, _, _ := r.byID(foreign(1001)...)
		return a.refused(types.CodeParam)
	}},
	{"list/foreign-ids", "HotelList", "ids of another platform are a success with an empty list and total 0", 0, func(r *run) error {
		a, resp, err := r.byID(foreign(2)...)
		if err == nil && (len(resp.List) > 0 || resp.Total != 0 || resp.HasMore) {
			return fmt.Errorf("the list has %d hotels, total %d, hasMore %t", len(resp.List), resp.Total, resp.HasMore)
		}
		return first(err, a.shape("list array",
			"basic.emptyReason?.code NO_SUPPLIER_ENABLED|NO_SUPPLIER_PERMITTED|ALL_SUPPLIERS_EXCLUDED|NO_SUPPLIER_ANSWERED"))
	}},
	{"list/by-id", "Hotel (search and static detail)", "id and platformHotelId are accepted back", 0, func(r *run) error {
		found := must(r.search())
		h := found.List[0]
		for _, id := range []string{h.ID, hotelID(h)} {
			if _, resp, err := r.byID(id); err != nil || len(resp.List) != 1 || hotelID(resp.List[0]) != hotelID(h) && resp.List[0].ID != h.ID {
				return first(err, fmt.Errorf("a search for the id %s does not find that hotel alone", id))
			}
		}
		return nil
	}},
	{"list/by-name", "HotelList", "destinationName resolves to cities of that name", 0, func(r *run) error {
		city, err := r.city()
		if err == nil && city.Name.String() == "" {
			err = notTried("the city has no name")
		}
		if err != nil {
			return err
		}
		resp := must(r.listed(obj{"destinationId": nil, "destinationName": city.Name.String(), "maxRatesPerHotel": 1}))
		breaks(len(resp.List) == 0, "the name of a city with hotels finds none")
		return nil
	}},
	{"list/max-rates", "HotelList", "maxRatesPerHotel 1 returns only the cheapest rate of a hotel", 0, func(r *run) error {
		all := must(r.search())
		resp := must(r.listed(obj{"pageSize": 10, "maxRatesPerHotel": 1}))
		for _, h := range resp.List {
			rates := ratesOf([]types.Hotel{h})
			breaks(len(rates) > 1, "a hotel has %d rates", len(rates))
			for _, other := range all.List {
				if hotelID(other) == hotelID(h) && len(rates) == 1 &&
					slices.ContainsFunc(ratesOf([]types.Hotel{other}), func(o types.RoomRatePkg) bool {
						n, err := o.TotalRate.NetRate.Cmp(rates[0].TotalRate.NetRate)
						return err == nil && n < 0
					}) {
					return fmt.Errorf("a hotel has a cheaper rate than the one that was returned, %s", rates[0].TotalRate.NetRate)
				}
			}
		}
		return nil
	}},
	{"list/price-asc", "HotelList", "the cheapest hotel comes first", 0, func(r *run) error { return r.sorted("price-asc", cheaper) }},
	{"list/price-desc", "HotelList", "the cheapest hotel comes last", 0, func(r *run) error {
		return r.sorted("price-desc", func(a, b types.Hotel) bool { return cheaper(b, a) })
	}},
	{"list/rating-desc", "HotelList", "the best rating comes first", 0, func(r *run) error { return r.sorted("rating-desc", better) }},
	{"list/reasons", "HotelList", "notices never come with emptyReason", 0, func(r *run) error {
		found, err := r.search()
		_, empty, err2 := r.byID(foreign(1)...)
		check(first(err, err2))
		for _, basic := range []types.SearchBasic{found.Basic, empty.Basic} {
			breaks(len(basic.Notices) > 0 && basic.EmptyReason != nil, "an answer has both")
		}
		return nil
	}},
	{"list/total", "PageResp", "whether searches have totals", 0, func(r *run) error {
		found := must(r.search())
		if found.Total != 0 && found.Total < len(found.List) {
			return fmt.Errorf("total is %d, and the page has %d hotels", found.Total, len(found.List))
		}
		r.find("totals: %t", found.Total != 0)
		return nil
	}},
	{"list/dates-required", "HotelList", "what a search without checkIn and checkOut gets", 0, func(r *run) error {
		a := r.list(obj{"checkIn": nil, "checkOut": nil})
		check(a.barred())
		r.find("%s", a)
		return nil
	}},
}
