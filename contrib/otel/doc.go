// Package hotelstaysotel reports the calls of a hotelstays.Client to OpenTelemetry:
// one span for each call and each helper, and metrics.
//
//	observer, err := hotelstaysotel.New()
//	client, err := hotelstays.New(baseURL, credential, hotelstays.WithObserver(observer))
//
// A span is named after the operation, such as "hotelstays.Book". Each attempt is an event
// in it. The span of a call that fetches a token is a child of the call that needs the token;
// a renewal in the background may outlast its parent. A call that fails validation has no
// span. BookAndRecover and the other helpers have a span around those of their calls; metrics
// count the calls alone.
//
// Spans carry the call's request id and trace id, which reports to the service quote. No
// reference, name, token, query or error text is recorded, because an error text can quote
// all of these. An error is recorded as its kind, one of a closed list. The trace id is
// recorded, so WithTraceID and WithTraceIDFrom should give identifiers.
//
// Metrics have the operation, the server, and the kind of an error or the status of an
// attempt as attributes, and no identifiers, so that the number of series is bounded.
//
// The package sends no trace headers. README.md lists the attributes and the instruments,
// and shows how to add spans of the HTTP exchanges.
package hotelstaysotel
