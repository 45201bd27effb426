package durable_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

func newRing(t *testing.T, key string) *keyring.Ring {
	ring, err := keyring.New([]types.Secret{types.NewSecret(key)})
	require.NoError(t, err)
	return ring
}

// stayOf is an order from 2 to 4 July in a state.
func stayOf(status types.OrderStatus) *types.Order {
	return &types.Order{Status: status, CustomerReferenceNo: "ref-1", CheckIn: "2026-07-02", CheckOut: "2026-07-04",
		Holder: types.Holder{FirstName: "Ada", LastName: "Smith"}}
}

// following is the order of a booking that was found at the start.
func following(t *testing.T, ring *keyring.Ring) durable.Followed {
	recovery := &hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", Fingerprint: "account", Market: "FR", UserRef: "user"}
	f, err := durable.Follow(ring, &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: stayOf(1), Recovery: recovery}, start)
	require.NoError(t, err)
	return f
}

func TestFollowedOrderIsReadLessAndLess(t *testing.T) {
	f := following(t, newRing(t, "a key of thirty-two random bytes"))
	assert.Equal(t, after(time.Minute), f.Due)
	reads, at := 0, start
	for at.Before(after(48 * time.Hour)) {
		at = f.Missed(at)
		reads++
	}
	assert.Equal(t, 34, reads, "in two days")
	assert.Equal(t, after(1000*time.Hour+12*time.Hour), f.Missed(after(1000*time.Hour)))
	woken, ok := f.Wake(after(1000 * time.Hour))
	assert.True(t, ok)
	assert.Equal(t, after(1000*time.Hour), woken.Due)
	assert.Equal(t, after(1000*time.Hour+time.Minute), woken.Missed(woken.Due))
	f.Settled = true
	_, ok = f.Wake(start)
	assert.False(t, ok)
}

func TestChangesOfAFollowedOrder(t *testing.T) {
	ring := newRing(t, "a key of thirty-two random bytes")
	at := after(time.Hour)
	confirmed := stayOf(1)
	confirmed.HotelConfirmNo = "H-1"
	for name, tc := range map[string]struct {
		order   *types.Order
		changed bool
	}{
		"nothing":                         {stayOf(1), false},
		"the status":                      {stayOf(2), true},
		"a confirmation that comes later": {confirmed, true},
	} {
		f := following(t, ring)
		next, before, changed, err := f.Saw(ring, at, tc.order, states)
		require.NoError(t, err)
		assert.Equal(t, tc.changed, changed, name)
		assert.Equal(t, stayOf(1), before, name)
		assert.Equal(t, tc.order, next.Order(ring), name)
		if changed {
			assert.Equal(t, at, next.Since)
			assert.Equal(t, at.Add(time.Minute), next.Due)
		} else {
			assert.Equal(t, at.Add(15*time.Minute), next.Due)
			next.Due = f.Due
			assert.Equal(t, f, next, "a store needs not write it")
		}
	}
}

func TestSettledOrders(t *testing.T) {
	ring := newRing(t, "a key of thirty-two random bytes")
	day := func(d int) time.Time { return time.Date(2026, 7, d, 0, 0, 1, 0, time.UTC) }
	for name, tc := range map[string]struct {
		status  types.OrderStatus
		at      time.Time
		settled bool
	}{
		"cancelled":                           {3, start, true},
		"confirmed":                           {2, start, false},
		"confirmed, on the day of check-in":   {2, day(2), false},
		"confirmed, and past its check-in":    {2, day(4), true},
		"open, and past its check-in":         {1, day(4), false},
		"an unknown state past its check-in":  {5, day(4), false},
		"open, and past its check-out":        {1, day(6), true},
		"an unknown state past its check-out": {5, day(6), true},
	} {
		next, _, _, err := following(t, ring).Saw(ring, tc.at, stayOf(tc.status), states)
		require.NoError(t, err)
		assert.Equal(t, tc.settled, next.Settled, name)
		assert.Equal(t, tc.settled, next.Seen == nil, "guests are kept no longer than needed")
	}
}

// The stored order names guests. Without its key the next read is a change from nothing.
func TestFollowedOrderIsEncrypted(t *testing.T) {
	ring, other := newRing(t, "a key of thirty-two random bytes"), newRing(t, "another key of 32 random bytes..")
	f := following(t, ring)
	assert.NotContains(t, string(f.Seen), "Smith")
	assert.Equal(t, stayOf(1), f.Order(ring))
	assert.Nil(t, f.Order(other))
	moved := f
	moved.CustomerReferenceNo = "ref-2"
	assert.Nil(t, moved.Order(ring))
	next, before, changed, err := f.Saw(other, start, stayOf(1), states)
	require.NoError(t, err)
	assert.Nil(t, before)
	assert.True(t, changed)
	assert.Equal(t, stayOf(1), next.Order(other))
	got, err := hotelstays.CallOptionsOf(f.Options()...)
	require.NoError(t, err)
	assert.Equal(t, []string{"FR", "user"}, []string{got.Market, got.UserRef})
}
