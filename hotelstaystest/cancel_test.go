// What Cancel refuses and what it costs.

package hotelstaystest

import (
	"fmt"
	"slices"
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
		r := u.must(listPath, search(s, object{"checkIn": "2000-01-10", "checkOut": "2000-01-12"}))
		in := u.session(r.str("basic", "sessionId"))
		order := in.must(bookPath, booking("ref", r.str("list", 0, "rooms", 0, "rates", 0, "ratePkgId"), nil))
		body := cancellation("ref", order)

		u.refused(cancelPath, body, 400, types.CodeParam, "Session-Id")
		in.refused(cancelPath, object{"customerReferenceNo": "ref"}, 400, types.CodeParam, "supplierReferenceNo")
		in.refused(cancelPath, object{"customerReferenceNo": "ref", "supplierReferenceNo": "wrong"}, 404, types.CodeNotFound, "not found")
		in.refused(cancelPath, object{"customerReferenceNo": "none", "supplierReferenceNo": "none"}, 404, types.CodeNotFound, "not found")
		stranger := u.stranger()
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
		o := s.Ledger().Orders()[0]
		failIf(t, o.Status != 2 || len(s.Ledger().Cancellations()) != 0, "a refusal changed the order: %+v", o)
	})
}

func TestCancelFees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{NoRateLimits: true, CancelCutoff: AtOnce, Catalog: Catalog{RatesPerRoom: 3}})
		began := time.Now()
		minor := func(amount string) int { return must(strconv.Atoi(strings.Replace(amount, ".", "", 1))) }
		var u *user
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
			u = login(t, s)
			r := u.must(listPath, search(s, object{"checkIn": "2000-01-10", "checkOut": "2000-01-13"}))
			in := u.session(r.str("basic", "sessionId"))
			rates := r.list("list", i, "rooms", 0, "rates")
			of := slices.IndexFunc(rates, func(p any) bool { return p.(object)["refundableMode"] == tc.mode })
			ref := fmt.Sprint("ref", i)
			order := in.must(bookPath, booking(ref, rates[of].(object)["ratePkgId"].(string), nil))
			total := order.str("hotelOrder", "netRate", "amount")
			body := with(cancellation(ref, order), object{"reason": "plans changed"})
			got, want := minor(in.must(cancelPath, body).str("serviceFee", "amount")), tc.fee(minor(total))
			failIf(t, got != want, "%s after %v: cancelling an order of %s costs %d, want %d", tc.mode, tc.at, total, got, want)
			in.refused(cancelPath, body, 400, codeCancelRefused, "already cancelled")
			r = u.must(queryPath, object{"customerReferenceNos": []string{ref}})
			failIf(t, r.str("orders", 0, "status") != "3" || r.str("orders", 0, "cancelReason") != "plans changed" ||
				minor(r.str("orders", 0, "refundedPrice", "amount")) != minor(total)-tc.fee(minor(total)) ||
				len(r.list("orders", 0, "rooms", 0, "refundInfo")) != 1, "%s", r.body)
		}
		same(t, len(s.Ledger().Cancellations()), 6)
		for _, o := range s.Ledger().Orders() { // the first three were to be confirmed later
			same(t, o.Status, 3, o.CustomerReferenceNo)
		}
	})
}
