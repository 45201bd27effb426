package hotelstaysotel_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

func TestSpansAndMetricsOfAHistory(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		size := 0 // of the whole answers
		slow := func(status int, retryAfter string) {
			const body = `{"code":1}`
			r.inject(hotelstays.OpDestinations, hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Delay: 3 * time.Second,
				Status: status, RetryAfter: retryAfter, Body: []byte(body)})
			size += len(body)
			require.Error(t, r.destinations())
		}
		good := func() {
			resp, err := r.client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithRawData())
			require.NoError(t, err)
			size += len(`{"code":0,"msg":"success","data":` + string(resp.Meta.RawData) + `}`)
		}
		good() // fetches a token
		slow(503, "")
		slow(429, "2")
		refused := r.last()
		good() // waits for two seconds
		waited := r.last()
		r.inject(hotelstays.OpDestinations, hotelstaystest.Fault{Kind: hotelstaystest.FaultCut, Delay: time.Second})
		require.Error(t, r.destinations())

		assert.Equal(t, codes.Error, refused.status)
		assert.Empty(t, refused.text)
		assert.Equal(t, "rate_limited", refused.attrs["error.type"])
		assert.Equal(t, int64(1), refused.attrs["hotelstays.code"])
		assert.Equal(t, int64(429), refused.attrs["http.response.status_code"])
		assert.Equal(t, 2.0, waited.attrs["hotelstays.rate_limit.wait.duration"])
		assert.Equal(t, 2*time.Second, waited.duration)
		assert.Equal(t, 0.0, waited.events[0].attrs["hotelstays.attempt.duration"])
		const ticket, destinations = "hotelstays.operation.name=Ticket", "hotelstays.operation.name=Destinations"
		got := r.collect()
		assert.Equal(t, map[string]point{
			ticket: {1, 0}, destinations: {2, 2},
			"error.type=server_error," + destinations: {1, 3},
			"error.type=rate_limited," + destinations: {1, 3},
			"error.type=no_answer," + destinations:    {1, 1},
		}, got["hotelstays.client.call.duration"])
		assert.Equal(t, map[string]point{ticket: {1, 0}, destinations: {5, 2}}, got["hotelstays.client.rate_limit.wait.duration"])
		assert.Equal(t, map[string]point{ticket: {1, 0}, destinations: {4, 0}}, got["hotelstays.client.decode.duration"], "one got no answer")
		assert.Equal(t, point{4, float64(size)}, got["hotelstays.client.response.size"][destinations])
		assert.Equal(t, map[string]point{
			ticket + ",http.response.status_code=200":       {sum: 1},
			destinations + ",http.response.status_code=200": {sum: 2},
			destinations + ",http.response.status_code=429": {sum: 1},
			destinations + ",http.response.status_code=503": {sum: 1},
			"error.type=no_answer," + destinations:          {sum: 1},
		}, got["hotelstays.client.attempts"])
		assert.NotContains(t, got, "hotelstays.client.unknown_outcomes")
	}, hotelstays.WithMaxAttempts(1))
}

// Dashboards depend on the instruments, their units and the attributes. The tables of the
// README name all of them.
func TestInstruments(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	withRig(t, func(t *testing.T, r *rig) {
		req := testkit.FindOffer(t, r.srv, r.client, 0).Request("ref-1")
		r.inject(hotelstays.OpBook, hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 400})
		_, err := r.client.Book(t.Context(), req)
		require.Error(t, err)
		r.inject(hotelstays.OpBook, hotelstaystest.Fault{Kind: hotelstaystest.FaultCut, Commit: true})
		_, err = r.client.Book(t.Context(), req)
		var unknown *hotelstays.OutcomeUnknownError
		require.ErrorAs(t, err, &unknown)
		spans := r.take()
		lost := spans[len(spans)-1]
		assert.Equal(t, unknown.RequestID, lost.attrs["hotelstays.request_id"])
		assert.Equal(t, "no_answer", lost.events[0].attrs["error.type"])

		r.inject(hotelstays.OpHotelList, hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: 2 * time.Second})
		for _, err := range r.client.HotelListStream(t.Context(), &hotelstays.HotelListRequest{DestinationID: r.srv.CityID(0),
			CheckIn: "2000-03-10", CheckOut: "2000-03-12", RoomOccupancies: testkit.TwoAdults()}).Hotels() {
			require.NoError(t, err)
		}
		assert.Equal(t, semconv.SchemaURL, r.spans.GetSpans()[0].InstrumentationScope.SchemaURL)
		stream := r.last()
		assert.Equal(t, 2.0, stream.attrs["hotelstays.first_hotel.duration"])

		got := r.collect()
		assert.Equal(t, map[string]point{"hotelstays.operation.name=Book": {sum: 1}}, got["hotelstays.client.unknown_outcomes"])
		names := map[string]bool{}
		for _, s := range append(spans, stream) {
			for _, e := range append(s.events, event{attrs: s.attrs}) {
				for key := range e.attrs {
					names[key] = true
				}
			}
		}
		for _, points := range got {
			for attrs := range points {
				for attr := range strings.SplitSeq(attrs, ",") {
					key, _, _ := strings.Cut(attr, "=")
					names[key] = true
				}
			}
		}
		units := map[string]string{}
		scope := r.export().ScopeMetrics[0]
		assert.Equal(t, semconv.SchemaURL, scope.Scope.SchemaURL)
		for _, m := range scope.Metrics {
			names[m.Name] = true
			units[m.Name] = m.Unit
			if data, ok := m.Data.(metricdata.Histogram[int64]); ok {
				bounds := data.DataPoints[0].Bounds
				assert.Equal(t, float64(64<<20), bounds[len(bounds)-1], "%s: the largest answer by default", m.Name)
			}
			assert.NotEmpty(t, m.Description, m.Name)
		}
		assert.Equal(t, map[string]string{
			"hotelstays.client.call.duration":            "s",
			"hotelstays.client.rate_limit.wait.duration": "s",
			"hotelstays.client.decode.duration":          "s",
			"hotelstays.client.first_hotel.duration":     "s",
			"hotelstays.client.response.size":            "By",
			"hotelstays.client.attempts":                 "{attempt}",
			"hotelstays.client.token.fetches":            "{fetch}",
			"hotelstays.client.unknown_outcomes":         "{outcome}",
		}, units)
		for name := range names {
			assert.Contains(t, string(page), "`"+name+"`")
		}
	})
}
