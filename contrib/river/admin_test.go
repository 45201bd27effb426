//go:build postgres

package hotelstaysriver

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

func TestList(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("polling", bookMade)
	w.Inject(bookRefused)
	w.begin(w.request("ended"))
	_, err := w.Send(t.Context(), "ended")
	require.NoError(t, err)
	for i := range pageSize + 1 {
		w.begin(w.request(fmt.Sprintf("waiting-%03d", i)))
	}
	_, err = w.pool.Exec(t.Context(), `UPDATE river_job SET args = args || '{"bookBy":1}' WHERE args ->> 'reference' = 'waiting-000'`)
	require.NoError(t, err)
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

func TestAbandonAndRetry(t *testing.T) {
	t.Run("while it waits", func(t *testing.T) {
		w := newWorld(t, nil)
		w.begin(w.request("ref-1"))
		assert.ErrorContains(t, w.Retry(t.Context(), "ref-1"), "nothing was sent yet; call Send, or wait until a worker does at 2")
		require.NoError(t, w.Abandon(t.Context(), "ref-1"))
		assert.Equal(t, "cancelled", w.job("ref-1").State)
		assert.Empty(t, w.job("ref-1").Args.Request)
		_, err := w.Send(t.Context(), "ref-1")
		require.ErrorIs(t, err, durable.ErrNotBegun)
		assert.ErrorIs(t, w.Abandon(t.Context(), "ref-1"), durable.ErrNotBegun)
		require.NoError(t, w.Retry(t.Context(), "ref-1"))
		w.workers()
		w.hasState("ref-1", durable.EndingAbsent, time.Second)
		assert.Zero(t, w.Ledger().Count(hotelstays.OpBook), "it is never sent")
		assert.ErrorIs(t, w.Retry(t.Context(), "ref-1"), durable.ErrNotBegun)
	})
	t.Run("while Book may be under way", func(t *testing.T) {
		w := newWorld(t, nil)
		w.begin(w.request("ref-1"))
		_, _, _, err := w.start(t.Context(), "ref-1", time.Now().Add(time.Minute))
		require.NoError(t, err)
		assert.ErrorContains(t, w.Abandon(t.Context(), "ref-1"), "may still be under way, until 2")
	})
	t.Run("while a worker polls", func(t *testing.T) {
		w := newWorld(t, nil)
		w.bookUnknown("ref-1", bookLost)
		w.pass(11 * time.Minute)
		polled := w.fetch("ref-1")
		require.NoError(t, w.Abandon(t.Context(), "ref-1"))
		_ = (&worker{b: w.Bookings}).Work(t.Context(), polled)
		assert.Equal(t, "cancelled", w.job("ref-1").State)
		assert.Equal(t, "pending", w.row("ref-1").State, "OnOutcome is not called")
	})
	t.Run("after River has cancelled it", func(t *testing.T) {
		w := newWorld(t, nil)
		w.bookUnknown("ref-1", bookMade)
		_, err := w.pool.Exec(t.Context(), `UPDATE river_job SET state = 'cancelled', finalized_at = now(),
			metadata = metadata || '{"cancel_attempted_at":"2026-06-01T12:00:00Z"}'`)
		require.NoError(t, err)
		require.NoError(t, w.Retry(t.Context(), "ref-1"))
		failing := noPoll
		failing.Times = 1
		w.Inject(failing) // the job sleeps once more, and River does not cancel it then
		w.workers()
		w.hasState("ref-1", durable.EndingFound, time.Minute)
	})
	w := newWorld(t, nil)
	assert.ErrorIs(t, w.Retry(t.Context(), "unknown"), durable.ErrNotBegun)
	assert.ErrorIs(t, w.Abandon(t.Context(), "unknown"), durable.ErrNotBegun)
}
