// How long a call may take, who decides that, and what the service is told of
// it; and that giving up costs nobody else anything.

package hotelstays_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// stall keeps the sandbox from ever answering an operation.
func stall(srv *hotelstaystest.Server, op hotelstays.Operation) {
	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.Operation(op), Kind: hotelstaystest.FaultDelay, Delay: 1000 * time.Hour, Times: -1})
}

// assertTimedOut checks the error of a call that was sent once and not answered:
// of Book and Cancel the outcome is unknown.
func assertTimedOut(t *testing.T, op hotelstays.Operation, err error) {
	t.Helper()
	assert.ErrorIs(t, err, context.DeadlineExceeded, op)
	var failed *hotelstays.TransportError
	if assert.ErrorAs(t, err, &failed, op) {
		assert.True(t, failed.Sent, op)
		assert.Equal(t, 1, failed.Attempts, op)
	}
	var unknown *hotelstays.OutcomeUnknownError
	if op == hotelstays.OpBook || op == hotelstays.OpCancel {
		if assert.ErrorAs(t, err, &unknown, op) {
			assert.Equal(t, op, unknown.Operation)
			assert.Equal(t, "ref-1", unknown.CustomerReferenceNo)
		}
	} else {
		assert.NotErrorAs(t, err, &unknown, op)
	}
}

// The table of the package documentation, of calls that nobody else bounds.
func TestDefaultTimeouts(t *testing.T) {
	timeouts := map[time.Duration][]hotelstays.Operation{
		120 * time.Second: {hotelstays.OpBook, hotelstays.OpCancel},
		60 * time.Second: {hotelstays.OpDestinations, hotelstays.OpHotelsMetadata, hotelstays.OpHotelStaticDetail, hotelstays.OpHotelIDList,
			hotelstays.OpHotelList, hotelstays.OpHotelRates, hotelstays.OpCheckAvail, hotelstays.OpOrderVoucher},
		30 * time.Second: {hotelstays.OpQueryOrders},
		20 * time.Second: {hotelstays.OpTicket, hotelstays.OpOAuthToken},
	}
	tested := 0
	for timeout, ops := range timeouts {
		for _, op := range ops {
			tested++
			t.Run(string(op), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					srv, client := newSandbox(t)
					stall(srv, op)
					start := time.Now()
					err := operationCalls[op](t.Context(), client)
					assert.Equal(t, timeout, time.Since(start))
					assertTimedOut(t, op, err)
					assert.Equal(t, 1, srv.Ledger().Count(hotelstaystest.Operation(op)))
					assert.Empty(t, srv.Ledger().Orders())
				})
			})
		}
	}
	assert.Equal(t, len(operationCalls), tested)
}

// A timeout of the call wins over the client's, and the ctx over both where it
// ends first. Any of them replaces the default.
func TestWhoBoundsACall(t *testing.T) {
	for _, tc := range []struct {
		name              string
		client, call, ctx time.Duration // 0: none
		want              time.Duration
	}{
		{"nobody", 0, 0, 0, 120 * time.Second},
		{"the client", 7 * time.Second, 0, 0, 7 * time.Second},
		{"the client, beyond the default", 10 * time.Minute, 0, 0, 10 * time.Minute},
		{"the call", 7 * time.Second, 3 * time.Second, 0, 3 * time.Second},
		{"the call, beyond the client", 7 * time.Second, 9 * time.Second, 0, 9 * time.Second},
		{"the ctx", 0, 0, 5 * time.Second, 5 * time.Second},
		{"the ctx, beyond the default", 0, 0, 10 * time.Minute, 10 * time.Minute},
		{"the ctx, before the call", 7 * time.Second, 3 * time.Second, time.Second, time.Second},
		{"the call, before the ctx", 7 * time.Second, 3 * time.Second, time.Minute, 3 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t)
				if tc.client > 0 {
					client = newClient(t, srv, ticketOf(srv), hotelstays.WithTimeout(tc.client))
				}
				var opts []hotelstays.CallOption
				if tc.call > 0 {
					opts = append(opts, hotelstays.WithTimeout(tc.call))
				}
				ctx := t.Context()
				if tc.ctx > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.ctx)
					defer cancel()
				}
				stall(srv, hotelstays.OpBook)
				start := time.Now()
				err := operationCalls[hotelstays.OpBook](ctx, client, opts...)
				assert.Equal(t, tc.want, time.Since(start))
				assertTimedOut(t, hotelstays.OpBook, err)
			})
		})
	}
}

// A timeout bounds the call and not the attempt.
func TestTimeoutSpansAllAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 503, Delay: 4 * time.Second, Times: -1})
		start := time.Now()
		_, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithTimeout(10*time.Second))
		assert.Error(t, err)
		assert.LessOrEqual(t, time.Since(start), 10*time.Second)
		assert.Equal(t, 3, srv.Ledger().Count(hotelstaystest.OpDestinations))
	})
}

// No wait reaches past the deadline: the answer at hand is the result, at once.
func TestNoWaitPastTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 429, RetryAfter: "20"})
		start := time.Now()
		_, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithTimeout(10*time.Second))
		assert.ErrorIs(t, err, hotelstays.ErrRateLimited)
		assert.Zero(t, time.Since(start))
		var api *hotelstays.APIError
		require.ErrorAs(t, err, &api)
		assert.Equal(t, 20*time.Second, api.RetryAfter)
	})
}

// Retry-After is honoured in full, or the call ends at once with the error that carries
// it. The operation is paused for every caller for the whole of it.
func TestRetryAfterIsHonouredInFull(t *testing.T) {
	for header, after := range map[string]time.Duration{"40": 40 * time.Second, "60": time.Minute, "61": 61 * time.Second, "3600": time.Hour,
		"Sat, 01 Jan 2000 00:00:20 GMT": 20 * time.Second, "Sat, 01 Jan 2000 00:02:00 GMT": 2 * time.Minute, "soon": time.Second} {
		synctest.Test(t, func(t *testing.T) {
			srv, client := newSandbox(t)
			srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 429, RetryAfter: header})
			start := time.Now()
			_, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithTimeout(5*time.Minute))
			if after <= time.Minute {
				require.NoError(t, err)
				assert.WithinRange(t, time.Now(), start.Add(after), start.Add(after+time.Second))
				return
			}
			var api *hotelstays.APIError
			require.ErrorAs(t, err, &api)
			assert.Equal(t, after, api.RetryAfter)
			assert.Zero(t, time.Since(start))
			_, err = client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithTimeout(2*time.Hour))
			require.NoError(t, err)
			assert.WithinRange(t, time.Now(), start.Add(after), start.Add(after+time.Second))
		})
	}
}

// The five operations of the flow tell the service what is left of the deadline,
// a little less than the truth; the others do not.
func TestTimeoutHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for op, call := range operationCalls {
			_ = call(ctx, client)
			for _, r := range srv.Ledger().Requests(hotelstaystest.Operation(op)) {
				if inTheFlow(op) {
					assertHint(t, r, 30*time.Second)
				} else {
					assert.NotContains(t, r.Header, "Timeout-Milliseconds", op)
				}
			}
			assert.NotZero(t, srv.Ledger().Count(hotelstaystest.Operation(op)), op)
		}
	})
}

// assertHint checks what a request says of the time that is left.
func assertHint(t *testing.T, r hotelstaystest.Request, left time.Duration) time.Duration {
	t.Helper()
	ms, err := strconv.ParseInt(r.Header.Get("Timeout-Milliseconds"), 10, 64)
	require.NoError(t, err, r.Operation)
	hint := time.Duration(ms) * time.Millisecond
	assert.Less(t, hint, left, "less than the truth, so that the answer can still travel")
	assert.GreaterOrEqual(t, hint+time.Millisecond, max(left*9/10, left-time.Second), "but not much less")
	return hint
}

// Each attempt says what is left by then; a default counts as a deadline, too.
func TestTimeoutHeaderOfLaterAttempts(t *testing.T) {
	for _, timeout := range []time.Duration{0, 15 * time.Second, 5 * time.Second} {
		t.Run(timeout.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t)
				_, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{}) // fetches the token
				require.NoError(t, err)
				srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpHotelList, Kind: hotelstaystest.FaultStatus, Status: 503, Delay: time.Second, Times: 2})
				var opts []hotelstays.CallOption
				left := 60 * time.Second
				if timeout > 0 {
					opts, left = append(opts, hotelstays.WithTimeout(timeout)), timeout
				}
				deadline := time.Now().Add(left)
				_, err = client.HotelList(t.Context(), searchCity(srv), opts...)
				require.NoError(t, err)
				requests := srv.Ledger().Requests(hotelstaystest.OpHotelList)
				require.Len(t, requests, 3)
				earlier := left
				for _, r := range requests {
					hint := assertHint(t, r, deadline.Sub(r.Arrived))
					assert.Less(t, hint, earlier)
					earlier = hint
				}
			})
		})
	}
}

// A caller that waits for the ceiling leaves at once when its ctx ends, has sent
// nothing, and takes no slot with it.
func TestGivingUpBeforeTheCeiling(t *testing.T) {
	for _, op := range []hotelstays.Operation{hotelstays.OpCheckAvail, hotelstays.OpBook, hotelstays.OpCancel} {
		t.Run(string(op), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const ceiling = 10
				srv, client := newSandbox(t)
				_, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{}) // fetches the token
				require.NoError(t, err)
				start := time.Now()
				for range ceiling {
					_ = operationCalls[op](t.Context(), client)
				}
				require.Zero(t, time.Since(start))

				var wg sync.WaitGroup
				for range 5 {
					wg.Go(func() {
						ctx, cancel := context.WithCancel(t.Context())
						defer time.AfterFunc(100*time.Millisecond, cancel).Stop()
						err := operationCalls[op](ctx, client)
						assert.Equal(t, 100*time.Millisecond, time.Since(start))
						assert.ErrorIs(t, err, context.Canceled)
						var unknown *hotelstays.OutcomeUnknownError
						assert.NotErrorAs(t, err, &unknown, "nothing was sent")
						var failed *hotelstays.TransportError
						if assert.ErrorAs(t, err, &failed) {
							assert.False(t, failed.Sent)
							assert.ErrorContains(t, err, "nothing was carried out")
						}
					})
				}
				time.Sleep(50 * time.Millisecond) // those that follow stand behind them
				for range ceiling {
					wg.Go(func() {
						_ = operationCalls[op](t.Context(), client)
						assert.InDelta(t, time.Second, time.Since(start), float64(50*time.Millisecond), "all slots are back after their second")
					})
				}
				wg.Wait()
				assert.Equal(t, 2*ceiling, srv.Ledger().Count(hotelstaystest.Operation(op)))
				assert.Zero(t, srv.Ledger().RateLimited(""))
			})
		})
	}
}

// Whoever waits for a token that is slow to come leaves when its own ctx ends,
// the one that asked for it as well; the others get it.
func TestGivingUpBeforeTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultDelay, Delay: 10 * time.Second})
		start := time.Now()
		var wg sync.WaitGroup
		for i, patience := range []time.Duration{time.Second, 3 * time.Second, 0, 0, 0} {
			wg.Go(func() {
				ctx := t.Context()
				if patience > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, patience)
					defer cancel()
				}
				_, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: "session", RatePkgID: "offer"})
				if patience == 0 {
					assert.ErrorIs(t, err, hotelstays.ErrParam, "it was sent, and answered")
					assert.Equal(t, 10*time.Second, time.Since(start))
					return
				}
				assert.Equal(t, patience, time.Since(start))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				var failed *hotelstays.TransportError
				if assert.ErrorAs(t, err, &failed) {
					assert.False(t, failed.Sent)
					assert.Equal(t, hotelstays.OpCheckAvail, failed.Operation)
				}
			})
			if i == 0 {
				synctest.Wait() // the first to leave is the one that asks
			}
		}
		wg.Wait()
		assert.Equal(t, 1, srv.Ledger().Count(hotelstaystest.OpTicket))
		assert.Equal(t, 3, srv.Ledger().Count(hotelstaystest.OpCheckAvail))
	})
}

// A Book that gives up before its token came has sent nothing: its outcome is
// known.
func TestBookGivesUpBeforeTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		stall(srv, hotelstays.OpTicket)
		err := operationCalls[hotelstays.OpBook](t.Context(), client, hotelstays.WithTimeout(time.Second))
		var unknown *hotelstays.OutcomeUnknownError
		assert.NotErrorAs(t, err, &unknown)
		var failed *hotelstays.TransportError
		require.ErrorAs(t, err, &failed)
		assert.False(t, failed.Sent)
		assert.Zero(t, srv.Ledger().Count(hotelstaystest.OpBook))
		time.Sleep(time.Minute) // the token's own call ends by itself
	})
}
