// The searches: HotelList, HotelRates and CheckAvail.

package hotelstaystest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

var searchOperations = []operation{
	{"HotelList", sessionOptional, types.ScopeSearchRead, runs(runHotelList),
		"Searches hotels with their offers for some dates and rooms."},
	{"HotelRates", sessionRequired, types.ScopeSearchRead, runs(runHotelRates), "Lists all offers of one hotel."},
	{"CheckAvail", sessionRequired, types.ScopeSearchRead, runs(runCheckAvail),
		"Checks one offer: whether it still exists, and its present price."},
}

// The sandbox's limits of a search.
const (
	maxNights    = 365
	maxRooms     = 50
	maxAdults    = 20
	maxExpansion = 2000 // maximum number of hotels that a search takes from its destination
	maxCities    = 50   // maximum number of cities per destinationName
)

type hotelListRequest struct {
	stayRequest
	pageRequest
	HotelIDs         []string `json:"hotelIds"`
	DestinationID    string   `json:"destinationId"`
	DestinationName  string   `json:"destinationName"`
	MaxRatesPerHotel *int     `json:"maxRatesPerHotel"`
	SortBy           string   `json:"sortBy"`
}

type searchBasic struct {
	Destination  *destination       `json:"destination,omitempty"`
	SessionID    string             `json:"sessionId"`
	StatusRemark string             `json:"statusRemark,omitempty"`
	Notices      []string           `json:"notices,omitempty"`
	EmptyReason  *types.EmptyReason `json:"emptyReason,omitempty"`
}

type hotelListResponse struct {
	List  []hotel     `json:"list"`
	Basic searchBasic `json:"basic"`
	pageResponse
}

func runHotelList(s *Server, c *call, req *hotelListRequest) (*hotelListResponse, error) {
	st, err := req.read()
	if err != nil {
		return nil, err
	}
	pageNum, pageSize, err := s.checkHotelList(req)
	if err != nil {
		return nil, err
	}
	if c.session == "" {
		c.session = s.newSession(c.account)
	}
	resp := &hotelListResponse{List: []hotel{}, Basic: searchBasic{SessionID: c.session}}
	if reason := s.emptyReason(c); reason != nil {
		resp.Basic.EmptyReason = reason
		resp.Basic.StatusRemark = "The result is empty: " + string(reason.Code) + "."
		return resp, nil
	}
	found, notices := s.candidates(req, &resp.Basic)
	if len(found) > 0 {
		notices = append(notices, s.cfg.Notices...)
	}
	resp.Basic.Notices = notices
	if len(notices) > 0 {
		resp.Basic.StatusRemark = "The result is incomplete."
	}
	s.sortHotels(found, req.SortBy, st, resp.Basic.Destination)
	from, to := pageBounds(pageNum, pageSize, len(found))
	for _, h := range found[from:to] {
		resp.List = append(resp.List, s.searchedHotel(h, st, c, req.MaxRatesPerHotel))
	}
	resp.pageResponse = pageResponse{s.total(len(found)), to < len(found)}
	return resp, nil
}

func (s *Server) checkHotelList(req *hotelListRequest) (pageNum, pageSize int, err error) {
	pageNum, pageSize = given(req.PageNum, 1), given(req.PageSize, 50)
	idLimit := 1000
	if s.cfg.VisibilityBand {
		idLimit = 200
	}
	switch {
	case len(req.HotelIDs) == 0 && req.DestinationID == "" && req.DestinationName == "":
		err = badRequest("one of hotelIds, destinationId and destinationName is required")
	case len(req.HotelIDs) > idLimit:
		err = badRequest("hotelIds must contain at most %d ids, not %d", idLimit, len(req.HotelIDs))
	case slices.Contains(req.HotelIDs, ""):
		err = badRequest("hotelIds contains an empty id")
	case pageNum < 1:
		err = badRequest("pageNum must be at least 1, not %d", pageNum)
	case pageSize < 1 || pageSize > 200:
		err = badRequest("pageSize must be between 1 and 200, not %d", pageSize)
	case given(req.MaxRatesPerHotel, 0) < 0:
		err = badRequest("maxRatesPerHotel cannot be negative")
	default:
		err = req.checkCountries()
	}
	return pageNum, pageSize, err
}

func (r *stayRequest) checkCountries() error {
	return checkCountry("countryCode", r.CountryCode, "residencyCode", r.ResidencyCode, "nationalityCode", r.NationalityCode)
}

func (s *Server) emptyReason(c *call) *types.EmptyReason {
	if s.cfg.EmptyReason != nil {
		return s.cfg.EmptyReason
	}
	if c.currency.code == "" {
		return &types.EmptyReason{Code: types.EmptyReasonAllSuppliersExcluded}
	}
	return nil
}

// candidates finds the hotels of a search. It sets basic.Destination, and returns notices
// about hotels that it omits.
func (s *Server) candidates(req *hotelListRequest, basic *searchBasic) (found []int, notices []string) {
	within := []place{{}} // the zero place is the world
	switch {
	case req.DestinationID != "":
		p, ok := s.world.findPlace(req.DestinationID)
		if !ok {
			return nil, nil
		}
		within[0] = p
	case req.DestinationName != "":
		within = s.world.citiesNamed(req.DestinationName)
	}
	if len(within) > 0 && within[0] != (place{}) {
		d := s.world.destination(within[0], true)
		basic.Destination = &d
	}
	if len(req.HotelIDs) > 0 {
		return s.world.hotelsByID(req.HotelIDs, within), nil
	}
	total := 0
	for _, p := range within {
		total += s.world.hotelCount(p)
		found = append(found, s.world.hotelsUnder(p, 0, maxExpansion-len(found))...)
	}
	if total > len(found) {
		notices = append(notices, fmt.Sprintf("The destination was expanded to %d of its %d hotels.", len(found), total))
	}
	return found, notices
}

// hotelsByID returns the hotels with these ids, in the order of ids, each hotel once. It skips unknown
// ids, and hotels outside the places in within.
func (w *world) hotelsByID(ids []string, within []place) []int {
	var found []int
	seen := map[int]bool{}
	for _, id := range ids {
		h, ok := w.findHotel(id)
		inside := slices.ContainsFunc(within, func(p place) bool {
			from, to := w.within(p, city)
			return w.cityOf(h) >= from && w.cityOf(h) < to
		})
		if ok && inside && !seen[h] {
			seen[h] = true
			found = append(found, h)
		}
	}
	return found
}

// citiesNamed finds the cities whose name in any language contains the text.
func (w *world) citiesNamed(name string) []place {
	var found []place
	lower := strings.ToLower(strings.TrimSpace(name))
	for i := 0; i < w.cities() && len(found) < maxCities && lower != ""; i++ {
		p := place{city, i}
		n := w.placeName(p)
		if strings.Contains(strings.ToLower(n.En), lower) || strings.Contains(n.Zh, lower) || strings.Contains(n.Ar, lower) {
			found = append(found, p)
		}
	}
	return found
}

// sortHotels sorts by one of the documented orders. An unknown order changes nothing.
func (s *Server) sortHotels(hotels []int, by string, st stay, d *destination) {
	var value func(h int) int64
	switch by {
	case "price-asc", "price-desc":
		sign := int64(1)
		if by == "price-desc" {
			sign = -1
		}
		dollars, _ := findCurrency("USD")
		value = func(h int) int64 {
			_, total := s.cheapest(h, st, dollars)
			return sign * total
		}
	case "rating-desc":
		value = func(h int) int64 { return -int64(s.world.rating(h)) }
	case "distance-asc":
		if d == nil {
			return
		}
		value = func(h int) int64 {
			at := s.world.hotelPosition(h).Google
			dLat, dLng := int64(at.Lat-d.Coordinates.CenterLat), int64(at.Lng-d.Coordinates.CenterLng)
			return dLat*dLat + dLng*dLng
		}
	default:
		return
	}
	values := make(map[int]int64, len(hotels))
	for _, h := range hotels {
		values[h] = value(h)
	}
	slices.SortStableFunc(hotels, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
}

// cheapest returns a hotel's cheapest offer and its net price in currency c. The price is -1 if the
// hotel has no offer.
func (s *Server) cheapest(h int, st stay, c currency) (best offer, total int64) {
	total = -1
	for _, o := range s.offers(h, 0, st) {
		if t := s.price(o, c).total(); total < 0 || t < total {
			best, total = o, t
		}
	}
	return best, total
}

// offers returns a hotel's offers that are not closed.
func (s *Server) offers(h, supplier int, st stay) []offer {
	out := make([]offer, 0, s.world.size.RoomsPerHotel*s.world.size.RatesPerRoom)
	for r := range s.world.size.RoomsPerHotel {
		for p := range s.world.size.RatesPerRoom {
			o := offer{hotel: h, supplier: supplier, room: r, plan: p, stay: st}
			change := s.market.of(o)
			if o.version = len(change.moves); !change.closed {
				out = append(out, o)
			}
		}
	}
	return out
}

func (s *Server) searchedHotel(h int, st stay, c *call, maxRates *int) hotel {
	supplier := s.world.supplierOf(h, saltOf(c.session))
	d := hotel{ID: sourceID(supplier, h), PlatformHotelID: s.world.platformID(h), hotelFacts: s.world.hotelFacts(h)}
	s.priceHotel(&d, h, st, c.currency)
	d.Rooms = s.rooms(h, supplier, d.ID, st, c, given(maxRates, 0))
	return d
}

// saltOf returns a different number for each session, for supplierOf. It does not use the proof in the session id: the
// proof depends on the server, and servers with the same seed must choose the same suppliers.
func saltOf(session string) uint64 {
	n, _ := strconv.ParseUint(sessionNumber(session), 36, 64)
	return n
}

// priceHotel sets a hotel's availability and its lowest price, in c and in other currencies.
func (s *Server) priceHotel(d *hotel, h int, st stay, c currency) {
	best, lowest := s.cheapest(h, st, c)
	available := lowest >= 0
	d.IsAvailable = &available
	if !available {
		return
	}
	m := c.money(lowest)
	d.MinPrice = &m
	for _, code := range []string{"USD", "JPY", "KWD"} {
		other, _ := findCurrency(code)
		d.MinPricesByCurrency = append(d.MinPricesByCurrency, other.money(s.price(best, other).total()))
	}
}

// rooms returns a hotel's rooms with their rates. It sorts the rates of each room by price, and the rooms by their cheapest
// rate. If limit is above 0, rooms returns only the limit cheapest rates of the hotel.
func (s *Server) rooms(h, supplier int, hotelID string, st stay, c *call, limit int) []room {
	type priced struct {
		offer
		price price
	}
	offers := s.offers(h, supplier, st)
	all := make([]priced, 0, len(offers))
	for _, o := range offers {
		o.currency = c.currency.code
		all = append(all, priced{o, s.price(o, c.currency)})
	}
	slices.SortStableFunc(all, func(a, b priced) int { return cmp.Compare(a.price.net, b.price.net) })
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	rooms := []room{}
	at := map[int]int{} // maps a room type to its index in rooms
	for _, o := range all {
		i, ok := at[o.room]
		if !ok {
			i = len(rooms)
			at[o.room] = i
			rates := make([]roomRatePkg, 0, min(len(all), s.world.size.RatesPerRoom))
			rooms = append(rooms, room{s.world.roomKind(h, o.room, hotelID), rates})
		}
		rooms[i].Rates = append(rooms[i].Rates, s.world.ratePackage(o.offer, s.offerID(o.offer, c.session), o.price))
	}
	return rooms
}

type hotelRatesRequest struct {
	stayRequest
	HotelID string `json:"hotelId"`
}

type hotelRatesResponse struct {
	Rooms []room `json:"rooms"`
}

func runHotelRates(s *Server, c *call, req *hotelRatesRequest) (*hotelRatesResponse, error) {
	if req.HotelID == "" {
		return nil, badRequest("hotelId is required")
	}
	st, err := req.read()
	if err != nil {
		return nil, err
	}
	if err := req.checkCountries(); err != nil {
		return nil, err
	}
	h, ok := s.world.findHotel(req.HotelID)
	if !ok || c.currency.code == "" {
		return &hotelRatesResponse{Rooms: []room{}}, nil
	}
	supplier := s.world.supplierOf(h, saltOf(c.session))
	return &hotelRatesResponse{Rooms: s.rooms(h, supplier, sourceID(supplier, h), st, c, 0)}, nil
}

func (r *stayRequest) read() (stay, error) {
	if r.CheckIn == "" || r.CheckOut == "" {
		return stay{}, badRequest("checkIn and checkOut are required")
	}
	from, err := time.Parse(dateForm, r.CheckIn)
	if err != nil {
		return stay{}, badRequest("checkIn must be a date YYYY-MM-DD, not %q", r.CheckIn)
	}
	to, err := time.Parse(dateForm, r.CheckOut)
	if err != nil {
		return stay{}, badRequest("checkOut must be a date YYYY-MM-DD, not %q", r.CheckOut)
	}
	st := stay{checkIn: from, nights: int(to.Sub(from) / (24 * time.Hour))}
	if st.nights < 1 || st.nights > maxNights {
		return stay{}, badRequest("checkOut must be 1 to %d nights after checkIn, not %d", maxNights, st.nights)
	}
	if n := len(r.RoomOccupancies); n < 1 || n > maxRooms {
		return stay{}, badRequest("roomOccupancies must list 1 to %d rooms, not %d", maxRooms, n)
	}
	for i, room := range r.RoomOccupancies {
		if n := given(room.AdultCount, 0); n < 1 || n > maxAdults {
			return stay{}, badRequest("roomOccupancies[%d].adultCount is required, 1 to %d", i, maxAdults)
		}
		for _, age := range room.ChildrenAges {
			if age < 0 || age > 17 {
				return stay{}, badRequest("roomOccupancies[%d].childrenAges contains %d; the age of a child is 0 to 17", i, age)
			}
		}
		st.rooms = append(st.rooms, occupancy{*room.AdultCount, room.ChildrenAges})
	}
	return st, nil
}

type checkAvailRequest struct {
	RatePkgID string `json:"ratePkgId"`
}

type checkAvailResponse struct {
	Status               int                   `json:"status"`
	StatusRemark         string                `json:"statusRemark,omitempty"`
	RoomRatePkg          *roomRatePkg          `json:"roomRatePkg,omitempty"`
	ExchangeRateSnapshot *exchangeRateSnapshot `json:"exchangeRateSnapshot,omitempty"`
}

// runCheckAvail answers with an offer's present price. If the offer is closed, the answer is "unavailable",
// not an error.
func runCheckAvail(s *Server, c *call, req *checkAvailRequest) (*checkAvailResponse, error) {
	if req.RatePkgID == "" {
		return nil, badRequest("ratePkgId is required")
	}
	o, err := s.findOffer(req.RatePkgID, c.session)
	if err != nil {
		return nil, err
	}
	resp := &checkAvailResponse{Status: s.cfg.Variants.Available}
	switch {
	case s.market.of(o).closed || c.priced(o).code == "":
		resp.Status = 3 - s.cfg.Variants.Available
		resp.StatusRemark = "The offer is no longer available."
	default:
		if s.market.show(req.RatePkgID, o) {
			resp.StatusRemark = "The price or inventory of the offer has changed since it was shown."
		}
		pkg := s.world.ratePackage(o, req.RatePkgID, s.price(o, c.priced(o)))
		resp.RoomRatePkg = &pkg
		resp.ExchangeRateSnapshot = s.snapshot(c.priced(o))
	}
	return resp, nil
}

// priced returns the currency for the prices in an answer: the currency of the Currency header, or without this header
// the currency of the search.
func (c *call) priced(o offer) currency {
	if c.hasCurrency {
		return c.currency
	}
	shown, _ := findCurrency(o.currency)
	return shown
}

func (s *Server) snapshot(c currency) *exchangeRateSnapshot {
	return &exchangeRateSnapshot{
		Date: s.clock.now().UTC().Format(dateForm),
		USD:  map[string]micro{strings.ToLower(c.code): c.perUSD},
	}
}
