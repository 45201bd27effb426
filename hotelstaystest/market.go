// The market: moved prices, closed offers, and which moves a client has seen.

package hotelstaystest

import (
	"fmt"
	"sync"
)

type market struct {
	mu     sync.RWMutex
	moves  map[string][]int // percentages, by offer key
	closed map[string]bool  // by offer key
	shown  map[string]int   // moves that CheckAvail has shown, by ratePkgId
}

func newMarket() *market {
	m := new(market)
	m.reset()
	return m
}

func (m *market) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.moves, m.closed, m.shown = map[string][]int{}, map[string]bool{}, map[string]int{}
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

// version counts the moves of an offer.
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

// show records that CheckAvail shows an offer's present price, and reports whether it
// differs from what was shown before.
func (m *market) show(id string, o offer) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := len(m.moves[o.key()])
	before, ok := m.shown[id]
	if !ok {
		before = o.version
	}
	if now != before {
		m.shown[id] = now
	}
	return now != before
}

// stale reports whether an offer moved since it was last shown.
func (m *market) stale(id string, o offer) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	shown, ok := m.shown[id]
	if !ok {
		shown = o.version
	}
	return shown != len(m.moves[o.key()])
}

// change calls fn with an offer's key, never during a Book.
func (s *Server) change(ratePkgID string, fn func(m *market, key string)) error {
	o, _, ok := s.parseOffer(ratePkgID)
	if !ok {
		return fmt.Errorf("%q is not a ratePkgId of this server", ratePkgID)
	}
	s.lock()
	defer s.unlock()
	s.market.mu.Lock()
	defer s.market.mu.Unlock()
	fn(s.market, o.key())
	return nil
}

// MoveRate changes the present price of an offer by a percentage, in every session. Zero
// percent moves only the inventory. CheckAvail reports the move with a statusRemark.
// Until it has, Book fails with [CodeRateChanged]. MoveRate panics at -100 percent or
// less, and when the id is not an offer of this server.
func (s *Server) MoveRate(ratePkgID string, percent int) {
	panicOn("MoveRate", s.moveRate(ratePkgID, percent))
}

func (s *Server) moveRate(ratePkgID string, percent int) error {
	if percent <= -100 {
		return fmt.Errorf("percent must be above -100, not %d", percent)
	}
	return s.change(ratePkgID, func(m *market, key string) { m.moves[key] = append(m.moves[key], percent) })
}

// CloseRate makes an offer unavailable in every session. Searches omit it, CheckAvail
// answers that it is unavailable, Book fails with [CodeRateChanged]. It panics when the
// id is not an offer of this server.
func (s *Server) CloseRate(ratePkgID string) {
	panicOn("CloseRate", s.change(ratePkgID, func(m *market, key string) { m.closed[key] = true }))
}

// ReopenRate undoes [Server.CloseRate]. It panics when the id is not an offer of this server.
func (s *Server) ReopenRate(ratePkgID string) {
	panicOn("ReopenRate", s.change(ratePkgID, func(m *market, key string) { delete(m.closed, key) }))
}
