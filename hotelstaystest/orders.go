// The orders: their store, their life, and how they are written for the wire.

package hotelstaystest

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Order statuses that the API numbers.
const (
	statusUnknown    = 0
	statusConfirming = 1
)

// order is one booking. The store's lock guards it.
type order struct {
	account     string
	customerRef string
	platformRef string
	supplierRef string
	confirmNo   string
	content     string
	ratePkgID   string
	callbackURL string
	offer       offer
	price       price // frozen at Book
	cents       int64 // the same in US cents for one room
	holder      holder
	guests      []orderGuest

	created   time.Time
	visible   time.Time // from when QueryOrders shows it
	history   []StatusChange
	confirmed time.Time // zero: not (yet)
	amended   int       // how often
	voucher   voucherState
	timer     *time.Timer // confirms in time an order that has a callbackUrl
	lastEvent *event      // the latest webhook event

	rule         CancelRule
	cancelled    time.Time
	cancelReason string
	fee          int64 // charged for cancelling, in the price's minor units
}

func (o *order) status() int { return o.history[len(o.history)-1].Status }

func (o *order) isCancelled() bool { return !o.cancelled.IsZero() }

// orderStore holds all orders in the order they were made.
type orderStore struct {
	mu     sync.Mutex
	s      *Server
	list   []*order
	byRef  map[string]*order   // account and customerReferenceNo
	byTwin map[string][]*order // account and content
}

func newOrderStore(s *Server) *orderStore {
	return &orderStore{s: s, byRef: map[string]*order{}, byTwin: map[string][]*order{}}
}

func (st *orderStore) byReference(account, customerRef string) *order {
	return st.byRef[account+"\x00"+customerRef]
}

// activeContent finds an order with the same content that is not cancelled.
func (st *orderStore) activeContent(account, content string, now time.Time) *order {
	for _, o := range st.byTwin[account+"\x00"+content] {
		st.settle(o, now)
		if !o.isCancelled() {
			return o
		}
	}
	return nil
}

// create makes an order.
func (st *orderStore) create(c *call, req *bookRequest, off offer, guests []orderGuest, content string, now time.Time) *order {
	n := len(st.list) + 1
	cents := st.s.cents(off)
	o := &order{
		account: c.account, customerRef: req.CustomerReferenceNo,
		platformRef: fmt.Sprintf("PO%09d", n), supplierRef: fmt.Sprintf("SUP%d-%06d", off.supplier, n),
		content: content, ratePkgID: req.RatePkgID, callbackURL: req.CallbackURL,
		offer: off, price: st.s.world.price(off, c.priced(off), cents), cents: cents, holder: *req.Holder, guests: guests,
		created: now, visible: now.Add(st.s.cfg.lateVisibility),
		history: []StatusChange{{statusConfirming, now}}, rule: st.s.cfg.cancelRule,
	}
	st.list = append(st.list, o)
	st.byRef[o.account+"\x00"+o.customerRef] = o
	twin := o.account + "\x00" + content
	st.byTwin[twin] = append(st.byTwin[twin], o)
	st.s.webhooks.happened(o, OnBook, now)
	if after := st.s.cfg.confirmAfter; o.callbackURL != "" && after >= 0 && !st.s.isClosing() {
		o.timer = time.AfterFunc(after, func() { st.settleNow(o) })
	}
	return o
}

// settleNow is what an order's timer does.
func (st *orderStore) settleNow(o *order) {
	if !st.s.enter() {
		return
	}
	defer st.s.work.Done()
	st.mu.Lock()
	defer st.mu.Unlock()
	st.settle(o, time.Now())
}

// stopTimers stops the timers of all orders; once the server closes, there are no new
// ones.
func (st *orderStore) stopTimers() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, o := range st.list {
		if o.timer != nil {
			o.timer.Stop()
		}
	}
}

// settle brings an order to its state as of now: the supplier's confirmation happens
// by itself, at its exact time.
func (st *orderStore) settle(o *order, now time.Time) {
	if s := o.status(); s != statusConfirming && s != st.s.cfg.statusNumbers.Pending && s != statusUnknown {
		return
	}
	after := st.s.cfg.confirmAfter
	if at := o.created.Add(after); after >= 0 && !now.Before(at) && !at.Before(o.history[len(o.history)-1].At) {
		st.confirm(o, at)
	}
}

func (st *orderStore) confirm(o *order, at time.Time) {
	o.history = append(o.history, StatusChange{st.s.cfg.statusNumbers.Confirmed, at})
	o.confirmed = at
	o.cancelled, o.cancelReason, o.fee = time.Time{}, "", 0 // of a cancellation that a test undoes
	if o.voucher.version == 0 {                             // else it was confirmed before
		o.confirmNo = "HC-" + o.platformRef[2:]
		o.voucher = voucherState{version: 1, issued: at.Add(st.s.cfg.voucherDelay)}
	}
	st.s.webhooks.happened(o, OnConfirm, at)
}

// records copies the orders for the ledger.
func (st *orderStore) records() []Order {
	st.mu.Lock()
	defer st.mu.Unlock()
	now := time.Now()
	out := make([]Order, 0, len(st.list))
	for _, o := range st.list {
		st.settle(o, now)
		out = append(out, Order{
			Account: o.account, CustomerReferenceNo: o.customerRef, PlatformReferenceNo: o.platformRef,
			SupplierReferenceNo: o.supplierRef, ContentKey: o.content, RatePkgID: o.ratePkgID, CallbackURL: o.callbackURL,
			CreatedAt: o.created, Status: o.status(), History: slices.Clone(o.history), Total: moneyString(o.price.currency.money(o.price.total())),
		})
	}
	return out
}

func moneyString(m money) string { return m.Amount.String() + " " + m.Currency }

// orderBody writes an order for the wire.
func (s *Server) orderBody(o *order) *orderBody {
	total := o.price.rate(o.price.rooms)
	w := s.world
	id := sourceID(o.offer.supplier, o.offer.hotel)
	b := &orderBody{
		Status: o.status(), CheckIn: o.offer.checkIn.Format(dateForm), CheckOut: o.offer.checkOut().Format(dateForm),
		NightCount: o.offer.nights, RoomCount: len(o.offer.rooms), BookingTime: stamp(o.created), HotelConfirmNo: o.confirmNo,
		Holder: o.holder, PlatformReferenceNo: o.platformRef, CustomerReferenceNo: o.customerRef,
		CommissionableRate: total.CommissionableRate, NetRate: total.NetRate, GrossRate: total.GrossRate, RespectGrossRate: total.RespectGrossRate,
		Supplier: o.offer.supplier, SupplierReferenceNo: o.supplierRef,
		Hotel: &orderHotel{
			HotelID: id, DestinationID: w.destinationID(place{city, w.cityOf(o.offer.hotel)}), Name: w.hotelName(o.offer.hotel),
			Rating: w.rating(o.offer.hotel), Address: w.hotelAddress(o.offer.hotel), LatlngCoordinator: w.hotelPosition(o.offer.hotel),
			LogoURL: w.describe(o.offer.hotel).LogoURL,
		},
		Rooms: s.orderRooms(o, id),
	}
	switch {
	case o.isCancelled():
		refund := o.price.currency.money(o.price.total() - o.fee)
		b.CancelTime, b.CancelReason, b.RefundedPrice = stamp(o.cancelled), o.cancelReason, &refund
	case o.status() == statusConfirming:
		b.StatusRemark = "The supplier has not confirmed yet."
	}
	return b
}

// orderRooms writes an order's rooms, each with its guests.
func (s *Server) orderRooms(o *order, hotelID string) []orderRoom {
	var rooms []orderRoom
	for i := range o.offer.rooms {
		r := orderRoom{
			RoomTypeID: s.world.roomTypeID(o.offer.hotel, o.offer.room), RoomTypeName: s.world.roomName(o.offer.hotel, o.offer.room),
			HotelID: hotelID, roomRatePkg: s.world.ratePackage(o.offer, o.ratePkgID, o.price), RoomIndex: i + 1, Guests: []orderGuest{},
		}
		for _, g := range o.guests {
			if g.RoomIndex == i+1 {
				r.Guests = append(r.Guests, g)
			}
		}
		if o.isCancelled() {
			share := (o.price.total() - o.fee) / o.price.rooms
			r.RefundInfo = []refundItem{{RefundTime: stamp(o.cancelled), RefundPrice: o.price.currency.money(share)}}
		}
		rooms = append(rooms, r)
	}
	return rooms
}

// withOrder calls fn, under the store's lock, with the order of this platform or
// customer reference. It panics when there is none.
func (s *Server) withOrder(method, reference string, fn func(o *order, now time.Time)) {
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	now := time.Now()
	for _, o := range s.orders.list {
		if o.platformRef == reference || o.customerRef == reference {
			s.orders.settle(o, now)
			fn(o, now)
			return
		}
	}
	panic(fmt.Sprintf("hotelstaystest: %s: no order has the reference %q", method, reference))
}

// ConfirmOrder confirms an order now. In every method of a Server, a reference is the
// platform's or the customer's; an unknown one panics.
func (s *Server) ConfirmOrder(reference string) {
	s.SetOrderStatus(reference, s.cfg.statusNumbers.Confirmed)
}

// SetOrderStatus puts an order into a status, 0 to 5, now. The numbers of confirmed
// and cancelled do what the real events do: a confirmed order gets its confirmation
// number and voucher, a cancelled one is cancelled without a fee. Any other status
// is only that number; an order in 0, 1 or pending is still confirmed when the moment
// of [WithConfirmAfter] comes.
func (s *Server) SetOrderStatus(reference string, status int) {
	if status < 0 || status > 5 {
		panic(fmt.Sprintf("hotelstaystest: SetOrderStatus: %d is not between 0 and 5", status))
	}
	s.withOrder("SetOrderStatus", reference, func(o *order, now time.Time) {
		switch status {
		case o.status():
		case s.cfg.statusNumbers.Confirmed:
			s.orders.confirm(o, now)
		default:
			o.history = append(o.history, StatusChange{status, now})
			on := OnStatus
			if status == s.cfg.statusNumbers.Cancelled {
				o.cancelled, o.cancelReason = now, "cancelled by the platform"
				on = OnCancel
			}
			s.webhooks.happened(o, on, now)
		}
	})
}

// ShareSupplierReference gives all these orders the first one's supplierReferenceNo,
// which OrderVoucher then finds ambiguous.
func (s *Server) ShareSupplierReference(references ...string) {
	var shared string
	for _, ref := range references {
		s.withOrder("ShareSupplierReference", ref, func(o *order, _ time.Time) {
			if shared == "" {
				shared = o.supplierRef
			}
			o.supplierRef = shared
		})
	}
}
