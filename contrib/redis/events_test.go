package hotelstaysredis

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

// withEvents runs a test with the event stores of two processes.
func withEvents(t *testing.T, test func(t *testing.T, l *link, a, b *EventStore)) {
	withMini(t, func(t *testing.T, m *mini) {
		l := m.connect()
		defer l.Close()
		test(t, l, newEvents(t, l), newEvents(t, l))
	})
}

func newEvents(t *testing.T, client redis.UniversalClient) *EventStore {
	s, err := NewEventStore(client, EventStoreOptions{})
	require.NoError(t, err)
	return s
}

func claim(t *testing.T, s *EventStore, keys ...string) hotelstays.ClaimState {
	t.Helper()
	state, err := s.Claim(t.Context(), keys, time.Minute)
	require.NoError(t, err)
	return state
}

func TestEventStore(t *testing.T) {
	storetest.TestEventStore(t, func(t *testing.T) storetest.Fleet[hotelstays.EventStore] {
		return miniFleet(t, func(client *redis.Client) hotelstays.EventStore { return newEvents(t, client) })
	}, storetest.InBubble())
}

// go-redis sends a command again if its reply was lost.
func TestClaimIsPlayedTwice(t *testing.T) {
	withEvents(t, func(t *testing.T, l *link, a, b *EventStore) {
		play := func(name string) any {
			reply, err := a.run(t.Context(), claimScript, "claiming", []string{"id"}, time.Minute, name, 60_000)
			require.NoError(t, err)
			return reply
		}
		assert.Equal(t, "granted", play(a.id+":1"))
		assert.Equal(t, "granted", play(a.id+":1"))
		assert.Equal(t, "busy", play(a.id+":2"))
	})
}

func TestEventStoreRefusesWhatCannotWork(t *testing.T) {
	withEvents(t, func(t *testing.T, l *link, a, _ *EventStore) {
		_, err := a.Claim(t.Context(), nil, time.Minute)
		assert.ErrorContains(t, err, "hotelstaysredis: claiming an event: no keys")
		_, err = a.Claim(t.Context(), []string{"id"}, time.Microsecond)
		assert.ErrorContains(t, err, "shorter than a millisecond")
		assert.ErrorContains(t, a.Done(t.Context(), []string{"id"}, 0), "finishing an event: 0s is shorter")
		assert.ErrorContains(t, a.Release(t.Context(), nil), "releasing an event: no keys")
		assert.Zero(t, l.commands.Load())

		l.down.Store(true)
		_, err = a.Claim(t.Context(), []string{"id"}, time.Minute)
		assert.ErrorIs(t, err, errLost)
		l.latency.Store(int64(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, a.Done(ctx, []string{"id"}, time.Hour), context.DeadlineExceeded)
		time.Sleep(3 * time.Hour)

		_, err = NewEventStore(nil, EventStoreOptions{Prefix: "{"})
		assert.ErrorContains(t, err, "the client is nil")
		assert.ErrorContains(t, err, `"{"`)
	})
}

func TestReleaseEndsTheClaimsOfItsStoreAlone(t *testing.T) {
	withEvents(t, func(t *testing.T, _ *link, a, b *EventStore) {
		assert.Equal(t, hotelstays.ClaimGranted, claim(t, a, "id", "body"))
		require.NoError(t, b.Release(t.Context(), []string{"id", "body"}))
		assert.Equal(t, hotelstays.ClaimBusy, claim(t, b, "body"))
	})
}
