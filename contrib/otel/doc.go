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
// count calls, not helpers.
//
// Spans carry the call's request id and trace id, which reports to the service quote. No
// reference, name, token, query or error text is recorded, because an error text can quote
// all of these. An error is recorded as its kind, one of a closed list. The trace id is
// recorded: give identifiers to WithTraceID and WithTraceIDFrom, not names.
//
// Metrics have the operation, the server, and the kind of an error or the status of an
// attempt as attributes, and no identifiers, so that the number of series is bounded. README.md
// lists all names, their types and units, and the kinds of errors.
//
// # Spans of the HTTP exchanges
//
// This package sends no trace headers. otelhttp (go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp)
// below the client makes a child span of each attempt, and sends the headers of its propagator:
//
//	transport := http.DefaultTransport.(*http.Transport).Clone()
//	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 512, 256
//	below := otelhttp.NewTransport(transport, otelhttp.WithFilter(func(r *http.Request) bool {
//		return r.Method == http.MethodPost
//	}))
//	client, err := hotelstays.New(baseURL, credential,
//		hotelstays.WithObserver(observer),
//		hotelstays.WithHTTPClient(&http.Client{Transport: below}))
//
// Every operation of the API is a POST. The filter excludes downloads of voucher documents, because
// otelhttp records whole addresses, and whoever has such an address can read the document. Your
// transport replaces the client's: raise MaxIdleConnsPerHost, whose default of 2 is too low.
//
// # The trace id in the service's logs
//
// The API's Trace-Id can be that of your trace, if your program has started a span: the spans of
// this package begin after the id is made.
//
//	hotelstays.WithTraceIDFrom(func(ctx context.Context) string {
//		if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
//			return span.TraceID().String()
//		}
//		return "" // a new one
//	})
package hotelstaysotel
