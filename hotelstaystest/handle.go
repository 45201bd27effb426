// The path of a request through the server.

package hotelstaystest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

const (
	maxHeader = 64 << 10 // bytes
	maxBody   = 4 << 20  // bytes of a request's body
)

// call is a request to an operation, with its decoded headers and its state.
type call struct {
	op          *operation
	rec         *record
	header      http.Header
	host        string
	client      string    // IP address
	started     time.Time // real time at which the rate limit counted the call; without a rate limit, the time of arrival
	repeated    bool      // an earlier request had the same Request-Id
	account     string    // appKey
	oauth       bool      // the token is an OAuth access token
	session     string
	currency    currency
	hasCurrency bool // the Currency header was sent
	requestID   string
	traceID     string
	gzip        bool
	topLevel    bool        // the answer has OAuth's own form, see [Variants.OAuthTopLevel]
	limits      http.Header // the headers about the rate limit
	fault       *Fault
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.work.Done()
	if s.cfg.Control.Enabled && isControl(r.URL.Path) {
		s.serveControl(w, r)
		return
	}
	if !s.cfg.InMemory && !s.cfg.AllowRemote && !s.ownHost(r.Host) {
		failureAnswer(forbidden("the sandbox is not served under host name %q; see control.hosts (-control-host)", r.Host)).write(w)
		return
	}
	client, _, _ := net.SplitHostPort(r.RemoteAddr)
	op := s.paths[r.URL.Path]
	if op == nil {
		op = documentAt(r.URL.Path)
	}
	c := &call{op: op, header: r.Header, host: r.Host, client: client, started: time.Now()}
	c.topLevel = op.name == opOAuthToken && s.cfg.Variants.OAuthTopLevel
	c.gzip = s.cfg.Compression && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	c.rec = s.ledger.arrive(op.name, r, client)
	arrived := c.rec.last.Request
	c.requestID, c.traceID = arrived.RequestID, arrived.TraceID
	if c.requestID != "" {
		c.repeated = s.ids.repeated(c.requestID)
	} else {
		c.requestID = fmt.Sprintf("sandbox-request-%d", arrived.Seq)
	}
	c.traceID = cmp.Or(c.traceID, fmt.Sprintf("sandbox-trace-%d", arrived.Seq))
	s.handle(w, r, c)
}

// handle runs the steps: rate limit, fault, body, operation, answer. The rate limit comes first, so that malformed and
// unauthenticated calls also count against the limit.
func (s *Server) handle(w http.ResponseWriter, r *http.Request, c *call) {
	if refused := s.checkRateLimit(c); refused != nil {
		s.finish(w, r, c, refused)
		return
	}
	s.setFault(c, s.pickFault(c.op.name))
	s.cutBeforeRead(r, c)
	body, bodyErr := s.readBody(w, r, c)
	if c.fault == nil && s.faults.hasReference(c.op.name) {
		s.setFault(c, s.pickFault(c.op.name, referencesIn(body)...))
	}
	s.delay(r, c, false)
	a := s.execute(r, c, body, bodyErr)
	s.delay(r, c, true)
	s.finish(w, r, c, a)
}

func (s *Server) setFault(c *call, f *Fault) {
	if f != nil {
		c.fault = f
		s.ledger.updateRequest(c.rec, func(rec *Request) { rec.Fault = f.Kind })
	}
}

func (s *Server) cutBeforeRead(r *http.Request, c *call) {
	if f := c.fault; f != nil && f.Kind == FaultCutBeforeRead {
		s.wait(r.Context(), f.Delay)
		s.recordCut(c)
		cut(r)
	}
}

// delay waits for the Delay of a fault. With Commit the delay comes after the operation, otherwise
// before it. If the client disconnects during the delay, the request ends without an answer.
func (s *Server) delay(r *http.Request, c *call, executed bool) {
	f := c.fault
	if f != nil && f.Commit == executed && f.Kind != FaultSlowBody && !s.wait(r.Context(), f.Delay) {
		s.recordCut(c)
		panic(http.ErrAbortHandler)
	}
}

// finish lets the fault change the answer, sets the headers, completes the record in the ledger and sends the answer.
func (s *Server) finish(w http.ResponseWriter, r *http.Request, c *call, a *answer) {
	f := c.fault
	if f != nil {
		a = f.spoil(a)
	}
	if a == nil || (f != nil && (f.Kind == FaultCut || f.Kind == FaultResetStream)) {
		s.recordCut(c)
		s.deliver(w, r, c, nil)
		return
	}
	if !a.bare {
		c.setHeaders(a.header)
	}
	kept, references := s.keep(a.body)
	if c.gzip {
		a.compress()
	}
	s.ledger.updateRequest(c.rec, func(rec *Request) {
		rec.Status, rec.Code, rec.Msg, rec.Done = a.status, a.code, a.msg, s.clock.now()
		rec.Cut = f != nil && f.Kind == FaultCutMidResponse
		rec.Answer, rec.References = kept, union(rec.References, references)
	})
	s.deliver(w, r, c, a)
}

// setHeaders adds the service's headers. It does not replace headers that h already has.
func (c *call) setHeaders(h http.Header) {
	own := c.limits.Clone()
	own.Set("Request-Id", c.requestID)
	own.Set("Trace-Id", c.traceID)
	own.Set("Server-Cost-Milliseconds", strconv.FormatInt(time.Since(c.started).Milliseconds(), 10))
	if c.session != "" {
		own.Set("Session-Id", c.session)
	}
	for k, v := range own {
		if len(h[k]) == 0 {
			h[k] = v
		}
	}
}

func (s *Server) recordCut(c *call) {
	s.ledger.updateRequest(c.rec, func(rec *Request) { rec.Cut, rec.Done = true, s.clock.now() })
}

// checkRateLimit counts the call, and sets the rate-limit headers. It returns nil, or the answer to a refused call.
func (s *Server) checkRateLimit(c *call) *answer {
	h := http.Header{}
	c.limits = h
	limit := s.cfg.RateLimits[c.op.name]
	if limit == 0 {
		return nil
	}
	remaining := limit - 1
	if !s.cfg.NoRateLimits {
		c.started, remaining = s.limiter.arrive(c.op.name, c.client, limit)
	}
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, remaining)))
	h.Set("X-RateLimit-Reset", "1")
	if remaining >= 0 {
		return nil
	}
	s.ledger.rateLimited(c.rec)
	h.Set("Retry-After", "1") // the window of the rate limit is one second
	return failureAnswer(fail(http.StatusTooManyRequests, types.CodeRateLimited,
		"rate limit exceeded: %s allows %d calls per second from one client IP address", c.op.name, limit))
}

func (s *Server) readBody(w http.ResponseWriter, r *http.Request, c *call) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	kept, references := s.keep(body)
	s.ledger.updateRequest(c.rec, func(rec *Request) {
		rec.BodySHA256, rec.BodySize, rec.Body, rec.References = sha256Hex(body), len(body), kept, references
	})
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return nil, badRequest("the body exceeds %d bytes", maxBody)
	}
	if err != nil {
		return nil, badRequest("reading the body: %v", err)
	}
	return body, nil
}

// execute executes the operation and returns the answer. If a fault without Commit replaces the answer, execute does
// nothing and returns nil.
func (s *Server) execute(r *http.Request, c *call, body []byte, bodyErr error) *answer {
	if f := c.fault; f != nil && !f.Commit && !f.keepsAnswer() {
		return nil
	}
	data, err := s.check(r, c, bodyErr)
	if err == nil && data == nil {
		data, err = c.op.run(s, c, body)
	}
	if err != nil {
		return c.refusal(err)
	}
	s.ledger.updateRequest(c.rec, func(rec *Request) { rec.Executed = true })
	return c.success(data)
}

func (c *call) refusal(err error) *answer {
	var f *failure
	if c.topLevel && errors.As(err, &f) {
		return jsonAnswer(f.status, f.code, oauthError{Error: cmp.Or(f.oauth, "invalid_request"), Description: f.msg})
	}
	return failureAnswer(err)
}

// check applies the rules that all operations share: the method, the headers, the credential and the session. For the
// GET of a voucher document, it returns the document.
func (s *Server) check(r *http.Request, c *call, bodyErr error) (any, error) {
	if c.op.runner == nil {
		return s.serveDocument(r, c)
	}
	if r.Method != http.MethodPost {
		return nil, fail(http.StatusMethodNotAllowed, codeNoSuchOperation, "%s accepts POST, not %s", c.op.name, r.Method)
	}
	if bodyErr != nil {
		return nil, bodyErr
	}
	if media, _, err := mime.ParseMediaType(c.header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, badRequest("Content-Type must be application/json, not %q", c.header.Get("Content-Type"))
	}
	if err := s.checkHeaders(c); err != nil {
		return nil, err
	}
	if c.op.scope != "" {
		if err := s.authorize(c); err != nil {
			return nil, err
		}
	}
	return nil, s.checkSession(c)
}

var (
	languageTag  = regexp.MustCompile(`^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$`)
	countryForm  = regexp.MustCompile(`^[A-Z]{2}$`)
	currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)
	digitsForm   = regexp.MustCompile(`^[0-9]+$`)
)

// headers lists the request headers, with the operations that accept them and the form of their values.
var headers = []struct {
	name       string
	acceptedBy func(*operation) bool // reports whether an operation accepts the header; nil: all do
	form       func(string) bool
}{
	{"Request-Id", nil, notEmpty},
	{"Trace-Id", nil, notEmpty},
	{"Client-Request-Timestamp", nil, digitsForm.MatchString},
	{"IP", nil, func(v string) bool { _, err := netip.ParseAddr(v); return err == nil }},
	{"Language", nil, languageTag.MatchString},
	{"User-Ref", notTicket, notEmpty},
	{"Market", notTicket, countryForm.MatchString},
	{"Session-Id", ofBookingFlow, notEmpty},
	{"Currency", ofBookingFlow, currencyForm.MatchString},
	{"Test", ofBookingFlow, func(string) bool { return true }}, // the sandbox ignores unknown values
	{"Timeout-Milliseconds", ofBookingFlow, func(v string) bool { n, err := strconv.Atoi(v); return err == nil && n > 0 }},
}

func notTicket(op *operation) bool { return op.name != opTicket }

func ofBookingFlow(op *operation) bool { return op.session != sessionNone }

func notEmpty(v string) bool { return v != "" }

func (s *Server) checkHeaders(c *call) error {
	if c.repeated {
		return badRequest("Request-Id %q was used before; every request needs a new one", c.requestID)
	}
	for _, h := range headers {
		values := c.header.Values(h.name)
		switch {
		case len(values) == 0:
		case h.acceptedBy != nil && !h.acceptedBy(c.op):
			return badRequest("%s does not accept the header %s; these operations do: %s", c.op.name, h.name, namesOf(h.acceptedBy))
		case len(values) > 1:
			return badRequest("header %s was sent twice", h.name)
		case !h.form(values[0]):
			return badRequest("header %s has a malformed value %q", h.name, values[0])
		}
	}
	return nil
}

// checkSession reads the Session-Id and Currency headers of operations that accept them.
func (s *Server) checkSession(c *call) error {
	if c.op.session == sessionNone {
		return nil
	}
	code := c.header.Get("Currency")
	c.hasCurrency = code != ""
	if !c.hasCurrency {
		code = "USD"
	}
	c.currency, _ = findCurrency(code) // an unknown currency is the zero value, which has no prices
	id := c.header.Get("Session-Id")
	known, expired := s.findSession(id, c.account)
	switch {
	case id == "" && c.op.session == sessionRequired:
		return badRequest("%s requires the Session-Id header of the search", c.op.name)
	case id == "":
		return nil // without a Session-Id, HotelList starts a session
	case !known:
		return badRequest("Session-Id %q is not a session of this account", id)
	case expired && c.op.name != opCancel:
		return badRequest("Session-Id %q has expired; search again", id)
	}
	c.session = id
	return nil
}

func (a *answer) compress() {
	if len(a.body) < 1024 || a.header.Get("Content-Encoding") != "" {
		return
	}
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	z.Write(a.body)
	z.Close()
	a.body = buf.Bytes()
	a.header.Set("Content-Encoding", "gzip")
	a.header.Set("Vary", "Accept-Encoding")
}

const maxSeenIDs = 100_000

// seenIDs remembers the last Request-Ids. If now holds 50,000 ids, seenIDs forgets the ids in earlier, moves the ids in now
// to earlier, and begins a new set.
type seenIDs struct {
	mu           sync.Mutex
	now, earlier map[idHash]bool
}

type idHash [sha256.Size]byte // a hash, because an id may be long

func (s *seenIDs) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.earlier = nil, nil
}

// repeated remembers the id and reports whether it was used before.
func (s *seenIDs) repeated(text string) bool {
	id := idHash(sha256.Sum256([]byte(text)))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now[id] || s.earlier[id] {
		return true
	}
	if s.now == nil || len(s.now) == maxSeenIDs/2 {
		s.now, s.earlier = map[idHash]bool{}, s.now
	}
	s.now[id] = true
	return false
}
