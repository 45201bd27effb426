// The database: a schema with River's tables and the fleet's.

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

// maxRounds is how often a booking without an order is tried.
const maxRounds = 5

// tables are the fleet's tables. A booking is new, pending, or the outcome of its last round.
const tables = `
	CREATE TABLE bookings (reference text PRIMARY KEY, state text NOT NULL DEFAULT 'new', order_no text NOT NULL DEFAULT '',
		rounds int NOT NULL DEFAULT 0, claimed_until timestamptz NOT NULL DEFAULT '-infinity');
	CREATE TABLE rounds (reference text NOT NULL, state text NOT NULL);
	CREATE TABLE handled (event text NOT NULL, worker text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())`

type database struct {
	*pgxpool.Pool
	schema string
}

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

// createDatabase creates a schema and the wanted bookings.
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

func (d *database) drop() {
	_, _ = d.Exec(context.Background(), "DROP SCHEMA IF EXISTS "+d.schema+" CASCADE")
	d.Close()
}

// ended counts the bookings that will not be tried again. It waits if the database restarts.
func (d *database) ended(ctx context.Context) (n int, err error) {
	err = until(ctx, "the database answers", 30*time.Second, func(ctx context.Context) bool {
		return d.QueryRow(ctx, `SELECT count(*) FROM bookings WHERE state = 'found'
			OR state IN ('absent', 'refused') AND rounds = $1`, maxRounds).Scan(&n) == nil
	})
	return n, err
}

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
