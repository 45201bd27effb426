package sqltest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/durable"
)

// verbs returns the first words of statements, as one text.
func verbs(statements []statement) string {
	var words []string
	for _, s := range statements {
		verb, _, _ := strings.Cut(s.text, " ")
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
		b := newBooks(t, db, nil)
		pool, link := db.process(t)
		b = b.through(pool, nil)
		for _, reference := range []string{"ref-1", "ref-2"} { // the first one looks at the tables, too
			b.addRow(reference)
			link.take()
			tx, err := pool.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			require.NoError(t, b.BeginTx(t.Context(), tx, b.request(reference)))
			require.NoError(t, tx.Commit())
			begun := link.take()
			_, err = b.Send(t.Context(), reference)
			require.NoError(t, err)
			sent := link.take()
			if reference == "ref-2" {
				assert.Equal(t, "INSERT SELECT COMMIT", verbs(begun))
				assert.Equal(t, "SELECT UPDATE COMMIT "+outcome[db.dialect], verbs(sent))
			}
		}
		b.addRow("ref-3")
		link.take()
		_, err := b.Book(t.Context(), b.request("ref-3"))
		require.NoError(t, err)
		assert.Equal(t, "INSERT SELECT COMMIT "+outcome[db.dialect], verbs(link.take()))
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
			pool, link := db.process(t)
			plain.begin(reference)
			commits := 0
			link.loseCommit = func(string) bool { commits++; return commits == lost+1 }
			outcome, err := plain.through(pool, nil).Send(t.Context(), reference)
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
		pool, link := db.process(t)
		link.loseCommit = func(latest string) bool { return strings.HasPrefix(latest, "SELECT fence FROM") }
		plain.through(pool, nil).run()
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
