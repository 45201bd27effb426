// What an Observer and a logger see of a call: one start and one end for each call, one
// record for each attempt, and a warning where one is due.

package hotelstays_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// callLog is an Observer that keeps what it receives. It puts the number of each
// call into its ctx, and the trail of all calls around it.
type callLog struct {
	mu     sync.Mutex
	starts []hotelstays.CallStart
	ends   []endedCall
}

type endedCall struct {
	hotelstays.CallInfo
	trail string // what CallStart put into the ctx
}

type trailKey struct{}

func trailOf(ctx context.Context) string {
	trail, _ := ctx.Value(trailKey{}).(string)
	return trail
}

func (l *callLog) observer() hotelstays.Observer {
	return hotelstays.Observer{CallStart: l.start, CallEnd: l.end}
}

func (l *callLog) start(ctx context.Context, start hotelstays.CallStart) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starts = append(l.starts, start)
	return context.WithValue(ctx, trailKey{}, trailOf(ctx)+"/"+string(start.Operation))
}

func (l *callLog) end(ctx context.Context, info hotelstays.CallInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends = append(l.ends, endedCall{info, trailOf(ctx)})
}

// trailTransport keeps the trail of every request that passes.
type trailTransport struct {
	http.RoundTripper
	trails []string
}

func (t *trailTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.trails = append(t.trails, trailOf(r.Context()))
	return t.RoundTripper.RoundTrip(r)
}

// The ctx of CallStart goes on to the round tripper, to the call that fetches
// the token, and to CallEnd: spans nest.
func TestObserverSeesEveryCallOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		log, transport := &callLog{}, &trailTransport{RoundTripper: srv.Client().Transport}
		client := newClient(t, srv, ticketOf(srv), hotelstays.WithObserver(log.observer()),
			hotelstays.WithHTTPClient(&http.Client{Transport: transport}))
		ctx := context.WithValue(t.Context(), trailKey{}, "caller")

		resp, err := client.Destinations(ctx, &hotelstays.DestinationsRequest{})
		require.NoError(t, err)
		assert.Equal(t, []hotelstays.CallStart{{Operation: hotelstays.OpDestinations, BaseURL: srv.URL},
			{Operation: hotelstays.OpTicket, BaseURL: srv.URL}}, log.starts)
		require.Len(t, log.ends, 2)
		assert.Equal(t, hotelstays.OpTicket, log.ends[0].Operation)
		assert.Equal(t, "caller/Destinations/Ticket", log.ends[0].trail)
		assert.Equal(t, hotelstays.OpDestinations, log.ends[1].Operation)
		assert.Equal(t, resp.Meta.RequestID, log.ends[1].RequestID)
		assert.Equal(t, "caller/Destinations", log.ends[1].trail)

		for op, call := range operationCalls {
			log.starts, log.ends = nil, nil
			err := call(ctx, client)
			assert.Equal(t, []hotelstays.CallStart{{Operation: op, BaseURL: srv.URL}}, log.starts)
			if assert.Len(t, log.ends, 1, op) {
				assert.Equal(t, op, log.ends[0].Operation)
				assert.Equal(t, srv.URL, log.ends[0].BaseURL)
				assert.Equal(t, err, log.ends[0].Err, op)
				assert.Equal(t, "caller/"+string(op), log.ends[0].trail)
				assert.Equal(t, log.ends[0].trail, transport.trails[len(transport.trails)-1])
			}
		}
	})
}

func TestObserverInfo(t *testing.T) {
	for _, tc := range []struct {
		name     string
		fault    hotelstaystest.Fault
		timeout  time.Duration
		attempts int
		status   int
		least    time.Duration // how long it takes
		most     time.Duration
	}{
		{"at once", hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay}, time.Minute, 1, 200, 0, 0},
		{"slow", hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Second}, time.Minute, 1, 200, 3 * time.Second,
			3 * time.Second},
		{"slow body", hotelstaystest.Fault{Kind: hotelstaystest.FaultSlowBody, Delay: 3 * time.Second}, time.Minute, 1, 200, 2 * time.Second,
			3 * time.Second},
		{"down for two attempts", hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 503, Times: 2, Delay: time.Second}, time.Minute,
			3, 200, 2 * time.Second, 3 * time.Second},
		{"refused", hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 403}, time.Minute, 1, 403, 0, 0},
		{"not readable", hotelstaystest.Fault{Kind: hotelstaystest.FaultGarbage}, time.Minute, 1, 200, 0, 0},
		{"no answer in time", hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Hour}, time.Minute, 1, 0, time.Minute,
			time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, _ := newSandbox(t)
				log := &callLog{}
				client := newClient(t, srv, ticketOf(srv), hotelstays.WithObserver(log.observer()), hotelstays.WithTimeout(tc.timeout))
				_, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{}) // fetches the token
				require.NoError(t, err)
				tc.fault.Operation = hotelstays.OpDestinations
				srv.Inject(tc.fault)

				resp, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithTraceID("trace-1"),
					hotelstays.WithRawData())

				info := log.ends[len(log.ends)-1]
				assert.Equal(t, hotelstays.OpDestinations, info.Operation)
				assert.Equal(t, err, info.Err)
				assert.Len(t, info.Attempts, tc.attempts)
				assert.Equal(t, tc.status, info.HTTPStatus)
				assert.Equal(t, "trace-1", info.TraceID)
				assert.GreaterOrEqual(t, info.Duration, tc.least)
				assert.LessOrEqual(t, info.Duration, tc.most)
				requests := srv.Ledger().Requests(hotelstays.OpDestinations)
				require.Len(t, requests, tc.attempts)
				assert.Equal(t, requests[tc.attempts-1].RequestID, info.RequestID)
				if err == nil {
					assert.Equal(t, len(`{"code":0,"msg":"success","data":`+string(resp.Meta.RawData)+`}`), info.Bytes)
				} else if tc.status == 0 {
					assert.Zero(t, info.Bytes)
				} else {
					assert.NotZero(t, info.Bytes)
				}
			})
		})
	}
}

// What became of each sending, in order, up to the answer that was read.
func TestObserverSeesEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errBroken := errors.New("broken")
		var sent []hotelstays.AttemptInfo
		answers := []transportFunc{
			func(*http.Request) (*http.Response, error) { return reply(503, "busy"), nil },
			func(*http.Request) (*http.Response, error) { return nil, &net.OpError{Op: "dial", Err: errBroken} },
			func(r *http.Request) (*http.Response, error) {
				return nil, fmt.Errorf("quoted %s: %w", r.Header.Get("Authorization"), errBroken)
			},
			func(*http.Request) (*http.Response, error) {
				cut := reply(200, "")
				cut.Body = io.NopCloser(iotest.ErrReader(errBroken))
				return cut, nil
			},
			func(*http.Request) (*http.Response, error) {
				return reply(200, `{"code":0,"data":{"list":[],"basic":{"sessionId":"s"}}}`), nil
			},
		}
		log := &callLog{}
		client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
			n := len(sent)
			sent = append(sent, hotelstays.AttemptInfo{Start: time.Now(), RequestID: r.Header.Get("Request-Id")})
			time.Sleep(time.Duration(n+1) * time.Second)
			return answers[n](r)
		}), hotelstays.WithObserver(log.observer()), hotelstays.WithMaxAttempts(len(answers)))

		_, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})

		require.NoError(t, err)
		attempts := log.ends[0].Attempts
		require.Len(t, attempts, len(answers))
		for i, a := range attempts {
			assert.Equal(t, sent[i].Start, a.Start)
			assert.Equal(t, time.Duration(i+1)*time.Second, a.Duration)
			assert.Equal(t, sent[i].RequestID, a.RequestID)
			assert.Equal(t, []int{503, 0, 0, 0, 200}[i], a.HTTPStatus)
			assert.Equal(t, i != 1, a.Sent, "a dial sends nothing")
			assert.Equal(t, i == 1 || i == 3, errors.Is(a.Err, errBroken), "the kind of an error is kept")
		}
		assert.EqualError(t, attempts[2].Err, "quoted Bearer [redacted]: broken", "unless it quotes the token")
		assert.NoError(t, attempts[0].Err)
		assert.NoError(t, attempts[4].Err)
		assert.Equal(t, attempts[4].RequestID, log.ends[0].RequestID)
	})
}

// Waiting for a slot counts as that, also where it was in vain and nothing was sent.
func TestObserverSeesTheRateLimitWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &callLog{}
		client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) { return reply(503, ""), nil }),
			hotelstays.WithObserver(log.observer()))
		const limit, window = 10, 1010 * time.Millisecond
		for range limit + 1 {
			assert.Error(t, operationCalls[hotelstays.OpCheckAvail](t.Context(), client))
		}
		for _, end := range log.ends[:limit] {
			assert.Zero(t, end.RateLimitWait)
		}
		assert.Equal(t, window, log.ends[limit].RateLimitWait)
		assert.Equal(t, window, log.ends[limit].Duration)
		assert.Zero(t, log.ends[limit].Attempts[0].Duration, "the wait is no part of the attempt")

		for range limit - 1 {
			assert.Error(t, operationCalls[hotelstays.OpCheckAvail](t.Context(), client))
		}
		err := operationCalls[hotelstays.OpCheckAvail](t.Context(), client, hotelstays.WithTimeout(time.Second/2))
		last := log.ends[len(log.ends)-1]
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, err, last.Err)
		assert.Equal(t, time.Second/2, last.RateLimitWait)
		assert.Empty(t, last.Attempts)
		assert.Empty(t, last.RequestID)
		assert.NotEmpty(t, last.TraceID)
	})
}

// DecodeTime is what follows the answer, here a logger that takes its time.
func TestObserverSeesTheReadingOfAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, log := slowLog(slog.LevelWarn), &callLog{}
		for range 2 {
			answered := len(log.ends) == 0
			client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
				time.Sleep(time.Second)
				if answered {
					return reply(504, ""), nil
				}
				return nil, errors.New("broken")
			}), hotelstays.WithObserver(log.observer()), hotelstays.WithLogger(slow))
			assert.Error(t, operationCalls[hotelstays.OpBook](t.Context(), client)) // an unknown outcome, which is logged
		}
		assert.Equal(t, 3*time.Second, log.ends[0].DecodeTime)
		assert.Equal(t, 4*time.Second, log.ends[0].Duration)
		assert.Zero(t, log.ends[1].DecodeTime, "nothing was there to be read")
		assert.Equal(t, 4*time.Second, log.ends[1].Duration)
	})
}

// An attempt lasts until its answer is there, whatever is written about it then.
func TestObserverDoesNotCountTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &callLog{}
		client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return reply(504, ""), nil
		}), hotelstays.WithObserver(log.observer()), hotelstays.WithLogger(slowLog(slog.LevelDebug)))
		assert.Error(t, operationCalls[hotelstays.OpDestinations](t.Context(), client))
		assert.Equal(t, time.Second, log.ends[0].Attempts[0].Duration)
	})
}

// slowLog takes three seconds for a record.
func slowLog(level slog.Level) *slog.Logger {
	slow := writerFunc(func(p []byte) (int, error) { time.Sleep(3 * time.Second); return len(p), nil })
	return slog.New(slog.NewTextHandler(slow, &slog.HandlerOptions{Level: level}))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// The ids are those that the service answered with, as in ResponseMeta: its logs
// hold them.
func TestObserverSeesTheIDsToQuote(t *testing.T) {
	log := &callLog{}
	client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
		resp := reply(200, `{"code":0,"data":{"list":[],"basic":{"sessionId":"s"}}}`)
		resp.Header = http.Header{"Request-Id": {"request-s"}, "Trace-Id": {"trace-s"}}
		return resp, nil
	}), hotelstays.WithObserver(log.observer()))
	resp, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithTraceID("trace-c"))
	require.NoError(t, err)
	assert.Equal(t, []string{"request-s", "trace-s"}, []string{resp.Meta.RequestID, resp.Meta.TraceID})
	assert.Equal(t, []string{"request-s", "trace-s"}, []string{log.ends[0].RequestID, log.ends[0].TraceID})
	assert.NotEqual(t, "request-s", log.ends[0].Attempts[0].RequestID, "an attempt has the one that it sent")
}

// A call that fails validation is none. Neither is a page that an iterator does
// not ask for.
func TestObserverSeesNoInvalidCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		log := &callLog{}
		client := newClient(t, srv, ticketOf(srv), hotelstays.WithObserver(log.observer()),
			hotelstays.WithObserver(hotelstays.Observer{HelperStart: log.start, HelperEnd: log.end}))
		_, invalid := client.HotelList(t.Context(), &hotelstays.HotelListRequest{})
		_, wrongOption := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithCurrency("EUR"))
		_, nothing := client.Book(t.Context(), nil)
		_, booking := client.BookAndRecover(t.Context(), &hotelstays.BookRequest{})
		_, order := client.AwaitOrder(t.Context(), "")
		_, voucher := client.AwaitVoucher(t.Context(), &hotelstays.OrderVoucherRequest{})
		_, noVoucher := client.AwaitVoucher(t.Context(), nil)
		_, cancel := client.CancelAndRead(t.Context(), &hotelstays.CancelRequest{})
		for _, err := range []error{invalid, wrongOption, nothing, booking, order, voucher, noVoucher, cancel} {
			var refused *hotelstays.ValidationError
			assert.ErrorAs(t, err, &refused)
		}
		client.HotelListPages(t.Context(), searchCity(srv))
		assert.Empty(t, log.starts)
		assert.Empty(t, log.ends)
		assert.Zero(t, srv.Ledger().Count(""))
	})
}

// logRecord is a record as a JSON handler writes it.
type logRecord struct {
	Level     string `json:"level"`
	Msg       string `json:"msg"`
	Operation string `json:"operation"`
	Attempt   int    `json:"attempt"`
	RequestID string `json:"request_id"`
	TraceID   string `json:"trace_id"`
	Status    int    `json:"status"`
	Reference string `json:"reference"`
	Error     string `json:"error"`
	// Mismatches and MismatchCount are of an answer that is not as documented.
	Mismatches    []string `json:"mismatches"`
	MismatchCount int      `json:"mismatch_count"`
}

// logOf returns a logger of a level, and what reads the records that it wrote.
func logOf(t *testing.T, level slog.Level) (*slog.Logger, *bytes.Buffer, func() []logRecord) {
	buf := &bytes.Buffer{}
	return slog.New(slog.NewJSONHandler(buf, &slog.HandlerOptions{Level: level})), buf, func() (records []logRecord) {
		for line := range bytes.Lines(buf.Bytes()) {
			var r logRecord
			require.NoError(t, json.Unmarshal(line, &r))
			records = append(records, r)
		}
		return records
	}
}

// flawedBooking books an offer through a client, its first search down for two
// attempts, its Book cut off after the commit.
func flawedBooking(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
	t.Helper()
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelList, Kind: hotelstaystest.FaultStatus, Status: 503, Times: 2})
	req := findOffer(t, srv, client, 0).Request("ref-1")
	req.Guests[0].PassportNumber = types.NewSecret("XY123456789")
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
	_, err := client.Book(t.Context(), req)
	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(t, err, &unknown)
}

// Without WithLogger nothing is written anywhere, go-retryablehttp included.
func TestNothingIsLoggedByDefault(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	log, buf, _ := logOf(t, slog.LevelDebug)
	slog.SetDefault(log) // takes over package log, too
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		flawedBooking(t, srv, client)
	})
	assert.Empty(t, buf.String())
}

func TestLogOfAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		log, buf, read := logOf(t, slog.LevelDebug)
		client := newClient(t, srv, ticketOf(srv), hotelstays.WithLogger(log))
		flawedBooking(t, srv, client)

		attempts := map[string]int{} // of each trace
		logged := map[string]logRecord{}
		for _, r := range read() {
			if r.Msg != "attempt" {
				continue
			}
			assert.Equal(t, "DEBUG", r.Level)
			attempts[r.TraceID]++
			assert.Equal(t, attempts[r.TraceID], r.Attempt)
			logged[r.RequestID] = r
		}
		requests := srv.Ledger().Requests("")
		assert.Len(t, requests, 6, "a ticket, three searches, rates, a booking")
		assert.Len(t, logged, len(requests), "one record for each attempt")
		for _, r := range requests {
			entry := logged[r.RequestID]
			assert.Equal(t, string(r.Operation), entry.Operation)
			assert.Equal(t, r.TraceID, entry.TraceID)
			assert.Equal(t, r.Status, entry.Status)
			assert.Equal(t, r.Cut, entry.Error != "")
		}
		for _, secret := range []string{srv.AppSecret, "XY123456789", "Bearer", "eyJ"} {
			assert.NotContains(t, buf.String(), secret)
		}
	})
}

// Above debug, attempts are not logged: only retries and the token, and with a
// warning the outcome that nobody knows.
func TestLogOfAnUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		log, _, read := logOf(t, slog.LevelInfo)
		flawedBooking(t, srv, newClient(t, srv, ticketOf(srv), hotelstays.WithLogger(log)))
		var warnings, infos []logRecord
		for _, r := range read() {
			if r.Level == "WARN" {
				warnings = append(warnings, r)
			} else {
				assert.Equal(t, "INFO", r.Level)
				infos = append(infos, r)
			}
		}
		assert.Len(t, infos, 3, "a token and two retries")
		require.Len(t, warnings, 1)
		assert.Equal(t, "outcome unknown", warnings[0].Msg)
		assert.Equal(t, "Book", warnings[0].Operation)
		assert.Equal(t, "ref-1", warnings[0].Reference)
		assert.Equal(t, srv.Ledger().Requests(hotelstays.OpBook)[0].RequestID, warnings[0].RequestID)
	})
}

// The log tells a token's lifetime where there is one: one of 0 would read as a token
// that ends at once.
func TestLogOfATokensLifetime(t *testing.T) {
	for want, cred := range map[string]hotelstays.Credential{
		"": bearerToken("token"),
		" lifetime=20m0s": hotelstays.OAuthCredential{ClientID: "id", ClientSecret: types.NewSecret("secret"),
			Scopes: []types.Scope{types.ScopeBookingRead}, Lifetime: 20 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			var buf bytes.Buffer
			rt := transportFunc(func(*http.Request) (*http.Response, error) {
				return reply(200, `{"code":0,"data":{"access_token":"token"}}`), nil
			})
			client, err := hotelstays.New("http://127.0.0.1:1", cred, hotelstays.WithHTTPClient(&http.Client{Transport: rt}),
				hotelstays.WithLogger(slog.New(slog.NewTextHandler(&buf, nil))))
			require.NoError(t, err)
			require.NoError(t, operationCalls[hotelstays.OpDestinations](t.Context(), client))
			assert.Contains(t, buf.String(), `msg="token fetched"`+want+"\n")
		})
	}
}

// An order or a hotel with a field of another type than documented is not lost; the field
// is named in the answer and in one warning.
func TestLogOfAMismatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		log, _, read := logOf(t, slog.LevelWarn)
		client := newClient(t, srv, ticketOf(srv), hotelstays.WithLogger(log))
		o := findOffer(t, srv, client, 0)
		order := o.Book(t, client, "ref-1")
		for _, tc := range []struct {
			op    hotelstaystest.Operation
			field string
			where string
			call  func() (hotelstays.ResponseMeta, error)
		}{
			{hotelstays.OpBook, "data.hotelOrder.nightCount", "data.hotelOrder.nightCount: want integer, got string",
				func() (hotelstays.ResponseMeta, error) {
					resp, err := client.Book(t.Context(), o.Request("ref-1"))
					require.NoError(t, err)
					want := *order
					want.NightCount = 0
					wantJSON, err := json.Marshal(want)
					require.NoError(t, err)
					gotJSON, err := json.Marshal(resp.HotelOrder)
					require.NoError(t, err)
					assert.JSONEq(t, string(wantJSON), string(gotJSON), "all else is there")
					return resp.Meta, err
				}},
			{hotelstays.OpQueryOrders, "data.orders.0.rooms.0.board", "data.orders[0].rooms[0].board: want object, got string",
				func() (hotelstays.ResponseMeta, error) {
					resp, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
					require.NoError(t, err)
					require.Len(t, resp.Orders, 1)
					assert.Equal(t, order.PlatformReferenceNo, resp.Orders[0].PlatformReferenceNo)
					return resp.Meta, err
				}},
			{hotelstays.OpCancel, "data.serviceFee", "data.serviceFee: want object, got string", func() (hotelstays.ResponseMeta, error) {
				resp, err := client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: o.Session, CustomerReferenceNo: "ref-1",
					SupplierReferenceNo: order.SupplierReferenceNo})
				require.NoError(t, err)
				assert.Nil(t, resp.ServiceFee)
				assert.Equal(t, new(types.OrderStatus(3)), resp.Status)
				return resp.Meta, err
			}},
			{hotelstays.OpHotelList, "data.list.1.rating", "data.list[1].rating: want number, got string", func() (hotelstays.ResponseMeta, error) {
				resp, err := client.HotelList(t.Context(), searchCity(srv))
				require.NoError(t, err)
				assert.Nil(t, resp.List[1].Rating)
				return resp.Meta, err
			}},
			{hotelstays.OpHotelList, "data.list.1.rating", "data.list[1].rating: want number, got string", func() (hotelstays.ResponseMeta, error) {
				got := stream(t.Context(), client, searchCity(srv))
				assert.Nil(t, got.hotels[1].Rating)
				return got.resp.Meta, got.err
			}},
		} {
			before := len(read())
			srv.Inject(hotelstaystest.Fault{Operation: tc.op, Kind: hotelstaystest.FaultWrongType, Field: tc.field})
			meta, err := tc.call()
			require.NoError(t, err)
			assert.Equal(t, []string{tc.where}, mismatchTexts(meta))
			records := read()[before:]
			require.Len(t, records, 1)
			assert.Equal(t, "WARN", records[0].Level)
			assert.Equal(t, string(tc.op), records[0].Operation)
			assert.Equal(t, meta.RequestID, records[0].RequestID)
			assert.Equal(t, []string{tc.where}, records[0].Mismatches)
			assert.Equal(t, 1, records[0].MismatchCount)
		}
	})
}

// A call without an Observer pays nothing for the possibility of one.
func TestNoObserverCostsNothing(t *testing.T) {
	ctx := context.Background()
	client := clientThrough(t, http.DefaultTransport)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if hotelstays.ObserveNothing(ctx, client) {
			t.Error("something is observed")
		}
	}))
}

// A helper is reported once, with its error, and its calls are made in the ctx of its start.
func TestObserverSeesHelpers(t *testing.T) {
	notOne := []string{"Do", "ValidateBook", "FindOrder", "StepRecovery", "HotelListStream"} // at most one call each
	for method, call := range optionCalls(t) {
		synctest.Test(t, func(t *testing.T) {
			calls, helpers := &callLog{}, &callLog{}
			refuse := transportFunc(func(*http.Request) (*http.Response, error) { return reply(403, `{"code":7}`), nil })
			client := clientThrough(t, refuse, hotelstays.WithObserver(calls.observer()),
				hotelstays.WithObserver(hotelstays.Observer{HelperStart: helpers.start, HelperEnd: helpers.end}))
			err := call(t.Context(), client)
			isOperation := operationCalls[hotelstays.Operation(method)] != nil
			if isOperation || slices.Contains(notOne, method) {
				assert.Empty(t, helpers.starts, method)
				return
			}
			require.Len(t, helpers.ends, 1, method)
			assert.Equal(t, []hotelstays.CallStart{{Operation: hotelstays.Operation(method), BaseURL: "http://127.0.0.1:1"}}, helpers.starts)
			end := helpers.ends[0]
			assert.Equal(t, hotelstays.Operation(method), end.Operation)
			assert.Equal(t, err, end.Err, method)
			assert.Equal(t, "/"+method, end.trail)
			assert.Equal(t, method == "DownloadVoucher", len(calls.ends) == 0, method)
			for _, call := range calls.ends {
				assert.Equal(t, "/"+method+"/"+string(call.Operation), call.trail)
			}
		})
	}
}

// A loop that breaks off ends its iterator without an error. A panic is an error, of any helper.
func TestObserverOfAHelperThatIsLeft(t *testing.T) {
	helpers := &callLog{}
	observer := hotelstays.WithObserver(hotelstays.Observer{HelperStart: helpers.start, HelperEnd: helpers.end})
	client := clientThrough(t, &fixedAnswer{status: 200, body: `{"code":0,"data":{"list":[{"id":"h"}],"basic":{"sessionId":"s"},"hasMore":true}}`}, observer)
	search := &hotelstays.HotelListRequest{DestinationID: "place", CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}
	for range client.HotelListPages(t.Context(), search) {
		break
	}
	assert.Panics(t, func() {
		for range client.HotelListPages(t.Context(), search) {
			panic("the loop")
		}
	})
	client = clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) { panic("the transport") }), observer)
	assert.Panics(t, func() { _, _ = client.AwaitOrder(t.Context(), "ref-1") })
	require.Len(t, helpers.ends, 3)
	assert.NoError(t, helpers.ends[0].Err)
	assert.ErrorContains(t, helpers.ends[1].Err, "panicked")
	assert.ErrorContains(t, helpers.ends[2].Err, "panicked")
}

// An observer that panics does not keep the others from the end of the call.
func TestObserverThatPanics(t *testing.T) {
	log := &callLog{}
	client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) { return reply(200, `{"code":0,"data":{"orders":[]}}`), nil }),
		hotelstays.WithObserver(log.observer()), hotelstays.WithObserver(hotelstays.Observer{
			CallEnd: func(context.Context, hotelstays.CallInfo) { panic("observer") }}))
	assert.PanicsWithValue(t, "observer", func() { _, _ = client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{}) })
	assert.Len(t, log.ends, 1)
}
