package hotelstaysotel_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstaysotel "github.com/hotelstays/hotelstays-go/contrib/otel"
	"github.com/hotelstays/hotelstays-go/types"
)

// discard is an exporter that costs nothing.
type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }

// BenchmarkOverhead alternates small calls with and without an observer, over loopback.
// on/off is the ratio of their median times.
func BenchmarkOverhead(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"code":0,"data":{"list":[]}}`)
	}))
	defer srv.Close()
	for _, bm := range []struct {
		name    string
		sampler sdktrace.Sampler
	}{
		{"every span recorded", sdktrace.AlwaysSample()},
		{"no span sampled", sdktrace.NeverSample()},
	} {
		b.Run(bm.name, func(b *testing.B) {
			observer, err := hotelstaysotel.New(
				hotelstaysotel.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(discard{}), sdktrace.WithSampler(bm.sampler))),
				hotelstaysotel.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))))
			require.NoError(b, err)
			off, on := benchClient(b, srv.URL), benchClient(b, srv.URL, hotelstays.WithObserver(observer))
			timed := func(client *hotelstays.Client) time.Duration {
				start := time.Now()
				if _, err := client.Destinations(b.Context(), &hotelstays.DestinationsRequest{}); err != nil {
					b.Fatal(err)
				}
				return time.Since(start)
			}
			var plain, observed []time.Duration
			for first := true; b.Loop(); first = !first { // each goes first as often as second
				if first {
					plain = append(plain, timed(off))
				}
				observed = append(observed, timed(on))
				if !first {
					plain = append(plain, timed(off))
				}
			}
			b.ReportMetric(median(observed)/median(plain), "on/off")
			b.ReportMetric(median(observed)-median(plain), "ns-more/call")
			b.ReportMetric(0, "ns/op") // of two calls: of no interest
		})
	}
}

func median(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2])
}

func benchClient(b *testing.B, baseURL string, opts ...hotelstays.Option) *hotelstays.Client {
	opts = append(opts, hotelstays.WithRateLimiter(unlimited{}))
	client, err := hotelstays.New(baseURL, hotelstays.TokenCredential{Token: types.NewSecret("token")}, opts...)
	require.NoError(b, err)
	b.Cleanup(client.CloseIdleConnections)
	return client
}

// unlimited grants everything at once.
type unlimited struct{}

func (unlimited) Acquire(context.Context, hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	return unlimited{}, nil
}
func (unlimited) Pause(hotelstays.RateLimitKey, time.Time) {}
func (unlimited) Sent()                                    {}
func (unlimited) Done(hotelstays.PermitResult)             {}
