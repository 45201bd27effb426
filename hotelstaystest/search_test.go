package hotelstaystest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestHotelListErrorNamesTheInvalidField(t *testing.T) {
	s, u := open(t)
	for _, tc := range []struct {
		more object
		msg  string
	}{
		{object{"hotelIds": []string{""}}, "empty id"},
		{object{"pageSize": 0}, "pageSize"},
		{object{"maxRatesPerHotel": -1}, "maxRatesPerHotel"},
		{object{"residencyCode": "x"}, "residencyCode"},
		{object{"nationalityCode": "12"}, "nationalityCode"},
		{object{"checkOut": nil}, "checkOut"},
		{object{"checkIn": "2030-02-30"}, "checkIn"},
		{object{"checkOut": "2030-12-24"}, "checkOut"},
		{object{"roomOccupancies": []object{{"childrenAges": []int{3}}}}, "roomOccupancies[0].adultCount"},
		{object{"roomOccupancies": []object{{"adultCount": 2, "childrenAges": []int{40}}}}, "childrenAges"},
	} {
		u.refused(listPath, search(s, tc.more), 400, types.CodeParam, tc.msg)
	}
	u.must(listPath, search(s, object{"pageSize": 1, "residencyCode": "AE", "cursor": 4, "sortBy": "anything"}))
	band := login(t, start(t, Config{VisibilityBand: true}))
	ids := slices.Repeat([]string{"PH1"}, 201)
	band.refused(listPath, search(band.s, object{"hotelIds": ids}), 400, types.CodeParam, "at most 200")
	band.must(listPath, search(band.s, object{"hotelIds": ids[1:]}))
}

func TestHotelListFindsEachHotelOnce(t *testing.T) {
	s, u := open(t, Config{Catalog: Catalog{HotelsPerCity: 120}})
	r := u.must(listPath, search(s, object{"pageNum": 3, "maxRatesPerHotel": 1}))
	failIf(t, len(r.list("list")) != 20 || r.str("total") != "120" || r.str("hasMore") != "false" ||
		r.str("basic", "destination", "id") != s.CityID(0), "page 3 of 50: %d of %v, %v", len(r.list("list")), r.at("total"), r.at("hasMore"))
	net := r.at("list", 0, "rooms", 0, "rates", 0, "totalRate", "netRate")
	same(t, fmt.Sprint(net), fmt.Sprint(r.at("list", 0, "minPrice")), "the cheapest rate")
	source, platform := r.str("list", 0, "id"), r.str("list", 0, "platformHotelId")
	for _, tc := range []struct {
		where any // a destination id
		ids   []string
		want  int
	}{
		{nil, []string{"12345", "hotel-x"}, 0},
		{s.CityID(0), []string{platform, source, platform}, 1}, // three ids of the same hotel
		{s.CityID(1), []string{platform}, 0},                   // the hotel is in another city
	} {
		r := u.must(listPath, search(s, object{"destinationId": tc.where, "hotelIds": tc.ids}))
		failIf(t, len(r.list("list")) != tc.want || r.at("list") == nil || r.at("basic", "emptyReason") != nil, "%v: %.300s", tc.ids, r.body)
	}
	by := func(sort string) string {
		var ratings []any
		for _, h := range u.must(listPath, search(s, object{"sortBy": sort, "maxRatesPerHotel": 1})).list("list") {
			ratings = append(ratings, h.(object)["rating"])
		}
		return fmt.Sprint(ratings)
	}
	failIf(t, by("distance-asc") == by(""), "sortBy distance-asc does not change the order of the hotels")
}

func TestEmptyAndIncompleteResultsHaveAReason(t *testing.T) {
	_, u := open(t, Config{Notices: []string{"never shown"}, EmptyReason: &types.EmptyReason{
		Code: "NO_SUPPLIER_ANSWERED", Suppliers: []types.EmptyReasonSupplier{{SupplierCode: "S1", Reason: "timeout"}},
	}})
	r := u.must(listPath, search(u.s, nil))
	failIf(t, r.str("basic", "emptyReason", "code") != "NO_SUPPLIER_ANSWERED" ||
		r.str("basic", "emptyReason", "suppliers", 0, "reason") != "timeout" ||
		r.str("basic", "statusRemark") != "The result is empty: NO_SUPPLIER_ANSWERED." ||
		r.at("basic", "notices") != nil || r.str("total") != "0" || r.str("basic", "sessionId") == "", "%s", r.body)
	for _, tc := range []struct {
		config         Config
		currency       string
		total, hasMore string
		path           []any
		want           string
	}{
		{Config{Notices: []string{"unpriced"}}, "USD", "12", "true", []any{"notices", 0}, "unpriced"},
		{Config{Catalog: Catalog{HotelsPerCity: maxExpansion + 5}}, "USD", "2000", "true", []any{"notices", 0},
			"The destination was expanded to 2000 of its 2005 hotels."},
		{Config{Variants: Variants{NoTotals: true}}, "USD", "0", "true", nil, ""},
		{Config{}, "XXX", "0", "false", []any{"emptyReason", "code"}, "ALL_SUPPLIERS_EXCLUDED"},
	} {
		_, u := open(t, tc.config)
		r := u.header("Currency", tc.currency).must(listPath, search(u.s, object{"pageSize": 5}))
		failIf(t, r.str("total") != tc.total || r.str("hasMore") != tc.hasMore ||
			tc.want != "" && r.str(append([]any{"basic"}, tc.path...)...) != tc.want, "%+v: %.300s", tc.config, r.body)
	}
}

func TestOnlyCancelAcceptsAnExpiredSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, u := open(t, Config{SessionLifetime: 30 * time.Minute})
		in, ids := u.find(nil)
		_, order := u.book("ref", 1)
		rate := object{"ratePkgId": ids[0]}
		forged := in.session(strings.Replace(in.headers["Session-Id"], "ses-", "ses-1", 1))
		forged.refused(availPath, rate, 400, types.CodeParam, "not a session")
		s.Advance(30*time.Minute - 1)
		in.must(availPath, rate)
		in.must(listPath, search(s, nil)) // a search does not prolong the session
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
