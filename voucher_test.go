// Vouchers: AwaitVoucher, the hosts that a document may come from, and errors, which hide the link.

package hotelstays_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

var (
	voucherRef = &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1"}
	voucherDoc = []byte("%PDF-1.4\nA small document.\n%%EOF\n")
	voucherOld = []byte("%PDF-1.4\nThe document that was there before.\n%%EOF\n")
)

func voucherAnswer(status types.VoucherStatus, v *types.Voucher) string {
	data, err := json.Marshal(hotelstays.OrderVoucherResponse{CustomerReferenceNo: "ref-1", PlatformReferenceNo: "P1",
		SupplierReferenceNo: "S1", Status: status, Voucher: v})
	if err != nil {
		panic(err)
	}
	return `{"code":0,"msg":"ok","data":` + string(data) + `}`
}

func orderVoucher(t *testing.T, client *hotelstays.Client) *types.Voucher {
	t.Helper()
	resp, err := client.OrderVoucher(t.Context(), voucherRef)
	require.NoError(t, err)
	require.NotNil(t, resp.Voucher)
	return resp.Voucher
}

// inVoucherSandbox runs a test in a bubble, with a booking under ref-1 whose voucher is ready.
func inVoucherSandbox(t *testing.T, config hotelstaystest.Config,
	test func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config.ConfirmAfter, config.VoucherDelay = hotelstaystest.AtOnce, cmp.Or(config.VoucherDelay, hotelstaystest.AtOnce)
		srv, client := newSandbox(t, config)
		findOffer(t, srv, client, 0).Book(t, client, "ref-1")
		test(t, srv, client)
	})
}

// A status without a name in package types also ends the wait. After a temporary failure AwaitVoucher polls again. After any
// other failure AwaitVoucher returns the failure and the last answer.
func TestAwaitVoucherEndsWithAFinalStatus(t *testing.T) {
	type server = *hotelstaystest.Server
	fault := func(times int, f hotelstaystest.Fault) hotelstaystest.Fault {
		f.Operation, f.Times = hotelstays.OpOrderVoucher, times
		return f
	}
	const waited = `hotelstays: AwaitVoucher: the voucher of order "ref-1" is still NOT_GENERATED; ` +
		`the wait ended with the caller's ctx: context deadline exceeded; call again to continue`
	soon := hotelstaystest.Config{ConfirmAfter: 30 * time.Second, VoucherDelay: time.Second}
	for _, tc := range []struct {
		name      string
		config    hotelstaystest.Config // without ConfirmAfter, the order is never confirmed
		reference string                // empty: ref-1
		at        float64               // the second at which act runs
		act       func(server)
		fault     hotelstaystest.Fault
		wakeups   []float64
		within    time.Duration // the time limit of ctx; 0: an hour
		polls     []float64     // nil: not checked
		ends      float64
		status    types.VoucherStatus // empty: no response
		err       error
		says      string
	}{
		{name: "the voucher is ready", at: 47, act: func(s server) { s.ConfirmOrder("ref-1") }, polls: []float64{0, 5, 10, 20, 50, 80},
			ends: 80, status: types.VoucherGenerated}, // the poll at 50 s gets PENDING, and the voucher is ready at 52 s
		{name: "the voucher fails", at: 12, act: func(s server) { s.FailVoucher("ref-1") }, polls: []float64{0, 5, 10, 20}, ends: 20,
			status: types.VoucherFailed},
		{name: "the order is cancelled", at: 6, act: func(s server) { s.SetOrderStatus("ref-1", 3) }, polls: []float64{0, 5, 10}, ends: 10,
			status: types.VoucherCancelled},
		{name: "an unknown status", fault: fault(-1, status(200, voucherAnswer("ARCHIVED", nil))), polls: []float64{0}, status: "ARCHIVED"},
		{name: "ctx ends", within: 2 * time.Minute, polls: []float64{0, 5, 10, 20, 50, 80, 110}, ends: 120,
			status: types.VoucherNotGenerated, err: context.DeadlineExceeded, says: waited},
		{name: "ctx ends, and each poll failed", within: time.Minute, fault: fault(-1, hotelstaystest.Fault{Kind: hotelstaystest.FaultCut}),
			ends: 60, err: context.DeadlineExceeded, says: "the last poll failed: OrderVoucher: "},
		{name: "wake-ups do not change the schedule", at: 31, act: func(s server) { s.ConfirmOrder("ref-1") }, wakeups: []float64{3, 37},
			polls: []float64{0, 3, 5, 10, 20, 37}, ends: 37, status: types.VoucherGenerated}, // the voucher is ready at 36 s
		{name: "the first six answers have no status", config: soon, fault: fault(6, status(200, `{"code":0,"data":{}}`)), ends: 110,
			status: types.VoucherGenerated},
		{name: "an unknown reference", reference: "nobody's", polls: []float64{0}, err: hotelstays.ErrNotFound},
		{name: "the third poll is refused with HTTP 403", fault: fault(1, hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 403,
			Skip: 2}), polls: []float64{0, 5, 10}, ends: 10, status: types.VoucherNotGenerated, err: hotelstays.ErrForbidden},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			tc.config.ConfirmAfter = cmp.Or(tc.config.ConfirmAfter, hotelstaystest.Never)
			w := newRecoveryWorld(t, tc.config)
			w.offer.Book(t, w.client, "ref-1")
			start := time.Now()
			at(t, tc.at, func() { tc.act(w.Server) })
			w.inject(tc.fault)
			ctx := within(t, cmp.Or(tc.within, time.Hour))

			resp, err := w.client.AwaitVoucher(ctx, &hotelstays.OrderVoucherRequest{CustomerReferenceNo: cmp.Or(tc.reference, "ref-1")},
				waking(t, false, tc.wakeups))

			assert.ErrorIs(t, err, tc.err)
			if tc.says != "" {
				assert.ErrorContains(t, err, tc.says)
			}
			assert.Equal(t, tc.ends, time.Since(start).Seconds())
			if tc.polls != nil {
				var polls []float64
				for _, r := range w.Ledger().Requests(hotelstays.OpOrderVoucher) {
					polls = append(polls, r.Arrived.Sub(start).Seconds())
				}
				assert.Equal(t, tc.polls, polls)
			}
			require.Equal(t, tc.status != "", resp != nil)
			if resp != nil {
				assert.Equal(t, tc.status, resp.Status)
				assert.Equal(t, tc.status == types.VoucherGenerated, resp.Voucher != nil)
			}
		})
	}
}

// The client refuses a voucher if a reference in the answer differs from the same reference in the request.
func TestVoucherOfAnotherOrderIsRefused(t *testing.T) {
	asked := &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "c", PlatformReferenceNo: "p", SupplierReferenceNo: "s"}
	for answer, good := range map[string]bool{
		`"customerReferenceNo":"c","platformReferenceNo":"p","supplierReferenceNo":"s"`: true,
		`"platformReferenceNo":"p"`:                               true,
		`"customerReferenceNo":"other","platformReferenceNo":"p"`: false,
		`"platformReferenceNo":"other"`:                           false,
		`"platformReferenceNo":"p","supplierReferenceNo":"other"`: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			client := clientThrough(t, saying(`{"code":0,"data":{"status":"GENERATED","voucher":{"voucherNumber":"v"},`+answer+`}}`))
			ctx := within(t, time.Minute)
			_, err := client.OrderVoucher(ctx, asked)
			_, awaited := client.AwaitVoucher(ctx, asked)
			if good {
				assert.NoError(t, errors.Join(err, awaited), answer)
				return
			}
			assert.ErrorContains(t, errorAs[*hotelstays.DecodeError](t, err, answer), "another order")
			assert.ErrorContains(t, awaited, "another order", "the error after the wait has the reason")
			assert.ErrorIs(t, awaited, context.DeadlineExceeded)
		})
	}
}

// The download has neither credentials nor cookies, even if the document is on the API's host or behind a redirect.
func TestDownloadVoucherSendsNoCredentials(t *testing.T) {
	ownTempDir(t)
	var api http.Header
	var downloads []http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			api = r.Header.Clone()
			http.SetCookie(w, &http.Cookie{Name: "node", Value: "1", Path: "/"})
			_, _ = io.WriteString(w, voucherAnswer(types.VoucherGenerated, voucherFor(voucherDoc, "http://"+r.Host+"/doc")))
			return
		}
		downloads = append(downloads, r.Header.Clone())
		if r.URL.Path == "/doc" {
			http.Redirect(w, r, "/moved", http.StatusFound)
			return
		}
		_, _ = w.Write(voucherDoc)
	}))
	defer srv.Close()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client, err := hotelstays.New(srv.URL, hotelstays.TokenCredential{Token: types.NewSecret("token")},
		hotelstays.WithHTTPClient(&http.Client{Transport: srv.Client().Transport, Jar: jar}))
	require.NoError(t, err)
	for range 2 {
		v := orderVoucher(t, client)
		var w bytes.Buffer
		require.NoError(t, client.DownloadVoucher(t.Context(), v, &w))
		assert.Equal(t, voucherDoc, w.Bytes())
	}
	assert.Equal(t, "Bearer token", api.Get("Authorization"))
	assert.Equal(t, "node=1", api.Get("Cookie"))
	assert.Len(t, downloads, 4)
	for _, download := range downloads {
		for header := range download {
			assert.Contains(t, []string{"User-Agent", "Accept-Encoding"}, header)
		}
	}
}

// Only a client of a loopback base URL may download over plain http, and only from loopback. Any other client downloads
// from public hosts, and from the hosts of WithVoucherHosts.
func TestDownloadVoucherRefusesPrivateAndPlainHTTPHosts(t *testing.T) {
	ownTempDir(t)
	const loopback, public = "http://127.0.0.1:1", "https://host.example"
	store := hotelstays.WithVoucherHosts("store.internal", "10.0.0.5", "fd00::5")
	for _, tc := range []struct {
		base, link string
		fetched    bool
		opts       []hotelstays.Option
	}{
		{loopback, "http://127.0.0.1:2/doc", true, nil},
		{"http://[::1]:1", "http://[::1]:2/doc", true, nil},
		{loopback, "https://10.0.0.5/doc", true, nil},
		{loopback, "http://host.example/doc", false, nil},
		{public, "https://files.example/doc", true, nil},
		{public, "https://8.8.8.8/doc?a= b", true, nil},
		{public, "http://host.example/doc", false, nil},
		{public, "http://127.0.0.1:2/doc", false, nil},
		{public, "http://localhost/doc", false, nil},
		{public, "https://localhost/doc", false, nil},
		{public, "https://store.internal/doc", false, nil},
		{public, "https://10.0.0.5/doc", false, nil},
		{public, "https://[64:ff9b::a00:5]/doc", false, nil},
		{public, "https://files.example@10.0.0.5/doc", false, nil},
		{public, "https://store.internal:9000/doc", true, []hotelstays.Option{store}},
		{public, "https://STORE.internal/doc", true, []hotelstays.Option{store}},
		{public, "https://10.0.0.5/doc", true, []hotelstays.Option{store}},
		{public, "https://[fd00::5]/doc", true, []hotelstays.Option{store}},
		{public, "https://second.internal/doc", true, []hotelstays.Option{store, hotelstays.WithVoucherHosts("second.internal")}},
		{public, "http://store.internal/doc", false, []hotelstays.Option{store}},
		{public, "https://other.store.internal/doc", false, []hotelstays.Option{store}},
	} {
		for _, redirected := range []bool{false, true} {
			if redirected && strings.HasPrefix(tc.link, "http://") {
				tc.fetched = false // the client follows no redirect from https to http
			}
			from := tc.link
			if redirected {
				from = "https://first.example/doc"
			}
			var fetched []string
			client := clientAt(t, tc.base, bearerToken("token"), transportFunc(func(r *http.Request) (*http.Response, error) {
				fetched = append(fetched, r.URL.Host)
				if r.URL.Host != "first.example" {
					return reply(200, string(voucherDoc)), nil
				}
				return reply(302, "", "Location", tc.link), nil
			}), tc.opts...)
			var w bytes.Buffer
			err := client.DownloadVoucher(t.Context(), voucherFor(voucherDoc, from), &w)
			assert.Equal(t, tc.fetched, err == nil, "%+v, redirected: %t: %v", tc, redirected, err)
			assert.Equal(t, tc.fetched, w.Len() > 0, tc)
			if !tc.fetched {
				assert.NotContains(t, fetched, strings.TrimPrefix(tc.link, "https://"), tc)
				assert.LessOrEqual(t, len(fetched), 1, tc)
			}
		}
	}
}

// With a digest the client can verify a document from any host. So only with a digest does the client follow redirects, at
// most three.
func TestDownloadVoucherFollowsRedirectsOnlyWithADigest(t *testing.T) {
	ownTempDir(t)
	for name, tc := range map[string]struct {
		codes []int
		to    string // %d is the number of the redirect
		err   string
	}{
		"301, 302 and 303":              {[]int{301, 302, 303}, "https://files.example/doc/%d?proof=" + voucherSecret, ""},
		"307 and 308":                   {[]int{307, 308}, "https://files.example/doc/%d?proof=" + voucherSecret, ""},
		"a redirect to the same server": {[]int{302, 302}, "../%d?proof=" + voucherSecret, ""},
		"one redirect too many": {[]int{302, 302, 302, 302}, "/doc/%d?proof=" + voucherSecret,
			"HTTP 302; at most three redirects"},
		"a redirect to a link that has expired": {[]int{302, 403}, "https://files.example/%d?proof=" + voucherSecret,
			"the link has expired: HTTP 403"},
		"a redirect to a server that fails": {[]int{302, 503}, "https://files.example/%d?proof=" + voucherSecret,
			"HTTP 503; try again later"},
	} {
		t.Run(name, func(t *testing.T) {
			service := serviceOf(nil, nil)
			service.serve = func(r *http.Request) (*http.Response, error) {
				assert.Equal(t, http.MethodGet, r.Method)
				if service.fetches > len(tc.codes) {
					return reply(200, string(voucherDoc)), nil
				}
				return reply(tc.codes[service.fetches-1], "", "Location", fmt.Sprintf(tc.to, service.fetches)), nil
			}
			var w bytes.Buffer
			err := clientThrough(t, service).DownloadVoucher(t.Context(), service.voucher(1), &w)
			assert.Zero(t, service.open)
			if tc.err == "" {
				require.NoError(t, err)
				assert.Equal(t, voucherDoc, w.Bytes())
				return
			}
			assert.ErrorContains(t, err, tc.err)
			assertNoLink(t, err.Error())
			assert.LessOrEqual(t, service.fetches, 4)
			assert.Zero(t, w.Len())
		})
	}
}

// The client checks the address to which it connects, because an earlier lookup of the name may have had another result.
func TestDownloadVoucherChecksTheConnectedAddress(t *testing.T) {
	ownTempDir(t)
	for addr, public := range map[string]bool{
		"8.8.8.8:443": true, "[2a00:1450::1]:443": true, "[64:ff9b::808:808]:443": true,
		"127.0.0.1:443": false, "[fd00:ec2::254]:80": false, "[fe80::1%eth0]:443": false, "[::ffff:127.0.0.1]:443": false,
		"[64:ff9b::7f00:1]:443": false, "[2002:7f00:1::]:443": false,
	} {
		for _, dials := range []string{"DialContext", "DialTLSContext", "Dial"} {
			for _, named := range []bool{false, true} {
				conn, peer := net.Pipe()
				received := make(chan int, 1)
				go func() {
					n, _ := peer.Read(make([]byte, 1))
					peer.Close()
					received <- n
				}()
				dial := func(_ context.Context, _, asked string) (net.Conn, error) {
					assert.Equal(t, "files.example:443", asked)
					return connTo{conn, addr}, nil
				}
				transport := hotelstays.NewTransport()
				transport.Proxy = nil
				switch transport.DialContext = dial; dials {
				case "DialTLSContext":
					transport.DialContext, transport.DialTLSContext = nil, dial
				case "Dial":
					//lint:ignore SA1019 deprecated, but the client uses it if it is set
					transport.DialContext, transport.Dial = nil, func(network, addr string) (net.Conn, error) {
						return dial(context.Background(), network, addr)
					}
				}
				var opts []hotelstays.Option
				if named {
					opts = append(opts, hotelstays.WithVoucherHosts("files.example"))
				} else {
					//lint:ignore SA1019 deprecated, but the client uses it if it is set
					transport.DialTLS = func(string, string) (net.Conn, error) { panic("dialled without a check") }
				}
				client := clientWith(t, transport, bearerToken("token"), opts...)
				err := client.DownloadVoucher(t.Context(), voucherFor(voucherDoc, "https://files.example/secret-path?proof="+voucherSecret), io.Discard)
				conn.Close()
				sent := 0
				if public || named {
					sent = 1
				} else {
					assert.ErrorContains(t, err, "the host has the private address", addr)
					assert.False(t, hotelstays.Retryable(err))
				}
				assert.Equal(t, sent, <-received, "%s: %v", addr, err)
				assertNoLink(t, err.Error())
			}
		}
	}
}

type dialFunc = func(context.Context, string, string) (net.Conn, error)

type connTo struct {
	net.Conn
	addr string
}

func (c connTo) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.addr))
}

// The dialer of NewTransport does not connect to a private address. Each download opens a new connection,
// because nobody has checked the address of an idle connection.
func TestDownloadVoucherUsesACheckedConnection(t *testing.T) {
	ownTempDir(t)
	const link = "https://example.com/doc"
	var accepted atomic.Int32
	peers := make(chan string, 10)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peers <- r.RemoteAddr
		if r.Method == http.MethodPost {
			_, _ = io.WriteString(w, voucherAnswer(types.VoucherGenerated, voucherFor(voucherDoc, link)))
			return
		}
		_, _ = w.Write(voucherDoc)
	}))
	closed := make(chan struct{}, 10)
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			accepted.Add(1)
		case http.StateClosed:
			closed <- struct{}{}
		}
	}
	srv.EnableHTTP2 = true
	srv.StartTLS() // the server's certificate is for example.com
	defer srv.Close()
	addr := srv.Listener.Addr().String()
	public := func(ctx context.Context, _ dialFunc) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		return connTo{conn, "8.8.8.8:443"}, err
	}
	for name, tc := range map[string]struct {
		link        string
		opts        []hotelstays.Option
		dial        func(ctx context.Context, own dialFunc) (net.Conn, error)
		ok          bool
		connections int32
	}{
		"a private address": {link, nil, func(ctx context.Context, own dialFunc) (net.Conn, error) { return own(ctx, "tcp", addr) }, false, 1},
		"a host of WithVoucherHosts": {link, []hotelstays.Option{hotelstays.WithVoucherHosts("example.com")},
			func(ctx context.Context, own dialFunc) (net.Conn, error) { return own(ctx, "tcp", addr) }, true, 1},
		"a public address":                 {link, nil, public, true, 2},
		"a public address of another host": {"https://example.com:8443/doc", nil, public, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			transport := hotelstays.NewTransport()
			transport.Proxy, transport.TLSClientConfig = nil, srv.Client().Transport.(*http.Transport).TLSClientConfig
			own := transport.DialContext
			var refused error
			transport.DialContext = func(ctx context.Context, _, asked string) (net.Conn, error) {
				assert.Contains(t, []string{"example.com:443", "example.com:8443"}, asked)
				conn, err := tc.dial(ctx, own)
				refused = err
				return conn, err
			}
			client := clientAt(t, "https://example.com", bearerToken("token"), transport, tc.opts...)
			accepted.Store(0)
			v := orderVoucher(t, client)
			require.EqualValues(t, 1, accepted.Load())
			first := <-peers
			v.DownloadURL = tc.link
			err := client.DownloadVoucher(t.Context(), v, io.Discard)
			assert.Equal(t, tc.ok, err == nil, err)
			assert.Equal(t, tc.ok, refused == nil, "the dialer refuses a private address")
			assert.Equal(t, tc.connections, accepted.Load())
			if tc.ok {
				assert.Equal(t, tc.connections == 1, <-peers == first, "the document has its own connection")
			}
			for range tc.connections - 1 {
				select {
				case <-closed:
				case <-time.After(5 * time.Second):
					assert.Fail(t, "an idle connection is left")
				}
			}
			client.CloseIdleConnections()
			<-closed
		})
	}
}

// A download does not use the HTTP/2 of TLSNextProto, because those connections would stay open.
func TestDownloadVoucherClosesItsConnection(t *testing.T) {
	ownTempDir(t)
	closed := make(chan struct{}, 1)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, 2, r.ProtoMajor)
		_, _ = w.Write(voucherDoc)
	}))
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	transport := hotelstays.NewTransport()
	transport.Proxy, transport.TLSClientConfig = nil, srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	transport.TLSClientConfig.NextProtos = []string{"h2", "http/1.1"}
	transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{"h2": func(string, *tls.Conn) http.RoundTripper {
		return failing(errors.New("this connection stays"))
	}}
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", srv.Listener.Addr().String())
		return connTo{conn, "8.8.8.8:443"}, err
	}
	client := clientAt(t, "https://example.com", bearerToken("token"), transport)
	var w bytes.Buffer
	require.NoError(t, client.DownloadVoucher(t.Context(), voucherFor(voucherDoc, "https://example.com/doc"), &w))
	assert.Equal(t, voucherDoc, w.Bytes())
	<-closed
}

// The client connects to the proxy, whose address may be private. So the client checks only the name in the link.
func TestDownloadVoucherThroughAProxyChecksOnlyTheHostInTheLink(t *testing.T) {
	ownTempDir(t)
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.Host)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	transport := hotelstays.NewTransport()
	transport.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
	client := clientWith(t, transport, bearerToken("token"))
	for _, host := range []string{"files.example", "10.0.0.1", "store.internal"} {
		assert.Error(t, client.DownloadVoucher(t.Context(), voucherFor(voucherDoc, "https://"+host+"/doc"), io.Discard))
	}
	assert.Equal(t, []string{"CONNECT files.example:443"}, asked)
	client.CloseIdleConnections()
}

func TestWithVoucherHostsTakesOnlyHostNamesAndAddresses(t *testing.T) {
	for _, host := range []string{"", "store.internal:9000", "https://store.internal", "*.internal", "[fd00::5]", "störe.internal",
		".internal", "store..internal", "."} {
		_, err := hotelstays.New("https://api.example.test", bearerToken("token"), hotelstays.WithVoucherHosts("store.internal", host))
		assert.Equal(t, []string{"WithVoucherHosts"}, faultPaths(t, err), host)
	}
}
