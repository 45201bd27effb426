//go:build postgres

// A durable booking is never lost and never made twice, and the caller's row is true, whatever
// happens to requests, answers, processes and the database. No frozen process and no handler
// that blocks stops the others.
//
// HOTELSTAYS_CHAOS_SEED sets the seed of faults and kills.

package hotelstaysriver

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

// chaosStuck is when a running job is rescued, whether its process is dead or not.
const chaosStuck = 5 * time.Second

// enginePlan configures a process.
type enginePlan struct {
	Schema string
	bookingstest.Plan
}

// work lets River work until ctx ends.
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
	// The transactions of a frozen process end: River's, and the caller's.
	pool, err := openPool(ctx, plan.Schema, map[string]string{"idle_in_transaction_session_timeout": "5000"})
	if err != nil {
		return err
	}
	e := &bookingstest.Engine[pgx.Tx]{Plan: plan.Plan, Database: caller(pool)}
	opts, err := e.Options()
	if err != nil {
		return err
	}
	bookings, err := New(configOf(opts, pool, plan.Schema))
	if err != nil {
		return err
	}
	bookings.idle = 5 * time.Second
	e.Bookings = bookings
	go e.Run(ctx)
	return work(ctx, bookings)
}

func TestProcessesDie(t *testing.T) {
	seed := chaostest.Seed()
	// All bookings may stand still for a lease, which is longer than a recovery. The first process
	// that is frozen sleeps for one and a half.
	bookings, lease := 200, 30*time.Second
	if testing.Short() {
		bookings, lease = 40, 15*time.Second
	} else if os.Getenv("HOTELSTAYS_LONG") != "" {
		bookings = 1000
	}
	kills := min(bookings/2, 60)
	t.Logf("HOTELSTAYS_CHAOS_SEED=%d, %d bookings, %d processes killed", seed, bookings, kills)
	config := *chaostest.Config(seed)
	config.ConfirmAfter = 3 * time.Minute / chaostest.Speed
	config.RateLimits = map[hotelstays.Operation]int{} // the documented ones
	w := newLonelyWorld(t, nil, config)
	w.Lives = true
	plan := enginePlan{w.cfg.Schema, w.Plan()}
	w.Survive(chaostest.Fleet{
		Bookings: bookings, Processes: 6, Kills: kills, Freezes: 3, Blocks: 1, Lease: lease, Seed: seed,
		Crashes: slices.Repeat([]func(context.Context) error{crash}, 1+bookings/1000),
		Start:   func(int) (*chaostest.Process, error) { return chaostest.Start(plan) },
		Hurry:   func(ctx context.Context, d time.Duration) { w.hurry(ctx, d, bookings) },
	}, func(ctx context.Context) (open int, err error) {
		err = w.pool.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE finalized_at IS NULL AND kind <> $1`, orderArgs{}.Kind()).Scan(&open)
		return open, err
	})
	w.checkJobs()
}

// hurry lets time pass, except for jobs whose Book or Cancel may be under way, and wakes bookings, as
// webhooks do. Errors do not matter: the database may be restarting. It waits for no lock,
// because a frozen process may have it.
func (w *world) hurry(ctx context.Context, d time.Duration, bookings int) {
	_ = passTime(ctx, w.pool, d, `id IN (SELECT id FROM river_job WHERE args #> '{recovery,endedAt}' IS NOT NULL OR args ? 'since'
		OR args ? 'begun' AND coalesce((args ->> 'sendBy')::timestamptz, now()) <= now() FOR UPDATE SKIP LOCKED)`)
	_, _ = w.pool.Exec(ctx, `UPDATE river_job SET attempted_at = attempted_at - $2::interval WHERE id IN (SELECT id FROM river_job
		WHERE state = 'running' AND attempted_at BETWEEN now() - $2::interval AND now() - $1::interval FOR UPDATE SKIP LOCKED)`,
		chaosStuck, defaultRescueAfter)
	if rand.IntN(5) == 0 { // a new leader rescues at once, an old one every half minute
		_ = w.river.Notify().RequestResign(ctx)
	}
	soon, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_ = w.Wake(soon, bookingstest.AnyReference(bookings))
}

// checkJobs checks that each round has one outcome and one completed job, and no other job but those of
// orders is live.
func (w *world) checkJobs() {
	var completed, others, rounds, ended, rescued int
	require.NoError(w, w.pool.QueryRow(w.Context(), `SELECT
		(SELECT count(*) FROM river_job WHERE state = 'completed' AND kind = $1),
		(SELECT count(*) FROM river_job WHERE state <> 'completed' AND kind <> $2),
		(SELECT sum(rounds) FROM bookings),
		(SELECT count(*) FROM endings),
		(SELECT coalesce(sum((metadata ->> 'river:rescue_count')::int), 0) FROM river_job)`, bookingArgs{}.Kind(), orderArgs{}.Kind()).
		Scan(&completed, &others, &rounds, &ended, &rescued))
	assert.Zero(w, others)
	assert.Equal(w, rounds, completed)
	assert.Equal(w, rounds, ended)
	w.Logf("%d rounds, %d jobs rescued", rounds, rescued)
}
