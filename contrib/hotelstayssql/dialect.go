// What differs between the databases.

package hotelstayssql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go/durable"
)

// Dialect names a kind of database. Your program imports the driver of the database.
type Dialect string

// The supported databases.
const (
	PostgreSQL Dialect = "postgresql" // version 12 or later
	MySQL      Dialect = "mysql"      // MariaDB 10.6 or later, or MySQL 8.0 or later
	SQLite     Dialect = "sqlite"     // version 3.25 or later, with the database in a file
)

// grammar is the SQL that differs between the databases.
type grammar struct {
	// now is SQL for the database's clock in microseconds since 1970. The value is constant within a statement.
	now string
	// conflict is the SQL between the INSERT of an upsert and its assignments. proposed is SQL for the value that the
	// INSERT would write into a column. On the right side of an assignment, write the table's name before a column:
	// on PostgreSQL, the column's name alone is ambiguous. MySQL executes assignments in order, so assign a column
	// last if other assignments read the column.
	conflict, proposed string
	isolation          sql.IsolationLevel
	// lock is the end of a SELECT that locks its rows. It is empty if the database has no row locks.
	lock string
	// guard is the first statement of a transaction in which a function of the caller runs. With guard, the
	// server ends a transaction that is idle for half a minute. Otherwise the transaction of a machine that is frozen
	// or has lost its network would keep its locks for hours.
	//
	// On MySQL, guard changes settings of the connection before the transaction, and unguard restores them. In
	// between, autocommit is off, because a deadlock undoes the whole transaction, and the caller's function may
	// ignore the error. With autocommit, the function's later writes would then be committed immediately.
	guard, unguard string
}

var grammars = map[Dialect]grammar{
	PostgreSQL: {
		now:       "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint",
		conflict:  "ON CONFLICT ($1) DO UPDATE SET",
		proposed:  "excluded.$1",
		isolation: sql.LevelReadCommitted,

		lock:  "FOR UPDATE",
		guard: "SELECT set_config('idle_in_transaction_session_timeout', '30s', true)",
	},
	MySQL: {
		now:       "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
		conflict:  "ON DUPLICATE KEY UPDATE",
		proposed:  "VALUES($1)",
		isolation: sql.LevelReadCommitted, // at this level, InnoDB does not lock the gaps between keys

		lock: "FOR UPDATE",
		guard: "SET @hotelstays_autocommit = @@SESSION.autocommit, @hotelstays_wait_timeout = @@SESSION.wait_timeout, " +
			"autocommit = 0, wait_timeout = 30",
		unguard: "SET autocommit = @hotelstays_autocommit, wait_timeout = @hotelstays_wait_timeout",
	},
	SQLite: {
		now:       "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
		conflict:  "ON CONFLICT ($1) DO UPDATE SET",
		proposed:  "excluded.$1",
		isolation: sql.LevelDefault, // in SQLite, the default level is serializable
	},
}

var (
	conflictMark = regexp.MustCompile(`\{conflict ([\w, ]+)\}`)
	proposedMark = regexp.MustCompile(`\{new (\w+)\}`)
)

// sql translates a statement into the dialect. In the statement, {now} is the database's clock, {conflict key} begins
// the assignments of an upsert, {new column} is the value that the upsert would insert, and ? is a parameter.
func (d Dialect) sql(statement string) string {
	key := [2]string{string(d), statement}
	if translated, ok := translations.Load(key); ok {
		return translated.(string)
	}
	translated := d.translate(statement)
	translations.Store(key, translated)
	return translated
}

// translations caches translated statements by dialect and text. The cache stays small, because statements contain no
// values.
var translations sync.Map

func (d Dialect) translate(statement string) string {
	g := grammars[d]
	statement = strings.ReplaceAll(statement, "{now}", g.now)
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

type database struct {
	*sql.DB
	dialect Dialect
}

// inTx calls fn in a transaction, and commits all writes of fn or no write. It calls fn again if the database
// undid the transaction because of another transaction. fn must write before it reads, because on SQLite a
// transaction that begins with a read cannot always write later.
//
// Every write of this package needs such a transaction, because the caller's connections may have any isolation
// and autocommit.
func (d database) inTx(ctx context.Context, fn func(*sql.Tx) error) error {
	return durable.Repeat(ctx, func() error {
		tx, err := d.BeginTx(ctx, d.options())
		if err != nil {
			return err
		}
		_, err = d.inTxOnce(ctx, tx, fn)
		return err
	})
}

// inGuardedTx is like inTx, but the server ends the transaction if it is idle for half a minute. Use it if fn runs a
// function of the caller, which may hang.
func (d database) inGuardedTx(ctx context.Context, fn func(*sql.Tx) error) error {
	g := grammars[d.dialect]
	if g.unguard != "" {
		return durable.Repeat(ctx, func() error { return d.onGuardedConn(ctx, g, fn) })
	}
	return d.inTx(ctx, func(tx *sql.Tx) error {
		if g.guard != "" {
			if _, err := tx.ExecContext(ctx, g.guard); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

// onGuardedConn calls fn in a transaction between the statements guard and unguard. If unguard fails, or the
// transaction may still be open, onGuardedConn closes the connection. On an open transaction unguard must not run,
// because its autocommit = 1 would commit the transaction.
func (d database) onGuardedConn(ctx context.Context, g grammar, fn func(*sql.Tx) error) error {
	conn, err := d.Conn(ctx)
	if err != nil {
		return err
	}
	restored := false
	defer func() {
		if !restored {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		_ = conn.Close()
	}()
	if _, err := conn.ExecContext(ctx, g.guard); err != nil {
		return err
	}
	tx, err := conn.BeginTx(ctx, d.options())
	if err != nil {
		return err
	}
	ended, err := d.inTxOnce(ctx, tx, fn)
	if ended {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, failed := conn.ExecContext(ctx, g.unguard)
		restored = failed == nil
	}
	return err
}

func (d database) options() *sql.TxOptions {
	return &sql.TxOptions{Isolation: grammars[d.dialect].isolation}
}

// inTxOnce calls fn, and commits all writes of fn or no write. The result ended is false if the transaction may still
// be open.
func (d database) inTxOnce(ctx context.Context, tx *sql.Tx, fn func(*sql.Tx) error) (ended bool, err error) {
	defer func() { ended = tx.Rollback() == nil || ended }() // runs also if fn panics; after a Commit, Rollback fails and changes nothing
	if err = fn(tx); err == nil {
		err = tx.Commit()
		ended = err == nil
	}
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		return false, fmt.Errorf("%w: %w", err, ctx.Err()) // ctx has ended, so database/sql rolls back in the background
	}
	return ended, err
}

// errUndone: MySQL undid a transaction at a deadlock, and the caller's function ignored the error.
var errUndone = errors.New("the database undid the transaction, for example because of a deadlock, but your function returned no error; " +
	"return the error of each statement from your function")

// exec executes one statement in its own transaction, and reports whether the statement matched a row.
func (d database) exec(ctx context.Context, statement string, args ...any) (matched bool, err error) {
	err = d.inTx(ctx, func(tx *sql.Tx) error {
		done, err := d.dialect.exec(ctx, tx, statement, args...)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		matched = n > 0
		return err
	})
	return matched, err
}

// failed adds to an error the name of the call, and advice if the cause is known.
func (d database) failed(err error, call string, args ...any) error {
	return fmt.Errorf("hotelstayssql: %s: %w%s", fmt.Sprintf(call, args...), err, d.advice(err))
}

var (
	noTable = regexp.MustCompile(`no such table: hotelstays_|hotelstays_\w+["'] does(n't| not) exist`)
	busy    = regexp.MustCompile(`database is locked`) // SQLite
	// A pooler such as PgBouncer has changed the connection between the preparation of a statement and its execution.
	otherConn = regexp.MustCompile(`prepared statement .*(already exists|does not exist|requires)`)
)

func (d database) advice(err error) string {
	pool := d.Stats()
	switch {
	case noTable.MatchString(err.Error()):
		return "; call Migrate, or check the database's name and search path"
	case strings.Contains(err.Error(), "unable to open database file"): // SQLite
		return "; check the path: its folder must exist and be writable"
	case busy.MatchString(err.Error()):
		return "; another transaction is writing: set busy_timeout, and make this call outside of other transactions"
	case d.dialect == PostgreSQL && otherConn.MatchString(err.Error()):
		return "; behind PgBouncer, add default_query_exec_mode=exec (pgx) or binary_parameters=yes (lib/pq) to the DSN"
	case errors.Is(err, context.DeadlineExceeded) && pool.InUse > 0 && pool.InUse == pool.MaxOpenConnections:
		return fmt.Sprintf("; all connections of the pool (%d) are in use: commit before this call, or raise SetMaxOpenConns "+
			"(not on SQLite)", pool.InUse)
	}
	return ""
}

func (d Dialect) exec(ctx context.Context, tx *sql.Tx, statement string, args ...any) (sql.Result, error) {
	return tx.ExecContext(ctx, d.sql(statement), args...)
}

// list returns n copies of an element, separated by commas.
func list(element string, n int) string { return strings.Repeat(", "+element, n)[2:] }

// replaced returns the assignments of an upsert. They replace the columns of an existing row if the row meets the
// condition, such as "expires_at <= {now}". The condition's column must be the last element of the parameter columns,
// because MySQL executes assignments in order.
func replaced(table, condition string, columns ...string) string {
	for i, column := range columns {
		columns[i] = fmt.Sprintf("%s = CASE WHEN %s.%s THEN {new %[1]s} ELSE %[2]s.%[1]s END", column, table, condition)
	}
	return strings.Join(columns, ", ")
}
