package main

import (
	"bytes"
	"context"
	"html"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/judge"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type testSite struct {
	*site
	running atomic.Pointer[site] // the site that receives webhooks; a restart replaces it
	t       *testing.T
	base    string
	srv     *hotelstaystest.Server
	log     logBuffer
	db      string // path of the SQLite file
}

// startSite serves a site on loopback until the test ends.
func startSite(t *testing.T, config hotelstaystest.Config) *testSite {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &testSite{t: t, base: "http://" + listener.Addr().String(), srv: hotelstaystest.NewServer(&config)}
	s.start(sandboxService(s.srv, s.base))
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, listener, s.engine) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served, "the site should end in time")
		s.engine.close()
		s.srv.Close()
	})
	return s
}

const journalPause = 5 * time.Second

// inBubble runs a test on a site with a virtual clock and without sockets.
func inBubble(t *testing.T, test func(s *testSite), config ...hotelstaystest.Config) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &testSite{t: t}
		c := append(config, hotelstaystest.Config{})[0]
		c.InMemory = true
		c.Webhooks.CallbackHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.running.Load().ServeHTTP(w, r) })
		s.srv = hotelstaystest.NewServer(&c)
		defer s.srv.Close()
		svc := sandboxService(s.srv, "http://127.0.0.1")
		svc.pause = journalPause
		svc.options = append(svc.options, hotelstays.WithHTTPClient(&http.Client{Transport: judge.Test(t).Transport(s.srv.Client().Transport)}))
		s.start(svc)
		defer func() { s.engine.close() }()
		test(s)
	})
}

// start starts an engine on the database, which may be the database of an earlier engine.
func (s *testSite) start(svc *service) {
	s.t.Helper()
	if s.db == "" {
		s.db = filepath.Join(s.t.TempDir(), "bookings.db")
	}
	log := slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	db, err := openDatabase(s.t.Context(), s.db, log)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { db.Close() })
	engine, err := newEngine(svc, db, log)
	require.NoError(s.t, err)
	s.site = newSite(s.t.Context(), engine)
	s.running.Store(s.site)
}

// restart stops the engine, and after a time starts a new engine on the same database. If killed is
// true, the old engine stores nothing while it stops.
func (s *testSite) restart(killed bool, after time.Duration) {
	s.t.Helper()
	if killed {
		require.NoError(s.t, s.engine.db.Close())
	}
	s.engine.close()
	time.Sleep(after)
	s.start(s.engine.service)
}

// withoutJudge restarts the engine without package judge, for faults that break the rules of the API document.
func (s *testSite) withoutJudge() {
	s.t.Helper()
	s.engine.service.options = append(s.engine.service.options, hotelstays.WithHTTPClient(s.srv.Client()))
	s.restart(false, 0)
}

func (s *testSite) webhooksAreLost() {
	s.srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpWebhook, Kind: hotelstaystest.FaultDrop, Times: -1})
}

// status makes the sandbox answer the next calls of an operation with an HTTP status. If times is -1, the sandbox answers
// all calls with the status until ClearFaults.
func (s *testSite) status(op types.Operation, status, times int) {
	s.srv.Inject(hotelstaystest.Fault{Operation: op, Kind: hotelstaystest.FaultStatus, Status: status, Times: times})
}

// cut cuts the connection of a request. If commit is true, the sandbox executes the request first.
func (s *testSite) cut(op types.Operation, commit bool) {
	s.srv.Inject(hotelstaystest.Fault{Operation: op, Kind: hotelstaystest.FaultCut, Commit: commit})
}

// stored returns the stored order whose page has the given address.
func (s *testSite) stored(address string) order {
	s.t.Helper()
	o, err := s.engine.load(s.t.Context(), strings.TrimPrefix(address, "/orders/"))
	require.NoError(s.t, err)
	return o
}

// request returns a request as a page of the site sends it.
func request(method, address string, form url.Values) *http.Request {
	r := httptest.NewRequest(method, address, strings.NewReader(form.Encode()))
	r.Host = "127.0.0.1"
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

func (s *testSite) answer(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func (s *testSite) send(method, address string, form url.Values) *httptest.ResponseRecorder {
	return s.answer(request(method, address, form))
}

// get returns the page at an address, which must exist.
func (s *testSite) get(address string) string {
	s.t.Helper()
	w := s.send(http.MethodGet, address, nil)
	require.Equal(s.t, http.StatusOK, w.Code, "%s: %s", address, w.Body)
	return w.Body.String()
}

func (s *testSite) shows(address, want string) {
	s.t.Helper()
	require.Contains(s.t, s.get(address), want)
}

// post sends a form, and returns the address to which the site redirects the browser.
func (s *testSite) post(address string, form url.Values) string {
	s.t.Helper()
	w := s.send(http.MethodPost, address, form)
	require.Equal(s.t, http.StatusSeeOther, w.Code, "%s: %s", address, w.Body)
	return w.Header().Get("Location")
}

// searchAddress returns the address of a search for a stay that starts after the given number of days.
func (s *testSite) searchAddress(days int) string {
	return "/hotels?" + url.Values{
		"destination": {s.srv.CityName(0)}, "rooms": {"2"}, "adults": {"1"}, "children": {"5"},
		"check_in":  {string(types.DateOf(time.Now().AddDate(0, 0, days)))},
		"check_out": {string(types.DateOf(time.Now().AddDate(0, 0, days+2)))},
	}.Encode()
}

var (
	hotelLink       = regexp.MustCompile(`href="(/searches/[^"]+)"`)
	refundableOffer = regexp.MustCompile(`(?s)class="good">Free cancellation.*?action="(/offers/[^"]+)"`)
)

func links(page string) (all []string) {
	for _, found := range hotelLink.FindAllStringSubmatch(page, -1) {
		all = append(all, html.UnescapeString(found[1]))
	}
	return all
}

// offer returns the address of a refundable offer of a hotel.
func (s *testSite) offer(hotel string) string {
	s.t.Helper()
	found := refundableOffer.FindStringSubmatch(s.get(hotel))
	require.NotNil(s.t, found)
	return found[1]
}

// rooms returns the address of a search's first hotel, and of a refundable offer.
func (s *testSite) rooms(days int) (hotel, offer string) {
	s.t.Helper()
	hotels := links(s.get(s.searchAddress(days)))
	require.NotEmpty(s.t, hotels)
	return hotels[0], s.offer(hotels[0])
}

// toCheckout chooses an offer for a stay that starts after the given number of days. It returns the address of the
// checkout.
func (s *testSite) toCheckout(days int) string {
	s.t.Helper()
	_, offer := s.rooms(days)
	return s.post(offer, nil)
}

// checkoutAt returns the checkout whose page has the given address. It also accepts the address of an offer's page.
func (s *testSite) checkoutAt(address string) checkout {
	s.t.Helper()
	co, known := s.checkouts.Get(path.Base(address))
	if !known {
		co, known = s.offers.Get(path.Base(address))
	}
	require.True(s.t, known)
	return co
}

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
	address = s.post(s.toCheckout(60)+"/book", guests())
	return address, strings.TrimPrefix(address, "/orders/")
}

// bookElsewhere books an offer under the reference of another checkout, as another program might do.
func (s *testSite) bookElsewhere(checkout string, co checkout) {
	s.t.Helper()
	sent := form{Values: guests()}
	holder, travellers := sent.guests(co.Travellers())
	_, err := s.engine.client.Book(s.t.Context(), &hotelstays.BookRequest{SessionID: co.SessionID, RatePkgID: co.Offer.RatePkgID,
		CustomerReferenceNo: s.checkoutAt(checkout).Reference, Holder: holder, Guests: travellers})
	require.NoError(s.t, err)
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
