package hotelstaystest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// outcome is what the client received for one Book, and what the ledger recorded.
type outcome struct {
	status int // 0: no complete answer
	orders int
	cut    bool
	json   bool // the answer is an envelope
}

func TestFaultKindDecidesTheOrderAndTheAnswerOfBook(t *testing.T) {
	for _, tc := range []struct {
		fault Fault
		want  outcome
	}{
		{Fault{Kind: FaultDelay, Delay: time.Second, Commit: true}, outcome{200, 1, false, true}},
		{Fault{Kind: FaultStatus}, outcome{503, 0, false, true}},
		{Fault{Kind: FaultStatus, Status: 504, Commit: true}, outcome{504, 1, false, true}},
		{Fault{Kind: FaultStatus, Status: 502, Body: []byte("<html>bad gateway</html>")}, outcome{502, 0, false, false}},
		{Fault{Kind: FaultCutBeforeRead}, outcome{0, 0, true, false}},
		{Fault{Kind: FaultCut}, outcome{0, 0, true, false}},
		{Fault{Kind: FaultCut, Commit: true}, outcome{0, 1, true, false}},
		{Fault{Kind: FaultCutMidResponse}, outcome{0, 1, true, false}},
		{Fault{Kind: FaultResetStream}, outcome{0, 0, true, false}},
		{Fault{Kind: FaultResetStream, Commit: true}, outcome{0, 1, true, false}},
		{Fault{Kind: FaultGarbage, Commit: true, Body: []byte("{}")}, outcome{200, 1, false, false}},
		{Fault{Kind: FaultTruncatedBody}, outcome{200, 1, false, false}},
		{Fault{Kind: FaultEmptyBody}, outcome{200, 0, false, false}},
		{Fault{Kind: FaultWrongType, Field: "data.hotelOrder.status"}, outcome{200, 1, false, true}},
		{Fault{Kind: FaultSlowBody, Delay: time.Second}, outcome{200, 1, false, true}},
		{Fault{Kind: FaultSlowBody, BytesPerSecond: 7}, outcome{200, 1, false, true}},
	} {
		for name, config := range map[string]Config{"HTTP/1.1": {}, "HTTP/2.0": {TLS: true}} {
			t.Run(fmt.Sprintf("%s/%s/status=%d/commit=%v", name, tc.fault.Kind, tc.fault.Status, tc.fault.Commit), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { tryFault(t, tc.fault, tc.want, name, config) })
			})
		}
	}
}

func tryFault(t *testing.T, f Fault, want outcome, proto string, config Config) {
	s := start(t, config)
	u := login(t, s).plain()
	in, ids := u.find(nil)
	f.Operation = opBook
	s.Inject(f)
	before := time.Now()
	r, err := in.send(bookPath, booking("ref", ids[0], nil))
	took := time.Since(before)

	recs := s.Ledger().Requests(opBook)
	stopIf(t, len(recs) != 1, "%d requests: %+v", len(recs), recs)
	rec := recs[0]
	got := outcome{orders: len(s.Ledger().Orders()), cut: rec.Cut}
	if err == nil {
		got.status, got.json = r.status, r.code >= 0
		same(t, rec.Status, r.status)
	}
	failIf(t, got != want, "got %+v, want %+v (%v)", got, want, err)
	failIf(t, rec.Fault != f.Kind || rec.Executed != (want.orders == 1) || rec.Proto != proto || rec.Done.IsZero() ||
		(rec.BodySHA256 == "") != (f.Kind == FaultCutBeforeRead), "record %+v", rec)
	least := f.Delay
	if f.BytesPerSecond > 0 {
		least = time.Duration(len(r.body)) * time.Second / time.Duration(f.BytesPerSecond)
	}
	failIf(t, took < least-time.Millisecond || took > least+time.Second, "took %v", took)
	again := in.post(bookPath, booking("ref", ids[0], nil))
	failIf(t, again.code != 0 || len(s.Ledger().Orders()) != 1, "afterwards: %s", again.body)
}

func TestFaultSetsStatusHeadersAndBody(t *testing.T) {
	s := start(t, Config{NoRateLimits: true, ConfirmAfter: AtOnce, VoucherDelay: AtOnce})
	u := &user{t: t, s: s, http: s.Client()}
	s.Inject(Fault{
		Operation: opTicket, Kind: FaultStatus, Status: 429, RetryAfter: "7", Msg: "slow down", Header: http.Header{"x-extra": {"1"}},
	})
	r := u.refused(ticketPath, "{}", 429, types.CodeRateLimited, "slow down")
	failIf(t, r.header.Get("Retry-After") != "7" || r.header.Get("X-Extra") != "1" || r.header.Get("Request-Id") == "", "%v", r.header)
	failIf(t, s.Ledger().RateLimited("") != 0 || s.Ledger().Requests(opTicket)[0].Code != types.CodeRateLimited,
		"the ledger counts an injected 429 as a refusal by the rate limit")
	u = login(t, s).plain()
	s.Inject(Fault{Operation: opQueryOrders, Kind: FaultStatus, Status: 200, Code: 100000999, Msg: "strange"})
	u.refused(queryPath, "{}", 200, 100000999, "strange")
	for status, code := range map[int]int{
		400: types.CodeParam, 401: types.CodeUnauthorized, 403: codeForbidden, 404: types.CodeNotFound, 500: codeUpstream,
	} {
		s.Inject(Fault{Kind: FaultStatus, Status: status})
		u.refused(queryPath, "{}", status, code, http.StatusText(status))
	}
	page, header := []byte("<html>no</html>"), http.Header{"X-Page": {"first"}}
	s.Inject(Fault{Kind: FaultStatus, Status: 403, Body: page, Header: header})
	copy(page, "another") // Inject has copied the body
	header.Set("X-Page", "second")
	html := u.post(queryPath, "{}")
	failIf(t, string(html.body) != "<html>no</html>" || html.header.Get("X-Page") != "first", "%s %v", html.body, html.header)
	failIf(t, html.status != 403 || html.header.Get("Request-Id") != "" || !strings.HasPrefix(html.header.Get("Content-Type"), "text/html"),
		"HTTP %d %v", html.status, html.header)

	_, order := u.book("ref", 0)
	s.Inject(Fault{Operation: OpVoucherDownload, Kind: FaultAlteredBody})
	v := u.must(voucherPath, object{"platformReferenceNo": order.str("hotelOrder", "platformReferenceNo")})
	_, altered := u.download(v.str("voucher", "downloadUrl"))
	_, doc := u.download(v.str("voucher", "downloadUrl"))
	digest := v.str("voucher", "signature", "digest")
	failIf(t, sha256Hex(doc) != digest || len(doc) != len(altered) || sha256Hex(doc) == sha256Hex(altered), "the fault did not alter the voucher exactly once")
	s.Inject(Fault{Kind: FaultStatus, Times: 3})
	s.Inject(Fault{Operation: OpVoucherVerify, Kind: FaultCut, Times: -1})
	u.post(queryPath, "{}")
	got := s.Faults()
	failIf(t, len(got) != 2 || got[0].Times != 2 || got[1].Operation != OpVoucherVerify, "%+v", got)
	s.ClearFaults()
	u.must(queryPath, "{}")
	panics(t, `"Bok" is not an operation`, func() { s.Inject(Fault{Operation: "Bok", Kind: FaultCut}) })
}

func TestFirstMatchingFaultActs(t *testing.T) {
	fs := newFaults(1)
	draw := func(op Operation, n int) string {
		out := ""
		for range n {
			if f := fs.pick(op); f != nil {
				out += string(f.Kind[0])
			} else {
				out += "."
			}
		}
		return out
	}
	fs.add(Fault{Operation: opBook, Kind: FaultCut, Skip: 2, Times: 2})
	fs.add(Fault{Kind: FaultStatus, Times: 3})
	same(t, draw(opCancel, 1)+draw(opBook, 6), "ssscc..")
	fs.add(Fault{Kind: FaultGarbage, Times: -1, Probability: 0.3})
	if n := strings.Count(draw(opBook, 1000), "g"); n < 230 || n > 370 {
		t.Errorf("a fault with probability 0.3 acted on %d of 1000 requests", n)
	}
	fs.remove(func(injectedFault) bool { return true })
	same(t, draw(opBook, 3), "...")
	fs.add(Fault{Kind: FaultDelay})
	failIf(t, fs.pick(OpWebhook) != nil || fs.pick(opBook) == nil,
		"a fault without an operation acts on deliveries, or does not act on Book")
	draws := func() string {
		fs.reset(5)
		fs.add(Fault{Kind: FaultCut, Times: -1, Probability: 0.5})
		return draw(opBook, 100)
	}
	first := draws()
	failIf(t, draws() != first, "with the same seed, the fault acts on different requests")
}

func TestFaultWithAReferenceActsOnlyOnItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{}
		s := start(t, Config{Webhooks: WebhookConfig{CallbackHandler: rc}, ConfirmAfter: time.Minute, NoRateLimits: true})
		u := login(t, s)
		in, ids := u.find(nil)
		s.Inject(Fault{Operation: opQueryOrders, Kind: FaultStatus, Times: 2, Reference: "ref"})
		s.Inject(Fault{Operation: OpWebhook, Kind: FaultDrop, Skip: 1, Reference: "ref"})
		s.Inject(Fault{Operation: opCancel, Kind: FaultCut, Commit: true, Reference: "ref"})
		order := in.must(bookPath, booking("ref", ids[0], object{"callbackUrl": hook}))
		other := in.must(bookPath, booking("other", ids[len(ids)-1], object{"callbackUrl": hook}))
		query := func(refs ...string) int { return u.post(queryPath, object{"customerReferenceNos": refs}).status }
		u.must(queryPath, "{}")
		many := []string{"other"}
		for i := range 5000 { // the body becomes longer than the part that the ledger keeps
			many = append(many, fmt.Sprint("none-", i))
		}
		same(t, fmt.Sprint(query("other"), query("ref"), query(append(many, "ref")...), query("ref")), "200 503 503 200")
		s.Inject(Fault{Operation: opOrderVoucher, Kind: FaultStatus, Reference: "PO000000002"})
		voucher := func(name, ref string) int { return u.post(voucherPath, object{name: ref}).status }
		same(t, fmt.Sprint(voucher("customerReferenceNo", "ref"), voucher("platformReferenceNo", "PO000000002")), "200 503")
		s.Inject(Fault{Operation: OpWebhook, Kind: FaultDrop, Reference: "PO000000002", Skip: 1})
		time.Sleep(2 * time.Minute)
		var states []string
		for _, w := range s.Ledger().WebhooksFor("ref") {
			states = append(states, string(w.State))
		}
		got := strings.Join(states, " ")
		failIf(t, got != "delivered dropped delivered" || len(rc.all()) != 4, "%s, %d deliveries", got, len(rc.all()))
		in.must(cancelPath, cancellation("other", other))
		_, err := in.send(cancelPath, cancellation("ref", order))
		failIf(t, err == nil || len(s.Ledger().Cancellations()) != 2, "%v, %+v", err, s.Ledger().Cancellations())
		failIf(t, len(s.Faults()) != 0, "%+v", s.Faults())
	})
}

func TestFaultWrongTypeReplacesTheValueAtItsPath(t *testing.T) {
	body := []byte(`{"code":0,"data":{"list":[{"rating":4.5,"id":"x"}]}}`)
	for path, want := range map[string]string{
		"":                   `{"code":0,"data":"of the wrong type"}`,
		"code":               `{"code":"of the wrong type","data":{"list":[{"rating":4.5,"id":"x"}]}}`,
		"data.list.0.rating": `{"code":0,"data":{"list":[{"rating":"of the wrong type","id":"x"}]}}`,
		"data.list.0.id":     `{"code":0,"data":{"list":[{"rating":4.5,"id":{"unexpected":true}}]}}`,
		"data.list.5.id":     string(body),
		"data.list.x.id":     string(body),
		"data.none.id":       string(body),
		"code.none":          string(body),
	} {
		var got, wanted any
		err := errors.Join(json.Unmarshal(wrongType(body, path), &got), json.Unmarshal([]byte(want), &wanted))
		failIf(t, err != nil || !reflect.DeepEqual(got, wanted), "%s: %v, want %v (%v)", path, got, wanted, err)
	}
}
