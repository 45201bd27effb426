// The schema, in versions.

package hotelstayssql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"
)

// migration creates one version of the schema. Each of its statements can be executed again, because MariaDB and
// MySQL commit each statement separately, and the process may die between two of them.
type migration map[Dialect][]string

// migrations are in order: the first creates version 1. A released migration never changes.
//
// Keys are bytes, because MariaDB compares texts without case and trailing spaces. Times are
// microseconds since 1970.
var migrations = []migration{
	{ // version 1: events, tokens and the journal
		PostgreSQL: {
			`CREATE TABLE IF NOT EXISTS hotelstays_events (
				event_key bytea PRIMARY KEY, store bigint NOT NULL, claim bigint NOT NULL,
				done smallint NOT NULL, expires_at bigint NOT NULL)`,
			`CREATE INDEX IF NOT EXISTS hotelstays_events_expires_at ON hotelstays_events (expires_at)`,
			`CREATE TABLE IF NOT EXISTS hotelstays_tokens (
				token_key bytea PRIMARY KEY, sealed bytea, expires_at bigint NOT NULL,
				lease bigint NOT NULL, lease_until bigint NOT NULL)`,
			`CREATE TABLE IF NOT EXISTS hotelstays_journal (
				account bytea NOT NULL, reference bytea NOT NULL, fence bigint NOT NULL, live smallint NOT NULL,
				due bigint NOT NULL, booking bytea NOT NULL, request bytea, PRIMARY KEY (account, reference))`,
			`CREATE INDEX IF NOT EXISTS hotelstays_journal_due ON hotelstays_journal (account, live, due)`,
			`CREATE INDEX IF NOT EXISTS hotelstays_journal_list ON hotelstays_journal (account, live, reference)`,
		},
		MySQL: {
			`CREATE TABLE IF NOT EXISTS hotelstays_events (
				event_key varbinary(1024) NOT NULL PRIMARY KEY, store bigint NOT NULL, claim bigint NOT NULL,
				done smallint NOT NULL, expires_at bigint NOT NULL,
				KEY hotelstays_events_expires_at (expires_at)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
			`CREATE TABLE IF NOT EXISTS hotelstays_tokens (
				token_key varbinary(32) NOT NULL PRIMARY KEY, sealed mediumblob, expires_at bigint NOT NULL,
				lease bigint NOT NULL, lease_until bigint NOT NULL) ENGINE = InnoDB`,
			`CREATE TABLE IF NOT EXISTS hotelstays_journal (
				account varbinary(64) NOT NULL, reference varbinary(512) NOT NULL, fence bigint NOT NULL, live smallint NOT NULL,
				due bigint NOT NULL, booking mediumblob NOT NULL, request mediumblob, PRIMARY KEY (account, reference),
				KEY hotelstays_journal_due (account, live, due),
				KEY hotelstays_journal_list (account, live, reference)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
		},
		SQLite: {
			`CREATE TABLE IF NOT EXISTS hotelstays_events (
				event_key blob NOT NULL PRIMARY KEY, store integer NOT NULL, claim integer NOT NULL,
				done integer NOT NULL, expires_at integer NOT NULL) WITHOUT ROWID`,
			`CREATE INDEX IF NOT EXISTS hotelstays_events_expires_at ON hotelstays_events (expires_at)`,
			`CREATE TABLE IF NOT EXISTS hotelstays_tokens (
				token_key blob NOT NULL PRIMARY KEY, sealed blob, expires_at integer NOT NULL,
				lease integer NOT NULL, lease_until integer NOT NULL) WITHOUT ROWID`,
			`CREATE TABLE IF NOT EXISTS hotelstays_journal (
				account blob NOT NULL, reference blob NOT NULL, fence integer NOT NULL, live integer NOT NULL,
				due integer NOT NULL, booking blob NOT NULL, request blob, PRIMARY KEY (account, reference))`,
			`CREATE INDEX IF NOT EXISTS hotelstays_journal_due ON hotelstays_journal (account, live, due)`,
			`CREATE INDEX IF NOT EXISTS hotelstays_journal_list ON hotelstays_journal (account, live, reference)`,
		},
	},
	{ // version 2: cancellations and followed orders
		PostgreSQL: stateTables(`CREATE TABLE IF NOT EXISTS {table} (
				account bytea NOT NULL, reference bytea NOT NULL, fence bigint NOT NULL, live smallint NOT NULL,
				due bigint NOT NULL, state bytea NOT NULL, PRIMARY KEY (account, reference))`,
			`CREATE INDEX IF NOT EXISTS {table}_due ON {table} (account, live, due)`),
		MySQL: stateTables(`CREATE TABLE IF NOT EXISTS {table} (
				account varbinary(64) NOT NULL, reference varbinary(512) NOT NULL, fence bigint NOT NULL, live smallint NOT NULL,
				due bigint NOT NULL, state mediumblob NOT NULL, PRIMARY KEY (account, reference),
				KEY {table}_due (account, live, due)) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`),
		SQLite: stateTables(`CREATE TABLE IF NOT EXISTS {table} (
				account blob NOT NULL, reference blob NOT NULL, fence integer NOT NULL, live integer NOT NULL,
				due integer NOT NULL, state blob NOT NULL, PRIMARY KEY (account, reference))`,
			`CREATE INDEX IF NOT EXISTS {table}_due ON {table} (account, live, due)`),
	},
	{ // version 3: indexes that find the due rows of all accounts
		PostgreSQL: workTables(`CREATE INDEX IF NOT EXISTS {table}_due_all ON {table} (due) WHERE live = 1`),
		// MySQL has no IF NOT EXISTS for an index.
		MySQL: workTables(`SET @hotelstays_index = IF(EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE()
				AND table_name = '{table}' AND index_name = '{table}_due_all'), 'DO 0', 'CREATE INDEX {table}_due_all ON {table} (live, due)')`,
			`PREPARE hotelstays_index FROM @hotelstays_index`, `EXECUTE hotelstays_index`, `DEALLOCATE PREPARE hotelstays_index`),
		SQLite: workTables(`CREATE INDEX IF NOT EXISTS {table}_due_all ON {table} (due) WHERE live = 1`),
	},
}

// workTables returns the statements for the tables of bookings, cancellations and followed orders. It replaces {table}
// in a statement by the table's name.
func workTables(statements ...string) []string {
	return forTables([]string{"hotelstays_journal", "hotelstays_cancels", "hotelstays_orders"}, statements)
}

func stateTables(statements ...string) []string {
	return forTables([]string{"hotelstays_cancels", "hotelstays_orders"}, statements)
}

func forTables(tables, statements []string) (all []string) {
	for _, table := range tables {
		for _, statement := range statements {
			all = append(all, strings.ReplaceAll(statement, "{table}", table))
		}
	}
	return all
}

// SchemaError means that the tables have a version that this program cannot use.
type SchemaError struct {
	Found int // version of the tables in the database; 0 if there are none
	Known int // newest version that this program knows
}

// Error names the version of the tables, if they exist, and says what to do.
func (e *SchemaError) Error() string {
	switch {
	case e.Found == 0:
		return "hotelstayssql: the tables do not exist; call Migrate, or check the database's name and search path"
	case e.Found < e.Known:
		return fmt.Sprintf("hotelstayssql: the tables have version %d, and this program needs %d; call Migrate", e.Found, e.Known)
	}
	return fmt.Sprintf("hotelstayssql: the tables have version %d, and this program knows up to %d; "+
		"build the program with a newer contrib/hotelstayssql", e.Found, e.Known)
}

// Migrate creates or updates the tables, whose names begin with hotelstays_. Call it when a
// new version is deployed, as a user who may create tables. Several processes may call it at
// the same time. If it fails or is killed, call it again. It changes nothing if the tables
// are up to date, for which SELECT on hotelstays_schema suffices. It returns a *SchemaError
// if they are newer than this program.
func Migrate(ctx context.Context, db *sql.DB, dialect Dialect) error {
	var p problems
	p.checkDatabase(db, dialect)
	if err := p.err("Migrate"); err != nil {
		return err
	}
	if err := migrate(ctx, db, dialect); err != nil {
		var schema *SchemaError
		if errors.As(err, &schema) {
			return schema
		}
		return database{db, dialect}.failed(err, "migrating with the dialect %s", dialect)
	}
	return nil
}

func migrate(ctx context.Context, db *sql.DB, dialect Dialect) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return withMigrationLock(ctx, conn, dialect, func() error {
		var exists bool
		err := conn.QueryRowContext(ctx, schemaTables[dialect]).Scan(&exists)
		if err == nil && !exists { // on PostgreSQL, IF NOT EXISTS overlooks a table in a later schema of the search path
			_, err = conn.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS hotelstays_schema (version integer PRIMARY KEY)`)
		}
		if err != nil {
			return err
		}
		found, err := version(ctx, conn)
		if err != nil {
			return err
		}
		if found > len(migrations) {
			return &SchemaError{found, len(migrations)}
		}
		for i, m := range migrations[found:] {
			if err := m.apply(ctx, conn, dialect, found+i+1); err != nil {
				return fmt.Errorf("version %d: %w", found+i+1, err)
			}
		}
		return nil
	})
}

func version(ctx context.Context, conn *sql.Conn) (found int, err error) {
	err = conn.QueryRowContext(ctx, `SELECT COALESCE(MAX(version), 0) FROM hotelstays_schema`).Scan(&found)
	return found, err
}

// apply executes the statements of a migration, and then stores its version number.
func (m migration) apply(ctx context.Context, conn *sql.Conn, dialect Dialect, version int) error {
	for _, statement := range m[dialect] {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	_, err := conn.ExecContext(ctx, dialect.sql(`INSERT INTO hotelstays_schema (version) VALUES (?)`), version)
	if err == nil && dialect == MySQL {
		_, err = conn.ExecContext(ctx, "COMMIT") // the connection may have autocommit off
	}
	return err
}

// withMigrationLock calls fn while no other process migrates. On PostgreSQL and SQLite, fn runs in one transaction.
func withMigrationLock(ctx context.Context, conn *sql.Conn, dialect Dialect, fn func() error) error {
	commit, undo := "COMMIT", "ROLLBACK"
	var err error
	switch dialect {
	case PostgreSQL:
		// READ COMMITTED: after the wait for the lock, fn must see what the previous holder of the lock has committed.
		if _, err = conn.ExecContext(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED"); err == nil {
			_, err = conn.ExecContext(ctx, "SELECT pg_advisory_xact_lock(7018112231)")
		}
	case MySQL:
		commit, undo = "DO RELEASE_LOCK("+mysqlLock+")", "DO RELEASE_LOCK("+mysqlLock+")"
		err = lockMySQL(ctx, conn)
	case SQLite:
		_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	}
	if err == nil {
		err = fn()
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, commit)
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if _, undone := conn.ExecContext(ctx, undo); undone != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // ErrBadConn makes database/sql close the connection, which releases the lock
		}
	}
	return err
}

// mysqlLock is SQL for the name of the migration lock. The name contains a hash of the database's name, because all
// databases of a server share lock names.
const mysqlLock = "CONCAT('hotelstays_', MD5(DATABASE()))"

func lockMySQL(ctx context.Context, conn *sql.Conn) error {
	var locked sql.NullBool
	err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+mysqlLock+", 60)").Scan(&locked)
	switch {
	case err != nil:
		return err
	case !locked.Valid:
		return errors.New("the DSN names no database; add the name of your database to the DSN")
	case !locked.Bool:
		return errors.New("another process has been migrating for a minute; call Migrate again when its migration has ended")
	}
	return nil
}
