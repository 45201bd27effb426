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
		w.rescue(cancelArgs{}.Kind())
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
