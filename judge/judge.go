// Package judge compares the answers of a service with its document, while a client uses it.
//
//	j := judge.New(&judge.Options{OnFinding: func(f judge.Finding) { slog.Warn("hotelstays", "finding", f) }})
//	client, err := hotelstays.New(baseURL, cred,
//		hotelstays.WithHTTPClient(&http.Client{Transport: j.Transport(hotelstays.NewTransport())}))
//	http.Handle("/events", j.Webhook(handler))
//
// In a test one line is enough. A violation fails the test:
//
//	client := &http.Client{Transport: judge.Test(t).Transport(hotelstays.NewTransport())}
//
// The judge checks the form of each answer, of failures too. It compares the answer with its request and with earlier answers:
// currency, dates, references, guests, pages, sorting, sums. A [Finding] has a [Grade]: only a [Violation] contradicts the
// document. A [Doubt] is worth a question to the supplier.
//
// Calls do not wait for the judge. It judges copies of bodies, one after another, in one goroutine that ends when the queue is
// empty. Judging a large page takes nearly as much CPU as decoding it. In a busy staging environment set Options.Sample.
//
// The judge sees only the answers to your calls, and only bodies that are read to their end and have at most 16 MiB. It forgets
// answers that are older than Options.MemoryAge. It does not judge OAuthToken and HotelIDList. It does not judge bodies that are
// still compressed: let [http.Transport] decompress them.
//
// A Finding names a rule, a path and a JSON type. It contains no value of an answer, so it has no secret, no name and no price.
package judge

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// Options configures a Judge. All fields are optional.
type Options struct {
	// OnFinding, if set, is called for each finding, one at a time.
	OnFinding func(Finding)
	// Sample is the share of sessions that are judged. The default is 1, which means all. Ticket, Book, Cancel, QueryOrders
	// and OrderVoucher are always judged.
	Sample float64
	// MaxQueued is how many bytes may wait to be judged. The default is 32 MiB. An exchange that does not fit is not judged,
	// and Dropped counts it.
	MaxQueued int
	// MemoryAge is how long earlier answers are remembered. The default is 2 hours.
	MemoryAge time.Duration
	// MaxRemembered is the maximum number of remembered values, such as hotels, offers and orders. The default is 100000.
	MaxRemembered int
}

// Judge judges exchanges. It is safe for concurrent use.
type Judge struct {
	opts   Options
	inline bool

	mu      sync.Mutex // guards the fields from queue to idle
	queue   []Exchange
	queued  int // bytes in queue
	dropped int
	working bool
	idle    *sync.Cond

	looking sync.Mutex // guards memory, asked and told
	memory  *memory
	asked   document // the body of the request that is judged
	told    document // the body of the answer or of the event that is judged
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

// Finding is a place in an exchange that breaks a rule.
type Finding struct {
	Rule
	// Operation is "" for an event.
	Operation types.Operation `json:"operation,omitempty"`
	Time      time.Time       `json:"time"`
	// Path is the first wrong place, such as data.list[3].rating.
	Path string `json:"path"`
	// Want is what was expected at Path. Type is the JSON type of the value that came instead.
	Want string `json:"want"`
	Type string `json:"type"`
	// More is the number of further wrong places in the answer.
	More int `json:"more,omitempty"`
}

// Exchange is a request and its answer. An event of a webhook has no answer, so Status, Header and Body are not set.
type Exchange struct {
	Time        time.Time // when the last byte of the answer had arrived
	URL         string
	Request     http.Header
	RequestBody []byte
	Status      int
	Header      http.Header
	Body        []byte
	Event       bool // whether the request delivers an event of a webhook
}

// Judgement is the result of judging an exchange.
type Judgement struct {
	Findings []Finding
	// Tried has the names of the rules that applied to the exchange.
	Tried map[string]bool
}

type exam struct {
	Exchange
	*Judge
	Judgement
	op       types.Operation
	formRule string // the name of the rule about the form of this answer
	asked    value
	session  string
	searched *search
	queried  uint64
	prices   []priced       // the prices of each offer of the current hotel
	places   map[string]int // rule and path without list indexes -> position of the finding in Findings
	recent   [64]string     // a cache: rules that are already in Tried
}

// priced holds the prices of an offer. The field net is the net price of all rooms. The field lowest is the net price
// of one room, and the field highest is the gross price of all rooms with taxes. A hotel's minPrice may be any price
// between lowest and highest.
type priced struct {
	net             money
	lowest, highest float64
}

// is adds a finding if ok is false, and returns ok. The rule "" stands for the rule in the field formRule.
func (x *exam) is(rule string, ok bool, v value, want string) bool {
	if rule == "" {
		rule = x.formRule
	}
	if x.tries(rule); !ok {
		x.found(rule, v.path, v.kind().String(), want)
	}
	return ok
}

// has is like x.is, but judges a part of the answer that is not in the JSON text, such as a header. The parameter what
// is the name of this part.
func (x *exam) has(rule string, ok bool, what, want string) {
	if x.tries(rule); !ok {
		x.found(rule, func(bool) string { return what }, "string", want)
	}
}

func (x *exam) tries(rule string) {
	if lately := &x.recent[(len(rule)*8+int(rule[len(rule)-1]))%len(x.recent)]; *lately != rule {
		*lately, x.Tried[rule] = rule, true
	}
}

// found adds a finding. Places that differ only in their indexes count as one finding of a rule.
func (x *exam) found(rule string, at func(indexes bool) string, kind, want string) {
	place := rule + " " + at(false)
	if n, known := x.places[place]; known {
		x.Findings[n].More++
		return
	}
	x.places[place] = len(x.Findings)
	for _, r := range rules {
		if r.Name == rule {
			x.Findings = append(x.Findings, Finding{Rule: r, Operation: x.op, Time: x.Time, Path: at(true), Want: want, Type: kind})
		}
	}
}

func path(url string) string { before, _, _ := strings.Cut(url, "?"); return before }

// Look judges an exchange immediately. It does not call OnFinding.
func (j *Judge) Look(ex Exchange) Judgement {
	j.looking.Lock()
	defer j.looking.Unlock()
	j.memory.ages()
	x := &exam{Exchange: ex, Judge: j, op: types.OperationAt(path(ex.URL)), places: map[string]int{},
		Judgement: Judgement{Tried: map[string]bool{}}}
	document := recall[link](j.memory, "link", ex.URL)
	switch {
	case ex.Event:
		x.op, x.formRule = "", formRules["Event"]
		x.has("webhook/agent", strings.HasSuffix(ex.Request.Get("User-Agent"), "-webhook/1.0"), "User-Agent", "…-webhook/1.0")
		j.told.read(ex.RequestBody, &field{shape: forms["Event"], want: "an object"})
		x.form()
	case document != nil && ex.Status == http.StatusOK:
		x.has("voucher/download", hexed(ex.Body) == document.digest, "the document", "the bytes of signature.digest")
	case x.op != "" && x.op != "HotelIDList" && x.op != "OAuthToken": // HotelIDList and OAuthToken may answer without an envelope
		j.asked.read(ex.RequestBody, anything)
		x.asked = j.asked.root()
		x.answer()
	}
	j.asked.text, j.told.text = nil, nil // the bodies belong to the caller, so the Judge does not keep them
	return x.Judgement
}

// form adds the findings about the form of the answer, and about relations between its values.
func (x *exam) form() {
	x.tries(x.formRule)
	x.tries("value/plausible")
	x.tries("value/members")
	for _, m := range x.told.mismatches {
		v := value{&x.told, m.at, m.lacks}
		x.is(cmp.Or(m.rule, x.formRule), false, v, m.want)
	}
	wanted := make([][]string, len(samenesses))
	for i, same := range samenesses {
		if slices.Contains(strings.Fields(same.ops), string(x.op)) {
			wanted[i] = x.source(same.source)
		}
	}
	for _, m := range x.told.met {
		v := value{&x.told, m.at, ""}
		if m.shape != nil && m.shape.hook != nil && v.kind() == object {
			m.shape.hook(x, v)
		}
		for _, i := range m.same {
			if same := &samenesses[i]; wanted[i] != nil {
				x.same(same, wanted[i], v.get(same.below...))
			}
		}
	}
}

func (x *exam) search() *search {
	if x.searched == nil {
		x.searched = &search{checkIn: x.asked.get("checkIn").str(), checkOut: x.asked.get("checkOut").str(), equal: true}
		occupancies := x.asked.get("roomOccupancies")
		for room := range occupancies.all() {
			x.searched.rooms++
			x.searched.equal = x.searched.equal && bytes.Equal(room.raw(), occupancies.first().raw())
		}
	}
	return x.searched
}

func (x *exam) answer() {
	j := x.Judge
	isJSON := j.told.read(x.Body, answers[x.op])
	root := j.told.root()
	code, coded := root.get("code").int()
	success := x.Status/100 == 2 && (!coded || code == 0)
	x.limits(success, code)
	if x.Status >= http.StatusInternalServerError {
		timeout := x.Status == http.StatusGatewayTimeout && (x.op == "Book" || x.op == "Cancel")
		x.has("errors/unlisted", timeout, "HTTP status", "a documented HTTP status")
		return
	}
	msg, data := root.get("msg"), root.get("data")
	token := strings.TrimPrefix(x.Request.Get("Authorization"), "Bearer ")
	known := recall[life](x.memory, "life", token)
	if !success {
		x.is("envelope/failure", isJSON && coded && code != 0, root.get("code"), "a code other than 0")
		x.is("envelope/failure", msg.kind() == text, msg, "a msg")
		x.is("envelope/failure", data.len() == 0 && data.kind() != number, data, "no data")
		x.failure(code)
		x.has("ticket/kept", known == nil || x.op == "Ticket" || x.Status != http.StatusUnauthorized ||
			x.Time.Sub(known.from) > known.ttl-2*time.Second, "HTTP status", "a success, because the ticket has not expired")
		return
	}
	media, _, _ := strings.Cut(x.Header.Get("Content-Type"), ";")
	x.has("envelope/success", strings.EqualFold(strings.TrimSpace(media), "application/json"), "Content-Type", "application/json")
	x.is("envelope/success", isJSON && coded, root.get("code"), "code 0")
	x.is("envelope/success", msg.kind() == text, msg, "a msg")
	x.has("envelope/success", x.Status == http.StatusOK, "HTTP status", "200")
	x.is("envelope/success", data.kind() == object, data, "an object")
	x.has("auth/anonymous", token != "" || x.op == "Ticket", "HTTP status", "a refusal, because there is no token")
	x.has("ticket/ended", known == nil || x.op == "Ticket" || x.Time.Sub(known.from) < known.ttl+time.Minute, "HTTP status",
		"a refusal, because the ticket has expired")
	x.session = x.Request.Get("Session-Id")
	if x.op == "HotelList" {
		x.has("headers/session-id", x.Header.Get("Session-Id") != "", "Session-Id", "a session")
		x.session = cmp.Or(x.Header.Get("Session-Id"), data.get("basic", "sessionId").str())
	}
	if x.formRule = formRules[string(x.op)]; data.kind() == object {
		x.form()
	}
}

// failure judges the code and the HTTP status of a failed call.
func (x *exam) failure(code int) {
	x.has("errors/codes", code != 100_001_112 && (code != types.CodeRateChanged || x.op != "CheckAvail"), "code", "another code")
	orders := x.op == "OrderVoucher" || x.op == "Cancel"
	own := map[int]types.Operation{types.CodeDuplicateBooking: "Book", types.CodeRateChanged: "Book",
		types.CodeVoucherTooLarge: "OrderVoucher", types.CodeAmbiguousReference: "OrderVoucher"}[code]
	listed := x.Status/100 == 2 || x.Status == 400 || x.Status == 401 || x.Status == 403 || x.Status == 429 || x.Status == 404 && orders
	x.has("errors/unlisted", listed, "HTTP status", "a documented HTTP status")
	x.has("errors/unlisted", own == "" || own == x.op, "code", "a code of the operation")
	if x.op == "OrderVoucher" && (x.Status == http.StatusNotFound || code == types.CodeNotFound) {
		x.has("voucher/not-found", x.Status == http.StatusNotFound && code == types.CodeNotFound, "code", "HTTP 404 with code 100000404")
	}
	if x.op == "Ticket" && x.Status == http.StatusUnauthorized {
		x.has("ticket/refused", code == types.CodeUnauthorized, "code", "100000401")
	}
}

func (x *exam) limits(success bool, code int) {
	after, tooMany := x.Header.Get("Retry-After"), x.Status == http.StatusTooManyRequests
	if tooMany || code == types.CodeRateLimited {
		x.has("limits/refusal", tooMany && code == types.CodeRateLimited, "code", "HTTP 429 with code 100000429")
		x.has("limits/refusal", after != "", "Retry-After", "a pause")
		x.has("limits/shared", x.Header.Get("X-RateLimit-Remaining") == "0", "X-RateLimit-Remaining", "0")
		return
	}
	x.has("limits/retry-after", after == "" || x.Status >= http.StatusInternalServerError, "Retry-After", "none")
	rule := func(name string) string {
		if !success {
			return "headers/failure"
		}
		return name
	}
	count := func(name string) int {
		if n, err := strconv.Atoi(x.Header.Get(name)); err == nil {
			return n
		}
		return -1
	}
	limit, remaining := x.op.RateLimit(), count("X-RateLimit-Remaining")
	x.has(rule("headers/request-id"), x.Header.Get("Request-Id") != "", "Request-Id", "a Request-Id")
	x.has(rule("headers/trace-id"), x.Header.Get("Trace-Id") != "", "Trace-Id", "a Trace-Id")
	x.has(rule("headers/server-cost"), count("Server-Cost-Milliseconds") >= 0, "Server-Cost-Milliseconds", "a number of 0 or more")
	x.has(rule("limits/limit"), count("X-RateLimit-Limit") == limit, "X-RateLimit-Limit", "the documented limit")
	x.has(rule("limits/remaining"), remaining >= 0 && remaining < limit, "X-RateLimit-Remaining", "at least 0, and below the limit")
	x.has(rule("limits/reset"), count("X-RateLimit-Reset") == 1, "X-RateLimit-Reset", "1")
}
