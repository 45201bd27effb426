//go:build postgres

package hotelstaysriver

import (
	"context"
	"errors"
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
	"github.com/hotelstays/hotelstays-go/types"
)

// A worker takes a booking whose Send comes at the same moment.
func TestWorkerIsSlowerThanSend(t *testing.T) {
	w := newWorld(t, nil)
	w.Begin("ref-1")
	late := fetch[bookingArgs](w, "ref-1")
	_, _, _, err := w.start(t.Context(), "ref-1", time.Now().Add(time.Minute))
	require.NoError(t, err)
	require.ErrorAs(t, w.bookingWorker().Work(t.Context(), late), new(*river.JobSnoozeError))
	require.NoError(t, w.end(late.ID, "ref-1", hotelstays.BookingAbsent))
	require.NoError(t, w.bookingWorker().Work(t.Context(), late))
	assert.Zero(t, w.Ledger().Count(hotelstays.OpBook))
}

// The job of a worker that cannot work on it fails, and waits for the right one.
func TestWorkerLeavesTheJobToAnother(t *testing.T) {
	accounts := []hotelstaystest.Account{{AppKey: "key-1", AppSecret: "secret-1"}, {AppKey: "key-2", AppSecret: "secret-2"}}
	stranger := func(w *world, cfg *Config) {
		var err error
		cfg.Client, err = hotelstays.New(w.URL, hotelstays.TicketCredential{AppKey: "key-2", AppSecret: types.NewSecret("secret-2")},
			hotelstays.WithHTTPClient(w.Server.Client()))
		require.NoError(t, err)
	}
	for name, begin := range map[string]func(*world, *Config){
		"its keys are missing": func(w *world, cfg *Config) {
			w.Begin("ref-1")
			cfg.Keys = []types.Secret{types.NewSecret("another key of thirty-two bytes.")}
		},
		"its account is another": func(w *world, cfg *Config) {
			w.SendUnknown("ref-1", bookingstest.BookMade)
			stranger(w, cfg)
		},
		"its account is another than that of a cancellation": func(w *world, cfg *Config) {
			w.Booked("ref-1")
			require.NoError(t, w.CancelAlone("ref-1", nil))
			stranger(w, cfg)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, hotelstaystest.Config{Accounts: accounts})
			stop := startWorkers(t, w.another(func(cfg *Config) { begin(w, cfg) }).Bookings, nil)
			before := w.Row("ref-1")
			w.Eventually("it fails", func() bool { w.Fleet.Pass(time.Minute); return w.job("ref-1").Errors > 0 })
			assert.Equal(t, before, w.Row("ref-1"))
			stop()
			w.Work()
			w.HasState("ref-1", durable.EndingFound, time.Minute)
			w.Eventually("its job is done", func() bool { w.Fleet.Pass(time.Minute); return w.job("ref-1").State == "completed" })
			assert.Equal(t, len(w.Ledger().Cancellations()), w.Ledger().Count(hotelstays.OpCancel))
		})
	}
}

// A poll that shows nothing, or is interrupted, is no failure of the job.
func TestPollsAreNoFailures(t *testing.T) {
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

// A run that lost its job while it was frozen stores, sends and delivers nothing, and warns of nothing.
func TestFrozenRunsDoNothing(t *testing.T) {
	var log strings.Builder
	w := newWorld(t, func(cfg *Config) {
		cfg.OnOrder, cfg.Logger = caller(cfg.Pool).StoreOrder, slog.New(slog.NewTextHandler(&log, nil))
	})
	w.SendUnknown("lost", bookingstest.BookLost)
	w.Fleet.Pass(11 * time.Minute)
	w.SendUnknown("open", bookingstest.BookLost)
	assertStale(w, "lost", w.workBooking)
	assertStale(w, "open", w.workBooking)
	assert.Equal(t, bookingstest.Row{State: "pending"}, w.Row("lost"))
	w.Booked("found")
	w.ConfirmOrder("found")
	assertStale(w, "found", w.stepOrder)
	require.NoError(t, w.CancelAlone("found", nil))
	assertStale(w, "found", w.workCancel)
	assert.Zero(t, w.Ledger().Count(hotelstays.OpCancel))
	assert.Empty(t, log.String())
}

// A Book that ends while a worker polls for it begins a schedule. A poll from before proves
// nothing about it.
func TestBookEndsDuringAPoll(t *testing.T) {
	for name, ended := range map[string]time.Duration{"the last poll": 11 * time.Minute, "a poll": 2 * time.Minute, "a poll during Book": 0} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, hotelstaystest.Config{LateVisibility: time.Hour})
			book := w.marked("ref-1")
			if ended > 0 { // workers have polled since BookBy
				w.exec(`UPDATE river_job SET args = args || jsonb_build_object('recovery', $1::jsonb)`, w.ended("ref-1", ended))
			}
			polled := fetch[bookingArgs](w, "ref-1")
			w.handedOver(book, w.ended("ref-1", 0))
			stored := w.job("ref-1")
			assert.Equal(t, "running", stored.State, "a second worker would disturb the first one")
			require.ErrorAs(t, w.bookingWorker().Work(t.Context(), polled), new(*river.JobSnoozeError))
			assert.Equal(t, 1, w.Ledger().Count(hotelstays.OpQueryOrders))
			assert.Equal(t, stored, w.job("ref-1"))
			assert.Equal(t, bookingstest.Row{State: "pending"}, w.Row("ref-1"))
		})
	}
}

// River uses NextRetry, and not its own policy, whose ninth pause is two hours.
func TestFailedJobIsTriedAgainByNextRetry(t *testing.T) {
	w := newWorld(t, func(cfg *Config) {
		cfg.OnOutcome = func(context.Context, pgx.Tx, *hotelstays.BookingOutcome) error { return errors.New("OnOutcome failed") }
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

// rescue gives the job of a worker that is frozen to others, after the time of its Cancel.
func (w *world) rescue(kind string) {
	w.Helper()
	w.exec(`UPDATE river_job SET state = 'available', scheduled_at = now(), attempted_at = now() - interval '1 hour',
		args = args || jsonb_strip_nulls(jsonb_build_object('sendBy', (args ->> 'sendBy')::timestamptz - interval '1 minute'))
		WHERE kind = $1 AND state = 'running'`, kind)
}

// A Cancel that is frozen until its job was rescued is neither sent nor delivered again.
func TestFrozenCancel(t *testing.T) {
	w := newWorld(t, func(cfg *Config) {
		cfg.OnCancel = func(ctx context.Context, tx pgx.Tx, c *durable.Cancellation) error {
			var state string
			require.NoError(t, tx.QueryRow(ctx, `SELECT state::text FROM river_job WHERE kind = $1`, cancelArgs{}.Kind()).Scan(&state))
			assert.Equal(t, "completed", state, "in the same transaction")
			return caller(cfg.Pool).StoreCancel(ctx, tx, c)
		}
	})
	w.Booked("ref-1")
	other := w.another(func(*Config) {})
	answer := w.Hold("/cancel")
	stop := startWorkers(t, w.World.Bookings.(*Bookings), nil)
	require.NoError(t, w.CancelAlone("ref-1", nil))
	answer.Wait()
	assert.Equal(t, durable.PhaseSending, w.Fleet.Cancellation("ref-1").Phase(time.Now()))
	w.rescue(cancelArgs{}.Kind())
	startWorkers(t, other.Bookings, nil)
	w.CancelEnds("ref-1", durable.CancelDone, 1, 0)
	answer.Release()
	stop()
	var id int64
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT id FROM river_job WHERE kind = $1`, cancelArgs{}.Kind()).Scan(&id))
	require.NoError(t, other.deliverCancel(t.Context(), id, "ref-1"), "it is completed")
	w.CancelEnds("ref-1", durable.CancelDone, 1, 0)
	_, err := other.sendCancel(t.Context(), 0, w.Fleet.Cancellation("ref-1"), time.Now())
	require.ErrorContains(t, err, "job 0 is no longer in River's table")
	assert.Equal(t, 1, w.Ledger().Count(hotelstays.OpCancel))
}

// A cancellation whose order cannot be read waits, and is not tried each second.
func TestCancellationWaitsWhileItsOrderCannotBeRead(t *testing.T) {
	w := newWorld(t, nil)
	w.Booked("ref-1")
	w.Inject(bookingstest.NoPoll)
	require.NoError(t, w.CancelAlone("ref-1", nil))
	w.Work()
	w.Eventually("it waits", func() (waits bool) {
		require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT scheduled_at > now() + interval '30 seconds' FROM river_job WHERE kind = $1`,
			cancelArgs{}.Kind()).Scan(&waits))
		return waits
	})
	w.ClearFaults()
	require.NoError(t, w.Wake(t.Context(), "ref-1"))
	w.CancelEnds("ref-1", durable.CancelDone, 1, 0)
}

// A cancellation whose job River has cancelled begins again, unless its Cancel may have been sent.
func TestCancelTxAfterRiverHasCancelledTheJob(t *testing.T) {
	w := newWorld(t, nil)
	for reference, again := range map[string]error{"waiting": nil, "marked": durable.ErrAlreadyCancelling} {
		w.Booked(reference)
		require.NoError(t, w.CancelAlone(reference, nil))
		if again != nil {
			w.exec(`UPDATE river_job SET args = args || '{"sendBy":"2026-06-01T12:00:00Z"}' WHERE kind = $1 AND args ->> 'reference' = $2`,
				cancelArgs{}.Kind(), reference)
		}
		w.exec(`UPDATE river_job SET state = 'cancelled', finalized_at = now() WHERE kind = $1`, cancelArgs{}.Kind())
		require.ErrorIs(t, w.CancelAlone(reference, nil), again)
	}
}

// Who watches an order is woken when OnOrder was called, and not by each read.
func TestUnchangedOrderWakesNobody(t *testing.T) {
	w := newWorld(t, func(cfg *Config) { cfg.OnOrder = caller(cfg.Pool).StoreOrder })
	w.Booked("ref-1")
	page, stop := w.Watch("ref-1")
	defer stop()
	read := func() {
		_, err := w.stepOrder(t.Context(), fetch[orderArgs](w, "ref-1"))
		require.NoError(t, err)
	}
	w.Inject(bookingstest.NoPoll)
	read() // its failure is none of the job
	w.ClearFaults()
	read()
	assert.Empty(t, page)
	w.ConfirmOrder("ref-1")
	read()
	assert.Len(t, page, 1)
	w.SetOrderStatus("ref-1", 4)
	w.exec(`UPDATE bookings SET mirror = 'of another order'`)
	_, err := w.stepOrder(t.Context(), fetch[orderArgs](w, "ref-1"))
	require.ErrorContains(t, err, `OnOrder of reference "ref-1": 0 rows`)
}

func TestList(t *testing.T) {
	w := newWorld(t, nil)
	w.SendUnknown("polling", bookingstest.BookMade)
	w.Inject(bookingstest.BookRefused)
	w.Begin("ended")
	w.MustSend("ended")
	for i := range pageSize + 1 {
		w.Begin(fmt.Sprintf("waiting-%03d", i))
	}
	w.exec(`UPDATE river_job SET args = args || '{"bookBy":1}' WHERE args ->> 'reference' = 'waiting-000'`)
	var seen []string
	for b, err := range w.List(t.Context()) {
		if err != nil {
			assert.ErrorContains(t, err, `reference "waiting-000": cannot read the arguments`)
			seen = append(seen, "unreadable")
			continue
		}
		assert.False(t, b.Due.IsZero())
		seen = append(seen, b.Recovery.CustomerReferenceNo)
	}
	require.Len(t, seen, pageSize+2)
	assert.Equal(t, []string{"polling", "unreadable", "waiting-001"}, seen[:3])
	assert.Equal(t, fmt.Sprintf("waiting-%03d", pageSize), seen[len(seen)-1])
	for range w.List(t.Context()) {
		break
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range w.List(ended) {
		assert.ErrorIs(t, err, context.Canceled)
	}
}

func TestAbandonErasesTheRequest(t *testing.T) {
	w := newWorld(t, nil)
	w.Begin("ref-1")
	assert.NotEmpty(t, w.job("ref-1").Args.Request)
	require.NoError(t, w.Abandon(t.Context(), "ref-1"))
	assert.Equal(t, "cancelled", w.job("ref-1").State)
	assert.Empty(t, w.job("ref-1").Args.Request)
}

func TestAbandonWhileAWorkerPolls(t *testing.T) {
	w := newWorld(t, nil)
	w.SendUnknown("ref-1", bookingstest.BookLost)
	w.Fleet.Pass(11 * time.Minute)
	polled := fetch[bookingArgs](w, "ref-1")
	require.NoError(t, w.Abandon(t.Context(), "ref-1"))
	_ = w.bookingWorker().Work(t.Context(), polled)
	assert.Equal(t, "cancelled", w.job("ref-1").State)
	assert.Equal(t, "pending", w.Row("ref-1").State, "OnOutcome is not called")
}

func TestRetryAfterRiverHasCancelledTheJob(t *testing.T) {
	w := newWorld(t, nil)
	w.SendUnknown("ref-1", bookingstest.BookMade)
	w.exec(`UPDATE river_job SET state = 'cancelled', finalized_at = now(),
		metadata = metadata || '{"cancel_attempted_at":"2026-06-01T12:00:00Z"}'`)
	require.NoError(t, w.Wake(t.Context(), "ref-1"))
	_, err := w.Send(t.Context(), "ref-1")
	require.ErrorIs(t, err, durable.ErrNotBegun)
	assert.Equal(t, "cancelled", w.job("ref-1").State)
	require.NoError(t, w.Retry(t.Context(), "ref-1"))
	failing := bookingstest.NoPoll
	failing.Times = 1
	w.Inject(failing) // the job sleeps once more, and River does not cancel it then
	w.Work()
	w.HasState("ref-1", durable.EndingFound, time.Minute)
}

// A wake-up during a poll is not lost, because the poll may have been too early.
func TestWakeDuringAPoll(t *testing.T) {
	w := newWorld(t, nil)
	w.SendUnknown("ref-1", bookingstest.BookMade)
	w.Inject(hotelstaystest.Fault{Operation: types.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 403, Delay: time.Second})
	polls := w.Ledger().Count(types.OpQueryOrders)
	w.Work()
	w.Fleet.Pass(time.Minute)
	w.Eventually("a worker polls", func() bool { return w.Ledger().Count(types.OpQueryOrders) > polls })
	require.NoError(t, w.Wake(t.Context(), "ref-1"))
	w.HasState("ref-1", durable.EndingFound, 0)
}

func TestWakeGivesUpWaiting(t *testing.T) {
	w := newWorld(t, nil)
	w.SendUnknown("ref-1", bookingstest.BookLost)
	w.exec(`UPDATE river_job SET state = 'running', attempted_at = now()`)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.Wake(ctx, "ref-1"), context.DeadlineExceeded)
}

// Pools behind a PgBouncer use other query modes.
func TestQueryExecModes(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			w := newWorld(t, nil)
			other := w.reconnect(func(cfg *pgxpool.Config) { cfg.ConnConfig.DefaultQueryExecMode = mode })
			w.World.Bookings = other.Bookings
			w.SendUnknown("ref-1", bookingstest.BookLost)
			w.World.Work()
			require.NoError(t, other.Wake(t.Context(), "ref-1"))
			w.HasState("ref-1", durable.EndingAbsent, time.Minute)
		})
	}
}

// The README's queries find what they promise.
func TestAlerts(t *testing.T) {
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
	assert.Equal(t, []int{0, 0, 0, 0, 0}, found())
	w.Fleet.Pass(time.Hour)
	assert.Equal(t, []int{0, 0, 1, 0, 0}, found())
	w.exec(`UPDATE river_job SET attempt = 6, scheduled_at = now(), errors = ARRAY['{"error":"broken"}'::jsonb]`)
	assert.Equal(t, []int{0, 1, 0, 0, 0}, found())
	w.exec(`UPDATE river_job SET attempt = 1, args = args || '{"unverified":2}'`)
	assert.Equal(t, []int{0, 0, 0, 1, 0}, found())
	w.exec(`UPDATE river_job SET attempt = 1, state = 'discarded', finalized_at = now()`)
	assert.Equal(t, []int{1, 0, 0, 0, 1}, found())
}
