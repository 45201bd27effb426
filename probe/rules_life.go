// Rules for each step of a booking's life.

package probe

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// after returns the check of a rule about a booking. The function step brings the booking to a stage, such as confirmed
// or cancelled. Then the function look judges the booking.
func after(step func(*run) *booked, look func(*run, *booked)) func(*run) {
	return func(r *run) { look(r, step(r)) }
}

// bookRules are rules about orders that are not cancelled yet.
var bookRules = rules("-book", []line{
	{"voucher/before", "before the order is confirmed, OrderVoucher succeeds without a voucher", after((*run).order, func(r *run, b *booked) {
		v := r.voucherOf(b)
		skip(r.known(b).Status > types.OrderConfirming, "the order is confirmed already")
		r.lastButOne()
		breaks(v.Voucher != nil || v.Status == types.VoucherGenerated, "the order is not confirmed, but its voucher is %s", v.Status)
		r.find("%s", v.Status)
	})},
	{"book/price", "how an order compares with its offer", after((*run).order, (*run).compared)},
	{"book/hotel", "an order is for the hotel of its offer", after((*run).order, func(_ *run, b *booked) {
		skip(b.order.Hotel == nil || b.order.Hotel.HotelID == "", "the order names no hotel")
		breaks(slices.Contains(b.offer.others, b.order.Hotel.HotelID), "the order is for hotel %s, and not for the hotel of the offer",
			b.order.Hotel.HotelID)
	})},
	{"book/visible", "an order is found by its reference within ten minutes; how soon, and with which status",
		after((*run).order, func(r *run, b *booked) {
			took, found := r.poll(10*time.Minute, 15*time.Second, func() bool { return r.current(b) != nil })
			breaks(!found, "QueryOrders does not have the order after %s", took)
			r.find("after %s, status %d", took.Round(time.Second), b.order.Status)
		})},
	{"voucher/no-reference", "OrderVoucher without a reference is refused, even if orders exist", after((*run).order, func(r *run, _ *booked) {
		r.changed(opOrderVoucher, obj{"customerReferenceNo": nil}).refused(0, 0)
	})},
	{"book/again-soon", "the same Book, sent again, returns the same order", after((*run).order, (*run).again)},
	{"book/other-content", "a Book with another guest under the same reference makes no second order; what it gets", after((*run).order,
		func(r *run, first *booked) {
			b := r.book(sending{again: first, change: obj{"guests.lastName": "Probe other"}})
			b.allowed()
			breaks(b.succeeded() && (b.order == nil || b.order.PlatformReferenceNo != first.order.PlatformReferenceNo), "Book made another order")
			breaks(len(b.entry.Orders) > 1, "there are %d orders", len(b.entry.Orders))
			r.find("%s", b)
		})},
	{"book/duplicate", "the same content under another reference gets code 100001003, and msg names the booking", after((*run).order,
		(*run).duplicate)},
	{"book/gender-forms", "each gender is accepted, in upper and lower case, and as F or M", after((*run).spare, func(_ *run, b *booked) {
		breaks(b.gender != nil, "Book is refused with %s only if genders have other forms", b.gender)
	})},
	{"book/passport-largest", "a passport number of 50 characters is accepted", after((*run).spare, func(*run, *booked) {})},
	{"book/rooms", "how an order of two rooms compares with its offer", after((*run).spare, func(r *run, b *booked) {
		skip(len(b.offer.rooms) < 2, "the second booking has only one room")
		r.compared(b)
	})},
})

func (r *run) compared(b *booked) {
	diff := hotelstays.CompareOrder(&b.offer.RoomRatePkg, b.order)
	r.suffers(len(diff.Changes) > 0, "the order differs from the offer: %s", diff)
	r.find("%s", diff)
}

// bookRequests are rules that send a valid Book or Cancel in which at most one value was changed. A refused Book must leave no
// order.
var bookRequests = rules("-book", []line{
	{"book/token", "Book without a token gets HTTP 401", ask(opBook, refuses(401, 0), changes("Authorization", nil))},
	{"book/session", "Book without a known session is refused", ask(opBook, refusal, changes("Session-Id", nil, noSession))},
	{"book/other-session", "an offer cannot be booked in another session", ask(opBook, refusal, changes("Session-Id", otherSession))},
	{"book/unknown-offer", "an unknown offer is refused; with which code", ask(opBook, refusal, changes("ratePkgId", "probe-no-offer"))},
	{"book/required", "ratePkgId, guests, and a holder with both names are required", ask(opBook, refusal,
		// the reference is required, too, but without the reference nobody could find the order
		[]obj{{"ratePkgId": nil}, {"holder": nil}, {"guests": nil}, {"holder.firstName": nil}, {"holder.lastName": nil}})},
	{"book/guest", "roomIndex, firstName and lastName of a guest are required", ask(opBook, refusal,
		[]obj{{"guests.roomIndex": nil}, {"guests.firstName": nil}, {"guests.lastName": nil}})},
	{"book/room-index", "what a Book with a guest of room 0 gets", ask(opBook, doubted, changes("guests.roomIndex", 0))},
	{"book/gender", "an unknown gender is refused; with which code", ask(opBook, refusal, changes("guests.gender", "PROBE"))},
	{"book/passport-above", "a passport number of 51 characters is refused", ask(opBook, refusal,
		changes("guests.passportNumber", longestPassport+"1"))},
	{"book/callback", "a callbackUrl that is not a public https URL gets code 100000400, and msg names it", ask(opBook, naming("callbackUrl"),
		changes("callbackUrl", "http://callback.example.com/", "https://127.0.0.1/", "https://10.0.0.1/", "https://[fd00::1]/",
			"https://100.64.0.1/", "https://localhost/", "https://single/", "https://host.internal/", "https://host.local/", "no-url"))},
	{"cancel/unknown", "Cancel of an unknown order gets HTTP 404 or 400; which", ask(opCancel, noOrder, []obj{{}})},
	{"cancel/required", "Cancel without both references is refused", ask(ofSpare, refusal,
		[]obj{{"customerReferenceNo": nil}, {"supplierReferenceNo": nil}})},
	{"cancel/mixed", "a supplierReferenceNo of another order cancels nothing", ask(ofSpare, refusal, changes("supplierReferenceNo",
		unknownReference, func(r *run) any { return r.order().order.SupplierReferenceNo }))},
	{"cancel/session", "Cancel without a session is refused", ask(ofSpare, refusal, changes("Session-Id", nil))},
	{"cancel/unknown-session", "what Cancel with an unknown session gets", ask(ofSpare, gets, changes("Session-Id", noSession))},
})

var confirmedRules = rules("-book", []line{
	{"order/confirmed", "which status means confirmed", after((*run).voucher, func(r *run, b *booked) {
		for _, status := range b.passed {
			r.means(status, &r.facts.StatusMeanings.Pending)
		}
		r.find("%d; earlier statuses: %v", b.confirmed, b.passed)
		r.means(b.confirmed, &r.facts.StatusMeanings.Confirmed)
	})},
	{"book/again-later", "the same Book minutes later returns the same order", after((*run).voucher, (*run).again)},
	{"book/duplicate-later", "the same content minutes later gets code 100001003, and msg names the booking", after((*run).voucher,
		(*run).duplicate)},
	{"voucher/host", "which host the link to a document names", after((*run).voucher, func(r *run, b *booked) {
		link, err := url.Parse(b.issued.Voucher.DownloadURL)
		breaks(err != nil, "downloadUrl is no URL")
		r.find("%s://%s", link.Scheme, link.Host)
	})},
	{"voucher/verify", "verifyUrl is a public page", after((*run).voucher, func(r *run, b *booked) {
		r.masker.add(b.issued.Voucher.VerifyURL)
		req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, b.issued.Voucher.VerifyURL, nil)
		skip(err != nil, "verifyUrl is no URL")
		resp, err := r.http.Do(req)
		skip(err != nil, "verifyUrl cannot be reached")
		resp.Body.Close()
		skip(resp.StatusCode >= 500, "verifyUrl gets HTTP %d", resp.StatusCode)
		breaks(resp.StatusCode >= 400, "verifyUrl without a token gets HTTP %d", resp.StatusCode)
	})},
	{"voucher/references", "each of the three references finds the voucher", after((*run).voucher, func(r *run, b *booked) {
		for name, value := range map[string]string{"customerReferenceNo": b.entry.reference(),
			"supplierReferenceNo": b.order.SupplierReferenceNo} {
			if value == "" {
				continue
			}
			a := r.get(opOrderVoucher, obj{name: value})
			// This refusal is allowed, because several orders may have the reference.
			if a.Code == nil || *a.Code != types.CodeAmbiguousReference {
				a.ok()
			}
		}
	})},
	{"voucher/link", "a link expires exactly after expiresIn; what an expired link gets", after((*run).voucher, func(r *run, b *booked) {
		issued := r.voucherOf(b)
		skip(issued.Voucher == nil, "there is no voucher any more")
		v := *issued.Voucher
		life, began := time.Duration(v.ExpiresIn)*time.Second, time.Now()
		r.suffers(life > 7*24*time.Hour, "the link is valid for %s", life)
		skip(life > min(r.cfg.Patience, longestLink), "the link is valid for %s, and the run waits at most %s (-patience, at most %s)", life,
			min(r.cfg.Patience, longestLink), longestLink)
		r.wait(life - 5*time.Second)
		err := r.download(v)
		breaks(errors.Is(err, hotelstays.ErrVoucherLinkExpired), "the link is refused %s after OrderVoucher returned it: %v",
			time.Since(began), err)
		skip(err != nil, "%v", err)
		r.wait(time.Until(began.Add(life + 5*time.Second)))
		err = r.download(v)
		breaks(err == nil, "the link still works %s after OrderVoucher returned it", time.Since(began))
		skip(!errors.Is(err, hotelstays.ErrVoucherLinkExpired), "%v", err)
		r.find("%v", err)
	})},
})

// cancelRules are rules about a cancelled order, and about a new booking with the same content.
var cancelRules = append(rules("-book", []line{
	{"cancel/fee", "how the cancellation fee compares with the fee that the offer announced", after((*run).cancelled, func(r *run, b *booked) {
		is := b.cancel.ServiceFee
		skip(b.feeErr != nil, "%v", b.feeErr)
		skip(is == nil, "the answer to Cancel has no serviceFee")
		more, err := is.Cmp(b.fee)
		fee, _ := is.Decimal() // if the amount is invalid, Cmp has returned the error
		r.suffers(err != nil || more > 0 || fee.IsNegative(), "serviceFee is %s, and the offer announced %s", is, b.fee)
		r.find("serviceFee is %s, and the offer announced %s", is, b.fee)
	})},
	{"cancel/status", "a cancelled order has the status that Cancel announced, not its earlier one",
		after((*run).ended, func(_ *run, b *booked) {
			skip(b.cancel.Status == nil, "Cancel announced no status")
			breaks(!b.reached, "Cancel announced status %d, and the order has %d", *b.cancel.Status, b.last.Status)
			breaks(b.last.Status == b.was, "the order still has status %d", b.last.Status)
		})},
	{"order/cancelled", "which status means cancelled", after((*run).ended, func(r *run, b *booked) {
		skip(!b.done || b.last.Status <= types.OrderConfirming, "the order has status %d (before Cancel: %d), and its voucher is %s",
			b.last.Status, b.was, b.document)
		r.find("%d", b.last.Status)
		r.means(b.last.Status, &r.facts.StatusMeanings.Cancelled)
	})},
	{"cancel/twice", "a second Cancel, if refused, gets HTTP 400 and a msg; what it gets", after((*run).ended, func(r *run, b *booked) {
		a := r.do(r.cancelling(b))
		if a.came(); !a.succeeded() {
			a.refused(http.StatusBadRequest, 0)
			breaks(a.msg() == "", "the answer to the second Cancel has no msg")
		}
		r.find("%s", a)
	})},
	{"voucher/cancelled", "the voucher of a cancelled order is CANCELLED, without a document", after((*run).ended, func(r *run, b *booked) {
		is := r.voucherOf(b).Status
		breaks(is != types.VoucherCancelled, "expected CANCELLED, got %s", is)
	})},
	{"book/again-cancelled", "after the cancellation, the same Book returns the same order", after((*run).ended, (*run).again)},
	{"book/duplicate-cancelled", "after the cancellation, the same content is accepted under another reference", after((*run).ended,
		func(r *run, _ *booked) {
			skip(r.allowance.doubled, "another order has the same content")
			r.duplicated(obj{"callbackUrl": nil}, func(_ *run, a *answer) string {
				breaks(a.refusal() && *a.Code == types.CodeDuplicateBooking, "Book is refused with %s, although the booking is cancelled", a)
				skip(!a.succeeded(), "Book got %s", a)
				return ""
			})
		})},
	{"order/answer", "what a cancelled order looks like", ask(ofEnded, sampled, []obj{{}})},
}), newRule("webhook/oauth", "a Book with an access token and a callbackUrl is refused", "-callback", ask(opBook, refusal,
	changes("token", func(r *run) any {
		skip(r.cfg.OAuth == nil, "needs HOTELSTAYS_CLIENT_ID")
		return r.withScopes(scopes...)
	}))))

// filter is a rule about one filter of QueryOrders, which must return the orders that match it, and no other orders.
type filter struct {
	name, member string
	after        func(*run) *booked
	is           func(*run, *booked) any // returns the order's reference, status or time; the zero time means unknown
}

var filterRules = func() (all []Rule) {
	for _, f := range []filter{
		{"order/references", "customerReferenceNos", (*run).order, func(_ *run, b *booked) any { return b.entry.reference() }},
		{"order/supplier-references", "supplierReferenceNos", (*run).order, func(r *run, b *booked) any {
			reference := r.known(b).SupplierReferenceNo
			skip(reference == "", "the order has no supplierReferenceNo yet")
			return reference
		}},
		{"order/check-in", "checkInTimeWindow", (*run).order, func(r *run, b *booked) any { return day(r.known(b).CheckIn) }},
		{"order/check-out", "checkOutTimeWindow", (*run).order, func(r *run, b *booked) any { return day(r.known(b).CheckOut) }},
		{"order/booking-time", "bookingTimeWindow", (*run).order, func(_ *run, b *booked) any { return b.entry.Made }},
		{"order/free-cancel", "freeCancelTimeWindow", (*run).order, func(*run, *booked) any { return time.Time{} }},
		{"order/status-list", "statusList", (*run).order, func(r *run, b *booked) any { return r.known(b).Status }},
		{"order/cancel-time", "cancelledTimeWindow", (*run).ended, func(_ *run, b *booked) any { return b.cancelAt }},
	} {
		all = append(all, newRule(f.name, f.member+" finds the orders that match it, and no others", "-book", f.try))
	}
	return all
}()

func day(date types.Date) time.Time {
	t, _ := date.Time() // an unreadable date becomes the zero time, which means unknown
	return t
}

// windows returns a time window in every form that the document allows, such as dates or Unix seconds.
func windows(start, end time.Time) (all []any) {
	bounds := func(at time.Time) []any {
		return []any{at.Format(time.DateOnly), at.Format(time.RFC3339), at.Format(time.DateTime), fmt.Sprint(at.Unix()),
			fmt.Sprint(at.UnixMilli())}
	}
	for i, bound := range bounds(start) {
		all = append(all, obj{"start": bound, "end": bounds(end)[i]})
	}
	return all
}

var longAgo = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// emptyWindows is a time window before every order, in every form that the document allows.
var emptyWindows = windows(longAgo, longAgo)

// inAndOut returns filter values that match an order, and filter values that do not match it, in every form. The
// argument is the reference, the status or the time of the order.
func inAndOut(is any) (in []any, out [][]any) {
	switch is := is.(type) {
	case string:
		return []any{[]string{unknownReference, is}}, [][]any{{[]string{unknownReference}}}
	case types.OrderStatus:
		other := (is + 1) % 6
		return []any{[]any{is}, []any{fmt.Sprint(is)}}, [][]any{{[]any{other}}, {[]any{fmt.Sprint(other)}}}
	case time.Time:
		for i, around := range windows(is.Add(-36*time.Hour), is.Add(36*time.Hour)) {
			if out = append(out, []any{emptyWindows[i]}); is.IsZero() {
				around = nil
			} else {
				out[i] = append(out[i], obj{"end": around.(obj)["start"]}, obj{"start": around.(obj)["end"]})
			}
			in = append(in, around)
		}
	}
	return in, out
}

func (f filter) try(r *run) {
	b := f.after(r)
	in, out := inAndOut(f.is(r, b))
	// finds reports whether the answer of QueryOrders contains the order (there), and whether the service accepts the
	// request (taken).
	finds := func(body obj) (there, taken bool) {
		a := r.get(opQueryOrders, body)
		if a.allowed(); !a.succeeded() {
			return false, false
		}
		return b.among(a) != nil, true
	}
	ignored := any(nil)
	for i := range out {
		there, taken := finds(obj{f.member: out[i][0]})
		if there {
			ignored = out[i][0]
		}
		if there || !taken {
			continue // tries the next form of the filter
		}
		r.find("accepted: %v", out[i][0])
		for _, other := range out[i][1:] {
			there, _ = finds(obj{f.member: other})
			breaks(there, "%s %v returns an order that does not match it", f.member, other)
		}
		reference := []string{b.entry.reference()}
		if in[i] != nil {
			there, taken = finds(obj{"customerReferenceNos": reference, f.member: in[i]})
			breaks(taken && !there, "%s %v leaves out an order that matches it", f.member, in[i])
		}
		if f.member != "customerReferenceNos" {
			there, _ = finds(obj{"customerReferenceNos": reference, f.member: out[i][0]})
			r.suffers(there, "together with customerReferenceNos, an order comes that does not match %s", f.member)
		}
		return
	}
	skip(ignored == nil, "the service accepts no tried form of %s", f.member)
	breaks(true, "%s %v returns an order that does not match it", f.member, ignored)
}
