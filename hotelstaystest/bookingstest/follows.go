// The promises about orders that are followed.

package bookingstest

import (
	"context"
	"errors"
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
	w.passUntil("the mirror of "+reference+" is true", step, func() bool {
		mirror, n := w.mirror(reference)
		assert.LessOrEqual(w, n, changes)
		return mirror == mirrorOf(order) && n == changes
	})
}

// mirror returns the caller's mirror of an order, and how often it has changed.
func (w *World[Tx]) mirror(reference string) (mirror string, changes int) {
	w.scan(reference, "mirror, changes", &mirror, &changes)
	return mirror, changes
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
	_, changes := w.mirror("ref-1")
	assert.Equal(w, 2, changes, "it is settled")
}

func onOrderFails[Tx any](w *World[Tx]) {
	calls := failing{failures: []error{errors.New("OnOrder failed")}}
	w = w.following(func(ctx context.Context, tx Tx, before, after *types.Order) error {
		assert.EqualValues(w, 1, before.Status)
		return calls.after(w.Fleet.StoreOrder(ctx, tx, before, after))
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
		w.scan("ref-1", "state, mirror, cancel", &state, &mirror, &cancel)
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
	_, changes := w.mirror("ref-1")
	assert.Zero(w, changes)
}
