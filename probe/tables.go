// Rules as lines of tables: changed requests, requests with the same answer, and walks over pages.

package probe

import (
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

// request is a lawful request that is sent with each of its changes.
type request struct {
	name, section, promise string
	op                     operation
	want                   expect
	changes                []obj
}

// expect judges an answer, and returns what the answer shows about an open point.
type expect func(*run, *answer) string

// every stands for all operations that only read, and Cancel.
const every operation = "every"

// priced stands for HotelList and HotelRates.
const priced operation = "priced"

// ofSpare stands for Cancel of the second booking.
const ofSpare operation = "Cancel of the second booking"

func (q request) rule() Rule {
	needs := map[operation]string{opBook: "-book", opCancel: "-book", ofSpare: "-book"}[q.op]
	ops := map[operation][]operation{every: append(readOps, opCancel), priced: {opHotelList, opHotelRates}}[q.op]
	if ops == nil {
		ops = []operation{q.op}
	}
	return Rule{q.name, q.section, q.promise, needs, each(ops, func(r *run, op operation) {
		var found, texts []string
		for _, change := range q.changes {
			var text string
			if op == opBook {
				text = r.turnedDown(sending{change: change}, q.want)
			} else {
				text = q.want(r, r.changed(op, change))
			}
			texts, found = append(texts, text), append(found, named(change)+": "+text)
		}
		if text := texts[0]; len(slices.Compact(texts)) > 1 {
			r.find("%s", strings.Join(found, "; "))
		} else if text != "" {
			r.find("%s", text)
		}
	})}
}

// named is a change in a few words.
func named(change obj) string {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(change)) {
		value, _ := json.Marshal(change[name])
		switch _, computed := change[name].(func(*run) any); {
		case computed:
			value = []byte(name)
		case change[name] == nil:
			value = []byte("no " + name)
		}
		values = append(values, string(value))
	}
	return strings.Join(values, " ")
}

// accepted expects a success, whose form the judge looks at.
func accepted(_ *run, a *answer) string { a.ok(); return "" }

// gets takes any answer.
func gets(_ *run, a *answer) string { a.came(); return a.String() }

// sent takes any answer to a call without a header, if the calls of the run have that header.
func sent(name string) expect {
	return func(r *run, a *answer) string {
		lawful := r.do(r.lawful(a.op))
		skip(lawful.err != nil || lawful.RequestHeader[name] == "", "the calls of this run have no %s", name)
		return gets(r, a)
	}
}

// refuses expects a refusal with a status and a code. 0 is any, and the answer is found out.
func refuses(status, code int) expect {
	return func(_ *run, a *answer) string {
		if a.refused(status, code); code != 0 {
			return ""
		}
		return a.String()
	}
}

// naming expects a refusal because of a parameter, whose msg names it.
func naming(parameter string) expect {
	return func(_ *run, a *answer) string {
		a.refused(0, types.CodeParam)
		breaks(!strings.Contains(a.msg(), parameter), "msg does not name %s", parameter)
		return ""
	}
}

// noOffer expects that CheckAvail has no offer, in whatever words.
func noOffer(_ *run, a *answer) string {
	a.allowed()
	breaks(a.succeeded() && read[hotelstays.CheckAvailResponse](a).Available(), "the offer is available")
	return a.String()
}

// doubted takes any answer, and a success is weak.
func doubted(r *run, a *answer) string {
	a.allowed()
	r.suffers(a.succeeded(), "%s accepts it", a.op)
	return a.String()
}

// fills expects that a page is full if another one follows. The document does not say so.
func fills(size int) expect {
	return func(r *run, a *answer) string {
		p := read[struct {
			List, HotelsMetadata []json.RawMessage
			HasMore              *bool
			Page                 types.PageResp
		}](a)
		n := len(p.List) + len(p.HotelsMetadata)
		r.suffers(n < size && (said(p.HasMore) || said(p.Page.HasMore)), "the page has %d hotels of %d, and more follow", n, size)
		return ""
	}
}

func tabled(lines []request) (all []Rule) {
	for _, q := range lines {
		all = append(all, q.rule())
	}
	return all
}

// changed makes a lawful call with a change.
func (r *run) changed(op operation, change obj) *answer {
	c := r.lawful(op)
	r.apply(&c, change)
	return r.do(c)
}

// apply changes a call. A name in upper case is a header's. A name with a dot is that of a member of an object, or of each
// element of a list. A nil removes what it names; a func is called for the value.
func (r *run) apply(c *call, change obj) {
	body := maps.Clone(c.body.(obj))
	for name, value := range change {
		if computed, ok := value.(func(*run) any); ok {
			value = computed(r)
		}
		text, _ := value.(string)
		switch {
		case name == "Session-Id":
			c.session = text
		case name == "Currency":
			c.currency = text
		case name == "token":
			c.token = text
		case name[0] <= 'Z':
			if name == "Authorization" {
				c.token = nobody // else the client renews the run's
			}
			c.edit = func(h http.Header) {
				if h.Set(name, text); value == nil {
					h.Del(name)
				}
			}
		default:
			set(body, strings.Split(name, "."), value)
		}
	}
	c.body = body
}

// set changes a member in a copy of what is around it.
func set(o obj, path []string, value any) {
	switch below := o[path[0]].(type) {
	case obj:
		if len(path) > 1 {
			below = maps.Clone(below)
			set(below, path[1:], value)
			value = below
		}
	case []obj:
		if len(path) > 1 {
			all := make([]obj, len(below))
			for i := range below {
				all[i] = maps.Clone(below[i])
				set(all[i], path[1:], value)
			}
			value = all
		}
	}
	if o[path[0]] = value; value == nil {
		delete(o, path[0])
	}
}

var twoRooms = []obj{{"adultCount": 2}, {"adultCount": 2}}

// otherSession is a session of a new search.
func otherSession(r *run) any {
	own, other := r.offer().session, *r
	other.anew()
	session := other.search().session
	skip(own == session, "two searches share a session")
	return session
}

func firstPlace(r *run) any { return r.country().places[0].ID }

func changes(name string, values ...any) (all []obj) {
	for _, value := range values {
		all = append(all, obj{name: value})
	}
	return all
}

const (
	headersAre = "Common request headers"
	hotelsAre  = "Hotel (search and static detail)"
	offersAre  = "RoomRatePkg (a priced offer)"
)

// readRequests only read.
var readRequests = tabled([]request{
	{"ticket/wrong-secret", "Ticket", "a wrong secret is refused with HTTP 401 and code 100000401", opTicket, refuses(401,
		types.CodeUnauthorized),
		changes("appSecret", wrongSecret)},
	{"ticket/unknown-key", "Ticket", "an unknown key is refused with HTTP 401 and code 100000401", opTicket, refuses(401,
		types.CodeUnauthorized),
		changes("appKey", "a-key-of-nobody")},
	{"ticket/required", "Ticket", "appKey and appSecret are required", opTicket, refuses(0, 0), []obj{{"appKey": nil}, {"appSecret": nil}}},
	{"ticket/ttl-largest", "Ticket", "a ttl of 31536000 seconds is accepted", opTicket, accepted, changes("ttl", maxTTL)},
	{"ticket/ttl-above", "Ticket", "a ttl of 31536001 seconds is refused", opTicket, refuses(0, 0), changes("ttl", maxTTL+1)},
	{"ticket/ttl-positive", "Ticket", "a ttl of 0 or -1 is refused", opTicket, refuses(0, 0), changes("ttl", 0, -1)},
	{"auth/missing-token", "Authentication", "every operation without a token gets HTTP 401", every, refuses(401, 0),
		changes("Authorization", nil)},
	{"auth/unknown-token", "Authentication", "an unknown token gets HTTP 401 everywhere", every, refuses(401, 0),
		changes("Authorization", "Bearer "+nobody)},
	{"auth/ticket-token", "Authentication", "what Ticket with a wrong Authorization header gets", opTicket, gets,
		changes("Authorization", "Bearer "+nobody)},
	{"headers/test-flags", headersAre, "an unknown test flag is ignored", opHotelList, accepted, changes("Test", "probe=1")},
	{"headers/currency", headersAre, "Currency is that of the rates", priced, accepted, changes("Currency", "EUR", "USD")},
	{"headers/market", headersAre, "what a call without a Market gets, where there is one", opDestinations, sent("Market"),
		changes("Market", nil)},
	{"headers/user-ref", headersAre, "what a call without a User-Ref gets, where there is one", opDestinations, sent("User-Ref"),
		changes("User-Ref", nil)},
	{"headers/timestamp", headersAre, "what a Client-Request-Timestamp in seconds gets", opQueryOrders, gets,
		changes("Client-Request-Timestamp", func(*run) any { return fmt.Sprint(time.Now().Unix()) })},
	{"headers/milliseconds", headersAre, "what a Client-Request-Timestamp in milliseconds gets", opQueryOrders, gets,
		changes("Client-Request-Timestamp", func(*run) any { return fmt.Sprint(time.Now().UnixMilli()) })},
	{"headers/timeout", headersAre, "what a Timeout-Milliseconds of 1, of 0 and of a day gets", opHotelList, gets,
		changes("Timeout-Milliseconds", "1", "0", "86400000")},
	{"headers/gzip", headersAre, "whether a search that accepts gzip is answered in gzip", opHotelList, func(_ *run, a *answer) string {
		a.came()
		return fmt.Sprintf("it is: %t", a.raw.gzip)
	}, []obj{{}}},
	{"metadata/destination", "HotelsMetadata", "destinationId is required", opHotelsMetadata, refuses(0, 0), changes("destinationId", nil)},
	{"metadata/default-size", "HotelsMetadata", "whether a page without pageSize is full, with 20 hotels", opHotelsMetadata, fills(20),
		[]obj{{}}},
	{"metadata/size-largest", "HotelsMetadata", "a pageSize of 100 is accepted", opHotelsMetadata, fills(100), changes("page",
		obj{"pageSize": 100})},
	{"metadata/size-above", "HotelsMetadata", "a pageSize of 101 is refused with code 100000400", opHotelsMetadata, refuses(0,
		types.CodeParam),
		changes("page", obj{"pageSize": 101})},
	{"list/selector", "HotelList", "a search without destination and hotels is refused", opHotelList, refuses(0, 0),
		changes("destinationId", nil)},
	{"list/rooms", "HotelList", "at least one room is required", opHotelList, refuses(0, 0), changes("roomOccupancies", nil, []obj{})},
	{"list/page-num", "HotelList", "a pageNum below 1 is refused", opHotelList, refuses(0, 0), changes("pageNum", 0, -1)},
	{"list/country-code", "HotelList", "a countryCode of no country is refused", opHotelList, refuses(0, 0), changes("countryCode", "ZZ1")},
	{"list/dates-required", "HotelList", "what a search without checkIn and checkOut gets", opHotelList, gets, []obj{{"checkIn": nil,
		"checkOut": nil}}},
	{"list/default-size", "HotelList", "whether a page without pageSize is full, with 50 hotels", opHotelList, fills(50),
		changes("pageSize", nil)},
	{"list/size-largest", "HotelList", "a pageSize of 200 is accepted", opHotelList, fills(200), changes("pageSize", 200)},
	{"list/size-above", "HotelList", "a pageSize of 201 is refused with code 100000400", opHotelList, refuses(0, types.CodeParam),
		changes("pageSize", 201)},
	{"list/ids-above", "HotelList", "1001 hotelIds are refused with code 100000400", opHotelList, refuses(0, types.CodeParam),
		[]obj{{"destinationId": nil, "hotelIds": foreign(1001)}}},
	{"list/max-rates", "HotelList", "a hotel has no more rates than maxRatesPerHotel", opHotelList, accepted,
		[]obj{{"pageSize": 10, "maxRatesPerHotel": 1}, {"pageSize": 10, "maxRatesPerHotel": 2}}},
	{"offer/total", offersAre, "the total of equal rooms is the rate of one for each", opHotelRates, accepted, []obj{{},
		{"roomOccupancies": twoRooms}}},
	{"rates/required", "HotelRates", "hotelId is required", opHotelRates, refuses(0, 0), changes("hotelId", nil)},
	{"rates/session", "HotelRates", "a session is needed", opHotelRates, refuses(0, 0), changes("Session-Id", nil)},
	{"rates/unknown-session", "HotelRates", "what an unknown session gets", opHotelRates, gets, changes("Session-Id", noSession)},
	{"rates/rooms", "HotelRates", "what HotelRates without a room gets", opHotelRates, gets, changes("roomOccupancies", nil)},
	{"check/required", "CheckAvail", "ratePkgId is required", opCheckAvail, refuses(0, 0), changes("ratePkgId", nil)},
	{"check/session", "CheckAvail", "a session is needed, and has to be known", opCheckAvail, noOffer, changes("Session-Id", nil, noSession)},
	{"check/other-session", "Book", "an offer is resolvable in its own session alone", opCheckAvail, noOffer, changes("Session-Id",
		otherSession)},
	{"voucher/unknown", "OrderVoucher", "a reference without an order gets HTTP 404 and code 100000404", opOrderVoucher,
		refuses(404, types.CodeNotFound), []obj{{}, {"customerReferenceNo": nil, "platformReferenceNo": unknownReference}}},
	{"voucher/reference", "OrderVoucher", "at least one reference is required", opOrderVoucher, refuses(0, 0),
		changes("customerReferenceNo", nil)},
})

// bookRequests are changed Books, each of which is refused and leaves no order, and changed Cancels.
var bookRequests = tabled([]request{
	{"book/token", "Authentication", "Book without a token gets HTTP 401", opBook, refuses(401, 0), changes("Authorization", nil)},
	{"book/session", "Book", "a session is needed, and has to be known", opBook, refuses(0, 0), changes("Session-Id", nil, noSession)},
	{"book/other-session", "Book", "an offer cannot be booked in another session", opBook, refuses(0, 0), changes("Session-Id", otherSession)},
	{"book/unknown-offer", "Book", "what an offer that never was gets", opBook, refuses(0, 0), changes("ratePkgId", "probe-no-offer")},
	// not without a reference: nobody could find the order
	{"book/required", "Book", "ratePkgId, holder and guests are required, and the names of the holder", opBook, refuses(0, 0),
		[]obj{{"ratePkgId": nil},
			{"holder": nil}, {"guests": nil}, {"holder.firstName": nil}, {"holder.lastName": nil}}},
	{"book/guest", "Book", "a guest has a room, a first and a last name", opBook, refuses(0, 0),
		[]obj{{"guests.roomIndex": nil}, {"guests.firstName": nil}, {"guests.lastName": nil}}},
	{"book/room-index", "Book", "what a guest of room 0 gets", opBook, doubted, changes("guests.roomIndex", 0)},
	{"book/gender", "Book", "an unknown gender is refused; with which code", opBook, refuses(0, 0), changes("guests.gender", "PROBE")},
	{"book/passport-above", "Book", "a passport number of 51 characters is refused", opBook, refuses(0, 0),
		changes("guests.passportNumber", longestPassport+"1")},
	{"book/callback", "Book", "a callbackUrl that is not public https gets code 100000400, whose msg names it", opBook, naming("callbackUrl"),
		changes("callbackUrl", "http://callback.example.com/", "https://127.0.0.1/", "https://10.0.0.1/", "https://[fd00::1]/",
			"https://100.64.0.1/",
			"https://localhost/", "https://single/", "https://host.internal/", "https://host.local/", "no-url")},
	{"cancel/unknown", "Cancel", "an order that is not there gets HTTP 404 or 400; which", opCancel, func(_ *run, a *answer) string {
		a.refused(0, 0)
		breaks(a.Status != http.StatusNotFound && a.Status != http.StatusBadRequest, "it gets %s", a)
		return a.String()
	}, []obj{{}}},
	{"cancel/required", "Cancel", "both references are required", ofSpare, refuses(0, 0), []obj{{"customerReferenceNo": nil},
		{"supplierReferenceNo": nil}}},
	{"cancel/mixed", "Cancel", "a supplierReferenceNo of another order cancels nothing", ofSpare, refuses(0, 0), []obj{
		{"supplierReferenceNo": unknownReference},
		{"supplierReferenceNo": func(r *run) any { return r.order().order.SupplierReferenceNo }}}},
	{"cancel/session", "Cancel", "a session is needed", ofSpare, refuses(0, 0), changes("Session-Id", nil)},
	{"cancel/unknown-session", "Cancel", "what an unknown session gets", ofSpare, gets, changes("Session-Id", noSession)},
})

// twins are requests that get the same answer.
type twins struct {
	name, section, promise string
	op                     operation
	of                     func(*answer) []string // what is the same
	changes                []obj
}

var twinRules = func() (all []Rule) {
	for _, t := range []twins{
		{"destinations/country-first", "Destinations", "with a countryCode parentDestinationId is disregarded", opDestinations, placeIDs,
			[]obj{{}, {"parentDestinationId": firstPlace}}},
		{"destinations/defaults", "Destinations", "the defaults are standard, without empty cities, from 1 hotel on", opDestinations, placeIDs,
			[]obj{{"countryCode": nil, "parentDestinationId": firstPlace}, {"countryCode": nil, "parentDestinationId": firstPlace,
				"include": "standard", "filterEmptyCities": true, "minHotelCount": 1}}},
		{"metadata/page-below-1", "HotelsMetadata", "a pageNum below 1 is page 1", opHotelsMetadata, hotelIDs,
			changes("page", obj{"pageNum": 1}, obj{"pageNum": 0}, obj{"pageNum": -1})},
		{"metadata/first-page", "HotelsMetadata", "whether the catalogue without a pageNum is page 1", opHotelsMetadata, hotelIDs,
			changes("page", obj{"pageSize": 2, "pageNum": 1}, obj{"pageSize": 2})},
		{"list/first-page", "HotelList", "whether a search without a pageNum is page 1", opHotelList, hotelIDs, changes("pageNum", 1, nil)},
		{"list/country", "HotelList", "countryCode does not change prices", opHotelList, prices, changes("countryCode", nil, "US", "FR")},
		{"list/uncapped", "HotelList", "maxRatesPerHotel is 0 by default, and 0 has no limit", opHotelList, prices, []obj{{},
			{"maxRatesPerHotel": 0},
			{"maxRatesPerHotel": 1000}}},
	} {
		all = append(all, Rule{t.name, t.section, t.promise, "", t.try})
	}
	return all
}()

func (t twins) try(r *run) {
	both := func() (same []string, differs int, other []string) {
		for i, change := range t.changes {
			if is := t.of(r.changed(t.op, change)); i == 0 {
				same = is
			} else if differs == 0 && !slices.Equal(same, is) {
				differs, other = i, is
			}
		}
		return same, differs, other
	}
	first, differs, other := both()
	if strings.HasPrefix(t.promise, "whether") {
		r.find("it is: %t", differs == 0)
	} else if differs > 0 {
		again, still, another := both()
		skip(!slices.Equal(first, again) || still != differs, "the answers to one request differ")
		breaks(slices.Equal(other, another), "expected for %q what comes for %q, got %d elements and %d: %v and %v", named(t.changes[differs]),
			named(t.changes[0]), len(other), len(first), other, first)
	}
}

func placeIDs(a *answer) []string {
	return ids(read[hotelstays.DestinationsResponse](a).Destinations, func(place types.Destination) string { return place.ID })
}

// hotelIDs are those of a page of a search or of the catalogue.
func hotelIDs(a *answer) []string {
	if a.op == opHotelList {
		return ids(read[hotelstays.HotelListResponse](a).List, hotelID)
	}
	return ids(read[hotelstays.HotelsMetadataResponse](a).HotelsMetadata, func(h types.HotelMetadata) string {
		return h.HotelID + " " + h.PlatformHotelID
	})
}

// prices are those of the offers of a search, by hotel.
func prices(a *answer) []string {
	return ids(read[hotelstays.HotelListResponse](a).List, func(h types.Hotel) string {
		return hotelID(h) + " " + strings.Join(ids(ratesIn(h.Rooms),
			func(o types.RoomRatePkg) string { return o.TotalRate.NetRate.String() }), " ")
	})
}
