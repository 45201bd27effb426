// ServiceFacts, and their effect on calls.

package hotelstays_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// The JSON of facts has only the facts that are set.
func TestJSONOfServiceFactsRefusesUnknownNames(t *testing.T) {
	for text, facts := range map[string]hotelstays.ServiceFacts{
		`{}`:                  {},
		`{"nullOrders":true}`: {NullOrders: true},
		`{"statusMeanings":{"confirmed":[2],"pending":[4,5],"cancelled":[3]},` +
			`"refusalCodes":{"Book":[100001200,7],"Cancel":[8]},"nullOrders":true}`: {
			StatusMeanings: hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{2}, Pending: []types.OrderStatus{4, 5},
				Cancelled: []types.OrderStatus{3}},
			RefusalCodes: map[hotelstays.Operation][]int{hotelstays.OpBook: {100001200, 7}, hotelstays.OpCancel: {8}},
			NullOrders:   true,
		},
	} {
		encoded, err := json.Marshal(facts)
		require.NoError(t, err)
		assert.JSONEq(t, text, string(encoded))
		var decoded hotelstays.ServiceFacts
		require.NoError(t, json.Unmarshal([]byte(text), &decoded))
		assert.Equal(t, facts, decoded)
	}
	for name, text := range map[string]string{
		"nullOrder": `{"nullOrder":true}`, "orders": `{"orders":null}`, "canceled": `{"statusMeanings":{"canceled":[3]},"nullOrders":true}`,
		"nullOrders": `{"nullOrders":"true"}`, "refusalCodes": `{"refusalCodes":7}`, "ServiceFacts": `[]`,
	} {
		err := json.Unmarshal([]byte(text), new(hotelstays.ServiceFacts))
		require.ErrorContains(t, err, strconv.Quote(name))
		require.ErrorContains(t, err, "ServiceFacts")
		assert.NotContains(t, err.Error(), "Go struct")
	}
}

// refusing returns an option which says that an answer of op with one of the codes proves a refusal.
func refusing(op hotelstays.Operation, codes ...int) hotelstays.SharedOption {
	return hotelstays.WithServiceFacts(hotelstays.ServiceFacts{RefusalCodes: map[hotelstays.Operation][]int{op: codes}})
}

// A code in ServiceFacts.RefusalCodes proves a refusal with the same HTTP statuses as a documented code.
func TestRefusalCodesOfTheServiceProveARefusal(t *testing.T) {
	const own = 100001200
	do := func(ctx context.Context, client *hotelstays.Client, opts ...hotelstays.CallOption) error {
		_, err := client.Do(ctx, &hotelstays.DoRequest{Path: "/api/trade/book"}, opts...)
		return err
	}
	cancelAndRead := func(ctx context.Context, client *hotelstays.Client, opts ...hotelstays.CallOption) error {
		_, err := client.CancelAndRead(ctx, &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "r",
			SupplierReferenceNo: "s"}, opts...)
		return err
	}
	book, cancel := operationCalls[hotelstays.OpBook], operationCalls[hotelstays.OpCancel]
	for _, tc := range []struct {
		name    string
		call    operationCall
		facts   hotelstays.SharedOption
		status  int
		refused bool
	}{
		{"Book", book, refusing(hotelstays.OpBook, 7, own), 200, true},
		{"Book, HTTP 404", book, refusing(hotelstays.OpBook, own), 404, true},
		{"Book, HTTP 409", book, refusing(hotelstays.OpBook, own), 409, true},
		{"Book, HTTP 302", book, refusing(hotelstays.OpBook, own), 302, false},
		{"Book, HTTP 500", book, refusing(hotelstays.OpBook, own), 500, false},
		{"Book, HTTP 504", book, refusing(hotelstays.OpBook, own), 504, false},
		{"Book, another code", book, refusing(hotelstays.OpBook, 7), 200, false},
		{"Book, the code of another operation", book, refusing(hotelstays.OpCancel, own), 200, false},
		{"Do", do, refusing(hotelstays.OpBook, own), 200, true},
		{"Cancel", cancel, refusing(hotelstays.OpCancel, own), 200, true},
		{"Cancel, another code", cancel, refusing(hotelstays.OpCancel, 7), 200, false},
		{"CancelAndRead", cancelAndRead, refusing(hotelstays.OpCancel, own), 200, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answer := &fixedAnswer{Status: tc.status, Body: `{"code":100001200,"msg":"over the limit"}`}
			for _, err := range []error{
				tc.call(t.Context(), clientThrough(t, answer, tc.facts)),
				tc.call(t.Context(), clientThrough(t, answer), tc.facts),
				tc.call(t.Context(), clientThrough(t, answer, refusing(hotelstays.OpBook, 8)), tc.facts),
			} {
				refusal := errorAs[*hotelstays.APIError](t, causeOf(err))
				assert.Equal(t, own, refusal.Code)
				assert.Equal(t, tc.refused, hotelstays.KindOf(err) == hotelstays.KindRefused, "%v", err)
				assert.Equal(t, tc.refused, hotelstays.KindOf(err) != hotelstays.KindOutcomeUnknown, "%v", err)
				assert.Equal(t, !tc.refused && tc.status == 200, strings.Contains(err.Error(), "ServiceFacts.RefusalCodes"), "%v", err)
			}
		})
	}
}

// For each helper, only a complete list without the order proves absence. Orders under other references, an
// answer without a list, and a list that announces more orders prove nothing. Null counts as an empty list only with
// ServiceFacts.NullOrders.
func TestOnlyACompleteListProvesAbsence(t *testing.T) {
	const proven, missing, notApplied = "", "data.orders is missing", "the service did not apply the filter"
	const further = " indicates further orders"
	const needsNullOrders = "ServiceFacts.NullOrders"
	for data, why := range map[string]string{ // the data of the answer, and the error without ServiceFacts.NullOrders
		`{"orders":[]}`: proven,
		`{"orders":[],"hasMore":false,"total":0,"cursor":null,"page":{"pageNum":1,"pageSize":20,"hasMore":false,"total":0}}`: proven,
		`{"orders":[],"nextPollAfter":30,"page":{"totalMillis":5,"moreInfo":"x"}}`:                                           proven,
		`{"orders":[],"statusRemark":"none found","remarks":["none"],"pageNum":1}`:                                           proven,
		`{"orders":[],` + strings.Repeat(`"page":{`, 5000) + strings.Repeat("}", 5001):                                       proven,
		`{"orders":null}`: needsNullOrders,
		`{"orders":null,"page":{},"list":[],"total":0,"cursor":null}`:   needsNullOrders,
		`{"orders":null,"hasMore":true}`:                                missing,
		`{"orders":null,"orderList":[{"customerReferenceNo":"ref-1"}]}`: missing,
		`{"orders":null,"partial":true}`:                                missing,
		`{"orders":null,"x":"` + strings.Repeat("x", 64<<10) + `"}`:     missing,
		`{"orders":null,"orders":null}`:                                 "data.orders comes twice",
		`{"Orders":null}`:                                               "another letter case",
		`{"orders":{}}`:                                                 "want array, got object",
		`{}`:                                                            missing,
		`null`:                                                          "the answer reports success, but has no data",
		`{"orders":[],"hasMore":true}`:                                  `"hasMore"` + further,
		`{"orders":[],"HasMore":true}`:                                  further,
		`{"orders":[],"has_more":true}`:                                 further,
		`{"orders":[],"hasMore":true,"hasMore":false}`:                  further,
		`{"orders":[],"totalCount":7}`:                                  further,
		`{"orders":[],"nextCursor":77}`:                                 further,
		`{"orders":[],"next":"/2"}`:                                     further,
		`{"orders":[],"page":{"total":1}}`:                              `"page"."total"` + further,
		`{"orders":[],"page":{"cursor":"7"}}`:                           further,
		`{"orders":[],"page":{"hasMore":true},"page":{}}`:               further,
		`{"orders":[],"page":[{"hasMore":true}]}`:                       further,
		`{"orders":[],"pageResp":{"hasMore":true}}`:                     further,
		`{"orders":[],"page":{"next-page-token":"x"}}`:                  further,
		`{"orders":[],"x":"` + strings.Repeat("x", 64<<10) + `"}`:       further,
		`{"orders":[{"customerReferenceNo":"REF-1"}]}`:                  notApplied,
		`{"orders":[{"status":2,"customerReferenceNo":"other"}]}`:       notApplied,
		`{"orders":[{"status":2,"customerReferenceNo":123}]}`:           notApplied,
		`{"orders":[{"status":2,"customerReferenceNo":""}]}`:            notApplied,
	} {
		for _, nullOrders := range []bool{false, true} {
			if nullOrders && !strings.Contains(data, "null") {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				client := clientThrough(t, saying(`{"code":0,"data":`+data+`}`),
					hotelstays.WithServiceFacts(hotelstays.ServiceFacts{NullOrders: nullOrders}))
				_, found := client.FindOrder(t.Context(), "ref-1")
				_, awaited := client.AwaitOrder(within(t, time.Hour), "ref-1")
				outcome, err := client.RecoverBooking(t.Context(), client.NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: "ref-1"}))
				require.NoError(t, err)
				if why == proven || why == needsNullOrders && nullOrders {
					assert.ErrorIs(t, found, hotelstays.ErrNotFound, data)
					assert.ErrorIs(t, awaited, hotelstays.ErrNotFound, data)
					assert.Equal(t, hotelstays.BookingAbsent, outcome.State, data)
					resp, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
					require.NoError(t, err)
					assert.Equal(t, []types.Order{}, resp.Orders)
					return
				}
				assert.Equal(t, hotelstays.KindDecode, hotelstays.KindOf(found), data)
				assert.ErrorIs(t, awaited, context.DeadlineExceeded, data)
				assert.Equal(t, hotelstays.BookingUnverified, outcome.State, data)
				for _, err := range []error{found, awaited, outcome.Err} {
					assert.NotErrorIs(t, err, hotelstays.ErrNotFound, data)
					if !nullOrders {
						assert.ErrorContains(t, err, why, "%.60s", data)
					}
				}
			})
		}
	}
}
