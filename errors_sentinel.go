// The table of the kinds of errors, and the sentinels.

package hotelstays

import (
	"net/http"

	"github.com/hotelstays/hotelstays-go/types"
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
	answers
}

// answers describes which answers of the service belong to a kind. The zero value matches no answer.
type answers struct {
	code   int // code of the answer; 0 if the document lists no code
	status int // HTTP status of the answer; 0 if the status is never compared
	// listedFor has the operations for which the document lists the code; nil: all. The code proves a refusal only for
	// these operations.
	listedFor []Operation
	next      string
	// only, if set, lists the operations that can have the kind. The status then counts only in an enveloped answer.
	only []Operation
	// first: if the answer has this status or this word, the answer has this kind, whatever its code is.
	first bool
	word  string // text in Msg by which an answer belongs to the kind; empty if Msg is never compared
}

var kindRows = []kindRow{
	{sentinel{KindOutcomeUnknown, ""}, http.StatusAccepted, answers{}},
	{sentinel{KindTransport, ""}, http.StatusServiceUnavailable, answers{}},
	{sentinel{KindValidation, ""}, http.StatusBadRequest, answers{}},
	{sentinel{KindDecode, ""}, http.StatusBadGateway, answers{}},
	{sentinel{KindReferenceReused, ""}, http.StatusConflict, answers{}},
	{sentinel{KindPage, ""}, http.StatusBadGateway, answers{}},
	{sentinel{KindBatch, ""}, http.StatusBadGateway, answers{}},
	{sentinel{KindVoucher, ""}, http.StatusBadGateway, answers{}},
	{sentinel{KindWebhook, ""}, http.StatusBadRequest, answers{}},

	{sentinel{KindParam, "parameter refused"}, http.StatusBadRequest, answers{
		code: types.CodeParam, status: http.StatusBadRequest, listedFor: []Operation{OpHotelsMetadata, OpHotelList, OpBook},
		next: "correct the request, because the same request will be refused again"}},
	{sentinel{KindUnauthorized, "credential refused"}, http.StatusBadGateway, answers{
		code: types.CodeUnauthorized, status: http.StatusUnauthorized, listedFor: []Operation{OpTicket},
		next: "check that the credential is right, and that it belongs to this base URL"}},
	{sentinel{KindForbidden, "not permitted"}, http.StatusBadGateway, answers{
		status: http.StatusForbidden,
		next:   "check the account's scopes, and whether the call needs another market (WithMarket) or user (WithUserRef)"}},
	{sentinel{KindNotFound, "not found"}, http.StatusNotFound, answers{
		code: types.CodeNotFound, status: http.StatusNotFound, listedFor: []Operation{OpOrderVoucher},
		only: []Operation{OpOrderVoucher, OpCancel},
		next: "check the reference, and that this account booked it"}},
	{sentinel{KindRateLimited, "rate limit exceeded"}, http.StatusServiceUnavailable, answers{
		code: types.CodeRateLimited, status: http.StatusTooManyRequests,
		next: "wait, or send less: all processes with this client IP address share the limit"}},
	{sentinel{KindDuplicateBooking, "an active booking has the same content"}, http.StatusConflict, answers{
		code: types.CodeDuplicateBooking, listedFor: []Operation{OpBook},
		next: "nothing was booked; the message names an order: read that order with QueryOrders, and cancel it if it is not wanted"}},
	{sentinel{KindVoucherTooLarge, "voucher document too large to be inlined"}, http.StatusBadRequest, answers{
		code: types.CodeVoucherTooLarge, listedFor: []Operation{OpOrderVoucher},
		next: "call OrderVoucher without IncludeDocument, and use DownloadURL"}},
	{sentinel{KindAmbiguousReference, "the reference matches more than one order"}, http.StatusConflict, answers{
		code: types.CodeAmbiguousReference, listedFor: []Operation{OpOrderVoucher},
		next: "ask by PlatformReferenceNo"}},
	{sentinel{KindRateChanged, "the rate changed before the booking was made"}, http.StatusConflict, answers{
		code: types.CodeRateChanged, listedFor: []Operation{OpBook},
		next: "nothing was booked; call CheckAvail, and book again if the new price is accepted"}},
	{sentinel{KindCancelRefused, "cancellation refused"}, http.StatusConflict, answers{
		status: http.StatusBadRequest, only: []Operation{OpCancel}, first: true,
		next: "the order is unchanged; the message names the cause"}},
	{sentinel{KindInvalidScope, "invalid scope"}, http.StatusBadGateway, answers{
		word: "invalid_scope", only: []Operation{OpOAuthToken}, first: true,
		next: "request only scopes that the OAuth client is registered for"}},
	{sentinel{KindUpstreamTimeout, "the supplier did not answer in time"}, http.StatusGatewayTimeout, answers{
		status: http.StatusGatewayTimeout, next: tryLater}},
	{sentinel{KindProxyAuth, "the proxy requires authentication"}, http.StatusBadGateway, answers{
		status: http.StatusProxyAuthRequired, next: "check the credentials of the proxy"}},
	{sentinel{KindVoucherNotReady, "there is no document yet"}, http.StatusServiceUnavailable, answers{}},
	{sentinel{KindNoVoucher, "there is no document"}, http.StatusNotFound, answers{}},

	{sentinel{KindCanceled, ""}, http.StatusServiceUnavailable, answers{}},
	{sentinel{KindTimeout, ""}, http.StatusGatewayTimeout, answers{}},
	{sentinel{KindServerError, ""}, http.StatusServiceUnavailable, answers{}},
	{sentinel{KindRefused, ""}, http.StatusConflict, answers{}},
	{sentinel{KindUnexpected, ""}, http.StatusBadGateway, answers{}},
	{sentinel{KindOther, ""}, http.StatusInternalServerError, answers{}},
}

const tryLater = "try again later"

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

// again is called only for a sentinel that is returned without an error type, as a fake may do.
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
	// ErrProxyAuth: a proxy on the way requires other credentials (HTTP 407, also as a *TransportError). The call is not sent
	// again, because a proxy may lock an account after several refusals.
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
	// WithUnsignedVouchers accepts it, and checks only its size.
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
