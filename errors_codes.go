// Refusals: APIError, and what proves that a request was not carried out.

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

// row returns the row of kindRows that matches the answer, or nil. It tries the rows with the field first, then the rows
// with the code, then the rows with the HTTP status.
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

// rateLimit returns nil if a header is missing, because a missing value is not 0.
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
