// Package judge compares the answers of a service with its document, while a client uses it.
//
//	j := judge.New(&judge.Options{OnFinding: func(f judge.Finding) { slog.Warn("hotelstays", "finding", f) }})
//	client, err := hotelstays.New(baseURL, cred,
//		hotelstays.WithHTTPClient(&http.Client{Transport: j.Transport(hotelstays.NewTransport())}))
//	http.Handle("/events", j.Webhook(handler))
//
// It judges the form of each answer, also of failures, and what an answer has to do with its request and with
// earlier answers: currency, dates, references, pages, order, sums. Calls do not wait for it: it judges copies, one after
// another, in one goroutine that ends when there is nothing left. In tests use [Test].
//
// A [Finding] names a rule, a place and a JSON type. It has no value of an answer, and so no secret, no name and no price.
package judge

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// Options are optional.
type Options struct {
	// OnFinding, if set, is called for each finding, one at a time.
	OnFinding func(Finding)
	// Sample is the share of sessions that are judged. The default is 1, all. Ticket, OAuthToken, Book, Cancel, QueryOrders
	// and OrderVoucher are always judged.
	Sample float64
	// MaxQueued is how many bytes may wait to be judged. The default is 32 MiB. What is above is dropped and counted.
	MaxQueued int
	// MemoryAge is how long earlier answers are remembered. The default is 2 hours.
	MemoryAge time.Duration
	// MaxRemembered is how many hotels, offers, orders and so on are remembered. The default is 100000.
	MaxRemembered int
}

// Judge looks at exchanges. It is safe for concurrent use.
type Judge struct {
	opts   Options
	inline bool

	mu      sync.Mutex // of what follows
	queue   []Exchange
	queued  int // bytes
	dropped int
	working bool
	idle    *sync.Cond

	looking sync.Mutex // of what follows
	memory  *memory
	asked   document
	told    document
}

// New returns a Judge. opts may be nil.
func New(opts *Options) *Judge {
	j := &Judge{}
	if opts != nil {
		j.opts = *opts
	}
	j.opts.Sample = cmp.Or(j.opts.Sample, 1)
	j.opts.MaxQueued = cmp.Or(j.opts.MaxQueued, 32<<20)
	j.memory = newMemory(cmp.Or(j.opts.MemoryAge, 2*time.Hour), cmp.Or(j.opts.MaxRemembered, 100_000))
	j.idle = sync.NewCond(&j.mu)
	return j
}

// Finding is what an answer has against it.
type Finding struct {
	Rule
	// Operation is "" for an event.
	Operation types.Operation `json:"operation,omitempty"`
	Time      time.Time       `json:"time"`
	// Path is the first place, such as data.list[3].rating.
	Path string `json:"path"`
	// Want is what was expected there, and Type the JSON type of what came.
	Want string `json:"want"`
	Type string `json:"type"`
	// More counts further places of the answer.
	More int `json:"more,omitempty"`
}

// Exchange is a request and its answer. Of a webhook it has the request alone, and Event is set.
type Exchange struct {
	Time        time.Time // when the answer had arrived
	URL         string
	Request     http.Header
	RequestBody []byte
	Status      int
	Header      http.Header
	Body        []byte
	Event       bool
}

// Judgement is what came out of an exchange.
type Judgement struct {
	Findings []Finding
	// Tried are the names of the rules that the exchange said something about.
	Tried map[string]bool
}

// exam is the judgement of one exchange.
type exam struct {
	Exchange
	*Judge
	op       types.Operation
	formRule string // the rule of the form
	asked    value
	session  string
	sources  map[string][]string
	Judgement
	places map[string]int // findings by rule and path without indexes
	last   string         // the rule tried last
}

// is notes whether a rule holds for a value; "": that of the form.
func (x *exam) is(rule string, ok bool, v value, want string) bool {
	if rule == "" {
		rule = x.formRule
	}
	if x.tries(rule); !ok {
		x.found(rule, v.path(), v.kind().String(), want)
	}
	return ok
}

// has notes whether a rule holds for a header or for the answer as a whole.
func (x *exam) has(rule string, ok bool, what, want string) {
	if x.tries(rule); !ok {
		x.found(rule, what, "string", want)
	}
}

func (x *exam) tries(rule string) {
	if rule != x.last {
		x.last, x.Tried[rule] = rule, true
	}
}

func (x *exam) found(rule, at, kind, want string) {
	place := rule + " " + strings.Map(func(c rune) rune {
		if '0' <= c && c <= '9' {
			return -1
		}
		return c
	}, at)
	if n, known := x.places[place]; known {
		x.Findings[n].More++
		return
	}
	x.places[place] = len(x.Findings)
	for _, r := range rules {
		if r.Name == rule {
			x.Findings = append(x.Findings, Finding{Rule: r, Operation: x.op, Time: x.Time, Path: at, Want: want, Type: kind})
		}
	}
}

func path(url string) string { before, _, _ := strings.Cut(url, "?"); return before }

// Look judges an exchange at once.
func (j *Judge) Look(ex Exchange) Judgement {
	j.looking.Lock()
	defer j.looking.Unlock()
	x := &exam{Exchange: ex, Judge: j, op: types.OperationAt(path(ex.URL)), sources: map[string][]string{}, places: map[string]int{},
		Judgement: Judgement{Tried: map[string]bool{}}}
	document := recall[link](j.memory, "link", ex.URL)
	switch {
	case ex.Event:
		x.op, x.formRule = "", formRules["Event"]
		x.has("webhook/agent", strings.HasSuffix(ex.Request.Get("User-Agent"), "-webhook/1.0"), "User-Agent", "…-webhook/1.0")
		if j.told.read(ex.RequestBody); x.is("", j.told.root().kind() == object, j.told.root(), "an object") {
			x.form(forms["Event"], j.told.root(), false)
		}
	case document != nil && ex.Status == http.StatusOK:
		x.has("voucher/download", hexed(ex.Body) == document.digest, "the document", "the bytes of signature.digest")
	case x.op != "" && x.op != "HotelIDList":
		j.asked.read(ex.RequestBody)
		x.asked = j.asked.root()
		x.answer()
	}
	j.asked.text, j.told.text = nil, nil // they are the caller's
	return x.Judgement
}

// answer judges the answer of an operation.
func (x *exam) answer() {
	j := x.Judge
	isJSON := j.told.read(x.Body)
	root := j.told.root()
	code, coded := root.get("code").int()
	if x.op == "OAuthToken" { // may come without an envelope
		return
	}
	success := x.Status/100 == 2 && (!coded || code == 0)
	x.limits(success, code)
	if x.Status >= http.StatusInternalServerError {
		x.has("errors/unlisted", x.Status == http.StatusGatewayTimeout && (x.op == "Book" || x.op == "Cancel"), "HTTP status", "a documented one")
		return
	}
	msg, data := root.get("msg"), root.get("data")
	token := strings.TrimPrefix(x.Request.Get("Authorization"), "Bearer ")
	known := recall[life](x.memory, "life", token)
	if !success {
		x.is("envelope/failure", isJSON && coded && code != 0, root.get("code"), "a code other than 0")
		x.is("envelope/failure", msg.kind() == text, msg, "a msg")
		x.is("envelope/failure", data.kind() <= null || data.len() == 0 && data.kind() != number, data, "no data")
		x.failure(code)
		x.has("ticket/kept", known == nil || x.Status != http.StatusUnauthorized || x.Time.Sub(known.from) > known.ttl-2*time.Second,
			"HTTP status", "a success: the ticket has not ended")
		return
	}
	media, _, _ := strings.Cut(x.Header.Get("Content-Type"), ";")
	x.has("envelope/success", strings.EqualFold(strings.TrimSpace(media), "application/json"), "Content-Type", "application/json")
	x.is("envelope/success", isJSON && coded, root.get("code"), "code 0")
	x.is("envelope/success", msg.kind() == text, msg, "a msg")
	x.has("envelope/success", x.Status == http.StatusOK, "HTTP status", "200")
	x.is("envelope/success", data.kind() == object, data, "an object")
	x.has("auth/anonymous", token != "" || x.op == "Ticket", "HTTP status", "a refusal: there is no token")
	x.has("ticket/ended", known == nil || x.op == "Ticket" || x.Time.Sub(known.from) < known.ttl+time.Minute, "HTTP status",
		"a refusal: the ticket has ended")
	x.session = x.Request.Get("Session-Id")
	if x.op == "HotelList" {
		x.has("headers/session-id", x.Header.Get("Session-Id") != "", "Session-Id", "a session")
		x.session = cmp.Or(x.Header.Get("Session-Id"), data.get("basic", "sessionId").str())
	}
	if x.formRule = formRules[string(x.op)]; data.kind() == object {
		x.form(forms[string(x.op)], data, false)
	}
}

// failure judges codes and statuses.
func (x *exam) failure(code int) {
	x.has("errors/codes", code != 100_001_112 && (code != types.CodeRateChanged || x.op != "CheckAvail"), "code", "another code")
	orders := x.op == "OrderVoucher" || x.op == "Cancel"
	own := map[int]types.Operation{types.CodeDuplicateBooking: "Book", types.CodeRateChanged: "Book", types.CodeVoucherTooLarge: "OrderVoucher",
		types.CodeAmbiguousReference: "OrderVoucher"}[code]
	listed := x.Status/100 == 2 || x.Status == 400 || x.Status == 401 || x.Status == 403 || x.Status == 429 || x.Status == 404 && orders
	x.has("errors/unlisted", listed, "HTTP status", "a documented one")
	x.has("errors/unlisted", own == "" || own == x.op, "code", "one of the operation")
	if x.op == "OrderVoucher" && (x.Status == http.StatusNotFound || code == types.CodeNotFound) {
		x.has("voucher/not-found", x.Status == http.StatusNotFound && code == types.CodeNotFound, "code", "HTTP 404 with code 100000404")
	}
	if x.op == "Ticket" && x.Status == http.StatusUnauthorized {
		x.has("ticket/refused", code == types.CodeUnauthorized, "code", "100000401")
	}
}

// limits judges the headers.
func (x *exam) limits(success bool, code int) {
	after, tooMany := x.Header.Get("Retry-After"), x.Status == http.StatusTooManyRequests
	if tooMany || code == types.CodeRateLimited {
		x.has("limits/refusal", tooMany && code == types.CodeRateLimited, "code", "HTTP 429 with code 100000429")
		x.has("limits/refusal", after != "", "Retry-After", "a pause")
		x.has("limits/shared", x.Header.Get("X-RateLimit-Remaining") == "0", "X-RateLimit-Remaining", "0")
		return
	}
	x.has("limits/retry-after", after == "" || x.Status >= http.StatusInternalServerError, "Retry-After", "none")
	count := func(name string, fits func(int) bool) bool {
		n, err := strconv.Atoi(x.Header.Get(name))
		return err == nil && fits(n)
	}
	limit := x.op.RateLimit()
	for _, h := range []struct {
		rule, name, want string
		ok               bool
	}{
		{"headers/request-id", "Request-Id", "one", x.Header.Get("Request-Id") != ""},
		{"headers/trace-id", "Trace-Id", "one", x.Header.Get("Trace-Id") != ""},
		{"headers/server-cost", "Server-Cost-Milliseconds", "a number from 0 on",
			count("Server-Cost-Milliseconds", func(n int) bool { return n >= 0 })},
		{"limits/limit", "X-RateLimit-Limit", "the documented limit", count("X-RateLimit-Limit", func(n int) bool { return n == limit })},
		{"limits/remaining", "X-RateLimit-Remaining", "from 0 to below the limit",
			count("X-RateLimit-Remaining", func(n int) bool { return n >= 0 && n < limit })},
		{"limits/reset", "X-RateLimit-Reset", "1", count("X-RateLimit-Reset", func(n int) bool { return n == 1 })},
	} {
		if !success {
			h.rule = "headers/failure"
		}
		x.has(h.rule, h.ok, h.name, h.want)
	}
}

// Dropped returns how many exchanges were not judged, because too much waited, or because their body was not read to its end.
func (j *Judge) Dropped() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dropped
}

// Wait returns when all that has arrived is judged.
func (j *Judge) Wait() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.working {
		j.idle.Wait()
	}
}

// take judges an exchange, or lets it wait.
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

// sampled reports whether an exchange is judged. All of a session are, or none.
func (j *Judge) sampled(op types.Operation, session, body string) bool {
	switch op {
	case "", "Ticket", "OAuthToken", "Book", "Cancel", "QueryOrders", "OrderVoucher":
		return true
	}
	return float64(j.memory.key(cmp.Or(session, body))>>11)/(1<<53) < j.opts.Sample
}

// maxBody is how much of a body is copied.
const maxBody = 16 << 20

// Transport returns a RoundTripper that sends through next, and judges what comes.
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
	if req.Body != nil {
		body := req.Body
		if req.GetBody != nil {
			body, _ = req.GetBody() // that of a request that was sent once has no error
		}
		ex.RequestBody, _ = io.ReadAll(body)
		if body == req.Body {
			req = req.Clone(req.Context())
			req.Body = io.NopCloser(bytes.NewReader(ex.RequestBody))
		}
		_ = body.Close()
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil || !t.sampled(op, cmp.Or(ex.Request.Get("Session-Id"), resp.Header.Get("Session-Id")), string(ex.RequestBody)) {
		return resp, err
	}
	ex.Status, ex.Header = resp.StatusCode, resp.Header.Clone()
	resp.Body = &copied{ReadCloser: resp.Body, judge: t.Judge, ex: ex}
	return resp, nil
}

// linked reports whether a URL is that of a document.
func (j *Judge) linked(url string) bool {
	j.looking.Lock()
	defer j.looking.Unlock()
	return recall[link](j.memory, "link", url) != nil
}

// copied is a body of which a copy is judged, once it was read to its end.
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

// Webhook returns a handler that judges events, and passes them on to next.
func (j *Judge) Webhook(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
		if err == nil && len(body) < 1<<20 {
			j.take(Exchange{Time: time.Now(), URL: req.URL.String(), Request: req.Header.Clone(), RequestBody: body, Event: true})
		}
		req = req.Clone(req.Context())
		req.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), req.Body), req.Body}
		next.ServeHTTP(w, req)
	})
}

// testingT is the part of testing.TB that Test uses.
type testingT interface {
	Helper()
	Errorf(format string, args ...any)
}

// Test returns a Judge that judges each answer as soon as it was read, and fails t for each violation.
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
