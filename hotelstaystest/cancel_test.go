// What Cancel refuses and what it costs.

package hotelstaystest

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestCancelRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{NoRateLimits: true, Accounts: []Account{{AppKey: "one", AppSecret: "1"}, {AppKey: "two", AppSecret: "2"}}})
		u := login(t, s)
		r := u.must(listPath, search(s, object{"checkIn": "2000-01-10", "checkOut": "2000-01-12"}))
		in := u.session(r.str("basic", "sessionId"))
		order := in.must(bookPath, booking("ref", r.str("list", 0, "rooms", 0, "rates", 0, "ratePkgId"), nil))
		body := cancellation("ref", order)

		u.refused(cancelPath, body, 400, types.CodeParam, "Session-Id")
		in.refused(cancelPath, object{"customerReferenceNo": "ref"}, 400, types.CodeParam, "supplierReferenceNo")
		in.refused(cancelPath, object{"customerReferenceNo": "ref", "supplierReferenceNo": "wrong"}, 404, types.CodeNotFound, "not found")
		in.refused(cancelPath, object{"customerReferenceNo": "none", "supplierReferenceNo": "none"}, 404, types.CodeNotFound, "not found")
		stranger := u.with(u.ticket("two", "2"))
		theirs, _ := stranger.find(nil)
		theirs.refused(cancelPath, body, 404, types.CodeNotFound, "not found")

		s.SetCancelRule("ref", CancelForbiddenByContract)
		in.refused(cancelPath, body, 400, codeCancelRefused, "contract")
		s.SetCancelRule("ref", CancelCutoffPassed)
		in.refused(cancelPath, body, 400, codeCancelRefused, "cut-off")
		s.SetCancelRule("ref", CancelNeedsReason)
		in.refused(cancelPath, body, 400, codeCancelRefused, "reason")
		s.SetOrderStatus("ref", 5)
		in.refused(cancelPath, body, 400, codeCancelRefused, "status 5")
		s.ConfirmOrder("ref")
		s.SetCancelRule("ref", CancelAllowed)
		time.Sleep(8*24*time.Hour - time.Second)
		time.Sleep(time.Second)
		u.token = u.ticket("one", "1")
		in.token = u.token
		in.refused(cancelPath, body, 400, codeCancelRefused, "cut-off")
		time.Sleep(23 * time.Hour)
		in.refused(cancelPath, body, 400, codeCancelRefused, "cut-off")
		time.Sleep(time.Hour - time.Nanosecond)
		in.token = u.ticket("one", "1")
		time.Sleep(time.Nanosecond)
		in.refused(cancelPath, body, 400, codeCancelRefused, "check-in has passed")
		if o := s.Ledger().Orders()[0]; o.Status != 2 || len(s.Ledger().Cancellations()) != 0 {
			t.Errorf("a refusal changed the order: %+v", o)
		}
	})
}

func TestCancelFees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{NoRateLimits: true, CancelCutoff: AtOnce, Catalog: Catalog{RatesPerRoom: 3}})
		u := login(t, s)
		// Every refund mode, cancelled before, at and after its deadline: three days before checkIn, at 18:00.
		modes := []string{"full", "partial", "no"}
		type made struct{ ref, mode, supplier, total, night string }
		var orders []made
		for i, mode := range slices.Concat(modes, modes, modes[:1]) {
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
			body := object{"customerReferenceNo": o.ref, "supplierReferenceNo": o.supplier, "reason": "plans changed"}
			return in.must(cancelPath, body).str("serviceFee", "amount")
		}
		if fee := cancel(orders[0]); fee != "0.00" {
			t.Errorf("free cancellation costs %s", fee)
		}
		if fee := cancel(orders[2]); fee != orders[2].total {
			t.Errorf("a non-refundable order of %s costs %s", orders[2].total, fee)
		}
		early := cancel(orders[1])
		time.Sleep(6*24*time.Hour + 18*time.Hour)
		in.token = u.ticket(s.AppKey, s.AppSecret)
		if fee := cancel(orders[6]); fee != "0.00" {
			t.Errorf("a cancellation at the deadline costs %s", fee)
		}
		time.Sleep(time.Nanosecond) // the deadline has passed
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
		again := object{"customerReferenceNo": "ref0", "supplierReferenceNo": orders[0].supplier}
		in.refused(cancelPath, again, 400, codeCancelRefused, "already cancelled")
		if n := len(s.Ledger().Cancellations()); n != 6 {
			t.Errorf("the ledger has %d cancellations", n)
		}
	})
}
