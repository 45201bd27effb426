// The orders in the database. A statement serves SQLite and PostgreSQL.

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
)

const schema = `
	CREATE TABLE IF NOT EXISTS orders (
		reference TEXT PRIMARY KEY,
		next_read BIGINT,        -- milliseconds since 1970; NULL: nothing to read
		data      TEXT NOT NULL  -- the order as JSON
	);
	CREATE INDEX IF NOT EXISTS orders_next_read ON orders (next_read)`

type database struct {
	*sql.DB
	dialect hotelstayssql.Dialect
}

// openDatabase opens PostgreSQL at a URL, or without one a SQLite file, and creates missing
// tables. A real engine creates them when it is deployed. Close it.
func openDatabase(ctx context.Context, file, postgres string, log *slog.Logger) (*database, error) {
	driver, dsn, dialect := "pgx", postgres, hotelstayssql.PostgreSQL
	if postgres == "" {
		driver, dialect = "sqlite", hotelstayssql.SQLite
		dsn = "file:" + url.PathEscape(file) + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)"
	}
	pool, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	db := &database{pool, dialect}
	if err := db.prepare(ctx, log); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func (db *database) prepare(ctx context.Context, log *slog.Logger) error {
	if err := hotelstayssql.Migrate(ctx, db.DB, db.dialect); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return err
	}
	warnings, err := hotelstayssql.Check(ctx, db.DB, db.dialect)
	for _, w := range warnings {
		log.WarnContext(ctx, "a setting of the database does harm", "setting", w.String())
	}
	return err
}

// inTx commits what fn writes, or nothing.
func (db *database) inTx(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// order returns an order, or errNoOrder.
func (db *database) order(ctx context.Context, reference string) (order, error) {
	return scan(db.QueryRowContext(ctx, `SELECT next_read, data FROM orders WHERE reference = $1`, reference))
}

func scan(row *sql.Row) (o order, err error) {
	var next sql.NullInt64
	var data []byte
	if err := row.Scan(&next, &data); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = errNoOrder
		}
		return o, err
	}
	if next.Valid {
		o.NextRead = time.UnixMilli(next.Int64)
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, fmt.Errorf("a row of orders is unreadable: %w", err)
	}
	return o, nil
}

// put stores an order.
func put(ctx context.Context, tx *sql.Tx, o order) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	next := sql.NullInt64{Int64: o.NextRead.UnixMilli(), Valid: !o.NextRead.IsZero()}
	_, err = tx.ExecContext(ctx, `INSERT INTO orders (reference, next_read, data) VALUES ($1, $2, $3)
		ON CONFLICT (reference) DO UPDATE SET next_read = $2, data = $3`, o.Checkout.Reference, next, string(data))
	return err
}

// change changes an order, or returns errNoOrder. It writes before it reads: this locks the
// row.
func change(ctx context.Context, tx *sql.Tx, reference string, how func(*order)) error {
	o, err := scan(tx.QueryRowContext(ctx, `UPDATE orders SET data = data WHERE reference = $1 RETURNING next_read, data`, reference))
	if err != nil {
		return err
	}
	how(&o)
	return put(ctx, tx, o)
}

// claim returns the references of up to limit orders to read now. They are due again at the
// end of the lease, because this process may die.
func (db *database) claim(ctx context.Context, now, lease time.Time, limit int) (due []string, err error) {
	rows, err := db.QueryContext(ctx, `UPDATE orders SET next_read = $1 WHERE next_read <= $2 AND reference IN
		(SELECT reference FROM orders WHERE next_read <= $2 ORDER BY next_read LIMIT $3) RETURNING reference`,
		lease.UnixMilli(), now.UnixMilli(), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var reference string
		if err := rows.Scan(&reference); err != nil {
			return nil, err
		}
		due = append(due, reference)
	}
	return due, rows.Err()
}
