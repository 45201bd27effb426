// Offers, and the ratePkgId that stands for one.

package hotelstaystest

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"
)

const dateForm = "2006-01-02"

type occupancy struct {
	adults   int
	children []int // ages
}

type stay struct {
	checkIn time.Time // midnight UTC
	nights  int
	rooms   []occupancy
}

func (st stay) checkOut() time.Time { return st.checkIn.AddDate(0, 0, st.nights) }

type offer struct {
	hotel, supplier int
	room, plan      int
	stay
	currency string // of the search
	version  int    // moves of the rate at the time of the search
}

// key identifies the offer, whatever the session.
func (o offer) key() string {
	return base36(int64(o.hotel)) + "." + base36(int64(o.room)) + "." + base36(int64(o.plan)) + "." +
		o.checkIn.Format("20060102") + "." + strconv.Itoa(o.nights) + "." + formatRooms(o.rooms)
}

// formatRooms writes occupancies as 2_2-5-11: a room for two adults, and one for two
// adults with children of 5 and 11.
func formatRooms(rooms []occupancy) string {
	parts := make([]string, len(rooms))
	for i, r := range rooms {
		parts[i] = strconv.Itoa(r.adults)
		for _, age := range r.children {
			parts[i] += "-" + strconv.Itoa(age)
		}
	}
	return strings.Join(parts, "_")
}

func parseRooms(text string) ([]occupancy, bool) {
	var rooms []occupancy
	for part := range strings.SplitSeq(text, "_") {
		var r occupancy
		for i, field := range strings.Split(part, "-") {
			n, err := strconv.Atoi(field)
			if err != nil {
				return nil, false
			}
			if i == 0 {
				r.adults = n
			} else {
				r.children = append(r.children, n)
			}
		}
		rooms = append(rooms, r)
	}
	return rooms, true
}

// offerID is the ratePkgId of an offer in a session. It contains the whole offer, so that
// searches cost no memory.
func (s *Server) offerID(o offer, session string) string {
	text := o.key() + "." + strconv.Itoa(o.supplier) + "." + o.currency + "." + strconv.Itoa(o.version)
	return base64.RawURLEncoding.EncodeToString([]byte(text)) + "." + s.offerProof(text, session)
}

func (s *Server) offerProof(text, session string) string {
	return base64.RawURLEncoding.EncodeToString(s.mac("offer", session+"\x00"+text)[:12])
}

// findOffer resolves a ratePkgId. It is valid in its session only.
func (s *Server) findOffer(id, session string) (offer, error) {
	o, text, ok := s.parseOffer(id)
	if !ok {
		return offer{}, badRequest("ratePkgId %q is not an offer of this server", id)
	}
	_, proof, _ := strings.Cut(id, ".")
	if !sameText(proof, s.offerProof(text, session)) {
		return offer{}, badRequest("ratePkgId %q is not of session %q; send the Session-Id of its search", id, session)
	}
	return o, nil
}

// parseOffer resolves a ratePkgId of any session.
func (s *Server) parseOffer(id string) (o offer, text string, ok bool) {
	packed, _, ok := strings.Cut(id, ".")
	raw, err := base64.RawURLEncoding.DecodeString(packed)
	fields := strings.Split(string(raw), ".")
	if !ok || err != nil || len(fields) != 9 {
		return offer{}, "", false
	}
	number := func(text string, base int) int {
		n, err := strconv.ParseInt(text, base, 64)
		ok = ok && err == nil
		return int(n)
	}
	o = offer{hotel: number(fields[0], 36), room: number(fields[1], 36), plan: number(fields[2], 36),
		supplier: number(fields[6], 10), currency: fields[7], version: number(fields[8], 10)}
	o.nights = number(fields[4], 10)
	o.checkIn, err = time.Parse("20060102", fields[3])
	ok = ok && err == nil
	rooms, roomsOK := parseRooms(fields[5])
	o.rooms = rooms
	size := s.world.size
	ok = ok && roomsOK && s.world.hotelExists(o.hotel) && o.nights >= 1 && o.nights <= maxNights && len(rooms) <= maxRooms &&
		o.room >= 0 && o.room < size.RoomsPerHotel && o.plan >= 0 && o.plan < size.RatesPerRoom && slices.Contains(suppliers, o.supplier)
	return o, string(raw), ok
}
