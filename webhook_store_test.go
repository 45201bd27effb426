// EventStore in memory: claims, retention, the limit.

package hotelstays

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClaimStateWords(t *testing.T) {
	states := []ClaimState{ClaimGranted, ClaimBusy, ClaimDone}
	text, err := json.Marshal(states)
	require.NoError(t, err)
	assert.JSONEq(t, `["granted","busy","done"]`, string(text))
	assert.Equal(t, "[granted busy done]", fmt.Sprint(states))
	var decoded []ClaimState
	require.NoError(t, json.Unmarshal(text, &decoded))
	assert.Equal(t, states, decoded)
	for _, state := range []ClaimState{-1, 0, 4} {
		assert.Equal(t, fmt.Sprintf("ClaimState(%d)", int(state)), state.String())
	}
	for _, word := range []string{"", "Done", "gone", "ClaimState(0)"} {
		assert.Error(t, new(ClaimState).UnmarshalText([]byte(word)), word)
	}
}

func claimEvent(t *testing.T, m *memoryEvents, want ClaimState, keys ...string) {
	t.Helper()
	state, err := m.Claim(t.Context(), keys, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, want, state, "%v", keys)
}

func doneEvent(t *testing.T, m *memoryEvents, keys ...string) {
	t.Helper()
	claimEvent(t, m, ClaimGranted, keys...)
	require.NoError(t, m.Done(t.Context(), keys, time.Hour))
}

func TestMemoryEventsStates(t *testing.T) {
	m := newMemoryEvents(100)
	claimEvent(t, m, ClaimGranted, "a", "b")
	claimEvent(t, m, ClaimBusy, "a")
	claimEvent(t, m, ClaimBusy, "b", "c") // one common key is enough
	claimEvent(t, m, ClaimGranted, "c")   // c was not claimed with it
	require.NoError(t, m.Done(t.Context(), []string{"a", "b"}, time.Hour))
	claimEvent(t, m, ClaimDone, "b", "d")
	claimEvent(t, m, ClaimDone, "c", "a") // done wins over busy
	claimEvent(t, m, ClaimGranted, "d")
	require.NoError(t, m.Release(t.Context(), []string{"a", "c", "unknown"}))
	claimEvent(t, m, ClaimGranted, "c")
	claimEvent(t, m, ClaimDone, "a") // done keys are not released
}

func TestMemoryEventsRepeatedKey(t *testing.T) {
	m := newMemoryEvents(100)
	doneEvent(t, m, "a", "a")
	claimEvent(t, m, ClaimDone, "a")
	assert.Len(t, m.held, 1)
	assert.Equal(t, 1, m.done.Len())
}

// At the limit the oldest done keys are dropped, and never a claim.
func TestMemoryEventsForgetOldestDone(t *testing.T) {
	m := newMemoryEvents(4)
	claimEvent(t, m, ClaimGranted, "claimed")
	for i := range 3 {
		doneEvent(t, m, fmt.Sprint(i))
	}
	doneEvent(t, m, "3") // forgets 0
	doneEvent(t, m, "4") // forgets 1
	assert.Len(t, m.held, 4)
	for _, key := range []string{"2", "3", "4"} {
		claimEvent(t, m, ClaimDone, key)
	}
	claimEvent(t, m, ClaimBusy, "claimed")
	claimEvent(t, m, ClaimGranted, "0") // forgets 2
	claimEvent(t, m, ClaimDone, "3")
	claimEvent(t, m, ClaimGranted, "x", "y") // forgets 3 and 4
	assert.Equal(t, 0, m.done.Len())
	claimEvent(t, m, ClaimBusy, "claimed")
}

// A store full of claims grants no other, and drops none.
func TestMemoryEventsFullOfClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryEvents(4)
		claimEvent(t, m, ClaimGranted, "a", "b")
		time.Sleep(30 * time.Second)
		claimEvent(t, m, ClaimGranted, "c")
		for _, keys := range [][]string{{"d", "e"}, {"d", "e", "f", "g", "h"}} {
			state, err := m.Claim(t.Context(), keys, time.Minute)
			assert.ErrorIs(t, err, errEventsFull)
			assert.NotEqual(t, ClaimGranted, state)
		}
		claimEvent(t, m, ClaimBusy, "a") // known keys still get their state
		claimEvent(t, m, ClaimGranted, "d")
		_, err := m.Claim(t.Context(), []string{"e"}, time.Minute)
		assert.ErrorIs(t, err, errEventsFull)
		time.Sleep(30 * time.Second) // the lease of a and b ends
		claimEvent(t, m, ClaimGranted, "e", "f")
		claimEvent(t, m, ClaimBusy, "c")
		claimEvent(t, m, ClaimBusy, "d")
		assert.Len(t, m.held, 4)
		require.NoError(t, m.Release(t.Context(), []string{"c"}))
		claimEvent(t, m, ClaimGranted, "g")
	})
}

// An expired claim has lost its room. If its holder is done later, the oldest done key
// makes room.
func TestMemoryEventsDoneAfterItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryEvents(2)
		claimEvent(t, m, ClaimGranted, "late")
		time.Sleep(time.Minute)
		doneEvent(t, m, "a", "b")
		require.NoError(t, m.Done(t.Context(), []string{"late"}, time.Hour))
		assert.Len(t, m.held, 2)
		claimEvent(t, m, ClaimDone, "late")
	})
}

// The default limit is 100,000 events with two keys each.
func TestMemoryEventsByDefault(t *testing.T) {
	m := newMemoryEvents(defaultEvents)
	keys := func(i int) []string { return []string{fmt.Sprint("id ", i), fmt.Sprint("body ", i)} }
	for i := range 100_001 {
		require.NoError(t, m.Done(t.Context(), keys(i), time.Hour))
	}
	claimEvent(t, m, ClaimDone, keys(1)...)
	claimEvent(t, m, ClaimGranted, keys(0)...)
}

func TestMemoryEventsExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryEvents(100)
		claimEvent(t, m, ClaimGranted, "lease")
		doneEvent(t, m, "done")
		time.Sleep(time.Minute - 1)
		claimEvent(t, m, ClaimBusy, "lease")
		time.Sleep(time.Nanosecond)
		claimEvent(t, m, ClaimGranted, "lease")
		time.Sleep(59*time.Minute - 1)
		claimEvent(t, m, ClaimDone, "done")
		time.Sleep(time.Nanosecond)
		claimEvent(t, m, ClaimGranted, "done")
		require.NoError(t, m.Done(t.Context(), []string{"done"}, time.Hour))
		claimEvent(t, m, ClaimDone, "done")

		// Expired keys are dropped without a claim of theirs.
		for i := range 50 {
			doneEvent(t, m, fmt.Sprint(i))
		}
		time.Sleep(time.Hour)
		claimEvent(t, m, ClaimGranted, "new")
		assert.Equal(t, 0, m.done.Len())
		assert.LessOrEqual(t, len(m.held), 2)
	})
}

// No key has two holders, a done key is not granted, and the limit holds.
func TestMemoryEventsConcurrent(t *testing.T) {
	const keys, limit = 12, 40
	m := newMemoryEvents(limit)
	var holders [keys]atomic.Int32
	var done [keys]atomic.Bool
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 1))
			for range 2000 {
				one, two := random.IntN(keys), random.IntN(keys)
				names := []string{fmt.Sprint(one), fmt.Sprint(two)}
				if one == two {
					names = names[:1]
				}
				wasDone := done[one].Load() || done[two].Load()
				state, err := m.Claim(t.Context(), names, time.Hour)
				if err != nil {
					t.Error(err)
				}
				if state != ClaimGranted {
					continue
				}
				if wasDone {
					t.Errorf("%v was done and is granted", names)
				}
				for _, k := range []int{one, two}[:len(names)] {
					if holders[k].Add(1) != 1 {
						t.Errorf("%d has two holders", k)
					}
				}
				for _, k := range []int{one, two}[:len(names)] {
					holders[k].Add(-1)
				}
				if random.IntN(200) == 0 {
					err = m.Done(t.Context(), names, time.Hour)
					for _, k := range []int{one, two}[:len(names)] {
						done[k].Store(true)
					}
				} else {
					err = m.Release(t.Context(), names)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	assert.LessOrEqual(t, len(m.held), limit)
}
