// Reading an answer: envelope, data, metadata, and which error it is.

package hotelstays

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/internal/wire"
)

// ResponseMeta is what an answer says about itself. Every response has one.
type ResponseMeta struct {
	HTTPStatus int
	// Msg is the envelope's message; one above 1 KiB is cut off.
	Msg string
	// RequestID identifies the attempt that was answered; quote it in reports.
	RequestID string
	// TraceID identifies the call, and all calls that were given the same one.
	TraceID string
	// SessionID is the answer's Session-Id header, exact unless it holds a secret.
	SessionID string
	// ServerCost is how long the service says that it took.
	ServerCost time.Duration
	// RateLimit is nil where the service did not send all of its figures.
	RateLimit *RateLimit
	// Attempts is how often the request was sent.
	Attempts int
	// Mismatches lists the first 64 fields of an order whose JSON type is not the
	// documented one. They were left out; all else was read.
	Mismatches []Mismatch
	// MismatchCount is how many such fields there are, listed or not.
	MismatchCount int
	// RawData is the JSON of data, where WithRawData asked for it.
	RawData json.RawMessage
}

// Mismatch is a field of an answer whose JSON type is not the documented one.
type Mismatch struct {
	Path string // such as data.orders[0].rooms[1].rate.netRate.amount
	Want string // the documented type: integer, number, string, boolean, array or object
	Got  string // the type that came, by the same names
}

// String is "path: want type, got type".
func (m Mismatch) String() string { return wire.Mismatch(m).String() }

// RateLimit is what the service says of the ceiling of the called endpoint.
type RateLimit struct {
	Limit     int           // requests per second
	Remaining int           // left in the current window
	Reset     time.Duration // until the window rolls over
}

// exchange is a call that has been sent, with all that reading it takes.
type exchange struct {
	client *Client
	ctx    context.Context
	name   Operation
	op     *operation
	req    request
	set    settings
	result transport.Result
}

// read decodes the answer into resp and meta, or returns the typed error. Of an
// operation that acts, everything that is not a definite answer to a request
// that may have arrived is an unknown outcome.
func (x *exchange) read(resp any, meta *ResponseMeta) error {
	err, definite := x.decode(resp, meta)
	if err == nil || definite || !x.op.acts {
		return err
	}
	if cause, ok := err.(interface{ cast() }); ok {
		cause.cast()
	}
	unknown := &OutcomeUnknownError{Operation: x.name, RequestID: x.requestID(), TraceID: x.traceID(), Err: err}
	if r, ok := x.req.(referenced); ok {
		unknown.CustomerReferenceNo = r.reference()
	}
	x.client.log.LogAttrs(x.ctx, slog.LevelWarn, "outcome unknown", slog.String("operation", string(x.name)),
		slog.String("reference", unknown.CustomerReferenceNo), slog.String("request_id", unknown.RequestID), slog.String("error", err.Error()))
	return unknown
}

// decode returns the error of the exchange, and whether it leaves no doubt about
// what the service did.
func (x *exchange) decode(resp any, meta *ResponseMeta) (err error, definite bool) {
	answer := x.result.Answer
	if answer == nil || x.result.Err != nil {
		return x.noAnswer()
	}
	env, err := wire.Decode(x.ctx, answer.Body, target(resp, x.op.impersonal), x.op.lenient)
	success := answer.Status >= 200 && answer.Status < 300
	if x.name == OpOAuthToken {
		env, err = readBareToken(x.ctx, answer.Body, resp, env, err)
		success = success && (env.HasCode || env.Msg == "") // else it is OAuth's own error object
	}
	if r, ok := resp.(tokenResponse); ok {
		x.result.Authorization = r.token().Reveal() // as secret as one that was sent
	}
	switch {
	case err != nil && errors.Is(err, x.ctx.Err()):
		return x.unread(err), false
	case success && env.HasCode && env.Code == 0 && err == nil && env.HasData:
	case !success || env.HasCode && env.Code != 0:
		refusal := x.apiError(env)
		return refusal, refusal.refuses()
	case err != nil:
		return x.decodeError(err), false
	case !env.HasCode:
		return x.decodeError(errors.New("it has no code, so that it is not known to be a success")), false
	default:
		return x.decodeError(errors.New("it reports success and has no data")), false
	}
	*meta = x.meta(env)
	if x.set.rawData && meta.RawData == nil { // what is missing there may be what counts
		return x.unread(x.ctx.Err()), false
	}
	if p, ok := resp.(partResponse); ok {
		p.look(answer.Status, answer.Body)
	}
	if c, ok := resp.(checkedResponse); ok && c.missing() != "" {
		return x.decodeError(fmt.Errorf("%s is missing", c.missing())), false
	}
	if o, ok := resp.(orderResponse); ok && !o.isOf(x.req) {
		return x.decodeError(errors.New("it is of another order than the one that was asked for")), false
	}
	return nil, true
}

// noAnswer is the error of a call that ended without an answer of its own. Its
// request may still have arrived.
func (x *exchange) noAnswer() (err error, definite bool) {
	r := &x.result
	if errors.Is(r.Err, transport.ErrBodyTooLarge) {
		return x.decodeError(fmt.Errorf("%w of %d bytes; WithMaxResponseBytes raises it", r.Err, x.client.policy.MaxBody)), false
	}
	cause := x.scrubError(r.Err)
	switch {
	case r.Answer != nil: // the ctx ended before the next attempt
		env, _ := wire.Peek(x.ctx, r.Answer.Body)
		cause = fmt.Errorf("%w before another attempt, after: %w", cause, x.apiError(env))
	case r.EarlierStatus != 0:
		cause = fmt.Errorf("%w (an earlier attempt was answered with HTTP %d)", cause, r.EarlierStatus)
	}
	sent := r.Sent && r.Answer == nil
	return &TransportError{Operation: x.name, Sent: sent, Attempts: r.Attempts, RequestID: r.RequestID,
		TraceID: x.traceID(), Err: cause}, !sent
}

// unread is the error of an answer that came, and whose reading the end of the ctx
// ended.
func (x *exchange) unread(err error) *TransportError {
	err = fmt.Errorf("the answer (HTTP %d) was not read to its end: %w", x.result.Answer.Status, err)
	return &TransportError{Operation: x.name, Sent: true, Attempts: x.result.Attempts, RequestID: x.requestID(), TraceID: x.traceID(), Err: err}
}

func (x *exchange) apiError(env wire.Envelope) *APIError {
	answer := x.result.Answer
	e := &APIError{
		Operation:  x.name,
		HTTPStatus: answer.Status,
		Code:       env.Code,
		Msg:        x.message(env.Msg),
		RequestID:  x.requestID(),
		TraceID:    x.traceID(),
	}
	e.RetryAfter, _ = transport.RetryAfter(answer.Header)
	switch {
	case env.HasCode:
	case !x.op.open:
		e.Excerpt = x.excerpt()
	case e.Msg == "" && len(answer.Body) > 0:
		e.Excerpt = redact.Marker // it says that there was something
	}
	return e
}

func (x *exchange) decodeError(err error) *DecodeError {
	e := &DecodeError{Operation: x.name, RequestID: x.requestID(), TraceID: x.traceID(), Err: err}
	if x.result.Answer != nil {
		e.HTTPStatus = x.result.Answer.Status
		e.Excerpt = x.excerpt()
	}
	return e
}

func (x *exchange) meta(env wire.Envelope) ResponseMeta {
	answer := x.result.Answer
	m := ResponseMeta{
		HTTPStatus: answer.Status,
		Msg:        x.message(env.Msg),
		RequestID:  x.requestID(),
		TraceID:    x.traceID(),
		SessionID:  x.sessionID(),
		RateLimit:  rateLimit(answer.Header),
		Attempts:   x.result.Attempts,
	}
	if ms, ok := figure(answer.Header, "Server-Cost-Milliseconds"); ok {
		m.ServerCost = time.Duration(ms) * time.Millisecond
	}
	m.MismatchCount = env.Count
	var texts []string
	for _, mismatch := range env.List {
		m.Mismatches = append(m.Mismatches, Mismatch(mismatch))
		texts = append(texts, mismatch.String())
	}
	if m.MismatchCount > 0 {
		x.client.log.LogAttrs(x.ctx, slog.LevelWarn, "the answer does not match the documentation", slog.String("operation", string(x.name)),
			slog.String("request_id", m.RequestID), slog.Any("mismatches", texts), slog.Int("mismatch_count", m.MismatchCount))
	}
	if x.set.rawData {
		m.RawData = x.rawData()
	}
	return m
}

// rawData is a copy of the answer's data. The answers of the open operations are
// tokens, which are masked. It is nil where the ctx ended first.
func (x *exchange) rawData() json.RawMessage {
	data := wire.Data(x.ctx, x.result.Answer.Body)
	switch {
	case !x.op.open, data == nil && x.ctx.Err() != nil:
		return data
	case data == nil:
		data = x.result.Answer.Body
	}
	return json.RawMessage(redact.Keys(string(data)))
}

// requestID and traceID prefer what the service answered: its logs hold that.
func (x *exchange) requestID() string { return x.echoed("Request-Id", x.result.RequestID) }
func (x *exchange) traceID() string   { return x.echoed("Trace-Id", x.set.headers[headerTraceID]) }

func (x *exchange) echoed(header, sent string) string {
	if x.result.Answer != nil {
		if id := x.result.Answer.Header.Get(header); id != sent && id != "" && len(id) <= 128 {
			return x.scrub(id)
		}
	}
	return sent
}

// rateLimit needs all three figures: one that is missing is not 0.
func rateLimit(h http.Header) *RateLimit {
	limit, hasLimit := figure(h, "X-Ratelimit-Limit")
	remaining, hasRemaining := figure(h, "X-Ratelimit-Remaining")
	reset, hasReset := figure(h, "X-Ratelimit-Reset")
	if !hasLimit || !hasRemaining || !hasReset {
		return nil
	}
	return &RateLimit{Limit: limit, Remaining: remaining, Reset: time.Duration(reset) * time.Second}
}

// figure reads a header that counts something. name is in net/http's canonical form.
func figure(h http.Header, name string) (int, bool) {
	value := h.Get(name)
	if value == "" { // the error of the next line would be an allocation
		return 0, false
	}
	n, err := strconv.ParseUint(value, 10, 31)
	return int(n), err == nil
}

const (
	maxExcerpt = 256  // bytes of an answer that an error keeps
	maxMsg     = 1024 // bytes of a message
)

// excerpt is the beginning of an answer that is no envelope. The operations that fetch
// tokens have none.
func (x *exchange) excerpt() string {
	if x.op.open {
		return ""
	}
	body := x.result.Answer.Body
	text := strings.TrimSpace(string(body[:min(len(body), redact.MaxText)]))
	return redact.Shorten(strings.ToValidUTF8(redact.Keys(x.scrub(text)), "?"), maxExcerpt)
}

// message is the envelope's msg. For the operations that fetch tokens it ends where a
// token may begin, and is empty where it is JSON.
func (x *exchange) message(msg string) string {
	text := x.scrub(msg)
	if x.op.open {
		if json.Valid([]byte(msg)) {
			return ""
		}
		text = redact.Tokens(text)
	}
	return redact.Shorten(text, maxMsg)
}

// sessionID is the answer's Session-Id header. It is sent again, and so stays exact
// unless it holds a whole secret.
func (x *exchange) sessionID() string {
	id := x.result.Answer.Header.Get("Session-Id")
	if x.client.secrets(make(redact.Set, 0, typicalSecrets), x.result.Authorization, x.req).In(id) {
		return x.scrub(id)
	}
	return id
}

// scrub takes the call's secrets out of a text that the service wrote.
func (x *exchange) scrub(text string) string {
	return x.client.scrub(text, x.result.Authorization, x.req)
}

// scrubError is err, or a scrubbed copy of its text where net/http quotes a secret of a
// malformed answer.
func (x *exchange) scrubError(err error) error {
	if text := err.Error(); x.scrub(text) != text {
		return errors.New(redact.Shorten(x.scrub(text), maxMsg))
	}
	return err
}

// typicalSecrets is how many secrets have room without an allocation.
const typicalSecrets = 4

func (c *Client) scrub(text, authorization string, req request) string {
	return c.secrets(make(redact.Set, 0, typicalSecrets), authorization, req).Text(text)
}

// secrets appends the token, the credential's secret and the request's.
func (c *Client) secrets(set redact.Set, authorization string, req request) redact.Set {
	set = append(set, strings.TrimPrefix(authorization, "Bearer "), c.cred.secret().Reveal())
	if s, ok := req.(secretRequest); ok {
		for _, secret := range s.secrets() {
			set = append(set, secret.Reveal())
		}
	}
	return set
}
