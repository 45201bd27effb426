// Package hotelstaysotel reports the calls of a hotelstays.Client to OpenTelemetry: one span for each
// call and each helper, and metrics. README.md lists the names, their types and units, and the kinds of
// errors.
//
// Spans contain the call's request id and trace id: quote them in reports to the service. Pass random identifiers to
// WithTraceID and WithTraceIDFrom, never names of people. No reference, name, token or query is recorded. Error texts
// are not recorded either, because they can quote such values. Metrics have no request or trace ids, so that the number
// of series is bounded.
//
// This package sends no trace headers. Use otelhttp as the client's transport for that: it makes a child span for each
// attempt, and sends the headers of its propagator. The examples of New show how.
package hotelstaysotel
