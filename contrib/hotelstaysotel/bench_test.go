package hotelstaysotel_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstaysotel"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// BenchmarkOverhead measures small calls over loopback, with and without an observer.
func BenchmarkOverhead(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"code":0,"data":{"list":[]}}`)
	}))
	defer srv.Close()
	for name, sampler := range map[string]sdktrace.Sampler{
		"without an observer": nil, "every span recorded": sdktrace.AlwaysSample(), "no span sampled": sdktrace.NeverSample(),
	} {
		b.Run(name, func(b *testing.B) {
			opts := []hotelstays.Option{hotelstays.WithRateLimiter(testkit.NoRateLimits{})}
			if sampler != nil {
				observer, err := hotelstaysotel.New(&hotelstaysotel.Options{
					TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler)),
					MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))})
				require.NoError(b, err)
				opts = append(opts, hotelstays.WithObserver(observer))
			}
			client, err := hotelstays.New(srv.URL, testkit.BearerToken("token"), opts...)
			require.NoError(b, err)
			defer client.CloseIdleConnections()
			for b.Loop() {
				_, err := client.Destinations(b.Context(), &hotelstays.DestinationsRequest{})
				require.NoError(b, err)
			}
		})
	}
}
