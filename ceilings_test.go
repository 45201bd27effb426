// The client at the service's ceilings: never above, and hardly ever below.

package hotelstays_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"strconv"
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
		for _, road := range []struct {
			name    string
			callers int
			slowRoad
			atLeast float64 // of the limit
		}{
			{"one caller", 1, slowRoad{}, 0.97},
			{"one caller, 9 ms of jitter", 1, slowRoad{jitter: 9 * time.Millisecond}, 0.97},
			{"200 callers", 200, slowRoad{}, 0.97},
			{"200 callers, 9 ms of jitter", 200, slowRoad{jitter: 9 * time.Millisecond}, 0.97},
			{"200 callers, 9 ms of jitter, 20 ms away", 200, slowRoad{jitter: 9 * time.Millisecond, back: 20 * time.Millisecond}, 0.95},
			{"200 callers, 9 ms of jitter, 20 ms away, no cost", 200, slowRoad{jitter: 9 * time.Millisecond, back: 20 * time.Millisecond, noCost: true}, 0.97},
			{"200 callers, 600 ms of jitter", 200, slowRoad{jitter: 600 * time.Millisecond}, 0.7},
			{"200 callers, 600 ms of jitter, answers after 3 s", 200, slowRoad{jitter: 600 * time.Millisecond, thinking: 3 * time.Second}, 0.45},
		} {
			t.Run(fmt.Sprintf("%s %s", c.op, road.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { checkCeiling(t, c.op, c.rate, road.callers, road.slowRoad, road.atLeast) })
			})
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
		assert.Equal(t, want, op.RateLimit(), op)
	}
}

// checkCeiling calls one operation for up to twenty seconds, as fast as the client
// lets it, from as many goroutines as there are callers. The sandbox counts a
// rolling second exact to the nanosecond.
func checkCeiling(t *testing.T, op hotelstays.Operation, rate, callers int, road slowRoad, atLeast float64) {
	atTheCeiling := time.Duration(howMany(t, "seconds", 20, 10, 5)) * time.Second
	srv := hotelstaystest.NewServer(hotelstaystest.InMemory(), hotelstaystest.WithLedgerLimit(10))
	defer srv.Close()
	road.next = srv.Client().Transport
	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
		hotelstays.WithHTTPClient(&http.Client{Transport: &road}), hotelstays.WithMaxAttempts(1))
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
	assert.GreaterOrEqual(t, float64(sent), atLeast*budget)
}

// slowRoad lets requests travel for a while after they have left, and their answers.
type slowRoad struct {
	next         http.RoundTripper
	jitter, back time.Duration
	thinking     time.Duration // of the service, more than the sandbox's
	noCost       bool          // answers do not say how long the service took
}

func (s *slowRoad) RoundTrip(r *http.Request) (*http.Response, error) {
	trace := httptrace.ContextClientTrace(r.Context())
	trace.GetConn("")
	trace.WroteHeaders()
	trace.WroteRequest(httptrace.WroteRequestInfo{})
	time.Sleep(rand.N(s.jitter + 1))
	resp, err := s.next.RoundTrip(r)
	time.Sleep(s.thinking + s.back)
	trace.GotFirstResponseByte() // the last one counts
	switch {
	case err != nil:
	case s.noCost:
		resp.Header.Del("Server-Cost-Milliseconds")
	case s.thinking > 0:
		resp.Header.Set("Server-Cost-Milliseconds", strconv.FormatInt(s.thinking.Milliseconds(), 10))
	}
	return resp, err
}

func (s *slowRoad) CloseIdleConnections() { s.next.(*http.Transport).CloseIdleConnections() }
