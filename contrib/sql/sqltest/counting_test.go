// A driver around the driver of a database. It counts what is executed, and can lose the
// answer of a commit.

package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// watched is what passes through the pools of one process.
type watched struct {
	mu         sync.Mutex
	statements []string
	// loseCommit decides by the latest statement of a connection whether the answer of its commit
	// is lost.
	loseCommit func(last string) bool
}

// saw notes a statement, and returns it in one line.
func (w *watched) saw(statement string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	statement = strings.Join(strings.Fields(statement), " ")
	w.statements = append(w.statements, statement)
	return statement
}

// committed returns an error if the answer of a commit is lost.
func (w *watched) committed(latest string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.loseCommit != nil && w.loseCommit(latest) {
		return errors.New("the answer of the commit is lost")
	}
	return nil
}

// take returns the statements since the last call.
func (w *watched) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.statements
	w.statements = nil
	return taken
}

// watch opens a pool that w watches.
func (d *database) watch(t testing.TB, w *watched) *sql.DB {
	t.Helper()
	pool := sql.OpenDB(watchedConnector{d.DB.Driver(), d.dsn, w})
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool
}

type watchedConnector struct {
	inner driver.Driver
	dsn   string
	*watched
}

func (c watchedConnector) Driver() driver.Driver { return c.inner }

func (c watchedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	var conn driver.Conn
	var err error
	if opener, ok := c.inner.(driver.DriverContext); ok {
		connector, err := opener.OpenConnector(c.dsn)
		if err != nil {
			return nil, err
		}
		conn, err = connector.Connect(ctx)
		if err != nil {
			return nil, err
		}
	} else if conn, err = c.inner.Open(c.dsn); err != nil {
		return nil, err
	}
	return &watchedConn{Conn: conn, watched: c.watched}, nil
}

type watchedConn struct {
	driver.Conn
	*watched
	latest string
}

func (c *watchedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	return &watchedTx{tx, c}, err
}

func (c *watchedConn) ExecContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	c.latest = c.saw(statement)
	done, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, statement, args)
	if errors.Is(err, driver.ErrSkip) { // the driver prepares statements with parameters
		var prepared driver.Stmt
		if prepared, err = c.Conn.Prepare(statement); err != nil {
			return nil, err
		}
		defer prepared.Close()
		done, err = prepared.(driver.StmtExecContext).ExecContext(ctx, args)
	}
	return done, err
}

func (c *watchedConn) QueryContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, statement, args)
	if !errors.Is(err, driver.ErrSkip) { // Prepare sees it
		c.latest = c.saw(statement)
	}
	return rows, err
}

func (c *watchedConn) Prepare(statement string) (driver.Stmt, error) {
	c.latest = c.saw(statement)
	return c.Conn.Prepare(statement)
}

func (c *watchedConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

type watchedTx struct {
	driver.Tx
	*watchedConn
}

func (tx *watchedTx) Commit() error {
	if err := tx.Tx.Commit(); err != nil {
		return err
	}
	err := tx.committed(tx.latest)
	tx.saw("COMMIT")
	return err
}
