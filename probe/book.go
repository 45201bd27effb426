// Booking: which offers may be booked, and how the rules book them.

package probe

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// Booking allows rules to book offers that can be cancelled free of charge for a day. A run makes three bookings, one of them
// with two rooms, and more if the service accepts a Book that it should refuse. Run cancels all bookings.
type Booking struct {
	// MaxTotal limits the sum of the prices of all bookings of a run, cancelled bookings included. A price is the net rate, or
	// the gross rate if that is higher, plus taxes. A refused Book does not count, unless QueryOrders has its order.
	MaxTotal types.Money
	// Journal is the path of a file. A run writes each booking there before it sends Book. The next run first cancels the
	// bookings that are still open. Two runs cannot use one journal at the same time.
	Journal string
	// Callback, if set, lets rules receive the events of the bookings.
	Callback *Callback
}

func (b *Booking) check() error {
	if b == nil {
		return nil
	}
	limit, err := b.MaxTotal.Decimal()
	switch {
	case err != nil || !limit.IsPositive() || len(b.MaxTotal.Currency) != 3:
		return fmt.Errorf("%w: -book needs -max-total, an amount above 0 with a currency, such as 500EUR", ErrConfig)
	case b.Journal == "":
		return fmt.Errorf("%w: -book needs -journal", ErrConfig)
	case b.Callback != nil && b.Callback.URL == "":
		return fmt.Errorf("%w: -callback needs a URL", ErrConfig)
	}
	return nil
}

// allowance is what the run has booked so far. These bookings limit which offers the run may still book.
type allowance struct {
	journal *journal
	earlier int               // the number of journal entries from earlier runs
	offers  map[int]stayOffer // the last bookable offer for each number of rooms
	silent  []*booked         // bookings that were sent without a callbackUrl
	doubled bool              // whether two orders with the same content exist
}

// allow opens the journal, and cancels the bookings that an earlier run has left.
func (s *session) allow(ctx context.Context) error {
	if s.cfg.Booking == nil {
		return nil
	}
	j, err := openJournal(s.cfg.Booking.Journal)
	if err != nil {
		return err
	}
	if n := len(j.unfinished()); n > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%d bookings of an earlier run were not cancelled; this run cancels them first", n))
	}
	if err := s.cleanup(ctx, j); err != nil {
		j.close()
		return fmt.Errorf("bookings of an earlier run could not be cancelled, so nothing was tried: %w", err)
	}
	s.allowance = &allowance{journal: j, earlier: len(j.entries), offers: map[int]stayOffer{}}
	return nil
}

// cleanupTime is the limit for all cancellations after a run, including the cancellation of orders that appear late.
const cleanupTime = 40 * time.Minute

// settle cancels the bookings of the run, even if ctx has ended.
func (s *session) settle(ctx context.Context) error {
	if s.allowance == nil {
		return nil
	}
	defer s.allowance.journal.close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	return s.cleanup(ctx, s.allowance.journal)
}

// now returns the later of this machine's time and the service's time.
func (s *session) now() time.Time { return time.Now().Add(max(0, s.behind)) }

// freeFor is how long a booking must be cancellable free of charge.
const freeFor = 24 * time.Hour

// isFree returns nil, or an error that says why a cancellation of the offer within a day might cost something.
func isFree(o *types.RoomRatePkg, now time.Time) error {
	until, err := o.RefundableUntil.Time()
	switch {
	case o.RefundableMode != types.RefundableFull:
		return fmt.Errorf("refundableMode is %q", o.RefundableMode)
	case o.RefundableUntil != "" && err != nil:
		return err
	case o.RefundableUntil != "" && until.Before(now.Add(freeFor)):
		return fmt.Errorf("the offer is refundable only until %s, which is less than a day from now", o.RefundableUntil)
	}
	times := []time.Time{now, now.Add(freeFor)}
	for _, step := range o.CancelFees {
		if end, err := step.Until.Time(); err == nil && end.After(now) && end.Before(now.Add(freeFor)) {
			times = append(times, end.Add(time.Millisecond)) // the next step begins just after the end of this step
		}
	}
	for _, at := range times {
		fee, err := o.CancelFeeAt(at)
		if err != nil {
			return err
		}
		if amount, err := fee.Decimal(); err != nil || !amount.IsZero() {
			return fmt.Errorf("a cancellation costs %s at %s", fee, at.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// cost returns the most that an offer can cost: the higher of net and gross, plus taxes.
func cost(o *types.RoomRatePkg) (types.Money, error) {
	total := o.TotalRate.NetRate
	if net, err := total.Decimal(); err != nil || !net.IsPositive() || total.Currency == "" {
		return total, fmt.Errorf("the price of the offer is invalid: %s", total)
	}
	if gross := o.TotalRate.GrossRate; gross != nil {
		higher, err := gross.Cmp(total)
		if err != nil {
			return total, err
		}
		if higher > 0 {
			total = *gross
		}
	}
	if o.Tax == nil {
		return total, nil
	}
	items := o.Tax.Items
	if o.Tax.Total != nil {
		items = []types.TaxItem{{Amount: o.Tax.Total}}
	}
	for _, tax := range items {
		if tax.Amount == nil {
			return total, errors.New("a tax in the offer has no amount")
		}
		if amount, err := tax.Amount.Decimal(); err != nil || amount.IsNegative() {
			return total, fmt.Errorf("a tax of the offer is invalid: %s", tax.Amount)
		}
		var err error
		if total, err = total.Add(*tax.Amount); err != nil {
			return total, err
		}
	}
	return total, nil
}

// left returns MaxTotal minus the prices of this run's orders. A Book that may have made an order counts as an order.
func (s *session) left() (types.Money, error) {
	left, err := s.cfg.Booking.MaxTotal, error(nil)
	for _, e := range s.allowance.journal.entries[s.allowance.earlier:] {
		n := len(e.Orders)
		if e.State == EntrySent {
			n++
		}
		for range n {
			if left, err = left.Add(types.Money{Currency: e.Price.Currency, Amount: "-" + e.Price.Amount}); err != nil {
				return left, err
			}
		}
	}
	return left, nil
}

// affordable returns nil, or an error that says why an offer must not be booked.
func (s *session) affordable(o *types.RoomRatePkg) error {
	price, err := cost(o)
	if err != nil {
		return err
	}
	left, err := s.left()
	if err != nil {
		return err
	}
	if more, err := price.Cmp(left); err != nil {
		return err
	} else if more > 0 {
		return fmt.Errorf("the offer costs %s, but only %s is left of -max-total", price, left)
	}
	return isFree(o, s.now())
}

// stayOffer is an offer that can be booked, with the session and the rooms of its search.
type stayOffer struct {
	types.RoomRatePkg
	session string
	rooms   []obj    // the rooms that the search asked for
	others  []string // ids of the other hotels in the answer of the search
}

// confirmed returns the offer as CheckAvail returns it, or an error that says why the run must not book the offer.
func (r *run) confirmed(o stayOffer) (stayOffer, error) {
	a := r.do(call{op: opCheckAvail, session: o.session, body: obj{"ratePkgId": o.RatePkgID}, currency: r.cfg.Booking.MaxTotal.Currency})
	if a.came(); !a.succeeded() {
		return o, fmt.Errorf("CheckAvail: %s", a)
	}
	resp := read[hotelstays.CheckAvailResponse](a)
	if !resp.Available() {
		return o, errors.New("the offer is no longer available")
	}
	o.RoomRatePkg = *resp.RoomRatePkg
	return o, r.affordable(&o.RoomRatePkg)
}

var oneRoom = []obj{{"adultCount": 1}}

// bookable returns the same offer as the last time for this number of rooms, if the run can still book this offer. Otherwise
// bookable searches the city, and returns the cheapest offer that the run can book.
func (r *run) bookable(rooms []obj) stayOffer {
	if last, ok := r.allowance.offers[len(rooms)]; ok {
		if o, err := r.confirmed(last); err == nil {
			return o
		}
	}
	body := r.stayIn(obj{"pageSize": 50, "roomOccupancies": rooms})
	list := read[hotelstays.HotelListResponse](r.do(call{op: opHotelList, body: body, currency: r.cfg.Booking.MaxTotal.Currency}))
	why := errors.New("no offer can be cancelled free of charge")
	var fit []stayOffer
	all := slices.Concat(ids(list.List, hotelID), ids(list.List, func(h types.Hotel) string { return h.ID }))
	for _, h := range list.List {
		others := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id == h.ID || id == h.PlatformHotelID })
		for _, rate := range ratesIn(h.Rooms) {
			if rate.RefundableMode != types.RefundableFull || rate.IncludesPackaging {
				continue
			}
			if err := r.affordable(&rate); err != nil {
				why = err
			} else {
				fit = append(fit, stayOffer{rate, list.Basic.SessionID, rooms, others})
			}
		}
	}
	slices.SortStableFunc(fit, func(a, b stayOffer) int { return byPrice(a.RoomRatePkg, b.RoomRatePkg) })
	for _, rate := range fit[:min(len(fit), 5)] {
		o, err := r.confirmed(rate)
		if err == nil {
			r.allowance.offers[len(rooms)] = o
			return o
		}
		why = err
	}
	skip(true, "no offer can be booked: %v", why)
	return stayOffer{}
}

// sending describes how a Book differs from an ordinary Book.
type sending struct {
	again   *booked  // if set, the Book of this booking is sent again
	rooms   []obj    // rooms of the offer; nil means oneRoom
	genders []string // genders that the guests get in turn
	change  obj
}

// book sends a Book, and looks for its order, even after a refusal: some services refuse a Book and make an order.
func (r *run) book(how sending) *booked {
	for _, e := range r.allowance.journal.unfinished() {
		nameless := func(ref OrderRef) bool { return ref.SupplierReferenceNo == "" }
		if slices.ContainsFunc(e.Orders, nameless) {
			_ = r.seek(r.ctx, e) // the service may have set the supplierReferenceNo by now
		}
		skip(slices.ContainsFunc(e.Orders, nameless),
			"nothing more is booked: the order of %s has no supplierReferenceNo, and cannot be cancelled without it", e.reference())
	}
	b := &booked{}
	if how.again == nil {
		if how.rooms == nil {
			how.rooms = oneRoom
		}
		b.offer = r.bookable(how.rooms)
		b.body = r.bookBody(b.offer, how.genders)
	} else {
		var err error
		b.offer, err = r.confirmed(how.again.offer)
		skip(err != nil, "the offer cannot be booked again: %v", err)
		skip(b.offer.RatePkgID != how.again.offer.RatePkgID, "the id of the offer has changed")
		b.body = maps.Clone(how.again.body)
	}
	c := call{op: opBook, session: b.offer.session, body: b.body, currency: r.cfg.Booking.MaxTotal.Currency}
	r.apply(&c, how.change)
	b.body = c.body.(obj)
	if b.body["callbackUrl"] == nil {
		r.allowance.silent = append(r.allowance.silent, b)
	}
	r.cancels(b.offer.session)
	r.noted(b)
	b.answer = r.do(c)
	r.outcome(b)
	skip(b.refusal() && *b.Code == types.CodeRateChanged, "the price changed between CheckAvail and Book")
	return b
}

// cancels checks that the account may call QueryOrders and Cancel, before anything is booked.
func (r *run) cancels(session string) {
	log := r.log
	r.world.cancels.get(r, "to be able to cancel", func() bool {
		r.get(opQueryOrders, unknownOrder()).allowed()
		r.do(call{op: opCancel, session: session, body: noSuchOrder}).allowed()
		return true
	})
	r.log = log // removes the checks from the evidence of the rule, because the rule judges only its own Book
}

// noted writes a booking into the journal before Book is sent.
func (r *run) noted(b *booked) {
	price, err := cost(&b.offer.RoomRatePkg)
	skip(err != nil, "%v", err)
	reference, _ := b.body["customerReferenceNo"].(string)
	for _, e := range r.allowance.journal.entries {
		if e.reference() == reference {
			b.entry = e
		}
	}
	if b.entry == nil {
		b.entry = &JournalEntry{Made: time.Now(), RatePkgID: b.offer.RatePkgID, Price: price,
			Recovery: r.client.NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: reference, SessionID: b.offer.session})}
	}
	state := b.entry.State
	b.entry.State = EntrySent
	if err = r.allowance.journal.write(b.entry); err != nil {
		b.entry.State = state
		skip(true, "nothing was booked: %v", err)
	}
}

// outcome finds out whether Book has made an order, and writes the result into the journal.
func (r *run) outcome(b *booked) {
	made := hotelstays.BookResponse{}
	if b.refusal() && len(b.entry.Orders) == 0 {
		b.entry.Refused = b.String()
	}
	b.entry.Recovery.EndedAt = time.Now() // ten minutes after this time, Cleanup can prove that no order exists
	switch {
	case b.err == nil && b.succeeded() && json.Unmarshal(b.Data, &made) == nil && made.HotelOrder != nil:
		b.order = made.HotelOrder
		b.entry.addOrder(b.order)
		if more, err := b.order.NetRate.Cmp(b.entry.Price); err != nil || more > 0 {
			b.entry.Price = b.order.NetRate // if this price cannot be compared with the limit, the run books nothing more
		}
	case b.unknown() || r.seek(r.ctx, b.entry) != nil:
		return // the state stays EntrySent, because an order may exist
	case len(b.entry.Orders) == 0:
		b.entry.State = EntryAbsent
	default:
		b.entry.State = EntryBooked
	}
	_ = r.allowance.journal.write(b.entry) // if this write fails, the earlier line is enough to find the booking
}

// unknown reports whether an order may exist that QueryOrders does not show yet. After a refusal, one QueryOrders without an
// order counts as the proof that no order exists.
func (b *booked) unknown() bool {
	return b.cause == nil || !b.refusal() && errors.As(b.cause, new(*hotelstays.OutcomeUnknownError))
}

// newReference returns a reference for a booking, with the length of a UUID, and a last name for its guests. The name is
// unique, so that no two bookings have the same content.
func newReference() (reference, name string) {
	text := rand.Text()
	return "probe-" + strings.ToLower(text+rand.Text()[:4]), strings.Map(func(c rune) rune {
		if c >= '2' && c <= '7' { // rand.Text is base 32, whose only digits are 2 to 7
			return c - '2' + 'a'
		}
		return c
	}, strings.ToLower(text[:8]))
}

// bookBody returns the body of a Book for guests with made-up names.
func (r *run) bookBody(o stayOffer, genders []string) obj {
	if genders == nil {
		genders = []string{"FEMALE"}
	}
	reference, name := newReference()
	var guests []obj
	for i, room := range o.rooms {
		for range room["adultCount"].(int) {
			n := len(guests)
			guests = append(guests, obj{"roomIndex": i + 1, "firstName": "Guest", "lastName": "Probe " + name + strings.Repeat("x", n),
				// all fields are set, because some contracts require all fields
				"gender": genders[n%len(genders)], "dateOfBirth": "1980-01-01", "passportNumber": fmt.Sprintf("P%07d", n+1)})
		}
	}
	body := obj{"customerReferenceNo": reference, "ratePkgId": o.RatePkgID, "guests": guests,
		"holder": obj{"firstName": "Guest", "lastName": "Probe " + name}}
	if r.cfg.Booking.Callback != nil {
		body["callbackUrl"] = r.cfg.Booking.Callback.URL
	}
	return body
}
