package durable

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

func newRing(t *testing.T, key string) *keyring.Ring {
	ring, err := keyring.New([]types.Secret{types.NewSecret(key)})
	require.NoError(t, err)
	return ring
}

// stayOf returns an order of a stay from 2 to 4 July.
func stayOf(status types.OrderStatus) *types.Order {
	return &types.Order{Status: status, CustomerReferenceNo: "ref-1", PlatformReferenceNo: "order-1",
		CheckIn: "2026-07-02", CheckOut: "2026-07-04",
		Holder: types.Holder{FirstName: "Ada", LastName: "Smith"}}
}

// sameOrder compares orders as JSON, because a stored order has empty lists instead of nil.
func sameOrder(t *testing.T, want, got *types.Order) {
	t.Helper()
	a, err := json.Marshal(want)
	require.NoError(t, err)
	b, err := json.Marshal(got)
	require.NoError(t, err)
	assert.JSONEq(t, string(a), string(b))
}

func seenBy(ring *keyring.Ring, f followed) *types.Order {
	_, order := f.seen(ring)
	return order
}

// reseal changes the stored text of the order that the caller last received, as if another version had written it.
func reseal(f followed, ring *keyring.Ring, change func(text []byte) []byte) (_ followed, err error) {
	plain, _ := f.seen(ring)
	f.Seen, err = ring.Seal(f.place(), change(plain))
	return f, err
}

// following returns the followed order of a booking that was found at start.
func following(t *testing.T, ring *keyring.Ring) followed {
	recovery := &hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", Fingerprint: "account", Market: "FR", UserRef: "user"}
	f, err := follow(ring, &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: stayOf(1), Recovery: recovery}, start)
	require.NoError(t, err)
	return f
}

func TestPausesBetweenReadsOfAFollowedOrderGrow(t *testing.T) {
	f := following(t, newRing(t, "a key of thirty-two random bytes"))
	assert.Equal(t, after(time.Minute), f.Due)
	reads, at := 0, start
	for reads < 99 && at.Before(after(48*time.Hour)) {
		at = f.missed(at).Due
		reads++
	}
	assert.Equal(t, 34, reads, "in two days")
	assert.Equal(t, after(1000*time.Hour+12*time.Hour), f.missed(after(1000*time.Hour)).Due)
	woken, ok := f.wake(after(1000 * time.Hour))
	assert.True(t, ok)
	assert.Equal(t, after(1000*time.Hour), woken.Due)
	assert.Equal(t, after(1000*time.Hour+time.Minute), woken.missed(woken.Due).Due)
	f.Settled = true
	_, ok = f.wake(start)
	assert.False(t, ok)
}

func TestOnOrderReceivesOnlyChanges(t *testing.T) {
	ring := newRing(t, "a key of thirty-two random bytes")
	at := after(time.Hour)
	confirmed := stayOf(1)
	confirmed.HotelConfirmNo = "H-1"
	dearer := stayOf(1)
	dearer.NetRate = types.Money{Currency: "EUR", Amount: "1"}
	withRooms := func(ids ...string) *types.Order {
		o := stayOf(1)
		for _, id := range ids {
			o.Rooms = append(o.Rooms, types.OrderRoom{RoomTypeID: id})
		}
		return o
	}
	var err error
	rooms := following(t, ring)
	rooms, err = rooms.keep(ring, withRooms("a", "b"))
	require.NoError(t, err)
	for o, want := range map[*types.Order]bool{withRooms("a", "b"): false, withRooms("c", "b"): true, withRooms("a"): true} {
		_, _, changed, err := rooms.saw(ring, at, o, states)
		require.NoError(t, err)
		assert.Equal(t, want, changed, "%v", o.Rooms)
	}
	for name, tc := range map[string]struct {
		order   *types.Order
		changed bool
	}{
		"the price changes":               {dearer, true},
		"nothing changes":                 {stayOf(1), false},
		"the status changes":              {stayOf(2), true},
		"a confirmation that comes later": {confirmed, true},
	} {
		f := following(t, ring)
		next, before, changed, err := f.saw(ring, at, tc.order, states)
		require.NoError(t, err)
		assert.Equal(t, tc.changed, changed, name)
		sameOrder(t, stayOf(1), before)
		sameOrder(t, tc.order, seenBy(ring, next))
		if changed {
			assert.Equal(t, at, next.Since)
			assert.Equal(t, at.Add(time.Minute), next.Due)
		} else {
			assert.Equal(t, at.Add(15*time.Minute), next.Due)
			next.Due = f.Due
			assert.Equal(t, f, next, "only the time of the next read is stored")
		}
	}
}

// Another version of this package, which knows other fields, has stored the order.
func TestUnknownFieldsOfAnotherVersionAreNoChange(t *testing.T) {
	ring := newRing(t, "a key of thirty-two random bytes")
	edited := func(edit func(order map[string]any)) func([]byte) []byte {
		return func(text []byte) []byte {
			var order map[string]any
			require.NoError(t, json.Unmarshal(text, &order))
			edit(order)
			text, err := json.Marshal(order)
			require.NoError(t, err)
			return text
		}
	}
	without := func(names ...string) func([]byte) []byte {
		return edited(func(o map[string]any) {
			for _, name := range names {
				delete(o, name)
				delete(o["holder"].(map[string]any), name)
			}
		})
	}
	priced := stayOf(1)
	priced.HotelConfirmNo, priced.Rooms = "H-1", []types.OrderRoom{{RoomTypeID: "room"}}
	for name, tc := range map[string]struct {
		stored  func([]byte) []byte
		order   *types.Order
		changed bool
	}{
		"a field that this version does not know":     {edited(func(o map[string]any) { o["newField"] = "new" }), stayOf(1), false},
		"a field that the other version did not know": {without("hotelConfirmNo", "rooms"), priced, false},
		"an unknown field of a nested object":         {without("lastName"), stayOf(1), false},
		"a field that both versions know":             {edited(func(o map[string]any) { o["hotelConfirmNo"] = "H-0" }), stayOf(1), true},
		"empty fields of an older version":            {func([]byte) []byte { text, _ := json.Marshal(stayOf(1)); return text }, stayOf(1), false},
		"a field that an older version left empty":    {func([]byte) []byte { text, _ := json.Marshal(stayOf(1)); return text }, priced, true},
	} {
		f, err := reseal(following(t, ring), ring, tc.stored)
		require.NoError(t, err)
		next, before, changed, err := f.saw(ring, start, tc.order, states)
		require.NoError(t, err)
		assert.Equal(t, tc.changed, changed, name)
		assert.NotNil(t, before, name)
		_, _, again, err := next.saw(ring, start, tc.order, states)
		require.NoError(t, err)
		assert.False(t, again, name)
	}
}

func TestFieldsOfKeepsTypesWithTheirOwnJSON(t *testing.T) {
	assert.Equal(t, start, fieldsOf(start), "a type with JSON of its own")
	assert.Nil(t, fieldsOf((*types.Order)(nil)))
}

// An order is missing if a complete answer lacks it. A failed read proves nothing, and is repeated soon.
func TestMissingOrderIsReadFor30Days(t *testing.T) {
	ring := newRing(t, "a key of thirty-two random bytes")
	f := following(t, ring)
	lost := f.lost(after(time.Hour))
	assert.Equal(t, []any{after(time.Hour), false, after(75 * time.Minute)}, []any{lost.MissingSince, lost.Settled, lost.Due})
	back, _, changed, err := lost.saw(ring, after(2*time.Hour), stayOf(1), states)
	require.NoError(t, err)
	assert.False(t, changed)
	assert.Zero(t, back.MissingSince)
	assert.False(t, lost.lost(after(time.Hour+30*24*time.Hour-1)).Settled)
	assert.True(t, lost.lost(after(time.Hour+30*24*time.Hour)).Settled, "no answer had it for 30 days")
	over := time.Date(2026, 7, 6, 0, 0, 1, 0, time.UTC)
	assert.False(t, f.lost(over.Add(-24*time.Hour)).Settled)
	gone := f.lost(over)
	assert.True(t, gone.Settled)
	assert.Nil(t, gone.Seen)
	assert.Equal(t, after(2*time.Minute), f.failed(after(time.Minute)).Due)
	assert.Equal(t, after(100*time.Hour+5*time.Minute), f.failed(after(100*time.Hour)).Due)
	assert.False(t, f.failed(over).Settled)
}

func TestOrderIsIdentifiedByItsNumber(t *testing.T) {
	orders := func(numbers ...string) (list []types.Order) {
		for _, number := range numbers {
			list = append(list, types.Order{PlatformReferenceNo: number})
		}
		return list
	}
	for _, tc := range []struct {
		under  []types.Order
		number string
		is     string
		others []string
	}{
		{nil, "a", "", nil},
		{orders("a"), "a", "a", nil},
		{orders("b"), "a", "", []string{"b"}},
		{orders("b", "a"), "a", "a", []string{"b"}},
		{orders("b"), "", "b", nil},
		{orders("c", "b"), "a", "", []string{"b", "c"}},
		{orders("a", "b"), "", "", []string{"a", "b"}},
	} {
		order, others := identify(tc.under, tc.number)
		assert.Equal(t, tc.others, others)
		if assert.Equal(t, tc.is != "", order != nil); order != nil {
			assert.Equal(t, tc.is, order.PlatformReferenceNo)
		}
	}
}

func TestStatusAndDatesDecideWhetherAnOrderIsSettled(t *testing.T) {
	ring := newRing(t, "a key of thirty-two random bytes")
	day := func(d int) time.Time { return time.Date(2026, 7, d, 0, 0, 1, 0, time.UTC) }
	for name, tc := range map[string]struct {
		status  types.OrderStatus
		at      time.Time
		settled bool
	}{
		"the order is cancelled":                         {3, start, true},
		"the order is confirmed":                         {2, start, false},
		"the order is confirmed, on the day of check-in": {2, day(2), false},
		"the order is confirmed, and past its check-in":  {2, day(4), true},
		"the order is open, and past its check-in":       {1, day(4), false},
		"an unknown state past its check-in":             {5, day(4), false},
		"the order is open, a day after its check-out":   {1, day(5), false}, // in some time zones this day is not over
		"the order is open, before the end of that day":  {1, day(6).Add(-time.Second), false},
		"the order is open, and past its check-out":      {1, day(6), true},
		"an unknown state past its check-out":            {5, day(6), true},
	} {
		next, _, _, err := following(t, ring).saw(ring, tc.at, stayOf(tc.status), states)
		require.NoError(t, err)
		assert.Equal(t, tc.settled, next.Settled, name)
		assert.Equal(t, tc.settled, next.Seen == nil, "guests are kept no longer than needed")
	}
}

// The stored order names guests. If no key decrypts the stored order, OnOrder receives the next read as a change whose
// Before is nil.
func TestFollowedOrderIsEncrypted(t *testing.T) {
	ring, other := newRing(t, "a key of thirty-two random bytes"), newRing(t, "another key of 32 random bytes..")
	f := following(t, ring)
	assert.NotContains(t, string(f.Seen), "Smith")
	sameOrder(t, stayOf(1), seenBy(ring, f))
	assert.Nil(t, seenBy(other, f))
	moved := f
	moved.CustomerReferenceNo = "ref-2"
	assert.Nil(t, seenBy(ring, moved))
	next, before, changed, err := f.saw(other, start, stayOf(1), states)
	require.NoError(t, err)
	assert.Nil(t, before)
	assert.True(t, changed)
	sameOrder(t, stayOf(1), seenBy(other, next))
}
