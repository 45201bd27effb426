// What errors share: sentinels and kinds, attributes of log lines, and parts of texts.

package hotelstays

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go/internal/transport"
)

// ErrorKind is the kind of an error, for labels of metrics and for HTTP statuses: that of an error
// type, of a sentinel, of the end of a ctx (KindCanceled, KindTimeout), of an *APIError without a
// sentinel (KindServerError, KindRefused, KindUnexpected), or KindOther. The list may grow. The sentinels of a
// *WebhookError share KindWebhook, and ErrVoucherAltered, ErrVoucherLinkExpired and ErrVoucherUnsigned
// share KindVoucher.
type ErrorKind string

// The kinds that KindOf returns.
const (
	// KindOutcomeUnknown to KindWebhook are the kinds of the error types.

	KindOutcomeUnknown  ErrorKind = "outcome_unknown" // a Book or a Cancel may have been carried out
	KindTransport       ErrorKind = "transport"
	KindValidation      ErrorKind = "validation"
	KindDecode          ErrorKind = "unreadable_answer"
	KindReferenceReused ErrorKind = "reference_reused"
	KindPage            ErrorKind = "incomplete_listing"
	KindBatch           ErrorKind = "batch"
	KindVoucher         ErrorKind = "voucher"
	KindWebhook         ErrorKind = "webhook"

	// KindParam to KindNoVoucher are the kinds of the sentinels.

	KindParam              ErrorKind = "parameter_refused"
	KindUnauthorized       ErrorKind = "unauthorized"
	KindForbidden          ErrorKind = "forbidden"
	KindNotFound           ErrorKind = "not_found" // also of *OrderNotFoundError
	KindRateLimited        ErrorKind = "rate_limited"
	KindDuplicateBooking   ErrorKind = "duplicate_booking"
	KindVoucherTooLarge    ErrorKind = "voucher_too_large"
	KindAmbiguousReference ErrorKind = "ambiguous_reference"
	KindRateChanged        ErrorKind = "rate_changed"
	KindCancelRefused      ErrorKind = "cancel_refused"
	KindInvalidScope       ErrorKind = "invalid_scope"
	KindUpstreamTimeout    ErrorKind = "upstream_timeout"
	KindProxyAuth          ErrorKind = "proxy_authentication"
	KindVoucherNotReady    ErrorKind = "voucher_not_ready"
	KindNoVoucher          ErrorKind = "no_voucher"

	KindCanceled    ErrorKind = "canceled"     // a ctx was cancelled
	KindTimeout     ErrorKind = "timeout"      // a deadline or a time limit passed
	KindServerError ErrorKind = "server_error" // HTTP 5xx
	KindRefused     ErrorKind = "refused"      // a refusal with a code that has no sentinel, such as one of ServiceFacts.RefusalCodes
	KindUnexpected  ErrorKind = "unexpected"   // any other answer, such as a redirect or a page of a proxy
	KindOther       ErrorKind = "other"        // such as an error of your own function
)

// HTTPStatus returns the status with which a service of yours answers its own callers. The manual's table has
// it, with what to tell a traveller:
//
//	202  the outcome is unknown: the caller asks for the booking later
//	400  the request is at fault
//	404  there is no such order, or no voucher
//	409  the service refused, or the offer or the order does not allow it
//	503  the caller may try again in a moment, or for a voucher in a few minutes
//	504  there was no answer in time
//	502  the API, or your access to it, is at fault
//	500  the error is not of this package
func (k ErrorKind) HTTPStatus() int {
	switch k {
	case "": // of a nil error
		return http.StatusOK
	case KindOutcomeUnknown:
		return http.StatusAccepted
	case KindValidation, KindParam, KindWebhook, KindVoucherTooLarge:
		return http.StatusBadRequest
	case KindNotFound, KindNoVoucher:
		return http.StatusNotFound
	case KindRateChanged, KindDuplicateBooking, KindReferenceReused, KindAmbiguousReference, KindCancelRefused, KindRefused:
		return http.StatusConflict
	case KindRateLimited, KindTransport, KindServerError, KindCanceled, KindVoucherNotReady:
		return http.StatusServiceUnavailable
	case KindTimeout, KindUpstreamTimeout:
		return http.StatusGatewayTimeout
	case KindUnauthorized, KindForbidden, KindInvalidScope, KindProxyAuth, KindDecode, KindUnexpected, KindPage, KindBatch, KindVoucher:
		return http.StatusBadGateway
	}
	return http.StatusInternalServerError // KindOther, and what is no kind
}

// KindOf returns the kind of err, or "" for nil. An *OutcomeUnknownError decides wherever it is in the
// chain of err, then the end of a ctx, then the outermost error of this package: pass BatchError.Err for
// the kind of its cause. A call without a token has the kind of why there is none.
func KindOf(err error) ErrorKind {
	if err == nil {
		return ""
	}
	outermost := KindOther
	for _, err := range chain(err, unwrapped) {
		own, ok := err.(interface{ kind() ErrorKind })
		switch {
		case !ok:
		case own.kind() == KindOutcomeUnknown:
			return KindOutcomeUnknown
		case outermost == KindOther:
			outermost = own.kind()
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return KindCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	}
	return outermost
}

// Retryable reports whether the same call may be made again later, as the text of err says: the service
// failed or was too busy, there was no answer, or there is no voucher yet. It is false after an unknown
// outcome and after a refusal, and for an error that is not of this package. A Client has made its own
// retries before.
func Retryable(err error) bool {
	if KindOf(err) == KindOutcomeUnknown {
		return false
	}
	for _, err := range chain(err, unwrapped) {
		if own, ok := err.(interface{ again() bool }); ok {
			return own.again()
		}
	}
	return false
}

// chain returns err and the errors below it, outermost first. below is unwrapped or causes.
func chain(err error, below func(error) []error) (all []error) {
	if err == nil {
		return nil
	}
	all = append(all, err)
	for _, err := range below(err) {
		all = append(all, chain(err, below)...)
	}
	return all
}

func unwrapped(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

// causes is unwrapped, with the errors that Unwrap hides.
func causes(err error) []error {
	if e, ok := err.(interface{ causes() []error }); ok {
		return e.causes()
	}
	return unwrapped(err)
}

// undecided returns the only errors that Unwrap may lead to if cause decides nothing: those of a ctx and
// of the network. An error switch must not find a refusal there.
func undecided(cause error) (found []error) {
	all := chain(cause, causes)
	for _, end := range []error{context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded} {
		if errors.Is(errors.Join(all...), end) {
			found = append(found, end)
		}
	}
	for _, err := range all {
		switch err.(type) {
		case *net.OpError, *net.DNSError:
			if !slices.ContainsFunc(chain(err, unwrapped), hasKind) { // as one of a dialer of yours may have
				found = append(found, err)
			}
		}
	}
	return found
}

// hasKind reports whether err is of this package.
func hasKind(err error) bool {
	_, ok := err.(interface{ kind() ErrorKind })
	return ok
}

type sentinel struct {
	of   ErrorKind
	text string
}

func (s *sentinel) Error() string   { return s.text }
func (s *sentinel) kind() ErrorKind { return s.of }

// again is for a bare sentinel, such as of a fake. An error type around it decides by itself.
func (s *sentinel) again() bool {
	return slices.Contains([]ErrorKind{KindRateLimited, KindUpstreamTimeout, KindTransport, KindVoucherNotReady}, s.of)
}

func newSentinel(kind ErrorKind, text string) error { return &sentinel{kind, text} }

// What errors.Is finds. An *APIError matches at most one of those above ErrNotSent, by a documented code,
// or else by the HTTP status. Every 400 of Cancel is ErrCancelRefused.
var (
	// ErrParam: a parameter was refused (code 100000400, HTTP 400).
	ErrParam = newSentinel(KindParam, "parameter refused")
	// ErrUnauthorized: the credential or the token was refused (code 100000401, HTTP 401).
	ErrUnauthorized = newSentinel(KindUnauthorized, "credential refused")
	// ErrForbidden: the account may not do this (HTTP 403).
	ErrForbidden = newSentinel(KindForbidden, "not permitted for this account")
	// ErrNotFound: no such order for this account (code 100000404 or an enveloped HTTP 404 of
	// OrderVoucher or Cancel, or an *OrderNotFoundError).
	ErrNotFound = newSentinel(KindNotFound, "not found")
	// ErrRateLimited: the rate limit is exceeded (code 100000429, HTTP 429).
	ErrRateLimited = newSentinel(KindRateLimited, "rate limit exceeded")
	// ErrDuplicateBooking: another reference has an active booking of the same content (code 100001003).
	ErrDuplicateBooking = newSentinel(KindDuplicateBooking, "an active booking has the same content")
	// ErrVoucherTooLarge: the document is above 8 MB and is not inlined (code 100001005).
	ErrVoucherTooLarge = newSentinel(KindVoucherTooLarge, "voucher document too large to be inlined")
	// ErrAmbiguousReference: the reference matches several orders (code 100001008, or an
	// *AmbiguousReferenceError).
	ErrAmbiguousReference = newSentinel(KindAmbiguousReference, "the reference matches more than one order")
	// ErrRateChanged: the rate changed between CheckAvail and Book (code 100001111).
	ErrRateChanged = newSentinel(KindRateChanged, "the rate changed before the booking was made")
	// ErrCancelRefused: the order cannot be cancelled online (HTTP 400 of Cancel, with any code).
	ErrCancelRefused = newSentinel(KindCancelRefused, "cancellation refused")
	// ErrInvalidScope: the OAuth client is not registered for a scope it asked for.
	ErrInvalidScope = newSentinel(KindInvalidScope, "invalid scope")
	// ErrUpstreamTimeout: the supplier did not answer in time (HTTP 504).
	ErrUpstreamTimeout = newSentinel(KindUpstreamTimeout, "the supplier did not answer in time")
	// ErrProxyAuth: a proxy on the way wants other credentials (HTTP 407, also as a *TransportError).
	ErrProxyAuth = newSentinel(KindProxyAuth, "the proxy asks for authentication")
	// ErrNotSent: a RoundTripper of yours, such as a circuit breaker, wraps it to prove that it did not send
	// the request. It then counts as a dial error does: see "Retries and unknown outcomes".
	ErrNotSent = newSentinel(KindTransport, "the request was not sent")

	// ErrVoucherNotReady: there is no document yet; AwaitVoucher waits for it.
	ErrVoucherNotReady = newSentinel(KindVoucherNotReady, "there is no document yet")
	// ErrNoVoucher: there is no document, and AwaitVoucher does not wait for one, as for a cancelled order.
	ErrNoVoucher = newSentinel(KindNoVoucher, "there is no document")
	// ErrVoucherLinkExpired: get a new link by OrderVoucher, as SaveVoucher and OpenVoucher do.
	ErrVoucherLinkExpired = newSentinel(KindVoucher, "the link has expired")
	// ErrVoucherUnsigned: the voucher is older than signing. WithUnsignedVouchers accepts it by its size.
	ErrVoucherUnsigned = newSentinel(KindVoucher, "the voucher has no digest to verify it by")
	// ErrVoucherAltered: the digest differs, or without one the size. No traveller may get the document.
	ErrVoucherAltered = newSentinel(KindVoucher, "the document is not the one that was issued")

	// ErrWebhookSignature: the signature is malformed, matches no secret, or is missing and
	// AllowUnsigned is not set.
	ErrWebhookSignature = newSentinel(KindWebhook, "the signature does not match")
	// ErrWebhookTime: the signature is too old, or from the future.
	ErrWebhookTime = newSentinel(KindWebhook, "the signature's time is outside the tolerance")
	ErrWebhookBody = newSentinel(KindWebhook, "the body is not an event")
	// ErrWebhookBusy: a duplicate of the event is being handled, here or in another process. Only
	// WebhookOptions.OnError receives it; the answer is 503, so that the sender may deliver it again.
	ErrWebhookBusy = newSentinel(KindWebhook, "a duplicate of the event is being handled")
)

// ownError is every exported error type of the package.
type ownError interface {
	error
	kind() ErrorKind
	details() details
}

// details are what an error knows of its call. What it does not know is empty.
type details struct {
	operation          Operation
	reference          string
	status, code       int
	requestID, traceID string
	noToken            bool
}

// detailsOf returns what err and its causes know, the outermost first. A status comes with
// the id of its request.
func detailsOf(err error) (d details) {
	for _, err := range chain(err, causes) {
		own, ok := err.(ownError)
		if !ok {
			continue
		}
		of := own.details()
		d.operation, d.reference = cmp.Or(d.operation, of.operation), cmp.Or(d.reference, of.reference)
		if d.requestID == "" || d.requestID == of.requestID {
			d.status, d.code = cmp.Or(d.status, of.status), cmp.Or(d.code, of.code)
			d.requestID, d.traceID = of.requestID, cmp.Or(d.traceID, of.traceID)
		}
		d.noToken = d.noToken || of.noToken
	}
	return d
}

// RequestIDOf returns the id of a failed request in the service's logs: that of err, or else of its
// outermost cause that has one. It is empty if there was no
// attempt. The logs lack an attempt that did not reach the service, see TransportError.Sent.
func RequestIDOf(err error) string {
	return detailsOf(err).requestID
}

func logValue(err ownError) slog.Value { return slog.GroupValue(logAttrs(err)...) }

func logAttrs(err error) []slog.Attr {
	d := detailsOf(err)
	attrs := []slog.Attr{slog.String(transport.LogKind, string(KindOf(err)))}
	for _, attr := range []slog.Attr{
		slog.String(transport.LogOperation, string(d.operation)),
		slog.String(transport.LogReference, d.reference),
		slog.Int(transport.LogStatus, d.status),
		slog.Int(transport.LogCode, d.code),
		slog.String(transport.LogRequestID, d.requestID),
		slog.String(transport.LogTraceID, d.traceID),
		slog.Bool(transport.LogNoToken, d.noToken),
	} {
		if !reflect.ValueOf(attr.Value.Any()).IsZero() {
			attrs = append(attrs, attr)
		}
	}
	return append(attrs, slog.String(transport.LogError, err.Error()))
}

// failure is the error of one call: what happened, and apart from it the next step.
type failure interface {
	ownError
	fact() string // without operation, ids and advice
	next() string
	again() bool // whether next says that the same call may be made again
	advice(next string) string
	// markUnknown makes the failure the cause of an unknown outcome: no refusal, and no own advice.
	markUnknown()
}

type outcome struct {
	unknown bool
	noQuota bool // another attempt would have followed
}

func (o *outcome) markUnknown() { o.unknown = true }

func (o *outcome) advice(next string) string {
	switch {
	case o.unknown:
		return "; the outcome is unknown: do not send it again, ask QueryOrders first"
	case o.noQuota:
		next = "not retried, because many calls fail; " + next
	case next == "":
		return ""
	}
	return "; " + next
}

func failureText(f failure) string {
	return "hotelstays: " + describe(f, f.fact()) + f.advice(f.next())
}

// describe puts a fact between the operation and the id that the service's logs have.
func describe(err ownError, fact string) string {
	d := err.details()
	if d.requestID == "" {
		return fmt.Sprintf("%s: %s", d.operation, fact)
	}
	return fmt.Sprintf("%s: %s, request id %s", d.operation, fact, d.requestID)
}

// fact is the text of an error without its prefix and its advice, to be part of another.
func fact(err error) string {
	if err == nil {
		return "no cause given"
	}
	if f, ok := err.(failure); ok {
		return describe(f, f.fact())
	}
	return strings.TrimPrefix(err.Error(), "hotelstays: ")
}
