package hotelstaystest

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
)

func TestUpdateOfARecordLeavesEarlierEntriesUnchanged(t *testing.T) {
	l := newLedger(10, new(clock), nil)
	rec := l.addWebhook(Webhook{Attempts: []WebhookAttempt{{Status: 1}}})
	before := rec.last.Webhook
	l.updateWebhook(rec, func(w *Webhook) { w.State, w.Attempts[0].Status = WebhookDelivered, 2 })
	failIf(t, before.State != "" || before.Attempts[0].Status != 1 || rec.last.Webhook.Attempts[0].Status != 2,
		"the update changed the earlier entry %+v to %+v", before, rec.last.Webhook)
}

func TestLedgerReturnsCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{Webhooks: WebhookConfig{CallbackHandler: &receiver{}}, Control: ControlConfig{Enabled: true}})
		login(t, s).bookWithCallback("ref", hook)
		synctest.Wait()
		content := func() string {
			text := fmt.Sprintf("%+v %+v", s.Ledger().Requests(""), s.Ledger().Webhooks())
			for _, e := range s.Ledger().Entries(0) {
				if e.Order != nil {
					text += fmt.Sprintf(" %+v", *e.Order)
				}
			}
			return text
		}
		want := content()
		w := s.Ledger().Webhooks()[0]
		w.Body[0], w.Attempts[0].Status = 'x', 1
		for _, e := range s.Ledger().Entries(0) {
			switch {
			case e.Request != nil:
				e.Request.Status = 0
				e.Request.References = append(e.Request.References[:0], "changed")
				e.Request.Header.Set("Content-Type", "changed")
			case e.Order != nil:
				e.Order.History[0].Status = 9
			case e.Webhook != nil:
				e.Webhook.Body[0], e.Webhook.Attempts[0].Status = 'x', 1
			}
		}
		same(t, content(), want)
	})
}

// liveHeap collects garbage twice, because a sync.Pool keeps its values for one collection.
func liveHeap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestEventLogCountsTheBytesOfItsEntries(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	l := newLedger(10, new(clock), nil)
	rec := l.arrive(opBook, &http.Request{URL: must(url.Parse("/")), Header: http.Header{"X-Long": {long}}}, "")
	for range 3 { // each update replaces the entry
		l.updateRequest(rec, func(r *Request) { r.Body, r.Answer = long, long })
	}
	l.logOrder(new(record), LedgerOrder{CallbackURL: long}, time.Time{})
	l.addWebhook(Webhook{Body: []byte(long)})
	failIf(t, l.log.bytes < 5*len(long) || l.log.bytes > 6*len(long), "%d bytes", l.log.bytes)
}

func TestAnswerAddsADroppedRequestToTheEventLogAgain(t *testing.T) {
	l := newLedger(2, new(clock), nil)
	arrive := func() *record {
		return l.arrive(opBook, &http.Request{URL: must(url.Parse("/")), Header: http.Header{}}, "")
	}
	first := arrive()
	for range 5 {
		arrive()
	}
	l.updateRequest(first, func(r *Request) { r.Status = 200 })
	got := l.Requests("")
	failIf(t, len(got) != 2 || got[0].Seq != 1 || got[0].Status != 200 || got[1].Seq != 6, "%+v", got)
	failIf(t, l.log.bytes > 2*bytesPerLimit || l.Dropped() != 5, "%d bytes, %d dropped", l.log.bytes, l.Dropped())
}

func TestFullEventLogDropsTheOldestEntryOfAnyKind(t *testing.T) {
	l := newLedger(math.MaxInt, new(clock), nil)
	failIf(t, l.log.maxBytes < 1<<40, "at most %d bytes", l.log.maxBytes)
	l.log.maxBytes = 2500
	for i := range 3 {
		l.logOrder(new(record), LedgerOrder{CustomerReferenceNo: fmt.Sprint(i)}, time.Time{})
		l.addWebhook(Webhook{EventID: fmt.Sprint(i)})
	}
	entries := l.Entries(0)
	failIf(t, len(entries) != 4 || entries[0].Seq != 3 || entries[0].Order.CustomerReferenceNo != "1" || l.Dropped() != 2,
		"%d entries, the first %+v", len(entries), entries[0])
}

// The server keeps bodies, sends webhooks and streams events. With HOTELSTAYS_LONG=1 the test books once per second for a
// whole day.
func TestMemoryPerOrderIsBounded(t *testing.T) {
	const limit, perOrder, pools = 30, 4 << 10, 128 << 10 // bytes
	books := testsize.Of(t, "bookings", 24*3600, 70, 70)
	synctest.Test(t, func(t *testing.T) {
		received := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		s, c := controlled(t, Config{Webhooks: WebhookConfig{CallbackHandler: received}, LedgerLimit: limit})
		l := c.listen("", "")
		defer l.body.Close()
		go l.follow(t)
		u := login(t, s)
		in, ids := u.find(nil)
		used := func() int {
			synctest.Wait()
			return liveHeap()
		}
		book := func(n int) {
			ref := fmt.Sprint("ref-", n)
			body := booking(ref, ids[0], guests("Guest", ref))
			body["callbackUrl"] = hook
			in.must(bookPath, body)
			time.Sleep(time.Second)
		}
		const first = 30 // number of orders that fill the log
		for n := range first {
			book(n)
		}
		before := used()
		for n := range books {
			if n%36_000 == 0 {
				in = in.with(u.ticket(s.AppKey, s.AppSecret))
			}
			book(first + n)
		}
		if grown := used() - before; grown > books*perOrder+pools {
			t.Errorf("%d orders took %d bytes", books, grown)
		} else {
			t.Logf("%d bytes per order", grown/books)
		}
		var ledger struct{ Orders, Dropped int }
		c.must("GET", "/_sandbox/ledger", nil, &ledger)
		failIf(t, ledger.Orders != first+books || ledger.Dropped == 0 || s.ledger.log.bytes > limit*bytesPerLimit,
			"%+v, %d bytes of log", ledger, s.ledger.log.bytes)
	})
}

func TestLedgerHashesTheHeadersThatHoldSecrets(t *testing.T) {
	s, u := open(t)
	u.header("Trace-Id", "t").header("Cookie", "not-a-cookie").header("Proxy-Authorization", "not-a-proxy").must(destinationsPath, "{}")
	got := s.Ledger().Requests("Destinations")[0]
	for _, secret := range []string{u.token, "not-a-cookie", "not-a-proxy"} {
		failIf(t, strings.Contains(fmt.Sprint(got), secret), "the ledger shows %s", secret)
	}
	failIf(t, got.Header.Get("Trace-Id") != "t" || got.TraceID != "t" || !strings.HasPrefix(got.Header.Get("Authorization"), "sha256:") ||
		got.BodySHA256 != sha256Hex([]byte("{}")) || got.Status != 200 || !got.Executed, "%+v", got)
}
