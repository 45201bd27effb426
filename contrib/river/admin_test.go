//go:build postgres

package hotelstaysriver

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

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
