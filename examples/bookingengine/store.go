// The state of the site, in memory. A real engine keeps searches and checkouts in a shared
// cache, and orders in its database.

package main

import (
	"encoding/json"
	"sync"
	"time"

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
	// Guests is the last form, without passport numbers.
	Guests guestForm
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

// bookingState is the state of a booking.
type bookingState int

const (
	placing    bookingState = iota // Book is under way
	findingOut                     // the outcome is unknown
	booked                         // there is one
	notBooked                      // there is none
)

// cancelState is the state of a cancellation.
type cancelState int

const (
	notCancelled cancelState = iota
	cancelling               // Cancel is under way
	cancelDoubt              // the outcome is unknown
	cancelDone               // the service has accepted it
)

// order is a booking of a guest, from just before Book.
type order struct {
	// Checkout is what the guest agreed to. Its reference names the order everywhere.
	Checkout checkout
	// Recovery finds the booking again after a crash. A real engine stores it with the order
	// before Book is sent, and passes those of open orders to RecoverBooking at its start.
	Recovery json.RawMessage
	State    bookingState
	Problem  *message     // why nothing was booked or cancelled
	Booked   *types.Order // last read; nil unless State is booked
	Voucher  types.VoucherStatus
	Cancel   cancelState
	Fee      *types.Money // of the cancellation

	since    time.Time // of the last change or event
	nextRead time.Time // zero: nothing to read

	changed chan struct{} // closed at the next change
}

// readFrom makes an order new again: it is read soon, then less and less often.
func (o *order) readFrom(now time.Time) { o.since, o.nextRead = now, now.Add(readSoon) }

// over reports whether an order cannot change any more: it is cancelled, or the stay is past
// in all time zones.
func (o *order) over(now time.Time) bool {
	if cancelled(o.Booked) {
		return true
	}
	out, err := o.Checkout.Offer.CheckOut.Time()
	return err == nil && now.After(out.AddDate(0, 0, 2))
}

// orders are all orders by reference. It is safe for concurrent use.
type orders struct {
	woken chan struct{} // an order may be due earlier
	mu    sync.Mutex
	byID  map[string]*order
}

func newOrders() *orders {
	return &orders{woken: make(chan struct{}, 1), byID: make(map[string]*order)}
}

// due returns the references of up to limit orders to read now, or when to look again. A real
// engine has an index on nextRead.
func (s *orders) due(now time.Time, limit int) (due []string, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next = now.Add(readLate)
	for id, o := range s.byID {
		switch {
		case o.nextRead.IsZero():
		case o.nextRead.After(now):
			if o.nextRead.Before(next) {
				next = o.nextRead
			}
		case len(due) < limit:
			due = append(due, id)
		}
	}
	return due, next
}

// postpone sets the next read of orders: after the pause of their age, at most most, or never.
func (s *orders) postpone(ids []string, most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, id := range ids {
		if o := s.byID[id]; o.over(now) {
			o.nextRead = time.Time{}
		} else {
			o.nextRead = now.Add(min(pauseAt(now.Sub(o.since)), most))
		}
	}
}

// begin adds an order, unless one under its reference is or may be booked. Only the caller
// that gets true calls Book.
func (s *orders) begin(o order) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := o.Checkout.Reference
	if old := s.byID[id]; old != nil {
		if old.State != notBooked {
			return false
		}
		close(old.changed)
	}
	o.changed = make(chan struct{})
	s.byID[id] = &o
	return true
}

// begun reports whether an order is or may be booked.
func (s *orders) begun(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.byID[id]
	return o != nil && o.State != notBooked
}

// get returns a copy of an order, and a channel that closes when it changes.
func (s *orders) get(id string) (o order, changed <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byID[id]; found != nil {
		return *found, found.changed, true
	}
	return order{}, nil, false
}

// update changes an order and notifies its watchers. It returns the result of change: whether
// the caller made the change.
func (s *orders) update(id string, change func(*order) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.byID[id]
	if o == nil || !change(o) {
		return false
	}
	close(o.changed)
	o.changed = make(chan struct{})
	nudge(s.woken)
	return true
}

// wake makes a booked order due now.
func (s *orders) wake(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.byID[id]; o != nil && o.State == booked {
		o.since = time.Now()
		o.nextRead = o.since
		nudge(s.woken)
	}
}

// nudge sends without blocking.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
