// The market: the prices that a test moved, the rooms it closed out, and what
// CheckAvail has told of them.

package hotelstaystest

import (
	"fmt"
	"sync"
)

type market struct {
	mu     sync.RWMutex
	moves  map[string][]int // percent changes of an offer, by its key
	closed map[string]bool  // offers that are gone, by key
	told   map[string]int   // how many moves CheckAvail has told of, by ratePkgId
}

func newMarket() *market {
	return &market{moves: map[string][]int{}, closed: map[string]bool{}, told: map[string]int{}}
}

// moved applies the moves of an offer to its price.
func (m *market) moved(o offer, cents int64) int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.moves) == 0 {
		return cents
	}
	for _, percent := range m.moves[o.key()] {
		cents += cents * int64(percent) / 100
	}
	return cents
}

// version is how often an offer has moved.
func (m *market) version(o offer) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.moves) == 0 {
		return 0
	}
	return len(m.moves[o.key()])
}

func (m *market) isClosed(o offer) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.closed) > 0 && m.closed[o.key()]
}

// tell notes that CheckAvail showed an offer as of now, and says whether that was
// news.
func (m *market) tell(id string, o offer) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := len(m.moves[o.key()])
	before, ok := m.told[id]
	if !ok {
		before = o.version
	}
	if now != before {
		m.told[id] = now
	}
	return now != before
}

// stale says whether an offer moved since it was last shown.
func (m *market) stale(id string, o offer) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	shown, ok := m.told[id]
	if !ok {
		shown = o.version
	}
	return shown != len(m.moves[o.key()])
}

// change does something to the market of an offer, never in the middle of a Book.
func (s *Server) change(method, ratePkgID string, fn func(m *market, key string)) {
	o, _, ok := s.parseOffer(ratePkgID)
	if !ok {
		panic(fmt.Sprintf("hotelstaystest: %s: %q is not a ratePkgId of this server", method, ratePkgID))
	}
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	s.market.mu.Lock()
	defer s.market.mu.Unlock()
	fn(s.market, o.key())
}

// MoveRate changes the price of an offer by a percentage of what it is, from now on
// and in every session. Zero percent is a move of inventory alone. CheckAvail tells of a move with
// a statusRemark; a move that CheckAvail has not told of makes Book fail with
// [CodeRateChanged]. It panics when the id is not an offer of this server, and at -100
// percent or less.
func (s *Server) MoveRate(ratePkgID string, percent int) {
	if percent <= -100 {
		panic("hotelstaystest: MoveRate: nothing would be left of the price")
	}
	s.change("MoveRate", ratePkgID, func(m *market, key string) { m.moves[key] = append(m.moves[key], percent) })
}

// CloseRate makes an offer unavailable, in every session: CheckAvail answers
// UNAVAILABLE, Book fails with [CodeRateChanged], searches leave it out. It panics
// when the id is not an offer of this server.
func (s *Server) CloseRate(ratePkgID string) {
	s.change("CloseRate", ratePkgID, func(m *market, key string) { m.closed[key] = true })
}

// ReopenRate undoes [Server.CloseRate]. It panics when the id is not an offer of this server.
func (s *Server) ReopenRate(ratePkgID string) {
	s.change("ReopenRate", ratePkgID, func(m *market, key string) { delete(m.closed, key) })
}
