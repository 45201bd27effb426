// The client never exceeds a rate limit, and uses nearly all of it.

package hotelstays_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestRateLimiterOfAProcessPassesStoretest(t *testing.T) {
	start := func(*testing.T) storetest.Fleet[hotelstays.RateLimiter] {
		l := hotelstays.NewRateLimiter(nil)
		return storetest.Fleet[hotelstays.RateLimiter]{Open: func() hotelstays.RateLimiter { return l }}
	}
	storetest.TestRateLimiter(t, start, &storetest.Options{InBubble: true})
	storetest.TestFairRateLimiter(t, start, &storetest.Options{InBubble: true})
}

func TestAccountWithALargerWeightGetsMoreSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := hotelstays.NewRateLimiter(&hotelstays.RateLimiterOptions{Weight: func(account string) int { return len(account) }})
		key := hotelstays.RateLimitKey{BaseURL: "https://host.example", Operation: hotelstays.OpTicket}
		served := make(chan string, 20)
		send := func(account string) {
			permit, err := l.Acquire(t.Context(), hotelstays.RateLimitRequest{Key: key, Account: account})
			if assert.NoError(t, err) {
				served <- account
				permit.Sent()
				permit.Done(hotelstays.PermitResult{ArrivedBy: time.Now()})
			}
		}
		for range hotelstays.OpTicket.RateLimit() {
			send("first")
			<-served
		}
		for range 4 {
			for _, account := range []string{"a", "bbb"} {
				go send(account)
				synctest.Wait()
			}
		}
		time.Sleep(1010 * ms)
		synctest.Wait()
		counts := map[string]int{}
		for range len(served) {
			counts[<-served]++
		}
		assert.Equal(t, map[string]int{"a": 2, "bbb": 3}, counts, "of five slots")
		time.Sleep(1010 * ms) // wait until the other calls have their slots
		synctest.Wait()
	})
}

// The priority of a call comes from its own options, else from its helper, else from the options of its client.
func TestPriorityOfACallIsPassedToTheLimiter(t *testing.T) {
	const background, normal, interactive = hotelstays.PriorityBackground, hotelstays.PriorityDefault, hotelstays.PriorityInteractive
	for _, c := range []struct {
		name   string
		client []hotelstays.Option
		call   []hotelstays.CallOption
		op     hotelstays.Operation
		want   hotelstays.Priority
	}{
		{"no option", nil, nil, hotelstays.OpQueryOrders, normal},
		{"an option of the call", nil, []hotelstays.CallOption{hotelstays.WithPriority(interactive)}, hotelstays.OpQueryOrders, interactive},
		{"an option of the client", []hotelstays.Option{hotelstays.WithPriority(background)}, nil, hotelstays.OpQueryOrders, background},
		{"the call's option wins over the client's", []hotelstays.Option{hotelstays.WithPriority(background)},
			[]hotelstays.CallOption{hotelstays.WithPriority(normal)}, hotelstays.OpQueryOrders, normal},
		{"a recovery", []hotelstays.Option{hotelstays.WithPriority(background)}, nil, "RecoverBooking", interactive},
		{"a recovery with an option", nil, []hotelstays.CallOption{hotelstays.WithPriority(background)}, "RecoverBooking", background},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := &accountCounter{RateLimiter: hotelstays.NewRateLimiter(nil), accounts: map[string]int{}}
				log := &callLog{}
				client := clientThrough(t, answering(200, `{"code":0,"data":{"orders":[]}}`),
					append(c.client, hotelstays.WithRateLimiter(limiter), hotelstays.WithObserver(log.observer()))...)
				if c.op == "RecoverBooking" {
					_, err := client.RecoverBooking(t.Context(), client.NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: "ref"}), c.call...)
					require.NoError(t, err)
				} else {
					require.NoError(t, operationCalls[c.op](t.Context(), client, c.call...))
				}
				last := log.ends[len(log.ends)-1]
				assert.Equal(t, c.want, limiter.priority)
				assert.Equal(t, c.want, last.Priority)
				assert.Equal(t, client.Account(), last.Account)
			})
		})
	}
	_, err := hotelstays.New("https://host.example", bearerToken("t"), hotelstays.WithPriority(2))
	assert.ErrorContains(t, err, "WithPriority: is 2; it must be ")
}

// The first searches of many accounts get their tickets as fast as the service issues them. The wait for a ticket's
// slot does not count towards the time limit of Ticket, and does not delay other accounts.
func TestAccountsGetTicketsAtTheRateLimit(t *testing.T) {
	accounts := howMany(t, "accounts", 500, 60, 60)
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		clients := []*hotelstays.Client{newClient(t, srv, ticketOf(srv))}
		for range accounts - 1 {
			client, err := clients[0].WithCredential(ticketOf(srv))
			require.NoError(t, err)
			clients = append(clients, client)
		}
		ctx := within(t, 2*time.Minute)
		search := searchCity(srv)
		search.PageSize = 1
		start := time.Now()
		_, err := clients[0].HotelList(ctx, search)
		assert.NoError(t, err)
		var wg sync.WaitGroup
		for _, client := range clients[1:] {
			wg.Go(func() {
				_, err := client.HotelList(ctx, search)
				assert.NoError(t, err)
			})
		}
		synctest.Wait()
		waiting := time.Now()
		_, err = clients[0].HotelList(ctx, search)
		assert.NoError(t, err)
		assert.Less(t, time.Since(waiting), 100*ms, "an account with a ticket does not wait for the others")
		wg.Wait()
		took := time.Since(start)
		t.Logf("%d tickets in %s", srv.Ledger().TicketsIssued(), took)
		assert.Equal(t, accounts, srv.Ledger().TicketsIssued())
		assert.LessOrEqual(t, took, time.Duration(accounts/5)*1010*ms+time.Second)
		for _, op := range []hotelstaystest.Operation{hotelstays.OpTicket, hotelstays.OpHotelList} {
			assert.Zero(t, srv.Ledger().RateLimited(op), op)
		}
		clients[0].CloseIdleConnections()
	})
}

func TestWaitForASlotIsNotPartOfTheTimeLimitOfTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		limiter := hotelstays.NewRateLimiter(nil)
		client := newClient(t, srv, ticketOf(srv), hotelstays.WithRateLimiter(limiter))
		limiter.Pause(hotelstays.RateLimitKey{BaseURL: srv.URL, Operation: hotelstays.OpTicket}, time.Now().Add(time.Minute))
		stall(srv, hotelstays.OpTicket)
		ctx := within(t, time.Hour)
		start := time.Now()
		_, err := client.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{})
		assert.ErrorContains(t, err, "the call's own time limit of 20s passed")
		assert.Equal(t, hotelstays.KindTimeout, hotelstays.KindOf(err))
		transport := errorAs[*hotelstays.TransportError](t, err)
		assert.True(t, transport.NoToken)
		assert.Equal(t, 80*time.Second, time.Since(start))
	})
}

// Two spellings of a base URL lead to the same service, which counts requests per client IP address.
func TestSpellingsOfABaseURLShareARateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := &accountCounter{RateLimiter: hotelstays.NewRateLimiter(nil), accounts: map[string]int{}}
		sent := make(chan time.Time, 150)
		hc := &http.Client{Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
			sent <- time.Now()
			return reply(200, `{"code":0,"data":{"orders":[]}}`), nil
		})}
		var wg sync.WaitGroup
		fingerprints := map[string]int{}
		for i, base := range []string{"https://X.example", "https://x.example/", "HTTPS://x.Example:443"} {
			client, err := hotelstays.New(base, bearerToken([]string{"one", "one", "two"}[i]),
				hotelstays.WithHTTPClient(hc), hotelstays.WithRateLimiter(limiter))
			require.NoError(t, err)
			fingerprints[client.Account()] += 50
			for range 50 {
				wg.Go(func() { assert.NoError(t, operationCalls[hotelstays.OpQueryOrders](t.Context(), client)) })
			}
		}
		wg.Wait()
		close(sent)
		counts := map[int]int{}
		start := time.Time{}
		for at := range sent {
			if start.IsZero() {
				start = at
			}
			counts[int(at.Sub(start)/(1010*ms))]++
		}
		assert.Equal(t, map[int]int{0: 50, 1: 50, 2: 50}, counts, "requests in each second")
		assert.Equal(t, fingerprints, limiter.accounts, "requests of each account")
		assert.Len(t, fingerprints, 2)
	})
}

type accountCounter struct {
	hotelstays.RateLimiter
	mu       sync.Mutex
	accounts map[string]int
	priority hotelstays.Priority // the priority of the last request
}

func (l *accountCounter) Acquire(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	l.mu.Lock()
	l.accounts[req.Account]++
	l.priority = req.Priority
	l.mu.Unlock()
	return l.RateLimiter.Acquire(ctx, req)
}

// The limiter counts a request for one second plus the margin. With the option Processes, each process uses an equal part
// of the rate limit.
func TestMarginAndProcessesLowerTheRate(t *testing.T) {
	for _, c := range []struct {
		opts *hotelstays.RateLimiterOptions
		want time.Duration
	}{
		{nil, 1010 * ms},
		{&hotelstays.RateLimiterOptions{}, 1010 * ms},
		{&hotelstays.RateLimiterOptions{Margin: -1}, time.Second},
		{&hotelstays.RateLimiterOptions{Margin: 250 * ms}, 1250 * ms},
		{&hotelstays.RateLimiterOptions{Margin: -1, Processes: 2}, 2 * time.Second}, // each of two processes may send two requests a second
		{&hotelstays.RateLimiterOptions{Margin: -1, Processes: 5}, 5 * time.Second},
		{&hotelstays.RateLimiterOptions{Margin: -1, Processes: 11}, 15 * time.Second}, // each process may send one request in three seconds
	} {
		synctest.Test(t, func(t *testing.T) {
			srv, _ := newSandbox(t)
			client := newClient(t, srv, ticketOf(srv), hotelstays.WithRateLimiter(hotelstays.NewRateLimiter(c.opts)))
			start := time.Now()
			for range 6 { // one request more than the rate limit of a second
				_, err := client.Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)})
				require.NoError(t, err)
			}
			assert.Equal(t, c.want, time.Since(start))
		})
	}
}

// Server-Cost-Milliseconds is the time from a request's arrival to the first byte of its answer, and may be rounded up.
// So the client knows a time by which the request had arrived, and the slot's second begins then. Without the header,
// the slot's second begins when the request leaves.
func TestServerCostProvesWhenARequestArrived(t *testing.T) {
	for cost, want := range map[string]time.Duration{
		"0": 1510 * ms, "400": 1111 * ms, "499": 1012 * ms, "9000": 1010 * ms, "": 1010 * ms, "soon": 1010 * ms,
	} {
		t.Run(cost, func(t *testing.T) {
			assert.Equal(t, want, sixthTicket(t, http.StatusOK, http.Header{"Server-Cost-Milliseconds": {cost}}))
		})
	}
}

func TestRequestAnsweredWith429UsesASlot(t *testing.T) {
	got := sixthTicket(t, http.StatusTooManyRequests, http.Header{"Server-Cost-Milliseconds": {"500"}, "Retry-After": {"0"}})
	assert.Equal(t, 1510*ms, got, "the server cost in its answer is ignored")
}

const ms = time.Millisecond

// sixthTicket returns when the sixth Ticket request is sent. The limit is five a second. Each answer takes half a second.
func sixthTicket(t *testing.T, status int, header http.Header) time.Duration {
	var left atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		client, err := hotelstays.New("https://host.example", hotelstays.TokenCredential{Token: types.NewSecret("token")},
			hotelstays.WithMaxAttempts(1),
			hotelstays.WithHTTPClient(&http.Client{Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
				trace := httptrace.ContextClientTrace(r.Context())
				trace.WroteHeaders()
				trace.WroteRequest(httptrace.WroteRequestInfo{})
				left.Store(int64(time.Since(start)))
				time.Sleep(500 * ms)
				return &http.Response{StatusCode: status, Header: header.Clone(), Body: http.NoBody}, nil
			})}))
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() { _ = operationCalls[hotelstays.OpTicket](t.Context(), client) })
		}
		wg.Wait()
	})
	return time.Duration(left.Load())
}

func TestCallFailsImmediatelyIfAPauseEndsAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientThrough(t, answering(429, `{"code":100000429,"msg":"slower"}`, "Retry-After", "3600"), hotelstays.WithMaxAttempts(4))
		call := operationCalls[hotelstays.OpHotelList]
		require.ErrorIs(t, call(t.Context(), client), hotelstays.ErrRateLimited)
		start := time.Now()
		err := call(t.Context(), client)
		assert.ErrorIs(t, err, hotelstays.ErrRateLimited)
		assert.NotErrorIs(t, err, context.DeadlineExceeded, "no deadline has passed")
		assert.Equal(t, hotelstays.KindRateLimited, hotelstays.KindOf(err))
		assert.ErrorContains(t, err, start.Add(time.Hour).UTC().Format(time.RFC3339))
		assert.NotContains(t, err.Error(), "deadline exceeded")
		assert.NotContains(t, err.Error(), "safe to call again")
		assert.Zero(t, time.Since(start))
	})
}

// After HTTP 429 the limiter pauses the operation for all of its clients. Other operations continue.
func TestPauseAppliesToOperationsWithoutARateLimit(t *testing.T) {
	do := func(path string) operationCall {
		return func(ctx context.Context, client *hotelstays.Client, opts ...hotelstays.CallOption) error {
			_, err := client.Do(ctx, &hotelstays.DoRequest{Path: path, Idempotent: true}, opts...)
			return err
		}
	}
	for name, call := range map[string]operationCall{
		"OAuthToken": operationCalls[hotelstays.OpOAuthToken], "HotelIDList": operationCalls[hotelstays.OpHotelIDList],
		"Do": do("/api/search/later"),
	} {
		inBubble(t, name, func(t *testing.T) {
			calls := 0
			client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
				if calls++; calls == 1 {
					return reply(429, `{"code":100000429,"msg":"slower"}`, "Retry-After", "5"), nil
				}
				return reply(200, `{"code":0,"data":{"access_token":"tok-1234567"}}`), nil
			}))
			other, err := client.WithCredential(bearerToken("another"))
			require.NoError(t, err)
			begun := time.Now()
			require.ErrorIs(t, call(t.Context(), client), hotelstays.ErrRateLimited)
			require.NoError(t, do("/api/search/another")(t.Context(), other))
			require.NoError(t, operationCalls[hotelstays.OpDestinations](t.Context(), other))
			assert.Zero(t, time.Since(begun), "other operations are not paused")
			assert.ErrorIs(t, call(within(t, time.Second), other), hotelstays.ErrRateLimited)
			for range 200 {
				require.NoError(t, call(t.Context(), other))
				assert.Equal(t, 5*time.Second, time.Since(begun), "after the pause there is no rate limit")
			}
		})
	}
}

func TestCallEndsIfTheLimiterRefusesASlot(t *testing.T) {
	for refusal, kind := range map[error]hotelstays.ErrorKind{
		hotelstays.ErrRateLimited: hotelstays.KindRateLimited,
		context.DeadlineExceeded:  hotelstays.KindTimeout,
	} {
		asked := 0
		limiter := limiterFunc(func() error { asked++; return fmt.Errorf("own: %w", refusal) })
		client := clientThrough(t, &fixedAnswer{Status: 200}, hotelstays.WithRateLimiter(limiter), hotelstays.WithMaxAttempts(4))
		for op, call := range operationCalls {
			asked = 0
			err := call(t.Context(), client)
			assert.ErrorIs(t, err, refusal, op)
			assert.Equal(t, kind, hotelstays.KindOf(err), op)
			assert.Equal(t, 1, asked, op)
		}
	}
}

type limiterFunc func() error

func (f limiterFunc) Acquire(context.Context, hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	return nil, f()
}
func (limiterFunc) Pause(hotelstays.RateLimitKey, time.Time) {}

// The sandbox has the documented rate limits. The client also uses nearly all of each limit.
func TestClientKeepsTheDocumentedRateLimits(t *testing.T) {
	duration := time.Duration(howMany(t, "seconds", 20, 3, 3)) * time.Second
	for _, op := range []hotelstays.Operation{hotelstays.OpTicket, hotelstays.OpCheckAvail, hotelstays.OpQueryOrders,
		hotelstays.OpDestinations} {
		synctest.Test(t, func(t *testing.T) {
			srv, _ := newSandbox(t, hotelstaystest.Config{LedgerLimit: 10})
			client := newClient(t, srv, ticketOf(srv), hotelstays.WithMaxAttempts(1))
			require.NoError(t, operationCalls[hotelstays.OpHotelIDList](t.Context(), client)) // fetches the token
			ctx := within(t, duration)
			var wg sync.WaitGroup
			for range 2 * op.RateLimit() {
				wg.Go(func() {
					for ctx.Err() == nil {
						_ = operationCalls[op](ctx, client) // the result does not matter, because every request takes a slot
					}
				})
			}
			wg.Wait()
			sent, budget := srv.Ledger().Count(op), float64(op.RateLimit())*duration.Seconds()
			t.Logf("%s: %d requests, %.3f of the budget", op, sent, float64(sent)/budget)
			assert.Zero(t, srv.Ledger().RateLimited(op))
			assert.GreaterOrEqual(t, float64(sent), 0.97*budget)
		})
	}
}
