// What the site remembers. It is all in memory here, and gone with the process. A
// real engine keeps searches and checkouts in a cache that its servers share, and
// orders in its database.

package main

import (
	"encoding/json"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// search is one search of a guest.
type search struct {
	ID string
	// Request carries the session that the search opened: its offers hold there alone.
	Request hotelstays.HotelListRequest
	Hotels  []types.Hotel
	Partial bool // not every supplier answered
	Retry   bool // the same search may find something in a moment
}

// hotel returns the hotel with an id out of the search's result.
func (s *search) hotel(id string) (types.Hotel, bool) {
	for _, h := range s.Hotels {
		if h.ID == id {
			return h, true
		}
	}
	return types.Hotel{}, false
}

// shownOffer is an offer as a guest saw it. The price that a guest agreed to is
// taken from here, never from what a browser sends.
type shownOffer struct {
	Hotel types.Hotel
	Room  string
	Rate  types.RoomRatePkg
}

// checkout is one attempt of a guest to book one offer.
type checkout struct {
	// Reference is made with the checkout and serves for every Book of it. However
	// often its form is sent, the service makes one order.
	Reference   string
	SearchID    string
	SessionID   string // of the search; Book needs it, and Cancel long after
	Hotel       types.Hotel
	Room        string
	Occupancies []types.GuestPerRoom
	// Offer is what the guest agreed to. Changed is what it has become since, as
	// long as the guest has not agreed; Gone tells that it is sold out.
	Offer   types.RoomRatePkg
	Changed *types.RoomRatePkg
	Gone    bool
	// Version counts what the guest was shown, so that an old page agrees to nothing.
	Version int
	// Guests is the form as it was last sent, without passport numbers.
	Guests guestForm
}

// shelf keeps the latest things of one kind under their ids. It is safe for
// concurrent use. Things are handed out as copies; what they point to is never
// changed.
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

// update changes the thing under an id, where there is one, and returns it.
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

// bookingState is how far the booking of an order is.
type bookingState int

const (
	placing    bookingState = iota // Book is under way
	findingOut                     // whether there is an order is not known yet
	booked                         // there is one
	notBooked                      // there is none
)

// cancelState is how far the cancellation of an order is.
type cancelState int

const (
	notCancelled cancelState = iota
	cancelling               // Cancel is under way
	cancelDoubt              // whether it was carried out is not known yet
	cancelDone               // the service has accepted it
)

// order is a booking of a guest, from the moment before Book is sent.
type order struct {
	// Checkout is what the guest agreed to. Its reference is the order's name
	// everywhere.
	Checkout checkout
	// Recovery finds the booking again after a crash. A real engine writes it in the
	// transaction that writes the order, before Book is sent, and at its start hands
	// those of all orders that are still open to RecoverBooking.
	Recovery json.RawMessage
	State    bookingState
	Problem  *message     // why nothing was booked or cancelled, or what is odd
	Booked   *types.Order // as it was last read; nil unless State is booked
	Voucher  types.VoucherStatus
	Cancel   cancelState
	Fee      *types.Money // what cancelling cost

	since    time.Time // of the last change or event: the longer ago, the rarer the order is read
	nextRead time.Time // zero while there is nothing to read

	wakeup  chan struct{} // an event has come while it is not known whether there is an order
	changed chan struct{} // closed at the next change
}

// readFrom makes an order young again: it is read soon, and then less and less often.
func (o *order) readFrom(now time.Time) { o.since, o.nextRead = now, now.Add(readSoon) }

// over reports whether nothing can happen to an order any more: it is cancelled, or the
// stay is past, by a day that leaves room for all time zones.
func (o *order) over(now time.Time) bool {
	if cancelled(o.Booked) {
		return true
	}
	out, err := o.Checkout.Offer.CheckOut.Time()
	return err == nil && now.After(out.AddDate(0, 0, 2))
}

// orders are all orders under their references. It is safe for concurrent use.
type orders struct {
	woken chan struct{} // an order may be due sooner
	mu    sync.Mutex
	byID  map[string]*order
}

func newOrders() *orders {
	return &orders{woken: make(chan struct{}, 1), byID: make(map[string]*order)}
}

// due returns the references of orders that are to be read now, limit of them at most,
// and, where there are none, when to look again. A real engine has an index on nextRead.
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

// postpone sets when orders that were read are read again: after the pause of their age,
// most at the latest, or never.
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

// begin adds an order, unless there is one under its reference that is booked or
// may be: whoever is told to be the first is the only one to call Book.
func (s *orders) begin(o order) (wakeup <-chan struct{}, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := o.Checkout.Reference
	if old := s.byID[id]; old != nil {
		if old.State != notBooked {
			return nil, false
		}
		close(old.changed)
	}
	o.wakeup, o.changed = make(chan struct{}, 1), make(chan struct{})
	s.byID[id] = &o
	return o.wakeup, true
}

// begun tells an order that is booked or may be.
func (s *orders) begun(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.byID[id]
	return o != nil && o.State != notBooked
}

// get returns a copy of an order, and what is closed when it changes.
func (s *orders) get(id string) (o order, changed <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byID[id]; found != nil {
		return *found, found.changed, true
	}
	return order{}, nil, false
}

// update changes an order and tells whoever watches it. It returns what change
// returned: whether it was the caller who made the change.
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

// wake has an order read, or found, now.
func (s *orders) wake(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.byID[id]
	switch {
	case o == nil:
	case o.State == booked:
		o.since = time.Now()
		o.nextRead = o.since
		nudge(s.woken)
	default:
		nudge(o.wakeup)
	}
}

// nudge leaves word for a reader, unless there is some already.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
