package hotelstaysredis

import (
	"context"
	"math/rand/v2"
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

type modelKey struct {
	done  bool
	owner int
	until time.Time
}

// model is a store in memory, with owners.
type model map[string]modelKey

func (m model) at(key string) (modelKey, bool) {
	k, ok := m[key]
	return k, ok && k.until.After(time.Now())
}

func (m model) claim(owner int, keys []string, lease time.Duration) hotelstays.ClaimState {
	state := hotelstays.ClaimGranted
	for _, key := range keys {
		switch k, held := m.at(key); {
		case held && k.done:
			return hotelstays.ClaimDone
		case held:
			state = hotelstays.ClaimBusy
		}
	}
	if state == hotelstays.ClaimGranted {
		for _, key := range keys {
			m[key] = modelKey{owner: owner, until: time.Now().Add(lease)}
		}
	}
	return state
}

func TestEventStoreKeepsToItsModel(t *testing.T) {
	withEvents(t, func(t *testing.T, _ *link, a, b *EventStore) {
		stores, m, seen := []*EventStore{a, b}, model{}, map[hotelstays.ClaimState]int{}
		rnd := rand.New(rand.NewPCG(1, 2))
		for range portion(3000, 1000) {
			keys := make([]string, 1+rnd.IntN(3))
			for i := range keys {
				keys[i] = string(rune('a' + rnd.IntN(8)))
			}
			owner, span := rnd.IntN(2), time.Duration(1+rnd.IntN(1000))*ms
			switch rnd.IntN(5) {
			case 0, 1:
				state, err := stores[owner].Claim(t.Context(), keys, span)
				require.NoError(t, err)
				require.Equal(t, m.claim(owner, keys, span), state)
				seen[state]++
			case 2:
				require.NoError(t, stores[owner].Done(t.Context(), keys, span))
				for _, key := range keys {
					m[key] = modelKey{done: true, until: time.Now().Add(span)}
				}
			case 3:
				require.NoError(t, stores[owner].Release(t.Context(), keys))
				for _, key := range keys {
					if k, held := m.at(key); held && !k.done && k.owner == owner {
						delete(m, key)
					}
				}
			default:
				time.Sleep(time.Duration(rnd.IntN(500)) * ms)
			}
		}
		for _, state := range []hotelstays.ClaimState{hotelstays.ClaimGranted, hotelstays.ClaimBusy, hotelstays.ClaimDone} {
			assert.Greater(t, seen[state], 50, "claims that ended as %d", state)
		}
	})
}
