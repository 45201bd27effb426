// Proves which names of an answer count, on both builds: those that are documented,
// to the letter case, and each of them once.

package hotelstays_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/wire"
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
		{hotelstays.OpQueryOrders, `{"code":0,"data":{"orders":[],` + orders + `}}`, "data.orders comes twice"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `,"Orders":[]}}`, "data.orders comes in another letter case"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{"ORDERS":[],` + orders + `}}`, "data.orders comes in another letter case"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `,"orderſ":[]}}`, "data.orders comes in another letter case"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `,"\u004frders":[]}}`, "data.orders comes in another letter case"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `,"\u006frders":[]}}`, "data.orders comes twice"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{"Orders":[]}}`, "data.orders comes in another letter case"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `,"orders":null}}`, "data.orders comes twice"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{"orders":[{"customerReferenceNo":"ref-1","customerReferenceNo":"ref-2"}]}}`, "data.orders[0].customerReferenceNo comes twice"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `},"data":{"orders":[]}}`, "data comes twice"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `},"Data":{"orders":[]}}`, "data comes in another letter case"},
		{hotelstays.OpQueryOrders, `{"code":0,"data":{` + orders + `},"Data":null}`, "data comes in another letter case"},
		{hotelstays.OpQueryOrders, `{"code":0,"DATA":{` + orders + `}}`, "data comes in another letter case"},

		{hotelstays.OpBook, `{"code":0,"code":7,"data":{` + order + `}}`, "code comes twice"},
		{hotelstays.OpBook, `{"code":7,"msg":"m","code":0}`, "code comes twice"},
		{hotelstays.OpBook, `{"code":7,"msg":"m","Code":0}`, "code comes in another letter case"},
		{hotelstays.OpBook, `{"CODE":7,"msg":"m"}`, "code comes in another letter case"},
		{hotelstays.OpBook, `{"code":0,"msg":"m","msg":"n","data":{` + order + `}}`, "msg comes twice"},
		{hotelstays.OpBook, `{"code":7,"data":{},"Data":{}}`, "data comes in another letter case"},
		{hotelstays.OpBook, `{"code":7,"data":{},"data":{}}`, "data comes twice"},
		{hotelstays.OpBook, `{"code":0,"data":{` + order + `,` + order + `}}`, "data.hotelOrder comes twice"},
		{hotelstays.OpBook, `{"code":0,"data":{"hotelOrder":{"customerReferenceNo":"ref-1","hotel":{"hotelId":"1","hotelId":"2"}}}}`, "data.hotelOrder.hotel.hotelId comes twice"},
		{hotelstays.OpCancel, `{"code":0,"code":0,"data":{"status":3}}`, "code comes twice"},
		{hotelstays.OpCancel, `{"code":0,"data":{"status":3},"dAta":{}}`, "data comes in another letter case"},
		{hotelstays.OpCancel, `{"code":0,"data":{"status":3,"status":1}}`, "data.status comes twice"},

		{hotelstays.OpCheckAvail, `{"code":0,"data":{"roomRatePkg":{"rate":{"netRate":{"amount":1,"amount":2}}}}}`, "data.roomRatePkg.rate.netRate.amount comes twice"},
		{hotelstays.OpCheckAvail, `{"code":0,"data":{"exchangeRateSnapshot":{"usd":{"eur":1,"eur":2}}}}`, "data.exchangeRateSnapshot.usd.eur comes twice"},
	} {
		err := operationCalls[row.op](t.Context(), decodeClient(t, &decodeAnswer{status: 200, body: row.body}))
		var unreadable *hotelstays.DecodeError
		require.ErrorAs(t, err, &unreadable, row.body)
		assert.EqualError(t, unreadable.Err, row.problem, row.body)
		var unknown *hotelstays.OutcomeUnknownError
		mutates := row.op == hotelstays.OpBook || row.op == hotelstays.OpCancel
		assert.Equal(t, mutates, assert.ObjectsAreEqual(fmt.Sprintf("%T", err), fmt.Sprintf("%T", unknown)), row.body)
	}
}

// Whatever status it has, a refusal that contradicts itself proves nothing.
func TestAmbiguousRefusalsProveNothing(t *testing.T) {
	for _, body := range []string{`{"code":100000400,"code":0}`, `{"code":0,"code":100000400}`, `{"code":100000400,"Code":0}`, `{"code":100000400,"data":{},"data":{}}`} {
		for _, status := range []int{200, 400, 401, 403, 404, 429} {
			for _, op := range []hotelstays.Operation{hotelstays.OpBook, hotelstays.OpCancel} {
				rt := &decodeAnswer{status: status, body: body}
				err := operationCalls[op](t.Context(), decodeClient(t, rt, hotelstays.WithMaxAttempts(3)))
				assert.ErrorAs(t, err, new(*hotelstays.OutcomeUnknownError), "%d %s", status, body)
				assert.Len(t, rt.sent, 1, "%d %s", status, body)
			}
		}
	}
}

// Elsewhere a name in another letter case is one that is not documented: it is neither
// read nor missed.
func TestNamesInAnotherLetterCaseAreIgnored(t *testing.T) {
	for _, op := range wireOperations() {
		for _, m := range agreeMembers(t, []byte(op.data)) {
			name := op.data[m.key+1 : m.value-2]
			if slices.Contains([]string{"orders", "eur", "kwd", "passportNumber", "any"}, name) {
				continue // a name that is exact, keys of a map, and members of what stays JSON
			}
			for _, other := range []string{strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:]} {
				if other != name {
					body := op.data[:m.key] + `"` + other + `":{"a":[1]},` + op.data[m.key:m.end] + `,"` + other + `":null` + op.data[m.end:]
					for _, target := range bothTargets(op.want) {
						_, err := wire.Decode(t.Context(), []byte(`{"code":0,"data":`+body+`}`), target, false)
						require.NoError(t, err, body)
						require.Equal(t, op.want, target.Into, body)
					}
				}
			}
		}
	}
	resp, err := decodeBook(t, decodeClient(t, &decodeAnswer{status: 200, body: `{"Msg":"n","code":0,"msg":"m","MSG":7,"data":{"HotelOrder":null,"hotelOrder":{"customerReferenceNo":"ref-1","Status":"x","STATUS":5}}}`}))
	require.NoError(t, err)
	assert.Equal(t, &types.Order{CustomerReferenceNo: "ref-1"}, resp.HotelOrder)
	assert.Equal(t, "m", resp.Meta.Msg)
	assert.Zero(t, resp.Meta.MismatchCount)
}

// bothTargets are two empty responses of the type of resp: one that is read as the
// client does, one by encoding/json.
func bothTargets(resp any) []wire.Target {
	fresh := func() any { return reflect.New(reflect.TypeOf(resp).Elem()).Interface() }
	return []wire.Target{hotelstays.DecodeTarget(fresh(), true), {Into: fresh()}}
}

// agreeMember is where a member of an object lies in a text.
type agreeMember struct{ key, value, end int }

// agreeMembers finds the members of all objects of a text without white space.
func agreeMembers(t *testing.T, body []byte) (members []agreeMember) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(body))
	var value func()
	value = func() {
		token, err := decoder.Token()
		require.NoError(t, err)
		for decoder.More() && (token == json.Delim('{') || token == json.Delim('[')) {
			if token == json.Delim('[') {
				value()
				continue
			}
			m := agreeMember{key: int(decoder.InputOffset())}
			if body[m.key] == ',' {
				m.key++
			}
			_, err := decoder.Token()
			require.NoError(t, err)
			m.value = int(decoder.InputOffset()) + 1
			value()
			m.end = int(decoder.InputOffset())
			members = append(members, m)
		}
		if _, nested := token.(json.Delim); nested {
			_, err := decoder.Token()
			require.NoError(t, err)
		}
	}
	value()
	return members
}
