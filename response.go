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
	"github.com/hotelstays/hotelstays-go/internal/token"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/types"
)

// ResponseMeta is what an answer says about itself. Every response has one.
type ResponseMeta struct {
	HTTPStatus int
	// Msg is the envelope's message, up to 1 KiB.
	Msg string
	// RequestID identifies the attempt that was answered; quote it in reports.
	RequestID string
	// TraceID identifies the call, or all calls that WithTraceID gave the same id.
	TraceID string
	// SessionID is the answer's Session-Id header. A credential or token in it is redacted.
	SessionID string
	// ServerCost is how long the service took, by its own header.
	ServerCost time.Duration
	// RateLimit is nil unless the service sent all of its figures.
	RateLimit *RateLimit
	// Header holds the headers of the answer, without cookies and what repeats a secret of the call.
	Header http.Header
	// Attempts counts how often the request was sent.
	Attempts int
	// Mismatches lists up to 64 fields whose JSON type is not the documented one, and MismatchCount
	// counts all. A number in the place of text was read as its digits. Any other field is empty, and
	// what it makes useless was left out of its list: an offer by its price, tax, dates, cancellation
	// terms or id, a room by its list of offers, a hotel or a place by its id, and a search's Basic by its
	// session.
	Mismatches    []Mismatch
	MismatchCount int
	// RawData is the JSON of data, if WithRawData asked for it.
	RawData json.RawMessage
}

// Mismatch is a field of another JSON type than documented.
type Mismatch struct {
	Path string // such as data.orders[0].rooms[1].rate.netRate.amount
	Want string // the documented type: integer, number, string, boolean, array or object
	Got  string // the type in the answer
}

// String is "path: want type, got type".
func (m Mismatch) String() string { return wire.Mismatch(m).String() }

// callAnswer is the result of a call, and what is needed to read it.
type callAnswer struct {
	ctx       context.Context
	op        Operation
	row       *operation
	traceID   string // as it was sent
	reference string
	facts     *ServiceFacts
	tokens    *token.Cache
	secrets   redact.Set   // the credential's, those of the request, and at last the token
	guests    redact.Words // what the request says about them
	keepRaw   bool
	maxBytes  int64
	log       *slog.Logger
	result    transport.Result

	into     decodable         // what the answer is decoded into while it arrives
	decoded  *transport.Answer // the one that was
	arriving time.Duration     // how long that took, without the waits
	env      wire.Envelope
	fault    error
}

// decodable is what the generated code decodes.
type decodable interface{ decode(l *wire.Lexer) }

// DecodeFeed decodes an answer while it arrives.
func (a *callAnswer) DecodeFeed(begun transport.Result, body *wire.Feed) (again bool, err error) {
	a.decodeFeed(begun, body, a.target(a.into))
	return true, nil
}

func (a *callAnswer) decodeFeed(begun transport.Result, body *wire.Feed, target wire.Target) {
	start := time.Now()
	a.env, a.fault = wire.DecodeFeed(a.ctx, body, target)
	a.decoded = begun.Answer
	a.arriving = time.Since(start) - body.Waited()
}

func (a *callAnswer) target(into decodable) wire.Target {
	t := decodeTarget(into)
	t.InternStrings, t.Lenient = a.row.internStrings, a.row.lenient
	return t
}

func decodeTarget(into decodable) wire.Target { return wire.Target{Into: into, Read: into.decode} }

// received stores the result; its token is a secret of the call from then on.
func (a *callAnswer) received(r transport.Result) {
	a.result = r
	a.secrets[0] = a.credential()
	a.secrets = append(a.secrets, r.Authorization.Token.Reveal())
}

// read decodes the answer or returns the typed error. The outcome of an operation that mutates is unknown
// unless the answer is definite or nothing was sent.
func (a *callAnswer) read(into decodable, meta *ResponseMeta, check func() error) error {
	definite, err := a.decode(into, meta, check)
	if err == nil {
		return nil
	}
	if definite || !a.row.mutates {
		return err
	}
	err.markUnknown()
	unknown := &OutcomeUnknownError{Operation: a.op, CustomerReferenceNo: a.reference,
		RequestID: a.requestID(), TraceID: a.trace(), Err: err}
	a.log.LogAttrs(a.ctx, slog.LevelWarn, "outcome unknown", logAttrs(unknown)...)
	return unknown
}

// decode returns the error of the call, and whether there is no doubt about what the service did.
func (a *callAnswer) decode(into decodable, meta *ResponseMeta, check func() error) (definite bool, err failure) {
	if a.result.Answer == nil || a.result.Err != nil {
		return a.noAnswer()
	}
	env, fault := a.decodeBody(into)
	success := a.result.Answer.Status >= 200 && a.result.Answer.Status < 300
	unusable := check()
	if a.row.bare && unusable != nil && !errors.Is(unusable, errTwoTokens) && env.Code == 0 {
		if a.decodeBare(into, &env) && check() == nil {
			fault, unusable = nil, nil
			env.HasCode, env.HasData = true, true
		}
		success = success && (env.HasCode || env.Msg == "") // else it is OAuth's own error object
	}
	switch {
	case fault != nil && errors.Is(fault, a.ctx.Err()):
		return false, a.unread(fault)
	case !success || env.HasCode && env.Code != 0:
		refusal := a.apiError(env)
		return refusal.refuses(), refusal
	case fault != nil:
		return false, a.decodeError(fault)
	case !env.HasCode:
		return false, a.decodeError(errors.New("it has no code, so it is not known to be a success"))
	case !env.HasData && !a.row.noData:
		return false, a.decodeError(errors.New("it reports success and has no data"))
	}
	*meta = a.meta(env)
	switch {
	case a.keepRaw && meta.RawData == nil: // ctx ended while it was copied
		return false, a.unread(a.ctx.Err())
	case unusable != nil:
		return false, a.decodeError(unusable)
	}
	return true, nil
}

func (a *callAnswer) decodeBody(into decodable) (wire.Envelope, error) {
	if a.decoded == a.result.Answer {
		return a.env, a.fault
	}
	return wire.Decode(a.ctx, a.result.Answer.Body, a.target(into))
}

var errTwoTokens = errors.New("data.access_token and access_token are two different tokens")

func missing(field string) error { return fmt.Errorf("%s is missing", field) }

var errOtherOrder = errors.New("it is of another order than the one asked for")

// sameReference reports whether an answer may be of the order asked for: one of them may be missing.
func sameReference(asked, answered string) bool {
	return asked == "" || answered == "" || asked == answered
}

// decodeBare reads an answer without an envelope, as the OAuth standard defines it, and reports whether
// it is no error. An error's text becomes env's message.
func (a *callAnswer) decodeBare(into decodable, env *wire.Envelope) bool {
	var refusal oauthRefusal
	if _, err := wire.DecodeBare(a.ctx, a.result.Answer.Body, a.target(&refusal)); err != nil {
		return false
	}
	var text string
	if json.Unmarshal(refusal.code, &text) == nil && text != "" {
		env.Msg = cmp.Or(env.Msg, strings.TrimSuffix(text+": "+refusal.description, ": "))
		return false
	}
	_, err := wire.DecodeBare(a.ctx, a.result.Answer.Body, a.target(into))
	return err == nil
}

// oauthRefusal is an error of the OAuth standard.
type oauthRefusal struct {
	code        json.RawMessage
	description string
}

var readOAuthRefusal = wire.Struct([]wire.Field[oauthRefusal]{
	{Name: "error", Read: func(l *wire.Lexer, v *oauthRefusal) { v.code = l.Raw() }},
	{Name: "error_description", Read: func(l *wire.Lexer, v *oauthRefusal) { v.description = l.String() }},
})

func (v *oauthRefusal) decode(l *wire.Lexer) { readOAuthRefusal(l, v) }

// noAnswer is the error of a call without an answer. Its request may have arrived.
func (a *callAnswer) noAnswer() (definite bool, err failure) {
	if a.result.Answer != nil && errors.Is(a.result.Err, transport.ErrBodyTooLarge) {
		return false, a.decodeError(fmt.Errorf("%w of %d bytes", a.result.Err, a.maxBytes))
	}
	cause := a.scrubError(a.result.Err)
	_, explained := cause.(failure)
	switch {
	case a.result.Answer != nil: // the ctx ended before the next attempt
		env, _, _ := wire.Peek(a.ctx, a.result.Answer.Body)
		cause = &afterRefusal{cause, a.apiError(env)}
	case a.result.EarlierStatus != 0 && !explained:
		cause = fmt.Errorf("%w (an earlier attempt was answered with HTTP %d)", cause, a.result.EarlierStatus)
	}
	sent := a.result.Sent && a.result.Answer == nil
	return !sent, a.transportError(sent, cause)
}

func (a *callAnswer) unread(err error) *TransportError {
	return a.transportError(true, fmt.Errorf("the answer (HTTP %d) was not read to its end: %w", a.result.Answer.Status, err))
}

func (a *callAnswer) transportError(sent bool, cause error) *TransportError {
	return &TransportError{Operation: a.op, Sent: sent, NoToken: a.result.NoToken, Attempts: a.result.Attempts,
		RequestID: a.requestID(), TraceID: a.trace(), Err: cause, outcome: outcome{noQuota: a.result.QuotaSpent}}
}

func (a *callAnswer) apiError(env wire.Envelope) *APIError {
	e := &APIError{
		Operation:  a.op,
		HTTPStatus: a.result.Answer.Status,
		Code:       env.Code,
		Msg:        a.message(env.Msg),
		RequestID:  a.requestID(),
		TraceID:    a.trace(),
		RateLimit:  rateLimit(a.result.Answer.Header),
		Header:     a.header(),

		outcome:     outcome{noQuota: a.result.QuotaSpent},
		ownRefusal:  a.facts.refuses(a.op, env.Code),
		tokenAdvice: a.result.TokenAdvice,
	}
	e.RetryAfter, _ = transport.RetryAfter(a.result.Answer.Header)
	switch {
	case env.HasCode:
	case !a.row.noAuth:
		e.Excerpt = a.excerpt()
	case e.Msg == "" && len(a.result.Answer.Body) > 0:
		e.Excerpt = redact.Marker // shows that there was a body
	}
	return e
}

func (a *callAnswer) decodeError(err error) *DecodeError {
	e := &DecodeError{Operation: a.op, RequestID: a.requestID(), TraceID: a.trace(), Err: err}
	if a.result.Answer != nil {
		e.HTTPStatus = a.result.Answer.Status
		e.Excerpt = a.excerpt()
	}
	return e
}

func (a *callAnswer) meta(env wire.Envelope) ResponseMeta {
	m := ResponseMeta{
		HTTPStatus:    a.result.Answer.Status,
		Msg:           a.message(env.Msg),
		RequestID:     a.requestID(),
		TraceID:       a.trace(),
		SessionID:     a.sessionID(),
		RateLimit:     rateLimit(a.result.Answer.Header),
		Header:        a.header(),
		Attempts:      a.result.Attempts,
		MismatchCount: env.Count,
	}
	if ms, ok := figure(a.result.Answer.Header, "Server-Cost-Milliseconds"); ok {
		m.ServerCost = time.Duration(ms) * time.Millisecond
	}
	var texts []string
	for _, mismatch := range env.List {
		m.Mismatches = append(m.Mismatches, Mismatch(mismatch))
		texts = append(texts, mismatch.String())
	}
	if m.MismatchCount > 0 {
		a.log.LogAttrs(a.ctx, slog.LevelWarn, "the answer does not match the documentation",
			slog.String(transport.LogOperation, string(a.op)), slog.String(transport.LogRequestID, m.RequestID),
			slog.Any("mismatches", texts), slog.Int("mismatch_count", m.MismatchCount))
	}
	if a.keepRaw {
		m.RawData = a.rawData()
	}
	return m
}

// rawData copies the answer's data. Tokens are masked. It is nil where ctx ended first.
func (a *callAnswer) rawData() json.RawMessage {
	_, data, _ := wire.Peek(a.ctx, a.result.Answer.Body)
	switch {
	case !a.row.noAuth, data == nil && a.ctx.Err() != nil:
		return slices.Clone(json.RawMessage(data))
	case data == nil:
		data = a.result.Answer.Body
	}
	return json.RawMessage(redact.Keys(string(data)))
}

// requestID and trace prefer the ids that the service answered with: its logs hold them.
func (a *callAnswer) requestID() string { return a.echoed("Request-Id", a.result.RequestID) }
func (a *callAnswer) trace() string     { return a.echoed("Trace-Id", a.traceID) }

func (a *callAnswer) echoed(header, sent string) string {
	if a.result.Answer != nil {
		if id := a.result.Answer.Header.Get(header); id != sent && id != "" && len(id) <= 128 && !strings.ContainsFunc(id, isUnprintable) {
			return a.scrub(id)
		}
	}
	return sent
}

// isUnprintable reports characters that no id has: they would forge lines of a log.
func isUnprintable(r rune) bool { return r < ' ' || r > '~' }

// rateLimit returns nil unless all three figures are there: a missing one is not 0.
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

// excerpt is the beginning of an answer: of JSON names and types alone, because values are about
// guests. Operations that fetch tokens have none.
func (a *callAnswer) excerpt() string {
	if a.row.noAuth {
		return ""
	}
	body := a.result.Answer.Body
	text := strings.TrimSpace(wire.Outline(body[:min(len(body), redact.MaxText)]))
	return redact.Shorten(strings.ToValidUTF8(redact.Keys(a.scrubQuoted(text)), "?"), maxExcerpt)
}

// message is the envelope's msg. For operations that fetch tokens it ends before the first text that
// looks like one, and is empty if it is JSON.
func (a *callAnswer) message(msg string) string {
	text := a.scrubQuoted(msg)
	if a.row.noAuth {
		if json.Valid([]byte(msg)) {
			return ""
		}
		text = redact.Tokens(text)
	}
	return redact.Shorten(text, maxMsg)
}

// header returns the answer's headers without those that are secret. Only then are they copied.
func (a *callAnswer) header() http.Header {
	h := a.result.Answer.Header
	isSecret := func(name string, values []string) bool {
		return name == "Set-Cookie" || slices.ContainsFunc(values, a.secrets.In)
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

// sessionID is the answer's Session-Id. Later calls send it, so that only a whole credential or token
// in it is redacted.
func (a *callAnswer) sessionID() string {
	id := a.result.Answer.Header.Get("Session-Id")
	if own := (redact.Set{a.secrets[0], a.secrets[len(a.secrets)-1]}); own.In(id) {
		return own.Text(id)
	}
	return id
}

func (a *callAnswer) scrub(text string) string { return a.secrets.Text(text) }

// scrubQuoted is scrub for what the service wrote, which may repeat the request's guests. In errors of
// this machine a name is only a word.
func (a *callAnswer) scrubQuoted(text string) string { return a.guests.Text(a.scrub(text)) }

func (a *callAnswer) scrubAttempt(text string, token types.Secret) string {
	return redact.Set{token.Reveal(), a.credential()}.Text(a.scrub(text))
}

// credential is the secret that the token was fetched with.
func (a *callAnswer) credential() string { return a.tokens.LastSecret().Reveal() }

// scrubError returns err, or its scrubbed text: net/http quotes malformed answers.
func (a *callAnswer) scrubError(err error) error {
	if text := err.Error(); a.scrub(text) != text {
		return transport.WithoutCause(a.ctx, errors.New(redact.Shorten(a.scrub(text), maxMsg)))
	}
	return err
}
