package hotelstaystest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestDestinationsAppliesItsFilters(t *testing.T) {
	s, u := open(t, Config{Catalog: Catalog{CitiesPerProvince: 10, HotelsPerCity: 8}})
	get := func(body object) []any { t.Helper(); return u.must(destinationsPath, body).list("destinations") }
	top := get(object{})
	stopIf(t, len(top) != 3 || fmt.Sprint(top[0].(object)["type"]) != "2" || top[0].(object)["parentDestinationId"] != nil,
		"top level: %v", top)
	province := get(object{"parentDestinationId": top[0].(object)["id"]})[1].(object)["id"]
	for _, tc := range []struct {
		body object
		want int
	}{
		{object{"countryCode": "GB"}, 0},                                           // this catalogue does not have the country
		{object{"countryCode": "AE", "parentDestinationId": s.CityID(1)}, 2},       // the country takes precedence
		{object{"parentDestinationId": s.CityID(0)}, 0},                            // no destination is below a city
		{object{"parentDestinationId": "0f8fad5b-d9cb-469f-a165-70867728950e"}, 0}, // an unknown id
		{object{"parentDestinationId": province}, 8},                               // two of ten cities have no hotel
		{object{"parentDestinationId": province, "filterEmptyCities": false}, 8},   // the default of minHotelCount is 1
		{object{"parentDestinationId": province, "filterEmptyCities": false, "minHotelCount": 0}, 10},
		{object{"parentDestinationId": province, "minHotelCount": 3}, 6}, // two more cities have few hotels
	} {
		same(t, len(get(tc.body)), tc.want, tc.body)
	}
	u.refused(destinationsPath, object{"include": "all"}, 400, types.CodeParam, "include")
	u.refused(destinationsPath, object{"minHotelCount": -1}, 400, types.CodeParam, "minHotelCount")
}

func TestHotelStaticDetailAndHotelIDListFindHotels(t *testing.T) {
	s, u := open(t)
	id := s.HotelIDs(1)[0]
	r := u.must(detailPath, object{"hotelId": id})
	for _, field := range []string{
		"id", "platformHotelId", "minPrice", "minPricesByCurrency", "isAvailable", "rooms", "logoURL", "latlngCoordinator",
	} {
		r.str("hotel", field)
	}
	foreign := u.must(detailPath, object{"hotelId": "42"})
	same(t, foreign.at("hotel"), nil)
	u.refused(detailPath, object{}, 400, types.CodeParam, "hotelId")
	for _, tc := range []struct {
		by   object
		want int
	}{
		{object{"hotelIds": []int{hotelBase, 5}}, 1}, {object{"regionCode": 1}, 12}, {object{"regionName": s.CityName(0)}, 12},
	} {
		r := u.must(idListPath, tc.by)
		failIf(t, len(r.list("hotelIdList")) != tc.want || r.str("hotelIdList", 0, "hotelId") != id, "%v: %s", tc.by, r.body)
	}
	u.refused(idListPath, object{}, 400, types.CodeParam, "regionCode")
}

func TestNoTwoPlacesHaveTheSameIDOrName(t *testing.T) {
	cfg, _ := Config{Catalog: Catalog{CitiesPerProvince: 60}}.complete()
	w := newWorld(7, cfg.Catalog)
	for _, kind := range []placeKind{country, province, city} {
		names := map[i18n]bool{}
		for i := range w.count(kind) {
			p := place{kind, i}
			if got, ok := w.findPlace(w.destinationID(p)); !ok || got != p {
				t.Fatalf("the id of %v finds %v", p, got)
			}
			names[w.placeName(p)] = true
		}
		failIf(t, len(names) != w.count(kind), "level %d: %d names for %d places", kind, len(names), w.count(kind))
	}
	other := newWorld(8, w.size)
	if _, ok := other.findPlace(w.destinationID(place{city, 3})); ok {
		t.Error("findPlace accepts an id of another catalogue")
	}
	for _, id := range []string{"", "PH", "PH10000009", "S999-10000000", "S101-9999999", "PH99999999999", "10000000"} {
		h, ok := w.findHotel(id)
		failIf(t, ok, "the unknown id %q finds hotel %d", id, h)
	}
}

func TestMillionHotelsNeedLittleMemory(t *testing.T) {
	before := liveHeap()
	size := Catalog{Countries: 20, ProvincesPerCountry: 100, CitiesPerProvince: 10, HotelsPerCity: 50, EmptyEvery: -1}
	s := start(t, Config{NoRateLimits: true, Catalog: size})
	stopIf(t, s.CityCount() != 20_000 || s.HotelCount() != 1_000_000, "%d cities, %d hotels", s.CityCount(), s.HotelCount())
	u := login(t, s)
	last := u.must(metadataPath, object{"destinationId": s.CityID(19_999)})
	ids := []string{last.str("hotelsMetadata", 0, "hotelId"), s.HotelIDs(1)[0]}
	r := u.must(listPath, search(s, object{"destinationId": nil, "hotelIds": ids}))
	failIf(t, len(r.list("list")) != 2, "HotelList found %d hotels by id instead of 2", len(r.list("list")))
	grown := liveHeap() - before
	failIf(t, grown > 4<<20, "the heap grew by %d bytes", grown)
}

func TestEqualSeedsMakeEqualCatalogues(t *testing.T) {
	view := func(seed uint64) string {
		s, u := open(t, Config{Seed: seed})
		r := u.must(metadataPath, object{"destinationId": s.CityID(0)})
		in, ids := u.find(object{"maxRatesPerHotel": 2})
		avail := in.must(availPath, object{"ratePkgId": ids[0]})
		var suppliers []any // the ids of one hotel in eight sessions
		for range 8 {
			suppliers = append(suppliers, u.must(listPath, search(s, object{"pageSize": 1})).at("list", 0, "id"))
		}
		platform := r.at("hotelsMetadata", 0, "platformHotelId")
		failIf(t, len(slices.Compact(slices.Clone(suppliers))) == 1 || platform != s.HotelIDs(1)[0],
			"in eight sessions the hotel has the ids %v, and its platformHotelId is %v", suppliers, platform)
		b, _ := json.Marshal([]any{r.data, avail.at("roomRatePkg", "totalRate"), avail.at("roomRatePkg", "board"), suppliers})
		return string(b)
	}
	first, again, other := view(3), view(3), view(4)
	failIf(t, first != again, "the same seed makes different catalogues")
	failIf(t, first == other, "different seeds make the same catalogue")
}

func TestCityIDAndCityNamePanicOnAnUnknownIndexButHotelIDsDoesNot(t *testing.T) {
	s := start(t)
	all := s.HotelIDs(s.HotelCount())
	for n, want := range map[int]int{-1: 0, 0: 0, 3: 3, math.MaxInt: len(all)} {
		got := s.HotelIDs(n)
		failIf(t, !slices.Equal(got, all[:want]), "HotelIDs(%d) has %d ids, not %d", n, len(got), want)
	}
	for _, i := range []int{-1, s.CityCount()} {
		panics(t, fmt.Sprintf("CityID: no city %d; there are 30", i), func() { s.CityID(i) })
		panics(t, fmt.Sprintf("CityName: no city %d; there are 30", i), func() { s.CityName(i) })
	}
}
