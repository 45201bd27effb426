// Orders as they are read and given back: every filter and field of QueryOrders, and
// the rules and fees of Cancel.

package hotelstaystest

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestQueryOrdersFilters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, WithoutRateLimits(), WithAccount("one", "1"), WithAccount("two", "2"))
		u := login(t, s)
		var free, never string // a package with free cancellation, one without
		stays := []object{{"checkIn": "2030-12-24", "checkOut": "2030-12-26"}, {"checkIn": "2031-01-05", "checkOut": "2031-01-06"}}
		for i, stay := range stays {
			r := u.must(listPath, search(s, stay))
			rates := r.list("list", 0, "rooms", 0, "rates")
			for _, p := range rates {
				switch p := p.(object); p["refundableMode"] {
				case "full":
					free = p["ratePkgId"].(string)
				case "no":
					never = p["ratePkgId"].(string)
				}
			}
			in := u.session(r.str("basic", "sessionId"))
			in.must(bookPath, booking(fmt.Sprint("ref", i), []string{free, never}[i], nil))
			time.Sleep(time.Hour)
		}
		cancelled := u.must(queryPath, object{"customerReferenceNos": []string{"ref1"}}).str("orders", 0, "supplierReferenceNo")
		in, _ := u.find(nil)
		in.must(cancelPath, object{"customerReferenceNo": "ref1", "supplierReferenceNo": cancelled})

		for _, tc := range []struct {
			filter object
			want   string
		}{
			{object{}, "ref0 ref1 "},
			{object{"customerReferenceNos": []string{"ref1", "ref0", "ref1", "none"}}, "ref0 ref1 "},
			{object{"customerReferenceNos": []string{"none"}}, ""},
			{object{"supplierReferenceNos": []string{cancelled}}, "ref1 "},
			{object{"statusList": []int{2}}, "ref0 "},
			{object{"statusList": []int{1, 3}}, "ref1 "},
			{object{"checkInTimeWindow": object{"start": "2030-12-24", "end": "2030-12-24"}}, "ref0 "},
			{object{"checkInTimeWindow": object{"start": "2030-12-25"}}, "ref1 "},
			{object{"checkOutTimeWindow": object{"end": "2030-12-26"}}, "ref0 "},
			{object{"bookingTimeWindow": object{"end": "2000-01-01T00:59:59Z"}}, "ref0 "},
			{object{"bookingTimeWindow": object{"start": "2000-01-01T02:00:00+01:00"}}, "ref1 "},
			{object{"bookingTimeWindow": object{"start": "2000-01-01", "end": "2000-01-01"}}, "ref0 ref1 "},
			{object{"bookingTimeWindow": object{}}, "ref0 ref1 "},
			{object{"freeCancelTimeWindow": object{"start": "2030-12-01"}}, "ref0 "},
			{object{"cancelledTimeWindow": object{"start": "2000-01-01T02:00:00Z"}}, "ref1 "},
			{object{"cancelledTimeWindow": object{"start": "2000-01-02"}}, ""},
			{object{"statusList": []int{3}, "customerReferenceNos": []string{"ref0"}}, ""},
		} {
			got := ""
			for _, o := range u.must(queryPath, tc.filter).list("orders") {
				got += o.(object)["customerReferenceNo"].(string) + " "
			}
			if got != tc.want {
				t.Errorf("%v finds %q, want %q", tc.filter, got, tc.want)
			}
		}
		u.refused(queryPath, object{"bookingTimeWindow": object{"start": "yesterday"}}, 400, CodeParam, "bookingTimeWindow.start")
		u.refused(queryPath, object{"statusList": []int{6}}, 400, CodeParam, "statusList[0]")
		stranger := u.with(u.ticket("two", "2"))
		if r := stranger.must(queryPath, object{"customerReferenceNos": []string{"ref0"}}); len(r.list("orders")) != 0 {
			t.Error("another account sees the order")
		}
	})
}

// In a bubble several orders are made in the same instant.
func TestOrdersOfOneInstantKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := login(t, start(t, WithoutRateLimits()))
		in, ids := u.find(nil)
		for i := range 3 {
			guest := object{"guests": []object{{"roomIndex": 1, "firstName": "Test", "lastName": fmt.Sprint("Guest", i)}}}
			in.must(bookPath, booking(fmt.Sprint("ref", i), ids[0], guest))
		}
		got := u.must(queryPath, object{"customerReferenceNos": []string{"ref2", "ref0", "ref1"}})
		for i := range 3 {
			if ref := got.str("orders", i, "customerReferenceNo"); ref != fmt.Sprint("ref", i) {
				t.Errorf("order %d is %s", i, ref)
			}
		}
	})
}

func TestOrdersAreWrittenWhole(t *testing.T) {
	s := start(t, WithoutRateLimits())
	u := login(t, s)
	in, ids := u.find(object{"roomOccupancies": []object{{"adultCount": 2}, {"adultCount": 1}}})
	in.must(bookPath, booking("ref", ids[0], object{
		"holder": object{"firstName": "Test", "lastName": "Holder", "email": "holder@example.com", "phone": object{"countryCode": "AE", "countryNumber": 971, "number": "500000000"}},
		"guests": []object{
			{"roomIndex": 1, "firstName": "Test", "lastName": "One", "passportNumber": "AB1234567", "gender": "F"},
			{"roomIndex": 2, "firstName": "Test", "lastName": "Two", "passportNumber": "X1", "age": 40},
		}}))
	r := u.must(queryPath, object{})
	for _, path := range [][]any{{"bookingTime"}, {"nightCount"}, {"supplier"}, {"supplierReferenceNo"}, {"hotel", "name", "zh"}, {"hotel", "latlngCoordinator", "google", "lat"},
		{"rooms", 1, "roomTypeName", "ar"}, {"rooms", 1, "tax", "items", 1, "taxType"}, {"rooms", 0, "cancelFees", 0, "until"}} {
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

func TestLateVisibility(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, WithLateVisibility(40*time.Second))
		u := login(t, s)
		u.book("ref", 0)
		q := func() int {
			return len(u.must(queryPath, object{"customerReferenceNos": []string{"ref"}}).list("orders"))
		}
		time.Sleep(40*time.Second - 1)
		if q() != 0 {
			t.Error("seen too early")
		}
		time.Sleep(time.Nanosecond)
		if q() != 1 {
			t.Error("not seen in time")
		}
	})
}

func TestCancelRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, WithoutRateLimits(), WithAccount("one", "1"), WithAccount("two", "2"))
		u := login(t, s)
		r := u.must(listPath, search(s, object{"checkIn": "2000-01-10", "checkOut": "2000-01-12"}))
		in := u.session(r.str("basic", "sessionId"))
		order := in.must(bookPath, booking("ref", r.str("list", 0, "rooms", 0, "rates", 0, "ratePkgId"), nil))
		body := object{"customerReferenceNo": "ref", "supplierReferenceNo": order.str("hotelOrder", "supplierReferenceNo")}

		u.refused(cancelPath, body, 400, CodeParam, "Session-Id")
		in.refused(cancelPath, object{"customerReferenceNo": "ref"}, 400, CodeParam, "supplierReferenceNo")
		in.refused(cancelPath, object{"customerReferenceNo": "ref", "supplierReferenceNo": "wrong"}, 404, CodeNotFound, "not found")
		in.refused(cancelPath, object{"customerReferenceNo": "none", "supplierReferenceNo": "none"}, 404, CodeNotFound, "not found")
		stranger := u.with(u.ticket("two", "2"))
		theirs, _ := stranger.find(nil)
		theirs.refused(cancelPath, body, 404, CodeNotFound, "not found")

		s.SetCancelRule("ref", CancelForbiddenByContract)
		in.refused(cancelPath, body, 400, CodeCancelRefused, "contract")
		s.SetCancelRule("ref", CancelCutoffPassed)
		in.refused(cancelPath, body, 400, CodeCancelRefused, "cut-off")
		s.SetCancelRule("ref", CancelNeedsReason)
		in.refused(cancelPath, body, 400, CodeCancelRefused, "reason")
		s.SetOrderStatus("ref", 5)
		in.refused(cancelPath, body, 400, CodeCancelRefused, "status 5")
		s.ConfirmOrder("ref")
		s.SetCancelRule("ref", CancelAllowed)
		time.Sleep(8*24*time.Hour - time.Second)
		time.Sleep(time.Second)
		u.token = u.ticket("one", "1")
		in.token = u.token
		in.refused(cancelPath, body, 400, CodeCancelRefused, "cut-off")
		time.Sleep(23 * time.Hour)
		in.refused(cancelPath, body, 400, CodeCancelRefused, "cut-off")
		time.Sleep(time.Hour - time.Nanosecond)
		in.token = u.ticket("one", "1")
		time.Sleep(time.Nanosecond)
		in.refused(cancelPath, body, 400, CodeCancelRefused, "check-in has passed")
		if o := s.Ledger().Orders()[0]; o.Status != 2 || len(s.Ledger().Cancellations()) != 0 {
			t.Errorf("a refusal changed the order: %+v", o)
		}
	})
}

// An order that a test confirms is confirmed, even after it was cancelled: nothing of
// the cancellation stays on it, and it can be cancelled like any other.
func TestACancelledOrderIsConfirmed(t *testing.T) {
	s := start(t)
	u := login(t, s)
	in, made := u.book("ref", 0)
	s.SetOrderStatus("ref", 3)
	s.ConfirmOrder("ref")
	order := u.must("/api/trade/queryOrders", object{"customerReferenceNos": []string{"ref"}}).at("orders", 0).(object)
	for _, field := range []string{"cancelTime", "cancelReason", "refundedPrice"} {
		if order[field] != nil {
			t.Errorf("%s is %v", field, order[field])
		}
	}
	r := in.must("/api/trade/cancel", object{"customerReferenceNo": "ref", "supplierReferenceNo": made.str("hotelOrder", "supplierReferenceNo")})
	if r.at("status") != json.Number("3") {
		t.Errorf("cancelling gives status %v", r.at("status"))
	}
}

func TestCancellationFees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, WithoutRateLimits(), WithCancelCutoff(0), WithCatalog(Catalog{RatesPerRoom: 3}))
		u := login(t, s)
		// Every mode of refund, cancelled before and after its deadline (checkIn - 3 days + 18 hours).
		modes := []string{"full", "partial", "no"}
		type made struct{ ref, mode, supplier, total, night string }
		var orders []made
		for i, mode := range append(modes, modes...) {
			r := u.must(listPath, search(s, object{"checkIn": "2000-01-10", "checkOut": "2000-01-12"}))
			for _, p := range r.list("list", i, "rooms", 0, "rates") {
				if p := p.(object); p["refundableMode"] == mode {
					ref := fmt.Sprint("ref", i)
					o := u.session(r.str("basic", "sessionId")).must(bookPath, booking(ref, p["ratePkgId"].(string), nil))
					orders = append(orders, made{ref, mode, o.str("hotelOrder", "supplierReferenceNo"), o.str("hotelOrder", "netRate", "amount"), ""})
				}
			}
		}
		in, _ := u.find(nil)
		cancel := func(o made) string {
			return in.must(cancelPath, object{"customerReferenceNo": o.ref, "supplierReferenceNo": o.supplier, "reason": "plans changed"}).str("serviceFee", "amount")
		}
		if fee := cancel(orders[0]); fee != "0.00" {
			t.Errorf("free cancellation costs %s", fee)
		}
		if fee := cancel(orders[2]); fee != orders[2].total {
			t.Errorf("a non-refundable order of %s costs %s", orders[2].total, fee)
		}
		early := cancel(orders[1])
		time.Sleep(6*24*time.Hour + 18*time.Hour + 1) // the deadline has just passed
		in.token = u.ticket(s.AppKey, s.AppSecret)
		for _, i := range []int{3, 4} {
			if fee := cancel(orders[i]); fee == "0.00" || fee == orders[i].total || fee == early {
				t.Errorf("late cancellation of a %s order costs %s of %s", orders[i].mode, fee, orders[i].total)
			}
		}
		u.token = in.token
		r := u.must(queryPath, object{"customerReferenceNos": []string{"ref0"}})
		if r.str("orders", 0, "status") != "3" || r.str("orders", 0, "cancelReason") != "plans changed" ||
			r.str("orders", 0, "refundedPrice", "amount") != orders[0].total || len(r.list("orders", 0, "rooms", 0, "refundInfo")) != 1 {
			t.Errorf("%s", r.body)
		}
		in.refused(cancelPath, object{"customerReferenceNo": "ref0", "supplierReferenceNo": orders[0].supplier}, 400, CodeCancelRefused, "already cancelled")
		if n := len(s.Ledger().Cancellations()); n != 5 {
			t.Errorf("the ledger has %d cancellations", n)
		}
	})
}
