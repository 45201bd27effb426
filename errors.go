// Error types of failed calls and of unknown outcomes. APIError is in errors_codes.go.

package hotelstays

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/internal/wire"
)

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

// unusableValue reports that an option's function returned a value that no header can have.
type unusableValue struct{ option, problem string }

func (e *unusableValue) Error() string { return "the value from " + e.option + " " + e.problem }

func (e *TransportError) next() string {
	if token, ok := e.Err.(failure); ok && e.NoToken {
		return token.next()
	}
	var certificate *tls.CertificateVerificationError
	var unresolved *net.DNSError
	var unusable *unusableValue
	switch {
	case errors.As(e.Err, &unusable):
		return "correct the function that you gave to " + unusable.option
	case errors.Is(e.Err, transport.ErrReusedID):
		return "correct the function that you gave to WithRequestID"
	case errors.Is(e.Err, ratelimit.ErrPaused):
		return "call again after that time"
	case errors.As(e.Err, &certificate):
		return "check the base URL, and that this machine trusts the service's certificate"
	case errors.Is(e.Err, ErrProxyAuth):
		return "check the credentials of the proxy"
	case errors.As(e.Err, &unresolved):
		return "check the base URL and the DNS; for a mocked host give the mocked http.Client to WithHTTPClient; " + safeAgain
	case errors.Is(e.Err, transport.ErrNoConnection) && !errors.Is(e.Err, context.Canceled):
		return "check the base URL, and whether this machine reaches it; " + safeAgain
	}
	return safeAgain
}

const safeAgain = "it is safe to call again"

func (e *TransportError) again() bool {
	if token, ok := e.Err.(failure); ok && e.NoToken {
		return token.again()
	}
	return errors.Is(e.Err, ratelimit.ErrPaused) || strings.HasSuffix(e.next(), safeAgain)
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

func (e *DecodeError) next() string {
	var syntax *wire.SyntaxError
	switch {
	case errors.Is(e.Err, transport.ErrBodyTooLarge) && e.Operation != OpTicket && e.Operation != OpOAuthToken:
		return "ask for less, or raise WithMaxResponseBytes"
	case errors.Is(e.Err, errNullOrders):
		return "set ServiceFacts.NullOrders if the service writes an empty list of orders as null"
	case errors.As(e.Err, &syntax):
		return "check the base URL, and proxies on the way; if they are right, report this to the supplier with the request id"
	}
	return "report this to the supplier with the request id"
}

func (*DecodeError) again() bool { return false }

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
