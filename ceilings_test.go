// The client at the service's ceilings: never above, and hardly ever below.

package hotelstays_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// The sandbox has the documented ceilings, and the client keeps each of them.
func TestDocumentedCeilingsHold(t *testing.T) {
	t.Parallel()
	cases := []struct {
		op   hotelstays.Operation
		rate int
	}{{hotelstays.OpTicket, 5}, {hotelstays.OpCheckAvail, 10}, {hotelstays.OpQueryOrders, 50}, {hotelstays.OpDestinations, 100}}
	for _, c := range cases {
		for _, callers := range []int{1, 200} {
			for _, jitter := range []time.Duration{0, 9 * time.Millisecond} {
				t.Run(fmt.Sprintf("%s %d callers %s jitter", c.op, callers, jitter), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { checkCeiling(t, c.op, c.rate, callers, jitter) })
				})
			}
		}
	}
}

func TestCeiling(t *testing.T) {
	for op, want := range map[hotelstays.Operation]int{
		hotelstays.OpTicket: 5, hotelstays.OpOAuthToken: 0, hotelstays.OpHotelIDList: 0,
		hotelstays.OpDestinations: 100, hotelstays.OpHotelsMetadata: 100, hotelstays.OpHotelStaticDetail: 100,
		hotelstays.OpHotelList: 100, hotelstays.OpHotelRates: 100, hotelstays.OpCheckAvail: 10, hotelstays.OpBook: 10,
		hotelstays.OpQueryOrders: 50, hotelstays.OpOrderVoucher: 50, hotelstays.OpCancel: 10, "other": 0,
	} {
		assert.Equal(t, want, hotelstays.Ceiling(op), op)
	}
}

// checkCeiling calls one operation for up to twenty seconds, as fast as the client
// lets it, from as many goroutines as there are callers. The sandbox counts a
// rolling second exact to the nanosecond.
func checkCeiling(t *testing.T, op hotelstays.Operation, rate, callers int, jitter time.Duration) {
	atTheCeiling := time.Duration(howMany(t, "seconds", 20, 10, 5)) * time.Second
	srv := hotelstaystest.NewServer(hotelstaystest.InMemory(), hotelstaystest.WithLedgerLimit(10))
	defer srv.Close()
	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.Secret(srv.AppSecret)},
		hotelstays.WithHTTPClient(&http.Client{Transport: &slowRoad{next: srv.Client().Transport, jitter: jitter}}), hotelstays.WithMaxAttempts(1))
	require.NoError(t, err)
	if op != hotelstays.OpTicket {
		// An operation without a ceiling fetches the token.
		require.NoError(t, operationCalls[hotelstays.OpHotelIDList](t.Context(), client))
	}
	ctx, cancel := context.WithTimeout(t.Context(), atTheCeiling)
	defer cancel()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				_ = operationCalls[op](ctx, client) // what it answers does not matter: every call counts
			}
		})
	}
	wg.Wait()
	client.CloseIdleConnections()

	sent := srv.Ledger().Count(hotelstaystest.Operation(op))
	assert.Zero(t, srv.Ledger().RateLimited(hotelstaystest.Operation(op)))
	budget := float64(rate) * atTheCeiling.Seconds()
	t.Logf("%d requests, %.3f of the budget", sent, float64(sent)/budget)
	assert.GreaterOrEqual(t, float64(sent), 0.97*budget)
}

// slowRoad lets requests travel for a while after they have left.
type slowRoad struct {
	next   http.RoundTripper
	jitter time.Duration
}

func (s *slowRoad) RoundTrip(r *http.Request) (*http.Response, error) {
	trace := httptrace.ContextClientTrace(r.Context())
	trace.GetConn("")
	trace.WroteHeaders()
	trace.WroteRequest(httptrace.WroteRequestInfo{})
	time.Sleep(rand.N(s.jitter + 1))
	return s.next.RoundTrip(r)
}

func (s *slowRoad) CloseIdleConnections() { s.next.(*http.Transport).CloseIdleConnections() }
