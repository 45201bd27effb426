// Rules that only read, with one line for each rule.

package probe

import (
	"fmt"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

var twoRooms = []obj{{"adultCount": 2}, {"adultCount": 2}}

var readRequests = rules("", []line{
	{"ticket/wrong-secret", "a wrong secret is refused with HTTP 401 and code 100000401", ask(opTicket, refuses(401, types.CodeUnauthorized),
		changes("appSecret", wrongSecret))},
	{"ticket/unknown-key", "an unknown key is refused with HTTP 401 and code 100000401", ask(opTicket, refuses(401, types.CodeUnauthorized),
		changes("appKey", "a-key-of-nobody"))},
	{"ticket/required", "appKey and appSecret are required", ask(opTicket, refusal, []obj{{"appKey": nil}, {"appSecret": nil}})},
	{"ticket/ttl-largest", "a ttl of 31536000 seconds is accepted", ask(opTicket, accepted, changes("ttl", maxTTL))},
	{"ticket/ttl-above", "a ttl of 31536001 seconds is refused", ask(opTicket, refusal, changes("ttl", maxTTL+1))},
	{"ticket/ttl-positive", "a ttl of 0 or -1 is refused", ask(opTicket, refusal, changes("ttl", 0, -1))},
	{"auth/missing-token", "every operation without a token gets HTTP 401", ask("", refuses(401, 0), everyOp("Authorization", nil))},
	{"auth/unknown-token", "an unknown token gets HTTP 401 everywhere", ask("", refuses(401, 0), everyOp("Authorization", "Bearer "+unknownTicket))},
	{"auth/ticket-token", "what Ticket with a wrong Authorization header gets",
		ask(opTicket, gets, changes("Authorization", "Bearer "+unknownTicket))},
	{"headers/test-flags", "an unknown test flag is ignored", ask(opHotelList, accepted, changes("Test", "probe=1"))},
	{"headers/market", "what a call without the header Market gets", ask(opDestinations, gets, changes("Market", nil))},
	{"headers/user-ref", "what a call without the header User-Ref gets", ask(opDestinations, gets, changes("User-Ref", nil))},
	{"headers/timestamp", "what a Client-Request-Timestamp in seconds and in milliseconds gets", ask(opQueryOrders, gets,
		[]obj{{"": "seconds", "Client-Request-Timestamp": func(*run) any { return fmt.Sprint(time.Now().Unix()) }},
			{"": "milliseconds", "Client-Request-Timestamp": func(*run) any { return fmt.Sprint(time.Now().UnixMilli()) }}})},
	{"headers/timeout", "what a Timeout-Milliseconds of 1, of 0 and of a day gets", ask(opHotelList, gets,
		changes("Timeout-Milliseconds", "1", "0", "86400000"))},
	{"destinations/answer", "what destinations look like, with and without details", ask(opDestinations, sampled,
		changes("include", "standard", "details"))},
	{"destinations/top", "what an empty request returns", ask(opDestinations, sampled, changes("countryCode", nil))},
	{"destinations/empty", "what an empty list of destinations looks like", ask(opDestinations, sampled,
		[]obj{{"countryCode": nil, "parentDestinationId": nowhere}})},
	{"metadata/empty", "what an empty list of hotels looks like", ask(opHotelsMetadata, sampled, changes("destinationId", nowhere))},
	{"metadata/answer", "what a page of the catalogue looks like", ask(opHotelsMetadata, sampled, []obj{{}})},
	{"metadata/destination", "destinationId is required", ask(opHotelsMetadata, refusal, changes("destinationId", nil))},
	{"metadata/default-size", "whether a request without pageSize returns 20 hotels", ask(opHotelsMetadata, fills(20), []obj{{}})},
	{"metadata/size-largest", "a pageSize of 100 is accepted", ask(opHotelsMetadata, fills(100), changes("page", obj{"pageSize": 100}))},
	{"metadata/size-above", "a pageSize of 101 is refused with code 100000400", ask(opHotelsMetadata, badParam,
		changes("page", obj{"pageSize": 101}))},
	{"list/selector", "a search without destination and hotels is refused", ask(opHotelList, refusal, changes("destinationId", nil))},
	{"list/rooms", "at least one room is required", ask(opHotelList, refusal, changes("roomOccupancies", nil, []obj{}))},
	{"list/page-num", "a pageNum below 1 is refused", ask(opHotelList, refusal, changes("pageNum", 0, -1))},
	{"list/country-code", "an invalid countryCode is refused", ask(opHotelList, refusal, changes("countryCode", "ZZ1"))},
	{"list/dates-required", "what a search without checkIn and checkOut gets",
		ask(opHotelList, gets, []obj{{"checkIn": nil, "checkOut": nil}})},
	{"list/default-size", "whether a request without pageSize returns 50 hotels", ask(opHotelList, fills(50), changes("pageSize", nil))},
	{"list/size-largest", "a pageSize of 200 is accepted", ask(opHotelList, fills(200), changes("pageSize", 200))},
	{"list/size-above", "a pageSize of 201 is refused with code 100000400", ask(opHotelList, badParam, changes("pageSize", 201))},
	{"list/ids-above", "1001 hotelIds are refused with code 100000400", ask(opHotelList, badParam,
		[]obj{{"destinationId": nil, "hotelIds": foreign(1001)}})},
	{"list/foreign-ids", "a search for unknown hotelIds succeeds with an empty list and total 0",
		ask(opHotelList, func(_ *run, a *answer) string {
			a.ok()
			n, total := len(a.at("list")), a.total()
			breaks(n > 0 || total != 0 || a.more(), "the list has %d hotels, total %d, hasMore %t", n, total, a.more())
			return ""
		}, []obj{{"destinationId": nil, "hotelIds": foreign(2)}})},
	{"list/stay-limits", "which lengths of stay, numbers of rooms and guests, and ages of children are accepted",
		ask(opHotelList, gets, stays)},
	{"list/answer", "what a page of a search looks like", ask(opHotelList, sampled, changes("Currency", "EUR", "JPY"))},
	{"list/sort-values", "which other values of sortBy are accepted", ask(opHotelList, gets,
		changes("sortBy", "distance-asc", "rating-asc", "name-asc", "probe-none"))},
	{"rates/currencies", "how many decimals amounts have", ask(opHotelRates, sampled, changes("Currency", "EUR", "JPY", "KWD"))},
	{"rates/required", "hotelId is required", ask(opHotelRates, refusal, changes("hotelId", nil))},
	{"rates/session", "HotelRates without a session is refused", ask(opHotelRates, refusal, changes("Session-Id", nil))},
	{"rates/unknown-session", "what HotelRates with an unknown session gets", ask(opHotelRates, gets, changes("Session-Id", noSession))},
	{"rates/rooms", "what HotelRates without a room gets", ask(opHotelRates, gets, changes("roomOccupancies", nil))},
	{"rates/empty", "what an empty list of rooms looks like", ask(opHotelRates, sampled, changes("hotelId", foreign(1)[0]))},
	{"rates/answer", "what offers of two rooms look like, and whether a fee is for both rooms", ask(opHotelRates, sampled,
		changes("roomOccupancies", twoRooms))},
	{"check/required", "ratePkgId is required", ask(opCheckAvail, refusal, changes("ratePkgId", nil))},
	{"check/session", "CheckAvail without a known session has no offer", ask(opCheckAvail, noOffer, changes("Session-Id", nil, noSession))},
	{"check/other-session", "an offer can be checked only in its own session",
		ask(opCheckAvail, noOffer, changes("Session-Id", otherSession))},
	{"check/unknown", "what CheckAvail for an unknown offer gets", ask(opCheckAvail, noOffer, changes("ratePkgId", "probe-no-offer"))},
	{"check/rooms", "what CheckAvail for an offer of two rooms gets", ask(opCheckAvail, gets, changes("ratePkgId", offerOfTwoRooms))},
	{"voucher/unknown", "a reference without an order gets HTTP 404 and code 100000404", ask(opOrderVoucher, refuses(404, types.CodeNotFound),
		[]obj{{}, {"customerReferenceNo": nil, "platformReferenceNo": unknownReference}})},
	{"voucher/reference", "at least one reference is required", ask(opOrderVoucher, refusal, changes("customerReferenceNo", nil))},
	{"orders/windows", "which forms of window bounds are accepted", ask(opQueryOrders, gets, changes("bookingTimeWindow", emptyWindows...))},
	{"orders/status-list", "which forms of statusList are accepted", ask(opQueryOrders, gets,
		changes("statusList", []any{1}, []any{"1"}, []any{"CONFIRMED"}))},
	{"orders/unfiltered", "what a request without a filter gets", ask(opQueryOrders, sampled, changes("customerReferenceNos", nil))},
	{"static/answer", "what HotelStaticDetail returns", ask(opHotelStaticDetail, sampled, []obj{{}})},
})

var twinRules = rules("", []line{
	{"destinations/country-first", "parentDestinationId is ignored if countryCode is set", same(opDestinations, texts("destinations.id"),
		[]obj{{}, {"parentDestinationId": firstPlace}})},
	{"destinations/defaults", "the defaults are include standard, filterEmptyCities true and minHotelCount 1", same(opDestinations,
		texts("destinations.id"), []obj{{"countryCode": nil, "parentDestinationId": firstPlace},
			{"countryCode": nil, "parentDestinationId": firstPlace, "include": "standard", "filterEmptyCities": true, "minHotelCount": 1}})},
	{"metadata/page-below-1", "a pageNum below 1 is page 1", same(opHotelsMetadata, hotelIDs,
		changes("page", obj{"pageNum": 1}, obj{"pageNum": 0}, obj{"pageNum": -1}))},
	{"metadata/first-page", "whether HotelsMetadata without pageNum returns page 1", same(opHotelsMetadata, hotelIDs,
		changes("page", obj{"pageSize": 2, "pageNum": 1}, obj{"pageSize": 2}))},
	{"list/first-page", "whether HotelList without pageNum returns page 1", same(opHotelList, hotelIDs, changes("pageNum", 1, nil))},
	{"list/country", "countryCode does not change prices", same(opHotelList, prices, changes("countryCode", nil, "US", "FR"))},
	{"list/uncapped", "maxRatesPerHotel is 0 by default, and 0 means no limit", same(opHotelList, prices,
		changes("maxRatesPerHotel", nil, 0, 1000))},
})

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
	skip(own == session, "the service uses the same session for two searches")
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

// walk is a rule that reads all pages of a listing.
type walk struct {
	op    operation
	sorts []string // for each value, the rule reads the listing again with sortBy; the judge checks the order of the hotels
}

const (
	maxPages             = 12
	smallPage, largePage = 7, 20 // page sizes
)

var walks = rules("", []line{
	{"metadata/pages", "pages do not repeat hotels, hasMore says whether a page follows, and pages of another size have the same hotels",
		walk{opHotelsMetadata, nil}.try},
	{"list/pages", "pages do not repeat hotels, and hasMore says whether a page follows, in sorted lists, too",
		walk{opHotelList, []string{"price-asc", "price-desc", "rating-desc"}}.try},
})

func (w walk) try(r *run) {
	one, whole := w.pages(r, smallPage, "")
	other, same := w.pages(r, largePage, "")
	if slices.Sort(one); whole && same {
		slices.Sort(other)
		breaks(w.op == opHotelsMetadata && !slices.Equal(one, other),
			"pages of size %d have %d hotels, and pages of size %d have %d, or other hotels", smallPage, len(one), largePage, len(other))
	}
	for _, by := range w.sorts {
		w.pages(r, largePage, by)
	}
	skip(len(one) <= smallPage, "there is only one page")
}

// pages reads a listing page by page, and returns the ids of its hotels. The result whole is true if the walk reached
// the last page, and all pages before it were full.
func (w walk) pages(r *run, size int, sortBy string) (all []string, whole bool) {
	before, session, full := map[string]int{}, any(nil), true
	for num := 1; num <= maxPages; num++ {
		a := w.page(r, size, num, session, sortBy)
		hotels, total, shared := hotelIDs(a), a.total(), session == a.first("basic.sessionId")
		session = a.first("basic.sessionId")
		for _, id := range hotels {
			breaks(before[id] > 0 && sortBy == "" && id != "", "page %d repeats hotel %s of page %d", num, id, before[id])
			before[id] = num
		}
		r.suffers(sortBy == "" && num > 1 && len(hotels) == 0, "page %d says that a page follows, but page %d is empty", num-1, num)
		all = append(all, hotels...)
		r.find("totals: %t; the pages share a session: %t", total != 0, shared)
		r.log = r.log[max(0, len(r.log)-4):] // the last four answers are enough as evidence
		if !a.more() {
			n := len(hotelIDs(w.page(r, size, num+1, session, sortBy)))
			breaks(n > 0, "page %d says that no page follows, but page %d has %d hotels", num, num+1, n)
			breaks(full && sortBy == "" && total > len(all), "total is %d, but all pages together have %d hotels", total, len(all))
			return all, full
		}
		full = full && len(hotels) == size
	}
	return all, false
}

func (w walk) page(r *run, size, num int, session any, sortBy string) *answer {
	change := obj{"page": obj{"pageSize": size, "pageNum": num}}
	if w.op == opHotelList {
		change = obj{"pageSize": size, "pageNum": num, "maxRatesPerHotel": 1, "Session-Id": session}
	}
	if sortBy != "" {
		change["sortBy"] = sortBy
	}
	a := r.changed(w.op, change)
	a.ok()
	return a
}
