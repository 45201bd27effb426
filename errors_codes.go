// What codes and statuses of the service mean: codes, sentinels, and the table that ties them.

package hotelstays

import (
	"errors"
	"net/http"
)

// The documented codes. The service may send others: APIError.Code has them.
const (
	CodeParam              = 100000400
	CodeUnauthorized       = 100000401
	CodeNotFound           = 100000404
	CodeRateLimited        = 100000429
	CodeDuplicateBooking   = 100001003
	CodeVoucherTooLarge    = 100001005
	CodeAmbiguousReference = 100001008
	CodeRateChanged        = 100001111
)

// What an *APIError matches with errors.Is: at most one of these. A documented code decides;
// without one the HTTP status does. Every 400 of Cancel is ErrCancelRefused.
var (
	// ErrParam: a parameter was refused (code 100000400, HTTP 400).
	ErrParam = errors.New("parameter refused")
	// ErrUnauthorized: the credential or the token was refused (code 100000401, HTTP 401).
	ErrUnauthorized = errors.New("credential refused")
	// ErrForbidden: the account may not do this (HTTP 403).
	ErrForbidden = errors.New("not permitted for this account")
	// ErrNotFound: no such order for this account (code 100000404 or an enveloped HTTP 404 of
	// OrderVoucher or Cancel, or an *OrderNotFoundError). Any other 404 is none of these.
	ErrNotFound = errors.New("not found")
	// ErrRateLimited: the rate limit is exceeded (code 100000429, HTTP 429).
	ErrRateLimited = errors.New("rate limit exceeded")
	// ErrDuplicateBooking: an active booking under another reference has the same
	// content (code 100001003).
	ErrDuplicateBooking = errors.New("an active booking has the same content")
	// ErrVoucherTooLarge: the document is above 8 MB and is not inlined (code 100001005).
	ErrVoucherTooLarge = errors.New("voucher document too large to be inlined")
	// ErrAmbiguousReference: the reference matches several orders (code 100001008).
	ErrAmbiguousReference = errors.New("the reference matches more than one order")
	// ErrRateChanged: the rate changed between CheckAvail and Book (code 100001111).
	ErrRateChanged = errors.New("the rate changed before the booking was made")
	// ErrCancelRefused: the order cannot be cancelled online (HTTP 400 of Cancel, with
	// any code).
	ErrCancelRefused = errors.New("cancellation refused")
	// ErrInvalidScope: the OAuth client is not registered for a scope it asked for.
	ErrInvalidScope = errors.New("invalid scope")
	// ErrUpstreamTimeout: the supplier did not answer in time (HTTP 504).
	ErrUpstreamTimeout = errors.New("the supplier did not answer in time")

	errProxyAuth = errors.New("the proxy asks for authentication")
)

// condition ties a sentinel to its kind, its code, its HTTP status and the next step.
type condition struct {
	err    error
	kind   ErrorKind
	code   int // 0: no documented code
	status int // 0: never matched by status
	// listedFor are the operations that the document lists the code for; nil: all.
	listedFor []Operation
	next      string
	// only are the operations that can have the condition; nil: all. Their HTTP status counts
	// only in an envelope.
	only []Operation
	// first: the status, or a word in Msg, decides before any code does.
	first bool
	word  string
}

// conditions say what codes and statuses mean. A code keeps its meaning for operations
// that it is not listed for, but there it does not prove that nothing was done.
var conditions = []condition{
	{err: ErrCancelRefused, kind: KindCancelRefused, status: http.StatusBadRequest, only: []Operation{OpCancel}, first: true,
		next: "the message names the cause; the order is as it was"},
	{err: ErrInvalidScope, kind: KindInvalidScope, word: "invalid_scope", only: []Operation{OpOAuthToken}, first: true,
		next: "ask only for scopes that the client is registered for"},
	{err: ErrParam, kind: KindParam, code: CodeParam, status: http.StatusBadRequest, listedFor: []Operation{OpHotelsMetadata, OpHotelList, OpBook},
		next: "correct the request: the same one will be refused again"},
	{err: ErrUnauthorized, kind: KindUnauthorized, code: CodeUnauthorized, status: http.StatusUnauthorized, listedFor: []Operation{OpTicket},
		next: "check that the credential is active and belongs to this environment"},
	{err: ErrForbidden, kind: KindForbidden, status: http.StatusForbidden,
		next: "check the account's scopes, and whether it needs a market or a user reference"},
	{err: ErrNotFound, kind: KindNotFound, code: CodeNotFound, status: http.StatusNotFound, listedFor: []Operation{OpOrderVoucher}, only: []Operation{OpOrderVoucher, OpCancel},
		next: "check the reference, and that this account booked it"},
	{err: ErrRateLimited, kind: KindRateLimited, code: CodeRateLimited, status: http.StatusTooManyRequests,
		next: "wait, or send less: all processes behind this address share the limit"},
	{err: ErrDuplicateBooking, kind: KindDuplicateBooking, code: CodeDuplicateBooking, listedFor: []Operation{OpBook},
		next: "nothing was booked; find the booking that the message names with QueryOrders, and cancel it if it is not wanted"},
	{err: ErrVoucherTooLarge, kind: KindVoucherTooLarge, code: CodeVoucherTooLarge, listedFor: []Operation{OpOrderVoucher},
		next: "ask without IncludeDocument and use DownloadURL"},
	{err: ErrAmbiguousReference, kind: KindAmbiguousReference, code: CodeAmbiguousReference, listedFor: []Operation{OpOrderVoucher},
		next: "ask by PlatformReferenceNo"},
	{err: ErrRateChanged, kind: KindRateChanged, code: CodeRateChanged, listedFor: []Operation{OpBook},
		next: "nothing was booked; call CheckAvail again and book the new price if it is accepted"},
	{err: errProxyAuth, kind: KindProxyAuth, status: http.StatusProxyAuthRequired,
		next: "check the credentials of the proxy"},
	{err: ErrUpstreamTimeout, kind: KindUpstreamTimeout, status: http.StatusGatewayTimeout,
		next: "try again later"},
}

func byCode(code int) (condition, bool) {
	for _, c := range conditions {
		if code != 0 && c.code == code {
			return c, true
		}
	}
	return condition{}, false
}
