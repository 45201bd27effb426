// Rules of points that the document leaves open, and that other rules do not find out by the way.

package probe

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// accepted returns the values that a request with them may have, as JSON.
func (r *run) accepted(values []any, ask func(value any) *answer) string {
	var taken []string
	for _, value := range values {
		a := ask(value)
		if a.allowed(); a.succeeded() {
			text, _ := json.Marshal(value)
			taken = append(taken, string(text))
		}
	}
	if taken == nil {
		return "none"
	}
	return strings.Join(taken, ", ")
}

// filtered asks for an order that nobody has, by one more filter.
func (r *run) filtered(name string) func(value any) *answer {
	return func(value any) *answer {
		body := unknownOrder()
		body[name] = value
		return r.get(opQueryOrders, body)
	}
}

// occupied searches for a room, or several.
func (r *run) occupied(rooms ...obj) *answer {
	return r.list(obj{"pageSize": 1, "roomOccupancies": rooms})
}

// members are the names of an object's members.
func members(o obj) string { return strings.Join(slices.Sorted(maps.Keys(o)), " ") }

// without is a call without a header that the run sends, or not tried.
func (r *run) without(name string) *answer {
	sent := false
	c := r.lawful(opDestinations)
	c.edit = func(h http.Header) {
		sent = h.Get(name) != ""
		h.Del(name)
	}
	a := r.do(c)
	a.came()
	skip(!sent, "the calls of this run have no %s", name)
	return a
}

// with is a call with a header of any text.
func (r *run) with(op operation, name, text string) string {
	c := r.lawful(op)
	c.edit = func(h http.Header) { h.Set(name, text) }
	return r.do(c).String()
}

// forms of texts: each digit is a 9.
func forms(texts []string) string {
	for i, text := range texts {
		texts[i] = strings.Map(func(c rune) rune {
			if '0' <= c && c <= '9' {
				return '9'
			}
			return c
		}, text)
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ", ")
}

// nowhere is the id of no destination.
const nowhere = "00000000-0000-4000-8000-000000000000"

var openRules = []Rule{
	{"headers/market", "Common request headers", "what a call without a Market gets, where there is one", "", func(r *run) {
		r.find("%s", r.without("Market"))
	}},
	{"headers/user-ref", "Common request headers", "what a call without a User-Ref gets, where there is one", "", func(r *run) {
		r.find("%s", r.without("User-Ref"))
	}},
	{"headers/timestamp", "Common request headers", "which units of Client-Request-Timestamp are accepted", "", func(r *run) {
		now := time.Now()
		r.find("seconds: %s; milliseconds: %s", r.with(opQueryOrders, "Client-Request-Timestamp", fmt.Sprint(now.Unix())),
			r.with(opQueryOrders, "Client-Request-Timestamp", fmt.Sprint(now.UnixMilli())))
	}},
	{"headers/timeout", "Common request headers", "what a Timeout-Milliseconds of 1, of 0 and of a day gets", "", func(r *run) {
		r.find("1: %s; 0: %s; a day: %s", r.with(opHotelList, "Timeout-Milliseconds", "1"), r.with(opHotelList, "Timeout-Milliseconds", "0"),
			r.with(opHotelList, "Timeout-Milliseconds", "86400000"))
	}},
	{"headers/gzip", "Common request headers", "whether a search that accepts gzip is answered in gzip", "", func(r *run) {
		a := r.do(r.lawful(opHotelList))
		a.came()
		r.find("it is: %t", a.raw.gzip)
	}},
	{"envelope/empty-lists", "Envelope", "what a list without elements looks like", "", func(r *run) {
		var found []string
		for _, list := range []struct {
			name string
			call
		}{
			{"destinations", call{op: opDestinations, body: obj{"parentDestinationId": nowhere}}},
			{"hotelsMetadata", call{op: opHotelsMetadata, body: obj{"destinationId": nowhere}}},
			{"rooms", call{op: opHotelRates, session: r.offer().session, body: r.stay(obj{"hotelId": foreign(1)[0]})}},
		} {
			a := r.do(list.call)
			a.allowed()
			found = append(found, fmt.Sprintf("%s: %s (%s)", list.name, a.member(list.name), a))
		}
		r.find("%s", strings.Join(found, "; "))
	}},
	{"oauth/limit", "Limits", "which rate limit OAuthToken says it has", "HOTELSTAYS_CLIENT_ID", func(r *run) {
		_, a := r.oauth("search:read", nil)
		a.came()
		r.find("X-RateLimit-Limit is %q", a.raw.header.Get("X-RateLimit-Limit"))
	}},
	{"list/stay-limits", "Limits", "which lengths of stay, numbers of rooms and guests, and ages of children are accepted", "", func(r *run) {
		in, _ := r.cfg.CheckIn.Time()
		r.find("nights: %s; rooms: %s; adults: %s; children: %s; ages: %s",
			r.accepted([]any{14, 28, 30, 31, 60, 90, 365}, func(n any) *answer {
				return r.list(obj{"pageSize": 1, "checkOut": types.DateOf(in.AddDate(0, 0, n.(int)))})
			}),
			r.accepted([]any{4, 5, 8, 9, 10, 20}, func(n any) *answer { return r.occupied(slices.Repeat([]obj{{"adultCount": 1}}, n.(int))...) }),
			r.accepted([]any{4, 6, 8, 9, 10, 20}, func(n any) *answer { return r.occupied(obj{"adultCount": n}) }),
			r.accepted([]any{2, 3, 4, 6, 8}, func(n any) *answer {
				return r.occupied(obj{"adultCount": 1, "childrenAges": slices.Repeat([]int{8}, n.(int))})
			}),
			r.accepted([]any{0, 11, 12, 17, 18, 21}, func(age any) *answer {
				return r.occupied(obj{"adultCount": 1, "childrenAges": []any{age}})
			}))
	}},
	{"list/first-page", "HotelList", "whether a search without a pageNum is page 1", "", first(opHotelList)},
	{"metadata/first-page", "HotelsMetadata", "whether the catalogue without a pageNum is page 1", "", first(opHotelsMetadata)},
	{"list/members", "PageResp", "which members pages have, such as a cursor", "", func(r *run) {
		catalogue := read[struct{ Page obj }](r.metadata(nil))
		r.find("HotelList: %s; page of HotelsMetadata: %s", members(*read[obj](r.search().answer)), members(catalogue.Page))
	}},
	{"list/sort-values", "HotelList", "which other values of sortBy are accepted", "", func(r *run) {
		r.find("%s", r.accepted([]any{"distance-asc", "rating-asc", "name-asc", "probe-none"}, func(by any) *answer {
			return r.list(obj{"pageSize": 1, "sortBy": by})
		}))
	}},
	{"list/decimals", "Shared types", "how many decimals amounts have, by currency", "", func(r *run) {
		var found []string
		for _, code := range []string{"EUR", "JPY", "KWD"} {
			resp := read[hotelstays.HotelListResponse](r.do(call{op: opHotelList, body: r.stayIn(obj{"pageSize": 5}), currency: code}))
			most := 0
			for _, rate := range existing(ratesOf(resp.List)) {
				_, decimals, _ := strings.Cut(string(rate.TotalRate.NetRate.Amount), ".")
				most = max(most, len(decimals))
			}
			found = append(found, fmt.Sprintf("%s: %d", code, most))
		}
		r.find("%s", strings.Join(found, ", "))
	}},
	{"list/deadlines", "RoomRatePkg (a priced offer)", "which form refundableUntil and deadlines have", "", func(r *run) {
		var texts []string
		for _, rate := range ratesOf(r.search().List) {
			texts = append(texts, string(rate.RefundableUntil))
			for _, fee := range rate.CancelFees {
				texts = append(texts, string(fee.Until))
			}
		}
		texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
		skip(len(texts) == 0, "no offer has one")
		r.find("%s (each digit is a 9)", forms(texts))
	}},
	{"list/boards", "Shared types", "what the codes of meal plans stand for", "", func(r *run) {
		names := obj{}
		for _, rate := range existing(ratesOf(r.search().List)) {
			if rate.Board != nil {
				names[string(rate.Board.BoardID)+": "+rate.Board.BoardName.String()] = nil
			}
		}
		r.find("%s", strings.Join(slices.Sorted(maps.Keys(names)), ", "))
	}},
	{"rates/hotel-id", "Hotel (search and static detail)", "whether HotelRates accepts a hotel's own id", "", func(r *run) {
		found := r.search()
		at := slices.IndexFunc(found.List, func(h types.Hotel) bool { return h.ID != "" && h.ID != hotelID(h) })
		skip(at < 0, "no hotel has two ids")
		a := r.do(call{op: opHotelRates, session: found.Basic.SessionID, body: r.stay(obj{"hotelId": found.List[at].ID})})
		a.allowed()
		r.find("%s, rooms: %t", a, strings.HasPrefix(a.member("rooms"), "[{"))
	}},
	{"rates/rooms", "HotelRates", "what HotelRates without a room gets", "", func(r *run) {
		a := r.do(call{op: opHotelRates, session: r.offer().session, body: r.stay(obj{"hotelId": r.offer().hotel, "roomOccupancies": nil})})
		a.allowed()
		r.find("%s", a)
	}},
	{"rates/room-fees", "RoomRatePkg (a priced offer)", "whether a cancellation fee is of one room or of all", "", func(r *run) {
		one, all := 0, 0
		for _, rate := range existing(ratesIn(read[hotelstays.HotelRatesResponse](r.changed(opHotelRates, obj{"roomOccupancies": twoRooms})).Rooms)) {
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
	{"check/id", "CheckAvail", "whether the refreshed package keeps its ratePkgId", "", func(r *run) {
		offered, _, resp := r.checked()
		r.find("it keeps its id: %t", offered.RatePkgID == resp.RoomRatePkg.RatePkgID)
	}},
	{"check/exchange", "Shared types", "which way exchange rates convert", "", func(r *run) {
		c := r.lawful(opCheckAvail)
		c.currency = "EUR"
		a := r.do(c)
		a.allowed()
		r.find("in EUR: %s", a.member("exchangeRateSnapshot"))
	}},
	{"orders/unfiltered", "QueryOrders", "what a request without a filter gets; how orders are paged and in what order", "", func(r *run) {
		a := r.get(opQueryOrders, obj{})
		a.allowed()
		var data obj
		_ = json.Unmarshal(a.Data, &data) // whatever comes is an answer
		var times []string
		list, _ := data["orders"].([]any)
		for _, order := range list {
			o, _ := order.(obj)
			times = append(times, fmt.Sprint(o["bookingTime"]))
		}
		oldest := slices.IsSorted(times)
		slices.Reverse(times)
		r.find("%s; members: %s; %d orders; the oldest first: %t, the newest first: %t", a, members(data), len(list), oldest,
			slices.IsSorted(times))
	}},
	{"static/members", "HotelStaticDetail", "which members HotelStaticDetail has", "", func(r *run) {
		a := r.get(hotelstays.OpHotelStaticDetail, obj{"hotelId": r.offer().hotel})
		a.allowed()
		var data struct{ Hotel obj }
		_ = json.Unmarshal(a.Data, &data) // whatever comes is an answer
		r.find("%s; %s", a, members(data.Hotel))
	}},
}

// openBookingRules are those for which something has to be booked. The second one cancels it.
var openBookingRules = []Rule{
	{"voucher/host", "OrderVoucher", "where the link to a document leads", "-book", func(r *run) {
		link, err := url.Parse(r.voucher().Voucher.DownloadURL)
		breaks(err != nil, "downloadUrl is no URL")
		r.find("%s://%s", link.Scheme, link.Host)
	}},
	{"order/members", "Order", "which members guests and refundInfo of an order have", "-book", func(r *run) {
		a, _ := r.current(r.ended().booked)
		guests, refunds := obj{}, obj{}
		for _, order := range read[struct {
			Orders []struct {
				Rooms []struct{ Guests, RefundInfo []obj }
			}
		}](a).Orders {
			for _, room := range order.Rooms {
				for _, guest := range room.Guests {
					maps.Copy(guests, guest)
				}
				for _, refund := range room.RefundInfo {
					maps.Copy(refunds, refund)
				}
			}
		}
		r.find("guests: %s; refundInfo: %s", members(guests), members(refunds))
	}},
	{"webhook/members", "Events", "which members and which Content-Type events have", "-callback", func(r *run) {
		types, all := obj{}, obj{}
		for _, d := range r.events() {
			types[d.header.Get("Content-Type")] = true
			_ = json.Unmarshal(d.body, &all) // those of one event stay for the next
		}
		r.find("%s; Content-Type: %s", members(all), members(types))
	}},
}
