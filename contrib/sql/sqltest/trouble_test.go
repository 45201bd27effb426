package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/durable"
)

// The limit of pages stands for a full disk: SQLite reports both in the same way.
func TestFullDiskOfEvents(t *testing.T) {
	db := create(t, hotelstayssql.SQLite)
	db.createTables(t)
	full := newEvents(t, db.openWith(t, map[string]string{"max_page_count": "20"}), db.dialect)
	handled := 0
	var failure error
	for ; failure == nil && handled < 1000; handled++ {
		id := strings.Repeat("x", handled)
		failure = full.HandleTx(t.Context(), event(id, id), insert(handled))
	}
	assert.ErrorContains(t, failure, "full")
	assert.EqualValues(t, handled-1, db.handled(t), "what was committed stays")
	assert.EqualValues(t, 2*(handled-1), db.number(t, "SELECT COUNT(*) FROM hotelstays_events"))
	last := strings.Repeat("x", handled-1)
	require.NoError(t, newEvents(t, db.DB, db.dialect).HandleTx(t.Context(), event(last, last), insert(handled)), "there is room again")
	assert.EqualValues(t, handled, db.handled(t))
}

// smallDisk is a process of the journal with one connection, and a disk that can be full.
type smallDisk struct {
	*books
	log logLines
}

// newSmallDisk creates the tables. needs is an event of a trigger, which takes space.
func newSmallDisk(t *testing.T, needs string) *smallDisk {
	t.Helper()
	db := create(t, hotelstayssql.SQLite)
	db.createTables(t)
	createBookings(t, db)
	db.exec(t, `CREATE TABLE ballast (content blob NOT NULL)`)
	db.exec(t, `CREATE TRIGGER needs_space AFTER `+needs+` BEGIN INSERT INTO ballast (content) VALUES (zeroblob(400000)); END`)
	db.SetMaxOpenConns(1) // the limit belongs to a connection
	d := &smallDisk{log: make(logLines, 100)}
	d.books = (&books{service: newService(t), db: db, t: t}).through(db.DB, func(o *hotelstayssql.JournalOptions) {
		o.Logger = slog.New(slog.NewTextHandler(d.log, nil))
	})
	return d
}

// fill leaves room for small writes.
func (d *smallDisk) fill() {
	d.t.Helper()
	d.limit(d.db.number(d.t, `PRAGMA page_count`) + 20)
}

func (d *smallDisk) empty() { d.t.Helper(); d.limit(1_000_000) }

func (d *smallDisk) limit(pages int64) {
	d.t.Helper()
	d.db.exec(d.t, fmt.Sprint(`PRAGMA max_page_count = `, pages))
}

// Nothing is sent before it is stored.
func TestFullDiskBeforeBook(t *testing.T) {
	for name, row := range map[string]struct {
		needs string
		book  func(d *smallDisk) error
	}{
		"Begin": {`INSERT ON hotelstays_journal`, func(d *smallDisk) error { return d.beginAgain(d.request("ref-1")) }},
		"Book": {`INSERT ON hotelstays_journal`, func(d *smallDisk) error {
			_, err := d.Book(d.t.Context(), d.request("ref-1"))
			return err
		}},
		"the mark of Send": {`UPDATE ON hotelstays_journal`, func(d *smallDisk) error {
			_, err := d.Send(d.t.Context(), "ref-0")
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newSmallDisk(t, row.needs)
			d.begin("ref-0")
			d.addRow("ref-1")
			d.fill()
			err := row.book(d)
			require.ErrorContains(t, err, "full")
			assert.Regexp(t, `reference "ref-\d": .*(nothing was sent|roll back)`, err.Error())
			assert.Zero(t, d.Ledger().Count(hotelstays.OpBook))
			assert.EqualValues(t, 1, d.db.number(t, `SELECT COUNT(*) FROM hotelstays_journal WHERE request IS NOT NULL`))
			d.empty()
			require.NoError(t, row.book(d))
		})
	}
}

// An outcome that could not be stored is delivered once when there is room again.
func TestFullDiskAfterBook(t *testing.T) {
	for name, needs := range map[string]string{
		"the journal's row": `UPDATE ON hotelstays_journal WHEN NEW.live <> 1`,
		"the caller's row":  `UPDATE ON bookings`,
	} {
		t.Run(name, func(t *testing.T) {
			d := newSmallDisk(t, needs)
			d.begin("ref-1")
			d.fill()
			outcome, err := d.Send(t.Context(), "ref-1")
			require.ErrorContains(t, err, "full")
			assert.ErrorContains(t, err, `reference "ref-1" is found, but that was not stored`)
			require.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
			d.pass(time.Minute)
			d.run()
			assert.Contains(t, <-d.log, "full")
			assert.Equal(t, callerRow{State: "pending"}, d.row("ref-1"))
			assert.Equal(t, durable.PhasePolling, d.stored("ref-1").Phase(time.Now()))

			d.empty()
			d.hasState("ref-1", durable.EndingFound, time.Minute)
			assert.Equal(t, callerRow{"found", outcome.Order.PlatformReferenceNo, 1}, d.row("ref-1"))
			assert.Equal(t, map[string]int{"ref-1": 1}, d.bookingsMade())
		})
	}
}

// Run cannot take over a booking while the disk is full, and continues when there is room.
func TestFullDiskForRun(t *testing.T) {
	d := newSmallDisk(t, `UPDATE ON hotelstays_journal`)
	d.sendUnknown("ref-1", bookMade)
	d.pass(time.Minute)
	d.fill()
	d.run()
	assert.Contains(t, <-d.log, "full")
	d.empty()
	d.hasState("ref-1", durable.EndingFound, time.Minute)
	assert.Equal(t, 1, d.row("ref-1").Ended)
}

// Nothing needs a second connection while it has one. A transaction of the caller has one, too.
func TestPoolOfOneConnectionIsEnough(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		db.SetMaxOpenConns(1)
		createBookings(t, db)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		require.NoError(t, hotelstayssql.Migrate(ctx, db.DB, db.dialect))
		_, err := hotelstayssql.Check(ctx, db.DB, db.dialect)
		require.NoError(t, err)
		b := (&books{service: newService(t), db: db, t: t}).through(db.DB, nil)
		stop := b.run()

		b.begin("ref-1")
		_, err = b.Send(ctx, "ref-1")
		require.NoError(t, err)
		b.addRow("ref-2")
		_, err = b.Book(ctx, b.request("ref-2"))
		require.NoError(t, err)
		events := newEvents(t, db.DB, db.dialect)
		require.NoError(t, events.HandleTx(ctx, event("id", "body"), func(ctx context.Context, tx *sql.Tx) error {
			return b.BeginTx(ctx, tx, b.request("ref-3"))
		}))
		require.NoError(t, b.Abandon(ctx, "ref-3"))
		stop()
		b.sendUnknown("ref-4", bookMade)
		for booking, err := range b.List(ctx) {
			require.NoError(t, err)
			require.NoError(t, b.Wake(ctx, booking.Recovery.CustomerReferenceNo))
			require.NoError(t, b.Retry(ctx, booking.Recovery.CustomerReferenceNo))
		}
		b.run()
		b.hasState("ref-4", durable.EndingFound, time.Minute)

		_, err = events.Claim(ctx, []string{"a", "b"}, time.Minute)
		require.NoError(t, err)
		require.NoError(t, events.Release(ctx, []string{"a"}))
		db.fill(t, 500, 1)
		for range 300 { // one in fifty removes expired keys
			require.NoError(t, events.Done(ctx, []string{"a", "b"}, time.Hour))
		}
		tokens := newTokens(t, db)
		release, ok, err := tokens.TryLease(ctx, tokenKey)
		require.NoError(t, err)
		require.True(t, ok)
		mustStore(t, tokens, "token")
		release()
		require.NoError(t, tokens.CompareAndDelete(ctx, tokenKey, mustLoad(t, tokens)))
	})
}

// An error names the call, and says what to do next.
func TestErrorsSayWhatToDo(t *testing.T) {
	other := map[hotelstayssql.Dialect]hotelstayssql.Dialect{hotelstayssql.SQLite: hotelstayssql.PostgreSQL,
		hotelstayssql.PostgreSQL: hotelstayssql.MySQL, hotelstayssql.MySQL: hotelstayssql.SQLite}
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.begin("waiting")
		b.begin("ended")
		_, err := b.Send(t.Context(), "ended")
		require.NoError(t, err)

		assert.ErrorContains(t, b.Retry(t.Context(), "waiting"), "call Send, or wait until a worker does at 2")
		for name, command := range map[string]func(context.Context, string) error{"Retry": b.Retry, "Abandon": b.Abandon} {
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
		short := b.through(one, func(o *hotelstayssql.JournalOptions) { o.BookTimeout = 50 * time.Millisecond })
		tx, err := one.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = short.Send(t.Context(), "waiting")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "all connections of the pool (1) are in use: commit before this call")
		require.NoError(t, tx.Rollback())

		for _, table := range []string{"journal", "events", "tokens"} {
			db.exec(t, "DROP TABLE hotelstays_"+table)
		}
		gone := fails(t.Context(), newTokens(t, db), newEvents(t, db.DB, db.dialect))
		for what, err := range gone {
			assert.ErrorContains(t, err, "hotelstayssql: "+what+": ")
			assert.NotContains(t, err.Error(), "the-secret-token")
			assert.NotContains(t, err.Error(), "the-app-key")
		}
		gone["Begin"] = b.beginAgain(b.request("ref-1"))
		_, gone["Send"] = b.Send(t.Context(), "ref-1")
		_, gone["Book"] = b.Book(t.Context(), b.request("ref-1"))
		gone["Wake"], gone["Retry"] = b.Wake(t.Context(), "ref-1"), b.Retry(t.Context(), "ref-1")
		for _, err := range b.List(t.Context()) {
			gone["List"] = err
		}
		for name, err := range gone {
			assert.ErrorContains(t, err, "; call Migrate, or check the database's name and search path", name)
		}
	})
}

// SQLite has one writer at a time, and a transaction of the caller can be it.
func TestWakeBesideTheOwnTransactionNamesBusyTimeout(t *testing.T) {
	db := create(t, hotelstayssql.SQLite)
	db.createTables(t)
	plain := newBooks(t, db, nil)
	plain.sendUnknown("ref-1", bookMade)
	b := plain.through(db.openWith(t, map[string]string{"busy_timeout": "1"}), nil)
	failure := errors.New("no answer yet")
	err := newEvents(t, db.DB, db.dialect).HandleTx(t.Context(), event("id", "body"), func(ctx context.Context, _ *sql.Tx) error {
		assert.ErrorContains(t, b.Wake(ctx, "ref-1"), "another transaction is writing: set busy_timeout")
		return failure
	})
	require.ErrorIs(t, err, failure)
}
