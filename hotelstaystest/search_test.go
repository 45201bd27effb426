// HotelList and HotelRates, and the session of an offer.

package hotelstaystest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestHotelListRules(t *testing.T) {
	s, u := open(t)
	ids := make([]string, 1001)
	for i := range ids {
		ids[i] = fmt.Sprint("PH", hotelBase+i)
	}
	for _, tc := range []struct {
		more object
		msg  string
	}{
		{object{"destinationId": nil}, "hotelIds, destinationId and destinationName"},
		{object{"destinationId": nil, "hotelIds": []string{}}, "hotelIds, destinationId and destinationName"},
		{object{"hotelIds": ids}, "at most 1000"},
		{object{"hotelIds": []string{""}}, "empty id"},
		{object{"pageNum": 0}, "pageNum"},
		{object{"pageNum": -1}, "pageNum"},
		{object{"pageSize": 201}, "pageSize"},
		{object{"pageSize": 0}, "pageSize"},
		{object{"maxRatesPerHotel": -1}, "maxRatesPerHotel"},
		{object{"countryCode": "UAE"}, "countryCode"},
		{object{"residencyCode": "x"}, "residencyCode"},
		{object{"nationalityCode": "12"}, "nationalityCode"},
		{object{"checkIn": nil}, "checkIn"},
		{object{"checkOut": nil}, "checkOut"},
		{object{"checkIn": "24.12.2030"}, "checkIn"},
		{object{"checkIn": "2030-02-30"}, "checkIn"},
		{object{"checkOut": "2030-12-24"}, "checkOut"},
		{object{"roomOccupancies": nil}, "roomOccupancies"},
		{object{"roomOccupancies": []object{}}, "roomOccupancies"},
		{object{"roomOccupancies": []object{{"childrenAges": []int{3}}}}, "roomOccupancies[0].adultCount"},
		{object{"roomOccupancies": []object{{"adultCount": 0}}}, "roomOccupancies[0].adultCount"},
		{object{"roomOccupancies": []object{{"adultCount": 2, "childrenAges": []int{40}}}}, "childrenAges"},
	} {
		u.refused(listPath, search(s, tc.more), 400, types.CodeParam, tc.msg)
	}
	u.must(listPath, search(s, object{"hotelIds": ids[:1000], "pageSize": 1, "residencyCode": "AE", "cursor": 4, "sortBy": "anything"}))
	band := login(t, start(t, Config{VisibilityBand: true}))
	band.refused(listPath, search(band.s, object{"hotelIds": ids[:201]}), 400, types.CodeParam, "at most 200")
	band.must(listPath, search(band.s, object{"hotelIds": ids[:200], "maxRatesPerHotel": 1}))
}

func TestHotelListResults(t *testing.T) {
	s, u := open(t, Config{Catalog: Catalog{HotelsPerCity: 120}})
	r := u.must(listPath, search(s, object{"pageNum": 3, "maxRatesPerHotel": 1}))
	failIf(t, len(r.list("list")) != 20 || r.str("total") != "120" || r.str("hasMore") != "false" ||
		r.str("basic", "destination", "id") != s.CityID(0), "page 3 of 50: %d of %v, %v", len(r.list("list")), r.at("total"), r.at("hasMore"))
	for _, h := range r.list("list") {
		rooms := h.(object)["rooms"].([]any)
		stopIf(t, len(rooms) != 1 || len(rooms[0].(object)["rates"].([]any)) != 1, "maxRatesPerHotel 1 gives %v", rooms)
		net := rooms[0].(object)["rates"].([]any)[0].(object)["totalRate"].(object)["netRate"]
		failIf(t, fmt.Sprint(net) != fmt.Sprint(h.(object)["minPrice"]), "minPrice %v is not the cheapest rate %v", h.(object)["minPrice"], net)
	}
	foreign := u.must(listPath, search(s, object{"destinationId": nil, "hotelIds": []string{"12345", "hotel-x"}}))
	failIf(t, string(must(json.Marshal(foreign.at("list")))) != "[]" ||
		foreign.str("total") != "0" || foreign.at("basic", "emptyReason") != nil,
		"foreign ids: %s", foreign.body)
	named := u.must(listPath, search(s, object{"destinationId": nil, "destinationName": s.CityName(1), "pageSize": 1}))
	failIf(t, named.str("basic", "destination", "id") != s.CityID(1) || len(named.list("list")) != 1, "by name: %s", named.body)
	first, second := r.str("list", 0, "id"), r.str("list", 0, "platformHotelId")
	one := u.must(listPath, search(s, object{"hotelIds": []string{second, first, second}}))
	failIf(t, len(one.list("list")) != 1 || one.str("list", 0, "platformHotelId") != second,
		"one hotel by two ids: %d hotels", len(one.list("list")))
	elsewhere := u.must(listPath, search(s, object{"destinationId": s.CityID(1), "hotelIds": []string{second}}))
	failIf(t, len(elsewhere.list("list")) != 0, "a hotel outside the destination was found")
}

func TestHotelListOrder(t *testing.T) {
	s, u := open(t)
	values := func(sort string, path ...string) []float64 {
		var out []float64
		for _, h := range u.must(listPath, search(s, object{"sortBy": sort})).list("list") {
			v := h
			for _, p := range path {
				v = v.(object)[p]
			}
			f, _ := v.(json.Number).Float64()
			out = append(out, f)
		}
		return out
	}
	up, down, rating := values("price-asc", "minPrice", "amount"), values("price-desc", "minPrice", "amount"), values("rating-desc", "rating")
	slices.Reverse(down)
	slices.Reverse(rating)
	failIf(t, !slices.IsSorted(up) || !slices.Equal(up, down) || !slices.IsSorted(rating) || len(up) != 12,
		"prices up %v, down reversed %v, ratings reversed %v", up, down, rating)
	failIf(t, slices.Equal(values("distance-asc", "rating"), values("", "rating")), "distance-asc changes nothing")
}

func TestEmptyAndIncompleteResults(t *testing.T) {
	reason := login(t, start(t, Config{
		EmptyReason: &types.EmptyReason{
			Code: "NO_SUPPLIER_ANSWERED", Suppliers: []types.EmptyReasonSupplier{{SupplierCode: "S1", Reason: "timeout"}},
		},
		Notices: []string{"never shown"},
	}))
	r := reason.must(listPath, search(reason.s, nil))
	if r.str("basic", "emptyReason", "code") != "NO_SUPPLIER_ANSWERED" ||
		r.str("basic", "emptyReason", "suppliers", 0, "reason") != "timeout" || // it was asked
		r.str("basic", "statusRemark") != "The result is empty: NO_SUPPLIER_ANSWERED." ||
		r.at("basic", "notices") != nil || r.str("total") != "0" || r.str("basic", "sessionId") == "" {
		t.Errorf("%s", r.body)
	}
	notices := login(t, start(t, Config{Notices: []string{"some hotels could not be priced"}}))
	if r := notices.must(listPath, search(notices.s, nil)); r.str("basic", "notices", 0) != "some hotels could not be priced" {
		t.Errorf("%.300s", r.body)
	}
	capped := login(t, start(t, Config{Catalog: Catalog{HotelsPerCity: maxExpansion + 5}}))
	if r := capped.must(listPath, search(capped.s, object{"pageSize": 1})); r.str("total") != "2000" || len(r.list("basic", "notices")) != 1 {
		t.Errorf("total %v, basic %v", r.at("total"), r.at("basic", "notices"))
	}
	u := login(t, start(t, Config{Variants: Variants{NoTotals: true}}))
	if r := u.must(listPath, search(u.s, object{"pageSize": 5})); r.str("total") != "0" || r.str("hasMore") != "true" {
		t.Errorf("total %v, hasMore %v", r.at("total"), r.at("hasMore"))
	}
	if r := u.header("Currency", "XXX").must(listPath, search(u.s, nil)); r.str("basic", "emptyReason", "code") != "ALL_SUPPLIERS_EXCLUDED" {
		t.Errorf("%s", r.body)
	}
}

func TestSessions(t *testing.T) {
	s, u := open(t, Config{Accounts: twoAccounts})
	in, ids := u.find(nil)
	hotelID := s.HotelIDs(1)[0]
	rates := object{"hotelId": hotelID, "checkIn": "2030-12-24", "checkOut": "2030-12-26", "roomOccupancies": oneRoom()}

	u.refused(ratesPath, rates, 400, types.CodeParam, "Session-Id")
	r := in.must(ratesPath, rates)
	failIf(t, len(r.list("rooms")) != 3 || r.header.Get("Session-Id") != in.headers["Session-Id"] ||
		!slices.Contains(ids, r.str("rooms", 0, "rates", 0, "ratePkgId")), "rates: %.300s", r.body)
	in.must(availPath, object{"ratePkgId": ids[0]})
	again := in.must(listPath, search(s, nil))
	failIf(t, again.str("basic", "sessionId") != in.headers["Session-Id"], "a search with a session starts another")
	other, _ := u.find(nil)
	other.refused(availPath, object{"ratePkgId": ids[0]}, 400, types.CodeParam, "is not of session")
	in.refused(availPath, object{"ratePkgId": "nonsense"}, 400, types.CodeParam, "not an offer")
	in.refused(availPath, object{}, 400, types.CodeParam, "ratePkgId")
	stranger := in.with(u.ticket("two", "2"))
	stranger.refused(availPath, object{"ratePkgId": ids[0]}, 400, types.CodeParam, "not a session of this account")
	rates["hotelId"] = "x"
	if r := in.must(ratesPath, rates); len(r.list("rooms")) != 0 {
		t.Error("a foreign hotel has rates")
	}
}

func TestSessionLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, u := open(t, Config{SessionLifetime: 30 * time.Minute})
		in, ids := u.find(nil)
		_, order := u.book("ref", 1)
		rate := object{"ratePkgId": ids[0]}
		s.Advance(30*time.Minute - 1)
		in.must(availPath, rate)
		in.must(listPath, search(s, nil)) // does not prolong the session
		s.Advance(1)
		const text = "has expired; search again"
		in.refused(availPath, rate, 400, types.CodeParam, text)
		in.refused(listPath, search(s, nil), 400, types.CodeParam, text)
		in.refused(bookPath, booking("late", ids[0], nil), 400, types.CodeParam, text)
		in.must(cancelPath, cancellation("ref", order))
		again, ids := u.find(nil)
		again.must(bookPath, booking("late", ids[0], nil))
	})
}

// The start in a session's id cannot be changed.
func TestSessionStartIsProven(t *testing.T) {
	s := start(t, Config{SessionLifetime: time.Hour})
	in, ids := login(t, s).find(nil)
	fields := strings.Split(in.headers["Session-Id"], "-")
	for i, value := range map[int]string{1: "zz", 2: base36(time.Now().Add(time.Hour).UnixNano()), 3: "00000000000000000000"} {
		changed := slices.Clone(fields)
		changed[i] = value
		in.session(strings.Join(changed, "-")).refused(availPath, object{"ratePkgId": ids[0]}, 400, types.CodeParam, "not a session")
	}
}
