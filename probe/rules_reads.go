// Rules that only read, with one line for each rule.

package probe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

var twoRooms = []obj{{"adultCount": 2}, {"adultCount": 2}}

var readRequests = asks("", []request{
	{"ticket/wrong-secret", "a wrong secret is refused with HTTP 401 and code 100000401", opTicket, refuses(401, types.CodeUnauthorized),
		changes("appSecret", wrongSecret)},
	{"ticket/unknown-key", "an unknown key is refused with HTTP 401 and code 100000401", opTicket, refuses(401, types.CodeUnauthorized),
		changes("appKey", "a-key-of-nobody")},
	{"ticket/required", "appKey and appSecret are required", opTicket, refusal, []obj{{"appKey": nil}, {"appSecret": nil}}},
	{"ticket/ttl-largest", "a ttl of 31536000 seconds is accepted", opTicket, accepted, changes("ttl", maxTTL)},
	{"ticket/ttl-above", "a ttl of 31536001 seconds is refused", opTicket, refusal, changes("ttl", maxTTL+1)},
	{"ticket/ttl-positive", "a ttl of 0 or -1 is refused", opTicket, refusal, changes("ttl", 0, -1)},
	{"auth/missing-token", "every operation without a token gets HTTP 401", "", refuses(401, 0), everyOp("Authorization", nil)},
	{"auth/unknown-token", "an unknown token gets HTTP 401 everywhere", "", refuses(401, 0), everyOp("Authorization", "Bearer "+nobody)},
	{"auth/ticket-token", "what Ticket with a wrong Authorization header gets", opTicket, gets, changes("Authorization", "Bearer "+nobody)},
	{"headers/test-flags", "an unknown test flag is ignored", opHotelList, accepted, changes("Test", "probe=1")},
	{"headers/currency", "Currency names the currency of the rates", opHotelRates, accepted, changes("Currency", "EUR", "USD")},
	{"headers/market", "what a call without the header Market gets", opDestinations, sent("Market"), changes("Market", nil)},
	{"headers/user-ref", "what a call without the header User-Ref gets", opDestinations, sent("User-Ref"), changes("User-Ref", nil)},
	{"headers/timestamp", "what a Client-Request-Timestamp in seconds gets", opQueryOrders, gets,
		changes("Client-Request-Timestamp", func(*run) any { return fmt.Sprint(time.Now().Unix()) })},
	{"headers/milliseconds", "what a Client-Request-Timestamp in milliseconds gets", opQueryOrders, gets,
		changes("Client-Request-Timestamp", func(*run) any { return fmt.Sprint(time.Now().UnixMilli()) })},
	{"headers/timeout", "what a Timeout-Milliseconds of 1, of 0 and of a day gets", opHotelList, gets,
		changes("Timeout-Milliseconds", "1", "0", "86400000")},
	{"headers/gzip", "whether the answer to HotelList is compressed with gzip", opHotelList, func(_ *run, a *answer) string {
		a.came()
		return fmt.Sprintf("it is: %t", a.raw.gzip)
	}, []obj{{}}},
	{"headers/server-cost", "Server-Cost-Milliseconds is a number of 0 or more; whether the call took that long", opQueryOrders,
		func(_ *run, a *answer) string {
			a.came()
			return fmt.Sprintf("it fits: %t", a.number("Server-Cost-Milliseconds") <= a.Took+2)
		}, []obj{{}}},
	{"destinations/polygon", "how coordinates of a bounding polygon nest", opDestinations, shows(polygon), changes("include", "details")},
	{"destinations/details", "details have coordinates; which fields they add", opDestinations, has("destinations"),
		changes("include", "standard", "details")},
	{"destinations/top", "what types of destinations an empty request returns", opDestinations, shows(func(a *answer) string {
		return fmt.Sprintf("%s; types: %v", a, slices.Compact(texts("destinations.type")(a)))
	}), changes("countryCode", nil)},
	{"destinations/empty", "what an empty list of destinations looks like", opDestinations, lists("destinations"),
		[]obj{{"countryCode": nil, "parentDestinationId": nowhere}}},
	{"metadata/empty", "what an empty list of hotels looks like", opHotelsMetadata, lists("hotelsMetadata"),
		changes("destinationId", nowhere)},
	{"metadata/members", "which members a page has, such as a cursor", opHotelsMetadata, has("page"), []obj{{}}},
	{"metadata/destination", "destinationId is required", opHotelsMetadata, refusal, changes("destinationId", nil)},
	{"metadata/default-size", "whether a page without pageSize has 20 hotels", opHotelsMetadata, fills(20), []obj{{}}},
	{"metadata/size-largest", "a pageSize of 100 is accepted", opHotelsMetadata, fills(100), changes("page", obj{"pageSize": 100})},
	{"metadata/size-above", "a pageSize of 101 is refused with code 100000400", opHotelsMetadata, badParam,
		changes("page", obj{"pageSize": 101})},
	{"list/selector", "a search without destination and hotels is refused", opHotelList, refusal, changes("destinationId", nil)},
	{"list/rooms", "at least one room is required", opHotelList, refusal, changes("roomOccupancies", nil, []obj{})},
	{"list/page-num", "a pageNum below 1 is refused", opHotelList, refusal, changes("pageNum", 0, -1)},
	{"list/country-code", "an invalid countryCode is refused", opHotelList, refusal, changes("countryCode", "ZZ1")},
	{"list/dates-required", "what a search without checkIn and checkOut gets", opHotelList, gets, []obj{{"checkIn": nil, "checkOut": nil}}},
	{"list/default-size", "whether a page without pageSize has 50 hotels", opHotelList, fills(50), changes("pageSize", nil)},
	{"list/size-largest", "a pageSize of 200 is accepted", opHotelList, fills(200), changes("pageSize", 200)},
	{"list/size-above", "a pageSize of 201 is refused with code 100000400", opHotelList, badParam, changes("pageSize", 201)},
	{"list/ids-above", "1001 hotelIds are refused with code 100000400", opHotelList, badParam,
		[]obj{{"destinationId": nil, "hotelIds": foreign(1001)}}},
	{"list/foreign-ids", "a search for unknown hotelIds succeeds with an empty list and total 0", opHotelList, func(_ *run, a *answer) string {
		a.ok()
		n, total := len(a.at("list")), a.total()
		breaks(n > 0 || total != 0 || a.more(), "the list has %d hotels, total %d, hasMore %t", n, total, a.more())
		return ""
	}, []obj{{"destinationId": nil, "hotelIds": foreign(2)}}},
	{"list/max-rates", "a hotel has no more rates than maxRatesPerHotel", opHotelList, accepted,
		[]obj{{"pageSize": 10, "maxRatesPerHotel": 1}, {"pageSize": 10, "maxRatesPerHotel": 2}}},
	{"list/stay-limits", "which lengths of stay, numbers of rooms and guests, and ages of children are accepted", opHotelList, taken, stays},
	{"list/members", "which members pages have, such as a cursor", opHotelList, has(""), []obj{{}}},
	{"list/sort-values", "which other values of sortBy are accepted", opHotelList, taken,
		changes("sortBy", "distance-asc", "rating-asc", "name-asc", "probe-none")},
	{"list/decimals", "how many decimals amounts have, by currency", opHotelList, shows(decimals), changes("Currency", "EUR", "JPY", "KWD")},
	{"list/deadlines", "which form refundableUntil and the deadlines of fees have (9 stands for each digit)", opHotelList,
		forms("list.rooms.rates.refundableUntil", "list.rooms.rates.cancelFees.until"), changes("pageSize", 10)},
	{"list/boards", "which names the codes of boards have", opHotelList, shows(boards), changes("pageSize", 10)},
	{"offer/total", "the total of equal rooms is the price of one room times their number", opHotelRates, accepted,
		[]obj{{}, {"roomOccupancies": twoRooms}}},
	{"rates/required", "hotelId is required", opHotelRates, refusal, changes("hotelId", nil)},
	{"rates/session", "HotelRates without a session is refused", opHotelRates, refusal, changes("Session-Id", nil)},
	{"rates/unknown-session", "what HotelRates with an unknown session gets", opHotelRates, gets, changes("Session-Id", noSession)},
	{"rates/rooms", "what HotelRates without a room gets", opHotelRates, gets, changes("roomOccupancies", nil)},
	{"rates/empty", "what an empty list of rooms looks like", opHotelRates, lists("rooms"), changes("hotelId", foreign(1)[0])},
	{"rates/room-fees", "whether a cancellation fee is for one room or for all rooms", opHotelRates, roomFees,
		changes("roomOccupancies", twoRooms)},
	{"check/required", "ratePkgId is required", opCheckAvail, refusal, changes("ratePkgId", nil)},
	{"check/session", "CheckAvail without a known session has no offer", opCheckAvail, noOffer, changes("Session-Id", nil, noSession)},
	{"check/other-session", "an offer can be checked only in its own session", opCheckAvail, noOffer, changes("Session-Id", otherSession)},
	{"check/rooms", "what CheckAvail for an offer of two rooms gets", opCheckAvail, gets, changes("ratePkgId", offerOfTwoRooms)},
	{"voucher/unknown", "a reference without an order gets HTTP 404 and code 100000404", opOrderVoucher, refuses(404, types.CodeNotFound),
		[]obj{{}, {"customerReferenceNo": nil, "platformReferenceNo": unknownReference}}},
	{"voucher/reference", "at least one reference is required", opOrderVoucher, refusal, changes("customerReferenceNo", nil)},
	{"orders/windows", "which forms of window bounds are accepted", opQueryOrders, taken, changes("bookingTimeWindow", emptyWindows...)},
	{"orders/status-list", "which forms of statusList are accepted", opQueryOrders, taken,
		changes("statusList", []any{1}, []any{"1"}, []any{"CONFIRMED"})},
	{"orders/unfiltered", "what a request without a filter gets; how orders are paged and sorted", opQueryOrders,
		shows(unfiltered), changes("customerReferenceNos", nil)},
	{"static/members", "which members HotelStaticDetail has", opHotelStaticDetail, has("hotel"), []obj{{}}},
}...)

var twinRules = same([]twins{
	{"destinations/country-first", "parentDestinationId is ignored if countryCode is set", opDestinations, texts("destinations.id"),
		[]obj{{}, {"parentDestinationId": firstPlace}}},
	{"destinations/defaults", "the defaults are include standard, filterEmptyCities true and minHotelCount 1", opDestinations,
		texts("destinations.id"), []obj{{"countryCode": nil, "parentDestinationId": firstPlace},
			{"countryCode": nil, "parentDestinationId": firstPlace, "include": "standard", "filterEmptyCities": true, "minHotelCount": 1}}},
	{"metadata/page-below-1", "a pageNum below 1 is page 1", opHotelsMetadata, hotelIDs,
		changes("page", obj{"pageNum": 1}, obj{"pageNum": 0}, obj{"pageNum": -1})},
	{"metadata/first-page", "whether a page of the catalogue without pageNum is page 1", opHotelsMetadata, hotelIDs,
		changes("page", obj{"pageSize": 2, "pageNum": 1}, obj{"pageSize": 2})},
	{"list/first-page", "whether a page of a search without pageNum is page 1", opHotelList, hotelIDs, changes("pageNum", 1, nil)},
	{"list/country", "countryCode does not change prices", opHotelList, prices, changes("countryCode", nil, "US", "FR")},
	{"list/uncapped", "maxRatesPerHotel is 0 by default, and 0 means no limit", opHotelList, prices,
		changes("maxRatesPerHotel", nil, 0, 1000)},
}...)

var prices = texts("list.rooms.rates.totalRate.netRate")

// nowhere is an id that belongs to no destination.
const nowhere = "00000000-0000-4000-8000-000000000000"

// foreign returns n ids that belong to no hotel.
func foreign(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("probe-none-%d", i))
	}
	return ids
}

// otherSession makes a new search and returns its session. If the service reuses the session, the rule is skipped.
func otherSession(r *run) any {
	own, other := r.offer().session, *r
	other.anew()
	session := other.search().session
	skip(own == session, "two searches share a session")
	return session
}

func firstPlace(r *run) any { return r.country().places[0].ID }

func offerOfTwoRooms(r *run) any {
	a := r.changed(opHotelRates, obj{"roomOccupancies": twoRooms})
	a.ok()
	id := a.first("rooms.rates.ratePkgId")
	skip(id == nil, "there are no offers")
	return id
}

// stays are searches for longer stays, for more rooms and guests, and for older children.
var stays = func() (all []obj) {
	add := func(what string, numbers []int, member string, value func(n int) any) {
		for _, n := range numbers {
			all = append(all, obj{"": fmt.Sprintf(what, n), "pageSize": 1, member: value(n)})
		}
	}
	rooms := func(n int, room obj) any { return slices.Repeat([]obj{room}, n) }
	add("%d nights", []int{14, 28, 30, 31, 60, 90, 365}, "checkOut", func(n int) any {
		return func(r *run) any { in, _ := r.cfg.CheckIn.Time(); return types.DateOf(in.AddDate(0, 0, n)) }
	})
	add("%d rooms", []int{4, 5, 6, 8, 9, 10, 20}, "roomOccupancies", func(n int) any { return rooms(n, obj{"adultCount": 1}) })
	add("%d adults", []int{4, 5, 6, 8, 9, 10, 20}, "roomOccupancies", func(n int) any { return rooms(1, obj{"adultCount": n}) })
	add("%d children", []int{4, 5, 6, 8}, "roomOccupancies", func(n int) any {
		return rooms(1, obj{"adultCount": 1, "childrenAges": slices.Repeat([]int{8}, n)})
	})
	add("a child of %d", []int{0, 11, 12, 17, 18, 21}, "roomOccupancies", func(age int) any {
		return rooms(1, obj{"adultCount": 1, "childrenAges": []int{age}})
	})
	return all
}()

// lists returns an expectation whose finding is the JSON of a member of data.
func lists(member string) expectation {
	return shows(func(a *answer) string { return member + ": " + a.member(member) })
}

func polygon(a *answer) string {
	shape, _ := a.first("destinations.coordinates.boundingPolygon").(obj)
	skip(shape == nil, "no destination has a polygon")
	text := encoded(shape["coordinates"])
	return fmt.Sprintf("%v, %d arrays deep", shape["type"], len(text)-len(strings.TrimLeft(text, "[")))
}

func boards(a *answer) string {
	names := ids(a.at("list.rooms.rates.board"), func(v any) string {
		board, _ := v.(obj)
		name, _ := board["boardName"].(obj)
		return fmt.Sprintf("%v: %v", board["boardId"], name["en"])
	})
	return strings.Join(slices.Compact(names), ", ")
}

func decimals(a *answer) string {
	most, amounts := 0, texts("list.rooms.rates.totalRate.netRate.amount")(a)
	for _, amount := range amounts {
		_, digits, _ := strings.Cut(amount, ".")
		most = max(most, len(digits))
	}
	skip(len(amounts) == 0, "there are no offers")
	return fmt.Sprintf("%d decimals", most)
}

// roomFees counts the cancellation fees that equal the price of one room, and the fees that equal the price of both rooms.
func roomFees(_ *run, a *answer) string {
	one, all := 0, 0
	for _, rate := range ratesIn(read[hotelstays.HotelRatesResponse](a).Rooms) {
		for _, step := range rate.CancelFees {
			if step.Fee.Equal(rate.Rate.NetRate) {
				one++
			} else if step.Fee.Equal(rate.TotalRate.NetRate) {
				all++
			}
		}
	}
	skip(one+all == 0, "no fee is a whole price")
	return fmt.Sprintf("%d fees are the price of one room, %d fees the price of both rooms", one, all)
}

func unfiltered(a *answer) string {
	var times []string
	for _, at := range a.at("orders.bookingTime") {
		times = append(times, fmt.Sprint(at))
	}
	oldest := slices.IsSorted(times)
	slices.Reverse(times)
	return fmt.Sprintf("members: %s; %d orders; the oldest first: %t, the newest first: %t", has("")(nil, a), len(a.at("orders")), oldest,
		slices.IsSorted(times))
}

// walk is a rule that reads all pages of a listing. The judge checks the order, hasMore and total.
type walk struct {
	name, promise string
	op            operation
	size, other   int // page sizes: the walk reads the listing with size, and then with other unless other is 0
	by            string
}

// longest is the maximum number of pages that a walk reads.
const longest = 12

var walks = func() (all []Rule) {
	for _, w := range []walk{
		{"metadata/pages", "pages do not repeat hotels, hasMore says whether a page follows, and pages of another size have the same hotels",
			opHotelsMetadata, 7, 20, ""},
		{"list/pages", "pages do not repeat hotels, and hasMore says whether a page follows", opHotelList, 7, 20, ""},
		{"list/price-asc", "with price-asc the cheapest hotel comes first, across all pages", opHotelList, 20, 0, "price-asc"},
		{"list/price-desc", "with price-desc the cheapest hotel comes last, across all pages", opHotelList, 20, 0, "price-desc"},
		{"list/rating-desc", "with rating-desc the best rating comes first, across all pages", opHotelList, 20, 0, "rating-desc"},
	} {
		all = append(all, newRule(w.name, w.promise, "", w.try))
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
		breaks(w.op == opHotelsMetadata && !slices.Equal(one, other),
			"pages of size %d have %d hotels, and pages of size %d have %d, or other hotels", w.size, len(one), w.other, len(other))
	}
	skip(len(one) <= w.size, "there is only one page")
}

// pages reads a listing page by page, and returns the ids of its hotels. whole is true if the listing ended, and only the
// last page was not full.
func (w walk) pages(r *run, size int) (all []string, whole bool) {
	before, session, full := map[string]int{}, any(nil), true
	for num := 1; num <= longest; num++ {
		a := w.page(r, size, num, session)
		hotels, total, shared := hotelIDs(a), a.total(), session == a.first("basic.sessionId")
		session = a.first("basic.sessionId")
		for _, id := range hotels {
			breaks(before[id] > 0 && w.by == "" && id != "", "page %d repeats hotel %s of page %d", num, id, before[id])
			before[id] = num
		}
		r.suffers(w.by == "" && num > 1 && len(hotels) == 0, "page %d says that a page follows, but page %d is empty", num-1, num)
		all = append(all, hotels...)
		r.find("totals: %t; the pages share a session: %t", total != 0, shared)
		r.log = r.log[max(0, len(r.log)-4):] // the last four answers are enough as evidence
		if !a.more() {
			n := len(hotelIDs(w.page(r, size, num+1, session)))
			breaks(n > 0, "page %d says that no page follows, but page %d has %d hotels", num, num+1, n)
			breaks(full && w.by == "" && total > len(all), "total is %d, but all pages together have %d hotels", total, len(all))
			return all, full
		}
		full = full && len(hotels) == size
	}
	return all, false
}

func (w walk) page(r *run, size, num int, session any) *answer {
	change := obj{"page": obj{"pageSize": size, "pageNum": num}}
	if w.op == opHotelList {
		change = obj{"pageSize": size, "pageNum": num, "maxRatesPerHotel": 1, "Session-Id": session}
	}
	if w.by != "" {
		change["sortBy"] = w.by
	}
	a := r.changed(w.op, change)
	a.ok()
	return a
}
