// Functions that all errors use: for the chain of causes, for attributes of log lines, and for parts of texts.

package hotelstays

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go/internal/transport"
)

// KindOf returns the kind of err, or "" for nil. If the chain of err contains an *OutcomeUnknownError, the kind is
// KindOutcomeUnknown. Otherwise, if the chain contains the error of a ctx, the kind is KindCanceled or KindTimeout.
// Otherwise the outermost error of this package decides. For the cause of a *BatchError, pass its Err. If the client got no
// token, KindOf returns the kind of the token's failure.
func KindOf(err error) ErrorKind {
	if err == nil {
		return ""
	}
	outermost := KindOther
	for _, err := range chain(err, unwrapped) {
		own, ok := err.(interface{ kind() ErrorKind })
		switch {
		case !ok:
		case own.kind() == KindOutcomeUnknown:
			return KindOutcomeUnknown
		case outermost == KindOther:
			outermost = own.kind()
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return KindCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	}
	return outermost
}

// Retryable reports whether the same call may be made again later, as the text of err says: the service failed or was
// too busy, there was no answer, or there is no voucher yet. Retryable is false after an unknown outcome, after a
// refusal, and for an error of another package. The client has already made its own retries before it returned err.
func Retryable(err error) bool {
	if KindOf(err) == KindOutcomeUnknown {
		return false
	}
	for _, err := range chain(err, unwrapped) {
		if own, ok := err.(interface{ again() bool }); ok {
			return own.again()
		}
	}
	return false
}

// chain returns err and the errors below it, outermost first. The function below is unwrapped or causes.
func chain(err error, below func(error) []error) (all []error) {
	if err == nil {
		return nil
	}
	all = append(all, err)
	for _, err := range below(err) {
		all = append(all, chain(err, below)...)
	}
	return all
}

func unwrapped(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

// causes returns the errors directly below err. Unlike unwrapped, it also returns the errors that Unwrap hides, such as
// the refusal in an *OutcomeUnknownError.
func causes(err error) []error {
	if e, ok := err.(interface{ causes() []error }); ok {
		return e.causes()
	}
	return unwrapped(err)
}

// undecided returns the causes of an unknown outcome that Unwrap may show: errors of a ctx and of the network. A
// caller's switch over errors must not find a refusal there.
func undecided(cause error) (found []error) {
	all := chain(cause, causes)
	for _, end := range []error{context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded} {
		if errors.Is(errors.Join(all...), end) {
			found = append(found, end)
		}
	}
	for _, err := range all {
		switch err.(type) {
		case *net.OpError, *net.DNSError:
			// The network error of a caller's dialer may wrap an error of this package, which may be a refusal.
			if !slices.ContainsFunc(chain(err, unwrapped), hasKind) {
				found = append(found, err)
			}
		}
	}
	return found
}

// hasKind reports whether err is an error of this package.
func hasKind(err error) bool {
	_, ok := err.(interface{ kind() ErrorKind })
	return ok
}

// ownError is implemented by every exported error type of the package.
type ownError interface {
	error
	kind() ErrorKind
	details() details
}

type details struct {
	operation          Operation
	reference          string
	status, code       int
	requestID, traceID string
	noToken            bool
}

// detailsOf collects the details of err and its causes. If several errors know a detail, the outermost error decides. The
// status and the request id are from the same error.
func detailsOf(err error) (d details) {
	for _, err := range chain(err, causes) {
		own, ok := err.(ownError)
		if !ok {
			continue
		}
		of := own.details()
		d.operation, d.reference = cmp.Or(d.operation, of.operation), cmp.Or(d.reference, of.reference)
		if d.requestID == "" || d.requestID == of.requestID {
			d.status, d.code = cmp.Or(d.status, of.status), cmp.Or(d.code, of.code)
			d.requestID, d.traceID = of.requestID, cmp.Or(d.traceID, of.traceID)
		}
		d.noToken = d.noToken || of.noToken
	}
	return d
}

// RequestIDOf returns the request id of err, or of its outermost cause with a request id. The supplier finds the
// request by this id, if the request arrived: see TransportError.Sent. The id is empty if there was no attempt.
func RequestIDOf(err error) string {
	return detailsOf(err).requestID
}

func logValue(err ownError) slog.Value { return slog.GroupValue(logAttrs(err)...) }

func logAttrs(err error) []slog.Attr {
	d := detailsOf(err)
	attrs := []slog.Attr{slog.String(transport.LogKind, string(KindOf(err)))}
	for _, attr := range []slog.Attr{
		slog.String(transport.LogOperation, string(d.operation)),
		slog.String(transport.LogReference, d.reference),
		slog.Int(transport.LogStatus, d.status),
		slog.Int(transport.LogCode, d.code),
		slog.String(transport.LogRequestID, d.requestID),
		slog.String(transport.LogTraceID, d.traceID),
		slog.Bool(transport.LogNoToken, d.noToken),
	} {
		if !reflect.ValueOf(attr.Value.Any()).IsZero() {
			attrs = append(attrs, attr)
		}
	}
	return append(attrs, slog.String(transport.LogError, err.Error()))
}

// failure is the error of one call. It keeps what happened apart from the advice on the next step.
type failure interface {
	ownError
	fact() string // returns what happened, without the operation, ids and advice
	next() string
	again() bool // reports whether the advice is to make the same call again
	advice(next string) string
	// markUnknown makes the failure the cause of an unknown outcome. The failure then counts as no refusal, and gives no
	// advice.
	markUnknown()
}

type outcome struct {
	unknown bool
	noQuota bool // no further attempt was made, because the quota of retries is used up
}

func (o *outcome) markUnknown() { o.unknown = true }

func (o *outcome) advice(next string) string {
	switch {
	case o.unknown:
		return "; the outcome is unknown: do not send the request again, ask QueryOrders first"
	case o.noQuota:
		next = "not retried, because too many calls fail; " + next
	case next == "":
		return ""
	}
	return "; " + next
}

func failureText(f failure) string {
	return "hotelstays: " + describe(f, f.fact()) + f.advice(f.next())
}

// describe adds the operation and the request id to a fact.
func describe(err ownError, fact string) string {
	d := err.details()
	if d.requestID == "" {
		return fmt.Sprintf("%s: %s", d.operation, fact)
	}
	return fmt.Sprintf("%s: %s, request id %s", d.operation, fact, d.requestID)
}

// fact returns the text of an error without its prefix and its advice, for use inside another text.
func fact(err error) string {
	if err == nil {
		return "no cause given"
	}
	if f, ok := err.(failure); ok {
		return describe(f, f.fact())
	}
	return strings.TrimPrefix(err.Error(), "hotelstays: ")
}
