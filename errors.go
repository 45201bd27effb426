// Errors: what the service said, what the client refused, and what is unknown.

package hotelstays

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/internal/transport"
)

// The documented business codes. The service's complete table is not shown:
// another code may come, and APIError carries it.
const (
	CodeParam              = 100000400
	CodeUnauthorized       = 100000401
	CodeNotFound           = 100000404
	CodeRateLimited        = 100000429
	CodeDuplicateBooking   = 100001003
	CodeVoucherTooLarge    = 100001005
	CodeAmbiguousReference = 100001008
	CodeRateChanged        = 100001111
	CodeCreditLimit        = 100001112 // reserved: the service never sends it
)

// The conditions that an *APIError matches with errors.Is. A documented code
// decides which; an answer without one is matched by its HTTP status. A 400 of Cancel is
// ErrCancelRefused, whatever its code.
var (
	// ErrParam: the service refused a parameter (code 100000400, HTTP 400).
	ErrParam = errors.New("parameter refused")
	// ErrUnauthorized: the credential or the token is not accepted (code
	// 100000401, HTTP 401).
	ErrUnauthorized = errors.New("not accepted as a credential")
	// ErrForbidden: the account may not do this (HTTP 403).
	ErrForbidden = errors.New("not permitted for this account")
	// ErrNotFound: no such order, or not the caller's (code 100000404, HTTP 404).
	ErrNotFound = errors.New("not found")
	// ErrRateLimited: the endpoint's ceiling is exceeded (code 100000429, HTTP 429).
	ErrRateLimited = errors.New("rate ceiling exceeded")
	// ErrDuplicateBooking: an active booking under another reference has the same
	// content (code 100001003).
	ErrDuplicateBooking = errors.New("an active booking has the same content")
	// ErrVoucherTooLarge: the document is above 8 MB and is not inlined (code
	// 100001005).
	ErrVoucherTooLarge = errors.New("voucher document too large to be inlined")
	// ErrAmbiguousReference: the reference matches several orders (code 100001008).
	ErrAmbiguousReference = errors.New("the reference matches more than one order")
	// ErrRateChanged: the rate moved between CheckAvail and Book (code 100001111).
	ErrRateChanged = errors.New("the rate changed before the booking was made")
	// ErrCreditLimit: reserved by the service, which never sends it (code 100001112).
	ErrCreditLimit = errors.New("credit limit reached")
	// ErrCancelRefused: the order cannot be cancelled online (HTTP 400 of Cancel);
	// nothing was sent to the supplier.
	ErrCancelRefused = errors.New("cancellation refused")
	// ErrInvalidScope: the OAuth client is not registered for a scope that it asked for.
	ErrInvalidScope = errors.New("invalid scope")
	// ErrUpstreamTimeout: the supplier did not answer in time (HTTP 504).
	ErrUpstreamTimeout = errors.New("the supplier did not answer in time")
)

// condition ties a sentinel to its code, its HTTP status and what to do next.
type condition struct {
	err    error
	code   int // 0: no documented code
	status int // 0: never matched by status
	// ops are the operations that the document lists the code for; nil: all of them.
	ops  []Operation
	next string
}

// conditions is what codes and statuses mean. A code keeps its meaning for operations
// that it is not listed for, but is no proof there that nothing was done.
var conditions = []condition{
	{ErrParam, CodeParam, http.StatusBadRequest, []Operation{OpHotelsMetadata, OpHotelList, OpBook},
		"correct the request; sending it again as it is will fail again"},
	{ErrUnauthorized, CodeUnauthorized, http.StatusUnauthorized, []Operation{OpTicket},
		"check that the credential is active and was issued for this platform"},
	{ErrForbidden, 0, http.StatusForbidden, nil,
		"check the account's scopes, and whether it needs WithMarket or WithUserRef"},
	{ErrNotFound, CodeNotFound, http.StatusNotFound, []Operation{OpOrderVoucher},
		"check the reference, and that this account booked it"},
	{ErrRateLimited, CodeRateLimited, http.StatusTooManyRequests, nil,
		"send less from this address, or wait; other processes behind it share the ceiling"},
	{ErrDuplicateBooking, CodeDuplicateBooking, 0, []Operation{OpBook},
		"find the booking that the message names with QueryOrders, and cancel it if it is not wanted; nothing was booked"},
	{ErrVoucherTooLarge, CodeVoucherTooLarge, 0, []Operation{OpOrderVoucher},
		"ask again without IncludeDocument and use DownloadURL"},
	{ErrAmbiguousReference, CodeAmbiguousReference, 0, []Operation{OpOrderVoucher},
		"ask by PlatformReferenceNo"},
	{ErrRateChanged, CodeRateChanged, 0, []Operation{OpBook},
		"run CheckAvail again and book the new price if it is accepted; nothing was booked"},
	{ErrCreditLimit, CodeCreditLimit, 0, []Operation{}, // reserved
		"top the account up"},
	{ErrUpstreamTimeout, 0, http.StatusGatewayTimeout, nil,
		"try again later"},
}

// The conditions that come before the table, because they are of one operation and have
// no code.
var (
	cancelRefused = condition{err: ErrCancelRefused, next: "the message names the cause; nothing was sent to the supplier, and the order is as it was"}
	invalidScope  = condition{err: ErrInvalidScope, next: "ask only for scopes that the client is registered for"}
)

// APIError is a failure that the service reported, or an HTTP status from
// something in front of it. It matches the sentinels above with errors.Is.
type APIError struct {
	Operation  Operation
	HTTPStatus int
	// Code is the envelope's code, or 0 where the answer was no envelope.
	Code int
	// Msg is the service's own message; one above 1 KiB is cut off, and one of Ticket
	// or OAuthToken ends where a token may begin.
	Msg string
	// Excerpt is the beginning of an answer that was no envelope, such as a
	// proxy's HTML page; secrets are masked. Of an answer of Ticket or OAuthToken
	// without a message it is the marker of types.Secret alone.
	Excerpt   string
	RequestID string
	TraceID   string
	// RetryAfter is how long the service asks to wait; 0 where it did not say.
	RetryAfter time.Duration

	doubt
}

// doubt is part of the errors that may be the cause of an unknown outcome. There
// they are no refusals, match no sentinel that says so, and give no advice of
// their own.
type doubt struct{ doubtful bool }

func (d *doubt) cast() { d.doubtful = true }

// advice is what to do next: next, unless the outcome is in doubt.
func (d *doubt) advice(next string) string {
	switch {
	case d.doubtful:
		return "; the outcome is unknown: do not send it again, ask QueryOrders first"
	case next == "":
		return ""
	}
	return "; " + next
}

// Error says what was refused, by which code, and what to do next.
func (e *APIError) Error() string {
	return "hotelstays: " + e.fact() + e.advice(e.next())
}

func (e *APIError) next() string {
	_, next := e.condition()
	return next
}

// fact is the error without advice, which an unknown outcome replaces by its own.
func (e *APIError) fact() string {
	var b strings.Builder
	what, _ := e.condition()
	fmt.Fprintf(&b, "%s: %s", e.Operation, what)
	fmt.Fprintf(&b, " (HTTP %d", e.HTTPStatus)
	if e.Code != 0 {
		fmt.Fprintf(&b, ", code %d", e.Code)
	}
	if e.Msg != "" {
		fmt.Fprintf(&b, ", %q", e.Msg)
	}
	if e.Excerpt != "" {
		fmt.Fprintf(&b, ", the answer is no envelope: %q", e.Excerpt)
	}
	writeIDs(&b, e.RequestID, e.TraceID)
	b.WriteString(")")
	if e.RetryAfter > 0 && !e.doubtful { // it is advice to send it again
		fmt.Fprintf(&b, "; retry after %s", e.RetryAfter)
	}
	return b.String()
}

// Is reports whether the failure is the condition that target stands for. It is one
// condition at most.
func (e *APIError) Is(target error) bool {
	if e.doubtful && target != ErrUpstreamTimeout {
		return false
	}
	c, ok := e.match()
	return ok && c.err == target
}

// match finds the condition: by code, else by HTTP status.
func (e *APIError) match() (condition, bool) {
	switch {
	case e.Operation == OpCancel && e.HTTPStatus == http.StatusBadRequest && !e.doubtful:
		return cancelRefused, true
	case e.Operation == OpOAuthToken && strings.Contains(e.Msg, "invalid_scope"):
		return invalidScope, true
	}
	if c, ok := byCode(e.Code); ok {
		return c, true
	}
	for _, c := range conditions {
		if c.status != 0 && c.status == e.HTTPStatus {
			return c, true
		}
	}
	return condition{}, false
}

func byCode(code int) (condition, bool) {
	for _, c := range conditions {
		if code != 0 && c.code == code {
			return c, true
		}
	}
	return condition{}, false
}

// refuses reports whether the answer proves that a Book or a Cancel was not carried
// out: a code under a status that the document names for refusals, or one that it
// lists for the operation.
func (e *APIError) refuses() bool {
	switch e.HTTPStatus {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests:
		return e.Code != 0
	}
	return e.seemsRefused() && e.listed()
}

// seemsRefused reports whether the answer has the form of a refusal, whatever its code
// means.
func (e *APIError) seemsRefused() bool {
	class := e.HTTPStatus / 100
	return e.Code != 0 && (class == 2 || class == 4)
}

// listed reports whether the document lists the code for the operation.
func (e *APIError) listed() bool {
	c, ok := byCode(e.Code)
	return ok && (c.ops == nil || slices.Contains(c.ops, e.Operation))
}

func (e *APIError) condition() (what, next string) {
	switch c, ok := e.match(); {
	case e.doubtful && e.seemsRefused():
		return "refused with a code that is undocumented for it", ""
	case e.HTTPStatus == http.StatusForbidden && e.Code == 0:
		return c.err.Error(), "something in front of the service may have refused this; else " + c.next
	case errors.Is(c.err, ErrParam) && oneOf(e.Operation, OpHotelRates, OpCheckAvail, OpBook):
		return c.err.Error(), c.next + "; if it is the session that is refused, search again"
	case errors.Is(c.err, ErrNotFound) && e.Code == 0 && !oneOf(e.Operation, OpOrderVoucher, OpCancel, OpQueryOrders, OpBook):
		return c.err.Error(), "the service has no such address: check the base URL, which ends before /api"
	case ok:
		return c.err.Error(), c.next
	case e.HTTPStatus >= 500:
		return "the service failed", "try again later; quote the request id if it goes on"
	case e.HTTPStatus >= 300 && e.HTTPStatus < 400:
		return "redirects are not followed", "give New the address that the service answers at"
	default:
		return "refused", "the message says why; report the code with the request id if it does not help"
	}
}

// TransportError reports a call that got no answer: a connection that failed, a
// ctx that ended, a ceiling that was waited for too long, or a token that could not
// be had, whose own error is then the cause.
type TransportError struct {
	Operation Operation
	// Sent tells that the request may have reached the service. For Book and
	// Cancel it is true only inside an *OutcomeUnknownError.
	Sent      bool
	Attempts  int
	RequestID string
	TraceID   string
	Err       error
	doubt
}

// Error says what failed and whether the request may have arrived.
func (e *TransportError) Error() string {
	return "hotelstays: " + e.fact() + e.advice(e.next())
}

func (e *TransportError) next() string {
	if token, ok := e.Err.(advisor); ok { // the call that should have fetched one
		return token.next()
	}
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(e.Err, ratelimit.ErrPaused):
		return "call again when that time is over"
	case errors.As(e.Err, &certificate):
		return "check the base URL, and that the service's certificate is trusted here"
	case errors.Is(e.Err, transport.ErrNoConnection) && !errors.Is(e.Err, context.Canceled):
		return "check that the base URL is right and can be reached from here; it is safe to call again"
	}
	return "it is safe to call again"
}

// advisor is an error that says what to do next.
type advisor interface{ next() string }

func (e *TransportError) fact() string {
	var b strings.Builder
	if _, ok := e.Err.(advisor); ok {
		return fmt.Sprintf("%s: not sent, for want of a token: %s", e.Operation, fact(e.Err))
	}
	fmt.Fprintf(&b, "%s: %s (", e.Operation, fact(e.Err))
	if e.Sent {
		b.WriteString("no whole answer to a request that may have arrived")
	} else {
		b.WriteString("nothing was carried out")
	}
	fmt.Fprintf(&b, ", attempts %d", e.Attempts)
	writeIDs(&b, e.RequestID, e.TraceID)
	b.WriteString(")")
	return b.String()
}

// Unwrap returns the cause, such as context.DeadlineExceeded.
func (e *TransportError) Unwrap() error { return e.Err }

// DecodeError reports an answer that the client could not use: it has no envelope,
// lacks something that is required, has fields of another type than documented, holds
// another booking's order, or is larger than WithMaxResponseBytes allows.
type DecodeError struct {
	Operation  Operation
	HTTPStatus int
	RequestID  string
	TraceID    string
	// Excerpt is the beginning of the answer, with secrets masked. It is empty
	// for the answers of Ticket and OAuthToken, which are secret.
	Excerpt string
	// Err is the fault: where it lies in the answer, it names the JSON path or the
	// offset in bytes.
	Err error
	doubt
}

// Error says where the answer could not be read.
func (e *DecodeError) Error() string {
	return "hotelstays: " + e.fact() + e.advice(e.next())
}

func (e *DecodeError) next() string {
	return "check that the base URL is the service's, then report this with the request id"
}

func (e *DecodeError) fact() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: the answer cannot be read: %v (HTTP %d", e.Operation, e.Err, e.HTTPStatus)
	writeIDs(&b, e.RequestID, e.TraceID)
	b.WriteString(")")
	if e.Excerpt != "" {
		fmt.Fprintf(&b, ": it begins %q", e.Excerpt)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// OutcomeUnknownError reports a Book or a Cancel that may or may not have been
// carried out: the request may have arrived, and no definite answer came back.
// It is not a failure. Sending again could book twice; QueryOrders by the
// reference shows what happened.
//
// Look for it with errors.As before any other error: its cause is one of the
// others, and is no refusal here. Of the sentinels it matches ErrUpstreamTimeout
// alone.
type OutcomeUnknownError struct {
	Operation Operation
	// CustomerReferenceNo is the reference to ask for.
	CustomerReferenceNo string
	// RequestID and TraceID are those of the Book or the Cancel; empty in the errors of
	// RecoverBooking and StepRecovery.
	RequestID string
	TraceID   string
	// Err is what went wrong: a *TransportError, an *APIError or a *DecodeError. Where
	// ctx ended a recovery it wraps the error of that ctx, and, in BookAndRecover, one
	// of the three as well.
	Err error
}

// Error names the reference, and says not to send again.
func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("hotelstays: %s: the outcome for reference %q is unknown: do not send it again, ask QueryOrders for this reference first; cause: %s",
		e.Operation, e.CustomerReferenceNo, fact(e.Err))
}

// Unwrap returns the cause.
func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// fact is the text of a cause without its advice, which is the outer error's.
func fact(err error) string {
	if e, ok := err.(interface{ fact() string }); ok {
		return e.fact()
	}
	return err.Error()
}

func writeIDs(b *strings.Builder, requestID, traceID string) {
	if requestID != "" {
		fmt.Fprintf(b, ", request id %s", requestID)
	}
	if traceID != "" {
		fmt.Fprintf(b, ", trace id %s", traceID)
	}
}
