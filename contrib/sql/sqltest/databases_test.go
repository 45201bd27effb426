// The databases of the tests. Each test has its own.

package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

const (
	postgresVariable = "HOTELSTAYS_POSTGRES_URL"
	mariadbVariable  = "HOTELSTAYS_MARIADB_DSN"
)

// database is a database of one test. Its pool is that of one process.
type database struct {
	*sql.DB
	dialect     hotelstayssql.Dialect
	driver, dsn string
}

// onEach runs a test on each database, with the tables, in parallel with others.
func onEach(t *testing.T, test func(t *testing.T, db *database)) {
	t.Helper()
	t.Parallel()
	onEachAlone(t, test)
}

// onEachAlone is onEach for a test that no other may run beside.
func onEachAlone(t *testing.T, test func(t *testing.T, db *database)) {
	t.Helper()
	on(t, dialects, func(t *testing.T, db *database) {
		db.createTables(t)
		test(t, db)
	})
}

// on runs a test on some databases, without tables.
func on(t *testing.T, dialects []hotelstayssql.Dialect, test func(t *testing.T, db *database)) {
	t.Helper()
	for _, dialect := range dialects {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			test(t, create(t, dialect))
		})
	}
}

// inDatabase is for what all databases do in one way. It runs the rest of a test in parallel.
func inDatabase(t *testing.T) *database {
	t.Helper()
	t.Parallel()
	db := create(t, hotelstayssql.SQLite)
	db.createTables(t)
	return db
}

// createTables creates the tables, and one of the caller.
func (d *database) createTables(t testing.TB) {
	t.Helper()
	require.NoError(t, hotelstayssql.Migrate(t.Context(), d.DB, d.dialect))
	d.exec(t, "CREATE TABLE handled (event integer NOT NULL)")
}

var created atomic.Int64

func create(t testing.TB, dialect hotelstayssql.Dialect) *database {
	t.Helper()
	name := fmt.Sprintf("t%d_%d", os.Getpid(), created.Add(1))
	db := &database{dialect: dialect}
	switch dialect {
	case hotelstayssql.SQLite:
		db.driver = "sqlite"
		// Like the servers, it survives no crash of the machine.
		db.dsn = "file:" + filepath.Join(t.TempDir(), name) +
			"?mode=rwc&_pragma=busy_timeout(20000)&_pragma=journal_mode(wal)&_pragma=synchronous(off)"
	case hotelstayssql.PostgreSQL:
		db.driver = "pgx"
		db.dsn = os.Getenv(postgresVariable) + "&search_path=" + name
		onServer(t, db.driver, os.Getenv(postgresVariable), "CREATE SCHEMA "+name, "DROP SCHEMA "+name+" CASCADE")
	case hotelstayssql.MySQL:
		db.driver = "mysql"
		db.dsn = os.Getenv(mariadbVariable) + name
		onServer(t, db.driver, os.Getenv(mariadbVariable), "CREATE DATABASE "+name, "DROP DATABASE "+name)
	}
	db.DB = db.open(t)
	require.NoError(t, db.PingContext(t.Context())) // SQLite changes the mode of its journal
	return db
}

// onServer executes a statement now, and another after the test.
func onServer(t testing.TB, driver, dsn, now, later string) {
	t.Helper()
	server, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	_, err = server.ExecContext(t.Context(), now)
	require.NoError(t, err)
	t.Cleanup(func() {
		server.SetMaxIdleConns(0) // the server may have crashed meanwhile
		_, err := server.ExecContext(context.Background(), later)
		require.NoError(t, err)
		require.NoError(t, server.Close())
	})
}

// open opens the pool of one more process.
func (d *database) open(t testing.TB) *sql.DB {
	t.Helper()
	return d.openWith(t, nil)
}

// openWith opens a pool with further settings of its connections.
func (d *database) openWith(t testing.TB, settings map[string]string) *sql.DB {
	t.Helper()
	dsn := d.dsn
	for name, value := range settings {
		switch d.dialect {
		case hotelstayssql.SQLite:
			dsn = regexp.MustCompile(`&_pragma=`+name+`\(\w+\)`).ReplaceAllString(dsn, "") + "&_pragma=" + name + "(" + value + ")"
		case hotelstayssql.PostgreSQL:
			dsn += "&" + name + "=" + url.QueryEscape(value)
		case hotelstayssql.MySQL:
			cfg, err := mysql.ParseDSN(dsn)
			require.NoError(t, err)
			if cfg.Params == nil {
				cfg.Params = map[string]string{}
			}
			cfg.Params[name] = value
			dsn = cfg.FormatDSN()
		}
	}
	pool, err := openPool(d.driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() }) // which reports connections that a crash has broken
	return pool
}

func openPool(driver, dsn string) (*sql.DB, error) {
	pool, err := sql.Open(driver, dsn)
	if err == nil {
		limit(pool, driver)
	}
	return pool, err
}

// limit limits a pool. On SQLite its users take turns, as Check asks for. So no function needs a
// second connection while it has one.
func limit(pool *sql.DB, driver string) {
	connections := 20
	if driver == "sqlite" {
		connections = 1
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
}

// exec executes a statement with ? for parameters.
func (d *database) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	_, err := d.ExecContext(t.Context(), d.translate(statement), args...)
	require.NoError(t, err)
}

// number returns the result of a statement.
func (d *database) number(t testing.TB, statement string, args ...any) (n int64) {
	t.Helper()
	require.NoError(t, d.QueryRowContext(t.Context(), d.translate(statement), args...).Scan(&n))
	return n
}

func (d *database) translate(statement string) string {
	if d.dialect == hotelstayssql.PostgreSQL {
		return bookingstest.Numbered(statement)
	}
	return statement
}

// pass lets time pass for a column of times.
func (d *database) pass(t *testing.T, table, column string, span time.Duration) {
	t.Helper()
	d.exec(t, "UPDATE "+table+" SET "+column+" = "+column+" - ? WHERE "+column+" > 0", span.Microseconds())
}

const patience = bookingstest.Patience
