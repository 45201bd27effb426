// What differs between the databases.

package hotelstayssql

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
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
	// onConflict begins the assignments of an upsert. Columns on their right need the name of
	// their table. MySQL executes assignments in order, so what they depend on comes last.
	onConflict func(key string) string
	isolation  sql.IsolationLevel
}

var grammars = map[Dialect]grammar{
	PostgreSQL: {
		now:        "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint",
		onConflict: onConflict,
		isolation:  sql.LevelReadCommitted,
	},
	MySQL: {
		now:        "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
		onConflict: func(string) string { return "ON DUPLICATE KEY UPDATE" },
		isolation:  sql.LevelReadCommitted, // no locks on gaps between keys
	},
	SQLite: {
		now:        "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
		onConflict: onConflict,
		isolation:  sql.LevelDefault, // it is serializable
	},
}

func onConflict(key string) string { return "ON CONFLICT (" + key + ") DO UPDATE SET" }

func (d Dialect) check() error {
	if _, ok := grammars[d]; !ok {
		return fmt.Errorf("the dialect is %.20q; it must be PostgreSQL, MySQL or SQLite", string(d))
	}
	return nil
}

// sql translates a statement: {now} is the database's clock, {on conflict key} begins the
// second half of an upsert, and ? is a parameter.
func (d Dialect) sql(statement string) string {
	g := grammars[d]
	statement = strings.ReplaceAll(statement, "{now}", g.now)
	if before, rest, ok := strings.Cut(statement, "{on conflict "); ok {
		key, after, _ := strings.Cut(rest, "}")
		statement = before + g.onConflict(key) + after
	}
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

// inTx commits what fn writes, or nothing. fn writes before it reads: a transaction that
// begins with a read cannot always write later.
func (d database) inTx(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := d.BeginTx(ctx, &sql.TxOptions{Isolation: grammars[d.dialect].isolation})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit; fn may panic
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// places returns n parameters for a list of values.
func places(n int) string { return strings.Repeat(", ?", n)[2:] }
