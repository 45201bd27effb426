package hotelstaysotel_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstaysotel "github.com/hotelstays/hotelstays-go/contrib/otel"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// destinations makes a call with a known trace id.
func (r *rig) destinations(opts ...hotelstays.CallOption) error {
	_, err := r.client.Destinations(r.t.Context(), &hotelstays.DestinationsRequest{}, append(opts, hotelstays.WithTraceID("trace-1"))...)
	return err
}

// warm fetches the token and drops the exports of that.
func (r *rig) warm() {
	require.NoError(r.t, r.destinations())
	r.take()
}

func TestSpanOfASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.warm()
		r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultDelay,
			Delay: 1500 * time.Millisecond})
		start := time.Now()

		resp, err := r.client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithTraceID("trace-1"),
			hotelstays.WithRawData())

		require.NoError(t, err)
		assert.Equal(t, []span{{
			name: "hotelstays.Destinations", kind: trace.SpanKindInternal, duration: 1500 * time.Millisecond,
			attrs: r.want("Destinations", map[string]any{
				"hotelstays.attempts":                 int64(1),
				"hotelstays.request_id":               resp.Meta.RequestID,
				"hotelstays.trace_id":                 "trace-1",
				"hotelstays.rate_limit.wait.duration": 0.0,
				"hotelstays.decode.duration":          0.0,
				"hotelstays.response.size":            int64(len(`{"code":0,"msg":"success","data":` + string(resp.Meta.RawData) + `}`)),
				"http.response.status_code":           int64(200),
			}),
			events: []event{{"hotelstays.attempt", start, map[string]any{
				"hotelstays.attempt.number":   int64(1),
				"hotelstays.attempt.duration": 1.5,
				"hotelstays.attempt.sent":     true,
				"hotelstays.request_id":       resp.Meta.RequestID,
				"http.response.status_code":   int64(200),
			}}},
		}}, r.take())
	})
}

// streamAfter streams a search that is answered after a time.
func (r *rig) streamAfter(delay time.Duration) {
	r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelList, Kind: hotelstaystest.FaultDelay, Delay: delay})
	for _, err := range r.client.HotelListStream(r.t.Context(), &hotelstays.HotelListRequest{DestinationID: r.srv.CityID(0),
		CheckIn: "2000-03-10", CheckOut: "2000-03-12", RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}}).Hotels() {
		require.NoError(r.t, err)
	}
}

func TestSpanOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.warm()
		r.streamAfter(2 * time.Second)
		assert.Equal(t, 2.0, r.last().attrs["hotelstays.first_hotel.duration"])
	})
}

// Each attempt is an event at the time when it was sent.
func TestSpanOfARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.warm()
		r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 503,
			Delay: time.Second})
		r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultCut, Delay: 2 * time.Second})

		require.NoError(t, r.destinations())

		got := r.last()
		assert.Equal(t, codes.Unset, got.status)
		assert.NotContains(t, got.attrs, "error.type")
		assert.Equal(t, int64(3), got.attrs["hotelstays.attempts"])
		assert.Equal(t, int64(200), got.attrs["http.response.status_code"])
		requests := r.srv.Ledger().Requests(hotelstays.OpDestinations)[1:]
		require.Len(t, got.events, 3)
		require.Len(t, requests, 3)
		for i, want := range []map[string]any{
			{"hotelstays.attempt.duration": 1.0, "http.response.status_code": int64(503)},
			{"hotelstays.attempt.duration": 2.0, "error.type": "no_answer"},
			{"hotelstays.attempt.duration": 0.0, "http.response.status_code": int64(200)},
		} {
			want["hotelstays.attempt.number"] = int64(i + 1)
			want["hotelstays.attempt.sent"] = true
			want["hotelstays.request_id"] = requests[i].RequestID
			assert.Equal(t, event{"hotelstays.attempt", requests[i].Arrived, want}, got.events[i])
		}
		const op = "hotelstays.operation.name=Destinations"
		assert.Equal(t, map[string]point{
			"error.type=no_answer," + op:                                     {sum: 1},
			op + ",http.response.status_code=503":                            {sum: 1},
			op + ",http.response.status_code=200":                            {sum: 2},
			"hotelstays.operation.name=Ticket,http.response.status_code=200": {sum: 1},
		}, r.collect()["hotelstays.client.attempts"], "with the call that fetched the token")
	})
}

// A 429 is the error of one call, and the rate limit wait of another.
func TestSpansAroundA429(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, hotelstays.WithMaxAttempts(1))
		r.warm()
		r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 429,
			RetryAfter: "2"})

		assert.ErrorIs(t, r.destinations(), hotelstays.ErrRateLimited)
		require.NoError(t, r.destinations())

		spans := r.take()
		require.Len(t, spans, 2)
		refused, waited := spans[0], spans[1]
		assert.Equal(t, codes.Error, refused.status)
		assert.Empty(t, refused.text)
		assert.Equal(t, "rate_limited", refused.attrs["error.type"])
		assert.Equal(t, int64(types.CodeRateLimited), refused.attrs["hotelstays.code"])
		assert.Equal(t, int64(429), refused.attrs["http.response.status_code"])
		assert.Equal(t, 2.0, waited.attrs["hotelstays.rate_limit.wait.duration"])
		assert.Equal(t, 2*time.Second, waited.duration)
		assert.Equal(t, 0.0, waited.events[0].attrs["hotelstays.attempt.duration"])
	})
}

// A call that fails validation has no span and no metrics.
func TestNothingOfAnInvalidCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		_, err := r.client.Book(t.Context(), &hotelstays.BookRequest{})
		var invalid *hotelstays.ValidationError
		require.ErrorAs(t, err, &invalid)
		assert.Empty(t, r.take())
		assert.Empty(t, r.collect())
	})
}

func TestSpanOfAnUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		req := r.bookRequest("ref-1")
		r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})

		_, err := r.client.Book(t.Context(), req, hotelstays.WithTraceID("trace-1"))

		var unknown *hotelstays.OutcomeUnknownError
		require.ErrorAs(t, err, &unknown)
		got := r.last()
		assert.Equal(t, "hotelstays.Book", got.name)
		assert.Equal(t, codes.Error, got.status)
		assert.Equal(t, r.want("Book", map[string]any{
			"hotelstays.attempts":                 int64(1),
			"hotelstays.request_id":               unknown.RequestID,
			"hotelstays.trace_id":                 "trace-1",
			"hotelstays.rate_limit.wait.duration": 0.0,
			"error.type":                          "outcome_unknown",
		}), got.attrs, "nothing of an answer: there was none")
		require.Len(t, got.events, 1)
		assert.Equal(t, "no_answer", got.events[0].attrs["error.type"])
		assert.Equal(t, true, got.events[0].attrs["hotelstays.attempt.sent"])
	})
}

// tree returns the spans as parent/name, in the order of their ends.
func tree(spans []span) (paths []string) {
	for _, s := range spans {
		paths = append(paths, strings.TrimPrefix(s.parent+"/"+s.name, "/"))
	}
	return paths
}

// A helper's span is around those of its calls, and metrics count the calls alone.
func TestSpansOfARecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		req := r.bookRequest("ref-1")
		r.take()
		r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: time.Hour})
		unobserved := r.newClient(ticketOf(r.srv))
		arrives := time.AfterFunc(20*time.Second, func() { _, _ = unobserved.Book(t.Context(), req) }) // as if the lost Book were slow
		defer arrives.Stop()

		outcome, err := r.client.BookAndRecover(t.Context(), req, hotelstays.WithTimeout(5*time.Second))

		require.NoError(t, err)
		assert.Equal(t, hotelstays.BookingFound, outcome.State)
		spans := r.take()
		require.Equal(t, []string{"hotelstays.BookAndRecover/hotelstays.Book", "hotelstays.BookAndRecover/hotelstays.QueryOrders",
			"hotelstays.BookAndRecover/hotelstays.QueryOrders", "hotelstays.BookAndRecover"}, tree(spans))
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

		_, err = r.client.AwaitVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "no-such-order"})
		require.ErrorIs(t, err, hotelstays.ErrNotFound)
		spans = r.take()
		require.Equal(t, []string{"hotelstays.AwaitVoucher/hotelstays.OrderVoucher", "hotelstays.AwaitVoucher"}, tree(spans))
		assert.Equal(t, codes.Error, spans[1].status)
		assert.Equal(t, "not_found", spans[1].attrs["error.type"])
	})
}

// Client spans are those of calls, where they are asked for.
func TestClientSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		observer, err := hotelstaysotel.New(hotelstaysotel.WithTracerProvider(r.tracers), hotelstaysotel.WithClientSpans())
		require.NoError(t, err)
		r.client = r.newClient(ticketOf(r.srv), hotelstays.WithObserver(observer))
		_, err = r.client.AwaitOrder(t.Context(), "ref-1", hotelstays.WithTimeout(time.Second))
		require.Error(t, err)
		spans := r.take()
		assert.Equal(t, []string{"hotelstays.QueryOrders/hotelstays.Ticket", "hotelstays.AwaitOrder/hotelstays.QueryOrders"}, tree(spans[:2]))
		for i, s := range spans {
			assert.Equal(t, i == len(spans)-1, s.kind == trace.SpanKindInternal, s.name)
			assert.Equal(t, i < len(spans)-1, s.kind == trace.SpanKindClient, s.name)
		}
	})
}

// The call that fetches a token is a child of the call that waits for it, also after a 401.
func TestSpansOfTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		require.NoError(t, r.destinations())
		spans := r.take()
		require.Len(t, spans, 2)
		assert.Equal(t, []string{"hotelstays.Ticket", "hotelstays.Destinations"}, []string{spans[0].name, spans[0].parent})
		assert.Equal(t, []string{"hotelstays.Destinations", ""}, []string{spans[1].name, spans[1].parent})

		r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 401})
		require.NoError(t, r.destinations())
		spans = r.take()
		require.Len(t, spans, 2)
		assert.Equal(t, []string{"hotelstays.Ticket", "hotelstays.Destinations"}, []string{spans[0].name, spans[0].parent})
		require.Len(t, spans[1].events, 2)
		assert.Equal(t, int64(401), spans[1].events[0].attrs["http.response.status_code"])
		assert.Equal(t, int64(200), spans[1].events[1].attrs["http.response.status_code"])
		assert.Equal(t, codes.Unset, spans[1].status)
	})
}

// If the credential is refused, the call has the kind of that, and says that it had no token.
func TestSpansOfARefusedCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpTicket, Kind: hotelstaystest.FaultStatus, Status: 401})

		assert.ErrorIs(t, r.destinations(), hotelstays.ErrUnauthorized)

		spans := r.take()
		require.Len(t, spans, 2)
		assert.Equal(t, "unauthorized", spans[0].attrs["error.type"])
		assert.Equal(t, int64(types.CodeUnauthorized), spans[0].attrs["hotelstays.code"])
		assert.Equal(t, r.want("Destinations", map[string]any{
			"hotelstays.attempts":                 int64(0),
			"hotelstays.trace_id":                 "trace-1",
			"hotelstays.rate_limit.wait.duration": 0.0,
			"hotelstays.no_token":                 true,
			"error.type":                          "unauthorized",
		}), spans[1].attrs)
		assert.Empty(t, spans[1].events, "nothing was sent")
	})
}

func TestSpanOfACallThatEnds(t *testing.T) {
	for kind, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"timeout": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		},
		"canceled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		},
	} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.warm()
				r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultDelay, Delay: time.Hour})
				ctx, cancel := end(t.Context())
				defer cancel()

				_, err := r.client.Destinations(ctx, &hotelstays.DestinationsRequest{})

				require.Error(t, err)
				got := r.last()
				assert.Equal(t, codes.Error, got.status)
				assert.Equal(t, time.Second, got.duration)
				assert.Equal(t, kind, got.attrs["error.type"])
				require.Len(t, got.events, 1)
				assert.Equal(t, kind, got.events[0].attrs["error.type"])
			})
		})
	}
}

// noLimiter is a RateLimiter whose server fails after some slots.
type noLimiter struct{ slots atomic.Int32 }

func (l *noLimiter) Acquire(context.Context, hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	if l.slots.Add(-1) >= 0 {
		return nil, nil
	}
	return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
}

func (l *noLimiter) Pause(hotelstays.RateLimitKey, time.Time) {}

// A limiter that fails is not an error of the connection to the service.
func TestSpanWithoutASlot(t *testing.T) {
	for slots, want := range map[int32]string{0: "nothing was sent", 1: "an attempt was answered before"} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := &noLimiter{}
				limiter.slots.Store(slots)
				r := newRig(t)
				r.client = r.newClient(hotelstays.TokenCredential{Token: types.NewSecret("token")}, hotelstays.WithRateLimiter(limiter),
					hotelstays.WithObserver(r.observer))
				r.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 503})
				require.Error(t, r.destinations())
				got := r.last()
				assert.Equal(t, int64(slots), got.attrs["hotelstays.attempts"])
				assert.Equal(t, "no_slot", got.attrs["error.type"])
			})
		})
	}
}

func TestSpanOfAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, hotelstays.WithHTTPClient(&http.Client{Transport: roundTripper(func(*http.Request) (*http.Response,
			error) {
			panic("boom")
		})}))
		assert.Panics(t, func() {
			_, _ = r.client.Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret("secret")})
		})
		assert.Equal(t, "_OTHER", r.last().attrs["error.type"])
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An answer above the size limit is unreadable, and not missing.
func TestSpanOfTooLargeAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.client = r.newClient(hotelstays.TokenCredential{Token: types.NewSecret("token")}, hotelstays.WithMaxResponseBytes(8),
			hotelstays.WithObserver(r.observer))
		var unreadable *hotelstays.DecodeError
		require.ErrorAs(t, r.destinations(), &unreadable)
		got := r.last()
		assert.Equal(t, "unreadable_answer", got.attrs["error.type"])
		assert.Equal(t, "unreadable_answer", got.events[0].attrs["error.type"])
		assert.NotZero(t, got.events[0].attrs["http.response.status_code"])
	})
}
