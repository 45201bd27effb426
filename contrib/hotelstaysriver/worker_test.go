//go:build postgres

package hotelstaysriver

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

func TestPollWithoutAnOrderIsNoFailureOfTheJob(t *testing.T) {
	w := newWorld(t, nil)
	w.SendUnknown("ref-1", bookingstest.BookMade)
	w.Inject(bookingstest.NoPoll)
	stop := w.Work()
	w.Eventually("unverified twice", func() bool { w.Fleet.Pass(10 * time.Minute); return w.job("ref-1").Args.Unverified >= 2 })
	w.ClearFaults()
	w.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: patience})
	polls := w.Ledger().Count(hotelstays.OpQueryOrders)
	w.Eventually("a worker polls", func() bool { w.Fleet.Pass(time.Hour); return w.Ledger().Count(hotelstays.OpQueryOrders) > polls })
	stop()
	j := w.job("ref-1")
	assert.Equal(t, "available", j.State)
	assert.Zero(t, j.Attempt)
	assert.Zero(t, j.Errors)
}

// A run that was frozen while another run fetched its job stores, delivers and logs nothing.
func TestRunThatLostItsJobStoresAndDeliversNothing(t *testing.T) {
	var log strings.Builder
	w := newWorld(t, func(cfg *Options) {
		cfg.OnOrder, cfg.Logger = caller(cfg.Pool).StoreOrder, slog.New(slog.NewTextHandler(&log, nil))
	})
	w.SendUnknown("lost", bookingstest.BookLost)
	w.Fleet.Pass(11 * time.Minute)
	w.SendUnknown("open", bookingstest.BookLost)
	assertStale(w, durable.KindBooking, "lost")
	assertStale(w, durable.KindBooking, "open")
	assert.Equal(t, bookingstest.Row{State: "pending"}, w.Row("lost"))
	w.Booked("found")
	assertStale(w, durable.KindOrder, "found")
	assert.Empty(t, log.String())
}

// With River's default policy the ninth pause would be two hours. Every error of OnOutcome is a failure, even an error
// that matches ErrMoved.
func TestRiverUsesThePausesOfNextRetry(t *testing.T) {
	w := newWorld(t, func(cfg *Options) {
		cfg.OnOutcome = func(context.Context, pgx.Tx, *hotelstays.BookingOutcome) error {
			return fmt.Errorf("failed: %w", durable.ErrMoved)
		}
	})
	w.SendUnknown("ref-1", bookingstest.BookMade)
	w.exec(`UPDATE river_job SET attempt = 8,
		errors = array_fill('{"attempt":1,"at":"2000-01-01T00:00:00Z","error":"failed","trace":""}'::jsonb, ARRAY[8])`)
	w.Work()
	w.Eventually("the ninth failure", func() bool {
		j := w.job("ref-1")
		if j.Errors == 8 && j.State != "running" {
			w.Fleet.Pass(time.Minute)
		}
		return j.Errors == 9
	})
	var pause time.Duration
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT scheduled_at - attempted_at FROM river_job WHERE attempt = 9`).Scan(&pause))
	assert.Less(t, pause, 10*time.Minute)
}

func TestUnsentCancellationMayBeginAgainAfterRiverCancelledItsJob(t *testing.T) {
	w := newWorld(t, nil)
	for reference, again := range map[string]error{"waiting": nil, "marked": durable.ErrAlreadyCancelling} {
		w.Booked(reference)
		require.NoError(t, w.CancelAlone(reference, nil))
		if again != nil {
			w.exec(`UPDATE river_job SET args = args || '{"sendBy":"2026-06-01T12:00:00Z"}' WHERE kind = $1 AND args ->> 'reference' = $2`,
				cancelJob{}.Kind(), reference)
		}
		w.exec(`UPDATE river_job SET state = 'cancelled', finalized_at = now() WHERE kind = $1`, cancelJob{}.Kind())
		require.ErrorIs(t, w.CancelAlone(reference, nil), again)
	}
}

func TestRetryReopensAJobThatRiverCancelled(t *testing.T) {
	w := newWorld(t, nil)
	w.SendUnknown("ref-1", bookingstest.BookMade)
	w.exec(`UPDATE river_job SET state = 'cancelled', finalized_at = now(),
		metadata = metadata || '{"cancel_attempted_at":"2026-06-01T12:00:00Z"}'`)
	require.NoError(t, w.Engine.Wake(t.Context(), "ref-1"))
	_, err := w.Engine.Send(t.Context(), "ref-1")
	require.ErrorIs(t, err, durable.ErrNotBegun)
	assert.Equal(t, "cancelled", w.job("ref-1").State)
	require.NoError(t, w.Engine.Retry(t.Context(), "ref-1"))
	failing := bookingstest.NoPoll
	failing.Times = 1
	w.Inject(failing) // after the failed poll the job sleeps again, and River does not cancel it
	w.Work()
	w.HasState("ref-1", durable.EndingFound, time.Minute)
}

func TestWakeEndsWithItsCtxWhileAWorkerHasTheJob(t *testing.T) {
	w := newWorld(t, nil)
	w.SendUnknown("ref-1", bookingstest.BookLost)
	w.exec(`UPDATE river_job SET state = 'running', attempted_at = now()`)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.Engine.Wake(ctx, "ref-1"), context.DeadlineExceeded)
}

// Pools behind PgBouncer use query modes without prepared statements.
func TestBookingWorksInEachQueryExecMode(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			w := newWorld(t, nil)
			other := w.reconnect(func(cfg *pgxpool.Config) { cfg.ConnConfig.DefaultQueryExecMode = mode })
			w.World.Bookings = other.Bookings
			w.SendUnknown("ref-1", bookingstest.BookLost)
			w.World.Work()
			require.NoError(t, other.Engine.Wake(t.Context(), "ref-1"))
			w.HasState("ref-1", durable.EndingAbsent, time.Minute)
		})
	}
}

func TestAlertQueriesFindJobsThatNeedAPerson(t *testing.T) {
	w := newWorld(t, nil)
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, block, _ := strings.Cut(string(page), "```sql\n")
	block, _, _ = strings.Cut(block, "```")
	var queries []string
	for query := range strings.SplitSeq(block, ";") {
		if strings.TrimSpace(query) != "" {
			queries = append(queries, query)
		}
	}
	found := func() (numbers []int) {
		for _, query := range queries {
			tag, err := w.pool.Exec(t.Context(), query)
			require.NoError(t, err)
			numbers = append(numbers, int(tag.RowsAffected()))
		}
		return numbers
	}
	w.Begin("ref-1")
	assert.Equal(t, []int{0, 0, 0, 0, 0, 0}, found())
	w.Fleet.Pass(time.Hour)
	assert.Equal(t, []int{0, 0, 1, 0, 0, 0}, found())
	w.exec(`UPDATE river_job SET attempt = 6, scheduled_at = now(), errors = ARRAY['{"error":"broken"}'::jsonb]`)
	assert.Equal(t, []int{0, 1, 0, 0, 0, 0}, found())
	w.exec(`UPDATE river_job SET attempt = 1, args = args || '{"unverified":2}'`)
	assert.Equal(t, []int{0, 0, 0, 1, 0, 0}, found())
	require.NoError(t, w.CancelAlone("ref-1", nil))
	w.Fleet.Pass(time.Hour)
	w.exec(`UPDATE river_job SET scheduled_at = now()`)
	assert.Equal(t, []int{0, 0, 0, 1, 1, 0}, found())
	w.exec(`UPDATE river_job SET state = 'discarded', finalized_at = now()`)
	assert.Equal(t, []int{2, 0, 0, 0, 0, 1}, found())
}

func TestCancellationDoesNotWaitBehindPolls(t *testing.T) {
	w := newWorld(t, func(cfg *Options) { cfg.MaxWorkers = 2 })
	w.Booked("ref-1")
	stuck := []string{"stuck-1", "stuck-2", "stuck-3"}
	for _, reference := range stuck {
		w.SendUnknown(reference, bookingstest.BookMade)
	}
	for _, reference := range stuck {
		w.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: patience,
			Reference: reference})
	}
	w.Fleet.Pass(time.Minute)
	polls := w.Ledger().Count(hotelstays.OpQueryOrders)
	w.World.Work()
	w.Eventually("two workers poll", func() bool { return w.Ledger().Count(hotelstays.OpQueryOrders) >= polls+2 })
	require.NoError(t, w.CancelAlone("ref-1", nil))
	w.CancelEnds("ref-1", durable.CancelDone, 1, 0)
	for _, r := range w.Ledger().Requests(hotelstays.OpQueryOrders) {
		assert.False(t, r.Fault == hotelstaystest.FaultDelay && !r.Done.IsZero(), "Cancel was sent only after a poll had ended")
	}
}

// While OnOutcome does not return, its process keeps the job. Otherwise River would give the job to another process,
// and the call would also block a worker there.
func TestProcessKeepsTheJobUntilOnOutcomeReturns(t *testing.T) {
	hung, release := context.WithCancel(context.Background())
	defer release()
	w := newWorld(t, func(cfg *Options) {
		cfg.OnOutcome = func(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
			<-hung.Done() // OnOutcome ignores the end of ctx
			return ctx.Err()
		}
	})
	w.store.idle = time.Second // after this time PostgreSQL ends the transaction
	w.SendUnknown("ref-1", bookingstest.BookMade)
	w.Fleet.Pass(time.Minute)
	job := fetch(w, durable.KindBooking, "ref-1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- w.run(ctx, job) }()
	w.Eventually("the process keeps the job", func() (kept bool) {
		const query = `SELECT attempted_at > $1 AND state = 'running' FROM river_job`
		require.NoError(t, w.pool.QueryRow(t.Context(), query, job.AttemptedAt).Scan(&kept))
		return kept
	})
	assert.Equal(t, []string{"OnOutcome ref-1"}, w.Engine.Hanging())
	release()
	require.ErrorIs(t, <-done, context.DeadlineExceeded)
	other := w.another(func(cfg *Options) { cfg.OnOutcome = caller(cfg.Pool).StoreRow })
	require.NoError(t, other.run(t.Context(), fetch(w, durable.KindBooking, "ref-1")))
	assert.Equal(t, "found", w.Row("ref-1").State)
}

// A booking ends and begins again while Send waits for the lock of its job.
func TestSendThatWaitsForTheLockBooksTheNextRound(t *testing.T) {
	w := newWorld(t, nil)
	w.Begin("ref-1")
	locked, done := make(chan struct{}), make(chan error)
	go func() {
		<-locked
		_, err := w.Engine.Send(t.Context(), "ref-1")
		done <- err
	}()
	require.NoError(t, w.store.InTx(t.Context(), false, func(ctx context.Context, tx pgx.Tx) error {
		row, err := w.store.Lock(ctx, tx, w.id(durable.KindBooking, "ref-1"))
		require.NoError(t, err)
		close(locked)
		for waiting := 0; waiting == 0 && ctx.Err() == nil; {
			require.NoError(t, tx.QueryRow(ctx, `SELECT count(*) FROM pg_stat_clear_snapshot(), pg_stat_activity
				WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))`).Scan(&waiting))
		}
		row.State = append(row.State[:len(row.State)-1], `,"ending":"abandoned"}`...)
		row.Life = durable.Over
		require.NoError(t, w.store.Save(ctx, tx, row))
		return w.Engine.BeginTx(ctx, tx, w.Request("ref-1"))
	}))
	require.NoError(t, <-done)
	assert.Equal(t, "found", w.Row("ref-1").State)
	var abandoned string
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT state::text FROM river_job ORDER BY id LIMIT 1`).Scan(&abandoned))
	assert.Equal(t, "cancelled", abandoned)
}

// takeTurns puts the first jobs of each account before the other jobs, and changes few jobs.
func TestFirstJobsOfEachAccountRunBeforeOtherJobs(t *testing.T) {
	jobs := 10_000
	if testing.Short() {
		jobs = 1000
	}
	w := newWorld(t, nil)
	w.SendUnknown("ref-0", bookingstest.BookMade)
	const copied = `INSERT INTO river_job (args, kind, queue, state, priority, max_attempts, scheduled_at)
		SELECT args || jsonb_build_object('reference', 'ref-' || n, 'account', $1::text), kind, queue, 'available', priority, max_attempts,
			now() - $2::interval FROM river_job, generate_series(1, $3) AS n WHERE args ->> 'reference' = 'ref-0'`
	w.exec(copied, "loud", time.Hour, jobs)
	w.exec(copied, "quiet", time.Minute, 2)
	w.exec(copied, "later", -time.Hour, 1)
	w.exec(copied, "frozen", time.Minute, 1)
	w.exec(`DELETE FROM river_job WHERE args ->> 'reference' = 'ref-0'`) // this job may be due by now
	frozen, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = frozen.Rollback(t.Context()) }()
	_, err = frozen.Exec(t.Context(), `SELECT FROM river_job WHERE args ->> 'account' = 'frozen' FOR UPDATE`)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	start := time.Now()
	require.NoError(t, w.store.takeTurns(ctx, durable.KindBooking))
	t.Logf("turns of %d jobs take %s", jobs, time.Since(start).Round(time.Millisecond))
	rows, err := w.pool.Query(t.Context(), `SELECT concat(args ->> 'account', ' ', args ->> 'reference') FROM river_job
		WHERE priority < 4 ORDER BY priority, scheduled_at, id`)
	require.NoError(t, err)
	first, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	assert.Equal(t, []string{"loud ref-1", "quiet ref-1", "loud ref-2", "quiet ref-2", "loud ref-3"}, first)
}

// While a worker polls, another process changes the job without taking it. The poll may be older than the change, so
// the poll proves nothing.
func TestPollEndsNoBookingThatAnotherProcessHasChanged(t *testing.T) {
	w := newWorld(t, nil)
	w.SendUnknown("ref-1", bookingstest.BookLost)
	w.Fleet.Pass(11 * time.Minute)
	polled := fetch(w, durable.KindBooking, "ref-1")
	w.exec(`UPDATE river_job SET args = args || '{"unverified":1}'`)
	require.ErrorAs(t, w.run(t.Context(), polled), new(*river.JobSnoozeError))
	assert.Equal(t, "pending", w.Row("ref-1").State)
}

// A process of an older version puts all jobs into the queue of bookings. A process without OnCancel and OnOrder works
// on this queue. It must leave the jobs of cancellations and followed orders to other processes.
func TestProcessWithoutOnCancelAndOnOrderLeavesTheirJobsToOtherProcesses(t *testing.T) {
	w := newWorld(t, func(cfg *Options) { cfg.OnOrder = caller(cfg.Pool).StoreOrder })
	w.Booked("ref-1")
	w.ConfirmOrder("ref-1")
	require.NoError(t, w.CancelAlone("ref-1", nil))
	w.exec(`UPDATE river_job SET queue = $1, state = 'available', scheduled_at = now() WHERE finalized_at IS NULL`, defaultQueue)
	startWorkers(t, w.another(func(cfg *Options) { cfg.OnCancel, cfg.OnOrder = nil, nil }).Bookings, nil)
	w.Eventually("both jobs sleep", func() (asleep bool) {
		require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT count(*) = 2 FROM river_job
			WHERE finalized_at IS NULL AND scheduled_at > now() AND attempt = 0 AND errors IS NULL`).Scan(&asleep))
		return asleep
	})
	assert.Zero(t, w.Ledger().Count(hotelstays.OpCancel))
}

// A person may retry a booking's completed job in River UI. The booking is then open again.
func TestRetryInRiversPageReopensABooking(t *testing.T) {
	w := newWorld(t, nil)
	w.SendUnknown("ref-1", bookingstest.BookLost)
	stop := w.World.Work()
	w.HasState("ref-1", durable.EndingAbsent, time.Minute)
	stop()
	w.BookElsewhere("ref-1") // the order appears late
	w.exec(`UPDATE river_job SET state = 'available', scheduled_at = now(), finalized_at = NULL`)
	w.World.Work()
	w.HasState("ref-1", durable.EndingFound, 0)
	assert.Equal(t, 2, w.Row("ref-1").Ended)
}
