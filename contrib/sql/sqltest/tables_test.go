package sqltest

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/types"
)

// fill inserts done keys that expire at a time of 1970.
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

const never9999 = 253_402_300_799_000_000 // the end of the year 9999

func TestExpiredKeysAreRemoved(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		s := newEvents(t, db.DB, db.dialect)
		db.fill(t, 500, 1)
		db.fill(t, 500, never9999)
		expired := func() int64 { return db.number(t, "SELECT COUNT(*) FROM hotelstays_events WHERE expires_at = 1") }
		for n := 0; expired() > 0; n++ {
			require.Less(t, n, 5000, "events, and one in fifty removes 200 keys")
			require.NoError(t, s.Done(t.Context(), []string{"key"}, time.Hour))
		}
		assert.EqualValues(t, 501, db.number(t, "SELECT COUNT(*) FROM hotelstays_events"))
	})
}

// Each statement finds its rows by an index, however many there are.
func TestStatementsUseAnIndex(t *testing.T) {
	scans := map[hotelstayssql.Dialect]string{
		hotelstayssql.SQLite:     "SCAN",
		hotelstayssql.PostgreSQL: "Seq Scan",
		hotelstayssql.MySQL:      " ALL ",
	}
	onEach(t, func(t *testing.T, db *database) {
		db.fill(t, 5_000, never9999)
		db.fill(t, 500, 1)
		analyze := map[hotelstayssql.Dialect]string{hotelstayssql.MySQL: "ANALYZE TABLE hotelstays_events"}[db.dialect]
		if analyze == "" {
			analyze = "ANALYZE hotelstays_events"
		}
		db.exec(t, analyze)
		statements := executed(t, db)
		assert.NotEmpty(t, statements)
		for statement, args := range statements {
			if strings.HasPrefix(statement, "INSERT") || !strings.Contains(statement, "hotelstays_events") {
				continue
			}
			plan := db.plan(t, statement, args)
			assert.NotContains(t, plan, scans[db.dialect], statement)
		}
	})
}

// executed calls all methods, and returns their statements.
func executed(t *testing.T, db *database) map[string][]driver.NamedValue {
	t.Helper()
	pool, link := db.process(t)
	events := newEvents(t, pool, db.dialect)
	tokens, err := hotelstayssql.NewTokenStore(pool, db.dialect, hotelstayssql.TokenStoreOptions{Keys: []types.Secret{key}})
	require.NoError(t, err)
	mustStore(t, tokens, "the-token")
	require.NoError(t, tokens.CompareAndDelete(t.Context(), tokenKey, mustLoad(t, tokens)))
	_, err = events.Claim(t.Context(), []string{"a", "b"}, time.Minute)
	require.NoError(t, err)
	require.NoError(t, events.Release(t.Context(), []string{"a", "b"}))
	pruned := func() bool {
		for statement := range link.executed() {
			if strings.Contains(statement, "LIMIT") {
				return true
			}
		}
		return false
	}
	for n := 0; !pruned(); n++ {
		require.Less(t, n, 5000)
		require.NoError(t, events.Done(t.Context(), []string{"key"}, time.Hour))
	}
	return link.executed()
}

// plan returns what EXPLAIN says.
func (d *database) plan(t *testing.T, statement string, named []driver.NamedValue) string {
	t.Helper()
	explain := "EXPLAIN "
	if d.dialect == hotelstayssql.SQLite {
		explain = "EXPLAIN QUERY PLAN "
	}
	var args []any
	for _, arg := range named {
		args = append(args, arg.Value)
	}
	rows, err := d.QueryContext(t.Context(), explain+statement, args...)
	require.NoError(t, err, statement)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var plan strings.Builder
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		require.NoError(t, rows.Scan(values...))
		for _, value := range values {
			text := *value.(*any)
			if b, ok := text.([]byte); ok {
				text = string(b)
			}
			fmt.Fprintf(&plan, "%v ", text)
		}
		plan.WriteString("\n")
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, plan.String())
	return plan.String()
}
