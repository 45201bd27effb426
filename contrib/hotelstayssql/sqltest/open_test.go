package sqltest

import (
	"database/sql"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
)

func TestOpenMigratesOnlyWithTheOptionMigrate(t *testing.T) {
	t.Parallel()
	harmful := map[hotelstayssql.Dialect]warnings{ // the test servers may lose commits, which makes them faster
		hotelstayssql.PostgreSQL: {"fsync"}, hotelstayssql.MySQL: {"innodb_flush_log_at_trx_commit"}}
	on(t, dialects, func(t *testing.T, db *database) {
		open := func(opts *hotelstayssql.OpenOptions) (*sql.DB, error) {
			return hotelstayssql.Open(t.Context(), db.driver, db.dsn, db.dialect, opts)
		}
		pool, err := open(nil)
		var schema *hotelstayssql.SchemaError
		require.ErrorAs(t, err, &schema)
		assert.Nil(t, pool)

		var warned warnings
		for _, migrate := range []bool{true, false} {
			pool, err := open(&hotelstayssql.OpenOptions{Migrate: migrate, Logger: warned.logger()})
			require.NoError(t, err)
			mustStore(t, newTokens(t, &database{DB: pool, dialect: db.dialect}), "token")
			require.NoError(t, pool.Close())
		}
		assert.Equal(t, append(harmful[db.dialect], harmful[db.dialect]...), warned)
	})
}

func TestOpenConfiguresSQLiteForTheJournal(t *testing.T) {
	pool, err := hotelstayssql.Open(t.Context(), "sqlite", "file:"+filepath.Join(t.TempDir(), "db")+"?_pragma=synchronous(off)",
		hotelstayssql.SQLite, &hotelstayssql.OpenOptions{Migrate: true})
	require.NoError(t, err)
	defer func() { assert.NoError(t, pool.Close()) }()
	assert.Equal(t, 1, pool.Stats().MaxOpenConnections)
	pool.SetMaxOpenConns(2)
	for range 2 {
		conn, err := pool.Conn(t.Context())
		require.NoError(t, err)
		defer func() { assert.NoError(t, conn.Close()) }()
		var settings string
		require.NoError(t, conn.QueryRowContext(t.Context(), `SELECT timeout || ' ' || synchronous || ' ' || journal_mode
			FROM pragma_busy_timeout, pragma_synchronous, pragma_journal_mode`).Scan(&settings))
		assert.Equal(t, "5000 2 wal", settings)
	}
}

func TestOpenWarnsOfADatabaseWithoutAFile(t *testing.T) {
	for _, dsn := range []string{"", ":memory:"} {
		var warned warnings
		pool, err := hotelstayssql.Open(t.Context(), "sqlite", dsn, hotelstayssql.SQLite,
			&hotelstayssql.OpenOptions{Migrate: true, Logger: warned.logger()})
		require.NoError(t, err)
		require.NoError(t, pool.Close())
		assert.Contains(t, warned, "file", dsn)
	}
}

func TestOpenErrorNamesItsCause(t *testing.T) {
	for want, open := range map[string]func() (*sql.DB, error){
		`Open: sql: unknown driver "nobody's"`: func() (*sql.DB, error) {
			return hotelstayssql.Open(t.Context(), "nobody's", "", hotelstayssql.MySQL, nil)
		},
		`the dialect is "oracle"`: func() (*sql.DB, error) { return hotelstayssql.Open(t.Context(), "sqlite", "", "oracle", nil) },
		"unable to open database file (14); check the path: its folder must exist": func() (*sql.DB, error) {
			return hotelstayssql.Open(t.Context(), "sqlite", filepath.Join(t.TempDir(), "missing", "db"), hotelstayssql.SQLite, nil)
		},
	} {
		pool, err := open()
		require.ErrorContains(t, err, want)
		assert.Nil(t, pool)
	}
}

func TestOpenIgnoresTheClockDifferenceInVirtualTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	synctest.Test(t, func(t *testing.T) {
		var warned warnings
		pool, err := hotelstayssql.Open(t.Context(), "sqlite", file, hotelstayssql.SQLite,
			&hotelstayssql.OpenOptions{Migrate: true, Logger: warned.logger()})
		require.NoError(t, err)
		require.NoError(t, pool.Close())
		assert.Empty(t, warned)
	})
}
