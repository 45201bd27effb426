// Check: it finds tables of another version, and settings that can lose bookings.

package hotelstayssql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Check verifies that a database is usable, before its first use. Open calls Check. An error means that the database
// cannot be used: its tables have another version (*SchemaError), or it is read-only. The parameter log, if not nil,
// receives a warning for each setting that can lose commits or bookings, or that makes calls fail without need. Check
// reads the settings of one connection, so give all connections of the pool the same settings.
func Check(ctx context.Context, db *sql.DB, dialect Dialect, log *slog.Logger) error {
	var p problems
	p.checkDatabase(db, dialect)
	if err := p.err("Check"); err != nil {
		return err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	err := check(ctx, db, dialect, func(setting, value, effect string) {
		log.LogAttrs(ctx, slog.LevelWarn, "the database has a harmful setting: "+effect,
			slog.String("setting", setting), slog.String("value", value))
	})
	var schema *SchemaError
	if err != nil && !errors.As(err, &schema) {
		err = database{db, dialect}.failed(err, "checking the database")
	}
	return err
}

func check(ctx context.Context, db *sql.DB, dialect Dialect, warn func(setting, value, effect string)) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := checkSchema(ctx, conn, dialect); err != nil {
		return err
	}
	// The statement changes no row, but a read-only database refuses it.
	if _, err := conn.ExecContext(ctx, `UPDATE hotelstays_schema SET version = 0 WHERE version = 0`); err != nil {
		return fmt.Errorf("the database is read-only: %w; connect to the primary, as a user who may write", err)
	}
	for _, s := range settings[dialect] {
		var value string
		var harmful bool
		if err := conn.QueryRowContext(ctx, s.query).Scan(&value, &harmful); err != nil {
			return fmt.Errorf("reading the setting %s: %w", s.name, err)
		}
		if harmful {
			warn(s.name, value, s.effect)
		}
	}
	if n := db.Stats().MaxOpenConnections; dialect == SQLite && n != 1 {
		warn("SetMaxOpenConns", fmt.Sprint(n),
			"under load, goroutines of this process wait for each other's writes until busy_timeout, and then fail; set it to 1, which is enough")
	}
	var clock int64
	before := time.Now()
	if before.Before(dayBeforeStart) { // testing/synctest has a virtual clock, which cannot be compared with the database's clock
		return nil
	}
	if err := conn.QueryRowContext(ctx, dialect.sql(`SELECT {now}`)).Scan(&clock); err != nil {
		return fmt.Errorf("reading the database's clock: %w", err)
	}
	if at := time.UnixMicro(clock); at.Before(before.Add(-maxSkew)) || at.After(time.Now().Add(maxSkew)) {
		warn("the clock", at.UTC().Format(time.RFC3339Nano),
			"it differs by more than 2s from the clock of this process, so an existing booking can be reported as absent; synchronize the clocks")
	}
	return nil
}

// dayBeforeStart is a day before this process started. If the clock shows an earlier time, it is the virtual clock of a
// test.
var dayBeforeStart = time.Now().AddDate(0, 0, -1).Round(0)

// maxSkew is the tolerated difference between the clocks of the database and this process. The clocks of two processes
// then differ by less than durable.ClockMargin, which is five seconds.
const maxSkew = 2 * time.Second

// schemaTables are queries that return 1 if the table hotelstays_schema exists, and otherwise 0.
var schemaTables = map[Dialect]string{
	PostgreSQL: `SELECT COUNT(to_regclass('hotelstays_schema'))`,
	MySQL:      `SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'hotelstays_schema'`,
	SQLite:     `SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'hotelstays_schema'`,
}

func checkSchema(ctx context.Context, conn *sql.Conn, dialect Dialect) error {
	var tables, found int
	if err := conn.QueryRowContext(ctx, schemaTables[dialect]).Scan(&tables); err != nil {
		return fmt.Errorf("looking for the tables with the dialect %s: %w", dialect, err)
	}
	autocommit := true
	if dialect == MySQL {
		if err := conn.QueryRowContext(ctx, `SELECT @@autocommit <> 0`).Scan(&autocommit); err != nil {
			return err
		}
	}
	if !autocommit { // without autocommit, every later read would see the data of the first read
		return errors.New("autocommit is off; set autocommit=1 in the DSN")
	}
	if tables > 0 {
		var err error
		if found, err = version(ctx, conn); err != nil {
			return err
		}
	}
	if found != len(migrations) {
		return &SchemaError{found, len(migrations)}
	}
	return nil
}

// settings are the database settings that Check reads. A query returns the value, and whether it is harmful. The field
// effect is the warning for a harmful value.
var settings = map[Dialect][]struct{ name, query, effect string }{
	PostgreSQL: {
		{"synchronous_commit", `SELECT current_setting('synchronous_commit'), current_setting('synchronous_commit') = 'off'`,
			"a crash of the server loses the last commits; set it to on"},
		{"fsync", `SELECT current_setting('fsync'), current_setting('fsync') = 'off'`,
			"a crash of the machine can destroy the database; set it to on"},
		{"full_page_writes", `SELECT current_setting('full_page_writes'), current_setting('full_page_writes') = 'off'`,
			"a crash of the machine can destroy the database; set it to on"},
	},
	MySQL: {
		{"innodb_flush_log_at_trx_commit", `SELECT @@innodb_flush_log_at_trx_commit, @@innodb_flush_log_at_trx_commit NOT IN (1, 3)`,
			"a crash of the machine loses the commits of the last second; set it to 1"},
		{"sync_binlog", `SELECT @@sync_binlog, @@log_bin <> 0 AND @@sync_binlog <> 1`,
			"after a crash of the machine, commits that the binary log lacks are undone; set it to 1"},
		{"binlog_format", `SELECT @@binlog_format, @@log_bin <> 0 AND @@binlog_format = 'STATEMENT'`,
			"transactions with READ COMMITTED fail; set it to MIXED or ROW"},
		{"innodb_doublewrite", `SELECT @@innodb_doublewrite, @@innodb_doublewrite IN ('0', 'OFF', 'DETECT_ONLY')`,
			"a crash of the machine can destroy the database; set it to ON"},
	},
	SQLite: {
		{"file", `SELECT file, file = '' FROM pragma_database_list WHERE name = 'main'`,
			"all bookings are lost when the connection is closed, because the database is temporary; name a file in the DSN"},
		{"synchronous", `SELECT synchronous, synchronous < 2 FROM pragma_synchronous`,
			"a crash of the machine loses the last commits; set it to FULL on every connection"},
		{"journal_mode", `SELECT journal_mode, journal_mode IN ('off', 'memory') FROM pragma_journal_mode`,
			"a crash can destroy the database; use a file, and WAL or DELETE"},
		{"busy_timeout", `SELECT timeout, timeout = 0 FROM pragma_busy_timeout`,
			"a call fails immediately while another process writes; set it to 5000 milliseconds or more on every connection"},
	},
}
