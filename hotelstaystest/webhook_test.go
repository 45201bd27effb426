// The events of an order's life: signed, posted in order, tried again at their times,
// and recorded.

package hotelstaystest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const hook = "http://localhost/hook"

// taken is a delivery as a receiver saw it.
type taken struct {
	at     time.Time
	method string
	header http.Header
	body   []byte
	event  string
	ref    string
	sent   webhookBody
}

// receiver takes deliveries; answer gives the status of the n-th, from 0.
type receiver struct {
	mu     sync.Mutex
	got    []taken
	answer func(n int, r *http.Request) int
}

func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := taken{at: time.Now(), method: r.Method, header: r.Header}
	d.body, _ = io.ReadAll(r.Body)
	json.Unmarshal(d.body, &d.sent)
	d.event, d.ref = d.sent.Event, d.sent.CustomerReferenceNo
	rc.mu.Lock()
	n := len(rc.got)
	rc.got = append(rc.got, d)
	rc.mu.Unlock()
	if rc.answer != nil {
		w.WriteHeader(rc.answer(n, r))
	}
}

// all returns what was taken so far.
func (rc *receiver) all() []taken {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return slices.Clone(rc.got)
}

// events are the kinds taken, in order.
func (rc *receiver) events() string {
	var kinds []string
	for _, d := range rc.all() {
		kinds = append(kinds, strings.TrimPrefix(d.event, "order_"))
	}
	return strings.Join(kinds, " ")
}

// bookWithCallback books a stay of its own with a callback URL.
func (u *user) bookWithCallback(ref, callback string) (*user, *reply) {
	u.t.Helper()
	in, ids := u.find(nil)
	guests := []object{{"roomIndex": 1, "firstName": "Test", "lastName": ref}}
	return in, in.must(bookPath, booking(ref, ids[0], object{"callbackUrl": callback, "guests": guests}))
}

// plainHMAC is HMAC-SHA256 as RFC 2104 defines it, for keys up to a block.
func plainHMAC(key, text []byte) string {
	inner, outer := bytes.Repeat([]byte{0x36}, 64), bytes.Repeat([]byte{0x5c}, 64)
	for i, k := range key {
		inner[i] ^= k
		outer[i] ^= k
	}
	first := sha256.Sum256(append(inner, text...))
	second := sha256.Sum256(append(outer, first[:]...))
	return hex.EncodeToString(second[:])
}

var signatureForm = regexp.MustCompile(`^t=([0-9]+),v1=([0-9a-f]{64})$`)

// signedAt checks a delivery's signature and returns its time, 0 when it is wrong.
func signedAt(d taken, secret string) int64 {
	m := signatureForm.FindStringSubmatch(d.header.Get("X-Platform-Signature"))
	if m == nil || m[2] != plainHMAC([]byte(secret), append([]byte(m[1]+"."), d.body...)) {
		return 0
	}
	var at int64
	fmt.Sscan(m[1], &at)
	return at
}

func TestSignWebhook(t *testing.T) {
	body := []byte(`{"event":"order_paid"}`)
	at := time.Unix(1700000000, 999)
	const want = "t=1700000000,v1=908ff8210b8a9f933df573983cdf7fcc322ffbc67705619911881bac62632066" // by openssl dgst -hmac
	if got := SignWebhook("golden-secret", at, body); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	req := NewWebhookRequest("http://127.0.0.1/x", "golden-secret", at, "evt", body)
	sent, _ := io.ReadAll(req.Body)
	if req.Method != "POST" || req.Header.Get("X-Platform-Signature") != want || req.Header.Get("X-Platform-Event-Id") != "evt" || !bytes.Equal(sent, body) {
		t.Errorf("%+v", req)
	}
	bare := NewWebhookRequest("http://127.0.0.1/x", "", at, "", body)
	if len(bare.Header.Values("X-Platform-Signature"))+len(bare.Header.Values("X-Platform-Event-Id")) != 0 {
		t.Errorf("%v", bare.Header)
	}
}

func TestAnOrdersLifeIsPosted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{}
		s := start(t, WithoutRateLimits(), WithCallbackHandler(rc), WithWebhookSecret("a secret of its own"))
		u := login(t, s)
		made := time.Now()
		in, order := u.bookWithCallback("ref", "https://hooks.example.com/orders?x=1")
		u.book("silent", 1)
		synctest.Wait()
		if rc.events() != "created" {
			t.Fatalf("after Book: %s", rc.events())
		}
		time.Sleep(3*time.Minute - 1)
		synctest.Wait()
		if rc.events() != "created" {
			t.Fatalf("before the confirmation: %s", rc.events())
		}
		time.Sleep(time.Minute) // nobody asks for the order meanwhile
		s.AmendOrder("ref")
		s.ConfirmOrder("silent")
		s.AmendOrder("silent")
		s.SendWebhook("silent", "anything")
		time.Sleep(time.Minute)
		s.SendWebhook("ref", "order_imagined")
		time.Sleep(time.Minute)
		in.must(cancelPath, object{"customerReferenceNo": "ref", "supplierReferenceNo": order.str("hotelOrder", "supplierReferenceNo")})
		synctest.Wait()

		confirmed, amended := made.Add(3*time.Minute), made.Add(4*time.Minute-1)
		want := []struct {
			event, confirmNo string
			at               time.Time
		}{
			{EventOrderCreated, "", made},
			{EventOrderPaid, "HC-000000001", confirmed},
			{EventOrderModified, "HC-000000001", confirmed},
			{EventOrderModified, "HC-000000001-2", amended},
			{"order_imagined", "HC-000000001-2", amended.Add(time.Minute)},
			{EventOrderCancelled, "HC-000000001-2", amended.Add(2 * time.Minute)},
		}
		got, records := rc.all(), s.Ledger().Webhooks()
		if len(got) != len(want) || len(records) != len(want) || len(s.Ledger().WebhooksFor("ref")) != len(want) || len(s.Ledger().WebhooksFor("silent")) != 0 {
			t.Fatalf("got %s, %d records", rc.events(), len(records))
		}
		ids := map[string]bool{}
		for i, w := range want {
			d, rec := got[i], records[i]
			ids[d.header.Get("X-Platform-Event-Id")] = true
			if d.sent != (webhookBody{"ref", w.confirmNo, w.event, w.at.UnixMilli()}) || !d.at.Equal(w.at) || d.method != "POST" {
				t.Errorf("delivery %d at %v: %s, want %+v", i, d.at, d.body, w)
			}
			if d.header.Get("User-Agent") != "platform-webhook/1.0" || d.header.Get("Content-Type") != "application/json" || signedAt(d, "a secret of its own") != w.at.Unix() {
				t.Errorf("delivery %d: %v", i, d.header)
			}
			if rec.State != WebhookDelivered || rec.Event != w.event || rec.EventID != d.header.Get("X-Platform-Event-Id") || !rec.EventTime.Equal(w.at) || rec.PlatformReferenceNo != "PO000000001" ||
				!bytes.Equal(rec.Body, d.body) || len(rec.Attempts) != 1 || rec.Attempts[0] != (WebhookAttempt{Started: w.at, Done: w.at, Status: 200, Signature: d.header.Get("X-Platform-Signature")}) {
				t.Errorf("record %d: %+v", i, rec)
			}
		}
		if len(ids) != len(want) {
			t.Errorf("%d ids", len(ids))
		}
	})
}

func TestWhichEventsThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{}
		s := start(t, WithoutRateLimits(), WithCallbackHandler(rc), WithConfirmAfter(0), WithWebhookEvents(OnConfirm, "order_paid", "order_strange"), WithWebhookEvents(OnBook))
		u := login(t, s)
		in, _ := u.bookWithCallback("ref", hook)
		synctest.Wait()
		in.must(bookPath, booking("ref", "any", object{"callbackUrl": hook})) // the same order again: nothing happened
		s.SetOrderStatus("ref", 5)
		s.SetOrderStatus("ref", 5)
		s.SetOrderStatus("ref", 3)
		synctest.Wait()
		if got := rc.events(); got != "paid strange modified cancelled" {
			t.Errorf("got %s", got)
		}
	})
}

func TestAnAmendmentIssuesAnotherVoucher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, WithConfirmAfter(0), WithVoucherDelay(0))
		u := login(t, s)
		u.book("ref", 0)
		ask := func() *reply { return u.must(voucherPath, object{"customerReferenceNo": "ref"}) }
		first := ask()
		s.AmendOrder("ref")
		second := ask()
		if first.str("voucher", "version") != "1" || second.str("voucher", "version") != "2" || first.str("voucher", "signature", "digest") == second.str("voucher", "signature", "digest") {
			t.Errorf("%s\n%s", first.body, second.body)
		}
		if no := u.must(queryPath, "{}").str("orders", 0, "hotelConfirmNo"); no != "HC-000000001-2" {
			t.Errorf("confirmation number %s", no)
		}
		s.SetOrderStatus("ref", 5)
		panics(t, "not confirmed", func() { s.AmendOrder("ref") })
	})
}

// panics wants a panic whose text holds the given one.
func panics(t *testing.T, text string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, text) {
			t.Errorf("panicked with %s, want %q", got, text)
		}
	}()
	f()
}

func TestRetriesAtTheirTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		opts     []Option
		statuses []int // of the answers, then 200
		want     []time.Duration
		state    WebhookState
	}{
		"taken at once":   {nil, nil, []time.Duration{0}, WebhookDelivered},
		"any 2xx":         {nil, []int{204}, []time.Duration{0}, WebhookDelivered},
		"taken late":      {nil, []int{500, 404, 302}, []time.Duration{0, 1, 3, 7}, WebhookDelivered},
		"the last chance": {nil, []int{500, 500, 500, 500, 500}, []time.Duration{0, 1, 3, 7, 15, 31}, WebhookDelivered},
		"given up":        {nil, []int{500, 500, 500, 500, 500, 500}, []time.Duration{0, 1, 3, 7, 15, 31}, WebhookGivenUp},
		"own schedule":    {[]Option{WithWebhookRetryDelays(10*time.Second, time.Minute)}, []int{500, 500, 500}, []time.Duration{0, 10, 70}, WebhookGivenUp},
		"no retry":        {[]Option{WithWebhookRetryDelays()}, []int{500}, []time.Duration{0}, WebhookGivenUp},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rc := &receiver{answer: func(n int, _ *http.Request) int {
					return append(slices.Clone(tc.statuses), 200, 200)[min(n, len(tc.statuses))]
				}}
				s := start(t, append([]Option{WithCallbackHandler(rc), WithConfirmAfter(-1)}, tc.opts...)...)
				began := time.Now()
				login(t, s).bookWithCallback("ref", hook)
				time.Sleep(time.Hour)
				got, rec := rc.all(), s.Ledger().Webhooks()[0]
				if len(got) != len(tc.want) || len(rec.Attempts) != len(tc.want) || rec.State != tc.state {
					t.Fatalf("%d deliveries, %+v", len(got), rec)
				}
				for i, d := range got {
					if at := d.at.Sub(began); at != tc.want[i]*time.Second || !rec.Attempts[i].Started.Equal(d.at) {
						t.Errorf("attempt %d after %v, want %v s", i, at, tc.want[i])
					}
					if d.header.Get("X-Platform-Event-Id") != rec.EventID || !bytes.Equal(d.body, got[0].body) || signedAt(d, s.WebhookSecret) != d.at.Unix() {
						t.Errorf("attempt %d: %v %s", i, d.header, d.body)
					}
				}
			})
		})
	}
}

func TestAFailingEventHoldsNoOtherBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{answer: func(n int, _ *http.Request) int { return []int{500, 200, 200, 200}[n] }}
		s := start(t, WithCallbackHandler(rc), WithConfirmAfter(0))
		login(t, s).bookWithCallback("ref", hook)
		time.Sleep(time.Minute)
		if got := rc.events(); got != "created paid modified created" {
			t.Errorf("got %s", got)
		}
	})
}

func TestAnAttemptIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{answer: func(n int, r *http.Request) int {
			if n == 0 {
				<-r.Context().Done()
			}
			return 200
		}}
		s := start(t, WithCallbackHandler(rc), WithConfirmAfter(-1), WithWebhookTimeout(30*time.Second))
		began := time.Now()
		login(t, s).bookWithCallback("ref", hook)
		time.Sleep(time.Hour)
		a := s.Ledger().Webhooks()[0].Attempts
		if len(a) != 2 || a[0].Done.Sub(began) != 30*time.Second || a[0].Status != 0 || a[0].Error == "" || a[1].Started.Sub(began) != 31*time.Second || a[1].Status != 200 {
			t.Errorf("%+v", a)
		}
	})
}

func TestUnsignedWebhooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{}
		s := start(t, WithCallbackHandler(rc), WithUnsignedWebhooks())
		login(t, s).bookWithCallback("ref", hook)
		synctest.Wait()
		d := rc.all()[0]
		if len(d.header.Values("X-Platform-Signature")) != 0 || d.header.Get("X-Platform-Event-Id") == "" || s.WebhookSecret != "" {
			t.Errorf("%v", d.header)
		}
	})
}

func TestRedeliver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{answer: func(n int, _ *http.Request) int { return []int{500, 500, 200, 500, 500}[n] }}
		s := start(t, WithCallbackHandler(rc), WithConfirmAfter(-1), WithWebhookRetryDelays(time.Second))
		login(t, s).bookWithCallback("ref", hook)
		time.Sleep(time.Minute)
		rec := s.Ledger().Webhooks()[0]
		if rec.State != WebhookGivenUp {
			t.Fatalf("%+v", rec)
		}
		s.RedeliverWebhook(rec.EventID)
		synctest.Wait()
		rec = s.Ledger().Webhooks()[0]
		got := rc.all()
		if rec.State != WebhookDelivered || len(rec.Attempts) != 3 || len(got) != 3 || !bytes.Equal(got[2].body, got[0].body) || got[2].header.Get("X-Platform-Event-Id") != rec.EventID {
			t.Errorf("%+v", rec)
		}
		s.RedeliverWebhook(rec.EventID) // and fails
		time.Sleep(time.Minute)
		if again := s.Ledger().Webhooks()[0]; again.State != WebhookDelivered || len(again.Attempts) != 5 {
			t.Errorf("%+v", again)
		}
		panics(t, "no event", func() { s.RedeliverWebhook("evt_none") })
		s.Close()
		s.RedeliverWebhook(rec.EventID) // does nothing any more
	})
}

func TestTheLedgerOfWebhooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "not-to-be-seen"
		s := start(t, WithCallbackHandler(&receiver{}), WithWebhookSecret(secret), WithLedgerLimit(3), WithConfirmAfter(-1))
		login(t, s).bookWithCallback("ref", hook)
		for range 20 {
			s.SendWebhook("ref", "order_modified")
		}
		synctest.Wait()
		all := s.Ledger().Webhooks()
		if text := fmt.Sprintf("%+v %+v %+v", all, s.Ledger().Requests(""), s.Ledger().Orders()); strings.Contains(text, secret) {
			t.Error("the ledger shows the secret")
		}
		if len(all) != 3 || len(s.ledger.webhooks) > 6 {
			t.Fatalf("%d events kept", len(all))
		}
		all[0].Body[0], all[0].Attempts[0].Status = 'x', 1
		if again := s.Ledger().Webhooks()[0]; again.Body[0] != '{' || again.Attempts[0].Status != 200 {
			t.Error("the ledger gives its own record away")
		}
	})
}

func TestWebhookOptionsThatAreImpossible(t *testing.T) {
	for name, opt := range map[string]Option{
		"no secret": WithWebhookSecret(""), "no pause": WithWebhookRetryDelays(time.Second, 0), "no timeout": WithWebhookTimeout(0), "no handler": WithCallbackHandler(nil),
		"odd trigger": WithWebhookEvents("odd", EventOrderPaid), "nameless event": WithWebhookEvents(OnBook, ""),
	} {
		if s, err := StartServer(opt); err == nil {
			s.Close()
			t.Errorf("%s is accepted", name)
		}
	}
}
