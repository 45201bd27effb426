// Transports and services that misbehave, and what the caller is left with.

package hotelstays_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func clientThrough(t *testing.T, rt http.RoundTripper, opts ...hotelstays.Option) *hotelstays.Client {
	opts = append([]hotelstays.Option{hotelstays.WithHTTPClient(&http.Client{Transport: rt}), hotelstays.WithMaxAttempts(1)}, opts...)
	client, err := hotelstays.New("http://127.0.0.1:1", hotelstays.TokenCredential{Token: types.NewSecret("token")}, opts...)
	require.NoError(t, err)
	return client
}

func reply(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}
}

// A transport that returns nothing, or an answer without a body, leaves Book
// unknown and panics nowhere.
func TestTransportThatReturnsNothing(t *testing.T) {
	for name, resp := range map[string]*http.Response{"nothing": nil, "no body": {StatusCode: 200, Header: http.Header{}}} {
		client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) { return resp, nil }))
		var unknown *hotelstays.OutcomeUnknownError
		assert.ErrorAs(t, operationCalls[hotelstays.OpBook](t.Context(), client), &unknown, name)
	}
}

// The body of a 101 is the connection, which has no end.
func TestSwitchingProtocolsIsNotRead(t *testing.T) {
	client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
		resp := reply(101, "")
		resp.Body = struct {
			io.Reader
			io.Closer
		}{iotestBlocked{}, io.NopCloser(nil)}
		return resp, nil
	}))
	var api *hotelstays.APIError
	require.ErrorAs(t, operationCalls[hotelstays.OpDestinations](t.Context(), client), &api)
	assert.Equal(t, 101, api.HTTPStatus)
}

type iotestBlocked struct{}

func (iotestBlocked) Read([]byte) (int, error) { panic("read") }

// A panic of the transport reaches the caller, gives the slot back, and is no
// success to an observer; where the token is fetched it is an error.
func TestTransportThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := &callLog{}
		client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) { panic("boom") }), hotelstays.WithObserver(ends.observer()))
		for range 25 { // more than the ceiling of Book
			assert.PanicsWithValue(t, "boom", func() { _ = operationCalls[hotelstays.OpBook](t.Context(), client) })
		}
		require.Len(t, ends.ends, 25)
		assert.Error(t, ends.ends[0].Err)
	})
	ticket, err := hotelstays.New("http://127.0.0.1:1", hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret("secret")},
		hotelstays.WithHTTPClient(&http.Client{Transport: transportFunc(func(*http.Request) (*http.Response, error) { panic("boom") })}))
	require.NoError(t, err)
	assert.ErrorContains(t, operationCalls[hotelstays.OpQueryOrders](t.Context(), ticket), "panicked")
}

// The iterators make their calls in goroutines of their own, where nobody could recover
// from a panic: the loop is told instead.
func TestTransportThatPanicsUnderAnIterator(t *testing.T) {
	client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) { panic("boom") }))
	destinations := client.WalkDestinations(t.Context(), &hotelstays.DestinationsRequest{})
	hotels := client.HotelsMetadataAll(t.Context(), &hotelstays.HotelsMetadataRequest{DestinationID: "d"}, hotelstays.WithParallelism(4))
	search := validHotelList()
	search.HotelIDs = []string{"1", "2", "3"}
	batches := client.HotelListBatches(t.Context(), &search, hotelstays.WithBatchSize(1))

	var failures []error
	for _, err := range destinations {
		failures = append(failures, err)
	}
	for _, err := range hotels {
		failures = append(failures, err)
	}
	for _, err := range batches {
		var batch *hotelstays.BatchError
		assert.ErrorAs(t, err, &batch)
		failures = append(failures, err)
	}
	require.Len(t, failures, 5, "one of each walk, and one of each batch")
	for _, err := range failures {
		assert.ErrorContains(t, err, "panicked: boom")
	}
}

// pipes is a transport whose connections serve answers, each after the head of its
// request has been read.
func pipes(serve func(net.Conn)) *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			if _, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
				serve(server)
			}
		}()
		return client, nil
	}}
}

// Where a call broke off stands in its error: a bare "EOF" or "context deadline
// exceeded" could be the network's, a proxy's or the service's.
func TestErrorSaysWhereACallBrokeOff(t *testing.T) {
	const half = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"code\":"
	stall := func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }
	says := func(text string) func(net.Conn) {
		return func(conn net.Conn) { _, _ = io.WriteString(conn, text) }
	}
	unanswered := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	proxied := pipes(says("HTTP/1.1 403 Forbidden\r\n\r\n"))
	proxied.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})
	for name, row := range map[string]struct {
		rt   *http.Transport
		text string
		sent bool
	}{
		"dial":                  {unanswered, "CheckAvail: no connection: the call's own limit of 1s passed: context deadline exceeded (nothing", false},
		"proxy":                 {proxied, "CheckAvail: no connection: Forbidden (nothing", false},
		"handshake":             {pipes(nil), "CheckAvail: no connection: EOF (nothing", false},
		"stalled before answer": {pipes(stall), "CheckAvail: the call's own limit of 1s passed: context deadline exceeded (sent, no whole answer", true},
		"closed before answer":  {pipes(says("")), "CheckAvail: the connection was closed before an answer came: EOF (sent, no whole answer", true},
		"stalled in the answer": {pipes(func(c net.Conn) { says(half)(c); stall(c) }), "CheckAvail: the answer (HTTP 200) broke off after 8 bytes: the call's own limit of 1s passed: context deadline exceeded (sent, no whole", true},
		"closed in the answer":  {pipes(says(half)), "CheckAvail: the answer (HTTP 200) broke off after 8 bytes: unexpected EOF (sent, no whole", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			base := "http://127.0.0.1:1"
			if !row.sent {
				base = "https://127.0.0.1:1"
			}
			client, err := hotelstays.New(base, hotelstays.TokenCredential{Token: types.NewSecret("token")}, hotelstays.WithHTTPClient(&http.Client{Transport: row.rt}),
				hotelstays.WithMaxAttempts(1), hotelstays.WithTimeout(time.Second))
			require.NoError(t, err)
			defer client.CloseIdleConnections()
			err = operationCalls[hotelstays.OpCheckAvail](t.Context(), client)
			require.ErrorContains(t, err, row.text, name)
			assert.Equal(t, !row.sent, strings.Contains(err.Error(), "check the base URL"), name)
		})
	}
}

// The Timeout of the caller's own http.Client is a deadline of each attempt, and its
// error is one: nobody has cancelled anything.
func TestTimeoutOfTheHTTPClient(t *testing.T) {
	for range 20 { // net/http has two ways to end it, and takes whichever comes first
		synctest.Test(t, func(t *testing.T) {
			rt := pipes(func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
			client, err := hotelstays.New("http://127.0.0.1:1", hotelstays.TokenCredential{Token: types.NewSecret("token")}, hotelstays.WithHTTPClient(&http.Client{Transport: rt, Timeout: time.Second}))
			require.NoError(t, err)
			start := time.Now()
			err = operationCalls[hotelstays.OpBook](t.Context(), client)
			require.ErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, time.Second, time.Since(start))
		})
	}
}

// The cause of an unknown outcome says nothing that would be true of it alone.
func TestCauseInDoubtIsNoRefusal(t *testing.T) {
	refusals := []error{hotelstays.ErrParam, hotelstays.ErrUnauthorized, hotelstays.ErrForbidden, hotelstays.ErrNotFound,
		hotelstays.ErrRateLimited, hotelstays.ErrDuplicateBooking, hotelstays.ErrRateChanged, hotelstays.ErrCancelRefused}
	answers := map[string]transportFunc{
		"broken":  func(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset") },
		"garbage": func(*http.Request) (*http.Response, error) { return reply(200, "<html>"), nil },
	}
	for _, status := range []string{"400", "401", "403", "404", "429", "500", "504"} {
		answers[status] = func(*http.Request) (*http.Response, error) {
			return reply(int(status[0]-'0')*100+int(status[2]-'0')+10*int(status[1]-'0'), "<html>"), nil
		}
	}
	answers["503 with Retry-After"] = func(*http.Request) (*http.Response, error) {
		resp := reply(503, "<html>")
		resp.Header.Set("Retry-After", "1")
		return resp, nil
	}
	for name, answer := range answers {
		for _, op := range []hotelstays.Operation{hotelstays.OpBook, hotelstays.OpCancel} {
			err := operationCalls[op](t.Context(), clientThrough(t, answer))
			var unknown *hotelstays.OutcomeUnknownError
			require.ErrorAs(t, err, &unknown, name)
			for _, refusal := range refusals {
				assert.NotErrorIs(t, err, refusal, "%s of %s", name, op)
			}
			assert.Equal(t, name == "504", errors.Is(err, hotelstays.ErrUpstreamTimeout))
			for _, text := range []string{err.Error(), unknown.Err.Error()} {
				assert.Contains(t, text, "do not send it again")
				assert.NotContains(t, text, "safe to call again")
				assert.NotContains(t, text, "try again later")
				assert.NotContains(t, text, "retry")
				assert.NotContains(t, text, "cancellation refused")
			}
		}
	}
}

// What to do next depends on who refused, and what.
func TestAdviceFitsTheRefusal(t *testing.T) {
	for _, tc := range []struct {
		op     hotelstays.Operation
		status int
		body   string
		advice string
	}{
		{hotelstays.OpDestinations, 403, "<html>", "something in front of the service may have refused this"},
		{hotelstays.OpDestinations, 307, "", "use the base URL that the service answers at"},
		{hotelstays.OpDestinations, 404, "<html>", "check the base URL"},
		{hotelstays.OpHotelRates, 404, `{"code":100000404,"msg":"gone"}`, "check the reference"},
		{hotelstays.OpBook, 404, `{"code":100000404}`, "check the reference"},
	} {
		answer := transportFunc(func(*http.Request) (*http.Response, error) { return reply(tc.status, tc.body), nil })
		assert.ErrorContains(t, operationCalls[tc.op](t.Context(), clientThrough(t, answer)), tc.advice, "%s: HTTP %d", tc.op, tc.status)
	}
}

// Cookies do not pile up from attempt to attempt.
func TestCookiesDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		rt := transportFunc(func(r *http.Request) (*http.Response, error) {
			sent = append(sent, r.Header.Get("Cookie"))
			resp := reply(503, "busy")
			resp.Header.Set("Set-Cookie", "node=1")
			return resp, nil
		})
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		client, err := hotelstays.New("http://127.0.0.1:1", hotelstays.TokenCredential{Token: types.NewSecret("token")}, hotelstays.WithHTTPClient(&http.Client{Transport: rt, Jar: jar}))
		require.NoError(t, err)
		require.Error(t, operationCalls[hotelstays.OpDestinations](t.Context(), client))
		assert.Equal(t, []string{"", "node=1", "node=1", "node=1"}, sent)
	})
}

// A limiter may grant without a permit; what it waits for is named.
func TestLimiterWithoutPermits(t *testing.T) {
	client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) { return reply(200, `{"code":0,"data":{}}`), nil }),
		hotelstays.WithRateLimiter(nilLimiter{}))
	assert.NoError(t, operationCalls[hotelstays.OpDestinations](t.Context(), client))
	client = clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) { return reply(200, `{"code":0,"data":{}}`), nil }),
		hotelstays.WithRateLimiter(nilPermits{}))
	assert.NoError(t, operationCalls[hotelstays.OpDestinations](t.Context(), client), "a nil pointer is no permit, too")

	client = clientThrough(t, nil, hotelstays.WithRateLimiter(nilLimiter{err: errors.New("store is down")}), hotelstays.WithMaxAttempts(4))
	synctest.Test(t, func(t *testing.T) {
		err := operationCalls[hotelstays.OpBook](t.Context(), client)
		assert.ErrorContains(t, err, "waiting for the rate limit: store is down")
		var failed *hotelstays.TransportError
		require.ErrorAs(t, err, &failed)
		assert.False(t, failed.Sent)
		assert.Zero(t, failed.Attempts)
	})
}

// A limiter's own server that cannot be reached says nothing of the base URL.
func TestLimiterWithoutItsServer(t *testing.T) {
	client := clientThrough(t, nil, hotelstays.WithRateLimiter(nilLimiter{err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}), hotelstays.WithMaxAttempts(1))
	err := operationCalls[hotelstays.OpDestinations](t.Context(), client)
	assert.ErrorContains(t, err, "waiting for the rate limit")
	assert.NotContains(t, err.Error(), "base URL")
}

type nilLimiter struct {
	noCeilings
	err error
}

func (l nilLimiter) Acquire(ctx context.Context, op hotelstays.Operation) (hotelstays.Permit, error) {
	return nil, l.err
}

// nilPermits is a limiter whose permits are nil pointers.
type nilPermits struct{ noCeilings }

func (nilPermits) Acquire(context.Context, hotelstays.Operation) (hotelstays.Permit, error) {
	return (*countedPermit)(nil), nil
}

// A header that comes back in a malformed answer does not carry the token into
// net/http's error.
func TestEchoedTokenInATransportError(t *testing.T) {
	client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
		return nil, errors.New("malformed header: " + r.Header.Get("Authorization") + "-0123456789")
	}))
	err := operationCalls[hotelstays.OpDestinations](t.Context(), client)
	assert.NotContains(t, err.Error(), "Bearer token-")
	assert.Contains(t, err.Error(), "[redacted]")
}

// Only HTTP 401 says that a token is refused: a code under HTTP 200 does not cost
// one.
func TestRefusalUnderHTTP200KeepsTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 200,
			Body: []byte(`{"code":100000401,"msg":"no"}`)})
		err := operationCalls[hotelstays.OpDestinations](t.Context(), client)
		assert.ErrorIs(t, err, hotelstays.ErrUnauthorized)
		assert.NoError(t, operationCalls[hotelstays.OpDestinations](t.Context(), client))
		assert.Equal(t, 1, srv.Ledger().TicketsIssued())
	})
}

func newLoopbackServer(t *testing.T, h http.Handler) *httptest.Server {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// Looking for secrets takes its time with text that is full of escapes. However much of
// it comes, the caller gets its error: where all of it is looked through, this test runs
// into the timeout of go test.
func TestEndlessTextIsNotLookedThrough(t *testing.T) {
	t.Parallel()
	backslashes := howMany(t, "MiB of backslashes", 8, 2, 1) << 20
	for name, answer := range map[string]transportFunc{
		"message of a refusal": func(*http.Request) (*http.Response, error) {
			return reply(200, `{"code":7,"msg":"`+strings.Repeat(`\\`, backslashes)+`"}`), nil
		},
		"message of a success": func(*http.Request) (*http.Response, error) {
			return reply(200, `{"code":0,"msg":"`+strings.Repeat(`\\`, backslashes)+`","data":{}}`), nil
		},
		"malformed header": func(*http.Request) (*http.Response, error) {
			return nil, errors.New("malformed header: " + strings.Repeat(`\`, backslashes))
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := clientThrough(t, answer, hotelstays.WithObserver((&callLog{}).observer()), hotelstays.WithLogger(slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug}))))
			resp, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
			if err == nil {
				assert.Less(t, len(resp.Meta.Msg), 2000)
			} else {
				assert.Less(t, len(err.Error()), 5000)
			}
		})
	}
}
