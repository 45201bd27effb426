// A transport and a webhook handler send exchanges to the judge through a queue. The function Test makes a judge without a queue.

package judge

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// Dropped returns how many exchanges were not judged, because the queue was full, or because the body of the answer was not read
// to its end or was too long.
func (j *Judge) Dropped() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dropped
}

// Wait returns when the queue is empty.
func (j *Judge) Wait() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.working {
		j.idle.Wait()
	}
}

func (j *Judge) take(ex Exchange) {
	if j.inline {
		j.report(ex)
		return
	}
	size := len(ex.Body) + len(ex.RequestBody)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.queued+size > j.opts.MaxQueued {
		j.dropped++
		return
	}
	j.queue, j.queued = append(j.queue, ex), j.queued+size
	if !j.working {
		j.working = true
		go j.work()
	}
}

func (j *Judge) work() {
	for {
		j.mu.Lock()
		if len(j.queue) == 0 {
			j.working = false
			j.idle.Broadcast()
			j.mu.Unlock()
			return
		}
		ex := j.queue[0]
		j.queue[0] = Exchange{}
		j.queue, j.queued = j.queue[1:], j.queued-len(ex.Body)-len(ex.RequestBody)
		j.mu.Unlock()
		j.report(ex)
	}
}

func (j *Judge) report(ex Exchange) {
	for _, f := range j.Look(ex).Findings {
		if j.opts.OnFinding != nil {
			j.opts.OnFinding(f)
		}
	}
}

// sampled reports whether an exchange is judged. Calls about tokens and orders are always judged. The sample consists of
// sessions: all other calls of a session are judged, or all of them are skipped.
func (j *Judge) sampled(op types.Operation, session, body string) bool {
	switch op {
	case "", "Ticket", "OAuthToken", "Book", "Cancel", "QueryOrders", "OrderVoucher":
		return true
	}
	return float64(j.memory.key(cmp.Or(session, body))>>11)/(1<<53) < j.opts.Sample
}

// maxBody is the maximum size of a judged body in bytes.
const maxBody = 16 << 20

// Transport returns a RoundTripper that sends requests with next, and judges the answers. The RoundTripper is not an
// *http.Transport. So a client cannot check to which IP address it connects when it downloads a voucher.
func (j *Judge) Transport(next http.RoundTripper) http.RoundTripper { return transport{j, next} }

type transport struct {
	*Judge
	next http.RoundTripper
}

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ex := Exchange{URL: req.URL.String(), Request: req.Header.Clone()}
	op := types.OperationAt(req.URL.Path)
	if op == "" && !t.linked(ex.URL) {
		return t.next.RoundTrip(req)
	}
	if req.Body != nil && req.Body != http.NoBody {
		body, err := io.ReadAll(req.Body)
		if _ = req.Body.Close(); err != nil {
			return nil, err
		}
		ex.RequestBody = body
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil || resp.Header.Get("Content-Encoding") != "" {
		return resp, err
	}
	if !t.sampled(op, cmp.Or(ex.Request.Get("Session-Id"), resp.Header.Get("Session-Id")), string(ex.RequestBody)) {
		return resp, err
	}
	ex.Status, ex.Header = resp.StatusCode, resp.Header.Clone()
	resp.Body = &copied{ReadCloser: resp.Body, judge: t.Judge, ex: ex}
	return resp, nil
}

// linked reports whether a URL is a link to a document that an earlier answer contained.
func (j *Judge) linked(url string) bool {
	j.looking.Lock()
	defer j.looking.Unlock()
	return recall[link](j.memory, "link", url) != nil
}

// copied is a body that keeps a copy of the bytes that were read. At the end of the body, copied passes the exchange to the judge.
type copied struct {
	io.ReadCloser
	judge *Judge
	ex    Exchange
	done  bool
}

func (c *copied) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if len(c.ex.Body) <= maxBody {
		c.ex.Body = append(c.ex.Body, p[:n]...)
	}
	if err == io.EOF && !c.done && len(c.ex.Body) <= maxBody {
		c.done, c.ex.Time = true, time.Now()
		if c.ex.Event {
			c.ex.RequestBody, c.ex.Body = c.ex.Body, nil
		}
		c.judge.take(c.ex)
	}
	return n, err
}

func (c *copied) Close() error {
	if !c.done {
		c.done = true
		c.judge.mu.Lock()
		c.judge.dropped++
		c.judge.mu.Unlock()
	}
	return c.ReadCloser.Close()
}

// Webhook returns a handler that passes events on to next. It judges an event after next has read the event's body.
func (j *Judge) Webhook(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ex := Exchange{URL: req.URL.String(), Request: req.Header.Clone(), Event: true}
		req = req.Clone(req.Context())
		req.Body = &copied{ReadCloser: req.Body, judge: j, ex: ex}
		defer func() { _ = req.Body.Close() }()
		next.ServeHTTP(w, req)
	})
}

// testingT is the part of testing.TB that Test uses.
type testingT interface {
	Helper()
	Errorf(format string, args ...any)
}

// Test returns a Judge that judges each answer as soon as the answer's body was read. The Judge fails t for each violation.
func Test(t testingT) *Judge {
	t.Helper()
	j := New(&Options{OnFinding: func(f Finding) {
		if f.Grade == Violation {
			t.Errorf("%s %s: %s: %s: expected %s, got %s", f.Operation, f.Name, f.Promise, f.Path, f.Want, f.Type)
		}
	}})
	j.inline = true
	return j
}
