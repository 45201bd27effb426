// Package hotelstaysotel reports the calls of a hotelstays.Client to OpenTelemetry: one span for each
// call and each helper, and metrics. README.md lists the names, their types and units, and the kinds of
// errors.
//
// Spans carry the call's request id and trace id: quote them in reports to the service. Give identifiers to
// WithTraceID and WithTraceIDFrom, not names. No reference, name, token or query is recorded, and no error text,
// because an error text can quote them. Metrics have no request or trace ids, so that the number of series is bounded.
//
// This package sends no trace headers. otelhttp below the client makes a child span of each attempt, and
// sends the headers of its propagator; the examples of New show it.
package hotelstaysotel
