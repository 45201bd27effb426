// What earlier exchanges have said: as long as the memory's age, and as much as its limit.

package judge

import (
	"hash/maphash"
	"time"
)

// memory keeps two generations. When the younger one is full or old, the older one is forgotten.
type memory struct {
	age        time.Duration
	limit      int
	seed       maphash.Seed
	young, old map[uint64]any
	began      time.Time
}

func newMemory(age time.Duration, limit int) *memory {
	return &memory{age: age, limit: limit, seed: maphash.MakeSeed()}
}

// key is the hash of a few texts, so that the memory has no text that may identify somebody.
func (m *memory) key(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	for _, part := range parts {
		_, _ = h.WriteString(part) // has no error
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// put remembers v.
func (m *memory) put(key uint64, v any) {
	m.turn()
	m.young[key] = v
}

func (m *memory) turn() {
	if now := time.Now(); m.young == nil || len(m.young) >= m.limit/2 || now.Sub(m.began) > m.age/2 {
		if m.old = m.young; now.Sub(m.began) > m.age {
			m.old = nil
		}
		m.young, m.began = map[uint64]any{}, now
	}
}

// recall returns what is remembered, or nil.
func recall[T any](m *memory, parts ...string) *T {
	m.turn()
	key := m.key(parts...)
	if v, ok := m.young[key].(*T); ok {
		return v
	}
	v, _ := m.old[key].(*T)
	return v
}

// The kinds of things that are remembered, by the first part of their keys.
type (
	// life is that of a token.
	life struct {
		from time.Time
		ttl  time.Duration
	}
	// search is what a session was asked for.
	search struct {
		checkIn, checkOut string
		rooms             int
	}
	// offer is one of a session, with the price that it had last.
	offer struct {
		search
		currency, amount string
	}
	hotel struct{ id, platform string }
	place struct{ kind, parent string }
	order struct {
		customer, platform, supplier string
		checkIn, checkOut, bookedAt  string
		currency, amount, digest     string
		holder                       uint64   // a hash
		passports                    []string // of each number one character more than an order may show
		rooms, version               int      // version is that of its voucher
	}
	// page is the last hotel of a page.
	page struct{ key, currency string }
	link struct{ digest string }
)
