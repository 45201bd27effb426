// Claims, retention and the limit.

package events

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func claimEvent(t *testing.T, m *Memory, want string, keys ...string) {
	t.Helper()
	state, err := m.Claim(t.Context(), keys, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, want, state, "%v", keys)
}

func doneEvent(t *testing.T, m *Memory, keys ...string) {
	t.Helper()
	claimEvent(t, m, Granted, keys...)
	require.NoError(t, m.Done(t.Context(), keys, time.Hour))
}

func TestFullMemoryEventStoreForgetsTheOldestDoneKey(t *testing.T) {
	m := New(4)
	claimEvent(t, m, Granted, "claimed")
	for i := range 3 {
		doneEvent(t, m, fmt.Sprint(i))
	}
	doneEvent(t, m, "3") // forgets 0
	doneEvent(t, m, "4") // forgets 1
	assert.Len(t, m.held, 4)
	for _, key := range []string{"2", "3", "4"} {
		claimEvent(t, m, Done, key)
	}
	claimEvent(t, m, Busy, "claimed")
	claimEvent(t, m, Granted, "0") // forgets 2
	claimEvent(t, m, Done, "3")
	claimEvent(t, m, Granted, "x", "y") // the store forgets 3 and 4
	assert.Empty(t, m.done)
	claimEvent(t, m, Busy, "claimed")
}

func TestMemoryEventStoreNeverDropsAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(4)
		claimEvent(t, m, Granted, "a", "b")
		time.Sleep(30 * time.Second)
		claimEvent(t, m, Granted, "c")
		for _, keys := range [][]string{{"d", "e"}, {"d", "e", "f", "g", "h"}} {
			state, err := m.Claim(t.Context(), keys, time.Minute)
			assert.ErrorIs(t, err, ErrFull)
			assert.NotEqual(t, Granted, state)
		}
		claimEvent(t, m, Busy, "a") // Claim still returns the state of a key in the store
		claimEvent(t, m, Granted, "d")
		_, err := m.Claim(t.Context(), []string{"e"}, time.Minute)
		assert.ErrorIs(t, err, ErrFull)
		time.Sleep(30 * time.Second) // the lease of a and b ends
		claimEvent(t, m, Granted, "e", "f")
		claimEvent(t, m, Busy, "c")
		claimEvent(t, m, Busy, "d")
		assert.Len(t, m.held, 4)
		require.NoError(t, m.Release(t.Context(), []string{"c"}))
		claimEvent(t, m, Granted, "g")
	})
}

// An expired claim takes no space. If Done follows after the lease, the store drops the oldest done key.
func TestMemoryEventStoreKeepsAnEventThatEndsAfterItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(2)
		claimEvent(t, m, Granted, "late")
		time.Sleep(time.Minute)
		doneEvent(t, m, "a", "b")
		require.NoError(t, m.Done(t.Context(), []string{"late"}, time.Hour))
		assert.Len(t, m.held, 2)
		claimEvent(t, m, Done, "late")
	})
}

func TestMemoryEventStoreForgetsDoneEventsAfterTheRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(100)
		for i := range 50 {
			doneEvent(t, m, fmt.Sprint(i))
		}
		time.Sleep(time.Hour)
		claimEvent(t, m, Granted, "new")
		assert.Empty(t, m.done)
		assert.LessOrEqual(t, len(m.held), 2)
	})
}
