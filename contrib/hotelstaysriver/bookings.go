// Bookings and their configuration.

package hotelstaysriver

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/hotelstays/hotelstays-go/durable"
)

const (
	defaultQueue       = "hotelstays_bookings"
	defaultMaxWorkers  = 10 // the default of durable.Options
	defaultRescueAfter = 2 * time.Minute

	// workTimeout bounds a run of a job that does not send Book or Cancel. It also bounds how long a transaction
	// may be idle.
	workTimeout = time.Minute
)

// Options are the settings of Bookings. New copies them.
type Options struct {
	// Options are the options of package durable. PollInterval has no effect: FetchPollInterval of River's Config has
	// the same meaning. MaxWorkers is divided among the queues, but each queue has at least two workers.
	//
	// PostgreSQL ends a transaction of OnOutcome, OnCancel or OnOrder that is idle for a minute. In a
	// worker, these functions may return river.JobCancel and river.JobSnooze, as any job may. JobCancel abandons
	// the booking.
	durable.Options[pgx.Tx]
	// Pool connects to the database with River's tables. Required.
	Pool *pgxpool.Pool
	// Queue is the River queue of bookings. Default: "hotelstays_bookings". Cancellations and followed orders have
	// their own queues, whose names are Queue with "_cancel" or "_order" at the end. So jobs of one kind do not delay
	// jobs of another kind. Without Clients, give each account its own Queue, because only the account that booked
	// can poll for an order.
	Queue string
	// Schema is the schema of River's tables. By default the connection's search_path decides.
	Schema string
	// Hooks, Middleware and Plugins of River run when jobs are inserted. Pass the same values as in
	// your River client's Config, so that BeginTx inserts jobs as that client does. They may add to
	// a job's metadata, but must not change its arguments, kind or state.
	Hooks      []rivertype.Hook
	Middleware []rivertype.Middleware
	Plugins    []rivertype.Plugin
}

// Bookings makes bookings that survive their process. Create it with New. It is safe for
// concurrent use. Its transactions must belong to the database of Options.Pool.
//
// Do not call Run: Configure lets River work on the jobs.
type Bookings struct {
	*durable.Engine[pgx.Tx]
	cfg   Options
	store *store
}

var _ durable.Bookings[pgx.Tx] = (*Bookings)(nil)

// New returns Bookings. It opens no connection. Its error names every invalid field of the
// Options.
func New(cfg Options) (*Bookings, error) {
	var problems []error
	if cfg.Pool == nil {
		problems = append(problems, errors.New("the Pool is nil; create it with pgxpool.New"))
	}
	if cfg.MaxWorkers > river.QueueNumWorkersMax {
		problems = append(problems, fmt.Errorf("MaxWorkers is %d; River allows at most %d", cfg.MaxWorkers, river.QueueNumWorkersMax))
	}
	cfg.Queue = cmp.Or(cfg.Queue, defaultQueue)
	cfg.MaxWorkers = cmp.Or(cfg.MaxWorkers, defaultMaxWorkers)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	s := &store{pool: cfg.Pool, queue: cfg.Queue, idle: workTimeout,
		table: nameIn(cfg.Schema, "river_job"), stateType: nameIn(cfg.Schema, "river_job_state")}
	engine, err := durable.NewEngine(s, cfg.Options)
	if err = errors.Join(append(problems, err)...); err != nil {
		return nil, fmt.Errorf("hotelstaysriver: invalid Options: %w", err)
	}
	s.river, err = river.NewClient(riverpgxv5.New(cfg.Pool), &river.Config{Schema: cfg.Schema, Logger: cfg.Logger,
		Hooks: cfg.Hooks, Middleware: cfg.Middleware, Plugins: cfg.Plugins})
	if err != nil {
		return nil, fmt.Errorf("hotelstaysriver: %w", err)
	}
	return &Bookings{engine, cfg, s}, nil
}

// Configure adds the workers and the queues to the configuration of a River client. Call it before river.NewClient, in
// every process that may work on bookings. One such process can do all the work; with two of them, the work continues
// if one process ends.
//
// If RescueStuckJobsAfter is not set, Configure sets it to 2 minutes or to JobTimeout plus a minute, whichever is
// longer. After that time River gives the job of a dead process to another process. River looks for such jobs every 30
// seconds.
func (b *Bookings) Configure(cfg *river.Config) error {
	if cfg.Schema != b.cfg.Schema {
		return fmt.Errorf("hotelstaysriver: the River client's schema is %q and Options.Schema is %q; they must be the same",
			cfg.Schema, b.cfg.Schema)
	}
	queues := b.queues()
	maxJobs := func(kind durable.Kind) int { return queues[b.store.queueOf(kind)].MaxWorkers }
	for name := range queues {
		if _, taken := cfg.Queues[name]; taken {
			return fmt.Errorf("hotelstaysriver: the River client has a queue %q already; set another Options.Queue", name)
		}
	}
	if cfg.RescueStuckJobsAfter != 0 && cfg.RescueStuckJobsAfter < workTimeout {
		return fmt.Errorf("hotelstaysriver: RescueStuckJobsAfter is %s; it must be at least %s, because a poll and OnOutcome may take so long",
			cfg.RescueStuckJobsAfter, workTimeout)
	}
	if cfg.Workers == nil {
		cfg.Workers = river.NewWorkers()
	}
	if err := cmp.Or(
		river.AddWorkerSafely(cfg.Workers, &worker[bookingJob]{b: b, kind: durable.KindBooking, maxJobs: maxJobs(durable.KindBooking)}),
		river.AddWorkerSafely(cfg.Workers, &worker[cancelJob]{b: b, kind: durable.KindCancel, maxJobs: maxJobs(durable.KindCancel),
			noHandler: b.cfg.OnCancel == nil}),
		river.AddWorkerSafely(cfg.Workers, &worker[orderJob]{b: b, kind: durable.KindOrder, maxJobs: maxJobs(durable.KindOrder),
			noHandler: b.cfg.OnOrder == nil})); err != nil {
		return fmt.Errorf("hotelstaysriver: %w", err)
	}
	if cfg.Queues == nil {
		cfg.Queues = map[string]river.QueueConfig{}
	}
	maps.Copy(cfg.Queues, queues)
	if cfg.RescueStuckJobsAfter == 0 {
		cfg.RescueStuckJobsAfter = max(defaultRescueAfter, cfg.JobTimeout+time.Minute)
	}
	return nil
}

// queues returns the queues of this process, and divides MaxWorkers among them. Cancellations get a fifth if there is
// an OnCancel, and followed orders get a fifth if there is an OnOrder. Each queue gets at least two workers if
// MaxWorkers allows it, because a hanging function of the caller blocks a worker.
func (b *Bookings) queues() map[string]river.QueueConfig {
	atLeast := min(b.cfg.MaxWorkers, 2)
	queues, bookings := map[string]river.QueueConfig{}, b.cfg.MaxWorkers
	for kind, worked := range map[durable.Kind]bool{durable.KindCancel: b.cfg.OnCancel != nil, durable.KindOrder: b.cfg.OnOrder != nil} {
		if worked {
			share := max(b.cfg.MaxWorkers/5, atLeast)
			queues[b.store.queueOf(kind)] = river.QueueConfig{MaxWorkers: share}
			bookings -= share
		}
	}
	queues[b.cfg.Queue] = river.QueueConfig{MaxWorkers: max(bookings, atLeast)}
	return queues
}
