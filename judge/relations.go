// What an answer has to do with its request, and with earlier answers: places, searches and offers.

package judge

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// sameness is a member whose value is known from the request or from an earlier answer.
type sameness struct {
	rule, ops string
	what      string // a member of a type, and the path below it
	source    string // asked: a member of the request, one of its elements if it is a list. header: of the request. offer: of the session
	below     []string
	names     []string // of ops
}

const pricesOps = "HotelList HotelRates CheckAvail"

var samenesses = []sameness{
	{rule: "destinations/country", ops: "Destinations", what: "Place.countryCode", source: "asked.countryCode"},
	{rule: "list/destination", ops: "HotelList", what: "Basic.destination.id", source: "asked.destinationId"},
	{rule: "list/dates", ops: "HotelList", what: "Pkg.checkIn", source: "asked.checkIn"},
	{rule: "list/dates", ops: "HotelList", what: "Pkg.checkOut", source: "asked.checkOut"},
	{rule: "rates/dates", ops: "HotelRates", what: "Pkg.checkIn", source: "asked.checkIn"},
	{rule: "rates/dates", ops: "HotelRates", what: "Pkg.checkOut", source: "asked.checkOut"},
	{rule: "check/dates", ops: "CheckAvail", what: "Pkg.checkIn", source: "offer.checkIn"},
	{rule: "check/dates", ops: "CheckAvail", what: "Pkg.checkOut", source: "offer.checkOut"},
	{rule: "headers/currency", ops: pricesOps, what: "Rate.netRate.currency", source: "header.Currency"},
	{rule: "headers/currency", ops: pricesOps, what: "Rate.grossRate.currency", source: "header.Currency"},
	{rule: "headers/currency", ops: pricesOps, what: "Rate.commissionableRate.currency", source: "header.Currency"},
	{rule: "headers/currency", ops: "Book", what: "Order.netRate.currency", source: "header.Currency"},
	{rule: "value/currency", ops: "HotelList", what: "Hotel.minPrice.currency", source: "header.Currency"},
	{rule: "value/currency", ops: "Cancel", what: "Cancel.serviceFee.currency", source: "header.Currency"},
	{rule: "value/session", ops: "HotelList", what: "Basic.sessionId", source: "told.Session-Id"},
	{rule: "book/stay", ops: "Book", what: "Order.customerReferenceNo", source: "asked.customerReferenceNo"},
	{rule: "book/stay", ops: "Book", what: "Order.checkIn", source: "offer.checkIn"},
	{rule: "book/stay", ops: "Book", what: "Order.checkOut", source: "offer.checkOut"},
	{rule: "order/others", ops: "QueryOrders", what: "Order.customerReferenceNo", source: "asked.customerReferenceNos"},
	{rule: "order/others", ops: "QueryOrders", what: "Order.supplierReferenceNo", source: "asked.supplierReferenceNos"},
	{rule: "value/window", ops: "QueryOrders", what: "Order.status", source: "asked.statusList"},
	{rule: "voucher/order", ops: "OrderVoucher", what: "OrderVoucher.customerReferenceNo", source: "asked.customerReferenceNo"},
	{rule: "voucher/order", ops: "OrderVoucher", what: "OrderVoucher.platformReferenceNo", source: "asked.platformReferenceNo"},
	{rule: "voucher/order", ops: "OrderVoucher", what: "OrderVoucher.supplierReferenceNo", source: "asked.supplierReferenceNo"},
}

// same judges a value that is known.
func (x *exam) same(s *sameness, v value) {
	if !v.there() || !slices.Contains(s.names, string(x.op)) {
		return
	}
	wanted, known := x.wanted[s]
	if !known {
		wanted = x.source(s.source)
		x.wanted[s] = wanted
	}
	if wanted != nil {
		raw := v.raw()
		ok := len(wanted) > 0 && len(raw) == len(wanted[0])+2 && string(raw[1:len(raw)-1]) == wanted[0]
		x.is(s.rule, ok || slices.Contains(wanted, v.str()), v, "that of "+s.source)
	}
}

// source returns the values of a source, or nil if they are not known.
func (x *exam) source(name string) (wanted []string) {
	from, name, _ := strings.Cut(name, ".")
	switch member := x.asked.get(name); {
	case from == "header":
		wanted = x.Request.Values(name)
	case from == "told":
		wanted = x.Header.Values(name)
	case from == "offer":
		if o := x.offered(); o != nil && name == "checkIn" {
			return []string{o.checkIn}
		} else if o != nil {
			return []string{o.checkOut}
		}
	case member.kind() == list:
		for element := range member.all() {
			wanted = append(wanted, element.str())
		}
		if x.op == "QueryOrders" && x.asked.len() > 1 {
			return nil // how filters combine is open
		}
	case member.str() != "":
		return []string{member.str()}
	}
	return wanted
}

// hooks judge what one member alone does not show, by type.
var hooks = map[string]func(*exam, value){
	"Ticket": ticket, "Destinations": destinations, "Place": aPlace, "HotelsMetadata": catalogue, "HotelStaticDetail": detail,
	"HotelList": hotelList, "Hotel": aHotel, "Basic": basic, "Tax": tax, "Room": aRoom, "CheckAvail": checkAvail,
	"Order": anOrder, "QueryOrders": queryOrders, "OrderVoucher": voucher, "Voucher": aVoucher, "Cancel": cancel, "Event": event,
}

func ticket(x *exam, o value) {
	x.is("ticket/jwt", o.len() == 1, o, "the ticket alone")
	ttl, asked := x.asked.get("ttl").int()
	if !asked {
		ttl = 86_400
	}
	if life := claimed(o.get("ticket").str()); life > 0 {
		x.is("ticket/ttl", (life-time.Duration(ttl)*time.Second).Abs() <= 5*time.Second, o.get("ticket"), "a life of ttl seconds")
	}
	x.memory.put(x.memory.key("life", o.get("ticket").str()), &life{x.Time, time.Duration(ttl) * time.Second})
}

// claimed is how long a JWT says that it lives, or 0.
func claimed(token string) time.Duration {
	var claims struct{ IAT, EXP float64 }
	if parts := strings.Split(token, "."); len(parts) == 3 {
		text, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(text, &claims) // what cannot be read says nothing
	}
	if claims.IAT == 0 || claims.EXP == 0 {
		return 0
	}
	return time.Duration(claims.EXP-claims.IAT) * time.Second
}

const city = int(types.DestinationCity)

func destinations(x *exam, o value) {
	places := o.get("destinations")
	details, kinds := 0, map[string]int{}
	for at := range places.all() {
		if kinds[at.get("id").str()], _ = at.get("type").int(); at.get("coordinates").there() {
			details++
		}
	}
	x.is("destinations/details", details > 0 || len(kinds) == 0 || x.asked.get("include").str() != "details", places, "coordinates")
	for at := range places.all() {
		above, has := kinds[at.get("parentDestinationId").str()]
		top := !has || above == int(types.DestinationCountry) || at.get("id").str() == at.get("parentDestinationId").str()
		x.is("destinations/levels", top || !x.asked.get("countryCode").there(), at, "no place whose parent is in the answer, too")
	}
}

func aPlace(x *exam, o value) {
	id, parent := o.get("id").str(), o.get("parentDestinationId")
	kind, _ := o.get("type").int()
	if x.op == "Destinations" && !x.asked.get("countryCode").there() && x.asked.get("parentDestinationId").there() {
		asked := x.asked.get("parentDestinationId").str()
		x.is("destinations/children", id != asked, o.get("id"), "a child")
		if parent.there() && recall[place](x.memory, "place", parent.str()) != nil { // ids are the codes of parents
			x.is("destinations/children", parent.str() == asked, parent, "the parent of the request")
		}
	}
	hotels, counted := o.get("extra", "hotelCount").int()
	least, asked := x.asked.get("minHotelCount").int()
	if !asked && !x.asked.get("filterEmptyCities").there() {
		least = 1
	}
	if counted && x.op == "Destinations" && kind == city {
		x.is("destinations/hotels", hotels >= least, o.get("extra", "hotelCount"), "at least minHotelCount")
	}
	if id != "" {
		x.memory.put(x.memory.key("place", id), &place{kind, strings.ToLower(string(o.get("name").raw()))})
	}
}

// paged judges a page of n elements. No page has to be full.
func (x *exam) paged(group string, elements, asked, data value, standard int) {
	size, ok := asked.get("pageSize").int()
	if !ok {
		size = standard
	}
	num, ok := asked.get("pageNum").int()
	if !ok {
		num = 1
	}
	n, more := elements.len(), data.get("hasMore")
	x.is(group+"/size", n <= size, elements, "at most pageSize")
	total, _ := data.get("total").int()
	if total == 0 {
		return
	}
	x.is(group+"/total", n <= total, data.get("total"), "at least what the page has")
	if more.there() && asked.get("cursor").kind() == absent {
		before := (max(num, 1) - 1) * size
		x.is(group+"/has-more", more.yes() || total <= before+n, more, "true, because the total is higher")
		x.is(group+"/has-more", !more.yes() || num > 1 || total > n, more, "false, because the page has the total")
	}
	key := x.query() ^ x.memory.key("total", x.session)
	if was, ok := x.memory.get(key).(int); ok {
		x.is("value/total", was == total, data.get("total"), "the total of another page")
	}
	x.memory.put(key, total)
}

// query is a hash of what the pages of one list have in common.
func (x *exam) query() uint64 {
	if x.queried != 0 {
		return x.queried
	}
	query := []string{string(x.op), x.Request.Get("Currency")}
	for _, name := range []string{"destinationId", "destinationName", "hotelIds", "sortBy", "checkIn", "checkOut", "roomOccupancies", "countryCode",
		"residencyCode", "nationalityCode"} {
		query = append(query, string(x.asked.get(name).raw()))
	}
	x.queried = x.memory.key(query...)
	return x.queried
}

func catalogue(x *exam, o value) {
	x.paged("metadata", o.get("hotelsMetadata"), x.asked.get("page"), o.get("page"), 20)
	for h := range o.get("hotelsMetadata").all() {
		x.inPlace("metadata/destination-of", h)
		x.knows(h.get("hotelId"), h.get("platformHotelId"))
	}
}

// inPlace expects that a hotel of a city is not of another one.
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

// knows remembers the ids of a hotel.
func (x *exam) knows(ids ...value) {
	h := &hotel{ids[0].str(), ids[1].str()}
	for _, id := range ids {
		if id.str() != "" {
			x.memory.put(x.memory.key("hotel", id.str()), h)
		}
	}
}

// property judges an id of a hotel: one property has several ids, but one code.
func (x *exam) property(rule, asked string, id value) {
	wanted, is := recall[hotel](x.memory, "hotel", asked), recall[hotel](x.memory, "hotel", id.str())
	if wanted != nil && is != nil && wanted.platform != "" && is.platform != "" {
		x.is(rule, is.platform == wanted.platform, id, "an id of the hotel of the request")
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
	x.is("value/empty", hotels.len() == 0 || !o.get("basic", "emptyReason").there(), o.get("basic", "emptyReason"), "none beside hotels")
	if ids := x.source("asked.hotelIds"); ids != nil {
		x.byID(ids, hotels)
	}
	for h := range hotels.all() {
		x.inPlace("list/destination", h)
		x.knows(h.get("id"), h.get("platformHotelId"))
	}
	x.sorted(hotels, x.asked.get("sortBy").str())
}

// byID judges the hotels of a search by ids.
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
		rule = "value/by-id" // how the two combine is open
	}
	for h := range hotels.all() {
		id, platform := h.get("id").str(), h.get("platformHotelId").str()
		x.is("value/by-id", slices.Contains(ids, id) || slices.Contains(ids, platform) || len(ids) == 1, h, "a hotel of the request")
		x.is(rule, wanted == nil || wanted[""] || platform == "" || wanted[platform], h, "a hotel of the request")
	}
}

// sorted judges the order of hotels, and remembers the last one for the next page.
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
		if repeated := room.get("hotelId").str(); id != "" { // without an id the room may repeat that
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

// keepsCheapest compares the offers of a hotel with those of the same search without maxRatesPerHotel.
func (x *exam) keepsCheapest(id string, rooms value, prices []priced, most int, capped bool) {
	amounts := []float64{}
	for _, price := range prices {
		amounts = append(amounts, price.net.amount)
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

// tax doubts a total that is not the sum of its items.
func tax(x *exam, o value) {
	total, items := o.get("total").money(), o.get("items")
	sum, n, known := 0.0, 0, total.known()
	for item := range items.all() {
		part := item.get("amount").money()
		sum, n, known = sum+part.amount, n+1, known && part.known()
		x.is("value/tax", !known || part.currency == total.currency, item, "the currency of the total")
	}
	x.is("value/tax", !known || n == 0 || near(total.amount, sum, 0.02), o.get("total"), "the sum of the items")
}

func near(a, b, most float64) bool { return a-b <= most && b-a <= most }

func aRoom(x *exam, room value) {
	id := room.get("hotelId").str()
	x.property("rates/hotel", x.asked.get("hotelId").str(), room.get("hotelId"))
	for o := range room.get("rates").all() {
		now := x.offer(o, x.search())
		now.hotel = id
		key := x.memory.key("offer", x.session, o.get("ratePkgId").str())
		was, known := x.memory.get(key).(*offer)
		x.is("value/offer", !known || was.search != now.search || was.price == now.price, o.get("ratePkgId"), "another id for another price")
		x.memory.put(key, now)
	}
}

// offer judges an offer of a search.
func (x *exam) offer(o value, asked *search) *offer {
	one, all := o.get("rate"), o.get("totalRate")
	net, gross := all.get("netRate").money(), all.get("grossRate").money()
	p := priced{net: net, lowest: net.amount, highest: max(net.amount, gross.amount)}
	if alone := bytes.Equal(one.raw(), all.raw()); !alone || asked.rooms > 1 {
		a, b := one.get("netRate").money(), one.get("grossRate").money()
		x.total(one.get("netRate", "amount"), a, net, asked)
		x.total(one.get("grossRate", "amount"), b, gross, asked)
		p.lowest = min(p.lowest, a.amount)
	}
	x.is("value/gross", gross.known() || !all.get("respectGrossRate").yes(), all, "the grossRate that is to be honoured")
	x.is("value/gross", !gross.known() || gross.currency != net.currency || gross.amount >= net.amount, all.get("grossRate"), "at least netRate")
	p.highest += o.get("tax", "total").money().amount * float64(max(asked.rooms, 1))
	x.prices = append(x.prices, p)
	now := &offer{search: asked, price: net, mode: o.get("refundableMode").byte()}
	x.terms(o, now, p.highest)
	return now
}

// total judges the price of all rooms.
func (x *exam) total(written value, one, all money, asked *search) {
	if !one.known() || !all.known() || !asked.equal || asked.rooms == 0 {
		return
	}
	rounded := 1e-6
	if asked.rooms > 1 { // a rate that is a rounded part of the total
		_, decimals, _ := strings.Cut(written.str(), ".")
		rounded += float64(asked.rooms) * math.Pow10(-min(len(decimals), 2)) // cents may be written with more digits
	}
	x.is("offer/total", near(one.amount*float64(asked.rooms), all.amount, rounded), written, "the rate of a room for each room is the total")
}

// terms judges what the cancellation of an offer costs.
func (x *exam) terms(o value, now *offer, highest float64) {
	fees, free := o.get("cancelFees"), value{}
	for step := range fees.all() {
		fee := step.get("fee")
		cost := fee.money()
		if cost.known() && cost.amount == 0 {
			free = step.get("until")
		}
		x.is("value/currency", !cost.known() || cost.currency == now.price.currency, fee, "the currency of the rates")
		x.is("value/terms", cost.amount <= highest+0.02 || cost.currency != now.price.currency, fee, "no more than the offer costs")
	}
	full := now.mode == types.RefundableFull[0]
	if !fees.first().there() || !full && now.mode != types.RefundableNo[0] {
		return
	}
	x.is("value/terms", full == (free.document != nil), fees, "a free step if refundableMode is full, and none if it is no")
	if until := o.get("refundableUntil"); full && until.there() && (x.op == "CheckAvail" || !bytes.Equal(until.raw(), free.raw())) {
		end, err := time.Parse(time.RFC3339, until.str())
		x.is("value/terms", err != nil || end.After(x.Time) && (!free.there() || sameTime(free.str(), until.str())), until,
			"the end of the last free step, which is to come")
	}
}

func sameTime(a, b string) bool {
	x, err := time.Parse(time.RFC3339, a)
	y, failed := time.Parse(time.RFC3339, b)
	return err != nil || failed != nil || x.Sub(y).Abs() < time.Second
}

func checkAvail(x *exam, o value) {
	is, id := o.get("roomRatePkg"), x.asked.get("ratePkgId").str()
	status := x.memory.key("status with a package", o.get("status").str())
	if x.is("value/package", is.there() || x.memory.get(status) == nil, is, "a package, as before with this status"); !is.there() {
		return
	}
	x.memory.put(status, true)
	if snapshot := o.get("exchangeRateSnapshot", "usd"); snapshot.there() {
		for rate := range snapshot.all() {
			n, ok := rate.number()
			x.is("", ok && len(rate.key()) == 3 && rate.key() == strings.ToLower(rate.key()), rate, "the rate of a currency in lower case")
			x.is("value/plausible", n > 0, rate, "a rate above 0")
		}
		currency := strings.ToLower(is.get("totalRate", "netRate").money().currency)
		x.is("value/exchange", currency == "usd" || snapshot.get(currency).there(), snapshot, "a rate for the currency of the offer")
	}
	was := x.offered()
	if was == nil {
		return
	}
	now := x.offer(is, was.search)
	now.hotel = was.hotel
	remarked := strings.Contains(string(o.raw()), `"statusRemark"`)
	checked := recall[offer](x.memory, "checked", now.price.currency, x.session, id) // its remark came with that
	told := remarked || checked != nil && now.price == checked.price
	x.is("check/same", told || now.price.currency != was.price.currency || now.price == was.price, is.get("totalRate", "netRate", "amount"),
		"the price of the offer, or a statusRemark")
	x.is("value/terms", told || now.mode == was.mode, is.get("refundableMode"), "that of the offer, or a statusRemark")
	for _, id := range []string{id, is.get("ratePkgId").str()} {
		x.memory.put(x.memory.key("offer", x.session, id), now)
		x.memory.put(x.memory.key("checked", now.price.currency, x.session, id), now)
	}
}

// offered is the offer of a request, or nil if it is not known.
func (x *exam) offered() *offer {
	return recall[offer](x.memory, "offer", x.session, x.asked.get("ratePkgId").str())
}
