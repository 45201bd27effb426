package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

// An outcome that could not be stored is delivered once when there is room again. The limit of pages
// stands for a full disk: SQLite reports both in the same way, and may undo the transaction.
func TestFullDiskAfterBook(t *testing.T) {
	for name, needs := range map[string]string{
		"the journal's row": `UPDATE ON hotelstays_journal WHEN NEW.live <> 1`,
		"the caller's row":  `UPDATE ON bookings`,
	} {
		t.Run(name, func(t *testing.T) {
			db := inDatabase(t)
			log := make(logLines, 100)
			logged := func(o *hotelstayssql.JournalOptions) { o.Logger = slog.New(slog.NewTextHandler(log, nil)) }
			p := newProcess(t, db, nil).through(db.DB, logged) // of one connection, to which the limit belongs
			db.exec(t, `CREATE TABLE ballast (content blob NOT NULL)`)
			db.exec(t, `CREATE TRIGGER needs_space AFTER `+needs+` BEGIN INSERT INTO ballast (content) VALUES (zeroblob(400000)); END`)
			p.Begin("ref-1")
			db.exec(t, fmt.Sprint(`PRAGMA max_page_count = `, db.number(t, `PRAGMA page_count`)+20)) // room for small writes
			outcome, err := p.Send(t.Context(), "ref-1")
			require.ErrorContains(t, err, "full")
			assert.ErrorContains(t, err, `reference "ref-1" is found, but that was not stored`)
			require.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
			p.Fleet.Pass(time.Minute)
			p.Work()
			assert.Contains(t, <-log, "full")
			assert.Equal(t, bookingstest.Row{State: "pending"}, p.Row("ref-1"))
			assert.Equal(t, durable.PhasePolling, p.Fleet.Stored("ref-1").Phase(time.Now()))

			db.exec(t, `PRAGMA max_page_count = 1000000`)
			p.HasState("ref-1", durable.EndingFound, time.Minute)
			assert.Equal(t, bookingstest.Row{State: "found", Order: outcome.Order.PlatformReferenceNo, Ended: 1}, p.Row("ref-1"))
			assert.Equal(t, map[string]int{"ref-1": 1}, p.OrdersMade())
		})
	}
}

// An error names the call, and says what to do next.
func TestErrorsSayWhatToDo(t *testing.T) {
	other := map[hotelstayssql.Dialect]hotelstayssql.Dialect{hotelstayssql.SQLite: hotelstayssql.PostgreSQL,
		hotelstayssql.PostgreSQL: hotelstayssql.MySQL, hotelstayssql.MySQL: hotelstayssql.SQLite}
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		p.Begin("waiting")
		p.Begin("ended")
		_, err := p.Send(t.Context(), "ended")
		require.NoError(t, err)

		assert.ErrorContains(t, p.Retry(t.Context(), "waiting"), "call Send, or wait until a worker does at 2")
		for name, command := range map[string]func(context.Context, string) error{"Retry": p.Retry, "Abandon": p.Abandon} {
			err := command(t.Context(), "ended")
			require.ErrorIs(t, err, durable.ErrNotBegun)
			assert.ErrorContains(t, err, "hotelstayssql: "+name+`: reference "ended": this account has no open booking`)
			assert.ErrorContains(t, err, "it has ended as found")
		}

		_, err = hotelstayssql.Check(t.Context(), db.DB, other[db.dialect])
		assert.ErrorContains(t, err, "checking the database: looking for its tables as in "+string(other[db.dialect]))
		assert.ErrorContains(t, hotelstayssql.Migrate(t.Context(), db.DB, other[db.dialect]), "migrating, as in "+string(other[db.dialect]))

		// The caller has not committed yet, and the pool has no other connection.
		one := db.open(t)
		one.SetMaxOpenConns(1)
		short := p.through(one, func(o *hotelstayssql.JournalOptions) { o.BookTimeout = 50 * time.Millisecond })
		tx, err := one.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = short.Send(t.Context(), "waiting")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "all connections of the pool (1) are in use: commit before this call")
		require.NoError(t, tx.Rollback())
	})
}

// SQLite has one writer at a time, and a transaction of the caller can be it.
func TestWakeBesideTheOwnTransactionNamesBusyTimeout(t *testing.T) {
	db := create(t, hotelstayssql.SQLite)
	db.createTables(t)
	plain := newProcess(t, db, nil)
	plain.SendUnknown("ref-1", bookingstest.BookMade)
	p := plain.through(db.openWith(t, map[string]string{"busy_timeout": "1"}), nil)
	failure := errors.New("no answer yet")
	err := newEvents(t, db.DB, db.dialect).HandleTx(t.Context(), event("id", "body"), func(ctx context.Context, _ *sql.Tx) error {
		assert.ErrorContains(t, p.Wake(ctx, "ref-1"), "another transaction is writing: set busy_timeout")
		return failure
	})
	require.ErrorIs(t, err, failure)
}
