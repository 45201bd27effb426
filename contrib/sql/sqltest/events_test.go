package sqltest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

func TestEventStore(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		storetest.TestEventStore(t, func(t *testing.T) storetest.Fleet[hotelstays.EventStore] {
			links := map[hotelstays.EventStore]*link{}
			return storetest.Fleet[hotelstays.EventStore]{
				Open: func() hotelstays.EventStore {
					pool, link := db.process(t)
					s, err := hotelstayssql.NewEventStore(pool, db.dialect, hotelstayssql.EventStoreOptions{})
					require.NoError(t, err)
					links[s] = link
					return s
				},
				Freeze:  func(s hotelstays.EventStore) func() { return links[s].freeze() },
				Advance: func(d time.Duration) { db.pass(t, "hotelstays_events", "expires_at", d) },
			}
		})
	})
}

func TestDoneNeverShortensARetention(t *testing.T) {
	withEvents(t, func(t *testing.T, db *database, s *hotelstayssql.EventStore) {
		keys := []string{"a", "b"}
		require.NoError(t, s.Done(t.Context(), keys, 24*time.Hour))
		require.NoError(t, s.Done(t.Context(), keys, time.Hour))
		db.pass(t, "hotelstays_events", "expires_at", 23*time.Hour)
		state, err := s.Claim(t.Context(), keys, time.Minute)
		require.NoError(t, err)
		assert.Equal(t, hotelstays.ClaimDone, state)

		_, err = s.Claim(t.Context(), []string{"c"}, 24*time.Hour)
		require.NoError(t, err)
		require.NoError(t, s.Done(t.Context(), []string{"c"}, time.Hour))
		db.pass(t, "hotelstays_events", "expires_at", time.Hour)
		state, err = s.Claim(t.Context(), []string{"c"}, time.Minute)
		require.NoError(t, err)
		assert.Equal(t, hotelstays.ClaimGranted, state, "the lease of a claim does not count")
	})
}

// Transactions that lock common keys in different orders would deadlock.
func TestKeysAreLockedInOneOrder(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		pool, link := db.process(t)
		s := newEvents(t, pool, db.dialect)
		_, err := s.Claim(t.Context(), []string{"c", "a", "B", "c", "b"}, time.Minute)
		require.NoError(t, err)
		locked := ""
		for statement, args := range link.executed() {
			if !strings.HasPrefix(statement, "INSERT") {
				continue
			}
			for _, arg := range args {
				if key, ok := arg.Value.([]byte); ok {
					locked += string(key)
				}
			}
		}
		assert.Equal(t, "Babc", locked)
	})
}
