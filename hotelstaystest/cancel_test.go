// What Cancel refuses and what it costs.

package hotelstaystest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestCancelRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, u := open(t, Config{Accounts: twoAccounts})
		in, ids := u.find(object{"checkIn": "2000-01-10", "checkOut": "2000-01-12"})
		body := cancellation("ref", in.must(bookPath, booking("ref", ids[0], nil)))
		u.refused(cancelPath, body, 400, types.CodeParam, "Session-Id")
		in.refused(cancelPath, object{"customerReferenceNo": "ref"}, 400, types.CodeParam, "supplierReferenceNo")
		in.refused(cancelPath, object{"customerReferenceNo": "ref", "supplierReferenceNo": "wrong"}, 404, types.CodeNotFound, "not found")
		in.refused(cancelPath, object{"customerReferenceNo": "none", "supplierReferenceNo": "none"}, 404, types.CodeNotFound, "not found")
		theirs, _ := u.stranger().find(nil)
		theirs.refused(cancelPath, body, 404, types.CodeNotFound, "not found")

		rule := func(r CancelRule) func() { return func() { s.SetCancelRule("ref", r) } }
		pass := func(d time.Duration) func() { return func() { s.Advance(d) } }
		for _, tc := range []struct {
			do  func()
			why string
		}{
			{rule(CancelForbiddenByContract), "contract"}, {rule(CancelCutoffPassed), "cut-off"}, {rule(CancelNeedsReason), "reason"},
			{func() { s.SetOrderStatus("ref", 5) }, "status 5"},
			{func() {
				s.ConfirmOrder("ref")
				s.SetCancelRule("ref", CancelAllowed)
				s.Advance(8 * 24 * time.Hour)
			}, "cut-off"},
			{pass(24*time.Hour - 1), "cut-off"}, {pass(1), "check-in has passed"},
		} {
			tc.do()
			in.token = u.ticket("one", "1")
			in.refused(cancelPath, body, 400, codeCancelRefused, tc.why)
		}
		o := s.Ledger().Orders()[0]
		failIf(t, o.Status != 2 || len(s.Ledger().Cancellations()) != 0, "a refusal changed the order: %+v", o)
	})
}

func TestCancelFees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{NoRateLimits: true, CancelCutoff: AtOnce})
		began := time.Now()
		minor := func(amount string) int { return must(strconv.Atoi(strings.Replace(amount, ".", "", 1))) }
		const nights, deadline = 3, 6*24*time.Hour + 18*time.Hour // three days before checkIn, at 18:00
		for i, tc := range []struct {
			at   time.Duration
			mode string
			fee  func(total int) int
		}{
			{0, "full", func(int) int { return 0 }},
			{0, "partial", func(total int) int { return total / nights }},
			{0, "no", func(total int) int { return total }},
			{deadline, "full", func(int) int { return 0 }},
			{deadline + 1, "full", func(total int) int { return total / nights }},
			{deadline + 1, "partial", func(total int) int { return total / 2 }},
		} {
			s.Advance(began.Add(tc.at).Sub(s.Now()))
			in, ids := login(t, s).findRefundable(tc.mode, object{"checkIn": "2000-01-10", "checkOut": "2000-01-13"})
			ref := fmt.Sprint("ref", i)
			order := in.must(bookPath, booking(ref, ids[0], nil))
			total := minor(order.str("hotelOrder", "netRate", "amount"))
			body := with(cancellation(ref, order), object{"reason": "plans changed"})
			fee := minor(in.must(cancelPath, body).str("serviceFee", "amount"))
			same(t, fee, tc.fee(total), tc.mode, tc.at, total)
			in.refused(cancelPath, body, 400, codeCancelRefused, "already cancelled")
			r := login(t, s).must(queryPath, object{"customerReferenceNos": []string{ref}})
			failIf(t, r.str("orders", 0, "status") != "3" || r.str("orders", 0, "cancelReason") != "plans changed" ||
				minor(r.str("orders", 0, "refundedPrice", "amount")) != total-fee ||
				len(r.list("orders", 0, "rooms", 0, "refundInfo")) != 1, "%s", r.body)
		}
		same(t, len(s.Ledger().Cancellations()), 6)
		for _, o := range s.Ledger().Orders() { // the first three were to be confirmed later
			same(t, o.Status, 3, o.CustomerReferenceNo)
		}
	})
}
