// Where deliveries go, and how Close ends them.

package hotelstaystest

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/hotelstays/hotelstays-go/types"
)

// dials records addresses and connects to nothing.
type dials struct {
	mu    sync.Mutex
	addrs []string
}

func (d *dials) dial(_ context.Context, _, addr string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addrs = append(d.addrs, addr)
	return nil, errors.New("recorded")
}

func TestOnlyLoopbackIsDialed(t *testing.T) {
	for url, want := range map[string][]string{
		"http://127.0.0.1:8080/":             {"127.0.0.1:8080"},
		"http://127.9.9.9/":                  {"127.9.9.9:80"},
		"https://[::1]/":                     {"[::1]:443"},
		"http://[::ffff:127.0.0.1]:1/":       {"[::ffff:127.0.0.1]:1"},
		"http://LocalHost:7/":                {"127.0.0.1:7", "[::1]:7"},
		"http://localhost.:7/":               {"127.0.0.1:7", "[::1]:7"},
		"https://hooks.example.com/":         nil, // no DNS lookup
		"https://localhost.example.com/":     nil,
		"https://127.0.0.1.example.com/":     nil,
		"https://ip6-localhost/":             nil,
		"https://192.0.2.1/":                 nil,
		"https://10.0.0.1/":                  nil,
		"https://169.254.169.254/":           nil,
		"https://0.0.0.0/":                   nil,
		"https://[::]/":                      nil,
		"https://[::ffff:192.0.2.1]/":        nil,
		"https://[2001:db8::1]/":             nil,
		"https://2130706433/":                nil,
		"https://127.1/":                     nil,
		"http://127.0.0.1@192.0.2.1/":        nil,
		"http://127.0.0.1%2f.example.com:1/": nil,
	} {
		t.Run(url, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &dials{}
				s := start(t, Config{ConfirmAfter: Never, Webhooks: WebhookConfig{RetryDelays: []time.Duration{time.Second}}})
				s.webhooks.transport = s.cfg.Webhooks.socketTransport(d.dial)
				o := &order{callbackURL: url, platformRef: "PO1"} // without Book's checks
				if _, err := http.NewRequest("POST", url, nil); err != nil {
					return // Book refuses this URL
				}
				s.lock()
				s.orders.byPlatform[o.platformRef] = o
				s.webhooks.post(o, types.EventOrderCreated, time.Now())
				s.unlock()
				time.Sleep(time.Minute)
				rec := s.Ledger().Webhooks()[0]
				wantState, attempts := WebhookRefused, 1
				if want != nil {
					wantState, attempts = WebhookGivenUp, 2
				}
				if !slices.Equal(d.addrs, slices.Concat(want, want)) || rec.State != wantState ||
					len(rec.Attempts) != attempts || rec.Attempts[0].Error == "" {
					t.Errorf("dialled %v: %+v", d.addrs, rec)
				}
			})
		})
	}
	for address, want := range map[string]bool{
		"127.0.0.1:80": true, "127.1.2.3:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true,
		"0.0.0.0:80": false, "[::]:80": false, "192.0.2.1:80": false, "[2001:db8::1]:80": false, "10.0.0.1:80": false,
		"localhost:80": false, "": false,
	} {
		if (checkLoopback(address) == nil) != want {
			t.Errorf("the address %q as the dialler sees it: %v", address, checkLoopback(address))
		}
	}
}

// eventually waits in real time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time: " + what)
		}
	}
}

func TestDeliveriesOverSockets(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	for _, secure := range []bool{false, true} {
		rc := &receiver{}
		web := httptest.NewUnstartedServer(rc)
		config := &Config{ConfirmAfter: AtOnce}
		if secure {
			web.StartTLS()
			config.Webhooks.CallbackRoots = x509.NewCertPool()
			config.Webhooks.CallbackRoots.AddCert(web.Certificate())
		} else {
			web.Start()
		}
		s := NewServer(config)
		login(t, s).bookWithCallback("ref", web.URL+"/hook")
		eventually(t, "three events", func() bool { return len(rc.all()) == 3 })
		if rc.events() != "created paid modified" || signedAt(rc.all()[2], s.WebhookSecret) == 0 {
			t.Errorf("got %s", rc.events())
		}
		s.Close()
		web.Close()
	}
}

// Close ends a delivery at every stage. synctest fails if a goroutine is left.
func TestCloseEndsDeliveries(t *testing.T) {
	for name, tc := range map[string]struct {
		fault  FaultKind
		status int // 0: the receiver hangs
		after  time.Duration
		want   WebhookState
	}{
		"before the confirmation": {"", 200, time.Minute, WebhookDelivered},
		"between two attempts":    {"", 500, 5 * time.Second, WebhookPending},
		"in an attempt":           {"", 0, 5 * time.Second, WebhookPending},
		"held for another":        {FaultReorder, 200, time.Minute, WebhookPending},
		"delayed":                 {FaultDelay, 200, time.Minute, WebhookPending},
		"before the second copy":  {FaultDuplicate, 200, time.Minute, WebhookDelivered},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rc := &receiver{answer: func(_ int, r *http.Request) int {
					if tc.status == 0 {
						<-r.Context().Done()
						return 500
					}
					return tc.status
				}}
				s := NewServer(&Config{InMemory: true, Webhooks: WebhookConfig{CallbackHandler: rc}})
				if tc.fault != "" {
					s.Inject(Fault{Operation: OpWebhook, Kind: tc.fault, Delay: 24 * time.Hour})
				}
				u := login(t, s)
				u.bookWithCallback("ref", hook)
				time.Sleep(tc.after)
				before, began := len(rc.all()), time.Now()
				s.Close()
				if took := time.Since(began); took != 0 {
					t.Errorf("Close took %v", took)
				}
				time.Sleep(48 * time.Hour)
				events := s.Ledger().Webhooks()
				if len(events) != 1 || events[0].State != tc.want || len(rc.all()) != before {
					t.Errorf("%d deliveries later: %+v", len(rc.all())-before, events)
				}
			})
		})
	}
}

func TestCloseLeavesNoSocketBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	hanging := make(chan struct{}, 1)
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // until then net/http does not notice a closed connection
		hanging <- struct{}{}
		<-r.Context().Done()
	}))
	s := NewServer(nil)
	login(t, s).bookWithCallback("ref", web.URL)
	<-hanging
	began := time.Now()
	s.Close()
	if time.Since(began) > 8*time.Second {
		t.Error("Close waits for the attempt's own end")
	}
	web.Close()
}

// Other machines cannot make a server post to programs of its own machine.
func TestRemoteClientsReachNoLoopback(t *testing.T) {
	rc := &receiver{}
	web := httptest.NewServer(rc)
	defer web.Close()
	for _, hosts := range [][]string{nil, {"127.0.0.1"}} {
		s := NewServer(&Config{ConfirmAfter: Never, AllowRemote: true, Webhooks: WebhookConfig{CallbackHosts: hosts}})
		defer s.Close()
		login(t, s).bookWithCallback("ref", web.URL)
		want := WebhookRefused
		if hosts != nil {
			want = WebhookDelivered
		}
		eventually(t, string(want), func() bool { return s.Ledger().Webhooks()[0].State == want })
	}
	if n := len(rc.all()); n != 1 {
		t.Errorf("%d deliveries", n)
	}
}

// 0.0.0.0 is not loopback, yet reaches it.
func TestDeliveriesToNamedHosts(t *testing.T) {
	rc := &receiver{}
	web := httptest.NewServer(rc)
	defer web.Close()
	_, port, _ := net.SplitHostPort(web.Listener.Addr().String())
	s := NewServer(&Config{ConfirmAfter: Never, Webhooks: WebhookConfig{CallbackHosts: []string{"Engine", "0.0.0.0"}, StrictCallbacks: true}})
	defer s.Close()
	u := login(t, s)
	u.bookWithCallback("ref", "http://0.0.0.0:"+port+"/hook")
	eventually(t, "delivery", func() bool { return len(rc.all()) == 1 })
	for url, want := range map[string]string{
		"http://engine:8080/hook": "", "http://Engine./hook": "", "ftp://engine/": "must be https",
		"http://engine.example.com/": "must be https", "http://127.0.0.1/": "must be https",
	} {
		if got := s.refusedCallback(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
