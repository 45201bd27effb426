// Rules that compare the hotels of an answer with its request and with earlier answers.

package judge

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// paged judges the pageSize, total and hasMore of a page. A page may have fewer elements than pageSize.
func (x *exam) paged(group string, elements, asked, data value, standard int) {
	size, ok := asked.get("pageSize").int()
	if !ok {
		size = standard
	}
	num, _ := asked.get("pageNum").int()
	n, more := elements.len(), data.get("hasMore")
	x.is(group+"/size", n <= size, elements, "at most pageSize")
	total, _ := data.get("total").int()
	if total == 0 {
		return
	}
	x.is(group+"/total", n <= total, data.get("total"), "at least the number of elements on the page")
	if more.there() && asked.get("cursor").kind() == absent {
		before := (max(num, 1) - 1) * size
		x.is(group+"/has-more", more.yes() || total <= before+n, more, "true, because more elements follow according to total")
		x.is(group+"/has-more", !more.yes() || num > 1 || total > n, more, "false, because the page has all elements")
	}
	key := x.query() ^ x.memory.key("total", x.session)
	if was, ok := x.memory.get(key).(int); ok {
		x.is("value/total", was == total, data.get("total"), "the total of another page")
	}
	x.memory.put(key, total)
}

// query returns a hash of the request without its page number, so that all pages of a search have the same hash.
func (x *exam) query() uint64 {
	if x.queried != 0 {
		return x.queried
	}
	query := []string{string(x.op), x.Request.Get("Currency")}
	for _, name := range []string{"destinationId", "destinationName", "hotelIds", "sortBy", "checkIn", "checkOut", "roomOccupancies",
		"countryCode", "residencyCode", "nationalityCode"} {
		query = append(query, string(x.asked.get(name).raw()))
	}
	x.queried = x.memory.key(query...)
	return x.queried
}

func catalogue(x *exam, o value) {
	x.paged("metadata", o.get("hotelsMetadata"), x.asked.get("page"), o.get("page"), 20)
	for h := range o.get("hotelsMetadata").all() {
		x.inPlace("metadata/destination-of", h)
		x.rememberHotel(h.get("hotelId"), h.get("platformHotelId"))
	}
}

// inPlace requires that the hotel is in the requested city.
func (x *exam) inPlace(rule string, h value) {
	asked, is := x.asked.get("destinationId").str(), h.get("destinationId").str()
	wanted, found := recall[place](x.memory, "place", asked), recall[place](x.memory, "place", is)
	if wanted != nil && found != nil && wanted.kind == city && found.kind == city {
		x.is(rule, asked == is, h.get("destinationId"), "the destination of the request")
	}
	if name := x.asked.get("destinationName").str(); name != "" && asked == "" && found != nil && found.kind == city {
		x.is("value/name", strings.Contains(found.names, strings.ToLower(name)), h.get("destinationId"), "a city of destinationName")
	}
}

func (x *exam) rememberHotel(ids ...value) {
	h := &hotel{ids[0].str(), ids[1].str()}
	for _, id := range ids {
		if id.str() != "" {
			x.memory.put(x.memory.key("hotel", id.str()), h)
		}
	}
}

// property requires that id names the requested hotel. A hotel may have several ids, but it has only one
// platformHotelId.
func (x *exam) property(rule, asked string, id value) {
	if wanted := recall[hotel](x.memory, "hotel", asked); wanted != nil && wanted.platform != "" {
		if is := recall[hotel](x.memory, "hotel", id.str()); is != nil && is.platform != "" {
			x.is(rule, is.platform == wanted.platform, id, "an id of the hotel of the request")
		}
	}
}

func detail(x *exam, o value) {
	x.property("value/by-id", x.asked.get("hotelId").str(), o.get("hotel", "id"))
}

func basic(x *exam, o value) {
	x.is("list/reasons", o.get("notices").len() == 0 || !o.get("emptyReason").there(), o, "notices or emptyReason")
}

func hotelList(x *exam, o value) {
	hotels := o.get("list")
	x.paged("list", hotels, x.asked, o, 50)
	// If the list has no hotels, nobody needs the session. A missing session then breaks only value/members, which is a Doubt.
	rule := ""
	if hotels.len() == 0 {
		rule = "value/members"
	}
	x.is(rule, o.get("basic", "sessionId").there(), o.get("basic", "sessionId"), "a session")
	x.is("value/empty", hotels.len() == 0 || !o.get("basic", "emptyReason").there(), o.get("basic", "emptyReason"),
		"no emptyReason, because there are hotels")
	if ids := x.source("asked.hotelIds"); ids != nil {
		x.byID(ids, hotels)
	}
	for h := range hotels.all() {
		x.inPlace("list/destination", h)
		x.rememberHotel(h.get("id"), h.get("platformHotelId"))
	}
	x.sorted(hotels, x.asked.get("sortBy").str())
}

// byID judges the hotels of a search that named hotelIds.
func (x *exam) byID(ids []string, hotels value) {
	x.is("list/by-id", hotels.len() <= len(ids), hotels, "at most one hotel for each id")
	wanted, rule := map[string]bool{}, "list/by-id"
	for _, id := range ids {
		if h := recall[hotel](x.memory, "hotel", id); h != nil && wanted != nil {
			wanted[h.platform] = true
		} else {
			wanted = nil
		}
	}
	if x.asked.get("destinationId").there() {
		rule = "value/by-id" // the document does not say how hotelIds and destinationId combine
	}
	for h := range hotels.all() {
		id, platform := h.get("id").str(), h.get("platformHotelId").str()
		x.is("value/by-id", slices.Contains(ids, id) || slices.Contains(ids, platform) || len(ids) == 1, h, "a hotel of the request")
		x.is(rule, wanted == nil || wanted[""] || platform == "" || wanted[platform], h, "a hotel of the request")
	}
}

// sorted judges the order of hotels. It remembers the price or the rating of the last hotel for the next page.
func (x *exam) sorted(hotels value, by string) {
	member := map[string]string{"price-asc": "minPrice", "price-desc": "minPrice", "rating-desc": "rating"}[by]
	if member == "" {
		return
	}
	num, _ := x.asked.get("pageNum").int()
	page := func(num int) uint64 {
		return x.query() ^ x.memory.key("page", x.session, x.asked.get("pageSize").str(), strconv.Itoa(num))
	}
	before, _ := x.memory.get(page(num - 1)).(*money)
	for h := range hotels.all() {
		now := h.get(member).money()
		if rating, ok := h.get(member).number(); ok {
			now = money{rating, "*"}
		}
		if before != nil && now.known() && before.currency == now.currency {
			rising := before.amount <= now.amount && by == "price-asc" || before.amount >= now.amount && by != "price-asc"
			x.is("list/"+by, rising, h.get(member), "in order of "+by)
		}
		if before = &now; !now.known() {
			before = nil
		}
	}
	if before != nil && num > 0 {
		x.memory.put(page(num), before)
	}
}

func aHotel(x *exam, h value) {
	id, platform, rooms := h.get("id").str(), h.get("platformHotelId").str(), h.get("rooms")
	for room := range rooms.all() {
		if repeated := room.get("hotelId").str(); id != "" { // if the hotel's id is missing, a room may name any id of the hotel
			x.is("list/room-hotel", repeated == id || repeated == platform, room.get("hotelId"), "the hotel's id")
		}
	}
	prices := x.prices
	x.prices = prices[:0]
	if x.op != "HotelList" {
		return
	}
	most, capped := x.asked.get("maxRatesPerHotel").int()
	if most > 0 && len(prices) > 0 {
		x.is("list/max-rates", len(prices) <= most, rooms, "at most maxRatesPerHotel")
	}
	least := h.get("minPrice").money()
	for price := range h.get("minPricesByCurrency").all() {
		if m := price.money(); m.currency == least.currency {
			x.is("value/min-price", m == least, price, "minPrice")
		}
	}
	if len(prices) > 0 && least.known() && !slices.ContainsFunc(prices, func(p priced) bool { return p.net.currency != least.currency }) {
		lowest := slices.MinFunc(prices, func(a, b priced) int { return cmp.Compare(a.lowest, b.lowest) }).lowest
		cheapest := slices.MinFunc(prices, func(a, b priced) int { return cmp.Compare(a.highest, b.highest) }).highest
		x.is("list/min-price", least.amount <= cheapest+0.02, h.get("minPrice"), "no more than the cheapest offer costs")
		x.is("value/min-price", least.amount >= lowest-0.02, h.get("minPrice"), "no less than the cheapest room costs")
	}
	x.keepsCheapest(cmp.Or(platform, id), rooms, prices, most, capped)
}

// keepsCheapest remembers the offers of a hotel in a search without maxRatesPerHotel. In the same search with
// maxRatesPerHotel, keepsCheapest requires that the hotel has exactly the cheapest of these offers.
func (x *exam) keepsCheapest(id string, rooms value, prices []priced, most int, capped bool) {
	amounts := make([]float64, len(prices))
	for i, price := range prices {
		amounts[i] = price.net.amount
	}
	slices.Sort(amounts)
	key := x.query() ^ x.memory.key("prices", id)
	if !capped {
		x.memory.put(key, amounts)
	} else if all, ok := x.memory.get(key).([]float64); ok && rooms.there() {
		if most > 0 && most < len(all) {
			all = all[:most]
		}
		x.is("value/max-rates", slices.Equal(amounts, all), rooms, "the cheapest offers of the search without maxRatesPerHotel")
	}
}
