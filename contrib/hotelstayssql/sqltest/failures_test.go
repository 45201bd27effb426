// Failed statements, a full disk, and the texts of errors.

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql/journaltest"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/types"
)

// failOnce makes one statement fail: n matching statements succeed, and the next matching statement fails. The text
// "LOST" is a COMMIT that succeeds while its answer is lost. The function failed removes the fault, and reports whether
// a statement has failed.
func (l *link) failOnce(matches func(text string) bool, n int) (failed func() bool) {
	var left atomic.Int64
	left.Store(int64(n))
	next := func(text string) bool { return matches(text) && left.Add(-1) == -1 }
	l.setHooks(func(_ context.Context, text string) error {
		if next(text) {
			return errLost
		}
		return nil
	}, func(string) bool { return next("LOST") })
	return func() bool {
		l.setHooks(nil, nil)
		return left.Load() < 0
	}
}

// Each test run lets another statement or commit of the call fail. A commit may also succeed while its answer is lost.
func TestCallReportsAFailedStatement(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		ctx, token := t.Context(), hotelstays.Token{Value: types.NewSecret("the-token")}
		pool, link := db.process(t)
		p := newProcess(t, db, nil).through(pool, db.followBookings)
		events := newEvents(t, pool, db.dialect)
		tokens := newTokens(t, &database{DB: pool, dialect: db.dialect})
		inTx := (&database{DB: pool}).caller().InTx
		unknown := func(reference string) { p.SendUnknown(reference, bookingstest.BookMade) }
		booked := func(reference string) { p.Booked(reference) }
		nothing, handled := func(string) {}, 0
		var leases []func()
		calls := map[string]struct {
			prepare func(reference string)
			call    func(reference string) error
		}{
			"BeginTx": {p.AddRow, func(reference string) error {
				return inTx(ctx, func(tx *sql.Tx) error { return p.BeginTx(ctx, tx, p.Request(reference)) })
			}},
			"InTx": {p.AddRow, func(reference string) error {
				return p.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return p.BeginTx(ctx, tx, p.Request(reference)) })
			}},
			"Send":    {p.Begin, func(reference string) error { _, err := p.Send(ctx, reference); return err }},
			"Book":    {p.AddRow, func(reference string) error { _, err := p.Book(ctx, p.Request(reference)); return err }},
			"Wake":    {unknown, func(reference string) error { return p.Wake(ctx, reference) }},
			"Retry":   {unknown, func(reference string) error { return p.Retry(ctx, reference) }},
			"Abandon": {unknown, func(reference string) error { return p.Abandon(ctx, reference) }},
			"CancelTx": {booked, func(reference string) error {
				req := durable.CancelOrder{CustomerReferenceNo: reference, SessionID: p.Accounts[0].Session}
				return inTx(ctx, func(tx *sql.Tx) error { return p.CancelTx(ctx, tx, req) })
			}},
			"Wake, with a cancellation and an order": {func(reference string) {
				p.Booked(reference)
				require.NoError(t, p.CancelAlone(reference, nil))
			}, func(reference string) error { return p.Wake(ctx, reference) }},
			"Unfollow": {booked, func(reference string) error { return p.Unfollow(ctx, reference) }},
			"List": {nothing, func(string) (err error) {
				for _, err = range p.List(ctx) {
				}
				return err
			}},
			"Check":   {nothing, func(string) error { return hotelstayssql.Check(ctx, pool, db.dialect, nil) }},
			"Migrate": {nothing, func(string) error { return hotelstayssql.Migrate(ctx, pool, db.dialect) }},
			"Claim": {nothing, func(reference string) error {
				_, err := events.Claim(ctx, []string{reference, reference + "'"}, time.Minute)
				return err
			}},
			"Done":    {nothing, func(reference string) error { return events.Done(ctx, []string{reference}, time.Hour) }},
			"Release": {nothing, func(reference string) error { return events.Release(ctx, []string{reference}) }},
			"HandleTx": {nothing, func(reference string) error {
				err := events.HandleTx(ctx, event(reference, reference), insert(1))
				if handled++; err != nil { // the sender delivers the event again
					_ = events.HandleTx(ctx, event(reference, reference), insert(1))
				}
				return err
			}},
			"Load":  {nothing, func(reference string) error { _, err := tokens.Load(ctx, reference); return err }},
			"Store": {nothing, func(reference string) error { return tokens.Store(ctx, reference, token) }},
			"CompareAndDelete": {func(reference string) { require.NoError(t, tokens.Store(ctx, reference, token)) },
				func(reference string) error { return tokens.CompareAndDelete(ctx, reference, token) }},
			"TryLease": {nothing, func(reference string) error {
				release, _, err := tokens.TryLease(ctx, reference)
				if err == nil {
					leases = append(leases, release)
				}
				return err
			}},
		}
		for name, c := range calls {
			for _, matches := range []func(string) bool{
				func(text string) bool { // the excluded statements may fail without an error of the call
					return text != "LOST" && text != "" && !strings.HasPrefix(text, "SELECT event_key") && !strings.HasPrefix(text, "SET autocommit")
				},
				func(text string) bool { return text == "LOST" },
			} {
				for n, failed := 0, true; failed; n++ {
					reference := fmt.Sprint(name, " ", n, " ", matches("LOST"))
					c.prepare(reference)
					hasFailed := link.failOnce(matches, n)
					err := c.call(reference)
					failed = hasFailed()
					for ; len(leases) > 0; leases = leases[1:] {
						leases[0]() // otherwise the store would renew the lease
					}
					if failed {
						assert.ErrorIs(t, err, errLost, reference)
					} else {
						assert.NoError(t, err, reference)
					}
				}
			}
		}
		p.Fleet.Pass(time.Minute)
		stop := p.Work()
		p.Fleet.Pass = func(d time.Duration) {
			require.NoError(t, journaltest.PassTime(ctx, db.DB, db.dialect, d, journaltest.PollsOnly))
		}
		p.PassUntil("all bookings and cancellations have ended", 2*time.Minute, func() bool {
			return p.count(`live = 1`)+db.number(t, `SELECT COUNT(*) FROM hotelstays_cancels WHERE live = 1`) == 0
		})
		stop()
		assert.EqualValues(t, handled, db.handled(t))
		assert.Zero(t, db.number(t, `SELECT COUNT(*) FROM bookings WHERE ended > 1 OR cancels > 1`))
		assert.Len(t, p.OrdersMade(), int(db.number(t, `SELECT COUNT(*) FROM bookings WHERE state = 'found' OR reference LIKE 'Abandon%'`)))
		assert.Equal(t, p.Ledger().Count(hotelstays.OpCancel), int(db.number(t, `SELECT SUM(cancels) FROM bookings`)))

		for _, table := range []string{"journal", "cancels", "orders", "events", "tokens"} {
			db.exec(t, "DROP TABLE hotelstays_"+table)
		}
		for name, c := range calls {
			if err := c.call("the-reference"); name != "Check" && name != "Migrate" { // Check and Migrate report another version of the tables
				require.ErrorContains(t, err, "hotelstayssql: ", name)
				assert.ErrorContains(t, err, "; call Migrate, or check the database's name and search path", name)
				assert.NotContains(t, err.Error(), "the-token")
			}
		}
	})
}

// Two workers find a row at the same time. Only the first worker gets the lease.
func TestWorkerSkipsARowThatAnotherWorkerHasLeased(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *process) {
		p.fillBooked(2, nil)
		log := make(logLines, 1)
		pool, link := p.db.process(t)
		var begun atomic.Int32
		link.setHooks(func(_ context.Context, text string) error {
			if text == "BEGIN" && begun.Add(1) == 1 {
				p.db.exec(t, `UPDATE hotelstays_journal SET fence = fence + 1, due = ? WHERE reference = ?`,
					time.Now().Add(time.Hour).UnixMicro(), []byte(many(0)))
			}
			return nil
		}, nil)
		stop := p.through(pool, log.receive).Work()
		time.Sleep(time.Minute)
		stop()
		assert.Equal(t, []string{"pending", "found"}, []string{p.Row(many(0)).State, p.Row(many(1)).State})
		assert.Empty(t, log)
	})
}

// A transaction of SQLite that has read cannot write if another process has written meanwhile. So CancelTx writes
// before it reads.
func TestCancelTxLocksSQLiteBeforeItReads(t *testing.T) {
	p := inProcess(t, nil)
	p.Booked("ref-1")
	pool, link := p.db.process(t)
	impatient := p.db.openWith(t, map[string]string{"busy_timeout": "0"})
	link.setHooks(func(ctx context.Context, text string) error {
		if strings.HasPrefix(text, "INSERT") {
			_, err := impatient.ExecContext(ctx, `UPDATE hotelstays_journal SET due = due`)
			assert.ErrorContains(t, err, "locked")
		}
		return nil
	}, nil)
	require.NoError(t, (&database{DB: pool}).caller().InTx(t.Context(), func(tx *sql.Tx) error {
		return p.CancelTx(t.Context(), tx, durable.CancelOrder{CustomerReferenceNo: "ref-1", SessionID: p.Accounts[0].Session})
	}))
}

// Each test run lets another statement or commit of Run fail. Still the booking is made once, each change of its order
// is delivered once, and the order is cancelled once.
func TestRunContinuesAfterAFailedStatement(t *testing.T) {
	life := func(t *testing.T, matches func(text string) bool, after int) (executed []statement) {
		inVirtualTime(t, func(t *testing.T, p *process) {
			pool, link := p.db.process(t)
			log := make(logLines, 1)
			p = p.through(pool, func(o *hotelstayssql.JournalOptions) {
				p.db.followBookings(o)
				log.receive(o)
				o.PollInterval = time.Minute
			})
			number := func(query string) int { return int(p.db.number(t, query)) }
			wait := func(until string) {
				for n := 0; number(`SELECT COUNT(*) FROM bookings WHERE `+until) == 0; n++ {
					require.Less(t, n, 60, until)
					time.Sleep(time.Minute)
				}
			}
			rounds, cancels := 1, 1
			p.Begin("ref-1")
			failed := link.failOnce(matches, after)
			stop := p.Work()
			if wait(`state <> 'pending'`); p.Row("ref-1").State == "absent" { // Book was marked, but not sent
				require.NoError(t, p.BeginAlone(p.Request("ref-1")))
				rounds++
			}
			wait(`state = 'found'`)
			p.ConfirmOrder("ref-1")
			wait(`changes > 0`)
			require.NoError(t, p.CancelAlone("ref-1", nil))
			if wait(`cancel <> ''`); number(`SELECT COUNT(*) FROM bookings WHERE cancel = 'standing'`) > 0 { // Cancel was marked, but not sent
				require.NoError(t, p.CancelAlone("ref-1", nil))
				cancels++
			}
			wait(`cancel = 'cancelled' AND changes > 1`)
			time.Sleep(time.Hour)
			stop()
			assert.Equal(t, []int{rounds, 2, cancels}, []int{p.Row("ref-1").Ended, number(`SELECT changes FROM bookings`),
				number(`SELECT cancels FROM bookings`)})
			assert.Equal(t, []int{1, 1}, []int{p.Ledger().Count(hotelstays.OpBook), p.Ledger().Count(hotelstays.OpCancel)})
			for _, table := range []string{"hotelstays_journal", "hotelstays_cancels", "hotelstays_orders"} {
				assert.Zero(t, number(`SELECT COUNT(*) FROM `+table+` WHERE live = 1`), table)
			}
			executed = link.executed()
			if failed() {
				assert.NotEmpty(t, log)
			}
		})
		return executed
	}
	times := map[string]int{}
	for _, s := range life(t, func(string) bool { return false }, 0) {
		times[s.text]++
	}
	times["LOST"] = times["COMMIT"]
	for text, n := range times {
		if strings.Contains(text, "ORDER BY due") { // Run repeats this query each minute
			n = 3
		}
		for after := range n {
			t.Run(fmt.Sprint(text, " after ", after), func(t *testing.T) {
				life(t, func(s string) bool { return s == text }, after)
			})
		}
	}
}

func TestErrorsNameTheCallAndSayWhatToDo(t *testing.T) {
	other := map[hotelstayssql.Dialect]hotelstayssql.Dialect{hotelstayssql.SQLite: hotelstayssql.PostgreSQL,
		hotelstayssql.PostgreSQL: hotelstayssql.MySQL, hotelstayssql.MySQL: hotelstayssql.SQLite}
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		p.Begin("waiting")
		assert.ErrorContains(t, p.Abandon(t.Context(), "ended"), `hotelstayssql: Abandon: reference "ended": this account has no open booking`)
		assert.ErrorContains(t, hotelstayssql.Check(t.Context(), db.DB, other[db.dialect], nil), "checking the database: looking for the tables with the dialect "+string(other[db.dialect]))
		assert.ErrorContains(t, hotelstayssql.Migrate(t.Context(), db.DB, other[db.dialect]), "migrating with the dialect "+string(other[db.dialect]))

		// The caller's transaction is open, and uses the only connection of the pool.
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

// SQLite has one writer at a time. Here the writer is a transaction of the caller.
func TestErrorOfWakeDuringATransactionAdvisesBusyTimeout(t *testing.T) {
	plain := inProcess(t, nil)
	db := plain.db
	plain.SendUnknown("ref-1", bookingstest.BookMade)
	p := plain.through(db.openWith(t, map[string]string{"busy_timeout": "1"}), nil)
	failure := errors.New("no answer yet")
	err := newEvents(t, db.DB, db.dialect).HandleTx(t.Context(), event("id", "body"), func(ctx context.Context, _ *sql.Tx) error {
		assert.ErrorContains(t, p.Wake(ctx, "ref-1"), "another transaction is writing: set busy_timeout")
		return failure
	})
	require.ErrorIs(t, err, failure)
}
