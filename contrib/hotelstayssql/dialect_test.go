package hotelstayssql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestEachDialectTranslatesAStatement(t *testing.T) {
	const statement = `INSERT INTO t (a, b) VALUES (?, ?) {conflict a} b = {new b} + ?`
	for dialect, want := range map[Dialect]string{
		PostgreSQL: `INSERT INTO t (a, b) VALUES ($1, $2) ON CONFLICT (a) DO UPDATE SET b = excluded.b + $3`,
		MySQL:      `INSERT INTO t (a, b) VALUES (?, ?) ON DUPLICATE KEY UPDATE b = VALUES(b) + ?`,
		SQLite:     `INSERT INTO t (a, b) VALUES (?, ?) ON CONFLICT (a) DO UPDATE SET b = excluded.b + ?`,
	} {
		assert.Equal(t, want, dialect.sql(statement))
		assert.Equal(t, grammars[dialect].now+" > 0", dialect.sql("{now} > 0"))
	}
}

type fake struct{}

func (f *fake) Connect(context.Context) (driver.Conn, error) { return f, nil }
func (f *fake) Driver() driver.Driver                        { return nil }
func (f *fake) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("not used") }
func (f *fake) Close() error                                 { return nil }
func (f *fake) Begin() (driver.Tx, error)                    { return f, nil }
func (f *fake) Rollback() error                              { return nil }

func (f *fake) Commit() error { return nil }

func TestInTxReturnsTheErrorOfAnEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := database{sql.OpenDB(&fake{}), SQLite}
		defer db.Close()
		ctx, cancel := context.WithCancel(t.Context())
		assert.ErrorIs(t, db.inTx(ctx, func(tx *sql.Tx) error {
			cancel()
			synctest.Wait() // until database/sql has rolled back
			return tx.Commit()
		}), context.Canceled)
	})
}

func TestEventStoreRefusesInvalidArguments(t *testing.T) {
	_, err := NewEventStore(nil, "oracle", &EventStoreOptions{Retention: time.Millisecond})
	for _, fault := range []string{"hotelstayssql: NewEventStore: ", "the database is nil", `"oracle"`, "Retention is 1ms"} {
		assert.ErrorContains(t, err, fault)
	}
	db := sql.OpenDB(&fake{})
	defer db.Close()
	s, err := NewEventStore(db, MySQL, nil)
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), nil, time.Minute)
	assert.ErrorContains(t, err, "hotelstayssql: claiming an event: the event has no keys")
	_, err = s.Claim(t.Context(), []string{"key"}, time.Nanosecond)
	assert.ErrorContains(t, err, "the lease or retention is 1ns; it must be at least 1 µs")
	assert.ErrorContains(t, s.Done(t.Context(), []string{"key"}, 0), "finishing an event: the lease or retention is 0s")
	assert.ErrorContains(t, s.Release(t.Context(), nil), "releasing an event: the event has no keys")
	_, err = s.Claim(t.Context(), []string{strings.Repeat("x", maxKey+1)}, time.Minute)
	assert.ErrorContains(t, err, "a key has 1025 bytes; the limit is 1024")
}

func TestTokenStoreRefusesInvalidArguments(t *testing.T) {
	_, err := NewTokenStore(nil, "", TokenStoreOptions{FetchLease: time.Millisecond})
	for _, fault := range []string{"hotelstayssql: NewTokenStore: ", "the database is nil",
		"the dialect", "keys is empty", "FetchLease is 1ms"} {
		assert.ErrorContains(t, err, fault)
	}
	db := sql.OpenDB(&fake{})
	defer db.Close()
	s, err := NewTokenStore(db, MySQL, TokenStoreOptions{Keys: []types.Secret{types.NewSecret("a key of thirty-two random bytes")}})
	require.NoError(t, err)
	assert.ErrorContains(t, s.Store(t.Context(), "key", hotelstays.Token{}), "hotelstayssql: storing the token: the token is empty")
	late := hotelstays.Token{Value: types.NewSecret("late"), Expiry: time.Now()}
	assert.ErrorContains(t, s.Store(t.Context(), "key", late), "the token has expired")
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
