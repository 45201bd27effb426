// The market: changed prices, closed offers, and which changes CheckAvail has reported.

package hotelstaystest

import (
	"slices"
	"sync"
)

type market struct {
	mu      sync.RWMutex
	changes map[string]*rateChange // maps an offer key to the change of its rate
	shown   map[string]int         // maps a ratePkgId to the number of MoveRate calls for the rate before the last CheckAvail
}

type rateChange struct {
	moves  []int // percentages
	closed bool
}

const (
	maxMove  = 1000                  // percent
	maxCents = int64(10_000_000_000) // limit of a moved price, so that sums do not overflow
)

func newMarket() *market {
	m := new(market)
	m.reset()
	return m
}

func (m *market) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes, m.shown = map[string]*rateChange{}, map[string]int{}
}

func (m *market) of(o offer) rateChange {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.changes) > 0 {
		if change := m.changes[o.key()]; change != nil {
			return *change
		}
	}
	return rateChange{}
}

func (m *market) moved(o offer, cents int64) int64 {
	for _, percent := range m.of(o).moves {
		cents = min(cents+cents*int64(percent)/100, maxCents)
	}
	return cents
}

// show records that CheckAvail shows the present price of an offer. It returns true if the offer was stale.
func (m *market) show(id string, o offer) bool {
	stale, now := m.stale(id, o), len(m.of(o).moves)
	m.mu.Lock()
	defer m.mu.Unlock()
	if stale {
		m.shown[id] = now
	}
	return stale
}

// stale reports whether MoveRate has changed an offer since the search or a later CheckAvail showed its price.
func (m *market) stale(id string, o offer) bool {
	now := len(m.of(o).moves)
	m.mu.RLock()
	defer m.mu.RUnlock()
	shown, ok := m.shown[id]
	if !ok {
		shown = o.version
	}
	return shown != now
}

// change calls fn with the present state of an offer, under the lock, so that no Book runs at the same time.
func (s *Server) change(ratePkgID string, fn func(change *rateChange)) error {
	o, _, ok := s.parseOffer(ratePkgID)
	if !ok {
		return badField("ratePkgId", "%q is not a ratePkgId of this server", ratePkgID)
	}
	s.lock()
	defer s.unlock()
	s.market.mu.Lock()
	defer s.market.mu.Unlock()
	change := s.market.changes[o.key()]
	if change == nil {
		change = new(rateChange)
		s.market.changes[o.key()] = change
	}
	fn(change)
	return nil
}

// MoveRate changes the present price of an offer by a percentage, in every session. If percent is 0, the price stays
// the same, but the offer counts as changed. CheckAvail reports the change with a statusRemark. Until then, Book fails
// with [types.CodeRateChanged]. MoveRate panics at -100 percent or less, above 1,000 percent, and if the id is not an
// offer of this server.
func (s *Server) MoveRate(ratePkgID string, percent int) {
	panicOn("MoveRate", s.moveRate(ratePkgID, percent))
}

func (s *Server) moveRate(ratePkgID string, percent int) error {
	if percent <= -100 || percent > maxMove {
		return badField("percent", "percent must be above -100 and at most %d, not %d", maxMove, percent)
	}
	return s.change(ratePkgID, func(change *rateChange) { change.moves = append(slices.Clip(change.moves), percent) })
}

// CloseRate makes an offer unavailable in every session. Searches omit the offer, CheckAvail answers that the offer is
// unavailable, and Book fails with [types.CodeRateChanged]. CloseRate panics if the id is not an offer of this server.
func (s *Server) CloseRate(ratePkgID string) { panicOn("CloseRate", s.closeRate(ratePkgID)) }

func (s *Server) closeRate(ratePkgID string) error {
	return s.change(ratePkgID, func(change *rateChange) { change.closed = true })
}
