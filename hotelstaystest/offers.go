// Offers and their ratePkgId.

package hotelstaystest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

const dateForm = "2006-01-02"

type occupancy struct {
	Adults   int   `json:"a"`
	Children []int `json:"c,omitempty"` // ages
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
	currency string // currency of the search
	version  int    // number of MoveRate calls for the rate before the search
}

// key returns a text that identifies the offer in all sessions.
func (o offer) key() string {
	return fmt.Sprintf("%d %d %d %s %d %s", o.hotel, o.room, o.plan, o.checkIn.Format(dateForm), o.nights, o.roomText())
}

func (o offer) roomText() string {
	text, _ := json.Marshal(o.rooms)
	return string(text)
}

// offerID returns the ratePkgId of an offer in a session. It contains the whole offer, so that the
// server need not store searches.
func (s *Server) offerID(o offer, session string) string {
	text := fmt.Sprintf("%s %d %s %d %s", o.key(), o.supplier, o.currency, o.version, sessionNumber(session))
	return base64.RawURLEncoding.EncodeToString([]byte(text)) + "." + s.offerProof(text)
}

func (s *Server) offerProof(text string) string {
	return base64.RawURLEncoding.EncodeToString(s.mac("offer", text)[:12])
}

// findOffer returns the offer of a ratePkgId. It returns an error if the id belongs to another session.
func (s *Server) findOffer(id, session string) (offer, error) {
	o, of, ok := s.parseOffer(id)
	if !ok {
		return offer{}, badRequest("ratePkgId %q is not an offer of this server", id)
	}
	if of != sessionNumber(session) {
		return offer{}, badRequest("ratePkgId %q is not of session %q; send the Session-Id of its search", id, session)
	}
	return o, nil
}

// parseOffer returns the offer of a ratePkgId and the number of the id's session. ok is false if offerID did
// not make the id.
func (s *Server) parseOffer(id string) (o offer, session string, ok bool) {
	packed, proof, _ := strings.Cut(id, ".")
	raw, _ := base64.RawURLEncoding.DecodeString(packed)
	if text := string(raw); !sameText(proof, s.offerProof(text)) {
		return offer{}, "", false
	}
	var checkIn, rooms string
	fmt.Sscan(string(raw), &o.hotel, &o.room, &o.plan, &checkIn, &o.nights, &rooms, &o.supplier, &o.currency, &o.version, &session)
	o.checkIn, _ = time.Parse(dateForm, checkIn)
	json.Unmarshal([]byte(rooms), &o.rooms)
	return o, session, true
}
