package durable_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

func orderOne([]string) ([]types.Order, error) {
	return []types.Order{orderUnder("ref-1", "order-1")}, nil
}

// twoProcesses returns two engines on one store, with a cancellation of ref-1: its booking was given up, and
// has made order-1.
func twoProcesses(t *testing.T) (slow, other *engine) {
	slow = newEngine(t)
	other = newEngineOn(t, slow.store)
	slow.orders, other.orders, other.book = orderOne, orderOne, found
	other.begin("ref-1")
	require.NoError(t, other.Abandon(t.Context(), "ref-1"))
	require.NoError(t, other.cancel(toCancel))
	return slow, other
}

// stepOf does the step of a row of ref-1 that is stored now.
func (e *engine) stepOf(kind durable.Kind) {
	_, err := e.work(kind)
	require.NoError(e.t, err)
}

// loseCancel sends Cancel, which gets no answer.
func (e *engine) loseCancel() {
	e.lost = unknown
	e.stepOf(durable.KindCancel)
}

// endByHand ends a row of ref-1, as a person may in the database.
func (e *engine) endByHand(kind durable.Kind) {
	row := e.row(kind, "ref-1")
	row.Life = durable.Over
	e.store.Put(*row)
}

// A worker has read a cancellation or its order, and another process is faster. The slow worker stores nothing,
// sends nothing, and calls no function.
func TestSlowWorkerOfACancellation(t *testing.T) {
	const refused = durable.CancelRefused
	begins := func(e *engine) { e.begin("ref-1") }
	delivers := func(e *engine) { e.stepOf(durable.KindCancel) }
	refuses := func(e *engine) { begins(e); delivers(e) }
	replaces := func(e *engine) {
		refuses(e)
		e.send()
		require.NoError(e.t, e.cancel(toCancel))
	}
	for name, tc := range map[string]struct {
		before    func(e *engine) // the worker reads the cancellation
		meanwhile func(e *engine)
		reading   bool // the order, meanwhile
		told      int
		ending    durable.CancelEnding // that is stored
		round     int                  // of that
		want      error
	}{
		"it is sent":                           {nil, (*engine).loseCancel, true, 0, "", 1, durable.ErrMoved},
		"its booking begins again":             {nil, begins, true, 0, refused, 1, durable.ErrMoved},
		"it is refused, and delivered":         {nil, refuses, false, 1, refused, 1, durable.ErrMoved},
		"it was refused, and is delivered":     {begins, delivers, false, 1, refused, 1, nil},
		"another one begins":                   {nil, replaces, false, 1, "", 2, durable.ErrMoved},
		"another one begins, at the same time": {nil, replaces, true, 1, "", 2, durable.ErrMoved},
		"a person has ended its row":           {nil, func(e *engine) { e.endByHand(durable.KindCancel) }, true, 0, "", 1, durable.ErrMoved},
		"a person has ended its row, and its booking begins again": {nil, func(e *engine) { e.endByHand(durable.KindCancel); begins(e) },
			false, 0, "", 1, durable.ErrMoved},
		"it is sent, and its booking is absent": {nil, func(e *engine) {
			e.loseCancel()
			require.NoError(e.t, e.Retry(e.t.Context(), "ref-1"))
			e.step = polled(hotelstays.BookingAbsent, nil)
			e.stepOf(durable.KindBooking)
		}, false, 0, "", 1, durable.ErrMoved},
		"a webhook wakes it": {(*engine).loseCancel, func(e *engine) { require.NoError(e.t, e.Wake(e.t.Context(), "ref-1")) },
			true, 0, "", 1, durable.ErrMoved},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow, other := twoProcesses(t)
				if tc.before != nil {
					tc.before(other)
					time.Sleep(time.Minute)
				}
				row := slow.row(durable.KindCancel, "ref-1")
				var stored *durable.Row
				meanwhile := func() { tc.meanwhile(other); stored = slow.row(durable.KindCancel, "ref-1") }
				if tc.reading {
					slow.orders = func(of []string) ([]types.Order, error) { meanwhile(); return orderOne(of) }
				} else {
					meanwhile()
				}
				_, err := slow.Work(t.Context(), row)
				require.ErrorIs(t, err, tc.want)
				assert.Empty(t, slow.cancels)
				assert.Empty(t, slow.cancelled)
				assert.Equal(t, stored, slow.row(durable.KindCancel, "ref-1"))
				c := slow.cancellation()
				assert.Equal(t, []any{tc.told, tc.ending, tc.round}, []any{len(other.cancelled), c.Ending, c.Round})
			})
		})
	}
}

// A process is frozen in its Cancel until another one has ended the cancellation. A person must look at the order.
func TestCancelEndsAfterItsTime(t *testing.T) {
	for name, meanwhile := range map[string]func(e *engine){
		"it has ended":        func(*engine) {},
		"another one is sent": func(e *engine) { require.NoError(e.t, e.cancel(toCancel)); e.loseCancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow, other := twoProcesses(t)
				var stored *durable.Row
				slow.answer = func() {
					time.Sleep(time.Hour)
					other.stepOf(durable.KindCancel)
					require.Equal(t, []durable.CancelEnding{durable.CancelStanding}, other.cancelled)
					meanwhile(other)
					stored = slow.row(durable.KindCancel, "ref-1")
				}
				_, err := slow.work(durable.KindCancel)
				require.ErrorContains(t, err, "its Cancel has ended after its time")
				assert.Empty(t, slow.cancelled)
				assert.Equal(t, stored, slow.row(durable.KindCancel, "ref-1"))
			})
		})
	}
}

// A booking begins again beside its cancellation.
func TestBookingBeginsBesideACancellation(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile func(e *engine)
		want      error
		ending    durable.CancelEnding
	}{
		"it waits":                   {func(*engine) {}, nil, durable.CancelRefused},
		"it is sent":                 {(*engine).loseCancel, durable.ErrAlreadyCancelling, ""},
		"a person has ended its row": {func(e *engine) { e.loseCancel(); e.endByHand(durable.KindCancel) }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, e := twoProcesses(t)
				tc.meanwhile(e)
				require.ErrorIs(t, e.beginTx(requestOf("ref-1")), tc.want)
				assert.Equal(t, tc.want == nil, e.booking().Ending == "")
				require.Equal(t, tc.ending, e.cancellation().Ending)
				if tc.ending != "" {
					require.ErrorIs(t, e.cancel(toCancel), durable.ErrAlreadyCancelling, "OnCancel has not received it")
					e.stepOf(durable.KindCancel)
					assert.NoError(t, e.cancel(toCancel))
				}
			})
		})
	}
}

// A cancellation of an order that was not booked here names the order.
func TestCancelOfANamedOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		e.orders = func([]string) ([]types.Order, error) {
			return []types.Order{orderUnder("ref-1", "order-1"), orderUnder("ref-1", "order-2")}, nil
		}
		named := toCancel
		named.PlatformReferenceNo = "order-2"
		require.NoError(t, e.cancel(named))
		e.runFor(time.Minute)
		assert.Equal(t, []string{"supplier-order-2"}, e.cancels)
		assert.Equal(t, []durable.CancelEnding{durable.CancelDone}, e.cancelled)
		assert.Contains(t, e.log.String(), "several orders are under the reference of a cancellation")
	})
}

// A read of a cancellation that fails is repeated soon, also hours after the answer to its Cancel was lost.
func TestFailedReadOfACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t)
		e.begin("ref-1")
		e.book, e.lost = found, unknown
		_, err := e.Send(t.Context(), "ref-1")
		require.NoError(t, err)
		e.orders = func([]string) ([]types.Order, error) { return []types.Order{orderUnder("ref-1", "order-1")}, nil }
		require.NoError(t, e.cancel(toCancel))
		e.runFor(time.Second)
		require.Len(t, e.cancels, 1)
		e.orders = func([]string) ([]types.Order, error) { return nil, refused }
		time.Sleep(3 * time.Hour)
		due, err := e.Work(t.Context(), e.row(durable.KindCancel, "ref-1"))
		require.NoError(t, err)
		assert.Equal(t, 5*time.Minute, time.Until(due))
	})
}
