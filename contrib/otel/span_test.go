package hotelstaysotel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstaysotel "github.com/hotelstays/hotelstays-go/contrib/otel"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// Each attempt is an event at the time when it was sent. The span is described by the last one.
func TestSpanOfARetry(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		r.warm()
		r.inject(hotelstays.OpDestinations, hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 503, Delay: time.Second})
		r.inject(hotelstays.OpDestinations, hotelstaystest.Fault{Kind: hotelstaystest.FaultCut, Delay: 2 * time.Second})
		start := time.Now()
		resp, err := r.client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithTraceID("trace-1"),
			hotelstays.WithRawData())
		require.NoError(t, err)
		want := span{name: "hotelstays.Destinations", kind: trace.SpanKindInternal, duration: time.Since(start),
			attrs: with("Destinations", map[string]any{
				"hotelstays.attempts":                 int64(3),
				"hotelstays.request_id":               resp.Meta.RequestID,
				"hotelstays.trace_id":                 "trace-1",
				"hotelstays.rate_limit.wait.duration": 0.0,
				"hotelstays.decode.duration":          0.0,
				"hotelstays.response.size":            int64(len(`{"code":0,"msg":"success","data":` + string(resp.Meta.RawData) + `}`)),
				"http.response.status_code":           int64(200),
			})}
		requests := r.srv.Ledger().Requests(hotelstays.OpDestinations)[1:]
		require.Len(t, requests, 3)
		for i, attrs := range []map[string]any{
			{"hotelstays.attempt.duration": 1.0, "http.response.status_code": int64(503)},
			{"hotelstays.attempt.duration": 2.0, "error.type": "no_answer"},
			{"hotelstays.attempt.duration": 0.0, "http.response.status_code": int64(200)},
		} {
			attrs["hotelstays.attempt.number"] = int64(i + 1)
			attrs["hotelstays.attempt.sent"] = true
			attrs["hotelstays.request_id"] = requests[i].RequestID
			want.events = append(want.events, event{"hotelstays.attempt", requests[i].Arrived, attrs})
		}
		assert.Equal(t, []span{want}, r.take())
	})
}

// A call that fails validation has no span and no metrics.
func TestInvalidCallHasNoSpanAndNoMetrics(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		_, err := r.client.Book(t.Context(), &hotelstays.BookRequest{})
		require.ErrorAs(t, err, new(*hotelstays.ValidationError))
		assert.Empty(t, r.take())
		assert.Empty(t, r.collect())
	})
}

// tree returns the spans as parent/name, in the order of their ends.
func tree(spans []span) (paths []string) {
	for _, s := range spans {
		path := strings.TrimPrefix(s.parent+"/"+s.name, "/")
		paths = append(paths, strings.ReplaceAll(path, "hotelstays.", ""))
	}
	return paths
}

// A helper's span is around those of its calls, and metrics count the calls alone.
func TestSpansOfHelpers(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		req := testkit.FindOffer(t, r.srv, r.client, 0).Request("ref-1")
		r.take()
		client := r.client
		r.connect()
		arrives := time.AfterFunc(20*time.Second, func() { _, _ = r.client.Book(t.Context(), req) }) // as if the lost Book were slow
		defer arrives.Stop()
		r.inject(hotelstays.OpBook, hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Hour})

		outcome, err := client.BookAndRecover(t.Context(), req, hotelstays.WithTimeout(5*time.Second))

		require.NoError(t, err)
		assert.Equal(t, hotelstays.BookingFound, outcome.State)
		spans := r.take()
		require.Equal(t, []string{"BookAndRecover/Book", "BookAndRecover/QueryOrders", "BookAndRecover/QueryOrders", "BookAndRecover"},
			tree(spans))
		assert.Equal(t, "outcome_unknown", spans[0].attrs["error.type"])
		helper := spans[3]
		assert.Equal(t, 35*time.Second, helper.duration, "the time-out of Book, and the first pause")
		assert.Equal(t, codes.Unset, helper.status)
		assert.Equal(t, trace.SpanKindInternal, helper.kind)
		assert.Equal(t, "BookAndRecover", helper.attrs["hotelstays.helper.name"])
		assert.NotContains(t, helper.attrs, "hotelstays.operation.name")
		for attrs := range r.collect()["hotelstays.client.call.duration"] {
			assert.NotContains(t, attrs, "BookAndRecover")
		}

		_, err = client.AwaitVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "no-such-order"})
		require.ErrorIs(t, err, hotelstays.ErrNotFound)
		spans = r.take()
		require.Equal(t, []string{"AwaitVoucher/OrderVoucher", "AwaitVoucher"}, tree(spans))
		assert.Equal(t, codes.Error, spans[1].status)
		assert.Equal(t, "not_found", spans[1].attrs["error.type"])
	})
}

// Client spans are those of calls, where they are asked for.
func TestClientSpans(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		observer, err := hotelstaysotel.New(hotelstaysotel.WithTracerProvider(r.tracers), hotelstaysotel.WithClientSpans())
		require.NoError(t, err)
		r.connect(hotelstays.WithObserver(observer))
		_, err = r.client.AwaitOrder(t.Context(), "ref-1", hotelstays.WithTimeout(time.Second))
		require.Error(t, err)
		spans := r.take()
		assert.Equal(t, []string{"QueryOrders/Ticket", "AwaitOrder/QueryOrders"}, tree(spans[:2]))
		for i, s := range spans {
			assert.Equal(t, i == len(spans)-1, s.kind == trace.SpanKindInternal, s.name)
			assert.Equal(t, i < len(spans)-1, s.kind == trace.SpanKindClient, s.name)
		}
	})
}

// The call that fetches a token is a child of the call that waits for it, also after a 401. If
// it is refused, the waiting call has its kind, and no token.
func TestSpansAndMetricsOfTokens(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		refuse := func(op hotelstays.Operation, status int) {
			r.inject(op, hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: status})
		}
		require.NoError(t, r.destinations())
		assert.Equal(t, []string{"Destinations/Ticket", "Destinations"}, tree(r.take()))

		refuse(hotelstays.OpDestinations, 401)
		require.NoError(t, r.destinations())
		spans := r.take()
		require.Equal(t, []string{"Destinations/Ticket", "Destinations"}, tree(spans))
		require.Len(t, spans[1].events, 2)
		assert.Equal(t, int64(401), spans[1].events[0].attrs["http.response.status_code"])
		assert.Equal(t, codes.Unset, spans[1].status)

		r.srv.RevokeTokens()
		refuse(hotelstays.OpTicket, 403)
		r.connect(hotelstays.WithObserver(r.observer))
		require.Error(t, r.destinations())
		spans = r.take()
		require.Len(t, spans, 2)
		assert.Equal(t, "forbidden", spans[0].attrs["error.type"])
		assert.Equal(t, with("Destinations", map[string]any{
			"hotelstays.attempts":                 int64(0),
			"hotelstays.trace_id":                 "trace-1",
			"hotelstays.rate_limit.wait.duration": 0.0,
			"hotelstays.no_token":                 true,
			"error.type":                          "forbidden",
		}), spans[1].attrs)
		assert.Empty(t, spans[1].events, "nothing was sent")

		r.report(hotelstays.CallInfo{Operation: hotelstays.OpOAuthToken})
		assert.Equal(t, map[string]point{
			"hotelstays.operation.name=Ticket":                      {sum: 2},
			"error.type=forbidden,hotelstays.operation.name=Ticket": {sum: 1},
			"hotelstays.operation.name=OAuthToken":                  {sum: 1},
		}, r.collect()["hotelstays.client.token.fetches"])
	})
}
