// The error types of calls. errors_next.go has their advice.

package hotelstays

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
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
	return row != nil && !e.unknown && target == sentinelOf(row.of)
}

// row returns the row of answerRows that matches the answer, or nil. A row whose field first is true wins over the row with
// the answer's code, and this row wins over the row with the answer's HTTP status.
func (e *APIError) row() *answerRow {
	var byCode, byStatus *answerRow
	for i := range answerRows {
		r := &answerRows[i]
		hasStatus := r.status != 0 && r.status == e.HTTPStatus && (r.only == nil || e.Code != 0)
		switch {
		case r.only != nil && !slices.Contains(r.only, e.Operation):
		case r.first && (hasStatus || r.word != "" && strings.Contains(e.Msg, r.word)):
			return r
		case e.Code != 0 && r.code == e.Code:
			byCode = r
		case hasStatus:
			byStatus = r
		}
	}
	return cmp.Or(byCode, byStatus)
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
	return e.ownRefusal || e.Code != 0 && slices.ContainsFunc(answerRows, func(r answerRow) bool {
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
		return sentinelOf(row.of).Error()
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

func (e *APIError) details() details {
	return details{operation: e.Operation, status: e.HTTPStatus, code: e.Code, requestID: e.RequestID, traceID: e.TraceID}
}

// LogValue returns attributes for slog: kind, operation, status, code, ids and text.
func (e *APIError) LogValue() slog.Value { return logValue(e) }

// answerRow describes the answers of the service that have a kind. The zero value of a condition matches no answer.
type answerRow struct {
	of     ErrorKind
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

var answerRows = []answerRow{
	{of: KindParam, code: types.CodeParam, status: http.StatusBadRequest, listedFor: []Operation{OpHotelsMetadata, OpHotelList, OpBook},
		next: "correct the request, because the same request will be refused again"},
	{of: KindUnauthorized, code: types.CodeUnauthorized, status: http.StatusUnauthorized, listedFor: []Operation{OpTicket},
		next: "check that the credential is right, and that it belongs to this base URL"},
	{of: KindForbidden, status: http.StatusForbidden,
		next: "check the account's scopes"}, // the text goes on in the method next, because an error is below the options
	{of: KindNotFound, code: types.CodeNotFound, status: http.StatusNotFound, listedFor: []Operation{OpOrderVoucher},
		only: []Operation{OpOrderVoucher, OpCancel},
		next: "check the reference, and that this account booked it"},
	{of: KindRateLimited, code: types.CodeRateLimited, status: http.StatusTooManyRequests,
		next: "wait, or send less: all processes with this client IP address share the limit"},
	{of: KindDuplicateBooking, code: types.CodeDuplicateBooking, listedFor: []Operation{OpBook},
		next: "nothing was booked; the message names an order: read that order with QueryOrders, and cancel it if it is not wanted"},
	{of: KindVoucherTooLarge, code: types.CodeVoucherTooLarge, listedFor: []Operation{OpOrderVoucher},
		next: "call OrderVoucher without IncludeDocument, and use DownloadURL"},
	{of: KindAmbiguousReference, code: types.CodeAmbiguousReference, listedFor: []Operation{OpOrderVoucher},
		next: "ask by PlatformReferenceNo"},
	{of: KindRateChanged, code: types.CodeRateChanged, listedFor: []Operation{OpBook},
		next: "nothing was booked; call CheckAvail, and book again if the new price is accepted"},
	{of: KindCancelRefused, status: http.StatusBadRequest, only: []Operation{OpCancel}, first: true,
		next: "the order is unchanged; the message names the cause"},
	{of: KindInvalidScope, word: "invalid_scope", only: []Operation{OpOAuthToken}, first: true,
		next: "request only scopes that the OAuth client is registered for"},
	{of: KindUpstreamTimeout, status: http.StatusGatewayTimeout, next: tryLater},
	{of: KindProxyAuth, status: http.StatusProxyAuthRequired, next: proxyAuthHint},
}

const (
	tryLater      = "try again later"
	proxyAuthHint = "check the credentials of the proxy"
)

// RateLimit holds the values of the X-RateLimit headers of an answer.
type RateLimit struct {
	Limit     int           // the allowed requests per second
	Remaining int           // requests left in the current window
	Reset     time.Duration // time until the next window begins
}

// TransportError reports a call without an answer: the connection failed, ctx ended, or the client got no token or no
// slot of the rate limit in time.
type TransportError struct {
	Operation Operation
	// Sent reports whether the request may have reached the service. For Book, Cancel and a Do
	// without Idempotent, Sent is true only inside an *OutcomeUnknownError.
	Sent bool
	// NoToken reports that nothing was sent, because the client got no token. Err is the reason, and KindOf returns
	// the kind of Err.
	NoToken   bool
	Attempts  int // number of requests that were sent
	RequestID string
	TraceID   string
	Err       error
	outcome
}

// Error says what failed and whether the request may have arrived.
func (e *TransportError) Error() string { return failureText(e) }

func (e *TransportError) fact() string {
	switch {
	case e.NoToken:
		return "not sent, no token: " + fact(e.Err)
	case e.Sent:
		return fmt.Sprintf("%s (sent, but no complete answer; attempts %d)", fact(e.Err), e.Attempts)
	}
	return fmt.Sprintf("%s (nothing was carried out; attempts %d)", fact(e.Err), e.Attempts)
}

func (e *TransportError) kind() ErrorKind {
	switch {
	case e.unknown:
		return KindOutcomeUnknown
	case e.NoToken:
		if kind := KindOf(e.Err); kind != KindOther && kind != "" {
			return kind
		}
	case errors.Is(e.Err, ErrProxyAuth):
		return KindProxyAuth
	case errors.Is(e.Err, ratelimit.ErrPaused):
		return KindRateLimited
	}
	return KindTransport
}

// Unwrap returns the cause, such as context.DeadlineExceeded, or ErrRateLimited if an earlier 429 has paused the
// operation beyond the deadline of this call.
func (e *TransportError) Unwrap() error { return e.Err }

func (e *TransportError) details() details {
	return details{operation: e.Operation, requestID: e.RequestID, traceID: e.TraceID, noToken: e.NoToken}
}

// LogValue returns attributes for slog, like APIError.LogValue. If no_token is true, status and code are from the token
// request.
func (e *TransportError) LogValue() slog.Value { return logValue(e) }

// DecodeError reports an answer that cannot be used:
//
//   - the answer is not an envelope, or lacks the data that the call asked for;
//   - a field of a strict operation has another type than documented;
//   - an object has a documented name twice, or the name code, data or orders is not in lower case;
//   - the answer is about another order, or is larger than WithMaxResponseBytes.
type DecodeError struct {
	Operation  Operation
	HTTPStatus int
	RequestID  string
	TraceID    string
	// Excerpt is the beginning of the answer, with secrets redacted. JSON is shown as names and types, such as
	// {code:number,data:{orders:[{status:string}]}}. It is empty for Ticket and OAuthToken.
	Excerpt string
	// Err is the fault, with its JSON path or its offset in bytes.
	Err error
	outcome
}

// Error says what is wrong with the answer.
func (e *DecodeError) Error() string { return failureText(e) }

func (e *DecodeError) fact() string {
	text := fmt.Sprintf("unusable answer: %v (HTTP %d)", e.Err, e.HTTPStatus)
	if e.Excerpt != "" {
		text += fmt.Sprintf(": it begins %q", e.Excerpt)
	}
	return text
}

func (e *DecodeError) kind() ErrorKind {
	if e.unknown {
		return KindOutcomeUnknown
	}
	return KindDecode
}

var errNullOrders = errors.New("data.orders is null (see ServiceFacts.NullOrders)")

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

func (e *DecodeError) details() details {
	return details{operation: e.Operation, status: e.HTTPStatus, requestID: e.RequestID, traceID: e.TraceID}
}

// LogValue returns attributes for slog, like APIError.LogValue.
func (e *DecodeError) LogValue() slog.Value { return logValue(e) }

// OutcomeUnknownError reports a Book, a Cancel or a Do without Idempotent that may have been executed: the request may
// have arrived, and no definite answer came. Sending the request again could book twice; QueryOrders by the reference
// shows what happened.
//
// errors.As and errors.Is find no refusal in an OutcomeUnknownError. They find errors of ctx and of the network, such
// as context.DeadlineExceeded and *net.OpError.
type OutcomeUnknownError struct {
	Operation Operation
	// CustomerReferenceNo is the reference of the order; empty for Do.
	CustomerReferenceNo string
	// RequestID and TraceID belong to the Book or the Cancel; empty in errors of RecoverBooking and StepRecovery.
	RequestID string
	TraceID   string
	// Err is the cause, for people and logs: a *TransportError, an *APIError or a *DecodeError. In a recovery it may
	// also be the error of ctx, or of the function that saves the recovery. Err does not say whether an order exists.
	Err error
}

// Error names the reference, and says not to send again.
func (e *OutcomeUnknownError) Error() string {
	cause := fact(e.Err)
	if f, ok := e.Err.(interface{ fact() string }); ok {
		cause = f.fact()
	}
	outcome := fmt.Sprintf("outcome unknown for reference %q: do not send the request again, ask QueryOrders for the reference", e.CustomerReferenceNo)
	if e.CustomerReferenceNo == "" { // only a call of Do has no reference
		outcome = "outcome unknown: do not send the request again before you know whether it was executed"
	}
	return "hotelstays: " + describe(e, outcome+"; cause: "+cause)
}

// Unwrap returns the errors of ctx and of the network that Err contains, but no refusal.
func (e *OutcomeUnknownError) Unwrap() []error { return undecided(e.Err) }

func (e *OutcomeUnknownError) causes() []error { return []error{e.Err} }

func (e *OutcomeUnknownError) details() details {
	return details{operation: e.Operation, reference: e.CustomerReferenceNo, requestID: e.RequestID, traceID: e.TraceID}
}

func (*OutcomeUnknownError) kind() ErrorKind { return KindOutcomeUnknown }

// LogValue returns attributes for slog, like APIError.LogValue, and the reference.
func (e *OutcomeUnknownError) LogValue() slog.Value { return logValue(e) }

// afterRefusal is the error of a call that ended between a refusal and the next attempt, for example because ctx ended.
type afterRefusal struct {
	end     error
	refusal *APIError
}

func (e *afterRefusal) Error() string {
	return e.end.Error() + " before another attempt; the last attempt failed: " + e.refusal.fact()
}

func (e *afterRefusal) Unwrap() error { return e.end } // errors.Is must not find the refusal, because the call ended for another reason

func (e *afterRefusal) causes() []error { return []error{e.end, e.refusal} }

// bothErrors joins two errors into one text, without their prefixes and advice.
type bothErrors struct{ first, then error }

func (e *bothErrors) Error() string { return fact(e.first) + "; " + fact(e.then) }

// fact returns both texts. It leaves out the first error's operation and request id, because the surrounding error
// has them.
func (e *bothErrors) fact() string {
	if f, ok := e.first.(failure); ok {
		return f.fact() + "; " + fact(e.then)
	}
	return e.Error()
}

func (e *bothErrors) Unwrap() error { return e.then } // errors.Is must not find the first error, because the call went on after it

func (e *bothErrors) causes() []error { return []error{e.first, e.then} }
