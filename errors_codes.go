// Refusals: APIError, what proves that a request was not carried out, and the table of the kinds of errors.

package hotelstays

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// APIError is a refusal or a failure that the service reported, or an HTTP status from a proxy in front of the service.
// errors.Is matches an APIError with at most one sentinel.
type APIError struct {
	Operation  Operation
	HTTPStatus int
	// Code is the envelope's code, or 0 if the answer is not enveloped.
	Code int
	// Msg is the service's message, up to 1 KiB. An object or an array is shown as names and types. For Ticket and
	// OAuthToken the message ends where a token may begin.
	Msg string
	// Excerpt is the beginning of an answer that is not enveloped, such as a proxy's HTML page. It has the same form as
	// DecodeError.Excerpt. For Ticket and OAuthToken all of it is redacted.
	Excerpt   string
	RequestID string
	TraceID   string
	// RetryAfter is how long the service asks you to wait, at most a day; 0 if it did not ask.
	RetryAfter time.Duration
	// RateLimit holds the X-RateLimit headers of the answer; nil if a header is missing or invalid.
	RateLimit *RateLimit
	// Header holds the headers of the answer, as in ResponseMeta. The text of the error contains no header.
	Header http.Header

	ownRefusal  bool   // whether ServiceFacts.RefusalCodes has the Code for the Operation
	tokenAdvice string // if not empty, replaces the usual advice
	outcome
}

// Error says what was refused, by which code, and what to do next.
func (e *APIError) Error() string { return failureText(e) }

func (e *APIError) fact() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (HTTP %d", e.what(), e.HTTPStatus)
	if e.Code != 0 {
		fmt.Fprintf(&b, ", code %d", e.Code)
	}
	if e.Msg != "" {
		fmt.Fprintf(&b, ", %q", e.Msg)
	}
	if e.Excerpt != "" {
		fmt.Fprintf(&b, ", not enveloped: it begins %q", e.Excerpt)
	}
	if e.RetryAfter > 0 && !e.unknown { // after an unknown outcome, this text would advise to send the request again
		fmt.Fprintf(&b, ", retry after %s", e.RetryAfter)
	}
	b.WriteString(")")
	return b.String()
}

// Is reports whether target is the sentinel of this error.
func (e *APIError) Is(target error) bool {
	row := e.row()
	return row != nil && !e.unknown && target == error(&row.sentinel)
}

// row returns the row of kindRows that matches the answer, or nil. It tries three groups of rows in this order: the rows
// whose field first is true, the rows with the answer's code, and the rows with the answer's HTTP status.
func (e *APIError) row() *kindRow {
	status := func(r *kindRow) bool {
		return r.status != 0 && r.status == e.HTTPStatus && (r.only == nil || e.Code != 0)
	}
	first := func(r *kindRow) bool {
		return r.first && !e.unknown && (status(r) || r.word != "" && strings.Contains(e.Msg, r.word))
	}
	code := func(r *kindRow) bool { return e.Code != 0 && r.code == e.Code }
	last := func(r *kindRow) bool { return !r.first && status(r) }
	for _, matches := range []func(*kindRow) bool{first, code, last} {
		for i := range kindRows {
			if r := &kindRows[i]; matches(r) && (r.only == nil || slices.Contains(r.only, e.Operation)) {
				return r
			}
		}
	}
	return nil
}

// refuses reports whether the answer proves that a Book or a Cancel was not executed. With an HTTP status that the document
// names for refusals, any code is a proof. With another status, only a code that is listed for the operation is a proof.
func (e *APIError) refuses() bool {
	switch e.HTTPStatus {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return e.Code != 0
	}
	return e.seemsRefused() && (e.listed() || e.HTTPStatus == http.StatusNotFound && e.Operation == OpCancel)
}

func (e *APIError) seemsRefused() bool {
	class := e.HTTPStatus / 100
	return e.Code != 0 && (class == 2 || class == 4)
}

// listed reports whether the document, or ServiceFacts, lists the code for the operation.
func (e *APIError) listed() bool {
	return e.ownRefusal || e.Code != 0 && slices.ContainsFunc(kindRows, func(r kindRow) bool {
		return r.code == e.Code && (r.listedFor == nil || slices.Contains(r.listedFor, e.Operation))
	})
}

func (e *APIError) what() string {
	switch row := e.row(); {
	case e.unknown && e.seemsRefused() && operations[e.Operation] == nil: // a call of Do with an unknown path
		return "refused with a code that is undocumented for this operation"
	case e.unknown && e.seemsRefused():
		return "refused with a code that is undocumented for this operation; if the supplier says that the code proves a refusal, " +
			"add it to ServiceFacts.RefusalCodes"
	case row != nil:
		return row.text
	case e.HTTPStatus >= 500:
		return "the service failed"
	case e.redirects():
		if to, err := url.Parse(e.Header.Get("Location")); err == nil && to.Host != "" {
			return fmt.Sprintf("redirected to the host %q, and redirects are not followed", to.Host)
		}
		return "redirected, and redirects are not followed"
	}
	return "refused"
}

func (e *APIError) redirects() bool { return e.HTTPStatus/100 == 3 }

func (e *APIError) kind() ErrorKind {
	switch row := e.row(); {
	case e.unknown:
		return KindOutcomeUnknown
	case row != nil:
		return row.of
	case e.HTTPStatus >= 500:
		return KindServerError
	case e.seemsRefused():
		return KindRefused
	}
	return KindUnexpected
}

const (
	baseURLHint = "check the base URL, which ends before /api"
	foreignHint = "the answer is not in the service's own form: check proxies and firewalls on the way; if there are none, "
)

func (e *APIError) next() string {
	row := e.row()
	switch {
	case e.tokenAdvice != "":
		return e.tokenAdvice
	case e.HTTPStatus == http.StatusForbidden && e.Code == 0:
		return foreignHint + row.next
	case e.HTTPStatus == http.StatusNotFound && e.Code == 0:
		return baseURLHint + ", and the path of a Do"
	case e.HTTPStatus/100 == 4 && e.Code == 0 && e.Msg == "" && (row == nil || row.of == KindParam):
		return foreignHint + baseURLHint
	case row != nil && row.of == KindParam && operations[e.Operation] != nil && operations[e.Operation].bookingFlow:
		return "if the session has expired, search again; else " + row.next
	case e.HTTPStatus == http.StatusNotFound && row == nil:
		return "if the message does not help, " + baseURLHint
	case row != nil:
		return row.next
	case e.HTTPStatus >= 500:
		return "try again later; if it fails again, report it to the supplier with the request id"
	case e.redirects():
		return "check the base URL: it must lead to the service without a redirect"
	}
	return "if the message does not help, ask the supplier, with the code and the request id"
}

func (e *APIError) again() bool { return e.kind().passes() }

func (e *APIError) details() details {
	return details{operation: e.Operation, status: e.HTTPStatus, code: e.Code, requestID: e.RequestID, traceID: e.TraceID}
}

// LogValue returns attributes for slog: kind, operation, status, code, ids and text.
func (e *APIError) LogValue() slog.Value { return logValue(e) }

// RateLimit holds the values of the X-RateLimit headers of an answer.
type RateLimit struct {
	Limit     int           // the allowed requests per second
	Remaining int           // requests left in the current window
	Reset     time.Duration // time until the next window begins
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
