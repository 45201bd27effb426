// The values of error.type. The list is fixed, so that no error text is exported.

package hotelstaysotel

import (
	"crypto/tls"
	"errors"
	"net"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// Values of error.type for calls without an answer. For other calls error.type is the hotelstays.ErrorKind.
const (
	kindNoSlot      = "no_slot" // the client's RateLimiter returned an error instead of a slot
	kindCertificate = "certificate"
	kindDial        = "dial"
	kindNotSent     = "not_sent"  // the client's RoundTripper refused to send the request
	kindNoAnswer    = "no_answer" // the connection failed before the answer came
)

// errorType returns the value of the attribute error.type for a call's error, or "" without an error. The parameter
// attempts may be nil if the attempts are unknown.
func errorType(err error, attempts []hotelstays.AttemptInfo) string {
	kind := hotelstays.KindOf(err)
	fault, _ := errors.AsType[*hotelstays.TransportError](err)
	answered := len(attempts) > 0 && attempts[len(attempts)-1].Err == nil
	switch {
	case kind == hotelstays.KindOther: // for example a panic
		return semconv.ErrorTypeOther.Value.AsString()
	case kind != hotelstays.KindTransport:
		return string(kind)
	case fault.NoToken:
		return errorType(fault.Err, nil)
	case fault.Attempts == 0 || answered: // no attempt has failed, so the rate limiter has failed
		return kindNoSlot
	}
	return connectionFault(err)
}

// connectionFault returns the value of the attribute error.type for a request that got no answer.
func connectionFault(err error) string {
	var certificate *tls.CertificateVerificationError
	var dial *net.OpError
	switch {
	case errors.As(err, &certificate):
		return kindCertificate
	case errors.Is(err, hotelstays.ErrNotSent):
		return kindNotSent
	case errors.As(err, &dial) && dial.Op == "dial":
		return kindDial
	}
	return kindNoAnswer
}

func attemptErrorType(a *hotelstays.AttemptInfo) string {
	kind := hotelstays.KindOf(a.Err)
	switch {
	case a.Err == nil:
		return ""
	case a.HTTPStatus != 0: // the service answered, but the answer is unreadable
		return string(hotelstays.KindDecode)
	case kind == hotelstays.KindOther || kind == hotelstays.KindTransport:
		return connectionFault(a.Err)
	}
	return string(kind)
}
