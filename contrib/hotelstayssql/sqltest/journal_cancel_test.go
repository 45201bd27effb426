package sqltest

import (
	"context"
	"database/sql"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
)

// The process is frozen during Cancel, until the time limit of Cancel has passed.
func TestNoWorkerRepeatsTheCancelOfAFrozenProcess(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		p.Booked("ref-1")
		frozen, answer := p.hold("/cancel", nil)
		require.NoError(t, p.CancelAlone("ref-1", nil))
		stop := frozen.Work()
		answer.Wait()
		require.ErrorIs(t, p.CancelAlone("ref-1", nil), durable.ErrAlreadyCancelling)
		require.NoError(t, p.Wake(t.Context(), "ref-1"), "Wake changes nothing while Cancel is in progress")
		stored := p.Fleet.Cancellation("ref-1")
		assert.NotNil(t, stored.Cost, "the cost is stored before Cancel is sent")
		assert.True(t, stored.SendBy.After(time.Now()), "Cancel may be in progress")
		p.Work()
		p.Fleet.Pass(time.Minute)
		p.CancelEnds("ref-1", durable.CancelDone, 1, 0)
		answer.Release()
		stop()
		p.CancelEnds("ref-1", durable.CancelDone, 1, 0)
		assert.Equal(t, 1, p.Ledger().Count(hotelstays.OpCancel))
	})
}

// followBookings makes a process follow orders, and store copies of them in the caller's table.
func (d *database) followBookings(o *hotelstayssql.JournalOptions) { o.OnOrder = d.caller().StoreOrder }

// changes returns how often the copy of an order has changed.
func (p *process) changes(reference string) int64 {
	p.Helper()
	return p.db.number(p, `SELECT changes FROM bookings WHERE reference = ?`, reference)
}

// An OnOrder that ignores its ctx blocks one worker of one process. Other processes do not call OnOrder for the same
// row.
func TestHangingOnOrderBlocksOneWorkerOfOneProcess(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *process) {
		end, calls := make(chan struct{}), atomic.Int32{}
		p.db.SetMaxOpenConns(1) // goroutines wait for the pool in virtual time, but for SQLite's file lock in real time
		hangs := func(o *hotelstayssql.JournalOptions) {
			o.PollInterval = time.Second
			o.OnOrder = func(ctx context.Context, tx *sql.Tx, change *durable.OrderChange) error {
				if change.After.CustomerReferenceNo == "hangs" {
					calls.Add(1)
					<-end
				}
				return p.Fleet.StoreOrder(ctx, tx, change)
			}
		}
		one := p.through(p.db.DB, hangs)
		one.Booked("hangs", "ref-1")
		one.ConfirmOrder("hangs")
		stop := one.Work()
		stopOther := p.through(p.db.DB, hangs).Work()
		time.Sleep(10 * time.Minute)
		one.ConfirmOrder("ref-1")
		require.NoError(t, one.Wake(t.Context(), "ref-1"))
		time.Sleep(time.Minute)
		assert.EqualValues(t, 1, calls.Load())
		assert.EqualValues(t, 1, one.changes("ref-1"))
		close(end)
		stop()
		stopOther()
	})
}
