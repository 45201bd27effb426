// The transitions of an order that is followed.

package durable

import (
	"encoding/json"
	"reflect"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// firstFollow is the pause before the first read of an order, and lastFollow the longest one. In
	// between it is a quarter of the time since the last change, because webhooks can be lost.
	firstFollow = time.Minute
	lastFollow  = 12 * time.Hour
)

// Followed is the stored state of an order that is followed until it is settled: it is cancelled, or
// confirmed and two days past its check-in, or two days past its check-out.
type Followed struct {
	CustomerReferenceNo string `json:"customerReferenceNo"`
	// Fingerprint identifies the environment and the account, as in BookingRecovery.
	Fingerprint string `json:"fingerprint"`
	Market      string `json:"market,omitempty"`
	UserRef     string `json:"userRef,omitempty"`
	// Since is when the order was booked, has changed, or an event came.
	Since time.Time `json:"since"`
	// Seen is the order that the caller has received last. It is encrypted, because it names guests.
	Seen []byte `json:"seen,omitempty"`
	// Settled: nothing is left to follow.
	Settled bool `json:"settled,omitempty"`
	// Due is when a worker must read the order. Its JSON is left to the store, which searches by it.
	Due time.Time `json:"-"`
}

// Follow returns the order of a booking, to be followed from now on.
func Follow(ring *keyring.Ring, outcome *hotelstays.BookingOutcome, now time.Time) (Followed, error) {
	r := outcome.Recovery
	f := Followed{CustomerReferenceNo: r.CustomerReferenceNo, Fingerprint: r.Fingerprint, Market: r.Market, UserRef: r.UserRef,
		Since: wallClock(now), Due: wallClock(now.Add(firstFollow))}
	return f.keep(ring, outcome.Order)
}

// Options returns the stored options of the reads.
func (f Followed) Options() []hotelstays.CallOption {
	return storedOptions{Market: f.Market, UserRef: f.UserRef}.append(nil)
}

func (f Followed) place() string {
	return "followed order " + f.Fingerprint + " " + f.CustomerReferenceNo
}

func (f Followed) keep(ring *keyring.Ring, order *types.Order) (_ Followed, err error) {
	plain, err := json.Marshal(order)
	if err == nil {
		f.Seen, err = ring.Seal(f.place(), plain)
	}
	return f, err
}

// Order returns the order that the caller has received last, or nil if it cannot be decrypted any
// more.
func (f Followed) Order(ring *keyring.Ring) *types.Order {
	var order *types.Order
	if plain, err := ring.Open(f.place(), f.Seen); err != nil || json.Unmarshal(plain, &order) != nil {
		return nil
	}
	return order
}

// Missed returns the time of the next read after one that began at a time, and found no change.
func (f Followed) Missed(at time.Time) time.Time {
	return wallClock(at.Add(min(max(at.Sub(f.Since)/4, firstFollow), lastFollow)))
}

// Saw returns an order after a read that began at a time, and the order that the caller has received
// before. changed reports whether it has changed: pass both to the caller in the transaction that
// stores next. If it is false, only Due and Settled may differ.
func (f Followed) Saw(ring *keyring.Ring, at time.Time, order *types.Order, states hotelstays.OrderStates) (next Followed,
	before *types.Order, changed bool, err error) {
	if before = f.Order(ring); !same(before, order) {
		if f, err = f.keep(ring, order); err != nil {
			return f, nil, false, err
		}
		f.Since, changed = wallClock(at), true
	}
	f.Due = f.Missed(at)
	if f.Settled = settled(order, at, states); f.Settled {
		f.Seen = nil
	}
	return f, before, changed, nil
}

// same reports whether two orders are equal after they were stored.
func same(a, b *types.Order) bool {
	var c *types.Order
	text, err := json.Marshal(b)
	return err == nil && json.Unmarshal(text, &c) == nil && reflect.DeepEqual(a, c)
}

func settled(order *types.Order, at time.Time, states hotelstays.OrderStates) bool {
	switch states.StateOf(order.Status) {
	case hotelstays.OrderStateCancelled:
		return true
	case hotelstays.OrderStateConfirmed:
		return dayOver(order.CheckIn, at) || dayOver(order.CheckOut, at)
	}
	return dayOver(order.CheckOut, at)
}

// Wake makes an order due now, because a webhook says that something has happened. ok is false, and
// nothing changes, if it is settled.
func (f Followed) Wake(now time.Time) (next Followed, ok bool) {
	if f.Settled {
		return f, false
	}
	f.Since, f.Due = wallClock(now), wallClock(now)
	return f, true
}
