// The next step that the text of an error advises.

package hotelstays

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/internal/wire"
)

const (
	baseURLHint = "check the base URL, which ends before /api"
	foreignHint = "the answer is not in the service's own form: check proxies and firewalls on the way; if there are none, "
	optionsHint = ", and whether the call needs another market (WithMarket) or user (WithUserRef)"
)

func (e *APIError) next() string {
	row := e.row()
	switch {
	case e.tokenAdvice != "":
		return e.tokenAdvice
	case row != nil && row.of == KindForbidden && e.Code == 0:
		return foreignHint + row.next + optionsHint
	case e.HTTPStatus == http.StatusNotFound && e.Code == 0:
		return baseURLHint + ", and the path of a Do"
	case e.HTTPStatus/100 == 4 && e.Code == 0 && e.Msg == "" && (row == nil || row.of == KindParam):
		return foreignHint + baseURLHint
	case row != nil && row.of == KindForbidden:
		return row.next + optionsHint
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
		return proxyAuthHint
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
