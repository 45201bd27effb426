// What differs between the databases.

package hotelstayssql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Dialect names a database. The driver is the caller's.
type Dialect string

// The supported databases.
const (
	PostgreSQL Dialect = "postgresql" // 12 or later
	MySQL      Dialect = "mysql"      // MariaDB 10.5, MySQL 8.0, or later
	SQLite     Dialect = "sqlite"     // 3.24 or later, in a file
)

// grammar is what a statement cannot say in one way for all databases.
type grammar struct {
	// now is the database's clock in microseconds since 1970, constant within a statement.
	now string
	// conflict begins the assignments of an upsert, and proposed is a value that it would
	// insert. Columns on the right need the name of their table. MySQL executes assignments
	// in order, so a column that others depend on comes last.
	conflict, proposed string
	isolation          sql.IsolationLevel
}

var grammars = map[Dialect]grammar{
	PostgreSQL: {
		now:       "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint",
		conflict:  "ON CONFLICT ($1) DO UPDATE SET",
		proposed:  "excluded.$1",
		isolation: sql.LevelReadCommitted,
	},
	MySQL: {
		now:       "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
		conflict:  "ON DUPLICATE KEY UPDATE",
		proposed:  "VALUES($1)",
		isolation: sql.LevelReadCommitted, // no locks on gaps between keys
	},
	SQLite: {
		now:       "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
		conflict:  "ON CONFLICT ($1) DO UPDATE SET",
		proposed:  "excluded.$1",
		isolation: sql.LevelDefault, // it is serializable
	},
}

var (
	nowMark      = regexp.MustCompile(`\{now\}`)
	conflictMark = regexp.MustCompile(`\{conflict ([\w, ]+)\}`)
	proposedMark = regexp.MustCompile(`\{new (\w+)\}`)
)

func (d Dialect) check() error {
	if _, ok := grammars[d]; !ok {
		return fmt.Errorf("the dialect is %.20q; it must be PostgreSQL, MySQL or SQLite", string(d))
	}
	return nil
}

// sql translates a statement: {now} is the database's clock, {conflict key} begins the second
// half of an upsert, {new column} is there what the first half would insert, and ? is a
// parameter.
func (d Dialect) sql(statement string) string {
	key := [2]string{string(d), statement}
	if translated, ok := translations.Load(key); ok {
		return translated.(string)
	}
	translated := d.translate(statement)
	translations.Store(key, translated)
	return translated
}

// translations has a dialect and a statement as its key. Statements are few: they hold no values.
var translations sync.Map

func (d Dialect) translate(statement string) string {
	g := grammars[d]
	statement = nowMark.ReplaceAllLiteralString(statement, g.now)
	statement = conflictMark.ReplaceAllString(statement, g.conflict)
	statement = proposedMark.ReplaceAllString(statement, g.proposed)
	if d != PostgreSQL {
		return statement
	}
	var numbered strings.Builder
	for i, part := range strings.Split(statement, "?") {
		if i > 0 {
			numbered.WriteString("$" + strconv.Itoa(i))
		}
		numbered.WriteString(part)
	}
	return numbered.String()
}

// database is a database of the caller.
type database struct {
	*sql.DB
	dialect Dialect
}

// attempts bounds how often a transaction begins.
const attempts = 12

// inTx commits what fn writes, or nothing. It calls fn again if the database undid the
// transaction because of others. fn writes before it reads: a transaction that begins with a
// read cannot always write later.
func (d database) inTx(ctx context.Context, fn func(*sql.Tx) error) error {
	for attempt := 1; ; attempt++ {
		err := d.inTxOnce(ctx, fn)
		if err == nil || attempt == attempts || !isUndone(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(10 * time.Millisecond << min(attempt, 5))):
		}
	}
}

func (d database) inTxOnce(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := d.BeginTx(ctx, &sql.TxOptions{Isolation: grammars[d.dialect].isolation})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit; fn may panic
	if err = fn(tx); err == nil {
		err = tx.Commit()
	}
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		return ctx.Err() // database/sql has rolled back
	}
	return err
}

// undone is what the errors of a deadlock or a failed serialization contain: drivers have no
// common type for them. MariaDB can deadlock although all lock in one order: if an insert is
// undone, those that waited for its row lock the gap that it leaves.
var undone = regexp.MustCompile(`(?i)deadlock|\b40001\b|\b40P01\b`)

func isUndone(err error) bool { return undone.MatchString(err.Error()) }

// failed returns the error of a call, and what to do about it if that is known.
func (d database) failed(err error, call string, args ...any) error {
	return fmt.Errorf("hotelstayssql: %s: %w%s", fmt.Sprintf(call, args...), err, d.advice(err))
}

var (
	noTable = regexp.MustCompile(`no such table: hotelstays_|hotelstays_\w+["'] does(n't| not) exist`)
	busy    = regexp.MustCompile(`database is locked`) // SQLite
)

func (d database) advice(err error) string {
	pool := d.Stats()
	switch {
	case noTable.MatchString(err.Error()):
		return "; call Migrate, or check the database's name and search path"
	case busy.MatchString(err.Error()):
		return "; another transaction is writing: set busy_timeout, and call this outside of other transactions"
	case errors.Is(err, context.DeadlineExceeded) && pool.InUse > 0 && pool.InUse == pool.MaxOpenConnections:
		return fmt.Sprintf("; all connections of the pool (%d) are in use: commit before this call, or raise SetMaxOpenConns", pool.InUse)
	}
	return ""
}

// execer is a *sql.DB, *sql.Tx or *sql.Conn.
type execer interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
}

// exec translates and executes a statement.
func (d Dialect) exec(ctx context.Context, e execer, statement string, args ...any) (sql.Result, error) {
	return e.ExecContext(ctx, d.sql(statement), args...)
}

// list returns n copies of an element with commas.
func list(element string, n int) string { return strings.Repeat(", "+element, n)[2:] }
