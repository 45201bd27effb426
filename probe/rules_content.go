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
	{"destinations/form", "Destinations", "places have ids, kinds and names, and the country that was asked for", "", func(r *run) {
		r.whole = true
		code := r.country().code
		r.get(opDestinations, obj{"countryCode": code, "include": "details"}).shape(
			"destinations[].id uuid", "destinations[].type? 0|1|2|3|4|5|6|7|8|9|10|11|12", "destinations[].name?.en? string",
			"destinations[].countryCode? "+code, "destinations[].coordinates?.centerLat? number", "destinations[].coordinates?.centerLng? number",
			"destinations[].extra?.hotelCount? integer", "destinations[].parentDestinationId? string")
	}},
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
		breaks(details["coordinates"] == nil, "no destination has coordinates")
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

// said reports whether a page says that another one follows.
func said(hasMore *bool) bool { return hasMore != nil && *hasMore }

// catalogued is a page of the catalogue.
func catalogued(r *run, size, num int) page {
	body := obj{"pageSize": size, "pageNum": num}
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == 0 })
	resp := hotels(r.metadata(body))
	return page{resp.Page.Total, said(resp.Page.HasMore), ids(resp.HotelsMetadata, func(h types.HotelMetadata) string {
		return h.HotelID + " " + h.PlatformHotelID
	})}
}

// page is one of a search or of the catalogue.
type page struct {
	total   int
	hasMore bool
	ids     []string
}

// pager gets a page of a size; 0: what is the default.
type pager func(r *run, size, num int) page

// byDefault expects a size of pages without pageSize. No page has to be full.
func (get pager) byDefault(size int) func(*run) {
	return func(r *run) {
		p := get(r, 0, 0)
		n := len(p.ids)
		breaks(n > size, "expected a page of at most %d hotels, got %d", size, n)
		r.suffers(n < size && p.hasMore, "the page has %d hotels of %d, and more follow", n, size)
		skip(n < size && !p.hasMore, "the city has %d hotels", n)
	}
}

// takes expects that a pageSize is accepted.
func (get pager) takes(size int) func(*run) {
	return func(r *run) {
		n := len(get(r, size, 0).ids)
		breaks(n > size, "a page of %d has %d hotels", size, n)
		skip(n == 0, "the page is empty")
	}
}

// follow expects that pages have hotels of their own, and that none follows one without hasMore.
func (get pager) follow(r *run) {
	before := map[string]int{}
	for num, more := 1, true; more && num <= 4; num++ {
		p := get(r, 2, num)
		for _, id := range p.ids {
			breaks(before[id] > 0, "page %d repeats hotel %s of page %d", num, id, before[id])
			before[id] = num
		}
		r.suffers(num > 1 && len(p.ids) == 0, "hasMore of page %d is set, and page %d is empty", num-1, num)
		if more = p.hasMore; !more {
			n := len(get(r, 2, num+1).ids)
			breaks(n > 0, "hasMore of page %d is not set, and page %d has %d hotels", num, num+1, n)
			skip(num == 1, "there is one page")
		}
	}
}

// first finds out whether page 1 is the default.
func (get pager) first(r *run) { r.find("it is: %t", slices.Equal(get(r, 2, 0).ids, get(r, 2, 1).ids)) }

// totals finds out whether there are any.
func (get pager) totals(r *run) {
	p := get(r, 2, 1)
	breaks(p.total != 0 && p.total < len(p.ids), "total is %d, and the page has %d hotels", p.total, len(p.ids))
	skip(len(p.ids) == 0, "the page is empty")
	r.find("totals: %t", p.total != 0)
}

var metadataRules = []Rule{
	{"metadata/form", "HotelsMetadata", "hotels and page have the documented form", "", func(r *run) {
		r.whole = true
		r.metadata(nil).shape("hotelsMetadata[].hotelId? string", "hotelsMetadata[].platformHotelId? string",
			"hotelsMetadata[].destinationId? string", "hotelsMetadata[].name? object", "hotelsMetadata[].rating? number",
			"hotelsMetadata[].address? object", "hotelsMetadata[].logoURL? string", "hotelsMetadata[].latlngCoordinator?.google.lat number",
			"hotelsMetadata[].latlngCoordinator?.google.lng number", "page.total? integer", "page.hasMore? boolean")
	}},
	{"metadata/destination", "HotelsMetadata", "destinationId is required", "", refuses(0, 0, asking(opHotelsMetadata, obj{}))},
	{"metadata/default-size", "HotelsMetadata", "a page has 20 hotels by default", "", pager(catalogued).byDefault(20)},
	{"metadata/size-largest", "HotelsMetadata", "a pageSize of 100 is accepted", "", pager(catalogued).takes(100)},
	{"metadata/size-above", "HotelsMetadata", "a pageSize of 101 is refused with code 100000400", "",
		refuses(0, types.CodeParam, func(r *run) *answer { return r.metadata(obj{"pageSize": 101}) })},
	{"metadata/page-below-1", "HotelsMetadata", "a pageNum below 1 is page 1", "", func(r *run) {
		one := hotels(r.metadata(obj{"pageNum": 1})).HotelsMetadata
		id := func(h types.HotelMetadata) string { return h.HotelID + " " + h.PlatformHotelID }
		for _, num := range []int{0, -1} {
			same := hotels(r.metadata(obj{"pageNum": num})).HotelsMetadata
			breaks(!slices.Equal(ids(one, id), ids(same, id)), "page %d is another one than page 1", num)
		}
	}},
	{"metadata/pages", "HotelsMetadata", "pages do not repeat each other, and hasMore says whether one follows", "", pager(catalogued).follow},
	{"metadata/total", "PageResp", "whether the catalogue has totals", "", pager(catalogued).totals},
	{"metadata/gaode", "LatlngCoordinator", "a gaode point, where there is one, has lat and lng", "", func(r *run) {
		r.metadata(nil).shape("hotelsMetadata[].latlngCoordinator?.gaode?.lat number", "hotelsMetadata[].latlngCoordinator?.gaode?.lng number")
	}},
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
