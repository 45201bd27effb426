// A poll counts from when it began, the recovery's own settings win, and a clock that was
// set back starts the schedule anew.

package hotelstays_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// A poll that begins before the end of the schedule and ends after it does not decide: the
// order may have become visible in between. Another poll follows.
func TestPollAcrossTheEndOfTheSchedule(t *testing.T) {
	slow := pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: 15 * time.Second})
	slow.Times = 1
	t.Run("by RecoverBooking", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newRecoveryWorld(t)
			w.Inject(bookLost)
			slow.Skip = 5
			w.Inject(slow)
			wakeup := make(chan struct{}, 1)
			at(t, 590, func() { wakeup <- struct{}{} })
			outcome, err := w.client.BookAndRecover(t.Context(), w.offer.request("ref-1"), hotelstays.WithWakeup(wakeup))
			require.NoError(t, err)
			assert.Equal(t, hotelstays.BookingAbsent, outcome.State)
			assert.Equal(t, []float64{0, 30, 90, 210, 450, 590, 605}, w.polls(w.bookEnded(t)))
		})
	})
	t.Run("by StepRecovery", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newRecoveryWorld(t)
			recovery := w.client.NewBookingRecovery(w.offer.request("ref-1"))
			recovery.EndedAt, recovery.Polls = time.Now().Add(-590*time.Second), 5
			start := time.Now()
			slow.Skip = 0
			w.Inject(slow)
			outcome, err := w.client.StepRecovery(t.Context(), recovery)
			require.NoError(t, err)
			require.Equal(t, 15*time.Second, time.Since(start))
			assert.Equal(t, hotelstays.BookingOpen, outcome.State)
			assert.Equal(t, 5, recovery.Polls)
			assert.True(t, recovery.NextPoll.Equal(start.Add(10*time.Second)), "at 600 s, which is past")

			outcome, err = w.client.StepRecovery(t.Context(), recovery)
			require.NoError(t, err)
			assert.Equal(t, hotelstays.BookingAbsent, outcome.State)
			assert.Equal(t, []float64{0, 15}, w.polls(start))
		})
	})
}

// The market and the user of the Book win over those of the one who asks: under others the
// order may not be visible.
func TestRecoverysOwnMarketAndUserWin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRecoveryWorld(t)
		recovery := w.client.NewBookingRecovery(w.offer.request("ref-1"), hotelstays.WithMarket("AE"), hotelstays.WithUserRef("clerk"))
		recovery.EndedAt = time.Now().Add(-10 * time.Minute)
		others := []hotelstays.CallOption{hotelstays.WithMarket("FR"), hotelstays.WithUserRef("nobody")}
		_, err := w.client.StepRecovery(t.Context(), recovery, others...)
		require.NoError(t, err)
		_, err = w.client.RecoverBooking(t.Context(), recovery, others...)
		require.NoError(t, err)
		polls := w.Ledger().Requests(hotelstaystest.OpQueryOrders)
		require.Len(t, polls, 2)
		for _, poll := range polls {
			assert.Equal(t, "AE", poll.Header.Get("Market"))
			assert.Equal(t, "clerk", poll.Header.Get("User-Ref"))
		}
	})
}

// The call's timeout wins over the client's, be it longer or shorter, and neither lets a
// poll take more than 20 seconds.
func TestPollTimeout(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct{ client, call, poll time.Duration }{
		{0, 0, 20 * s},
		{0, 3 * s, 3 * s},
		{0, 60 * s, 20 * s},
		{15 * s, 3 * s, 3 * s},
		{3 * s, 15 * s, 15 * s},
		{3 * s, 60 * s, 20 * s},
	} {
		t.Run(tc.client.String()+" and "+tc.call.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRecoveryWorld(t)
				var opts []hotelstays.Option
				if tc.client > 0 {
					opts = append(opts, hotelstays.WithTimeout(tc.client))
				}
				var call []hotelstays.CallOption
				if tc.call > 0 {
					call = append(call, hotelstays.WithTimeout(tc.call))
				}
				client := newClient(t, w.Server, w.cred, opts...)
				_, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{}) // fetches the token
				require.NoError(t, err)
				w.Inject(pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Hour}))
				start := time.Now()
				_, err = client.StepRecovery(t.Context(), client.NewBookingRecovery(w.offer.request("ref-1")), call...)
				require.NoError(t, err)
				assert.Equal(t, tc.poll, time.Since(start))
			})
		})
	}
}

// A recovery that ended in the future was stored by a clock that has been set back since:
// its polls prove nothing, and the whole schedule is made again.
func TestClockSetBack(t *testing.T) {
	for polls := range 7 {
		synctest.Test(t, func(t *testing.T) {
			w := newRecoveryWorld(t)
			recovery := w.client.NewBookingRecovery(w.offer.request("ref-1"))
			start := time.Now()
			recovery.EndedAt, recovery.Polls = start.Add(time.Hour), polls
			recovery.NextPoll = recovery.EndedAt.Add(30 * time.Second)

			outcome, err := w.client.StepRecovery(t.Context(), recovery)
			require.NoError(t, err)
			assert.Equal(t, hotelstays.BookingOpen, outcome.State)
			assert.Equal(t, 1, recovery.Polls)
			assert.True(t, recovery.EndedAt.Equal(start))

			outcome, err = w.client.RecoverBooking(t.Context(), stored(t, recovery))
			require.NoError(t, err)
			assert.Equal(t, hotelstays.BookingAbsent, outcome.State)
			assert.Equal(t, []float64{0, 30, 90, 210, 450, 600}, w.polls(start))
		})
	}
}
