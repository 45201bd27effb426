// The operations Destinations, HotelsMetadata, HotelStaticDetail and HotelIDList.

package hotelstaystest

import (
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

var contentOperations = []operation{
	{"Destinations", sessionNone, types.ScopeContentRead, runs(runDestinations),
		"Lists the destinations in a country, or the destinations below a parent destination."},
	{"HotelsMetadata", sessionNone, types.ScopeContentRead, runs(runHotelsMetadata),
		"Lists the hotels of a destination in pages, without prices."},
	{"HotelStaticDetail", sessionNone, types.ScopeContentRead, runs(runHotelStaticDetail), "Describes one hotel (under development)."},
	{"HotelIDList", sessionNone, types.ScopeContentRead, runs(runHotelIDList), "Lists hotel ids, as in an older edition of the API document."},
}

type destinationsRequest struct {
	CountryCode         string `json:"countryCode"`
	ParentDestinationID string `json:"parentDestinationId"`
	Include             string `json:"include"`
	FilterEmptyCities   *bool  `json:"filterEmptyCities"`
	MinHotelCount       *int   `json:"minHotelCount"`
}

type destinationsResponse struct {
	Destinations []destination `json:"destinations"`
}

func runDestinations(s *Server, c *call, req *destinationsRequest) (*destinationsResponse, error) {
	if err := checkCountry("countryCode", req.CountryCode); err != nil {
		return nil, err
	}
	details := req.Include == "details"
	if !details && req.Include != "" && req.Include != "standard" {
		return nil, badRequest("include must be standard or details, not %q", req.Include)
	}
	filter, least := given(req.FilterEmptyCities, true), given(req.MinHotelCount, 1)
	if least < 0 {
		return nil, badRequest("minHotelCount cannot be negative")
	}
	resp := &destinationsResponse{Destinations: []destination{}}
	for _, p := range s.world.listed(req.CountryCode, req.ParentDestinationID) {
		if p.kind == city {
			if n := s.world.hotelCount(p); n < least || (filter && n == 0) {
				continue
			}
		}
		resp.Destinations = append(resp.Destinations, s.world.destination(p, details))
	}
	return resp, nil
}

// listed returns the places that Destinations lists: the places one level below a country or a parent. If the request has
// both, only the country code counts. If it has neither, listed returns the countries. For an unknown country code or
// parent id, listed returns nothing.
func (w *world) listed(countryCode, parentID string) []place {
	if countryCode != "" {
		for i := range w.size.Countries {
			if countries[i].code == countryCode {
				return w.children(place{country, i})
			}
		}
		return nil
	}
	p, ok := w.findPlace(parentID)
	if !ok && parentID != "" {
		return nil
	}
	return w.children(p)
}

func (w *world) destination(p place, details bool) destination {
	facts := countries[w.country(p)]
	d := destination{
		ID: w.destinationID(p), Type: int(p.kind), Name: w.placeName(p), NameFull: w.fullName(p),
		CountryCode: facts.code, CountryName: facts.name,
	}
	up, hasParent := w.parent(p)
	if hasParent {
		d.ParentDestinationID = w.destinationID(up)
	}
	if !details {
		return d
	}
	d.DestinationName = &d.Name
	if hasParent {
		name := w.placeName(up)
		d.ParentDestinationName = &name
	}
	d.Coordinates = w.coordinates(p)
	d.Extra = &destinationExtra{ContinentName: &continents[facts.continent], HotelCount: w.hotelCount(p)}
	switch p.kind {
	case city:
		d.Extra.CityName, d.Extra.ProvinceName = d.DestinationName, d.ParentDestinationName
	case province:
		d.Extra.ProvinceName = d.DestinationName
	}
	return d
}

const degree = 1_000_000 // in micros

// position returns the centre of a place. It is within two degrees of the centre of its country.
func (w *world) position(p place) latlng {
	facts := countries[w.country(p)]
	at := latlng{micro(facts.lat * degree), micro(facts.lng * degree)}
	if p.kind != country {
		at.Lat += micro(w.pick(4*degree, forPosition, int(p.kind), p.index) - 2*degree)
		at.Lng += micro(w.pick(4*degree, forPosition, int(p.kind), p.index, 1) - 2*degree)
	}
	return at
}

func (w *world) coordinates(p place) *coordinates {
	at := w.position(p)
	r := micro(degree / 10)
	if p.kind != city {
		r = 3 * degree
	}
	ring := [][2]micro{
		{at.Lng - r, at.Lat - r}, {at.Lng + r, at.Lat - r}, {at.Lng + r, at.Lat + r}, {at.Lng - r, at.Lat + r}, {at.Lng - r, at.Lat - r},
	}
	return &coordinates{CenterLat: at.Lat, CenterLng: at.Lng, BoundingPolygon: &polygon{Type: "Polygon", Coordinates: [][][2]micro{ring}}}
}

// hotelPosition returns a hotel's position. A hotel in China also has Gaode coordinates, which
// are shifted.
func (w *world) hotelPosition(hotel int) *coordinator {
	c := place{city, w.cityOf(hotel)}
	at := w.position(c)
	at.Lat += micro(w.pick(degree/5, forPosition, hotel, 2) - degree/10)
	at.Lng += micro(w.pick(degree/5, forPosition, hotel, 3) - degree/10)
	pos := &coordinator{Google: at}
	if countries[w.country(c)].code == "CN" {
		pos.Gaode = &latlng{at.Lat - 2100, at.Lng + 5400}
	}
	return pos
}

// rating returns a hotel's rating, 2.0 to 5.0.
func (w *world) rating(hotel int) tenth { return tenth(20 + w.pick(31, forRating, hotel)) }

func (w *world) hotelFacts(hotel int) hotelFacts {
	return hotelFacts{
		DestinationID: w.destinationID(place{city, w.cityOf(hotel)}), Name: w.hotelName(hotel), Rating: w.rating(hotel),
		Address: w.hotelAddress(hotel), LatlngCoordinator: w.hotelPosition(hotel),
		LogoURL: "https://images.example.com/hotels/" + base36(int64(hotel)) + ".png",
	}
}

type hotelsMetadataRequest struct {
	DestinationID string       `json:"destinationId"`
	CountryCode   string       `json:"countryCode"`
	Page          *pageRequest `json:"page"`
}

type hotelsMetadataResponse struct {
	HotelsMetadata []hotel      `json:"hotelsMetadata"`
	Page           pageResponse `json:"page"`
}

func runHotelsMetadata(s *Server, c *call, req *hotelsMetadataRequest) (*hotelsMetadataResponse, error) {
	if req.DestinationID == "" {
		return nil, badRequest("destinationId is required")
	}
	if err := checkCountry("countryCode", req.CountryCode); err != nil {
		return nil, err
	}
	page := given(req.Page, pageRequest{})
	pageNum, pageSize := max(1, given(page.PageNum, 1)), given(page.PageSize, 20)
	if pageSize < 1 || pageSize > 100 {
		return nil, badRequest("page.pageSize must be between 1 and 100, not %d", pageSize)
	}
	resp := &hotelsMetadataResponse{HotelsMetadata: []hotel{}}
	p, ok := s.world.findPlace(req.DestinationID)
	if !ok || (req.CountryCode != "" && countries[s.world.country(p)].code != req.CountryCode) {
		return resp, nil
	}
	total := s.world.hotelCount(p)
	from, to := pageBounds(pageNum, pageSize, total)
	for _, h := range s.world.hotelsUnder(p, from, to-from) {
		resp.HotelsMetadata = append(resp.HotelsMetadata, hotel{
			HotelID: sourceID(s.world.supplierOf(h, 0), h), PlatformHotelID: s.world.platformID(h), hotelFacts: s.world.hotelFacts(h),
		})
	}
	resp.Page = pageResponse{Total: s.total(total), HasMore: to < total}
	return resp, nil
}

// pageBounds returns the range [from, to) of the items on page num, counted from 1.
func pageBounds(num, size, total int) (from, to int) {
	from = total
	if num-1 <= total/size { // for a larger num, the product could overflow
		from = min((num-1)*size, total)
	}
	return from, min(from+size, total)
}

// total returns n, or 0 with [Variants.NoTotals].
func (s *Server) total(n int) int {
	if s.cfg.Variants.NoTotals {
		return 0
	}
	return n
}

type hotelStaticDetailRequest struct {
	HotelID string `json:"hotelId"`
}

type hotelStaticDetailResponse struct {
	Hotel *hotel `json:"hotel,omitempty"`
}

// runHotelStaticDetail describes a hotel with its prices for tomorrow night.
func runHotelStaticDetail(s *Server, c *call, req *hotelStaticDetailRequest) (*hotelStaticDetailResponse, error) {
	if req.HotelID == "" {
		return nil, badRequest("hotelId is required")
	}
	h, ok := s.world.findHotel(req.HotelID)
	if !ok {
		return &hotelStaticDetailResponse{}, nil
	}
	today := s.clock.now().UTC().Truncate(24 * time.Hour)
	st := stay{checkIn: today.AddDate(0, 0, 1), nights: 1, rooms: []occupancy{{Adults: 2}}}
	supplier := s.world.supplierOf(h, 0)
	d := hotel{ID: sourceID(supplier, h), PlatformHotelID: s.world.platformID(h), hotelFacts: s.world.hotelFacts(h)}
	dollars, _ := findCurrency("USD")
	s.priceHotel(&d, h, st, dollars)
	for r := range s.world.size.RoomsPerHotel {
		d.Rooms = append(d.Rooms, room{roomKind: s.world.roomKind(h, r, d.ID)})
	}
	return &hotelStaticDetailResponse{Hotel: &d}, nil
}

type hotelIDListRequest struct {
	HotelIDs   []int  `json:"hotelIds"`
	RegionCode *int   `json:"regionCode"`
	RegionName string `json:"regionName"`
}

type hotelIDItem struct {
	HotelID string `json:"hotelId"`
}

type hotelIDListResponse struct {
	HotelIDList []hotelIDItem `json:"hotelIdList"`
}

func runHotelIDList(s *Server, c *call, req *hotelIDListRequest) (*hotelIDListResponse, error) {
	resp := &hotelIDListResponse{HotelIDList: []hotelIDItem{}}
	add := func(h int) {
		id := s.world.platformID(h)
		if id == "" {
			id = sourceID(s.world.supplierOf(h, 0), h)
		}
		resp.HotelIDList = append(resp.HotelIDList, hotelIDItem{id})
	}
	for _, n := range req.HotelIDs {
		if s.world.hotelExists(n - hotelBase) {
			add(n - hotelBase)
		}
	}
	regions := s.world.citiesNamed(req.RegionName)
	if code := given(req.RegionCode, 0); code >= 1 && code <= s.world.cities() {
		regions = append(regions, place{city, code - 1})
	}
	for _, p := range regions {
		for _, h := range s.world.hotelsUnder(p, 0, s.world.size.HotelsPerCity) {
			add(h)
		}
	}
	if len(req.HotelIDs) == 0 && req.RegionCode == nil && req.RegionName == "" {
		return nil, badRequest("hotelIds, regionCode or regionName is required")
	}
	return resp, nil
}

// checkCountry checks country codes. Its arguments are pairs: the name of a field, and then the value of this field.
func checkCountry(fields ...string) error {
	for field := range slices.Chunk(fields, 2) {
		if code := field[1]; code != "" && !countryForm.MatchString(code) {
			return badRequest("%s must be two capital letters (ISO 3166-1 alpha-2), not %q", field[0], code)
		}
	}
	return nil
}

// given returns the value of a request's field, or the value absent if the field is nil.
func given[T any](field *T, absent T) T {
	if field == nil {
		return absent
	}
	return *field
}
