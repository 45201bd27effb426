package sqltest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
)

func TestMigrateInManyProcessesAtOnce(t *testing.T) {
	on(t, dialects, func(t *testing.T, db *database) {
		var wg sync.WaitGroup
		for range 8 {
			pool := db.open(t)
			wg.Go(func() { assert.NoError(t, hotelstayssql.Migrate(t.Context(), pool, db.dialect)) })
		}
		wg.Wait()
		assert.Equal(t, db.number(t, "SELECT MAX(version) FROM hotelstays_schema"), db.number(t, "SELECT COUNT(*) FROM hotelstays_schema"))
		mustStore(t, newTokens(t, db), "token")
		require.NoError(t, hotelstayssql.Migrate(t.Context(), db.DB, db.dialect))
		assert.NotZero(t, mustLoad(t, newTokens(t, db)), "migrating again keeps the rows")
	})
}

// Each statement fails, alone or with those behind it. MariaDB has then committed a part.
func TestMigrateAfterAFailure(t *testing.T) {
	on(t, dialects, func(t *testing.T, db *database) {
		var err error
		for n := 0; ; n++ {
			require.Less(t, n, 100)
			pool, link := db.process(t)
			left, all := n/2, n%2 == 1
			link.before = func(context.Context, string) error {
				if left--; left == -1 || left < 0 && all {
					return errLost
				}
				return nil
			}
			err = hotelstayssql.Migrate(t.Context(), pool, db.dialect)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, errLost)
			_, err = hotelstayssql.Check(t.Context(), db.DB, db.dialect)
			if db.dialect != hotelstayssql.MySQL {
				var schema *hotelstayssql.SchemaError
				require.ErrorAs(t, err, &schema)
				assert.Zero(t, db.number(t, tableCount[db.dialect]), "all or nothing")
			}
		}
		_, err = hotelstayssql.Check(t.Context(), db.DB, db.dialect)
		require.NoError(t, err)
		require.NoError(t, newEvents(t, db.DB, db.dialect).Done(t.Context(), []string{"key"}, time.Hour))
		mustStore(t, newTokens(t, db), "token")
	})
}

// tableCount counts the tables of a database that commits them together.
var tableCount = map[hotelstayssql.Dialect]string{
	hotelstayssql.PostgreSQL: "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema()",
	hotelstayssql.SQLite:     "SELECT COUNT(*) FROM sqlite_master",
}

func TestMigrateArguments(t *testing.T) {
	assert.ErrorContains(t, hotelstayssql.Migrate(t.Context(), nil, "oracle"), `the database is nil`)
	assert.ErrorContains(t, hotelstayssql.Migrate(t.Context(), nil, "oracle"),
		`the dialect is "oracle"; it must be PostgreSQL, MySQL or SQLite`)
	_, err := hotelstayssql.Check(t.Context(), nil, "")
	assert.ErrorContains(t, err, `the dialect is ""`)
}
