// Rules of points that the document leaves open, and that only reads find out.

package probe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

const emptySuccess = "a reference without an order is a success; the form of an empty list"

var emptyOrders = Rule{"orders/empty", "QueryOrders", emptySuccess, "", func(r *run) {
	a := r.get(opQueryOrders, unknownOrder())
	a.ok()
	list := strings.Join(strings.Fields(a.member("orders")), "")
	breaks(!slices.Contains([]string{"[]", "null", "absent"}, list), "orders is not empty")
	r.find("orders: %s", list)
	if list != "absent" {
		r.facts.NullOrders = list == "null"
	}
	known := r.cfg.Facts
	breaks(known != nil && known.NullOrders != r.facts.NullOrders, "ServiceFacts.NullOrders is configured as %t, and the list is %s",
		known != nil && known.NullOrders, list)
}}

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

// with is a call of an operation with a member of any value.
func (r *run) with(op operation, name string) func(value any) *answer {
	return func(value any) *answer { return r.changed(op, obj{name: value}) }
}

// occupied searches for rooms.
func (r *run) occupied(values []any, rooms func(n int) []obj) string {
	return r.accepted(values, func(n any) *answer {
		return r.changed(opHotelList, obj{"pageSize": 1, "roomOccupancies": rooms(n.(int))})
	})
}

// members are the names of an object's members.
func members(o obj) string { return strings.Join(slices.Sorted(maps.Keys(o)), " ") }

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

// bounds are the forms that a bound of a window may have.
func bounds(at time.Time) []any {
	return []any{at.Format(time.DateOnly), at.Format(time.RFC3339), at.Format(time.DateTime), fmt.Sprint(at.Unix()),
		fmt.Sprint(at.UnixMilli())}
}

var openRules = []Rule{
	{"headers/server-cost", headersAre, "Server-Cost-Milliseconds is a number from 0 on; whether it fits the time of the call", "",
		func(r *run) {
			a := r.get(opQueryOrders, unknownOrder())
			a.came()
			n, _ := strconv.ParseInt(a.raw.header.Get("Server-Cost-Milliseconds"), 10, 64) // the judge has its form
			r.find("it fits: %t", n <= a.Took+2)
		}},
	{"destinations/polygon", "Destination", "how coordinates of a bounding polygon nest", "", func(r *run) {
		for _, place := range r.places(obj{"countryCode": r.country().code, "include": "details"}) {
			if c := place.Coordinates; c != nil && c.BoundingPolygon != nil {
				text := string(c.BoundingPolygon.Coordinates)
				r.find("%s, %d arrays deep", c.BoundingPolygon.Type, len(text)-len(strings.TrimLeft(text, "[")))
				return
			}
		}
		skip(true, "no destination has a polygon")
	}},
	{"destinations/top", "Destinations", "what an empty request returns", "", func(r *run) {
		a := r.get(opDestinations, obj{})
		a.allowed()
		kinds := map[types.DestinationType]int{}
		var data hotelstays.DestinationsResponse
		_ = json.Unmarshal(a.Data, &data) // whatever comes is an answer
		for _, place := range data.Destinations {
			kinds[place.Type]++
		}
		r.find("%s; destinations by type: %v", a, kinds)
	}},
	{"envelope/empty-lists", "Envelope", "what a list without elements looks like", "", func(r *run) {
		var found []string
		for _, list := range []struct {
			name string
			op   operation
			body obj
		}{
			{"destinations", opDestinations, obj{"countryCode": nil, "parentDestinationId": nowhere}},
			{"hotelsMetadata", opHotelsMetadata, obj{"destinationId": nowhere}},
			{"rooms", opHotelRates, obj{"hotelId": foreign(1)[0]}},
		} {
			a := r.changed(list.op, list.body)
			a.allowed()
			found = append(found, fmt.Sprintf("%s: %s (%s)", list.name, a.member(list.name), a))
		}
		r.find("%s", strings.Join(found, "; "))
	}},
	{"list/stay-limits", "HotelList", "which lengths of stay, numbers of rooms and guests, and ages of children are accepted", "",
		func(r *run) {
			in, _ := r.cfg.CheckIn.Time()
			counts := []any{4, 5, 6, 8, 9, 10, 20}
			r.find("nights: %s; rooms: %s; adults: %s; children: %s; ages: %s",
				r.accepted([]any{14, 28, 30, 31, 60, 90, 365}, func(n any) *answer {
					return r.changed(opHotelList, obj{"pageSize": 1, "checkOut": types.DateOf(in.AddDate(0, 0, n.(int)))})
				}),
				r.occupied(counts, func(n int) []obj { return slices.Repeat([]obj{{"adultCount": 1}}, n) }),
				r.occupied(counts, func(n int) []obj { return []obj{{"adultCount": n}} }),
				r.occupied(counts[:4], func(n int) []obj { return []obj{{"adultCount": 1, "childrenAges": slices.Repeat([]int{8}, n)}} }),
				r.occupied([]any{0, 11, 12, 17, 18, 21}, func(age int) []obj { return []obj{{"adultCount": 1, "childrenAges": []int{age}}} }))
		}},
	{"list/members", "PageResp", "which members pages have, such as a cursor", "", func(r *run) {
		catalogue := read[struct{ Page obj }](r.metadata(nil))
		r.find("HotelList: %s; page of HotelsMetadata: %s", members(*read[obj](r.search().answer)), members(catalogue.Page))
	}},
	{"list/sort-values", "HotelList", "which other values of sortBy are accepted", "", func(r *run) {
		r.find("%s", r.accepted([]any{"distance-asc", "rating-asc", "name-asc", "probe-none"}, r.with(opHotelList, "sortBy")))
	}},
	{"list/decimals", "Shared types", "how counts decimals amounts have, by currency", "", func(r *run) {
		var found []string
		for _, code := range []string{"EUR", "JPY", "KWD"} {
			most := 0
			for _, rate := range existing(ratesOf(read[hotelstays.HotelListResponse](r.changed(opHotelList, obj{"Currency": code,
				"pageSize": 5})).List)) {
				_, decimals, _ := strings.Cut(string(rate.TotalRate.NetRate.Amount), ".")
				most = max(most, len(decimals))
			}
			found = append(found, fmt.Sprintf("%s: %d", code, most))
		}
		r.find("%s", strings.Join(found, ", "))
	}},
	{"list/deadlines", offersAre, "which form refundableUntil and deadlines have", "", func(r *run) {
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
	emptyOrders,
	{"orders/windows", "QueryOrders", "which forms of window bounds are accepted", "", func(r *run) {
		var windows []any
		for _, bound := range bounds(time.Now().AddDate(-1, 0, 0).UTC().Truncate(24 * time.Hour)) {
			windows = append(windows, obj{"start": bound, "end": bound})
		}
		r.find("accepted: %s", r.accepted(windows, r.with(opQueryOrders, "bookingTimeWindow")))
	}},
	{"orders/status-list", "QueryOrders", "what statusList holds", "", func(r *run) {
		r.find("accepted: %s", r.accepted([]any{[]any{1}, []any{"1"}, []any{"CONFIRMED"}}, r.with(opQueryOrders, "statusList")))
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

// ages are when a session is tried again.
var ages = []time.Duration{5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute, 45 * time.Minute,
	time.Hour, 90 * time.Minute, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour}

var patientRules = []Rule{
	{"session/life", headersAre, "how long a used session lives, and what an expired one gets", "-patience", func(r *run) {
		skip(r.cfg.Patience < ages[0], "the first look is after %s", ages[0])
		r.anew()
		found := r.search()
		rate := existing(ratesOf(found.List))[0]
		began, alive := time.Now(), time.Duration(0)
		for _, age := range ages {
			if age > r.cfg.Patience {
				break
			}
			r.wait(time.Until(began.Add(age)))
			a := r.check(found.session, rate.RatePkgID)
			a.allowed()
			if !a.succeeded() || !read[hotelstays.CheckAvailResponse](a).Available() {
				r.find("between %s and %s; then %s, status %s", alive, age, a, a.member("status"))
				return
			}
			alive = age
		}
		r.find("at least %s", alive)
	}},
}
