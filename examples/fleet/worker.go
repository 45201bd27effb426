// A worker: one process of the fleet. It shares everything with the others in Redis and
// PostgreSQL, so it may die at any point.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstaysredis "github.com/hotelstays/hotelstays-go/contrib/redis"
	hotelstaysriver "github.com/hotelstays/hotelstays-go/contrib/river"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// bookTimeout bounds a Book, including the wait for the rate limit. It is short here,
	// because the bookings of a dead worker wait for it.
	bookTimeout = 4 * time.Second
	// eventLease is how long an event waits for a worker that died. It is longer than Wake
	// may take.
	eventLease = 7 * time.Second
)

// silent drops log lines about crashes, which are made on purpose here.
var silent = slog.New(slog.DiscardHandler)

// plan configures a worker. It contains secrets, so it goes through standard input: others can
// see arguments and environments.
type plan struct {
	Name                        string
	URL, City                   string
	AppKey, AppSecret           string
	TokenKey, WebhookSecret     string
	Callback                    string
	RedisAddr, Prefix           string
	PostgresURL, Schema         string
	Workers, Bookers, Searchers int
	Margin                      time.Duration // of the rate limits
}

// begin starts a worker when all are ready.
type begin struct{ SearchUntil time.Time }

// worker is the process.
type worker struct {
	plan
	redis    *redis.Client
	db       *database
	client   *hotelstays.Client
	bookings *hotelstaysriver.Bookings
	events   *hotelstaysredis.EventStore
	offer    offer
}

// work runs a worker. It reads its plan, prints the address for webhooks, reads begin, and
// works until in ends.
func work(in io.Reader, out io.Writer) error {
	w, input := &worker{}, json.NewDecoder(in)
	if err := input.Decode(&w.plan); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := w.connect(ctx); err != nil {
		return fmt.Errorf("%s: %w", w.Name, err)
	}
	defer w.redis.Close()
	defer w.db.Close()
	defer w.client.CloseIdleConnections()
	listener, err := w.prepare(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", w.Name, err)
	}
	fmt.Fprintln(out, "http://"+listener.Addr().String())
	var b begin
	switch err := input.Decode(&b); {
	case errors.Is(err, io.EOF): // no longer needed
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", w.Name, err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		stop()
	}()
	return w.run(ctx, listener, b.SearchUntil)
}

// connect creates the client and the stores that it shares with the other workers.
func (w *worker) connect(ctx context.Context) (err error) {
	w.redis = redis.NewClient(&redis.Options{Addr: w.RedisAddr})
	tokens, err := hotelstaysredis.NewTokenStore(w.redis, hotelstaysredis.TokenStoreOptions{
		Keys: []types.Secret{types.NewSecret(w.TokenKey)}, Prefix: w.Prefix})
	if err != nil {
		return err
	}
	limiter, err := hotelstaysredis.NewRateLimiter(w.redis, hotelstaysredis.RateLimiterOptions{
		Prefix: w.Prefix, Margin: w.Margin, FallbackProcesses: w.Workers})
	if err != nil {
		return err
	}
	if w.events, err = hotelstaysredis.NewEventStore(w.redis, hotelstaysredis.EventStoreOptions{Prefix: w.Prefix}); err != nil {
		return err
	}
	w.client, err = hotelstays.New(w.URL, hotelstays.TicketCredential{AppKey: w.AppKey, AppSecret: types.NewSecret(w.AppSecret)},
		hotelstays.WithTokenStore(tokens), hotelstays.WithRateLimiter(limiter),
		hotelstays.WithUserAgent(w.Name)) // the ledger identifies workers by it
	if err != nil {
		return err
	}
	if w.db, err = openDatabase(ctx, w.PostgresURL, w.Schema); err != nil {
		return err
	}
	w.bookings, err = hotelstaysriver.New(hotelstaysriver.Config{
		Client: w.client, Pool: w.db.Pool, Schema: w.Schema, OnOutcome: storeOutcome, BookTimeout: bookTimeout, Logger: silent})
	return err
}

// prepare finds an offer, and listens for webhooks.
func (w *worker) prepare(ctx context.Context) (listener net.Listener, err error) {
	if w.offer, err = findOffer(ctx, w.client, w.City); err != nil {
		return nil, err
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// run works until ctx ends, then stops in order: webhooks, bookings, jobs.
func (w *worker) run(ctx context.Context, listener net.Listener, searchUntil time.Time) error {
	handler, err := hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{
		Secrets: []types.Secret{types.NewSecret(w.WebhookSecret)}, Store: w.events, Lease: eventLease,
	}, w.handle)
	if err != nil {
		return err
	}
	jobs, err := w.startJobs(ctx)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener)
	var working sync.WaitGroup
	for range w.Bookers {
		working.Go(func() { w.book(ctx) })
	}
	for range w.Searchers {
		working.Go(func() { w.search(ctx, searchUntil) })
	}
	<-ctx.Done()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookTimeout+5*time.Second)
	defer cancel()
	err = server.Shutdown(grace)
	working.Wait()
	return errors.Join(err, jobs.Stop(grace))
}

// startJobs starts the River client that works on recoveries.
func (w *worker) startJobs(ctx context.Context) (*river.Client[pgx.Tx], error) {
	cfg := &river.Config{Schema: w.Schema, Logger: silent, FetchPollInterval: 200 * time.Millisecond} // for hurry
	if err := w.bookings.Configure(cfg); err != nil {
		return nil, err
	}
	jobs, err := river.NewClient(riverpgxv5.New(w.db.Pool), cfg)
	if err != nil {
		return nil, err
	}
	return jobs, until(ctx, "the database answers", 30*time.Second, func(ctx context.Context) bool {
		return jobs.Start(context.WithoutCancel(ctx)) == nil // Stop ends them
	})
}

// handle is called once for each event in the whole fleet, and again if its worker dies before
// the event is marked as done. A real one must be idempotent; this one adds a row, so that a
// second call is visible.
func (w *worker) handle(ctx context.Context, event *hotelstays.WebhookEvent) error {
	if err := w.bookings.Wake(ctx, event.CustomerReferenceNo); err != nil {
		return err
	}
	_, err := w.db.Exec(ctx, `INSERT INTO handled (event, worker) VALUES ($1, $2)`, event.ID, w.Name)
	return err
}
