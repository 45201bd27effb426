// The engine: the part of the site that outlives a request. The journal books, follows and cancels orders, also after a restart.

package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	_ "modernc.org/sqlite"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// engine searches, books and cancels for the pages of the site, and stores the orders. It is safe for concurrent use.
type engine struct {
	client   *hotelstays.Client
	service  *service
	db       *sql.DB
	journal  *hotelstayssql.Journal
	webhooks *hotelstays.WebhookHandler // nil if there is no callback URL
	log      *slog.Logger

	// These caches keep only the latest searches, offers and checkouts, in memory. A real engine uses a cache that its
	// processes share.
	searches  *lru.Cache[string, search]
	offers    *lru.Cache[string, checkout] // offers that guests have seen; the site reads prices here, not in the form of a guest
	checkouts *lru.Cache[string, checkout] // by reference
	changing  sync.Mutex                   // locked while a checkout changes

	stop     context.CancelFunc // ends Journal.Run
	sends    context.Context    // context of Journal.Send, which may continue after the end of Journal.Run
	endSends context.CancelFunc
	work     sync.WaitGroup
}

// newEngine returns an engine. It continues the unfinished bookings of an earlier engine.
func newEngine(svc *service, db *sql.DB, log *slog.Logger) (_ *engine, err error) {
	e := &engine{service: svc, db: db, log: log}
	e.searches, _ = lru.New[string, search](1_000) // New fails only if the size is below 1
	e.offers, _ = lru.New[string, checkout](50_000)
	e.checkouts, _ = lru.New[string, checkout](5_000)
	e.client, err = hotelstays.New(svc.BaseURL, svc.credential, append([]hotelstays.Option{
		hotelstays.WithCurrency("EUR"), hotelstays.WithLogger(log), hotelstays.WithTraceIDFrom(pageIDOf)}, svc.options...)...)
	if err != nil {
		return nil, err
	}
	e.journal, err = hotelstayssql.NewJournal(db, hotelstayssql.SQLite, hotelstayssql.JournalOptions{
		Client: e.client, OnOutcome: e.booked, OnOrder: e.changed, OnCancel: e.cancelled,
		Keys: svc.journalKeys, PollInterval: svc.pause, SingleProcess: true, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	if svc.callbackURL != "" {
		e.webhooks, err = hotelstayssql.NewWebhookHandler(e.journal, hotelstays.WebhookOptions{
			Secrets: []types.Secret{svc.webhookSecret},
			OnError: func(_ *http.Request, err error) { log.Warn("webhook rejected or failed", "error", err) },
		}, e.event)
		if err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	e.sends, e.endSends = context.WithCancel(context.Background())
	e.work.Go(func() {
		if err := e.journal.Run(ctx); err != nil {
			log.Error("the journal has stopped: open bookings wait for the next start", "error", err)
		}
	})
	return e, nil
}

func (e *engine) close() {
	e.stop()
	defer time.AfterFunc(10*time.Second, e.endSends).Stop() // Book gets ten more seconds, because its answer saves ten minutes of polls
	e.work.Wait()
	e.client.CloseIdleConnections()
}

// booked stores the outcome of a booking, in the transaction that ends the booking in the journal.
func (e *engine) booked(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
	reference := outcome.Recovery.CustomerReferenceNo
	e.log.InfoContext(ctx, "booking", "reference", reference, "outcome", outcome.State, "error", outcome.Err)
	return change(ctx, tx, reference, func(o *order) { o.settle(outcome, e.client.StatusMeanings()) })
}

func (e *engine) changed(ctx context.Context, tx *sql.Tx, c *durable.OrderChange) error {
	return change(ctx, tx, c.After.CustomerReferenceNo, func(o *order) { o.read(c.After, e.client.StatusMeanings()) })
}

func (e *engine) cancelled(ctx context.Context, tx *sql.Tx, c *durable.Cancellation) error {
	e.log.InfoContext(ctx, "cancellation ended", "reference", c.CustomerReferenceNo, "ending", c.Ending, "error", c.Err)
	return change(ctx, tx, c.CustomerReferenceNo, func(o *order) { o.cancelled(c) })
}

// event only logs a webhook, because the journal reads the order when event has returned.
func (e *engine) event(ctx context.Context, _ *sql.Tx, event *hotelstays.WebhookEvent) error {
	e.log.InfoContext(ctx, "event", "kind", event.Kind, "reference", event.CustomerReferenceNo)
	return nil
}

// openDatabase opens a SQLite file, and creates missing tables. A real engine creates tables during its deployment.
func openDatabase(ctx context.Context, file string, log *slog.Logger) (*sql.DB, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	// Only the owner may read the file, because it contains names of guests. SQLite gives its -wal and -shm files the same mode.
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return nil, err
	}
	db, err := hotelstayssql.Open(ctx, "sqlite", "file:"+url.PathEscape(file), hotelstayssql.SQLite,
		&hotelstayssql.OpenOptions{Migrate: true, Logger: log})
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS orders (reference TEXT PRIMARY KEY, data TEXT NOT NULL)`)
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func (e *engine) load(ctx context.Context, reference string) (o order, err error) {
	err = e.db.QueryRowContext(ctx, `SELECT data FROM orders WHERE reference = $1`, reference).Scan(&o)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoOrder
	}
	return o, err
}

func put(ctx context.Context, tx *sql.Tx, o order) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO orders (reference, data) VALUES ($1, $2)
		ON CONFLICT (reference) DO UPDATE SET data = $2`, o.Checkout.Reference, o)
	return err
}

// change changes an order. The UPDATE locks the row before the read, so that two changes do not overwrite each other.
func change(ctx context.Context, tx *sql.Tx, reference string, how func(*order)) error {
	var o order
	row := tx.QueryRowContext(ctx, `UPDATE orders SET data = data WHERE reference = $1 RETURNING data`, reference)
	if err := row.Scan(&o); err != nil {
		return err
	}
	how(&o)
	return put(ctx, tx, o)
}

// Value returns the order as JSON for the database.
func (o order) Value() (driver.Value, error) {
	data, err := json.Marshal(o)
	return string(data), err
}

// Scan decodes the JSON from the database.
func (o *order) Scan(data any) error { return json.Unmarshal(fmt.Appendf(nil, "%s", data), o) }
