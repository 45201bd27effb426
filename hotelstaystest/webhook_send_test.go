package hotelstaystest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestDeliveriesDialOnlyLoopbackAddresses(t *testing.T) {
	for address, want := range map[string][]string{
		"127.0.0.1:8080":        {"127.0.0.1:8080"},
		"127.9.9.9:80":          {"127.9.9.9:80"},
		"[::1]:443":             {"[::1]:443"},
		"LocalHost:7":           {"127.0.0.1:7", "[::1]:7"},
		"localhost.:7":          {"127.0.0.1:7", "[::1]:7"},
		"hooks.example.com:443": nil, // no DNS lookup
		"192.0.2.1:80":          nil,
		"0.0.0.0:80":            nil,
		"[::ffff:192.0.2.1]:80": nil,
		"2130706433:80":         nil,
	} {
		var dialled []string
		_, err := dialLoopback(t.Context(), func(_ context.Context, _, addr string) (net.Conn, error) {
			dialled = append(dialled, addr)
			return nil, errors.New("recorded")
		}, "tcp", address)
		failIf(t, !slices.Equal(dialled, want) || errors.Is(err, errRefusedAddress) != (want == nil), "%s: dialled %v, %v", address, dialled, err)
	}
}

// eventually waits in real time, at most ten seconds, until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		stopIf(t, time.Now().After(end), "%v", "did not happen within ten seconds: "+what)
	}
}

func TestDeliveriesArriveOverSockets(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	rc := &receiver{}
	web := httptest.NewServer(rc)
	defer web.Close()
	s := NewServer(&Config{ConfirmAfter: AtOnce})
	defer s.Close()
	login(t, s).bookWithCallback("ref", web.URL+"/hook")
	eventually(t, "three events", func() bool { return len(rc.all()) == 3 })
	failIf(t, rc.events() != "created paid modified" || signedAt(rc.all()[2], s.WebhookSecret) == 0, "got %s", rc.events())
}

// Close ends a delivery at every stage. synctest fails if a goroutine is left.
func TestCloseEndsDeliveries(t *testing.T) {
	for name, tc := range map[string]struct {
		fault  FaultKind
		status int // status of the receiver's answer; 0: the receiver does not answer
		after  time.Duration
		want   WebhookState
	}{
		"before the confirmation":  {"", 200, time.Minute, WebhookDelivered},
		"between two attempts":     {"", 500, 5 * time.Second, WebhookPending},
		"during an attempt":        {"", 0, 5 * time.Second, WebhookPending},
		"before a delayed attempt": {FaultDelay, 200, time.Minute, WebhookPending},
		"before the duplicate":     {FaultDuplicate, 200, time.Minute, WebhookDelivered},
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
				same(t, time.Since(began), 0)
				time.Sleep(48 * time.Hour)
				events := s.Ledger().Webhooks()
				failIf(t, len(events) != 1 || events[0].State != tc.want || len(rc.all()) != before,
					"%d deliveries later: %+v", len(rc.all())-before, events)
			})
		})
	}
}

// Other machines must not make the server post to programs on its own machine.
func TestServerWithAllowRemoteDeliversToLoopbackOnlyIfCallbackHostsListsIt(t *testing.T) {
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
		a := s.Ledger().Webhooks()[0].Attempts
		failIf(t, len(a) != 1 || (a[0].Error == "") != (want == WebhookDelivered), "%+v", a)
	}
	same(t, len(rc.all()), 1)
}

// The test uses 0.0.0.0 as a host that is not a loopback address. A connection to it arrives at loopback.
func TestHostsInCallbackHostsReceiveDeliveriesDespiteStrictCallbacks(t *testing.T) {
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
		same(t, s.refusedCallback(url), want, url)
	}
}

// signedAt returns the Unix time in a delivery's signature, or 0 if the signature is wrong.
func signedAt(d delivery, secret string) (at int64) {
	sent := d.header.Get("X-Platform-Signature")
	if _, err := fmt.Sscanf(sent, "t=%d,v1=", &at); err != nil || sent != SignWebhook(secret, time.Unix(at, 0), d.body) {
		return 0
	}
	return at
}

func TestSignatureHasTheDocumentedForm(t *testing.T) {
	body := []byte(`{"event":"order_paid"}`)
	at := time.Unix(1700000000, 999)
	const want = "t=1700000000,v1=908ff8210b8a9f933df573983cdf7fcc322ffbc67705619911881bac62632066" // computed with openssl dgst -hmac
	same(t, SignWebhook("golden-secret", at, body), want)
	req := NewWebhookRequest("http://127.0.0.1/x", "golden-secret", at, "evt", body)
	sent, _ := io.ReadAll(req.Body)
	failIf(t, req.Method != "POST" || req.Header.Get("X-Platform-Signature") != want ||
		req.Header.Get("X-Platform-Event-Id") != "evt" || !bytes.Equal(sent, body), "%+v", req)
	bare := NewWebhookRequest("http://127.0.0.1/x", "", at, "", body)
	failIf(t, len(bare.Header.Values("X-Platform-Signature"))+len(bare.Header.Values("X-Platform-Event-Id")) != 0, "%v", bare.Header)
}
