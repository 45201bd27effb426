// When a renewal that fails is tried again, and how long a refusal is remembered.

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

// A renewal that fails, for whatever reason, is tried again after 1 s, 2 s and so on to 30 s,
// and the pauses begin anew with the next token.
func TestPausesOfAFailingRenewal(t *testing.T) {
	for _, code := range []int{503, 401} {
		synctest.Test(t, func(t *testing.T) {
			w := newAuthWorld(t, time.Hour, hotelstays.WithMaxAttempts(1))
			defer w.end()
			for range 2 {
				callAll(t.Context(), w.client, 1)
				time.Sleep(55*time.Minute + time.Millisecond)
				before := w.Ledger().Count(hotelstaystest.OpTicket)
				w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultStatus, Status: code, Times: -1})
				var tries []float64
				for start := time.Now(); time.Since(start) < 2*time.Minute; time.Sleep(time.Second / 2) {
					failed, _ := callAll(t.Context(), w.client, 1)
					require.Empty(t, failed)
					synctest.Wait()
					if n := w.Ledger().Count(hotelstaystest.OpTicket); n > before {
						tries, before = append(tries, time.Since(start).Seconds()), n
					}
				}
				assert.Equal(t, []float64{0, 1, 3, 7, 15, 31, 61, 91}, tries)

				w.ClearFaults()
				time.Sleep(30 * time.Second)
				callAll(t.Context(), w.client, 1) // renews
				synctest.Wait()
			}
		})
	}
}

// A refusal that came for a renewal answers those whose token then ends, too: for ten
// seconds, and from each refusal on.
func TestRefusedRenewalIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, time.Hour)
		defer w.end()
		callAll(t.Context(), w.client, 1)
		time.Sleep(time.Hour - 2*time.Second) // the old token serves for two seconds more
		w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultStatus, Status: 401, Times: -1})
		start := time.Now()
		failed, _ := callAll(t.Context(), w.client, 1)
		require.Empty(t, failed)
		synctest.Wait()
		require.Equal(t, 2, w.Ledger().Count(hotelstaystest.OpTicket), "the renewal is refused")

		for _, after := range []time.Duration{2*time.Second + time.Millisecond, 5 * time.Second, 10*time.Second - time.Nanosecond} {
			time.Sleep(time.Until(start.Add(after)))
			failed, _ = callAll(t.Context(), w.client, 10)
			require.Len(t, failed, 10)
			assert.ErrorIs(t, failed[0], hotelstays.ErrUnauthorized)
			assert.Equal(t, 2, w.Ledger().Count(hotelstaystest.OpTicket), "after %s", after)
		}
		time.Sleep(time.Nanosecond)
		callAll(t.Context(), w.client, 10)
		assert.Equal(t, 3, w.Ledger().Count(hotelstaystest.OpTicket), "it is asked again, once")
	})
}
