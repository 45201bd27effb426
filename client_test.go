// What New refuses, and what a Client makes of its transport, limiter and ctx.

package hotelstays_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/h2non/gock.v1"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func clientThrough(t *testing.T, rt http.RoundTripper, opts ...hotelstays.Option) *hotelstays.Client {
	opts = append([]hotelstays.Option{hotelstays.WithHTTPClient(&http.Client{Transport: rt}), hotelstays.WithMaxAttempts(1)}, opts...)
	client, err := hotelstays.New("http://127.0.0.1:1", bearerToken("token-0001"), opts...)
	require.NoError(t, err)
	return client
}

func bearerToken(token string) hotelstays.TokenCredential {
	return hotelstays.TokenCredential{Token: types.NewSecret(token)}
}

func reply(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}
}

// saying answers every request with one body.
func saying(body string) transportFunc {
	return func(*http.Request) (*http.Response, error) { return reply(200, body), nil }
}

func newLoopbackServer(t *testing.T, h http.Handler) *httptest.Server {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

func TestNewReportsAllFaultsAtOnce(t *testing.T) {
	oldTLS := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS11}}}
	c, err := hotelstays.New("http://api.example.test", hotelstays.TicketCredential{TTL: -1},
		nil,
		hotelstays.WithHTTPClient(nil),
		hotelstays.WithHTTPClient(oldTLS),
		hotelstays.WithLogger((*slog.Logger)(nil)),
		hotelstays.WithRateLimiter(nil),
		hotelstays.WithTokenStore(nil),
		hotelstays.WithObserver(hotelstays.Observer{}),
		hotelstays.WithMaxAttempts(0),
		hotelstays.WithMaxAttempts(101),
		hotelstays.WithMaxResponseBytes(0),
		hotelstays.WithUserAgent(""),
		hotelstays.WithUserAgent("a\r\nb"),
		hotelstays.WithTimeout(-1),
		hotelstays.WithMarket("x"),
	)
	assert.Nil(t, c)
	assert.Equal(t, []string{
		"WithHTTPClient", "WithHTTPClient", "WithLogger", "WithMarket", "WithMaxAttempts", "WithMaxAttempts", "WithMaxResponseBytes",
		"WithObserver", "WithRateLimiter", "WithTimeout", "WithTokenStore", "WithUserAgent", "WithUserAgent",
		"appKey", "appSecret", "baseURL", "opts", "ttl",
	}, faultPaths(t, err))
	var invalid *hotelstays.ValidationError
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, "New", invalid.Func)
}

// A transport that names no TLS version has net/http's own, which is good.
func TestNewTakesTheDefaultTLS(t *testing.T) {
	for _, version := range []uint16{0, tls.VersionTLS12, tls.VersionTLS13} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: version}}
		_, err := hotelstays.New("https://api.example.test", bearerToken("token"), hotelstays.WithHTTPClient(&http.Client{Transport: transport}))
		assert.NoError(t, err)
	}
}

func TestNewCredentials(t *testing.T) {
	read := []hotelstays.Scope{hotelstays.ScopeSearchRead}
	rows := []struct {
		name   string
		cred   hotelstays.Credential
		faults []string
	}{
		{"none", nil, []string{"cred"}},
		{"nil pointer", (*hotelstays.TicketCredential)(nil), []string{"cred"}},
		{"ticket", hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("s")}, nil},
		{"ticket by pointer", &hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("s")}, nil},
		{"ticket for a year", hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("s"), TTL: 365 * 24 * time.Hour}, nil},
		{"ticket for longer", hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("s"), TTL: 365*24*time.Hour + time.Second},
			[]string{"ttl"}},
		{"ticket from a log", hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("[redacted]")}, []string{"appSecret"}},
		{"oauth", hotelstays.OAuthCredential{ClientID: "i", ClientSecret: types.NewSecret("s"), Scopes: read, Lifetime: time.Hour}, nil},
		{"oauth without anything", hotelstays.OAuthCredential{Lifetime: -1}, []string{"Lifetime", "client_id", "client_secret"}},
		{"oauth without scopes", hotelstays.OAuthCredential{ClientID: "i", ClientSecret: types.NewSecret("s")}, nil},
		{"oauth with an unknown scope", hotelstays.OAuthCredential{ClientID: "i", ClientSecret: types.NewSecret("s"),
			Scopes: []hotelstays.Scope{"all"}}, []string{"scope[0]"}},
		{"oauth from a log", hotelstays.OAuthCredential{ClientID: "i", ClientSecret: types.NewSecret("[redacted]"), Scopes: read},
			[]string{"client_secret"}},
		{"token", bearerToken("t"), nil},
		{"empty token", bearerToken(""), []string{"Token"}},
		{"token from a log", bearerToken("[redacted]"), []string{"Token"}},
		{"token from a file, with its line break", bearerToken("t\n"), []string{"Token"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := hotelstays.New("https://api.example.test", row.cred)
			if row.faults == nil {
				assert.NoError(t, err)
				return
			}
			assert.Equal(t, row.faults, faultPaths(t, err))
		})
	}
}

func TestNewBaseURL(t *testing.T) {
	good := []string{
		"https://api.example.test", "https://api.example.test/", "https://api.example.test:8443/env/v2/", "HTTPS://API.example.test",
		"http://localhost:8080", "http://LOCALHOST", "http://127.0.0.1:1/x", "http://127.9.9.9", "http://[::1]:8080", "https://10.0.0.1",
	}
	bad := []string{
		"", " ", "api.example.test", "//api.example.test", "/env", "https://", "https:///env", "https://:443", "https:api.example.test",
		"http://api.example.test", "http://10.0.0.1", "http://0.0.0.0", "http://[::]", "http://localhost.example.test", "http://127.0.0.1.example.test",
		"ftp://api.example.test", "ws://localhost", "https://user@api.example.test", "https://user:pass@api.example.test", "http://localhost@api.example.test",
		"https://api.example.test?x=1", "https://api.example.test/?", "https://api.example.test/#top", "https://api.example.test:port", "https://%zz", "https://a b",
	}
	for _, base := range good {
		_, err := hotelstays.New(base, bearerToken("t"))
		assert.NoError(t, err, base)
	}
	for _, base := range bad {
		_, err := hotelstays.New(base, bearerToken("t"))
		if assert.Error(t, err, base) {
			assert.Equal(t, []string{"baseURL"}, faultPaths(t, err), base)
			assert.NotContains(t, err.Error(), "user:pass", "an address may hold a password")
		}
	}
}

// urlRecorder records where a request goes.
type urlRecorder struct{ url string }

func (v *urlRecorder) RoundTrip(r *http.Request) (*http.Response, error) {
	v.url = r.URL.String()
	return nil, errors.New("recorded")
}

func TestNewBaseURLKeepsItsPath(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.example.test":           "https://api.example.test/api/search/destinations",
		"https://api.example.test/":          "https://api.example.test/api/search/destinations",
		"https://api.example.test:8443/env/": "https://api.example.test:8443/env/api/search/destinations",
	} {
		rt := &urlRecorder{}
		c, err := hotelstays.New(base, bearerToken("t"), hotelstays.WithHTTPClient(&http.Client{Transport: rt}), hotelstays.WithMaxAttempts(1))
		require.NoError(t, err)
		_, err = c.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
		require.Error(t, err)
		assert.Equal(t, want, rt.url)
	}
}

// Every method that takes a ctx refuses one that is nil, and a Client that New did not
// make. Neither panics.
func TestUnusableClientOrContext(t *testing.T) {
	tested := 0
	for _, tc := range []struct {
		path   string
		client *hotelstays.Client
		ctx    context.Context
	}{
		{"client", &hotelstays.Client{}, t.Context()},
		{"client", nil, t.Context()},
		{"ctx", clientWith(t, noSend{t}, bearerToken("token")), nil},
	} {
		client := reflect.ValueOf(tc.client)
		for m := range client.Type().Methods() {
			if m.Type.NumIn() < 2 || m.Type.In(1) != reflect.TypeFor[context.Context]() {
				continue
			}
			t.Run(tc.path+" of "+m.Name, func(t *testing.T) {
				ctx := reflect.New(m.Type.In(1)).Elem()
				if tc.ctx != nil {
					ctx.Set(reflect.ValueOf(tc.ctx))
				}
				args := []reflect.Value{client, ctx}
				for i := 2; i < m.Type.NumIn()-1; i++ { // the last are the options
					arg := reflect.New(m.Type.In(i)).Elem()
					if arg.Kind() == reflect.Pointer {
						arg.Set(reflect.New(arg.Type().Elem()))
					}
					args = append(args, arg)
				}
				results := m.Func.Call(args)
				last := results[len(results)-1]
				if last.Kind() == reflect.Func { // an iterator
					for _, err := range last.Seq2() {
						last = err
					}
				}
				err, _ := reflect.TypeAssert[error](last)
				assert.Equal(t, []string{tc.path}, faultPaths(t, err))
			})
			tested++
		}
	}
	require.Greater(t, tested, 3*len(operationCalls))

	recovery := new(hotelstays.Client).NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: "ref-1"})
	assert.Equal(t, &hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1"}, recovery)
	assert.NotPanics(t, new(hotelstays.Client).CloseIdleConnections)
}

// A caller's http.Client without a Transport sends through http.DefaultTransport, also
// through one that a mock has put there since. Without WithHTTPClient nothing does.
func TestMockedDefaultTransport(t *testing.T) {
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
	assert.Nil(t, http.DefaultClient.Transport, "what the caller gave is not changed")
	gock.OffAll()
	client.CloseIdleConnections()
}

// The voucher's document comes the same way.
func TestMockedVoucherDocument(t *testing.T) {
	client, err := hotelstays.New("http://127.0.0.1:1", bearerToken("token"), hotelstays.WithHTTPClient(http.DefaultClient))
	require.NoError(t, err)
	gock.New("http://127.0.0.1:1").Get("/voucher").Reply(200).BodyString("document")
	defer gock.OffAll()
	var got strings.Builder
	err = client.DownloadVoucher(t.Context(), &types.Voucher{DownloadURL: "http://127.0.0.1:1/voucher", ByteSize: 8}, &got,
		hotelstays.WithUnsignedVouchers())
	require.NoError(t, err)
	assert.Equal(t, "document", got.String())
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

// A panic of the transport reaches the caller, gives the slot back, and is no
// success to an observer; where the token is fetched it is an error.
func TestTransportThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := &callLog{}
		client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) { panic("boom") }),
			hotelstays.WithObserver(ends.observer()))
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
	search := goodHotelList()
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
		client, err := hotelstays.New("http://127.0.0.1:1", bearerToken("token"),
			hotelstays.WithHTTPClient(&http.Client{Transport: rt, Jar: jar}))
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
	client := clientThrough(t, nil, hotelstays.WithRateLimiter(nilLimiter{err: &net.OpError{Op: "dial",
		Err: errors.New("connection refused")}}), hotelstays.WithMaxAttempts(1))
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
