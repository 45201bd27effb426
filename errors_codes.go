// Refusals: APIError, and what proves that a request was not carried out.

package hotelstays

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
)

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
	row := e.row()
	return row != nil && !e.unknown && target == error(&row.sentinel)
}

// row finds what the answer means: by what decides before the code, or by code, or by HTTP status; or nil.
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
	return e.ownRefusal || e.Code != 0 && slices.ContainsFunc(kindRows, func(r kindRow) bool {
		return r.code == e.Code && (r.listedFor == nil || slices.Contains(r.listedFor, e.Operation))
	})
}

func (e *APIError) what() string {
	switch row := e.row(); {
	case e.unknown && e.seemsRefused() && operations[e.Operation] == nil: // of a Do
		return "refused with a code that is undocumented for it"
	case e.unknown && e.seemsRefused():
		return "refused with a code that is undocumented for it; once the provider explains it, see ServiceFacts.RefusalCodes"
	case row != nil:
		return row.text
	case e.HTTPStatus >= 500:
		return "the service failed"
	case e.HTTPStatus >= 300 && e.HTTPStatus < 400:
		return "redirected, and redirects are not followed"
	}
	return "refused"
}

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

func (e *APIError) next() string {
	row := e.row()
	switch {
	case e.tokenAdvice != "":
		return e.tokenAdvice
	case e.HTTPStatus == http.StatusForbidden && e.Code == 0:
		return row.next + "; something in front of the service may have refused this"
	case row != nil && row.of == KindParam && takesSession(e.Operation):
		return row.next + "; search again if the session is refused"
	case e.HTTPStatus == http.StatusNotFound && e.Code == 0:
		return "check the base URL, which ends before /api, and the path of a Do"
	case row != nil:
		return row.next
	case e.HTTPStatus >= 500:
		return "try again later; quote the request id if it goes on"
	case e.HTTPStatus >= 300 && e.HTTPStatus < 400:
		return "use the base URL that the service answers at"
	}
	return "report the code with the request id if the message does not help"
}

func (e *APIError) again() bool { return e.kind().passes() }

func (e *APIError) details() details {
	return details{operation: e.Operation, status: e.HTTPStatus, code: e.Code, requestID: e.RequestID, traceID: e.TraceID}
}

// LogValue is a group for slog: kind, operation, status, code, ids and text.
func (e *APIError) LogValue() slog.Value { return logValue(e) }

func takesSession(op Operation) bool { return operations[op] != nil && operations[op].bookingFlow }
