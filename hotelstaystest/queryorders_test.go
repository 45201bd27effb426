package hotelstaystest

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestQueryOrdersReturnsTheOrdersThatMatchAllFilters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, u := open(t, Config{Accounts: twoAccounts})
		var cancelled string
		for i, stay := range []object{{"checkIn": "2030-12-24", "checkOut": "2030-12-26"}, {"checkIn": "2031-01-05", "checkOut": "2031-01-06"}} {
			in, ids := u.findRefundable([]string{"full", "no"}[i], stay)
			order := in.must(bookPath, booking(fmt.Sprint("ref", i), ids[0], nil))
			time.Sleep(time.Hour)
			if i == 1 {
				cancelled = order.str("hotelOrder", "supplierReferenceNo")
				in.must(cancelPath, cancellation("ref1", order))
			}
		}
		for _, tc := range []struct {
			filter object
			want   string
		}{
			{object{}, "ref0 ref1 "},
			{object{"customerReferenceNos": []string{"ref1", "ref0", "ref1", "none"}}, "ref0 ref1 "},
			{object{"supplierReferenceNos": []string{cancelled}}, "ref1 "},
			{object{"statusList": []int{1, 3}}, "ref1 "},
			{object{"checkInTimeWindow": object{"start": "2030-12-24", "end": "2030-12-24"}}, "ref0 "},
			{object{"checkOutTimeWindow": object{"end": "2030-12-26"}}, "ref0 "},
			{object{"bookingTimeWindow": object{"end": "2000-01-01T00:59:59Z"}}, "ref0 "},
			{object{"bookingTimeWindow": object{"start": "2000-01-01T02:00:00+01:00"}}, "ref1 "},
			{object{"bookingTimeWindow": object{"start": "2000-01-01", "end": "2000-01-01"}}, "ref0 ref1 "},
			{object{"freeCancelTimeWindow": object{"start": "2030-12-01"}}, "ref0 "},
			{object{"cancelledTimeWindow": object{"start": "2000-01-01T02:00:00Z"}}, "ref1 "},
			{object{"statusList": []int{3}, "customerReferenceNos": []string{"ref0"}}, ""},
		} {
			got := ""
			for _, o := range u.must(queryPath, tc.filter).list("orders") {
				got += o.(object)["customerReferenceNo"].(string) + " "
			}
			failIf(t, got != tc.want, "%v finds %q, want %q", tc.filter, got, tc.want)
		}
		u.refused(queryPath, object{"bookingTimeWindow": object{"start": "yesterday"}}, 400, types.CodeParam, "bookingTimeWindow.start")
		for _, filter := range []object{{}, {"customerReferenceNos": []string{"ref0"}}, {"supplierReferenceNos": []string{cancelled}}} {
			same(t, len(u.stranger().must(queryPath, filter).list("orders")), 0, "another account sees the orders")
		}
	})
}

// The package documentation shows the answers that this test expects.
func TestQueryOrdersWithoutAMatchAnswersAnEmptyListOrNull(t *testing.T) {
	for null, want := range map[bool]string{false: "[]", true: "null"} {
		_, u := open(t, Config{Variants: Variants{NullOrders: null}})
		same(t, string(u.must(queryPath, object{}).body), `{"code":0,"msg":"success","data":{"orders":`+want+`}}`)
		refused := u.refused(queryPath, object{"statusList": []int{6}}, 400, types.CodeParam, "")
		same(t, string(refused.body), `{"code":100000400,"msg":"ERR.PARAM: statusList[0] must be between 0 and 5, not 6"}`)
		u.book("ref", 0)
		same(t, len(u.must(queryPath, object{}).list("orders")), 1)
	}
}

func TestOrderHasTheFieldsOfItsBookRequest(t *testing.T) {
	_, u := open(t)
	in, ids := u.find(object{"roomOccupancies": []object{{"adultCount": 2}, {"adultCount": 1}}})
	in.must(bookPath, booking("ref", ids[0], object{
		"holder": object{
			"firstName": "Test", "lastName": "Holder", "email": "holder@example.com",
			"phone": object{"countryCode": "AE", "countryNumber": 971, "number": "500000000"},
		},
		"guests": []object{
			{"roomIndex": 1, "firstName": "Test", "lastName": "One", "passportNumber": "AB1234567", "gender": "F"},
			{"roomIndex": 2, "firstName": "Test", "lastName": "Two", "passportNumber": "X1", "age": 40},
		}}))
	r := u.must(queryPath, object{})
	for _, tc := range []struct {
		path []any
		want string
	}{
		{[]any{"roomCount"}, "2"},
		{[]any{"rooms", 0, "guests", 0, "passportNumber"}, "4567"},
		{[]any{"rooms", 1, "guests", 0, "passportNumber"}, "X1"},
		{[]any{"rooms", 1, "guests", 0, "age"}, "40"},
		{[]any{"rooms", 1, "roomIndex"}, "2"},
		{[]any{"rooms", 1, "ratePkgId"}, ids[0]},
		{[]any{"holder", "phone", "countryNumber"}, "<nil>"},
		{[]any{"holder", "phone", "number"}, "500000000"},
	} {
		got := fmt.Sprint(r.at(append([]any{"orders", 0}, tc.path...)...))
		same(t, got, tc.want, tc.path)
	}
}
