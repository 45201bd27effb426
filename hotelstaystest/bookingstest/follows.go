// The promises about orders that are followed.

package bookingstest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// following opens another process, which follows the orders that it books.
func (w *World[Tx]) following(onOrder func(context.Context, Tx, *types.Order, *types.Order) error) *World[Tx] {
	return w.Another(func(o *Options[Tx]) { o.OnOrder = onOrder })
}

// hasMirror waits until the caller's mirror is as the service's order, after as many changes.
func (w *World[Tx]) hasMirror(reference string, changes int, step time.Duration) {
	w.Helper()
	order, err := w.Options.Client.FindOrder(w.Context(), reference)
	require.NoError(w, err)
	w.Eventually("the mirror of "+reference+" is true", func() bool {
		var mirror string
		var n int
		require.NoError(w, w.Fleet.QueryRow(w.Context(), `SELECT mirror, changes FROM bookings WHERE reference = ?`, reference).Scan(&mirror, &n))
		if mirror == mirrorOf(order) && n == changes {
			return true
		}
		assert.Less(w, n, changes+1)
		if step > 0 {
			w.Fleet.Pass(step)
		}
		return false
	})
}

func followed[Tx any](w *World[Tx]) {
	w = w.following(w.Fleet.StoreOrder)
	w.Booked("ref-1", "ref-2")
	w.Work()
	w.following(w.Fleet.StoreOrder).Work()
	w.ConfirmOrder("ref-1")
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	w.hasMirror("ref-1", 1, 0)
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	w.ConfirmOrder("ref-2") // and its webhook is lost
	w.hasMirror("ref-2", 1, time.Minute)
	w.hasMirror("ref-1", 1, 0)

	require.NoError(w, w.CancelAlone("ref-1", nil))
	w.CancelEnds("ref-1", durable.CancelDone, 1, 0)
	w.hasMirror("ref-1", 2, 0)
	w.Fleet.Pass(time.Hour)
	time.Sleep(100 * time.Millisecond)
	w.SetOrderStatus("ref-1", 2)
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	w.SetOrderStatus("ref-2", 4)
	require.NoError(w, w.Wake(w.Context(), "ref-2"))
	w.hasMirror("ref-2", 2, 0)
	var changes int
	require.NoError(w, w.Fleet.QueryRow(w.Context(), `SELECT changes FROM bookings WHERE reference = ?`, "ref-1").Scan(&changes))
	assert.Equal(w, 2, changes, "it is settled")
}

func onOrderFails[Tx any](w *World[Tx]) {
	var calls atomic.Int32
	w = w.following(func(ctx context.Context, tx Tx, before, after *types.Order) error {
		assert.EqualValues(w, 1, before.Status)
		if err := w.Fleet.StoreOrder(ctx, tx, before, after); err != nil {
			return err
		}
		switch calls.Add(1) {
		case 1:
			return errors.New("OnOrder failed")
		case 2:
			panic("OnOrder panicked")
		}
		return nil
	})
	w.Booked("ref-1")
	w.ConfirmOrder("ref-1")
	w.Work()
	w.hasMirror("ref-1", 1, time.Minute)
	assert.EqualValues(w, 3, calls.Load())
}

func watched[Tx any](w *World[Tx]) {
	w = w.following(w.Fleet.StoreOrder)
	changed, stop := w.Watch("ref-1")
	other, stopOther := w.Watch("ref-2")
	defer stopOther()
	next := func() (state, mirror, cancel string) {
		select {
		case <-changed:
		case <-time.After(Patience):
			require.FailNow(w, "nobody wakes the page")
		}
		require.NoError(w, w.Fleet.QueryRow(w.Context(), `SELECT state, mirror, cancel FROM bookings WHERE reference = ?`, "ref-1").
			Scan(&state, &mirror, &cancel))
		return state, mirror, cancel
	}
	w.Begin("ref-1")
	assert.Empty(w, changed, "nothing is delivered")
	w.MustSend("ref-1")
	state, mirror, _ := next()
	assert.Equal(w, "found", state)
	assert.Empty(w, mirror)
	w.Work()
	w.ConfirmOrder("ref-1")
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	_, mirror, cancel := next()
	assert.NotEmpty(w, mirror)
	assert.Empty(w, cancel)
	require.NoError(w, w.CancelAlone("ref-1", nil))
	_, before, cancel := next()
	assert.EqualValues(w, durable.CancelDone, cancel)
	if before == mirror {
		next() // the order has changed, too
	}
	assert.Empty(w, other)
	stop()
}

func unfollowed[Tx any](w *World[Tx]) {
	w = w.following(w.Fleet.StoreOrder)
	w.Booked("ref-1", "ref-2")
	require.NoError(w, w.Unfollow(w.Context(), "ref-1"))
	require.NoError(w, w.Unfollow(w.Context(), "unknown"))
	w.ConfirmOrder("ref-1")
	w.ConfirmOrder("ref-2")
	w.Work()
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	w.Fleet.Pass(time.Hour)
	w.hasMirror("ref-2", 1, 0)
	w.SetOrderStatus("ref-2", 4)
	require.NoError(w, w.Wake(w.Context(), "ref-2"))
	w.hasMirror("ref-2", 2, 0) // later than the other would have been read
	var changes int
	require.NoError(w, w.Fleet.QueryRow(w.Context(), `SELECT changes FROM bookings WHERE reference = ?`, "ref-1").Scan(&changes))
	assert.Zero(w, changes)
}
