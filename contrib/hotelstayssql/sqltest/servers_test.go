//go:build servers

package sqltest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
)

// dialects are the databases of each test. .ci/services sets the variables with the addresses of the servers.
var dialects = []hotelstayssql.Dialect{hotelstayssql.SQLite, hotelstayssql.PostgreSQL, hotelstayssql.MySQL}

// The alert queries are in docs/journal.md.
func TestAlertQueriesFindOverdueRows(t *testing.T) {
	t.Parallel()
	on(t, []hotelstayssql.Dialect{hotelstayssql.PostgreSQL}, func(t *testing.T, db *database) {
		db.createTables(t)
		p := newProcess(t, db, db.followBookings)
		page, err := os.ReadFile("../../../docs/journal.md")
		require.NoError(t, err)
		_, block, _ := strings.Cut(string(page), "```sql\n")
		block, _, _ = strings.Cut(block, "```")
		found := func() (numbers []int64) {
			for query := range strings.SplitSeq(strings.TrimRight(block, ";\n"), ";") {
				numbers = append(numbers, db.number(t, `SELECT COUNT(*) FROM (`+query+`) AS alerts`))
			}
			return numbers
		}
		p.Booked("ref-1")
		require.NoError(t, p.CancelAlone("ref-1", nil))
		p.Begin("ref-2")
		assert.Equal(t, []int64{0, 0, 0, 0, 0}, found())
		p.Fleet.Pass(15 * time.Minute)
		assert.Equal(t, []int64{1, 0, 1, 0, 0}, found())
		p.Fleet.Pass(time.Hour)
		assert.Equal(t, []int64{1, 1, 1, 1, 1}, found())
		p.Work()
		p.CancelEnds("ref-1", durable.CancelDone, 1, 0)
		p.HasState("ref-2", durable.EndingFound, 0)
		assert.Equal(t, []int64{0, 0, 0, 0, 0}, found())
	})
}

// PgBouncer gives a process the connection of another process, which lacks the statements that this process has prepared.
func TestErrorBehindPgBouncerNamesTheSettingOfTheDriver(t *testing.T) {
	t.Parallel()
	on(t, []hotelstayssql.Dialect{hotelstayssql.PostgreSQL}, func(t *testing.T, db *database) {
		db.createTables(t)
		db.SetMaxOpenConns(1)
		tokens := newTokens(t, db)
		_, err := tokens.Load(t.Context(), "key")
		require.NoError(t, err)
		db.exec(t, "DISCARD ALL")
		_, err = tokens.Load(t.Context(), "key")
		assert.ErrorContains(t, err, "; behind PgBouncer, add default_query_exec_mode=exec (pgx)")
	})
}

func TestMigrateWritesNothingIfTheTablesAreCurrent(t *testing.T) {
	t.Parallel()
	on(t, []hotelstayssql.Dialect{hotelstayssql.PostgreSQL, hotelstayssql.MySQL}, func(t *testing.T, db *database) {
		db.createTables(t)
		require.NoError(t, hotelstayssql.Migrate(t.Context(), db.openWith(t, readOnly[db.dialect]), db.dialect))
	})
}

// PostgreSQL creates tables in the first schema of the search path. With new tables there, open bookings would be lost.
func TestMigrateFindsTablesInALaterSchema(t *testing.T) {
	t.Parallel()
	on(t, []hotelstayssql.Dialect{hotelstayssql.PostgreSQL}, func(t *testing.T, db *database) {
		db.createTables(t)
		first := fmt.Sprint("first", time.Now().UnixNano())
		onServer(t, db.driver, db.dsn, "CREATE SCHEMA "+first, "DROP SCHEMA "+first+" CASCADE")
		db.SetMaxOpenConns(1)
		db.exec(t, `SELECT set_config('search_path', '`+first+`,' || current_schema(), false)`)
		require.NoError(t, hotelstayssql.Migrate(t.Context(), db.DB, db.dialect))
		assert.Zero(t, db.number(t, tableCount[db.dialect]))
	})
}
