// Helpers: a site with a sandbox, and its guest.

package main

import (
	"bufio"
	"bytes"
	"context"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testSite is a site and its sandbox.
type testSite struct {
	*site
	t    *testing.T
	base string
	srv  *hotelstaystest.Server
	log  *logBuffer
	// file and postgres are those of openDatabase.
	file, postgres string
	// atEnd is closed when the site has ended.
	atEnd []io.Closer
}

// startSite serves a site on loopback until the test ends.
func startSite(t *testing.T, config ...hotelstaystest.Config) *testSite {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	base := "http://" + listener.Addr().String()
	srv := hotelstaystest.NewServer(&append(config, hotelstaystest.Config{})[0])
	s := newTestSite(t, srv, sandboxService(srv, base))
	s.base = base
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, listener, s.site) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served, "the site should end in time")
		for _, open := range s.atEnd {
			open.Close()
		}
		s.engine.close()
		srv.Close()
	})
	return s
}

// memorySite is a site without sockets, for a synctest bubble. Close it in the bubble.
func memorySite(t *testing.T, config ...hotelstaystest.Config) (s *testSite, closeSite func()) {
	t.Helper()
	receiver := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.ServeHTTP(w, r) })
	c := append(config, hotelstaystest.Config{})[0]
	c.InMemory, c.Webhooks.CallbackHandler = true, receiver
	srv := hotelstaystest.NewServer(&c)
	svc := sandboxService(srv, "http://127.0.0.1")
	svc.pause = 5 * time.Second
	svc.options = []hotelstays.Option{hotelstays.WithHTTPClient(srv.Client())}
	s = newTestSite(t, srv, svc)
	return s, func() {
		s.engine.close()
		srv.Close()
	}
}

func newTestSite(t *testing.T, srv *hotelstaystest.Server, svc *service) *testSite {
	t.Helper()
	log := &logBuffer{}
	s := &testSite{t: t, srv: srv, log: log, file: filepath.Join(t.TempDir(), "bookings.db")}
	s.start(svc)
	return s
}

// start starts an engine on the database, which may be that of an earlier one.
func (s *testSite) start(svc *service) {
	s.t.Helper()
	logger := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	db, err := openDatabase(s.t.Context(), s.file, s.postgres, logger)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { db.Close() })
	engine, err := newEngine(svc, db, logger)
	require.NoError(s.t, err)
	s.site = newSite(engine)
}

// lookEvery makes the engine look for work seldom, because a virtual day has many seconds.
func (s *testSite) lookEvery(pause time.Duration) {
	s.t.Helper()
	s.engine.close()
	svc := *s.engine.service
	svc.pause = pause
	s.start(&svc)
}

// restart ends the engine, and starts another one on its database after a time. If it is
// killed, it stores nothing any more.
func (s *testSite) restart(killed bool, after time.Duration) {
	s.t.Helper()
	if killed {
		require.NoError(s.t, s.engine.db.Close())
	}
	s.engine.close()
	time.Sleep(after)
	s.start(s.engine.service)
}

// order returns the stored order of an address or reference.
func (s *testSite) stored(reference string) order {
	s.t.Helper()
	o, err := s.engine.db.order(s.t.Context(), strings.TrimPrefix(reference, "/orders/"))
	require.NoError(s.t, err)
	return o
}

// send makes a request like a browser on this site.
func (s *testSite) send(method, address string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, address, strings.NewReader(form.Encode()))
	r.Host = "127.0.0.1"
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// get returns an existing page.
func (s *testSite) get(address string) string {
	s.t.Helper()
	w := s.send(http.MethodGet, address, nil)
	require.Equal(s.t, http.StatusOK, w.Code, "%s: %s", address, w.Body)
	return w.Body.String()
}

// post sends a form and returns the redirect.
func (s *testSite) post(address string, form url.Values) string {
	s.t.Helper()
	w := s.send(http.MethodPost, address, form)
	require.Equal(s.t, http.StatusSeeOther, w.Code, "%s: %s", address, w.Body)
	return w.Header().Get("Location")
}

// searchAddress is a search for a stay that starts in some days.
func (s *testSite) searchAddress(days int) string {
	return "/hotels?" + url.Values{
		"destination": {s.srv.CityName(0)}, "rooms": {"2"}, "adults": {"1"}, "children": {"5"},
		"check_in":  {string(types.DateOf(time.Now().AddDate(0, 0, days)))},
		"check_out": {string(types.DateOf(time.Now().AddDate(0, 0, days+2)))},
	}.Encode()
}

var (
	hotelLink       = regexp.MustCompile(`href="(/searches/[^"]+)"`)
	refundableOffer = regexp.MustCompile(`(?s)class="good">Free cancellation.*?action="([^"]+)".*?name="offer" value="([^"]+)"`)
)

// rooms returns the address of a search's first hotel, and the address and form of a
// refundable offer.
func (s *testSite) rooms(days int) (hotel, choose string, offer url.Values) {
	s.t.Helper()
	link := hotelLink.FindStringSubmatch(s.get(s.searchAddress(days)))
	require.NotNil(s.t, link)
	hotel = html.UnescapeString(link[1])
	found := refundableOffer.FindStringSubmatch(s.get(hotel))
	require.NotNil(s.t, found)
	return hotel, html.UnescapeString(found[1]), url.Values{"offer": {html.UnescapeString(found[2])}}
}

// toCheckout chooses an offer and returns the address of its checkout.
func (s *testSite) toCheckout() string {
	s.t.Helper()
	_, choose, offer := s.rooms(60)
	return s.post(choose, offer)
}

// guests is the filled form of the guests.
func guests() url.Values {
	form := url.Values{"version": {"0"}, "email": {"guest@example.com"}}
	for _, guest := range []string{"guest1", "guest2", "guest3", "guest4"} {
		form.Set(guest+"_first", "Guest")
		form.Set(guest+"_last", guest)
	}
	return form
}

// toOrder books, and returns the address and the reference of the order.
func (s *testSite) toOrder() (address, reference string) {
	s.t.Helper()
	address = s.post(s.toCheckout()+"/book", guests())
	return address, strings.TrimPrefix(address, "/orders/")
}

// events opens the stream of an order until the site ends, and returns a function that waits
// for the next event.
func (s *testSite) events(orderAddress string) (next func() string) {
	s.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(s.base + orderAddress + "/events")
	require.NoError(s.t, err)
	require.Equal(s.t, "text/event-stream", resp.Header.Get("Content-Type"))
	s.atEnd = append(s.atEnd, resp.Body)
	lines := bufio.NewScanner(resp.Body)
	return func() string {
		var event strings.Builder
		for lines.Scan() && (lines.Text() != "" || event.Len() == 0) {
			if line := lines.Text(); line != "" && line[0] != ':' {
				event.WriteString(line + "\n")
			}
		}
		return event.String()
	}
}

// rateOf returns the ratePkgId of a checkout.
func (s *testSite) rateOf(checkoutAddress string) string {
	co, ok := s.engine.checkouts.get(strings.TrimPrefix(checkoutAddress, "/checkouts/"))
	require.True(s.t, ok)
	return co.Offer.RatePkgID
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
