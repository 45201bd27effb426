package sqltest

import (
	"context"
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
			open := func(db *database) hotelstays.EventStore { return newEvents(t, db.DB, db.dialect) }
			return fleetOf(t, db, open, "hotelstays_events", "expires_at")
		})
	})
}

// fleetOf returns a fleet for a suite of storetest. Time passes in columns of a table.
func fleetOf[S any](t *testing.T, db *database, open func(*database) S, table string, columns ...string) storetest.Fleet[S] {
	links := map[any]*link{}
	return storetest.Fleet[S]{
		Open: func() S {
			pool, link := db.process(t)
			s := open(&database{DB: pool, dialect: db.dialect})
			links[s] = link
			return s
		},
		Freeze: func(s S) func() { return links[s].freeze() },
		Advance: func(d time.Duration) {
			for _, column := range columns {
				db.pass(t, table, column, d)
			}
		},
	}
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

func TestReleaseEndsTheClaimsOfItsStoreAlone(t *testing.T) {
	db := inDatabase(t)
	s := newEvents(t, db.DB, db.dialect)
	keys := []string{"a", "b"}
	_, err := s.Claim(t.Context(), keys, time.Minute)
	require.NoError(t, err)
	other := newEvents(t, db.DB, db.dialect)
	require.NoError(t, other.Release(t.Context(), keys))
	state, err := other.Claim(t.Context(), keys, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, hotelstays.ClaimBusy, state)
}

// Between the search for expired keys and their removal another process can claim one.
func TestRemovalLeavesANewClaim(t *testing.T) {
	db := inDatabase(t)
	s := newEvents(t, db.DB, db.dialect)
	db.exec(t, "INSERT INTO hotelstays_events (event_key, store, claim, done, expires_at) VALUES (?, 1, 1, 1, 1)", []byte("old"))
	pool, link := db.process(t)
	claimed := false
	link.before = func(_ context.Context, statement string) error {
		if claimed || !strings.HasPrefix(statement, "DELETE") {
			return nil
		}
		claimed = true
		state, err := s.Claim(t.Context(), []string{"old"}, time.Hour)
		assert.NoError(t, err)
		assert.Equal(t, hotelstays.ClaimGranted, state)
		return nil
	}
	pruner := newEvents(t, pool, db.dialect)
	for n := 0; !claimed; n++ {
		require.Less(t, n, 5000, "one event in fifty removes expired keys")
		require.NoError(t, pruner.Done(t.Context(), []string{"key"}, time.Hour))
	}
	assert.EqualValues(t, 2, db.number(t, "SELECT COUNT(*) FROM hotelstays_events"))
}

// Transactions that lock common keys in different orders would deadlock.
func TestKeysAreLockedInOneOrder(t *testing.T) {
	db := inDatabase(t)
	pool, link := db.process(t)
	s := newEvents(t, pool, db.dialect)
	_, err := s.Claim(t.Context(), []string{"c", "a", "B", "c", "b"}, time.Minute)
	require.NoError(t, err)
	locked := ""
	for _, arg := range link.executed()[0].args {
		if key, ok := arg.Value.([]byte); ok {
			locked += string(key)
		}
	}
	assert.Equal(t, "Babc", locked)
}
