// Options: which calls accept them, what they send, and how helpers pass them on.

package hotelstays_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// optionCalls returns a call of each method that takes options.
func optionCalls(t *testing.T) map[string]operationCall {
	calls := testkit.Helpers(t.TempDir())
	for op, call := range operationCalls {
		calls[string(op)] = call
	}
	return calls
}

func TestEachMethodRefusesOptionsWithoutEffect(t *testing.T) {
	calls := optionCalls(t)
	for method := range reflect.TypeFor[*hotelstays.Client]().Methods() {
		makesNoCall := []string{"With", "WithCredential", "NewBookingRecovery"}
		if method.Type.IsVariadic() && !slices.Contains(makesNoCall, method.Name) {
			assert.Contains(t, calls, method.Name)
		}
	}
	all := slices.Collect(maps.Keys(calls))
	without := func(methods []string, out ...string) []string {
		return slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return slices.Contains(out, m) })
	}
	api := without(all, "DownloadVoucher")
	flow := []string{"HotelListPages", "HotelListBatches", "HotelListStream", "Do", "ValidateBook", "BookAndRecover", "CancelAndRead"}
	for op := range operationCalls {
		if hotelstays.InBookingFlow(op) {
			flow = append(flow, string(op))
		}
	}
	documents := []string{"SaveVoucher", "OpenVoucher", "DownloadVoucher"}
	withToken := without(api, "Ticket", "OAuthToken", "RecoverBooking", "StepRecovery")
	rows := []struct {
		name  string
		opt   hotelstays.CallOption
		takes []string
	}{
		{"WithLanguage", hotelstays.WithLanguage("ar"), api},
		{"WithClientIP", hotelstays.WithClientIP("192.0.2.1"), api},
		{"WithTraceID", hotelstays.WithTraceID("trace"), api},
		{"WithRequestID", hotelstays.WithRequestID(func(context.Context) string { return "id" }), api},
		{"WithClientRequestTimestamp", hotelstays.WithClientRequestTimestamp(func(context.Context, time.Time) string { return "1" }),
			api},
		{"WithServiceFacts", sandboxStates, []string{"Book", "Cancel", "QueryOrders", "Do", "ValidateBook", "BookAndRecover", "RecoverBooking",
			"StepRecovery", "FindOrder", "AwaitOrder", "CancelAndRead"}},
		{"WithMaxAttempts", hotelstays.WithMaxAttempts(1), api},
		{"WithPriority", hotelstays.WithPriority(hotelstays.PriorityInteractive), api},
		{"WithHeader", hotelstays.WithHeader("X-Gateway", "key"), api},
		{"WithTimeout", hotelstays.WithTimeout(time.Second), all},
		{"WithMarket", hotelstays.WithMarket("AE"), withToken},
		{"WithUserRef", hotelstays.WithUserRef("u"), withToken},
		{"WithCurrency", hotelstays.WithCurrency("EUR"), flow},
		{"WithTestFlags", hotelstays.WithTestFlags(map[string]string{"a": "1"}), flow},
		{"WithRawData", hotelstays.WithRawData(), without(api, "WalkDestinations", "HotelsMetadataAll", "HotelListStream", "FindOrder",
			"AwaitOrder", "ValidateBook", "BookAndRecover", "RecoverBooking", "StepRecovery", "SaveVoucher",
			"OpenVoucher")},
		{"WithParallelism", hotelstays.WithParallelism(2), []string{"WalkDestinations", "HotelsMetadataAll", "HotelListBatches"}},
		{"WithBatchSize", hotelstays.WithBatchSize(2), []string{"HotelListBatches"}},
		{"WithWakeup", hotelstays.WithWakeup(make(chan struct{})),
			[]string{"AwaitOrder", "AwaitVoucher", "ValidateBook", "BookAndRecover", "RecoverBooking"}},
		{"WithSaveRecovery", hotelstays.WithSaveRecovery(func(context.Context, *hotelstays.BookingRecovery) error { return nil }),
			[]string{"ValidateBook", "BookAndRecover", "RecoverBooking"}},
		{"WithUnsignedVouchers", hotelstays.WithUnsignedVouchers(), documents},
		{"WithMaxVoucherBytes", hotelstays.WithMaxVoucherBytes(1), documents},
	}
	options := hotelstays.OptionNames()
	for _, row := range rows {
		options = slices.DeleteFunc(options, func(name string) bool { return name == row.name })
		_, ok := reflect.TypeFor[hotelstays.CallOptions]().FieldByName(strings.TrimPrefix(row.name, "With"))
		assert.True(t, ok, "CallOptions has no field for %s", row.name)
	}
	assert.Empty(t, options, "these options have no row")
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		for _, row := range rows {
			for method, call := range calls {
				err, misplaced := call(t.Context(), client, nil, row.opt), []string{row.name, "opts"} // every method refuses the nil option
				if slices.Contains(row.takes, method) {
					misplaced = misplaced[1:]
				} else {
					assert.ErrorContains(t, err, " does not accept this option; it is an option of ")
				}
				assert.Equal(t, misplaced, faultPaths(t, err), "%s, %s", method, row.name)
			}
		}
		assert.ErrorContains(t, calls["Book"](t.Context(), client, hotelstays.WithParallelism(2)), "WithParallelism: Book does not accept this option; "+
			"it is an option of WalkDestinations, HotelsMetadataAll and HotelListBatches")
		assert.Empty(t, srv.Ledger().Requests(""))
	})
}

func TestCallOptionsOfReturnsTheValueOfEachOption(t *testing.T) {
	wakeup := make(chan struct{})
	facts := hotelstays.ServiceFacts{NullOrders: true}
	got, err := hotelstays.CallOptionsOf(hotelstays.WithLanguage("ar"), hotelstays.WithMarket("AE"), hotelstays.WithUserRef("user 1"),
		hotelstays.WithClientIP("192.0.2.1"), hotelstays.WithCurrency("EUR"), hotelstays.WithCurrency("KWD"), hotelstays.WithTraceID("trace"),
		hotelstays.WithTestFlags(map[string]string{"a": "1", "b": ""}), hotelstays.WithHeader("X-Zone", "a"), hotelstays.WithHeader("x-key", "b"),
		hotelstays.WithRequestID(func(context.Context) string { return "id" }),
		hotelstays.WithClientRequestTimestamp(func(context.Context, time.Time) string { return "time" }), hotelstays.WithTimeout(time.Second),
		hotelstays.WithMaxAttempts(2), hotelstays.WithPriority(hotelstays.PriorityBackground), hotelstays.WithServiceFacts(facts),
		hotelstays.WithRawData(), hotelstays.WithParallelism(3), hotelstays.WithBatchSize(4), hotelstays.WithWakeup(wakeup),
		hotelstays.WithSaveRecovery(func(context.Context, *hotelstays.BookingRecovery) error { return io.EOF }),
		hotelstays.WithUnsignedVouchers(), hotelstays.WithMaxVoucherBytes(5))
	require.NoError(t, err)
	for field, value := range reflect.ValueOf(got).Fields() {
		assert.False(t, value.IsZero(), field.Name)
	}
	assert.Equal(t, []any{"id", "time", io.EOF}, []any{got.RequestID(t.Context()), got.ClientRequestTimestamp(t.Context(), time.Time{}),
		got.SaveRecovery(t.Context(), nil)})
	text, err := json.Marshal(got) // slog.JSONHandler writes the same JSON
	require.NoError(t, err)
	assert.Contains(t, string(text), `"Market":"AE"`)
	assert.NotContains(t, string(text), "X-Key", "a header may hold a secret")
	got.RequestID, got.ClientRequestTimestamp, got.SaveRecovery = nil, nil, nil
	assert.Equal(t, hotelstays.CallOptions{Language: "ar", Market: "AE", UserRef: "user 1", ClientIP: "192.0.2.1",
		Currency: "KWD", TraceID: "trace",
		TestFlags: map[string]string{"a": "1", "b": ""}, Header: http.Header{"X-Zone": {"a"}, "X-Key": {"b"}}, Timeout: time.Second,
		MaxAttempts: 2, Priority: hotelstays.PriorityBackground, ServiceFacts: &facts, RawData: true, Parallelism: 3, BatchSize: 4,
		Wakeup: wakeup, UnsignedVouchers: true, MaxVoucherBytes: 5}, got)

	shared := refusing(hotelstays.OpBook, 7)
	changed, err := hotelstays.CallOptionsOf(shared)
	require.NoError(t, err)
	changed.ServiceFacts.NullOrders, changed.ServiceFacts.RefusalCodes[hotelstays.OpBook][0] = true, 8
	unchanged, err := hotelstays.CallOptionsOf(shared)
	require.NoError(t, err)
	assert.Equal(t, &hotelstays.ServiceFacts{RefusalCodes: map[hotelstays.Operation][]int{hotelstays.OpBook: {7}}}, unchanged.ServiceFacts)

	none, err := hotelstays.CallOptionsOf()
	require.NoError(t, err)
	assert.Zero(t, none)
	_, err = hotelstays.CallOptionsOf(nil, hotelstays.WithMarket("x"))
	assert.Equal(t, []string{"WithMarket", "opts"}, faultPaths(t, err))
}

// Of these options, DownloadVoucher accepts only WithTimeout.
func TestHelpersPassOptionsToTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traced := []hotelstays.CallOption{hotelstays.WithTraceID("trace-1"), hotelstays.WithMarket("AE"), hotelstays.WithTimeout(7 * time.Second),
			hotelstays.WithHeader("X-Zone", "a")}
		service := serviceOf(nil, serving(voucherDoc))
		var calls []*http.Request
		client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
			calls = append(calls, r)
			return service.RoundTrip(r)
		}), hotelstays.WithHeader("User-Agent", "agency"), hotelstays.WithHeader("X-Gateway", "key"))

		_, err := client.SaveVoucher(t.Context(), voucherRef, filepath.Join(t.TempDir(), "voucher.pdf"),
			append(traced, hotelstays.WithMaxVoucherBytes(1<<20))...)
		require.NoError(t, err)
		resp, err := client.AwaitVoucher(t.Context(), voucherRef,
			append(traced, hotelstays.WithWakeup(make(chan struct{})), hotelstays.WithRawData())...)
		require.NoError(t, err)
		assert.NotEmpty(t, resp.Meta.RawData)
		require.NoError(t, client.DownloadVoucher(t.Context(), resp.Voucher, io.Discard, hotelstays.WithTimeout(7*time.Second)))

		require.Len(t, calls, 4)
		for i, download := range []bool{false, true, false, true} {
			deadline, _ := calls[i].Context().Deadline()
			assert.Equal(t, 7*time.Second, time.Until(deadline), "the timeout limits calls and downloads")
			assert.Equal(t, "agency", calls[i].Header.Get("User-Agent"))
			if download {
				assert.Len(t, calls[i].Header, 2, "only User-Agent and Accept-Encoding, because the link may lead to another host")
				continue
			}
			assert.Equal(t, "key a", calls[i].Header.Get("X-Gateway")+" "+calls[i].Header.Get("X-Zone"))
			assert.Equal(t, "trace-1", calls[i].Header.Get("Trace-Id"))
			assert.Equal(t, "AE", calls[i].Header.Get("Market"))
		}

		_, err = client.AwaitVoucher(t.Context(), voucherRef)
		require.NoError(t, err)
		assert.Equal(t, "key", calls[4].Header.Get("X-Gateway"))
		assert.Empty(t, calls[4].Header.Get("X-Zone"), "an option of the earlier call is gone")
	})
}

// The caller's functions also make the ids and times of the calls that fetch tokens.
func TestEachAttemptHasItsOwnRequestIDAndTimestamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		n := 0
		type key struct{} // the key of a value that an observer adds to ctx
		client := newClient(t, srv, ticketOf(srv),
			hotelstays.WithObserver(hotelstays.Observer{CallStart: func(ctx context.Context, _ hotelstays.CallStart) context.Context {
				return context.WithValue(ctx, key{}, "id")
			}}),
			hotelstays.WithRequestID(func(ctx context.Context) string { n++; return fmt.Sprint(ctx.Value(key{}), "-", n) }),
			hotelstays.WithClientRequestTimestamp(func(_ context.Context, sent time.Time) string { return strconv.FormatInt(sent.UnixMilli(), 10) }))
		fault := status(429, "")
		fault.Operation, fault.Times = hotelstays.OpDestinations, 2
		fault.Header.Set("Retry-After", "3")
		srv.Inject(fault)
		resp, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
		require.NoError(t, err)
		assert.Equal(t, "id-4", resp.Meta.RequestID)
		requests := srv.Ledger().Requests("")
		require.Len(t, requests, 4)
		for i, r := range requests {
			assert.Equal(t, fmt.Sprintf("id-%d", i+1), r.RequestID)
			assert.Equal(t, strconv.FormatInt(r.Arrived.UnixMilli(), 10), r.Header.Get("Client-Request-Timestamp"))
		}
		assert.GreaterOrEqual(t, requests[3].Arrived.Sub(requests[0].Arrived), 6*time.Second)

		resp, err = client.Destinations(t.Context(), &hotelstays.DestinationsRequest{},
			hotelstays.WithRequestID(func(context.Context) string { return "own" }))
		require.NoError(t, err)
		assert.Equal(t, "own", resp.Meta.RequestID, "an option of the call wins")
	})
}

// A call and its token request have the trace id of ctx. If ctx has no id that a header can carry, the call has a new
// id.
func TestTraceIDComesFromTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		type key struct{}
		made := 0
		client := newClient(t, srv, ticketOf(srv), hotelstays.WithTraceIDFrom(func(ctx context.Context) string {
			made++
			id, _ := ctx.Value(key{}).(string)
			return id
		}))
		derived, err := client.WithCredential(ticketOf(srv))
		require.NoError(t, err)
		ctx := context.WithValue(t.Context(), key{}, "flow-1")
		for _, c := range []*hotelstays.Client{client, derived} {
			require.NoError(t, operationCalls[hotelstays.OpDestinations](ctx, c))
		}
		require.NoError(t, operationCalls[hotelstays.OpDestinations](ctx, client, hotelstays.WithTraceID("own")))
		require.NoError(t, operationCalls[hotelstays.OpDestinations](t.Context(), client))
		invalid := context.WithValue(t.Context(), key{}, "a\nb")
		require.NoError(t, operationCalls[hotelstays.OpDestinations](invalid, client))
		var traces []string
		for _, r := range srv.Ledger().Requests("") {
			traces = append(traces, r.Header.Get("Trace-Id"))
		}
		require.Len(t, traces, 7)
		assert.Equal(t, []string{"flow-1", "flow-1", "flow-1", "flow-1", "own"}, traces[:5])
		assert.NoError(t, uuid.Validate(traces[5]))
		assert.NoError(t, uuid.Validate(traces[6]))

		made = 0
		require.NoError(t, client.ValidateBook(new(goodBook())))
		_, err = client.CancelAndRead(ctx, &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "r", SupplierReferenceNo: "s"})
		require.ErrorIs(t, err, hotelstays.ErrCancelRefused)
		assert.Equal(t, 1, made, "an id is made only for a request")
	})
}

// The error says what to use instead, and quotes no value.
func TestWithHeaderRefusesHeadersOfTheClient(t *testing.T) {
	const reserved = "only the client sets"
	for name, instead := range map[string]string{
		"trace-id": "use WithTraceID", "Language": "use WithLanguage", "Market": "use WithMarket", "User-Ref": "use WithUserRef",
		"IP": "use WithClientIP", "Currency": "use WithCurrency", "Test": "use WithTestFlags", "REQUEST-ID": "use WithRequestID",
		"Client-Request-Timestamp": "use WithClientRequestTimestamp", "Timeout-Milliseconds": "use WithTimeout",
		"Session-Id":    "use the SessionID",
		"Authorization": "use a Credential", "Content-Type": reserved, "Accept": reserved, "Host": reserved, "X-Idempotency-Key": reserved,
		"Content-Encoding": reserved, "Range": reserved, "If-None-Match": reserved, "If-Modified-Since": reserved, "If-Match": reserved,
		"If-Unmodified-Since": reserved, "If-Range": reserved, "Proxy-Connection": reserved, "HTTP2-Settings": reserved,
		"X-HTTP-Method-Override": reserved,
		"Proxy-Authorization":    "use the URL of the proxy", "Cookie": "use a Jar", "": "not the name",
		"X Zone": "not the name", "X-Zone:": "not the name", "X-Zöne": "not the name",
	} {
		err := operationCalls[hotelstays.OpBook](t.Context(), clientWith(t, noSend{t}, bearerToken("token")),
			hotelstays.WithHeader(name, "SECRET"))
		assert.Equal(t, []string{"WithHeader"}, faultPaths(t, err), name)
		assert.ErrorContains(t, err, instead)
		assert.NotContains(t, err.Error(), "SECRET")
	}
}

// The client sends no attempt with a value that a header cannot carry, or with the id of the attempt before. The call then
// releases its slot. The outcome of a Book that was not sent is known.
func TestAttemptWithAnUnusableRequestIDOrTimestampIsNotSent(t *testing.T) {
	id := func(text string) hotelstays.Option {
		return hotelstays.WithRequestID(func(context.Context) string { return text })
	}
	stamp := func(text string) hotelstays.Option {
		return hotelstays.WithClientRequestTimestamp(func(context.Context, time.Time) string { return text })
	}
	for name, row := range map[string]struct {
		opt     hotelstays.Option
		sent    int
		problem string
	}{
		"empty id":               {id(""), 0, "the value from WithRequestID is empty"},
		"id with a line break":   {id("a\r\nEvil: 1"), 0, "the value from WithRequestID contains"},
		"constant id":            {id("one"), 1, "the Request-Id repeats the id of the attempt before"},
		"empty time":             {stamp(" "), 0, "the value from WithClientRequestTimestamp is empty"},
		"time with a line break": {stamp("1\n2"), 0, "the value from WithClientRequestTimestamp contains"},
		"panicking id":           {hotelstays.WithRequestID(func(context.Context) string { panic("boom") }), 0, ""},
		"panicking time":         {hotelstays.WithClientRequestTimestamp(func(context.Context, time.Time) string { panic("boom") }), 0, ""},
	} {
		inBubble(t, name, func(t *testing.T) {
			answer := &fixedAnswer{Status: 429, Body: `{"code":100000429}`, Header: map[string]string{"Retry-After": "0"}}
			client := clientThrough(t, answer, row.opt, hotelstays.WithMaxAttempts(4))
			start, calls := time.Now(), 2*hotelstays.OpBook.RateLimit()
			if row.sent > 0 {
				calls = 1
			}
			for range calls {
				if row.problem == "" {
					assert.PanicsWithValue(t, "boom", func() { _ = operationCalls[hotelstays.OpBook](t.Context(), client) })
					continue
				}
				err := operationCalls[hotelstays.OpBook](t.Context(), client)
				failed := errorAs[*hotelstays.TransportError](t, err)
				assert.ErrorContains(t, err, row.problem)
				assert.NotContains(t, err.Error(), "safe to call again", "it would fail again")
				assert.False(t, failed.Sent)
				assert.Equal(t, row.sent, failed.Attempts)
				assert.NotErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
			}
			assert.Len(t, answer.Sent, row.sent)
			if row.sent == 0 {
				assert.Zero(t, time.Since(start), "each call released its slot")
			}
		})
	}
}
