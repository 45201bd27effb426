// The generated world. Places and hotels are computed from their index, so that a
// catalogue of any size costs no memory.

package hotelstaystest

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Catalog sets the numbers of generated places, hotels, rooms and rates. Zero fields take their defaults.
type Catalog struct {
	Countries           int `json:"countries"`           // default 3, at most 24
	ProvincesPerCountry int `json:"provincesPerCountry"` // default 2, at most 100,000
	CitiesPerProvince   int `json:"citiesPerProvince"`   // default 5, at most 100,000
	HotelsPerCity       int `json:"hotelsPerCity"`       // default 12, at most 100,000
	RoomsPerHotel       int `json:"roomsPerHotel"`       // default 3 room types, at most 50
	RatesPerRoom        int `json:"ratesPerRoom"`        // default 4 rate packages, at most 12

	// EmptyEvery is a number n: every n-th city has no hotels, and the city before it has a quarter of HotelsPerCity. The
	// default is 5. If EmptyEvery is negative, every city has HotelsPerCity.
	EmptyEvery int `json:"emptyEvery"`
	// UnmatchedEvery leaves every n-th hotel without a platformHotelId. The default is
	// 10; negative: all hotels have one.
	UnmatchedEvery int `json:"unmatchedEvery"`
}

func (c *Catalog) sizes() []setting[int] {
	return []setting[int]{
		{"catalog.countries", &c.Countries, 3, 1, len(countries)},
		{"catalog.provincesPerCountry", &c.ProvincesPerCountry, 2, 1, 100_000},
		{"catalog.citiesPerProvince", &c.CitiesPerProvince, 5, 1, 100_000},
		{"catalog.hotelsPerCity", &c.HotelsPerCity, 12, 1, 100_000},
		{"catalog.roomsPerHotel", &c.RoomsPerHotel, 3, 1, 50},
		{"catalog.ratesPerRoom", &c.RatesPerRoom, 4, 1, 12},
		{"catalog.emptyEvery", &c.EmptyEvery, 5, math.MinInt, math.MaxInt},
		{"catalog.unmatchedEvery", &c.UnmatchedEvery, 10, math.MinInt, math.MaxInt},
	}
}

type world struct {
	seed uint64
	size Catalog
}

func newWorld(seed uint64, size Catalog) *world { return &world{seed: seed, size: size} }

// mix returns a hash of x. It is the last step of the random generator splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (w *world) hash(parts ...int) uint64 {
	h := mix(w.seed)
	for _, p := range parts {
		h = mix(h ^ uint64(p))
	}
	return h
}

// pick returns a number in [0, n) that depends only on the seed and on parts.
func (w *world) pick(n int, parts ...int) int { return int(w.hash(parts...) % uint64(n)) }

// Callers of hash and pick pass one of these constants as the first part. So each kind of data has its own hashes, and for
// example the price of a hotel does not depend on its name.
const (
	forPlaceName = iota + 1
	forHotelName
	forPosition
	forRating
	forSupplier
	forPrice
	forNight
	forBoard
	forTerms
	forID
)

// placeKind is the level of a place, such as country or city. Its values are the destination types of the API.
type placeKind int

const (
	country  placeKind = 2
	province placeKind = 3
	city     placeKind = 6
)

// place is a destination: its level and its index in that level. The zero place is the world.
type place struct {
	kind  placeKind
	index int
}

var (
	above = map[placeKind]placeKind{province: country, city: province}
	below = map[placeKind]placeKind{0: country, country: province, province: city}
)

func (w *world) provinces() int { return w.size.Countries * w.size.ProvincesPerCountry }
func (w *world) cities() int    { return w.provinces() * w.size.CitiesPerProvince }

func (w *world) count(k placeKind) int {
	switch k {
	case country:
		return w.size.Countries
	case province:
		return w.provinces()
	case city:
		return w.cities()
	}
	return 1
}

// parent returns the place one level up. It returns false for a country.
func (w *world) parent(p place) (place, bool) {
	up, ok := above[p.kind]
	return place{up, p.index * w.count(up) / w.count(p.kind)}, ok
}

func (w *world) country(p place) int { return p.index * w.size.Countries / w.count(p.kind) }

func (w *world) children(p place) []place {
	var out []place
	if kind, ok := below[p.kind]; ok {
		for i, to := w.within(p, kind); i < to; i++ {
			out = append(out, place{kind, i})
		}
	}
	return out
}

// within returns the range [from, to) of the indexes of the places of level k inside p.
func (w *world) within(p place, k placeKind) (from, to int) {
	per := w.count(k) / w.count(p.kind)
	return p.index * per, (p.index + 1) * per
}

func (w *world) hotelCount(p place) int {
	from, to := w.within(p, city)
	n := 0
	for i := from; i < to; i++ {
		n += w.hotelsIn(i)
	}
	return n
}

func (w *world) hotelsIn(city int) int {
	n, every := w.size.HotelsPerCity, w.size.EmptyEvery
	if every <= 0 {
		return n
	}
	switch city % every {
	case every - 1:
		return 0
	case every - 2:
		return max(1, n/4)
	}
	return n
}

// hotelsUnder returns at most limit hotels of a place, from offset on.
func (w *world) hotelsUnder(p place, offset, limit int) []int {
	var out []int
	from, to := w.within(p, city)
	for c := from; c < to && len(out) < limit; c++ {
		n := w.hotelsIn(c)
		if offset >= n {
			offset -= n
			continue
		}
		for k := offset; k < n && len(out) < limit; k++ {
			out = append(out, c*w.size.HotelsPerCity+k)
		}
		offset = 0
	}
	return out
}

func (w *world) cityOf(hotel int) int { return hotel / w.size.HotelsPerCity }

func (w *world) hotelExists(hotel int) bool {
	return hotel >= 0 && w.cityOf(hotel) < w.cities() && hotel%w.size.HotelsPerCity < w.hotelsIn(w.cityOf(hotel))
}

// destinationID returns the UUID of a place. Its second half holds level and index. Its first half is a hash, so that
// findPlace refuses an id of a world with another seed.
func (w *world) destinationID(p place) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], w.hash(forID, int(p.kind), p.index))
	binary.BigEndian.PutUint64(b[8:], uint64(p.kind)<<48|uint64(p.index))
	b[6] = b[6]&0x0f | 0x80 // UUID version 8: custom content
	b[8] = 0x80             // UUID variant
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func (w *world) findPlace(id string) (place, bool) {
	raw, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil || len(raw) != 16 {
		return place{}, false
	}
	tail := binary.BigEndian.Uint64(raw[8:])
	p := place{placeKind(tail >> 48 & 0xff), int(tail & (1<<48 - 1))}
	if p.kind != country && p.kind != province && p.kind != city {
		return place{}, false
	}
	if p.index >= w.count(p.kind) || w.destinationID(p) != id {
		return place{}, false
	}
	return p, true
}

// hotelBase plus the index of a hotel is the number in the hotel's ids, such as PH10000007 and S101-10000007.
const hotelBase = 10_000_000

var suppliers = []int{101, 204, 317}

// platformID returns a hotel's platformHotelId. It is "" for the hotels that [Catalog.UnmatchedEvery] leaves without an
// id.
func (w *world) platformID(hotel int) string {
	if every := w.size.UnmatchedEvery; every > 0 && hotel%every == every-1 {
		return ""
	}
	return "PH" + strconv.Itoa(hotelBase+hotel)
}

func sourceID(supplier, hotel int) string { return fmt.Sprintf("S%d-%d", supplier, hotelBase+hotel) }

// supplierOf chooses the supplier of a hotel. Each session passes another salt, so that a hotel has different supplier
// ids in different sessions.
func (w *world) supplierOf(hotel int, salt uint64) int {
	return suppliers[mix(w.hash(forSupplier, hotel)^salt)%uint64(len(suppliers))]
}

// findHotel returns the index of the hotel that has id as its platformHotelId or as its id at a supplier.
func (w *world) findHotel(id string) (int, bool) {
	number, ok := strings.CutPrefix(id, "PH")
	if !ok {
		for _, s := range suppliers {
			if number, ok = strings.CutPrefix(id, fmt.Sprintf("S%d-", s)); ok {
				break
			}
		}
	}
	n, err := strconv.Atoi(number)
	if !ok || err != nil || !w.hotelExists(n-hotelBase) {
		return 0, false
	}
	if strings.HasPrefix(id, "PH") && w.platformID(n-hotelBase) != id {
		return 0, false
	}
	return n - hotelBase, true
}

func base36(n int64) string { return strconv.FormatInt(n, 36) }

// CityCount returns the number of generated cities, including cities without hotels.
func (s *Server) CityCount() int { return s.world.cities() }

// CityID returns the destination id of city i, counted from 0. It panics when there is no
// such city.
func (s *Server) CityID(i int) string { return s.world.destinationID(s.city("CityID", i)) }

// CityName returns the English name of city i, counted from 0. It panics when there is no
// such city.
func (s *Server) CityName(i int) string { return s.world.placeName(s.city("CityName", i)).En }

func (s *Server) city(method string, i int) place {
	if i < 0 || i >= s.world.cities() {
		panic(fmt.Sprintf("hotelstaystest: %s: no city %d; there are %d", method, i, s.world.cities()))
	}
	return place{city, i}
}

// HotelCount returns the number of generated hotels.
func (s *Server) HotelCount() int {
	n := 0
	for i := range s.world.cities() {
		n += s.world.hotelsIn(i)
	}
	return n
}

// HotelIDs returns the first n platformHotelIds, or all when there are fewer.
func (s *Server) HotelIDs(n int) []string {
	out := []string{}
	for c := 0; c < s.world.cities() && len(out) < n; c++ {
		for _, h := range s.world.hotelsUnder(place{city, c}, 0, s.world.size.HotelsPerCity) {
			if id := s.world.platformID(h); id != "" && len(out) < n {
				out = append(out, id)
			}
		}
	}
	return out
}
