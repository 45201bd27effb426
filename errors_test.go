// Errors: their types, texts, advice, sentinels and kinds.

package hotelstays_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/types"
)

var sentinels = append(hotelstays.SentinelsOfRows(), hotelstays.ErrNotSent, hotelstays.ErrVoucherLinkExpired, hotelstays.ErrVoucherUnsigned,
	hotelstays.ErrVoucherAltered, hotelstays.ErrWebhookSignature, hotelstays.ErrWebhookTime, hotelstays.ErrWebhookBody,
	hotelstays.ErrWebhookBusy)

func matchedSentinels(err error) []error {
	return slices.DeleteFunc(slices.Clone(sentinels), func(sentinel error) bool { return !errors.Is(err, sentinel) })
}

func TestDocumentedCodeSelectsTheSentinelBeforeTheStatus(t *testing.T) {
	const read, voucher, book = hotelstays.OpCheckAvail, hotelstays.OpOrderVoucher, hotelstays.OpBook
	const cancel, ticket = hotelstays.OpCancel, hotelstays.OpTicket
	code := func(n int) string { return fmt.Sprintf(`{"code":%d,"msg":"m"}`, n) }

	for _, row := range []struct {
		name   string
		op     hotelstays.Operation
		status int
		body   string
		want   []error
	}{
		// With HTTP 200, the code selects the sentinel.
		{"100000400", read, 200, code(100000400), []error{hotelstays.ErrParam}},
		{"100000401", ticket, 200, code(100000401), []error{hotelstays.ErrUnauthorized}},
		{"100000404", voucher, 200, code(100000404), []error{hotelstays.ErrNotFound}},
		{"100000429", read, 200, code(100000429), []error{hotelstays.ErrRateLimited}},
		{"100001003", book, 200, code(100001003), []error{hotelstays.ErrDuplicateBooking}},
		{"100001005", voucher, 200, code(100001005), []error{hotelstays.ErrVoucherTooLarge}},
		{"100001008", voucher, 200, code(100001008), []error{hotelstays.ErrAmbiguousReference}},
		{"100001111", book, 200, code(100001111), []error{hotelstays.ErrRateChanged}},
		{"an unknown code", book, 200, code(100009999), nil},
		// The code selects the sentinel, although the status has another meaning.
		{"code 100001111 with HTTP 400", book, 400, code(100001111), []error{hotelstays.ErrRateChanged}},
		// If the code is not documented, the status selects the sentinel.
		{"HTTP 400", read, 400, code(7), []error{hotelstays.ErrParam}},
		{"HTTP 401", read, 401, code(7), []error{hotelstays.ErrUnauthorized}},
		{"HTTP 403", read, 403, code(7), []error{hotelstays.ErrForbidden}},
		{"HTTP 404", voucher, 404, code(7), []error{hotelstays.ErrNotFound}},
		{"HTTP 404 of an operation without orders", read, 404, code(7), nil},
		{"code 100000404 of an operation without orders", read, 404, code(100000404), nil},
		{"HTTP 429", read, 429, code(7), []error{hotelstays.ErrRateLimited}},
		{"HTTP 500", read, 500, code(7), nil},
		{"HTTP 504", read, 504, code(7), []error{hotelstays.ErrUpstreamTimeout}},
		// If the answer has no envelope, the status selects the sentinel.
		{"HTTP 403 with an HTML page", read, 403, htmlPage, []error{hotelstays.ErrForbidden}},
		{"HTTP 404 with an HTML page", read, 404, htmlPage, nil},
		{"HTTP 404 of OrderVoucher with an HTML page", voucher, 404, htmlPage, nil},
		{"HTTP 504 with an HTML page", read, 504, htmlPage, []error{hotelstays.ErrUpstreamTimeout}},
		// Cancel
		{"Cancel: HTTP 400", cancel, 400, code(7), []error{hotelstays.ErrCancelRefused}},
		{"Cancel: HTTP 400 with code 100000400", cancel, 400, code(100000400), []error{hotelstays.ErrCancelRefused}},
		{"Cancel: HTTP 404", cancel, 404, code(7), []error{hotelstays.ErrNotFound}},
		{"Cancel: HTTP 403", cancel, 403, code(7), []error{hotelstays.ErrForbidden}},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := operationCalls[row.op](t.Context(), clientThrough(t, &fixedAnswer{Status: row.status, Body: row.body}))
			require.Error(t, err)
			assert.ElementsMatch(t, row.want, matchedSentinels(err), "%v", err)
			if len(row.want) == 1 {
				assert.Equal(t, hotelstays.KindOf(row.want[0]), hotelstays.KindOf(err))
			}
		})
	}
}

func TestAPIErrorHasTheServicesRequestID(t *testing.T) {
	rt := &fixedAnswer{Status: 400, Body: `{"code":100000400,"msg":"pageSize"}`,
		Header: map[string]string{"Request-Id": "service-1", "Retry-After": "7"}}
	_, err := sendCheckAvail(t, clientThrough(t, rt))
	api := errorAs[*hotelstays.APIError](t, err)
	assert.Equal(t, &hotelstays.APIError{Operation: hotelstays.OpCheckAvail, HTTPStatus: 400, Code: 100000400, Msg: "pageSize",
		RequestID: "service-1", TraceID: "trace-1", RetryAfter: 7 * time.Second,
		Header: http.Header{"Request-Id": {"service-1"}, "Retry-After": {"7"}}}, api)
	assert.EqualError(t, err,
		`hotelstays: CheckAvail: parameter refused (HTTP 400, code 100000400, "pageSize", retry after 7s), request id service-1; `+
			`if the session has expired, search again; else correct the request, because the same request will be refused again`)
}

func TestErrorOfAnHTMLPageHasAnExcerpt(t *testing.T) {
	for _, body := range []string{htmlPage, strings.Repeat("号", 50_000), strings.Repeat("\xff", 10_000)} {
		_, err := sendCheckAvail(t, clientThrough(t, &fixedAnswer{Status: 403, Body: body}))
		excerpt := errorAs[*hotelstays.APIError](t, err).Excerpt
		assert.Equal(t, body == htmlPage, excerpt == htmlPage)
		assert.NotEmpty(t, excerpt)
		assert.Less(t, len(excerpt), 300)
		assert.True(t, utf8.ValidString(excerpt))
		assert.ErrorContains(t, err, strconv.Quote(excerpt))
	}
}

// If errors.Is searches the cause of an OutcomeUnknownError, it finds only errors of ctx and of the network.
func TestUnknownOutcomeNeverMatchesARefusal(t *testing.T) {
	// In errors of these types, errors.Is finds every cause.
	deciding := []string{"BatchError", "DecodeError", "TransportError", "VoucherError", "WebhookError"}
	refusal := &hotelstays.APIError{Operation: hotelstays.OpBook, HTTPStatus: 400, Code: types.CodeRateChanged}
	causes := map[error]error{ // the cause, and the error that errors.Is looks for
		fmt.Errorf("own: %w", refusal):                              refusal,
		errors.Join(context.Canceled, refusal):                      refusal,
		&net.OpError{Op: "read", Err: refusal}:                      refusal,
		&url.Error{Op: "Post", URL: "https://x", Err: refusal}:      refusal,
		fmt.Errorf("%w: %w", context.Canceled, io.ErrUnexpectedEOF): context.Canceled,
	}
	for _, err := range append(slices.Clone(sentinels), append(zeroErrors, refusal)...) {
		causes[err] = err
	}
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	network := []error{context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded, reset, new(net.DNSError)}
	for _, err := range network {
		causes[&url.Error{Op: "Post", URL: "https://x", Err: err}] = err
	}
	causes[reset] = syscall.ECONNRESET
	network = append(network, syscall.ECONNRESET)
	var seen []string
	for _, zero := range zeroErrors {
		for i := range reflect.TypeOf(zero).Elem().NumField() {
			if reflect.TypeOf(zero).Elem().Field(i).Type != reflect.TypeFor[error]() {
				continue
			}
			name := reflect.TypeOf(zero).Elem().Name()
			seen = append(seen, name)
			for cause, target := range causes {
				err := reflect.New(reflect.TypeOf(zero).Elem())
				err.Elem().Field(i).Set(reflect.ValueOf(cause))
				want := slices.Contains(deciding, name) || slices.Contains(network, target)
				assert.Equal(t, want, errors.Is(err.Interface().(error), target), "%T in %T in a %s", target, cause, name)
			}
		}
	}
	assert.ElementsMatch(t, append(deciding, "OutcomeUnknownError"), seen)
}

func TestErrorTextHasTheAdviceForItsStatus(t *testing.T) {
	for _, tc := range []struct {
		op     hotelstays.Operation
		status int
		body   string
		advice string
	}{
		{hotelstays.OpDestinations, 403, "<html>", "check proxies and firewalls on the way"},
		{hotelstays.OpDestinations, 413, "", "check proxies and firewalls on the way"},
		{hotelstays.OpCheckAvail, 400, "<html>", "check proxies and firewalls on the way"},
		{hotelstays.OpDestinations, 401, `{"code":100000401}`, "use a new token: give it to WithCredential"},
		{hotelstays.OpDestinations, 307, "", "check the base URL: it must lead to the service without a redirect"},
		{hotelstays.OpDestinations, 404, "<html>", "check the base URL"},
		{hotelstays.OpDestinations, 404, `{"code":100000404,"msg":"gone"}`, "if the message does not help"},
		{hotelstays.OpOrderVoucher, 404, "<html>", "check the base URL"},
		{hotelstays.OpOrderVoucher, 404, `{"code":100000404}`, "check the reference"},
		{hotelstays.OpBook, 400, `{"code":100000400}`, "if the session has expired, search again"},
		{hotelstays.OpCheckAvail, 200, "<html>", "check the base URL, and proxies on the way"},
		{hotelstays.OpCheckAvail, 200, "", "the body is empty"},
		{hotelstays.OpCheckAvail, 200, `{"code":0}`, "; report this to the supplier with the request id"},
	} {
		err := operationCalls[tc.op](t.Context(), clientThrough(t, answering(tc.status, tc.body)))
		assert.ErrorContains(t, err, tc.advice, "%s: HTTP %d", tc.op, tc.status)
	}
	for _, op := range []hotelstays.Operation{hotelstays.OpDestinations, hotelstays.OpCancel} {
		err := operationCalls[op](t.Context(), clientThrough(t, answering(400, `{"code":100000400}`)))
		assert.NotContains(t, err.Error(), "search again", op)
	}
	err := operationCalls[hotelstays.OpOAuthToken](t.Context(), clientThrough(t, answering(403, `{"error":"invalid_scope"}`)))
	assert.NotContains(t, err.Error(), "proxies")
	assert.NotContains(t, err.Error(), "WithMarket")
}

// pipes returns a transport. On each of its connections, serve runs after one request has been read.
func pipes(serve func(net.Conn)) *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			if _, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
				serve(server)
			}
		}()
		return client, nil
	}}
}

// The error says where a call broke off. A bare "EOF" does not tell whether the network, a proxy or the
// service has failed.
func TestErrorNamesTheStepInWhichACallFailed(t *testing.T) {
	const half = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"code\":"
	stall := func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }
	says := func(text string) func(net.Conn) {
		return func(conn net.Conn) { _, _ = io.WriteString(conn, text) }
	}
	unanswered := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	unresolved := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "host.example", IsNotFound: true}}
	}}
	proxied := pipes(says("HTTP/1.1 403 Forbidden\r\n\r\n"))
	proxied.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})
	for name, row := range map[string]struct {
		rt   *http.Transport
		text string
		sent bool
	}{
		"the dial hangs": {unanswered, "CheckAvail: no connection: the call's own time limit of 1s passed: context deadline exceeded (nothing",
			false},
		"an unknown host":         {unresolved, "CheckAvail: no connection: dial tcp: lookup host.example: no such host (nothing", false},
		"the proxy refuses":       {proxied, "CheckAvail: no connection: Forbidden (nothing", false},
		"the TLS handshake fails": {pipes(nil), "CheckAvail: no connection: EOF (nothing", false},
		"no answer comes": {pipes(stall),
			"CheckAvail: the call's own time limit of 1s passed: context deadline exceeded (sent, but no complete answer",
			true},
		"the connection closes before the answer": {pipes(says("")),
			"CheckAvail: the connection was closed before an answer came: EOF (sent, but no complete answer",
			true},
		"only half of the answer comes": {pipes(func(c net.Conn) { says(half)(c); stall(c) }),
			"CheckAvail: the answer (HTTP 200) broke off after 8 bytes: the call's own time limit of 1s passed: " +
				"context deadline exceeded (sent, but no complete", true},
		"the connection closes in the answer": {pipes(says(half)),
			"CheckAvail: the answer (HTTP 200) broke off after 8 bytes: unexpected EOF (sent, but no complete",
			true},
	} {
		synctest.Test(t, func(t *testing.T) {
			base := "http://127.0.0.1:1"
			if !row.sent {
				base = "https://127.0.0.1:1"
			}
			client := clientAt(t, base, bearerToken("token"), row.rt, hotelstays.WithMaxAttempts(1), hotelstays.WithTimeout(time.Second))
			err := operationCalls[hotelstays.OpCheckAvail](t.Context(), client)
			require.ErrorContains(t, err, row.text, name)
			assert.Equal(t, !row.sent, strings.Contains(err.Error(), "check the base URL"), name)
			assert.Equal(t, name == "an unknown host", strings.Contains(err.Error(), "mocked http.Client"), name)
		})
	}
}

// The Timeout of the caller's http.Client is a deadline of each attempt. Its error is a time-out, not a cancellation.
func TestTimeoutOfTheHTTPClientIsADeadline(t *testing.T) {
	for range 20 { // 20 runs, because either of two timers of net/http may end the attempt
		synctest.Test(t, func(t *testing.T) {
			rt := pipes(func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
			client, err := hotelstays.New("http://127.0.0.1:1", bearerToken("token"),
				hotelstays.WithHTTPClient(&http.Client{Transport: rt, Timeout: time.Second}))
			require.NoError(t, err)
			start := time.Now()
			err = operationCalls[hotelstays.OpBook](t.Context(), client)
			require.ErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorContains(t, err, "the http.Client's Timeout passed: context deadline exceeded")
			assert.Equal(t, time.Second, time.Since(start))
		})
	}
	err := operationCalls[hotelstays.OpBook](t.Context(), clientThrough(t, failing(context.DeadlineExceeded)))
	assert.NotContains(t, err.Error(), "Timeout", "a deadline of the RoundTripper itself")
}

func TestPackageDocListsEachErrorKindOnce(t *testing.T) {
	statuses := map[string]int{}
	for kind, row := range manualKinds(t) {
		statuses[kind] = row.status
		assert.Equal(t, row.status, hotelstays.ErrorKind(kind).HTTPStatus(), kind)
	}
	for _, match := range inSource(t, `\n\tKind\w+ +ErrorKind = "(\w+)"`) {
		assert.Contains(t, statuses, match[1])
	}
	assert.Equal(t, http.StatusOK, hotelstays.KindOf(nil).HTTPStatus())
	assert.Equal(t, http.StatusInternalServerError, hotelstays.ErrorKind("a_new_kind").HTTPStatus())
}

type manualKind struct {
	status int
	again  string // the column "again": yes, no or ask
}

func manualKinds(t *testing.T) map[string]manualKind {
	page, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	kinds := map[string]manualKind{}
	for _, row := range regexp.MustCompile(`\n//\t([a-z_, ]+?) +(\d{3})  (yes|no|ask) +\S`).FindAllStringSubmatch(string(page), -1) {
		for kind := range strings.SplitSeq(row[1], ", ") {
			assert.NotContains(t, kinds, kind)
			status, _ := strconv.Atoi(row[2])
			kinds[kind] = manualKind{status, row[3]}
		}
	}
	require.NotEmpty(t, kinds)
	return kinds
}

// An error escapes the texts of the service, because line breaks or escape codes in a text could forge lines of a log.
func TestErrorsQuoteTextsOfTheService(t *testing.T) {
	const evil = "1\nlevel=ERROR\x1b[2J\u009b\u202e"
	text, err := json.Marshal(evil)
	require.NoError(t, err)
	save := func(c *hotelstays.Client) error {
		_, err := c.SaveVoucher(t.Context(), voucherRef, filepath.Join(t.TempDir(), "v"))
		return err
	}
	for body, call := range map[string]func(*hotelstays.Client) error{
		`{"code":0,"data":{"hotelOrder":{"platformReferenceNo":` + string(text) +
			`,"customerReferenceNo":"ref-1","status":1,"checkIn":"2030-01-01"}}}`: func(c *hotelstays.Client) error {
			_, err := c.Book(t.Context(), book(func(r *bookReq) { r.Expect = &types.RoomRatePkg{CheckIn: "2030-05-01"} }))
			return err
		},
		`{"code":0,"data":{"orders":[],` + string(text[:len(text)-1]) + `more":1}}`: func(c *hotelstays.Client) error {
			_, err := c.FindOrder(t.Context(), "ref-1")
			return err
		},
		voucherAnswer(evil, nil): save,
		voucherAnswer(types.VoucherGenerated, &types.Voucher{VoucherNumber: evil, ByteSize: 5}): save,
		`{"code":8,"msg":` + string(text) + `}`:                                                 save,
		`{"code":0,"data":` + string(text) + `}`:                                                save,
	} {
		err := call(clientThrough(t, saying(body)))
		require.Error(t, err, body)
		assert.Equal(t, -1, strings.IndexFunc(err.Error(), func(r rune) bool { return !strconv.IsPrint(r) }), "%s: %q", body, err)
	}
}

var zeroErrors = []error{&hotelstays.APIError{}, &hotelstays.TransportError{}, &hotelstays.DecodeError{}, &hotelstays.PageError{},
	&hotelstays.OutcomeUnknownError{}, &hotelstays.ValidationError{}, &hotelstays.VoucherError{}, &hotelstays.WebhookError{},
	&hotelstays.ReferenceReusedError{}, &hotelstays.BatchError{}, &hotelstays.OrderNotFoundError{},
	&hotelstays.AmbiguousReferenceError{}}

// slog writes each error type as a group of attributes. All attributes of the group belong to the same request.
func TestErrorsHaveTheAttributesOfLogLines(t *testing.T) {
	refused := &hotelstays.APIError{Operation: hotelstays.OpBook, HTTPStatus: 400, Code: types.CodeRateChanged,
		RequestID: "id-1", TraceID: "trace-1"}
	token := &hotelstays.APIError{Operation: hotelstays.OpTicket, HTTPStatus: 401, Code: types.CodeUnauthorized,
		RequestID: "id-2", TraceID: "trace-2"}
	late := &hotelstays.TransportError{Operation: hotelstays.OpBook, RequestID: "id-1", TraceID: "trace-1", Err: context.DeadlineExceeded}
	seen := map[string]bool{}
	for _, row := range []struct {
		err  error
		want map[string]any
	}{
		{refused, map[string]any{"kind": "rate_changed", "operation": "Book", "status": 400., "code": 100001111.,
			"request_id": "id-1", "trace_id": "trace-1"}},
		{late, map[string]any{"kind": "timeout", "operation": "Book", "request_id": "id-1", "trace_id": "trace-1"}},
		{&hotelstays.TransportError{Operation: hotelstays.OpBook, NoToken: true, TraceID: "trace-1", Err: token},
			map[string]any{"kind": "unauthorized", "operation": "Book", "status": 401., "code": 100000401.,
				"request_id": "id-2", "trace_id": "trace-1",
				"no_token": true}},
		{&hotelstays.DecodeError{Operation: hotelstays.OpBook, HTTPStatus: 200, RequestID: "id-1", TraceID: "trace-1"},
			map[string]any{"kind": "unreadable_answer", "operation": "Book", "status": 200., "request_id": "id-1", "trace_id": "trace-1"}},
		{&hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, CustomerReferenceNo: "ref-1", RequestID: "id-1",
			Err: errors.Join(late, token)},
			map[string]any{"kind": "outcome_unknown", "operation": "Book", "reference": "ref-1", "request_id": "id-1", "trace_id": "trace-1"}},
		{&hotelstays.ValidationError{Func: "New"}, map[string]any{"kind": "validation", "operation": "New"}},
		{&hotelstays.ReferenceReusedError{Order: &types.Order{CustomerReferenceNo: "ref-1"}},
			map[string]any{"kind": "reference_reused", "operation": "Book", "reference": "ref-1"}},
		{&hotelstays.PageError{Operation: hotelstays.OpHotelList, RequestID: "id-1"},
			map[string]any{"kind": "incomplete_listing", "operation": "HotelList", "request_id": "id-1"}},
		{&hotelstays.BatchError{Err: fmt.Errorf("own: %w", refused)},
			map[string]any{"kind": "batch", "operation": "Book", "status": 400., "code": 100001111., "request_id": "id-1", "trace_id": "trace-1"}},
		{&hotelstays.OrderNotFoundError{CustomerReferenceNo: "ref-1"}, map[string]any{"kind": "not_found", "reference": "ref-1"}},
		{&hotelstays.AmbiguousReferenceError{CustomerReferenceNo: "ref-1"}, map[string]any{"kind": "ambiguous_reference", "reference": "ref-1"}},
		{&hotelstays.VoucherError{Reference: "ref-1", Err: hotelstays.ErrNoVoucher}, map[string]any{"kind": "no_voucher", "reference": "ref-1"}},
		{&hotelstays.WebhookError{Err: hotelstays.ErrWebhookTime}, map[string]any{"kind": "webhook"}},
	} {
		row.want["error"] = row.err.Error()
		var jsonLine, textLine bytes.Buffer
		slog.New(slog.NewJSONHandler(&jsonLine, nil)).Info("m", slog.Any("err", row.err))
		var line struct{ Err map[string]any }
		require.NoError(t, json.Unmarshal(jsonLine.Bytes(), &line))
		assert.Equal(t, row.want, line.Err)
		slog.New(slog.NewTextHandler(&textLine, nil)).Info("m", slog.Any("err", row.err))
		for name := range row.want {
			assert.Contains(t, textLine.String(), " err."+name+"=")
		}
		id, _ := row.want["request_id"].(string)
		assert.Equal(t, id, hotelstays.RequestIDOf(fmt.Errorf("own: %w", errors.Join(errors.New("other"), row.err))))
		seen[strings.TrimPrefix(fmt.Sprintf("%T", row.err), "*hotelstays.")] = true
	}
	assert.ElementsMatch(t, errorTypes(t), slices.Collect(maps.Keys(seen)))
	assert.Empty(t, hotelstays.RequestIDOf(errors.New("other")))
	assert.Empty(t, hotelstays.RequestIDOf(nil))
}

// If errors wrap each other, an unknown outcome decides the kind. Without an unknown outcome, the end of a ctx decides, and
// otherwise the outermost error.
func TestEachErrorHasItsKind(t *testing.T) {
	cause := errors.New("cause")
	api := func(op hotelstays.Operation, status, code int) error {
		return &hotelstays.APIError{Operation: op, HTTPStatus: status, Code: code, Msg: "invalid_scope"}
	}
	noAnswer := func(err error) error { return &hotelstays.TransportError{Operation: hotelstays.OpBook, Err: err} }
	noToken := func(err error) error {
		return &hotelstays.TransportError{Operation: hotelstays.OpBook, NoToken: true, Err: err}
	}
	unknown := func(err error) error { return &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, Err: err} }
	rows := []struct {
		kind hotelstays.ErrorKind
		err  error
	}{
		{"", nil},
		{hotelstays.KindOther, cause},
		{hotelstays.KindOutcomeUnknown, unknown(noAnswer(context.Canceled))},
		{hotelstays.KindOutcomeUnknown, unknown(api(hotelstays.OpBook, 504, 0))},
		{hotelstays.KindOutcomeUnknown, unknown(noToken(api(hotelstays.OpTicket, 401, 0)))},
		{hotelstays.KindOutcomeUnknown, fmt.Errorf("booking: %w", unknown(cause))},
		{hotelstays.KindOutcomeUnknown, errors.Join(context.Canceled, api(hotelstays.OpBook, 403, 0), unknown(cause))},
		{hotelstays.KindUnauthorized, noToken(api(hotelstays.OpTicket, 401, 0))},
		{hotelstays.KindRateLimited, noToken(api(hotelstays.OpTicket, 429, 0))},
		{hotelstays.KindTimeout, noToken(noAnswer(context.DeadlineExceeded))},
		{hotelstays.KindDecode, noToken(&hotelstays.DecodeError{Operation: hotelstays.OpTicket, Err: cause})},
		{hotelstays.KindTransport, noToken(cause)},
		{hotelstays.KindTransport, noAnswer(cause)},
		{hotelstays.KindCanceled, noAnswer(context.Canceled)},
		{hotelstays.KindCanceled, &hotelstays.BatchError{Err: noAnswer(context.Canceled)}},
		{hotelstays.KindCanceled, context.Canceled},
		{hotelstays.KindTimeout, noAnswer(fmt.Errorf("waiting: %w", context.DeadlineExceeded))},
		{hotelstays.KindTimeout, noAnswer(fmt.Errorf("%w before another attempt; the last attempt failed: %w", context.DeadlineExceeded,
			api(hotelstays.OpQueryOrders, 503, 0)))},
		{hotelstays.KindRateLimited, noAnswer(fmt.Errorf("%w: %w", hotelstays.ErrRateLimited, ratelimit.ErrPaused))},
		{hotelstays.KindTimeout, &hotelstays.VoucherError{Err: context.DeadlineExceeded}},
		{hotelstays.KindValidation, &hotelstays.ValidationError{}},
		{hotelstays.KindDecode, &hotelstays.DecodeError{Err: cause}},
		{hotelstays.KindReferenceReused, &hotelstays.ReferenceReusedError{}},
		{hotelstays.KindPage, &hotelstays.PageError{}},
		{hotelstays.KindBatch, &hotelstays.BatchError{Err: &hotelstays.PageError{}}},
		{hotelstays.KindBatch, &hotelstays.BatchError{Err: api(hotelstays.OpHotelList, 429, 0)}},
		{hotelstays.KindVoucher, &hotelstays.VoucherError{Err: hotelstays.ErrVoucherAltered}},
		{hotelstays.KindNoVoucher, &hotelstays.VoucherError{Err: hotelstays.ErrNoVoucher}},
		{hotelstays.KindVoucherNotReady, &hotelstays.VoucherError{Err: hotelstays.ErrVoucherNotReady}},
		{hotelstays.KindWebhook, &hotelstays.WebhookError{Err: hotelstays.ErrWebhookTime}},
		{hotelstays.KindNotFound, &hotelstays.OrderNotFoundError{}},
		{hotelstays.KindAmbiguousReference, &hotelstays.AmbiguousReferenceError{}},
		{hotelstays.KindNotFound, fmt.Errorf("own: %w", hotelstays.ErrNotFound)},
		{hotelstays.KindUnexpected, api(hotelstays.OpQueryOrders, 404, 0)},
		{hotelstays.KindRefused, api(hotelstays.OpQueryOrders, 404, 7)},
		{hotelstays.KindRefused, api(hotelstays.OpBook, 200, 100001200)},
		{hotelstays.KindInvalidScope, api(hotelstays.OpOAuthToken, 400, 0)},
		{hotelstays.KindProxyAuth, api(hotelstays.OpQueryOrders, 407, 0)},
		{hotelstays.KindServerError, api(hotelstays.OpQueryOrders, 503, 0)},
		{hotelstays.KindUnexpected, api(hotelstays.OpQueryOrders, 307, 0)},
		{hotelstays.KindTransport, noAnswer(&tls.CertificateVerificationError{Err: cause})},
		{hotelstays.KindProxyAuth, noAnswer(hotelstays.ErrProxyAuth)},
		{hotelstays.KindUpstreamTimeout, api(hotelstays.OpHotelList, 504, 0)},
		{hotelstays.KindServerError, noToken(api(hotelstays.OpTicket, 502, 0))},
		{hotelstays.KindVoucher, &hotelstays.VoucherError{Err: cause, Detail: "HTTP 503; try again later"}},
	}
	retry := regexp.MustCompile(`safe to call again|call again after|try again later|wait, or send less|there is no document yet`)
	typesSeen, manual, again := map[string]bool{}, manualKinds(t), map[string]string{}
	for _, row := range rows {
		assert.Equal(t, row.kind, hotelstays.KindOf(row.err), "%v", row.err)
		if row.err != nil {
			assert.NotEmpty(t, row.err.Error(), "%T", row.err)
		}
		assert.Equal(t, row.err != nil && retry.MatchString(row.err.Error()), hotelstays.Retryable(row.err), "%v", row.err)
		typesSeen[strings.TrimPrefix(fmt.Sprintf("%T", row.err), "*hotelstays.")] = true
		if _, own := row.err.(slog.LogValuer); !own { // doc.go has the column "again" only for the package's own errors
			continue
		}
		kind, word := string(row.kind), map[bool]string{true: "yes", false: "no"}[hotelstays.Retryable(row.err)]
		if seen, ok := again[kind]; ok && seen != word {
			word = "ask"
		}
		again[kind] = word
	}
	for kind, word := range again {
		assert.Equal(t, manual[kind].again, word, kind)
	}
	for _, name := range errorTypes(t) {
		assert.True(t, typesSeen[name], "%s is not in the table", name)
	}
}

// No kind is superfluous: each kind is the kind of a sentinel, of an error type, of the end of a ctx, or of all other errors.
func TestEachSentinelHasItsKind(t *testing.T) {
	var kinds []hotelstays.ErrorKind
	for _, match := range inSource(t, `\n\tKind\w+ +ErrorKind = "(\w+)"`) {
		kinds = append(kinds, hotelstays.ErrorKind(match[1]))
	}
	var names []string
	for _, match := range inSource(t, `\n\tErr([A-Z]\w*) += (?:sentinelOf\(Kind(\w+)|newSentinel)`) {
		names = append(names, match[1])
		assert.Contains(t, []string{match[1], ""}, match[2], "the sentinel has the name of its kind")
	}
	assert.Len(t, names, len(sentinels), "the list sentinels is complete")
	manual := manualKinds(t)
	for _, sentinel := range sentinels {
		if again := manual[string(hotelstays.KindOf(sentinel))].again; again != "ask" {
			assert.Equal(t, again == "yes", hotelstays.Retryable(sentinel), sentinel)
		}
	}
	for _, err := range slices.Concat(sentinels, zeroErrors, []error{context.Canceled, context.DeadlineExceeded, errors.New("other"),
		&hotelstays.APIError{HTTPStatus: 500}, &hotelstays.APIError{HTTPStatus: 200, Code: 7}}) {
		kinds = slices.DeleteFunc(kinds, func(kind hotelstays.ErrorKind) bool { return kind == hotelstays.KindOf(err) })
	}
	assert.Empty(t, kinds)
	assert.True(t, hotelstays.Retryable(hotelstays.ErrNotSent))
	assert.False(t, hotelstays.Retryable(hotelstays.ErrVoucherAltered))
}

func TestEachDocumentedCodeHasASentinelAndANextStep(t *testing.T) {
	source, err := os.ReadFile("types/codes.go")
	require.NoError(t, err)
	codes := regexp.MustCompile(`(Code\w+) += (\d+)`).FindAllStringSubmatch(string(source), -1)
	require.NotEmpty(t, codes)
	for _, code := range codes {
		number, err := strconv.Atoi(code[2])
		require.NoError(t, err)
		refusal := func(op hotelstays.Operation) error {
			return &hotelstays.APIError{Operation: op, HTTPStatus: http.StatusOK, Code: number}
		}
		ops := slices.DeleteFunc(slices.Collect(maps.Keys(operationCalls)), func(op hotelstays.Operation) bool {
			return len(matchedSentinels(refusal(op))) != 1
		})
		if assert.NotEmpty(t, ops, "%s has no row in errors.go", code[1]) {
			assert.Contains(t, refusal(ops[0]).Error(), "; ", "the row of %s has no next step", code[1])
		}
	}
}

func errorTypes(t *testing.T) (names []string) {
	for _, match := range inSource(t, `func \(\w* ?\*([A-Z]\w*)\) Error\(\) string`) {
		names = append(names, match[1])
	}
	require.GreaterOrEqual(t, len(names), 11)
	return names
}

func inSource(t *testing.T, pattern string) (matches [][]string) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		matches = append(matches, regexp.MustCompile(pattern).FindAllStringSubmatch(string(source), -1)...)
	}
	return matches
}

func TestErrorNamesTheTokenRequestThatFailsAfterA401(t *testing.T) {
	tickets := 0
	cred := hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret("secret")}
	client := clientWith(t, transportFunc(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "ticket") {
			return reply(401, `{"code":100000401,"msg":"ended"}`), nil
		}
		if tickets++; tickets == 1 {
			return reply(200, `{"code":0,"data":{"ticket":"ticket-1"}}`), nil
		}
		return reply(401, `{"code":100000401,"msg":"key suspended"}`), nil
	}), cred)
	err := operationCalls[hotelstays.OpQueryOrders](t.Context(), client)
	require.ErrorContains(t, err, "hotelstays: QueryOrders: not sent, no token: Ticket: credential refused")
	assert.Equal(t, 1, strings.Count(err.Error(), "check that the credential"))
	assert.NotContains(t, err.Error(), "safe to call again")
}
