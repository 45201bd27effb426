// The life of a booking, step by step: book, read, confirm, voucher, cancel, read. The settlingRules are tried after all
// cancellations.

package probe

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	confirming  = 15 * time.Minute // maximum wait for the confirmation of an order, which takes 3 to 10 minutes
	lasting     = time.Minute      // how long a status must stay unchanged: an order may get its new status later than its voucher
	longestLink = 2 * time.Hour    // maximum wait for the end of a download link, because the order must be cancelled within a day
)

// longestPassport is a passport number of the maximum length. Orders show its last four characters, which occur nowhere
// else in it.
var longestPassport = strings.Repeat("P", types.MaxPassportNumber-4) + "7391"

// booked is a booking of the run: the answer to Book, and what later steps found out about the order.
type booked struct {
	*answer
	offer  stayOffer
	body   obj
	entry  *JournalEntry
	order  *types.Order // nil if Book was refused
	gender *answer      // the answer that refused a Book with another form of a gender; nil if no Book was refused

	// The method voucher sets these fields.
	issued    hotelstays.OrderVoucherResponse
	confirmed types.OrderStatus
	passed    []types.OrderStatus // the statuses before the confirmation, except 0 and 1

	// The method cancelled sets these fields.
	cancel   hotelstays.CancelResponse
	cancelAt time.Time // when Cancel was sent
	was      types.OrderStatus
	fee      types.Money // the cancellation fee that the offer announced
	feeErr   error       // why the fee is unknown

	// The method ended sets these fields.
	last     *types.Order // nil if QueryOrders no longer returns the order
	reached  bool         // whether the order has shown the status that Cancel announced
	document types.VoucherStatus
	done     bool // whether order and voucher have shown the cancellation for a minute
}

// order makes the first booking of the run, which most rules use. If the service refuses the booking, the rules are not tried.
func (r *run) order() *booked {
	return r.world.order.get(r, "a booking", func() *booked {
		b := r.book(sending{})
		skip(b.refusal(), "Book is refused with %s: %s", b, b.msg())
		return r.made(b)
	})
}

// spare makes a second booking, for the rules that may cancel this booking. The booking has the longest passport number, all
// forms of a gender, and two rooms if such an offer exists. If the service refuses this Book, spare sends a Book with only one
// gender. If the service also refuses that Book, spare sends a Book with only one room.
func (r *run) spare() *booked {
	return r.world.spare.get(r, "a second booking", func() *booked {
		how := sending{rooms: twoRooms, genders: []string{"f", "Other", "UNSPECIFIED", "m"},
			change: obj{"guests.passportNumber": longestPassport}}
		if attempt(func() { r.bookable(twoRooms) }) != nil {
			how.rooms = oneRoom
		}
		b := r.book(how)
		if refused := b.answer; b.refusal() {
			how.genders = nil
			if b = r.book(how); !b.refusal() {
				b.gender = refused
			} else if len(how.rooms) > 1 {
				how.rooms = oneRoom
				b = r.book(how)
			}
			// If the service refuses an ordinary Book, too, the passport number is not the reason. Then order skips the rule.
			r.order()
		}
		return r.made(b)
	})
}

// made breaks the rule unless the Book succeeded and returned an order.
func (r *run) made(b *booked) *booked {
	r.suffers(b.err != nil || b.Status >= http.StatusBadGateway, "Book got %s, so only QueryOrders shows whether an order exists", b)
	b.ok()
	breaks(b.order == nil, "Book: data has no hotelOrder")
	return b
}

// turnedDown sends a Book with a change, and judges the answer with the function want. A refused Book must leave no
// order. The unchanged Book of the run must have succeeded before, because otherwise the refusal may have another
// reason than the change.
func (r *run) turnedDown(how sending, want expectation) (text string) {
	r.order()
	b := r.book(how)
	r.allowance.doubled = r.allowance.doubled || how.again != nil && len(b.entry.Orders) > 0
	text = want(r, b.answer)
	breaks(b.refusal() && len(b.entry.Orders) > 0, "Book was refused with %s, but an order exists", b.answer)
	codes := r.facts.RefusalCodes[opBook]
	if b.entry.State != EntryAbsent || !errors.As(b.cause, new(*hotelstays.OutcomeUnknownError)) || slices.Contains(codes, int(*b.Code)) {
		return text // the answer shows no new refusal code
	}
	all := map[operation][]int{}
	maps.Copy(all, r.facts.RefusalCodes) // a copy, because the map may belong to the caller
	all[opBook] = append(slices.Clone(codes), int(*b.Code))
	r.facts.RefusalCodes = all
	return text
}

// again sends the Book of the run a second time, and requires that the service returns the same order.
func (r *run) again(_ *booked) {
	b := r.book(sending{again: r.order()})
	b.ok()
	breaks(b.order == nil || b.order.PlatformReferenceNo != r.order().order.PlatformReferenceNo, "Book made another order")
}

// duplicate sends the content of the booking under a new reference, and requires a refusal that names the first booking.
func (r *run) duplicate(*booked) { r.duplicated(obj{}, namesBooking) }

func (r *run) duplicated(change obj, want expectation) {
	change["customerReferenceNo"], _ = newReference()
	r.turnedDown(sending{again: r.order(), change: change}, want)
}

// namesBooking requires code 100001003, and a msg that contains a reference of the first booking.
func namesBooking(r *run, a *answer) string {
	a.refused(0, types.CodeDuplicateBooking)
	first := r.order()
	breaks(!slices.ContainsFunc([]string{first.entry.reference(), first.order.PlatformReferenceNo, first.order.SupplierReferenceNo},
		func(name string) bool { return name != "" && strings.Contains(a.msg(), name) }), "msg does not name the booking")
	return ""
}

// current calls QueryOrders, and returns the order of a booking, or nil.
func (r *run) current(b *booked) *types.Order {
	return b.among(r.get(opQueryOrders, obj{"customerReferenceNos": []string{b.entry.reference()}}))
}

// among returns the order of this booking from an answer of QueryOrders, or nil.
func (b *booked) among(a *answer) *types.Order {
	orders := read[hotelstays.QueryOrdersResponse](a).Orders
	for i := range orders {
		if o := &orders[i]; o.PlatformReferenceNo == b.order.PlatformReferenceNo {
			b.order.SupplierReferenceNo = o.SupplierReferenceNo // the answer to Book may have had no supplierReferenceNo yet
			return o
		}
	}
	return nil
}

// known is like current, but skips the rule if QueryOrders does not return the order.
func (r *run) known(b *booked) *types.Order {
	o := r.current(b)
	skip(o == nil, "QueryOrders does not have the order")
	return o
}

// poll calls a function (there) until it returns true, with a pause after each call. It gives up when the maximum time
// (most) has passed. Only the last call stays in the evidence.
func (r *run) poll(most, pause time.Duration, there func() bool) (took time.Duration, found bool) {
	began, before := time.Now(), len(r.log)
	for first := true; ; first = false {
		r.log = r.log[:before]
		found = there()
		if took = time.Since(began); found || took+pause > most {
			return took, found
		}
		if first {
			r.waits(r.rule.Name, most)
		}
		err := wait(r.ctx, pause)
		skip(err != nil, "%v", err)
	}
}

// means adds a status to list, a field of StatusMeanings such as Confirmed. If the facts gave the status another meaning
// before, the rule ends as Broken.
func (r *run) means(status types.OrderStatus, list *[]types.OrderStatus) {
	s := &r.facts.StatusMeanings
	known := s.StateOf(status)
	for _, each := range []*[]types.OrderStatus{&s.Confirmed, &s.Pending, &s.Cancelled} {
		*each = slices.DeleteFunc(slices.Clone(*each), func(other types.OrderStatus) bool { return other == status })
	}
	*list = append(*list, status)
	state := s.StateOf(status)
	breaks(known != hotelstays.OrderStateUnknown && known != state,
		"ServiceFacts.StatusMeanings says that status %d means %s, but it means %s", status, known, state)
}

func (r *run) voucherOf(b *booked) hotelstays.OrderVoucherResponse {
	return *read[hotelstays.OrderVoucherResponse](r.get(opOrderVoucher, obj{"platformReferenceNo": b.order.PlatformReferenceNo}))
}

// voucher waits until the order is confirmed and its voucher exists.
func (r *run) voucher() *booked {
	return r.world.voucher.get(r, "a confirmed order with a voucher", func() *booked {
		b := r.order()
		seen, since := []types.OrderStatus{-1}, time.Time{}
		took, found := r.poll(confirming, 10*time.Second, func() bool {
			b.issued, b.confirmed = r.voucherOf(b), r.known(b).Status
			if b.confirmed != seen[len(seen)-1] {
				seen, since = append(seen, b.confirmed), time.Now()
			}
			return b.issued.Status == types.VoucherGenerated && b.issued.Voucher != nil && b.confirmed > types.OrderConfirming &&
				time.Since(since) >= lasting
		})
		r.suffers(!found && b.issued.Status == types.VoucherGenerated && b.issued.Voucher == nil,
			"after %s the voucher is GENERATED, without a document", took)
		skip(!found, "after %s the voucher is %s, and the order has status %d", took, b.issued.Status, b.confirmed)
		slices.Sort(seen)
		b.passed = slices.DeleteFunc(slices.Compact(seen), func(status types.OrderStatus) bool {
			return status == b.confirmed || status <= types.OrderConfirming
		})
		r.lastButOne() // the last answer counts as the proof of the rule, and must be the answer with the voucher
		log := r.log
		r.get(opOrderVoucher, obj{"platformReferenceNo": b.order.PlatformReferenceNo, "includeDocument": true})
		_ = r.download(*b.issued.Voucher) // the judge checks the downloaded document and the document in the answer
		r.log = log
		return b
	})
}

// lastButOne swaps the last two exchanges of the evidence, because the report shows the last exchange as the proof.
func (r *run) lastButOne() {
	n := len(r.log)
	r.log[n-1], r.log[n-2] = r.log[n-2], r.log[n-1]
}

// download downloads the document of a voucher, so that the judge compares the document with the voucher's digest. The
// document is not kept as evidence, because it contains names of guests, and the link is secret.
func (r *run) download(v types.Voucher) error {
	r.masker.add(v.DownloadURL)
	v.Content = nil // DownloadVoucher downloads only a voucher without Content
	return r.client.DownloadVoucher(r.ctx, &v, io.Discard)
}

func (r *run) cancelling(b *booked) call {
	return call{op: opCancel, session: b.offer.session, currency: r.cfg.Booking.MaxTotal.Currency, body: obj{
		"customerReferenceNo": b.entry.reference(), "supplierReferenceNo": b.order.SupplierReferenceNo, "reason": cancelReason}}
}

// cancelled waits until the first booking is confirmed, and cancels it. A service may refuse to cancel an
// order that is not confirmed yet.
func (r *run) cancelled() *booked {
	return r.world.cancel.get(r, "a cancellation", func() *booked {
		b := r.order()
		r.poll(confirming, 10*time.Second, func() bool {
			b.was = r.known(b).Status
			return b.was > types.OrderConfirming
		})
		b.fee, b.feeErr = b.offer.CancelFeeAt(r.now())
		b.cancelAt = time.Now()
		b.cancel = *read[hotelstays.CancelResponse](r.do(r.cancelling(b)))
		if i := b.entry.index(b.order); i >= 0 {
			r.announced(&b.entry.Orders[i], &b.was, b.cancel.Status)
			_ = r.allowance.journal.write(b.entry) // if this write fails, Cleanup cancels the order again
		}
		return b
	})
}

// ended waits until the order and its voucher show the cancellation. This may take as long as a confirmation.
func (r *run) ended() *booked {
	return r.world.ended.get(r, "a cancelled order", func() *booked {
		b, since, status := r.cancelled(), time.Now(), types.OrderStatus(-1)
		b.reached = b.cancel.Status == nil
		_, b.done = r.poll(confirming, 10*time.Second, func() bool {
			b.document = r.voucherOf(b).Status
			if b.last = r.current(b); b.last == nil {
				return false
			}
			if b.last.Status != status {
				status, since = b.last.Status, time.Now()
			}
			b.reached = b.reached || status == *b.cancel.Status
			return b.reached && status != b.was && b.document == types.VoucherCancelled && time.Since(since) >= lasting
		})
		breaks(b.last == nil, "QueryOrders does not have the cancelled order")
		if i := b.entry.index(b.order); i >= 0 {
			b.entry.Orders[i].Reached = b.reached
		}
		return b
	})
}
