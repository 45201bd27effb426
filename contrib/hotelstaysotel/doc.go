// Package hotelstaysotel reports the calls of a hotelstays.Client to OpenTelemetry: one span for each
// call and each helper, and metrics. README.md lists the names, their types and units, and the kinds of
// errors.
//
// Spans carry the call's request id and trace id, which reports to the service quote. No reference, name,
// token, query or error text is recorded, because an error text can quote all of these: give identifiers
// to WithTraceID and WithTraceIDFrom, not names. Metrics have no identifiers, so that the number of series
// is bounded.
//
// This package sends no trace headers. otelhttp below the client makes a child span of each attempt, and
// sends the headers of its propagator; the examples of New show it.
package hotelstaysotel
