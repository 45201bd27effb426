// Refusals: APIError, and what codes and statuses mean.

package hotelstays

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// condition ties a sentinel to its code, its HTTP status and the next step.
type condition struct {
	err    error
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

// conditions say what codes and statuses mean. For operations that a code is not listed for it does
// not prove that nothing was done.
var conditions = []condition{
	{err: ErrCancelRefused, status: http.StatusBadRequest, only: []Operation{OpCancel}, first: true,
		next: "the message names the cause; the order is as it was"},
	{err: ErrInvalidScope, word: "invalid_scope", only: []Operation{OpOAuthToken}, first: true,
		next: "ask only for scopes that the client is registered for"},
	{err: ErrParam, code: types.CodeParam, status: http.StatusBadRequest, listedFor: []Operation{OpHotelsMetadata, OpHotelList, OpBook},
		next: "correct the request: the same one will be refused again"},
	{err: ErrUnauthorized, code: types.CodeUnauthorized, status: http.StatusUnauthorized, listedFor: []Operation{OpTicket},
		next: "check that the credential is active and belongs to this environment"},
	{err: ErrForbidden, status: http.StatusForbidden,
		next: "check the account's scopes, and whether it needs a market or a user reference"},
	{err: ErrNotFound, code: types.CodeNotFound, status: http.StatusNotFound, listedFor: []Operation{OpOrderVoucher},
		only: []Operation{OpOrderVoucher, OpCancel},
		next: "check the reference, and that this account booked it"},
	{err: ErrRateLimited, code: types.CodeRateLimited, status: http.StatusTooManyRequests,
		next: "wait, or send less: all processes behind this address share the limit"},
	{err: ErrDuplicateBooking, code: types.CodeDuplicateBooking, listedFor: []Operation{OpBook},
		next: "nothing was booked; find the booking that the message names with QueryOrders, and cancel it if it is not wanted"},
	{err: ErrVoucherTooLarge, code: types.CodeVoucherTooLarge, listedFor: []Operation{OpOrderVoucher},
		next: "ask without IncludeDocument and use DownloadURL"},
	{err: ErrAmbiguousReference, code: types.CodeAmbiguousReference, listedFor: []Operation{OpOrderVoucher},
		next: "ask by PlatformReferenceNo"},
	{err: ErrRateChanged, code: types.CodeRateChanged, listedFor: []Operation{OpBook},
		next: "nothing was booked; call CheckAvail again and book the new price if it is accepted"},
	{err: ErrProxyAuth, status: http.StatusProxyAuthRequired,
		next: "check the credentials of the proxy"},
	{err: ErrUpstreamTimeout, status: http.StatusGatewayTimeout,
		next: tryLater},
}

const tryLater = "try again later"

// APIError is a refusal or a failure that the service reported, or an HTTP status of something in
// front of it. By errors.Is it matches one sentinel at most.
type APIError struct {
	Operation  Operation
	HTTPStatus int
	// Code is the envelope's code, or 0 where the answer was no envelope.
	Code int
	// Msg is the service's message, up to 1 KiB; of an object or an array, names and types. That of
	// Ticket and OAuthToken ends where a token may begin.
	Msg string
	// Excerpt is the beginning of an answer that was no envelope, such as a proxy's HTML page, as in
	// DecodeError. For Ticket and OAuthToken all of it is masked.
	Excerpt   string
	RequestID string
	TraceID   string
	// RetryAfter is how long the service asks to wait, at most a day; 0: it did not ask.
	RetryAfter time.Duration
	// RateLimit is nil unless the service sent all of its figures.
	RateLimit *RateLimit
	// Header holds the headers of the answer, as in ResponseMeta. No text of an error shows them.
	Header http.Header

	ownRefusal  bool   // ServiceFacts.RefusalCodes has Code for Operation
	tokenAdvice string // replaces the advice, after the refusal of a credential or of a token
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
		fmt.Fprintf(&b, ", no envelope but %q", e.Excerpt)
	}
	if e.RetryAfter > 0 && !e.unknown { // it is advice to send it again
		fmt.Fprintf(&b, ", retry after %s", e.RetryAfter)
	}
	b.WriteString(")")
	return b.String()
}

// Is reports whether target is the sentinel of this failure.
func (e *APIError) Is(target error) bool {
	c, ok := e.match()
	return ok && !e.unknown && c.err == target
}

// match finds the condition: one that decides before the code, or by code, or by HTTP status.
func (e *APIError) match() (condition, bool) {
	status := func(c condition) bool {
		return c.status != 0 && c.status == e.HTTPStatus && (c.only == nil || e.Code != 0)
	}
	first := func(c condition) bool {
		return c.first && !e.unknown && (status(c) || c.word != "" && strings.Contains(e.Msg, c.word))
	}
	code := func(c condition) bool { return e.Code != 0 && c.code == e.Code }
	last := func(c condition) bool { return !c.first && status(c) }
	for _, matches := range []func(condition) bool{first, code, last} {
		for _, c := range conditions {
			if matches(c) && (c.only == nil || slices.Contains(c.only, e.Operation)) {
				return c, true
			}
		}
	}
	return condition{}, false
}

// refuses reports whether the answer proves that a Book or a Cancel was not carried out: any code
// under a status that the document names for refusals, or one that is listed for the operation.
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
	return e.ownRefusal || e.Code != 0 && slices.ContainsFunc(conditions, func(c condition) bool {
		return c.code == e.Code && (c.listedFor == nil || slices.Contains(c.listedFor, e.Operation))
	})
}

func (e *APIError) what() string {
	switch c, ok := e.match(); {
	case e.unknown && e.seemsRefused() && operations[e.Operation] == nil: // of a Do
		return "refused with a code that is undocumented for it"
	case e.unknown && e.seemsRefused():
		return "refused with a code that is undocumented for it; once the provider explains it, see ServiceFacts.RefusalCodes"
	case ok:
		return c.err.Error()
	case e.HTTPStatus >= 500:
		return "the service failed"
	case e.HTTPStatus >= 300 && e.HTTPStatus < 400:
		return "redirected, and redirects are not followed"
	}
	return "refused"
}

func (e *APIError) kind() ErrorKind {
	switch c, ok := e.match(); {
	case e.unknown:
		return KindOutcomeUnknown
	case ok:
		return KindOf(c.err)
	case e.HTTPStatus >= 500:
		return KindServerError
	case e.seemsRefused():
		return KindRefused
	}
	return KindUnexpected
}

func (e *APIError) next() string {
	c, ok := e.match()
	switch {
	case e.tokenAdvice != "":
		return e.tokenAdvice
	case e.HTTPStatus == http.StatusForbidden && e.Code == 0:
		return c.next + "; something in front of the service may have refused this"
	case errors.Is(c.err, ErrParam) && takesSession(e.Operation):
		return c.next + "; search again if the session is refused"
	case e.HTTPStatus == http.StatusNotFound && e.Code == 0:
		return "check the base URL, which ends before /api, and the path of a Do"
	case ok:
		return c.next
	case e.HTTPStatus >= 500:
		return "try again later; quote the request id if it goes on"
	case e.HTTPStatus >= 300 && e.HTTPStatus < 400:
		return "use the base URL that the service answers at"
	}
	return "report the code with the request id if the message does not help"
}

func (e *APIError) again() bool {
	return oneOf(e.kind(), KindRateLimited, KindUpstreamTimeout, KindServerError)
}

func (e *APIError) details() details {
	return details{operation: e.Operation, status: e.HTTPStatus, code: e.Code, requestID: e.RequestID, traceID: e.TraceID}
}

// LogValue is a group for slog: kind, operation, status, code, ids and text.
func (e *APIError) LogValue() slog.Value { return logValue(e) }

func takesSession(op Operation) bool { return operations[op] != nil && operations[op].bookingFlow }
