// EventStore in memory: claims, retention, the limit.

package hotelstays_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

func TestMemoryEventStore(t *testing.T) {
	storetest.TestEventStore(t, func(*testing.T) storetest.Fleet[hotelstays.EventStore] {
		m := hotelstays.NewMemoryEvents(1000)
		return storetest.Fleet[hotelstays.EventStore]{Open: func() hotelstays.EventStore { return m }}
	}, storetest.InBubble())
}

func claimEvent(t *testing.T, m hotelstays.MemoryEvents, want hotelstays.ClaimState, keys ...string) {
	t.Helper()
	state, err := m.Claim(t.Context(), keys, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, want, state, "%v", keys)
}

func doneEvent(t *testing.T, m hotelstays.MemoryEvents, keys ...string) {
	t.Helper()
	claimEvent(t, m, hotelstays.ClaimGranted, keys...)
	require.NoError(t, m.Done(t.Context(), keys, time.Hour))
}

func TestMemoryEventsForgetOldestDone(t *testing.T) {
	m := hotelstays.NewMemoryEvents(4)
	claimEvent(t, m, hotelstays.ClaimGranted, "claimed")
	for i := range 3 {
		doneEvent(t, m, fmt.Sprint(i))
	}
	doneEvent(t, m, "3") // forgets 0
	doneEvent(t, m, "4") // forgets 1
	assert.Equal(t, 4, m.Keys())
	for _, key := range []string{"2", "3", "4"} {
		claimEvent(t, m, hotelstays.ClaimDone, key)
	}
	claimEvent(t, m, hotelstays.ClaimBusy, "claimed")
	claimEvent(t, m, hotelstays.ClaimGranted, "0") // forgets 2
	claimEvent(t, m, hotelstays.ClaimDone, "3")
	claimEvent(t, m, hotelstays.ClaimGranted, "x", "y") // forgets 3 and 4
	assert.Equal(t, 0, m.DoneKeys())
	claimEvent(t, m, hotelstays.ClaimBusy, "claimed")
}

func TestMemoryEventsFullOfClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := hotelstays.NewMemoryEvents(4)
		claimEvent(t, m, hotelstays.ClaimGranted, "a", "b")
		time.Sleep(30 * time.Second)
		claimEvent(t, m, hotelstays.ClaimGranted, "c")
		for _, keys := range [][]string{{"d", "e"}, {"d", "e", "f", "g", "h"}} {
			state, err := m.Claim(t.Context(), keys, time.Minute)
			assert.ErrorIs(t, err, hotelstays.ErrEventsFull)
			assert.NotEqual(t, hotelstays.ClaimGranted, state)
		}
		claimEvent(t, m, hotelstays.ClaimBusy, "a") // known keys still get their state
		claimEvent(t, m, hotelstays.ClaimGranted, "d")
		_, err := m.Claim(t.Context(), []string{"e"}, time.Minute)
		assert.ErrorIs(t, err, hotelstays.ErrEventsFull)
		time.Sleep(30 * time.Second) // the lease of a and b ends
		claimEvent(t, m, hotelstays.ClaimGranted, "e", "f")
		claimEvent(t, m, hotelstays.ClaimBusy, "c")
		claimEvent(t, m, hotelstays.ClaimBusy, "d")
		assert.Equal(t, 4, m.Keys())
		require.NoError(t, m.Release(t.Context(), []string{"c"}))
		claimEvent(t, m, hotelstays.ClaimGranted, "g")
	})
}

// An expired claim has lost its room. If its holder is done later, the oldest done key
// makes room.
func TestMemoryEventsDoneAfterItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := hotelstays.NewMemoryEvents(2)
		claimEvent(t, m, hotelstays.ClaimGranted, "late")
		time.Sleep(time.Minute)
		doneEvent(t, m, "a", "b")
		require.NoError(t, m.Done(t.Context(), []string{"late"}, time.Hour))
		assert.Equal(t, 2, m.Keys())
		claimEvent(t, m, hotelstays.ClaimDone, "late")
	})
}

func TestMemoryEventsByDefault(t *testing.T) {
	keys := make([]string, 200_001)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	m := hotelstays.NewMemoryEvents(hotelstays.DefaultEvents)
	require.NoError(t, m.Done(t.Context(), keys, time.Hour))
	assert.Equal(t, 200_000, m.Keys())
	claimEvent(t, m, hotelstays.ClaimDone, keys[1])
	claimEvent(t, m, hotelstays.ClaimGranted, keys[0])
}

func TestMemoryEventsExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := hotelstays.NewMemoryEvents(100)
		for i := range 50 {
			doneEvent(t, m, fmt.Sprint(i))
		}
		time.Sleep(time.Hour)
		claimEvent(t, m, hotelstays.ClaimGranted, "new")
		assert.Equal(t, 0, m.DoneKeys())
		assert.LessOrEqual(t, m.Keys(), 2)
	})
}
