package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

func orderOne([]string) ([]types.Order, error) {
	return []types.Order{orderUnder("ref-1", "order-1")}, nil
}

func twoOrders([]string) ([]types.Order, error) {
	return []types.Order{orderUnder("ref-1", "order-1"), orderUnder("ref-1", "order-2")}, nil
}

var errFailed = errors.New("failed")

// twoProcesses returns two engines on one store, with a cancellation of ref-1. The booking was abandoned, but has
// made order-1.
func twoProcesses(t *testing.T) (slow, other *engine) {
	slow = newEngine(t)
	other = newEngineOn(t, slow.store)
	slow.orders, other.orders = orderOne, orderOne
	other.abandoned(requestOf("ref-1"))
	other.book = found
	require.NoError(t, other.cancel(toCancel))
	return slow, other
}

// stepOf does the next step of the stored row of ref-1.
func (e *engine) stepOf(kind durable.Kind) {
	_, err := e.work(kind)
	require.NoError(e.t, err)
}

// loseCancel sends Cancel, which gets no answer.
func (e *engine) loseCancel() {
	e.lost = unknown
	e.stepOf(durable.KindCancel)
	require.Equal(e.t, "order-1", e.cancellation().PlatformReferenceNo)
}

// endByHand ends a row of ref-1, like a person who changes the database by hand.
func (e *engine) endByHand(kind durable.Kind) {
	e.change(kind, "ref-1", func(row *durable.Row) { row.Life = durable.Over })
}

// While a worker reads a cancellation or its order, another process changes the row. Then the slow worker sends
// nothing, and does not call OnCancel.
func TestWorkerStoresNothingAfterAnotherProcessHasChangedTheCancellation(t *testing.T) {
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
		before    func(e *engine) // runs before the worker reads the cancellation
		meanwhile func(e *engine)
		reading   bool // true: the function meanwhile runs while the worker reads the order
		delivered int
		ending    durable.CancelEnding // the stored ending after the worker's step
		round     int                  // the stored round after the worker's step
		want      error
	}{
		"the cancellation is sent":                              {nil, (*engine).loseCancel, true, 0, "", 1, durable.ErrMoved},
		"the booking begins again":                              {nil, begins, true, 0, refused, 1, durable.ErrMoved},
		"the cancellation is refused, and OnCancel receives it": {nil, refuses, false, 1, refused, 1, durable.ErrMoved},
		"OnCancel receives an earlier refusal":                  {begins, delivers, false, 1, refused, 1, nil},
		"a new cancellation begins":                             {nil, replaces, false, 1, "", 2, durable.ErrMoved},
		"OnCancel fails, and the booking begins again": {nil, func(e *engine) {
			e.reopen(func(o *options) {
				o.OnCancel = func(context.Context, *memstore.Tx, *durable.Cancellation) error { return errFailed }
			})
			e.orders = twoOrders
			_, err := e.work(durable.KindCancel)
			require.ErrorIs(e.t, err, errFailed)
			begins(e)
		}, false, 0, refused, 1, durable.ErrMoved},
		"a person has ended the row": {nil, func(e *engine) { e.endByHand(durable.KindCancel) }, true, 0, "", 1, durable.ErrMoved},
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
				_, err := slow.Work(t.Context(), row, 10)
				require.ErrorIs(t, err, tc.want)
				assert.Empty(t, slow.cancels)
				assert.Empty(t, slow.cancelled)
				assert.Equal(t, stored, slow.row(durable.KindCancel, "ref-1"))
				c := slow.cancellation()
				assert.Equal(t, []any{tc.delivered, tc.ending, tc.round}, []any{len(other.cancelled), c.Ending, c.Round})
			})
		})
	}
}

// A process is frozen during Cancel until another process has ended the cancellation. A person must look at the
// order.
func TestLateResultOfCancelIsAnError(t *testing.T) {
	for name, meanwhile := range map[string]func(e *engine){
		"the cancellation has ended":     func(*engine) {},
		"another cancellation was begun": func(e *engine) { require.NoError(e.t, e.cancel(toCancel)); e.loseCancel() },
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
				require.ErrorContains(t, err, "Cancel ended after its time limit")
				assert.Empty(t, slow.cancelled)
				assert.Equal(t, stored, slow.row(durable.KindCancel, "ref-1"))
			})
		})
	}
}

func TestNextRoundBeginsOnlyAfterASentCancellationHasEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile func(e *engine)
		want      error
		ending    durable.CancelEnding
	}{
		"the cancellation waits":                            {func(*engine) {}, nil, durable.CancelRefused},
		"the cancellation is sent":                          {(*engine).loseCancel, durable.ErrAlreadyCancelling, ""},
		"a person has ended the row of a sent cancellation": {func(e *engine) { e.loseCancel(); e.endByHand(durable.KindCancel) }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, e := twoProcesses(t)
				tc.meanwhile(e)
				row := e.row(durable.KindCancel, "ref-1")
				require.ErrorIs(t, e.beginTx(requestOf("ref-1")), tc.want)
				assert.Equal(t, tc.ending == "", assert.ObjectsAreEqual(row, e.row(durable.KindCancel, "ref-1")), "it is stored only if it changes")
				assert.Equal(t, tc.want == nil, e.booking().Ending == "")
				require.Equal(t, tc.ending, e.cancellation().Ending)
				if tc.ending != "" {
					require.ErrorIs(t, e.cancel(toCancel), durable.ErrAlreadyCancelling, "OnCancel has not received the ending yet")
					e.stepOf(durable.KindCancel)
					assert.NoError(t, e.cancel(toCancel))
				}
			})
		})
	}
}

func TestCancelTxCancelsANamedOrderWithoutAStoredBooking(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.orders = func(of []string) ([]types.Order, error) {
			assert.Len(t, of, 1, "each cancellation has its own request")
			return []types.Order{orderUnder(of[0], "order-1"), orderUnder(of[0], "order-2")}, nil
		}
		named := toCancel
		named.PlatformReferenceNo = "order-2"
		require.NoError(t, e.cancel(named))
		e.begin("ref-1")
		assert.Empty(t, e.cancellation().Ending, "it belongs to no earlier round")
		e.runFor(time.Minute)
		assert.Equal(t, []string{"supplier-order-2"}, e.cancels)
		assert.Equal(t, []durable.CancelEnding{durable.CancelDone}, e.cancelled)
		assert.Contains(t, e.log.String(), "several orders are under the reference of a cancellation")
		require.ErrorIs(t, e.cancel(named), durable.ErrAlreadyCancelled)
		named.PlatformReferenceNo = "order-1"
		require.NoError(t, e.cancel(named))
		named.CustomerReferenceNo = "ref-2"
		require.NoError(t, e.cancel(named))
		e.runFor(time.Minute)
		assert.Equal(t, []string{"supplier-order-2", "supplier-order-1", "supplier-order-1"}, e.cancels)
	})
}

// A Cancel hangs beyond its time limit. The process that sent Cancel does not lease the row again, so another process
// can read the order.
func TestCancellationStaysDueWhileItsCancelHangs(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.booked()
		e.orders = orderOne
		require.NoError(t, e.cancel(toCancel))
		e.answer = func() { time.Sleep(3 * time.Minute) }
		time.AfterFunc(150*time.Second, func() {
			assert.False(t, e.row(durable.KindCancel, "ref-1").Due.After(time.Now()), "the time limit was 125 s")
		})
		e.runFor(4 * time.Minute)
	})
}

// abandoned begins ref-1, loses the answer to Book, and abandons the booking.
func (e *engine) abandoned(req *hotelstays.BookRequest) {
	e.book = lostAnswer
	require.NoError(e.t, e.beginTx(req))
	_, err := e.Send(e.t.Context(), "ref-1")
	require.Error(e.t, err)
	require.NoError(e.t, e.Abandon(e.t.Context(), "ref-1"))
}

func TestCancellationOfAnAbandonedBookingCancelsNoOtherOrder(t *testing.T) {
	refused := []durable.CancelEnding{durable.CancelRefused}
	for name, tc := range map[string]struct {
		ends    []durable.CancelEnding
		reads   int // how often the worker reads the order
		prepare func(t *testing.T, e *engine)
	}{
		"nothing was sent": {nil, 0, func(t *testing.T, e *engine) {
			e.begin("ref-1")
			require.NoError(t, e.Abandon(t.Context(), "ref-1"))
			assert.ErrorIs(t, e.cancel(toCancel), durable.ErrNothingToCancel)
		}},
		"a person has deleted the booking's row": {refused, 0, func(t *testing.T, e *engine) {
			e.abandoned(requestOf("ref-1"))
			require.NoError(t, e.cancel(toCancel))
			e.store.Delete(e.id(durable.KindBooking, "ref-1"))
		}},
		"the booking's row is unreadable": {nil, 0, func(t *testing.T, e *engine) {
			e.abandoned(requestOf("ref-1"))
			require.NoError(t, e.cancel(toCancel))
			e.edit(durable.KindBooking, "{", "")
			_, err := e.work(durable.KindCancel)
			require.ErrorContains(t, err, "changed by hand")
		}},
		"the order has other dates": {refused, 1, func(t *testing.T, e *engine) {
			req := requestOf("ref-1")
			req.Expect = &types.RoomRatePkg{CheckIn: "2099-05-01", CheckOut: "2099-05-02"}
			e.abandoned(req)
			require.NoError(t, e.cancel(toCancel))
		}},
		"the named order was made by the next round": {refused, 0, func(t *testing.T, e *engine) {
			e.abandoned(requestOf("ref-1"))
			named := toCancel
			named.PlatformReferenceNo = "order-1"
			require.NoError(t, e.cancel(named))
			e.booked()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *engine) {
				e.reopen(func(o *options) { o.OnOrder = nil })
				e.orders = orderOne
				tc.prepare(t, e)
				e.runFor(time.Minute)
				assert.Empty(t, e.cancels)
				assert.Equal(t, tc.ends, e.cancelled)
				assert.Len(t, e.asked, tc.reads)
			})
		})
	}
}

// A webhook wakes the cancellation during the read that ends it.
func TestWakeDoesNotDelayTheEndOfACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, e := twoProcesses(t)
		e.loseCancel()
		time.Sleep(15 * time.Minute)
		e.orders = func(of []string) ([]types.Order, error) {
			require.NoError(t, e.Wake(t.Context(), "ref-1"))
			return orderOne(of)
		}
		e.stepOf(durable.KindCancel)
		assert.Equal(t, []durable.CancelEnding{durable.CancelStanding}, e.cancelled)
	})
}

// No process works for hours. Afterwards a new order may take some minutes to appear, and the pauses between the
// steps of a cancellation are short again.
func TestCancellationIsSentSoonAfterAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.begin("ref-1")
		require.NoError(t, e.cancel(toCancel))
		time.Sleep(3 * time.Hour)
		start := time.Now()
		e.book = found
		e.orders = func([]string) ([]types.Order, error) {
			if time.Since(start) < 5*time.Minute {
				return nil, nil
			}
			return []types.Order{orderUnder("ref-1", "order-1")}, nil
		}
		e.lost = &hotelstays.APIError{Operation: hotelstays.OpCancel, HTTPStatus: 429, Code: types.CodeRateLimited}
		e.answer = func() {
			if len(e.cancels) > 1 {
				e.lost = nil
			}
		}
		e.runFor(7 * time.Minute)
		assert.Len(t, e.cancels, 2)
		assert.Equal(t, []durable.CancelEnding{durable.CancelDone}, e.cancelled)
	})
}

// reader is an engine whose QueryOrders calls the real client.
type reader struct{ *engine }

func (r reader) QueryOrders(ctx context.Context, req *hotelstays.QueryOrdersRequest,
	opts ...hotelstays.CallOption) (*hotelstays.QueryOrdersResponse, error) {
	return r.Client.QueryOrders(ctx, req, opts...)
}

// An answer with an empty list that announces further orders is incomplete, so it ends no cancellation. If the order
// disappears after Cancel exceeded the rate limit, the cancellation ends as not found.
func TestMissingOrderEndsACancellationOnlyAfterACompleteAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.Client = testkit.ClientThrough(t, testkit.Saying(`{"code": 0, "data": {"orders": [], "hasMore": true}}`))
		e.reopen(func(o *durable.Options[*memstore.Tx]) { o.Client = reader{e} })
		e.booked()
		require.NoError(t, e.cancel(toCancel))
		e.runFor(30 * time.Minute)
		assert.Empty(t, e.cancelled)
	})
	inBubble(t, func(t *testing.T, e *engine) {
		var ended error
		e.reopen(func(o *durable.Options[*memstore.Tx]) {
			o.OnCancel = func(_ context.Context, _ *memstore.Tx, c *durable.Cancellation) error {
				ended = c.Err
				return nil
			}
		})
		e.booked()
		require.NoError(t, e.cancel(toCancel))
		e.orders = func([]string) ([]types.Order, error) {
			if len(e.cancels) > 0 {
				return nil, nil
			}
			return []types.Order{orderUnder("ref-1", "order-1")}, nil
		}
		e.lost = &hotelstays.APIError{Operation: hotelstays.OpCancel, HTTPStatus: 429, Code: types.CodeRateLimited}
		e.runFor(40 * time.Minute)
		assert.Equal(t, &hotelstays.OrderNotFoundError{CustomerReferenceNo: "ref-1", Waited: 15 * time.Minute}, ended)
	})
}

// A frozen process has locked 120 rows.
func TestLockedRowsDelayNoOtherRow(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		until := time.Now().Add(3 * time.Minute)
		q := queue{Store: e.store, lease: func(rows []durable.Row) []durable.Row {
			return slices.DeleteFunc(slices.Clone(rows), func(row durable.Row) bool {
				return strings.HasPrefix(row.Reference, "locked") && time.Now().Before(until)
			})
		}}
		e.step = polled(hotelstays.BookingFound, nil)
		e.orders = func(of []string) (orders []types.Order, _ error) {
			for _, reference := range of {
				orders = append(orders, orderUnder(reference, "order-1"))
			}
			return orders, nil
		}
		for i := range 120 {
			e.loseAll(fmt.Sprintf("locked-%03d", i))
		}
		time.Sleep(time.Second)
		e.begin("ref-1")
		e.book = found
		for within, found := range []int{1, 121} {
			e.runOn(q, 150*time.Second)
			assert.Len(t, e.outcomes, found, within)
		}
	})
}
