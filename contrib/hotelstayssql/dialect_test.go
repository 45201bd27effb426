package hotelstayssql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
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

func TestStatementsAreTranslated(t *testing.T) {
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

// fake is a driver whose transactions end as the test wants.
type fake struct{ commits []error }

func (f *fake) Connect(context.Context) (driver.Conn, error) { return f, nil }
func (f *fake) Driver() driver.Driver                        { return nil }
func (f *fake) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("not used") }
func (f *fake) Close() error                                 { return nil }
func (f *fake) Begin() (driver.Tx, error)                    { return f, nil }
func (f *fake) Rollback() error                              { return nil }

func (f *fake) Commit() (err error) {
	err, f.commits = f.commits[0], f.commits[1:]
	return err
}

// pgError and mysqlError are like the errors of jackc/pgx and go-sql-driver/mysql.
type pgError struct{ code string }

func (e *pgError) Error() string    { return "ERROR (SQLSTATE " + e.code + ")" }
func (e *pgError) SQLState() string { return e.code }

type mysqlError struct {
	Number uint16
}

func (e *mysqlError) Error() string { return fmt.Sprint("Error ", e.Number) }

func TestTransactionIsRepeatedIfItWasUndone(t *testing.T) {
	undone := []error{
		fmt.Errorf("wrapped: %w", errors.Join(errors.New("other"), &mysqlError{1213})),
		fmt.Errorf("wrapped: %w", &pgError{"40P01"}),
		&pgError{"40001"},
	}
	always := make([]error, 2*attempts)
	for i := range always {
		always[i] = undone[0]
	}
	other := errors.New("ERROR: deadlock detected (SQLSTATE 40001)") // a text proves nothing
	for name, c := range map[string]struct {
		commits []error
		calls   int
		want    error
	}{
		"committed":  {[]error{nil}, 1, nil},
		"undone":     {append(undone, nil), 4, nil},
		"always":     {always, attempts, undone[0]},
		"other":      {[]error{other, nil}, 1, other},
		"PostgreSQL": {[]error{&pgError{"23505"}, nil}, 1, &pgError{"23505"}},
		"MySQL":      {[]error{&mysqlError{1062}, nil}, 1, &mysqlError{1062}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := database{sql.OpenDB(&fake{commits: c.commits}), SQLite}
				defer db.Close()
				calls := 0
				err := db.inTx(t.Context(), func(*sql.Tx) error {
					calls++
					return nil
				})
				require.Equal(t, c.want, err)
				assert.Equal(t, c.calls, calls)
			})
		})
	}
}

func TestEndedContextEndsTheRepetition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		undone := &mysqlError{1213}
		db := database{sql.OpenDB(&fake{commits: nil}), SQLite}
		defer db.Close()
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		err := db.inTx(ctx, func(*sql.Tx) error {
			calls++
			return undone
		})
		assert.ErrorIs(t, err, undone)
		assert.Equal(t, attempts, calls)
		err = db.inTx(ctx, func(tx *sql.Tx) error {
			cancel()
			synctest.Wait() // for its rollback
			return tx.Commit()
		})
		assert.ErrorIs(t, err, context.Canceled)
	})
}

func TestEventStoreRefusesWhatCannotWork(t *testing.T) {
	_, err := NewEventStore(nil, "oracle", &EventStoreOptions{Retention: time.Millisecond})
	for _, fault := range []string{"hotelstayssql: NewEventStore: ", "the database is nil", `"oracle"`, "Retention is 1ms"} {
		assert.ErrorContains(t, err, fault)
	}
	db := sql.OpenDB(&fake{})
	defer db.Close()
	s, err := NewEventStore(db, MySQL, nil)
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), nil, time.Minute)
	assert.ErrorContains(t, err, "hotelstayssql: claiming an event: no keys")
	_, err = s.Claim(t.Context(), []string{"key"}, time.Nanosecond)
	assert.ErrorContains(t, err, "1ns is shorter than a microsecond")
	assert.ErrorContains(t, s.Done(t.Context(), []string{"key"}, 0), "finishing an event: 0s is shorter")
	assert.ErrorContains(t, s.Release(t.Context(), nil), "releasing an event: no keys")
	_, err = s.Claim(t.Context(), []string{strings.Repeat("x", maxKey+1)}, time.Minute)
	assert.ErrorContains(t, err, "a key has 1025 bytes; at most 1024 are possible")
}

func TestTokenStoreRefusesWhatCannotWork(t *testing.T) {
	_, err := NewTokenStore(nil, "", TokenStoreOptions{FetchLease: time.Millisecond})
	for _, fault := range []string{"hotelstayssql: NewTokenStore: ", "the database is nil",
		"the dialect", "keys is empty", "FetchLease is 1ms"} {
		assert.ErrorContains(t, err, fault)
	}
	db := sql.OpenDB(&fake{})
	defer db.Close()
	s, err := NewTokenStore(db, MySQL, TokenStoreOptions{Keys: []types.Secret{types.NewSecret("a key of thirty-two random bytes")}})
	require.NoError(t, err)
	assert.ErrorContains(t, s.Store(t.Context(), "key", hotelstays.Token{}), "hotelstayssql: storing the token: it is empty")
	late := hotelstays.Token{Value: types.NewSecret("late"), Expiry: time.Now()}
	assert.ErrorContains(t, s.Store(t.Context(), "key", late), "it has expired")
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
