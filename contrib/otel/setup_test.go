// The tests run in testing/synctest bubbles, so durations are exact. The clock starts at
// 2000-01-01.

package hotelstaysotel_test

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstaysotel "github.com/hotelstays/hotelstays-go/contrib/otel"
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

// server is what every span and every metric of a rig has.
var server = map[string]any{"server.address": "127.0.0.1", "server.port": int64(80)}

// withRig runs a test in a bubble.
func withRig(t *testing.T, test func(t *testing.T, r *rig), opts ...hotelstays.Option) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := testkit.NewSandbox(t)
		r := &rig{t: t, srv: srv, spans: tracetest.NewInMemoryExporter(), metrics: sdkmetric.NewManualReader()}
		r.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans))
		meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.metrics))
		var err error
		r.observer, err = hotelstaysotel.New(hotelstaysotel.WithTracerProvider(r.tracers), hotelstaysotel.WithMeterProvider(meters))
		require.NoError(t, err)
		r.connect(append(opts, hotelstays.WithObserver(r.observer))...)
		test(t, r)
	})
}

// connect replaces the client.
func (r *rig) connect(opts ...hotelstays.Option) {
	r.client = testkit.NewClient(r.t, r.srv, testkit.TicketOf(r.srv), opts...)
}

// destinations makes a call with a known trace id.
func (r *rig) destinations() error {
	_, err := r.client.Destinations(r.t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithTraceID("trace-1"))
	return err
}

// warm fetches the token and drops the exports of that.
func (r *rig) warm() {
	require.NoError(r.t, r.destinations())
	r.take()
}

// inject makes the next call of an operation fail.
func (r *rig) inject(op hotelstays.Operation, fault hotelstaystest.Fault) {
	fault.Operation = op
	r.srv.Inject(fault)
}

// report reports a call that only the observer sees, and returns its span.
func (r *rig) report(info hotelstays.CallInfo) span {
	info.BaseURL = r.srv.URL
	ctx := r.observer.CallStart(r.t.Context(), hotelstays.CallStart{Operation: info.Operation, BaseURL: r.srv.URL})
	r.observer.CallEnd(ctx, info)
	return r.last()
}

// span is the compared part of an exported span.
type span struct {
	name     string
	parent   string // the name of its parent, or ""
	kind     trace.SpanKind
	status   codes.Code
	text     string // the status's
	duration time.Duration
	attrs    map[string]any
	events   []event
}

type event struct {
	name  string
	at    time.Time
	attrs map[string]any
}

// take returns the spans that ended since the last take, in that order.
func (r *rig) take() []span {
	stubs := r.spans.GetSpans()
	r.spans.Reset()
	names := map[trace.SpanID]string{}
	for _, s := range stubs {
		names[s.SpanContext.SpanID()] = s.Name
	}
	spans := make([]span, len(stubs))
	for i, s := range stubs {
		spans[i] = span{name: s.Name, parent: names[s.Parent.SpanID()], kind: s.SpanKind, status: s.Status.Code, text: s.Status.Description,
			duration: s.EndTime.Sub(s.StartTime), attrs: mapOf(s.Attributes)}
		for _, e := range s.Events {
			spans[i].events = append(spans[i].events, event{e.Name, e.Time, mapOf(e.Attributes)})
		}
	}
	return spans
}

// last returns the span that ended last.
func (r *rig) last() span {
	spans := r.take()
	require.NotEmpty(r.t, spans)
	return spans[len(spans)-1]
}

// with returns the attributes that the span of an operation has, and more.
func with(op string, more map[string]any) map[string]any {
	attrs := map[string]any{"hotelstays.operation.name": op}
	maps.Copy(attrs, server)
	maps.Copy(attrs, more)
	return attrs
}

func mapOf(attrs []attribute.KeyValue) map[string]any {
	m := map[string]any{}
	for _, a := range attrs {
		m[string(a.Key)] = a.Value.AsInterface()
	}
	return m
}

// point is what was recorded for one set of attributes: count and sum of a histogram, or the
// sum of a counter.
type point struct {
	count uint64
	sum   float64
}

// collect returns all records as instrument → attributes → point, without the server, which
// every point has.
func (r *rig) collect() map[string]map[string]point {
	all := map[string]map[string]point{}
	for _, scope := range r.export().ScopeMetrics {
		for _, m := range scope.Metrics {
			points := map[string]point{}
			add := func(set attribute.Set, p point) {
				rest, its := set.Filter(func(kv attribute.KeyValue) bool { return !strings.HasPrefix(string(kv.Key), "server.") })
				require.Equal(r.t, server, mapOf(its), m.Name)
				points[rest.Encoded(attribute.DefaultEncoder())] = p
			}
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, point{p.Count, p.Sum})
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, point{p.Count, float64(p.Sum)})
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, point{sum: float64(p.Value)})
				}
			default:
				require.Failf(r.t, "unknown data", "%s: %T", m.Name, m.Data)
			}
			all[m.Name] = points
		}
	}
	return all
}

func (r *rig) export() metricdata.ResourceMetrics {
	var out metricdata.ResourceMetrics
	require.NoError(r.t, r.metrics.Collect(r.t.Context(), &out))
	return out
}
