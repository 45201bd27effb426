//go:build postgres

package hotelstaysriver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestWorkerFindsTheOrder(t *testing.T) {
	w := newWorld(t, nil, hotelstaystest.Config{LateVisibility: 2 * time.Second})
	w.bookUnknown("ref-1", bookMade)
	before := w.job("ref-1").Args.Recovery
	assert.Equal(t, 1, before.Polls, "the poll of the booking's own process is not made again")

	w.workers()
	w.hasState("ref-1", durable.EndingFound, 10*time.Second)
	made := w.Ledger().Orders()
	require.Len(t, made, 1)
	assert.Equal(t, row{"found", made[0].PlatformReferenceNo, 1}, w.row("ref-1"))
	assert.Equal(t, "completed", w.job("ref-1").State)
	assert.Equal(t, 1, w.Ledger().Count(hotelstays.OpBook))
}

// A process dies between its commit and its Send: a worker sends.
func TestWorkerSendsWhatNobodySends(t *testing.T) {
	for name, tc := range map[string]struct {
		fault *hotelstaystest.Fault
		want  durable.Ending
	}{
		"booked":              {nil, durable.EndingFound},
		"refused":             {&bookRefused, durable.EndingFailed},
		"the answer is lost":  {&bookMade, durable.EndingFound},
		"the request is lost": {&bookLost, durable.EndingAbsent},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.begin(w.request("ref-1"))
			assert.True(t, w.asleep(), "Send has its time")
			assert.NotEmpty(t, w.job("ref-1").Args.Request)
			if tc.fault != nil {
				w.Inject(*tc.fault)
			}
			w.workers()
			w.hasState("ref-1", tc.want, 10*time.Second)
			assert.Equal(t, 1, w.Ledger().Count(hotelstays.OpBook))
			assert.Equal(t, 1, w.row("ref-1").Ended)
			assert.Empty(t, w.job("ref-1").Args.Request, "it was sent")
			_, err := w.Send(t.Context(), "ref-1")
			require.ErrorIs(t, err, map[bool]error{true: durable.ErrAlreadyBooked, false: durable.ErrNotBegun}[tc.want.HasOrder()])
		})
	}
	t.Run("the caller is faster", func(t *testing.T) {
		w := newWorld(t, nil)
		w.begin(w.request("ref-1"))
		late := w.fetch("ref-1")
		_, _, _, err := w.start(t.Context(), "ref-1", time.Now().Add(time.Minute))
		require.NoError(t, err)
		var snooze *river.JobSnoozeError
		require.ErrorAs(t, (&worker{b: w.Bookings}).Work(t.Context(), late), &snooze)
		require.NoError(t, w.end(late.ID, "ref-1", hotelstays.BookingAbsent))
		require.NoError(t, (&worker{b: w.Bookings}).Work(t.Context(), late))
		assert.Zero(t, w.Ledger().Count(hotelstays.OpBook))
	})
	t.Run("its keys are missing", func(t *testing.T) {
		w := newWorld(t, nil)
		w.begin(w.request("ref-1"))
		cfg := w.cfg
		cfg.Keys = []types.Secret{types.NewSecret("another key of thirty-two bytes.")}
		other := *w
		var err error
		other.Bookings, err = New(cfg)
		require.NoError(t, err)
		stranger := other.workers()
		w.eventually("it fails", func() bool { w.pass(time.Minute); return w.job("ref-1").Errors > 1 })
		require.NoError(t, stranger.Stop(t.Context()))
		w.workers()
		w.hasState("ref-1", durable.EndingFound, time.Minute)
	})
}

// While polls fail, OnOutcome is not called and the job continues.
func TestUnverifiedIsNoEnd(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookMade)
	w.Inject(noPoll)
	w.workers()
	w.eventually("unverified three times", func() bool { w.pass(10 * time.Minute); return w.job("ref-1").Args.Unverified >= 3 })
	assert.Equal(t, row{State: "pending"}, w.row("ref-1"))
	assert.Zero(t, w.job("ref-1").Errors, "a poll that fails is no failure of the job")

	w.ClearFaults()
	w.hasState("ref-1", durable.EndingFound, time.Hour)
	assert.Equal(t, 1, w.row("ref-1").Ended)
	assert.Equal(t, "completed", w.job("ref-1").State)
}

// A worker of another account cannot poll. The job fails, and waits for the right worker.
func TestWorkerOfAnotherAccountLeavesTheJob(t *testing.T) {
	w := newWorld(t, nil, hotelstaystest.Config{
		Accounts: []hotelstaystest.Account{{AppKey: "key-1", AppSecret: "secret-1"}, {AppKey: "key-2", AppSecret: "secret-2"}},
	})
	w.bookUnknown("ref-1", bookMade)
	client, err := hotelstays.New(w.URL, hotelstays.TicketCredential{AppKey: "key-2", AppSecret: types.NewSecret("secret-2")},
		hotelstays.WithHTTPClient(w.Client()))
	require.NoError(t, err)
	cfg := w.cfg
	cfg.Client = client
	other := *w
	other.Bookings, err = New(cfg)
	require.NoError(t, err)
	stranger := other.workers()
	w.eventually("it fails", func() bool { w.pass(time.Minute); return w.job("ref-1").Errors > 1 })
	assert.Equal(t, row{State: "pending"}, w.row("ref-1"))
	require.NoError(t, stranger.Stop(t.Context()))
	w.workers()
	w.hasState("ref-1", durable.EndingFound, time.Minute)
}

// A worker that is stopped during a poll returns its job at once and without a failure.
func TestStoppedInAPoll(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookMade)
	w.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: patience})
	polls := w.Ledger().Count(hotelstays.OpQueryOrders)
	client := w.workers()
	w.pass(time.Minute)
	w.eventually("a worker polls", func() bool { return w.Ledger().Count(hotelstays.OpQueryOrders) > polls })
	require.NoError(t, client.StopAndCancel(t.Context()))
	j := w.job("ref-1")
	assert.Equal(t, "available", j.State)
	assert.Zero(t, j.Attempt)
	assert.Zero(t, j.Errors)
	w.workers()
	w.hasState("ref-1", durable.EndingFound, 0)
}

// A run that lost its job while it was frozen stores nothing.
func TestFrozenRunStoresNothing(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookLost)
	w.pass(11 * time.Minute)
	frozen := w.fetch("ref-1")
	w.fetch("ref-1")
	before := w.job("ref-1")
	var snooze *river.JobSnoozeError
	require.ErrorAs(t, (&worker{b: w.Bookings}).Work(t.Context(), frozen), &snooze)
	assert.Equal(t, before, w.job("ref-1"))
}

// A Book that ends while a worker polls for it begins a schedule. A poll from before proves
// nothing about it.
func TestBookEndsDuringAPoll(t *testing.T) {
	for name, ended := range map[string]time.Duration{"the last poll": 11 * time.Minute, "a poll": 2 * time.Minute, "a poll during Book": 0} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, hotelstaystest.Config{LateVisibility: time.Hour})
			w.begin(w.request("ref-1"))
			book, _, _, err := w.start(t.Context(), "ref-1", time.Now().Add(time.Minute))
			require.NoError(t, err)
			if ended > 0 { // workers have polled since BookBy
				_, err = w.pool.Exec(t.Context(), `UPDATE river_job SET args = args || jsonb_build_object('recovery', $1::jsonb)`, w.ended("ref-1", ended))
				require.NoError(t, err)
			}
			polled := w.fetch("ref-1")
			w.handedOver(book, w.ended("ref-1", 0))
			stored := w.job("ref-1")
			assert.Equal(t, "running", stored.State, "a second worker would disturb the first one")
			var snooze *river.JobSnoozeError
			require.ErrorAs(t, (&worker{b: w.Bookings}).Work(t.Context(), polled), &snooze)
			assert.Equal(t, 1, w.Ledger().Count(hotelstays.OpQueryOrders))
			assert.Equal(t, stored, w.job("ref-1"))
			assert.Equal(t, row{State: "pending"}, w.row("ref-1"))
		})
	}
}

// River uses NextRetry, and not its own policy, whose ninth pause is two hours.
func TestFailedJobIsTriedAgainByNextRetry(t *testing.T) {
	w := newWorld(t, func(cfg *Config) {
		cfg.OnOutcome = func(context.Context, pgx.Tx, *hotelstays.BookingOutcome) error { return errors.New("OnOutcome failed") }
	})
	w.bookUnknown("ref-1", bookMade)
	_, err := w.pool.Exec(t.Context(), `UPDATE river_job SET attempt = 8,
		errors = array_fill('{"attempt":1,"at":"2000-01-01T00:00:00Z","error":"failed","trace":""}'::jsonb, ARRAY[8])`)
	require.NoError(t, err)
	w.workers()
	w.eventually("the ninth failure", func() bool {
		j := w.job("ref-1")
		if j.Errors == 8 && j.State != "running" {
			w.pass(time.Minute)
		}
		return j.Errors == 9
	})
	var pause time.Duration
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT scheduled_at - attempted_at FROM river_job WHERE attempt = 9`).Scan(&pause))
	assert.Less(t, pause, 10*time.Minute)
}
