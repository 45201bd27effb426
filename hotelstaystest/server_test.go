// Start, end, protocols and clients of a server.

package hotelstaystest

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCloseLeavesNothing(t *testing.T) {
	for name, opts := range map[string][]Option{
		"memory": {WithInMemory()}, "memory TLS": {WithInMemory(), WithTLS()}, "memory TLS HTTP/1": {WithInMemory(), WithTLS(), WithHTTP1Only()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
				s := NewServer(opts...)
				useAndClose(t, s)
			})
		})
	}
	for name, opts := range map[string][]Option{"sockets": nil, "sockets TLS": {WithTLS()}, "localhost": {WithAddr("localhost:0")}} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			useAndClose(t, NewServer(opts...))
			for end := time.Now().Add(2 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					buf := make([]byte, 1<<16)
					t.Fatalf("goroutines stayed:\n%s", buf[:runtime.Stack(buf, true)])
				}
			}
		})
	}
}

// useAndClose makes several calls, leaves one in a delay and closes the server.
func useAndClose(t *testing.T, s *Server) {
	u := login(t, s)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { u.post(listPath, search(s, object{"maxRatesPerHotel": 1})) })
	}
	wg.Wait()
	s.Inject(Fault{Kind: FaultDelay, Delay: 24 * time.Hour})
	hanging := make(chan error, 1)
	go func() {
		_, err := u.send(destinationsPath, "{}")
		hanging <- err
	}()
	for s.Ledger().Count(OpDestinations) == 0 {
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
	if s.Ledger().Count(OpHotelList) != 5 {
		t.Error("the ledger is gone")
	}
}

func TestConcurrentUse(t *testing.T) {
	s := start(t, WithTLS(), WithoutRateLimits(), WithConfirmAfter(0), WithVoucherDelay(0))
	u := login(t, s)
	in, ids := u.find(nil)
	s.Inject(Fault{Kind: FaultStatus, Times: -1, Probability: 0.1})
	s.Inject(Fault{Operation: OpBook, Kind: FaultCut, Commit: true, Times: -1, Probability: 0.2})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 5 {
				ref := fmt.Sprint("ref", i, "-", j)
				guests := []object{{"roomIndex": 1, "firstName": "Test", "lastName": ref}}
				in.send(bookPath, booking(ref, ids[j], object{"guests": guests})) // faults cause errors
				u.send(queryPath, object{})
				u.send(voucherPath, object{"customerReferenceNo": ref})
				s.MoveRate(ids[j], 1)
				s.Ledger().Requests("")
				s.Ledger().Orders()
			}
		})
	}
	wg.Wait()
	for _, o := range s.Ledger().Orders() {
		if n := len(s.Ledger().OrdersFor(o.CustomerReferenceNo)); n != 1 {
			t.Errorf("%s has %d orders", o.CustomerReferenceNo, n)
		}
	}
	executed := 0
	for _, r := range s.Ledger().Requests(OpBook) {
		if r.Executed {
			executed++
		}
	}
	if executed != len(s.Ledger().Orders()) || s.Ledger().Counts()[OpBook] != len(s.Ledger().Requests(OpBook)) {
		t.Errorf("%d Books succeeded, %d orders exist", executed, len(s.Ledger().Orders()))
	}
}

func TestProtocols(t *testing.T) {
	for _, tc := range []struct {
		opts        []Option
		proto, base string
	}{
		{[]Option{WithInMemory()}, "HTTP/1.1", "http://127.0.0.1"},
		{[]Option{WithInMemory(), WithTLS()}, "HTTP/2.0", "https://127.0.0.1"},
		{[]Option{WithInMemory(), WithTLS(), WithHTTP1Only()}, "HTTP/1.1", "https://127.0.0.1"},
		{nil, "HTTP/1.1", "http://127.0.0.1:"},
		{[]Option{WithTLS()}, "HTTP/2.0", "https://127.0.0.1:"},
	} {
		s := NewServer(tc.opts...)
		u := login(t, s)
		r := u.must(destinationsPath, "{}")
		if r.proto != tc.proto || s.Ledger().Requests("")[0].Proto != tc.proto || !strings.HasPrefix(s.URL, tc.base) ||
			(s.Certificate() != nil) != strings.HasPrefix(s.URL, "https") {
			t.Errorf("%s speaks %s", s.URL, r.proto)
		}
		s.Close()
	}
}

func TestDialContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		u := login(t, s)
		own := &http.Transport{DialContext: s.DialContext}
		defer own.CloseIdleConnections()
		u.http = &http.Client{Transport: own}
		u.must(destinationsPath, "{}")
	})
}

func TestClientFrom(t *testing.T) {
	s := NewServer()
	defer s.Close()
	u := &user{t: t, s: s, http: s.ClientFrom("127.0.0.9")}
	if _, err := u.send(ticketPath, "{}"); err != nil {
		t.Skipf("this machine does not send from 127.0.0.9: %v", err)
	}
	if got := s.Ledger().Requests("")[0].ClientIP; got != "127.0.0.9" {
		t.Errorf("seen as %s", got)
	}
}
