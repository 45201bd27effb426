// The orders in the database.

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"os"

	_ "modernc.org/sqlite"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
)

const schema = `
	CREATE TABLE IF NOT EXISTS orders (
		reference TEXT PRIMARY KEY,
		data      TEXT NOT NULL -- the order as JSON
	)`

type database struct{ *sql.DB }

// openDatabase opens the file of a SQLite, and creates missing tables. A real engine creates them
// when it is deployed. Close it.
func openDatabase(ctx context.Context, file string, log *slog.Logger) (_ *database, err error) {
	if err := private(file); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite",
		"file:"+url.PathEscape(file)+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			db.Close()
		}
	}()
	db.SetMaxOpenConns(1) // goroutines of SQLite take turns
	if err := hotelstayssql.Migrate(ctx, db, hotelstayssql.SQLite); err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, err
	}
	warnings, err := hotelstayssql.Check(ctx, db, hotelstayssql.SQLite)
	for _, w := range warnings {
		log.Warn("a setting of the database does harm", "setting", w.String())
	}
	return &database{db}, err
}

// private creates a file, if it is missing, that only its owner may read: guests' names are in it.
// SQLite gives its -wal and -shm files the same mode.
func private(file string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
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
	return scan(db.QueryRowContext(ctx, `SELECT data FROM orders WHERE reference = $1`, reference))
}

func scan(row *sql.Row) (o order, err error) {
	var data []byte
	err = row.Scan(&data)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return o, errNoOrder
	case err != nil:
		return o, err
	}
	return o, json.Unmarshal(data, &o)
}

// put stores an order.
func put(ctx context.Context, tx *sql.Tx, o order) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO orders (reference, data) VALUES ($1, $2)
		ON CONFLICT (reference) DO UPDATE SET data = $2`, o.Checkout.Reference, string(data))
	return err
}

// change changes an order, or returns errNoOrder. It writes before it reads: this locks the
// row.
func change(ctx context.Context, tx *sql.Tx, reference string, how func(*order)) error {
	o, err := scan(tx.QueryRowContext(ctx, `UPDATE orders SET data = data WHERE reference = $1 RETURNING data`, reference))
	if err != nil {
		return err
	}
	how(&o)
	return put(ctx, tx, o)
}
