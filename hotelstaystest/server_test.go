// The server as a process sees it: it starts and closes clean under load, speaks both
// protocols, and keeps neither secrets nor more than it should.

package hotelstaystest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestServersCloseClean(t *testing.T) {
	for name, opts := range map[string][]Option{
		"memory": {WithInMemory()}, "memory TLS": {WithInMemory(), WithTLS()}, "memory TLS HTTP/1": {WithInMemory(), WithTLS(), WithHTTP1Only()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // fails when a goroutine stays
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

// useAndClose makes calls from several clients, leaves one hanging in a delay and
// closes the server.
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
		_, err := u.send(anyRead, "{}")
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
	if _, err := u.send(anyRead, "{}"); err == nil {
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
				in.send(bookPath, booking(ref, ids[j], object{"guests": guests})) // errors are what the faults make
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
		t.Errorf("%d Books were carried out, %d orders exist", executed, len(s.Ledger().Orders()))
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
		r := u.must(anyRead, "{}")
		if r.proto != tc.proto || s.Ledger().Requests("")[0].Proto != tc.proto || !strings.HasPrefix(s.URL, tc.base) || (s.Certificate() != nil) != strings.HasPrefix(s.URL, "https") {
			t.Errorf("%s speaks %s", s.URL, r.proto)
		}
		s.Close()
	}
}

func TestACallersOwnTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		u := login(t, s)
		own := &http.Transport{DialContext: s.DialContext}
		defer own.CloseIdleConnections()
		u.http = &http.Client{Transport: own}
		u.must(anyRead, "{}")
	})
}

func TestClientsFromOtherAddresses(t *testing.T) {
	s := NewServer()
	defer s.Close()
	u := &user{t: t, s: s, http: s.ClientFrom("127.0.0.9")}
	if _, err := u.send("/api/auth/ticket", "{}"); err != nil {
		t.Skipf("this machine does not send from 127.0.0.9: %v", err)
	}
	if got := s.Ledger().Requests("")[0].ClientIP; got != "127.0.0.9" {
		t.Errorf("seen as %s", got)
	}
}

func TestTheLedgerKeepsNoSecrets(t *testing.T) {
	s := start(t, WithoutRateLimits())
	u := login(t, s)
	u.header("Trace-Id", "t").must(anyRead, "{}")
	text := fmt.Sprintf("%+v", s.Ledger().Requests(""))
	if strings.Contains(text, u.token) || strings.Contains(text, s.AppSecret) {
		t.Error("the ledger shows a secret")
	}
	reqs := s.Ledger().Requests(OpDestinations)
	if len(reqs) != 1 || reqs[0].Header.Get("Trace-Id") != "t" || reqs[0].TraceID != "t" || !strings.HasPrefix(reqs[0].Header.Get("Authorization"), "sha256:") ||
		reqs[0].BodySHA256 != sha256Hex([]byte("{}")) || reqs[0].Status != 200 || !reqs[0].Executed {
		t.Errorf("%+v", reqs)
	}
	reqs[0].Header.Set("Trace-Id", "changed")
	if s.Ledger().Requests(OpDestinations)[0].Header.Get("Trace-Id") != "t" {
		t.Error("the ledger gives its own header away")
	}
}

func TestTheLedgerIsBounded(t *testing.T) {
	s := start(t, WithoutRateLimits(), WithLedgerLimit(3))
	u := login(t, s)
	for range 20 {
		u.must(anyRead, "{}")
	}
	reqs := s.Ledger().Requests("")
	if len(reqs) != 3 || reqs[2].Seq != 21 || s.Ledger().Count("") != 21 || s.Ledger().Count(OpDestinations) != 20 || len(s.ledger.requests) > 6 {
		t.Errorf("%d requests kept, %d counted", len(reqs), s.Ledger().Count(""))
	}
}

// Who wants to keep everything asks for as much as an int holds.
func TestALedgerWithoutABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, WithLedgerLimit(math.MaxInt), WithCallbackHandler(&receiver{}))
		login(t, s).bookWithCallback("ref", hook)
		synctest.Wait()
		if kept, counted := len(s.Ledger().Requests("")), s.Ledger().Count(""); kept != counted || len(s.Ledger().Webhooks()) != 1 {
			t.Errorf("%d of %d requests kept, %d events", kept, counted, len(s.Ledger().Webhooks()))
		}
	})
}

func TestCompression(t *testing.T) {
	s := start(t, WithCompression())
	u := login(t, s)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL+listPath, bytes.NewReader(must(json.Marshal(search(s, nil)))))
	req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + u.token}, "Accept-Encoding": {"gzip"}}
	resp, err := u.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	z, err := gzip.NewReader(resp.Body)
	if err != nil || resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%v %v", err, resp.Header)
	}
	if b, err := io.ReadAll(z); err != nil || !bytes.HasPrefix(b, []byte(`{"code":0`)) {
		t.Errorf("%v %.100s", err, b)
	}
	u.must(listPath, search(s, nil)) // net/http unpacks by itself
}

func TestInMemoryConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemListener()
		var server io.ReadWriteCloser
		go func() { c, _ := l.Accept(); server = c }()
		client, err := l.dial(t.Context(), "127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		client.SetReadDeadline(time.Now().Add(time.Minute))
		began := time.Now()
		if _, err := client.Read(make([]byte, 1)); err == nil || time.Since(began) != time.Minute {
			t.Errorf("a read deadline of a minute: %v after %v", err, time.Since(began))
		}
		client.SetReadDeadline(time.Time{})
		server.Write([]byte("last words"))
		server.Close()
		if b, err := io.ReadAll(client); string(b) != "last words" || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
		if _, err := client.Write([]byte("x")); err == nil {
			t.Error("a write to a closed peer succeeds")
		}
		client.Close()
		l.Close()
		if _, err := l.dial(context.Background(), "127.0.0.1:1"); err == nil {
			t.Error("a closed listener can be dialled")
		}
	})
}
