// Rules of bookings: Book, orders and Cancel.

package probe

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// order returns the booking that most rules are about.
func (r *run) order() *booked {
	return r.world.order.get(r, "a booking", func() *booked { return r.ordered(nil) })
}

// spare returns another booking, with the longest passport number, for what may cancel it.
func (r *run) spare() *booked {
	return r.world.spare.get(r, "a second booking", func() *booked {
		change := obj{"guests.passportNumber": longestPassport, "guests.gender": "f"}
		b := r.book(sending{change: change})
		if !b.refusal() {
			return r.expected(b, change)
		}
		delete(change, "guests.gender")
		plain := r.ordered(change)
		plain.gender = b.answer
		return plain
	})
}

// ordered books, and expects an order. A service may refuse an ordinary booking; then it may refuse a changed one.
func (r *run) ordered(change obj) *booked { return r.expected(r.book(sending{change: change}), change) }

func (r *run) expected(b *booked, change obj) *booked {
	r.suffers(b.err != nil || b.Status >= http.StatusBadGateway, "Book got %s, and whether there is an order had to be found out", b)
	skip(change == nil && b.refusal(), "Book is refused with %s: %s", b, b.msg())
	if b.refusal() {
		r.order()
	}
	b.ok()
	breaks(b.order == nil, "Book: data has no hotelOrder")
	return b
}

// turnedDown sends a Book that is refused, with a code (0: any), and leaves no order. It needs one that
// is accepted: else the refusal says nothing about the difference.
func (r *run) turnedDown(how sending, status, code int) *booked {
	r.order()
	b := r.book(how)
	b.refused(status, code)
	breaks(len(b.entry.Orders) > 0, "Book was refused with %s, and there is an order", b.answer)
	if code == 0 {
		r.find("%s", b)
	}
	codes := r.facts.RefusalCodes[opBook]
	if b.entry.State != EntryAbsent || !errors.As(b.cause, new(*hotelstays.OutcomeUnknownError)) || slices.Contains(codes, int(*b.Code)) {
		return b // the client takes it for a refusal without the fact
	}
	all := map[operation][]int{}
	maps.Copy(all, r.facts.RefusalCodes) // which are the caller's
	all[opBook] = append(slices.Clone(codes), int(*b.Code))
	r.facts.RefusalCodes = all
	return b
}

// longestPassport has the most characters that are allowed. Its last four differ from all others.
var longestPassport = strings.Repeat("P", types.MaxPassportNumber-4) + "7391"

// sameOrder expects that an answer is about the order of another one.
func (b *booked) sameOrder(other *booked) {
	breaks(b.order == nil || b.order.PlatformReferenceNo != other.order.PlatformReferenceNo, "Book made another order")
}

// current returns an order as QueryOrders has it now.
func (r *run) current(b *booked) (*answer, *types.Order) {
	a := r.get(opQueryOrders, obj{"customerReferenceNos": []string{b.entry.reference()}})
	orders := read[hotelstays.QueryOrdersResponse](a).Orders
	for i := range orders {
		if o := &orders[i]; o.PlatformReferenceNo == b.order.PlatformReferenceNo {
			b.order.SupplierReferenceNo = o.SupplierReferenceNo // it may be new
			return a, o
		}
	}
	return a, nil
}

// status is that of an order.
func (r *run) status(b *booked) types.OrderStatus {
	_, o := r.current(b)
	skip(o == nil, "QueryOrders does not have the order")
	return o.Status
}

// poll looks until something is there, and keeps the evidence of the last look.
func (r *run) poll(most, pause time.Duration, there func() bool) (took time.Duration, found bool) {
	began, before := time.Now(), len(r.log)
	for first := true; ; first = false {
		r.log = r.log[:before]
		found = there()
		if took = time.Since(began); found || took+pause > most {
			return took, found
		}
		if first {
			r.waits(r.name, most)
		}
		err := wait(r.ctx, pause)
		skip(err != nil, "%v", err)
	}
}

// means adds a status to one of the lists of StatusMeanings. One that was known to be in another breaks the rule.
func (r *run) means(status types.OrderStatus, list *[]types.OrderStatus) {
	s := &r.facts.StatusMeanings
	known := s.StateOf(status)
	for _, each := range []*[]types.OrderStatus{&s.Confirmed, &s.Pending, &s.Cancelled} {
		*each = slices.DeleteFunc(slices.Clone(*each), func(other types.OrderStatus) bool { return other == status })
	}
	*list = append(*list, status)
	state := s.StateOf(status)
	breaks(known != hotelstays.OrderStateUnknown && known != state, "ServiceFacts.StatusMeanings says that %d is %s, and it is %s",
		status, known, state)
}

var bookRules = []Rule{
	{"book/status", "Order status", "a new order has status 0 or 1", "-book", func(r *run) {
		r.find("it has status %d", r.order().order.Status)
	}},
	{"voucher/before", "Voucher status", "an order that is not confirmed has no voucher, and that is no error", "-book", func(r *run) {
		b := r.order()
		a, resp := r.voucherOf(b.order)
		skip(r.status(b) > types.OrderConfirming, "the order is confirmed already")
		r.log[len(r.log)-1] = a.Exchange
		breaks(resp.Voucher != nil || resp.Status == types.VoucherGenerated, "its voucher is %s", resp.Status)
		r.find("%s", resp.Status)
	}},
	{"book/price", "Book", "how an order's amounts compare with the offer's", "-book", func(r *run) {
		b := r.order()
		most, err := cost(&b.offer.RoomRatePkg)
		skip(err != nil, "%v", err)
		more, err := b.order.NetRate.Cmp(most)
		r.suffers(err != nil || more > 0, "the order's netRate is %s, and the offer's price with taxes %s", b.order.NetRate, most)
		r.find("%s", hotelstays.CompareOrder(&b.offer.RoomRatePkg, b.order))
	}},
	{"book/visible", "QueryOrders", "an order is found by its reference within ten minutes; how soon", "-book", func(r *run) {
		b := r.order()
		took, found := r.poll(10*time.Minute, 15*time.Second, func() bool { _, o := r.current(b); return o != nil })
		breaks(!found, "QueryOrders does not have it after %s", took)
		r.find("after %s", took.Round(time.Second))
	}},
	{"book/by-supplier", "QueryOrders", "an order is found by its supplierReferenceNo", "-book", func(r *run) {
		b := r.order()
		_, o := r.current(b)
		skip(o == nil || o.SupplierReferenceNo == "", "the order has no supplierReferenceNo yet")
		a := r.get(opQueryOrders, obj{"supplierReferenceNos": []string{o.SupplierReferenceNo}})
		breaks(!slices.ContainsFunc(read[hotelstays.QueryOrdersResponse](a).Orders, func(found types.Order) bool {
			return found.PlatformReferenceNo == b.order.PlatformReferenceNo
		}), "it is not among them")
	}},
	{"order/others", "QueryOrders", "orders are those of the references of the request", "-book", func(r *run) {
		r.status(r.order())
		for _, name := range []string{"customerReferenceNos", "supplierReferenceNos"} {
			r.get(opQueryOrders, obj{name: []string{unknownReference}}).ok()
		}
	}},
	{"order/filters", "QueryOrders", "which windows and statuses leave out an order outside them", "-book", func(r *run) {
		b := r.order()
		other := []any{(r.status(b) + 1) % 6}
		past := obj{"start": "2001-01-01T00:00:00Z", "end": "2001-01-02T00:00:00Z"}
		var found []string
		for name, value := range map[string]any{"checkInTimeWindow": past, "checkOutTimeWindow": past, "bookingTimeWindow": past,
			"freeCancelTimeWindow": past, "cancelledTimeWindow": past, "statusList": other} {
			a := r.get(opQueryOrders, obj{"customerReferenceNos": []string{b.entry.reference()}, name: value})
			if a.allowed(); a.succeeded() {
				found = append(found, fmt.Sprintf("%s: %t", name, len(read[hotelstays.QueryOrdersResponse](a).Orders) == 0))
			}
		}
		slices.Sort(found)
		r.find("%s", strings.Join(found, ", "))
	}},
	{"book/again", "Book", "the same Book again returns the same order", "-book", func(r *run) {
		b := r.book(sending{again: r.order()})
		b.ok()
		b.sameOrder(r.order())
	}},
	{"book/other-content", "Book", "another guest under the same reference makes no second order; what it gets", "-book", func(r *run) {
		b := r.book(sending{again: r.order(), change: obj{"guests.lastName": "Probe other"}})
		if b.allowed(); b.succeeded() {
			b.sameOrder(r.order())
		}
		breaks(len(b.entry.Orders) > 1, "there are %d orders", len(b.entry.Orders))
		r.find("%s", b)
	}},
	{"book/duplicate", "Book", "the same content under another reference gets 100001003, and msg names the booking", "-book", func(r *run) {
		first := r.order()
		reference, _ := newReference()
		b := r.turnedDown(sending{again: first, change: obj{"customerReferenceNo": reference}}, 0, types.CodeDuplicateBooking)
		breaks(!slices.ContainsFunc([]string{first.entry.reference(), first.order.PlatformReferenceNo, first.order.SupplierReferenceNo},
			func(name string) bool { return name != "" && strings.Contains(b.msg(), name) }), "msg does not name the booking")
	}},
	{"book/room-index", "Book", "what a guest of room 0 gets", "-book", func(r *run) {
		b := r.book(sending{change: obj{"guests.roomIndex": 0}})
		b.allowed()
		r.find("%s", b)
	}},
	{"book/gender-forms", "Book", "a gender is taken in any case, and as F or M", "-book", func(r *run) {
		b := r.spare()
		breaks(b.gender != nil, "Book with gender f is refused with %s, and without it is not", b.gender)
	}},
	{"book/passport-largest", "Book", "a passport number of 50 characters is accepted", "-book", func(r *run) {
		r.whole = true
		r.spare()
	}},
	{"book/passport-shown", "Order", "an order shows no more than the last four characters of a passport number", "-book", func(r *run) {
		_, o := r.current(r.spare())
		skip(o == nil, "QueryOrders does not have the order")
	}},
	{"order/confirmed", "Order status", "which status means confirmed", "-book", func(r *run) {
		v := r.voucher()
		for _, status := range v.passed {
			r.means(status, &r.facts.StatusMeanings.Pending)
		}
		r.find("%d; before it %v", v.order.Status, v.passed)
		r.means(v.order.Status, &r.facts.StatusMeanings.Confirmed)
	}},
}

// cancellation is a Cancel of the booking of the run.
type cancellation struct {
	*answer
	hotelstays.CancelResponse
	*booked
	at        time.Time // when it was sent
	was       types.OrderStatus
	announced types.Money // the fee
	err       error       // why there is none
}

func (r *run) cancelOrder(b *booked, change obj) *answer {
	c := call{op: opCancel, session: b.offer.session, currency: r.cfg.Booking.MaxTotal.Currency, body: obj{
		"customerReferenceNo": b.entry.reference(), "supplierReferenceNo": b.order.SupplierReferenceNo, "reason": cancelReason}}
	c.apply(change)
	return r.do(c)
}

// cancelled cancels the booking of the run, once it is confirmed: a service need not cancel it before.
func (r *run) cancelled() *cancellation {
	return r.world.cancel.get(r, "a cancellation", func() *cancellation {
		e := &cancellation{booked: r.order()}
		r.poll(confirming, 10*time.Second, func() bool {
			e.was = r.status(e.booked)
			return e.was > types.OrderConfirming
		})
		e.announced, e.err = e.offer.CancelFeeAt(r.now())
		e.at = time.Now()
		e.answer = r.cancelOrder(e.booked, nil)
		e.CancelResponse = *read[hotelstays.CancelResponse](e.answer)
		if i := e.entry.index(e.order); i >= 0 {
			r.announced(&e.entry.Orders[i], &e.was, e.CancelResponse.Status)
			_ = r.allowance.journal.write(e.entry) // without the line Cleanup cancels again
		}
		return e
	})
}

// ended is what became of an order after its Cancel.
type ended struct {
	*cancellation
	status  types.OrderStatus // the last one
	reached bool              // it had the announced one
	voucher types.VoucherStatus
	done    bool // all of it shows that the order is cancelled, for a minute
}

// ended waits until an order is cancelled, which may take as long as a confirmation.
func (r *run) ended() *ended {
	return r.world.ended.get(r, "what becomes of a cancellation", func() *ended {
		e := &ended{cancellation: r.cancelled()}
		e.reached = e.CancelResponse.Status == nil
		since := time.Now()
		_, e.done = r.poll(confirming, 10*time.Second, func() bool {
			_, resp := r.voucherOf(e.order)
			e.voucher = resp.Status
			if now := r.status(e.booked); now != e.status {
				e.status, since = now, time.Now()
			}
			e.reached = e.reached || e.status == *e.CancelResponse.Status
			return e.reached && e.status != e.was && e.voucher == types.VoucherCancelled && time.Since(since) >= lasting
		})
		if i := e.entry.index(e.order); i >= 0 {
			e.entry.Orders[i].Reached = e.reached
		}
		return e
	})
}

var cancelRules = []Rule{
	{"cancel/unknown", "Cancel", "an order that is not there gets HTTP 404 or 400; which", "-book", func(r *run) {
		a := r.do(call{op: opCancel, session: r.order().offer.session, body: obj{"customerReferenceNo": unknownReference,
			"supplierReferenceNo": unknownReference}})
		a.refused(0, 0)
		breaks(a.Status != http.StatusNotFound && a.Status != http.StatusBadRequest, "it gets %s", a)
		r.find("%s", a)
	}},
	{"cancel/required", "Cancel", "both references are required", "-book", func(r *run) {
		for _, name := range []string{"customerReferenceNo", "supplierReferenceNo"} {
			r.cancelOrder(r.spare(), obj{name: nil}).refused(0, 0)
		}
	}},
	{"cancel/mixed", "Cancel", "a supplierReferenceNo of another order cancels nothing", "-book", func(r *run) {
		for _, other := range []string{unknownReference, r.order().order.SupplierReferenceNo} {
			r.cancelOrder(r.spare(), obj{"supplierReferenceNo": other}).refused(0, 0)
		}
	}},
	{"cancel/session", "Cancel", "a session is needed; what an unknown one gets", "-book", func(r *run) {
		r.cancelOrder(r.spare(), obj{"Session-Id": nil}).refused(0, 0)
		a := r.cancelOrder(r.spare(), obj{"Session-Id": noSession})
		a.allowed()
		r.find("%s", a)
	}},
	{"cancel/fee", "Cancel", "how the fee compares with the one that the offer announced", "-book", func(r *run) {
		e := r.cancelled()
		skip(e.err != nil, "%v", e.err)
		skip(e.ServiceFee == nil, "there is no serviceFee")
		fee, err := e.ServiceFee.Decimal()
		want, _ := e.announced.Decimal() // CancelFeeAt returns no other
		r.suffers(err != nil || fee.GreaterThan(want), "serviceFee is %s, and the offer announced %s", e.ServiceFee, e.announced)
		r.find("serviceFee is %s, and the offer announced %s", e.ServiceFee, e.announced)
	}},
	{"cancel/status", "Cancel", "the order gets the status that Cancel announced, and loses the one before", "-book", func(r *run) {
		e := r.ended()
		skip(e.CancelResponse.Status == nil, "Cancel announced none")
		breaks(!e.reached, "Cancel announced status %d, and the order has %d", *e.CancelResponse.Status, e.status)
		breaks(e.status == e.was, "the order has status %d, as before", e.status)
	}},
	{"order/cancelled", "Order status", "which status means cancelled", "-book", func(r *run) {
		e := r.ended()
		skip(!e.done || e.status <= types.OrderConfirming, "the order has status %d, before %d, and its voucher is %s", e.status, e.was,
			e.voucher)
		r.find("%d", e.status)
		r.means(e.status, &r.facts.StatusMeanings.Cancelled)
	}},
	{"cancel/twice", "Cancel", "a second Cancel that is refused gets HTTP 400 and its cause; what it gets", "-book", func(r *run) {
		e := r.ended()
		a := r.cancelOrder(e.booked, nil)
		if a.came(); !a.succeeded() {
			a.refused(http.StatusBadRequest, 0)
			breaks(a.msg() == "", "there is no msg")
		}
		r.find("%s", a)
	}},
	{"cancel/refund", "Order", "what a cancelled order says of refund and time", "-book", func(r *run) {
		_, o := r.current(r.ended().booked)
		skip(o == nil, "QueryOrders does not have the order")
		r.find("refundedPrice %s of netRate %s, cancelTime %q, %d refundInfo", fmt.Sprint(o.RefundedPrice), o.NetRate, o.CancelTime,
			refunds(o))
	}},
	{"voucher/cancelled", "Voucher status", "the voucher of a cancelled order is CANCELLED, without a document", "-book", func(r *run) {
		r.whole = true
		_, resp := r.voucherOf(r.ended().order)
		breaks(resp.Status != types.VoucherCancelled, "expected CANCELLED, got %s", resp.Status)
	}},
}

func refunds(o *types.Order) (n int) {
	for _, room := range o.Rooms {
		n += len(room.RefundInfo)
	}
	return n
}
