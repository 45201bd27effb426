// A worker is one process of the service. It may die at any point, because another process finds all that it needs in
// the database.

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstaysredis"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/types"
)

// config has the settings that all workers share.
type config struct {
	URL, City, AppKey, AppSecret, WebhookSecret string
	Dialect                                     hotelstayssql.Dialect
	DSN                                         string
	Key                                         []byte // key that encrypts the token and the requests in the database
	Redis                                       string // host:port of Redis; if it is empty, the processes do not share the rate limits
}

const (
	// bookers and searchers are the numbers of concurrent bookings and searches of a process.
	bookers, searchers = 3, 3
	// bookTimeout is short, because the sandbox answers late on purpose, and the bookings of a dead
	// worker wait until bookTimeout is over. Keep the default of two minutes in production.
	bookTimeout = 2 * time.Second
	// grace is the time limit of an orderly stop. It is long enough for a Send and a poll.
	grace = bookTimeout + 30*time.Second
)

type worker struct {
	config
	db      *sql.DB
	client  *hotelstays.Client
	journal *hotelstayssql.Journal
	offer   hotelstays.BookRequest // template of a request, without the reference and the guests
}

// work runs a worker until ctx ends. The worker prints its address as soon as the worker can receive webhooks.
func work(ctx context.Context, cfg config) error {
	w, err := newWorker(ctx, cfg)
	if err != nil {
		return err
	}
	defer w.db.Close()
	if w.offer, err = w.search(ctx); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return w.run(ctx, listener)
}

// newWorker creates the client, and the stores that all workers share. In production pass a Logger to each
// part. Here the log would be full of injected failures.
func newWorker(ctx context.Context, cfg config) (w *worker, err error) {
	w = &worker{config: cfg}
	if w.db, err = openDatabase(ctx, cfg, nil); err != nil {
		return nil, err
	}
	keys := []types.Secret{types.NewSecret(string(cfg.Key))}
	tokens, err := hotelstayssql.NewTokenStore(w.db, cfg.Dialect, hotelstayssql.TokenStoreOptions{Keys: keys})
	if err != nil {
		return nil, err
	}
	opts := []hotelstays.Option{hotelstays.WithTokenStore(tokens)}
	if cfg.Redis != "" {
		limiter, err := hotelstaysredis.NewRateLimiter(redis.NewClient(&redis.Options{Addr: cfg.Redis}),
			&hotelstaysredis.RateLimiterOptions{Prefix: "hotelstays:fleet", Margin: 100 * time.Millisecond})
		if err != nil {
			return nil, err
		}
		opts = append(opts, hotelstays.WithRateLimiter(limiter))
	}
	credential := hotelstays.TicketCredential{AppKey: cfg.AppKey, AppSecret: types.NewSecret(cfg.AppSecret)}
	if w.client, err = hotelstays.New(cfg.URL, credential, opts...); err != nil {
		return nil, err
	}
	w.journal, err = hotelstayssql.NewJournal(w.db, cfg.Dialect, hotelstayssql.JournalOptions{
		Client: w.client, OnOutcome: storeOutcome, Keys: keys, BookTimeout: bookTimeout,
		PollInterval: 100 * time.Millisecond, // short, because in this program one minute of a recovery takes one second
	})
	return w, err
}

var drivers = map[hotelstayssql.Dialect]string{hotelstayssql.PostgreSQL: "pgx", hotelstayssql.SQLite: "sqlite"}

func openDatabase(ctx context.Context, cfg config, opts *hotelstayssql.OpenOptions) (*sql.DB, error) {
	db, err := hotelstayssql.Open(ctx, drivers[cfg.Dialect], cfg.DSN, cfg.Dialect, opts)
	if err == nil && cfg.Dialect == hotelstayssql.PostgreSQL {
		db.SetMaxOpenConns(10) // limited, because all processes together must stay below the server's limit of connections
	}
	return db, err
}

func (w *worker) run(ctx context.Context, listener net.Listener) error {
	handler, err := hotelstayssql.NewWebhookHandler(w.journal, hotelstays.WebhookOptions{
		Secrets: []types.Secret{types.NewSecret(w.WebhookSecret)}}, storeEvent)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() { stop(server.Serve(listener)) }()
	polling, endPolls := context.WithCancel(context.WithoutCancel(ctx))
	var polls, callers sync.WaitGroup
	polls.Go(func() { stop(w.journal.Run(polling)) }) // Run fails immediately if the tables have another version
	for range bookers {
		callers.Go(func() { w.book(ctx) })
	}
	if w.Redis != "" {
		for range searchers {
			callers.Go(func() { w.searchOn(ctx) })
		}
	}
	<-ctx.Done()

	// First stop the webhooks: other workers receive the next deliveries. Then let the bookings end, because an
	// answer to Book saves ten minutes of polls. Last stop the polls: other workers continue with them.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err = server.Shutdown(ending)
	callers.Wait()
	endPolls()
	polls.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// storeEvent stores an event. Its row is committed once, even if several processes receive the event and its duplicates.
func storeEvent(ctx context.Context, tx *sql.Tx, event *hotelstays.WebhookEvent) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO events (id) VALUES ($1)`, event.ID)
	return err
}
