package hotelstaysotel_test

import (
	"log"
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstaysotel "github.com/hotelstays/hotelstays-go/contrib/otel"
	"github.com/hotelstays/hotelstays-go/types"
)

const baseURL = "https://host.example"

var credential = hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret("secret")}

func ExampleNew() {
	observer, err := hotelstaysotel.New() // the global providers
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

// With otelhttp below the client, each attempt has its own client span.
func ExampleNew_withOtelHTTP() {
	observer, err := hotelstaysotel.New()
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
