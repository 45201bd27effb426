package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// watchedBooks returns a process whose statements are watched.
func (b *books) watched(t *testing.T, change func(*hotelstayssql.JournalOptions)) (*books, *watched, *sql.DB) {
	t.Helper()
	w := &watched{}
	pool := b.db.watch(t, w)
	return b.through(pool, change), w, pool
}

// verbs returns the first words of statements, as one text.
func verbs(statements []string) string {
	var words []string
	for _, s := range statements {
		verb, _, _ := strings.Cut(s, " ")
		words = append(words, verb)
	}
	return strings.Join(words, " ")
}

// A booking costs six statements, those of the caller aside, and one or two for the limit of an
// idle transaction.
func TestStatementsOfABooking(t *testing.T) {
	outcome := map[hotelstayssql.Dialect]string{ // the second UPDATE is the caller's
		hotelstayssql.SQLite:     "UPDATE UPDATE SELECT COMMIT",
		hotelstayssql.PostgreSQL: "SELECT UPDATE UPDATE SELECT COMMIT",
		hotelstayssql.MySQL:      "SET UPDATE UPDATE SELECT COMMIT SET",
	}
	onEach(t, func(t *testing.T, db *database) {
		b, w, pool := newBooks(t, db, nil).watched(t, nil)
		for _, reference := range []string{"ref-1", "ref-2"} { // the first one looks at the tables, too
			b.addRow(reference)
			w.take()
			tx, err := pool.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			require.NoError(t, b.BeginTx(t.Context(), tx, b.request(reference)))
			require.NoError(t, tx.Commit())
			begun := w.take()
			_, err = b.Send(t.Context(), reference)
			require.NoError(t, err)
			sent := w.take()
			if reference == "ref-2" {
				assert.Equal(t, "INSERT SELECT COMMIT", verbs(begun))
				assert.Equal(t, "SELECT UPDATE COMMIT "+outcome[db.dialect], verbs(sent))
			}
		}
		b.addRow("ref-3")
		w.take()
		_, err := b.Book(t.Context(), b.request("ref-3"))
		require.NoError(t, err)
		assert.Equal(t, "INSERT SELECT COMMIT "+outcome[db.dialect], verbs(w.take()))
	})
}

// An outcome is stored once, also if the answer of its commit is lost.
func TestLostAnswersOfCommits(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		for lost, want := range []struct {
			what string
			sent bool
		}{{"the mark", false}, {"the outcome", true}} {
			reference := fmt.Sprint("ref-", lost)
			plain := newBooksIn(t, db, lost == 0)
			b, w, _ := plain.watched(t, nil)
			plain.begin(reference)
			commits := 0
			w.loseCommit = func(string) bool { commits++; return commits == lost+1 }
			outcome, err := b.Send(t.Context(), reference)
			require.ErrorContains(t, err, "lost", want.what)
			assert.Equal(t, want.sent, outcome != nil, want.what)
			assert.Equal(t, want.sent, plain.bookingsMade()[reference] == 1, want.what)
			plain.run()
			if want.sent {
				assert.Equal(t, callerRow{"found", outcome.Order.PlatformReferenceNo, 1}, plain.row(reference))
				require.NoError(t, plain.Wake(t.Context(), reference))
			} else {
				assert.ErrorContains(t, err, "nothing was sent")
				plain.hasState(reference, durable.EndingAbsent, 5*time.Minute)
				assert.Zero(t, plain.bookingsMade()[reference], "it is marked, so Run does not send it")
			}
			assert.Equal(t, 1, plain.row(reference).Ended, want.what)
		}
	})
}

func newBooksIn(t *testing.T, db *database, create bool) *books {
	t.Helper()
	if create {
		return newBooks(t, db, nil)
	}
	b := &books{service: newService(t), db: db, t: t}
	return b.another(nil)
}

// The same in a worker.
func TestLostAnswersOfCommitsInAWorker(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		plain := newBooks(t, db, nil)
		plain.sendUnknown("ref-1", bookMade)
		b, w, _ := plain.watched(t, nil)
		w.loseCommit = func(latest string) bool { return strings.HasPrefix(latest, "SELECT fence FROM") }
		b.run()
		plain.eventually("it ends", func() bool {
			plain.pass(time.Minute)
			return plain.row("ref-1").State == "found"
		})
		plain.pass(time.Hour)
		plain.run()
		require.NoError(t, plain.Wake(t.Context(), "ref-1"))
		assert.Equal(t, 1, plain.row("ref-1").Ended)
	})
}

// Each statement of the journal finds its rows by an index, however many there are.
func TestStatementsOfTheJournalUseAnIndex(t *testing.T) {
	scans := map[hotelstayssql.Dialect][]string{
		hotelstayssql.SQLite:     {"SCAN", "TEMP B-TREE"},
		hotelstayssql.PostgreSQL: {"Seq Scan", "Sort"},
		hotelstayssql.MySQL:      {" ALL ", "filesort"},
	}
	analyze := map[hotelstayssql.Dialect]string{hotelstayssql.MySQL: "ANALYZE TABLE hotelstays_journal",
		hotelstayssql.PostgreSQL: "ANALYZE hotelstays_journal", hotelstayssql.SQLite: "ANALYZE hotelstays_journal"}
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.fill(5000, func(_ int, booking *durable.Booking) { booking.Due = time.Now().Add(time.Hour) })
		db.exec(t, analyze[db.dialect])
		pool, link := db.process(t)
		opts := hotelstayssql.JournalOptions{OnOutcome: db.storeRow, Keys: []types.Secret{journalKey}}
		journal, err := hotelstayssql.NewJournal(pool, db.dialect, b.client, opts)
		require.NoError(t, err)
		b.addRow("ref-1")
		_, err = journal.Book(t.Context(), b.request("ref-1"))
		require.NoError(t, err)
		require.NoError(t, journal.Wake(t.Context(), "many-000001"))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- journal.Run(ctx) }()
		b.eventually("it has looked", func() bool { return b.Ledger().Count(types.OpQueryOrders) > 0 })
		cancel()
		require.NoError(t, <-done)
		for _, err := range journal.List(t.Context()) {
			require.NoError(t, err)
			break
		}
		checked := 0
		for statement, args := range link.executed() {
			if strings.HasPrefix(statement, "INSERT") || !strings.Contains(statement, "hotelstays_journal") {
				continue
			}
			checked++
			plan := db.plan(t, statement, args)
			for _, scan := range scans[db.dialect] {
				assert.NotContains(t, plan, scan, statement)
			}
			if db.dialect == hotelstayssql.SQLite && strings.Contains(statement, "reference > ") {
				assert.Contains(t, plan, "hotelstays_journal_list", "bookings that have ended cost List nothing")
			}
		}
		assert.GreaterOrEqual(t, checked, 5)
	})
}
