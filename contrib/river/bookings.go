// Bookings: what they are made of, and how River is told of them.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

const (
	// DefaultQueue is the River queue of the jobs.
	DefaultQueue = "hotelstays_bookings"
	// DefaultBookTimeout is how long Book may take.
	DefaultBookTimeout = 2 * time.Minute
	// DefaultMaxWorkers is how many recoveries a process works on at once.
	DefaultMaxWorkers = 10
	// DefaultRescueAfter is when a job of a process that died is given to another one.
	DefaultRescueAfter = 2 * time.Minute

	// workTimeout bounds one run of a job: a poll, which ends after 20 seconds, and
	// OnEnd.
	workTimeout = time.Minute
	// clockMargin is by how much the clocks of two machines may differ.
	clockMargin = 5 * time.Second
	// storePatience bounds what is stored after Book, when the caller's ctx may be over.
	storePatience = 10 * time.Second
)

// Config is what Bookings are made of. New copies it.
type Config struct {
	// Client books, and asks for orders. Required.
	Client *hotelstays.Client
	// Pool reaches the database that has River's tables. Required.
	Pool *pgxpool.Pool
	// OnEnd stores what became of a booking. Required. It runs in the transaction that
	// completes the job: what it does with tx is committed together with that, once, or
	// not at all. It may be called again after a transaction that failed, so that it
	// must do nothing outside tx that cannot be done twice. It must be safe for
	// concurrent use. Its ctx lasts ten seconds in Book and at least half a minute in a
	// worker; PostgreSQL ends a transaction that it leaves idle for a minute. In a worker,
	// errors made by river.JobCancel and river.JobSnooze mean to River what they always
	// do: the first gives the booking up.
	OnEnd func(ctx context.Context, tx pgx.Tx, ending *Ending) error
	// BookTimeout bounds Book, and is how long a job waits for it. Default:
	// DefaultBookTimeout.
	BookTimeout time.Duration
	// Queue is the River queue. Default: DefaultQueue. Each account needs one of its
	// own: a booking can be asked for by its own account alone.
	Queue string
	// MaxWorkers is how many recoveries this process works on at once. Default:
	// DefaultMaxWorkers.
	MaxWorkers int
	// Schema is where River's tables are. Default: the connection's search_path.
	Schema string
	// Hooks, Middleware and Plugins are River's, for the insertion of the jobs. Give those
	// of your River client's Config, and EnqueueTx inserts as that client does. They may
	// add to a job's metadata; its arguments, kind and state this package reads and writes
	// itself. Default: none.
	Hooks      []rivertype.Hook
	Middleware []rivertype.Middleware
	Plugins    []rivertype.Plugin
	// Logger receives what needs a look. Default: none.
	Logger *slog.Logger
}

// Bookings makes bookings that survive their process. Create it with New. It is safe
// for concurrent use.
type Bookings struct {
	cfg     Config
	account string // the fingerprint of the client's recoveries
	jobs    jobTable
	river   *river.Client[pgx.Tx] // inserts, and works nothing
	idle    time.Duration         // how long a transaction may lie idle
}

// New returns Bookings. It connects to nothing. Its error names all that is wrong with
// the Config at once.
func New(cfg Config) (*Bookings, error) {
	var problems []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf("hotelstaysriver: Config."+format, args...))
		}
	}
	refuse(cfg.Client == nil, "Client is required")
	refuse(cfg.Pool == nil, "Pool is required")
	refuse(cfg.OnEnd == nil, "OnEnd is required: it stores what became of a booking")
	refuse(cfg.BookTimeout < 0, "BookTimeout is %s; it must not be negative", cfg.BookTimeout)
	refuse(cfg.MaxWorkers < 0 || cfg.MaxWorkers > river.QueueNumWorkersMax, "MaxWorkers is %d; it must lie between 1 and %d, or be 0 for %d", cfg.MaxWorkers, river.QueueNumWorkersMax, DefaultMaxWorkers)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if cfg.BookTimeout == 0 {
		cfg.BookTimeout = DefaultBookTimeout
	}
	if cfg.Queue == "" {
		cfg.Queue = DefaultQueue
	}
	if cfg.MaxWorkers == 0 {
		cfg.MaxWorkers = DefaultMaxWorkers
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	inserter, err := river.NewClient(riverpgxv5.New(cfg.Pool), &river.Config{Schema: cfg.Schema, Logger: cfg.Logger,
		Hooks: cfg.Hooks, Middleware: cfg.Middleware, Plugins: cfg.Plugins})
	if err != nil {
		return nil, fmt.Errorf("hotelstaysriver: %w", err)
	}
	return &Bookings{
		cfg:     cfg,
		account: cfg.Client.NewBookingRecovery(nil).Fingerprint,
		jobs:    newJobTable(cfg.Schema),
		river:   inserter,
		idle:    workTimeout,
	}, nil
}

// transact runs f in a transaction that PostgreSQL ends when it has lain idle for longer
// than any of ours should. The transaction of an OnEnd that hangs, or of a machine that has
// vanished, would keep the job's lock, for hours by TCP's defaults; and River's rescuer and
// scheduler wait for that lock, with all other jobs of the schema.
func (b *Bookings) transact(ctx context.Context, f func(tx pgx.Tx) error) error {
	begin := fmt.Sprintf("BEGIN; SET LOCAL idle_in_transaction_session_timeout = %d", b.idle.Milliseconds())
	return pgx.BeginTxFunc(ctx, b.cfg.Pool, pgx.TxOptions{BeginQuery: begin}, f)
}

// Configure adds to the configuration of a River client what it needs to work on
// bookings: the worker, the queue, and a bound after which the jobs of a process that
// died go to another one. Call it before river.NewClient, for every process that is to
// work on bookings; one is enough, two survive the end of one.
//
// The bound is River's RescueStuckJobsAfter, and is left alone where it is set. Else it
// becomes DefaultRescueAfter, or a minute above JobTimeout if that is more. River looks
// every 30 seconds, and leaves a job alone that is within its own worker's Timeout.
func (b *Bookings) Configure(cfg *river.Config) error {
	if cfg.Schema != b.cfg.Schema {
		return fmt.Errorf("hotelstaysriver: the River client's schema is %q and Config.Schema is %q; they must be the same", cfg.Schema, b.cfg.Schema)
	}
	if _, taken := cfg.Queues[b.cfg.Queue]; taken {
		return fmt.Errorf("hotelstaysriver: the River client has a queue %q already; give these bookings another one", b.cfg.Queue)
	}
	if cfg.RescueStuckJobsAfter != 0 && cfg.RescueStuckJobsAfter < workTimeout {
		return fmt.Errorf("hotelstaysriver: RescueStuckJobsAfter is %s; it must be at least %s, the time that a poll and OnEnd may take", cfg.RescueStuckJobsAfter, workTimeout)
	}
	if cfg.Workers == nil {
		cfg.Workers = river.NewWorkers()
	}
	if err := river.AddWorkerSafely(cfg.Workers, &worker{b: b}); err != nil {
		return fmt.Errorf("hotelstaysriver: %w", err)
	}
	if cfg.Queues == nil {
		cfg.Queues = map[string]river.QueueConfig{}
	}
	cfg.Queues[b.cfg.Queue] = river.QueueConfig{MaxWorkers: b.cfg.MaxWorkers}
	if cfg.RescueStuckJobsAfter == 0 {
		cfg.RescueStuckJobsAfter = max(DefaultRescueAfter, cfg.JobTimeout+time.Minute)
	}
	return nil
}
