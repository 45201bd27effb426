// Faults that a Test header asks for.

package hotelstaystest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestTriggers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := controlled(t, Config{NoRateLimits: true})
		u := login(t, s)
		in, ids := u.find(nil)
		s.Inject(Fault{Kind: FaultGarbage, Times: 1}) // stays for a request without trigger
		n := 0
		book := func(test string) (*reply, error) {
			n++
			return in.header("Test", test).send(bookPath, booking(fmt.Sprint(n), ids[0], guests("Guest", fmt.Sprint(n))))
		}
		orders := func() int { return len(s.Ledger().Orders()) }
		if _, err := book("sandbox.fault=cut"); err == nil || orders() != 0 {
			t.Errorf("cut: %v, %d orders", err, orders())
		}
		if _, err := book("sandbox.fault=cut,commit"); err == nil || orders() != 1 {
			t.Errorf("cut,commit: %v, %d orders", err, orders())
		}
		began := time.Now()
		r, err := book("sandbox.fault=status,status=429,retryAfter=7,msg=slow down,code=5,delay=2s")
		failIf(t, err != nil || r.status != 429 || r.header.Get("Retry-After") != "7" || r.msg != "slow down" || r.code != 5 ||
			time.Since(began) != 2*time.Second, "%v, %+v", err, r)
		if r, err := book("sandbox.fault=wrong-type,field=data.hotelOrder.status"); err != nil || orders() != 2 ||
			!strings.Contains(string(r.body), `"status":"of the wrong type"`) {
			t.Errorf("%v, %s", err, r.body)
		}
		if r := in.header("Test", "sandbox.fault=empty-body").post(listPath, search(s, nil)); r.status != 200 || len(r.body) != 0 {
			t.Errorf("%s", r.body)
		}
		in.header("Test", "true").post(bookPath, "{}") // meets the injected fault
		for _, harmless := range []string{"true", "", "sandboxed", "Sandbox.fault=cut"} {
			r, err := book(harmless)
			failIf(t, err != nil || r.code != 0, "%q: %v, %+v", harmless, err, r)
		}
		recs := s.Ledger().Requests(types.OpBook)
		got := recs[1]
		failIf(t, got.Fault != FaultCut || !got.Cut || !got.Executed, "%+v", got)
	})
}

func TestTriggersForLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{}
		s, _ := controlled(t, Config{Webhooks: WebhookConfig{CallbackHandler: rc}, ConfirmAfter: time.Minute, NoRateLimits: true})
		u := login(t, s)
		in, ids := u.find(nil)
		tested := in.header("Test",
			"sandbox.later=QueryOrders:status,times=2; sandbox.later=Webhook:drop,skip=1; sandbox.later=Cancel:cut,commit")
		order := tested.must(bookPath, booking("ref", ids[0], object{"callbackUrl": hook}))
		other := in.must(bookPath, booking("other", ids[len(ids)-1], object{"callbackUrl": hook}))
		query := func(refs ...string) int { return u.post(queryPath, object{"customerReferenceNos": refs}).status }
		u.must(queryPath, "{}")
		many := []string{"other"}
		for i := range 5000 { // more than the journal reads
			many = append(many, fmt.Sprint("none-", i))
		}
		same(t, fmt.Sprint(query("other"), query("ref"), query(append(many, "ref")...), query("ref")), "200 503 503 200")
		s.Inject(Fault{Operation: types.OpOrderVoucher, Kind: FaultStatus, Reference: "PO000000002"})
		voucher := func(name, ref string) int { return u.post(voucherPath, object{name: ref}).status }
		same(t, fmt.Sprint(voucher("customerReferenceNo", "ref"), voucher("platformReferenceNo", "PO000000002")), "200 503")
		s.Inject(Fault{Operation: OpWebhook, Kind: FaultDrop, Reference: "PO000000002", Skip: 1})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		var states []string
		for _, w := range s.Ledger().WebhooksFor("ref") {
			states = append(states, string(w.State))
		}
		got := strings.Join(states, " ")
		failIf(t, got != "delivered dropped delivered" || len(rc.all()) != 4, "%s, %d deliveries", got, len(rc.all()))
		in.must(cancelPath, cancellation("other", other))
		_, err := in.send(cancelPath, cancellation("ref", order))
		failIf(t, err == nil || len(s.Ledger().Cancellations()) != 2, "%v, %+v", err, s.Ledger().Cancellations())
		tested.refused(bookPath, booking("refused", "nothing", nil), 400, types.CodeParam, "not an offer")
		left := s.faults.all()
		failIf(t, len(left) != 0, "%+v", left)
	})
}

func TestMalformedTriggers(t *testing.T) {
	s, _ := controlled(t, Config{NoRateLimits: true})
	in, ids := login(t, s).find(nil)
	for value, want := range map[string]string{
		"sandbox.":                                   "not a trigger",
		"sandbox.fault":                              "unknown fault kind",
		"sandbox.fault=cuts":                         `unknown fault kind "cuts"`,
		"sandbox.fault=cut,times=2":                  "no times",
		"sandbox.fault=cut,skip=1":                   "no skip",
		"sandbox.fault=cut,delay=soon":               `delay has the malformed value "soon"`,
		"sandbox.fault=cut,commit=maybe":             "commit",
		"sandbox.fault=cut,body=x":                   `unknown field "body"`,
		"sandbox.fault=cut;sandbox.fault=cut":        "once",
		"sandbox.fault=cut;":                         "not a trigger",
		"sandbox.later=cut":                          "unknown fault kind",
		"sandbox.later=:cut":                         "needs one of the operations",
		"sandbox.later=QueryOrders:status,times=-2":  "times",
		"sandbox.fault=cut;sandbox.later=Book:wrong": "unknown fault kind",
	} {
		r := in.header("Test", value).refused(bookPath, booking("ref", ids[0], nil), 400, types.CodeParam, want)
		failIf(t, !strings.Contains(r.msg, "header Test: "), "%s: %s", value, r.msg)
	}
	in.header("Test", "sandbox.later=QueryOrders:cut").refused(listPath, search(s, nil), 400, types.CodeParam, "not a trigger of HotelList")
	in.header("Test", "sandbox.fault=cut").refused(queryPath, "{}", 400, types.CodeParam, "takes no header")
	failIf(t, len(s.Ledger().Orders()) != 0 || len(s.faults.all()) != 0, "a malformed trigger acted")
}
