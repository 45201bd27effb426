package hotelstaysotel_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstaysotel"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// refusing is a meter provider whose meters refuse histograms and gauges.
type refusing struct{ metricnoop.MeterProvider }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

type refusingMeter struct{ metricnoop.Meter }

func (refusingMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return nil, assert.AnError
}

func (refusingMeter) Float64ObservableGauge(string, ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	return nil, assert.AnError
}

func TestNewFailsIfTheMeterProviderRefusesAnInstrument(t *testing.T) {
	observer, err := hotelstaysotel.New(&hotelstaysotel.Options{MeterProvider: refusing{}})
	assert.Zero(t, observer)
	assert.ErrorIs(t, err, assert.AnError)
}

// The global providers may be set after New. No trace headers are sent, even if there is a global propagator.
func TestNilOptionsUseTheGlobalProviders(t *testing.T) {
	defer otel.SetTracerProvider(otel.GetTracerProvider())
	defer otel.SetMeterProvider(otel.GetMeterProvider())
	defer otel.SetTextMapPropagator(otel.GetTextMapPropagator())
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	withRig(t, func(t *testing.T, r *rig) {
		observer, err := hotelstaysotel.New(nil)
		require.NoError(t, err)
		spans, reader := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
		otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
		otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
		r.connect(hotelstays.WithObserver(observer))
		require.NoError(t, r.destinations())
		assert.Len(t, spans.GetSpans(), 2)
		var out metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(t.Context(), &out))
		assert.NotEmpty(t, out.ScopeMetrics)
		for _, request := range r.srv.Ledger().Requests("") {
			assert.Empty(t, request.Header.Get("Traceparent"))
			assert.Empty(t, request.Header.Get("Baggage"))
		}
	})
}

// attributeSampler samples every span, and records the attributes that it receives.
type attributeSampler struct {
	sdktrace.Sampler
	asked []string
}

func (s *attributeSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	s.asked = append(s.asked, describe(p.Attributes))
	return s.Sampler.ShouldSample(p)
}

// If the URL has no port, server.port is the default port of the scheme.
func TestSamplersReceiveTheServerAddress(t *testing.T) {
	for base, server := range map[string]string{
		"https://Host.example/base/": "server.address=Host.example server.port=443",
		"https://host.example:8443":  "server.address=host.example server.port=8443",
		"http://localhost":           "server.address=localhost server.port=80",
		"http://[::1]:8080":          "server.address=::1 server.port=8080",
	} {
		sampler := &attributeSampler{Sampler: sdktrace.AlwaysSample()}
		observer, err := hotelstaysotel.New(&hotelstaysotel.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler))})
		require.NoError(t, err)
		observer.CallStart(t.Context(), hotelstays.CallStart{Operation: hotelstays.OpDestinations, BaseURL: base})
		assert.Equal(t, []string{"of=Destinations " + server}, sampler.asked)
	}
}

// otelhttp is the client's transport. It makes a client span for each attempt, and sends trace headers if configured.
func TestOtelHTTPSpansAreChildrenOfTheCall(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		below := otelhttp.NewTransport(r.srv.Client().Transport, otelhttp.WithTracerProvider(r.tracers),
			otelhttp.WithMeterProvider(metricnoop.NewMeterProvider()), otelhttp.WithPropagators(propagation.TraceContext{}))
		r.connect(hotelstays.WithObserver(r.observer), hotelstays.WithHTTPClient(&http.Client{Transport: below}))
		require.NoError(t, r.destinations()) // also fetches a token
		r.take()
		r.inject(hotelstays.OpDestinations, hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 503})
		require.NoError(t, r.destinations())
		got := strings.Join(paths(r.take()), " ")
		assert.Regexp(t, `^Destinations/HTTP POST client 0s Destinations/HTTP POST client 0s Destinations internal [\d.]+\w+$`, got)
		requests := r.srv.Ledger().Requests(hotelstays.OpDestinations)
		assert.NotEmpty(t, requests[len(requests)-1].Header.Get("Traceparent"))
	})
}
