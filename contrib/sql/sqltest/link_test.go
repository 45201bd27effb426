// The connections of one process, which a test can cut, and which note their statements.

package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// link makes the connections of one process.
type link struct {
	driver.Connector

	mu         sync.Mutex
	statements []statement // in the order of their execution, with COMMIT
	// before, if set, is called before each statement and each COMMIT, which fails with its error.
	before func(ctx context.Context, text string) error
	// loseCommit, if set, decides by the latest statement of a connection whether the answer of
	// its commit is lost.
	loseCommit func(latest string) bool
}

type statement struct {
	text string
	args []driver.NamedValue
}

var errLost = errors.New("the connection is lost")

// process opens the pool of one more process.
func (d *database) process(t testing.TB) (*sql.DB, *link) {
	t.Helper()
	l, err := newLink(d.Driver(), d.dsn)
	require.NoError(t, err)
	pool := sql.OpenDB(l)
	limit(pool, d.driver)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool, l
}

func newLink(drv driver.Driver, dsn string) (l *link, err error) {
	l = &link{Connector: connector{drv, dsn}}
	if drv, ok := drv.(driver.DriverContext); ok {
		l.Connector, err = drv.OpenConnector(dsn)
	}
	return l, err
}

// connector is for drivers without OpenConnector.
type connector struct {
	driver driver.Driver
	dsn    string
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c connector) Driver() driver.Driver                        { return c.driver }

// freeze lets all calls hang until thaw.
func (l *link) freeze() (thaw func()) {
	frozen := make(chan struct{})
	l.use(func(ctx context.Context, _ string) error {
		select {
		case <-frozen:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, nil)
	return func() {
		close(frozen)
		l.use(nil, nil)
	}
}

func (l *link) use(before func(ctx context.Context, text string) error, loseCommit func(latest string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before, l.loseCommit = before, loseCommit
}

// pass waits while the process is frozen, or fails.
func (l *link) pass(ctx context.Context, text string) error {
	l.mu.Lock()
	before := l.before
	l.mu.Unlock()
	if before == nil {
		return nil
	}
	return before(ctx, text)
}

func (l *link) note(text string, args []driver.NamedValue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statements = append(l.statements, statement{text, args})
}

// executed returns the statements so far.
func (l *link) executed() []statement {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.statements)
}

// take returns the statements since the last call.
func (l *link) take() []statement {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.statements
	l.statements = nil
	return taken
}

func (l *link) Connect(ctx context.Context) (driver.Conn, error) {
	if err := l.pass(ctx, ""); err != nil {
		return nil, err
	}
	conn, err := l.Connector.Connect(ctx)
	return &linkConn{Conn: conn, link: l}, err
}

// linkConn is a connection of a driver that implements all the interfaces used here.
type linkConn struct {
	driver.Conn
	link   *link
	latest string
}

func (c *linkConn) execute(ctx context.Context, text string, args []driver.NamedValue) error {
	c.latest = text
	c.link.note(text, args)
	return c.link.pass(ctx, text)
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

// PrepareContext is called after the methods above by drivers that skip these.
func (c *linkConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	if err := c.link.pass(ctx, text); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
}

func (c *linkConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.link.pass(ctx, "BEGIN"); err != nil {
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
	if err := tx.conn.link.pass(context.Background(), "COMMIT"); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	err := tx.Tx.Commit()
	tx.conn.link.mu.Lock()
	lose := tx.conn.link.loseCommit
	tx.conn.link.mu.Unlock()
	if err == nil && lose != nil && lose(tx.conn.latest) {
		err = errLost
	}
	tx.conn.link.note("COMMIT", nil)
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
