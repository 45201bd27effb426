// The cost of reading orders, in virtual time.

package main

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/types"
)

// adopt adds orders that were booked a month ago for a stay in some days, due now.
func (s *testSite) adopt(orders, checkIn int, cancelTime types.Timestamp) {
	s.t.Helper()
	now := time.Now()
	require.NoError(s.t, s.engine.db.inTx(s.t.Context(), func(tx *sql.Tx) error {
		for n := range orders {
			reference := fmt.Sprintf("adopted-%d-%d", checkIn, n)
			offer := types.RoomRatePkg{CheckIn: types.DateOf(now.AddDate(0, 0, checkIn)), CheckOut: types.DateOf(now.AddDate(0, 0, checkIn+2))}
			o := order{
				Checkout: checkout{Reference: reference, Offer: offer}, State: booked,
				Booked: &types.Order{CustomerReferenceNo: reference, Status: 2, CancelTime: cancelTime},
				Since:  now.AddDate(0, 0, -30), nextRead: now.UnixMilli(),
			}
			if err := put(s.t.Context(), tx, o); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (s *testSite) reads() int { return s.srv.Ledger().Count(types.OpQueryOrders) }

func TestOldOrdersAreReadSeldomAndTogether(t *testing.T) {
	inBubble(t, func(s *testSite) {
		s.lookEvery(10 * time.Minute)
		s.adopt(200, 60, "")
		time.Sleep(25 * time.Hour)
		assert.InDelta(t, 3*2, s.reads(), 1, "at once and every twelve hours, a hundred in a request; a token ends meanwhile")
	})
}

func TestOrdersThatAreOverAreReadOnce(t *testing.T) {
	inBubble(t, func(s *testSite) {
		s.lookEvery(10 * time.Minute)
		s.adopt(100, -10, "")
		time.Sleep(time.Hour)
		require.Equal(t, 1, s.reads())
		s.adopt(100, 60, "2000-01-01T00:00:00Z")
		time.Sleep(2 * readLate)
		assert.Equal(t, 2, s.reads())
	})
}

// A new order is read often, and less often as it ages. An event makes it new again.
func TestReadsBackOffWithAge(t *testing.T) {
	inBubble(t, func(s *testSite) {
		s.webhooksAreLost()
		_, reference := s.toOrder()
		during := func(d time.Duration) int {
			before := s.reads()
			time.Sleep(d)
			return s.reads() - before
		}
		first := during(10 * time.Minute)
		hour := during(time.Hour)
		s.srv.ClearFaults()
		s.srv.SendWebhook(reference, types.EventOrderModified)
		again := during(10 * time.Minute)
		for what, reads := range map[string]int{"the first ten minutes": first, "the next hour": hour, "ten minutes after an event": again} {
			assert.Greater(t, reads, 15, what)
			assert.Less(t, reads, 100, what)
		}
	})
}

func TestFailedReadsAreRepeatedTogether(t *testing.T) {
	inBubble(t, func(s *testSite) {
		s.status(types.OpQueryOrders, 403, -1)
		s.adopt(100, 60, "")
		time.Sleep(10 * readLease)
		assert.InDelta(t, 10, s.reads(), 1, "once a minute")
		failed := s.reads()
		s.srv.ClearFaults()
		time.Sleep(10 * time.Minute)
		assert.Equal(t, failed+1, s.reads())
	})
}
