package hotelstaystest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

const hook = "http://localhost/hook"

type delivery struct {
	at     time.Time
	method string
	header http.Header
	body   []byte
	sent   webhookBody
}

func (d delivery) eventID() string { return d.header.Get("X-Platform-Event-Id") }

// receiver records deliveries. Its field answer returns the status for delivery n, counted from 0.
type receiver struct {
	mu     sync.Mutex
	got    []delivery
	answer func(n int, r *http.Request) int
}

// answering makes a receiver that answers with these statuses, and then repeats the last status.
func answering(statuses ...int) *receiver {
	return &receiver{answer: func(n int, _ *http.Request) int { return statuses[min(n, len(statuses)-1)] }}
}

func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := delivery{at: time.Now(), method: r.Method, header: r.Header}
	d.body, _ = io.ReadAll(r.Body)
	json.Unmarshal(d.body, &d.sent)
	rc.mu.Lock()
	n := len(rc.got)
	rc.got = append(rc.got, d)
	rc.mu.Unlock()
	if rc.answer != nil {
		w.WriteHeader(rc.answer(n, r))
	}
}

func (rc *receiver) all() []delivery {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return slices.Clone(rc.got)
}

// events lists the kinds of the deliveries, in order.
func (rc *receiver) events() string {
	var kinds []string
	for _, d := range rc.all() {
		kinds = append(kinds, strings.TrimPrefix(string(d.sent.Event), "order_"))
	}
	return strings.Join(kinds, " ")
}

func (u *user) bookWithCallback(ref, callback string) (*user, *reply) {
	u.t.Helper()
	in, ids := u.find(nil)
	return in, in.must(bookPath, booking(ref, ids[0], with(guests("Test", ref), object{"callbackUrl": callback})))
}

func TestOrderSendsItsWebhooksInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *Server
		rc := &receiver{answer: func(int, *http.Request) int {
			s.SetCancelRule("ref", CancelAllowed) // a receiver may call methods of the server
			return 200
		}}
		s = start(t, Config{NoRateLimits: true, Webhooks: WebhookConfig{CallbackHandler: rc, Secret: "a secret"}})
		u := login(t, s)
		made := time.Now()
		in, order := u.bookWithCallback("ref", "https://hooks.example.com/orders?x=1")
		u.book("silent", 1)
		synctest.Wait()
		stopIf(t, rc.events() != "created", "after Book: %s", rc.events())
		time.Sleep(3*time.Minute - 1)
		synctest.Wait()
		stopIf(t, rc.events() != "created", "before the confirmation: %s", rc.events())
		time.Sleep(time.Minute) // the order is confirmed although no request arrives
		s.AmendOrder("ref")
		s.ConfirmOrder("silent")
		s.AmendOrder("silent")
		s.SendWebhook("silent", "anything")
		time.Sleep(time.Minute)
		s.SendWebhook("ref", "order_imagined")
		time.Sleep(time.Minute)
		in.must(cancelPath, cancellation("ref", order))
		synctest.Wait()

		confirmed, amended := made.Add(3*time.Minute), made.Add(4*time.Minute-1)
		want := []struct {
			event     types.EventKind
			confirmNo string
			at        time.Time
		}{
			{types.EventOrderCreated, "", made},
			{types.EventOrderPaid, "HC-000000001", confirmed},
			{types.EventOrderModified, "HC-000000001", confirmed},
			{types.EventOrderModified, "HC-000000001-2", amended},
			{"order_imagined", "HC-000000001-2", amended.Add(time.Minute)},
			{types.EventOrderCancelled, "HC-000000001-2", amended.Add(2 * time.Minute)},
		}
		got, records := rc.all(), s.Ledger().Webhooks()
		stopIf(t, len(got) != len(want) || len(records) != len(want) || len(s.Ledger().WebhooksFor("ref")) != len(want) ||
			len(s.Ledger().WebhooksFor("silent")) != 0, "got %s, %d records", rc.events(), len(records))
		ids := map[string]bool{}
		for i, w := range want {
			d, rec := got[i], records[i]
			ids[d.eventID()] = true
			failIf(t, d.sent != (webhookBody{"ref", w.confirmNo, w.event, w.at.UnixMilli()}) || !d.at.Equal(w.at) || d.method != "POST",
				"delivery %d at %v: %s, want %+v", i, d.at, d.body, w)
			failIf(t, d.header.Get("User-Agent") != "platform-webhook/1.0" || d.header.Get("Content-Type") != "application/json" ||
				signedAt(d, "a secret") != w.at.Unix(), "delivery %d: %v", i, d.header)
			attempt := WebhookAttempt{Started: w.at, Done: w.at, Status: 200, Signature: d.header.Get("X-Platform-Signature"), Signed: "valid"}
			failIf(t, rec.State != WebhookDelivered || rec.Event != w.event || rec.EventID != d.eventID() || !rec.EventTime.Equal(w.at) ||
				rec.PlatformReferenceNo != "PO000000001" || !bytes.Equal(rec.Body, d.body) ||
				len(rec.Attempts) != 1 || rec.Attempts[0] != attempt, "record %d: %+v", i, rec)
		}
		failIf(t, len(ids) != len(want), "%d ids", len(ids))
	})
}

func TestFailedDeliveryIsRetried(t *testing.T) {
	for name, tc := range map[string]struct {
		delays   []time.Duration
		statuses []int // statuses of the first answers; later answers have status 200
		want     []time.Duration
		state    WebhookState
	}{
		"status 204":     {nil, []int{204}, []time.Duration{0}, WebhookDelivered},
		"three failures": {nil, []int{500, 404, 302}, []time.Duration{0, 1, 3, 7}, WebhookDelivered},
		"six failures":   {nil, []int{500, 500, 500, 500, 500, 500}, []time.Duration{0, 1, 3, 7, 15, 31}, WebhookGivenUp},
		"two RetryDelays and three failures": {
			[]time.Duration{10 * time.Second, time.Minute}, []int{500, 500, 500}, []time.Duration{0, 10, 70}, WebhookGivenUp,
		},
		"no RetryDelays and one failure": {[]time.Duration{}, []int{500}, []time.Duration{0}, WebhookGivenUp},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rc := answering(append(tc.statuses, 200)...)
				s := start(t, Config{Webhooks: WebhookConfig{CallbackHandler: rc, RetryDelays: tc.delays}, ConfirmAfter: Never})
				began := time.Now()
				login(t, s).bookWithCallback("ref", hook)
				time.Sleep(time.Hour)
				got, rec := rc.all(), s.Ledger().Webhooks()[0]
				stopIf(t, len(got) != len(tc.want) || len(rec.Attempts) != len(tc.want) || rec.State != tc.state, "%d deliveries, %+v", len(got), rec)
				for i, d := range got {
					if at := d.at.Sub(began); at != tc.want[i]*time.Second || !rec.Attempts[i].Started.Equal(d.at) {
						t.Errorf("attempt %d after %v, want %v s", i, at, tc.want[i])
					}
					failIf(t, d.eventID() != rec.EventID || !bytes.Equal(d.body, got[0].body) || signedAt(d, s.WebhookSecret) != d.at.Unix(),
						"attempt %d: %v %s", i, d.header, d.body)
				}
			})
		})
	}
}

// verifying makes a receiver that answers HTTP 401 to a wrong signature.
func verifying(secret string) *receiver {
	rc := &receiver{}
	rc.answer = func(n int, _ *http.Request) int {
		if signedAt(rc.all()[n], secret) == 0 {
			return 401
		}
		return 200
	}
	return rc
}

func TestFaultKindDecidesWhenAndHowDeliveriesArrive(t *testing.T) {
	for name, tc := range map[string]struct {
		fault Fault
		want  string // kinds of events and times of arrival; * marks a wrong signature
	}{
		"duplicate":                 {Fault{Kind: FaultDuplicate}, "created@0s created@0s paid@1m0s modified@1m0s"},
		"late duplicate":            {Fault{Kind: FaultDuplicate, Delay: time.Hour}, "created@0s paid@1m0s modified@1m0s created@1h0m0s"},
		"delay of the second event": {Fault{Kind: FaultDelay, Skip: 1, Delay: time.Second}, "created@0s modified@1m0s paid@1m1s"},
		"bad signature":             {Fault{Kind: FaultBadSignature}, "created*@0s created@1s paid@1m0s modified@1m0s"},
		"altered body":              {Fault{Kind: FaultAlteredBody}, "*@0s created@1s paid@1m0s modified@1m0s"},
		"drop of the second event":  {Fault{Kind: FaultDrop, Skip: 1}, "created@0s modified@1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tryWebhookFault(t, tc.fault, tc.want) })
		})
	}
}

func tryWebhookFault(t *testing.T, f Fault, want string) {
	rc := verifying("sandbox-webhook-secret")
	s := start(t, Config{Webhooks: WebhookConfig{CallbackHandler: rc}, ConfirmAfter: time.Minute})
	f.Operation = OpWebhook
	s.Inject(f)
	began := time.Now()
	login(t, s).bookWithCallback("ref", hook)
	time.Sleep(2 * time.Hour)
	var got []string
	bodies := map[string]string{} // maps an event id to the body
	for _, d := range rc.all() {
		kind := strings.TrimPrefix(string(d.sent.Event), "order_")
		if signedAt(d, s.WebhookSecret) != 0 {
			bodies[d.eventID()] = string(d.body)
		} else if f.Kind == FaultAlteredBody {
			kind = "*"
		} else {
			kind += "*"
		}
		got = append(got, fmt.Sprintf("%s@%v", kind, d.at.Sub(began)))
	}
	failIf(t, strings.Join(got, " ") != want, "got %s\nwant %s", strings.Join(got, " "), want)
	acted, faults := 0, 1
	if f.Kind == FaultDuplicate {
		faults = 2 // the ledger shows the fault on the attempt and on its copy
	}
	for i, e := range s.Ledger().Webhooks() {
		state := WebhookDelivered
		if f.Kind == FaultDrop && i == f.Skip {
			state = WebhookDropped
		}
		failIf(t, e.State != state || state == WebhookDelivered && bodies[e.EventID] != string(e.Body), "%+v", e)
		for _, a := range e.Attempts {
			if a.Fault == f.Kind {
				acted++
			}
		}
	}
	failIf(t, acted != faults, "the ledger shows the fault on %d attempts", acted)
}

func TestTriggersSendTheConfiguredEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{}
		s := start(t, Config{
			NoRateLimits: true,
			Webhooks: WebhookConfig{
				CallbackHandler: rc, Events: map[WebhookTrigger][]types.EventKind{OnConfirm: {"order_paid", "order_strange"}, OnBook: {}},
			},
			ConfirmAfter: AtOnce,
		})
		u := login(t, s)
		in, _ := u.bookWithCallback("ref", hook)
		synctest.Wait()
		in.must(bookPath, booking("ref", "any", object{"callbackUrl": hook})) // returns the same order and sends no event
		s.SetOrderStatus("ref", 5)
		s.SetOrderStatus("ref", 5)
		s.SetOrderStatus("ref", 3)
		synctest.Wait()
		same(t, rc.events(), "paid strange modified cancelled")
	})
}

func TestDeliveriesHaveNoSignatureIfWebhookConfigIsUnsigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{}
		s := start(t, Config{Webhooks: WebhookConfig{CallbackHandler: rc, Unsigned: true}})
		s.Inject(Fault{Operation: OpWebhook, Kind: FaultBadSignature, Skip: 1})
		login(t, s).bookWithCallback("ref", hook)
		s.SendWebhook("ref", "badly signed")
		synctest.Wait()
		plain, bad := rc.all()[0].header, rc.all()[1].header
		failIf(t, len(plain.Values("X-Platform-Signature")) != 0 || plain.Get("X-Platform-Event-Id") == "" || s.WebhookSecret != "" ||
			!strings.HasPrefix(bad.Get("X-Platform-Signature"), "t="), "%v, %v", plain, bad)
	})
}
