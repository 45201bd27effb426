package hotelstaysotel_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstaysotel"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// scene makes calls of every kind: calls that succeed, wait, are sent again, fail, or have an unknown outcome. Answers of
// Destinations have 29 bytes, and refusals 10 bytes. The request id is the number of the request.
func (r *rig) scene() {
	requests := 0
	options := []hotelstays.Option{hotelstays.WithTraceIDFrom(func(context.Context) string { return "trace" }),
		hotelstays.WithRequestID(func(context.Context) string { requests++; return fmt.Sprint(requests) })}
	observed := append(options, hotelstays.WithObserver(r.observer))
	r.connect(observed...)
	answer := func(kind hotelstaystest.FaultKind, delay time.Duration, status int, body, retryAfter string) {
		r.inject(hotelstays.OpDestinations, hotelstaystest.Fault{Kind: kind, Delay: delay,
			Status: status, Body: []byte(body), RetryAfter: retryAfter})
	}
	good := func() { answer(hotelstaystest.FaultGarbage, 0, 0, `{"code":0,"data":{"list":[]}}`, "") }
	refuse := func(delay time.Duration, status int, retryAfter string) {
		answer(hotelstaystest.FaultStatus, delay, status, `{"code":1}`, retryAfter)
	}
	good()
	require.NoError(r.t, r.destinations()) // also fetches a token
	refuse(time.Second, 401, "")
	answer(hotelstaystest.FaultCut, 2*time.Second, 0, "", "")
	require.Error(r.t, r.destinations(hotelstays.WithMaxAttempts(1)))
	refuse(0, 503, "")
	require.Error(r.t, r.destinations(hotelstays.WithMaxAttempts(1)))
	refuse(3*time.Second, 429, "2")
	require.Error(r.t, r.destinations(hotelstays.WithMaxAttempts(1)))
	good()
	require.NoError(r.t, r.destinations()) // waits two seconds, as the 429 asked
	r.srv.RevokeTokens()
	r.inject(hotelstays.OpTicket, hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 403, Body: []byte(`{"code":2}`)})
	r.connect(observed...)
	require.Error(r.t, r.destinations())

	req := r.request("ref-1")
	r.inject(hotelstays.OpBook, hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 400, Body: []byte(`{"code":3}`)})
	_, err := r.client.Book(r.t.Context(), req)
	require.Error(r.t, err)
	r.inject(hotelstays.OpHotelList, hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: 2 * time.Second})
	for _, err := range r.client.HotelListStream(r.t.Context(), &hotelstays.HotelListRequest{DestinationID: r.srv.CityID(0),
		CheckIn: testkit.CheckIn, CheckOut: testkit.CheckOut, RoomOccupancies: testkit.TwoAdults()}).Hotels() {
		require.NoError(r.t, err)
	}

	arrives := time.AfterFunc(20*time.Second, func() { _, _ = r.quiet().Book(r.t.Context(), req) }) // so that a poll finds an order
	defer arrives.Stop()
	r.inject(hotelstays.OpBook, hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Hour})
	outcome, err := r.client.BookAndRecover(r.t.Context(), req, hotelstays.WithTimeout(5*time.Second))
	require.NoError(r.t, err)
	assert.Equal(r.t, hotelstays.BookingFound, outcome.State)
	_, err = r.client.Book(r.t.Context(), &hotelstays.BookRequest{}) // invalid, so it does not count as a call
	require.ErrorAs(r.t, err, new(*hotelstays.ValidationError))
	r.observer.CallEnd(r.observer.CallStart(r.t.Context(), hotelstays.CallStart{Operation: hotelstays.OpOAuthToken, BaseURL: r.srv.URL}),
		hotelstays.CallInfo{Operation: hotelstays.OpOAuthToken, BaseURL: r.srv.URL})
}

const spansOfScene = `
Destinations/Ticket internal 0s attempts=1 decoded=0s of=Ticket request=1 size=many status=200 trace=trace waited=0s
  hotelstays.attempt at 0s attempt.duration=0s attempt.number=1 attempt.sent=true request=1 status=200
Destinations internal 0s attempts=1 decoded=0s of=Destinations request=2 size=29 status=200 trace=trace waited=0s
  hotelstays.attempt at 0s attempt.duration=0s attempt.number=1 attempt.sent=true request=2 status=200
Destinations/Ticket internal 0s attempts=1 decoded=0s of=Ticket request=4 size=many status=200 trace=trace waited=0s
  hotelstays.attempt at 1s attempt.duration=0s attempt.number=1 attempt.sent=true request=4 status=200
Destinations internal 3s attempts=2 error=no_answer of=Destinations request=5 trace=trace waited=0s
  hotelstays.attempt at 0s attempt.duration=1s attempt.number=1 attempt.sent=true request=3 status=401
  hotelstays.attempt at 1s attempt.duration=2s attempt.number=2 attempt.sent=true error=no_answer request=5
Destinations internal 0s attempts=1 code=1 decoded=0s error=server_error of=Destinations request=6 size=10 status=503 trace=trace waited=0s
  hotelstays.attempt at 3s attempt.duration=0s attempt.number=1 attempt.sent=true request=6 status=503
Destinations internal 3s attempts=1 code=1 decoded=0s error=rate_limited of=Destinations request=7 size=10 status=429 trace=trace waited=0s
  hotelstays.attempt at 3s attempt.duration=3s attempt.number=1 attempt.sent=true request=7 status=429
Destinations internal 2s attempts=1 decoded=0s of=Destinations request=8 size=29 status=200 trace=trace waited=2s
  hotelstays.attempt at 8s attempt.duration=0s attempt.number=1 attempt.sent=true request=8 status=200
Destinations/Ticket internal 0s attempts=1 code=2 decoded=0s error=forbidden of=Ticket request=9 size=10 status=403 trace=trace waited=0s
  hotelstays.attempt at 8s attempt.duration=0s attempt.number=1 attempt.sent=true request=9 status=403
Destinations internal 0s attempts=0 error=forbidden no_token=true of=Destinations trace=trace waited=0s
Book/Ticket internal 0s attempts=1 decoded=0s of=Ticket request=10 size=many status=200 trace=trace waited=0s
  hotelstays.attempt at 8s attempt.duration=0s attempt.number=1 attempt.sent=true request=10 status=200
Book internal 0s attempts=1 code=3 decoded=0s error=parameter_refused of=Book request=11 size=10 status=400 trace=trace waited=0s
  hotelstays.attempt at 8s attempt.duration=0s attempt.number=1 attempt.sent=true request=11 status=400
HotelList internal 2s attempts=1 decoded=0s first_hotel.duration=2s of=HotelList request=12 size=many status=200 trace=trace waited=0s
  hotelstays.attempt at 8s attempt.duration=2s attempt.number=1 attempt.sent=true request=12 status=200
BookAndRecover/Book internal 5s attempts=1 error=outcome_unknown of=Book request=13 trace=trace waited=0s
  hotelstays.attempt at 10s attempt.duration=5s attempt.number=1 attempt.sent=true error=timeout request=13
BookAndRecover/QueryOrders internal 0s attempts=1 decoded=0s of=QueryOrders request=14 size=47 status=200 trace=trace waited=0s
  hotelstays.attempt at 15s attempt.duration=0s attempt.number=1 attempt.sent=true request=14 status=200
BookAndRecover/QueryOrders internal 0s attempts=1 decoded=0s of=QueryOrders request=15 size=many status=200 trace=trace waited=0s
  hotelstays.attempt at 45s attempt.duration=0s attempt.number=1 attempt.sent=true request=15 status=200
BookAndRecover internal 35s helper=BookAndRecover
OAuthToken internal 0s attempts=0 of=OAuthToken trace= waited=0s
`

const recordsOfScene = `
hotelstays.client.attempts error=no_answer of=Destinations: 1{attempt}
hotelstays.client.attempts error=timeout of=Book: 1{attempt}
hotelstays.client.attempts of=Book status=400: 1{attempt}
hotelstays.client.attempts of=Destinations status=200: 2{attempt}
hotelstays.client.attempts of=Destinations status=401: 1{attempt}
hotelstays.client.attempts of=Destinations status=429: 1{attempt}
hotelstays.client.attempts of=Destinations status=503: 1{attempt}
hotelstays.client.attempts of=HotelList status=200: 1{attempt}
hotelstays.client.attempts of=QueryOrders status=200: 2{attempt}
hotelstays.client.attempts of=Ticket status=200: 3{attempt}
hotelstays.client.attempts of=Ticket status=403: 1{attempt}
hotelstays.client.call.duration error=forbidden of=Destinations: 1 in 0s
hotelstays.client.call.duration error=forbidden of=Ticket: 1 in 0s
hotelstays.client.call.duration error=no_answer of=Destinations: 1 in 3s
hotelstays.client.call.duration error=outcome_unknown of=Book: 1 in 5s
hotelstays.client.call.duration error=parameter_refused of=Book: 1 in 0s
hotelstays.client.call.duration error=rate_limited of=Destinations: 1 in 3s
hotelstays.client.call.duration error=server_error of=Destinations: 1 in 0s
hotelstays.client.call.duration of=Destinations: 2 in 2s
hotelstays.client.call.duration of=HotelList: 1 in 2s
hotelstays.client.call.duration of=OAuthToken: 1 in 0s
hotelstays.client.call.duration of=QueryOrders: 2 in 0s
hotelstays.client.call.duration of=Ticket: 3 in 0s
hotelstays.client.decode.duration of=Book: 1 in 0s
hotelstays.client.decode.duration of=Destinations: 4 in 0s
hotelstays.client.decode.duration of=HotelList: 1 in 0s
hotelstays.client.decode.duration of=QueryOrders: 2 in 0s
hotelstays.client.decode.duration of=Ticket: 4 in 0s
hotelstays.client.first_hotel.duration of=HotelList: 1 in 2s
hotelstays.client.rate_limit.wait.duration account= of=OAuthToken priority=default: 1 in 0s
hotelstays.client.rate_limit.wait.duration account=a of=Book priority=default: 2 in 0s
hotelstays.client.rate_limit.wait.duration account=a of=Destinations priority=default: 6 in 2s
hotelstays.client.rate_limit.wait.duration account=a of=HotelList priority=default: 1 in 0s
hotelstays.client.rate_limit.wait.duration account=a of=QueryOrders priority=interactive: 2 in 0s
hotelstays.client.rate_limit.wait.duration account=a of=Ticket priority=default: 4 in 0s
hotelstays.client.response.size of=Book: 1 in 10By
hotelstays.client.response.size of=Destinations: 4 in 78By
hotelstays.client.response.size of=HotelList: 1 in manyBy
hotelstays.client.response.size of=QueryOrders: 2 in manyBy
hotelstays.client.response.size of=Ticket: 4 in manyBy
hotelstays.client.token.fetches error=forbidden of=Ticket: 1{fetch}
hotelstays.client.token.fetches of=OAuthToken: 1{fetch}
hotelstays.client.token.fetches of=Ticket: 3{fetch}
hotelstays.client.unknown_outcomes of=Book: 1{outcome}
`

// The span of a token's fetch is a child of the span of the call that waits for the token. The spans of a helper's
// calls are children of the helper's span. A call that fails validation has no span and no metrics.
func TestEachCallAndHelperHasOneSpanAndOnlyCallsHaveMetrics(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	withRig(t, func(t *testing.T, r *rig) {
		start := time.Now()
		r.scene()
		spans := r.take()
		names := map[string]bool{}
		var lines []string
		for i, path := range paths(spans) {
			lines = append(lines, path+" "+r.ofServer(spans[i].Attributes))
			assert.Equal(t, semconv.SchemaURL, spans[i].InstrumentationScope.SchemaURL)
			status := sdktrace.Status{}
			if value(spans[i].Attributes, "error.type") != nil {
				status.Code = codes.Error
			}
			assert.Equal(t, status, spans[i].Status, path)
			keys := spans[i].Attributes
			for _, e := range spans[i].Events {
				lines = append(lines, fmt.Sprint("  ", e.Name, " at ", e.Time.Sub(start), " ", describe(e.Attributes)))
				keys = append(keys, e.Attributes...)
			}
			for _, a := range keys {
				names[string(a.Key)] = true
			}
		}
		assert.Equal(t, strings.TrimSpace(spansOfScene), strings.Join(lines, "\n"))
		records, all := r.export()
		assert.Equal(t, strings.TrimSpace(recordsOfScene), strings.Join(records, "\n"))
		assert.Equal(t, semconv.SchemaURL, all.Scope.SchemaURL)
		for _, m := range all.Metrics {
			names[m.Name] = true
			assert.NotEmpty(t, m.Description, m.Name)
			if data, ok := m.Data.(metricdata.Histogram[int64]); ok {
				bounds := data.DataPoints[0].Bounds
				assert.Equal(t, float64(64<<20), bounds[len(bounds)-1], "%s: the largest answer by default", m.Name)
			}
		}
		for name := range names {
			assert.Contains(t, string(page), "`"+name+"`")
		}
	})
}

func TestOptionClientSpansChangesTheSpanKindOfCallsAndNotOfHelpers(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		observer, err := hotelstaysotel.New(&hotelstaysotel.Options{TracerProvider: r.tracers, ClientSpans: true})
		require.NoError(t, err)
		r.connect(hotelstays.WithObserver(observer))
		_, err = r.client.AwaitVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "no-such-order"})
		require.Error(t, err)
		spans := r.take()
		assert.Equal(t, []string{"OrderVoucher/Ticket client 0s", "AwaitVoucher/OrderVoucher client 0s", "AwaitVoucher internal 0s"},
			paths(spans))
		assert.Equal(t, "error=not_found helper=AwaitVoucher", r.ofServer(spans[2].Attributes))
		assert.Equal(t, sdktrace.Status{Code: codes.Error}, spans[2].Status)
	})
}
