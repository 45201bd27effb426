// The kinds of errors: a closed list, so that no text of an error is ever exported.

package hotelstaysotel

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// The values of error.type, besides those of the refusals below.
const (
	kindOutcomeUnknown = "outcome_unknown"   // Book or Cancel may have been carried out
	kindTimeout        = "timeout"           // the deadline passed
	kindCanceled       = "canceled"          // the caller's ctx was cancelled
	kindNoToken        = "no_token"          // the token could not be fetched
	kindNoSlot         = "no_slot"           // a RateLimiter of the program's own failed
	kindCertificate    = "certificate"       // the service's certificate is not trusted
	kindDial           = "dial"              // no connection came about
	kindNoAnswer       = "no_answer"         // the exchange broke off
	kindUnreadable     = "unreadable_answer" // the answer is none, or too large
	kindRedirect       = "redirect"          // HTTP 3xx
	kindServerError    = "server_error"      // HTTP 5xx without a meaning of its own
	kindRefused        = "refused"           // any other code or status
)

// refusals are the conditions that the service reports. The first that matches
// counts: the specific ones come before those that go by the HTTP status.
var refusals = []struct {
	err  error
	kind string
}{
	{hotelstays.ErrCancelRefused, "cancel_refused"},
	{hotelstays.ErrInvalidScope, "invalid_scope"},
	{hotelstays.ErrDuplicateBooking, "duplicate_booking"},
	{hotelstays.ErrVoucherTooLarge, "voucher_too_large"},
	{hotelstays.ErrAmbiguousReference, "ambiguous_reference"},
	{hotelstays.ErrRateChanged, "rate_changed"},
	{hotelstays.ErrParam, "parameter_refused"},
	{hotelstays.ErrUnauthorized, "unauthorized"},
	{hotelstays.ErrForbidden, "forbidden"},
	{hotelstays.ErrNotFound, "not_found"},
	{hotelstays.ErrRateLimited, "rate_limited"},
	{hotelstays.ErrUpstreamTimeout, "upstream_timeout"},
}

// errorType is the kind of a call's error, or "" without one.
func errorType(info *hotelstays.CallInfo) string {
	err := info.Err
	var unknown *hotelstays.OutcomeUnknownError
	var transport *hotelstays.TransportError
	var unreadable *hotelstays.DecodeError
	var refused *hotelstays.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &unknown):
		return kindOutcomeUnknown
	case errors.As(err, &transport): // before APIError: it may have a token's refusal as its cause
		kind := causeType(transport.Err)
		if slices.Contains([]string{kindCertificate, kindDial, kindNoAnswer}, kind) && !unanswered(info.Attempts) {
			return kindNoSlot // whatever could not be reached, it was not the service
		}
		return kind
	case errors.As(err, &unreadable):
		return kindUnreadable
	case errors.As(err, &refused):
		return refusalType(refused)
	}
	return semconv.ErrorTypeOther.Value.AsString() // such as a panic
}

// unanswered tells whether the last request that was sent got no answer.
func unanswered(attempts []hotelstays.AttemptInfo) bool {
	return len(attempts) > 0 && attempts[len(attempts)-1].Err != nil
}

// causeType is the kind of what kept a request from being answered.
func causeType(err error) string {
	var certificate *tls.CertificateVerificationError
	var dial *net.OpError
	switch err.(type) {
	case *hotelstays.APIError, *hotelstays.TransportError, *hotelstays.DecodeError: // of the token's own call
		return kindNoToken
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return kindTimeout
	case errors.Is(err, context.Canceled):
		return kindCanceled
	case errors.As(err, &certificate):
		return kindCertificate
	case errors.As(err, &dial) && dial.Op == "dial":
		return kindDial
	}
	return kindNoAnswer
}

func refusalType(err *hotelstays.APIError) string {
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return r.kind
		}
	}
	switch {
	case err.HTTPStatus >= 500:
		return kindServerError
	case err.HTTPStatus >= 300 && err.HTTPStatus < 400:
		return kindRedirect
	}
	return kindRefused
}

// attemptErrorType is the kind of what kept an attempt from being answered, or ""
// where it was answered.
func attemptErrorType(a *hotelstays.AttemptInfo) string {
	switch {
	case a.Err == nil:
		return ""
	case a.HTTPStatus != 0: // it was answered with more than is read
		return kindUnreadable
	}
	return causeType(a.Err)
}
