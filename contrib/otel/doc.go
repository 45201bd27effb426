// Package hotelstaysotel reports the calls of a hotelstays.Client to OpenTelemetry:
// one span for each call, and metrics.
//
//	observer, err := hotelstaysotel.New()
//	client, err := hotelstays.New(baseURL, credential, hotelstays.WithObserver(observer))
//
// A span is named after the operation, such as "hotelstays.Book". Each sending of
// the request is an event in it. The span of a call that fetches a token is a child
// of the call that needed the token; one that renews it in the background may
// outlast its parent. A call that fails validation sent nothing and has no span.
//
// Spans carry the call's request id and trace id, as reports to the service quote
// them. Nothing else of a request or an answer is recorded: no references, names,
// tokens, addresses with queries, nor the texts of errors, which can quote all of
// these. Of an error there is its kind, one of a closed list. What WithTraceID is
// given is recorded: it should be an identifier and no more.
//
// Metrics have the operation, the server, and the kind of an error or the status of an
// attempt as attributes; identifiers stay out of them, so that the number of series is
// bounded.
//
// The package sends no trace headers. README.md lists the attributes and the
// instruments, and shows how spans of the HTTP exchanges are had.
package hotelstaysotel
