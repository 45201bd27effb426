// The client: arguments of New, timeouts, retries, TLS and proxies, and faulty transports, limiters and ctxs.

package hotelstays_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/h2non/gock.v1"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestNewReportsAllFaultsInOneError(t *testing.T) {
	oldTLS := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS11}}}
	c, err := hotelstays.New("http://api.example.test", hotelstays.TicketCredential{TTL: -1},
		nil,
		hotelstays.WithHTTPClient(nil),
		hotelstays.WithHTTPClient(oldTLS),
		hotelstays.WithLogger((*slog.Logger)(nil)),
		hotelstays.WithRateLimiter(nil),
		hotelstays.WithTokenStore(nil),
		hotelstays.WithObserver(hotelstays.Observer{}),
		hotelstays.WithMaxResponseBytes(0),
		hotelstays.WithTraceIDFrom(nil),
		hotelstays.WithTimeout(-1),
		hotelstays.WithMarket("x"),
	)
	assert.Nil(t, c)
	assert.Equal(t, []string{
		"WithHTTPClient", "WithHTTPClient", "WithLogger", "WithMarket", "WithMaxResponseBytes",
		"WithObserver", "WithRateLimiter", "WithTimeout", "WithTokenStore", "WithTraceIDFrom",
		"appKey", "appSecret", "baseURL", "opts", "ttl",
	}, faultPaths(t, err))
	invalid := errorAs[*hotelstays.ValidationError](t, err)
	assert.Equal(t, "New", invalid.Func)
}

func TestNewValidatesTheCredential(t *testing.T) {
	ticket := hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("s")}
	for name, row := range map[string]struct {
		cred   hotelstays.Credential
		faults []string
	}{
		"no credential":                             {nil, []string{"cred"}},
		"a nil pointer as credential":               {(*hotelstays.TicketCredential)(nil), []string{"cred"}},
		"a ticket credential":                       {ticket, nil},
		"a pointer to a ticket credential":          {&ticket, nil},
		"a ticket credential with each field wrong": {hotelstays.TicketCredential{TTL: -1}, []string{"appKey", "appSecret", "ttl"}},
		"an OAuth credential": {hotelstays.OAuthCredential{ClientID: "i", ClientSecret: types.NewSecret("s"),
			Lifetime: time.Hour}, nil},
		"an OAuth credential with each field wrong": {hotelstays.OAuthCredential{Lifetime: -1, Scopes: []types.Scope{""}},
			[]string{"Lifetime", "client_id", "client_secret", "scope[0]"}},
		"a token credential":      {bearerToken("t"), nil},
		"empty token":             {bearerToken(""), []string{"Token"}},
		"token masked by a log":   {bearerToken("[redacted]"), []string{"Token"}},
		"token with a line break": {bearerToken("t\n"), []string{"Token"}},
	} {
		base, err := hotelstays.New("https://api.example.test", bearerToken("t"))
		require.NoError(t, err)
		_, err = hotelstays.New("https://api.example.test", row.cred)
		_, derivedErr := base.WithCredential(row.cred)
		if row.faults == nil {
			assert.NoError(t, err, name)
			assert.NoError(t, derivedErr, name)
			continue
		}
		assert.Equal(t, row.faults, faultPaths(t, err), name)
		assert.Equal(t, row.faults, faultPaths(t, derivedErr), name)
		assert.ErrorContains(t, derivedErr, "WithCredential")
	}
}

func TestEachLogLineNamesTheAccountOfItsClientOnce(t *testing.T) {
	srv, _ := newSandbox(t)
	logged := &bytes.Buffer{}
	base := newClient(t, srv, bearerToken("unused"), hotelstays.WithLogger(slog.New(slog.NewTextHandler(logged, nil))))
	derived, err := base.WithCredential(ticketOf(srv))
	require.NoError(t, err)
	derived, err = derived.With(hotelstays.WithMarket("DE"))
	require.NoError(t, err)
	require.NoError(t, operationCalls[hotelstays.OpDestinations](t.Context(), derived))
	assert.Contains(t, logged.String(), `msg="token fetched" account=`+derived.Account()+" lifetime")
	assert.Equal(t, 1, strings.Count(logged.String(), "account="), logged.String())
	assert.NotEqual(t, base.Account(), derived.Account())
}

// The client that WithCredential returns also has the options, the token store and the connections of its base client.
func TestWithCredentialDoesNotChangeTheTokenOrOptionsOfItsBaseClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &fixedAnswer{Status: 200, Body: `{"code":0,"data":{"ticket":"ticket-1","orders":[]}}`}
		observed, store := 0, newMemoryStore()
		log, _, _ := logOf(t, slog.LevelInfo)
		base := clientAt(t, "https://api.example.test", bearerToken("first"), service,
			hotelstays.WithObserver(hotelstays.Observer{CallEnd: func(context.Context, hotelstays.CallInfo) { observed++ }}),
			hotelstays.WithTokenStore(store), hotelstays.WithLogger(log), hotelstays.WithHeader("User-Agent", "agent"),
			hotelstays.WithMarket("AE"), hotelstays.WithLanguage("ar"), hotelstays.WithTimeout(7*time.Second))
		second, err := base.WithCredential(bearerToken("second"), hotelstays.WithMarket("DE"))
		require.NoError(t, err)
		third, err := second.WithCredential(hotelstays.TicketCredential{AppKey: "key",
			AppSecret: types.NewSecret("secret")}, hotelstays.WithLanguage("de"))
		require.NoError(t, err)
		for _, c := range []struct {
			client                  *hotelstays.Client
			token, market, language string
		}{{third, "ticket-1", "DE", "de"}, {second, "second", "DE", "ar"}, {base, "first", "AE", "ar"}} {
			require.NoError(t, operationCalls[hotelstays.OpQueryOrders](t.Context(), c.client))
			r := service.Sent[len(service.Sent)-1]
			assert.Equal(t, []string{"Bearer " + c.token, c.market, c.language, "agent"},
				[]string{r.Header.Get("Authorization"), r.Header.Get("Market"), r.Header.Get("Language"), r.Header.Get("User-Agent")})
			deadline, _ := r.Context().Deadline()
			assert.Equal(t, 7*time.Second, time.Until(deadline))
		}
		assert.Equal(t, 4, observed, "three calls and one ticket")
		assert.Len(t, store.held, 1, "the base client's store has the ticket")

		_, err = base.WithCredential(nil, nil, hotelstays.WithMarket("x"))
		assert.Equal(t, []string{"WithMarket", "cred", "opts"}, faultPaths(t, err))
	})
}

func TestWithSharesTheTokenButDoesNotChangeTheOptionsOfItsBaseClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		var seen []string
		observer := func(name string) hotelstays.Option {
			return hotelstays.WithObserver(hotelstays.Observer{CallEnd: func(_ context.Context, info hotelstays.CallInfo) {
				seen = append(seen, name+" "+string(info.Operation))
			}})
		}
		log, _, lines := logOf(t, slog.LevelDebug)
		base := newClient(t, srv, ticketOf(srv), observer("base"), hotelstays.WithMarket("AE"), hotelstays.WithHeader("X-Base", "b"))
		derived, err := base.With(observer("derived"), hotelstays.WithMarket("DE"), hotelstays.WithHeader("X-Own", "o"),
			hotelstays.WithLogger(log), hotelstays.WithMaxResponseBytes(1<<20), hotelstays.WithVoucherHosts("store.internal"))
		require.NoError(t, err)
		account, err := derived.WithCredential(ticketOf(srv), observer("account"), hotelstays.WithLogger(slog.New(slog.DiscardHandler)))
		require.NoError(t, err)
		sibling, err := derived.With(observer("sibling"))
		require.NoError(t, err)

		require.NoError(t, operationCalls[hotelstays.OpDestinations](t.Context(), derived))
		assert.Equal(t, []string{"base Ticket", "derived Destinations", "base Destinations"}, seen)
		assert.NotEmpty(t, lines())
		logged := len(lines())
		require.NoError(t, operationCalls[hotelstays.OpDestinations](t.Context(), base))
		assert.Equal(t, 1, srv.Ledger().TicketsIssued())
		seen = nil
		require.NoError(t, operationCalls[hotelstays.OpDestinations](t.Context(), account))
		require.NoError(t, operationCalls[hotelstays.OpDestinations](t.Context(), sibling))
		assert.Equal(t, []string{"account Ticket", "derived Ticket", "base Ticket", "account Destinations", "derived Destinations",
			"base Destinations", "sibling Destinations", "derived Destinations", "base Destinations"}, seen)
		assert.Equal(t, 2, srv.Ledger().TicketsIssued())
		assert.Len(t, lines(), logged+1, "only the sibling's call is logged")
		var sent [][]string
		for _, r := range srv.Ledger().Requests(hotelstays.OpDestinations) {
			sent = append(sent, []string{r.Header.Get("Market"), r.Header.Get("X-Base"), r.Header.Get("X-Own")})
		}
		assert.Equal(t, [][]string{{"DE", "b", "o"}, {"AE", "b", ""}, {"DE", "b", "o"}, {"DE", "b", "o"}}, sent)
		assert.Equal(t, base.Account(), derived.Account())
	})
}

func TestClientInALogShowsBaseURLAndAccount(t *testing.T) {
	client := clientThrough(t, noSend{t})
	buf := &bytes.Buffer{}
	slog.New(slog.NewJSONHandler(buf, nil)).Info("made", "client", client)
	assert.Contains(t, buf.String(), fmt.Sprintf(`"client":{"base_url":"http://127.0.0.1:1","account":%q}`, client.Account()))
}

func TestWithAndWithCredentialRefuseToReplaceWhatClientsShare(t *testing.T) {
	base := clientThrough(t, noSend{t})
	opts := []hotelstays.Option{hotelstays.WithHTTPClient(new(http.Client)), hotelstays.WithTokenStore(newMemoryStore()),
		hotelstays.WithRateLimiter(noRateLimits{}), hotelstays.WithMarket("x")}
	_, err := base.With(opts...)
	assert.Equal(t, []string{"WithHTTPClient", "WithMarket", "WithRateLimiter", "WithTokenStore"}, faultPaths(t, err))
	assert.ErrorContains(t, err, "With: WithMarket: ")
	_, err = base.WithCredential(nil, opts...)
	assert.Equal(t, []string{"WithHTTPClient", "WithMarket", "WithRateLimiter", "WithTokenStore", "cred"}, faultPaths(t, err))
}

func TestClientOfAnAccountTakesLessThan4KiB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 300
		broken := false
		base := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
			if broken {
				return nil, errors.New("broken")
			}
			return reply(200, `{"code":0,"data":{"ticket":"ticket-1","orders":[]}}`), nil
		}), hotelstays.WithRateLimiter(noRateLimits{}))
		clients := make([]*hotelstays.Client, accounts)
		goroutines, before := runtime.NumGoroutine(), testkit.LiveHeap()
		for i := range clients {
			var err error
			clients[i], err = base.WithCredential(hotelstays.TicketCredential{AppKey: fmt.Sprint("key-", i), AppSecret: types.NewSecret("secret")})
			require.NoError(t, err)
			require.NoError(t, operationCalls[hotelstays.OpQueryOrders](t.Context(), clients[i]))
		}
		synctest.Wait()
		bytes := (testkit.LiveHeap() - before) / accounts
		t.Logf("%d bytes per client with its token", bytes)
		assert.Less(t, bytes, 4096)
		before = testkit.LiveHeap()
		for i := range accounts {
			broken = i%2 == 1
			_ = operationCalls[hotelstays.OpQueryOrders](t.Context(), clients[0])
		}
		assert.Less(t, testkit.LiveHeap()-before, 64<<10, "an answered or failed call keeps no memory")
		assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines, "no goroutine is left")
		runtime.KeepAlive(clients)
	})
}

func TestNewChecksTheBaseURL(t *testing.T) {
	const host = "https://api.example.test"
	good := map[string]string{ // the base URL, and how the client writes it
		host: host, host + "/": host, "HTTPS://API.example.test": host, host + ":443": host, "https://Api.Example.Test:443/": host,
		host + ":8443/env/v2/": host + ":8443/env/v2", host + "/api": host + "/api", host + "/Env": host + "/Env",
		host + ":4443": host + ":4443", "https://10.0.0.1": "https://10.0.0.1",
		"http://localhost:8080": "http://localhost:8080", "http://LOCALHOST": "http://localhost",
		"http://localhost:443": "http://localhost:443", "http://localhost:80": "http://localhost",
		"http://127.0.0.1:1/x": "http://127.0.0.1:1/x", "http://127.9.9.9": "http://127.9.9.9", "http://[::1]:8080": "http://[::1]:8080",
	}
	bad := []string{
		"", " ", "api.example.test", "//api.example.test", "/env", "https://", "https:///env", "https://:443", "https:api.example.test",
		"http://api.example.test", "http://10.0.0.1", "http://0.0.0.0", "http://[::]", "http://localhost.example.test",
		"http://127.0.0.1.example.test",
		"ftp://api.example.test", "ws://localhost", "https://user@api.example.test", "https://user:pass@api.example.test",
		"http://localhost@api.example.test",
		"https://api.example.test?x=1", "https://api.example.test/?", "https://api.example.test/#top",
		"https://api.example.test:port", "https://%zz", "https://a b",
	}
	for base, named := range good {
		client, err := hotelstays.New(base, bearerToken("t"))
		require.NoError(t, err, base)
		assert.Equal(t, "hotelstays.Client("+named+")", client.String())
	}
	for _, base := range bad {
		_, err := hotelstays.New(base, bearerToken("t"))
		if assert.Error(t, err, base) {
			assert.Equal(t, []string{"baseURL"}, faultPaths(t, err), base)
			assert.NotContains(t, err.Error(), "user:pass", "a URL may hold a password")
		}
	}
}

func TestUnusableClientOrContextIsRefusedWithoutAPanic(t *testing.T) {
	var noCtx context.Context
	client := clientWith(t, noSend{t}, bearerToken("token"))
	for method, call := range optionCalls(t) { // TestEachMethodRefusesOptionsWithoutEffect checks that optionCalls has every method
		for _, unusable := range []*hotelstays.Client{{}, nil} {
			assert.Equal(t, []string{"client"}, faultPaths(t, call(t.Context(), unusable)), method)
		}
		if method != "ValidateBook" {
			assert.Equal(t, []string{"ctx"}, faultPaths(t, call(noCtx, client)), method)
		}
	}
	for _, unusable := range []*hotelstays.Client{{}, nil} {
		recovery := unusable.NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: "ref-1"})
		assert.Equal(t, &hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1"}, recovery)
		_, err := unusable.WithCredential(bearerToken("token"))
		assert.Equal(t, []string{"client"}, faultPaths(t, err))
	}
	assert.NotPanics(t, new(hotelstays.Client).CloseIdleConnections)
}

// A call whose transport panics releases its slot, and an observer sees an error. If the transport panics in a token request,
// the call returns an error.
func TestTransportPanicReachesTheCaller(t *testing.T) {
	panics := transportFunc(func(*http.Request) (*http.Response, error) { panic("boom") })
	synctest.Test(t, func(t *testing.T) {
		ends := &callLog{}
		client := clientThrough(t, panics, hotelstays.WithObserver(ends.observer()))
		for range 25 { // more than the rate limit of Book
			assert.PanicsWithValue(t, "boom", func() { _ = operationCalls[hotelstays.OpBook](t.Context(), client) })
		}
		require.Len(t, ends.ends, 25)
		assert.Error(t, ends.ends[0].Err)
	})
	ticket := clientWith(t, panics, hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret("secret")})
	assert.ErrorContains(t, operationCalls[hotelstays.OpQueryOrders](t.Context(), ticket), "panicked with a value of type string")
}

// Iterators make their calls in separate goroutines, where the caller cannot recover from a panic. So the panic becomes
// an error of the loop. The error has the type of the panic's value, and the log has the stack. The error and the log
// leave out the value, because it may quote a token.
func TestTransportPanicIsAnErrorOfTheIterator(t *testing.T) {
	var log bytes.Buffer
	client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) { panic(fmt.Sprint("boom ", r.Header)) }),
		hotelstays.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	destinations := client.WalkDestinations(t.Context(), &hotelstays.DestinationsRequest{})
	hotels := client.HotelsMetadataAll(t.Context(), &hotelstays.HotelsMetadataRequest{DestinationID: "d"}, hotelstays.WithParallelism(4))
	search := goodHotelList()
	search.HotelIDs = []string{"1", "2", "3"}
	batches := client.HotelListBatches(t.Context(), &search, hotelstays.WithBatchSize(1))

	_, ofDestinations := collect(destinations)
	_, ofHotels := collect(hotels)
	_, ofBatches := collect(batches)
	require.Equal(t, []int{1, 1, 3}, []int{len(ofDestinations), len(ofHotels), len(failedIDs(t, ofBatches))})
	for _, err := range slices.Concat(ofDestinations, ofHotels, ofBatches) {
		assert.ErrorContains(t, err, " panicked with a value of type string; the log of WithLogger has the stack")
		assert.NotContains(t, err.Error(), "boom")
	}
	assert.Contains(t, log.String(), "client_test.go")
	assert.NotContains(t, log.String(), "boom")
}

func stall(srv *hotelstaystest.Server, op hotelstays.Operation) {
	srv.Inject(hotelstaystest.Fault{Operation: op, Kind: hotelstaystest.FaultDelay, Delay: 1000 * time.Hour,
		Times: -1})
}

// Timeout-Milliseconds is the remaining time of the call, less one second.
func TestTimeoutMillisecondsShrinksWithEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelList, Kind: hotelstaystest.FaultStatus, Status: 503,
			Delay: time.Second, Times: 2})
		deadline := time.Now().Add(20 * time.Second)
		_, err := client.HotelList(t.Context(), searchCity(srv), hotelstays.WithTimeout(20*time.Second))
		require.NoError(t, err)
		requests := srv.Ledger().Requests(hotelstays.OpHotelList)
		require.Len(t, requests, 3)
		for _, r := range requests {
			left := deadline.Sub(r.Arrived) - time.Second
			assert.Equal(t, strconv.FormatInt(left.Milliseconds(), 10), r.Header.Get("Timeout-Milliseconds"))
		}
	})
}

// If ctx ends before both timeouts, the call ends with ctx. The error says which of the three limits has passed.
func TestTimeoutOfACallReplacesTheTimeoutOfItsClient(t *testing.T) {
	const own, ofCtx = "the call's own time limit of %s passed: ", "the deadline of ctx passed: "
	for _, tc := range []struct {
		name              string
		client, call, ctx time.Duration // 0: not set
		want              time.Duration
		says              string
	}{
		{"the default timeout", 0, 0, 0, 120 * time.Second, own},
		{"the client's timeout", 7 * time.Second, 0, 0, 7 * time.Second, own},
		{"the client's timeout, longer than the default", 10 * time.Minute, 0, 0, 10 * time.Minute, own},
		{"the call's timeout, longer than the client's", 7 * time.Second, 9 * time.Second, 0, 9 * time.Second, own},
		{"the ctx, longer than the default", 0, 0, 10 * time.Minute, 10 * time.Minute, ofCtx},
		{"the ctx, shorter than the call's timeout", 7 * time.Second, 3 * time.Second, time.Second, time.Second, ofCtx},
		{"the call's timeout, shorter than the ctx", 7 * time.Second, 3 * time.Second, time.Minute, 3 * time.Second, own},
	} {
		synctest.Test(t, func(t *testing.T) {
			srv, client := newSandbox(t)
			if tc.client > 0 {
				client = newClient(t, srv, ticketOf(srv), hotelstays.WithTimeout(tc.client))
			}
			var opts []hotelstays.CallOption
			if tc.call > 0 {
				opts = append(opts, hotelstays.WithTimeout(tc.call))
			}
			ctx, cancel := t.Context(), func() {}
			if tc.ctx > 0 {
				ctx, cancel = context.WithTimeout(ctx, tc.ctx)
			}
			defer cancel()
			stall(srv, hotelstays.OpBook)
			start := time.Now()
			err := operationCalls[hotelstays.OpBook](ctx, client, opts...)
			assert.Equal(t, tc.want, time.Since(start), tc.name)
			assert.ErrorContains(t, err, strings.Replace(tc.says, "%s", tc.want.String(), 1), tc.name)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			unknown := errorAs[*hotelstays.OutcomeUnknownError](t, err)
			assert.Equal(t, "ref-1", unknown.CustomerReferenceNo)
			failed := errorAs[*hotelstays.TransportError](t, unknown.Err)
			assert.True(t, failed.Sent)
			assert.Equal(t, 1, failed.Attempts)
		})
	}
}

// If Retry-After asks for at most a minute, the call waits and is sent again. Otherwise the call ends immediately with
// an error that has RetryAfter. In both cases every caller of the operation waits until the time has passed.
func TestRetryAfterIsHonouredInFull(t *testing.T) {
	for header, after := range map[string]time.Duration{
		"40": 40 * time.Second, "60": time.Minute, "61": 61 * time.Second, "3600": time.Hour, "soon": time.Second, "1e6": 24 * time.Hour,
		"Sat, 01 Jan 2000 00:00:20 GMT": 20 * time.Second, "Sat, 01 Jan 2000 00:02:00 GMT": 2 * time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			srv, client := newSandbox(t)
			srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 429,
				RetryAfter: header})
			start := time.Now()
			_, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithTimeout(5*time.Minute))
			if after <= time.Minute {
				require.NoError(t, err)
				assert.WithinRange(t, time.Now(), start.Add(after), start.Add(after+time.Second))
				return
			}
			api := errorAs[*hotelstays.APIError](t, err)
			assert.Equal(t, after, api.RetryAfter)
			assert.Zero(t, time.Since(start))
			_, err = client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithTimeout(48*time.Hour))
			require.NoError(t, err)
			assert.WithinRange(t, time.Now(), start.Add(after), start.Add(after+time.Second))
		})
	}
}

// retryFaults has, for each row of the retry table in doc.go, the faults that the row is about.
var retryFaults = map[string][]hotelstaystest.Fault{
	"the request never left": nil, // checkNeverLeft tests this row with a dialer that fails
	"the connection broke, or no answer came": {
		{Kind: hotelstaystest.FaultCut},
		{Kind: hotelstaystest.FaultCutBeforeRead},
		{Kind: hotelstaystest.FaultCutMidResponse},
		{Kind: hotelstaystest.FaultResetStream},
		{Kind: hotelstaystest.FaultResetStream, Commit: true},
	},
	"HTTP 401, enveloped": {status(401, "")},
	"HTTP 401, not enveloped": {
		status(401, "<html>"), status(401, `{"code":0,"msg":"fine"}`), status(401, `{}`), status(401, `{"code":7,"Code":0}`),
	},
	"HTTP 429, enveloped":               {status(429, "")},
	"HTTP 429, not enveloped":           {status(429, "<html>"), status(429, `{"code":0}`), status(429, `{"code":7,"data":{},"data":{}}`)},
	"HTTP 500, 502, 503, 504":           {status(500, ""), status(502, "<html>"), status(503, ""), status(504, "")},
	"HTTP 3xx, other 5xx":               {status(301, ""), status(307, "<html>"), status(501, ""), status(507, "<html>")},
	"HTTP 400, 403, enveloped":          {status(400, ""), status(403, ""), status(400, `{"code":7,"msg":"no"}`)},
	"HTTP 404, enveloped, another code": {status(404, ""), status(404, `{"code":7}`)},
	"HTTP 4xx, not enveloped":           {status(400, "<html>"), status(403, `{}`), status(404, " "), status(413, `{"code":"7"}`)},
	"HTTP 2xx, other 4xx, documented code": {
		status(200, `{"code":100000429,"msg":"slower"}`), status(409, `{"code":100000429}`),
	},
	"HTTP 2xx, other 4xx, another code": {
		status(200, `{"code":7}`), status(200, `{"code":100000401}`), status(202, `{"code":100001008}`), status(408, ""),
		status(409, `{"code":7,"msg":"no"}`),
	},
	"HTTP 2xx that cannot be read": {
		{Kind: hotelstaystest.FaultGarbage},
		{Kind: hotelstaystest.FaultTruncatedBody},
		{Kind: hotelstaystest.FaultEmptyBody},
		{Kind: hotelstaystest.FaultEmptyBody, Status: 204},
		status(200, `{"code":0,"data":[]}`), status(200, `{"data":{}}`),
	},
}

type retryRow struct{ what, reads, writes string }

func retryTable(t *testing.T) (rows []retryRow) {
	for _, cells := range manualTable(t, "what happened") {
		require.Len(t, cells, 3)
		rows = append(rows, retryRow{cells[0], cells[1], cells[2]})
	}
	return rows
}

// manualTable returns the rows of a table in doc.go. heading is the first heading of the table.
func manualTable(t *testing.T, heading string) (rows [][]string) {
	source, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(source), "//	"+heading+" ")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n//\n")
	gaps := regexp.MustCompile(` {2,}`)
	for _, line := range strings.Split(table, "\n")[1:] {
		rows = append(rows, gaps.Split(strings.TrimPrefix(line, "//	"), -1))
	}
	return rows
}

// The sandbox's ledger counts the requests. Each fault hits Book, Cancel and another operation. These other operations take
// turns. With HOTELSTAYS_LONG=1, every fault hits every operation.
func TestRetriesFollowTheTableInDocGo(t *testing.T) {
	t.Parallel()
	rows := retryTable(t)
	require.Len(t, rows, len(retryFaults), "retryFaults has each row")
	each := slices.Sorted(maps.Keys(operationCalls))
	others := slices.DeleteFunc(slices.Clone(each), hotelstays.Mutates)
	long, turn := testsize.Full(), 0
	for _, row := range rows {
		require.Contains(t, retryFaults, row.what)
		if row.what == "the request never left" {
			t.Run(row.what, func(t *testing.T) { checkNeverLeft(t, row) })
			continue
		}
		for _, fault := range retryFaults[row.what] {
			ops := []hotelstays.Operation{hotelstays.OpBook, hotelstays.OpCancel, others[turn%len(others)]}
			if turn++; long {
				ops = each
			}
			name := fmt.Sprintf("%s: %s %d %s", row.what, fault.Kind, fault.Status, fault.Body)
			t.Run("HTTP/1.1 "+name, func(t *testing.T) { checkRetries(t, row, fault, ops, "HTTP/1.1", hotelstaystest.Config{}) })
			if fault.Kind != hotelstaystest.FaultStatus && !testing.Short() || long {
				t.Run("HTTP/2.0 "+name, func(t *testing.T) { checkRetries(t, row, fault, ops, "HTTP/2.0", hotelstaystest.Config{TLS: true}) })
			}
		}
	}
}

func checkRetries(t *testing.T, row retryRow, fault hotelstaystest.Fault, ops []hotelstays.Operation, proto string,
	config hotelstaystest.Config) {
	synctest.Test(t, func(t *testing.T) {
		config.NoRateLimits = true
		srv, _ := newSandbox(t, config)
		fault.Times = -1
		for _, op := range ops {
			client := newClient(t, srv, ticketOf(srv))
			_, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{}) // fetches the token
			require.NoError(t, err)
			before, tickets := srv.Ledger().Count(op), srv.Ledger().TicketsIssued()
			fault.Operation = op
			srv.Inject(fault)

			err = operationCalls[op](t.Context(), client)
			srv.ClearFaults()

			require.Error(t, err, op)
			policy := row.reads
			switch book, cancel, differ := strings.Cut(row.writes, "; Cancel: "); {
			case op == hotelstays.OpCancel && differ:
				policy = cancel
			case hotelstays.Mutates(op):
				policy = book
			}
			noAuth := op == hotelstays.OpTicket || op == hotelstays.OpOAuthToken
			attempts, fetched := 1, 0
			switch {
			case policy == "again":
				attempts = 4
			case policy == "wait, again":
				attempts = max(6, srv.Ledger().Count(op)-before) // a read is repeated until the deadline
			case policy == "once, new token" && !noAuth:
				attempts, fetched = 2, 1
			}
			assert.Equal(t, attempts, srv.Ledger().Count(op)-before, "%s: %s", op, policy)
			if op != hotelstays.OpTicket {
				assert.Equal(t, fetched, srv.Ledger().TicketsIssued()-tickets, op)
			}
			assertOutcome(t, err, policy, op)
			requests := srv.Ledger().Requests(op)
			assert.Equal(t, proto, requests[len(requests)-1].Proto)
			client.CloseIdleConnections()
		}
	})
}

func TestFailuresInTheTableOfDocGoProveThatBookWasNotSent(t *testing.T) {
	tracing := transportFunc(func(r *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(r.Context())
		trace.GetConn("host.example:443")
		trace.GotConn(httptrace.GotConnInfo{})
		return nil, errors.New("no stream")
	})
	proxyless := hotelstays.NewTransport()
	proxyless.Proxy = func(*http.Request) (*url.URL, error) { return nil, errors.New("no proxy") }
	ticket := hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret("secret")}
	proofs := map[string]func() *hotelstays.Client{
		"no slot": func() *hotelstays.Client {
			return clientThrough(t, noSend{t}, hotelstays.WithRateLimiter(limiterFunc(func() error { return errors.New("no store") })))
		},
		"no token": func() *hotelstays.Client { return clientWith(t, failing(io.EOF), ticket) },
		"a function of an option": func() *hotelstays.Client {
			return clientThrough(t, noSend{t}, hotelstays.WithRequestID(func(context.Context) string { return "" }))
		},
		"an error before a connection": func() *hotelstays.Client { return clientThrough(t, proxyless) },
		"an error before WroteHeaders": func() *hotelstays.Client { return clientThrough(t, tracing) },
		"a dial error": func() *hotelstays.Client {
			return clientThrough(t, failing(&net.OpError{Op: "dial", Err: errors.New("refused")}))
		},
		"an error that wraps ErrNotSent": func() *hotelstays.Client {
			return clientThrough(t, failing(fmt.Errorf("the breaker is open: %w", hotelstays.ErrNotSent)))
		},
	}
	rows := manualTable(t, "what failed")
	require.Len(t, rows, len(proofs))
	for _, row := range rows {
		inBubble(t, row[0], func(t *testing.T) {
			require.Contains(t, proofs, row[0])
			_, err := sendBook(t, proofs[row[0]]())
			assert.NotErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
			assert.False(t, errorAs[*hotelstays.TransportError](t, err).Sent)
			assert.Contains(t, err.Error(), map[bool]string{true: "not sent", false: "nothing was carried out"}[row[0] == "no token"])
		})
	}
	t.Run("an error after the end of ctx does not prove that Book was not sent", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
			cancel(fmt.Errorf("another call: %w", hotelstays.ErrNotSent))
			return nil, context.Cause(ctx)
		}))
		err := operationCalls[hotelstays.OpBook](ctx, client)
		assert.ErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
		assert.NotErrorIs(t, err, hotelstays.ErrNotSent)
		err = operationCalls[hotelstays.OpHotelList](ctx, clientThrough(t, noSend{t}))
		assert.ErrorContains(t, err, "context canceled: another call", "an error after the end of ctx quotes the cause")
		assert.NotErrorIs(t, err, hotelstays.ErrNotSent)
	})
}

func checkNeverLeft(t *testing.T, row retryRow) {
	synctest.Test(t, func(t *testing.T) {
		for op, call := range operationCalls {
			dials := 0
			client := clientAt(t, "http://127.0.0.1:1", bearerToken("token"), &http.Transport{
				DialContext: func(context.Context, string, string) (net.Conn, error) { dials++; return nil, errors.New("no route") }})
			err := call(t.Context(), client)
			failed := errorAs[*hotelstays.TransportError](t, err, op)
			assert.False(t, failed.Sent)
			assert.Equal(t, 4, failed.Attempts)
			assert.Equal(t, 4, dials)
			assertOutcome(t, err, row.writes, op)
		}
	})
}

func assertOutcome(t *testing.T, err error, policy string, op hotelstays.Operation) {
	isUnknown := errors.As(err, new(*hotelstays.OutcomeUnknownError))
	assert.Equal(t, policy == "unknown outcome", isUnknown, "%s: %v", op, err)
	if isUnknown {
		assert.Contains(t, err.Error(), "do not send the request again")
		assert.NotContains(t, err.Error(), "safe to call again")
	}
	if policy == "refused" {
		assert.ErrorAs(t, err, new(*hotelstays.APIError), op)
	}
}

// In an outage a client uses up its quota of retries. Then it sends each call once, and the error says so. A recovery
// still makes each poll, with one request.
func TestRetriesStopInALongOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &fixedAnswer{Status: 503, Body: `{"code":9,"msg":"down"}`}
		client := clientThrough(t, service, hotelstays.WithMaxAttempts(4), hotelstays.WithRateLimiter(noRateLimits{}))
		var err error
		for range 300 {
			err = operationCalls[hotelstays.OpQueryOrders](t.Context(), client)
		}
		assert.Len(t, service.Sent, 300+100)
		assert.ErrorContains(t, err, "; not retried, because too many calls fail; try again later")
		another, err := client.WithCredential(bearerToken("token-2"))
		require.NoError(t, err)
		_ = operationCalls[hotelstays.OpQueryOrders](t.Context(), another)
		assert.Len(t, service.Sent, 300+100+1, "accounts share the retries")

		recovery := client.NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: "ref-1"})
		outcome, err := client.RecoverBooking(t.Context(), recovery)
		require.NoError(t, err)
		assert.Equal(t, hotelstays.KindServerError, hotelstays.KindOf(outcome.Err))
		assert.Len(t, service.Sent, 300+100+1+6)
	})
}

// A program may change http.DefaultTransport at any time, but the client sends no token with a TLS version below 1.2.
func TestDefaultTransportWithOldTLSIsRefused(t *testing.T) {
	defer func(kept http.RoundTripper) { http.DefaultTransport = kept }(http.DefaultTransport)
	before, err := hotelstays.New("https://api.example.test", bearerToken("token"), hotelstays.WithHTTPClient(&http.Client{}),
		hotelstays.WithMaxAttempts(1))
	require.NoError(t, err)
	http.DefaultTransport = &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS11},
		DialContext: func(context.Context, string, string) (net.Conn, error) { panic("it connects") }}
	_, err = hotelstays.New("https://api.example.test", bearerToken("token"), hotelstays.WithHTTPClient(&http.Client{}))
	assert.Equal(t, []string{"WithHTTPClient"}, faultPaths(t, err))
	var failed *hotelstays.TransportError
	require.ErrorAs(t, operationCalls[hotelstays.OpBook](t.Context(), before), &failed)
	assert.False(t, failed.Sent)
}

// A mock may replace http.DefaultTransport after New. A client without WithHTTPClient does not use http.DefaultTransport.
func TestHTTPClientWithoutTransportUsesDefaultTransport(t *testing.T) {
	client, err := hotelstays.New("http://127.0.0.1:1", bearerToken("token"), hotelstays.WithHTTPClient(http.DefaultClient),
		hotelstays.WithMaxAttempts(1))
	require.NoError(t, err)
	own, err := hotelstays.New("http://127.0.0.1:1", bearerToken("token"), hotelstays.WithMaxAttempts(1))
	require.NoError(t, err)
	gock.New("http://127.0.0.1:1").Post("/api/search/destinations").Times(2).Reply(200).BodyString(`{"code":0,"data":{"destinations":[]}}`)
	defer gock.OffAll()

	resp, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
	require.NoError(t, err)
	assert.Equal(t, 200, resp.Meta.HTTPStatus)
	_, err = own.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
	assert.ErrorContains(t, err, "no connection")
	gock.New("http://127.0.0.1:1").Get("/voucher").Reply(200).BodyString("document")
	var got strings.Builder
	err = client.DownloadVoucher(t.Context(), &types.Voucher{DownloadURL: "http://127.0.0.1:1/voucher", ByteSize: 8}, &got,
		hotelstays.WithUnsignedVouchers())
	require.NoError(t, err)
	assert.Equal(t, "document", got.String())
	assert.Nil(t, http.DefaultClient.Transport, "the caller's http.Client is not changed")
	gock.OffAll()
	client.CloseIdleConnections()
}

// The error names the proxy and its answer, but not the password in the proxy's URL.
func TestErrorNamesTheProxyThatRefusedTheRequest(t *testing.T) {
	tr := hotelstays.NewTransport()
	defer tr.CloseIdleConnections()
	assert.NotNil(t, tr.Proxy, "by default the environment selects the proxy")
	tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.example:3128", User: url.UserPassword("user", "password")})
	tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			go io.Copy(io.Discard, server)
			_, _ = io.WriteString(server, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
		}()
		return client, nil
	}
	err := operationCalls[hotelstays.OpCheckAvail](t.Context(), clientWith(t, tr, bearerToken("token"), hotelstays.WithMaxAttempts(2)))
	require.ErrorContains(t, err, "no connection: the proxy proxy.example:3128 answered CONNECT with HTTP 407: "+
		"the proxy requires authentication (nothing was carried out; attempts 1)")
	assert.ErrorContains(t, err, "check the credentials of the proxy")
	assert.Equal(t, hotelstays.KindProxyAuth, hotelstays.KindOf(err))
	assert.NotContains(t, err.Error(), "password")
}
