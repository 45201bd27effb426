// Helpers for tests in testing/synctest bubbles, in which durations are exact.

package hotelstaysotel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstaysotel"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// rig is a sandbox with an observed client.
type rig struct {
	t        *testing.T
	srv      *hotelstaystest.Server
	observer hotelstays.Observer
	client   *hotelstays.Client
	tracers  *sdktrace.TracerProvider
	spans    *tracetest.InMemoryExporter
	metrics  *sdkmetric.ManualReader
}

func withRig(t *testing.T, test func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := testkit.NewSandbox(t)
		r := &rig{t: t, srv: srv, spans: tracetest.NewInMemoryExporter(), metrics: sdkmetric.NewManualReader()}
		r.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans))
		meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.metrics))
		var err error
		r.observer, err = hotelstaysotel.New(&hotelstaysotel.Options{TracerProvider: r.tracers, MeterProvider: meters})
		require.NoError(t, err)
		r.connect(hotelstays.WithObserver(r.observer))
		test(t, r)
	})
}

// quiet returns a client without an observer.
func (r *rig) quiet() *hotelstays.Client {
	return testkit.NewClient(r.t, r.srv, testkit.TicketOf(r.srv))
}

// request finds an offer with the quiet client, and returns a request to book it.
func (r *rig) request(reference string) *hotelstays.BookRequest {
	return testkit.FindOffer(r.t, r.srv, r.quiet(), 0).Request(reference)
}

func (r *rig) connect(opts ...hotelstays.Option) {
	r.client = testkit.NewClient(r.t, r.srv, testkit.TicketOf(r.srv), opts...)
}

// destinations calls Destinations.
func (r *rig) destinations(opts ...hotelstays.CallOption) error {
	_, err := r.client.Destinations(r.t.Context(), &hotelstays.DestinationsRequest{}, opts...)
	return err
}

func (r *rig) inject(op hotelstays.Operation, fault hotelstaystest.Fault) {
	fault.Operation = op
	r.srv.Inject(fault)
}

// report passes a made-up call to the observer, and returns its span.
func (r *rig) report(info hotelstays.CallInfo) tracetest.SpanStub {
	info.BaseURL = r.srv.URL
	ctx := r.observer.CallStart(r.t.Context(), hotelstays.CallStart{Operation: info.Operation, BaseURL: r.srv.URL})
	r.observer.CallEnd(ctx, info)
	return r.last()
}

// take returns the spans that ended since the last call of take, in the order of their ends.
func (r *rig) take() tracetest.SpanStubs {
	defer r.spans.Reset()
	return r.spans.GetSpans()
}

func (r *rig) last() tracetest.SpanStub {
	spans := r.take()
	require.NotEmpty(r.t, spans)
	return spans[len(spans)-1]
}

func value(attrs []attribute.KeyValue, key attribute.Key) any {
	for _, a := range attrs {
		if a.Key == key {
			return a.Value.AsInterface()
		}
	}
	return nil
}

var short = strings.NewReplacer("hotelstays.", "", "http.response.status_code", "status", "operation.name", "of", "helper.name", "helper",
	"rate_limit.wait.duration", "waited", "decode.duration", "decoded", "response.size", "size", "error.type", "error", "_id", "")

// describe returns sorted attributes as text. Doubles are seconds.
func describe(attrs []attribute.KeyValue) string {
	var texts []string
	for _, a := range attrs {
		value := a.Value.AsInterface()
		if seconds, ok := value.(float64); ok {
			value = time.Duration(seconds * float64(time.Second))
		} else if a.Key == "hotelstays.response.size" {
			value = size(a.Value.AsInt64())
		} else if a.Key == "hotelstays.account" && value != "" {
			value = "a"
		}
		texts = append(texts, fmt.Sprint(short.Replace(string(a.Key)), "=", value))
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

// size returns a size in bytes. For the large, generated answers it returns "many".
func size(n int64) string {
	if n > 99 {
		return "many"
	}
	return fmt.Sprint(n)
}

// ofServer returns the text of describe without the server's attributes. If these attributes are missing, the test fails,
// because each span and record must have them.
func (r *rig) ofServer(attrs []attribute.KeyValue) string {
	before, after, found := strings.Cut(describe(attrs), " server.address=127.0.0.1 server.port=80")
	require.True(r.t, found, "%s", before)
	return before + after
}

// paths returns the text "parent/name kind duration" for each span.
func paths(spans tracetest.SpanStubs) (paths []string) {
	names := map[trace.SpanID]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID()] = s.Name + "/"
	}
	for _, s := range spans {
		path := fmt.Sprint(names[s.Parent.SpanID()], s.Name, " ", s.SpanKind, " ", s.EndTime.Sub(s.StartTime))
		paths = append(paths, short.Replace(path))
	}
	return paths
}

// export collects the metrics. It returns them, and a line for each set of attributes of each instrument.
func (r *rig) export() (lines []string, all metricdata.ScopeMetrics) {
	var out metricdata.ResourceMetrics
	require.NoError(r.t, r.metrics.Collect(r.t.Context(), &out))
	require.Len(r.t, out.ScopeMetrics, 1)
	for _, m := range out.ScopeMetrics[0].Metrics {
		add := func(attrs attribute.Set, record ...any) {
			lines = append(lines, fmt.Sprint(m.Name, " ", r.ofServer(attrs.ToSlice()), ": ", fmt.Sprint(record...), m.Unit))
		}
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				add(p.Attributes, p.Count, " in ", p.Sum)
			}
		case metricdata.Histogram[int64]:
			for _, p := range data.DataPoints {
				add(p.Attributes, p.Count, " in ", size(p.Sum))
			}
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				add(p.Attributes, p.Value)
			}
		}
	}
	slices.Sort(lines)
	return lines, out.ScopeMetrics[0]
}
