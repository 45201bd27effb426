// The attributes of spans.

package hotelstaysotel

import (
	"errors"
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// Attributes for which OpenTelemetry's semantic conventions have no name.
const (
	keyOperation       = attribute.Key("hotelstays.operation.name")
	keyHelper          = attribute.Key("hotelstays.helper.name")
	keyAttempts        = attribute.Key("hotelstays.attempts")
	keyCode            = attribute.Key("hotelstays.code")
	keyRequestID       = attribute.Key("hotelstays.request_id")
	keyTraceID         = attribute.Key("hotelstays.trace_id")
	keyAccount         = attribute.Key("hotelstays.account")
	keyPriority        = attribute.Key("hotelstays.priority")
	keyRateLimitWait   = attribute.Key("hotelstays.rate_limit.wait.duration")
	keyDecodeDuration  = attribute.Key("hotelstays.decode.duration")
	keyNoToken         = attribute.Key("hotelstays.no_token")
	keyFirstHotel      = attribute.Key("hotelstays.first_hotel.duration")
	keyResponseSize    = attribute.Key("hotelstays.response.size")
	keyAttemptNumber   = attribute.Key("hotelstays.attempt.number")
	keyAttemptDuration = attribute.Key("hotelstays.attempt.duration")
	keyAttemptSent     = attribute.Key("hotelstays.attempt.sent")
)

const eventAttempt = "hotelstays.attempt"

func setSpan(span trace.Span, info *hotelstays.CallInfo) {
	attrs := append(make([]attribute.KeyValue, 0, 9),
		keyAttempts.Int(len(info.Attempts)),
		keyTraceID.String(info.TraceID),
		keyRateLimitWait.Float64(info.RateLimitWait.Seconds()),
	)
	if info.RequestID != "" {
		attrs = append(attrs, keyRequestID.String(info.RequestID))
	}
	if info.HTTPStatus != 0 {
		attrs = append(attrs,
			semconv.HTTPResponseStatusCode(info.HTTPStatus),
			keyResponseSize.Int(info.Bytes),
			keyDecodeDuration.Float64(info.DecodeTime.Seconds()))
	}
	if info.FirstHotel > 0 {
		attrs = append(attrs, keyFirstHotel.Float64(info.FirstHotel.Seconds()))
	}
	if fault, ok := errors.AsType[*hotelstays.TransportError](info.Err); ok && fault.NoToken {
		attrs = append(attrs, keyNoToken.Bool(true))
	}
	cause := info.Err
	if unknown, ok := errors.AsType[*hotelstays.OutcomeUnknownError](cause); ok {
		cause = unknown.Err
	}
	if refused, ok := errors.AsType[*hotelstays.APIError](cause); ok && refused.Operation == info.Operation && refused.Code != 0 {
		attrs = append(attrs, keyCode.Int(refused.Code))
	}
	span.SetAttributes(attrs...)
	for i := range info.Attempts {
		a := &info.Attempts[i]
		span.AddEvent(eventAttempt, trace.WithTimestamp(a.Start), trace.WithAttributes(attemptAttributes(i+1, a)...))
	}
}

func attemptAttributes(number int, a *hotelstays.AttemptInfo) []attribute.KeyValue {
	attrs := []attribute.KeyValue{
		keyAttemptNumber.Int(number),
		keyAttemptDuration.Float64(a.Duration.Seconds()),
		keyAttemptSent.Bool(a.Sent),
		keyRequestID.String(a.RequestID),
	}
	if a.HTTPStatus != 0 {
		attrs = append(attrs, semconv.HTTPResponseStatusCode(a.HTTPStatus))
	}
	if kind := attemptErrorType(a); kind != "" {
		attrs = append(attrs, semconv.ErrorTypeKey.String(kind))
	}
	return attrs
}

// serverAttributes returns the address and the port of the server. Spans have these attributes from the start, because
// samplers read them.
func serverAttributes(baseURL string) []attribute.KeyValue {
	u, _ := url.Parse(baseURL) // Parse cannot fail here: New has checked the URL
	port, _ := strconv.Atoi(u.Port())
	switch {
	case port != 0:
	case u.Scheme == "https":
		port = 443
	default:
		port = 80
	}
	return []attribute.KeyValue{semconv.ServerAddress(u.Hostname()), semconv.ServerPort(port)}
}
