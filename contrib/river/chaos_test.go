//go:build postgres

// A durable booking is never lost and never made twice, and the caller's row is true, whatever
// happens to requests, answers, processes and the database. No frozen process and no handler
// that blocks stops the others.
//
// HOTELSTAYS_RIVER_BOOKINGS sets the number of bookings, HOTELSTAYS_CHAOS_SEED the seed of
// faults and kills.

package hotelstaysriver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// chaosStuck is when a running job is rescued, whether its process is dead or not.
	chaosStuck = 5 * time.Second
	// chaosLease is how long all bookings may stand still, and longer than a recovery.
	chaosLease = 30 * time.Second
)

func setting(t *testing.T, name string, def uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

func TestProcessesDie(t *testing.T) {
	seed := setting(t, "HOTELSTAYS_CHAOS_SEED", rand.Uint64N(1_000_000))
	short := uint64(200)
	if testing.Short() {
		short = 40
	}
	bookings := int(setting(t, "HOTELSTAYS_RIVER_BOOKINGS", short))
	kills := min(bookings/2, 60)
	t.Logf("HOTELSTAYS_CHAOS_SEED=%d HOTELSTAYS_RIVER_BOOKINGS=%d, %d processes killed", seed, bookings, kills)
	w := newWorld(t, nil, *chaostest.Config(seed))
	chaostest.Inject(w.Server)
	w.chaosTables(bookings)
	plan := enginePlan{Schema: w.schema, URL: w.URL, AppKey: w.AppKey, AppSecret: w.AppSecret,
		Session: w.offers[0].SessionID, Offer: *w.offers[0].Expect}
	fleet := chaostest.Fleet{
		Bookings: bookings, Processes: 6, Kills: kills, Freezes: 3, Blocks: 1, Lease: chaosLease, Seed: seed, Logf: t.Logf,
		Crashes: slices.Repeat([]func(context.Context) error{crash}, 1+bookings/1000),
		Start:   func(int) (*chaostest.Process, error) { return chaostest.Start(plan) },
		Ended: func(ctx context.Context) (n int, err error) {
			err = w.pool.QueryRow(ctx, `SELECT least(count(*), $2 - (SELECT count(*) FROM river_job WHERE finalized_at IS NULL)) FROM bookings
				WHERE state IN ('found', 'reused') OR state IN ('absent', 'failed') AND rounds >= $1`, engineRounds, bookings).Scan(&n)
			return n, err
		},
		Hurry: func(ctx context.Context, d time.Duration) { w.hurry(ctx, d, bookings) },
	}
	start := time.Now()
	require.NoError(t, fleet.Survive(t.Context()))
	t.Logf("%s, %d requests of Book, %d of QueryOrders", time.Since(start).Round(time.Second),
		w.Ledger().Count(types.OpBook), w.Ledger().Count(types.OpQueryOrders))
	w.checkOutcomes(bookings)
	w.checkJobs()
}

// chaosTables creates what the engines need.
func (w *world) chaosTables(bookings int) {
	w.t.Helper()
	_, err := w.pool.Exec(w.t.Context(), `
		ALTER TABLE bookings ADD rounds int NOT NULL DEFAULT 0;
		CREATE TABLE endings (reference text, round int, state text, order_no text, at timestamptz DEFAULT clock_timestamp());
		CREATE TABLE surprises (what text)`)
	require.NoError(w.t, err)
	_, err = w.pool.Exec(w.t.Context(),
		`INSERT INTO bookings (reference, state) SELECT 'ref-' || n, 'new' FROM generate_series(1, $1) n`, bookings)
	require.NoError(w.t, err)
}

// hurry lets time pass, except for bookings whose Book may be under way, and wakes bookings, as
// webhooks do. Errors do not matter: the database may be restarting. It waits for no lock,
// because a frozen process may have it.
func (w *world) hurry(ctx context.Context, d time.Duration, bookings int) {
	_ = passTime(ctx, w.pool, d, `id IN (SELECT id FROM river_job WHERE args #> '{recovery,endedAt}' IS NOT NULL FOR UPDATE SKIP LOCKED)`)
	_, _ = w.pool.Exec(ctx, `UPDATE river_job SET attempted_at = attempted_at - $2::interval WHERE id IN (SELECT id FROM river_job
		WHERE state = 'running' AND attempted_at BETWEEN now() - $2::interval AND now() - $1::interval FOR UPDATE SKIP LOCKED)`,
		chaosStuck, defaultRescueAfter)
	if rand.IntN(5) == 0 { // a new leader rescues at once, an old one every half minute
		_ = w.river.Notify().RequestResign(ctx)
	}
	soon, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_ = w.Wake(soon, fmt.Sprintf("ref-%d", 1+rand.IntN(bookings)))
}

// checkOutcomes compares the caller's tables with the ledger.
func (w *world) checkOutcomes(bookings int) {
	t := w.t
	rows, err := w.pool.Query(t.Context(), `SELECT reference, round, order_no, at FROM endings ORDER BY at`)
	require.NoError(t, err)
	outcomes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[chaostest.Outcome])
	require.NoError(t, err)
	begun := map[string]int{}
	rounds, err := w.pool.Query(t.Context(), `SELECT reference, rounds FROM bookings`)
	require.NoError(t, err)
	var reference string
	var n int
	_, err = pgx.ForEachRow(rounds, []any{&reference, &n}, func() error { begun[reference] = n; return nil })
	require.NoError(t, err)
	assert.NoError(t, chaostest.Check(w.Ledger(), begun, outcomes))
	var known, wrong, untrue int
	var tally string
	var surprises []string
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT
		(SELECT count(*) FROM bookings),
		(SELECT count(*) FROM endings WHERE state NOT IN ('found', 'absent', 'failed') OR (state = 'found') <> (order_no <> '')),
		(SELECT count(*) FROM bookings b WHERE NOT EXISTS (SELECT FROM endings e
			WHERE (e.reference, e.round, e.state, e.order_no) = (b.reference, b.rounds, b.state, b.order_no))),
		(SELECT json_object_agg(state, n) FROM (SELECT state, count(*) n FROM endings GROUP BY state) s)::text,
		(SELECT array_agg(what) FROM surprises)`).Scan(&known, &wrong, &untrue, &tally, &surprises))
	assert.Equal(t, bookings, known)
	assert.Zero(t, wrong, "outcomes that are reused, or found without an order, or an order without being found")
	assert.Zero(t, untrue, "rows that are not the last outcome of their booking")
	assert.Empty(t, surprises)
	t.Log("endings:", tally)
}

// checkJobs checks that each round has one outcome and one completed job.
func (w *world) checkJobs() {
	var completed, others, rounds, ended, rescued int
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), `SELECT
		(SELECT count(*) FROM river_job WHERE state = 'completed'),
		(SELECT count(*) FROM river_job WHERE state <> 'completed'),
		(SELECT sum(rounds) FROM bookings),
		(SELECT count(*) FROM endings),
		(SELECT coalesce(sum((metadata ->> 'river:rescue_count')::int), 0) FROM river_job)`).Scan(&completed, &others, &rounds, &ended, &rescued))
	assert.Zero(w.t, others)
	assert.Equal(w.t, rounds, completed)
	assert.Equal(w.t, rounds, ended)
	w.t.Logf("%d rounds, %d jobs rescued", rounds, rescued)
}
