//go:build servers

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

// servers are the databases that lock rows instead of the whole database.
var servers = []hotelstayssql.Dialect{hotelstayssql.PostgreSQL, hotelstayssql.MySQL}

// onServers creates the tables in a new database of each server, and runs a test there, in parallel with other tests.
func onServers(t *testing.T, test func(t *testing.T, db *database)) {
	t.Helper()
	t.Parallel()
	on(t, servers, func(t *testing.T, db *database) {
		db.createTables(t)
		test(t, db)
	})
}

// A worker that is frozen in a transaction holds the lock of its row.
func TestLockedRowDelaysNoOtherBooking(t *testing.T) {
	onServers(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		p.Begin("unreadable")
		db.exec(t, `UPDATE hotelstays_journal SET booking = ?, due = 1`, []byte("{"))
		for _, reference := range []string{"ref-1", "ref-2", "ref-3"} {
			p.SendUnknown(reference, bookingstest.BookMade)
			require.NoError(t, p.Wake(t.Context(), reference))
		}
		frozen, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		require.NoError(t, err)
		_, err = frozen.ExecContext(t.Context(), db.translate(`UPDATE hotelstays_journal SET fence = fence + 1 WHERE reference IN (?, ?)`),
			[]byte("ref-2"), []byte("unreadable"))
		require.NoError(t, err)
		p.Work()
		p.HasState("ref-1", durable.EndingFound, 0)
		p.HasState("ref-3", durable.EndingFound, 0)
		assert.Equal(t, bookingstest.Row{State: "pending"}, p.Row("ref-2"))
		require.NoError(t, frozen.Rollback())
		p.HasState("ref-2", durable.EndingFound, 0)
	})
}

// While a function of the caller runs, the connection has a setting with which the server ends an idle transaction.
// Afterwards the connection has its former settings.
func TestServerEndsATransactionInWhichTheCallersFunctionIsIdle(t *testing.T) {
	idle := map[hotelstayssql.Dialect]struct{ read, limit, connection string }{
		hotelstayssql.PostgreSQL: {`SELECT current_setting('idle_in_transaction_session_timeout')`, "30s", `SELECT pg_backend_pid()`},
		hotelstayssql.MySQL:      {`SELECT CONCAT(@@autocommit + 0, ' ', @@wait_timeout)`, "0 30", `SELECT CONNECTION_ID()`},
	}
	onServers(t, func(t *testing.T, db *database) {
		db.SetMaxOpenConns(1)
		server := idle[db.dialect]
		setting := func(query func(context.Context, string, ...any) *sql.Row) (value string) {
			require.NoError(t, query(t.Context(), server.read).Scan(&value))
			return value
		}
		before, id := setting(db.QueryRowContext), db.number(t, server.connection)
		failure := errors.New("failed")
		for _, want := range []error{failure, nil} {
			err := newEvents(t, db.DB, db.dialect).HandleTx(t.Context(), event("id", "body"), func(_ context.Context, tx *sql.Tx) error {
				assert.Equal(t, server.limit, setting(tx.QueryRowContext))
				return want
			})
			require.Equal(t, want, err)
			assert.Equal(t, before, setting(db.QueryRowContext))
			assert.Equal(t, id, db.number(t, server.connection), "the connection stays in the pool")
		}
		ctx, cancel := context.WithCancel(t.Context())
		require.Error(t, newEvents(t, db.DB, db.dialect).HandleTx(ctx, event("other", "other"), func(context.Context, *sql.Tx) error {
			cancel()
			return nil
		}))
		assert.Panics(t, func() {
			_ = newEvents(t, db.DB, db.dialect).HandleTx(t.Context(), event("other", "other"),
				func(context.Context, *sql.Tx) error { panic("a mistake") })
		})
		assert.Equal(t, before, setting(db.QueryRowContext))
		assert.EqualValues(t, 2, db.number(t, `SELECT COUNT(*) FROM hotelstays_events`))
	})
}

// rival begins a transaction that locks row 2 of stock, and waits for row 1. It writes so many rows that InnoDB undoes
// the transaction of the test at the deadlock.
func (d *database) rival(t *testing.T) (wait func()) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	tx, err := d.open(t).BeginTx(ctx, nil)
	require.NoError(t, err)
	for range 50 {
		_, err = tx.ExecContext(ctx, `INSERT INTO stock (id) VALUES (NULL)`)
		require.NoError(t, err)
	}
	_, err = tx.ExecContext(ctx, `UPDATE stock SET n = 100 WHERE id = 2`)
	require.NoError(t, err)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		_, err := tx.ExecContext(ctx, `UPDATE stock SET n = 100 WHERE id = 1`)
		assert.NoError(t, err)
		assert.NoError(t, tx.Rollback())
	})
	require.Eventually(t, func() bool {
		return d.number(t, `SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id IN
			(SELECT id FROM information_schema.processlist WHERE db = DATABASE())`) > 0
	}, patience, 200*time.Millisecond) // InnoDB updates this table at most every 0.1 seconds
	return waiting.Wait
}

// At a deadlock MySQL undoes the whole transaction. If the function returns the error, it is called again. If the
// function ignores the error, its later writes are also undone.
func TestTransactionIsRepeatedOrFailsAfterADeadlock(t *testing.T) {
	t.Parallel()
	for name, ignores := range map[string]bool{"the function returns the error": false, "the function ignores the error": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on(t, []hotelstayssql.Dialect{hotelstayssql.MySQL}, func(t *testing.T, db *database) {
				db.createTables(t)
				db.exec(t, `CREATE TABLE stock (id integer PRIMARY KEY AUTO_INCREMENT, n integer NOT NULL DEFAULT 0)`)
				db.exec(t, `INSERT INTO stock (id) VALUES (1), (2)`)
				var wait func()
				deadlock := func(ctx context.Context, tx *sql.Tx) error {
					if _, err := tx.ExecContext(ctx, `UPDATE stock SET n = n + 1 WHERE id = 1`); err != nil {
						return err
					}
					if wait == nil {
						wait = db.rival(t)
					}
					_, err := tx.ExecContext(ctx, `UPDATE stock SET n = n + 1 WHERE id = 2`)
					if err != nil && ignores {
						_, err = tx.ExecContext(ctx, `UPDATE stock SET n = n + 1 WHERE id = 2`)
					}
					return err
				}
				check := func(err error) {
					t.Helper()
					wait()
					if ignores {
						require.ErrorContains(t, err, "the database undid the transaction")
					} else {
						require.NoError(t, err)
					}
				}
				ones := func(n int64) {
					t.Helper()
					assert.Equal(t, n, db.number(t, `SELECT MIN(n) FROM stock WHERE id < 3`))
					assert.Equal(t, n, db.number(t, `SELECT MAX(n) FROM stock WHERE id < 3`))
				}

				s := newEvents(t, db.DB, db.dialect)
				handle := func(ctx context.Context, tx *sql.Tx) error {
					if err := deadlock(ctx, tx); err != nil {
						return errors.Join(errors.New("one of several"), err)
					}
					return insert(1)(ctx, tx)
				}
				check(s.HandleTx(t.Context(), event("id", "body"), handle))
				require.NoError(t, s.HandleTx(t.Context(), event("id", "body"), handle))
				ones(1)
				assert.EqualValues(t, 1, db.handled(t))

				wait = nil
				p := newProcess(t, db, func(o *hotelstayssql.JournalOptions) {
					o.OnOutcome = func(ctx context.Context, tx *sql.Tx, out *hotelstays.BookingOutcome) error {
						if err := deadlock(ctx, tx); err != nil {
							return err
						}
						return db.caller().StoreRow(ctx, tx, out)
					}
				})
				p.Begin("ref-1")
				outcome, err := p.Send(t.Context(), "ref-1")
				check(err)
				require.NotNil(t, outcome)
				p.Work()
				p.HasState("ref-1", durable.EndingFound, time.Minute)
				assert.Equal(t, 1, p.Row("ref-1").Ended)
				ones(2)

				wait = nil
				begin := func() error {
					return p.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
						if err := p.BeginTx(ctx, tx, p.Request("ref-2")); err != nil {
							return err
						}
						return deadlock(ctx, tx)
					})
				}
				check(begin())
				if ignores {
					require.NoError(t, begin())
				}
				ones(3)
				p.AddRow("ref-2")
				assert.NotNil(t, p.MustSend("ref-2").Order)

			})
		})
	}
}

// Without autocommit the mark would not be committed before Book is sent, and every read would see old data.
func TestNothingIsSentWithoutAutocommit(t *testing.T) {
	t.Parallel()
	on(t, []hotelstayssql.Dialect{hotelstayssql.MySQL}, func(t *testing.T, db *database) {
		off := db.openWith(t, map[string]string{"autocommit": "0"})
		require.NoError(t, hotelstayssql.Migrate(t.Context(), off, db.dialect))
		require.NoError(t, hotelstayssql.Check(t.Context(), db.DB, db.dialect, nil))
		require.ErrorContains(t, hotelstayssql.Check(t.Context(), off, db.dialect, nil), "autocommit is off")
		p := newProcess(t, db, nil)
		p.Begin("ref-1")
		_, err := p.through(off, nil).Send(t.Context(), "ref-1")
		require.ErrorContains(t, err, "nothing was sent by this call: autocommit is off")
		_, err = p.through(off, nil).Book(t.Context(), p.Request("ref-2"))
		require.ErrorContains(t, err, "nothing was sent: autocommit is off")
		assert.Zero(t, p.Ledger().Count(hotelstays.OpBook))
	})
}

// With any default isolation of the connections, exactly one of several calls of Send books. The other calls return an
// error with the reason. Migrate works in several processes at the same time.
func TestOnlyOneSendBooksWithAnyIsolation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dialect  hotelstayssql.Dialect
		settings map[string]string
	}{
		"postgresql serializable":    {hotelstayssql.PostgreSQL, map[string]string{"default_transaction_isolation": "serializable"}},
		"mariadb snapshot isolation": {hotelstayssql.MySQL, map[string]string{"innodb_snapshot_isolation": "1"}},
		"mariadb serializable":       {hotelstayssql.MySQL, map[string]string{"tx_isolation": "'SERIALIZABLE'"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := create(t, c.dialect)
			var wg sync.WaitGroup
			for range 8 {
				pool := db.openWith(t, c.settings)
				wg.Go(func() { assert.NoError(t, hotelstayssql.Migrate(t.Context(), pool, db.dialect)) })
			}
			wg.Wait()
			p := newProcess(t, db, nil)
			one, other := p.through(db.openWith(t, c.settings), nil), p.through(db.openWith(t, c.settings), nil)
			const many = 5
			for i := range many {
				reference := fmt.Sprint("ref-", i)
				p.Begin(reference)
				for _, sender := range []*process{one, other, one, other} {
					wg.Go(func() {
						_, err := sender.Send(t.Context(), reference)
						if !errors.Is(err, durable.ErrAlreadyStarted) && !errors.Is(err, durable.ErrAlreadyBooked) {
							assert.NoError(t, err)
						}
					})
				}
				wg.Wait()
			}
			if db.dialect == hotelstayssql.PostgreSQL {
				events := newEvents(t, db.openWith(t, c.settings), db.dialect)
				err := events.HandleTx(t.Context(), event("id", "body"), func(ctx context.Context, tx *sql.Tx) error {
					var isolation string
					require.NoError(t, tx.QueryRowContext(ctx, `SHOW transaction_isolation`).Scan(&isolation))
					assert.Equal(t, "read committed", isolation)
					return nil
				})
				require.NoError(t, err)
			}
			assert.Equal(t, many, p.Ledger().Count(hotelstays.OpBook))
			assert.EqualValues(t, many, db.number(t, `SELECT SUM(ended) FROM bookings`))
		})
	}
}

// The caller's transaction has a snapshot from before the other cancellation.
func TestCancelTxSeesACancellationNewerThanItsSnapshot(t *testing.T) {
	onServers(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		p.Booked("ref-1")
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer func() { _ = tx.Rollback() }()
		var n int
		require.NoError(t, tx.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM hotelstays_cancels`).Scan(&n))
		require.NoError(t, p.CancelAlone("ref-1", nil))
		err = p.CancelTx(t.Context(), tx, durable.CancelOrder{CustomerReferenceNo: "ref-1", SessionID: p.Accounts[0].Session})
		assert.ErrorIs(t, err, durable.ErrAlreadyCancelling)
	})
}
