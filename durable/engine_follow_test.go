package durable_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// A worker reads a followed order, and something else happens meanwhile.
func TestSlowWorkerOfAFollowedOrder(t *testing.T) {
	wake := func(e *engine) { require.NoError(e.t, e.Wake(e.t.Context(), "ref-1")) }
	for name, tc := range map[string]struct {
		changed   bool
		meanwhile func(e *engine)
		told      int
		life      durable.Life
		want      error
	}{
		"a webhook wakes it":                 {false, wake, 0, durable.Open, durable.ErrMoved},
		"a webhook wakes it, and it changes": {true, wake, 1, durable.Open, nil},
		"another worker delivers the change": {true, func(e *engine) {
			other := newEngineOn(e.t, e.store)
			other.orders = e.orders
			other.stepOf(durable.KindOrder)
			e.changes = append(e.changes, other.changes...)
		}, 1, durable.Open, durable.ErrMoved},
		"the caller ends it":         {true, func(e *engine) { require.NoError(e.t, e.Unfollow(e.t.Context(), "ref-1")) }, 0, durable.Over, durable.ErrMoved},
		"a person has ended its row": {true, func(e *engine) { e.endByHand(durable.KindOrder) }, 0, durable.Over, durable.ErrMoved},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *engine) {
				e.book = found
				e.begin("ref-1")
				e.send()
				time.Sleep(time.Minute)
				o := orderUnder("ref-1", "order-1")
				if tc.changed {
					o.HotelConfirmNo = "H-1"
				}
				read := func([]string) ([]types.Order, error) { return []types.Order{o}, nil }
				e.orders = func(of []string) ([]types.Order, error) {
					e.orders = read
					tc.meanwhile(e)
					return read(of)
				}
				_, err := e.work(durable.KindOrder)
				require.ErrorIs(t, err, tc.want)
				assert.Len(t, e.changes, tc.told)
				assert.Equal(t, tc.life, e.row(durable.KindOrder, "ref-1").Life)
			})
		})
	}
}

// The order of somebody else under the reference is not followed.
func TestOrderOfSomebodyElse(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.lose()
		e.step = func(*hotelstays.BookingRecovery) (*hotelstays.BookingOutcome, error) { return nil, reused }
		e.stepOf(durable.KindBooking)
		require.Equal(t, durable.EndingReused, e.booking().Ending)
		assert.Nil(t, e.row(durable.KindOrder, "ref-1"))
	})
}

// A person has deleted the row of a booking, and the reference is used again.
func TestOrderOfABookingBegunAnew(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.book = found
		e.begin("ref-1")
		e.send()
		require.NoError(t, e.Unfollow(t.Context(), "ref-1"))
		e.store.Delete(durable.KindBooking, "ref-1")
		e.begin("ref-1")
		e.send()
		assert.Equal(t, durable.Open, e.row(durable.KindOrder, "ref-1").Life)
	})
}
