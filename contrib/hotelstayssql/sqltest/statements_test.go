package sqltest

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

// fill inserts keys of handled events. The parameter expiresAt is in microseconds since 1970.
func (d *database) fill(t *testing.T, n int, expiresAt int64) {
	t.Helper()
	const batch = 500
	for start := 0; start < n; start += batch {
		var args []any
		for i := start; i < start+batch; i++ {
			args = append(args, fmt.Appendf(nil, "key %d %d", expiresAt, i), expiresAt)
		}
		d.exec(t, `INSERT INTO hotelstays_events (event_key, store, claim, done, expires_at)
			VALUES `+strings.Repeat(", (?, 1, 1, 1, ?)", batch)[2:], args...)
	}
}

const endOf9999 = 253_402_300_799_000_000 // the end of the year 9999, in microseconds since 1970

func TestExpiredKeysAreRemoved(t *testing.T) {
	db := inDatabase(t)
	s := newEvents(t, db.DB, db.dialect)
	db.fill(t, 500, 1)
	db.fill(t, 500, endOf9999)
	expired := func() int64 { return db.number(t, "SELECT COUNT(*) FROM hotelstays_events WHERE expires_at = 1") }
	for n := 0; expired() > 0; n++ {
		require.Less(t, n, 5000, "one event in fifty removes 200 keys")
		require.NoError(t, s.Done(t.Context(), []string{"key"}, time.Hour))
	}
	assert.EqualValues(t, 501, db.number(t, "SELECT COUNT(*) FROM hotelstays_events"))
}

func TestStatementsUseAnIndex(t *testing.T) {
	scans := map[hotelstayssql.Dialect][]string{
		hotelstayssql.SQLite:     {"SCAN", "TEMP B-TREE"},
		hotelstayssql.PostgreSQL: {"Seq Scan", "Sort"},
		hotelstayssql.MySQL:      {" ALL ", "filesort"},
	}
	onEach(t, func(t *testing.T, db *database) {
		db.fill(t, 2000, endOf9999)
		db.fill(t, 500, 1)
		p := newProcess(t, db, nil)
		p.fill(1000, func(_ int, booking *bookingstest.Booking) {
			booking.Due = time.Now().Add(time.Hour)
			booking.Recovery.Expect = nil // to save space
		})
		db.exec(t, `INSERT INTO hotelstays_cancels (account, reference, fence, live, due, state)
			SELECT account, reference, 1, 1, due, booking FROM hotelstays_journal`)
		db.exec(t, `DELETE FROM hotelstays_cancels WHERE reference = ?`, []byte(many(1)))
		tables := []string{"hotelstays_events", "hotelstays_journal", "hotelstays_cancels"}
		for _, table := range tables {
			if db.dialect == hotelstayssql.MySQL {
				table = "TABLE " + table
			}
			db.exec(t, "ANALYZE "+table)
		}
		pool, link := db.process(t)
		useEvents(t, newEvents(t, pool, db.dialect), link)
		p.through(pool, func(o *hotelstayssql.JournalOptions) { o.PollInterval = time.Second }).useJournal()
		checked := map[string]bool{}
		for _, s := range link.executed() {
			ours := slices.ContainsFunc(tables, func(table string) bool { return strings.Contains(s.text, table) })
			if checked[s.text] || !ours || strings.HasPrefix(s.text, "INSERT") {
				continue
			}
			checked[s.text] = true
			plan := db.plan(t, s)
			for _, scan := range scans[db.dialect] {
				assert.NotContains(t, plan, scan, s.text)
			}
			if db.dialect == hotelstayssql.SQLite && strings.Contains(s.text, "reference > ") {
				assert.Contains(t, plan, "hotelstays_journal_list", "List must not read bookings that have ended")
			}
		}
		assert.GreaterOrEqual(t, len(checked), 11)
	})
}

// useEvents calls all methods of an EventStore, until expired keys are removed.
func useEvents(t *testing.T, events *hotelstayssql.EventStore, link *link) {
	t.Helper()
	claim(t, events, time.Minute, "a", "b")
	require.NoError(t, events.Release(t.Context(), []string{"a", "b"}))
	isRemoval := func(s statement) bool { return strings.Contains(s.text, "LIMIT") }
	for n := 0; !slices.ContainsFunc(link.executed(), isRemoval); n++ {
		require.Less(t, n, 5000)
		require.NoError(t, events.Done(t.Context(), []string{"key"}, time.Hour))
	}
}

// useJournal calls the methods that look for rows.
func (p *process) useJournal() {
	p.Helper()
	p.AddRow("ref-1")
	_, err := p.Book(p.Context(), p.Request("ref-1"))
	require.NoError(p, err)
	require.NoError(p, p.Wake(p.Context(), many(1)))
	stop := p.Work()
	p.Eventually("a worker has polled", func() bool { return p.Ledger().Count(hotelstays.OpQueryOrders) > 0 })
	stop()
	for _, err := range p.List(p.Context()) {
		require.NoError(p, err)
		break
	}
}

func (d *database) plan(t *testing.T, s statement) string {
	t.Helper()
	explain := "EXPLAIN "
	if d.dialect == hotelstayssql.SQLite {
		explain = "EXPLAIN QUERY PLAN "
	}
	var args []any
	for _, arg := range s.args {
		args = append(args, arg.Value)
	}
	rows, err := d.QueryContext(t.Context(), explain+s.text, args...)
	require.NoError(t, err, s.text)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var plan strings.Builder
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(sql.RawBytes)
		}
		require.NoError(t, rows.Scan(values...))
		for _, value := range values {
			fmt.Fprintf(&plan, "%s ", *value.(*sql.RawBytes))
		}
		plan.WriteString("\n")
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, plan.String())
	return plan.String()
}

// verbs returns the first words of statements, as one text.
func verbs(statements []statement) string {
	var words []string
	for _, s := range statements {
		verb, _, _ := strings.Cut(s.text, " ")
		words = append(words, verb)
	}
	return strings.Join(words, " ")
}

// A booking costs six statements besides the caller's statements. On servers it costs one or two more statements, which
// limit idle transactions.
func TestBookingCostsFewStatements(t *testing.T) {
	outcome := map[hotelstayssql.Dialect]string{ // the caller executes the last UPDATE; on SQLite the first UPDATE locks the database
		hotelstayssql.SQLite:     "UPDATE SELECT UPDATE UPDATE COMMIT",
		hotelstayssql.PostgreSQL: "SELECT SELECT UPDATE UPDATE COMMIT",
		hotelstayssql.MySQL:      "SET SELECT UPDATE UPDATE SELECT COMMIT SET",
	}
	mark := map[hotelstayssql.Dialect]string{hotelstayssql.SQLite: "UPDATE "}
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		pool, link := db.process(t)
		p = p.through(pool, nil)
		for _, reference := range []string{"ref-1", "ref-2"} { // for the first booking, the journal also checks the tables
			p.AddRow(reference)
			link.drain()
			require.NoError(t, (&database{DB: pool}).caller().InTx(t.Context(), func(tx *sql.Tx) error {
				return p.BeginTx(t.Context(), tx, p.Request(reference))
			}))
			begun := link.drain()
			p.MustSend(reference)
			sent := link.drain()
			if reference == "ref-2" {
				assert.Equal(t, "INSERT SELECT COMMIT", verbs(begun))
				assert.Equal(t, mark[db.dialect]+"SELECT UPDATE COMMIT "+outcome[db.dialect], verbs(sent))
			}
		}
		p.AddRow("ref-3")
		link.drain()
		_, err := p.Book(t.Context(), p.Request("ref-3"))
		require.NoError(t, err)
		assert.Equal(t, "INSERT SELECT COMMIT "+outcome[db.dialect], verbs(link.drain()))
	})
}

// The measured bytes include the indexes, except on PostgreSQL.
func TestFollowedBookingCostsFewBytesAndStatements(t *testing.T) {
	const bookings = 100
	const measured = 50 // so few that the tables stay small: from 32 pages on, MariaDB adds 64 pages at once
	size := map[hotelstayssql.Dialect]string{
		hotelstayssql.SQLite: `SELECT SUM(pgsize) FROM dbstat WHERE name LIKE 'hotelstays_journal%' OR name LIKE 'hotelstays_orders%'`,
		// Only live rows: other transactions decide when PostgreSQL reuses the space of deleted rows.
		hotelstayssql.PostgreSQL: `SELECT (SELECT COALESCE(SUM(pg_column_size(j.*)), 0) FROM hotelstays_journal j)
			+ (SELECT COALESCE(SUM(pg_column_size(o.*)), 0) FROM hotelstays_orders o)`,
		hotelstayssql.MySQL: `SELECT SUM(data_length + index_length) FROM information_schema.tables
			WHERE table_schema = DATABASE() AND table_name IN ('hotelstays_journal', 'hotelstays_orders')`,
	}
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, db.followBookings)
		measure := func() int64 {
			if db.dialect == hotelstayssql.MySQL {
				db.exec(t, `ANALYZE TABLE hotelstays_journal, hotelstays_orders`)
			}
			return db.number(t, size[db.dialect])
		}
		before := measure()
		for i := range measured {
			p.Booked(many(i))
		}
		bytes := (measure() - before) / measured
		for i := range bookings - measured {
			p.Booked(many(measured + i))
		}
		p.Fleet.Pass(time.Hour)
		reads := p.polls()
		pool, link := db.process(t)
		stop := p.through(pool, db.followBookings).Work()
		p.Eventually("all orders are read", func() bool { // a leased order is due within a minute, a read order later
			return db.number(t, `SELECT COUNT(*) FROM hotelstays_orders WHERE due < ?`, time.Now().Add(2*time.Minute).UnixMicro()) == 0
		})
		stop()
		written := 0
		for _, s := range link.drain() {
			if strings.Contains(s.text, "hotelstays_orders") && !strings.HasPrefix(s.text, "SELECT") {
				written++
			}
		}
		reads = p.polls() - reads
		t.Logf("%s: %d bytes per followed booking; %d reads and %d writing statements for %d orders",
			db.dialect, bytes, reads, written, bookings)
		atMost := map[hotelstayssql.Dialect]int64{hotelstayssql.PostgreSQL: 7_000} // without indexes
		assert.Less(t, bytes, cmp.Or(atMost[db.dialect], 12_000))
		assert.Equal(t, 1, reads)
		assert.LessOrEqual(t, written, 3*bookings)
	})
}

// In each pause Run looks once for each kind of rows, with any number of accounts.
func TestIdleRunExecutesOneStatementPerKindOfRow(t *testing.T) {
	const pause = 50 * time.Millisecond
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		inserted := 0
		for _, accounts := range []int{1, 50, 1000} {
			var args []any
			for ; inserted < accounts; inserted++ {
				args = append(args, fmt.Appendf(nil, "account %d", inserted), int64(endOf9999))
			}
			db.exec(t, `INSERT INTO hotelstays_journal (account, reference, fence, live, due, booking)
				VALUES `+strings.Repeat(`, (?, 'ref-1', 1, 1, ?, '{}')`, len(args)/2)[2:], args...)
			pool, link := db.process(t)
			o := p.Options
			o.Client, o.Clients = nil, func(string) durable.BookingClient { return p.Clients[0] }
			journal, err := db.journal(pool, o, func(o *hotelstayssql.JournalOptions) {
				o.PollInterval = pause
				db.followBookings(o)
			})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 20*pause)
			require.NoError(t, journal.Run(ctx))
			cancel()
			looks := slices.DeleteFunc(link.drain(), func(s statement) bool { return !strings.Contains(s.text, "ROW_NUMBER") })
			t.Logf("%d accounts: %d statements in %d pauses", accounts, len(looks), 20)
			assert.NotEmpty(t, looks)
			assert.LessOrEqual(t, len(looks), 3*21)
		}
	})
}

// Another account has thousands of bookings that have been due for longer.
func TestFirstLookForDueRowsFindsTheBookingOfAQuietAccount(t *testing.T) {
	loud := 10_000
	if testing.Short() {
		loud = 1000
	}
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil, hotelstaystest.Config{Accounts: bookingstest.Accounts(2)})
		noisy, quiet := p.Clients[0], p.Clients[1]
		if noisy.Account() > quiet.Account() { // the name of the noisy account comes first
			noisy, quiet = quiet, noisy
		}
		p.fill(loud+1, func(i int, booking *bookingstest.Booking) {
			booking.Due = booking.Due.Add(time.Duration(i) * time.Microsecond)
			booking.Recovery.Expect, booking.Recovery.Fingerprint = nil, noisy.Account()
			if i == loud {
				booking.Recovery.Fingerprint = quiet.Account()
			}
		})
		db.exec(t, `UPDATE hotelstays_journal SET live = 2 WHERE reference = ?`, []byte(many(0))) // this booking has ended
		pool, link := db.process(t)
		o := p.Options
		known := map[string]*hotelstays.Client{noisy.Account(): noisy, quiet.Account(): quiet}
		o.Client, o.Clients = nil, func(account string) durable.BookingClient { return known[account] }
		journal, err := db.journal(pool, o, nil)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- journal.Run(ctx) }()
		p.Eventually("the row of the quiet account is leased", func() bool {
			return p.count(`account = ? AND due > ?`, []byte(quiet.Account()), time.Now().UnixMicro()) == 1
		})
		stop()
		require.NoError(t, <-ran)
		assert.Zero(t, p.count(`live = 2 AND due > ?`, time.Now().UnixMicro()))
		isOfQuiet := func(arg driver.NamedValue) bool { return fmt.Sprintf("%s", arg.Value) == quiet.Account() }
		var looks []statement
		for _, s := range link.drain() {
			if strings.HasPrefix(s.text, "UPDATE hotelstays_journal") && slices.ContainsFunc(s.args, isOfQuiet) {
				break
			}
			if strings.Contains(s.text, "ROW_NUMBER") && strings.Contains(s.text, "hotelstays_journal") {
				looks = append(looks, s)
			}
		}
		require.Len(t, looks, 1)
		t.Logf("%s: a look at %d due rows takes %s", db.dialect, loud, db.again(t, looks[0]).Round(100*time.Microsecond))
	})
}

// again executes a query once more, and returns its duration.
func (d *database) again(t *testing.T, s statement) time.Duration {
	t.Helper()
	var args []any
	for _, arg := range s.args {
		args = append(args, arg.Value)
	}
	start := time.Now()
	rows, err := d.QueryContext(t.Context(), s.text, args...)
	require.NoError(t, err)
	for rows.Next() {
	}
	require.NoError(t, rows.Close())
	require.NoError(t, rows.Err())
	return time.Since(start)
}
