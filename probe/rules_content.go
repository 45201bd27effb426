// Rules of the catalogue.

package probe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// places calls Destinations.
func (r *run) places(body obj) (*answer, []types.Destination, error) {
	a := r.get(opDestinations, body)
	resp, err := read[hotelstays.DestinationsResponse](a)
	if err != nil {
		return a, nil, err
	}
	return a, resp.Destinations, nil
}

// alike expects that two bodies of Destinations have one answer.
func (r *run) alike(one, two obj) error {
	a, b := r.get(opDestinations, one), r.get(opDestinations, two)
	check(first(a.ok(), b.ok()))
	breaks(!same(a, b), "%v and %v have other destinations", one, two)
	return nil
}

// countryCode is that of the country with places.
func (r *run) countryCode() (string, []types.Destination, error) {
	places, err := r.country()
	if err != nil {
		return "", nil, err
	}
	return r.world.code, places, nil
}

var destinationRules = []Rule{
	{"destinations/form", "Destinations", "places have ids, kinds and names, and the country that was asked for", 0, func(r *run) error {
		code, _, err := r.countryCode()
		if err != nil {
			return blame(err)
		}
		return r.get(opDestinations, obj{"countryCode": code, "include": "details"}).shape(
			"destinations[].id uuid", "destinations[].type 0|1|2|3|4|5|6|7|8|9|10|11|12", "destinations[].name?.en? string",
			"destinations[].countryCode? "+code, "destinations[].coordinates?.centerLat number", "destinations[].coordinates?.centerLng number",
			"destinations[].extra?.hotelCount? integer", "destinations[].parentDestinationId? string")
	}},
	{"destinations/children", "Destinations", "parentDestinationId returns the immediate children", 0, func(r *run) error {
		_, places, err := r.countryCode()
		if err != nil {
			return err
		}
		_, below, err := r.places(obj{"parentDestinationId": places[0].ID})
		for _, place := range below {
			if up := place.ParentDestinationID; up != "" && up != places[0].ID {
				return fmt.Errorf("a child has another parentDestinationId, %q", up)
			}
		}
		if err == nil && len(below) == 0 {
			return notTried("the place has no children")
		}
		return err
	}},
	{"destinations/country-first", "Destinations", "with a countryCode parentDestinationId is disregarded", 0, func(r *run) error {
		code, places, err := r.countryCode()
		if err != nil {
			return err
		}
		return r.alike(obj{"countryCode": code}, obj{"countryCode": code, "parentDestinationId": places[0].ID})
	}},
	{"destinations/defaults", "Destinations", "the defaults are standard, without empty cities, from 1 hotel on", 0, func(r *run) error {
		_, places, err := r.countryCode()
		if err != nil {
			return err
		}
		id := places[0].ID
		return r.alike(obj{"parentDestinationId": id},
			obj{"parentDestinationId": id, "include": "standard", "filterEmptyCities": true, "minHotelCount": 1})
	}},
	{"destinations/min-hotels", "Destinations", "minHotelCount leaves out cities with fewer hotels", 0, func(r *run) error {
		city, err := r.city()
		if err == nil && city.ParentDestinationID == "" {
			err = notTried("the city does not name its parent")
		}
		if err != nil {
			return err
		}
		_, left, err := r.places(obj{"parentDestinationId": city.ParentDestinationID, "minHotelCount": 100_000_000})
		if slices.ContainsFunc(left, func(p types.Destination) bool { return p.Type == types.DestinationCity }) {
			return fmt.Errorf("a city is said to have a hundred million hotels")
		}
		return err
	}},
	{"destinations/details", "Destinations", "details have coordinates; which fields they add", 0, func(r *run) error {
		code, _, err := r.countryCode()
		if err != nil {
			return err
		}
		fields := func(include string) (map[string]bool, error) {
			resp, err := read[struct{ Destinations []obj }](r.get(opDestinations, obj{"countryCode": code, "include": include}))
			all := map[string]bool{}
			if err == nil {
				for _, place := range resp.Destinations {
					for name := range place {
						all[name] = true
					}
				}
			}
			return all, err
		}
		standard, err := fields("standard")
		details, err2 := fields("details")
		check(first(err, err2))
		breaks(!details["coordinates"], "no destination has coordinates")
		maps.DeleteFunc(details, func(name string, _ bool) bool { return standard[name] })
		r.find("details add %s", strings.Join(slices.Sorted(maps.Keys(details)), " "))
		return nil
	}},
	{"destinations/polygon", "Destination", "how coordinates of a bounding polygon nest", 0, func(r *run) error {
		code, _, err := r.countryCode()
		if err != nil {
			return err
		}
		_, places, err := r.places(obj{"countryCode": code, "include": "details"})
		for _, place := range places {
			if c := place.Coordinates; c != nil && c.BoundingPolygon != nil {
				text := string(c.BoundingPolygon.Coordinates)
				r.find("%s, %d arrays deep", c.BoundingPolygon.Type, len(text)-len(strings.TrimLeft(text, "[")))
				return nil
			}
		}
		return first(err, notTried("no destination has a polygon"))
	}},
	{"destinations/top", "Destinations", "what an empty request returns", 0, func(r *run) error {
		a, places, _ := r.places(obj{})
		check(a.barred())
		kinds := map[types.DestinationType]int{}
		for _, place := range places {
			kinds[place.Type]++
		}
		r.find("%s; destinations by type: %v", a, kinds)
		return nil
	}},
}

// metadata calls HotelsMetadata for the city.
func (r *run) metadata(page obj) *answer {
	city, err := r.city()
	if err != nil {
		return &answer{op: opHotelsMetadata, err: err}
	}
	body := obj{"destinationId": city.ID}
	if page != nil {
		body["page"] = page
	}
	return r.get(opHotelsMetadata, body)
}

// hotels expects at most a number of hotels.
func hotels(a *answer, most int) (*hotelstays.HotelsMetadataResponse, error) {
	resp, err := read[hotelstays.HotelsMetadataResponse](a)
	if err == nil && len(resp.HotelsMetadata) > most {
		return nil, fmt.Errorf("the page has %d hotels, more than %d", len(resp.HotelsMetadata), most)
	}
	return resp, err
}

var metadataRules = []Rule{
	{"metadata/form", "HotelsMetadata", "hotels and page have the documented form", 0, func(r *run) error {
		if _, err := r.city(); err != nil {
			return blame(err)
		}
		return r.metadata(nil).shape("hotelsMetadata[].hotelId? string", "hotelsMetadata[].platformHotelId? string",
			"hotelsMetadata[].destinationId? string", "hotelsMetadata[].name? object", "hotelsMetadata[].rating? number",
			"hotelsMetadata[].address? object", "hotelsMetadata[].logoURL? string", "hotelsMetadata[].latlngCoordinator?.google.lat number",
			"hotelsMetadata[].latlngCoordinator?.google.lng number", "page.total? integer", "page.hasMore? boolean")
	}},
	{"metadata/destination", "HotelsMetadata", "destinationId is required", 0, func(r *run) error {
		return r.get(opHotelsMetadata, obj{}).refused(0)
	}},
	{"metadata/default-size", "HotelsMetadata", "a page has 20 hotels by default", 0, func(r *run) error {
		resp, err := hotels(r.metadata(nil), 20)
		if err == nil && len(resp.HotelsMetadata) < 20 {
			breaks(resp.Page.HasMore, "the page has %d hotels", len(resp.HotelsMetadata))
			return notTried("the city has %d hotels", len(resp.HotelsMetadata))
		}
		return err
	}},
	{"metadata/size-largest", "HotelsMetadata", "a pageSize of 100 is accepted", 0, func(r *run) error {
		_, err := hotels(r.metadata(obj{"pageSize": 100}), 100)
		return err
	}},
	{"metadata/size-above", "HotelsMetadata", "a pageSize of 101 is refused with code 100000400", 0, func(r *run) error {
		return r.metadata(obj{"pageSize": 101}).refused(types.CodeParam)
	}},
	{"metadata/page-below-1", "HotelsMetadata", "a pageNum below 1 is page 1", 0, func(r *run) error {
		one, zero, minus := r.metadata(obj{"pageNum": 1}), r.metadata(obj{"pageNum": 0}), r.metadata(obj{"pageNum": -1})
		check(first(one.ok(), zero.ok(), minus.ok()))
		breaks(!same(one, zero) || !same(one, minus), "page 0 or -1 is another one than page 1")
		return nil
	}},
	{"metadata/pages", "HotelsMetadata", "pages do not repeat each other, and hasMore says whether one follows", 0, func(r *run) error {
		one, err := hotels(r.metadata(obj{"pageSize": 2, "pageNum": 1}), 2)
		two, err2 := hotels(r.metadata(obj{"pageSize": 2, "pageNum": 2}), 2)
		check(first(err, err2))
		switch more := one.Page.HasMore; {
		case more != (len(two.HotelsMetadata) > 0):
			return fmt.Errorf("hasMore of page 1 is %t, and page 2 has %d hotels", more, len(two.HotelsMetadata))
		case more && len(one.HotelsMetadata) > 0 && slices.ContainsFunc(two.HotelsMetadata, func(h types.HotelMetadata) bool {
			return h.HotelID == one.HotelsMetadata[0].HotelID && h.PlatformHotelID == one.HotelsMetadata[0].PlatformHotelID
		}):
			return fmt.Errorf("page 2 repeats a hotel of page 1")
		}
		return nil
	}},
	{"metadata/total", "PageResp", "whether the catalogue has totals", 0, func(r *run) error {
		a := r.metadata(obj{"pageSize": 2})
		resp := must(hotels(a, 2))
		if total := resp.Page.Total; total != 0 && total < len(resp.HotelsMetadata) {
			return fmt.Errorf("total is %d, and the page has %d hotels", total, len(resp.HotelsMetadata))
		}
		r.find("totals: %t", resp.Page.Total != 0)
		return nil
	}},
	{"metadata/gaode", "LatlngCoordinator", "a gaode point, where there is one, has lat and lng", 0, func(r *run) error {
		return r.metadata(nil).shape("hotelsMetadata[].latlngCoordinator?.gaode?.lat number",
			"hotelsMetadata[].latlngCoordinator?.gaode?.lng number")
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
