// What an answer has to do with its request, and with earlier answers.

package judge

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
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
	op        map[types.Operation]bool
}

var samenesses = []sameness{
	{rule: "destinations/country", ops: "Destinations", what: "Place.countryCode", source: "asked.countryCode"},
	{rule: "list/destination", ops: "HotelList", what: "Basic.destination.id", source: "asked.destinationId"},
	{rule: "list/dates", ops: "HotelList", what: "Pkg.checkIn", source: "asked.checkIn"},
	{rule: "list/dates", ops: "HotelList", what: "Pkg.checkOut", source: "asked.checkOut"},
	{rule: "rates/dates", ops: "HotelRates", what: "Pkg.checkIn", source: "asked.checkIn"},
	{rule: "rates/dates", ops: "HotelRates", what: "Pkg.checkOut", source: "asked.checkOut"},
	{rule: "check/dates", ops: "CheckAvail", what: "Pkg.checkIn", source: "offer.checkIn"},
	{rule: "check/dates", ops: "CheckAvail", what: "Pkg.checkOut", source: "offer.checkOut"},
	{rule: "headers/currency", ops: "HotelList HotelRates CheckAvail", what: "Rate.netRate.currency", source: "header.Currency"},
	{rule: "headers/currency", ops: "HotelList HotelRates CheckAvail", what: "Rate.grossRate.currency", source: "header.Currency"},
	{rule: "headers/currency", ops: "HotelList HotelRates CheckAvail", what: "Rate.commissionableRate.currency", source: "header.Currency"},
	{rule: "headers/currency", ops: "Book", what: "Order.netRate.currency", source: "header.Currency"},
	{rule: "value/currency", ops: "HotelList", what: "Hotel.minPrice.currency", source: "header.Currency"},
	{rule: "value/currency", ops: "Cancel", what: "Cancel.serviceFee.currency", source: "header.Currency"},
	{rule: "book/stay", ops: "Book", what: "Order.customerReferenceNo", source: "asked.customerReferenceNo"},
	{rule: "book/stay", ops: "Book", what: "Order.checkIn", source: "offer.checkIn"},
	{rule: "book/stay", ops: "Book", what: "Order.checkOut", source: "offer.checkOut"},
	{rule: "order/others", ops: "QueryOrders", what: "Order.customerReferenceNo", source: "asked.customerReferenceNos"},
	{rule: "order/others", ops: "QueryOrders", what: "Order.supplierReferenceNo", source: "asked.supplierReferenceNos"},
	{rule: "voucher/order", ops: "OrderVoucher", what: "OrderVoucher.customerReferenceNo", source: "asked.customerReferenceNo"},
	{rule: "voucher/order", ops: "OrderVoucher", what: "OrderVoucher.platformReferenceNo", source: "asked.platformReferenceNo"},
	{rule: "voucher/order", ops: "OrderVoucher", what: "OrderVoucher.supplierReferenceNo", source: "asked.supplierReferenceNo"},
}

// same judges a value that is known.
func (x *exam) same(s *sameness, v value) {
	if !v.there() {
		return
	}
	wanted, known := x.sources[s.source]
	if !known {
		wanted = x.source(s.source)
		x.sources[s.source] = wanted
	}
	if wanted != nil {
		raw := v.raw()
		ok := len(wanted) > 0 && len(raw) == len(wanted[0])+2 && string(raw[1:len(raw)-1]) == wanted[0]
		x.is(s.rule, ok || slices.Contains(wanted, v.str()), v, "that of "+s.source)
	}
}

func (x *exam) source(name string) (wanted []string) {
	from, name, _ := strings.Cut(name, ".")
	switch member := x.asked.get(name); {
	case from == "header" && x.Request.Get(name) != "":
		return []string{x.Request.Get(name)}
	case from == "offer":
		if o := recall[offer](x.memory, "offer", x.session, x.asked.get("ratePkgId").str()); o != nil && name == "checkIn" {
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
	case from == "asked" && member.str() != "":
		return []string{member.str()}
	}
	return wanted
}

// hooks judge what one member alone does not show, by type.
var hooks = map[string]func(*exam, value){
	"Ticket": ticket, "Destinations": destinations, "Place": aPlace, "HotelsMetadata": catalogue, "HotelList": hotelList, "Hotel": aHotel,
	"Basic": basic, "Tax": tax, "Pkg": pkg, "HotelRates": hotelRates, "CheckAvail": checkAvail, "Order": anOrder,
	"OrderVoucher": voucher, "Voucher": aVoucher, "Cancel": cancel, "Event": event,
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

func destinations(x *exam, o value) {
	details, n := 0, 0
	for at := range o.get("destinations").all() {
		n++
		if at.get("coordinates").there() {
			details++
		}
	}
	x.is("destinations/details", details > 0 || n == 0 || x.asked.get("include").str() != "details", o.get("destinations"), "coordinates")
}

func aPlace(x *exam, o value) {
	id, parent, kind := o.get("id").str(), o.get("parentDestinationId"), o.get("type").str()
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
	if counted && x.op == "Destinations" && kind == strconv.Itoa(int(types.DestinationCity)) {
		x.is("destinations/hotels", hotels >= least, o.get("extra", "hotelCount"), "at least minHotelCount")
	}
	if id != "" {
		x.memory.put(x.memory.key("place", id), &place{kind, parent.str()})
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
	if total, ok := data.get("total").int(); ok && total != 0 {
		x.is(group+"/total", n <= total, data.get("total"), "at least what the page has")
		if more.there() && asked.get("cursor").kind() == absent {
			before := (max(num, 1) - 1) * size
			x.is(group+"/has-more", string(more.raw()) == "true" || total <= before+n, more, "true, because the total is higher")
			x.is(group+"/has-more", string(more.raw()) == "false" || num > 1 || total > n, more, "false, because the page has the total")
		}
	}
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
	if city := strconv.Itoa(int(types.DestinationCity)); wanted != nil && found != nil && wanted.kind == city && found.kind == city {
		x.is(rule, asked == is, h.get("destinationId"), "the destination of the request")
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

func basic(x *exam, o value) {
	x.is("list/reasons", o.get("notices").len() == 0 || !o.get("emptyReason").there(), o, "notices or emptyReason")
	x.is("list/session", x.session != "", o.get("sessionId"), "a session")
}

func hotelList(x *exam, o value) {
	hotels := o.get("list")
	x.paged("list", hotels, x.asked, o, 50)
	x.is("value/empty", hotels.len() == 0 || !o.get("basic", "emptyReason").there(), o.get("basic", "emptyReason"), "none beside hotels")
	known := &search{x.asked.get("checkIn").str(), x.asked.get("checkOut").str(), x.rooms()}
	x.memory.put(x.memory.key("search", x.session), known)
	if ids := x.asked.get("hotelIds"); ids.there() {
		x.is("list/by-id", hotels.len() <= ids.len(), hotels, "at most one hotel for each id")
	}
	by := x.asked.get("sortBy").str()
	member := map[string]string{"price-asc": "minPrice", "price-desc": "minPrice", "rating-desc": "rating"}[by]
	if member == "" {
		return
	}
	num, _ := x.asked.get("pageNum").int()
	query := []string{"page", by, x.session, x.asked.get("destinationId").str(), x.asked.get("pageSize").str(),
		strings.Join(x.source("asked.hotelIds"), " ")}
	before := recall[page](x.memory, append(query, strconv.Itoa(num-1))...)
	for h := range hotels.all() {
		key := h.get(member)
		now := &page{cmp.Or(key.get("amount").str(), key.str()), key.get("currency").str()}
		if before != nil && before.key != "" && now.key != "" && before.currency == now.currency {
			a, _ := strconv.ParseFloat(before.key, 64)
			b, _ := strconv.ParseFloat(now.key, 64)
			x.is("list/"+by, a <= b && by == "price-asc" || a >= b && by != "price-asc", key, "in order of "+by)
		}
		before = now
	}
	if before != nil && num > 0 {
		x.memory.put(x.memory.key(append(query, strconv.Itoa(num))...), before)
	}
}

// rooms is how many equal rooms were asked for, or 0.
func (x *exam) rooms() (n int) {
	first := ""
	for room := range x.asked.get("roomOccupancies").all() {
		if n++; n == 1 {
			first = string(room.raw())
		} else if string(room.raw()) != first {
			return 0
		}
	}
	return n
}

func aHotel(x *exam, h value) {
	id, platform := h.get("id").str(), h.get("platformHotelId").str()
	offers, lowest, dearest, priced := 0, 0.0, 0.0, true
	for room := range h.get("rooms").all() {
		if repeated := room.get("hotelId").str(); id != "" { // without an id the room may repeat that
			x.is("list/room-hotel", repeated == id || repeated == platform, room.get("hotelId"), "the hotel's id")
		}
		for o := range room.get("rates").all() {
			n, ok := o.get("totalRate", "netRate", "amount").number()
			if priced = priced && ok; offers == 0 || n < lowest {
				lowest = n
			}
			dearest = max(dearest, n)
			offers++
		}
	}
	if most, ok := x.asked.get("maxRatesPerHotel").int(); ok && most > 0 && offers > 0 {
		x.is("list/max-rates", offers <= most, h.get("rooms"), "at most maxRatesPerHotel")
	}
	if asked := x.source("asked.hotelIds"); x.op == "HotelList" && asked != nil {
		if first := recall[hotel](x.memory, "hotel", asked[0]); len(asked) == 1 && first != nil && first.platform != "" && platform != "" {
			x.is("list/by-id", platform == first.platform, h, "the hotel of the request")
		}
		x.is("value/by-id", slices.Contains(asked, id) || slices.Contains(asked, platform) || len(asked) == 1, h, "a hotel of the request")
	} else if x.op == "HotelList" {
		x.inPlace("list/destination", h)
	}
	if least, ok := h.get("minPrice", "amount").number(); ok && priced && offers > 0 {
		x.is("value/min-price", least <= dearest*2, h.get("minPrice"), "a price of the hotel")
	}
	x.knows(h.get("id"), h.get("platformHotelId"))
}

// tax doubts a total that is not the sum of its items.
func tax(x *exam, o value) {
	total, ok := o.get("total", "amount").number()
	sum := 0.0
	for item := range o.get("items").all() {
		n, known := item.get("amount", "amount").number()
		ok = ok && known && string(item.get("amount", "currency").raw()) == string(o.get("total", "currency").raw())
		sum += n
	}
	if ok && o.get("items").len() > 0 {
		x.is("value/tax", near(total, sum, 0.02), o.get("total"), "the sum of the items")
	}
}

func near(a, b, most float64) bool { return a-b <= most && b-a <= most }

func pkg(x *exam, o value) {
	known := &offer{currency: o.get("totalRate", "netRate", "currency").str(), amount: o.get("totalRate", "netRate", "amount").str()}
	if x.op == "CheckAvail" {
		if was := recall[offer](x.memory, "offer", x.session, x.asked.get("ratePkgId").str()); was != nil {
			known.search = was.search
		}
	} else {
		known.search = search{x.asked.get("checkIn").str(), x.asked.get("checkOut").str(), x.rooms()}
	}
	for _, name := range []string{"netRate", "grossRate"} {
		one, all := o.get("rate", name, "amount"), o.get("totalRate", name, "amount")
		a, ok := one.number()
		b, there := all.number()
		if ok && there && known.rooms > 0 {
			most := 0.0
			if known.rooms > 1 { // a rate that is a rounded part of the total
				_, decimals, _ := strings.Cut(one.str(), ".")
				most = float64(known.rooms)
				for range min(len(decimals), 2) { // cents may be written with more digits
					most /= 10
				}
			}
			x.is("offer/total", near(a*float64(known.rooms), b, most+1e-6), all, "the rate of a room for each room")
		}
	}
	respected := string(o.get("totalRate", "respectGrossRate").raw()) == "true"
	x.is("value/gross", !respected || o.get("totalRate", "grossRate").there(), o.get("totalRate"), "the grossRate that is to be honoured")
	if x.op != "CheckAvail" && x.session != "" {
		x.memory.put(x.memory.key("offer", x.session, o.get("ratePkgId").str()), known)
	}
}

func hotelRates(x *exam, o value) {
	asked := recall[hotel](x.memory, "hotel", x.asked.get("hotelId").str())
	for room := range o.get("rooms").all() { // one property has several ids, but one code
		is := recall[hotel](x.memory, "hotel", room.get("hotelId").str())
		if asked != nil && is != nil && asked.platform != "" && is.platform != "" {
			x.is("rates/hotel", is.platform == asked.platform, room.get("hotelId"), "the hotel of the request")
		}
	}
}

func checkAvail(x *exam, o value) {
	is := o.get("roomRatePkg")
	was := recall[offer](x.memory, "offer", x.session, x.asked.get("ratePkgId").str())
	if was == nil || !is.there() {
		return
	}
	price := is.get("totalRate", "netRate")
	amount, currency := price.get("amount").str(), price.get("currency").str()
	remarked := strings.Contains(string(o.raw()), `"statusRemark"`)
	checked := recall[offer](x.memory, "checked", currency, x.session, x.asked.get("ratePkgId").str()) // its remark came with that
	known := checked != nil && sameNumber(amount, checked.amount)
	x.is("check/same", known || remarked || currency != was.currency || sameNumber(amount, was.amount), price.get("amount"),
		"the price of the offer, or a statusRemark")
	now := *was
	now.currency, now.amount = currency, amount
	for _, id := range []string{x.asked.get("ratePkgId").str(), is.get("ratePkgId").str()} {
		x.memory.put(x.memory.key("offer", x.session, id), &now)
		x.memory.put(x.memory.key("checked", currency, x.session, id), &now)
	}
}

func sameNumber(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, failed := strconv.ParseFloat(b, 64)
	return err == nil && failed == nil && x == y
}

// stayOf compares the parts of an order with each other, and returns its number of rooms.
func stayOf(x *exam, o value, now *order) (rooms int, counted bool) {
	in, err := time.Parse(time.DateOnly, now.checkIn)
	out, failed := time.Parse(time.DateOnly, now.checkOut)
	if nights, ok := o.get("nightCount").int(); ok && err == nil && failed == nil {
		x.is("order/nights", nights == int(out.Sub(in).Hours()/24), o.get("nightCount"), "the nights between checkIn and checkOut")
	}
	rooms, counted = o.get("roomCount").int()
	if list := o.get("rooms"); counted && list.there() {
		x.is("order/rooms", rooms == list.len(), o.get("roomCount"), "one for each of rooms")
	}
	for room := range o.get("rooms").all() {
		x.is("order/room-dates", room.get("checkIn").str() == now.checkIn && room.get("checkOut").str() == now.checkOut, room,
			"the dates of the order")
	}
	return rooms, counted
}

func anOrder(x *exam, o value) {
	now := &order{customer: o.get("customerReferenceNo").str(), platform: o.get("platformReferenceNo").str(),
		supplier: o.get("supplierReferenceNo").str(), checkIn: o.get("checkIn").str(), checkOut: o.get("checkOut").str(),
		bookedAt: o.get("bookingTime").str(), currency: o.get("netRate", "currency").str(), amount: o.get("netRate", "amount").str()}
	rooms, counted := stayOf(x, o, now)
	was := recall[order](x.memory, "order", cmp.Or(now.platform, now.customer))
	open := o.get("status").str() == "0" || o.get("status").str() == "1"
	if x.op == "Book" {
		reference := x.asked.get("customerReferenceNo").str()
		now.customer = cmp.Or(now.customer, reference)
		if first := recall[order](x.memory, "reference", reference); first != nil {
			x.is("book/again", first.platform == now.platform, o.get("platformReferenceNo"), "the order of the reference")
			x.memory.put(x.memory.key("reference", reference), first)
			return
		}
		booked, err := time.Parse(time.RFC3339, now.bookedAt)
		x.is("book/status", open || err != nil || x.Time.Sub(booked).Abs() > time.Minute, o.get("status"), "0 or 1, because the order is new")
		if offered := recall[offer](x.memory, "offer", x.session, x.asked.get("ratePkgId").str()); offered != nil {
			now.rooms = offered.rooms
			x.is("order/rooms", !counted || offered.rooms == 0 || rooms == offered.rooms, o.get("roomCount"), "the rooms of the search")
		}
		now.holder = x.named(x.asked.get("holder"))
		for guest := range x.asked.get("guests").all() {
			if number := guest.get("passportNumber").str(); len(number) > 4 {
				now.passports = append(now.passports, number[len(number)-5:])
			}
		}
		was = now
		x.memory.put(x.memory.key("reference", reference), now)
	}
	if was == nil {
		return
	}
	for _, passport := range was.passports {
		for room := range o.get("rooms").all() {
			guests := room.get("guests")
			x.is("book/passport-shown", x.op == "Book" || !strings.Contains(string(guests.raw()), passport), guests,
				"four characters of a passport number at most")
		}
	}
	if x.op != "Book" {
		x.is("book/read", now.customer == "" || now.customer == was.customer, o.get("customerReferenceNo"), "the reference of its Book")
		x.is("order/created", now.bookedAt == "" || was.bookedAt == "" || now.bookedAt == was.bookedAt || sameTime(now.bookedAt, was.bookedAt),
			o.get("bookingTime"), "what it was before")
		rule := "book/read"
		if !open {
			rule = "value/amended"
		}
		x.is(rule, now.checkIn == was.checkIn || now.checkIn == "", o.get("checkIn"), "what it was before")
		x.is(rule, now.checkOut == was.checkOut || now.checkOut == "", o.get("checkOut"), "what it was before")
		x.is(rule, now.amount == "" || now.currency != was.currency || sameNumber(now.amount, was.amount), o.get("netRate"),
			"what it was before")
	}
	if holder := o.get("holder"); holder.there() && was.holder != 0 {
		x.is("book/holder", x.named(holder) == was.holder, holder, "the holder of its Book")
	}
	kept := *was
	kept.supplier = cmp.Or(now.supplier, was.supplier)
	x.memory.put(x.memory.key("order", kept.platform), &kept)
	x.memory.put(x.memory.key("reference", kept.customer), &kept)
}

// named is a hash of a name, whatever its case.
func (x *exam) named(o value) uint64 {
	fold := func(name string) string { return strings.ToLower(strings.TrimSpace(o.get(name).str())) }
	return x.memory.key(fold("firstName"), fold("lastName"))
}

func sameTime(a, b string) bool {
	x, err := time.Parse(time.RFC3339, a)
	y, failed := time.Parse(time.RFC3339, b)
	return err == nil && failed == nil && x.Sub(y).Abs() < time.Second
}

func voucher(x *exam, o value) {
	v, generated := o.get("voucher"), o.get("status").str() == string(types.VoucherGenerated)
	x.is("voucher/generated", generated || !v.there(), v, "none unless the status is GENERATED")
	x.is("value/voucher", v.there() || !generated, v, "the document of a GENERATED voucher")
	asked := string(x.asked.get("includeDocument").raw()) == "true"
	x.is("voucher/content-unasked", asked || !v.get("content").there(), v.get("content"), "none without includeDocument")
	x.is("voucher/inline", !asked || !v.there() || v.get("content").there(), v.get("content"), "the document, because of includeDocument")
	if of := recall[order](x.memory, "order", o.get("platformReferenceNo").str()); of != nil && v.there() {
		x.is("voucher/signed", v.get("signature").there(), v.get("signature"), "one, because the order is new")
		now := *of
		now.version, _ = v.get("version").int()
		now.digest = v.get("signature", "digest").str()
		x.is("voucher/version", now.version >= of.version, v.get("version"), "no earlier version")
		x.is("value/version", now.version != of.version || now.digest == of.digest || of.digest == "", v.get("signature", "digest"),
			"that of the version before")
		x.memory.put(x.memory.key("order", of.platform), &now)
	}
}

func aVoucher(x *exam, v value) {
	digest := v.get("signature", "digest").str()
	document, err := base64.StdEncoding.DecodeString(v.get("content", "base64").str())
	if v.get("content").there() && digest != "" && err == nil {
		x.is("voucher/inline", hexed(document) == digest, v.get("content", "base64"), "the document of the digest")
	}
	if digest != "" {
		x.memory.put(x.memory.key("link", v.get("downloadUrl").str()), &link{digest})
	}
}

func hexed(document []byte) string {
	sum := sha256.Sum256(document)
	return hex.EncodeToString(sum[:])
}

func cancel(x *exam, o value) {
	customer, supplier := x.asked.get("customerReferenceNo").str(), x.asked.get("supplierReferenceNo").str()
	if of := recall[order](x.memory, "reference", customer); of != nil && of.supplier != "" {
		x.is("cancel/foreign", of.supplier == supplier, o, "a refusal, because supplierReferenceNo is not the order's")
		fee, known := o.get("serviceFee", "amount").number()
		price, err := strconv.ParseFloat(of.amount, 64)
		x.is("value/fee", !known || err != nil || o.get("serviceFee", "currency").str() != of.currency || fee <= price, o.get("serviceFee"),
			"no more than the order's price")
	}
}

func event(x *exam, o value) {
	if ms, ok := o.get("eventTime").int(); ok {
		x.is("webhook/form", x.Time.Sub(time.UnixMilli(int64(ms))).Abs() < 24*time.Hour, o.get("eventTime"), "now, in milliseconds")
	}
	x.is("value/event", o.get("eventTime").there(), o.get("eventTime"), "the time of the event")
}
