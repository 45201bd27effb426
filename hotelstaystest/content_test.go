// The generated world as a client reads it: whole, the same for the same seed, and
// without a cost for its size.

package hotelstaystest

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"testing"
)

func TestDestinations(t *testing.T) {
	s := start(t, WithoutRateLimits(), WithCatalog(Catalog{CitiesPerProvince: 10, HotelsPerCity: 8}))
	u := login(t, s)
	get := func(body object) []any {
		t.Helper()
		return u.must("/api/search/destinations", body).list("destinations")
	}
	first := func(body object) object { t.Helper(); return get(body)[0].(object) }

	top := get(object{})
	if len(top) != 3 || fmt.Sprint(top[0].(object)["type"]) != "2" || top[0].(object)["parentDestinationId"] != nil {
		t.Fatalf("top level: %v", top)
	}
	ae := first(object{})["id"]
	provinces := get(object{"parentDestinationId": ae})
	if len(provinces) != 2 || fmt.Sprint(provinces) != fmt.Sprint(get(object{"countryCode": "AE", "parentDestinationId": s.CityID(1)})) {
		t.Errorf("countryCode does not go before parentDestinationId")
	}
	for code, n := range map[string]int{"CN": 2, "GB": 0} { // GB is outside this catalogue
		if got := get(object{"countryCode": code}); len(got) != n {
			t.Errorf("%s has %d provinces", code, len(got))
		}
	}
	province := provinces[0].(object)["id"]
	for _, tc := range []struct {
		more object
		want int
	}{
		{object{}, 8}, // two of ten are empty
		{object{"filterEmptyCities": false}, 8},
		{object{"minHotelCount": 0}, 8},
		{object{"filterEmptyCities": false, "minHotelCount": 0}, 10},
		{object{"minHotelCount": 3}, 6}, // two of ten are small
		{object{"minHotelCount": 9}, 0},
	} {
		tc.more["parentDestinationId"] = province
		if got := len(get(tc.more)); got != tc.want {
			t.Errorf("%v: %d cities, want %d", tc.more, got, tc.want)
		}
	}
	if got := get(object{"parentDestinationId": s.CityID(0)}); len(got) != 0 {
		t.Errorf("a city has children: %v", got)
	}
	if got := get(object{"parentDestinationId": "0f8fad5b-d9cb-469f-a165-70867728950e"}); len(got) != 0 {
		t.Errorf("a foreign id has children: %v", got)
	}
	standard, details := first(object{"parentDestinationId": province}), first(object{"parentDestinationId": province, "include": "details"})
	for _, field := range []string{"coordinates", "extra", "destinationName", "parentDestinationName"} {
		if standard[field] != nil || details[field] == nil {
			t.Errorf("%s: standard %v, details %v", field, standard[field], details[field])
		}
	}
	u.refused("/api/search/destinations", object{"include": "all"}, 400, CodeParam, "include")
	u.refused("/api/search/destinations", object{"countryCode": "ae"}, 400, CodeParam, "countryCode")
	u.refused("/api/search/destinations", object{"minHotelCount": -1}, 400, CodeParam, "minHotelCount")
}

func TestHotelsMetadataPages(t *testing.T) {
	s := start(t, WithoutRateLimits(), WithCatalog(Catalog{HotelsPerCity: 50}))
	u := login(t, s)
	const path = "/api/search/hotelsMetadata"
	page := func(p object) *reply {
		t.Helper()
		b := object{"destinationId": s.CityID(0)}
		if p != nil {
			b["page"] = p
		}
		return u.must(path, b)
	}
	for _, tc := range []struct {
		page    object
		n       int
		hasMore string
	}{
		{nil, 20, "true"}, {object{"pageNum": 0}, 20, "true"}, {object{"pageNum": -7}, 20, "true"}, {object{"pageNum": 3}, 10, "false"},
		{object{"pageNum": 4}, 0, "false"}, {object{"pageNum": 1 << 60}, 0, "false"}, {object{"pageSize": 100}, 50, "false"},
		{object{"pageSize": 25, "pageNum": 2, "cursor": 3}, 25, "false"},
	} {
		r := page(tc.page)
		if len(r.list("hotelsMetadata")) != tc.n || r.str("page", "total") != "50" || r.str("page", "hasMore") != tc.hasMore {
			t.Errorf("%v: %d hotels, page %v", tc.page, len(r.list("hotelsMetadata")), r.at("page"))
		}
	}
	u.refused(path, object{"destinationId": s.CityID(0), "page": object{"pageSize": 101}}, 400, CodeParam, "pageSize")
	u.refused(path, object{}, 400, CodeParam, "destinationId")
	if r := u.must(path, object{"destinationId": "another platform's"}); len(r.list("hotelsMetadata")) != 0 || r.str("page", "total") != "0" {
		t.Errorf("a foreign destination: %s", r.body)
	}

	seen, without := map[string]bool{}, 0
	for n := 1; n <= 3; n++ {
		for _, h := range page(object{"pageNum": n}).list("hotelsMetadata") {
			h := h.(object)
			seen[h["hotelId"].(string)] = true
			if h["platformHotelId"] == nil {
				without++
			}
		}
	}
	if len(seen) != 50 || without != 5 {
		t.Errorf("%d hotels, %d of them without platformHotelId", len(seen), without)
	}
}

func TestHotelStaticDetailAndIDList(t *testing.T) {
	s := start(t)
	u := login(t, s)
	id := s.HotelIDs(1)[0]
	r := u.must("/api/search/hotelStaticDetail", object{"hotelId": id})
	for _, field := range []string{"id", "platformHotelId", "minPrice", "minPricesByCurrency", "isAvailable", "rooms", "logoURL", "latlngCoordinator"} {
		r.str("hotel", field)
	}
	if r := u.must("/api/search/hotelStaticDetail", object{"hotelId": "42"}); r.at("hotel") != nil {
		t.Errorf("a foreign hotel: %s", r.body)
	}
	u.refused("/api/search/hotelStaticDetail", object{}, 400, CodeParam, "hotelId")

	const list = "/api/search/hotelIdList"
	if r := u.must(list, object{"hotelIds": []int{hotelBase, 5}}); len(r.list("hotelIdList")) != 1 || r.str("hotelIdList", 0, "hotelId") != id {
		t.Errorf("conversion: %s", r.body)
	}
	for _, by := range []object{{"regionCode": 1}, {"regionName": s.CityName(0)}} {
		if r := u.must(list, by); len(r.list("hotelIdList")) != 12 {
			t.Errorf("%v: %s", by, r.body)
		}
	}
	u.refused(list, object{}, 400, CodeParam, "regionCode")
}

func TestEveryPlaceResolvesAndNamesAreUnique(t *testing.T) {
	w := newWorld(7, Catalog{})
	if err := w.size.finish(); err != nil {
		t.Fatal(err)
	}
	w.size.CitiesPerProvince = 60
	for _, kind := range []placeKind{country, province, city} {
		names := map[i18n]bool{}
		for i := range w.count(kind) {
			p := place{kind, i}
			if got, ok := w.findPlace(w.destinationID(p)); !ok || got != p {
				t.Fatalf("%v resolves to %v", p, got)
			}
			names[w.placeName(p)] = true
		}
		if len(names) != w.count(kind) {
			t.Errorf("level %d: %d names for %d places", kind, len(names), w.count(kind))
		}
	}
	other := newWorld(8, w.size)
	if _, ok := other.findPlace(w.destinationID(place{city, 3})); ok {
		t.Error("an id of another world resolves")
	}
	for _, id := range []string{"", "PH", "PH10000009", "S999-10000000", "S101-9999999", "PH99999999999", "10000000"} {
		if h, ok := w.findHotel(id); ok {
			t.Errorf("%q resolves to hotel %d", id, h)
		}
	}
}

func TestAMillionHotelsCostNoMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := start(t, WithoutRateLimits(), WithCatalog(Catalog{Countries: 20, ProvincesPerCountry: 100, CitiesPerProvince: 10, HotelsPerCity: 50, EmptyEvery: -1}))
	if s.CityCount() != 20_000 || s.HotelCount() != 1_000_000 {
		t.Fatalf("%d cities, %d hotels", s.CityCount(), s.HotelCount())
	}
	u := login(t, s)
	last := u.must("/api/search/hotelsMetadata", object{"destinationId": s.CityID(19_999)})
	ids := []string{last.str("hotelsMetadata", 0, "hotelId"), s.HotelIDs(1)[0]}
	r := u.must("/api/search/hotelList", search(s, object{"destinationId": nil, "hotelIds": ids}))
	if len(r.list("list")) != 2 {
		t.Errorf("found %d hotels by id", len(r.list("list")))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

func TestTheWorldIsTheSameForTheSameSeed(t *testing.T) {
	view := func(seed uint64) string {
		s := start(t, WithSeed(seed))
		u := login(t, s)
		r := u.must("/api/search/hotelsMetadata", object{"destinationId": s.CityID(0)})
		in, ids := u.find(object{"maxRatesPerHotel": 2})
		avail := in.must("/api/search/checkAvail", object{"ratePkgId": ids[0]})
		var suppliers []any // which one serves a hotel differs from search to search
		for range 8 {
			suppliers = append(suppliers, u.must(listPath, search(s, nil)).at("list", 0, "id"))
		}
		b, _ := json.Marshal([]any{r.data, avail.at("roomRatePkg", "totalRate"), avail.at("roomRatePkg", "board"), suppliers})
		return string(b)
	}
	first, again, other := view(3), view(3), view(4)
	if first != again {
		t.Error("one seed gives two worlds")
	}
	if first == other {
		t.Error("two seeds give one world")
	}
}

// Who wants all hotels need not know how many there are.
func TestHotelIDsOfAnyNumber(t *testing.T) {
	s := start(t)
	all := s.HotelIDs(s.HotelCount())
	for n, want := range map[int]int{-1: 0, 0: 0, 3: 3, math.MaxInt: len(all)} {
		if got := s.HotelIDs(n); !slices.Equal(got, all[:want]) {
			t.Errorf("HotelIDs(%d) has %d ids, not %d", n, len(got), want)
		}
	}
}

func TestDecimalsAreExact(t *testing.T) {
	for _, tc := range []struct {
		minor    int64
		decimals int
		want     string
	}{{12050, 2, "120.50"}, {5, 2, "0.05"}, {-5, 3, "-0.005"}, {1500, 0, "1500"}, {0, 2, "0.00"}, {9007199254740993, 2, "90071992547409.93"}} {
		b, _ := json.Marshal(amount{tc.minor, tc.decimals})
		if string(b) != tc.want || !json.Valid(b) {
			t.Errorf("%d with %d decimals is %s, want %s", tc.minor, tc.decimals, b, tc.want)
		}
	}
	yen, _ := findCurrency("JPY")
	dinar, _ := findCurrency("KWD")
	if yen.fromCents(100) != 151 || dinar.fromCents(100) != 307 || dinar.fromCents(1_000_000_000_00) != 307_150_000_000 {
		t.Error("conversion is off: " + strconv.FormatInt(dinar.fromCents(100), 10))
	}
}

func TestUnknownCityPanics(t *testing.T) {
	s := start(t)
	for _, i := range []int{-1, s.CityCount()} {
		panics(t, fmt.Sprintf("CityID: no city %d; there are 30", i), func() { s.CityID(i) })
		panics(t, fmt.Sprintf("CityName: no city %d; there are 30", i), func() { s.CityName(i) })
	}
}
