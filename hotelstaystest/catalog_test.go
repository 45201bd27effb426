// The catalogue of any size, equal for equal seeds.

package hotelstaystest

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
)

func TestPlacesResolveAndNamesAreUnique(t *testing.T) {
	w := newWorld(7, Catalog{})
	w.size.setDefaults()
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
		failIf(t, len(names) != w.count(kind), "level %d: %d names for %d places", kind, len(names), w.count(kind))
	}
	other := newWorld(8, w.size)
	if _, ok := other.findPlace(w.destinationID(place{city, 3})); ok {
		t.Error("an id of another world resolves")
	}
	for _, id := range []string{"", "PH", "PH10000009", "S999-10000000", "S101-9999999", "PH99999999999", "10000000"} {
		h, ok := w.findHotel(id)
		failIf(t, ok, "%q resolves to hotel %d", id, h)
	}
}

func TestMillionHotelsCostNoMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	size := Catalog{Countries: 20, ProvincesPerCountry: 100, CitiesPerProvince: 10, HotelsPerCity: 50, EmptyEvery: -1}
	s := start(t, Config{NoRateLimits: true, Catalog: size})
	stopIf(t, s.CityCount() != 20_000 || s.HotelCount() != 1_000_000, "%d cities, %d hotels", s.CityCount(), s.HotelCount())
	u := login(t, s)
	last := u.must(metadataPath, object{"destinationId": s.CityID(19_999)})
	ids := []string{last.str("hotelsMetadata", 0, "hotelId"), s.HotelIDs(1)[0]}
	r := u.must(listPath, search(s, object{"destinationId": nil, "hotelIds": ids}))
	failIf(t, len(r.list("list")) != 2, "found %d hotels by id", len(r.list("list")))
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	failIf(t, grown > 4<<20, "the heap grew by %d bytes", grown)
}

func TestSeed(t *testing.T) {
	view := func(seed uint64) string {
		s, u := open(t, Config{Seed: seed})
		r := u.must(metadataPath, object{"destinationId": s.CityID(0)})
		in, ids := u.find(object{"maxRatesPerHotel": 2})
		avail := in.must(availPath, object{"ratePkgId": ids[0]})
		var suppliers []any // of one hotel, in eight sessions
		for range 8 {
			suppliers = append(suppliers, u.must(listPath, search(s, object{"pageSize": 1})).at("list", 0, "id"))
		}
		platform := r.at("hotelsMetadata", 0, "platformHotelId")
		failIf(t, len(slices.Compact(slices.Clone(suppliers))) == 1 || platform != s.HotelIDs(1)[0],
			"a hotel is %v in each of eight sessions, and platform-wide %v", suppliers, platform)
		b, _ := json.Marshal([]any{r.data, avail.at("roomRatePkg", "totalRate"), avail.at("roomRatePkg", "board"), suppliers})
		return string(b)
	}
	first, again, other := view(3), view(3), view(4)
	failIf(t, first != again, "one seed gives two worlds")
	failIf(t, first == other, "two seeds give one world")
}

func TestHotelIDsAndCities(t *testing.T) {
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
