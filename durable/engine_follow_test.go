package durable_test

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
	"github.com/hotelstays/hotelstays-go/types"
)

// While a worker reads a followed order, a webhook, another worker, the caller or a person changes the row of the
// order.
func TestChangeOfAFollowedOrderIsDeliveredAtMostOnce(t *testing.T) {
	wake := func(e *engine) { require.NoError(e.t, e.Wake(e.t.Context(), "ref-1")) }
	for name, tc := range map[string]struct {
		changed   bool
		meanwhile func(e *engine)
		delivered int
		life      durable.Life
		want      error
	}{
		"a webhook wakes the order":                    {false, wake, 0, durable.Open, durable.ErrMoved},
		"a webhook wakes the order, which has changed": {true, wake, 1, durable.Open, nil},
		"another worker delivers the change": {true, func(e *engine) {
			other := newEngineOn(e.t, e.store)
			other.orders = e.orders
			other.stepOf(durable.KindOrder)
			e.changes = append(e.changes, other.changes...)
		}, 1, durable.Open, durable.ErrMoved},
		"the caller calls Unfollow": {true, func(e *engine) { require.NoError(e.t, e.Unfollow(e.t.Context(), "ref-1")) }, 0,
			durable.Over, durable.ErrMoved},
		"a person has ended the row": {true, func(e *engine) { e.endByHand(durable.KindOrder) }, 0, durable.Over, durable.ErrMoved},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *engine) {
				e.booked()
				time.Sleep(time.Minute)
				read := orderOne
				if tc.changed {
					read = confirmedOrder
				}
				e.orders = func(of []string) ([]types.Order, error) {
					e.orders = read
					tc.meanwhile(e)
					return read(of)
				}
				page, stop := e.Watch("ref-1")
				defer stop()
				_, err := e.work(durable.KindOrder)
				require.ErrorIs(t, err, tc.want)
				assert.Len(t, e.changes, tc.delivered)
				assert.Equal(t, tc.want == nil, len(page) == 1)
				assert.Equal(t, tc.life, e.row(durable.KindOrder, "ref-1").Life)
			})
		})
	}
}

func TestFailedOnOrderIsCalledAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		onOrder := e.options.OnOrder
		e.reopen(func(o *options) {
			o.OnOrder = func(ctx context.Context, tx *memstore.Tx, change *durable.OrderChange) error {
				return cmp.Or(errFailed, onOrder(ctx, tx, change))
			}
		})
		e.booked()
		e.orders = confirmedOrder
		for range 2 {
			_, err := e.work(durable.KindOrder)
			assert.ErrorIs(t, err, errFailed)
		}
		assert.Equal(t, []string{"H-1", "H-1"}, e.changes)
	})
}

func TestOrderOfAnotherStayIsNotFollowed(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.lose()
		e.step = func(*hotelstays.BookingRecovery) (*hotelstays.BookingOutcome, error) { return nil, reused }
		e.stepOf(durable.KindBooking)
		require.Equal(t, durable.EndingReused, e.booking().Ending)
		assert.Nil(t, e.row(durable.KindOrder, "ref-1"))
	})
	inBubble(t, func(t *testing.T, e *engine) {
		e.reopen(func(o *options) { o.OnOrder = nil })
		e.booked()
		assert.Nil(t, e.row(durable.KindOrder, "ref-1"), "without OnOrder no order is followed")
	})
}

// A person has deleted the row of a booking, and the reference is used again.
func TestOrderIsFollowedAgainAfterItsBookingWasDeleted(t *testing.T) {
	for _, followed := range []bool{true, false} {
		inBubble(t, func(t *testing.T, e *engine) {
			e.booked()
			e.edit(durable.KindOrder, "{", `{"other":"order-9",`)
			if !followed {
				require.NoError(t, e.Unfollow(t.Context(), "ref-1"))
			}
			e.store.Delete(e.id(durable.KindBooking, "ref-1"))
			time.Sleep(time.Hour)
			e.begin("ref-1")
			e.send()
			row := e.row(durable.KindOrder, "ref-1")
			assert.Equal(t, []any{durable.Open, time.Minute}, []any{row.Life, time.Until(row.Due)})
			assert.NotContains(t, string(row.State), "order-9")
		})
	}
}

// If an order or a request cannot be encoded as JSON, the call returns an error. The order or request is neither
// stored nor delivered.
func TestOrderThatIsNotJSONIsAnError(t *testing.T) {
	o := orderUnder("ref-1", "order-1")
	o.NetRate = types.Money{Currency: "EUR", Amount: "one"}
	req := requestOf("ref-1")
	req.Expect = &types.RoomRatePkg{TotalRate: types.Rate{NetRate: o.NetRate}}
	require.ErrorContains(t, newEngine(t).beginTx(req), `"one"`)
	inBubble(t, func(t *testing.T, e *engine) {
		e.book = func() (*hotelstays.BookingOutcome, error) {
			return &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: &o}, nil
		}
		e.begin("ref-1")
		_, err := e.Send(t.Context(), "ref-1")
		require.Error(t, err)
		assert.Empty(t, e.outcomes)
		assert.Empty(t, e.booking().Ending)
	})
	inBubble(t, func(t *testing.T, e *engine) {
		e.booked()
		row := e.row(durable.KindOrder, "ref-1")
		e.orders = func([]string) ([]types.Order, error) { return []types.Order{o}, nil }
		_, err := e.work(durable.KindOrder)
		require.Error(t, err)
		e.runFor(2 * time.Minute)
		assert.Empty(t, e.changes)
		assert.Equal(t, row.State, e.row(durable.KindOrder, "ref-1").State)
	})
}

// An older version has stored the order without its PlatformReferenceNo.
func TestAnotherOrderIsNoChangeOfAnOrderThatAnOlderVersionStored(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.booked()
		e.edit(durable.KindOrder, `"platformReferenceNo":"order-1",`, "")
		e.orders = func([]string) ([]types.Order, error) { return []types.Order{orderUnder("ref-1", "order-9")}, nil }
		e.stepOf(durable.KindOrder)
		assert.Empty(t, e.changes)
		assert.Contains(t, e.log.String(), "another order is under the reference")
	})
}

// The order has not changed for days, so the pause after a successful read is long.
func TestFailedReadOfAFollowedOrderIsRepeatedSoon(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.booked()
		e.orders = func([]string) ([]types.Order, error) { return nil, refused }
		time.Sleep(100 * time.Hour)
		due, err := e.Work(t.Context(), e.row(durable.KindOrder, "ref-1"), 10)
		require.NoError(t, err)
		assert.Equal(t, 5*time.Minute, time.Until(due))
		time.Sleep(5 * time.Minute)
		e.orders = func([]string) ([]types.Order, error) {
			return nil, &hotelstays.APIError{Operation: hotelstays.OpQueryOrders, HTTPStatus: 400, Code: 7}
		}
		e.runFor(time.Minute)
		assert.Contains(t, e.log.String(), "orders cannot be read")
		assert.Equal(t, 4*time.Minute, time.Until(e.row(durable.KindOrder, "ref-1").Due).Round(time.Minute), "the read failed a minute ago")
	})
}

func TestOrderThatStaysMissingIsLoggedAndNoLongerFollowed(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.booked()
		e.orders = func([]string) ([]types.Order, error) { return nil, nil }
		e.runFor(5 * time.Minute)
		assert.Equal(t, 1, strings.Count(e.log.String(), "level=WARN msg=\"a followed order has disappeared\""))
		time.Sleep(60 * 24 * time.Hour)
		due, err := e.work(durable.KindOrder)
		require.NoError(t, err)
		assert.True(t, due.IsZero(), "nothing is left to do")
		assert.Contains(t, e.log.String(), "level=ERROR msg=\"a followed order has disappeared, and is no longer read; check it by hand\"")
		assert.Equal(t, durable.Over, e.row(durable.KindOrder, "ref-1").Life)
	})
}

func TestRunStopsFollowingAnOrderAfterItsStay(t *testing.T) {
	for name, tc := range map[string]struct {
		missing bool // whether the previous answer lacked the order
		after   time.Duration
		life    durable.Life
	}{
		"a missing order is back":                     {true, time.Hour, durable.Open},
		"a missing order is back after its check-out": {true, 20 * 24 * time.Hour, durable.Over},
		"the check-out is over":                       {false, 20 * 24 * time.Hour, durable.Over},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *engine) {
				o := orderUnder("ref-1", "order-1")
				o.CheckIn, o.CheckOut = "2000-01-05", "2000-01-06"
				e.book = func() (*hotelstays.BookingOutcome, error) {
					return &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: &o}, nil
				}
				e.begin("ref-1")
				e.send()
				if e.orders = func([]string) ([]types.Order, error) { return nil, nil }; !tc.missing {
					e.orders = func([]string) ([]types.Order, error) { return []types.Order{o}, nil }
				}
				e.stepOf(durable.KindOrder)
				require.Equal(t, tc.missing, strings.Contains(string(e.row(durable.KindOrder, "ref-1").State), "missingSince"))
				time.Sleep(tc.after)
				e.orders = func([]string) ([]types.Order, error) { return []types.Order{o}, nil }
				e.runFor(time.Minute)
				row := e.row(durable.KindOrder, "ref-1")
				assert.NotContains(t, string(row.State), "missingSince")
				assert.Equal(t, tc.life, row.Life)
				assert.Equal(t, tc.life == durable.Open, strings.Contains(string(row.State), "seen"), "it names guests")
				assert.Empty(t, e.changes)
			})
		})
	}
}

// The ctx of a worker ends while the worker reads an order. The read stores nothing, so Watch reports the next change
// of the order.
func TestInterruptedReadOfAnOrderStoresNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.booked()
		page, stop := e.Watch("ref-1")
		defer stop()
		row := e.row(durable.KindOrder, "ref-1")
		ctx, cancel := context.WithCancel(t.Context())
		e.orders = func([]string) ([]types.Order, error) { cancel(); return nil, ctx.Err() }
		_, err := e.Work(ctx, row, 10)
		require.ErrorIs(t, err, context.Canceled)
		assert.NotContains(t, e.log.String(), "cannot be read")
		require.Equal(t, row, e.row(durable.KindOrder, "ref-1"))
		ctx, cancel = context.WithCancel(t.Context())
		e.orders = func(of []string) ([]types.Order, error) { cancel(); return orderOne(of) }
		due, err := e.Work(ctx, row, 10)
		assert.True(t, err != nil || !due.IsZero(), "the order is not settled")
		e.orders = confirmedOrder
		e.stepOf(durable.KindOrder)
		assert.Equal(t, []int{1, 1}, []int{len(e.changes), len(page)})
		require.NoError(t, e.Unfollow(t.Context(), "ref-1"))
		assert.NotContains(t, string(e.row(durable.KindOrder, "ref-1").State), "seen", "it names guests")
	})
}
