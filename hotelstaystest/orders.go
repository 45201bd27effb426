// Orders: their store, their states and their wire form.

package hotelstaystest

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

var orderOperations = []operation{
	{opBook, sessionRequired, types.ScopeBookingWrite, runs(runBook),
		"Books an offer, or returns the order of a customerReferenceNo that was used before."},
	{opQueryOrders, sessionNone, types.ScopeBookingRead, runs(runQueryOrders), "Lists the orders that match the filters."},
	{opOrderVoucher, sessionNone, types.ScopeBookingRead, runs(runOrderVoucher),
		"Returns the status of an order's voucher, and where to download it."},
	{opCancel, sessionRequired, types.ScopeBookingCancel, runs(runCancel), "Cancels an order."},
}

// order is an order of the sandbox. Server.lock guards its fields.
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
	price       price // price at the time of Book
	cents       int64 // price of one room in US cents
	holder      holder
	guests      []orderGuest

	created   time.Time
	visible   time.Time // time from which on QueryOrders returns the order
	history   []StatusChange
	confirmed time.Time // zero: not confirmed yet
	amended   int       // number of AmendOrder calls
	voucher   voucherState
	events    eventQueue
	logged    record

	rule         CancelRule
	cancelled    time.Time
	cancelReason string
	fee          int64 // cancellation fee, in minor units of the price's currency
}

func (o *order) status() types.OrderStatus { return o.history[len(o.history)-1].Status }

func (o *order) isCancelled() bool { return !o.cancelled.IsZero() }

type orderStore struct {
	mu         sync.Mutex
	s          *Server
	list       []*order            // oldest first
	byPlatform map[string]*order   // by platformReferenceNo
	byCustomer map[string][]*order // by customerReferenceNo; an account has at most one order for each reference
	bySupplier map[string]*order   // by supplierReferenceNo
	byContent  map[string][]*order // by account and content
}

func newOrderStore(s *Server) *orderStore {
	st := &orderStore{s: s}
	st.reset()
	return st
}

func (st *orderStore) reset() {
	st.list, st.byPlatform, st.bySupplier = nil, map[string]*order{}, map[string]*order{}
	st.byCustomer, st.byContent = map[string][]*order{}, map[string][]*order{}
}

func (st *orderStore) byReference(account, customerRef string) *order {
	for _, o := range st.byCustomer[customerRef] {
		if o.account == account {
			return o
		}
	}
	return nil
}

// activeContent returns the account's order that has the content and is not cancelled, or nil.
func (st *orderStore) activeContent(account, content string) *order {
	for _, o := range st.byContent[account+"\x00"+content] {
		if !o.isCancelled() {
			return o
		}
	}
	return nil
}

// find returns the account's order with all of these references, or nil. At least one reference must
// not be empty. Empty references are ignored.
func (st *orderStore) find(account string, r references) *order {
	o := st.byPlatform[r.PlatformReferenceNo]
	switch {
	case r.PlatformReferenceNo != "":
	case r.CustomerReferenceNo != "":
		o = st.byReference(account, r.CustomerReferenceNo)
	default:
		o = st.bySupplier[r.SupplierReferenceNo]
	}
	matches := func(ref, own string) bool { return ref == "" || ref == own }
	if o == nil || o.account != account || !matches(r.CustomerReferenceNo, o.customerRef) || !matches(r.SupplierReferenceNo, o.supplierRef) {
		return nil
	}
	return o
}

func (st *orderStore) create(c *call, req *bookRequest, off offer, guests []orderGuest, content string, now time.Time) *order {
	n := len(st.list) + 1
	cents := st.s.cents(off)
	o := &order{
		account: c.account, customerRef: req.CustomerReferenceNo,
		platformRef: platformReference(n), supplierRef: fmt.Sprintf("SUP%d-%06d", off.supplier, n),
		content: content, ratePkgID: req.RatePkgID, callbackURL: req.CallbackURL,
		offer: off, price: st.s.world.price(off, c.priced(off), cents), cents: cents, holder: *req.Holder, guests: guests,
		created: now, visible: now.Add(length(st.s.cfg.LateVisibility)),
		history: []StatusChange{{types.OrderConfirming, now}}, rule: st.s.cfg.CancelRule,
	}
	st.insert(o)
	st.log(o, now)
	st.s.webhooks.trigger(o, OnBook, now)
	if after := st.s.cfg.ConfirmAfter; after != Never {
		st.s.agenda.add(appointment{at: now.Add(length(after)), order: o})
	}
	return o
}

func platformReference(n int) string { return fmt.Sprintf("PO%09d", n) }

func (st *orderStore) insert(o *order) {
	st.list = append(st.list, o)
	st.byPlatform[o.platformRef] = o
	st.bySupplier[o.supplierRef] = o
	st.byCustomer[o.customerRef] = append(st.byCustomer[o.customerRef], o)
	content := o.account + "\x00" + o.content
	st.byContent[content] = append(st.byContent[content], o)
}

// confirmDue confirms an order whose ConfirmAfter ends at the given time. It does nothing if the order's status is no
// longer 0, 1 or pending.
func (st *orderStore) confirmDue(o *order, at time.Time) {
	if s := o.status(); s == types.OrderConfirming || s == st.s.cfg.Variants.OrderStatusNumbers.Pending || s == types.OrderUnknown {
		st.confirm(o, at)
	}
}

func (st *orderStore) confirm(o *order, at time.Time) {
	st.setStatus(o, st.s.cfg.Variants.OrderStatusNumbers.Confirmed, at)
	o.confirmed = at
	if o.voucher.version == 0 { // later confirmations do not change the number and the voucher
		o.confirmNo = "HC-" + o.platformRef[2:]
		o.voucher = voucherState{version: 1, issued: at.Add(length(st.s.cfg.VoucherDelay))}
	}
	st.s.webhooks.trigger(o, OnConfirm, at)
}

func (st *orderStore) setStatus(o *order, status types.OrderStatus, at time.Time) {
	o.history = append(o.history, StatusChange{status, at})
	st.log(o, at)
}

func (st *orderStore) count() int {
	st.s.lock()
	defer st.s.unlock()
	return len(st.list)
}

func (st *orderStore) log(o *order, at time.Time) { st.s.ledger.logOrder(&o.logged, st.record(o), at) }

func (st *orderStore) records(pick func(*orderStore) []*order) []LedgerOrder {
	st.s.lock()
	defer st.s.unlock()
	var out []LedgerOrder
	for _, o := range pick(st) {
		out = append(out, st.record(o))
	}
	return out
}

func (st *orderStore) record(o *order) LedgerOrder {
	return LedgerOrder{
		Account: o.account, CustomerReferenceNo: o.customerRef, PlatformReferenceNo: o.platformRef,
		SupplierReferenceNo: o.supplierRef, ContentKey: o.content, RatePkgID: o.ratePkgID, CallbackURL: o.callbackURL,
		CreatedAt: o.created, Status: o.status(), State: st.s.cfg.Variants.OrderStatusNumbers.Name(o.status()), History: slices.Clone(o.history),
		Total: moneyString(o.price.currency.money(o.price.total())),
	}
}

func moneyString(m money) string { return m.Amount.String() + " " + m.Currency }

type orderGuest struct {
	RoomIndex int `json:"roomIndex"`
	guest
}

type refundItem struct {
	RefundTime  string `json:"refundTime"`
	RefundPrice money  `json:"refundPrice"`
}

type orderRoom struct {
	roomKind
	roomRatePkg
	RoomIndex  int          `json:"roomIndex"`
	Guests     []orderGuest `json:"guests"`
	RefundInfo []refundItem `json:"refundInfo,omitempty"`
}

type orderBody struct {
	Status              types.OrderStatus `json:"status"`
	StatusRemark        string            `json:"statusRemark,omitempty"`
	CheckIn             string            `json:"checkIn"`
	CheckOut            string            `json:"checkOut"`
	NightCount          int               `json:"nightCount"`
	RoomCount           int               `json:"roomCount"`
	BookingTime         string            `json:"bookingTime"`
	HotelConfirmNo      string            `json:"hotelConfirmNo,omitempty"`
	Holder              holder            `json:"holder"`
	PlatformReferenceNo string            `json:"platformReferenceNo"`
	CustomerReferenceNo string            `json:"customerReferenceNo"`
	rate
	CancelTime          string      `json:"cancelTime,omitempty"`
	CancelReason        string      `json:"cancelReason,omitempty"`
	RefundedPrice       *money      `json:"refundedPrice,omitempty"`
	Supplier            int         `json:"supplier"`
	SupplierReferenceNo string      `json:"supplierReferenceNo"`
	Hotel               *orderHotel `json:"hotel,omitempty"`
	Rooms               []orderRoom `json:"rooms,omitempty"`
}

func (s *Server) orderBody(o *order) *orderBody {
	id := sourceID(o.offer.supplier, o.offer.hotel)
	b := &orderBody{
		Status: o.status(), CheckIn: o.offer.checkIn.Format(dateForm), CheckOut: o.offer.checkOut().Format(dateForm),
		NightCount: o.offer.nights, RoomCount: len(o.offer.rooms), BookingTime: stamp(o.created), HotelConfirmNo: o.confirmNo,
		Holder: o.holder, PlatformReferenceNo: o.platformRef, CustomerReferenceNo: o.customerRef,
		rate: o.price.rate(o.price.rooms), Supplier: o.offer.supplier, SupplierReferenceNo: o.supplierRef,
		Hotel: &orderHotel{id, s.world.hotelFacts(o.offer.hotel)}, Rooms: s.orderRooms(o, id),
	}
	switch {
	case o.isCancelled():
		refund := o.price.currency.money(o.price.total() - o.fee)
		b.CancelTime, b.CancelReason, b.RefundedPrice = stamp(o.cancelled), o.cancelReason, &refund
	case o.status() == types.OrderConfirming:
		b.StatusRemark = "The supplier has not confirmed yet."
	}
	return b
}

func (s *Server) orderRooms(o *order, hotelID string) []orderRoom {
	var rooms []orderRoom
	for i := range o.offer.rooms {
		r := orderRoom{
			roomKind: s.world.roomKind(o.offer.hotel, o.offer.room, hotelID), roomRatePkg: s.world.ratePackage(o.offer, o.ratePkgID, o.price),
			RoomIndex: i + 1, Guests: []orderGuest{},
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

func panicOn(method string, err error) {
	if err != nil {
		panic("hotelstaystest: " + method + ": " + err.Error())
	}
}

// withOrder calls fn with the order and the sandbox's time, under the lock.
func (s *Server) withOrder(reference string, fn func(o *order, now time.Time) error) error {
	now := s.lock()
	defer s.unlock()
	o := s.orders.byPlatform[reference]
	if own := s.orders.byCustomer[reference]; o == nil && len(own) > 0 {
		o = own[0]
	}
	if o == nil {
		return refuse(http.StatusNotFound, "reference", "no order with reference %q", reference)
	}
	return fn(o, now)
}

// ConfirmOrder confirms an order. In all methods of a Server, a reference is a
// platformReferenceNo or a customerReferenceNo. The methods panic if the reference is unknown.
func (s *Server) ConfirmOrder(reference string) {
	s.SetOrderStatus(reference, s.cfg.Variants.OrderStatusNumbers.Confirmed)
}

// SetOrderStatus sets an order's status to a number from 0 to 5. An order set to confirmed gets its
// confirmation number and its voucher. An order set to cancelled has no cancellation fee. Any other
// status undoes a cancellation. If the order has status 0, 1 or pending when [Config.ConfirmAfter] ends,
// the sandbox confirms the order.
func (s *Server) SetOrderStatus(reference string, status types.OrderStatus) {
	panicOn("SetOrderStatus", s.setOrderStatus(reference, status))
}

func (s *Server) setOrderStatus(reference string, status types.OrderStatus) error {
	if status < 0 || status > 5 {
		return badField("status", "status must be between 0 and 5, not %d", status)
	}
	return s.withOrder(reference, func(o *order, now time.Time) error {
		if status == o.status() {
			return nil
		}
		o.cancelled, o.cancelReason, o.fee = time.Time{}, "", 0
		if status == s.cfg.Variants.OrderStatusNumbers.Confirmed {
			s.orders.confirm(o, now)
			return nil
		}
		s.orders.setStatus(o, status, now)
		on := OnStatus
		if status == s.cfg.Variants.OrderStatusNumbers.Cancelled {
			o.cancelled, o.cancelReason = now, "cancelled by the platform"
			on = OnCancel
		}
		s.webhooks.trigger(o, on, now)
		return nil
	})
}

// AmendOrder gives a confirmed order a new hotel confirmation number and a new version of
// its voucher, and triggers [OnAmend]. It panics if the order is not confirmed.
func (s *Server) AmendOrder(reference string) { panicOn("AmendOrder", s.amendOrder(reference)) }

func (s *Server) amendOrder(reference string) error {
	return s.withOrder(reference, func(o *order, now time.Time) error {
		if o.status() != s.cfg.Variants.OrderStatusNumbers.Confirmed {
			return refuse(http.StatusConflict, "reference", "reference %q: the order is not confirmed", reference)
		}
		o.amended++
		o.confirmNo = fmt.Sprintf("HC-%s-%d", o.platformRef[2:], o.amended+1)
		o.voucher = voucherState{version: o.voucher.version + 1, issued: now.Add(length(s.cfg.VoucherDelay))}
		s.webhooks.trigger(o, OnAmend, now)
		return nil
	})
}
