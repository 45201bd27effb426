package hotelstaysotel_test

import (
	"context"
	"log"
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/trace"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstaysotel"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
	"github.com/hotelstays/hotelstays-go/types"
)

const baseURL = "https://host.example"

var credential = hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret("secret")}

func ExampleNew() {
	observer, err := hotelstaysotel.New(nil) // the global providers
	if err != nil {
		log.Fatal(err)
	}
	client, err := hotelstays.New(baseURL, credential, hotelstays.WithObserver(observer))
	if err != nil {
		log.Fatal(err)
	}
	defer client.CloseIdleConnections()
	// Output:
}

// With otelhttp below the client, each attempt has its own client span. The filter keeps only POST requests, which
// all operations use. So otelhttp does not record the URLs of voucher documents. Everyone with such a URL can read the
// document.
//
// Your transport replaces the client's transport. So raise MaxIdleConnsPerHost: with its default of 2, most parallel
// calls would open a new connection.
func ExampleNew_withOtelHTTP() {
	observer, err := hotelstaysotel.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 512, 256
	below := otelhttp.NewTransport(transport, otelhttp.WithFilter(func(r *http.Request) bool {
		return r.Method == http.MethodPost
	}))
	client, err := hotelstays.New(baseURL, credential,
		hotelstays.WithObserver(observer),
		hotelstays.WithHTTPClient(&http.Client{Transport: below}))
	if err != nil {
		log.Fatal(err)
	}
	defer client.CloseIdleConnections()
	// Output:
}

// The API's Trace-Id is the id of the caller's trace, if the caller has started a span. The client chooses the Trace-Id
// before the spans of this package start, so the Trace-Id cannot come from these spans.
func ExampleNew_withTraceIDs() {
	client, err := hotelstays.New(baseURL, credential,
		hotelstays.WithTraceIDFrom(func(ctx context.Context) string {
			if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
				return span.TraceID().String()
			}
			return "" // the client then makes a new trace id
		}))
	if err != nil {
		log.Fatal(err)
	}
	defer client.CloseIdleConnections()
	// Output:
}

// journal stands for your Journal of hotelstayssql, or your Bookings of hotelstaysriver.
var journal durable.Bookings[*memstore.Tx] = new(durable.Engine[*memstore.Tx])

// The gauges are read at each collection of the meter provider.
func ExampleObserveBookings() {
	gauges, err := hotelstaysotel.ObserveBookings(journal, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gauges.Unregister()
	// Output:
}
