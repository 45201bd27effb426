// Webhook deliveries: signatures and events.

package hotelstays

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/signature"
	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/types"
)

// The headers of a delivery.
const (
	signatureHeader = "X-Platform-Signature"
	eventIDHeader   = "X-Platform-Event-Id"
)

const defaultTolerance = 300 * time.Second

// WebhookError reports a rejected delivery. Do not trust the content of the delivery.
type WebhookError struct {
	Err    error  // ErrWebhookSignature, ErrWebhookTime or ErrWebhookBody
	Detail string // contains no text from the delivery
}

// Error returns the reason and the detail.
func (e *WebhookError) Error() string {
	return "hotelstays: webhook: " + fact(e.Err) + ": " + e.Detail
}

// Unwrap returns Err.
func (e *WebhookError) Unwrap() error { return e.Err }

func (*WebhookError) kind() ErrorKind  { return KindWebhook }
func (*WebhookError) details() details { return details{} }

// LogValue returns attributes for slog: the kind and the text.
func (e *WebhookError) LogValue() slog.Value { return logValue(e) }

// WebhookEvent is a verified delivery. QueryOrders returns the order's current state. The JSON of an event is a full copy,
// for your queue. Do not decode the body of a delivery into it, because anyone can send a body: use VerifyWebhook.
type WebhookEvent struct {
	CustomerReferenceNo string          `json:"customerReferenceNo"`
	HotelConfirmNo      string          `json:"hotelConfirmNo,omitempty"`
	Kind                types.EventKind `json:"event"`
	// EventTime is the time of the event as Unix time in milliseconds, or 0 if the delivery has no time.
	EventTime int64 `json:"eventTime,omitempty"`

	Account  string    `json:"account,omitempty"` // see VerifyWebhookOptions
	ID       string    `json:"id,omitempty"`      // the id of the event, which may be empty; the signature does not cover it
	Signed   bool      `json:"signed,omitempty"`  // whether the delivery has a valid signature, made at SignedAt
	SignedAt time.Time `json:"signedAt,omitzero"`
	Raw      []byte    `json:"raw,omitempty"` // the whole body byte for byte, including undocumented fields
}

// webhookBody is the documented JSON of a delivery. Its decoder is written by hand, because decodegen reads only exported
// types.
type webhookBody struct {
	CustomerReferenceNo string          `json:"customerReferenceNo"`
	HotelConfirmNo      string          `json:"hotelConfirmNo"`
	Kind                types.EventKind `json:"event"`
	EventTime           int64           `json:"eventTime"`
}

func (v *webhookBody) decode(l *wire.Lexer) { readWebhookBody(l, v) }

var readWebhookBody = wire.Struct([]wire.Field[webhookBody]{
	{Name: "customerReferenceNo", Read: func(l *wire.Lexer, v *webhookBody) { v.CustomerReferenceNo = l.String() }},
	{Name: "hotelConfirmNo", Read: func(l *wire.Lexer, v *webhookBody) { v.HotelConfirmNo = l.String() }},
	{Name: "event", Read: func(l *wire.Lexer, v *webhookBody) { v.Kind = types.EventKind(l.String()) }},
	{Name: "eventTime", Read: func(l *wire.Lexer, v *webhookBody) { v.EventTime = l.Int64() }},
})

// Time returns EventTime as a time, or the zero Time if the delivery has no time.
func (e *WebhookEvent) Time() time.Time {
	if e.EventTime == 0 {
		return time.Time{}
	}
	return time.UnixMilli(e.EventTime)
}

// Keys returns the keys of the event for an EventStore, hashes of 64 characters. Duplicates share at least one key. Events
// of two accounts share no key. A signed and an unsigned event share no key either.
func (e *WebhookEvent) Keys() []string {
	trust := "signed"
	if !e.Signed {
		trust = "unsigned"
	}
	trust = hashed(e.Account, trust)
	body := hashed(trust, "body", string(e.Raw))
	key := body
	switch {
	case e.ID != "":
		key = hashed(trust, "id", e.ID)
	// Each of these kinds occurs once per order.
	case oneOf(e.Kind, types.EventOrderCreated, types.EventOrderPaid, types.EventOrderCancelled):
		key = hashed(trust, "event", e.CustomerReferenceNo, string(e.Kind))
	case e.EventTime != 0: // any other kind may occur again for the same order
		key = hashed(trust, "event", e.CustomerReferenceNo, string(e.Kind), fmt.Sprint(e.EventTime))
	}
	if e.Signed && key != body {
		return []string{key, body}
	}
	return []string{key}
}

// VerifyWebhook verifies and decodes a delivery. body must be the raw bytes. It does not detect duplicates; NewWebhookHandler
// does. The error is a *WebhookError, or a *ValidationError if opts are invalid. If customerReferenceNo or event is not a
// text in body, the error is ErrWebhookBody.
func VerifyWebhook(body []byte, h http.Header, opts VerifyWebhookOptions) (*WebhookEvent, error) {
	var f faults
	secrets := opts.reveal()
	opts.check(&f, secrets)
	if err := f.err("VerifyWebhook"); err != nil {
		return nil, err
	}
	event, err := opts.verify(body, h, secrets)
	if err != nil {
		return nil, err
	}
	event.Raw = slices.Clone(body)
	return event, nil
}

// verify returns the event of body. The event keeps body as Raw.
func (o VerifyWebhookOptions) verify(body []byte, h http.Header, secrets []string) (*WebhookEvent, error) {
	var signedAt time.Time
	account := o.Account
	signatures := h.Values(signatureHeader)
	switch {
	case len(signatures) > 1:
		return nil, &WebhookError{ErrWebhookSignature, "there are several signature headers"}
	case len(signatures) == 1 && len(secrets) > 0:
		at, secret, err := signature.Check(body, signatures[0], secrets)
		if err != nil {
			return nil, &WebhookError{ErrWebhookSignature, err.Error()}
		}
		tolerance := cmp.Or(o.Tolerance, defaultTolerance)
		if d := time.Since(at).Abs(); d > tolerance {
			return nil, &WebhookError{ErrWebhookTime, fmt.Sprintf(
				"the time differs from this machine's clock by %s, the tolerance is %s; check the clock", d.Round(time.Second), tolerance)}
		}
		signedAt, account = at, cmp.Or(account, hashed("secret", secret)[:16])
	case !o.AllowUnsigned:
		return nil, &WebhookError{ErrWebhookSignature, "the delivery has no signature; ask for a webhook signing secret, or set AllowUnsigned"}
	}
	var decoded webhookBody
	target := decodeTarget(&decoded)
	target.Lenient = true
	mismatches, err := wire.DecodeBare(context.Background(), body, target)
	if err != nil {
		return nil, &WebhookError{ErrWebhookBody, err.Error()}
	}
	for _, m := range mismatches.List {
		// The lenient decoder accepts a number as text, but these two members must be text.
		if m.Path == "customerReferenceNo" || m.Path == "event" {
			return nil, &WebhookError{ErrWebhookBody, m.String()}
		}
	}
	if decoded.CustomerReferenceNo == "" || decoded.Kind == "" {
		return nil, &WebhookError{ErrWebhookBody, "customerReferenceNo or event is missing"}
	}
	return &WebhookEvent{CustomerReferenceNo: decoded.CustomerReferenceNo, HotelConfirmNo: decoded.HotelConfirmNo, Kind: decoded.Kind,
		EventTime: decoded.EventTime, Account: account, ID: h.Get(eventIDHeader), Signed: !signedAt.IsZero(), SignedAt: signedAt, Raw: body}, nil
}

// VerifyWebhookOptions says which deliveries to trust.
type VerifyWebhookOptions struct {
	// Secrets are the webhook signing secrets, not the application's secret. A signature must match one secret. Set two
	// secrets during a rotation.
	Secrets []types.Secret
	// AllowUnsigned accepts deliveries without a signature, which anyone who knows the URL can send. If a delivery has a
	// signature, the signature must match, unless Secrets is empty. An event that arrives unsigned and then signed is
	// handled twice.
	AllowUnsigned bool
	// Account names the account of the events, because two accounts may have the same references and event ids. It is part
	// of the keys, so accounts can share an EventStore. By default each secret counts as an account: after a rotation, a
	// late repeat of an event is handled again. Without Account, all unsigned events count as one account.
	Account string
	// Tolerance is the largest difference between a delivery's time and now, in both directions;
	// 300 seconds by default.
	Tolerance time.Duration
}

// reveal returns the texts of the secrets. Call it once per delivery, because Reveal computes hashes.
func (o VerifyWebhookOptions) reveal() []string {
	secrets := make([]string, len(o.Secrets))
	for i, s := range o.Secrets {
		secrets[i] = s.Reveal()
	}
	return secrets
}

func (o VerifyWebhookOptions) check(f *faults, secrets []string) {
	if len(secrets) == 0 && !o.AllowUnsigned {
		f.add("Secrets", "is empty; give the webhook signing secret, or set AllowUnsigned")
	}
	for i, secret := range secrets {
		path := "Secrets[" + strconv.Itoa(i) + "]"
		f.required(path, secret) // anyone can sign a delivery with an empty secret
		f.secret(path, secret)
	}
	if o.Tolerance < 0 {
		f.add("Tolerance", "must not be negative")
	}
}
