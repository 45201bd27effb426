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
	if k == "" { // the kind of a nil error
		return http.StatusOK
	}
	if row := k.row(); row != nil {
		return row.httpStatus
	}
	return http.StatusInternalServerError // k is not a kind of this package
}

type kindRow struct {
	sentinel   // the sentinel of the kind; its text is empty if the kind has no sentinel, or several
	httpStatus int
}

var kindRows = []kindRow{
	{sentinel{KindOutcomeUnknown, ""}, http.StatusAccepted},
	{sentinel{KindTransport, ""}, http.StatusServiceUnavailable},
	{sentinel{KindValidation, ""}, http.StatusBadRequest},
	{sentinel{KindDecode, ""}, http.StatusBadGateway},
	{sentinel{KindReferenceReused, ""}, http.StatusConflict},
	{sentinel{KindPage, ""}, http.StatusBadGateway},
	{sentinel{KindBatch, ""}, http.StatusBadGateway},
	{sentinel{KindVoucher, ""}, http.StatusBadGateway},
	{sentinel{KindWebhook, ""}, http.StatusBadRequest},

	{sentinel{KindParam, "parameter refused"}, http.StatusBadRequest},
	{sentinel{KindUnauthorized, "credential refused"}, http.StatusBadGateway},
	{sentinel{KindForbidden, "not permitted"}, http.StatusBadGateway},
	{sentinel{KindNotFound, "not found"}, http.StatusNotFound},
	{sentinel{KindRateLimited, "rate limit exceeded"}, http.StatusServiceUnavailable},
	{sentinel{KindDuplicateBooking, "an active booking has the same content"}, http.StatusConflict},
	{sentinel{KindVoucherTooLarge, "voucher document too large to be inlined"}, http.StatusBadRequest},
	{sentinel{KindAmbiguousReference, "the reference matches more than one order"}, http.StatusConflict},
	{sentinel{KindRateChanged, "the rate changed before the booking was made"}, http.StatusConflict},
	{sentinel{KindCancelRefused, "cancellation refused"}, http.StatusConflict},
	{sentinel{KindInvalidScope, "invalid scope"}, http.StatusBadGateway},
	{sentinel{KindUpstreamTimeout, "the supplier did not answer in time"}, http.StatusGatewayTimeout},
	{sentinel{KindProxyAuth, "the proxy requires authentication"}, http.StatusBadGateway},
	{sentinel{KindVoucherNotReady, "there is no document yet"}, http.StatusServiceUnavailable},
	{sentinel{KindNoVoucher, "there is no document"}, http.StatusNotFound},

	{sentinel{KindCanceled, ""}, http.StatusServiceUnavailable},
	{sentinel{KindTimeout, ""}, http.StatusGatewayTimeout},
	{sentinel{KindServerError, ""}, http.StatusServiceUnavailable},
	{sentinel{KindRefused, ""}, http.StatusConflict},
	{sentinel{KindUnexpected, ""}, http.StatusBadGateway},
	{sentinel{KindOther, ""}, http.StatusInternalServerError},
}

func (k ErrorKind) row() *kindRow {
	for i := range kindRows {
		if kindRows[i].of == k {
			return &kindRows[i]
		}
	}
	return nil
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

// sentinelOf returns the sentinel of a kind that has exactly one sentinel.
func sentinelOf(kind ErrorKind) error { return &kind.row().sentinel }

// The sentinels for errors.Is. An *APIError matches at most one of the sentinels that are declared before ErrNotSent.
// A documented code selects the sentinel. Without a documented code, the HTTP status selects the sentinel.
var (
	// ErrParam: a parameter was refused (code 100000400 of HotelsMetadata, HotelList and Book, HTTP 400).
	ErrParam = sentinelOf(KindParam)
	// ErrUnauthorized: the credential or the token was refused (code 100000401 of Ticket, HTTP 401).
	ErrUnauthorized = sentinelOf(KindUnauthorized)
	// ErrForbidden: the account is not allowed to make this call (HTTP 403).
	ErrForbidden = sentinelOf(KindForbidden)
	// ErrNotFound: no such order for this account (code 100000404 or an enveloped HTTP 404 of
	// OrderVoucher or Cancel, or an *OrderNotFoundError).
	ErrNotFound = sentinelOf(KindNotFound)
	// ErrRateLimited: the rate limit is exceeded (code 100000429 of every operation, HTTP 429).
	ErrRateLimited = sentinelOf(KindRateLimited)
	// ErrDuplicateBooking: another reference has an active booking of the same content (code 100001003 of Book).
	ErrDuplicateBooking = sentinelOf(KindDuplicateBooking)
	// ErrVoucherTooLarge: the document is above 8 MB, so the answer cannot contain it (code 100001005 of OrderVoucher).
	ErrVoucherTooLarge = sentinelOf(KindVoucherTooLarge)
	// ErrAmbiguousReference: the reference matches several orders (code 100001008 of OrderVoucher, or an
	// *AmbiguousReferenceError).
	ErrAmbiguousReference = sentinelOf(KindAmbiguousReference)
	// ErrRateChanged: the rate changed between CheckAvail and Book (code 100001111 of Book).
	ErrRateChanged = sentinelOf(KindRateChanged)
	// ErrCancelRefused: the order cannot be cancelled online (HTTP 400 of Cancel, with any code).
	ErrCancelRefused = sentinelOf(KindCancelRefused)
	// ErrInvalidScope: the OAuth client asked for a scope for which it is not registered.
	ErrInvalidScope = sentinelOf(KindInvalidScope)
	// ErrUpstreamTimeout: the supplier did not answer in time (HTTP 504).
	ErrUpstreamTimeout = sentinelOf(KindUpstreamTimeout)
	// ErrProxyAuth: a proxy before the service requires other credentials (HTTP 407; the error is an *APIError or a
	// *TransportError). The client does not send the call again, because after several refusals the proxy may lock the
	// account that you have at the proxy.
	ErrProxyAuth = sentinelOf(KindProxyAuth)
	// ErrNotSent: your own RoundTripper, such as a circuit breaker, wraps ErrNotSent to prove that it did not send
	// the request. The client then treats the failure like a dial error: see "Retries and unknown outcomes".
	ErrNotSent = newSentinel(KindTransport, "the request was not sent")

	// ErrVoucherNotReady: there is no document yet; AwaitVoucher waits for it.
	ErrVoucherNotReady = sentinelOf(KindVoucherNotReady)
	// ErrNoVoucher: there is no document, and none is in preparation, for example because the order is cancelled.
	ErrNoVoucher = sentinelOf(KindNoVoucher)
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
