// Rules that compare places, searches and offers with their request and with earlier answers.

package judge

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// sameness is a rule: a member of an answer must have the same value as a member or a header of the request, a header
// of the answer, or a member of an earlier answer.
type sameness struct {
	rule, ops string
	what      string // the member that must be equal, such as Rate.netRate.currency: a type, its member, and a path inside the member
	// source names the expected value. Examples: asked.checkIn is a member of the request, and header.Currency is a
	// header of the request. told.Session-Id is a header of the answer. offer.checkIn is the check-in of the offer that
	// the request names. If the member of the request is a list, every element of the list is allowed.
	source string
	below  []string
	want   string // the text for Finding.Want
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

// same requires that v is one of the wanted values. It ignores an absent v.
func (x *exam) same(s *sameness, wanted []string, v value) {
	if raw := v.raw(); v.there() {
		ok := len(wanted) > 0 && len(raw) == len(wanted[0])+2 && string(raw[1:len(raw)-1]) == wanted[0]
		x.is(s.rule, ok || slices.Contains(wanted, v.str()), v, s.want)
	}
}

// source returns the expected values that a sameness.source names, or nil if they are unknown.
func (x *exam) source(name string) (wanted []string) {
	from, name, _ := strings.Cut(name, ".")
	switch member := x.asked.get(name); {
	case x.op == "Book" && from != "asked" && recall[order](x.memory, "reference", x.asked.get("customerReferenceNo").str()) != nil:
		return nil // the reference was booked before, so the answer is the order of the earlier Book
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
			return nil // the document does not say how several filters combine
		}
	case member.str() != "":
		return []string{member.str()}
	}
	return wanted
}

// hooks maps a type to a function that judges rules about several of its members.
var hooks = map[string]func(*exam, value){
	"Ticket": ticket, "Destinations": destinations, "Place": aPlace, "HotelsMetadata": catalogue, "HotelStaticDetail": detail,
	"HotelList": hotelList, "Hotel": aHotel, "Basic": basic, "Tax": tax, "Room": aRoom, "CheckAvail": checkAvail,
	"Order": anOrder, "QueryOrders": queryOrders, "OrderVoucher": voucher, "Voucher": aVoucher, "Cancel": cancel, "Event": event,
}

func ticket(x *exam, o value) {
	x.is("ticket/jwt", o.len() == 1, o, "no member besides ticket")
	ttl, asked := x.asked.get("ttl").int()
	if !asked {
		ttl = 86_400
	}
	if life := claimed(o.get("ticket").str()); life > 0 {
		x.is("ticket/ttl", (life-time.Duration(ttl)*time.Second).Abs() <= 5*time.Second, o.get("ticket"), "a JWT that is valid for ttl seconds")
	}
	x.memory.put(x.memory.key("life", o.get("ticket").str()), &life{x.Time, time.Duration(ttl) * time.Second})
}

// claimed returns the lifetime in the claims of a JWT (exp minus iat). It returns 0 if a claim is missing.
func claimed(token string) time.Duration {
	var claims struct{ IAT, EXP float64 }
	if parts := strings.Split(token, "."); len(parts) == 3 {
		text, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(text, &claims) // a claim that is unreadable stays 0
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
		x.is("destinations/levels", top || !x.asked.get("countryCode").there(), at, "no place whose parent is also in the answer")
	}
}

func aPlace(x *exam, o value) {
	id, parent := o.get("id").str(), o.get("parentDestinationId")
	kind, _ := o.get("type").int()
	if x.op == "Destinations" && !x.asked.get("countryCode").there() && x.asked.get("parentDestinationId").there() {
		asked := x.asked.get("parentDestinationId").str()
		x.is("destinations/children", id != asked, o.get("id"), "a child of the requested place")
		// An unknown parent is not judged, because it may be a code instead of an id.
		if parent.there() && recall[place](x.memory, "place", parent.str()) != nil {
			x.is("destinations/children", parent.str() == asked, parent, "the parentDestinationId of the request")
		}
	}
	hotels, counted := o.get("extra", "hotelCount").int()
	least, asked := x.asked.get("minHotelCount").int()
	if !asked && string(x.asked.get("filterEmptyCities").raw()) != "false" {
		least = 1
	}
	if counted && x.op == "Destinations" && kind == city {
		x.is("destinations/hotels", hotels >= least, o.get("extra", "hotelCount"), "at least minHotelCount")
	}
	if id != "" {
		x.memory.put(x.memory.key("place", id), &place{kind, strings.ToLower(string(o.get("name").raw()))})
	}
}
