// Which names in an answer count: the documented ones, in their exact letter case, each of
// them once. And answers that prove nothing, because they are about another order.

package conformance_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestNamesThatMakeAnAnswerUnreadable(t *testing.T) {
	const orders, order = `"orders":[{"customerReferenceNo":"ref-1"}]`, `"hotelOrder":{"customerReferenceNo":"ref-1"}`
	for _, row := range []struct {
		op      hotelstays.Operation
		body    string
		problem string
	}{
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `,"orders":[]}}`, "data.orders comes twice"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `,"Orders":[]}}`, "data.orders comes in another letter case"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `,"orderſ":[]}}`, "data.orders comes in another letter case"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `,"\u004frders":[]}}`, "data.orders comes in another letter case"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `,"\u006frders":[]}}`, "data.orders comes twice"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{"Orders":[]}}`, "data.orders comes in another letter case"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `,"orders":null}}`, "data.orders comes twice"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{"orders":[{"customerReferenceNo":"ref-1","customerReferenceNo":"ref-2"}]}}`,
			"data.orders[0].customerReferenceNo comes twice"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `},"data":{"orders":[]}}`, "data comes twice"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `},"Data":null}`, "data comes in another letter case"},
		{hotelstays.OpQueryOrders, `{"code":0,"DATA":{` + orders + `}}`, "data comes in another letter case"},

		{hotelstays.OpBook, `{"code":0,"code":7,"data":{` + order + `}}`, "code comes twice"},
		{hotelstays.OpBook, `{"code":7,"msg":"m","Code":0}`, "code comes in another letter case"},
		{hotelstays.OpBook, `{"code":0,"msg":"m","msg":"n","data":{` + order + `}}`, "msg comes twice"},
		{hotelstays.OpBook, `{"code":7,"data":{},"data":{}}`, "data comes twice"},
		{hotelstays.OpBook, `{"code":0,"data":{` + order + `,` + order + `}}`, "data.hotelOrder comes twice"},
		{hotelstays.OpBook, `{"code":0,"data":{"hotelOrder":{"customerReferenceNo":"ref-1","hotel":{"hotelId":"1","hotelId":"2"}}}}`,
			"data.hotelOrder.hotel.hotelId comes twice"},
		{hotelstays.OpCancel, `{"code":0,"data":{"status":3,"status":1}}`, "data.status comes twice"},

		{hotelstays.OpCheckAvail, `{"code":0,"data":{"roomRatePkg":{"rate":{"netRate":{"amount":1,"amount":2}}}}}`,
			"data.roomRatePkg.rate.netRate.amount comes twice"},
		{hotelstays.OpCheckAvail, `{"code":0,"data":{"exchangeRateSnapshot":{"usd":{"eur":1,"eur":2}}}}`,
			"data.exchangeRateSnapshot.usd.eur comes twice"},
	} {
		err := operationCalls[row.op](t.Context(), clientThrough(t, &fixedAnswer{Status: 200, Body: row.body}))
		var unknown *hotelstays.OutcomeUnknownError
		assert.Equal(t, mutating[row.op], errors.As(err, &unknown), row.body)
		if unknown != nil {
			err = unknown.Err
		}
		var unreadable *hotelstays.DecodeError
		require.ErrorAs(t, err, &unreadable, row.body)
		assert.EqualError(t, unreadable.Err, row.problem, row.body)
	}
}

// Whatever status it has, a refusal that contradicts itself proves nothing.
func TestAmbiguousRefusalsProveNothing(t *testing.T) {
	for _, body := range []string{`{"code":100000400,"code":0}`, `{"code":0,"code":100000400}`, `{"code":100000400,"Code":0}`,
		`{"code":100000400,"data":{},"data":{}}`} {
		for _, status := range []int{200, 400, 401, 403, 404, 429} {
			for _, op := range []hotelstays.Operation{hotelstays.OpBook, hotelstays.OpCancel} {
				rt := &fixedAnswer{Status: status, Body: body}
				err := operationCalls[op](t.Context(), clientThrough(t, rt, hotelstays.WithMaxAttempts(3)))
				assert.ErrorAs(t, err, new(*hotelstays.OutcomeUnknownError), "%d %s", status, body)
				assert.Len(t, rt.Sent, 1, "%d %s", status, body)
			}
		}
	}
}

// Elsewhere a name in another letter case is one that is not documented: it is neither
// read nor missed.
func TestNamesInAnotherLetterCaseAreIgnored(t *testing.T) {
	answer := &fixedAnswer{Status: 200}
	client := clientThrough(t, answer, hotelstays.WithRateLimiter(noLimits{}))
	for _, op := range operations() {
		want := op.want(t)
		for _, m := range members(t, []byte(op.data)) {
			name := op.data[m.Key+1 : m.Value-2]
			if slices.Contains([]string{"orders", "eur", "kwd", "passportNumber", "any"}, name) {
				continue // a name that is exact, keys of a map, and members of what stays JSON
			}
			for _, other := range []string{strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:]} {
				if other != name {
					body := op.data[:m.Key] + `"` + other + `":{"a":[1]},` + op.data[m.Key:m.End] + `,"` + other + `":null` + op.data[m.End:]
					answer.Body = `{"code":0,"data":` + body + `}`
					got, err := op.minimal.send(t.Context(), client)
					require.NoError(t, err, body)
					reflect.ValueOf(got).Elem().FieldByName("Meta").SetZero()
					require.Equal(t, want, got, body)
				}
			}
		}
	}
	answer.Body = `{"Msg":"n","code":0,"msg":"m","MSG":7,"data":{"HotelOrder":null,` +
		`"hotelOrder":{"customerReferenceNo":"ref-1","Status":"x","STATUS":5}}}`
	resp, err := client.Book(t.Context(), bookWithPassport())
	require.NoError(t, err)
	assert.Equal(t, &types.Order{CustomerReferenceNo: "ref-1"}, resp.HotelOrder)
	assert.Equal(t, "m", resp.Meta.Msg)
	assert.Zero(t, resp.Meta.MismatchCount)
}

// The voucher of another order is refused, by whichever of its references it shows.
func TestVoucherOfAnotherOrder(t *testing.T) {
	asked := &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "c", PlatformReferenceNo: "p", SupplierReferenceNo: "s"}
	for answer, good := range map[string]bool{
		`"customerReferenceNo":"c","platformReferenceNo":"p","supplierReferenceNo":"s"`: true,
		`"platformReferenceNo":"p"`:                               true,
		`"customerReferenceNo":"other","platformReferenceNo":"p"`: false,
		`"platformReferenceNo":"other"`:                           false,
		`"platformReferenceNo":"p","supplierReferenceNo":"other"`: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			client := clientThrough(t, saying(`{"code":0,"data":{"status":"GENERATED","voucher":{"voucherNumber":"v",`+
				`"downloadUrl":"https://host.example/v"}`+
				","+answer+"}}"))
			path := filepath.Join(t.TempDir(), "voucher.pdf")
			ctx := testkit.Within(t, time.Minute)
			_, err := client.OrderVoucher(ctx, asked)
			_, awaitErr := client.AwaitVoucher(ctx, asked)
			if good {
				assert.NoError(t, err, answer)
				assert.NoError(t, awaitErr, answer)
				return
			}
			_, saveErr := client.SaveVoucher(ctx, asked, path)
			var unread *hotelstays.DecodeError
			require.ErrorAs(t, err, &unread, answer)
			assert.ErrorContains(t, err, "another order")
			assert.ErrorContains(t, awaitErr, "another order", "it asks again, and says what came")
			assert.ErrorIs(t, awaitErr, context.DeadlineExceeded)
			assert.Error(t, saveErr)
			assert.NoFileExists(t, path)
		})
	}
}

// The platform's reference is required: without one the answer may be of any order.
func TestVoucherOfNoOrder(t *testing.T) {
	for _, order := range []string{``, `,"platformReferenceNo":""`, `,"PlatformReferenceNo":"p"`, `,"customerReferenceNo":"c"`} {
		client := clientThrough(t, saying(`{"code":0,"data":{"status":"NOT_GENERATED"`+order+`}}`))
		_, err := client.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "c"})
		var unread *hotelstays.DecodeError
		assert.ErrorAs(t, err, &unread, order)
	}
	client := clientThrough(t, saying(`{"code":0,"data":{"platformReferenceNo":"p"}}`))
	_, err := client.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "c"})
	assert.ErrorContains(t, err, "data.status is missing")
}

func TestBookAnsweredWithAnotherReference(t *testing.T) {
	var unknown *hotelstays.OutcomeUnknownError
	for _, other := range []string{"other", "REF-1", "ref-1 "} {
		client := clientThrough(t, saying(`{"code":0,"data":{"hotelOrder":{"platformReferenceNo":"p","customerReferenceNo":"`+other+`"}}}`))
		require.ErrorAs(t, operationCalls[hotelstays.OpBook](t.Context(), client), &unknown, other)
		assert.Equal(t, "ref-1", unknown.CustomerReferenceNo)
	}
	var cause *hotelstays.DecodeError
	require.ErrorAs(t, unknown.Err, &cause, "it is of a type, and says where to look")
	assert.ErrorContains(t, unknown, "it is of another order")
}
