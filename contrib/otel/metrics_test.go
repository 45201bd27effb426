package hotelstaysotel_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

func TestMetricsOfAHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, hotelstays.WithMaxAttempts(1))
		size := 0 // of the whole answers
		slow := func(status int, retryAfter string) {
			r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultStatus, Delay: 3 * time.Second,
				Status: status, RetryAfter: retryAfter, Body: []byte(`{"code":1}`)})
			size += len(`{"code":1}`)
		}
		good := func() {
			resp, err := r.client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithRawData())
			require.NoError(t, err)
			size += len(`{"code":0,"msg":"success","data":` + string(resp.Meta.RawData) + `}`)
		}
		good() // fetches a token
		slow(503, "")
		require.Error(t, r.destinations())
		slow(429, "2")
		require.Error(t, r.destinations())
		good() // waits for two seconds
		r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultCut, Delay: time.Second})
		require.Error(t, r.destinations())

		got := r.collect()
		assert.Equal(t, map[string]point{
			"hotelstays.operation.name=Ticket":                               {1, 0},
			"hotelstays.operation.name=Destinations":                         {2, 2},
			"error.type=server_error,hotelstays.operation.name=Destinations": {1, 3},
			"error.type=rate_limited,hotelstays.operation.name=Destinations": {1, 3},
			"error.type=no_answer,hotelstays.operation.name=Destinations":    {1, 1},
		}, got["hotelstays.client.call.duration"])
		assert.Equal(t, map[string]point{
			"hotelstays.operation.name=Ticket":       {1, 0},
			"hotelstays.operation.name=Destinations": {5, 2},
		}, got["hotelstays.client.rate_limit.wait.duration"])
		assert.Equal(t, map[string]point{
			"hotelstays.operation.name=Ticket":       {1, 0},
			"hotelstays.operation.name=Destinations": {4, 0},
		}, got["hotelstays.client.decode.duration"], "one call got no answer")
		assert.Equal(t, point{4, float64(size)}, got["hotelstays.client.response.size"]["hotelstays.operation.name=Destinations"])
		assert.Equal(t, map[string]point{
			"hotelstays.operation.name=Ticket,http.response.status_code=200":       {sum: 1},
			"hotelstays.operation.name=Destinations,http.response.status_code=200": {sum: 2},
			"hotelstays.operation.name=Destinations,http.response.status_code=429": {sum: 1},
			"hotelstays.operation.name=Destinations,http.response.status_code=503": {sum: 1},
			"error.type=no_answer,hotelstays.operation.name=Destinations":          {sum: 1},
		}, got["hotelstays.client.attempts"])
		assert.Equal(t, map[string]point{"hotelstays.operation.name=Ticket": {sum: 1}}, got["hotelstays.client.token.fetches"])
		assert.NotContains(t, got, "hotelstays.client.unknown_outcomes")
	})
}

func TestMetricsOfTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.warm()
		r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 401})
		require.NoError(t, r.destinations())
		r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 401})
		r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpTicket, Kind: hotelstaystest.FaultStatus, Status: 403})
		time.Sleep(time.Minute) // a token that is refused at once is kept
		require.Error(t, r.destinations())
		assert.Equal(t, map[string]point{
			"hotelstays.operation.name=Ticket":                      {sum: 2},
			"error.type=forbidden,hotelstays.operation.name=Ticket": {sum: 1},
		}, r.collect()["hotelstays.client.token.fetches"])

		ctx := r.observer.CallStart(t.Context(), hotelstays.CallStart{Operation: hotelstays.OpOAuthToken, BaseURL: r.srv.URL})
		r.observer.CallEnd(ctx, hotelstays.CallInfo{Operation: hotelstays.OpOAuthToken, BaseURL: r.srv.URL})
		assert.Equal(t, point{sum: 1}, r.collect()["hotelstays.client.token.fetches"]["hotelstays.operation.name=OAuthToken"])
	})
}

// Whatever callers and the service send, the attributes have few values.
func TestSeriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, hotelstays.WithMaxAttempts(1))
		statuses := 1                                  // the ticket's
		for status := 202; status < 600; status += 3 { // not 401, which is answered with a new token
			r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: status,
				Code: 100000000 + status, Msg: "message " + strconv.Itoa(status), RetryAfter: "0"})
			_, err := r.client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{fmt.Sprint("ref-", status)}},
				hotelstays.WithTraceID(fmt.Sprint("trace-", status)), hotelstays.WithUserRef(fmt.Sprint("user-", status)))
			require.Error(t, err)
			statuses++
		}
		for name, points := range r.collect() {
			most := 16
			if name == "hotelstays.client.attempts" {
				most = statuses
			}
			assert.LessOrEqual(t, len(points), most, name)
			for attrs := range points {
				assert.NotContains(t, attrs, "ref-")
				assert.NotContains(t, attrs, "trace-")
				assert.NotContains(t, attrs, "user-")
			}
		}
	})
}

// Dashboards depend on the instruments and their units.
func TestInstruments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		req := r.bookRequest("ref-1")
		r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut})
		_, err := r.client.Book(t.Context(), req)
		require.Error(t, err)
		got := r.collect()
		assert.Equal(t, map[string]point{"hotelstays.operation.name=Book": {sum: 1}}, got["hotelstays.client.unknown_outcomes"])
		assert.Equal(t, uint64(1), got["hotelstays.client.call.duration"]["error.type=outcome_unknown,hotelstays.operation.name=Book"].count)
		r.streamAfter(time.Second)
		units := map[string]string{}
		scope := r.export().ScopeMetrics[0]
		assert.Equal(t, semconv.SchemaURL, scope.Scope.SchemaURL)
		assert.Equal(t, semconv.SchemaURL, r.spans.GetSpans()[0].InstrumentationScope.SchemaURL)
		for _, m := range scope.Metrics {
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
		assert.Len(t, slices.Collect(maps.Keys(r.collect())), len(units))
	})
}
