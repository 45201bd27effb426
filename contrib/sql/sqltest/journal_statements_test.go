package sqltest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
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
		p := newProcess(t, db, nil)
		pool, link := db.process(t)
		p = p.through(pool, nil)
		for _, reference := range []string{"ref-1", "ref-2"} { // the first one looks at the tables, too
			p.AddRow(reference)
			link.take()
			tx, err := pool.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			require.NoError(t, p.BeginTx(t.Context(), tx, p.Request(reference)))
			require.NoError(t, tx.Commit())
			begun := link.take()
			_, err = p.Send(t.Context(), reference)
			require.NoError(t, err)
			sent := link.take()
			if reference == "ref-2" {
				assert.Equal(t, "INSERT SELECT COMMIT", verbs(begun))
				assert.Equal(t, "SELECT UPDATE COMMIT "+outcome[db.dialect], verbs(sent))
			}
		}
		p.AddRow("ref-3")
		link.take()
		_, err := p.Book(t.Context(), p.Request("ref-3"))
		require.NoError(t, err)
		assert.Equal(t, "INSERT SELECT COMMIT "+outcome[db.dialect], verbs(link.take()))
	})
}

// What a booking leaves in the tables while its order is followed, with their indexes, and what a read
// of orders costs.
func TestCostOfABooking(t *testing.T) {
	const bookings = 100
	size := map[hotelstayssql.Dialect]string{
		hotelstayssql.SQLite: `SELECT SUM(pgsize) FROM dbstat WHERE name LIKE 'hotelstays_journal%' OR name LIKE 'hotelstays_orders%'`,
		hotelstayssql.PostgreSQL: `SELECT SUM(pg_total_relation_size(oid)) FROM pg_class
			WHERE relnamespace = current_schema()::regnamespace AND relname IN ('hotelstays_journal', 'hotelstays_orders')`,
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
		for i := range bookings {
			p.Booked(many(i))
		}
		bytes := (measure() - before) / bookings
		p.Fleet.Pass(time.Hour)
		reads := p.polls()
		pool, link := db.process(t)
		stop := p.through(pool, db.followBookings).Work()
		p.Eventually("all are read", func() bool { // their leases would end sooner
			return db.number(t, `SELECT COUNT(*) FROM hotelstays_orders WHERE due < ?`, time.Now().Add(2*time.Minute).UnixMicro()) == 0
		})
		stop()
		written := 0
		for _, s := range link.take() {
			if strings.Contains(s.text, "hotelstays_orders") && !strings.HasPrefix(s.text, "SELECT") {
				written++
			}
		}
		reads = p.polls() - reads
		t.Logf("%s: %d bytes a booking that is followed; %d reads and %d writing statements for %d orders",
			db.dialect, bytes, reads, written, bookings)
		assert.Less(t, bytes, int64(12_000))
		assert.Equal(t, 1, reads)
		assert.LessOrEqual(t, written, 3*bookings)
	})
}
