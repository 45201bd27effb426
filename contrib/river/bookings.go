// Bookings and their configuration.

package hotelstaysriver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	defaultQueue       = "hotelstays_bookings"
	defaultBookTimeout = 2 * time.Minute
	defaultMaxWorkers  = 10
	defaultRescueAfter = 2 * time.Minute

	// workTimeout bounds one run of a job: a poll of at most 20 seconds, and OnOutcome.
	workTimeout = time.Minute
	// storeTimeout bounds the transaction after Book, when the caller's ctx may have ended.
	storeTimeout = 10 * time.Second
)

// Config configures Bookings. New copies it.
type Config struct {
	// Client sends Book and polls for orders. Required.
	Client *hotelstays.Client
	// Keys encrypt the requests that wait for Send, and the orders that are followed. Required: at least one of 32 random bytes, not
	// hex or base64 text. The first key encrypts, and all keys decrypt.
	Keys []types.Secret
	// Pool connects to the database with River's tables. Required.
	Pool *pgxpool.Pool
	// OnOutcome stores the outcome of a booking. Required. It runs in the transaction that ends
	// the booking: what it does with tx is committed together with that, or not at all. If the
	// transaction fails, OnOutcome is called again later, so everything it does outside tx must
	// be repeatable. It must be safe for concurrent use, and must not commit tx.
	//
	// State is BookingFound or BookingAbsent. Err is nil, or the refusal or the reason why
	// nothing was sent (BookingAbsent), or a *hotelstays.ReferenceReusedError: the order is
	// not the expected one (BookingFound). Changes lists what the order has otherwise than
	// expected, such as its price. Recovery has the reference, and the session that Cancel needs.
	// ctx lasts ten seconds after a Book, and at least half a minute after a worker's poll.
	//
	// PostgreSQL ends a transaction that is idle for a minute. After a worker's poll, river.JobCancel
	// and river.JobSnooze work as in any job; the first gives the booking up.
	OnOutcome func(ctx context.Context, tx pgx.Tx, outcome *hotelstays.BookingOutcome) error
	// OnCancel stores how a cancellation of CancelTx has ended. It is like OnOutcome, and needed only
	// by processes that use CancelTx: those without it leave cancellations to others.
	//
	// Ending and Err say how it ended, Cost is what it should have cost before it was sent, and
	// ServiceFee is what the service says.
	OnCancel func(ctx context.Context, tx pgx.Tx, cancellation *durable.Cancellation) error
	// OnOrder, if set, makes workers follow the order of each booking that is found, until it is
	// settled: cancelled, or confirmed and two days past its check-in, or two days past its check-out.
	// It is called once for each change that a read shows, such as of the status or a hotelConfirmNo
	// that comes later, in the transaction that stores the change; it is like OnOutcome otherwise.
	// before is the order of OnOutcome, or of the last call; nil if no key of Keys decrypts it any
	// more. An order that was confirmed or cancelled already when OnOutcome received it is no change: let
	// OnOutcome store it by the same function.
	//
	// An order is read after a quarter of the time since its last change or Wake, but at least a
	// minute and at most twelve hours later.
	OnOrder func(ctx context.Context, tx pgx.Tx, before, after *types.Order) error
	// BookTimeout bounds Book and Send, with their wait for the rate limit. Any positive duration
	// is allowed. Default: 2 minutes.
	//
	// It and durable.ClockMargin, five seconds, are how long a booking waits for Send before a
	// worker sends it, and how long one of a process that died in Send waits for the first poll.
	BookTimeout time.Duration
	// Queue is the River queue. Default: "hotelstays_bookings". Use one queue for each
	// account, because only the account that booked can poll for an order.
	Queue string
	// MaxWorkers is how many polls, and Books, the workers of this process make at once. Default: 10.
	MaxWorkers int
	// Schema is where River's tables are. Default: the connection's search_path.
	Schema string
	// Hooks, Middleware and Plugins are River's, and run when jobs are inserted. Pass those
	// of your River client's Config, so that BeginTx inserts as that client does. They may
	// add to a job's metadata, but must not change its arguments, kind or state.
	Hooks      []rivertype.Hook
	Middleware []rivertype.Middleware
	Plugins    []rivertype.Plugin
	// Logger receives warnings. Default: none.
	Logger *slog.Logger
}

// Bookings makes bookings that survive their process. Create it with New. It is safe for
// concurrent use.
type Bookings struct {
	cfg      Config
	keys     *keyring.Ring
	account  string // the fingerprint of the client's recoveries
	bookings jobs[bookingArgs]
	cancels  jobs[cancelArgs]
	orders   jobs[orderArgs]
	river    *river.Client[pgx.Tx] // only inserts
	idle     time.Duration         // how long a transaction may be idle
	watchers hotelstays.WakeHub
	working  sync.Map // the ids of the jobs that this process works on
}

var _ durable.Bookings[pgx.Tx] = (*Bookings)(nil)

// New returns Bookings. It opens no connection. Its error names every invalid field of the
// Config.
func New(cfg Config) (*Bookings, error) {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf("hotelstaysriver: Config."+format, args...))
		}
	}
	check(cfg.Client != nil, "Client is required")
	check(cfg.Pool != nil, "Pool is required")
	check(cfg.OnOutcome != nil, "OnOutcome is required")
	check(cfg.BookTimeout >= 0, "BookTimeout is %s; it must not be negative", cfg.BookTimeout)
	check(cfg.MaxWorkers >= 0 && cfg.MaxWorkers <= river.QueueNumWorkersMax,
		"MaxWorkers is %d; it must be between 1 and %d, or 0 for %d", cfg.MaxWorkers, river.QueueNumWorkersMax, defaultMaxWorkers)
	keys, err := keyring.New(cfg.Keys)
	check(err == nil, "Keys: %w", err)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	cfg.BookTimeout = cmp.Or(cfg.BookTimeout, defaultBookTimeout)
	cfg.Queue = cmp.Or(cfg.Queue, defaultQueue)
	cfg.MaxWorkers = cmp.Or(cfg.MaxWorkers, defaultMaxWorkers)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	inserter, err := river.NewClient(riverpgxv5.New(cfg.Pool), &river.Config{Schema: cfg.Schema, Logger: cfg.Logger,
		Hooks: cfg.Hooks, Middleware: cfg.Middleware, Plugins: cfg.Plugins})
	if err != nil {
		return nil, fmt.Errorf("hotelstaysriver: %w", err)
	}
	account := cfg.Client.NewBookingRecovery(nil).Fingerprint
	return &Bookings{
		cfg:      cfg,
		keys:     keys,
		account:  account,
		bookings: jobsOf[bookingArgs](cfg.Schema, account),
		cancels:  jobsOf[cancelArgs](cfg.Schema, account),
		orders:   jobsOf[orderArgs](cfg.Schema, account),
		river:    inserter,
		idle:     workTimeout,
	}, nil
}

// transact runs f in a transaction that PostgreSQL ends when it is idle for too long. A
// hanging OnOutcome, or a machine that has vanished, would keep the lock on its job for hours
// by TCP's defaults, and River's rescuer and scheduler wait for that lock.
func (b *Bookings) transact(ctx context.Context, f func(tx pgx.Tx) error) error {
	begin := fmt.Sprintf("BEGIN; SET LOCAL idle_in_transaction_session_timeout = %d", b.idle.Milliseconds())
	return pgx.BeginTxFunc(ctx, b.cfg.Pool, pgx.TxOptions{BeginQuery: begin}, f)
}

// deliver runs f, which calls a function of the Config, as transact does, and wakes who watches the
// reference after the commit.
func (b *Bookings) deliver(ctx context.Context, reference string, f func(tx pgx.Tx) error) error {
	err := b.transact(ctx, f)
	if err == nil {
		b.watchers.Wake(reference)
	}
	return err
}

// Configure adds the worker and the queue to the configuration of a River client. Call it
// before river.NewClient, in every process that works on bookings; one process is enough,
// two survive the end of one.
//
// It also sets RescueStuckJobsAfter, unless it is set: to 2 minutes, or a minute more than
// JobTimeout if that is longer. After that time the job of a dead process goes to another
// one. River looks every 30 seconds.
func (b *Bookings) Configure(cfg *river.Config) error {
	if cfg.Schema != b.cfg.Schema {
		return fmt.Errorf("hotelstaysriver: the River client's schema is %q and Config.Schema is %q; they must be the same",
			cfg.Schema, b.cfg.Schema)
	}
	if _, taken := cfg.Queues[b.cfg.Queue]; taken {
		return fmt.Errorf("hotelstaysriver: the River client has a queue %q already; set another Config.Queue", b.cfg.Queue)
	}
	if cfg.RescueStuckJobsAfter != 0 && cfg.RescueStuckJobsAfter < workTimeout {
		return fmt.Errorf("hotelstaysriver: RescueStuckJobsAfter is %s; it must be at least %s, which a poll and OnOutcome may take",
			cfg.RescueStuckJobsAfter, workTimeout)
	}
	if cfg.Workers == nil {
		cfg.Workers = river.NewWorkers()
	}
	cancels := &worker[cancelArgs]{b: b, others: b.cfg.OnCancel == nil, step: b.workCancel,
		timeout: func(cancelArgs) time.Duration { return b.cfg.BookTimeout + workTimeout }}
	orders := &worker[orderArgs]{b: b, others: b.cfg.OnOrder == nil, step: b.stepOrder,
		timeout: func(orderArgs) time.Duration { return workTimeout }}
	if err := cmp.Or(river.AddWorkerSafely(cfg.Workers, b.bookingWorker()), river.AddWorkerSafely(cfg.Workers, cancels),
		river.AddWorkerSafely(cfg.Workers, orders)); err != nil {
		return fmt.Errorf("hotelstaysriver: %w", err)
	}
	if cfg.Queues == nil {
		cfg.Queues = map[string]river.QueueConfig{}
	}
	cfg.Queues[b.cfg.Queue] = river.QueueConfig{MaxWorkers: b.cfg.MaxWorkers}
	if cfg.RescueStuckJobsAfter == 0 {
		cfg.RescueStuckJobsAfter = max(defaultRescueAfter, cfg.JobTimeout+time.Minute)
	}
	return nil
}
