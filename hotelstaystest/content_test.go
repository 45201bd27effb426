// The answers of the content operations.

package hotelstaystest

import (
	"fmt"
	"testing"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestDestinations(t *testing.T) {
	s, u := open(t, Config{Catalog: Catalog{CitiesPerProvince: 10, HotelsPerCity: 8}})
	get := func(body object) []any {
		t.Helper()
		return u.must(destinationsPath, body).list("destinations")
	}
	first := func(body object) object { t.Helper(); return get(body)[0].(object) }

	top := get(object{})
	stopIf(t, len(top) != 3 || fmt.Sprint(top[0].(object)["type"]) != "2" || top[0].(object)["parentDestinationId"] != nil,
		"top level: %v", top)
	ae := first(object{})["id"]
	provinces := get(object{"parentDestinationId": ae})
	failIf(t, len(provinces) != 2 || fmt.Sprint(provinces) != fmt.Sprint(get(object{"countryCode": "AE", "parentDestinationId": s.CityID(1)})),
		"countryCode does not take precedence")
	for code, n := range map[string]int{"CN": 2, "GB": 0} { // GB is not in this catalogue
		got := get(object{"countryCode": code})
		failIf(t, len(got) != n, "%s has %d provinces", code, len(got))
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
		same(t, len(get(tc.more)), tc.want, tc.more)
	}
	if got := get(object{"parentDestinationId": s.CityID(0)}); len(got) != 0 {
		t.Errorf("a city has children: %v", got)
	}
	if got := get(object{"parentDestinationId": "0f8fad5b-d9cb-469f-a165-70867728950e"}); len(got) != 0 {
		t.Errorf("a foreign id has children: %v", got)
	}
	standard, details := first(object{"parentDestinationId": province}), first(object{"parentDestinationId": province, "include": "details"})
	for _, field := range []string{"coordinates", "extra", "destinationName", "parentDestinationName"} {
		failIf(t, standard[field] != nil || details[field] == nil, "%s: standard %v, details %v", field, standard[field], details[field])
	}
	u.refused(destinationsPath, object{"include": "all"}, 400, types.CodeParam, "include")
	u.refused(destinationsPath, object{"countryCode": "ae"}, 400, types.CodeParam, "countryCode")
	u.refused(destinationsPath, object{"minHotelCount": -1}, 400, types.CodeParam, "minHotelCount")
}

func TestHotelsMetadataPages(t *testing.T) {
	s, u := open(t, Config{Catalog: Catalog{HotelsPerCity: 50}})
	page := func(p object) *reply {
		t.Helper()
		b := object{"destinationId": s.CityID(0)}
		if p != nil {
			b["page"] = p
		}
		return u.must(metadataPath, b)
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
		failIf(t, len(r.list("hotelsMetadata")) != tc.n || r.str("page", "total") != "50" || r.str("page", "hasMore") != tc.hasMore,
			"%v: %d hotels, page %v", tc.page, len(r.list("hotelsMetadata")), r.at("page"))
	}
	u.refused(metadataPath, object{"destinationId": s.CityID(0), "page": object{"pageSize": 101}}, 400, types.CodeParam, "pageSize")
	u.refused(metadataPath, object{}, 400, types.CodeParam, "destinationId")
	foreign := u.must(metadataPath, object{"destinationId": "another platform's"})
	failIf(t, len(foreign.list("hotelsMetadata")) != 0 || foreign.str("page", "total") != "0", "a foreign destination: %s", foreign.body)

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
	failIf(t, len(seen) != 50 || without != 5, "%d hotels, %d of them without platformHotelId", len(seen), without)
}

func TestHotelStaticDetailAndIDList(t *testing.T) {
	s, u := open(t)
	id := s.HotelIDs(1)[0]
	r := u.must(detailPath, object{"hotelId": id})
	for _, field := range []string{
		"id", "platformHotelId", "minPrice", "minPricesByCurrency", "isAvailable", "rooms", "logoURL", "latlngCoordinator",
	} {
		r.str("hotel", field)
	}
	if r := u.must(detailPath, object{"hotelId": "42"}); r.at("hotel") != nil {
		t.Errorf("a foreign hotel: %s", r.body)
	}
	u.refused(detailPath, object{}, 400, types.CodeParam, "hotelId")

	converted := u.must(idListPath, object{"hotelIds": []int{hotelBase, 5}})
	failIf(t, len(converted.list("hotelIdList")) != 1 || converted.str("hotelIdList", 0, "hotelId") != id, "conversion: %s", converted.body)
	for _, by := range []object{{"regionCode": 1}, {"regionName": s.CityName(0)}} {
		r := u.must(idListPath, by)
		failIf(t, len(r.list("hotelIdList")) != 12, "%v: %s", by, r.body)
	}
	u.refused(idListPath, object{}, 400, types.CodeParam, "regionCode")
}
