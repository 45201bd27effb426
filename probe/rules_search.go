// Rules of the catalogue, of searches and offers, and the open points of all that only reads.

package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// ids are those of elements, sorted, because the document promises no order.
func ids[T any](list []T, id func(T) string) (all []string) {
	for _, v := range list {
		all = append(all, id(v))
	}
	slices.Sort(all)
	return all
}

// metadata calls HotelsMetadata for the city, with a page unless that is empty.
func (r *run) metadata(page obj) *answer {
	body := obj{"destinationId": r.city().ID}
	if len(page) > 0 {
		body["page"] = page
	}
	return r.get(opHotelsMetadata, body)
}

// member is the JSON of a member of data, or "absent".
func (a *answer) member(name string) string {
	var data map[string]json.RawMessage
	_ = json.Unmarshal(a.Data, &data) // what cannot be read has no members
	if text, there := data[name]; there {
		return string(text)
	}
	return "absent"
}

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
func (r *run) listed(more obj) []types.Hotel {
	return read[hotelstays.HotelListResponse](r.list(more)).List
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

// hits are the hotels of a search for ids.
func (r *run) hits(known ...string) []string {
	return ids(read[hotelstays.HotelListResponse](r.byID(known...)).List, hotelID)
}

// cheapest expects that a capped search has the cheapest offers of a search without a cap, which is the same before and after. It reports whether a hotel has more offers.
func (r *run) cheapest(capped int) (compared bool) {
	amounts := func(most int) map[string][]string {
		all := map[string][]string{}
		for _, h := range r.listed(obj{"pageSize": 10, "maxRatesPerHotel": most}) {
			rates := ratesIn(h.Rooms)
			slices.SortFunc(rates, func(a, b types.RoomRatePkg) int {
				order, _ := a.TotalRate.NetRate.Cmp(b.TotalRate.NetRate) // they have one currency
				return order
			})
			for _, rate := range rates {
				all[hotelID(h)] = append(all[hotelID(h)], rate.TotalRate.NetRate.String())
			}
		}
		return all
	}
	before, some, after := amounts(0), amounts(capped), amounts(0)
	for hotel, all := range before {
		if slices.Equal(all, after[hotel]) && len(all) > capped && some[hotel] != nil {
			compared = true
			breaks(!slices.Equal(some[hotel], all[:min(capped, len(all))]), "of the offers for %v of hotel %s come those for %v", all, hotel, some[hotel])
		}
	}
	return compared
}

var searchRules = []Rule{
	{"destinations/min-hotels", "Destinations", "minHotelCount leaves out cities with fewer hotels, and no others", "", func(r *run) {
		asked, at := maps.Clone(r.city().asked), r.city()
		skip(asked == nil || at.Type != types.DestinationCity, "needs a city that was found (no -destination)")
		n := 100_000_000
		if at.Extra != nil && at.Extra.HotelCount != nil {
			n = *at.Extra.HotelCount
		}
		has := func(least int) bool {
			asked["minHotelCount"] = least
			return slices.ContainsFunc(r.places(asked), func(place types.Destination) bool { return place.ID == at.ID })
		}
		breaks(n < 100_000_000 && !has(n), "a city with %d hotels is left out by minHotelCount %d", n, n)
		breaks(has(n+1), "a city with %d hotels comes with minHotelCount %d", n, n+1)
	}},
	{"destinations/details", "Destinations", "details have coordinates; which fields they add", "", func(r *run) {
		fields := func(include string) obj {
			all := obj{}
			for _, place := range read[struct{ Destinations []obj }](r.changed(opDestinations, obj{"include": include})).Destinations {
				maps.Copy(all, place)
			}
			return all
		}
		standard, details := fields("standard"), fields("details")
		maps.DeleteFunc(details, func(name string, _ any) bool { _, there := standard[name]; return there })
		r.find("details add %s", members(details))
	}},
	{"destinations/top-level", "Destinations", "countryCode returns top-level destinations, and not what is below them", "", func(r *run) {
		places := r.country().places
		for _, place := range places {
			breaks(slices.ContainsFunc(places, func(other types.Destination) bool {
				return other.ID != "" && other.ID != place.ID && other.ID == place.ParentDestinationID
			}), "%s comes with its parent %s", place.ID, place.ParentDestinationID)
		}
		r.log = append(r.log, r.do(r.lawful(opDestinations)).Exchange)
	}},
	{"list/session", "HotelList", "a search has a session", "", func(r *run) {
		r.suffers(r.search().Basic.SessionID == "", "the session is in a header alone: basic has no sessionId")
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
	{"list/foreign-ids", "HotelList", "ids of another platform are a success with an empty list and total 0", "", func(r *run) {
		resp := read[hotelstays.HotelListResponse](r.byID(foreign(2)...))
		breaks(len(resp.List) > 0 || resp.Total != 0 || said(resp.HasMore), "the list has %d hotels, total %d, hasMore %t",
			len(resp.List), resp.Total, said(resp.HasMore))
	}},
	{"list/by-id", hotelsAre, "id and platformHotelId are accepted back", "", func(r *run) {
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
	{"list/each-id", "HotelList", "each of hotelIds is searched; whether they count beside a destination", "", func(r *run) {
		all := r.search().List
		skip(len(all) < 2, "the search has one hotel")
		one, two := hotelID(all[0]), hotelID(all[1])
		if both := r.hits(one, two); !slices.Contains(both, two) {
			breaks(slices.Contains(r.hits(two), two), "a search for %s finds it, and a search for %s and %s does not", two, one, two)
		}
		beside := ids(r.listed(obj{"hotelIds": []string{one}}), hotelID)
		r.suffers(len(beside) > 1, "beside a destination hotelIds are ignored: a search for %s finds %d hotels", one, len(beside))
		r.find("beside a destination they count: %t", len(beside) < 2)
	}},
	{"list/by-name", "HotelList", "destinationName resolves to cities of that name", "", func(r *run) {
		at := r.city()
		name := at.Name.String()
		skip(name == "" || at.Type != types.DestinationCity, "there is no city with a name")
		list := r.listed(obj{"destinationId": nil, "destinationName": name, "maxRatesPerHotel": 1})
		breaks(len(list) == 0, "the name of a city with hotels finds none")
		if at.asked == nil {
			return
		}
		for _, other := range r.places(at.asked) {
			breaks(!strings.Contains(strings.ToLower(other.Name.String()), strings.ToLower(name)) && slices.ContainsFunc(list,
				func(h types.Hotel) bool { return h.DestinationID == other.ID }), "a search for %s finds hotels of %s", name, other.Name)
		}
	}},
	{"list/cheapest", "HotelList", "maxRatesPerHotel keeps the cheapest rates", "", func(r *run) {
		one, two := r.cheapest(1), r.cheapest(2)
		skip(!one && !two, "no hotel has more offers, and the same twice")
	}},
	{"rates/all", "Recommended flow", "HotelRates has the full set of packages, as counts as HotelList at least", "", func(r *run) {
		counts := func() (listed, rated int, id string) {
			r.anew()
			at := r.offer()
			for _, h := range r.search().List {
				if hotelID(h) == at.property {
					listed = len(ratesIn(h.Rooms))
				}
			}
			return listed, len(ratesIn(at.Rooms)), at.hotel
		}
		if listed, rated, id := counts(); listed > rated {
			listed, rated, again := counts()
			breaks(id == again && listed > rated, "hotel %s has %d packages in HotelList, and %d in HotelRates", id, listed, rated)
		}
	}},
	{"rates/hotel-id", hotelsAre, "platformHotelId is accepted by HotelRates; whether a hotel's own id is", "", func(r *run) {
		found := r.search()
		at := slices.IndexFunc(found.List, func(h types.Hotel) bool { return h.ID != "" && h.ID != hotelID(h) && len(h.Rooms) > 0 })
		skip(at < 0, "no hotel has two ids")
		has := func(id string) bool {
			a := r.do(call{op: opHotelRates, session: found.session, body: r.stay(obj{"hotelId": id})})
			a.allowed()
			return strings.HasPrefix(a.member("rooms"), "[{")
		}
		own := has(found.List[at].ID)
		breaks(!has(hotelID(found.List[at])) && own, "HotelRates has rooms for the id %s, and none for %s", found.List[at].ID, hotelID(found.List[at]))
		r.find("its own id is accepted: %t", own)
	}},
	{"rates/room-fees", offersAre, "whether a cancellation fee is of one room or of all", "", func(r *run) {
		one, all := 0, 0
		for _, rate := range existing(ratesIn(read[hotelstays.HotelRatesResponse](r.changed(opHotelRates, obj{"roomOccupancies": twoRooms})).Rooms)) {
			for _, step := range rate.CancelFees {
				if step.Fee.Equal(rate.Rate.NetRate) {
					one++
				} else if step.Fee.Equal(rate.TotalRate.NetRate) {
					all++
				}
			}
		}
		skip(one+all == 0, "no fee is a whole price")
		r.find("of two rooms, %d fees are the price of one, %d that of both", one, all)
	}},
	{"check/form", "CheckAvail", "an available offer has a status and the package", "", func(r *run) {
		_, _, resp := r.checked()
		r.find("%d is AVAILABLE", resp.Status)
	}},
	{"check/rooms", "CheckAvail", "of an offer of two rooms the total is that of both", "", func(r *run) {
		a := r.changed(opHotelRates, obj{"roomOccupancies": twoRooms})
		rate := existing(ratesIn(read[hotelstays.HotelRatesResponse](a).Rooms))[0]
		a = r.check(r.offer().session, rate.RatePkgID)
		is := read[hotelstays.CheckAvailResponse](a).RoomRatePkg
		skip(is == nil, "the offer is gone")
		r.terms(a, &rate, is)
		more, err := is.TotalRate.NetRate.Cmp(is.Rate.NetRate)
		breaks(err == nil && more <= 0, "the total is %s, and a room costs %s", is.TotalRate.NetRate, is.Rate.NetRate)
	}},
	{"check/terms", "CheckAvail", "whether a package that became worse has a statusRemark", "", func(r *run) {
		r.anew()
		offered, a, resp := r.checked()
		r.terms(a, &offered.RoomRatePkg, resp.RoomRatePkg)
	}},
	{"check/unknown", "CheckAvail", "what an offer that never was gets", "", func(r *run) {
		a := r.changed(opCheckAvail, obj{"ratePkgId": "probe-no-offer"})
		noOffer(r, a)
		r.find("%s, status %s", a, a.member("status"))
		if known := r.do(r.lawful(opCheckAvail)); a.succeeded() && known.succeeded() {
			there, same := known.member("roomRatePkg") != "absent", known.member("status") == a.member("status")
			breaks(there && same, "the status of an offer that never was is that of an available one")
			breaks(!there && !same, "an offer has another status than one that never was, and no roomRatePkg")
			r.log[len(r.log)-1], r.log[len(r.log)-2] = r.log[len(r.log)-2], r.log[len(r.log)-1]
		}
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
	{"check/id", "CheckAvail", "whether the refreshed package keeps its ratePkgId", "", func(r *run) {
		offered, _, resp := r.checked()
		r.find("it keeps its id: %t", offered.RatePkgID == resp.RoomRatePkg.RatePkgID)
	}},
	{"check/exchange", "Shared types", "which way exchange rates convert", "", func(r *run) {
		a := r.changed(opCheckAvail, obj{"Currency": "EUR"})
		a.allowed()
		var data struct {
			ExchangeRateSnapshot struct{ USD map[string]float64 }
		}
		_ = json.Unmarshal(a.Data, &data) // what cannot be read has no rates
		rates := data.ExchangeRateSnapshot.USD
		r.suffers(len(rates) > 0 && rates["eur"] <= 0, "the rates of an offer in EUR have none of eur")
		r.find("in EUR: %s", a.member("exchangeRateSnapshot"))
	}},
}

// terms doubts a package of CheckAvail that can be cancelled less than the offer, without a remark.
func (r *run) terms(a *answer, was, is *types.RoomRatePkg) {
	worse := was.RefundableMode == types.RefundableFull && is.RefundableMode != was.RefundableMode
	r.suffers(worse && !bytes.Contains(a.Data, []byte(`"statusRemark"`)), "refundableMode is %q, and was %q in the offer", is.RefundableMode,
		was.RefundableMode)
}

// checked is an offer that is still there.
func (r *run) checked() (*offer, *answer, *hotelstays.CheckAvailResponse) {
	offered := r.offer()
	a := r.check(offered.session, offered.RatePkgID)
	resp := read[hotelstays.CheckAvailResponse](a)
	skip(resp.RoomRatePkg == nil, "the offer is gone")
	return offered, a, resp
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

// accepted returns the values that a request with them may have, as JSON.
func (r *run) accepted(values []any, ask func(value any) *answer) string {
	var taken []string
	for _, value := range values {
		a := ask(value)
		if a.allowed(); a.succeeded() {
			text, _ := json.Marshal(value)
			taken = append(taken, string(text))
		}
	}
	if taken == nil {
		return "none"
	}
	return strings.Join(taken, ", ")
}

// with is a call of an operation with a member of any value.
func (r *run) with(op operation, name string) func(value any) *answer {
	return func(value any) *answer { return r.changed(op, obj{name: value}) }
}

// occupied searches for rooms.
func (r *run) occupied(values []any, rooms func(n int) []obj) string {
	return r.accepted(values, func(n any) *answer {
		return r.changed(opHotelList, obj{"pageSize": 1, "roomOccupancies": rooms(n.(int))})
	})
}

// members are the names of an object's members.
func members(o obj) string { return strings.Join(slices.Sorted(maps.Keys(o)), " ") }

// forms of texts: each digit is a 9.
func forms(texts []string) string {
	for i, text := range texts {
		texts[i] = strings.Map(func(c rune) rune {
			if '0' <= c && c <= '9' {
				return '9'
			}
			return c
		}, text)
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ", ")
}

// nowhere is the id of no destination.
const nowhere = "00000000-0000-4000-8000-000000000000"

// bounds are the forms that a bound of a window may have.
func bounds(at time.Time) []any {
	return []any{at.Format(time.DateOnly), at.Format(time.RFC3339), at.Format(time.DateTime), fmt.Sprint(at.Unix()), fmt.Sprint(at.UnixMilli())}
}

var openRules = []Rule{
	{"headers/server-cost", headersAre, "Server-Cost-Milliseconds is a number from 0 on; whether it fits the time of the call", "", func(r *run) {
		a := r.get(opQueryOrders, unknownOrder())
		a.came()
		n, _ := strconv.ParseInt(a.raw.header.Get("Server-Cost-Milliseconds"), 10, 64) // the judge has its form
		r.find("it fits: %t", n <= a.Took+2)
	}},
	{"destinations/polygon", "Destination", "how coordinates of a bounding polygon nest", "", func(r *run) {
		for _, place := range r.places(obj{"countryCode": r.country().code, "include": "details"}) {
			if c := place.Coordinates; c != nil && c.BoundingPolygon != nil {
				text := string(c.BoundingPolygon.Coordinates)
				r.find("%s, %d arrays deep", c.BoundingPolygon.Type, len(text)-len(strings.TrimLeft(text, "[")))
				return
			}
		}
		skip(true, "no destination has a polygon")
	}},
	{"destinations/top", "Destinations", "what an empty request returns", "", func(r *run) {
		a := r.get(opDestinations, obj{})
		a.allowed()
		kinds := map[types.DestinationType]int{}
		var data hotelstays.DestinationsResponse
		_ = json.Unmarshal(a.Data, &data) // whatever comes is an answer
		for _, place := range data.Destinations {
			kinds[place.Type]++
		}
		r.find("%s; destinations by type: %v", a, kinds)
	}},
	{"envelope/empty-lists", "Envelope", "what a list without elements looks like", "", func(r *run) {
		var found []string
		for _, list := range []struct {
			name string
			op   operation
			body obj
		}{
			{"destinations", opDestinations, obj{"countryCode": nil, "parentDestinationId": nowhere}},
			{"hotelsMetadata", opHotelsMetadata, obj{"destinationId": nowhere}},
			{"rooms", opHotelRates, obj{"hotelId": foreign(1)[0]}},
		} {
			a := r.changed(list.op, list.body)
			a.allowed()
			found = append(found, fmt.Sprintf("%s: %s (%s)", list.name, a.member(list.name), a))
		}
		r.find("%s", strings.Join(found, "; "))
	}},
	{"list/stay-limits", "HotelList", "which lengths of stay, numbers of rooms and guests, and ages of children are accepted", "", func(r *run) {
		in, _ := r.cfg.CheckIn.Time()
		counts := []any{4, 5, 6, 8, 9, 10, 20}
		r.find("nights: %s; rooms: %s; adults: %s; children: %s; ages: %s",
			r.accepted([]any{14, 28, 30, 31, 60, 90, 365}, func(n any) *answer {
				return r.changed(opHotelList, obj{"pageSize": 1, "checkOut": types.DateOf(in.AddDate(0, 0, n.(int)))})
			}),
			r.occupied(counts, func(n int) []obj { return slices.Repeat([]obj{{"adultCount": 1}}, n) }),
			r.occupied(counts, func(n int) []obj { return []obj{{"adultCount": n}} }),
			r.occupied(counts[:4], func(n int) []obj { return []obj{{"adultCount": 1, "childrenAges": slices.Repeat([]int{8}, n)}} }),
			r.occupied([]any{0, 11, 12, 17, 18, 21}, func(age int) []obj { return []obj{{"adultCount": 1, "childrenAges": []int{age}}} }))
	}},
	{"list/members", "PageResp", "which members pages have, such as a cursor", "", func(r *run) {
		catalogue := read[struct{ Page obj }](r.metadata(nil))
		r.find("HotelList: %s; page of HotelsMetadata: %s", members(*read[obj](r.search().answer)), members(catalogue.Page))
	}},
	{"list/sort-values", "HotelList", "which other values of sortBy are accepted", "", func(r *run) {
		r.find("%s", r.accepted([]any{"distance-asc", "rating-asc", "name-asc", "probe-none"}, r.with(opHotelList, "sortBy")))
	}},
	{"list/decimals", "Shared types", "how counts decimals amounts have, by currency", "", func(r *run) {
		var found []string
		for _, code := range []string{"EUR", "JPY", "KWD"} {
			most := 0
			for _, rate := range existing(ratesOf(read[hotelstays.HotelListResponse](r.changed(opHotelList, obj{"Currency": code, "pageSize": 5})).List)) {
				_, decimals, _ := strings.Cut(string(rate.TotalRate.NetRate.Amount), ".")
				most = max(most, len(decimals))
			}
			found = append(found, fmt.Sprintf("%s: %d", code, most))
		}
		r.find("%s", strings.Join(found, ", "))
	}},
	{"list/deadlines", offersAre, "which form refundableUntil and deadlines have", "", func(r *run) {
		var texts []string
		for _, rate := range ratesOf(r.search().List) {
			texts = append(texts, string(rate.RefundableUntil))
			for _, fee := range rate.CancelFees {
				texts = append(texts, string(fee.Until))
			}
		}
		texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
		skip(len(texts) == 0, "no offer has one")
		r.find("%s (each digit is a 9)", forms(texts))
	}},
	{"list/boards", "Shared types", "what the codes of meal plans stand for", "", func(r *run) {
		names := obj{}
		for _, rate := range existing(ratesOf(r.search().List)) {
			if rate.Board != nil {
				names[string(rate.Board.BoardID)+": "+rate.Board.BoardName.String()] = nil
			}
		}
		r.find("%s", strings.Join(slices.Sorted(maps.Keys(names)), ", "))
	}},
	emptyOrders,
	{"orders/windows", "QueryOrders", "which forms of window bounds are accepted", "", func(r *run) {
		var windows []any
		for _, bound := range bounds(time.Now().AddDate(-1, 0, 0).UTC().Truncate(24 * time.Hour)) {
			windows = append(windows, obj{"start": bound, "end": bound})
		}
		r.find("accepted: %s", r.accepted(windows, r.with(opQueryOrders, "bookingTimeWindow")))
	}},
	{"orders/status-list", "QueryOrders", "what statusList holds", "", func(r *run) {
		r.find("accepted: %s", r.accepted([]any{[]any{1}, []any{"1"}, []any{"CONFIRMED"}}, r.with(opQueryOrders, "statusList")))
	}},
	{"orders/unfiltered", "QueryOrders", "what a request without a filter gets; how orders are paged and in what order", "", func(r *run) {
		a := r.get(opQueryOrders, obj{})
		a.allowed()
		var data obj
		_ = json.Unmarshal(a.Data, &data) // whatever comes is an answer
		var times []string
		list, _ := data["orders"].([]any)
		for _, order := range list {
			o, _ := order.(obj)
			times = append(times, fmt.Sprint(o["bookingTime"]))
		}
		oldest := slices.IsSorted(times)
		slices.Reverse(times)
		r.find("%s; members: %s; %d orders; the oldest first: %t, the newest first: %t", a, members(data), len(list), oldest,
			slices.IsSorted(times))
	}},
	{"static/members", "HotelStaticDetail", "which members HotelStaticDetail has", "", func(r *run) {
		a := r.get(hotelstays.OpHotelStaticDetail, obj{"hotelId": r.offer().hotel})
		a.allowed()
		var data struct{ Hotel obj }
		_ = json.Unmarshal(a.Data, &data) // whatever comes is an answer
		r.find("%s; %s", a, members(data.Hotel))
	}},
}

// ages are when a session is tried again.
var ages = []time.Duration{5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute, 45 * time.Minute,
	time.Hour, 90 * time.Minute, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour}

var patientRules = []Rule{
	{"session/life", headersAre, "how long a used session lives, and what an expired one gets", "-patience", func(r *run) {
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
			a := r.check(found.session, rate.RatePkgID)
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
