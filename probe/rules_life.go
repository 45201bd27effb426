// The life of a booking, in the order in which it is tried, and what is found out at each stage.

package probe

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// bookRules are about orders that are not cancelled.
var bookRules = []Rule{
	{"book/status", "Order status", "a new order has status 0 or 1", "-book", func(r *run) {
		r.find("it has status %d", r.order().order.Status)
	}},
	{"voucher/before", "Voucher status", "an order that is not confirmed has no voucher, and that is no error", "-book", func(r *run) {
		b := r.order()
		a, resp := r.voucherOf(b.order)
		skip(r.known(b).Status > types.OrderConfirming, "the order is confirmed already")
		r.log[len(r.log)-1] = a.Exchange
		breaks(resp.Voucher != nil || resp.Status == types.VoucherGenerated, "its voucher is %s", resp.Status)
		r.find("%s", resp.Status)
	}},
	{"book/price", "Book", "how an order compares with its offer", "-book", func(r *run) { r.compared(r.order()) }},
	{"book/hotel", "Order", "an order is of the hotel of its offer", "-book", func(r *run) {
		b := r.order()
		skip(b.order.Hotel == nil || b.order.Hotel.HotelID == "", "the order names no hotel")
		breaks(slices.Contains(b.offer.others, b.order.Hotel.HotelID), "the order is of hotel %s, and the offer of %s", b.order.Hotel.HotelID,
			b.offer.hotel)
	}},
	{"book/time", "Order", "bookingTime is when the order was made", "-book", func(r *run) {
		b := r.order()
		at, err := b.order.BookingTime.Time()
		skip(err != nil, "%v", err)
		breaks(at.Sub(b.entry.Made).Abs() > r.behind.Abs()+30*time.Minute, "bookingTime is %s, and Book was sent at %s", b.order.BookingTime,
			b.entry.Made.UTC().Format(time.RFC3339))
	}},
	{"book/visible", "QueryOrders", "an order is found by its reference within ten minutes; how soon", "-book", func(r *run) {
		b := r.order()
		took, found := r.poll(10*time.Minute, 15*time.Second, func() bool { _, o := r.current(b); return o != nil })
		breaks(!found, "QueryOrders does not have it after %s", took)
		r.find("after %s", took.Round(time.Second))
	}},
	{"voucher/no-reference", "OrderVoucher", "with an order, too, at least one reference is required", "-book", func(r *run) {
		r.order()
		r.changed(opOrderVoucher, obj{"customerReferenceNo": nil}).refused(0, 0)
	}},
	{"book/again", "Book", "the same Book again returns the same order", "-book", sameOrder(func(r *run) { r.order() })},
	{"book/other-content", "Book", "another guest under the same reference makes no second order; what it gets", "-book", func(r *run) {
		b := r.book(sending{again: r.order(), change: obj{"guests.lastName": "Probe other"}})
		b.allowed()
		breaks(b.succeeded() && (b.order == nil || b.order.PlatformReferenceNo != r.order().order.PlatformReferenceNo), "Book made another order")
		breaks(len(b.entry.Orders) > 1, "there are %d orders", len(b.entry.Orders))
		r.find("%s", b)
	}},
	{"book/duplicate", "Book", "the same content under another reference gets 100001003, and msg names the booking", "-book", func(r *run) {
		r.duplicate(namesBooking, nil)
	}},
	{"book/gender-forms", "Book", "each gender is taken, in any case, and as F or M", "-book", func(r *run) {
		b := r.spare()
		breaks(b.gender != nil, "Book with genders in other forms is refused with %s, and without them is not", b.gender)
	}},
	{"book/passport-largest", "Book", "a passport number of 50 characters is accepted", "-book", func(r *run) {
		r.whole = true
		r.spare()
	}},
	{"book/passport-shown", "Order", "an order shows no more than the last four characters of a passport number", "-book", func(r *run) {
		for _, room := range r.known(r.spare()).Rooms {
			for _, guest := range room.Guests {
				breaks(strings.Contains(string(guest.Raw), longestPassport[:4]),
					"a guest has other characters of the passport number than the last four")
			}
		}
	}},
	{"book/rooms", "Order", "how an order of two rooms compares with its offer", "-book", func(r *run) {
		b := r.spare()
		skip(len(b.offer.rooms) < 2, "the second booking is of one room")
		r.compared(b)
		o := r.known(b)
		r.suffers(len(o.Rooms) > 0 && len(o.Rooms) != 2, "the order has %d rooms", len(o.Rooms))
		for _, room := range o.Rooms {
			r.suffers(o.Rooms[0].RoomIndex != room.RoomIndex && (room.RoomIndex < 1 || room.RoomIndex > 2), "a room has roomIndex %d",
				room.RoomIndex)
		}
	}},
}

// compared doubts an order that differs from its offer.
func (r *run) compared(b *booked) {
	diff := hotelstays.CompareOrder(&b.offer.RoomRatePkg, b.order)
	r.suffers(len(diff.Changes) > 0, "the order differs from the offer: %s", diff)
	r.find("%s", diff)
}

// confirmedRules are about an order that is confirmed.
var confirmedRules = []Rule{
	{"order/confirmed", "Order status", "which status means confirmed", "-book", func(r *run) {
		v := r.voucher()
		for _, status := range v.passed {
			r.means(status, &r.facts.StatusMeanings.Pending)
		}
		r.find("%d; before it %v", v.order.Status, v.passed)
		r.means(v.order.Status, &r.facts.StatusMeanings.Confirmed)
	}},
	{"book/again-later", "Book", "the same Book minutes later returns the same order", "-book", sameOrder(func(r *run) { r.voucher() })},
	{"book/duplicate-later", "Book", "the same content minutes later gets 100001003, and msg names the booking", "-book", func(r *run) {
		r.voucher()
		r.duplicate(namesBooking, nil)
	}},
	{"voucher/form", "OrderVoucher", "status and voucher have the documented form", "-book", func(r *run) {
		r.whole = true
		r.voucher()
	}},
	{"voucher/host", "OrderVoucher", "where the link to a document leads", "-book", func(r *run) {
		link, err := url.Parse(r.voucher().Voucher.DownloadURL)
		breaks(err != nil, "downloadUrl is no URL")
		r.find("%s://%s", link.Scheme, link.Host)
	}},
	{"voucher/verify", "Voucher", "verifyUrl is a public page", "-book", func(r *run) {
		v := r.voucher().Voucher
		r.masker.add(v.VerifyURL)
		req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, v.VerifyURL, nil)
		skip(err != nil, "verifyUrl is no URL")
		resp, err := r.http.Do(req)
		skip(err != nil, "verifyUrl cannot be reached")
		resp.Body.Close()
		skip(resp.StatusCode >= 500, "it gets HTTP %d", resp.StatusCode)
		breaks(resp.StatusCode >= 400, "without a token it gets HTTP %d", resp.StatusCode)
	}},
	{"voucher/digest", "OrderVoucher", "digest is that of the linked document; whether byteSize is its size", "-book", func(r *run) {
		v := r.voucher().Voucher
		document, err := r.download(*v)
		breaks(errors.Is(err, hotelstays.ErrVoucherAltered), "%v", err)
		skip(err != nil, "%v", err)
		r.sized(v.ByteSize, document)
	}},
	{"voucher/inline", "OrderVoucher", "includeDocument returns the document with that digest; what byteSize is", "-book", func(r *run) {
		a := r.get(opOrderVoucher, obj{"platformReferenceNo": r.voucher().order.PlatformReferenceNo, "includeDocument": true})
		skip(a.refusal() && *a.Code == types.CodeVoucherTooLarge, "it is above 8 MB")
		v := read[hotelstays.OrderVoucherResponse](a).Voucher
		breaks(v == nil || v.Content == nil, "there is no voucher.content")
		document, err := base64.StdEncoding.DecodeString(v.Content.Base64)
		breaks(err != nil, "voucher.content is no base64")
		r.sized(v.Content.ByteSize, document)
	}},
	{"voucher/references", "OrderVoucher", "each of the three references finds the voucher", "-book", func(r *run) {
		v := r.voucher()
		for name, value := range map[string]string{"customerReferenceNo": r.order().entry.reference(),
			"supplierReferenceNo": v.order.SupplierReferenceNo} {
			if value == "" {
				continue
			}
			a := r.get(opOrderVoucher, obj{name: value})
			if a.came(); a.Code != nil && *a.Code == types.CodeAmbiguousReference {
				continue // several orders have it
			}
			found := read[hotelstays.OrderVoucherResponse](a)
			breaks(found.PlatformReferenceNo != v.order.PlatformReferenceNo, "%s finds another order", name)
		}
	}},
	{"voucher/link", "OrderVoucher", "a link works just as long as expiresIn says; what an expired one gets", "-book", func(r *run) {
		_, resp := r.voucherOf(r.voucher().order)
		skip(resp.Voucher == nil, "there is no voucher any more")
		v := *resp.Voucher
		life, began := time.Duration(v.ExpiresIn)*time.Second, time.Now()
		r.suffers(life > 7*24*time.Hour, "the link lives for %s", life)
		skip(life > r.cfg.Patience || life > longestLink, "the link lives for %s, and -patience is %s, at most %s", life, r.cfg.Patience,
			longestLink)
		r.wait(life - 5*time.Second)
		_, err := r.download(v)
		breaks(errors.Is(err, hotelstays.ErrVoucherLinkExpired), "%s after its voucher the link is refused: %v", time.Since(began), err)
		skip(err != nil, "%v", err)
		r.wait(time.Until(began.Add(life + 5*time.Second)))
		_, err = r.download(v)
		breaks(err == nil, "%s after its voucher the link works", time.Since(began))
		skip(!errors.Is(err, hotelstays.ErrVoucherLinkExpired), "%v", err)
		r.find("%v", err)
	}},
}

// sized finds out whether byteSize is the size of a document.
func (r *run) sized(byteSize int64, document []byte) {
	r.find("byteSize is its size: %t", byteSize == int64(len(document)))
}

// cancelRules are about an order that is cancelled, and those that it leaves room for.
var cancelRules = []Rule{
	{"cancel/fee", "Cancel", "how the fee compares with the one that the offer announced", "-book", func(r *run) {
		e := r.cancelled()
		skip(e.err != nil, "%v", e.err)
		skip(e.ServiceFee == nil, "there is no serviceFee")
		more, err := e.ServiceFee.Cmp(e.announced)
		fee, _ := e.ServiceFee.Decimal() // Cmp has its error
		r.suffers(err != nil || more > 0 || fee.IsNegative(), "serviceFee is %s, and the offer announced %s", e.ServiceFee, e.announced)
		r.find("serviceFee is %s, and the offer announced %s", e.ServiceFee, e.announced)
	}},
	{"cancel/status", "Cancel", "the order gets the status that Cancel announced, and loses the one before", "-book", func(r *run) {
		r.whole = true
		e := r.ended()
		skip(e.CancelResponse.Status == nil, "Cancel announced none")
		breaks(!e.reached, "Cancel announced status %d, and the order has %d", *e.CancelResponse.Status, e.last.Status)
		breaks(e.last.Status == e.was, "the order has status %d, as before", e.last.Status)
	}},
	{"order/cancelled", "Order status", "which status means cancelled", "-book", func(r *run) {
		e := r.ended()
		skip(!e.done || e.last.Status <= types.OrderConfirming, "the order has status %d, before %d, and its voucher is %s", e.last.Status, e.was,
			e.voucher)
		r.find("%d", e.last.Status)
		r.means(e.last.Status, &r.facts.StatusMeanings.Cancelled)
	}},
	{"cancel/twice", "Cancel", "a second Cancel that is refused gets HTTP 400 and its cause; what it gets", "-book", func(r *run) {
		a := r.do(r.cancelling(r.ended().booked))
		if a.came(); !a.succeeded() {
			a.refused(http.StatusBadRequest, 0)
			breaks(a.msg() == "", "there is no msg")
		}
		r.find("%s", a)
	}},
	{"cancel/refund", "Order", "what a cancelled order says of refund and time", "-book", func(r *run) {
		e := r.ended()
		o := r.known(e.booked)
		n := 0
		for _, room := range o.Rooms {
			n += len(room.RefundInfo)
		}
		if at, err := o.CancelTime.Time(); err == nil {
			r.suffers(at.Sub(e.at).Abs() > r.behind.Abs()+30*time.Minute, "cancelTime is %s, and Cancel was sent at %s", o.CancelTime,
				e.at.UTC().Format(time.RFC3339))
		}
		r.find("refundedPrice %s of netRate %s, cancelTime %q, %d refundInfo", fmt.Sprint(o.RefundedPrice), o.NetRate, o.CancelTime, n)
	}},
	{"voucher/cancelled", "Voucher status", "the voucher of a cancelled order is CANCELLED, without a document", "-book", func(r *run) {
		r.whole = true
		_, resp := r.voucherOf(r.ended().order)
		breaks(resp.Status != types.VoucherCancelled, "expected CANCELLED, got %s", resp.Status)
	}},
	{"order/members", "Order", "which members guests and refundInfo of an order have", "-book", func(r *run) {
		a, _ := r.current(r.ended().booked)
		guests, refunds := obj{}, obj{}
		for _, order := range read[struct {
			Orders []struct {
				Rooms []struct{ Guests, RefundInfo []obj }
			}
		}](a).Orders {
			for _, room := range order.Rooms {
				for _, guest := range room.Guests {
					maps.Copy(guests, guest)
				}
				for _, refund := range room.RefundInfo {
					maps.Copy(refunds, refund)
				}
			}
		}
		r.find("guests: %s; refundInfo: %s", members(guests), members(refunds))
	}},
	{"book/again-cancelled", "Book", "the same Book after its cancellation returns the same order", "-book",
		sameOrder(func(r *run) { r.ended() })},
	{"book/duplicate-cancelled", "Book", "after a cancellation the same content is accepted under another reference", "-book", func(r *run) {
		r.ended()
		skip(r.allowance.doubled, "another order has the same content")
		r.duplicate(func(r *run, a *answer) string {
			breaks(a.refusal() && *a.Code == types.CodeDuplicateBooking, "it is refused with %s, though its booking is cancelled", a)
			skip(!a.succeeded(), "Book got %s", a)
			return ""
		}, obj{"callbackUrl": nil})
	}},
	{"webhook/oauth", "Book", "an access token registers no callbackUrl", "-callback", func(r *run) {
		skip(r.cfg.OAuth == nil, "needs HOTELSTAYS_CLIENT_ID")
		r.turnedDown(sending{change: obj{"token": r.allScopes()}}, refuses(0, 0))
	}},
}
