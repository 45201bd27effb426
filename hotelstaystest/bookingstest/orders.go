// The promises about cancellations, and about orders that are followed.

package bookingstest

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

func cancelledOnce[Tx any](w *World[Tx]) {
	w.Booked("ref-1")
	failure := errors.New("rolled back")
	require.ErrorIs(w, w.Fleet.InTx(w.Context(), func(tx Tx) error {
		require.NoError(w, w.CancelTx(w.Context(), tx, durable.CancelOrder{CustomerReferenceNo: "ref-1", SessionID: w.Accounts[0].Session}))
		return failure
	}), failure)
	cost, err := w.Accounts[0].Offer.CancelFeeAt(time.Now())
	require.NoError(w, err)
	var begun atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			err := w.CancelAlone("ref-1", func(r *durable.CancelOrder) { r.MaxFee = &cost })
			if err == nil {
				begun.Add(1)
			} else {
				assert.ErrorIs(w, err, durable.ErrAlreadyCancelling)
			}
		})
	}
	wg.Wait()
	require.EqualValues(w, 1, begun.Load())
	assert.Zero(w, w.cancels())
	require.ErrorAs(w, w.CancelAlone("ref-2", func(r *durable.CancelOrder) { r.SessionID = "" }), new(*hotelstays.ValidationError))
	for range 3 {
		w.Another(nil).Work()
	}
	w.CancelEnds("ref-1", durable.CancelDone, 1, 0)
	require.ErrorIs(w, w.CancelAlone("ref-1", nil), durable.ErrAlreadyCancelled)
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	w.Fleet.Pass(time.Hour)
	time.Sleep(100 * time.Millisecond)
	assert.Equal(w, 1, w.cancels())
	w.CancelEnds("ref-1", durable.CancelDone, 1, 0)
	stored := w.Fleet.Cancellation("ref-1")
	assert.Equal(w, &cost, stored.Cost)
	assert.Equal(w, &cost, stored.ServiceFee)
}

func cancelWaits[Tx any](w *World[Tx]) {
	w.Begin("ref-1")
	require.NoError(w, w.CancelAlone("ref-1", nil))
	w.Work()
	time.Sleep(100 * time.Millisecond)
	assert.Zero(w, w.cancels())
	assert.Len(w, listed(w, w.Cancellations(w.Context())), 1)
	w.MustSend("ref-1")
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	w.CancelEnds("ref-1", durable.CancelDone, 1, 0)
	assert.Equal(w, 1, w.cancels())
	assert.Empty(w, listed(w, w.Cancellations(w.Context())))
}

// nothingToCancel checks the cancellation of a booking without an order. If the booking has already ended, CancelTx
// fails. If it ends later, OnCancel receives CancelRefused.
func nothingToCancel[Tx any](w *World[Tx]) {
	require.ErrorIs(w, w.CancelAlone("not booked", nil), durable.ErrNothingToCancel)
	w.SendUnknown("absent", BookLost)
	w.Begin("failed")
	require.NoError(w, w.CancelAlone("absent", nil))
	require.NoError(w, w.CancelAlone("failed", nil))
	w.Inject(BookRefused)
	w.MustSend("failed")
	w.Work()
	w.HasState("absent", durable.EndingAbsent, time.Minute)
	for _, reference := range []string{"absent", "failed"} {
		w.CancelEnds(reference, durable.CancelRefused, 1, 10*time.Second)
		require.ErrorContains(w, w.CancelAlone(reference, nil), "has ended as "+reference)
	}
	assert.Zero(w, w.cancels())
}

// cancelOfAnEarlierRound checks that a cancellation never cancels the order of a later round of the booking.
func cancelOfAnEarlierRound[Tx any](w *World[Tx]) {
	w.SendUnknown("ref-1", BookLost)
	require.NoError(w, w.CancelAlone("ref-1", nil))
	stop := w.Work()
	w.HasState("ref-1", durable.EndingAbsent, time.Minute)
	stop()
	require.NoError(w, w.BeginAlone(w.Request("ref-1")))
	require.Equal(w, durable.EndingFound, durable.EndingOf(w.MustSend("ref-1")))
	w.Work()
	w.CancelEnds("ref-1", durable.CancelRefused, 1, 10*time.Second)
	w.Fleet.Pass(time.Hour)
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	time.Sleep(100 * time.Millisecond)
	assert.Zero(w, w.cancels())
	require.NoError(w, w.CancelAlone("ref-1", nil))
	w.CancelEnds("ref-1", durable.CancelDone, 2, 10*time.Second)
	assert.Equal(w, 1, w.cancels())
}

// beginsAfterItsCancel checks that a booking cannot begin again while a Cancel is in progress, because that Cancel
// could cancel the order of the new round.
func beginsAfterItsCancel[Tx any](w *World[Tx]) {
	w.SendUnknown("ref-1", BookMade)
	w.Fleet.Pass(time.Minute)
	require.NoError(w, w.Abandon(w.Context(), "ref-1"))
	answer := w.Hold("/cancel")
	answer.lose = true
	require.NoError(w, w.CancelAlone("ref-1", nil))
	w.Work()
	answer.Wait()
	require.ErrorIs(w, w.BeginAlone(w.Request("ref-1")), durable.ErrAlreadyCancelling)
	answer.Release()
	w.CancelEnds("ref-1", durable.CancelDone, 1, time.Minute)
	require.NoError(w, w.BeginAlone(w.Request("ref-1")))
}

func stoppedInCancel[Tx any](w *World[Tx]) {
	w.Booked("ref-1")
	w.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: Patience})
	w.Inject(hotelstaystest.Fault{Operation: hotelstays.OpCancel, Kind: hotelstaystest.FaultDelay, Delay: Patience, Commit: true})
	require.NoError(w, w.CancelAlone("ref-1", nil))
	stop := w.Work()
	w.Eventually("the order to cancel is read", func() bool { return w.polls() > 0 })
	stop()
	stop = w.Work()
	w.Eventually("Cancel is sent", func() bool { return w.cancels() > 0 })
	stop()
	stored := w.Fleet.Cancellation("ref-1")
	assert.Empty(w, stored.Ending)
	assert.WithinRange(w, stored.SendBy, time.Now().Add(-Patience), time.Now(), "another worker need not wait for BookTimeout")
	w.Work()
	w.CancelEnds("ref-1", durable.CancelDone, 1, 0)
	assert.Equal(w, 1, w.cancels())
}

func listed[T, Tx any](w *World[Tx], list iter.Seq2[T, error]) (items []T) {
	for item, err := range list {
		require.NoError(w, err)
		items = append(items, item)
	}
	return items
}

func onCancelFails[Tx any](w *World[Tx]) {
	calls := failing{failures: []error{errors.New("OnCancel failed")}}
	w.Options.OnCancel = func(ctx context.Context, tx Tx, c *durable.Cancellation) error {
		assert.ErrorIs(w, c.Err, hotelstays.ErrCancelRefused)
		return calls.after(w.Fleet.StoreCancel(ctx, tx, c))
	}
	w = w.Another(nil)
	w.Booked("ref-1")
	w.SetCancelRule("ref-1", hotelstaystest.CancelForbiddenByContract)
	require.NoError(w, w.CancelAlone("ref-1", nil))
	w.Work()
	w.Eventually("the cancellation is refused", func() bool { return w.Fleet.Cancellation("ref-1").Ending != "" })
	w.CancelEnds("ref-1", durable.CancelRefused, 1, time.Minute)
	assert.EqualValues(w, 3, calls.Load())
	assert.Equal(w, 1, w.cancels())
}

// following opens another process, which follows the orders that it books.
func (w *World[Tx]) following(onOrder func(context.Context, Tx, *durable.OrderChange) error) *World[Tx] {
	return w.Another(func(o *durable.Options[Tx]) { o.OnOrder = onOrder })
}

// hasMirror waits until the caller's copy equals the service's order. The parameter changes is how many times OnOrder must
// have changed the copy until then.
func (w *World[Tx]) hasMirror(reference string, changes int, step time.Duration) {
	w.Helper()
	order, err := w.Clients[0].FindOrder(w.Context(), reference)
	require.NoError(w, err)
	w.PassUntil("the caller's copy of "+reference+" equals the order", step, func() bool {
		mirror, n := w.mirror(reference)
		assert.LessOrEqual(w, n, changes)
		return mirror == mirrorOf(order) && n == changes
	})
}

func followed[Tx any](w *World[Tx]) {
	w = w.following(w.Fleet.StoreOrder)
	w.Booked("ref-2", "ref-1")
	orders := listed(w, w.Orders(w.Context()))
	require.Len(w, orders, 2)
	assert.ElementsMatch(w, []string{"ref-1", "ref-2"}, []string{orders[0].CustomerReferenceNo, orders[1].CustomerReferenceNo})
	w.Work()
	w.following(w.Fleet.StoreOrder).Work()
	w.ConfirmOrder("ref-1")
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	w.hasMirror("ref-1", 1, 0)
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	w.ConfirmOrder("ref-2") // nobody calls Wake, as if the webhook were lost
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
	assert.Equal(w, 2, changes, "workers do not read a settled order again")
}
