// Rules as lines of tables: requests that are refused or accepted, and walks over pages.

package probe

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// request is a lawful request with a change, and what it gets.
type request struct {
	name, section, promise string
	op                     operation
	// status is the expected one. 0: any refusal, and which one is found out. 200: a success, and the judge has the rest.
	status, code int
	names        string // what msg names
	changes      []obj  // one request each
}

// rule is the rule of a line.
func (q request) rule() Rule {
	needs := ""
	if q.op == opBook || q.op == opCancel {
		needs = "-book"
	}
	return Rule{q.name, q.section, q.promise, needs, func(r *run) {
		for _, change := range q.changes {
			var a *answer
			switch {
			case q.op == opBook:
				a = r.turnedDown(sending{change: change}, q.status, q.code).answer
			case q.status == http.StatusOK:
				r.changed(q.op, change).ok()
				continue
			default:
				a = r.changed(q.op, change)
				a.refused(q.status, q.code)
			}
			breaks(!strings.Contains(a.msg(), q.names), "msg does not name %s for %v", q.names, change)
			if q.code == 0 && q.status == 0 {
				r.find("%s", a)
			}
		}
	}}
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
	c.apply(change)
	return r.do(c)
}

// apply changes a call. A name in upper case is that of a header, and one with a dot of a member of the first element, or of an
// object. A nil removes what it names.
func (c *call) apply(change obj) {
	body := maps.Clone(c.body.(obj))
	for name, value := range change {
		text, _ := value.(string)
		switch {
		case name == "Session-Id":
			c.session = text
		case name == "Currency":
			c.currency = text
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
			first := maps.Clone(below[0])
			set(first, path[1:], value)
			value = append([]obj{first}, below[1:]...)
		}
	}
	if o[path[0]] = value; value == nil {
		delete(o, path[0])
	}
}

var twoRooms = []obj{{"adultCount": 2}, {"adultCount": 2}}

// readRequests only read.
var readRequests = tabled([]request{
	{"ticket/wrong-secret", "Ticket", "a wrong secret is refused with HTTP 401 and code 100000401", opTicket, 401, types.CodeUnauthorized, "",
		[]obj{{"appSecret": wrongSecret}}},
	{"ticket/unknown-key", "Ticket", "an unknown key is refused with HTTP 401 and code 100000401", opTicket, 401, types.CodeUnauthorized, "",
		[]obj{{"appKey": "a-key-of-nobody"}}},
	{"ticket/required", "Ticket", "appKey and appSecret are required", opTicket, 0, 0, "", []obj{{"appKey": nil}, {"appSecret": nil}}},
	{"ticket/ttl-largest", "Ticket", "a ttl of 31536000 seconds is accepted", opTicket, 200, 0, "", []obj{{"ttl": maxTTL}}},
	{"ticket/ttl-above", "Ticket", "a ttl of 31536001 seconds is refused", opTicket, 0, 0, "", []obj{{"ttl": maxTTL + 1}}},
	{"ticket/ttl-positive", "Ticket", "a ttl of 0 or -1 is refused", opTicket, 0, 0, "", []obj{{"ttl": 0}, {"ttl": -1}}},
	{"headers/test-flags", "Common request headers", "an unknown test flag is ignored", opHotelList, 200, 0, "", []obj{{"Test": "probe=1"}}},
	{"headers/currency", "Common request headers", "Currency is that of the rates", opHotelList, 200, 0, "",
		[]obj{{"Currency": "EUR"}, {"Currency": "USD"}}},
	{"metadata/destination", "HotelsMetadata", "destinationId is required", opHotelsMetadata, 0, 0, "", []obj{{"destinationId": nil}}},
	{"metadata/size-largest", "HotelsMetadata", "a pageSize of 100 is accepted", opHotelsMetadata, 200, 0, "",
		[]obj{{"page": obj{"pageSize": 100}}}},
	{"metadata/size-above", "HotelsMetadata", "a pageSize of 101 is refused with code 100000400", opHotelsMetadata, 0, types.CodeParam, "",
		[]obj{{"page": obj{"pageSize": 101}}}},
	{"list/selector", "HotelList", "a search without destination and hotels is refused", opHotelList, 0, 0, "", []obj{{"destinationId": nil}}},
	{"list/rooms", "HotelList", "at least one room is required", opHotelList, 0, 0, "",
		[]obj{{"roomOccupancies": nil}, {"roomOccupancies": []obj{}}}},
	{"list/page-num", "HotelList", "a pageNum below 1 is refused", opHotelList, 0, 0, "", []obj{{"pageNum": 0}, {"pageNum": -1}}},
	{"list/size-largest", "HotelList", "a pageSize of 200 is accepted", opHotelList, 200, 0, "", []obj{{"pageSize": 200}}},
	{"list/size-above", "HotelList", "a pageSize of 201 is refused with code 100000400", opHotelList, 0, types.CodeParam, "",
		[]obj{{"pageSize": 201}}},
	{"list/ids-above", "HotelList", "1001 hotelIds are refused with code 100000400", opHotelList, 0, types.CodeParam, "",
		[]obj{{"destinationId": nil, "hotelIds": foreign(1001)}}},
	{"list/max-rates", "HotelList", "a hotel has no more rates than maxRatesPerHotel", opHotelList, 200, 0, "",
		[]obj{{"pageSize": 10, "maxRatesPerHotel": 1}, {"pageSize": 10, "maxRatesPerHotel": 2}}},
	{"offer/total", "RoomRatePkg (a priced offer)", "the total of equal rooms is the rate of one for each", opHotelRates, 200, 0, "",
		[]obj{{}, {"roomOccupancies": twoRooms}}},
	{"rates/required", "HotelRates", "hotelId is required", opHotelRates, 0, 0, "", []obj{{"hotelId": nil}}},
	{"check/required", "CheckAvail", "ratePkgId is required", opCheckAvail, 0, 0, "", []obj{{"ratePkgId": nil}}},
	{"voucher/unknown", "OrderVoucher", "a reference without an order gets HTTP 404 and code 100000404", opOrderVoucher, 404,
		types.CodeNotFound, "", []obj{{}, {"customerReferenceNo": nil, "platformReferenceNo": unknownReference}}},
	{"voucher/reference", "OrderVoucher", "at least one reference is required", opOrderVoucher, 0, 0, "", []obj{{"customerReferenceNo": nil}}},
})

func callback(urls ...string) (changes []obj) {
	for _, url := range urls {
		changes = append(changes, obj{"callbackUrl": url})
	}
	return changes
}

// bookRequests are changed Books, each of which is refused and leaves no order.
var bookRequests = tabled([]request{
	{"book/token", "Authentication", "Book without a token gets HTTP 401", opBook, 401, 0, "", []obj{{"Authorization": nil}}},
	{"book/session", "Book", "a session is needed, and has to be known", opBook, 0, 0, "", []obj{{"Session-Id": nil}, {"Session-Id": noSession}}},
	{"book/unknown-offer", "Book", "what an offer that never was gets", opBook, 0, 0, "", []obj{{"ratePkgId": "probe-no-offer"}}},
	// not without a reference: nobody could find the order
	{"book/required", "Book", "ratePkgId, holder and guests are required, and the names of the holder", opBook, 0, 0, "", []obj{{"ratePkgId": nil},
		{"holder": nil}, {"guests": nil}, {"holder.firstName": nil}, {"holder.lastName": nil}}},
	{"book/guest", "Book", "a guest has a room, a first and a last name", opBook, 0, 0, "",
		[]obj{{"guests.roomIndex": nil}, {"guests.firstName": nil}, {"guests.lastName": nil}}},
	{"book/gender", "Book", "an unknown gender is refused; with which code", opBook, 0, 0, "", []obj{{"guests.gender": "PROBE"}}},
	{"book/passport-above", "Book", "a passport number of 51 characters is refused", opBook, 0, 0, "",
		[]obj{{"guests.passportNumber": longestPassport + "1"}}},
	{"book/callback", "Book", "a callbackUrl that is not public https gets code 100000400, whose msg names it", opBook, 0, types.CodeParam,
		"callbackUrl", callback("http://callback.example.com/", "https://127.0.0.1/", "https://10.0.0.1/", "https://100.64.0.1/",
			"https://localhost/", "https://single/", "https://host.internal/", "https://host.local/", "no-url")},
})

// walk is a walk over pages. The judge has the order, and what hasMore and total say.
type walk struct {
	name, section, promise string
	op                     operation
	size, other            int // sizes of pages: a walk in each; 0: none
	by                     string
}

// longest is how many pages a walk has at most.
const longest = 12

var walks = func() (all []Rule) {
	for _, w := range []walk{
		{"metadata/pages", "HotelsMetadata", "pages do not repeat each other, hasMore says whether one follows, and pages of another size have the same hotels",
			opHotelsMetadata, 7, 20, ""},
		{"list/pages", "HotelList", "pages do not repeat each other, and hasMore says whether one follows", opHotelList, 7, 20, ""},
		{"list/price-asc", "HotelList", "the cheapest hotel comes first, on all pages", opHotelList, 20, 0, "price-asc"},
		{"list/price-desc", "HotelList", "the cheapest hotel comes last, on all pages", opHotelList, 20, 0, "price-desc"},
		{"list/rating-desc", "HotelList", "the best rating comes first, on all pages", opHotelList, 20, 0, "rating-desc"},
	} {
		all = append(all, Rule{w.name, w.section, w.promise, "", w.try})
	}
	return all
}()

func (w walk) try(r *run) {
	one, whole := w.pages(r, w.size)
	if w.other == 0 {
		return
	}
	other, same := w.pages(r, w.other)
	if slices.Sort(one); whole && same {
		slices.Sort(other)
		breaks(w.op == opHotelsMetadata && !slices.Equal(one, other), "pages of %d have %d hotels, and pages of %d have %d, or others", w.size,
			len(one), w.other, len(other))
	}
	skip(len(one) <= w.size, "there is one page")
}

// pages returns the hotels of all pages of a size, and whether these are all, because no page but the last had room.
func (w walk) pages(r *run, size int) (all []string, whole bool) {
	before, session := map[string]int{}, ""
	total, full := 0, true
	for num := 1; num <= longest; num++ {
		p := r.page(w, size, num, &session)
		for _, id := range p.ids {
			breaks(before[id] > 0 && w.by == "" && strings.TrimSpace(id) != "", "page %d repeats hotel %s of page %d", num, id, before[id])
			before[id] = num
		}
		r.suffers(w.by == "" && num > 1 && len(p.ids) == 0, "hasMore of page %d is set, and page %d is empty", num-1, num)
		all, total = append(all, p.ids...), p.total
		r.log = r.log[max(0, len(r.log)-4):] // the others are no evidence
		if !p.hasMore {
			n := len(r.page(w, size, num+1, &session).ids)
			breaks(n > 0, "hasMore of page %d is not set, and page %d has %d hotels", num, num+1, n)
			breaks(full && w.by == "" && total > len(all), "total is %d, and all pages together have %d hotels", total, len(all))
			return all, full
		}
		full = full && len(p.ids) == size
	}
	return all, false
}

// page is one of a search or of the catalogue.
type page struct {
	total   int
	hasMore bool
	ids     []string
}

// page gets a page. A size or a number of 0 is left out.
func (r *run) page(w walk, size, num int, session *string) page {
	body := obj{"pageSize": size, "pageNum": num}
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == 0 })
	if w.op == opHotelsMetadata {
		resp := hotels(r.metadata(body))
		return page{resp.Page.Total, said(resp.Page.HasMore), ids(resp.HotelsMetadata, func(h types.HotelMetadata) string {
			return h.HotelID + " " + h.PlatformHotelID
		})}
	}
	c := call{op: opHotelList, session: *session, body: r.stayIn(body)}
	if c.apply(obj{"maxRatesPerHotel": 1}); w.by != "" {
		c.apply(obj{"sortBy": w.by})
	}
	resp := read[hotelstays.HotelListResponse](r.do(c))
	if *session != "" {
		r.find("the pages share a session: %t", *session == resp.Basic.SessionID)
	}
	*session = resp.Basic.SessionID
	return page{resp.Total, said(resp.HasMore), ids(resp.List, hotelID)}
}

// said reports whether a page says that another one follows.
func said(hasMore *bool) bool { return hasMore != nil && *hasMore }

// byDefault expects a size of pages without pageSize, which the judge knows. No page has to be full.
func byDefault(op operation, size int) func(*run) {
	return func(r *run) {
		p := r.page(walk{op: op}, 0, 0, new(string))
		n := len(p.ids)
		breaks(n > size, "expected a page of at most %d hotels, got %d", size, n)
		r.suffers(n < size && p.hasMore, "the page has %d hotels of %d, and more follow", n, size)
		skip(n < size && !p.hasMore, "the city has %d hotels", n)
	}
}

// first finds out whether page 1 is the default.
func first(op operation) func(*run) {
	return func(r *run) {
		r.find("it is: %t", slices.Equal(r.page(walk{op: op}, 2, 0, new(string)).ids, r.page(walk{op: op}, 2, 1, new(string)).ids))
	}
}

// totals finds out whether there are any.
func totals(op operation) func(*run) {
	return func(r *run) {
		p := r.page(walk{op: op}, 2, 1, new(string))
		skip(len(p.ids) == 0, "the page is empty")
		r.find("totals: %t", p.total != 0)
	}
}
