// The kinds of errors: a closed list, so that no error text is exported.

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

// Values of error.type, besides those of refusals.
const (
	kindOutcomeUnknown = "outcome_unknown"   // of Book or Cancel
	kindTimeout        = "timeout"           // the deadline passed
	kindCanceled       = "canceled"          // the caller's ctx was cancelled
	kindNoToken        = "no_token"          // the token could not be fetched
	kindNoSlot         = "no_slot"           // the program's RateLimiter failed
	kindCertificate    = "certificate"       // the service's certificate is not trusted
	kindDial           = "dial"              // no connection
	kindNoAnswer       = "no_answer"         // the connection broke
	kindUnreadable     = "unreadable_answer" // the answer is malformed or too large
	kindRedirect       = "redirect"          // HTTP 3xx
	kindServerError    = "server_error"      // any other HTTP 5xx
	kindRefused        = "refused"           // any other code or status
)

// refusals are the service's documented refusals. The first match counts: codes come before
// HTTP statuses.
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

// errorType returns the kind of a call's error, or "".
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
	case errors.As(err, &transport): // before APIError: its cause may be the refusal of a token
		kind := causeType(transport.Err)
		if slices.Contains([]string{kindCertificate, kindDial, kindNoAnswer}, kind) && !unanswered(info.Attempts) {
			return kindNoSlot // the service was not tried
		}
		return kind
	case errors.As(err, &unreadable):
		return kindUnreadable
	case errors.As(err, &refused):
		return refusalType(refused)
	}
	return semconv.ErrorTypeOther.Value.AsString() // such as a panic
}

// unanswered reports whether the last attempt got no answer.
func unanswered(attempts []hotelstays.AttemptInfo) bool {
	return len(attempts) > 0 && attempts[len(attempts)-1].Err != nil
}

// causeType returns the kind of an error without an answer.
func causeType(err error) string {
	var certificate *tls.CertificateVerificationError
	var dial *net.OpError
	switch err.(type) {
	case *hotelstays.APIError, *hotelstays.TransportError, *hotelstays.DecodeError: // of the token's call
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

// attemptErrorType returns the kind of an attempt's error, or "".
func attemptErrorType(a *hotelstays.AttemptInfo) string {
	switch {
	case a.Err == nil:
		return ""
	case a.HTTPStatus != 0: // the answer is too large
		return kindUnreadable
	}
	return causeType(a.Err)
}
