// Rules of the catalogue, of searches and of offers.

package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// cheapest expects that a capped search has the cheapest offers of a search without a cap,
// which is the same before and after. It reports whether a hotel has more offers.
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
			breaks(!slices.Equal(some[hotel], all[:min(capped, len(all))]), "of the offers for %v of hotel %s come those for %v", all, hotel,
				some[hotel])
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
	{"list/session", "HotelList", "whether basic names the session of a search", "", func(r *run) {
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
		breaks(!has(hotelID(found.List[at])) && own, "HotelRates has rooms for the id %s, and none for %s", found.List[at].ID,
			hotelID(found.List[at]))
		r.find("its own id is accepted: %t", own)
	}},
	{"rates/room-fees", offersAre, "whether a cancellation fee is of one room or of all", "", func(r *run) {
		one, all := 0, 0
		for _, rate := range existing(ratesIn(read[hotelstays.HotelRatesResponse](r.changed(opHotelRates,
			obj{"roomOccupancies": twoRooms})).Rooms)) {
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
