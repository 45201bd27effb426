// Proves what becomes of answers that are not as expected: the typed error, what
// it keeps, which conditions it matches, and which answers to Book and Cancel
// leave no doubt about the outcome.

package hotelstays_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// decodeAnswer is a RoundTripper that answers everything alike. It echoes the
// Request-Id, as the service does.
type decodeAnswer struct {
	status int
	body   string
	header map[string]string
	// announced sets Content-Length.
	announced bool
	// cut ends the body with an error in place of its end.
	cut error

	sent []*http.Request
}

func (a *decodeAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	a.sent = append(a.sent, r)
	resp := &http.Response{StatusCode: a.status, Header: http.Header{}, Request: r, ContentLength: -1}
	resp.Header.Set("Request-Id", r.Header.Get("Request-Id"))
	for name, value := range a.header {
		resp.Header.Set(name, value)
	}
	body := io.Reader(strings.NewReader(a.body))
	if a.cut != nil {
		body = io.MultiReader(body, decodeCut{a.cut})
	}
	if a.announced {
		resp.ContentLength = int64(len(a.body))
	}
	resp.Body = io.NopCloser(body)
	return resp, nil
}

func (a *decodeAnswer) requestID(t *testing.T) string {
	t.Helper()
	require.Len(t, a.sent, 1, "nothing is sent again")
	return a.sent[0].Header.Get("Request-Id")
}

type decodeCut struct{ err error }

func (c decodeCut) Read([]byte) (int, error) { return 0, c.err }

func decodeClient(t *testing.T, rt http.RoundTripper, options ...hotelstays.Option) *hotelstays.Client {
	t.Helper()
	options = append([]hotelstays.Option{hotelstays.WithHTTPClient(&http.Client{Transport: rt}), hotelstays.WithMaxAttempts(1)}, options...)
	c, err := hotelstays.New("https://api.example.test", hotelstays.TokenCredential{Token: types.NewSecret("token-0001")}, options...)
	require.NoError(t, err)
	return c
}

// The two operations that act, and a read, each with a good request.

func decodeBook(t *testing.T, c *hotelstays.Client) (*hotelstays.BookResponse, error) {
	return c.Book(t.Context(), &hotelstays.BookRequest{SessionID: "s", CustomerReferenceNo: "ref-1", RatePkgID: "pkg",
		Holder: types.Holder{FirstName: "Guest", LastName: "One"}, Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}}},
		hotelstays.WithTraceID("trace-1"))
}

func decodeCancel(t *testing.T, c *hotelstays.Client) (*hotelstays.CancelResponse, error) {
	return c.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "ref-1", SupplierReferenceNo: "sup-1"},
		hotelstays.WithTraceID("trace-1"))
}

func decodeRead(t *testing.T, c *hotelstays.Client) (*hotelstays.CheckAvailResponse, error) {
	return c.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "pkg"}, hotelstays.WithTraceID("trace-1"))
}

const decodePage = "<html><head><title>Forbidden</title></head><body>Blocked by a proxy.</body></html>"

// decodeKind is what an answer counts as.
type decodeKind string

const (
	isAPI    decodeKind = "*APIError"
	isDecode decodeKind = "*DecodeError"
)

// The operations of which an answer is a definite refusal.
const (
	definite  = "Book, Cancel"
	ofBook    = "Book"
	uncertain = ""
)

func TestDecodeUnexpectedAnswers(t *testing.T) {
	rows := []struct {
		name   string
		status int
		body   string
		kind   decodeKind
		code   int
		// definite names the operations that return the error as it is, of Book and
		// Cancel. Else they return an *OutcomeUnknownError around it.
		definite string
	}{
		{"a page with 200", 200, decodePage, isDecode, 0, uncertain},
		{"a page with 400", 400, decodePage, isAPI, 0, uncertain},
		{"a page with 401", 401, decodePage, isAPI, 0, uncertain},
		{"a page with 403", 403, decodePage, isAPI, 0, uncertain},
		{"a page with 404", 404, decodePage, isAPI, 0, uncertain},
		{"a page with 429", 429, decodePage, isAPI, 0, uncertain},
		{"a page with 502", 502, decodePage, isAPI, 0, uncertain},
		{"nothing with 200", 200, "", isDecode, 0, uncertain},
		{"nothing with 204", 204, "", isDecode, 0, uncertain},
		{"nothing with 403", 403, "", isAPI, 0, uncertain},
		{"nothing with 500", 500, "", isAPI, 0, uncertain},
		{"spaces", 200, " \r\n ", isDecode, 0, uncertain},
		{"{} with 200", 200, `{}`, isDecode, 0, uncertain},
		{"{} with 400", 400, `{}`, isAPI, 0, uncertain},
		{"[]", 200, `[]`, isDecode, 0, uncertain},
		{"null", 200, `null`, isDecode, 0, uncertain},
		{"a text", 200, `"ok"`, isDecode, 0, uncertain},
		{"a number", 200, `0`, isDecode, 0, uncertain},
		{"half an answer", 200, `{"code":0,"msg":"success","data":{"hotelOrder":{"status":1`, isDecode, 0, uncertain},
		{"half a refusal", 400, `{"code":100000400,"msg":"para`, isAPI, 0, uncertain},
		{"two answers", 200, `{"code":0,"data":{}}{"code":0,"data":{}}`, isDecode, 0, uncertain},

		{"no code", 200, `{"msg":"success","data":{"hotelOrder":{}}}`, isDecode, 0, uncertain},
		{"code null", 200, `{"code":null,"data":{"hotelOrder":{}}}`, isDecode, 0, uncertain},
		{`code "0"`, 200, `{"code":"0","data":{"hotelOrder":{}}}`, isDecode, 0, uncertain},
		{`code "0" around an odd order`, 200, `{"code":"0","data":{"hotelOrder":{"status":"x"},"status":"x"}}`, isDecode, 0, uncertain},
		{`code "100001111"`, 200, `{"code":"100001111","msg":"m"}`, isDecode, 0, uncertain},
		{`code "100001111" around an odd order`, 200, `{"code":"100001111","data":{"hotelOrder":{"status":"x"},"status":"x"}}`, isDecode, 0, uncertain},
		{`code "100000400" with 400`, 400, `{"code":"100000400","msg":"m"}`, isAPI, 0, uncertain},
		{"code 0.5", 200, `{"code":0.5,"data":{"hotelOrder":{}}}`, isDecode, 0, uncertain},
		{"code true", 200, `{"code":true,"data":{"hotelOrder":{}}}`, isDecode, 0, uncertain},
		{"code of 30 digits", 200, `{"code":100000000000000000000000000000,"data":{"hotelOrder":{}}}`, isDecode, 0, uncertain},

		{"no data", 200, `{"code":0,"msg":"success"}`, isDecode, 0, uncertain},
		{"data null", 200, `{"code":0,"data":null}`, isDecode, 0, uncertain},
		{"data an array", 200, `{"code":0,"data":[]}`, isDecode, 0, uncertain},
		{"data a text", 200, `{"code":0,"data":"{}"}`, isDecode, 0, uncertain},
		{"data false", 200, `{"code":0,"data":false}`, isDecode, 0, uncertain},

		// a status that the document names for refusals, and any code
		{"400 and a code of any operation", 400, `{"code":100000400,"msg":"m"}`, isAPI, 100000400, definite},
		{"400 and an undocumented code", 400, `{"code":7,"msg":"m"}`, isAPI, 7, definite},
		{"401", 401, `{"code":100000401,"msg":"m"}`, isAPI, 100000401, definite},
		{"403", 403, `{"code":100000403,"msg":"m"}`, isAPI, 100000403, definite},
		{"404", 404, `{"code":100000404,"msg":"m"}`, isAPI, 100000404, definite},
		{"404 and a negative code", 404, `{"code":-1,"msg":"m"}`, isAPI, -1, definite},
		{"429", 429, `{"code":100000429,"msg":"m"}`, isAPI, 100000429, definite},
		// a code that the document lists for the operation, with any 2xx or 4xx
		{"rate changed with 200", 200, `{"code":100001111,"msg":"m"}`, isAPI, 100001111, ofBook},
		{"rate changed with 201", 201, `{"code":100001111,"msg":"m"}`, isAPI, 100001111, ofBook},
		{"rate changed with 408", 408, `{"code":100001111,"msg":"m"}`, isAPI, 100001111, ofBook},
		{"rate changed, data null", 200, `{"code":100001111,"msg":"m","data":null}`, isAPI, 100001111, ofBook},
		{"rate changed, data odd", 200, `{"code":100001111,"msg":"m","data":[1,{"status":"x"}]}`, isAPI, 100001111, ofBook},
		{"rate changed, msg a number", 200, `{"code":100001111,"msg":5}`, isAPI, 100001111, ofBook},
		{"rate changed without msg", 200, `{"code":100001111}`, isAPI, 100001111, ofBook},
		{"duplicate with 409", 409, `{"code":100001003,"msg":"m"}`, isAPI, 100001003, ofBook},
		{"parameter with 200", 200, `{"code":100000400,"msg":"m"}`, isAPI, 100000400, ofBook},
		{"rate limit with 200", 200, `{"code":100000429,"msg":"m"}`, isAPI, 100000429, definite},
		// a code of other operations, or none that is documented
		{"credential with 200", 200, `{"code":100000401,"msg":"m"}`, isAPI, 100000401, uncertain},
		{"not found with 200", 200, `{"code":100000404,"msg":"m"}`, isAPI, 100000404, uncertain},
		{"credit limit with 200", 200, `{"code":100001112,"msg":"m"}`, isAPI, 100001112, uncertain},
		{"an undocumented code with 200", 200, `{"code":7,"msg":"m"}`, isAPI, 7, uncertain},
		{"an undocumented code with 202", 202, `{"code":7,"msg":"m"}`, isAPI, 7, uncertain},
		{"an undocumented code with 408", 408, `{"code":7,"msg":"m"}`, isAPI, 7, uncertain},
		{"an undocumented code with 409", 409, `{"code":7,"msg":"m"}`, isAPI, 7, uncertain},
		{"a negative code with 200", 200, `{"code":-1,"msg":"m"}`, isAPI, -1, uncertain},

		{"a code with 500", 500, `{"code":7,"msg":"m"}`, isAPI, 7, uncertain},
		{"rate changed with 500", 500, `{"code":100001111,"msg":"m"}`, isAPI, 100001111, uncertain},
		{"rate limit with 302", 302, `{"code":100000429,"msg":"m"}`, isAPI, 100000429, uncertain},
		{"a code with 502", 502, `{"code":7,"msg":"m"}`, isAPI, 7, uncertain},
		{"a code with 503", 503, `{"code":7,"msg":"m"}`, isAPI, 7, uncertain},
		{"a code with 504", 504, `{"code":7,"msg":"m"}`, isAPI, 7, uncertain},
		{"a code with 302", 302, `{"code":7,"msg":"m"}`, isAPI, 7, uncertain},
		{"success with 302", 302, `{"code":0,"msg":"success","data":{"hotelOrder":{}}}`, isAPI, 0, uncertain},
		{"success with 400", 400, `{"code":0,"msg":"success","data":{"hotelOrder":{}}}`, isAPI, 0, uncertain},
		{"success with 500", 500, `{"code":0,"msg":"success","data":{"hotelOrder":{}}}`, isAPI, 0, uncertain},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			// check looks at the error of the exchange.
			check := func(t *testing.T, err error, op hotelstays.Operation, id string) {
				switch row.kind {
				case isAPI:
					api, ok := err.(*hotelstays.APIError)
					require.True(t, ok, "%T %v", err, err)
					assert.Equal(t, []any{op, row.status, row.code, id, "trace-1"}, []any{api.Operation, api.HTTPStatus, api.Code, api.RequestID, api.TraceID})
					assert.Contains(t, err.Error(), fmt.Sprint("HTTP ", row.status))
				case isDecode:
					decode, ok := err.(*hotelstays.DecodeError)
					require.True(t, ok, "%T %v", err, err)
					assert.Equal(t, []any{op, row.status, id, "trace-1"}, []any{decode.Operation, decode.HTTPStatus, decode.RequestID, decode.TraceID})
				}
				assert.Contains(t, err.Error(), id)
				assert.NotContains(t, err.Error(), "invalid character", "no parser's own words")
			}
			acts := func(t *testing.T, err error, op hotelstays.Operation, id string) {
				if strings.Contains(row.definite, string(op)) {
					check(t, err, op, id)
					return
				}
				unknown, ok := err.(*hotelstays.OutcomeUnknownError)
				require.True(t, ok, "%T %v", err, err)
				assert.Equal(t, []any{op, "ref-1", id, "trace-1"}, []any{unknown.Operation, unknown.CustomerReferenceNo, unknown.RequestID, unknown.TraceID})
				assert.Contains(t, err.Error(), `"ref-1"`)
				check(t, unknown.Err, op, id)
			}

			t.Run("CheckAvail", func(t *testing.T) {
				answer := &decodeAnswer{status: row.status, body: row.body}
				resp, err := decodeRead(t, decodeClient(t, answer))
				assert.Nil(t, resp)
				check(t, err, hotelstays.OpCheckAvail, answer.requestID(t))
			})
			t.Run("Book", func(t *testing.T) {
				answer := &decodeAnswer{status: row.status, body: row.body}
				resp, err := decodeBook(t, decodeClient(t, answer))
				assert.Nil(t, resp)
				acts(t, err, hotelstays.OpBook, answer.requestID(t))
			})
			t.Run("Cancel", func(t *testing.T) {
				answer := &decodeAnswer{status: row.status, body: row.body}
				resp, err := decodeCancel(t, decodeClient(t, answer))
				assert.Nil(t, resp)
				acts(t, err, hotelstays.OpCancel, answer.requestID(t))
			})
		})
	}
}

// A booking without an order in it is not known to be one.
func TestDecodeBookWithoutOrder(t *testing.T) {
	for _, data := range []string{`{}`, `{"hotelOrder":null}`, `{"hotelOrder":[]}`, `{"hotelOrder":"plat-1"}`, `{"order":{"status":1}}`} {
		_, err := decodeBook(t, decodeClient(t, &decodeAnswer{status: 200, body: `{"code":0,"data":` + data + `}`}))
		var unknown *hotelstays.OutcomeUnknownError
		require.ErrorAs(t, err, &unknown, data)
		var decode *hotelstays.DecodeError
		require.ErrorAs(t, err, &decode, data)
		assert.Contains(t, decode.Err.Error(), "data.hotelOrder", data)
	}
}

// Tokens are required, too.
func TestDecodeTicketWithoutTicket(t *testing.T) {
	for _, data := range []string{`{}`, `{"ticket":null}`, `{"ticket":""}`, `{"ticket":7}`, `{"token":"x"}`} {
		c := decodeClient(t, &decodeAnswer{status: 200, body: `{"code":0,"data":` + data + `}`})
		resp, err := c.Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s")})
		assert.Nil(t, resp, data)
		var decode *hotelstays.DecodeError
		require.ErrorAs(t, err, &decode, data)
		assert.Contains(t, err.Error(), "data.ticket", data)
	}
}

// What may be left out of an answer, or be in it beyond the documentation.
func TestDecodeTolerates(t *testing.T) {
	for _, body := range []string{
		`{"code":0,"data":{}}`,
		`{"code":0,"msg":null,"data":{}}`,
		`{"code":0,"msg":"success","data":{"status":1,"roomRatePkg":null,"later":{"a":[1]}},"later":7}`,
		" \n{ \"data\" : { } , \"code\" : 0 }\n",
		`{"code":0,"data":{"status":9}}`,
	} {
		_, err := decodeRead(t, decodeClient(t, &decodeAnswer{status: 200, body: body}))
		assert.NoError(t, err, body)
	}
	resp, err := decodeRead(t, decodeClient(t, &decodeAnswer{status: 201, body: `{"code":0,"data":{"status":9}}`}))
	require.NoError(t, err)
	assert.Equal(t, types.AvailabilityStatus(9), resp.Status, "a value without a name is kept")
	assert.Equal(t, 201, resp.Meta.HTTPStatus)
}

// Of the operations whose lists are not said to be required, one may be left out.
func TestAnAbsentListIsEmpty(t *testing.T) {
	for _, op := range []hotelstays.Operation{hotelstays.OpDestinations, hotelstays.OpHotelsMetadata, hotelstays.OpHotelRates} {
		assert.NoError(t, operationCalls[op](t.Context(), clientThrough(t, saying(`{"code":0,"data":{}}`))), op)
	}
}

// Each state of a voucher is a value, one that is not documented included.
func TestVoucherStatuses(t *testing.T) {
	for _, status := range []types.VoucherStatus{types.VoucherGenerated, types.VoucherNotGenerated, types.VoucherPending, types.VoucherFailed, types.VoucherCancelled, "LATER"} {
		c := decodeClient(t, &decodeAnswer{status: 200, body: `{"code":0,"data":{"platformReferenceNo":"plat-1","status":"` + string(status) + `"}}`})
		resp, err := c.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{PlatformReferenceNo: "plat-1"})
		require.NoError(t, err, status)
		assert.Equal(t, status, resp.Status)
		assert.Nil(t, resp.Voucher)
	}
}

func TestDecodeKeepsAPieceOfThePage(t *testing.T) {
	_, err := decodeRead(t, decodeClient(t, &decodeAnswer{status: 403, body: decodePage}))
	var api *hotelstays.APIError
	require.ErrorAs(t, err, &api)
	assert.Equal(t, decodePage, api.Excerpt)
	assert.Contains(t, err.Error(), "Blocked by a proxy.")

	for _, long := range []string{strings.Repeat("x", 100_000), strings.Repeat("号", 50_000), strings.Repeat("\xff", 10_000)} {
		_, err = decodeRead(t, decodeClient(t, &decodeAnswer{status: 502, body: long}))
		require.ErrorAs(t, err, &api)
		assert.Less(t, len(api.Excerpt), 300)
		assert.True(t, utf8.ValidString(api.Excerpt))
		assert.Less(t, len(err.Error()), 4000)
	}
}

// The service's request id is the one that its logs hold.
func TestDecodeErrorNamesTheServicesRequestID(t *testing.T) {
	rt := &decodeAnswer{status: 400, body: `{"code":100000400,"msg":"pageSize"}`, header: map[string]string{"Request-Id": "service-1", "Retry-After": "7"}}
	_, err := decodeRead(t, decodeClient(t, rt))
	var api *hotelstays.APIError
	require.ErrorAs(t, err, &api)
	assert.Equal(t, &hotelstays.APIError{Operation: hotelstays.OpCheckAvail, HTTPStatus: 400, Code: 100000400, Msg: "pageSize",
		RequestID: "service-1", TraceID: "trace-1", RetryAfter: 7 * time.Second}, api)
	assert.EqualError(t, err, `hotelstays: CheckAvail: parameter refused (HTTP 400, code 100000400, "pageSize", retry after 7s), request id service-1; `+
		`correct the request: the same one will be refused again; search again if the session is refused`)
}

// Wherever a redirect leads, the body with its secrets stays here.
func TestDecodeRedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308} {
		for _, location := range []string{"https://other.example.test/x", "/api/search/checkAvail", "http://[::1", "%zz", ""} {
			rt := &decodeAnswer{status: status, body: "moved", header: map[string]string{"Location": location}}
			_, err := decodeRead(t, decodeClient(t, rt))
			var api *hotelstays.APIError
			require.ErrorAs(t, err, &api, "%d %q", status, location)
			assert.Equal(t, status, api.HTTPStatus)
			assert.Equal(t, rt.requestID(t), api.RequestID)

			rt = &decodeAnswer{status: status, body: "moved", header: map[string]string{"Location": location}}
			_, err = decodeBook(t, decodeClient(t, rt))
			var unknown *hotelstays.OutcomeUnknownError
			require.ErrorAs(t, err, &unknown, "%d %q", status, location)
			assert.Len(t, rt.sent, 1)
		}
	}
}

func TestDecodeBoundsTheAnswer(t *testing.T) {
	body := `{"code":0,"data":{"hotelOrder":{"status":1}}}`
	limit := int64(len(body))

	for _, announced := range []bool{true, false} {
		for _, status := range []int{200, 502} {
			t.Run(fmt.Sprintf("announced %t, status %d", announced, status), func(t *testing.T) {
				fits := &decodeAnswer{status: 200, body: body, announced: announced}
				_, err := decodeRead(t, decodeClient(t, fits, hotelstays.WithMaxResponseBytes(limit)))
				require.NoError(t, err, "an answer of exactly the limit")

				large := &decodeAnswer{status: status, body: body, announced: announced}
				_, err = decodeRead(t, decodeClient(t, large, hotelstays.WithMaxResponseBytes(limit-1)))
				var decode *hotelstays.DecodeError
				require.ErrorAs(t, err, &decode)
				assert.Contains(t, err.Error(), "limit of response bytes")
				assert.Equal(t, large.requestID(t), decode.RequestID)
				assert.Equal(t, status, decode.HTTPStatus, "the status is known")

				large = &decodeAnswer{status: status, body: body, announced: announced}
				_, err = decodeBook(t, decodeClient(t, large, hotelstays.WithMaxResponseBytes(limit-1)))
				var unknown *hotelstays.OutcomeUnknownError
				require.ErrorAs(t, err, &unknown)
				assert.Equal(t, "ref-1", unknown.CustomerReferenceNo)
				assert.Len(t, large.sent, 1)
			})
		}
	}
}

// An answer that breaks off, and no answer at all.
func TestDecodeNoAnswer(t *testing.T) {
	cut := &decodeAnswer{status: 200, body: `{"code":0,"data":{`, cut: io.ErrUnexpectedEOF}
	_, err := decodeRead(t, decodeClient(t, cut))
	var failed *hotelstays.TransportError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, &hotelstays.TransportError{Operation: hotelstays.OpCheckAvail, Sent: true, Attempts: 1, RequestID: cut.requestID(t), TraceID: "trace-1",
		Err: failed.Err}, failed)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)

	cut = &decodeAnswer{status: 200, body: `{"code":0,"data":{`, cut: io.ErrUnexpectedEOF}
	_, err = decodeBook(t, decodeClient(t, cut))
	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(t, err, &unknown)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)

	_, err = decodeBook(t, decodeClient(t, decodeFault{errors.New("connection reset")}))
	require.ErrorAs(t, err, &unknown, "a transport without traces proves nothing")
	require.ErrorAs(t, err, &failed)
	assert.True(t, failed.Sent)
}

type decodeFault struct{ err error }

func (f decodeFault) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// What provably never left is no unknown outcome.
func TestDecodeNothingLeft(t *testing.T) {
	never := func(t *testing.T, err error) {
		assert.NotErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
		var failed *hotelstays.TransportError
		require.ErrorAs(t, err, &failed)
		assert.False(t, failed.Sent)
	}
	t.Run("no connection", func(t *testing.T) {
		refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
		_, err := decodeBook(t, decodeClient(t, decodeFault{refused}))
		never(t, err)
	})
	t.Run("the ctx has ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		rt := &decodeAnswer{status: 200, body: `{}`}
		_, err := decodeClient(t, rt).Cancel(ctx, &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "c", SupplierReferenceNo: "s"})
		never(t, err)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Empty(t, rt.sent)
	})
	t.Run("no token", func(t *testing.T) {
		rt := &decodeAnswer{status: 401, body: `{"code":100000401,"msg":"m"}`}
		c, err := hotelstays.New("https://api.example.test", hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("s")}, hotelstays.WithHTTPClient(&http.Client{Transport: rt}))
		require.NoError(t, err)
		_, err = decodeBook(t, c)
		never(t, err)
		assert.ErrorIs(t, err, hotelstays.ErrUnauthorized)
		require.Len(t, rt.sent, 1)
		assert.Equal(t, "/api/auth/ticket", rt.sent[0].URL.Path)
	})
}

// Strict operations name every place that does not fit, and quote none.
func TestDecodeMismatchNamesThePath(t *testing.T) {
	stay := hotelstays.HotelListRequest{DestinationID: "d", CheckIn: "2026-12-24", CheckOut: "2026-12-27", RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}}}
	rates := hotelstays.HotelRatesRequest{SessionID: "s", HotelID: "h", CheckIn: "2026-12-24", CheckOut: "2026-12-27", RoomOccupancies: stay.RoomOccupancies}
	rows := []struct {
		name, data, want string
		call             wireCall
	}{
		{"Ticket", `{"ticket":["CANARY"]}`, "data.ticket: want string, got array",
			wireOf((*hotelstays.Client).Ticket, &hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s")})},
		{"Destinations", `{"destinations":[{"id":"d","type":"CANARY"}]}`, "data.destinations[0].type: want integer, got string",
			wireOf((*hotelstays.Client).Destinations, &hotelstays.DestinationsRequest{})},
		{"HotelsMetadata", `{"hotelsMetadata":[{},{"rating":"CANARY"}],"page":{"total":1.5}}`,
			"data.hotelsMetadata[1].rating: want number, got string; data.page.total: want integer, got number",
			wireOf((*hotelstays.Client).HotelsMetadata, &hotelstays.HotelsMetadataRequest{DestinationID: "d"})},
		{"HotelStaticDetail", `{"hotel":{"isAvailable":"CANARY"}}`, "data.hotel.isAvailable: want boolean, got string",
			wireOf((*hotelstays.Client).HotelStaticDetail, &hotelstays.HotelStaticDetailRequest{HotelID: "h"})},
		{"HotelIDList", `{"hotelIdList":[{"hotelId":7777777}]}`, "data.hotelIdList[0].hotelId: want string, got number",
			wireOf((*hotelstays.Client).HotelIDList, &hotelstays.HotelIDListRequest{})},
		{"HotelList", `{"list":[{"rooms":[{"rates":[{"totalRate":{"netRate":{"currency":"EUR","amount":"CANARY"}}}]}]}],"basic":"CANARY"}`,
			"data.list[0].rooms[0].rates[0].totalRate.netRate.amount: want number, got string; data.basic: want object, got string",
			wireOf((*hotelstays.Client).HotelList, &stay)},
		{"HotelRates", `{"rooms":[{"roomTypeName":"CANARY","rates":{"CANARY":1}}]}`,
			"data.rooms[0].roomTypeName: want object, got string; data.rooms[0].rates: want array, got object",
			wireOf((*hotelstays.Client).HotelRates, &rates)},
		{"CheckAvail", `{"status":"CANARY","exchangeRateSnapshot":{"usd":{"eur":true}}}`,
			"data.status: want integer, got string; data.exchangeRateSnapshot.usd.eur: want number, got boolean",
			wireOf((*hotelstays.Client).CheckAvail, &hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "p"})},
		{"CheckAvail with keys that are no currencies", `{"exchangeRateSnapshot":{"usd":{"CANARY":true,"Eur":1,"a b":{},"e\nu":"x"}}}`,
			"data.exchangeRateSnapshot.usd.*: want number, got boolean; data.exchangeRateSnapshot.usd.*: want number, got object; data.exchangeRateSnapshot.usd.*: want number, got string",
			wireOf((*hotelstays.Client).CheckAvail, &hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "p"})},
		{"OrderVoucher", `{"status":"GENERATED","voucher":{"byteSize":"CANARY","signature":{"digest":77777}}}`,
			"data.voucher.byteSize: want integer, got string; data.voucher.signature.digest: want string, got number",
			wireOf((*hotelstays.Client).OrderVoucher, &hotelstays.OrderVoucherRequest{PlatformReferenceNo: "p"})},
		{"code", ``, "code: want integer, got string",
			wireOf((*hotelstays.Client).CheckAvail, &hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "p"})},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			rt := &decodeAnswer{status: 200, body: `{"code":0,"msg":"success","data":` + row.data + `}`}
			if row.data == "" {
				rt.body = `{"code":"CANARY","data":{"status":1}}`
			}
			resp, err := row.call.send(t.Context(), decodeClient(t, rt))
			assert.Nil(t, resp)
			var decode *hotelstays.DecodeError
			require.ErrorAs(t, err, &decode)
			assert.Equal(t, row.want, decode.Err.Error())
			assert.Contains(t, err.Error(), row.want)
			assert.Equal(t, 200, decode.HTTPStatus)
			assert.Equal(t, rt.requestID(t), decode.RequestID)
		})
	}
}

// decodeOddOrder has a mismatch of every kind among fields as documented.
const decodeOddOrder = `{"status":"confirmed","statusRemark":5,"checkIn":20261224,"checkOut":"2026-12-27","nightCount":"3","roomCount":2,
	"bookingTime":"2026-11-20T10:00:00Z","holder":{"firstName":"Guest","lastName":["One"],"phone":{"countryNumber":"971","number":"5"}},
	"platformReferenceNo":"plat-1","customerReferenceNo":"ref-1","netRate":{"currency":"EUR","amount":"free"},"grossRate":{"currency":978,"amount":2400.10},
	"refundedPrice":{"currency":"EUR","amount":"-"},"commissionableRate":{"currency":"EUR","amount":"12 EUR"},"respectGrossRate":"yes","supplier":4.5,
	"supplierReferenceNo":"sup-1","hotel":[],"rooms":[{"roomTypeId":"rt-1","ratePkgId":"pkg-1","hotelId":7,"rate":7,
	"totalRate":{"netRate":{"currency":"EUR","amount":1.10}},"cancelFees":[{"until":"x","fee":"none"},{"until":"y","fee":{"currency":"EUR","amount":3}}],
	"roomIndex":"1","guests":[{"passportNumber":"0001"}],"refundInfo":{"a":1}}]}`

// decodeOddOrderMismatches are the mismatches of it, below its path.
var decodeOddOrderMismatches = []string{
	".status: want integer, got string", ".statusRemark: want string, got number", ".checkIn: want string, got number", ".nightCount: want integer, got string",
	".holder.lastName: want string, got array", ".holder.phone.countryNumber: want integer, got string", ".netRate.amount: want number, got string",
	".grossRate.currency: want string, got number", ".refundedPrice.amount: want number, got string", ".commissionableRate.amount: want number, got string",
	".respectGrossRate: want boolean, got string", ".supplier: want integer, got number", ".hotel: want object, got array",
	".rooms[0].hotelId: want string, got number", ".rooms[0].rate: want object, got number", ".rooms[0].cancelFees[0].fee: want object, got string",
	".rooms[0].roomIndex: want integer, got string", ".rooms[0].refundInfo: want array, got object",
}

// decodeOddOrderRest is what is left of it.
func decodeOddOrderRest() types.Order {
	eur := func(amount json.Number) types.Money { return types.Money{Currency: "EUR", Amount: amount} }
	return types.Order{
		CheckOut: "2026-12-27", RoomCount: 2, BookingTime: "2026-11-20T10:00:00Z",
		Holder:              types.Holder{FirstName: "Guest", Phone: &types.Phone{Number: "5"}},
		PlatformReferenceNo: "plat-1", CustomerReferenceNo: "ref-1", SupplierReferenceNo: "sup-1",
		NetRate: eur(""), GrossRate: &types.Money{Amount: "2400.10"}, RefundedPrice: new(eur("")), CommissionableRate: new(eur("")),
		Rooms: []types.OrderRoom{{
			Room: types.Room{RoomTypeID: "rt-1"},
			RoomRatePkg: types.RoomRatePkg{RatePkgID: "pkg-1", TotalRate: types.Rate{NetRate: eur("1.10")},
				CancelFees: []types.CancelFee{{Until: "x"}, {Until: "y", Fee: eur("3")}}},
			Guests: []json.RawMessage{json.RawMessage(`{"passportNumber":"0001"}`)},
		}},
	}
}

// mismatchTexts are the mismatches of an answer, all of which are listed.
func mismatchTexts(meta hotelstays.ResponseMeta) (texts []string) {
	for _, m := range meta.Mismatches {
		texts = append(texts, m.String())
	}
	if meta.MismatchCount != len(texts) {
		texts = append(texts, fmt.Sprintf("%d in all", meta.MismatchCount))
	}
	return texts
}

func decodeMismatches(prefix string) []string {
	list := make([]string, len(decodeOddOrderMismatches))
	for i, m := range decodeOddOrderMismatches {
		list[i] = prefix + m
	}
	return list
}

// An order is not lost to odd fields: all else is read, and every mismatch is named.
func TestDecodeOrdersLeniently(t *testing.T) {
	t.Run("Book", func(t *testing.T) {
		resp, err := decodeBook(t, decodeClient(t, &decodeAnswer{status: 200, body: `{"code":0,"data":{"hotelOrder":` + decodeOddOrder + `}}`}))
		require.NoError(t, err)
		assert.Equal(t, new(decodeOddOrderRest()), resp.HotelOrder)
		assert.ElementsMatch(t, decodeMismatches("data.hotelOrder"), mismatchTexts(resp.Meta))
	})
	t.Run("QueryOrders", func(t *testing.T) {
		body := `{"code":0,"data":{"orders":[{"status":1,"platformReferenceNo":"plat-0"},` + decodeOddOrder + `]}}`
		resp, err := decodeClient(t, &decodeAnswer{status: 200, body: body}).QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
		require.NoError(t, err)
		assert.Equal(t, []types.Order{{Status: 1, PlatformReferenceNo: "plat-0"}, decodeOddOrderRest()}, resp.Orders)
		assert.ElementsMatch(t, decodeMismatches("data.orders[1]"), mismatchTexts(resp.Meta))
	})
	t.Run("Cancel", func(t *testing.T) {
		body := `{"code":0,"data":{"serviceFee":{"currency":"EUR","amount":"none"},"status":"cancelled"}}`
		resp, err := decodeCancel(t, decodeClient(t, &decodeAnswer{status: 200, body: body}))
		require.NoError(t, err)
		assert.Equal(t, &types.Money{Currency: "EUR"}, resp.ServiceFee)
		assert.ElementsMatch(t, []string{"data.serviceFee.amount: want number, got string", "data.status: want integer, got string"}, mismatchTexts(resp.Meta))
	})
	t.Run("an amount of money alone", func(t *testing.T) {
		for _, amount := range []string{`"free"`, `""`, `" 1"`, `"1,5"`, `"NaN"`, `"0x10"`, `true`, `{}`} {
			body := `{"code":0,"data":{"hotelOrder":{"platformReferenceNo":"plat-1","netRate":{"currency":"EUR","amount":` + amount + `}}}}`
			resp, err := decodeBook(t, decodeClient(t, &decodeAnswer{status: 200, body: body}))
			if assert.NoError(t, err, amount) {
				assert.Equal(t, &types.Order{PlatformReferenceNo: "plat-1", NetRate: types.Money{Currency: "EUR"}}, resp.HotelOrder, amount)
				assert.Equal(t, 1, resp.Meta.MismatchCount, amount)
			}
		}
	})
	t.Run("no mismatch", func(t *testing.T) {
		resp, err := decodeBook(t, decodeClient(t, &decodeAnswer{status: 200, body: `{"code":0,"data":{"hotelOrder":{"status":1,"platformReferenceNo":"plat-0"}}}`}))
		require.NoError(t, err)
		assert.Zero(t, resp.Meta.MismatchCount)
	})
	t.Run("orders that are none", func(t *testing.T) {
		for _, members := range []string{`"orders":{"status":1}`, `"orders":"one"`, `"orders":[{"status":1},"one"]`,
			`"Orders":"one"`, `"orderſ":["one"]`, `"orders":"one","orders":[]`, `"orders":["one"],"orders":[]`, `"orders":"one"},"data":{`,
			`"orders":[` + strings.Repeat(`{"status":"open"},`, 100) + `"one"]`} {
			rt := &decodeAnswer{status: 200, body: `{"code":0,"data":{` + members + `}}`}
			_, err := decodeClient(t, rt).QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
			var unread *hotelstays.DecodeError
			assert.ErrorAs(t, err, &unread, "fewer orders must not look like none: %s", members)
		}
	})
	t.Run("an order without any reference", func(t *testing.T) {
		_, err := decodeBook(t, decodeClient(t, &decodeAnswer{status: 200, body: `{"code":0,"data":{"hotelOrder":{"status":1}}}`}))
		var unknown *hotelstays.OutcomeUnknownError
		assert.ErrorAs(t, err, &unknown)
	})
}

// What was not sent is not 0.
func TestAbsentIsNotZero(t *testing.T) {
	for members, want := range map[string]*float64{``: nil, `"rating":null`: nil, `"rating":0`: new(0.0), `"rating":4.5`: new(4.5)} {
		client := func(data string) *hotelstays.Client {
			return decodeClient(t, &decodeAnswer{status: 200, body: `{"code":0,"data":` + data + `}`})
		}
		hotel, err := client(`{"hotel":{`+members+`}}`).HotelStaticDetail(t.Context(), &hotelstays.HotelStaticDetailRequest{HotelID: "h"})
		require.NoError(t, err)
		assert.Equal(t, want, hotel.Hotel.Rating, members)
		catalogue, err := client(`{"hotelsMetadata":[{`+members+`}]}`).HotelsMetadata(t.Context(), &hotelstays.HotelsMetadataRequest{DestinationID: "d"})
		require.NoError(t, err)
		assert.Equal(t, want, catalogue.HotelsMetadata[0].Rating, members)
		orders, err := client(`{"orders":[{"hotel":{`+members+`}}]}`).QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
		require.NoError(t, err)
		assert.Equal(t, want, orders.Orders[0].Hotel.Rating, members)
	}
	for members, want := range map[string]*types.OrderStatus{``: nil, `"status":null`: nil, `"status":0`: new(types.OrderUnknown), `"status":5`: new(types.OrderStatus(5))} {
		resp, err := decodeCancel(t, decodeClient(t, &decodeAnswer{status: 200, body: `{"code":0,"data":{` + members + `}}`}))
		require.NoError(t, err)
		assert.Equal(t, want, resp.Status, members)
	}
}

// All conditions that errors.Is knows.
var decodeConditions = map[string]error{
	"Param": hotelstays.ErrParam, "Unauthorized": hotelstays.ErrUnauthorized, "Forbidden": hotelstays.ErrForbidden, "NotFound": hotelstays.ErrNotFound,
	"RateLimited": hotelstays.ErrRateLimited, "DuplicateBooking": hotelstays.ErrDuplicateBooking, "VoucherTooLarge": hotelstays.ErrVoucherTooLarge,
	"AmbiguousReference": hotelstays.ErrAmbiguousReference, "RateChanged": hotelstays.ErrRateChanged,
	"CancelRefused": hotelstays.ErrCancelRefused, "InvalidScope": hotelstays.ErrInvalidScope, "UpstreamTimeout": hotelstays.ErrUpstreamTimeout,
}

// decodeMatches are the conditions that err matches.
func decodeMatches(err error) []string {
	var names []string
	for name, condition := range decodeConditions {
		if errors.Is(err, condition) {
			names = append(names, name)
		}
	}
	return names
}

// A documented code decides; without one the HTTP status does.
func TestDecodeConditions(t *testing.T) {
	read := wireOf((*hotelstays.Client).CheckAvail, &hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "p"})
	voucher := wireOf((*hotelstays.Client).OrderVoucher, &hotelstays.OrderVoucherRequest{PlatformReferenceNo: "p"})
	book := wireOf((*hotelstays.Client).Book, &hotelstays.BookRequest{SessionID: "s", CustomerReferenceNo: "r", RatePkgID: "p",
		Holder: types.Holder{FirstName: "Guest", LastName: "One"}, Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}}})
	cancel := wireOf((*hotelstays.Client).Cancel, &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "r", SupplierReferenceNo: "s"})
	ticket := wireOf((*hotelstays.Client).Ticket, &hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("s")})
	code := func(n int) string { return fmt.Sprintf(`{"code":%d,"msg":"m"}`, n) }

	for _, row := range []struct {
		name   string
		call   wireCall
		status int
		body   string
		want   []string
	}{
		// codes, with HTTP 200
		{"100000400", read, 200, code(100000400), []string{"Param"}},
		{"100000401", ticket, 200, code(100000401), []string{"Unauthorized"}},
		{"100000404", voucher, 200, code(100000404), []string{"NotFound"}},
		{"100000429", read, 200, code(100000429), []string{"RateLimited"}},
		{"100001003", book, 200, code(100001003), []string{"DuplicateBooking"}},
		{"100001005", voucher, 200, code(100001005), []string{"VoucherTooLarge"}},
		{"100001008", voucher, 200, code(100001008), []string{"AmbiguousReference"}},
		{"100001111", book, 200, code(100001111), []string{"RateChanged"}},
		{"100001112", book, 200, code(100001112), nil}, // reserved, and so an unknown outcome
		{"an unknown code", book, 200, code(100009999), nil},
		// codes, with a status that says something else
		{"100000400, 400", read, 400, code(100000400), []string{"Param"}},
		{"100000401, 401", ticket, 401, code(100000401), []string{"Unauthorized"}},
		{"100000404, 404", voucher, 404, code(100000404), []string{"NotFound"}},
		{"100000429, 429", read, 429, code(100000429), []string{"RateLimited"}},
		{"100001003, 400", book, 400, code(100001003), []string{"DuplicateBooking"}},
		{"100001005, 400", voucher, 400, code(100001005), []string{"VoucherTooLarge"}},
		{"100001008, 400", voucher, 400, code(100001008), []string{"AmbiguousReference"}},
		{"100001111, 400", book, 400, code(100001111), []string{"RateChanged"}},
		// the status, where the code is not documented
		{"400", read, 400, code(7), []string{"Param"}},
		{"401", read, 401, code(7), []string{"Unauthorized"}},
		{"403", read, 403, code(7), []string{"Forbidden"}},
		{"404", voucher, 404, code(7), []string{"NotFound"}},
		{"409", read, 409, code(7), nil},
		{"429", read, 429, code(7), []string{"RateLimited"}},
		{"500", read, 500, code(7), nil},
		{"502", read, 502, code(7), nil},
		{"504", read, 504, code(7), []string{"UpstreamTimeout"}},
		// the status, where there is no envelope
		{"400, a page", read, 400, decodePage, []string{"Param"}},
		{"401, a page", read, 401, decodePage, []string{"Unauthorized"}},
		{"403, a page", read, 403, decodePage, []string{"Forbidden"}},
		{"404, a page", read, 404, decodePage, []string{"NotFound"}},
		{"429, a page", read, 429, decodePage, []string{"RateLimited"}},
		{"503, a page", read, 503, decodePage, nil},
		{"504, a page", read, 504, decodePage, []string{"UpstreamTimeout"}},
		// Cancel
		{"Cancel: 400", cancel, 400, code(7), []string{"CancelRefused"}},
		{"Cancel: 100000400, 400", cancel, 400, code(100000400), []string{"CancelRefused"}},
		{"Cancel: 404", cancel, 404, code(7), []string{"NotFound"}},
		{"Cancel: 403", cancel, 403, code(7), []string{"Forbidden"}},
		{"Cancel: 504, an unknown outcome", cancel, 504, code(7), []string{"UpstreamTimeout"}},
		{"Book: 504, an unknown outcome", book, 504, code(7), []string{"UpstreamTimeout"}},
		{"Book: 400 is no refused cancellation", book, 400, code(7), []string{"Param"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := row.call.send(t.Context(), decodeClient(t, &decodeAnswer{status: row.status, body: row.body}))
			require.Error(t, err)
			assert.ElementsMatch(t, row.want, decodeMatches(err), "%v", err)
		})
	}
}

// One answer is one condition at most, whatever operation, status and code meet: a
// switch over the conditions gives the same answer in any order.
func TestAnAnswerIsOneCondition(t *testing.T) {
	codes := []int{0, 7, 100000400, 100000401, 100000404, 100000429, 100001003, 100001005, 100001008, 100001111, 100001112}
	for op, call := range operationCalls {
		for _, status := range []int{200, 202, 301, 400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 504} {
			for _, code := range codes {
				for _, msg := range []string{"m", "invalid_scope"} {
					answer := fmt.Sprintf(`{"code":%d,"msg":%q}`, code, msg)
					err := call(t.Context(), decodeClient(t, &decodeAnswer{status: status, body: answer}, hotelstays.WithMaxAttempts(1)))
					require.Error(t, err)
					matches := decodeMatches(err)
					assert.LessOrEqual(t, len(matches), 1, "%s: HTTP %d %s: %v", op, status, answer, matches)
					if op == hotelstays.OpCancel && status == 400 && code != 0 {
						assert.Equal(t, []string{"CancelRefused"}, matches, "%s", answer)
					}
				}
			}
		}
	}
}

// An outcome that is not known must not look like a refusal, or a caller who
// asks for ErrRateChanged first books again.
func TestDecodeUnknownOutcomeIsNoRefusal(t *testing.T) {
	refusals := []error{hotelstays.ErrRateChanged, hotelstays.ErrDuplicateBooking, hotelstays.ErrCancelRefused}
	for _, answer := range []*decodeAnswer{
		{status: 500, body: `{"code":100001111,"msg":"m"}`},
		{status: 500, body: `{"code":100001003,"msg":"m"}`},
		{status: 400, body: decodePage},
		{status: 400, body: `{"code":0,"msg":"m"}`},
	} {
		_, bookErr := decodeBook(t, decodeClient(t, answer))
		_, cancelErr := decodeCancel(t, decodeClient(t, answer))
		for _, err := range []error{bookErr, cancelErr} {
			var unknown *hotelstays.OutcomeUnknownError
			require.ErrorAs(t, err, &unknown)
			for _, refusal := range refusals {
				assert.NotErrorIs(t, err, refusal)
			}
		}
	}
}

// The OAuth answer is understood inside the envelope and outside of it.
func TestOAuthAnswerForms(t *testing.T) {
	ask := func(status int, body string) (*hotelstays.OAuthTokenResponse, error) {
		c := decodeClient(t, &decodeAnswer{status: status, body: body})
		return c.OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("client-secret"), Scopes: []hotelstays.Scope{"search:read"}})
	}
	for _, body := range []string{
		`{"access_token":"opaque","token_type":"Bearer","expires_in":3600}`,
		`{"code":0,"msg":"success","data":{"access_token":"opaque"}}`,
		`{"code":0,"access_token":"opaque"}`,
		`{"access_token":"opaque","expires_in":"soon","scope":["search:read"],"data":null}`,
	} {
		resp, err := ask(200, body)
		if assert.NoError(t, err, body) {
			assert.Equal(t, "opaque", resp.AccessToken.Reveal(), body)
			assert.Equal(t, 200, resp.Meta.HTTPStatus)
		}
	}

	for _, row := range []struct {
		name   string
		status int
		body   string
		want   []string
	}{
		{"bare", 400, `{"error":"invalid_scope"}`, []string{"InvalidScope"}},
		{"bare with a description", 400, `{"error":"invalid_scope","error_description":"booking:write is not registered"}`, []string{"InvalidScope"}},
		{"enveloped", 400, `{"code":100000400,"msg":"invalid_scope: booking:write"}`, []string{"InvalidScope"}},
		{"enveloped with 200", 200, `{"code":100009999,"msg":"invalid_scope"}`, []string{"InvalidScope"}},
		{"another bare error", 401, `{"error":"invalid_client"}`, []string{"Unauthorized"}},
		{"another enveloped error", 401, `{"code":100000401,"msg":"refused"}`, []string{"Unauthorized"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			resp, err := ask(row.status, row.body)
			assert.Nil(t, resp)
			var api *hotelstays.APIError
			require.ErrorAs(t, err, &api)
			assert.Equal(t, row.status, api.HTTPStatus)
			assert.ElementsMatch(t, row.want, decodeMatches(err))
		})
	}
	t.Run("the description is kept", func(t *testing.T) {
		_, err := ask(400, `{"error":"invalid_scope","error_description":"booking:write is not registered"}`)
		var api *hotelstays.APIError
		require.ErrorAs(t, err, &api)
		assert.Equal(t, "invalid_scope: booking:write is not registered", api.Msg)
	})
	for _, body := range []string{`{}`, `{"access_token":""}`, `{"access_token":7}`, `{"code":0,"data":{}}`, `{"code":0,"data":null}`, `[]`, decodePage, ``} {
		resp, err := ask(200, body)
		assert.Nil(t, resp, body)
		var decode *hotelstays.DecodeError
		require.ErrorAs(t, err, &decode, body)
	}
	t.Run("a refusal with a token in it is a refusal", func(t *testing.T) {
		_, err := ask(200, `{"code":7,"msg":"m","access_token":"opaque"}`)
		var api *hotelstays.APIError
		require.ErrorAs(t, err, &api)
	})
	t.Run("a failure with a token in it is a failure", func(t *testing.T) {
		_, err := ask(500, `{"access_token":"opaque"}`)
		var api *hotelstays.APIError
		require.ErrorAs(t, err, &api)
	})
}

// Answers share pooled memory: what a call returned must not change when the
// next answer is read.
func TestDecodeKeepsNothingOfTheBuffer(t *testing.T) {
	first, err := decodeClient(t, &decodeAnswer{status: 200, body: `{"code":0,"data":{"status":1,"roomRatePkg":{"ratePkgId":"first"}}}`}).
		CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "p"}, hotelstays.WithRawData())
	require.NoError(t, err)
	raw := bytes.Clone(first.Meta.RawData)
	for range 50 {
		_, err := decodeRead(t, decodeClient(t, &decodeAnswer{status: 200, body: `{"code":0,"data":{"status":2,"roomRatePkg":{"ratePkgId":"xxxxx"}}}`}))
		require.NoError(t, err)
	}
	assert.Equal(t, "first", first.RoomRatePkg.RatePkgID)
	assert.Equal(t, string(raw), string(first.Meta.RawData))
}
