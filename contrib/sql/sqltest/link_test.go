// The connections of one process, which a test can cut, and which note their statements.

package sqltest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// link makes the connections of one process.
type link struct {
	driver.Connector

	mu         sync.Mutex
	frozen     chan struct{} // closed by thaw; nil if the process works
	statements map[string][]driver.NamedValue
	fails      bool
	left       int // statements until one fails, if fails is set
	// before, if set, is called before each statement, which fails with its error.
	before func(ctx context.Context, statement string) error
}

var errLost = errors.New("the connection is lost")

// failAfter lets the statement after n others fail.
func (l *link) failAfter(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fails, l.left = true, n
}

// process opens the pool of one more process.
func (d *database) process(t *testing.T) (*sql.DB, *link) {
	t.Helper()
	l := &link{Connector: connector{d.Driver(), d.dsn}, statements: map[string][]driver.NamedValue{}}
	if drv, ok := d.Driver().(driver.DriverContext); ok {
		var err error
		l.Connector, err = drv.OpenConnector(d.dsn)
		require.NoError(t, err)
	}
	pool := sql.OpenDB(l)
	pool.SetMaxOpenConns(20)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool, l
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
	l.mu.Lock()
	defer l.mu.Unlock()
	frozen := make(chan struct{})
	l.frozen = frozen
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(frozen)
		l.frozen = nil
	}
}

// pass notes a statement, and waits while the process is frozen.
func (l *link) pass(ctx context.Context, statement string, args []driver.NamedValue) error {
	l.mu.Lock()
	frozen := l.frozen
	if args != nil {
		l.statements[statement] = args
	}
	l.left--
	fail, before := l.fails && l.left < 0, l.before
	l.mu.Unlock()
	if before != nil {
		if err := before(ctx, statement); err != nil {
			return err
		}
	}
	if fail {
		return errLost
	}
	if frozen == nil {
		return nil
	}
	select {
	case <-frozen:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// executed returns the statements with parameters so far, each once.
func (l *link) executed() map[string][]driver.NamedValue {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.statements)
}

func (l *link) Connect(ctx context.Context) (driver.Conn, error) {
	if err := l.pass(ctx, "", nil); err != nil {
		return nil, err
	}
	conn, err := l.Connector.Connect(ctx)
	return linkConn{conn, l}, err
}

// linkConn is a connection of a driver that implements all the interfaces used here.
type linkConn struct {
	driver.Conn
	link *link
}

func (c linkConn) ExecContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.link.pass(ctx, statement, args); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, statement, args)
}

func (c linkConn) QueryContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.link.pass(ctx, statement, args); err != nil {
		return nil, err
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, statement, args)
}

func (c linkConn) PrepareContext(ctx context.Context, statement string) (driver.Stmt, error) {
	if err := c.link.pass(ctx, statement, nil); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, statement)
}

func (c linkConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.link.pass(ctx, "", nil); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

func (c linkConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c linkConn) ResetSession(ctx context.Context) error {
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}

func (c linkConn) IsValid() bool {
	v, ok := c.Conn.(driver.Validator)
	return !ok || v.IsValid()
}
