package hotelstaysotel_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstaysotel "github.com/hotelstays/hotelstays-go/contrib/otel"
	"github.com/hotelstays/hotelstays-go/types"
)

// unlimited grants everything at once.
type unlimited struct{ hotelstays.RateLimiter }

func (unlimited) Acquire(context.Context, hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	return nil, nil
}

// BenchmarkOverhead makes small calls over loopback.
func BenchmarkOverhead(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"code":0,"data":{"list":[]}}`)
	}))
	defer srv.Close()
	for name, sampler := range map[string]sdktrace.Sampler{
		"without an observer": nil, "every span recorded": sdktrace.AlwaysSample(), "no span sampled": sdktrace.NeverSample(),
	} {
		b.Run(name, func(b *testing.B) {
			opts := []hotelstays.Option{hotelstays.WithRateLimiter(unlimited{})}
			if sampler != nil {
				observer, err := hotelstaysotel.New(
					hotelstaysotel.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler))),
					hotelstaysotel.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))))
				require.NoError(b, err)
				opts = append(opts, hotelstays.WithObserver(observer))
			}
			client, err := hotelstays.New(srv.URL, hotelstays.TokenCredential{Token: types.NewSecret("token")}, opts...)
			require.NoError(b, err)
			defer client.CloseIdleConnections()
			for b.Loop() {
				_, err := client.Destinations(b.Context(), &hotelstays.DestinationsRequest{})
				require.NoError(b, err)
			}
		})
	}
}
