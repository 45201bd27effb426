package hotelstaystest

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestServerSpeaksTheConfiguredProtocolUntilClose(t *testing.T) {
	for name, tc := range map[string]struct {
		config      *Config
		proto, base string
	}{
		"in memory":                 {&Config{InMemory: true}, "HTTP/1.1", "http://127.0.0.1"},
		"in memory, TLS":            {&Config{InMemory: true, TLS: true}, "HTTP/2.0", "https://127.0.0.1"},
		"in memory, TLS, HTTP1Only": {&Config{InMemory: true, TLS: true, HTTP1Only: true}, "HTTP/1.1", "https://127.0.0.1"},
		"sockets":                   {nil, "HTTP/1.1", "http://127.0.0.1:"},
		"sockets, TLS":              {&Config{TLS: true}, "HTTP/2.0", "https://127.0.0.1:"},
		"address localhost":         {&Config{Addr: "localhost:0"}, "HTTP/1.1", "http://"},
	} {
		run := func(t *testing.T) {
			s := NewServer(tc.config)
			r := login(t, s).must(destinationsPath, "{}")
			failIf(t, r.proto != tc.proto || s.Ledger().Requests("")[0].Proto != tc.proto || !strings.HasPrefix(s.URL, tc.base) ||
				(s.Certificate() != nil) != strings.HasPrefix(s.URL, "https"), "%s speaks %s", s.URL, r.proto)
			useAndClose(t, s)
		}
		t.Run(name, func(t *testing.T) {
			if tc.config != nil && tc.config.InMemory {
				synctest.Test(t, run) // synctest fails if a goroutine is left
				return
			}
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			run(t)
		})
	}
}

// useAndClose makes several calls, and closes the server while one more call waits in a delay.
func useAndClose(t *testing.T, s *Server) {
	u := login(t, s)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { u.post(listPath, search(s, object{"pageSize": 1, "maxRatesPerHotel": 1})) })
	}
	wg.Wait()
	s.Inject(Fault{Kind: FaultDelay, Delay: 24 * time.Hour})
	hanging := make(chan error, 1)
	go func() {
		_, err := u.send(destinationsPath, "{}")
		hanging <- err
	}()
	for s.Ledger().Count("Destinations") < 2 {
		time.Sleep(time.Millisecond)
	}
	s.Close()
	s.Close()
	if err := <-hanging; err == nil {
		t.Error("the delayed call was answered")
	}
	if _, err := u.send(destinationsPath, "{}"); err == nil {
		t.Error("a closed server answers")
	}
	failIf(t, s.Ledger().Count("HotelList") != 5, "the closed server has lost requests from its ledger")
}

func TestClientFromSendsFromTheGivenAddress(t *testing.T) {
	s := NewServer(nil)
	defer s.Close()
	u := &user{t: t, s: s, http: s.ClientFrom("127.0.0.9")}
	if _, err := u.send(ticketPath, "{}"); err != nil {
		t.Skipf("this machine does not send from 127.0.0.9: %v", err)
	}
	same(t, s.Ledger().Requests("")[0].ClientIP, "127.0.0.9")
}

func TestResetDropsAllExceptSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := answering(500, 500, 200, 500)
		s := start(t, Config{
			Webhooks: WebhookConfig{CallbackHandler: rc}, ConfirmAfter: Never, RateLimits: map[Operation]int{"Destinations": 1},
		})
		fresh := func() string {
			l := s.Ledger()
			return fmt.Sprint(l.Requests(""), l.Orders(), l.Webhooks(), l.Cancellations(), l.Count(""), l.Dropped(),
				l.RateLimited(""), l.TicketsIssued(), l.TokensIssued(), l.BookingsReused(), l.DuplicatesRefused(), s.Now().Equal(time.Now()))
		}
		want := fresh()
		u := login(t, s).plain()
		first := u.header("Request-Id", "once")
		first.must(destinationsPath, "{}")
		u.refused(destinationsPath, "{}", 429, types.CodeRateLimited, "")
		in, order := u.bookWithCallback("ref", hook)
		_, ids := u.find(nil)
		s.MoveRate(ids[0], 10)
		s.CloseRate(ids[1])
		synctest.Wait()
		in.must(cancelPath, cancellation("ref", order))
		s.Inject(Fault{Operation: OpWebhook, Kind: FaultDelay, Delay: time.Minute})
		s.SendWebhook("ref", types.EventOrderPaid)
		s.Inject(Fault{Kind: FaultStatus, Times: -1})
		synctest.Wait()
		s.Advance(100 * time.Millisecond)
		last := s.Ledger().Entries(0)
		s.Reset()
		same(t, fresh(), want)
		if e := s.Ledger().Entries(0); len(e) != 1 || e[0].Kind != EntryReset {
			t.Errorf("%+v", e)
		}
		u.refused(queryPath, "{}", 401, types.CodeUnauthorized, "unknown")
		u = login(t, s).plain()
		u.header("Request-Id", "once").must(destinationsPath, "{}")
		time.Sleep(time.Hour)
		same(t, len(rc.all()), 2)
		in, all := u.find(nil)
		failIf(t, len(all) != len(ids), "%d offers became %d", len(ids), len(all))
		booked := in.must(bookPath, booking("ref", all[1], object{"callbackUrl": hook}))
		same(t, booked.str("hotelOrder", "platformReferenceNo"), "PO000000001")
		synctest.Wait()
		if e := s.Ledger().Entries(0); e[0].Seq <= last[len(last)-1].Seq || len(rc.all()) != 3 {
			t.Errorf("the first entry has number %d", e[0].Seq)
		}
	})
}

func TestResetDropsRequestsAndDeliveriesInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		rc := &receiver{answer: func(int, *http.Request) int { <-release; return 500 }}
		s := start(t, Config{Webhooks: WebhookConfig{CallbackHandler: rc}})
		u := login(t, s).plain()
		u.bookWithCallback("ref", hook)
		s.Inject(Fault{Kind: FaultDelay, Delay: time.Minute})
		var wg sync.WaitGroup
		wg.Go(func() { u.post(queryPath, "{}") })
		synctest.Wait()
		s.Reset()
		close(release)
		wg.Wait()
		time.Sleep(time.Hour)
		got := s.Ledger().Entries(0)
		s.Advance(time.Hour)
		failIf(t, len(got) != 1 || len(rc.all()) != 1, "%d entries, %d deliveries", len(got), len(rc.all()))
	})
}

func TestStartServerFailsIfTheAddressIsInUse(t *testing.T) {
	s := NewServer(nil)
	defer s.Close()
	_, err := StartServer(&Config{Addr: strings.TrimPrefix(s.URL, "http://")})
	failIf(t, err == nil, "two servers listen at %s", s.URL)
}

func TestServerURLReplacesTheAddressOfAllInterfacesByLoopback(t *testing.T) {
	for listens, want := range map[string]string{
		"0.0.0.0:80": "127.0.0.1:80", "[::]:80": "127.0.0.1:80", "192.0.2.1:80": "192.0.2.1:80", "[::1]:80": "[::1]:80",
	} {
		same(t, reachable(netip.MustParseAddrPort(listens)), want, listens)
	}
}
