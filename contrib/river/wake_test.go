//go:build postgres

package hotelstaysriver

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/types"
)

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
