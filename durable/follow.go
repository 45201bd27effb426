// The transitions of an order that is followed.

package durable

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// firstFollow is the pause before the first read of an order, and lastFollow is the longest pause.
	// Between these limits, the pause is a quarter of the time since the last change. Reads are
	// needed because webhooks can be lost.
	firstFollow = time.Minute
	lastFollow  = 12 * time.Hour
	// failedPause is the longest pause after a failed read of a followed order or of a
	// cancellation's order.
	failedPause = 5 * time.Minute
	// missingFor is how long an order must be missing from every answer before workers stop reading the order.
	missingFor = 30 * 24 * time.Hour
)

// followed is the stored state of an order that is followed until it is settled: see Options.OnOrder.
type followed struct {
	CustomerReferenceNo string `json:"customerReferenceNo"`
	// PlatformReferenceNo identifies the order. Another order under the same reference is logged,
	// and never mistaken for this order.
	PlatformReferenceNo string `json:"platformReferenceNo,omitempty"`
	// Fingerprint identifies the environment and the account, as in BookingRecovery.
	Fingerprint string     `json:"fingerprint"`
	Market      string     `json:"market,omitempty"`
	UserRef     string     `json:"userRef,omitempty"`
	CheckOut    types.Date `json:"checkOut,omitempty"`
	// Since is when the order last changed, or when Wake was last called. Before that, it is the time of the booking.
	Since time.Time `json:"since"`
	// Seen is the order as the caller last received it. It is encrypted, because it names guests.
	Seen []byte `json:"seen,omitempty"`
	// MissingSince is the time of the first complete answer that lacked the order. Other is the number of
	// another order under the reference. Both were logged.
	MissingSince time.Time `json:"missingSince,omitzero"`
	Other        string    `json:"other,omitempty"`
	// Settled: workers no longer read the order.
	Settled bool `json:"settled,omitempty"`
	// Due is when a worker must read the order. It is not in the JSON: the store has its own column for it.
	Due time.Time `json:"-"`
}

// follow returns the state to store for the order that a booking has found.
func follow(ring *keyring.Ring, outcome *hotelstays.BookingOutcome, now time.Time) (followed, error) {
	r := outcome.Recovery
	f := followed{CustomerReferenceNo: r.CustomerReferenceNo, Fingerprint: r.Fingerprint, Market: r.Market, UserRef: r.UserRef,
		Since: wallClock(now), Due: wallClock(now.Add(firstFollow))}
	return f.keep(ring, outcome.Order)
}

func (f *followed) identity() (reference, fingerprint string) {
	return f.CustomerReferenceNo, f.Fingerprint
}

func (f *followed) due() time.Time { return f.Due }

func (f *followed) read(row *Row) error {
	f.Due, f.Settled = row.Due, row.Life != Open
	return nil
}

func (f *followed) open() bool { return !f.Settled }

func (f followed) place() string {
	return "followed order " + f.Fingerprint + " " + f.CustomerReferenceNo
}

// allFields is a key in the stored JSON of an order. It says that the JSON has all fields that its writer knew, also
// the empty fields.
const allFields = "allFields"

// keep stores an order in Seen, with its empty fields. So a later version of this package knows which fields this
// version knows.
func (f followed) keep(ring *keyring.Ring, order *types.Order) (_ followed, err error) {
	fields, _ := fieldsOf(order).(map[string]any)
	fields[allFields] = true
	plain, err := json.Marshal(fields)
	if err == nil {
		f.PlatformReferenceNo, f.CheckOut = order.PlatformReferenceNo, order.CheckOut
		f.Seen, err = ring.Seal(f.place(), plain)
	}
	return f, err
}

// seen returns the order that the caller received last, as JSON and decoded. Both are nil if no key decrypts the JSON.
func (f followed) seen(ring *keyring.Ring) (plain []byte, order *types.Order) {
	plain, _ = ring.Open(f.place(), f.Seen)
	if json.Unmarshal(plain, &order) != nil {
		return nil, nil
	}
	return plain, order
}

// missed sets the time of the next read, after a read that showed no change. The parameter at is when that read began.
func (f followed) missed(at time.Time) followed {
	f.Due = wallClock(at.Add(min(max(at.Sub(f.Since)/4, firstFollow), lastFollow)))
	return f
}

// failed is like missed, but after a failed read the pause is at most failedPause.
func (f followed) failed(at time.Time) followed {
	if f = f.missed(at); f.Due.Sub(at) > failedPause {
		f.Due = wallClock(at.Add(failedPause))
	}
	return f
}

// lost returns the next state if a complete answer did not contain the order. The order is settled two days after its
// check-out, or after 30 days in which no answer contained it.
func (f followed) lost(at time.Time) followed {
	if f.MissingSince.IsZero() {
		f.MissingSince = wallClock(at)
	}
	if f.Settled = dayOver(f.CheckOut, at) || at.Sub(f.MissingSince) >= missingFor; f.Settled {
		f.Seen = nil
	}
	return f.missed(at)
}

// saw compares an order that a worker has read with the order that the caller received last. The parameter at is when
// the read began. The result before is the order that the caller received last. If the result changed is true, pass
// both orders to OnOrder in the transaction that stores the result next.
func (f followed) saw(ring *keyring.Ring, at time.Time, order *types.Order, states hotelstays.StatusMeanings) (next followed,
	before *types.Order, changed bool, err error) {
	plain, before := f.seen(ring)
	if changed = differs(plain, before, order); changed {
		f, err = f.keep(ring, order)
		f.Since = wallClock(at)
	}
	f.MissingSince = time.Time{}
	if f.Settled = isSettled(order, at, states); f.Settled {
		f.Seen = nil
	}
	return f.missed(at), before, changed, err
}

func isSettled(order *types.Order, at time.Time, states hotelstays.StatusMeanings) bool {
	switch states.StateOf(order.Status) {
	case hotelstays.OrderStateCancelled:
		return true
	case hotelstays.OrderStateConfirmed:
		return dayOver(order.CheckIn, at) || dayOver(order.CheckOut, at)
	}
	return dayOver(order.CheckOut, at)
}

// wake makes an order due now, after a webhook for its reference. If the order is settled, ok is false and nothing
// changes.
func (f followed) wake(now time.Time) (next followed, ok bool) {
	if f.Settled {
		return f, false
	}
	f.Since, f.Due = wallClock(now), wallClock(now)
	return f, true
}

// identify returns the order with the PlatformReferenceNo in the parameter number, and the PlatformReferenceNos of all
// other orders. If number is empty, it returns the order only if orders has exactly one order.
func identify(orders []types.Order, number string) (order *types.Order, others []string) {
	for i := range orders {
		switch o := &orders[i]; {
		case o.PlatformReferenceNo == number, number == "" && len(orders) == 1:
			order = o
		default:
			others = append(others, o.PlatformReferenceNo)
		}
	}
	slices.Sort(others) // sorted, because the service may return the orders in any sequence
	return order, others
}

// differs compares an order with the stored order, field by field. It skips fields that only this version of the
// package knows, or only the version that stored the order.
func differs(plain []byte, before, order *types.Order) bool {
	var stored map[string]any
	_ = json.Unmarshal(plain, &stored) // fails if no key could decrypt the stored order
	if stored[allFields] == nil {      // an older version stored the order without its empty fields
		return !sameWhereKnown(decoded(before), decoded(order))
	}
	return !sameWhereKnown(stored, decoded(order))
}

// decoded converts an order to the maps, lists and texts that encoding/json decodes.
func decoded(order *types.Order) (fields any) {
	text, _ := json.Marshal(fieldsOf(order)) // Marshal cannot fail here, because keep has already encoded the order
	_ = json.Unmarshal(text, &fields)
	return fields
}

func sameWhereKnown(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		for name := range a {
			if value, known := b[name]; ok && known {
				ok = sameWhereKnown(a[name], value)
			}
		}
		return ok
	case []any:
		b, _ := b.([]any)
		ok := len(a) == len(b)
		for i := 0; ok && i < len(a); i++ {
			ok = sameWhereKnown(a[i], b[i])
		}
		return ok
	}
	return reflect.DeepEqual(a, b)
}

// fieldsOf returns a value as encoding/json would write it if no field had the option omitempty.
func fieldsOf(value any) any {
	v := reflect.ValueOf(value)
	if _, text := value.(json.Marshaler); text {
		return value
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return fieldsOf(v.Elem().Interface())
		}
		return nil
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = fieldsOf(v.Index(i).Interface())
		}
		return list
	case reflect.Struct:
		fields := map[string]any{}
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				fields[name] = fieldsOf(v.Field(i).Interface())
			}
		}
		return fields
	case reflect.String:
		if value == json.Number("") {
			return nil // encoding/json would write 0 for an empty number
		}
	}
	return value
}
