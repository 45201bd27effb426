// Orders: their states and their fields.

package hotelstaystest

import (
	"fmt"
	"testing"
)

func TestSetOrderStatus(t *testing.T) {
	s, u := open(t, Config{ConfirmAfter: Never})
	in, made := u.book("ref", 0)
	cancel := cancellation("ref", made)
	cancel["reason"] = "plans changed"
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "1"},
		{func() { s.SetOrderStatus("ref", 4) }, "4"},
		{func() { s.SetOrderStatus("ref", 3) }, "3"},
		{func() { s.ConfirmOrder("PO000000001") }, "2"}, // undoes the cancellation
		{func() { s.ConfirmOrder("ref") }, "2"},
		{func() { in.must(cancelPath, cancel) }, "3"},
	} {
		step.do()
		r := u.must(queryPath, "{}")
		same(t, r.str("orders", 0, "status"), step.want)
		for _, field := range []string{"cancelTime", "cancelReason", "refundedPrice"} {
			same(t, r.at("orders", 0, field) != nil, step.want == "3", step.want, field)
		}
	}
	h := s.Ledger().Orders()[0].History
	failIf(t, len(h) != 5, "history %v", h)
	panics(t, "no order with reference", func() { s.ConfirmOrder("nobody's") })
	panics(t, "status must be between 0 and 5", func() { s.SetOrderStatus("ref", 6) })
	panics(t, "is not a ratePkgId", func() { s.MoveRate("x", 1) })
}

func TestOrderFields(t *testing.T) {
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
	const some = "some value"
	for _, tc := range []struct {
		path []any
		want string
	}{
		{[]any{"bookingTime"}, some}, {[]any{"nightCount"}, "2"}, {[]any{"supplier"}, some}, {[]any{"supplierReferenceNo"}, some},
		{[]any{"hotel", "name", "zh"}, some}, {[]any{"hotel", "latlngCoordinator", "google", "lat"}, some},
		{[]any{"rooms", 1, "roomTypeName", "ar"}, some}, {[]any{"rooms", 1, "tax", "items", 1, "taxType"}, "CITY_TAX"},
		{[]any{"rooms", 0, "cancelFees", 0, "until"}, some},
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
		failIf(t, got != tc.want && (tc.want != some || got == "<nil>"), "%v is %s", tc.path, got)
	}
}
