// Reading an answer: a response with its metadata, or the typed error.

package hotelstays

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/types"
)

// ResponseMeta describes an answer. Every response has one.
type ResponseMeta struct {
	HTTPStatus int
	// Msg is the envelope's message, up to 1 KiB.
	Msg string
	// RequestID identifies the attempt that was answered; quote it in reports to the supplier.
	RequestID string
	// TraceID identifies the call, or all calls that WithTraceID gave the same id.
	TraceID string
	// SessionID is the answer's Session-Id header. A credential or token in it is redacted.
	SessionID string
	// ServerCost is the time that the service took, from its header Server-Cost-Milliseconds.
	ServerCost time.Duration
	// RateLimit is nil unless the service sent all three X-RateLimit headers.
	RateLimit *RateLimit
	// Header holds the headers of the answer, without cookies and values that repeat a secret of the call.
	Header http.Header
	// Attempts counts how often the request was sent.
	Attempts int
	// Mismatches lists up to 64 fields whose JSON type is not the documented type; MismatchCount counts all. If the
	// documented type is text, a number becomes its digits. Any other field with a wrong type stays empty. If the field is
	// essential, the whole list element is left out. An offer needs its price, tax, dates, cancellation terms and id. A
	// room needs its list of offers, and a hotel or a place needs its id. HotelListResponse.Basic is left out if
	// its sessionId is neither a text nor a number.
	Mismatches    []Mismatch
	MismatchCount int
	// RawData is the JSON of the answer's data. It is nil without WithRawData.
	RawData json.RawMessage
}

// Mismatch is a field whose JSON type is not the documented type.
type Mismatch struct {
	Path string // the path of the value, such as data.orders[0].rooms[1].rate.netRate.amount
	Want string // the documented type: integer, number, string, boolean, array or object
	Got  string // the type in the answer
}

// String returns "path: want type, got type".
func (m Mismatch) String() string { return wire.Mismatch(m).String() }

// exchange holds what a call needs to read its answer.
type exchange struct {
	ctx   context.Context // invocation.end cancels this ctx
	op    Operation
	row   *operation
	set   settings
	parts parts
	call  transport.Call

	transport.Result            // valid until invocation.end is called
	secrets          redact.Set // secrets of the credential and of the request, and the token once it is known

	into     decodable         // the target into which the answer is decoded while it arrives
	decoded  *transport.Answer // the answer that was decoded into the target
	arriving time.Duration     // how long the decoding took, without the waits for bytes
	env      wire.Envelope
	fault    error
}

type parts struct {
	body      any            // sent as JSON
	session   string         // the value of the header Session-Id
	reference string         // names the order in the error if the outcome is unknown
	secrets   []types.Secret // kept out of logs and errors
	guests    redact.Words   // names of guests; redacted if an error or a log quotes the service
}

// decodable is implemented by generated code. After adding a response, run go generate ./internal/wire.
type decodable interface{ decode(l *wire.Lexer) }

// DecodeFeed decodes an answer while it arrives.
func (x *exchange) DecodeFeed(begun transport.Result, body *wire.Feed) (again bool, err error) {
	x.decodeFeed(begun, body, x.target(x.into))
	return true, nil
}

func (x *exchange) decodeFeed(begun transport.Result, body *wire.Feed, target wire.Target) {
	start := time.Now()
	x.env, x.fault = wire.DecodeFeed(x.ctx, body, target)
	x.decoded = begun.Answer
	x.arriving = time.Since(start) - body.Waited()
}

func (x *exchange) target(into decodable) wire.Target {
	t := decodeTarget(into)
	t.InternStrings, t.Lenient = x.row.internStrings, x.row.lenient
	return t
}

func decodeTarget(into decodable) wire.Target { return wire.Target{Into: into, Read: into.decode} }

// read decodes the answer, or returns the typed error. For an operation that changes data, an error that does not prove
// what the service did becomes an *OutcomeUnknownError.
func (x *exchange) read(into decodable, meta *ResponseMeta, check func() error) error {
	definite, err := x.decode(into, meta, check)
	if err == nil {
		return nil
	}
	if definite || !x.row.mutates {
		return err
	}
	err.markUnknown()
	unknown := &OutcomeUnknownError{Operation: x.op, CustomerReferenceNo: x.parts.reference,
		RequestID: x.requestID(), TraceID: x.trace(), Err: err}
	x.call.Log.LogAttrs(x.ctx, slog.LevelWarn, "outcome unknown", logAttrs(unknown)...)
	return unknown
}

// decode decodes the answer, or returns the error of the call. definite reports whether the error proves what the service
// did.
func (x *exchange) decode(into decodable, meta *ResponseMeta, check func() error) (definite bool, err failure) {
	if x.Answer == nil || x.Err != nil {
		return x.noAnswer()
	}
	env, fault := x.decodeBody(into)
	success := x.Answer.Status >= 200 && x.Answer.Status < 300
	unusable := check()
	if x.row.bare && unusable != nil && !errors.Is(unusable, errTwoTokens) && env.Code == 0 {
		if x.decodeBare(into, &env) && check() == nil {
			fault, unusable = nil, nil
			env.HasCode, env.HasData = true, true
		}
		success = success && (env.HasCode || env.Msg == "") // a msg without a code is an error object of the OAuth standard
	}
	switch {
	case fault != nil && errors.Is(fault, x.ctx.Err()):
		return false, x.unread(fault)
	case !success || env.HasCode && env.Code != 0:
		refusal := x.apiError(env)
		return refusal.refuses(), refusal
	case fault != nil:
		return false, x.decodeError(fault)
	case !env.HasCode:
		return false, x.decodeError(errors.New("the answer has no code, so nobody knows whether the call succeeded"))
	case !env.HasData && !x.row.noData:
		return false, x.decodeError(errors.New("the answer reports success, but has no data"))
	}
	*meta = x.meta(env)
	switch {
	case x.set.RawData && meta.RawData == nil: // ctx ended while the data was copied
		return false, x.unread(x.ctx.Err())
	case unusable != nil:
		return false, x.decodeError(unusable)
	}
	return true, nil
}

func (x *exchange) decodeBody(into decodable) (wire.Envelope, error) {
	if x.decoded == x.Answer {
		return x.env, x.fault
	}
	return wire.Decode(x.ctx, x.Answer.Body, x.target(into))
}

var errTwoTokens = errors.New("data.access_token and access_token are two different tokens")

func missing(field string) error { return fmt.Errorf("%s is missing", field) }

var errOtherOrder = errors.New("the answer is about another order than the request")

// sameReference reports whether the references of a request and its answer agree. An empty reference agrees with all.
func sameReference(asked, answered string) bool {
	return asked == "" || answered == "" || asked == answered
}

// decodeBare reads an answer without an envelope, as the OAuth standard defines it. If the answer is an error
// object, decodeBare returns false, and sets env.Msg to the text of the error.
func (x *exchange) decodeBare(into decodable, env *wire.Envelope) bool {
	var refusal struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(x.Answer.Body, &refusal) // a member of another type is no text of an error
	if refusal.Error != "" {
		env.Msg = cmp.Or(env.Msg, strings.TrimSuffix(refusal.Error+": "+refusal.Description, ": "))
		return false
	}
	_, err := wire.DecodeBare(x.ctx, x.Answer.Body, x.target(into))
	return err == nil
}

func (x *exchange) noAnswer() (definite bool, err failure) {
	if x.Answer != nil && errors.Is(x.Err, transport.ErrBodyTooLarge) {
		return false, x.decodeError(fmt.Errorf("%w of %d bytes", x.Err, x.call.Policy.MaxBody))
	}
	cause := x.scrubError(x.Err)
	_, explained := cause.(failure)
	switch {
	case x.Answer != nil: // the answer was a refusal, and ctx ended before the next attempt
		env, _, _ := wire.Peek(x.ctx, x.Answer.Body)
		cause = &afterRefusal{cause, x.apiError(env)}
	case x.EarlierStatus != 0 && !explained:
		cause = fmt.Errorf("%w (an earlier attempt was answered with HTTP %d)", cause, x.EarlierStatus)
	}
	sent := x.Sent && x.Answer == nil
	return !sent, x.transportError(sent, cause)
}

func (x *exchange) unread(err error) *TransportError {
	return x.transportError(true, fmt.Errorf("the answer (HTTP %d) was not read to its end: %w", x.Answer.Status, err))
}

func (x *exchange) transportError(sent bool, cause error) *TransportError {
	return &TransportError{Operation: x.op, Sent: sent, NoToken: x.NoToken, Attempts: x.Attempts,
		RequestID: x.requestID(), TraceID: x.trace(), Err: cause, outcome: outcome{noQuota: x.QuotaSpent}}
}

func (x *exchange) apiError(env wire.Envelope) *APIError {
	e := &APIError{
		Operation:  x.op,
		HTTPStatus: x.Answer.Status,
		Code:       env.Code,
		Msg:        x.message(env.Msg),
		RequestID:  x.requestID(),
		TraceID:    x.trace(),
		RateLimit:  rateLimit(x.Answer.Header),
		Header:     x.header(),

		outcome:     outcome{noQuota: x.QuotaSpent},
		ownRefusal:  x.set.ServiceFacts.refuses(x.op, env.Code),
		tokenAdvice: x.TokenAdvice,
	}
	e.RetryAfter, _ = transport.RetryAfter(x.Answer.Header)
	switch {
	case env.HasCode:
	case !x.row.noAuth:
		e.Excerpt = x.excerpt()
	case e.Msg == "" && len(x.Answer.Body) > 0:
		e.Excerpt = redact.Marker // shows only that the answer had a body
	}
	return e
}

func (x *exchange) decodeError(err error) *DecodeError {
	e := &DecodeError{Operation: x.op, RequestID: x.requestID(), TraceID: x.trace(), Err: err}
	if x.Answer != nil {
		e.HTTPStatus = x.Answer.Status
		e.Excerpt = x.excerpt()
	}
	return e
}

func (x *exchange) meta(env wire.Envelope) ResponseMeta {
	m := ResponseMeta{
		HTTPStatus:    x.Answer.Status,
		Msg:           x.message(env.Msg),
		RequestID:     x.requestID(),
		TraceID:       x.trace(),
		SessionID:     x.sessionID(),
		RateLimit:     rateLimit(x.Answer.Header),
		Header:        x.header(),
		Attempts:      x.Attempts,
		MismatchCount: env.Count,
	}
	if ms, ok := figure(x.Answer.Header, "Server-Cost-Milliseconds"); ok {
		m.ServerCost = time.Duration(ms) * time.Millisecond
	}
	var texts []string
	for _, mismatch := range env.List {
		m.Mismatches = append(m.Mismatches, Mismatch(mismatch))
		texts = append(texts, mismatch.String())
	}
	if m.MismatchCount > 0 {
		x.call.Log.LogAttrs(x.ctx, slog.LevelWarn, "the answer does not match the documentation",
			slog.String(transport.LogOperation, string(x.op)), slog.String(transport.LogRequestID, m.RequestID),
			slog.Any("mismatches", texts), slog.Int("mismatch_count", m.MismatchCount))
	}
	if x.set.RawData {
		m.RawData = x.rawData()
	}
	return m
}

// rateLimit returns nil if a header is missing or invalid: the value 0 would mean, for example, that no request is left.
func rateLimit(h http.Header) *RateLimit {
	limit, hasLimit := figure(h, "X-Ratelimit-Limit")
	remaining, hasRemaining := figure(h, "X-Ratelimit-Remaining")
	reset, hasReset := figure(h, "X-Ratelimit-Reset")
	if !hasLimit || !hasRemaining || !hasReset {
		return nil
	}
	return &RateLimit{Limit: limit, Remaining: remaining, Reset: time.Duration(reset) * time.Second}
}

func figure(h http.Header, name string) (int, bool) {
	value := h.Get(name)
	if value == "" { // without a header, ParseUint would allocate an error
		return 0, false
	}
	n, err := strconv.ParseUint(value, 10, 31)
	return int(n), err == nil
}

// rawData copies the answer's data, with tokens redacted. It is nil if ctx ended first.
func (x *exchange) rawData() json.RawMessage {
	_, data, _ := wire.Peek(x.ctx, x.Answer.Body)
	switch {
	case !x.row.noAuth, data == nil && x.ctx.Err() != nil:
		return slices.Clone(json.RawMessage(data))
	case data == nil:
		data = x.Answer.Body
	}
	return json.RawMessage(redact.Keys(string(data)))
}

// requestID and trace return the ids from the answer if it has them, because the supplier finds the request by these ids.
func (x *exchange) requestID() string { return x.echoed("Request-Id", x.RequestID) }
func (x *exchange) trace() string     { return x.echoed("Trace-Id", x.set.TraceID) }

func (x *exchange) echoed(header, sent string) string {
	if x.Answer != nil {
		if id := x.Answer.Header.Get(header); id != sent && id != "" && len(id) <= 128 && !strings.ContainsFunc(id, isUnprintable) {
			return x.scrub(id)
		}
	}
	return sent
}

// isUnprintable reports whether r is a control character or not ASCII. Such a character could forge a line of a log,
// and no id contains one.
func isUnprintable(r rune) bool { return r < ' ' || r > '~' }

const (
	maxExcerpt = 256  // maximum bytes of an answer that an error keeps
	maxMsg     = 1024 // maximum bytes of a message that an error keeps
)

// excerpt returns the beginning of an answer. JSON is reduced to names and types, because its values are about guests.
// For operations that fetch tokens the excerpt is empty.
func (x *exchange) excerpt() string {
	if x.row.noAuth {
		return ""
	}
	body := x.Answer.Body
	text := strings.TrimSpace(wire.Outline(body[:min(len(body), redact.MaxText)]))
	return redact.Shorten(strings.ToValidUTF8(redact.Keys(x.scrubQuoted(text)), "?"), maxExcerpt)
}

// message returns the envelope's msg. For operations that fetch tokens, the message ends before the first text that
// looks like a token. If the msg is JSON, the message is empty.
func (x *exchange) message(msg string) string {
	text := x.scrubQuoted(msg)
	if x.row.noAuth {
		if json.Valid([]byte(msg)) {
			return ""
		}
		text = redact.Tokens(text)
	}
	return redact.Shorten(text, maxMsg)
}

func (x *exchange) header() http.Header {
	h := x.Answer.Header
	isSecret := func(name string, values []string) bool {
		return name == "Set-Cookie" || slices.ContainsFunc(values, x.secrets.In)
	}
	for name, values := range h {
		if isSecret(name, values) {
			h = maps.Clone(h)
			maps.DeleteFunc(h, isSecret)
			break
		}
	}
	return h
}

// sessionID returns the answer's Session-Id. Later calls send this id, so it is redacted only if it contains a whole
// credential or token.
func (x *exchange) sessionID() string {
	id := x.Answer.Header.Get("Session-Id")
	if own := (redact.Set{x.secrets[0], x.secrets[len(x.secrets)-1]}); own.In(id) {
		return own.Text(id)
	}
	return id
}

func (x *exchange) scrub(text string) string { return x.secrets.Text(text) }

// scrubQuoted is like scrub, but also redacts the names of guests, because a text of the service may repeat the names.
// An error that was made on this machine, such as a network error, contains no such names.
func (x *exchange) scrubQuoted(text string) string { return x.parts.guests.Text(x.scrub(text)) }

// scrubError returns err. If its text contains a secret, it returns an error with the redacted text instead. The secret
// can come from a malformed answer, which net/http quotes in its error.
func (x *exchange) scrubError(err error) error {
	if text := err.Error(); x.scrub(text) != text {
		return transport.WithoutCause(x.ctx, errors.New(redact.Shorten(x.scrub(text), maxMsg)))
	}
	return err
}
