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
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
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
	*process
	log logLines
}

// newSmallDisk creates the tables. needs is an event of a trigger, which takes space.
func newSmallDisk(t *testing.T, needs string) *smallDisk {
	t.Helper()
	db := create(t, hotelstayssql.SQLite)
	db.createTables(t)
	db.exec(t, bookingstest.Table)
	db.exec(t, `CREATE TABLE ballast (content blob NOT NULL)`)
	db.exec(t, `CREATE TRIGGER needs_space AFTER `+needs+` BEGIN INSERT INTO ballast (content) VALUES (zeroblob(400000)); END`)
	db.SetMaxOpenConns(1) // the limit belongs to a connection
	d := &smallDisk{log: make(logLines, 100)}
	d.process = newProcessIn(t, db, func(o *hotelstayssql.JournalOptions) { o.Logger = slog.New(slog.NewTextHandler(d.log, nil)) })
	return d
}

// fill leaves room for small writes.
func (d *smallDisk) fill() {
	d.Helper()
	d.limit(d.db.number(d, `PRAGMA page_count`) + 20)
}

func (d *smallDisk) empty() { d.Helper(); d.limit(1_000_000) }

func (d *smallDisk) limit(pages int64) {
	d.Helper()
	d.db.exec(d, fmt.Sprint(`PRAGMA max_page_count = `, pages))
}

// Nothing is sent before it is stored.
func TestFullDiskBeforeBook(t *testing.T) {
	for name, row := range map[string]struct {
		needs string
		book  func(d *smallDisk) error
	}{
		"Begin": {`INSERT ON hotelstays_journal`, func(d *smallDisk) error { return d.BeginAlone(d.Request("ref-1")) }},
		"Book": {`INSERT ON hotelstays_journal`, func(d *smallDisk) error {
			_, err := d.Book(d.Context(), d.Request("ref-1"))
			return err
		}},
		"the mark of Send": {`UPDATE ON hotelstays_journal`, func(d *smallDisk) error {
			_, err := d.Send(d.Context(), "ref-0")
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newSmallDisk(t, row.needs)
			d.Begin("ref-0")
			d.AddRow("ref-1")
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
			d.Begin("ref-1")
			d.fill()
			outcome, err := d.Send(t.Context(), "ref-1")
			require.ErrorContains(t, err, "full")
			assert.ErrorContains(t, err, `reference "ref-1" is found, but that was not stored`)
			require.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
			d.Fleet.Pass(time.Minute)
			d.Work()
			assert.Contains(t, <-d.log, "full")
			assert.Equal(t, bookingstest.Row{State: "pending"}, d.Row("ref-1"))
			assert.Equal(t, durable.PhasePolling, d.Fleet.Stored("ref-1").Phase(time.Now()))

			d.empty()
			d.HasState("ref-1", durable.EndingFound, time.Minute)
			assert.Equal(t, bookingstest.Row{State: "found", Order: outcome.Order.PlatformReferenceNo, Ended: 1}, d.Row("ref-1"))
			assert.Equal(t, map[string]int{"ref-1": 1}, d.OrdersMade())
		})
	}
}

// Run cannot take over a booking while the disk is full, and continues when there is room.
func TestFullDiskForRun(t *testing.T) {
	d := newSmallDisk(t, `UPDATE ON hotelstays_journal`)
	d.SendUnknown("ref-1", bookingstest.BookMade)
	d.Fleet.Pass(time.Minute)
	d.fill()
	d.Work()
	assert.Contains(t, <-d.log, "full")
	d.empty()
	d.HasState("ref-1", durable.EndingFound, time.Minute)
	assert.Equal(t, 1, d.Row("ref-1").Ended)
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

		for _, table := range []string{"journal", "events", "tokens"} {
			db.exec(t, "DROP TABLE hotelstays_"+table)
		}
		gone := fails(t.Context(), newTokens(t, db), newEvents(t, db.DB, db.dialect))
		for what, err := range gone {
			assert.ErrorContains(t, err, "hotelstayssql: "+what+": ")
			assert.NotContains(t, err.Error(), "the-secret-token")
			assert.NotContains(t, err.Error(), "the-app-key")
		}
		gone["Begin"] = p.BeginAlone(p.Request("ref-1"))
		_, gone["Send"] = p.Send(t.Context(), "ref-1")
		_, gone["Book"] = p.Book(t.Context(), p.Request("ref-1"))
		gone["Wake"], gone["Retry"] = p.Wake(t.Context(), "ref-1"), p.Retry(t.Context(), "ref-1")
		for _, err := range p.List(t.Context()) {
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
