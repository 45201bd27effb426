// The databases of the tests. Each test has its own database. A test can cut the connections of a process.

package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

const (
	postgresVariable = "HOTELSTAYS_POSTGRES_URL"
	mariadbVariable  = "HOTELSTAYS_MARIADB_DSN"
)

// database is the database of one test, with the pool of one process.
type database struct {
	*sql.DB
	dialect     hotelstayssql.Dialect
	driver, dsn string
	pause       time.Duration // the PollInterval of journals
}

// onEach creates the tables in a new database of each dialect, and runs a test there, in parallel with other tests.
func onEach(t *testing.T, test func(t *testing.T, db *database)) {
	t.Helper()
	t.Parallel()
	onEachAlone(t, test)
}

// onEachAlone is like onEach, but no other test runs at the same time.
func onEachAlone(t *testing.T, test func(t *testing.T, db *database)) {
	t.Helper()
	on(t, dialects, func(t *testing.T, db *database) {
		db.createTables(t)
		test(t, db)
	})
}

// on runs a test in a new database of each given dialect, without tables.
func on(t *testing.T, dialects []hotelstayssql.Dialect, test func(t *testing.T, db *database)) {
	t.Helper()
	for _, dialect := range dialects {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			test(t, create(t, dialect))
		})
	}
}

// inDatabase returns a new SQLite database, for tests whose result does not depend on the dialect. From here on the
// test runs in parallel with other tests.
func inDatabase(t *testing.T) *database {
	t.Helper()
	t.Parallel()
	db := create(t, hotelstayssql.SQLite)
	db.createTables(t)
	return db
}

// createTables creates the tables of the package, and the table handled, to which the functions of the tests write.
func (d *database) createTables(t testing.TB) {
	t.Helper()
	require.NoError(t, hotelstayssql.Migrate(t.Context(), d.DB, d.dialect))
	d.exec(t, "CREATE TABLE handled (event integer NOT NULL)")
}

var created atomic.Int64

func create(t testing.TB, dialect hotelstayssql.Dialect) *database {
	t.Helper()
	name := fmt.Sprintf("t%d_%d", os.Getpid(), created.Add(1))
	db := &database{dialect: dialect, pause: 20 * time.Millisecond}
	switch dialect {
	case hotelstayssql.SQLite:
		db.driver = "sqlite"
		// Like the settings of the test servers, synchronous(off) is fast, but a crash of the machine may lose commits.
		db.dsn = "file:" + filepath.Join(t.TempDir(), name) +
			"?mode=rwc&_pragma=busy_timeout(20000)&_pragma=journal_mode(wal)&_pragma=synchronous(off)"
	case hotelstayssql.PostgreSQL:
		db.driver = "pgx"
		db.dsn = os.Getenv(postgresVariable) + "&search_path=" + name
		onServer(t, db.driver, os.Getenv(postgresVariable), "CREATE SCHEMA "+name, "DROP SCHEMA "+name+" CASCADE")
	case hotelstayssql.MySQL:
		db.driver = "mysql"
		db.dsn = os.Getenv(mariadbVariable) + name + "?"
		onServer(t, db.driver, os.Getenv(mariadbVariable), "CREATE DATABASE "+name, "DROP DATABASE "+name)
	}
	db.DB = db.open(t)
	require.NoError(t, db.PingContext(t.Context())) // the first connection sets the journal_mode of SQLite
	return db
}

func onServer(t testing.TB, driver, dsn, setup, cleanup string) {
	t.Helper()
	server, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	_, err = server.ExecContext(t.Context(), setup)
	require.NoError(t, err)
	t.Cleanup(func() {
		server.SetMaxIdleConns(0) // closes the old connection, because the server may have crashed meanwhile
		_, err := server.ExecContext(context.Background(), cleanup)
		require.NoError(t, err)
		require.NoError(t, server.Close())
	})
}

func (d *database) open(t testing.TB) *sql.DB {
	t.Helper()
	return d.openWith(t, nil)
}

func (d *database) openWith(t testing.TB, settings map[string]string) *sql.DB {
	t.Helper()
	dsn := d.dsn
	for name, value := range settings {
		switch d.dialect {
		case hotelstayssql.SQLite:
			dsn = regexp.MustCompile(`&_pragma=`+name+`\(\w+\)`).ReplaceAllString(dsn, "") + "&_pragma=" + name + "(" + value + ")"
		case hotelstayssql.PostgreSQL, hotelstayssql.MySQL:
			dsn += "&" + name + "=" + url.QueryEscape(value)
		}
	}
	pool, err := openPool(d.driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() }) // Close fails if a crash has broken a connection
	return pool
}

func openPool(driver, dsn string) (*sql.DB, error) {
	pool, err := sql.Open(driver, dsn)
	if err == nil {
		limit(pool, driver)
	}
	return pool, err
}

// limit sets the size of a pool. On SQLite the pool has one connection, as Check advises. So the tests also prove that
// no function needs a second connection while it uses one.
func limit(pool *sql.DB, driver string) {
	connections := 20
	if driver == "sqlite" {
		connections = 1
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
}

func (d *database) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	_, err := d.ExecContext(t.Context(), d.translate(statement), args...)
	require.NoError(t, err)
}

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

// pass moves the times in a column back, as if time had passed.
func (d *database) pass(t *testing.T, table, column string, span time.Duration) {
	t.Helper()
	d.exec(t, "UPDATE "+table+" SET "+column+" = "+column+" - ? WHERE "+column+" > 0", span.Microseconds())
}

const patience = bookingstest.Patience

// link creates the connections of one process, and can make them fail.
type link struct {
	driver driver.Driver
	dsn    string

	mu         sync.Mutex
	statements []statement // in the order of their execution, with COMMIT
	// before, if set, is called before each statement and each COMMIT. If it returns an error, the statement fails.
	before func(ctx context.Context, text string) error
	// loseCommit, if set, reports whether the answer to a commit is lost. It receives the latest statement of
	// the connection.
	loseCommit func(latest string) bool
}

type statement struct {
	text string
	args []driver.NamedValue
}

var errLost = errors.New("the connection is lost")

// process opens the pool of another process, and returns its link.
func (d *database) process(t testing.TB) (*sql.DB, *link) {
	t.Helper()
	l := &link{driver: d.Driver(), dsn: d.dsn}
	pool := sql.OpenDB(l)
	limit(pool, d.driver)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool, l
}

func (l *link) freeze() (thaw func()) {
	frozen := make(chan struct{})
	l.setHooks(func(ctx context.Context, _ string) error {
		select {
		case <-frozen:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, nil)
	return func() {
		close(frozen)
		l.setHooks(nil, nil)
	}
}

func (l *link) setHooks(before func(ctx context.Context, text string) error, loseCommit func(latest string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before, l.loseCommit = before, loseCommit
}

func (l *link) intercept(ctx context.Context, text string) error {
	l.mu.Lock()
	before := l.before
	l.mu.Unlock()
	if before == nil {
		return nil
	}
	return before(ctx, text)
}

func (l *link) record(text string, args []driver.NamedValue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statements = append(l.statements, statement{text, args})
}

func (l *link) executed() []statement {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.statements)
}

func (l *link) drain() []statement {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.statements
	l.statements = nil
	return taken
}

func (l *link) Driver() driver.Driver { return l.driver }

func (l *link) Connect(ctx context.Context) (driver.Conn, error) {
	if err := l.intercept(ctx, ""); err != nil {
		return nil, err
	}
	conn, err := l.driver.Open(l.dsn)
	return &linkConn{Conn: conn, link: l}, err
}

type linkConn struct {
	driver.Conn
	link   *link
	latest string
}

func (c *linkConn) execute(ctx context.Context, text string, args []driver.NamedValue) error {
	c.latest = text
	c.link.record(text, args)
	return c.link.intercept(ctx, text)
}

func (c *linkConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.execute(ctx, text, args); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, text, args)
}

func (c *linkConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.execute(ctx, text, args); err != nil {
		return nil, err
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, text, args)
}

func (c *linkConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	if err := c.link.intercept(ctx, text); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
}

func (c *linkConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.link.intercept(ctx, "BEGIN"); err != nil {
		return nil, err
	}
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	return linkTx{tx, c}, err
}

type linkTx struct {
	driver.Tx
	conn *linkConn
}

func (tx linkTx) Commit() error {
	if err := tx.conn.link.intercept(context.Background(), "COMMIT"); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	err := tx.Tx.Commit()
	tx.conn.link.mu.Lock()
	lose := tx.conn.link.loseCommit
	tx.conn.link.mu.Unlock()
	if err == nil && lose != nil && lose(tx.conn.latest) {
		err = errLost
	}
	tx.conn.link.record("COMMIT", nil)
	return err
}

func (c *linkConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *linkConn) ResetSession(ctx context.Context) error {
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}

func (c *linkConn) IsValid() bool {
	v, ok := c.Conn.(driver.Validator)
	return !ok || v.IsValid()
}
