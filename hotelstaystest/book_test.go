package hotelstaystest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// The same stay has the same hotel, dates, rooms and guests. The order of the guests does not matter.
func TestSameStayCannotBeBookedTwice(t *testing.T) {
	_, u := open(t)
	rooms := func(adults ...int) (list []object) {
		for _, n := range adults {
			list = append(list, object{"adultCount": n})
		}
		return list
	}
	guest := func(room int, name string) object {
		return object{"roomIndex": room, "firstName": "Test", "lastName": name}
	}
	first, second := guest(1, "One"), guest(2, "Two")
	both := object{"guests": []object{first, second}}
	stay := func(more object) object { return with(object{"roomOccupancies": rooms(1, 1)}, more) }
	in, ids := u.find(stay(nil))
	in.must(bookPath, booking("first", ids[0], both))
	for name, tc := range map[string]struct {
		search, body object
		offer        int
		same         bool
	}{
		"guests in another order": {nil, object{"guests": []object{second, first}}, 0, true},
		"another rate plan":       {nil, both, 1, true},
		"another room":            {nil, both, len(ids) - 1, false},
		"another guest":           {nil, object{"guests": []object{first, guest(2, "Three")}}, 0, false},
		"another day":             {object{"checkIn": "2030-12-25", "checkOut": "2030-12-27"}, both, 0, false},
		"more adults":             {object{"roomOccupancies": rooms(1, 2)}, both, 0, false},
		"another city":            {object{"destinationId": u.s.CityID(1)}, both, 0, false},
	} {
		in, ids := u.find(stay(tc.search))
		body := booking(name, ids[tc.offer], tc.body)
		if tc.same {
			in.refused(bookPath, body, 200, types.CodeDuplicateBooking, "first")
		} else {
			in.must(bookPath, body)
		}
	}
}

func TestConcurrentBooksMakeOneOrder(t *testing.T) {
	s, u := open(t)
	in, ids := u.find(nil)
	var wg sync.WaitGroup
	for i := range 60 {
		ref, of := "same", guests("Test", "Guest")
		if i >= 40 { // 20 references for one other stay
			ref, of = fmt.Sprint("other", i), guests("Another", "Guest")
		}
		wg.Go(func() {
			r, err := in.send(bookPath, booking(ref, ids[0], of))
			failIf(t, err != nil || r.code != 0 && (r.code != types.CodeDuplicateBooking || ref == "same"), "%s: %v %v", ref, err, r)
		})
	}
	wg.Wait()
	l := s.Ledger()
	failIf(t, len(l.Orders()) != 2 || len(l.OrdersFor("same")) != 1, "%+v", l.Orders())
	failIf(t, l.BookingsReused() != 39 || l.DuplicatesRefused() != 19 || l.Count(opBook) != 60,
		"the ledger counts %d reused and %d refused Books of %d", l.BookingsReused(), l.DuplicatesRefused(), l.Count(opBook))
}

func TestCallbackURLMustBePublicOrLoopback(t *testing.T) {
	for _, tc := range []struct {
		url               string
		byDefault, strict bool
	}{
		{"https://hooks.example.com/orders", true, true},
		{"https://203.0.113.9/orders", true, true},
		{"http://127.0.0.1:9000/hook", true, false},
		{"https://localhost/hook", true, false},
		{"https://[::1]/hook", true, false},
		{"http://hooks.example.com/orders", false, false},
		{"https://10.1.2.3/", false, false},
		{"https://100.64.0.1/", false, false},
		{"https://[::ffff:10.0.0.1]/", false, false},
		{"https://intranet/", false, false},
		{"https://printer.local./", false, false},
		{"ftp://hooks.example.com/", false, false},
		{"not a url", false, false},
	} {
		for strict, want := range map[bool]bool{false: tc.byDefault, true: tc.strict} {
			s := &Server{cfg: Config{Webhooks: WebhookConfig{StrictCallbacks: strict}}}
			why := s.refusedCallback(tc.url)
			failIf(t, (why == "") != want, "%s, strict %v: %q", tc.url, strict, why)
		}
	}
	s, u := open(t)
	in, ids := u.find(nil)
	in.refused(bookPath, booking("a", ids[0], object{"callbackUrl": "https://intranet/"}), 400, types.CodeParam, "callbackUrl")
	token := u.must(oauthPath, object{"grant_type": "client_credentials", "client_id": s.ClientID, "client_secret": s.ClientSecret})
	in = in.with(token.str("access_token"))
	in.refused(bookPath, booking("b", ids[1], object{"callbackUrl": "https://hooks.example.com/"}), 400, types.CodeParam, "OAuth")
}

func TestChangedOfferIsBookedOnlyAfterCheckAvail(t *testing.T) {
	s, u := open(t)
	in, ids := u.header("Currency", "AED").find(nil)
	check := func(id, status string, remark bool) (price string) {
		t.Helper()
		r := in.must(availPath, object{"ratePkgId": id})
		failIf(t, r.str("status") != status || (r.at("statusRemark") != nil) != remark, "%s", r.body)
		if status == "2" {
			same(t, r.at("roomRatePkg"), nil)
			return ""
		}
		same(t, r.str("roomRatePkg", "ratePkgId"), id)
		same(t, r.str("exchangeRateSnapshot", "usd", "aed"), "3.672500")
		return fmt.Sprint(r.at("roomRatePkg", "totalRate", "netRate"))
	}
	before := check(ids[0], "1", false)
	s.MoveRate(ids[0], 10)
	in.refused(bookPath, booking("moved", ids[0], nil), 200, types.CodeRateChanged, "ARI")
	moved := check(ids[0], "1", true)
	failIf(t, moved == before, "MoveRate does not change the price")
	same(t, check(ids[0], "1", false), moved)
	_, fresh := in.find(nil)
	for _, id := range fresh {
		check(id, "1", false)
	}
	booked := fmt.Sprint(in.must(bookPath, booking("moved", ids[0], nil)).at("hotelOrder", "netRate"))
	same(t, booked, moved)
	s.MoveRate(ids[0], 50)
	same(t, fmt.Sprint(u.must(queryPath, object{}).at("orders", 0, "netRate")), booked, "MoveRate changes the price of an order")

	s.CloseRate(ids[1])
	check(ids[1], "2", true)
	in.refused(bookPath, booking("closed", ids[1], guests("Second", "Guest")), 200, types.CodeRateChanged, "")
	_, left := in.find(nil)
	same(t, len(left), len(ids)-1)
}

func TestRefusedCancelLeavesTheOrderUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, u := open(t, Config{Accounts: twoAccounts})
		in, ids := u.find(object{"checkIn": "2000-01-10", "checkOut": "2000-01-12"})
		body := cancellation("ref", in.must(bookPath, booking("ref", ids[0], nil)))
		in.refused(cancelPath, object{"customerReferenceNo": "ref"}, 400, types.CodeParam, "supplierReferenceNo")
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

func TestCancelChargesTheFeeOfTheOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{NoRateLimits: true, CancelCutoff: AtOnce})
		began := time.Now()
		minor := func(amount string) int { return must(strconv.Atoi(strings.Replace(amount, ".", "", 1))) }
		const nights, deadline = 3, 6*24*time.Hour + 18*time.Hour // cancellation fees rise three days before checkIn, at 18:00
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
		same(t, s.Ledger().Cancellations()[0].PlatformReferenceNo, s.Ledger().Orders()[0].PlatformReferenceNo)
		for _, o := range s.Ledger().Orders() { // a cancelled order is not confirmed when its confirmation is due
			same(t, o.Status, 3, o.CustomerReferenceNo)
		}
	})
}

func TestSetOrderStatusUndoesACancellation(t *testing.T) {
	s, u := open(t, Config{})
	in, order := u.book("ref", 0)
	s.SetOrderStatus("ref", 3)
	s.SetOrderStatus("ref", 1)
	r := u.must(queryPath, object{"customerReferenceNos": []string{"ref"}})
	failIf(t, r.str("orders", 0, "status") != "1" || bytes.Contains(r.body, []byte("cancelTime")), "%s", r.body)
	in.must(cancelPath, cancellation("ref", order))
}

func TestOperationsRefuseWhatHasEnded(t *testing.T) {
	s, u := open(t, Config{ConfirmAfter: AtOnce, VoucherDelay: AtOnce})
	u.book("ref", 0)
	in, ids := u.find(nil)
	link := u.must(voucherPath, object{"customerReferenceNo": "ref"}).str("voucher", "downloadUrl")
	s.RegenerateVoucher("ref")
	superseded, _ := u.download(link)
	same(t, superseded, 410)
	s.ExpireSessions()
	in.refused(bookPath, booking("late", ids[1], nil), 400, types.CodeParam, "has expired")
}
