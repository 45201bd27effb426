//go:build postgres

// Helpers of the tests with PostgreSQL. Each test has its own schema.
//
// A recovery takes ten minutes. The job stores its times, so a test moves these times back instead of waiting.

package hotelstaysriver

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
)

var databaseURL = os.Getenv("HOTELSTAYS_POSTGRES_URL")

var crash = chaostest.ShellCrash("HOTELSTAYS_POSTGRES_RESTART")

func TestMain(m *testing.M) {
	chaostest.Main(engine)
	if databaseURL == "" {
		fmt.Fprintln(os.Stderr,
			`HOTELSTAYS_POSTGRES_URL is not set; see the README`)
		os.Exit(1)
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // most of the time a test waits for River
	goleak.VerifyTestMain(m)
}

const patience = bookingstest.Patience

// newSchema creates a schema with River's tables and the caller's table, for one test.
func newSchema(t *testing.T) (schema string, pool *pgxpool.Pool) {
	t.Helper()
	schema = "t" + fmt.Sprint(time.Now().UnixNano())
	pool, err := openPool(t.Context(), schema, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		pool.Reset() // the server may have crashed meanwhile
		_, err := pool.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE")
		require.NoError(t, err)
		pool.Close()
	})
	_, err = pool.Exec(t.Context(), "CREATE SCHEMA "+schema)
	require.NoError(t, err)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: schema})
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), bookingstest.Table)
	require.NoError(t, err)
	return schema, pool
}

func openPool(ctx context.Context, schema string, settings map[string]string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, err
	}
	cfg.ConnConfig.RuntimeParams["search_path"] = schema
	maps.Copy(cfg.ConnConfig.RuntimeParams, settings)
	return pgxpool.NewWithConfig(ctx, cfg)
}

// caller returns the functions with which bookingstest uses the caller's own table.
func caller(pool *pgxpool.Pool) bookingstest.Database[pgx.Tx] {
	return bookingstest.Database[pgx.Tx]{
		InTx: func(ctx context.Context, f func(pgx.Tx) error) error { return pgx.BeginFunc(ctx, pool, f) },
		Exec: func(ctx context.Context, tx pgx.Tx, statement string, args ...any) (int64, error) {
			tag, err := tx.Exec(ctx, bookingstest.Numbered(statement), args...)
			return tag.RowsAffected(), err
		},
		QueryRow: func(ctx context.Context, query string, args ...any) interface{ Scan(...any) error } {
			return pool.QueryRow(ctx, bookingstest.Numbered(query), args...)
		},
		Query: func(ctx context.Context, query string, args ...any) (bookingstest.Rows, error) {
			return pool.Query(ctx, bookingstest.Numbered(query), args...)
		},
	}
}

func newFleet(t *testing.T, change func(*Options)) (fleet bookingstest.Fleet[pgx.Tx], pool *pgxpool.Pool) {
	t.Helper()
	schema, pool := newSchema(t)
	return bookingstest.Fleet[pgx.Tx]{
		Database: caller(pool),
		Open: func(o durable.Options[pgx.Tx]) durable.Bookings[pgx.Tx] {
			cfg := Options{Pool: pool, Schema: schema, Options: o}
			if change != nil {
				change(&cfg)
			}
			b, err := New(cfg)
			require.NoError(t, err)
			return b
		},
		Work: func(b durable.Bookings[pgx.Tx]) (stop func()) { return startWorkers(t, b.(*Bookings), nil) },
		Pass: func(d time.Duration) { require.NoError(t, passTime(t.Context(), pool, d, "true")) },
		Stored: func(reference string) (b bookingstest.Booking) {
			b.Due = readJob(t, pool, durable.KindBooking, reference, &b)
			return b
		},
		Cancellation: func(reference string) (c bookingstest.Cancellation) {
			readJob(t, pool, durable.KindCancel, reference, &c)
			return c
		},
	}, pool
}

// readJob reads the state of the latest job of a reference, and returns when the job is due.
func readJob(t *testing.T, pool *pgxpool.Pool, kind durable.Kind, reference string, state any) (due time.Time) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT scheduled_at, args || CASE WHEN finalized_at IS NULL OR kind <> 'hotelstays_booking'
		THEN '{}' ELSE jsonb_build_object('ending', coalesce(metadata ->> 'hotelstays_ending', 'abandoned')) END FROM river_job
		WHERE kind = $1 AND args ->> 'reference' = $2 ORDER BY id DESC LIMIT 1`, args{kind: kind}.Kind(), reference).Scan(&due, state))
	return due.UTC()
}

func TestRiverKeepsThePromisesOfBookings(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) bookingstest.Fleet[pgx.Tx] {
		fleet, _ := newFleet(t, nil)
		return fleet
	}
	bookingstest.Test(t, start)
	bookingstest.TestRowLocks(t, start)
}

// world is a process that books, and its database.
type world struct {
	*bookingstest.World[pgx.Tx]
	*Bookings
	pool *pgxpool.Pool
}

// newWorld starts a process. From here on the test runs in parallel with other tests.
func newWorld(t *testing.T, change func(*Options), config ...hotelstaystest.Config) *world {
	t.Helper()
	t.Parallel()
	return newLonelyWorld(t, change, config...)
}

// newLonelyWorld is like newWorld, but no other test runs at the same time as this test.
func newLonelyWorld(t *testing.T, change func(*Options), config ...hotelstaystest.Config) *world {
	t.Helper()
	fleet, pool := newFleet(t, change)
	w := bookingstest.New(t, fleet, config...)
	return &world{w, w.Bookings.(*Bookings), pool}
}

func (w *world) another(change func(*Options)) *world {
	w.Helper()
	other := *w
	cfg := w.cfg
	change(&cfg)
	var err error
	other.Bookings, err = New(cfg)
	require.NoError(w, err)
	other.pool = cfg.Pool
	return &other
}

func (w *world) reconnect(change func(*pgxpool.Config)) *world {
	w.Helper()
	settings := w.pool.Config()
	change(settings)
	pool, err := pgxpool.NewWithConfig(w.Context(), settings)
	require.NoError(w, err)
	w.Cleanup(pool.Close)
	return w.another(func(cfg *Options) { cfg.Pool = pool })
}

func (w *world) id(kind durable.Kind, reference string) durable.ID {
	return durable.ID{Account: w.cfg.Client.Account(), Kind: kind, Reference: reference}
}

func (w *world) exec(statement string, args ...any) {
	w.Helper()
	_, err := w.pool.Exec(w.Context(), statement, args...)
	require.NoError(w, err)
}

// startWorkers starts another River client, as another process does, with a changed configuration.
func startWorkers(t testing.TB, b *Bookings, change func(*river.Config)) (stop func()) {
	t.Helper()
	cfg := &river.Config{Schema: b.cfg.Schema, TestOnly: true, FetchPollInterval: 50 * time.Millisecond, FetchCooldown: 20 * time.Millisecond}
	require.NoError(t, b.Configure(cfg))
	if change != nil {
		change(cfg)
	}
	client, err := river.NewClient(riverpgxv5.New(b.cfg.Pool), cfg)
	require.NoError(t, err)
	require.NoError(t, client.Start(context.Background()))
	stop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, client.StopAndCancel(ctx))
	}
	t.Cleanup(stop)
	return stop
}

// passTime moves back the times of the jobs that meet a condition and that no worker runs.
func passTime(ctx context.Context, pool *pgxpool.Pool, d time.Duration, condition string) error {
	_, err := pool.Exec(ctx, `UPDATE river_job SET
			scheduled_at = scheduled_at - $1::interval,
			state = CASE WHEN scheduled_at - $1::interval <= now() THEN 'available' ELSE state END,
			args = args || jsonb_strip_nulls(jsonb_build_object('bookBy', (args ->> 'bookBy')::timestamptz - $1::interval,
					'since', (args ->> 'since')::timestamptz - $1::interval,
					'begun', (args ->> 'begun')::timestamptz - $1::interval, 'sendBy', (args ->> 'sendBy')::timestamptz - $1::interval,
					'bound', (args ->> 'bound')::timestamptz - $1::interval,
					'earlier', (args ->> 'earlier')::timestamptz - $1::interval))
				|| jsonb_build_object('recovery', coalesce(args -> 'recovery', '{}') || jsonb_strip_nulls(jsonb_build_object(
					'endedAt', (args #>> '{recovery,endedAt}')::timestamptz - $1::interval,
					'nextPoll', (args #>> '{recovery,nextPoll}')::timestamptz - $1::interval)))
		WHERE state IN ('available', 'scheduled', 'retryable') AND `+condition, d)
	return err
}

type fetchedJob struct {
	*rivertype.JobRow
	kind durable.Kind
}

// fetch takes the live job of a reference for a worker, as River does.
func fetch(w *world, kind durable.Kind, reference string) fetchedJob {
	w.Helper()
	job := &rivertype.JobRow{Attempt: 1}
	require.NoError(w, w.pool.QueryRow(w.Context(), `UPDATE river_job SET state = 'running', attempted_at = now()
		WHERE args ->> 'reference' = $1 AND kind = $2 AND finalized_at IS NULL
		RETURNING id, kind, state::text, scheduled_at, attempted_at, args`, reference, args{kind: kind}.Kind()).
		Scan(&job.ID, &job.Kind, &job.State, &job.ScheduledAt, &job.AttemptedAt, &job.EncodedArgs))
	return fetchedJob{job, kind}
}

func (w *world) run(ctx context.Context, job fetchedJob) error {
	return (&worker[bookingJob]{b: w.Bookings, kind: job.kind}).Work(ctx, &river.Job[bookingJob]{JobRow: job.JobRow})
}

// assertStale asserts that a run stores nothing if another run has fetched its job.
func assertStale(w *world, kind durable.Kind, reference string) {
	w.Helper()
	frozen, now := fetch(w, kind, reference), fetch(w, kind, reference)
	require.ErrorAs(w, w.run(w.Context(), frozen), new(*river.JobSnoozeError))
	assert.JSONEq(w, string(now.EncodedArgs), string(fetch(w, kind, reference).EncodedArgs))
}

// job is the latest job of a reference, from River's table.
type job struct {
	State   string
	Attempt int
	Errors  int
	Args    struct {
		bookingstest.Booking
		Request []byte
	}
}

func (w *world) job(reference string) (j job) {
	w.Helper()
	require.NoError(w, w.pool.QueryRow(w.Context(), `SELECT state::text, attempt, coalesce(cardinality(errors), 0), args
		FROM river_job WHERE args ->> 'reference' = $1 ORDER BY id DESC LIMIT 1`, reference).Scan(&j.State, &j.Attempt, &j.Errors, &j.Args))
	return j
}

// chaosStuck is the time after which a running job is rescued, whether its process is dead or not.
const chaosStuck = 5 * time.Second

type enginePlan struct {
	Schema string
	bookingstest.Plan
}

func work(ctx context.Context, bookings *Bookings) error {
	cfg := &river.Config{Schema: bookings.cfg.Schema, TestOnly: true,
		FetchPollInterval: 100 * time.Millisecond, FetchCooldown: 50 * time.Millisecond}
	if err := bookings.Configure(cfg); err != nil {
		return err
	}
	workers, err := river.NewClient(riverpgxv5.New(bookings.cfg.Pool), cfg)
	if err != nil {
		return err
	}
	for ctx.Err() == nil && workers.Start(ctx) != nil { // the database may be restarting
		time.Sleep(100 * time.Millisecond)
	}
	<-ctx.Done()
	return nil
}

// engine books and works until it is killed, or its standard input ends.
func engine(plan enginePlan) error {
	ctx := chaostest.UntilClosed()
	// If this process is frozen, PostgreSQL ends the transactions of River and of the caller after five seconds.
	pool, err := openPool(ctx, plan.Schema, map[string]string{"idle_in_transaction_session_timeout": "5000"})
	if err != nil {
		return err
	}
	e := &bookingstest.Engine[pgx.Tx]{Plan: plan.Plan, Database: caller(pool)}
	opts, err := e.Options()
	if err != nil {
		return err
	}
	bookings, err := New(Options{Pool: pool, Schema: plan.Schema, Options: opts})
	if err != nil {
		return err
	}
	bookings.store.idle = 5 * time.Second
	e.Bookings = bookings
	go e.Run(ctx)
	return work(ctx, bookings)
}

// Requests, answers, processes and the database fail. No booking is lost or made twice, and the caller's row matches
// the order. No frozen process and no blocking handler stops the other bookings. HOTELSTAYS_CHAOS_SEED sets the seed
// of faults and kills.
func TestNoBookingIsLostOrMadeTwice(t *testing.T) {
	seed := chaostest.Seed()
	// Survive fails if no booking ends during one lease. A booking may wait for a whole recovery, or for 14 s until hurry
	// replaces a dead leader. So lease must be longer than both times. The first frozen process stays frozen for one and
	// a half leases.
	bookings, accounts, lease := 200, 3, 30*time.Second
	if testing.Short() {
		bookings, lease = 40, 25*time.Second
	} else if testsize.Full() {
		bookings, accounts = 1000, 20
	}
	kills := min(bookings/4, 60)
	t.Logf("HOTELSTAYS_CHAOS_SEED=%d, %d bookings of %d accounts, %d processes killed", seed, bookings, accounts, kills)
	config := *chaostest.Config(seed)
	config.Accounts = bookingstest.Accounts(accounts)
	config.ConfirmAfter = 3 * time.Minute / chaostest.Speed
	config.RateLimits = map[hotelstays.Operation]int{} // an empty map means the documented rate limits
	w := newLonelyWorld(t, nil, config)
	plan := enginePlan{w.cfg.Schema, w.Plan}
	w.Survive(chaostest.Fleet{
		Bookings: bookings, Processes: 6, Kills: kills, Freezes: 3, Blocks: 1, Lease: lease, Seed: seed,
		Crashes: slices.Repeat([]func(context.Context) error{crash}, 1+bookings/1000),
		Start:   func(int) (*chaostest.Process, error) { return chaostest.Start(plan) },
		Hurry:   func(ctx context.Context, d time.Duration) { w.hurry(ctx, d, bookings) },
	}, func(ctx context.Context) (open int, err error) {
		err = w.pool.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE finalized_at IS NULL AND kind <> $1`, orderJob{}.Kind()).Scan(&open)
		return open, err
	})
	w.checkJobs()
}

// hurry moves the times of jobs back, except of jobs whose Book or Cancel may be in progress. It wakes bookings, as
// webhooks do. It ignores errors, because the database may be restarting. It skips locked rows, because a frozen
// process may hold the lock.
func (w *world) hurry(ctx context.Context, d time.Duration, bookings int) {
	_ = passTime(ctx, w.pool, d, `id IN (SELECT id FROM river_job WHERE args #> '{recovery,endedAt}' IS NOT NULL OR args ? 'since'
		OR args ? 'begun' AND coalesce((args ->> 'sendBy')::timestamptz, now()) <= now() FOR UPDATE SKIP LOCKED)`)
	_, _ = w.pool.Exec(ctx, `UPDATE river_job SET attempted_at = attempted_at - $2::interval WHERE id IN (SELECT id FROM river_job
		WHERE state = 'running' AND attempted_at BETWEEN now() - $2::interval AND now() - $1::interval FOR UPDATE SKIP LOCKED)`,
		chaosStuck, defaultRescueAfter)
	if rand.IntN(5) == 0 { // a new leader rescues jobs immediately, an old leader every 30 seconds
		_ = w.store.river.Notify().RequestResign(ctx)
	}
	// A leader renews its term of 15 s every 5 s. The UPDATE makes the term of a dead leader end sooner.
	_, _ = w.pool.Exec(ctx, `UPDATE river_leader SET expires_at = now() + $1::interval WHERE name IN (SELECT name FROM river_leader
		WHERE expires_at > now() + $1::interval FOR UPDATE SKIP LOCKED)`, 8*time.Second)
	soon, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	reference := bookingstest.AnyReference(bookings)
	_ = w.OfReference(reference).Wake(soon, reference)
}

// checkJobs checks that each round has one outcome and one completed job, and that only jobs of orders are live.
func (w *world) checkJobs() {
	var completed, others, rounds, ended, rescued int
	require.NoError(w, w.pool.QueryRow(w.Context(), `SELECT
		(SELECT count(*) FROM river_job WHERE state = 'completed' AND kind = $1),
		(SELECT count(*) FROM river_job WHERE state <> 'completed' AND kind <> $2),
		(SELECT sum(rounds) FROM bookings),
		(SELECT count(*) FROM endings),
		(SELECT coalesce(sum((metadata ->> 'river:rescue_count')::int), 0) FROM river_job)`, bookingJob{}.Kind(), orderJob{}.Kind()).
		Scan(&completed, &others, &rounds, &ended, &rescued))
	assert.Zero(w, others)
	assert.Equal(w, rounds, completed)
	assert.Equal(w, rounds, ended)
	w.Logf("%d rounds, %d jobs rescued", rounds, rescued)
}
