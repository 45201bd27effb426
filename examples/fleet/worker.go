// A worker: one process of the fleet. All that it shares with the others is in Redis
// and in PostgreSQL, so that it may die at any point.

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
	// bookTimeout bounds a Book. It is short here, for a dead worker's bookings are
	// asked for no earlier; so many callers must not wait longer for the ceiling.
	bookTimeout = 4 * time.Second
	// eventLease is how long an event waits for a worker that died while it handled
	// it. It is longer than Wake may take.
	eventLease = 7 * time.Second
)

// silent is for what would tell of each crash: here they are made on purpose.
var silent = slog.New(slog.DiscardHandler)

// plan is what a worker is told. It has secrets in it, and goes through standard input:
// arguments and environments can be seen by others.
type plan struct {
	Name                        string
	URL, City                   string
	AppKey, AppSecret           string
	TokenKey, WebhookSecret     string
	Callback                    string
	RedisAddr, Prefix           string
	PostgresURL, Schema         string
	Workers, Bookers, Searchers int
	Margin                      time.Duration // of the ceilings
}

// begin is what a worker is told when all are ready.
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

// work is the life of a worker. It is told its plan, says where webhooks may be delivered,
// is told to begin, and works until in ends.
func work(in io.Reader, out io.Writer) error {
	w, told := &worker{}, json.NewDecoder(in)
	if err := told.Decode(&w.plan); err != nil {
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
	switch err := told.Decode(&b); {
	case errors.Is(err, io.EOF): // it is not needed any more
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

// connect makes the client and what it shares with the other workers.
func (w *worker) connect(ctx context.Context) (err error) {
	w.redis = redis.NewClient(&redis.Options{Addr: w.RedisAddr})
	tokens, err := hotelstaysredis.NewTokenStore(w.redis, hotelstaysredis.TokenStoreOptions{
		Keys: []types.Secret{types.NewSecret(w.TokenKey)}, Prefix: w.Prefix})
	if err != nil {
		return err
	}
	ceilings, err := hotelstaysredis.NewRateLimiter(w.redis, hotelstaysredis.RateLimiterOptions{
		Prefix: w.Prefix, Margin: w.Margin, FallbackProcesses: w.Workers})
	if err != nil {
		return err
	}
	if w.events, err = hotelstaysredis.NewEventStore(w.redis, hotelstaysredis.EventStoreOptions{Prefix: w.Prefix}); err != nil {
		return err
	}
	w.client, err = hotelstays.New(w.URL, hotelstays.TicketCredential{AppKey: w.AppKey, AppSecret: types.NewSecret(w.AppSecret)},
		hotelstays.WithTokenStore(tokens), hotelstays.WithRateLimiter(ceilings),
		hotelstays.WithUserAgent(w.Name)) // the ledger tells workers apart by it
	if err != nil {
		return err
	}
	if w.db, err = openDatabase(ctx, w.PostgresURL, w.Schema); err != nil {
		return err
	}
	w.bookings, err = hotelstaysriver.New(hotelstaysriver.Config{
		Client: w.client, Pool: w.db.Pool, Schema: w.Schema, OnEnd: storeEnding, BookTimeout: bookTimeout, Logger: silent})
	return err
}

// prepare finds what is to be booked, and a place for webhooks.
func (w *worker) prepare(ctx context.Context) (listener net.Listener, err error) {
	if w.offer, err = findOffer(ctx, w.client, w.City); err != nil {
		return nil, err
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// run works until ctx ends, and then stops in the order in which one thing uses the
// next: webhooks, bookings, jobs.
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

// startJobs starts what finds out about bookings whose outcome is unknown.
func (w *worker) startJobs(ctx context.Context) (*river.Client[pgx.Tx], error) {
	cfg := &river.Config{Schema: w.Schema, Logger: silent, FetchPollInterval: 200 * time.Millisecond} // as hurry wants it
	if err := w.bookings.Configure(cfg); err != nil {
		return nil, err
	}
	jobs, err := river.NewClient(riverpgxv5.New(w.db.Pool), cfg)
	if err != nil {
		return nil, err
	}
	return jobs, until(ctx, "the database answers", 30*time.Second, func(ctx context.Context) bool {
		return jobs.Start(context.WithoutCancel(ctx)) == nil // Stop ends them, gently
	})
}

// handle is called once for each event, whichever worker it is delivered to, and again
// when that worker dies before it has said that it is done. A real one makes its change
// so that a second time does nothing; this one adds a row, so that a second time shows.
func (w *worker) handle(ctx context.Context, event *hotelstays.WebhookEvent) error {
	if err := w.bookings.Wake(ctx, event.CustomerReferenceNo); err != nil {
		return err
	}
	_, err := w.db.Exec(ctx, `INSERT INTO handled (event, worker) VALUES ($1, $2)`, event.ID, w.Name)
	return err
}
