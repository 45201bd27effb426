// Webhook deliveries: who sent them, and what they say.

package hotelstays

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/types"
)

// The headers of a delivery.
const (
	WebhookSignatureHeader = "X-Platform-Signature"
	WebhookEventIDHeader   = "X-Platform-Event-Id"
)

// DefaultWebhookTolerance is how far a delivery's time may lie from now.
const DefaultWebhookTolerance = 300 * time.Second

// What is wrong with a delivery that is not accepted, for errors.Is.
var (
	// ErrWebhookUnsigned: there is no signature, and AllowUnsigned is not set.
	ErrWebhookUnsigned = errors.New("the delivery is not signed")
	// ErrWebhookSignature: the signature is malformed, or is of none of the secrets.
	ErrWebhookSignature = errors.New("the signature does not match")
	// ErrWebhookTime: the delivery was signed too long ago, or in the future.
	ErrWebhookTime = errors.New("the delivery's time is outside the tolerance")
	// ErrWebhookBody: the body is not an event.
	ErrWebhookBody = errors.New("the body is not an event")
)

// WebhookError reports a delivery that is not accepted. Nothing of it may be
// believed.
type WebhookError struct {
	// Err is one of the four conditions.
	Err error
	// Detail says more, and quotes nothing of the delivery.
	Detail string
}

// Error says what is wrong and what to look at.
func (e *WebhookError) Error() string {
	return "hotelstays: webhook: " + e.Err.Error() + ": " + e.Detail
}

// Unwrap returns the condition.
func (e *WebhookError) Unwrap() error { return e.Err }

// WebhookKind is what happened to an order.
type WebhookKind string

// The documented kinds of events. Which change of an order makes which event is
// not shown, and other kinds may come.
const (
	EventOrderCreated   WebhookKind = "order_created"
	EventOrderPaid      WebhookKind = "order_paid"
	EventOrderCancelled WebhookKind = "order_cancelled"
	// EventOrderModified is an amendment of a confirmed order, such as a confirmation
	// number of the hotel. It comes once for each amendment.
	EventOrderModified WebhookKind = "order_modified"
)

// WebhookEvent is a verified delivery. It tells that something happened to an
// order; QueryOrders tells what the order is now.
type WebhookEvent struct {
	CustomerReferenceNo string      `json:"customerReferenceNo"`
	HotelConfirmNo      string      `json:"hotelConfirmNo"`
	Kind                WebhookKind `json:"event"`
	// EventTime is Unix time in milliseconds; 0 where it was not sent.
	EventTime int64 `json:"eventTime"`

	// ID is the event's id, or empty. It is outside the signature.
	ID string `json:"-"`
	// Signed tells that the signature of a secret was found good, and SignedAt the
	// time in it.
	Signed   bool      `json:"-"`
	SignedAt time.Time `json:"-"`
	// Raw is the whole body, for fields that are not documented.
	Raw json.RawMessage `json:"-"`
}

// Time is EventTime as a time, and the zero Time where it was not sent.
func (e *WebhookEvent) Time() time.Time {
	if e.EventTime == 0 {
		return time.Time{}
	}
	return time.UnixMilli(e.EventTime)
}

// VerifyWebhook checks a delivery and reads it. body must be the raw bytes that
// came, before any parsing: the signature is over those. It tells nothing about
// whether the event came before; NewWebhookHandler does. Its errors are
// *WebhookError, or a *ValidationError where opts cannot work.
//
// An event without a reference or a kind is ErrWebhookBody. That is this client's
// choice, because such an event belongs to no order: which fields an event always has
// is undocumented.
func VerifyWebhook(body []byte, h http.Header, opts WebhookOptions) (*WebhookEvent, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	var signedAt time.Time
	signatures := h.Values(WebhookSignatureHeader)
	switch {
	case len(signatures) > 1:
		return nil, &WebhookError{ErrWebhookSignature, "the signature header came more than once"}
	case len(signatures) == 1 && len(opts.Secrets) > 0:
		at, err := checkSignature(body, signatures[0], opts)
		if err != nil {
			return nil, err
		}
		signedAt = at
	case !opts.AllowUnsigned:
		return nil, &WebhookError{ErrWebhookUnsigned, "the service signs once a webhook signing secret is issued; AllowUnsigned accepts deliveries without"}
	}
	event := &WebhookEvent{}
	if _, err := wire.DecodeBare(context.Background(), body, target(event, false), true); err != nil {
		return nil, &WebhookError{ErrWebhookBody, err.Error()}
	}
	if event.CustomerReferenceNo == "" || event.Kind == "" {
		return nil, &WebhookError{ErrWebhookBody, "customerReferenceNo or event is missing"}
	}
	event.ID, event.Raw = h.Get(WebhookEventIDHeader), slices.Clone(body)
	event.Signed, event.SignedAt = !signedAt.IsZero(), signedAt
	return event, nil
}

// maxSignature bounds the header: a few secrets' worth.
const maxSignature = 4096

// digest is a SHA-256 HMAC.
type digest [sha256.Size]byte

// checkSignature finds the secret that signed body, and returns the time of it.
func checkSignature(body []byte, header string, opts WebhookOptions) (time.Time, error) {
	stamp, candidates, err := parseSignature(header)
	if err != nil {
		return time.Time{}, err
	}
	found := false
	signed := append([]byte(stamp), '.')
	for _, secret := range opts.Secrets {
		mac := hmac.New(sha256.New, []byte(secret.Reveal()))
		mac.Write(signed)
		mac.Write(body)
		var room digest
		want := mac.Sum(room[:0])
		for _, candidate := range candidates {
			found = hmac.Equal(want, candidate[:]) || found
		}
	}
	if !found {
		return time.Time{}, &WebhookError{ErrWebhookSignature, "it is of another secret, or the body was changed on the way; check the webhook signing secret, which is not the application's"}
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return time.Time{}, &WebhookError{ErrWebhookSignature, "its time is out of range"}
	}
	at := time.Unix(seconds, 0)
	if d := time.Since(at).Abs(); d > opts.tolerance() {
		return time.Time{}, &WebhookError{ErrWebhookTime, fmt.Sprintf("it is off by %s, more than %s; check this machine's clock", d.Round(time.Second), opts.tolerance())}
	}
	return at, nil
}

// parseSignature reads t=<unix seconds>,v1=<hex>[,v1=<hex>…]. Other schemes beside
// v1 are passed over; two times are refused, for only one can be meant.
func parseSignature(header string) (stamp string, candidates []digest, err error) {
	const noDigest = "a v1 part is not the hex of a SHA-256 HMAC"
	malformed := func(detail string) (string, []digest, error) {
		return "", nil, &WebhookError{ErrWebhookSignature, detail}
	}
	if len(header) > maxSignature {
		return malformed("the signature header is too long")
	}
	for part := range strings.SplitSeq(header, ",") {
		key, value, ok := strings.Cut(part, "=")
		switch {
		case !ok:
			return malformed("the signature header has a part that is no key=value")
		case key == "t" && (stamp != "" || value == "" || strings.ContainsFunc(value, notDigit)):
			return malformed("the signature header has no single time in Unix seconds")
		case key == "t":
			stamp = value
		case key == "v1":
			var candidate digest
			if len(value) != hex.EncodedLen(len(candidate)) {
				return malformed(noDigest)
			}
			if _, err := hex.Decode(candidate[:], []byte(value)); err != nil {
				return malformed(noDigest)
			}
			candidates = append(candidates, candidate)
		}
	}
	if stamp == "" || len(candidates) == 0 {
		return malformed("the signature header lacks t or v1")
	}
	return stamp, candidates, nil
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// WebhookOptions says which deliveries are accepted, and how they are handled. The
// second group is for NewWebhookHandler alone.
type WebhookOptions struct {
	// Secrets are the webhook signing secrets, any of which may have signed: two
	// while one replaces another. They are issued apart from the application's
	// secret.
	Secrets []types.Secret
	// AllowUnsigned accepts deliveries without a signature, from anybody who knows
	// the address. A signature that is there must still match one of Secrets, unless
	// Secrets is empty.
	AllowUnsigned bool
	// Tolerance is how far a delivery's time may lie from now, before or after; 0
	// takes DefaultWebhookTolerance.
	Tolerance time.Duration

	// Store remembers events; nil remembers the last 100,000 in memory.
	Store EventStore
	// Retention is how long an event is remembered; 0 takes seven days.
	Retention time.Duration
	// Lease is how long the function may take, after which its ctx ends and another
	// copy of the event may be handled; 0 takes a minute.
	Lease time.Duration
	// MaxBody bounds a body, in bytes; 0 takes 1 MiB.
	MaxBody int64
	// ReadTimeout bounds the reading of a body; 0 takes 10 seconds. It needs a
	// ResponseWriter that can set a deadline: behind a middleware that cannot, bound
	// it with http.Server.ReadTimeout.
	ReadTimeout time.Duration
	// OnError is told of every delivery that was not handled, after it was answered;
	// nil tells nobody.
	OnError func(*http.Request, error)
}

func (o WebhookOptions) tolerance() time.Duration {
	return orDefault(o.Tolerance, DefaultWebhookTolerance)
}

func orDefault[T time.Duration | int64](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}

func (o WebhookOptions) check() error {
	var f faults
	if len(o.Secrets) == 0 && !o.AllowUnsigned {
		f.add("Secrets", "is empty: give the webhook signing secret, or accept unsigned deliveries with AllowUnsigned")
	}
	for i, s := range o.Secrets {
		path := "Secrets[" + strconv.Itoa(i) + "]"
		f.required(path, s.Reveal()) // anybody can sign with an empty one
		f.secret(path, s)
	}
	if o.Tolerance < 0 || o.Retention < 0 || o.Lease < 0 || o.ReadTimeout < 0 || o.MaxBody < 0 {
		f.add("Tolerance, Retention, Lease, ReadTimeout, MaxBody", "hold a negative value; 0 takes the default")
	}
	return f.err("VerifyWebhook")
}
