// Orders: their states and their fields.

package hotelstaystest

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestSetOrderStatus(t *testing.T) {
	s := start(t, Config{NoRateLimits: true, ConfirmAfter: Never})
	u := login(t, s)
	u.book("ref", 0)
	for _, step := range []struct {
		do   func()
		want types.OrderStatus
	}{
		{func() {}, 1},
		{func() { s.SetOrderStatus("ref", 4) }, 4},
		{func() { s.ConfirmOrder("PO000000001") }, 2},
		{func() { s.ConfirmOrder("ref") }, 2},
		{func() { s.SetOrderStatus("ref", 3) }, 3},
	} {
		step.do()
		if got := s.Ledger().Orders()[0].Status; got != step.want {
			t.Errorf("status %d, want %d", got, step.want)
		}
	}
	if h := s.Ledger().Orders()[0].History; len(h) != 4 {
		t.Errorf("history %v", h)
	}
	if r := u.must(queryPath, object{}); r.str("orders", 0, "cancelTime") == "" {
		t.Errorf("%s", r.body)
	}
	panics(t, "no order with reference", func() { s.ConfirmOrder("nobody's") })
	panics(t, "status must be between 0 and 5", func() { s.SetOrderStatus("ref", 6) })
	panics(t, "is not a ratePkgId", func() { s.MoveRate("x", 1) })
}

func TestOrderFields(t *testing.T) {
	s := start(t, Config{NoRateLimits: true})
	u := login(t, s)
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
	for _, path := range [][]any{
		{"bookingTime"}, {"nightCount"}, {"supplier"}, {"supplierReferenceNo"}, {"hotel", "name", "zh"},
		{"hotel", "latlngCoordinator", "google", "lat"}, {"rooms", 1, "roomTypeName", "ar"},
		{"rooms", 1, "tax", "items", 1, "taxType"}, {"rooms", 0, "cancelFees", 0, "until"},
	} {
		r.str(append([]any{"orders", 0}, path...)...)
	}
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
		if got := fmt.Sprint(r.at(append([]any{"orders", 0}, tc.path...)...)); got != tc.want {
			t.Errorf("%v is %s, want %s", tc.path, got, tc.want)
		}
	}
}

// ConfirmOrder undoes a cancellation. The order can be cancelled again.
func TestConfirmCancelledOrder(t *testing.T) {
	s := start(t)
	u := login(t, s)
	in, made := u.book("ref", 0)
	s.SetOrderStatus("ref", 3)
	s.ConfirmOrder("ref")
	order := u.must(queryPath, object{"customerReferenceNos": []string{"ref"}}).at("orders", 0).(object)
	for _, field := range []string{"cancelTime", "cancelReason", "refundedPrice"} {
		if order[field] != nil {
			t.Errorf("%s is %v", field, order[field])
		}
	}
	r := in.must(cancelPath, cancellation("ref", made))
	if r.at("status") != json.Number("3") {
		t.Errorf("cancelling gives status %v", r.at("status"))
	}
}

func TestAmendOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{ConfirmAfter: AtOnce, VoucherDelay: AtOnce})
		u := login(t, s)
		u.book("ref", 0)
		ask := func() *reply { return u.must(voucherPath, object{"customerReferenceNo": "ref"}) }
		first := ask()
		s.AmendOrder("ref")
		second := ask()
		if first.str("voucher", "version") != "1" || second.str("voucher", "version") != "2" ||
			first.str("voucher", "signature", "digest") == second.str("voucher", "signature", "digest") {
			t.Errorf("%s\n%s", first.body, second.body)
		}
		if no := u.must(queryPath, "{}").str("orders", 0, "hotelConfirmNo"); no != "HC-000000001-2" {
			t.Errorf("confirmation number %s", no)
		}
		s.SetOrderStatus("ref", 5)
		panics(t, "not confirmed", func() { s.AmendOrder("ref") })
	})
}
