// The kinds of errors, the HTTP status for each kind, and the sentinels.

package hotelstays

import "net/http"

// ErrorKind is the kind of an error, for labels of metrics and for HTTP statuses. The list may grow. The sentinels of a
// *WebhookError share KindWebhook; ErrVoucherAltered, ErrVoucherLinkExpired and ErrVoucherUnsigned share KindVoucher.
type ErrorKind string

// The kinds that KindOf returns.
const (
	// The kinds from KindOutcomeUnknown to KindWebhook each belong to an error type.

	KindOutcomeUnknown  ErrorKind = "outcome_unknown" // Book, Cancel or a Do without Idempotent may have been executed
	KindTransport       ErrorKind = "transport"
	KindValidation      ErrorKind = "validation"
	KindDecode          ErrorKind = "unreadable_answer"
	KindReferenceReused ErrorKind = "reference_reused"
	KindPage            ErrorKind = "incomplete_listing"
	KindBatch           ErrorKind = "batch"
	KindVoucher         ErrorKind = "voucher"
	KindWebhook         ErrorKind = "webhook"

	// The kinds from KindParam to KindNoVoucher each belong to a sentinel.

	KindParam              ErrorKind = "parameter_refused"
	KindUnauthorized       ErrorKind = "unauthorized"
	KindForbidden          ErrorKind = "forbidden"
	KindNotFound           ErrorKind = "not_found" // also the kind of an *OrderNotFoundError
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
	KindRefused     ErrorKind = "refused"      // a refusal whose code has no sentinel, for example a code of ServiceFacts.RefusalCodes
	KindUnexpected  ErrorKind = "unexpected"   // any other answer, for example a redirect, or a page of a proxy
	KindOther       ErrorKind = "other"        // an error of another package, such as the error of your own function
)

// HTTPStatus returns the status with which your service answers its own callers. The table in the package
// documentation adds what to tell a traveller.
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
	case "": // the kind of a nil error
		return http.StatusOK
	case KindOutcomeUnknown:
		return http.StatusAccepted
	case KindValidation, KindWebhook, KindParam, KindVoucherTooLarge:
		return http.StatusBadRequest
	case KindNotFound, KindNoVoucher:
		return http.StatusNotFound
	case KindReferenceReused, KindDuplicateBooking, KindAmbiguousReference, KindRateChanged, KindCancelRefused, KindRefused:
		return http.StatusConflict
	case KindTransport, KindRateLimited, KindVoucherNotReady, KindCanceled, KindServerError:
		return http.StatusServiceUnavailable
	case KindUpstreamTimeout, KindTimeout:
		return http.StatusGatewayTimeout
	case KindDecode, KindPage, KindBatch, KindVoucher, KindUnauthorized, KindForbidden, KindInvalidScope, KindProxyAuth, KindUnexpected:
		return http.StatusBadGateway
	}
	return http.StatusInternalServerError
}

// passes reports whether the same call may succeed later, according to HTTPStatus.
func (k ErrorKind) passes() bool {
	status := k.HTTPStatus()
	return status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

type sentinel struct {
	of   ErrorKind
	text string
}

func (s *sentinel) Error() string   { return s.text }
func (s *sentinel) kind() ErrorKind { return s.of }

// again is called only for a sentinel that no error type wraps. A fake of the client in a test may return such a sentinel.
func (s *sentinel) again() bool { return s.of.passes() }

func newSentinel(kind ErrorKind, text string) error { return &sentinel{kind, text} }

// The sentinels for errors.Is. An *APIError matches at most one of the sentinels that are declared before ErrNotSent.
// A documented code selects the sentinel. Without a documented code, the HTTP status selects the sentinel.
var (
	// ErrParam: a parameter was refused (code 100000400 of HotelsMetadata, HotelList and Book, HTTP 400).
	ErrParam = newSentinel(KindParam, "parameter refused")
	// ErrUnauthorized: the credential or the token was refused (code 100000401 of Ticket, HTTP 401).
	ErrUnauthorized = newSentinel(KindUnauthorized, "credential refused")
	// ErrForbidden: the account is not allowed to make this call (HTTP 403).
	ErrForbidden = newSentinel(KindForbidden, "not permitted")
	// ErrNotFound: no such order for this account (code 100000404 or an enveloped HTTP 404 of
	// OrderVoucher or Cancel, or an *OrderNotFoundError).
	ErrNotFound = newSentinel(KindNotFound, "not found")
	// ErrRateLimited: the rate limit is exceeded (code 100000429 of every operation, HTTP 429).
	ErrRateLimited = newSentinel(KindRateLimited, "rate limit exceeded")
	// ErrDuplicateBooking: another reference has an active booking of the same content (code 100001003 of Book).
	ErrDuplicateBooking = newSentinel(KindDuplicateBooking, "an active booking has the same content")
	// ErrVoucherTooLarge: the document is above 8 MB, so the answer cannot contain it (code 100001005 of OrderVoucher).
	ErrVoucherTooLarge = newSentinel(KindVoucherTooLarge, "voucher document too large to be inlined")
	// ErrAmbiguousReference: the reference matches several orders (code 100001008 of OrderVoucher, or an
	// *AmbiguousReferenceError).
	ErrAmbiguousReference = newSentinel(KindAmbiguousReference, "the reference matches more than one order")
	// ErrRateChanged: the rate changed between CheckAvail and Book (code 100001111 of Book).
	ErrRateChanged = newSentinel(KindRateChanged, "the rate changed before the booking was made")
	// ErrCancelRefused: the order cannot be cancelled online (HTTP 400 of Cancel, with any code).
	ErrCancelRefused = newSentinel(KindCancelRefused, "cancellation refused")
	// ErrInvalidScope: the OAuth client asked for a scope for which it is not registered.
	ErrInvalidScope = newSentinel(KindInvalidScope, "invalid scope")
	// ErrUpstreamTimeout: the supplier did not answer in time (HTTP 504).
	ErrUpstreamTimeout = newSentinel(KindUpstreamTimeout, "the supplier did not answer in time")
	// ErrProxyAuth: a proxy before the service requires other credentials (HTTP 407; the error is an *APIError or a
	// *TransportError). The client does not send the call again, because after several refusals the proxy may lock the
	// account that you have at the proxy.
	ErrProxyAuth = newSentinel(KindProxyAuth, "the proxy requires authentication")
	// ErrNotSent: your own RoundTripper, such as a circuit breaker, wraps ErrNotSent to prove that it did not send
	// the request. The client then treats the failure like a dial error: see "Retries and unknown outcomes".
	ErrNotSent = newSentinel(KindTransport, "the request was not sent")

	// ErrVoucherNotReady: there is no document yet; AwaitVoucher waits for it.
	ErrVoucherNotReady = newSentinel(KindVoucherNotReady, "there is no document yet")
	// ErrNoVoucher: there is no document, and none is in preparation, for example because the order is cancelled.
	ErrNoVoucher = newSentinel(KindNoVoucher, "there is no document")
	// ErrVoucherLinkExpired: the link to the document has expired. Call OrderVoucher to get a new link. SaveVoucher and
	// OpenVoucher do this themselves.
	ErrVoucherLinkExpired = newSentinel(KindVoucher, "the link has expired")
	// ErrVoucherUnsigned: the voucher has no digest, because it was issued before the service began to sign vouchers.
	// With WithUnsignedVouchers the client accepts such a voucher, and checks only the size of the document.
	ErrVoucherUnsigned = newSentinel(KindVoucher, "the document cannot be verified, because the voucher has no digest")
	// ErrVoucherAltered: the document does not match the voucher's digest, or its size if the voucher has no digest. Do
	// not use the document.
	ErrVoucherAltered = newSentinel(KindVoucher, "the document differs from the issued document")

	// ErrWebhookSignature: the signature is malformed, matches no secret, or is missing and
	// AllowUnsigned is not set.
	ErrWebhookSignature = newSentinel(KindWebhook, "the signature does not match")
	// ErrWebhookTime: the signature is too old, or from the future.
	ErrWebhookTime = newSentinel(KindWebhook, "the signature's time is outside the tolerance")
	ErrWebhookBody = newSentinel(KindWebhook, "the body is not an event")
	// ErrWebhookBusy: a duplicate of the event is being handled, here or in another process. Only
	// WebhookOptions.OnError receives it. The answer is 503, so that the sender may deliver the event again.
	ErrWebhookBusy = newSentinel(KindWebhook, "a duplicate of the event is being handled")
)
