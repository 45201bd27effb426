package hotelstaysredis

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

func withEvents(t *testing.T, test func(t *testing.T, l *link, a, b *EventStore)) {
	synctest.Test(t, func(t *testing.T) {
		l := newMini(t).connect(t)
		test(t, l, newEvents(t, l), newEvents(t, l))
	})
}

func newEvents(t *testing.T, client redis.UniversalClient) *EventStore {
	s, err := NewEventStore(client, nil)
	require.NoError(t, err)
	return s
}

func claim(t *testing.T, s *EventStore, keys ...string) hotelstays.ClaimState {
	t.Helper()
	state, err := s.Claim(t.Context(), keys, time.Minute)
	require.NoError(t, err)
	return state
}

func TestEventStorePassesTheSuiteOfStoretest(t *testing.T) {
	storetest.TestEventStore(t, func(t *testing.T) storetest.Fleet[hotelstays.EventStore] {
		return miniFleet(t, func(client *redis.Client) hotelstays.EventStore { return newEvents(t, client) })
	}, &storetest.Options{InBubble: true})
}

func TestEventStoreRefusesInvalidArguments(t *testing.T) {
	withEvents(t, func(t *testing.T, l *link, a, _ *EventStore) {
		_, err := a.Claim(t.Context(), nil, time.Minute)
		assert.ErrorContains(t, err, "hotelstaysredis: claiming an event: the event has no keys")
		_, err = a.Claim(t.Context(), []string{"id"}, time.Microsecond)
		assert.ErrorContains(t, err, "it must be at least 1 ms")
		assert.ErrorContains(t, a.Done(t.Context(), []string{"id"}, 0), "finishing an event: the lease or retention is 0s")
		assert.ErrorContains(t, a.Release(t.Context(), nil), "releasing an event: the event has no keys")
		assert.Zero(t, l.commands.Load())

		l.down.Store(true)
		_, err = a.Claim(t.Context(), []string{"id"}, time.Minute)
		assert.ErrorIs(t, err, errLost)

		_, err = NewEventStore(nil, &EventStoreOptions{Prefix: "{"})
		assert.ErrorContains(t, err, "the client is nil")
		assert.ErrorContains(t, err, `"{"`)
	})
}

// go-redis sends a release again if its reply was lost. The second release must not end a later claim.
func TestReleaseEndsOnlyTheClaimsOfItsStore(t *testing.T) {
	withEvents(t, func(t *testing.T, l *link, a, b *EventStore) {
		assert.Equal(t, hotelstays.ClaimGranted, claim(t, a, "id", "body"))
		require.NoError(t, b.Release(t.Context(), []string{"id", "body"}))
		assert.Equal(t, hotelstays.ClaimBusy, claim(t, b, "body"))
		first := func(cmd redis.Cmder) {
			l.before.Store(nil)
			require.NoError(t, l.Process(t.Context(), redis.NewCmd(t.Context(), cmd.Args()...)))
			assert.Equal(t, hotelstays.ClaimGranted, claim(t, a, "id", "body"))
		}
		require.NoError(t, releaseScript.Load(t.Context(), l).Err())
		l.before.Store(&first)
		require.NoError(t, a.Release(t.Context(), []string{"id", "body"}))
		assert.Equal(t, hotelstays.ClaimBusy, claim(t, b, "body"))
	})
}

// Redis deletes the keys of an event at the end of its retention, or at Release.
func TestStoresWithDifferentPrefixesShareNoEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMini(t)
		l := m.connect(t)
		production := newEvents(t, l)
		test, err := NewEventStore(l, &EventStoreOptions{Prefix: "test"})
		require.NoError(t, err)
		assert.Equal(t, hotelstays.ClaimGranted, claim(t, production, "id"))
		assert.Equal(t, hotelstays.ClaimGranted, claim(t, test, "id"))
		require.NoError(t, production.Done(t.Context(), []string{"id"}, time.Hour))
		require.NoError(t, test.Release(t.Context(), []string{"id"}))
		time.Sleep(time.Hour)
		m.tick()
		assert.Empty(t, m.Keys())
	})
}
