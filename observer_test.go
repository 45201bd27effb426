// What an Observer and a logger receive.

package hotelstays_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
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

// callLog records what an Observer receives. CallStart adds the operation to the trail in ctx, which lists the calls in
// progress.
type callLog struct {
	mu     sync.Mutex
	starts []hotelstays.CallStart
	ends   []endedCall
}

type endedCall struct {
	hotelstays.CallInfo
	trail string // the trail in the ctx of CallEnd
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

type trailTransport struct {
	http.RoundTripper
	trails []string
}

func (t *trailTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.trails = append(t.trails, trailOf(r.Context()))
	return t.RoundTripper.RoundTrip(r)
}

// The ctx that CallStart returns reaches the round tripper, the call that fetches the token, and CallEnd.
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

// CallInfo lists the attempts in order, with the result of each.
func TestObserverSeesEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const answer = `{"code":0,"data":{"destinations":[]}}`
		errBroken := errors.New("broken")
		var sent []hotelstays.AttemptInfo
		answers := []transportFunc{
			answering(503, "busy"),
			failing(&net.OpError{Op: "dial", Err: errBroken}),
			func(r *http.Request) (*http.Response, error) {
				return nil, fmt.Errorf("quoted %s: %w", r.Header.Get("Authorization"), errBroken)
			},
			func(*http.Request) (*http.Response, error) { return replyOf(200, iotest.ErrReader(errBroken)), nil },
			saying(answer),
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
		info, attempts := log.ends[0], log.ends[0].Attempts
		require.Len(t, attempts, len(answers))
		for i, a := range attempts {
			assert.Equal(t, sent[i].Start, a.Start)
			assert.Equal(t, time.Duration(i+1)*time.Second, a.Duration)
			assert.Equal(t, sent[i].RequestID, a.RequestID)
			assert.Equal(t, []int{503, 0, 0, 0, 200}[i], a.HTTPStatus)
			assert.Equal(t, i != 1, a.Sent, "a dial sends nothing")
			assert.Equal(t, i == 1 || i == 3, errors.Is(a.Err, errBroken), "errors.Is finds the cause")
		}
		assert.EqualError(t, attempts[2].Err, "quoted Bearer [redacted]: broken", "an error that quotes the token becomes a text")
		assert.NoError(t, attempts[0].Err)
		assert.NoError(t, attempts[4].Err)
		assert.Equal(t, []any{attempts[4].RequestID, 200, len(answer)}, []any{info.RequestID, info.HTTPStatus, info.Bytes})
		assert.InDelta(t, 15+3, info.Duration.Seconds(), 3, "the attempts and the waits between them")
	})
}

// CallInfo has the wait for a slot, even if the call ends during the wait and sends no request.
func TestObserverSeesTheRateLimitWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &callLog{}
		client := clientThrough(t, answering(503, ""), hotelstays.WithObserver(log.observer()))
		const limit, window = 10, 1010 * time.Millisecond
		for range limit + 1 {
			assert.Error(t, operationCalls[hotelstays.OpCheckAvail](t.Context(), client))
		}
		for _, end := range log.ends[:limit] {
			assert.Zero(t, end.RateLimitWait)
		}
		assert.Equal(t, window, log.ends[limit].RateLimitWait)
		assert.Equal(t, window, log.ends[limit].Duration)
		assert.Zero(t, log.ends[limit].Attempts[0].Duration, "the wait is not part of the attempt")

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

// The logger writes after the answer, so the duration of the attempt does not include the logger's work.
func TestDecodeTimeIncludesTheWorkOfTheLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := writerFunc(func(p []byte) (int, error) { time.Sleep(3 * time.Second); return len(p), nil })
		logger := slog.New(slog.NewTextHandler(slow, &slog.HandlerOptions{Level: slog.LevelDebug}))
		for answered, decodes := range map[bool]time.Duration{true: 3 * time.Second, false: 0} { // without an answer the client decodes nothing
			log := &callLog{}
			client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
				time.Sleep(time.Second)
				if answered {
					return reply(504, ""), nil
				}
				return nil, errors.New("broken")
			}), hotelstays.WithObserver(log.observer()), hotelstays.WithLogger(logger))
			assert.Error(t, operationCalls[hotelstays.OpBook](t.Context(), client)) // the outcome is unknown, and the client logs this
			assert.Equal(t, decodes, log.ends[0].DecodeTime)
			assert.Equal(t, 10*time.Second, log.ends[0].Duration, "1 s for the answer, and 3 s for each of three log lines")
			assert.Equal(t, time.Second, log.ends[0].Attempts[0].Duration)
		}
	})
}

func TestDecodeTimeExcludesTheWaitForTheBytesOfTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &callLog{}
		client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
			page := pieces{strings.NewReader(smallPages()[0]), 100}
			return replyOf(200, readerFunc(func(b []byte) (int, error) {
				time.Sleep(time.Second)
				return page.Read(b)
			})), nil
		}), hotelstays.WithObserver(log.observer()))
		_, err := client.HotelList(t.Context(), anySearch())
		require.NoError(t, err)
		assert.Zero(t, log.ends[0].DecodeTime)
		assert.Greater(t, log.ends[0].Attempts[0].Duration, 3*time.Second)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// An invalid call, or an iterator without a loop, sends nothing and takes no slot. No observer sees it.
func TestObserverSeesNoInvalidCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		log := &callLog{}
		client := newClient(t, srv, ticketOf(srv), hotelstays.WithObserver(log.observer()),
			hotelstays.WithObserver(hotelstays.Observer{HelperStart: log.start, HelperEnd: log.end}),
			hotelstays.WithRateLimiter(limiterFunc(func() error { t.Error("Acquire was called"); return nil })))
		_, invalid := client.HotelList(t.Context(), &hotelstays.HotelListRequest{})
		_, wrongOption := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithCurrency("EUR"))
		_, nothing := client.Book(t.Context(), nil)
		_, booking := client.BookAndRecover(t.Context(), &hotelstays.BookRequest{})
		_, order := client.AwaitOrder(t.Context(), "")
		_, voucher := client.AwaitVoucher(t.Context(), &hotelstays.OrderVoucherRequest{})
		_, noVoucher := client.AwaitVoucher(t.Context(), nil)
		_, cancel := client.CancelAndRead(t.Context(), &hotelstays.CancelRequest{})
		for _, err := range []error{invalid, wrongOption, nothing, booking, order, voucher, noVoucher, cancel} {
			assert.ErrorAs(t, err, new(*hotelstays.ValidationError))
		}
		client.HotelListPages(t.Context(), searchCity(srv))
		assert.Empty(t, log.starts)
		assert.Empty(t, log.ends)
		assert.Zero(t, srv.Ledger().Count(""))
	})
}

type logRecord struct {
	Level         string   `json:"level"`
	Msg           string   `json:"msg"`
	Operation     string   `json:"operation"`
	RequestID     string   `json:"request_id"`
	TraceID       string   `json:"trace_id"`
	Status        int      `json:"status"`
	Reference     string   `json:"reference"`
	Error         string   `json:"error"`
	Mismatches    []string `json:"mismatches"`
	MismatchCount int      `json:"mismatch_count"`
}

// logOf returns a logger of a level, its output, and a function that decodes its records.
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

// flawedBooking books an offer. The first two attempts of the search fail, and the answer to Book is cut off after the
// service has booked.
func flawedBooking(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
	t.Helper()
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelList, Kind: hotelstaystest.FaultStatus, Status: 503, Times: 2})
	req := findOffer(t, srv, client, 0).Request("ref-1")
	req.Guests[0].PassportNumber = types.NewSecret("XY123456789")
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
	_, err := client.Book(t.Context(), req)
	require.ErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
}

func TestNothingIsLoggedByDefault(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	log, buf, _ := logOf(t, slog.LevelDebug)
	slog.SetDefault(log) // SetDefault also redirects the output of package log
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		flawedBooking(t, srv, client)
	})
	assert.Empty(t, buf.String())
}

// Each attempt is logged at level debug, retries and the token at info, and an unknown outcome at warn.
func TestEachAttemptIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		log, buf, read := logOf(t, slog.LevelDebug)
		flawedBooking(t, srv, newClient(t, srv, ticketOf(srv), hotelstays.WithLogger(log)))

		levels, attempts := map[string]int{}, map[string]logRecord{}
		for _, r := range read() {
			levels[r.Level]++
			switch r.Level {
			case "DEBUG":
				attempts[r.RequestID] = r
			case "WARN":
				assert.Equal(t, []string{"outcome unknown", "Book", "ref-1"}, []string{r.Msg, r.Operation, r.Reference})
				assert.Equal(t, srv.Ledger().Requests(hotelstays.OpBook)[0].RequestID, r.RequestID)
			}
		}
		assert.Equal(t, map[string]int{"DEBUG": 6, "INFO": 3, "WARN": 1}, levels,
			"a ticket, three searches, rates, a booking; a token and two retries")
		for _, r := range srv.Ledger().Requests("") {
			entry := attempts[r.RequestID]
			assert.Equal(t, []any{string(r.Operation), r.TraceID, r.Status, r.Cut},
				[]any{entry.Operation, entry.TraceID, entry.Status, entry.Error != ""})
		}
		for _, secret := range []string{srv.AppSecret, "XY123456789", "Bearer", "eyJ"} {
			assert.NotContains(t, buf.String(), secret)
		}
	})
}

// If a field has another type than the document says, Meta and one warning name the field.
func TestMismatchIsLoggedOnce(t *testing.T) {
	const mismatch = "data.list[1].rating: want number, got string"
	answer := &fixedAnswer{Status: 200, Body: `{"code":0,"data":{"list":[{"id":"1"},{"id":"2","rating":"4.5"}],"basic":{"sessionId":"s"}}}`}
	log, _, read := logOf(t, slog.LevelWarn)
	client := clientThrough(t, answer, hotelstays.WithLogger(log))
	list, err := client.HotelList(t.Context(), anySearch())
	require.NoError(t, err)
	streamed := stream(t.Context(), client, anySearch())
	require.NoError(t, streamed.err)
	assert.Len(t, streamed.hotels, 2)
	records := read()
	require.Len(t, records, 2)
	for i, meta := range []hotelstays.ResponseMeta{list.Meta, streamed.resp.Meta} {
		assert.Equal(t, []string{mismatch}, mismatchTexts(meta))
		assert.Equal(t, logRecord{Level: "WARN", Msg: "the answer does not match the documentation", Operation: "HotelList",
			RequestID: meta.RequestID, Mismatches: []string{mismatch}, MismatchCount: 1}, records[i])
	}
}

// HelperStart returns a ctx, and each call of the helper has this ctx.
func TestObserverSeesEachHelperOnce(t *testing.T) {
	notObserved := []string{"Do", "ValidateBook", "FindOrder", "StepRecovery", "HotelListStream"} // these methods make at most one call
	for method, call := range optionCalls(t) {
		synctest.Test(t, func(t *testing.T) {
			calls, helpers := &callLog{}, &callLog{}
			client := clientThrough(t, answering(403, `{"code":7}`), hotelstays.WithObserver(calls.observer()),
				hotelstays.WithObserver(hotelstays.Observer{HelperStart: helpers.start, HelperEnd: helpers.end}))
			err := call(t.Context(), client)
			isOperation := operationCalls[hotelstays.Operation(method)] != nil
			if isOperation || slices.Contains(notObserved, method) {
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

// If the body of the loop or the transport panics, HelperEnd sees an error.
func TestObserverSeesNoErrorAfterABreakOfTheLoop(t *testing.T) {
	helpers := &callLog{}
	observer := hotelstays.WithObserver(hotelstays.Observer{HelperStart: helpers.start, HelperEnd: helpers.end})
	client := clientThrough(t,
		&fixedAnswer{Status: 200, Body: `{"code":0,"data":{"list":[{"id":"h"}],"basic":{"sessionId":"s"},"hasMore":true}}`}, observer)
	for range client.HotelListPages(t.Context(), anySearch()) {
		break
	}
	assert.Panics(t, func() {
		for range client.HotelListPages(t.Context(), anySearch()) {
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

// CallEnd of the observer that started last comes first. Otherwise the spans of a trace would not nest.
func TestObserversEndInReverseOrderWithTheirOwnCtx(t *testing.T) {
	type own struct{}
	var steps []string
	named := func(name string) hotelstays.Option {
		start := func(ctx context.Context, _ hotelstays.CallStart) context.Context {
			steps = append(steps, "start "+name)
			return context.WithValue(ctx, own{}, name)
		}
		end := func(ctx context.Context, _ hotelstays.CallInfo) {
			steps = append(steps, fmt.Sprint("end ", ctx.Value(own{})))
		}
		return hotelstays.WithObserver(hotelstays.Observer{CallStart: start, CallEnd: end})
	}
	client := clientThrough(t, saying(`{"code":0,"data":{"destinations":[]}}`), named("outer"), named("inner"))
	require.NoError(t, operationCalls[hotelstays.OpDestinations](t.Context(), client))
	assert.Equal(t, []string{"start outer", "start inner", "end inner", "end outer"}, steps)
}
