// The tests run in testing/synctest bubbles, so durations are exact. The clock starts at
// 2000-01-01.

package hotelstaysotel_test

import (
	"maps"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstaysotel "github.com/hotelstays/hotelstays-go/contrib/otel"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a sandbox with an observed client.
type rig struct {
	t        *testing.T
	srv      *hotelstaystest.Server
	observer hotelstays.Observer
	client   *hotelstays.Client
	tracers  *sdktrace.TracerProvider
	spans    *tracetest.InMemoryExporter
	metrics  *sdkmetric.ManualReader
	attrs    map[string]any // that every span has
}

func newRig(t *testing.T, opts ...hotelstays.Option) *rig {
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{InMemory: true})
	t.Cleanup(srv.Close)
	r := &rig{t: t, srv: srv, spans: tracetest.NewInMemoryExporter(), metrics: sdkmetric.NewManualReader()}
	r.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.metrics))
	var err error
	r.observer, err = hotelstaysotel.New(hotelstaysotel.WithTracerProvider(r.tracers), hotelstaysotel.WithMeterProvider(meters))
	require.NoError(t, err)
	r.client = r.newClient(ticketOf(srv), append(opts, hotelstays.WithObserver(r.observer))...)

	u, err := url.Parse(srv.URL)
	require.NoError(t, err)
	port := int64(80)
	if u.Port() != "" {
		port, err = strconv.ParseInt(u.Port(), 10, 64)
		require.NoError(t, err)
	}
	r.attrs = map[string]any{"server.address": u.Hostname(), "server.port": port}
	return r
}

func (r *rig) newClient(cred hotelstays.Credential, opts ...hotelstays.Option) *hotelstays.Client {
	client, err := hotelstays.New(r.srv.URL, cred, append([]hotelstays.Option{hotelstays.WithHTTPClient(r.srv.Client())}, opts...)...)
	require.NoError(r.t, err)
	r.t.Cleanup(client.CloseIdleConnections)
	return client
}

func ticketOf(srv *hotelstaystest.Server) hotelstays.TicketCredential {
	return hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)}
}

// bookRequest searches the sandbox and returns a request that books an offer.
func (r *rig) bookRequest(reference string) *hotelstays.BookRequest {
	adults := []types.GuestPerRoom{{AdultCount: 2}}
	list, err := r.client.HotelList(r.t.Context(), &hotelstays.HotelListRequest{DestinationID: r.srv.CityID(0),
		CheckIn: "2000-03-10", CheckOut: "2000-03-13", RoomOccupancies: adults, MaxRatesPerHotel: 1})
	require.NoError(r.t, err)
	rates, err := r.client.HotelRates(r.t.Context(), &hotelstays.HotelRatesRequest{SessionID: list.Basic.SessionID, HotelID: list.List[0].ID,
		CheckIn: "2000-03-10", CheckOut: "2000-03-13", RoomOccupancies: adults})
	require.NoError(r.t, err)
	return &hotelstays.BookRequest{
		SessionID: list.Basic.SessionID, RatePkgID: rates.Rooms[0].Rates[0].RatePkgID, CustomerReferenceNo: reference,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}},
	}
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

// want returns the attributes that every span has, and more.
func (r *rig) want(op string, more map[string]any) map[string]any {
	attrs := map[string]any{"hotelstays.operation.name": op}
	for _, from := range []map[string]any{r.attrs, more} {
		maps.Copy(attrs, from)
	}
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
				rest, server := set.Filter(func(kv attribute.KeyValue) bool { return !strings.HasPrefix(string(kv.Key), "server.") })
				require.Equal(r.t, r.attrs, mapOf(server), m.Name)
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
