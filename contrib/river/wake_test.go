//go:build postgres

package hotelstaysriver

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestWake(t *testing.T) {
	w := newWorld(t, nil, hotelstaystest.Config{LateVisibility: 2 * time.Second})
	require.NoError(t, w.Wake(t.Context(), "unknown"), "nothing to do")

	w.begin(w.request("waiting"))
	before := w.job("waiting")
	require.NoError(t, w.Wake(t.Context(), "waiting"))
	assert.Equal(t, before, w.job("waiting"), "nothing was sent")

	w.bookUnknown("ref-1", bookMade) // polled at once; the next poll is half a minute away
	made := w.Ledger().Orders()[0].CreatedAt
	w.workers()
	w.eventually("the order is visible", func() bool { return time.Since(made) > 2*time.Second })
	require.Equal(t, "pending", w.row("ref-1").State)
	nextPoll := w.job("ref-1").Args.Recovery.NextPoll
	require.NoError(t, w.Wake(t.Context(), "ref-1"))
	w.hasState("ref-1", durable.EndingFound, 0)
	assert.True(t, time.Now().Before(nextPoll), "off the schedule")
	require.NoError(t, w.Wake(t.Context(), "ref-1"), "it has ended")
	assert.Equal(t, "completed", w.job("ref-1").State, "and stays so")
	assert.Equal(t, 1, w.row("ref-1").Ended)
}

// A webhook may come before Book has answered. The recovery's times stay as they are, because
// they count from the end of Book.
func TestWakeWhileBookIsUnderWay(t *testing.T) {
	w := newWorld(t, func(cfg *Config) { cfg.BookTimeout = time.Minute })
	w.begin(w.request("ref-1"))
	_, _, _, err := w.start(t.Context(), "ref-1", time.Now().Add(time.Minute))
	require.NoError(t, err)
	w.workers()
	require.NoError(t, w.Wake(t.Context(), "ref-1"))
	w.eventually("polled", func() bool { return w.Ledger().Count(types.OpQueryOrders) == 1 })
	w.eventually("asleep again", func() bool { return w.job("ref-1").State == "scheduled" })
	assert.Zero(t, w.job("ref-1").Args.Recovery.EndedAt)

	_, err = w.client.Book(t.Context(), w.request("ref-1"))
	require.NoError(t, err)
	require.NoError(t, w.Wake(t.Context(), "ref-1"))
	w.hasState("ref-1", durable.EndingFound, 0)
}

// A wake-up during a poll is not lost, because the poll may have been too early.
func TestWakeDuringAPoll(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookMade)
	w.Inject(hotelstaystest.Fault{Operation: types.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 403, Delay: time.Second})
	polls := w.Ledger().Count(types.OpQueryOrders)
	w.workers()
	w.pass(time.Minute)
	w.eventually("a worker polls", func() bool { return w.Ledger().Count(types.OpQueryOrders) > polls })
	require.NoError(t, w.Wake(t.Context(), "ref-1"))
	w.hasState("ref-1", durable.EndingFound, 0)
}

func TestWakeGivesUpWaiting(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookLost)
	_, err := w.pool.Exec(t.Context(), `UPDATE river_job SET state = 'running', attempted_at = now()`)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.Wake(ctx, "ref-1"), context.DeadlineExceeded)
}
