// The decoding of an answer: the response, the typed error, and the cost.

package hotelstays_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/test/oracle"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/types"
)

var traced = hotelstays.WithTraceID("trace-1")

func sendBook(t *testing.T, c *hotelstays.Client) (*hotelstays.BookResponse, error) {
	return c.Book(t.Context(), new(goodBook()), traced)
}

func sendCancel(t *testing.T, c *hotelstays.Client) (*hotelstays.CancelResponse, error) {
	return c.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "ref-1", SupplierReferenceNo: "sup-1"}, traced)
}

func sendCheckAvail(t *testing.T, c *hotelstays.Client) (*hotelstays.CheckAvailResponse, error) {
	return c.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "pkg"}, traced)
}

const htmlPage = "<html><head><title>Forbidden</title></head><body>Blocked by a proxy.</body></html>"

// The values of the field isAPI: the error of the answer is an *APIError, or a *DecodeError.
const isAPI, isDecode = true, false

// The values of the field definite: the operations of which the answer proves the outcome.
const (
	definite  = "Book, Cancel"
	ofBook    = "Book"
	ofCancel  = "Cancel"
	uncertain = ""
	// With cancelDone, the answer proves that Cancel succeeded, but the outcome of Book is unknown.
	cancelDone = "nothing"
)

func TestUnexpectedAnswersAreTypedErrors(t *testing.T) {
	rows := []struct {
		name   string
		status int
		body   string
		isAPI  bool
		code   int
		// definite names the operations that return the error itself. Book and Cancel otherwise wrap the error in an
		// *OutcomeUnknownError.
		definite string
	}{
		{"an HTML page with HTTP 200", 200, htmlPage, isDecode, 0, uncertain},
		{"an HTML page with HTTP 403", 403, htmlPage, isAPI, 0, uncertain},
		{"an HTML page with HTTP 404", 404, htmlPage, isAPI, 0, uncertain},
		{"no body with HTTP 200", 200, "", isDecode, 0, uncertain},
		{"{} with HTTP 200", 200, `{}`, isDecode, 0, uncertain},
		{"{} with HTTP 400", 400, `{}`, isAPI, 0, uncertain},
		{"half an answer", 200, `{"code":0,"msg":"success","data":{"hotelOrder":{"status":1`, isDecode, 0, uncertain},
		{"half a refusal", 400, `{"code":100000400,"msg":"para`, isAPI, 0, uncertain},
		{"two answers", 200, `{"code":0,"data":{}}{"code":0,"data":{}}`, isDecode, 0, uncertain},
		{"a code of a refusal and a code of a success, HTTP 200", 200, `{"code":100000400,"code":0}`, isDecode, 0, uncertain},
		{"a code of a success and a code of a refusal, HTTP 400", 400, `{"code":0,"code":100000400}`, isAPI, 0, uncertain},
		{"a code in two spellings, HTTP 403", 403, `{"code":100000400,"Code":0}`, isAPI, 0, uncertain},
		{"data twice, HTTP 404", 404, `{"code":100000400,"data":{},"data":{}}`, isAPI, 0, uncertain},

		{"an answer without a code", 200, `{"msg":"success","data":{"hotelOrder":{}}}`, isDecode, 0, uncertain},
		{`code "0" around a malformed order`, 200, `{"code":"0","data":{"hotelOrder":{"status":"x"},"status":"x"}}`, isDecode, 0, uncertain},
		{`code "100001111"`, 200, `{"code":"100001111","msg":"m"}`, isDecode, 0, uncertain},
		{`code "100000400", HTTP 400`, 400, `{"code":"100000400","msg":"m"}`, isAPI, 0, uncertain},
		{"a code of 30 digits", 200, `{"code":100000000000000000000000000000,"data":{"hotelOrder":{}}}`, isDecode, 0, uncertain},

		{"an answer without data", 200, `{"code":0,"msg":"success"}`, isDecode, 0, cancelDone},
		{"an answer whose data is null", 200, `{"code":0,"data":null}`, isDecode, 0, cancelDone},
		{"an answer whose data is a text", 200, `{"code":0,"data":"{}"}`, isDecode, 0, uncertain},

		// a status that the document names for refusals, and any code
		{"HTTP 400 and a code of any operation", 400, `{"code":100000400,"msg":"m"}`, isAPI, 100000400, definite},
		{"HTTP 400 and an undocumented code", 400, `{"code":7,"msg":"m"}`, isAPI, 7, definite},
		{"HTTP 403", 403, `{"code":100000403,"msg":"m"}`, isAPI, 100000403, definite},
		{"HTTP 404", 404, `{"code":100000404,"msg":"m"}`, isAPI, 100000404, ofCancel},
		{"HTTP 404, but the rate has changed", 404, `{"code":100001111,"msg":"m"}`, isAPI, 100001111, definite},
		{"HTTP 429", 429, `{"code":100000429,"msg":"m"}`, isAPI, 100000429, definite},
		// a code that the document lists for the operation, with any status 2xx or 4xx
		{"the rate has changed, HTTP 200", 200, `{"code":100001111,"msg":"m"}`, isAPI, 100001111, ofBook},
		{"the rate has changed, data is malformed", 200, `{"code":100001111,"msg":"m","data":[1,{"status":"x"}]}`, isAPI, 100001111, ofBook},
		{"the rate has changed, msg is a number", 200, `{"code":100001111,"msg":5}`, isAPI, 100001111, ofBook},
		{"a refused parameter, HTTP 200", 200, `{"code":100000400,"msg":"m"}`, isAPI, 100000400, ofBook},
		{"the rate limit is exceeded, HTTP 200", 200, `{"code":100000429,"msg":"m"}`, isAPI, 100000429, definite},
		// a code that the document lists only for other operations, or an undocumented code
		{"no order is found, HTTP 200", 200, `{"code":100000404,"msg":"m"}`, isAPI, 100000404, uncertain},
		{"an undocumented code, HTTP 200", 200, `{"code":7,"msg":"m"}`, isAPI, 7, uncertain},
		{"an undocumented code, HTTP 408", 408, `{"code":7,"msg":"m"}`, isAPI, 7, uncertain},

		{"a code, HTTP 500", 500, `{"code":7,"msg":"m"}`, isAPI, 7, uncertain},
		{"the rate has changed, HTTP 500", 500, `{"code":100001111,"msg":"m"}`, isAPI, 100001111, uncertain},
		{"the rate limit is exceeded, HTTP 302", 302, `{"code":100000429,"msg":"m"}`, isAPI, 100000429, uncertain},
		{"a code, HTTP 504", 504, `{"code":7,"msg":"m"}`, isAPI, 7, uncertain},
		{"success, HTTP 302", 302, `{"code":0,"msg":"success","data":{"hotelOrder":{}}}`, isAPI, 0, uncertain},
		{"success, HTTP 400", 400, `{"code":0,"msg":"success","data":{"hotelOrder":{}}}`, isAPI, 0, uncertain},
	}
	for _, row := range rows {
		for _, op := range []hotelstays.Operation{hotelstays.OpCheckAvail, hotelstays.OpBook, hotelstays.OpCancel} {
			t.Run(row.name+"/"+string(op), func(t *testing.T) {
				answer := &fixedAnswer{Status: row.status, Body: row.body, Header: map[string]string{"Retry-After": "1"}}
				err := operationCalls[op](t.Context(), clientThrough(t, answer), traced)
				id := answer.RequestID(t)
				if op == hotelstays.OpCancel && row.definite == cancelDone {
					require.NoError(t, err)
					return
				}
				if hotelstays.Mutates(op) && !strings.Contains(row.definite, string(op)) {
					unknown, ok := err.(*hotelstays.OutcomeUnknownError)
					require.True(t, ok, "%T %v", err, err)
					assert.Equal(t, []any{op, "ref-1", id, "trace-1"},
						[]any{unknown.Operation, unknown.CustomerReferenceNo, unknown.RequestID, unknown.TraceID})
					assert.ErrorContains(t, err, `"ref-1"`)
					assert.Equal(t, hotelstays.KindOutcomeUnknown, hotelstays.KindOf(unknown.Err), "the kind of the cause alone")
					assert.Empty(t, append(matchedSentinels(err), matchedSentinels(unknown.Err)...))
					for _, text := range []string{err.Error(), unknown.Err.Error()} {
						assert.Contains(t, text, "do not send the request again")
						assert.NotRegexp(t, "safe to call again|try again later|retry|cancellation refused", text)
					}
					err = unknown.Err
				}
				if row.isAPI {
					api, ok := err.(*hotelstays.APIError)
					require.True(t, ok, "%T %v", err, err)
					assert.Equal(t, []any{op, row.status, row.code, id, "trace-1"},
						[]any{api.Operation, api.HTTPStatus, api.Code, api.RequestID, api.TraceID})
					assert.ErrorContains(t, err, fmt.Sprint("HTTP ", row.status))
				} else {
					decode, ok := err.(*hotelstays.DecodeError)
					require.True(t, ok, "%T %v", err, err)
					assert.Equal(t, []any{op, row.status, id, "trace-1"}, []any{decode.Operation, decode.HTTPStatus, decode.RequestID, decode.TraceID})
				}
				assert.ErrorContains(t, err, id)
				assert.NotContains(t, err.Error(), "invalid character", "no words of the JSON parser")
			})
		}
	}
}

// Without platformReferenceNo, an answer to OrderVoucher may be about any order.
func TestAnswerWithoutItsMainFieldIsAnError(t *testing.T) {
	for _, row := range []struct {
		op   hotelstays.Operation
		says string
		data []string
	}{
		{hotelstays.OpBook, "data.hotelOrder",
			[]string{`{}`, `{"hotelOrder":null}`, `{"hotelOrder":[]}`, `{"hotelOrder":"plat-1"}`, `{"order":{"status":1}}`}},
		{hotelstays.OpBook, "the answer is about another order than the request", []string{
			`{"hotelOrder":{"platformReferenceNo":"p","customerReferenceNo":"REF-1"}}`,
			`{"hotelOrder":{"platformReferenceNo":"p","customerReferenceNo":"ref-1 "}}`}},
		{hotelstays.OpTicket, "data.ticket", []string{`{}`, `{"ticket":null}`, `{"ticket":""}`, `{"ticket":7}`, `{"token":"x"}`}},
		{hotelstays.OpOrderVoucher, "data.status is missing", []string{`{"platformReferenceNo":"p"}`}},
		{hotelstays.OpOrderVoucher, "data.platformReferenceNo is missing", []string{`{"status":"PENDING"}`,
			`{"status":"PENDING","platformReferenceNo":""}`, `{"status":"PENDING","PlatformReferenceNo":"p"}`}},
	} {
		for _, data := range row.data {
			err := operationCalls[row.op](t.Context(), clientThrough(t, saying(`{"code":0,"data":`+data+`}`)))
			assert.Equal(t, hotelstays.Mutates(row.op), errors.As(err, new(*hotelstays.OutcomeUnknownError)), data)
			assert.ErrorContains(t, errorAs[*hotelstays.DecodeError](t, causeOf(err), data).Err, row.says, data)
		}
	}
}

func TestAbsentAndUnknownFieldsAreTolerated(t *testing.T) {
	for _, body := range []string{
		`{"code":0,"data":{}}`,
		`{"code":0,"msg":null,"data":{}}`,
		`{"code":0,"msg":"success","data":{"status":1,"roomRatePkg":null,"later":{"a":[1]}},"later":7}`,
		" \n{ \"data\" : { } , \"code\" : 0 }\n",
		`{"code":0,"data":{"status":9}}`,
		`{"code":0,"data":{"roomRatePkg":{"includesPackaging":null},"exchangeRateSnapshot":{"usd":null}}}`,
	} {
		_, err := sendCheckAvail(t, clientThrough(t, saying(body)))
		assert.NoError(t, err, body)
	}
	// The document does not require the lists of these operations, so an answer may lack them.
	for _, op := range []hotelstays.Operation{hotelstays.OpDestinations, hotelstays.OpHotelsMetadata, hotelstays.OpHotelRates} {
		assert.NoError(t, operationCalls[op](t.Context(), clientThrough(t, saying(`{"code":0,"data":{}}`))), op)
	}
	resp, err := sendCheckAvail(t, clientThrough(t, &fixedAnswer{Status: 201, Body: `{"code":0,"data":{"status":9}}`}))
	require.NoError(t, err)
	assert.Equal(t, types.AvailabilityStatus(9), resp.Status, "a value without a name is kept")
	assert.Equal(t, 201, resp.Meta.HTTPStatus)
}

func TestAnswersAboveMaxResponseBytesAreErrors(t *testing.T) {
	body := `{"code":0,"data":{"hotelOrder":{"status":1}}}`
	limit := int64(len(body))
	_, err := sendCheckAvail(t, clientThrough(t, &fixedAnswer{Status: 200, Body: body}, hotelstays.WithMaxResponseBytes(limit)))
	require.NoError(t, err, "an answer of exactly the limit")
	for _, announced := range []bool{true, false} {
		large := &fixedAnswer{Status: 502, Body: body, Announced: announced}
		_, err = sendCheckAvail(t, clientThrough(t, large, hotelstays.WithMaxResponseBytes(limit-1)))
		decode := errorAs[*hotelstays.DecodeError](t, err)
		assert.Contains(t, err.Error(), "raise WithMaxResponseBytes")
		assert.Equal(t, large.RequestID(t), decode.RequestID)
		assert.Equal(t, 502, decode.HTTPStatus, "the status is known")
		_, err = sendBook(t, clientThrough(t, large, hotelstays.WithMaxResponseBytes(limit-1)))
		assert.ErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
	}
}

// If the answer breaks off or never comes, only events of net/http/httptrace could prove that the request was not sent. The
// RoundTripper of this test fires no events.
func TestCallWithoutAnAnswerMayHaveBeenSent(t *testing.T) {
	cut := &fixedAnswer{Status: 200, Body: `{"code":0,"data":{`, Cut: io.ErrUnexpectedEOF}
	_, err := sendCheckAvail(t, clientThrough(t, cut))
	failed := errorAs[*hotelstays.TransportError](t, err)
	assert.Equal(t, &hotelstays.TransportError{Operation: hotelstays.OpCheckAvail, Sent: true, Attempts: 1, RequestID: cut.RequestID(t),
		TraceID: "trace-1", Err: failed.Err}, failed)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)

	broken := errors.New("connection reset")
	for cause, rt := range map[error]http.RoundTripper{io.ErrUnexpectedEOF: cut, broken: failing(broken)} {
		_, err = sendBook(t, clientThrough(t, rt))
		failed := errorAs[*hotelstays.TransportError](t, errorAs[*hotelstays.OutcomeUnknownError](t, err).Err)
		assert.ErrorIs(t, failed, cause)
		assert.True(t, failed.Sent)
	}
}

// In a strict operation every mismatch is an error. In a lenient operation only a mismatch of an essential field is an
// error. The error names every place, and quotes no value.
func TestErrorOfAMismatchNamesEachPath(t *testing.T) {
	rows := []struct {
		op               hotelstays.Operation
		name, data, want string
	}{
		{hotelstays.OpTicket, "Ticket", `{"ticket":["CANARY"]}`, "data.ticket: want string, got array"},
		{hotelstays.OpHotelsMetadata, "HotelsMetadata", `{"hotelsMetadata":[{},{"rating":"CANARY"}],"page":{"total":1.5,"hasMore":"CANARY"}}`,
			"data.hotelsMetadata[1].rating: want number, got string; data.page.total: want integer, got number; " +
				"data.page.hasMore: want boolean, got string"},
		{hotelstays.OpHotelList, "HotelList without an end", `{"list":[{"rating":"CANARY"}],"basic":{"sessionId":"s"},"hasMore":"CANARY"}`,
			"data.list[0].rating: want number, got string; data.hasMore: want boolean, got string"},
		{hotelstays.OpCheckAvail, "CheckAvail of text as a number", `{"status":1,"roomRatePkg":{"ratePkgId":7777777}}`,
			"data.roomRatePkg.ratePkgId: want string, got number"},
		{hotelstays.OpCheckAvail, "CheckAvail", `{"status":"CANARY","exchangeRateSnapshot":{"usd":{"eur":true}}}`,
			"data.status: want integer, got string; data.exchangeRateSnapshot.usd.eur: want number, got boolean"},
		{hotelstays.OpCheckAvail, "CheckAvail with keys that are not currencies",
			`{"exchangeRateSnapshot":{"usd":{"CANARY":true,"Eur":1,"a b":{},"e\nu":"x"}}}`,
			"data.exchangeRateSnapshot.usd.*: want number, got boolean; data.exchangeRateSnapshot.usd.*: want number, got object; " +
				"data.exchangeRateSnapshot.usd.*: want number, got string"},
		{hotelstays.OpQueryOrders, "QueryOrders", `{"orders":[{"customerReferenceNo":"r"},null]}`, "data.orders[1]: want object, got null"},
		{hotelstays.OpCheckAvail, "code", ``, "code: want integer, got string"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			rt := &fixedAnswer{Status: 200, Body: `{"code":0,"msg":"success","data":` + row.data + `}`}
			if row.data == "" {
				rt.Body = `{"code":"CANARY","data":{"status":1}}`
			}
			err := operationCalls[row.op](t.Context(), clientThrough(t, rt))
			decode := errorAs[*hotelstays.DecodeError](t, err)
			assert.Equal(t, row.want, decode.Err.Error())
			assert.Contains(t, err.Error(), row.want)
			assert.Equal(t, 200, decode.HTTPStatus)
			assert.Equal(t, rt.RequestID(t), decode.RequestID)
		})
	}
}

// mistypedOrder has fields with each kind of mismatch, and well-formed fields.
const mistypedOrder = `{"status":"confirmed","statusRemark":5,"checkIn":20261224,"checkOut":"2026-12-27","nightCount":"3","roomCount":2,
	"bookingTime":"2026-11-20T10:00:00Z","holder":{"firstName":"Guest","lastName":["One"],"phone":{"countryNumber":"971","number":"5"}},
	"platformReferenceNo":"plat-1","customerReferenceNo":"ref-1","netRate":{"currency":"EUR","amount":"free"},
	"grossRate":{"currency":978,"amount":2400.10},
	"refundedPrice":{"currency":"EUR","amount":"-"},"commissionableRate":{"currency":"EUR","amount":"12 EUR"},
	"respectGrossRate":"yes","supplier":4.5,
	"supplierReferenceNo":"sup-1","hotel":[],"rooms":[{"roomTypeId":"rt-1","ratePkgId":"pkg-1","hotelId":7,"rate":7,
	"totalRate":{"netRate":{"currency":"EUR","amount":1.10}},
	"cancelFees":[{"until":"x","fee":"none"},{"until":"y","fee":{"currency":"EUR","amount":3}}],
	"roomIndex":"1","guests":[{"passportNumber":"0001"}],"refundInfo":{"a":1}}]}`

var mistypedPaths = []string{
	".status: want integer, got string", ".statusRemark: want string, got number", ".checkIn: want string, got number",
	".nightCount: want integer, got string",
	".holder.lastName: want string, got array", ".holder.phone.countryNumber: want integer, got string",
	".netRate.amount: want number, got string",
	".grossRate.currency: want string, got number", ".refundedPrice.amount: want number, got string",
	".commissionableRate.amount: want number, got string",
	".respectGrossRate: want boolean, got string", ".supplier: want integer, got number", ".hotel: want object, got array",
	".rooms[0].hotelId: want string, got number", ".rooms[0].rate: want object, got number",
	".rooms[0].cancelFees[0].fee: want object, got string",
	".rooms[0].roomIndex: want integer, got string", ".rooms[0].refundInfo: want array, got object",
}

// mistypedOrderRest returns the order that the client reads from mistypedOrder.
func mistypedOrderRest() types.Order {
	eur := func(amount json.Number) types.Money { return types.Money{Currency: "EUR", Amount: amount} }
	return types.Order{
		Status: types.OrderStatusUnreadable, StatusRemark: "5",
		CheckIn: "20261224", CheckOut: "2026-12-27", RoomCount: 2, BookingTime: "2026-11-20T10:00:00Z",
		Holder:              types.Holder{FirstName: "Guest", Phone: &types.Phone{Number: "5"}},
		PlatformReferenceNo: "plat-1", CustomerReferenceNo: "ref-1", SupplierReferenceNo: "sup-1",
		NetRate: eur(""), GrossRate: &types.Money{Currency: "978", Amount: "2400.10"},
		RefundedPrice: new(eur("")), CommissionableRate: new(eur("")),
		Rooms: []types.OrderRoom{{
			RoomTypeID: "rt-1", HotelID: "7", RatePkgID: "pkg-1", TotalRate: types.Rate{NetRate: eur("1.10")},
			CancelFees: []types.CancelFee{{Until: "x"}, {Until: "y", Fee: eur("3")}},
			Guests:     []types.OrderGuest{{Raw: json.RawMessage(`{"passportNumber":"0001"}`)}},
		}},
	}
}

// mismatchTexts returns the mismatches of an answer, and their number if not all are listed.
func mismatchTexts(meta hotelstays.ResponseMeta) (texts []string) {
	for _, m := range meta.Mismatches {
		texts = append(texts, m.String())
	}
	if meta.MismatchCount != len(texts) {
		texts = append(texts, fmt.Sprintf("%d in all", meta.MismatchCount))
	}
	return texts
}

func mistypedUnder(prefix string) []string {
	list := make([]string, len(mistypedPaths))
	for i, m := range mistypedPaths {
		list[i] = prefix + m
	}
	return list
}

// The client returns the well-formed fields of the order, and Meta lists every mismatch.
func TestOrderWithMalformedFieldsIsNotLost(t *testing.T) {
	t.Run("Book", func(t *testing.T) {
		resp, err := sendBook(t, clientThrough(t, saying(`{"code":0,"data":{"hotelOrder":`+mistypedOrder+`}}`)))
		require.NoError(t, err)
		assert.Equal(t, new(mistypedOrderRest()), resp.HotelOrder)
		assert.ElementsMatch(t, mistypedUnder("data.hotelOrder"), mismatchTexts(resp.Meta))
	})
	t.Run("QueryOrders", func(t *testing.T) {
		body := `{"code":0,"data":{"orders":[{"status":1,"platformReferenceNo":"plat-0"},` + mistypedOrder + `]}}`
		resp, err := clientThrough(t, saying(body)).QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
		require.NoError(t, err)
		assert.Equal(t, []types.Order{{Status: 1, PlatformReferenceNo: "plat-0"}, mistypedOrderRest()}, resp.Orders)
		assert.ElementsMatch(t, mistypedUnder("data.orders[1]"), mismatchTexts(resp.Meta))
	})
	t.Run("a malformed amount of money", func(t *testing.T) {
		for _, amount := range []string{`"free"`, `""`, `" 1"`, `"1,5"`, `"NaN"`, `"0x10"`, `true`, `{}`} {
			body := `{"code":0,"data":{"hotelOrder":{"platformReferenceNo":"plat-1","netRate":{"currency":"EUR","amount":` + amount + `}}}}`
			resp, err := sendBook(t, clientThrough(t, saying(body)))
			if assert.NoError(t, err, amount) {
				assert.Equal(t, &types.Order{PlatformReferenceNo: "plat-1", NetRate: types.Money{Currency: "EUR"}}, resp.HotelOrder, amount)
				assert.Equal(t, 1, resp.Meta.MismatchCount, amount)
			}
		}
	})
	t.Run("orders that are not an array of objects", func(t *testing.T) {
		for _, members := range []string{`"orders":{"status":1}`, `"orders":"one"`, `"orders":[{"status":1},"one"]`,
			`"Orders":"one"`, `"orderſ":["one"]`, `"orders":"one","orders":[]`, `"orders":["one"],"orders":[]`, `"orders":"one"},"data":{`,
			`"orders":[` + strings.Repeat(`{"status":"open"},`, 100) + `"one"]`} {
			err := operationCalls[hotelstays.OpQueryOrders](t.Context(), clientThrough(t, saying(`{"code":0,"data":{`+members+`}}`)))
			assert.ErrorAs(t, err, new(*hotelstays.DecodeError), "unreadable orders must not look like no orders: %s", members)
		}
	})
	t.Run("an order without any reference", func(t *testing.T) {
		_, err := sendBook(t, clientThrough(t, saying(`{"code":0,"data":{"hotelOrder":{"status":1}}}`)))
		assert.ErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
	})
}

// The client leaves out only the field with the mismatch. If an offer, room or hotel is useless without the field, the client
// leaves out this offer, room or hotel.
func TestMismatchInASearchAnswerLosesOnlyItsElement(t *testing.T) {
	offers := func(list string) string { return `{"id":"1","rooms":[{"rates":[` + list + `]}]},{"id":"2"}` }
	for _, row := range []struct{ hotels, left, mismatch string }{ // left: the hotels and the ids of their offers
		{`{"id":"1","rating":"4.5"},{"id":"2"}`, "1[] 2[]", "[0].rating: want number, got string"},
		{`{"id":1},{"id":"2"}`, "1[] 2[]", "[0].id: want string, got number"},
		{`{"id":{"value":"1"}},{"id":"2"}`, "2[]", "[0].id: want string, got object"},
		{`7,{"id":"2"}`, "2[]", "[0]: want object, got number"},
		{`{"id":"1","rooms":[{"rates":{}},{"rates":[{"ratePkgId":"a"}]}]}`, "1[a]", "[0].rooms[0].rates: want array, got object"},
		{offers(`null,{"ratePkgId":"b"}`), "1[b] 2[]", "[0].rooms[0].rates[0]: want object, got null"},
		{offers(`{"ratePkgId":1},{"ratePkgId":"b"}`), "1[1 b] 2[]", "[0].rooms[0].rates[0].ratePkgId: want string, got number"},
		{offers(`{"ratePkgId":"a","originalRoomNaming":7},{"ratePkgId":"b"}`), "1[a b] 2[]",
			"[0].rooms[0].rates[0].originalRoomNaming: want object, got number"},
		{offers(`{"ratePkgId":"a","rate":{"netRate":{"amount":"120,50"}}},{"ratePkgId":"b"}`), "1[b] 2[]",
			"[0].rooms[0].rates[0].rate.netRate.amount: want number, got string"},
	} {
		resp, err := clientThrough(t, saying(`{"code":0,"data":{"list":[`+row.hotels+`],"basic":{"sessionId":"s"}}}`)).
			HotelList(t.Context(), anySearch())
		require.NoError(t, err, row.hotels)
		var left []string
		for _, hotel := range resp.List {
			var ids []string
			for _, room := range hotel.Rooms {
				for _, offer := range room.Rates {
					ids = append(ids, offer.RatePkgID)
				}
			}
			left = append(left, hotel.ID+"["+strings.Join(ids, " ")+"]")
		}
		assert.Equal(t, row.left, strings.Join(left, " "), row.hotels)
		assert.Equal(t, []string{"data.list" + row.mismatch}, mismatchTexts(resp.Meta), row.hotels)
	}
}

func TestOAuthAnswerMayHaveNoEnvelope(t *testing.T) {
	ask := func(status int, body string) (*hotelstays.OAuthTokenResponse, error) {
		c := clientThrough(t, &fixedAnswer{Status: status, Body: body})
		return c.OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("own-secret"),
			Scopes: []types.Scope{"search:read"}})
	}
	for _, body := range []string{
		`{"access_token":"opaque","token_type":"Bearer","expires_in":3600}`,
		`{"code":0,"msg":"success","data":{"access_token":"opaque"}}`,
		`{"code":0,"access_token":"opaque"}`,
		`{"code":0,"data":{},"access_token":"opaque"}`,
		`{"code":0,"data":null,"access_token":"opaque"}`,
		`{"access_token":"opaque","error":null}`,
		`{"access_token":"opaque","error":""}`,
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
		want   []error
		msg    string
	}{
		{"an OAuth error", 400, `{"error":"invalid_scope"}`, []error{hotelstays.ErrInvalidScope}, "invalid_scope"},
		{"an OAuth error with a description", 400, `{"error":"invalid_scope","error_description":"booking:write is not registered"}`,
			[]error{hotelstays.ErrInvalidScope}, "invalid_scope: booking:write is not registered"},
		{"an OAuth error with HTTP 200", 200, `{"error":"invalid_scope"}`, []error{hotelstays.ErrInvalidScope}, "invalid_scope"},
		{"an error in an envelope", 400, `{"code":100000400,"msg":"invalid_scope: booking:write"}`, []error{hotelstays.ErrInvalidScope},
			"invalid_scope: booking:write"},
		{"another OAuth error", 401, `{"error":"invalid_client"}`, []error{hotelstays.ErrUnauthorized}, "invalid_client"},
		{"only a message", 200, `{"msg":"client suspended"}`, nil, "client suspended"},
		{"an error beside a token", 200, `{"access_token":"opaque","error":"invalid_client"}`, nil, "invalid_client"},
		{"a refusal beside a token", 200, `{"code":100000401,"msg":"m","access_token":"opaque"}`, []error{hotelstays.ErrUnauthorized}, "m"},
	} {
		t.Run(row.name, func(t *testing.T) {
			resp, err := ask(row.status, row.body)
			assert.Nil(t, resp)
			api := errorAs[*hotelstays.APIError](t, err)
			assert.Equal(t, row.status, api.HTTPStatus)
			assert.ElementsMatch(t, row.want, matchedSentinels(err))
			assert.Equal(t, row.msg, api.Msg)
		})
	}
	for _, body := range []string{`{}`, `{"access_token":""}`, `{"access_token":7}`, `{"code":0,"data":{}}`,
		`{"code":0,"data":null}`, `[]`, `{"foo":1}`,
		htmlPage, ``} {
		resp, err := ask(200, body)
		assert.Nil(t, resp, body)
		require.ErrorAs(t, err, new(*hotelstays.DecodeError), body)
	}
}

// A text full of escapes is slow to search. If the client searched the whole text, the test would reach the timeout of
// go test.
func TestOnlyTheBeginningOfALongTextIsSearchedForSecrets(t *testing.T) {
	t.Parallel()
	backslashes := howMany(t, "KiB of backslashes", 8<<10, 256, 256) << 10
	for name, answer := range map[string]transportFunc{
		"message of a refusal": saying(`{"code":7,"msg":"` + strings.Repeat(`\\`, backslashes) + `"}`),
		"message of a success": saying(`{"code":0,"msg":"` + strings.Repeat(`\\`, backslashes) + `","data":{}}`),
		"malformed header": func(*http.Request) (*http.Response, error) {
			return nil, errors.New("malformed header: " + strings.Repeat(`\`, backslashes))
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := clientThrough(t, answer, hotelstays.WithObserver((&callLog{}).observer()),
				hotelstays.WithLogger(slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug}))))
			resp, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
			if err == nil {
				assert.Less(t, len(resp.Meta.Msg), 2000)
			} else {
				assert.Less(t, len(err.Error()), 5000)
			}
		})
	}
}

// The error has the client's own request id instead of a malformed id of the service.
func TestMalformedIDsAreNotQuoted(t *testing.T) {
	for id, quoted := range map[string]bool{strings.Repeat("i", 128): true, strings.Repeat("i", 129): false,
		"a\u009b2J": false, "a\u202e": false, "é": false, " ~": true} {
		answer := answering(200, `{"code":0,"data":{"list":[]}}`, "Request-Id", id, "Trace-Id", id)
		resp, err := clientThrough(t, answer).Destinations(t.Context(), &hotelstays.DestinationsRequest{})
		require.NoError(t, err)
		assert.Equal(t, []bool{quoted, quoted}, []bool{resp.Meta.RequestID == id, resp.Meta.TraceID == id}, id)
	}
}

// ResponseMeta.Header has no cookies, and no value that repeats a secret. The client does not change the
// header that the RoundTripper returned.
func TestResponseHeadersHaveNoSecrets(t *testing.T) {
	for status, body := range map[int]string{200: `{"code":0,"data":{"list":[]}}`, 403: "<html>"} {
		for _, sent := range []http.Header{
			{"Via": {"proxy"}},
			{"Via": {"proxy"}, "Set-Cookie": {"session=1", "route=2"}},
			{"Via": {"proxy"}, "Echo": {"none", "Bearer secret-token"}},
			{"Via": {"proxy"}, "Echo": {"BEARER SECRET-TOKEN"}},
		} {
			own := maps.Clone(sent)
			client := clientWith(t, transportFunc(func(*http.Request) (*http.Response, error) {
				resp := reply(status, body)
				resp.Header = own
				return resp, nil
			}), bearerToken("secret-token"))
			resp, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
			var header http.Header
			if refusal, ok := errors.AsType[*hotelstays.APIError](err); ok {
				header = refusal.Header
				assert.NotContains(t, err.Error(), "proxy")
			} else {
				require.NoError(t, err)
				header = resp.Meta.Header
			}
			assert.Equal(t, http.Header{"Via": {"proxy"}}, header)
			assert.Equal(t, sent, own)
		}
	}
}

func TestOutcomeIsUnknownIfCtxEndsWhileDecoding(t *testing.T) {
	for _, op := range []hotelstays.Operation{hotelstays.OpQueryOrders, hotelstays.OpHotelList, hotelstays.OpBook, hotelstays.OpCancel} {
		for _, status := range []int{200, 400} {
			ctx, cancel := context.WithCancel(t.Context())
			client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
				end := readerFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF })
				first, rest := `{"new":[`+strings.Repeat("1,", mib/4), strings.Repeat("1,", mib/4)+`1],"code":7}`
				return replyOf(status, io.MultiReader(strings.NewReader(first), end, strings.NewReader(rest))), nil
			}))
			err := operationCalls[op](ctx, client)
			require.ErrorIs(t, err, context.Canceled)
			failed := errorAs[*hotelstays.TransportError](t, causeOf(err))
			assert.True(t, failed.Sent)
			assert.Equal(t, 1, failed.Attempts)
			assert.Contains(t, err.Error(), fmt.Sprintf("the answer (HTTP %d) was not read to its end", status))
			assert.Equal(t, hotelstays.Mutates(op), errors.As(err, new(*hotelstays.OutcomeUnknownError)), op)
		}
	}
}

// If ctx ends during the wait after a refusal, the error quotes the refusal, but errors.Is finds only the end of ctx.
// The error lacks the code of a long refusal, because the decoding of the refusal ends with ctx.
func TestErrorOfAnInterruptedBackoffQuotesTheRefusal(t *testing.T) {
	long := `{` + strings.Repeat(`"\n":1,`, 100<<10) + `"code":100000429}`
	for op, body := range map[hotelstays.Operation]string{hotelstays.OpCheckAvail: long, hotelstays.OpQueryOrders: `{"code":100000429}`,
		hotelstays.OpBook: `{"code":100000429}`, hotelstays.OpCancel: `{"code":100000429}`} {
		synctest.Test(t, func(t *testing.T) {
			client := clientThrough(t, answering(429, body, "Retry-After", "20"), hotelstays.WithMaxAttempts(4))
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(10*time.Second, cancel).Stop()
			err := operationCalls[op](ctx, client)
			failed := errorAs[*hotelstays.TransportError](t, err)
			assert.False(t, failed.Sent)
			assert.Equal(t, hotelstays.KindCanceled, hotelstays.KindOf(err), "the outcome is not unknown")
			assert.NotErrorAs(t, err, new(*hotelstays.APIError))
			assert.NotErrorIs(t, err, hotelstays.ErrRateLimited)
			assert.Equal(t, body == long, !strings.Contains(err.Error(), "100000429"))
			require.ErrorContains(t, err, "before another attempt")
			assert.Contains(t, fmt.Sprint(failed.LogValue()), "status=429")
			for _, part := range []string{"hotelstays: ", string(op) + ": ", "request id "} {
				assert.Equal(t, 1, strings.Count(err.Error(), part), err)
			}
		})
	}
}

// A call with WithRawData returns the whole raw data or an error, no matter when its ctx ends.
func TestRawDataIsCompleteOrTheCallFails(t *testing.T) {
	body := []byte(`{` + strings.Repeat(`"\n":1,`, 20<<10) + `"code":0,"data":{"orders":[],"hasMore":true}}`)
	for ends := 0; ; ends++ {
		data, err := hotelstays.ReadKeepingData(&endingCtx{Context: t.Context(), ends: ends}, body)
		if err == nil {
			assert.GreaterOrEqual(t, ends, 2*(len(body)>>16))
			assert.JSONEq(t, `{"orders":[],"hasMore":true}`, string(data))
			return
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorAs(t, err, new(*hotelstays.TransportError))
	}
}

func answerTypes() map[string]reflect.Type {
	all := map[string]reflect.Type{recordedWebhooks: reflect.TypeFor[hotelstays.WebhookBody]()}
	for _, op := range testkit.Operations() {
		method, _ := reflect.TypeFor[*hotelstays.Client]().MethodByName(string(op))
		all[string(op)] = method.Type.Out(0).Elem()
	}
	return all
}

// filled returns a value of a type with every documented field set.
func filled(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"any":[1]}`))
		return v
	case reflect.TypeFor[json.Number]():
		v.SetString("120.50")
		return v
	case reflect.TypeFor[types.Secret]():
		v.Set(reflect.ValueOf(types.NewSecret("secret")))
		return v
	}
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(filled(t.Elem()))
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				v.Field(i).Set(filled(f.Type))
			}
		}
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.ValueOf("eur"), filled(t.Elem()))
	case reflect.String:
		v.SetString("Text é")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(4.5)
	default:
		v.SetInt(7)
	}
	return v
}

// freshTarget returns an empty target of the type of resp, with the settings of the client.
func freshTarget(resp any) wire.Target {
	return hotelstays.DecodeTarget(reflect.New(reflect.TypeOf(resp).Elem()).Interface(), true)
}

// requireAsOracle requires that the decoder agrees on an answer with the oracle, which uses encoding/json.
func requireAsOracle(t testing.TB, body []byte, lenient bool, a oracle.Answer, want any, env wire.Envelope, got any, err error) {
	t.Helper()
	var mismatches wire.Mismatches
	switch {
	case a.Invalid:
		require.ErrorAs(t, err, new(*wire.SyntaxError), "%q", body)
	case a.Unusable:
		require.ErrorAs(t, err, new(*wire.UnusableError), "%q", body)
	case a.CodeMismatch:
		require.ErrorContains(t, err, "code: want integer", "%q", body)
	case a.Refused, !lenient && len(a.Mismatches) > 0:
		require.ErrorAs(t, err, new(*wire.MismatchError), "%q", body)
		mismatches = err.(*wire.MismatchError).Mismatches
	default:
		require.NoError(t, err, "%q", body)
		mismatches = env.Mismatches
	}
	if err != nil || !a.HasData {
		require.Zero(t, reflect.ValueOf(got).Elem().Interface(), "%q", body)
	} else {
		require.Equal(t, want, got, "%q", body)
	}
	require.Equal(t, a.HasData && err == nil, env.HasData, "%q", body)
	if err == nil || a.Refused {
		require.Equal(t, []any{a.HasCode, a.Code}, []any{env.HasCode, env.Code}, "%q", body)
	}
	if err == nil && a.Msg != "" {
		require.Equal(t, a.Msg, env.Msg, "%q", body)
	}
	if mismatches.Count > 0 || len(a.Mismatches) > 0 && (err == nil || a.Refused && !a.Unusable) {
		var texts []string
		for _, m := range mismatches.List {
			texts = append(texts, m.String())
		}
		require.Equal(t, a.Mismatches[:min(64, len(a.Mismatches))], texts, "%q", body)
		require.Equal(t, len(a.Mismatches), mismatches.Count, "%q", body)
	}
}

// decodeBytes returns the size of body plus the bytes that its decoding allocates. The sum is an upper bound of the memory
// in use.
func decodeBytes(t *testing.T, body []byte, target wire.Target) (bytes int, env wire.Envelope, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	env, err = wire.Decode(t.Context(), body, target)
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc-before.TotalAlloc) + len(body), env, err
}

const mib = 1 << 20

const recordedWebhooks = "webhooks"

// A list with far more elements than any page has is refused before memory for it is allocated.
func TestLongListsAreRefusedBeforeTheyTakeMemory(t *testing.T) {
	length := howMany(t, "MiB", 64, 1, 1) * mib
	for _, tc := range []struct {
		list, element string
		resp          any
	}{{"orders", `1,`, &hotelstays.QueryOrdersResponse{}}, {"list", `{},`, &hotelstays.HotelListResponse{}}} {
		body := []byte(`{"code":0,"data":{"` + tc.list + `":[` + strings.Repeat(tc.element, length/len(tc.element)-20) + `{}]}}`)
		bytes, _, err := decodeBytes(t, body, freshTarget(tc.resp))
		assert.Less(t, bytes, 4*length+4*mib, tc.list) // body takes length, and the lists may take 2*length+4*mib
		assert.ErrorAs(t, err, new(*wire.UnusableError), tc.list)
	}
}

func TestManySmallOrdersAreRead(t *testing.T) {
	orders := howMany(t, "orders", 50_000, 5_000, 5_000)
	order := `{"status":1,"checkIn":"2026-12-24","checkOut":"2026-12-27","bookingTime":"2026-11-20T10:00:00Z",` +
		`"holder":{"firstName":"A","lastName":"B"},` +
		`"platformReferenceNo":"1","netRate":{"currency":"EUR","amount":1},"supplierReferenceNo":"2"}`
	body := `{"code":0,"data":{"orders":[` + strings.Repeat(order+",", orders) + order + `]}}`
	target := freshTarget(&hotelstays.QueryOrdersResponse{})
	_, err := wire.Decode(t.Context(), []byte(body), target)
	require.NoError(t, err)
	assert.Len(t, target.Into.(*hotelstays.QueryOrdersResponse).Orders, orders+1)
}

// endingCtx ends after a number of calls of Err.
type endingCtx struct {
	context.Context
	calls, ends int
}

func (c *endingCtx) Err() error {
	if c.calls++; c.calls > c.ends {
		return context.DeadlineExceeded
	}
	return nil
}

// Two mismatches in an answer take at most 15 % more memory, even if the client leaves out an offer. Two mismatches in each
// order or hotel at most double the memory.
func TestMismatchesTakeLittleMemory(t *testing.T) {
	const elements = 33
	for _, tc := range []struct {
		resp, element any
		list          string
		fields        [2]string
	}{
		{&hotelstays.QueryOrdersResponse{}, types.Order{}, "orders", [2]string{`"status":7`, `"nightCount":7`}},
		{&hotelstays.HotelListResponse{}, types.Hotel{}, "list", [2]string{`"supplier":7`, `"isAvailable":true`}},
		{&hotelstays.HotelListResponse{}, types.Hotel{}, "list", [2]string{`"respectGrossRate":true`, `"isAvailable":true`}},
	} {
		sample, err := json.Marshal(filled(reflect.TypeOf(tc.element)).Interface())
		require.NoError(t, err)
		with := func(value string) string {
			text := string(sample)
			for _, field := range tc.fields {
				name, was, _ := strings.Cut(field, ":")
				text = strings.Replace(text, field, name+":"+cmp.Or(value, was), 1)
			}
			return text
		}
		answer := func(first, rest, last string) []byte {
			return []byte(`{"code":0,"data":{"` + tc.list + `":[` + with(first) + "," +
				strings.Repeat(with(rest)+",", elements-2) + with(last) + `]}}`)
		}
		// Pools lose buffers at random, so the cost is the least of up to nine runs.
		cost := func(body []byte, mismatches, enoughBytes int, enough float64) (bytes int, allocations float64) {
			bytes, allocations = math.MaxInt, math.MaxFloat64
			for n := 0; n < 9 && (bytes > enoughBytes || allocations > enough); n++ {
				allocations = min(allocations, testing.AllocsPerRun(1, func() {
					taken, env, err := decodeBytes(t, body, freshTarget(tc.resp))
					require.NoError(t, err)
					require.Equal(t, mismatches, env.Count)
					require.Len(t, env.List, min(mismatches, 64))
					bytes = min(bytes, taken-len(body))
				}))
			}
			return bytes, allocations
		}
		cleanBytes, cleanAllocations := cost(answer("", "", ""), 0, 0, 0)
		for _, c := range []struct {
			body       []byte
			mismatches int
			most       float64
		}{{answer(`"x"`, "", ""), 2, 1.15}, {answer("", "", `{"a":[1]}`), 2, 1.15}, {answer("", "1.5", ""), 2 * (elements - 2), 2},
			{answer(`"x"`, `"x"`, `"x"`), 2 * elements, 2}} {
			mostBytes, most := int(c.most*float64(cleanBytes)), c.most*cleanAllocations
			bytes, allocations := cost(c.body, c.mismatches, mostBytes, most)
			t.Logf("%s: %.2f of the bytes, %.2f of the allocations", tc.list, float64(bytes)/float64(cleanBytes), allocations/cleanAllocations)
			assert.LessOrEqual(t, bytes, mostBytes)
			assert.LessOrEqual(t, allocations, most)
		}
	}
}
