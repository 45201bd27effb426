// Open: the database of a service in one call.

package hotelstayssql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
)

// OpenOptions are the settings of Open.
type OpenOptions struct {
	// Migrate creates or updates the tables, as the function Migrate does. The user of the DSN must be allowed
	// to create tables.
	Migrate bool
	// Logger receives the warnings of Check about harmful settings. If it is nil, nothing is logged.
	Logger *slog.Logger
}

// Open opens a database with a driver that the caller has imported. It calls Migrate if opts.Migrate is set, and
// then Check. If the tables have a version that this program cannot use, the error is a *SchemaError. If opts is
// nil, the defaults apply. The caller closes the database.
//
// On SQLite the pool has one connection, which goroutines use in turn. Each connection has a busy_timeout
// of five seconds, journal_mode WAL and synchronous FULL, whatever the DSN says. Do not set another journal_mode in the
// DSN: a second process then fails, because the driver tries to change the mode of an open database.
func Open(ctx context.Context, driver, dsn string, dialect Dialect, opts *OpenOptions) (*sql.DB, error) {
	if opts == nil {
		opts = new(OpenOptions)
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, fmt.Errorf("hotelstayssql: Open: %w", err)
	}
	if dialect == SQLite {
		connector := sqliteConnector{db.Driver(), dsn}
		_ = db.Close() // db has no connection yet, so Close loses nothing
		db = sql.OpenDB(connector)
		db.SetMaxOpenConns(1)
	}
	if opts.Migrate {
		err = Migrate(ctx, db, dialect)
	}
	if err == nil {
		err = Check(ctx, db, dialect, opts.Logger)
	}
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// sqliteConnector sets pragmas on each new connection, because each driver names them differently in its DSN.
type sqliteConnector struct {
	driver driver.Driver
	dsn    string
}

func (c sqliteConnector) Driver() driver.Driver { return c.driver }

func (c sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		err = errors.New("the SQLite driver does not implement driver.ExecerContext; use another driver")
	}
	// busy_timeout is first, because a change of journal_mode may have to wait for other processes.
	for _, pragma := range []string{"busy_timeout = 5000", "journal_mode = wal", "synchronous = full"} {
		if err == nil {
			_, err = execer.ExecContext(ctx, "PRAGMA "+pragma, nil)
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}
