package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestEventStorePassesTheSuite(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		storetest.TestEventStore(t, func(t *testing.T) storetest.Fleet[hotelstays.EventStore] {
			open := func(db *database) hotelstays.EventStore { return newEvents(t, db.DB, db.dialect) }
			return fleetOf(t, db, open, "hotelstays_events", "expires_at")
		}, nil)
	})
}

// fleetOf returns a fleet for a suite of storetest. Its Advance moves the times in the given columns back.
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

func claim(t *testing.T, s *hotelstayssql.EventStore, lease time.Duration, keys ...string) hotelstays.ClaimState {
	t.Helper()
	state, err := s.Claim(t.Context(), keys, lease)
	require.NoError(t, err)
	return state
}

func TestDoneNeverShortensTheRetentionOfHandledKeys(t *testing.T) {
	withEvents(t, func(t *testing.T, db *database, s *hotelstayssql.EventStore) {
		keys := []string{"a", "b"}
		require.NoError(t, s.Done(t.Context(), keys, 24*time.Hour))
		require.NoError(t, s.Done(t.Context(), keys, time.Hour))
		db.pass(t, "hotelstays_events", "expires_at", 23*time.Hour)
		assert.Equal(t, hotelstays.ClaimDone, claim(t, s, time.Minute, keys...))

		claim(t, s, 24*time.Hour, "c")
		require.NoError(t, s.Done(t.Context(), []string{"c"}, time.Hour))
		db.pass(t, "hotelstays_events", "expires_at", time.Hour)
		assert.Equal(t, hotelstays.ClaimGranted, claim(t, s, time.Minute, "c"), "the longer lease of the claim is not a retention")
	})
}

func TestReleaseEndsOnlyTheClaimsOfItsStore(t *testing.T) {
	db := inDatabase(t)
	s := newEvents(t, db.DB, db.dialect)
	keys := []string{"a", "b"}
	claim(t, s, time.Minute, keys...)
	other := newEvents(t, db.DB, db.dialect)
	require.NoError(t, other.Release(t.Context(), keys))
	assert.Equal(t, hotelstays.ClaimBusy, claim(t, other, time.Minute, keys...))
}

// Another process may claim an expired key between the search for expired keys and their removal.
func TestRemovalOfExpiredKeysKeepsANewClaim(t *testing.T) {
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
		assert.Equal(t, hotelstays.ClaimGranted, claim(t, s, time.Hour, "old"))
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
func TestClaimLocksKeysInSortedOrder(t *testing.T) {
	db := inDatabase(t)
	pool, link := db.process(t)
	claim(t, newEvents(t, pool, db.dialect), time.Minute, "c", "a", "B", "c", "b")
	locked := ""
	for _, arg := range link.executed()[0].args {
		if key, ok := arg.Value.([]byte); ok {
			locked += string(key)
		}
	}
	assert.Equal(t, "Babc", locked)
}

// event returns an event with two keys.
func event(id, body string) *hotelstays.WebhookEvent {
	return &hotelstays.WebhookEvent{ID: id, CustomerReferenceNo: "ref", Kind: types.EventOrderPaid, Signed: true, Raw: []byte(body)}
}

func withEvents(t *testing.T, test func(t *testing.T, db *database, s *hotelstayssql.EventStore)) {
	t.Helper()
	onEach(t, func(t *testing.T, db *database) { test(t, db, newEvents(t, db.DB, db.dialect)) })
}

func newEvents(t *testing.T, pool *sql.DB, dialect hotelstayssql.Dialect) *hotelstayssql.EventStore {
	t.Helper()
	s, err := hotelstayssql.NewEventStore(pool, dialect, nil)
	require.NoError(t, err)
	return s
}

// insert returns a function for HandleTx that inserts a number into the table handled.
func insert(number int) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO handled (event) VALUES (%d)", number))
		return err
	}
}

func (d *database) handled(t *testing.T) int64 { return d.number(t, "SELECT COUNT(*) FROM handled") }

func TestHandleTxHandlesAnEventOnce(t *testing.T) {
	withEvents(t, func(t *testing.T, db *database, s *hotelstayssql.EventStore) {
		require.NoError(t, s.HandleTx(t.Context(), event("id", "body"), insert(1)))
		for _, duplicate := range []*hotelstays.WebhookEvent{event("id", "body"), event("id", "other"), event("other", "body")} {
			fails := func(context.Context, *sql.Tx) error { return errLost }
			require.NoError(t, newEvents(t, db.DB, db.dialect).HandleTx(t.Context(), duplicate, fails))
		}
		assert.EqualValues(t, 1, db.handled(t))
		require.NoError(t, s.HandleTx(t.Context(), event("other", "other"), insert(3)), "the duplicate has not stored its other key")
		assert.EqualValues(t, 2, db.handled(t))

		db.pass(t, "hotelstays_events", "expires_at", 7*24*time.Hour-time.Minute)
		require.NoError(t, s.HandleTx(t.Context(), event("id", "body"), insert(4)))
		assert.EqualValues(t, 2, db.handled(t), "within the retention")
		db.pass(t, "hotelstays_events", "expires_at", time.Minute+time.Second)
		require.NoError(t, s.HandleTx(t.Context(), event("id", "body"), insert(4)))
		assert.EqualValues(t, 3, db.handled(t), "after the retention")
	})
}

func TestHandleTxCommitsNothingIfTheFunctionFails(t *testing.T) {
	withEvents(t, func(t *testing.T, db *database, s *hotelstayssql.EventStore) {
		failure := errors.New("order 40001 is unknown") // 40001 is also the SQLSTATE of a failed serialization
		calls := 0
		err := s.HandleTx(t.Context(), event("id", "body"), func(ctx context.Context, tx *sql.Tx) error {
			calls++
			return errors.Join(insert(1)(ctx, tx), failure)
		})
		require.ErrorIs(t, err, failure)
		assert.Equal(t, 1, calls)
		assert.Panics(t, func() {
			_ = s.HandleTx(t.Context(), event("id", "body"), func(ctx context.Context, tx *sql.Tx) error {
				require.NoError(t, insert(2)(ctx, tx))
				panic("a mistake")
			})
		})
		ctx, cancel := context.WithCancel(t.Context())
		err = s.HandleTx(ctx, event("id", "body"), func(ctx context.Context, tx *sql.Tx) error {
			defer cancel()
			return insert(3)(ctx, tx)
		})
		require.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, db.handled(t))
		assert.Zero(t, db.number(t, "SELECT COUNT(*) FROM hotelstays_events"))
		require.NoError(t, s.HandleTx(t.Context(), event("id", "body"), insert(4)))
		assert.EqualValues(t, 1, db.handled(t))
	})
}

// The database undoes the transaction of a function, and another process handles the event before the next attempt.
func TestHandleTxSucceedsIfAnotherProcessHandlesTheEvent(t *testing.T) {
	db := inDatabase(t)
	pool, link := db.process(t)
	begun := 0
	link.before = func(_ context.Context, text string) error {
		if text != "BEGIN" {
			return nil
		}
		if begun++; begun == 1 {
			return nil
		}
		return newEvents(t, db.DB, db.dialect).HandleTx(t.Context(), event("id", "body"), insert(1))
	}
	undone := func(context.Context, *sql.Tx) error { return &pgconn.PgError{Code: "40001"} }
	require.NoError(t, newEvents(t, pool, db.dialect).HandleTx(t.Context(), event("id", "body"), undone))
	assert.EqualValues(t, 1, db.handled(t))
}

// Claim and HandleTx use the same keys. So the processes can change from Claim to HandleTx one after another.
func TestFleetCanChangeFromClaimToHandleTx(t *testing.T) {
	db := inDatabase(t)
	s := newEvents(t, db.DB, db.dialect)
	e := event("id", "body")
	require.Equal(t, hotelstays.ClaimGranted, claim(t, s, time.Minute, e.Keys()...))
	assert.ErrorContains(t, s.HandleTx(t.Context(), e, insert(1)), "leave WebhookOptions.Store unset")
	db.pass(t, "hotelstays_events", "expires_at", time.Minute)
	require.NoError(t, s.HandleTx(t.Context(), e, insert(2)))
	assert.EqualValues(t, 1, db.handled(t))
	assert.Equal(t, hotelstays.ClaimDone, claim(t, s, time.Minute, e.Keys()[1:]...))
	require.NoError(t, s.Release(t.Context(), e.Keys()))

	done := event("done", "done")
	require.NoError(t, s.Done(t.Context(), done.Keys(), time.Hour))
	require.NoError(t, s.HandleTx(t.Context(), done, insert(3)))
	assert.EqualValues(t, 1, db.handled(t))
}

// Events with the same body have a common key, so their transactions wait for each other.
func TestTwoProcessesHandleAnEventOnce(t *testing.T) {
	const events, callers = 16, 10
	onEachAlone(t, func(t *testing.T, db *database) {
		var wg sync.WaitGroup
		for range 2 {
			s := newEvents(t, db.open(t), db.dialect)
			for range callers {
				wg.Go(func() {
					for _, n := range rand.Perm(events) {
						assert.NoError(t, s.HandleTx(t.Context(), event(fmt.Sprint("id ", n), fmt.Sprint("body ", n/2)), insert(n/2)))
					}
				})
			}
		}
		wg.Wait()
		assert.EqualValues(t, events/2, db.handled(t))
		assert.EqualValues(t, events/2, db.number(t, "SELECT COUNT(DISTINCT event) FROM handled"))
	})
}
