// The memory of earlier exchanges, limited in age and in size.

package judge

import (
	"hash/maphash"
	"time"
)

// memory holds values of earlier exchanges in two maps. New values go into the first map (young). When this map is
// full, or half of the maximum age has passed, it replaces the second map (old), whose values are then forgotten.
type memory struct {
	age        time.Duration
	limit      int
	seed       maphash.Seed
	young, old map[uint64]any
	began      time.Time
}

func newMemory(age time.Duration, limit int) *memory {
	return &memory{age: age, limit: limit, seed: maphash.MakeSeed(), young: map[uint64]any{}, began: time.Now()}
}

// key returns a hash of texts. The memory keeps hashes, because the texts may identify a person.
func (m *memory) key(parts ...string) (key uint64) {
	for _, part := range parts {
		key = key*31 + maphash.String(m.seed, part)
	}
	return key
}

func (m *memory) put(key uint64, v any) {
	if len(m.young) >= m.limit/2 {
		m.turn()
	}
	m.young[key] = v
}

func (m *memory) get(key uint64) any {
	if v, ok := m.young[key]; ok {
		return v
	}
	return m.old[key]
}

func (m *memory) turn() { m.young, m.old, m.began = map[uint64]any{}, m.young, time.Now() }

// ages forgets the values that are older than the field age.
func (m *memory) ages() {
	if now := time.Now(); now.Sub(m.began) > m.age/2 {
		if now.Sub(m.began) > m.age {
			m.young = nil
		}
		m.turn()
	}
}

// recall returns the value that was remembered under the hash of parts, or nil.
func recall[T any](m *memory, parts ...string) *T {
	v, _ := m.get(m.key(parts...)).(*T)
	return v
}

// The types of the values in a memory.
type (
	life struct {
		from time.Time
		ttl  time.Duration
	}
	// search holds the dates and the rooms that a request asked for.
	search struct {
		checkIn, checkOut string
		rooms             int
		equal             bool // whether all rooms have the same guests
	}
	// offer is an offer of a session, as the last answer described it.
	offer struct {
		*search
		price money
		hotel string
		mode  byte // the first letter of the offer's refundableMode
	}
	hotel struct{ id, platform string }
	place struct {
		kind  int
		names string
	}
	order struct {
		customer, platform, supplier string
		checkIn, checkOut, bookedAt  string
		price, fee                   money // fee is the cancellation fee
		digest                       string
		read                         bool // whether QueryOrders has returned the order
		cancelled                    time.Time
		holder                       uint64         // the hash of the holder's name
		guests                       map[uint64]int // the room of each guest, by the hash of the guest's name
		passports                    []string       // the last five characters of each passport number; an order may show only four of them
		rooms, version               int            // version is the version of the voucher
	}
	link struct{ digest string }
)

type money struct {
	amount   float64
	currency string
}

func (m money) known() bool { return m.currency != "" }

// money reads an object with amount and currency. If one of these members is missing, it returns the zero value.
func (v value) money() money {
	amount, ok := v.get("amount").number()
	currency := v.get("currency").raw()
	if !ok || len(currency) < 2 {
		return money{}
	}
	if currency = currency[1 : len(currency)-1]; string(currency) != v.last {
		v.last = string(currency)
	}
	return money{amount, v.last}
}
