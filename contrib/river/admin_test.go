//go:build postgres

package hotelstaysriver

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/types"
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
