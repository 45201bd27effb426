package hotelstaystest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type listening struct {
	body  io.ReadCloser
	lines *bufio.Scanner
}

// streamed is an event or a comment of a stream. A comment sets only the field comment.
type streamed struct{ id, event, data, comment string }

func (c *controller) listen(query, lastEventID string) *listening {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), "GET", c.s.URL+"/_sandbox/events"+query, nil)
	stopIf(c.t, err != nil, "%v", err)
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	resp, err := c.s.Client().Do(req)
	stopIf(c.t, err != nil, "%v", err)
	stopIf(c.t, resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream",
		"HTTP %d, %v", resp.StatusCode, resp.Header)
	l := &listening{resp.Body, bufio.NewScanner(resp.Body)}
	l.lines.Buffer(nil, 1<<20)
	return l
}

// next returns the next event. At the end of the stream it returns an empty event.
func (l *listening) next() (e streamed) {
	for l.lines.Scan() {
		line := l.lines.Text()
		if line == "" {
			return e
		}
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.event = value
		case "data":
			e.data = value
		case "":
			e.comment = value
		}
	}
	return streamed{}
}

// until returns the events up to the first event of this kind.
func (l *listening) until(kind string) (events []streamed) {
	for {
		e := l.next()
		if e == (streamed{}) {
			return nil
		}
		if e.comment == "" {
			events = append(events, e)
		}
		if e.event == kind {
			return events
		}
	}
}

func TestEventStreamSendsEntriesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{}
		s, c := controlled(t, Config{Webhooks: WebhookConfig{CallbackHandler: rc}})
		l := c.listen("", "")
		defer l.body.Close()
		if got := l.next(); got.comment == "" {
			t.Errorf("%+v", got)
		}
		u := login(t, s)
		u.bookWithCallback("ref", hook)
		s.Inject(Fault{Kind: FaultStatus})
		u.post(queryPath, "{}")
		s.Advance(time.Hour)
		synctest.Wait() // waits until the stream has read all entries, because Reset drops unread entries
		reset := time.Now()
		s.Reset()
		events := l.until("reset")
		took := time.Since(reset)
		failIf(t, took > 0, "the stream sent the reset only after %v", took)
		last := int64(0)
		kinds := map[string]bool{}
		for _, e := range events {
			var entry Entry
			err := json.Unmarshal([]byte(e.data), &entry)
			failIf(t, err != nil || fmt.Sprint(entry.Seq) != e.id || string(entry.Kind) != e.event ||
				entry.Seq <= last, "%v in %+v after %d", err, e, last)
			last = entry.Seq
			kinds[e.event] = true
		}
		failIf(t, len(kinds) != 6, "%v", kinds)
		began := time.Now()
		if got := l.next(); got.comment == "" || time.Since(began) > heartbeat {
			t.Errorf("%+v after %v", got, time.Since(began))
		}
	})
}

func TestEventStreamContinuesAfterTheGivenEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := controlled(t)
		for range 3 {
			s.Inject(Fault{Kind: FaultCut})
			s.Advance(time.Second)
		}
		s.Reset() // makes entry 7
		first := func(query, lastEventID string) string {
			l := c.listen(query, lastEventID)
			defer l.body.Close()
			l.next()
			synctest.Wait()
			s.Inject(Fault{Kind: FaultCut}) // makes entries 8, 9 and so on; the ledger keeps only the last entry of kind faults
			return l.next().id
		}
		for _, tc := range []struct{ query, last, want string }{
			{"", "", "7"}, {"?after=6", "", "7"}, {"?after=7", "", "9"}, {"?after=1", "10", "11"}, {"?after=99999", "", "7"}, {"", "99999", "7"},
		} {
			same(t, first(tc.query, tc.last), tc.want, tc)
		}
		c.refused("GET", "/_sandbox/events?after=-1", nil, 400, "after", "integer")
		c.with(header("Last-Event-ID", "x")).refused("GET", "/_sandbox/events", nil, 400, "Last-Event-ID", "id of an event")
	})
}

func TestCloseEndsEventStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := controlled(t)
		var open []*listening
		for range 20 {
			open = append(open, c.listen("", ""))
		}
		open[0].body.Close()
		synctest.Wait()
		began := time.Now()
		s.Close()
		for _, l := range open[1:] {
			same(t, len(l.until("none")), 0)
		}
		failIf(t, time.Since(began) > 0, "closing took %v", time.Since(began))
	})
}

// 101 entries are left of 152: the ledger keeps one entry of kind clock, and replaces the entry of a changed webhook.
func TestPagesOfTheLedgerContainEachEntryOnce(t *testing.T) {
	l := newLedger(200, new(clock), nil)
	var recs []*record
	for i := range 50 {
		recs = append(recs, l.addWebhook(Webhook{EventID: fmt.Sprint(i)}))
		l.note(EntryClock)
		l.logOrder(new(record), LedgerOrder{}, time.Time{})
	}
	l.updateWebhook(recs[1], func(w *Webhook) { w.State = WebhookDelivered })
	l.updateWebhook(recs[30], func(w *Webhook) { w.State = WebhookDelivered })
	all := l.Entries(0)
	for _, size := range []int{1, 7, 1000} {
		var got []int64
		for after := int64(0); ; after = got[len(got)-1] {
			page, _ := l.read(after, size)
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				got = append(got, e.Seq)
			}
		}
		failIf(t, len(got) != 101 || len(all) != 101 || !slices.IsSorted(got) || got[100] != 152, "pages of %d: %d", size, got)
	}
}
