// Searches and checkouts, in memory. A real engine keeps them in a shared cache.

package main

import (
	"sync"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// search is a search of a guest.
type search struct {
	ID string
	// Request has the session of the search, to which its offers belong.
	Request hotelstays.HotelListRequest
	Hotels  []types.Hotel
	Partial bool // not every supplier answered
	Retry   bool // the same search may find something in a moment
}

// hotel returns a hotel of the search.
func (s *search) hotel(id string) (types.Hotel, bool) {
	for _, h := range s.Hotels {
		if h.ID == id {
			return h, true
		}
	}
	return types.Hotel{}, false
}

// shownOffer is an offer as a guest saw it. Prices are taken from here, never from a browser.
type shownOffer struct {
	Hotel types.Hotel
	Room  string
	Rate  types.RoomRatePkg
}

// checkout is an attempt to book an offer.
type checkout struct {
	// Reference is the same for every Book of the checkout. However often its form is sent, the
	// service makes one order.
	Reference   string
	SearchID    string
	SessionID   string // of the search; Book needs it, and Cancel long after
	Hotel       types.Hotel
	Room        string
	Occupancies []types.GuestPerRoom
	// Offer is what the guest agreed to. Changed is what it is now, until the guest agrees. Gone
	// means sold out.
	Offer   types.RoomRatePkg
	Changed *types.RoomRatePkg
	Gone    bool
	// Version counts what the guest has seen, so that an old page agrees to nothing.
	Version int
	// Guests is the last form, without passport numbers. It is not stored with the order.
	Guests guestForm `json:"-"`
}

// shelf keeps the latest things of one kind by their ids. It is safe for concurrent use. It
// returns copies; what they point to is never changed.
type shelf[T any] struct {
	limit  int
	mu     sync.Mutex
	ids    []string // the oldest first
	things map[string]T
}

func newShelf[T any](limit int) *shelf[T] {
	return &shelf[T]{limit: limit, things: make(map[string]T)}
}

func (s *shelf[T]) put(id string, thing T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.things[id]; !known {
		s.ids = append(s.ids, id)
	}
	s.things[id] = thing
	for len(s.ids) > s.limit {
		delete(s.things, s.ids[0])
		s.ids = s.ids[1:]
	}
}

func (s *shelf[T]) get(id string) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	thing, ok := s.things[id]
	return thing, ok
}

// update changes the thing with an id, if there is one, and returns it.
func (s *shelf[T]) update(id string, change func(*T)) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	thing, ok := s.things[id]
	if ok {
		change(&thing)
		s.things[id] = thing
	}
	return thing, ok
}
