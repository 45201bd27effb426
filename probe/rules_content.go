// Rules of the catalogue.

package probe

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// ids are those of elements in order, because the document promises none.
func ids[T any](list []T, id func(T) string) (all []string) {
	for _, v := range list {
		all = append(all, id(v))
	}
	slices.Sort(all)
	return all
}

// alike expects that two bodies of Destinations have one answer.
func (r *run) alike(one, two obj) {
	id := func(place types.Destination) string { return place.ID }
	first, second := ids(r.places(one), id), ids(r.places(two), id)
	breaks(!slices.Equal(first, second), "expected the same destinations for %v as for %v, got %d and %d: %v and %v", two, one, len(second),
		len(first), second, first)
}

var destinationRules = []Rule{
	{"destinations/country-first", "Destinations", "with a countryCode parentDestinationId is disregarded", "", func(r *run) {
		at := r.country()
		r.alike(obj{"countryCode": at.code}, obj{"countryCode": at.code, "parentDestinationId": at.places[0].ID})
	}},
	{"destinations/defaults", "Destinations", "the defaults are standard, without empty cities, from 1 hotel on", "", func(r *run) {
		id := r.country().places[0].ID
		r.alike(obj{"parentDestinationId": id},
			obj{"parentDestinationId": id, "include": "standard", "filterEmptyCities": true, "minHotelCount": 1})
	}},
	{"destinations/min-hotels", "Destinations", "minHotelCount leaves out cities with fewer hotels", "", func(r *run) {
		asked := maps.Clone(r.city().asked)
		skip(asked == nil, "needs a city that was found (no -destination)")
		asked["minHotelCount"] = 100_000_000
		for _, place := range r.places(asked) {
			breaks(place.Type == types.DestinationCity, "a city is said to have a hundred million hotels")
		}
	}},
	{"destinations/details", "Destinations", "details have coordinates; which fields they add", "", func(r *run) {
		code := r.country().code
		fields := func(include string) obj {
			all := obj{}
			a := r.get(opDestinations, obj{"countryCode": code, "include": include})
			for _, place := range read[struct{ Destinations []obj }](a).Destinations {
				maps.Copy(all, place)
			}
			return all
		}
		standard, details := fields("standard"), fields("details")
		maps.DeleteFunc(details, func(name string, _ any) bool { _, there := standard[name]; return there })
		r.find("details add %s", strings.Join(slices.Sorted(maps.Keys(details)), " "))
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
}

// metadata calls HotelsMetadata for the city, with a page unless that is empty.
func (r *run) metadata(page obj) *answer {
	body := obj{"destinationId": r.city().ID}
	if len(page) > 0 {
		body["page"] = page
	}
	return r.get(opHotelsMetadata, body)
}

func hotels(a *answer) *hotelstays.HotelsMetadataResponse {
	return read[hotelstays.HotelsMetadataResponse](a)
}

var metadataRules = []Rule{
	{"metadata/default-size", "HotelsMetadata", "a page has 20 hotels by default", "", byDefault(opHotelsMetadata, 20)},
	{"metadata/page-below-1", "HotelsMetadata", "a pageNum below 1 is page 1", "", func(r *run) {
		one := r.page(walk{op: opHotelsMetadata}, 0, 1, nil).ids
		for _, num := range []int{0, -1} {
			id := func(h types.HotelMetadata) string { return h.HotelID + " " + h.PlatformHotelID }
			same := ids(hotels(r.metadata(obj{"pageNum": num})).HotelsMetadata, id)
			breaks(!slices.Equal(one, same), "page %d is another one than page 1", num)
		}
	}},
	{"metadata/total", "PageResp", "a total is 0, or at least what the page has; whether the catalogue has totals", "", totals(opHotelsMetadata)},
}

// member reports the JSON of a member of data, or "absent".
func (a *answer) member(name string) string {
	var data map[string]json.RawMessage
	if json.Unmarshal(a.Data, &data) != nil {
		return "absent"
	}
	if text, there := data[name]; there {
		return string(text)
	}
	return "absent"
}
