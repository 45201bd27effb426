//go:build postgres

package hotelstaysriver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

// rescue gives the job of a worker that is frozen to others, after the time of its Cancel.
func (w *world) rescue(kind string) {
	w.Helper()
	w.exec(`UPDATE river_job SET state = 'available', scheduled_at = now(), attempted_at = now() - interval '1 hour',
		args = args || jsonb_strip_nulls(jsonb_build_object('sendBy', (args ->> 'sendBy')::timestamptz - interval '1 minute'))
		WHERE kind = $1 AND state = 'running'`, kind)
}

// A Cancel that is frozen until its job was rescued is neither sent nor delivered again.
func TestFrozenCancel(t *testing.T) {
	w := newWorld(t, nil)
	w.Booked("ref-1")
	other := w.another(func(*Config) {})
	answer := w.Hold("/cancel")
	stop := startWorkers(t, w.World.Bookings.(*Bookings), nil)
	require.NoError(t, w.CancelAlone("ref-1", nil))
	answer.Wait()
	assert.Equal(t, durable.PhaseSending, w.Fleet.Cancellation("ref-1").Phase(time.Now()))
	w.rescue(cancelKind)
	startWorkers(t, other.Bookings, nil)
	w.CancelEnds("ref-1", durable.CancelDone, 1, 0)
	answer.Release()
	stop()
	var id int64
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT id FROM river_job WHERE kind = $1`, cancelKind).Scan(&id))
	require.NoError(t, other.deliverCancel(t.Context(), id, "ref-1"), "it is completed")
	w.CancelEnds("ref-1", durable.CancelDone, 1, 0)
	assert.Equal(t, 1, w.Ledger().Count(hotelstays.OpCancel))
}

// A read that is frozen until its job was rescued delivers nothing that another run has delivered.
func TestStaleRunDeliversNoChange(t *testing.T) {
	w := newWorld(t, func(cfg *Config) { cfg.OnOrder = caller(cfg.Pool).StoreOrder })
	w.Booked("ref-1")
	w.ConfirmOrder("ref-1")
	other := w.another(func(*Config) {})
	read := w.Hold("/queryOrders")
	stop := startWorkers(t, w.World.Bookings.(*Bookings), nil)
	require.NoError(t, w.Wake(t.Context(), "ref-1"))
	read.Wait()
	w.rescue("hotelstays_order")
	startWorkers(t, other.Bookings, nil)
	changes := func() (n int) {
		require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT changes FROM bookings`).Scan(&n))
		return n
	}
	w.Eventually("it is delivered", func() bool { return changes() == 1 })
	w.SetOrderStatus("ref-1", 1) // what the frozen read has seen would be a change again
	require.NoError(t, other.Wake(t.Context(), "ref-1"))
	w.Eventually("it is delivered", func() bool { return changes() == 2 })
	read.Release()
	stop()
	assert.Equal(t, 2, changes())
}

// A process that cancels may die at any stage.
func TestDiesWhileCancelling(t *testing.T) {
	w := newWorld(t, nil)
	for stage, ending := range map[string]durable.CancelEnding{
		"leaving": durable.CancelStanding, "answered": durable.CancelDone, "outcome": durable.CancelDone,
	} {
		cancels := len(w.Ledger().Cancellations())
		w.Booked(stage)
		require.NoError(t, w.CancelAlone(stage, nil))
		bookingstest.Dies(t, enginePlan{w.cfg.Schema, w.Plan(), stage})
		w.rescue(cancelKind)
		stop := w.Work()
		w.CancelEnds(stage, ending, 1, time.Minute)
		stop()
		if ending == durable.CancelDone {
			cancels++
		}
		assert.Len(t, w.Ledger().Cancellations(), cancels, stage)
	}
	assert.Equal(t, 2, w.Ledger().Count(hotelstays.OpCancel))
}
