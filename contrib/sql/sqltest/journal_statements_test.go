package sqltest

import (
	"database/sql"
	"fmt"
	"slices"
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
	w, other := &watched{}, *b
	pool := b.db.watch(t, w)
	opts := hotelstayssql.JournalOptions{OnOutcome: b.db.storeRow, Keys: []types.Secret{journalKey}, BookTimeout: 10 * time.Second,
		PollInterval: 20 * time.Millisecond}
	if change != nil {
		change(&opts)
	}
	var err error
	other.Journal, err = hotelstayssql.NewJournal(pool, b.db.dialect, b.client, opts)
	require.NoError(t, err)
	return &other, w, pool
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

// A booking costs five statements, those of the caller aside.
func TestStatementsOfABooking(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b, w, pool := newBooks(t, db, nil).watched(t, nil)
		for _, reference := range []string{"ref-1", "ref-2"} { // the first one looks at the tables, too
			b.addRow(reference)
			w.take()
			tx, err := pool.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			require.NoError(t, b.Begin(t.Context(), tx, b.request(reference)))
			require.NoError(t, tx.Commit())
			begun := w.take()
			_, err = b.Send(t.Context(), reference)
			require.NoError(t, err)
			sent := w.take()
			if reference == "ref-2" {
				assert.Equal(t, "INSERT SELECT COMMIT", verbs(begun))
				assert.Equal(t, "SELECT UPDATE UPDATE UPDATE COMMIT", verbs(sent), "the last UPDATE is the caller's")
			}
		}
		b.addRow("ref-3")
		w.take()
		_, err := b.Book(t.Context(), b.request("ref-3"))
		require.NoError(t, err)
		assert.Equal(t, "INSERT SELECT COMMIT UPDATE UPDATE COMMIT", verbs(w.take()))
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
		w.loseCommit = func(latest string) bool { return strings.HasPrefix(latest, "UPDATE bookings") }
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

// Each statement of the journal finds its rows by an index.
func TestStatementsUseAnIndex(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		plain := newBooks(t, db, nil)
		plain.fill(2000, func(_ int, b *durable.Booking) { b.Due = time.Now().Add(time.Hour) })
		for name, statement := range map[string]string{"postgresql": "ANALYZE hotelstays_journal", "mysql": "ANALYZE TABLE hotelstays_journal", "sqlite": "ANALYZE"} {
			if name == string(db.dialect) {
				rows, err := db.QueryContext(t.Context(), statement)
				require.NoError(t, err)
				for rows.Next() {
				}
				require.NoError(t, rows.Close())
			}
		}
		account := []byte(plain.client.NewBookingRecovery(nil).Fingerprint)
		const from = ` FROM hotelstays_journal WHERE account = ? AND `
		for statement, index := range map[string]string{
			`SELECT reference, fence, live, due, booking, NULL` + from + `live = 1 AND due <= ? ORDER BY due LIMIT 100`:            "hotelstays_journal_due",
			`SELECT reference, fence, live, due, booking, request` + from + `reference = ?`:                                        "primary",
			`SELECT reference, fence, live, due, booking, NULL` + from + `live = 1 AND reference > ? ORDER BY reference LIMIT 100`: "primary",
		} {
			var arg any = []byte("many-000005")
			if strings.Contains(statement, "due <=") {
				arg = time.Now().UnixMicro()
			}
			plan := strings.ToLower(plain.explain(statement, account, arg))
			names := map[string]string{"postgresql": "hotelstays_journal_pkey", "mysql": "primary", "sqlite": "sqlite_autoindex_hotelstays_journal_1"}
			if index == "primary" {
				index = names[string(db.dialect)]
			}
			assert.Contains(t, plan, index, statement)
			assert.NotContains(t, plan, "seq scan", statement)
			if strings.Contains(statement, "due <=") {
				assert.NotContains(t, plan, "filesort")
				assert.NotContains(t, plan, "temp b-tree")
				assert.NotContains(t, plan, "sort key")
			}
		}
	})
}

// explain returns the plan of a statement.
func (b *books) explain(statement string, args ...any) string {
	b.t.Helper()
	explain := "EXPLAIN "
	if b.db.dialect == hotelstayssql.SQLite {
		explain = "EXPLAIN QUERY PLAN "
	}
	rows, err := b.db.QueryContext(b.t.Context(), explain+b.db.translate(statement), args...)
	require.NoError(b.t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(b.t, err)
	var plan []string
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(b.t, rows.Scan(into...))
		for _, v := range values {
			plan = append(plan, v.String)
		}
	}
	require.NoError(b.t, rows.Err())
	return strings.Join(slices.Compact(plan), " ")
}
