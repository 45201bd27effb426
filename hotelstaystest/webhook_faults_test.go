// Deliveries that go wrong on purpose: each fault alone, and many orders that meet
// all of them.

package hotelstaystest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// strict answers 401 to a delivery with a wrong signature.
func strict(secret string) *receiver {
	rc := &receiver{}
	rc.answer = func(n int, _ *http.Request) int {
		if signedAt(rc.all()[n], secret) == 0 {
			return 401
		}
		return 200
	}
	return rc
}

func TestWebhookFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		fault Fault
		want  string // events and times as they came; * marks a wrong signature
		state WebhookState
	}{
		"duplicate":               {Fault{Kind: FaultDuplicate}, "created@0s created@0s paid@1m0s modified@1m0s", WebhookDelivered},
		"duplicate, later":        {Fault{Kind: FaultDuplicate, Delay: time.Hour}, "created@0s paid@1m0s modified@1m0s created@1h0m0s", WebhookDelivered},
		"duplicate, the third":    {Fault{Kind: FaultDuplicate, Skip: 2}, "created@0s paid@1m0s modified@1m0s modified@1m0s", WebhookDelivered},
		"reorder":                 {Fault{Kind: FaultReorder, Delay: time.Hour}, "paid@1m0s created@1m0s modified@1m0s", WebhookDelivered},
		"reorder of simultaneous": {Fault{Kind: FaultReorder, Skip: 1}, "created@0s modified@1m0s paid@1m0s", WebhookDelivered},
		"reorder, in vain":        {Fault{Kind: FaultReorder, Delay: time.Second}, "created@1s paid@1m0s modified@1m0s", WebhookDelivered},
		"reorder of the last":     {Fault{Kind: FaultReorder, Skip: 2}, "created@0s paid@1m0s modified@2m0s", WebhookDelivered},
		"reorder of two":          {Fault{Kind: FaultReorder, Times: 2, Delay: time.Hour}, "modified@1m0s paid@1m0s created@1m0s", WebhookDelivered},
		"delay":                   {Fault{Kind: FaultDelay, Delay: 90 * time.Second}, "paid@1m0s modified@1m0s created@1m30s", WebhookDelivered},
		"delay of simultaneous":   {Fault{Kind: FaultDelay, Skip: 1, Delay: time.Second}, "created@0s modified@1m0s paid@1m1s", WebhookDelivered},
		"broken signature":        {Fault{Kind: FaultBadSignature}, "created*@0s created@1s paid@1m0s modified@1m0s", WebhookDelivered},
		"altered body":            {Fault{Kind: FaultAlteredBody}, "*@0s created@1s paid@1m0s modified@1m0s", WebhookDelivered},
		"dropped":                 {Fault{Kind: FaultDrop}, "paid@1m0s modified@1m0s", WebhookDropped},
		"dropped, the second":     {Fault{Kind: FaultDrop, Skip: 1}, "created@0s modified@1m0s", WebhookDelivered},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tryWebhookFault(t, tc.fault, tc.want, tc.state) })
		})
	}
}

func tryWebhookFault(t *testing.T, f Fault, want string, state WebhookState) {
	rc := strict("sandbox-webhook-secret")
	s := start(t, WithCallbackHandler(rc), WithConfirmAfter(time.Minute))
	f.Operation = OpWebhook
	s.Inject(f)
	began := time.Now()
	login(t, s).bookWithCallback("ref", hook)
	time.Sleep(2 * time.Hour)
	var got []string
	ids := map[string]string{}
	for _, d := range rc.all() {
		kind := strings.TrimPrefix(d.event, "order_")
		if signedAt(d, s.WebhookSecret) == 0 {
			if f.Kind == FaultAlteredBody {
				kind = ""
			}
			kind += "*"
		} else if id := d.header.Get("X-Platform-Event-Id"); ids[id] != "" && ids[id] != string(d.body) {
			t.Errorf("%s stands for two events", id)
		} else {
			ids[id] = string(d.body)
		}
		got = append(got, fmt.Sprintf("%s@%v", kind, d.at.Sub(began)))
	}
	if strings.Join(got, " ") != want {
		t.Errorf("got %s\nwant %s", strings.Join(got, " "), want)
	}
	events := s.Ledger().Webhooks()
	if events[0].State != state || len(ids)+map[bool]int{true: 1}[f.Kind == FaultDrop] != 3 {
		t.Errorf("%d ids, %+v", len(ids), events[0])
	}
	acted := 0
	for _, e := range events {
		for _, a := range e.Attempts {
			if a.Fault == f.Kind {
				acted++
			}
		}
	}
	if n := map[bool]int{true: 2, false: max(1, f.Times)}[f.Kind == FaultDuplicate]; acted != n {
		t.Errorf("the fault is on %d attempts", acted)
	}
}

func TestABrokenSignatureWithoutASecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{}
		s := start(t, WithCallbackHandler(rc), WithUnsignedWebhooks(), WithConfirmAfter(-1))
		s.Inject(Fault{Operation: OpWebhook, Kind: FaultBadSignature})
		login(t, s).bookWithCallback("ref", hook)
		synctest.Wait()
		if !signatureForm.MatchString(rc.all()[0].header.Get("X-Platform-Signature")) {
			t.Errorf("%v", rc.all()[0].header)
		}
	})
}

func TestCopiesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived := make(chan struct{}, 2)
		both := make(chan struct{})
		rc := &receiver{answer: func(n int, _ *http.Request) int { arrived <- struct{}{}; <-both; return 200 }}
		s := start(t, WithCallbackHandler(rc), WithConfirmAfter(-1))
		s.Inject(Fault{Operation: OpWebhook, Kind: FaultDuplicate})
		login(t, s).bookWithCallback("ref", hook)
		<-arrived
		<-arrived // while the first is not answered yet
		close(both)
		synctest.Wait()
		a := s.Ledger().Webhooks()[0].Attempts
		if len(a) != 2 || a[0].Copy == a[1].Copy || a[0].Status != 200 || a[1].Status != 200 {
			t.Errorf("%+v", a)
		}
	})
}

func TestWebhookFaultsAreTheirOwn(t *testing.T) {
	for _, bad := range []Fault{
		{Kind: FaultDuplicate}, {Kind: FaultReorder, Operation: OpBook}, {Kind: FaultDrop}, {Kind: FaultBadSignature},
		{Operation: OpWebhook, Kind: FaultCut}, {Operation: OpWebhook, Kind: FaultDelay, Commit: true}, {Operation: OpWebhook, Kind: FaultDelay, Delay: -1},
	} {
		if bad.validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	fs := newFaults(1)
	fs.add(Fault{Kind: FaultDelay})
	if fs.pick(OpWebhook) != nil || fs.pick(OpBook) == nil {
		t.Error("a fault of every operation acts on deliveries, or not on operations")
	}
}

// Many orders whose deliveries meet every fault: each event arrives whole at least
// once, and always under its own id.
func TestManyOrdersWithFaultyDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := strict("sandbox-webhook-secret")
		check := rc.answer
		var mu sync.Mutex
		rng := rand.New(rand.NewPCG(1, 2))
		rc.answer = func(n int, r *http.Request) int {
			mu.Lock()
			defer mu.Unlock()
			if rng.IntN(5) == 0 {
				return 500
			}
			return check(n, r)
		}
		pauses := slices.Repeat([]time.Duration{time.Second}, 50)
		s := start(t, WithoutRateLimits(), WithCallbackHandler(rc), WithConfirmAfter(time.Second), WithWebhookRetryDelays(pauses...))
		for _, kind := range []FaultKind{FaultDuplicate, FaultReorder, FaultBadSignature, FaultDelay} {
			s.Inject(Fault{Operation: OpWebhook, Kind: kind, Times: -1, Probability: 0.2, Delay: 3 * time.Second})
		}
		u := login(t, s)
		in, ids := u.find(nil)
		const orders = 100
		var wg sync.WaitGroup
		for i := range orders {
			wg.Go(func() {
				guests := []object{{"roomIndex": 1, "firstName": "Test", "lastName": fmt.Sprint(i)}}
				in.post(bookPath, booking(fmt.Sprint("ref", i), ids[0], object{"callbackUrl": hook, "guests": guests}))
			})
		}
		wg.Wait()
		time.Sleep(10 * time.Minute)
		whole := map[string][]byte{}
		for _, d := range rc.all() {
			if id := d.header.Get("X-Platform-Event-Id"); signedAt(d, s.WebhookSecret) == 0 {
				continue
			} else if old, ok := whole[id]; ok && !bytes.Equal(old, d.body) {
				t.Errorf("%s stands for two events", id)
			} else {
				whole[id] = d.body
			}
		}
		records := s.Ledger().Webhooks()
		for _, rec := range records {
			if rec.State != WebhookDelivered || !bytes.Equal(whole[rec.EventID], rec.Body) {
				t.Errorf("%+v", rec)
			}
		}
		if len(records) != 3*orders || len(rc.all()) <= 3*orders {
			t.Errorf("%d events, %d deliveries", len(records), len(rc.all()))
		}
	})
}
