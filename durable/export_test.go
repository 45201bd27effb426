package durable

import (
	"time"

	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

// The transitions that stores do not call.

func (c Cancellation) Bind(at time.Time, booking *Booking) (Cancellation, bool) {
	return c.bind(at, booking)
}

func (c Cancellation) BookingBegins(now time.Time) (Cancellation, error) { return c.bookingBegins(now) }

func (c Cancellation) Same(read Cancellation) bool { return c.same(read) }

func (f Followed) Order(ring *keyring.Ring) *types.Order {
	_, order := f.seen(ring)
	return order
}

// Reseal changes the text of the order that the caller has received last, as another version writes it.
func (f Followed) Reseal(ring *keyring.Ring, change func(text []byte) []byte) (_ Followed, err error) {
	plain, _ := f.seen(ring)
	f.Seen, err = ring.Seal(f.place(), change(plain))
	return f, err
}

var Identify = identify
