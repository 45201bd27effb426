package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
)

func TestManyProcessesMayMigrateAtTheSameTime(t *testing.T) {
	t.Parallel()
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

// In the middle of a migration, another process, which waits for no lock, migrates the same tables.
func TestMigrateSucceedsWhileAnotherProcessTriesToMigrate(t *testing.T) {
	db := inDatabase(t)
	db.exec(t, "DELETE FROM hotelstays_schema WHERE version > 1")
	pool, link := db.process(t)
	impatient := db.openWith(t, map[string]string{"busy_timeout": "0"})
	var other error
	link.before = func(_ context.Context, statement string) error {
		if strings.HasPrefix(statement, "INSERT") {
			other = hotelstayssql.Migrate(t.Context(), impatient, db.dialect)
		}
		return nil
	}
	require.NoError(t, hotelstayssql.Migrate(t.Context(), pool, db.dialect))
	assert.ErrorContains(t, other, "another transaction is writing")
}

// Each test run lets another statement fail, alone or with all later statements. MariaDB has then committed the earlier
// statements.
func TestNextMigrateContinuesAFailedMigration(t *testing.T) {
	t.Parallel()
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
			err = hotelstayssql.Check(t.Context(), db.DB, db.dialect, nil)
			if db.dialect != hotelstayssql.MySQL {
				var schema *hotelstayssql.SchemaError
				require.ErrorAs(t, err, &schema)
				assert.Zero(t, db.number(t, tableCount[db.dialect]), "a failed migration creates no table")
			}
		}
		err = hotelstayssql.Check(t.Context(), db.DB, db.dialect, nil)
		require.NoError(t, err)
		require.NoError(t, newEvents(t, db.DB, db.dialect).Done(t.Context(), []string{"key"}, time.Hour))
		mustStore(t, newTokens(t, db), "token")
	})
}

// tableCount has statements that count the tables, for the databases that create all tables in one transaction.
var tableCount = map[hotelstayssql.Dialect]string{
	hotelstayssql.PostgreSQL: "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema()",
	hotelstayssql.SQLite:     "SELECT COUNT(*) FROM sqlite_master",
}

func TestMigrateNamesAnInvalidArgument(t *testing.T) {
	assert.ErrorContains(t, hotelstayssql.Migrate(t.Context(), nil, "oracle"), `the database is nil`)
	assert.ErrorContains(t, hotelstayssql.Migrate(t.Context(), nil, "oracle"),
		`the dialect is "oracle"; it must be PostgreSQL, MySQL or SQLite`)
	err := hotelstayssql.Check(t.Context(), nil, "", nil)
	assert.ErrorContains(t, err, `the dialect is ""`)
}

// warnings are the names of the settings in logged warnings.
type warnings []string

func (w *warnings) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "setting" {
			*w = append(*w, a.Value.String())
		}
		return a
	}}))
}

func checked(t *testing.T, pool *sql.DB, dialect hotelstayssql.Dialect) (settings warnings) {
	t.Helper()
	require.NoError(t, hotelstayssql.Check(t.Context(), pool, dialect, settings.logger()))
	return settings
}

func TestCheckWarnsOfSettingsThatLoseCommits(t *testing.T) {
	expected := map[hotelstayssql.Dialect]struct {
		settings    map[string]string
		safe, warns warnings // the expected warnings; safe has one on each test server, which may lose commits
	}{
		hotelstayssql.SQLite: {map[string]string{"synchronous": "normal", "busy_timeout": "0"}, nil,
			warnings{"synchronous", "busy_timeout", "SetMaxOpenConns"}},
		hotelstayssql.PostgreSQL: {map[string]string{"synchronous_commit": "off"}, warnings{"fsync"},
			warnings{"synchronous_commit", "fsync"}},
		hotelstayssql.MySQL: {map[string]string{"timestamp": fmt.Sprint(time.Now().Add(-3 * time.Second).Unix())},
			warnings{"innodb_flush_log_at_trx_commit"}, warnings{"innodb_flush_log_at_trx_commit", "the clock"}},
	}
	onEach(t, func(t *testing.T, db *database) {
		want := expected[db.dialect]
		safe := db.DB
		if db.dialect == hotelstayssql.SQLite {
			safe = db.openWith(t, map[string]string{"synchronous": "full"})
		}
		assert.Equal(t, want.safe, checked(t, safe, db.dialect))
		harmful := db.openWith(t, want.settings)
		harmful.SetMaxOpenConns(20)
		assert.Equal(t, want.warns, checked(t, harmful, db.dialect))
		if db.dialect == hotelstayssql.MySQL {
			ahead := map[string]string{"timestamp": fmt.Sprint(time.Now().Add(time.Minute).Unix())}
			assert.Contains(t, checked(t, db.openWith(t, ahead), db.dialect), "the clock")
		}
	})
}

func TestCheckRefusesAnotherSchemaVersion(t *testing.T) {
	t.Parallel()
	on(t, dialects, func(t *testing.T, db *database) {
		check := func() *hotelstayssql.SchemaError {
			var schema *hotelstayssql.SchemaError
			require.ErrorAs(t, hotelstayssql.Check(t.Context(), db.DB, db.dialect, nil), &schema)
			return schema
		}
		missing := check()
		assert.Zero(t, missing.Found)
		assert.ErrorContains(t, missing, "call Migrate")

		require.NoError(t, hotelstayssql.Migrate(t.Context(), db.DB, db.dialect))
		db.exec(t, "DELETE FROM hotelstays_schema")
		assert.Zero(t, check().Found, "as if Migrate was killed before its end")

		db.exec(t, "INSERT INTO hotelstays_schema (version) VALUES (?)", missing.Known+1)
		newer := check()
		assert.Equal(t, missing.Known+1, newer.Found)
		assert.ErrorContains(t, newer, "build the program with a newer contrib/hotelstayssql")
		assert.Equal(t, newer, hotelstayssql.Migrate(t.Context(), db.DB, db.dialect))
	})
}
