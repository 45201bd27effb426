// The database: a schema of the program's own with River's tables and the fleet's, and
// what the director does in it.

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// maxRounds is how often a booking is tried that came to nothing.
const maxRounds = 5

// tables are the fleet's. A booking is new, pending, or what its last round ended as.
const tables = `
	CREATE TABLE bookings (reference text PRIMARY KEY, state text NOT NULL DEFAULT 'new', order_no text NOT NULL DEFAULT '', rounds int NOT NULL DEFAULT 0,
		claimed_until timestamptz NOT NULL DEFAULT '-infinity');
	CREATE TABLE endings (reference text NOT NULL, state text NOT NULL);
	CREATE TABLE handled (event text NOT NULL, worker text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())`

// database is the director's way into it.
type database struct {
	*pgxpool.Pool
	schema string
}

// openDatabase connects to a schema.
func openDatabase(ctx context.Context, url, schema string) (*database, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.ConnConfig.RuntimeParams["search_path"] = schema
	cfg.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	return &database{pool, schema}, err
}

// createDatabase makes the schema, and the bookings that are to be made.
func createDatabase(ctx context.Context, url string, bookings int) (*database, error) {
	db, err := openDatabase(ctx, url, fmt.Sprintf("fleet_%d", time.Now().UnixNano()))
	if err != nil {
		return nil, err
	}
	if err := db.create(ctx, bookings); err != nil {
		db.drop()
		return nil, err
	}
	return db, nil
}

func (d *database) create(ctx context.Context, bookings int) error {
	if _, err := d.Exec(ctx, "CREATE SCHEMA "+d.schema); err != nil {
		return err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(d.Pool), &rivermigrate.Config{Schema: d.schema, Logger: silent})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	if _, err := d.Exec(ctx, tables); err != nil {
		return err
	}
	_, err = d.Exec(ctx, `INSERT INTO bookings (reference) SELECT 'fleet-' || n FROM generate_series(1, $1) n`, bookings)
	return err
}

// drop leaves nothing behind.
func (d *database) drop() {
	_, _ = d.Exec(context.Background(), "DROP SCHEMA IF EXISTS "+d.schema+" CASCADE")
	d.Close()
}

// ended counts the bookings that will not be tried again. It waits for a database that
// is away.
func (d *database) ended(ctx context.Context) (n int, err error) {
	err = until(ctx, "the database answers", 30*time.Second, func(ctx context.Context) bool {
		return d.QueryRow(ctx, `SELECT count(*) FROM bookings WHERE state IN ('found', 'reused')
			OR state IN ('absent', 'failed') AND rounds = $1`, maxRounds).Scan(&n) == nil
	})
	return n, err
}

// booking is a row of the fleet's bookings, handling is one of an event.
type (
	booking  struct{ Reference, State, OrderNo string }
	handling struct {
		Event, Worker string
		At            time.Time
	}
)

func readAll[T any](ctx context.Context, d *database, sql string) ([]T, error) {
	rows, err := d.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}
