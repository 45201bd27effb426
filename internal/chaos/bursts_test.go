// Many callers that start at once, over loopback and in real time.

package chaos_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// Callers that start together on a client without a connection: their requests arrive over up
// to half a second, and those that wait for a slot arrive at once. HOTELSTAYS_LONG=1 makes 20
// bursts of 150 and 300 callers, one after another; the gate runs them alone, because on a starved
// machine a request can take longer to arrive than the client assumes. Else it is one small burst.
func TestColdBursts(t *testing.T) {
	for i := range howMany(t, "bursts", 20, 1, 1) {
		callers := 120
		if testkit.Long() {
			callers = 300 - i%2*150
		}
		t.Run(fmt.Sprintf("%d: %d callers", i, callers), func(t *testing.T) { burst(t, callers) })
	}
}

// burst makes all calls at once, with a new client, and counts the 429s.
func burst(t *testing.T, callers int) {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	client, err := hotelstays.New(srv.URL, ticketOf(srv))
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	begin := time.Now()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			_, err := client.HotelList(t.Context(), &hotelstays.HotelListRequest{
				DestinationName: srv.CityName(0), CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults(),
			})
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	t.Logf("%v", time.Since(begin).Round(time.Millisecond))
	assert.Zero(t, srv.Ledger().RateLimited(""), "429s")
}
