// The answers of the content operations.

package hotelstaystest

import (
	"fmt"
	"testing"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestDestinations(t *testing.T) {
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
		{object{"countryCode": "CN"}, 2},
		{object{"countryCode": "GB"}, 0},                                           // it is not in this catalogue
		{object{"countryCode": "AE", "parentDestinationId": s.CityID(1)}, 2},       // the country counts
		{object{"parentDestinationId": s.CityID(0)}, 0},                            // a city
		{object{"parentDestinationId": "0f8fad5b-d9cb-469f-a165-70867728950e"}, 0}, // of another platform
		{object{"parentDestinationId": province}, 8},                               // two of ten are empty
		{object{"parentDestinationId": province, "filterEmptyCities": false}, 8},   // they have less than one hotel
		{object{"parentDestinationId": province, "minHotelCount": 0}, 8},           // they are empty
		{object{"parentDestinationId": province, "filterEmptyCities": false, "minHotelCount": 0}, 10},
		{object{"parentDestinationId": province, "minHotelCount": 3}, 6}, // two of ten are small
		{object{"parentDestinationId": province, "minHotelCount": 8}, 6},
		{object{"parentDestinationId": province, "minHotelCount": 9}, 0},
	} {
		same(t, len(get(tc.body)), tc.want, tc.body)
	}
	for include, want := range map[string]bool{"standard": false, "details": true} {
		city := get(object{"parentDestinationId": province, "include": include})[0].(object)
		for _, field := range []string{"coordinates", "extra", "destinationName", "parentDestinationName"} {
			same(t, city[field] != nil, want, include, field)
		}
	}
	u.refused(destinationsPath, object{"include": "all"}, 400, types.CodeParam, "include")
	u.refused(destinationsPath, object{"countryCode": "ae"}, 400, types.CodeParam, "countryCode")
	u.refused(destinationsPath, object{"minHotelCount": -1}, 400, types.CodeParam, "minHotelCount")
}

func TestHotelsMetadataPages(t *testing.T) {
	s, u := open(t, Config{Catalog: Catalog{HotelsPerCity: 50}})
	for _, tc := range []struct {
		page    object
		n       int
		hasMore string
	}{
		{nil, 20, "true"}, {object{"pageNum": 0}, 20, "true"}, {object{"pageNum": -7}, 20, "true"}, {object{"pageNum": 3}, 10, "false"},
		{object{"pageNum": 4}, 0, "false"}, {object{"pageNum": 1 << 60}, 0, "false"}, {object{"pageSize": 100}, 50, "false"},
		{object{"pageSize": 25, "pageNum": 2, "cursor": 3}, 25, "false"},
	} {
		body := object{"destinationId": s.CityID(0)}
		if tc.page != nil {
			body["page"] = tc.page
		}
		r := u.must(metadataPath, body)
		failIf(t, len(r.list("hotelsMetadata")) != tc.n || r.str("page", "total") != "50" || r.str("page", "hasMore") != tc.hasMore,
			"%v: %d hotels, page %v", tc.page, len(r.list("hotelsMetadata")), r.at("page"))
	}
	foreign := u.must(metadataPath, object{"destinationId": "another platform's"})
	failIf(t, len(foreign.list("hotelsMetadata")) != 0 || foreign.str("page", "total") != "0", "a foreign destination: %s", foreign.body)
	without := 0
	for _, h := range u.must(metadataPath, object{"destinationId": s.CityID(0), "page": object{"pageSize": 50}}).list("hotelsMetadata") {
		if h.(object)["platformHotelId"] == nil {
			without++
		}
	}
	same(t, without, 5, "hotels without platformHotelId")
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
