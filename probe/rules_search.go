// Rules of the catalogue, of searches and of offers that need more than one request.

package probe

import (
	"maps"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// ids returns id(v) for each element of a list, sorted, because the document promises no order.
func ids[T any](list []T, id func(T) string) (all []string) {
	for _, v := range list {
		all = append(all, id(v))
	}
	slices.Sort(all)
	return all
}

func ratesIn(rooms []types.Room) (rates []types.RoomRatePkg) {
	for _, room := range rooms {
		rates = append(rates, room.Rates...)
	}
	return rates
}

// byPrice compares the net prices of two offers in the same currency.
func byPrice(a, b types.RoomRatePkg) int {
	order, _ := a.TotalRate.NetRate.Cmp(b.TotalRate.NetRate)
	return order
}

func (r *run) listed(more obj) []types.Hotel {
	return read[hotelstays.HotelListResponse](r.list(more)).List
}

func (r *run) byID(ids ...string) *answer { return r.get(opHotelList, r.stay(obj{"hotelIds": ids})) }

func (r *run) hits(known ...string) []types.Hotel {
	return read[hotelstays.HotelListResponse](r.byID(known...)).List
}

var searchRules = rules("", []line{
	{"destinations/min-hotels", "minHotelCount leaves out cities with fewer hotels, and no others", func(r *run) {
		asked, at := maps.Clone(r.city().asked), r.city()
		skip(asked == nil || at.Type != types.DestinationCity, "needs a city that the run found itself (without -destination)")
		const none = 100_000_000
		n := none
		if at.Extra != nil && at.Extra.HotelCount != nil {
			n = *at.Extra.HotelCount
		}
		has := func(least int) bool {
			asked["minHotelCount"] = least
			return slices.ContainsFunc(r.places(asked), func(place types.Destination) bool { return place.ID == at.ID })
		}
		breaks(n < none && !has(n), "a city with %d hotels is left out by minHotelCount %d", n, n)
		breaks(has(n+1), "a city with %d hotels is returned for minHotelCount %d", n, n+1)
	}},
	{"list/ids-limit", "hotelIds accepts 1000 ids, or 200 with a visibility band", func(r *run) {
		at := r.byID(foreign(1000)...)
		if at.allowed(); at.succeeded() {
			r.find("1000 ids, no visibility band")
			return
		}
		r.byID(foreign(200)...).ok()
		r.byID(foreign(201)...).refused(0, types.CodeParam)
		r.find("200 ids, a visibility band")
	}},
	{"list/both-ids", "HotelList finds a hotel by the id and by the platformHotelId that it returned", func(r *run) {
		h := r.search().List[0]
		skip(h.ID == "" || h.PlatformHotelID == "", "the hotel has only one id")
		one, other := len(r.hits(h.ID)), len(r.hits(h.PlatformHotelID))
		skip(one+other == 0, "the hotel is no longer available")
		breaks(one == 0 || other == 0, "only one of the ids %s and %s finds the hotel", h.ID, h.PlatformHotelID)
	}},
	{"list/each-id", "HotelList searches each of the hotelIds; whether they also limit a search by destination", func(r *run) {
		all := r.search().List
		skip(len(all) < 2, "the search has only one hotel")
		one, two := hotelID(all[0]), hotelID(all[1])
		finds := func(known ...string) bool { return slices.Contains(ids(r.hits(known...), hotelID), two) }
		breaks(!finds(one, two) && finds(two), "a search for hotel %s finds it, but a search for hotels %s and %s does not", two, one, two)
		beside := r.listed(obj{"hotelIds": []string{one}})
		r.suffers(len(beside) > 1, "hotelIds are ignored together with a destination: a search for hotel %s finds %d hotels", one, len(beside))
		r.find("they do: %t", len(beside) < 2)
	}},
	{"list/by-name", "destinationName finds the hotels of cities with that name", func(r *run) {
		at := r.city()
		name := at.Name.String()
		skip(name == "" || at.Type != types.DestinationCity, "the run has no city with a name")
		list := r.listed(obj{"destinationId": nil, "destinationName": name, "maxRatesPerHotel": 1})
		breaks(len(list) == 0, "the name of a city with hotels finds no hotels")
	}},
	{"list/cheapest", "with maxRatesPerHotel 1 each hotel has its cheapest offer", func(r *run) {
		cheapest := func(most int) map[string]string {
			all := map[string]string{}
			for _, h := range r.listed(obj{"pageSize": 10, "maxRatesPerHotel": most}) {
				if rates := ratesIn(h.Rooms); len(rates) > 0 {
					all[hotelID(h)] = slices.MinFunc(rates, byPrice).TotalRate.NetRate.String()
				}
			}
			return all
		}
		before, capped, after := cheapest(0), cheapest(1), cheapest(0)
		compared := false
		for hotel, price := range capped {
			if before[hotel] != "" && before[hotel] == after[hotel] {
				compared = true
				breaks(price != before[hotel], "the cheapest offer of hotel %s costs %s, and maxRatesPerHotel 1 returns an offer for %s", hotel,
					before[hotel], price)
			}
		}
		skip(!compared, "no hotel has an offer whose price stays the same")
	}},
	{"rates/all", "HotelRates returns all offers of a hotel, at least as many as HotelList", func(r *run) {
		counts := func() (listed, rated int, id string) {
			r.anew()
			at := r.offer()
			for _, h := range r.search().List {
				if hotelID(h) == at.property {
					listed = len(ratesIn(h.Rooms))
				}
			}
			return listed, len(at.at("rooms.rates")), at.hotel
		}
		if listed, rated, id := counts(); listed > rated {
			listed, rated, again := counts()
			breaks(id == again && listed > rated, "hotel %s has %d offers in HotelList, but %d in HotelRates", id, listed, rated)
		}
	}},
	{"rates/hotel-id", "HotelRates accepts the platformHotelId; whether it accepts a hotel's own id", func(r *run) {
		found := r.search()
		at := slices.IndexFunc(found.List, func(h types.Hotel) bool { return h.ID != "" && h.ID != hotelID(h) && len(h.Rooms) > 0 })
		skip(at < 0, "no hotel has two ids")
		has := func(id string) bool {
			a := r.do(call{op: opHotelRates, session: found.session, body: r.stay(obj{"hotelId": id})})
			a.allowed()
			return len(a.at("rooms")) > 0
		}
		h := found.List[at]
		own := has(h.ID)
		breaks(!has(hotelID(h)) && own, "HotelRates has rooms for the id %s, but no rooms for %s", h.ID, hotelID(h))
		r.find("its own id is accepted: %t", own)
	}},
	{"check/answer", "what an available offer looks like: its status, its roomRatePkg, and the rest of the answer", func(r *run) {
		r.anew() // a new search, because only the first answer about an offer may have a statusRemark
		a := r.changed(opCheckAvail, obj{"Currency": "EUR"})
		a.ok()
		skip(a.first("roomRatePkg") == nil, "the offer is no longer available")
		r.find("%s", sampled(r, a))
	}},
})

var emptyOrders = newRule("orders/empty", "QueryOrders for an unknown reference succeeds; how it writes an empty list", "", func(r *run) {
	a := r.get(opQueryOrders, unknownOrder())
	a.ok()
	list := a.member("orders")
	breaks(!slices.Contains([]string{"[]", "null", "absent"}, list), "orders is not empty")
	r.find("orders: %s", list)
	if list != "absent" {
		r.facts.NullOrders = list == "null"
	}
	known := r.cfg.Facts
	breaks(known != nil && known.NullOrders != r.facts.NullOrders, "ServiceFacts.NullOrders is configured as %t, and the list is %s",
		known != nil && known.NullOrders, list)
})

// ages are the ages of a session at which the rule session/life uses the session again.
var ages = []time.Duration{5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute, 45 * time.Minute,
	time.Hour, 90 * time.Minute, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour}

var patientRules = rules("-patience", []line{
	{"session/life", "how long a used session is valid, and what an expired session gets", func(r *run) {
		skip(r.cfg.Patience < ages[0], "the session is first tried after %s; -patience must be at least that long", ages[0])
		r.anew()
		found := r.search()
		offered := found.first("list.rooms.rates.ratePkgId")
		skip(offered == nil, "there are no offers")
		began, alive := time.Now(), time.Duration(0)
		for _, age := range ages {
			if age > r.cfg.Patience {
				break
			}
			r.wait(time.Until(began.Add(age)))
			a := r.do(call{op: opCheckAvail, session: found.session, body: obj{"ratePkgId": offered}})
			a.allowed()
			if !a.succeeded() || a.first("roomRatePkg") == nil {
				r.find("between %s and %s; then %s, status %s", alive, age, a, a.member("status"))
				return
			}
			alive = age
		}
		r.find("at least %s", alive)
	}},
})
