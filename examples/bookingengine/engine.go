// The engine: all use of the SDK. Booking, following and cancelling an order run in goroutines
// of the engine, because they must not end with a request.

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// engine is safe for concurrent use.
type engine struct {
	client  *hotelstays.Client
	service *service
	log     *slog.Logger

	searches  *shelf[search]
	shown     *shelf[shownOffer] // by offerID
	checkouts *shelf[checkout]   // by reference
	orders    *orders
	webhooks  *hotelstays.WebhookHandler // nil without a callback URL
	events    hotelstays.WakeHub

	ctx  context.Context // of the goroutines
	stop context.CancelFunc
	work sync.WaitGroup
}

// newEngine returns an engine. Close it.
func newEngine(svc *service, log *slog.Logger) (*engine, error) {
	orders := newOrders()
	opts := []hotelstays.Option{
		hotelstays.WithCurrency("EUR"), hotelstays.WithLogger(log), hotelstays.WithObserver(hotelstays.Observer{CallEnd: bookWatch{orders}.callEnd}),
	}
	if len(svc.states.Confirmed) > 0 {
		opts = append(opts, hotelstays.WithOrderStates(svc.states))
	}
	client, err := hotelstays.New(svc.baseURL, svc.credential, append(opts, svc.options...)...)
	if err != nil {
		return nil, err
	}
	e := &engine{
		client: client, service: svc, log: log, orders: orders,
		searches: newShelf[search](1_000), shown: newShelf[shownOffer](20_000), checkouts: newShelf[checkout](5_000),
	}
	if svc.callbackURL != "" {
		if e.webhooks, err = e.newWebhooks(); err != nil {
			return nil, err
		}
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.work.Go(e.keepUp)
	return e, nil
}

// close ends the work and waits for it. A Book or Cancel that it interrupts has an unknown
// outcome; with its recovery in a database, the next start would find it.
func (e *engine) close() {
	e.stop()
	e.work.Wait()
	e.client.CloseIdleConnections()
}

// search starts a search, and returns with its first hotel or with none. The others arrive
// while the page is shown. Close it.
func (e *engine) search(ctx context.Context, req hotelstays.HotelListRequest) (*arriving, error) {
	req.MaxRatesPerHotel, req.SortBy = 1, hotelstays.SortPriceAsc
	stream := e.client.HotelListStream(ctx, &req) // the first page; HotelListPages has them all
	a := &arriving{engine: e, stream: stream, search: search{ID: uuid.NewString(), Request: req}}
	a.next, a.close = iter.Pull2(stream.Hotels())
	if a.take(); a.Err != nil {
		a.close()
		return nil, a.Err
	}
	begun, _ := stream.Response()
	a.Request.SessionID = begun.Basic.SessionID
	return a, nil
}

// arriving is a search whose hotels are still on their way.
type arriving struct {
	search
	Err error // why hotels are missing
	// shown is called when the page has received a hotel.
	shown func()

	engine *engine
	stream *hotelstays.HotelListStream
	first  *types.Hotel // that the page has not received; nil: there is none
	next   func() (*types.Hotel, error, bool)
	close  func()
}

// Any reports whether there are hotels.
func (a *arriving) Any() bool { return a.first != nil }

// Arriving yields the hotels as they arrive, and stores each before the guest can choose it.
func (a *arriving) Arriving() iter.Seq[*types.Hotel] {
	return func(yield func(*types.Hotel) bool) {
		for ; a.first != nil; a.take() {
			a.Hotels = append(a.Hotels, *a.first)
			a.engine.searches.put(a.ID, a.search)
			if !yield(a.first) {
				return
			}
			a.shown()
		}
	}
}

// take waits for the next hotel. At the end it reads what else the answer says.
func (a *arriving) take() {
	var more bool
	if a.first, a.Err, more = a.next(); more {
		return
	}
	resp, _ := a.stream.Response()
	if a.Request.SessionID == "" { // no header named it
		a.Request.SessionID = resp.Basic.SessionID
		a.engine.searches.put(a.ID, a.search)
	}
	a.Partial, a.Retry = len(resp.Basic.Notices) > 0, resp.Basic.EmptyReason.Retryable()
	if a.Partial || resp.Total == 0 {
		a.engine.log.Info("the search is not complete", "remark", resp.Basic.StatusRemark, "notices", resp.Basic.Notices, "reason",
			resp.Basic.EmptyReason)
	}
}

// rates returns the rooms of a hotel with their offers, and stores them. It omits offers that
// may only be sold with a flight.
func (e *engine) rates(ctx context.Context, s search, hotel types.Hotel) ([]types.Room, error) {
	resp, err := e.client.HotelRates(ctx, &hotelstays.HotelRatesRequest{
		SessionID: s.Request.SessionID, HotelID: cmp.Or(hotel.PlatformHotelID, hotel.ID),
		CheckIn: s.Request.CheckIn, CheckOut: s.Request.CheckOut, RoomOccupancies: s.Request.RoomOccupancies,
	})
	if err != nil {
		return nil, forgotten(err)
	}
	for i := range resp.Rooms {
		room := &resp.Rooms[i]
		room.Rates = slices.DeleteFunc(room.Rates, func(r types.RoomRatePkg) bool { return r.IncludesPackaging })
		for _, rate := range room.Rates {
			e.shown.put(offerID(s.ID, rate.RatePkgID), shownOffer{Hotel: hotel, Room: text(&room.RoomTypeName), Rate: rate})
		}
	}
	return slices.DeleteFunc(resp.Rooms, func(r types.Room) bool { return len(r.Rates) == 0 }), nil
}

// offerID identifies an offer: a ratePkgId is unique only within its search.
func offerID(searchID, ratePkgID string) string { return searchID + " " + ratePkgID }

// choose starts the checkout of an offer that the guest has seen.
func (e *engine) choose(ctx context.Context, searchID, ratePkgID string) (checkout, error) {
	s, known := e.searches.get(searchID)
	offer, shown := e.shown.get(offerID(searchID, ratePkgID))
	if !known || !shown {
		return checkout{}, errExpired
	}
	co := checkout{
		Reference: uuid.NewString(), SearchID: s.ID, SessionID: s.Request.SessionID,
		Hotel: offer.Hotel, Room: offer.Room, Offer: offer.Rate,
		Occupancies: s.Request.RoomOccupancies, Guests: emptyGuests(s.Request.RoomOccupancies),
	}
	e.checkouts.put(co.Reference, co)
	return e.check(ctx, co)
}

// check refreshes the offer of a checkout.
func (e *engine) check(ctx context.Context, co checkout) (checkout, error) {
	resp, err := e.client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: co.SessionID, RatePkgID: co.Offer.RatePkgID})
	if err != nil {
		return co, forgotten(err)
	}
	return e.change(co.Reference, func(co *checkout) { co.refresh(resp.RoomRatePkg) })
}

// forgotten reports whether the service no longer knows a session or an offer. These requests
// contain only what the search returned, so the guest has nothing to correct.
func forgotten(err error) error {
	if errors.Is(err, hotelstays.ErrParam) {
		return fmt.Errorf("%w: %w", errExpired, err)
	}
	return err
}

// change changes a checkout and returns it.
func (e *engine) change(reference string, how func(*checkout)) (checkout, error) {
	co, known := e.checkouts.update(reference, how)
	if !known {
		return co, errExpired
	}
	return co, nil
}

// acceptable is what may differ without the consent of the guest: a lower price, and the id.
var acceptable = hotelstays.Tolerance{Accept: []hotelstays.OfferField{hotelstays.OfferRatePkgID}}

// refresh stores the offer as it is now, nil if it is gone. A change for the worse waits for
// the consent of the guest.
func (co *checkout) refresh(now *types.RoomRatePkg) {
	co.Gone = now == nil
	switch {
	case co.Gone:
		co.Changed = nil
	case hotelstays.CompareOffer(&co.Offer, now).Within(acceptable):
		co.Offer, co.Changed = *now, nil
	case co.Changed == nil || len(hotelstays.CompareOffer(co.Changed, now).Changes) > 0:
		co.Changed = now
		co.Version++
	}
}

// agree accepts the changed offer, if it is the one that the guest has seen.
func (co *checkout) agree(version int) {
	if co.Changed != nil && co.Version == version {
		co.Offer, co.Changed = *co.Changed, nil
		co.Version++
	}
}

// ready reports whether the offer can be booked as the guest saw it.
func (co *checkout) ready() bool { return !co.Gone && co.Changed == nil }

// book starts a booking, once for each checkout, and returns at once. Its recovery is stored
// before Book is sent.
func (e *engine) book(co checkout, holder types.Holder, guests []types.Guest) error {
	req := &hotelstays.BookRequest{
		SessionID: co.SessionID, CustomerReferenceNo: co.Reference, RatePkgID: co.Offer.RatePkgID,
		Holder: holder, Guests: guests, CallbackURL: e.service.callbackURL,
		Expect: &co.Offer, // an order of other dates is an error
	}
	recovery, err := json.Marshal(e.client.NewBookingRecovery(req))
	if err != nil {
		return err
	}
	if e.orders.begin(order{Checkout: co, Recovery: recovery}) {
		e.work.Go(func() { e.place(req) })
	}
	return nil
}

// place books and recovers. The request with its passport numbers lives no longer.
func (e *engine) place(req *hotelstays.BookRequest) {
	reference := req.CustomerReferenceNo
	wakeup, stop := e.events.Watch(reference)
	defer stop()
	ctx := context.WithValue(e.ctx, placedOrder{}, reference)
	outcome, err := e.client.BookAndRecover(ctx, req, hotelstays.WithWakeup(wakeup))
	if outcome == nil {
		e.refused(reference, err)
		return
	}
	e.settle(reference, outcome, err)
	for err == nil && outcome.State == hotelstays.BookingUnverified {
		if !e.wait(time.Until(outcome.Recovery.NextPoll), wakeup) {
			return
		}
		next, nextErr := e.client.RecoverBooking(e.ctx, outcome.Recovery, hotelstays.WithWakeup(wakeup))
		if next == nil { // the recovery was refused; the booking is still unknown
			e.log.Error("a recovery is refused", "reference", reference, "error", nextErr)
			return
		}
		outcome, err = next, nextErr
		e.settle(reference, outcome, err)
	}
}

// refused stores that nothing was booked, and why.
func (e *engine) refused(reference string, err error) {
	e.log.Error("booking was refused", "reference", reference, "error", err)
	e.orders.update(reference, func(o *order) bool {
		o.State, o.Problem = notBooked, new(messageFor(err))
		return true
	})
}

// settle stores the outcome of a booking or its recovery.
func (e *engine) settle(reference string, outcome *hotelstays.BookingOutcome, err error) {
	if err != nil {
		e.log.Error("booking", "reference", reference, "error", err)
	}
	e.orders.update(reference, func(o *order) bool {
		if recovery, err := json.Marshal(outcome.Recovery); err == nil {
			o.Recovery = recovery
		}
		switch outcome.State {
		case hotelstays.BookingFound:
			o.State, o.Booked = booked, outcome.Order
			o.readFrom(time.Now())
			if err != nil {
				o.Problem = new(messageFor(err))
			}
		case hotelstays.BookingAbsent:
			o.State, o.Problem = notBooked, &nothingBooked
		default:
			o.State = findingOut
		}
		return true
	})
}

// placedOrder is the context key of the reference for bookWatch.
type placedOrder struct{}

// bookWatch notices when the outcome of a Book becomes unknown, because BookAndRecover
// continues for up to ten minutes and the guest must know at once.
type bookWatch struct{ orders *orders }

func (w bookWatch) callEnd(ctx context.Context, info hotelstays.CallInfo) {
	reference, placed := ctx.Value(placedOrder{}).(string)
	var unknown *hotelstays.OutcomeUnknownError
	if placed && info.Operation == hotelstays.OpBook && errors.As(info.Err, &unknown) {
		w.orders.update(reference, func(o *order) bool { o.State = findingOut; return true })
	}
}

const (
	// readBatch is how many orders one request reads. The limit is undocumented.
	readBatch = 100
	// readSoon is the pause after which a new order is read again, and readLate the longest one.
	// In between it is a tenth of the age of the order.
	readSoon = 5 * time.Second
	readLate = 12 * time.Hour
	// readAgain is the longest pause after a failed read.
	readAgain = time.Minute
)

// pauseAt is the pause between two reads of an order of this age, if no event comes. Webhooks
// can be lost.
func pauseAt(age time.Duration) time.Duration { return min(max(age/10, readSoon), readLate) }

// keepUp reads the orders that are due, many in one request, until the engine closes. Only
// keepUp reads them, so no older answer replaces a newer one. A webhook makes an order due. A
// real engine uses a job queue.
func (e *engine) keepUp() {
	for e.ctx.Err() == nil {
		due, next := e.orders.due(time.Now(), readBatch)
		if len(due) == 0 {
			e.wait(time.Until(next), e.orders.woken)
			continue
		}
		resp, err := e.client.QueryOrders(e.ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: due})
		if err != nil {
			if e.ctx.Err() == nil {
				e.log.Error("reading orders", "count", len(due), "error", err)
			}
			e.orders.postpone(due, readAgain)
			continue
		}
		for i := range resp.Orders {
			e.saw(&resp.Orders[i])
		}
		e.orders.postpone(due, readLate)
	}
}

// saw stores an order, and requests its voucher once the hotel has answered.
func (e *engine) saw(seen *types.Order) {
	reference, ask := seen.CustomerReferenceNo, false
	e.orders.update(reference, func(o *order) bool {
		ask = e.service.states.StateOf(seen.Status) != hotelstays.OrderStateOpen && !cancelled(seen) && voucherToCome(o.Voucher)
		if reflect.DeepEqual(o.Booked, seen) {
			return false
		}
		o.Booked, o.since = seen, time.Now()
		if cancelled(seen) {
			o.Cancel, o.Problem = cancelDone, nil
		}
		return true
	})
	if ask {
		e.work.Go(func() { e.askVoucher(reference) })
	}
}

// voucherToCome reports whether a voucher may still come.
func voucherToCome(s types.VoucherStatus) bool {
	return s == "" || s == types.VoucherNotGenerated || s == types.VoucherPending
}

// askVoucher stores the status of the voucher.
func (e *engine) askVoucher(reference string) {
	resp, err := e.client.OrderVoucher(e.ctx, &hotelstays.OrderVoucherRequest{CustomerReferenceNo: reference})
	if err != nil {
		if e.ctx.Err() == nil {
			e.log.Error("asking for a voucher", "reference", reference, "error", err)
		}
		return
	}
	e.orders.update(reference, func(o *order) bool {
		moved := o.Voucher != resp.Status
		o.Voucher = resp.Status
		return moved
	})
}

// openVoucher returns the order's current voucher, verified.
func (e *engine) openVoucher(ctx context.Context, o order) (*hotelstays.VoucherDocument, error) {
	return e.client.OpenVoucher(ctx, &hotelstays.OrderVoucherRequest{PlatformReferenceNo: o.Booked.PlatformReferenceNo})
}

// cancel starts a cancellation, once, and returns at once.
func (e *engine) cancel(reference, reason string) {
	var req *hotelstays.CancelRequest
	first := e.orders.update(reference, func(o *order) bool {
		if o.State != booked || o.Cancel != notCancelled {
			return false
		}
		o.Cancel, o.Problem = cancelling, nil
		req = &hotelstays.CancelRequest{
			SessionID: o.Checkout.SessionID, CustomerReferenceNo: reference,
			SupplierReferenceNo: o.Booked.SupplierReferenceNo, Reason: reason,
		}
		return true
	})
	if first {
		e.work.Go(func() { e.carryOut(req) })
	}
}

// carryOut cancels an order and stores the result.
func (e *engine) carryOut(req *hotelstays.CancelRequest) {
	outcome, err := e.client.CancelAndRead(e.ctx, req)
	if err != nil {
		e.log.Error("cancelling", "reference", req.CustomerReferenceNo, "error", err)
	}
	e.orders.update(req.CustomerReferenceNo, func(o *order) bool {
		switch {
		case outcome != nil && outcome.Response != nil:
			o.Cancel, o.Fee = cancelDone, outcome.Response.ServiceFee
		case o.Cancel == cancelDone: // an event came first
			return false
		case outcome == nil: // refused: the order is unchanged
			o.Cancel, o.Problem = notCancelled, new(messageFor(err))
		case outcome.Cancelled:
			o.Cancel = cancelDone
		default:
			o.Cancel = cancelDoubt
		}
		return true
	})
	e.orders.wake(req.CustomerReferenceNo) // reads the order again
}

// newWebhooks returns the handler of order events. A real engine stores the event or a job
// before it returns nil, because the service does not deliver it again.
func (e *engine) newWebhooks() (*hotelstays.WebhookHandler, error) {
	return hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{
		Secrets: []types.Secret{e.service.webhookSecret},
		OnError: func(_ *http.Request, err error) { e.log.Warn("webhook rejected or failed", "error", err) },
	}, func(_ context.Context, event *hotelstays.WebhookEvent) error {
		e.log.Info("event", "kind", event.Kind, "reference", event.CustomerReferenceNo)
		e.events.Wake(event.CustomerReferenceNo) // a booking that is being placed
		e.orders.wake(event.CustomerReferenceNo) // one that exists
		return nil
	})
}

// wait waits for a time or a wake-up. It returns false if the engine closes.
func (e *engine) wait(d time.Duration, wakeup <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wakeup:
	case <-e.ctx.Done():
	}
	return e.ctx.Err() == nil
}

// cancelled reports whether an order is certainly cancelled, whatever the number of that
// state.
func cancelled(o *types.Order) bool { return o != nil && o.CancelTime != "" }
