// The engine: all use of the SDK. Booking, following and cancelling an order run in goroutines
// of the engine, because they must not end with a request.

package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// engine is safe for concurrent use.
type engine struct {
	client  *hotelstays.Client
	service *service
	db      *database
	journal *hotelstayssql.Journal
	log     *slog.Logger

	searches  *shelf[search]
	shown     *shelf[shownOffer]         // by offerID
	checkouts *shelf[checkout]           // by reference
	webhooks  *hotelstays.WebhookHandler // nil without a callback URL

	sending  sync.WaitGroup  // Books and Cancels
	sends    context.Context // of these
	endSends context.CancelFunc
	ctx      context.Context // of the other goroutines
	stop     context.CancelFunc
	work     sync.WaitGroup
}

const (
	// sendTimeout bounds a Book and a Cancel.
	sendTimeout = 2 * time.Minute
	// stopGrace is how long the end of the engine waits for them. The next start finds out what
	// became of the others.
	stopGrace = 10 * time.Second
)

// newEngine returns an engine, which ends the bookings that an earlier one left open. Close
// it, then the database.
func newEngine(svc *service, db *database, log *slog.Logger) (*engine, error) {
	log = slog.New(pageLog{log.Handler()})
	opts := []hotelstays.Option{hotelstays.WithCurrency("EUR"), hotelstays.WithLogger(log), hotelstays.WithServiceFacts(svc.facts),
		hotelstays.WithRequestID(requestIDOfPage)}
	client, err := hotelstays.New(svc.baseURL, svc.credential, append(opts, svc.options...)...)
	if err != nil {
		return nil, err
	}
	e := &engine{
		client: client, service: svc, db: db, log: log,
		searches: newShelf[search](1_000), shown: newShelf[shownOffer](20_000), checkouts: newShelf[checkout](5_000),
	}
	// The key encrypts a request from Begin to Send. If this process is killed in between, the next
	// one sends it, so the key is made of what both have.
	key := sha256.Sum256([]byte("journal:" + svc.credential.AppSecret.Reveal()))
	e.journal, err = hotelstayssql.NewJournal(db.DB, db.dialect, client, hotelstayssql.JournalOptions{
		OnOutcome: e.settle, Keys: []types.Secret{types.NewSecret(string(key[:]))}, BookTimeout: sendTimeout, PollInterval: svc.pause, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	if svc.callbackURL != "" {
		if e.webhooks, err = e.newWebhooks(); err != nil {
			return nil, err
		}
	}
	e.sends, e.endSends = context.WithCancel(context.Background())
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.work.Go(e.keepUp)
	e.work.Go(func() {
		if err := e.journal.Run(e.ctx); err != nil {
			e.log.Error("open bookings stay open", "error", err)
		}
	})
	return e, nil
}

// close ends the work and waits for it. The next start continues it.
func (e *engine) close() {
	late := time.AfterFunc(stopGrace, e.endSends)
	e.sending.Wait() // an answer that comes saves ten minutes of polls
	late.Stop()
	e.endSends()
	e.stop()
	e.work.Wait()
	e.client.CloseIdleConnections()
}

// inBackground does work that must not end with the request of its page.
func (e *engine) inBackground(page context.Context, work func(context.Context)) {
	e.sending.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithValue(e.sends, pageID{}, pageIDOf(page)), sendTimeout)
		defer cancel()
		work(ctx)
	})
}

// search starts a search, and returns with its first hotel or with none. The others arrive
// while the page is shown. Close it.
func (e *engine) search(ctx context.Context, req hotelstays.HotelListRequest) (*arriving, error) {
	req.MaxRatesPerHotel, req.SortBy = 1, types.SortPriceAsc
	stream := e.client.HotelListStream(ctx, &req) // the first page; HotelListPages has them all
	a := &arriving{ctx: ctx, engine: e, stream: stream, search: search{ID: uuid.NewString(), Request: req}}
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

	ctx    context.Context
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
		a.engine.log.InfoContext(a.ctx, "the search is not complete",
			"remark", resp.Basic.StatusRemark, "notices", resp.Basic.Notices, "reason", resp.Basic.EmptyReason)
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
var acceptable = hotelstays.Tolerance{Accept: []types.OfferField{types.OfferRatePkgID}}

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

// book starts a booking, once for each checkout, and returns at once. Its row and its entry in
// the journal are committed before Book is sent.
func (e *engine) book(ctx context.Context, co checkout, holder types.Holder, guests []types.Guest) error {
	err := e.begin(ctx, co, holder, guests)
	switch {
	case errors.Is(err, durable.ErrAlreadyBegun), errors.Is(err, durable.ErrAlreadyBooked):
		return nil // the same form, once more
	case err != nil:
		return err
	}
	e.inBackground(ctx, func(ctx context.Context) {
		if _, err := e.journal.Send(ctx, co.Reference); err != nil {
			e.log.ErrorContext(ctx, "booking", "reference", co.Reference, "error", err)
		}
	})
	return nil
}

// begin commits an order together with its entry in the journal.
func (e *engine) begin(ctx context.Context, co checkout, holder types.Holder, guests []types.Guest) error {
	req := &hotelstays.BookRequest{
		SessionID: co.SessionID, CustomerReferenceNo: co.Reference, RatePkgID: co.Offer.RatePkgID,
		Holder: holder, Guests: guests, CallbackURL: e.service.callbackURL,
		Expect: &co.Offer, // an order of other dates is an error
	}
	return e.db.inTx(ctx, func(tx *sql.Tx) error {
		if err := e.journal.BeginTx(ctx, tx, req); err != nil {
			return err
		}
		return put(ctx, tx, order{Checkout: co, State: placing, Since: time.Now()})
	})
}

// settle stores the outcome of a booking, together with the end of its entry in the journal.
func (e *engine) settle(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
	reference := outcome.Recovery.CustomerReferenceNo
	e.log.InfoContext(ctx, "booking", "reference", reference, "outcome", outcome.State, "error", outcome.Err)
	return change(ctx, tx, reference, func(o *order) { o.settle(outcome) })
}

// update changes an order. It does so even if the engine is closing, because the service has
// answered.
func (e *engine) update(ctx context.Context, reference string, how func(*order)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := e.db.change(ctx, reference, how); err != nil {
		e.log.ErrorContext(ctx, "an order was not changed", "reference", reference, "error", err)
	}
}

// keepUp reads the orders that are due, many in one request, until the engine closes. A
// webhook makes an order due. A real engine uses a job queue.
func (e *engine) keepUp() {
	for e.ctx.Err() == nil {
		read, err := e.readDue()
		if err != nil && e.ctx.Err() == nil {
			e.log.Error("reading orders", "error", err)
		}
		if read == 0 {
			select {
			case <-time.After(e.service.pause):
			case <-e.ctx.Done():
			}
		}
	}
}

// readDue reads orders that are due, stores them, and returns how many these are.
func (e *engine) readDue() (int, error) {
	now, lease := time.Now().UnixMilli(), time.Now().Add(readLease).UnixMilli()
	due, err := e.db.claim(e.ctx, now, lease, readBatch)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	resp, err := e.client.QueryOrders(e.ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: due})
	if err != nil {
		return len(due), err
	}
	seen := make(map[string]*types.Order)
	for i := range resp.Orders {
		seen[resp.Orders[i].CustomerReferenceNo] = &resp.Orders[i]
	}
	for _, reference := range due {
		ask := false
		e.update(e.ctx, reference, func(o *order) {
			if o.nextRead == lease { // else something has happened meanwhile, and it is read again
				o.saw(seen[reference])
				ask = seen[reference] != nil && o.lacksVoucher(e.service.facts.OrderStates)
			}
		})
		if ask {
			e.work.Go(func() { e.askVoucher(reference) })
		}
	}
	return len(due), nil
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
	e.update(e.ctx, reference, func(o *order) { o.Voucher = resp.Status })
}

// openVoucher returns the order's current voucher, verified.
func (e *engine) openVoucher(ctx context.Context, o order) (*hotelstays.VoucherDocument, error) {
	return e.client.OpenVoucher(ctx, &hotelstays.OrderVoucherRequest{PlatformReferenceNo: o.Booked.PlatformReferenceNo})
}

// cancel starts a cancellation, once, and returns at once.
func (e *engine) cancel(ctx context.Context, reference, reason string) error {
	var req *hotelstays.CancelRequest
	err := e.db.change(ctx, reference, func(o *order) {
		if !o.CanCancel() {
			return
		}
		o.Cancelling, o.Problem = time.Now(), nil
		o.readNow() // this process may die before it knows
		req = &hotelstays.CancelRequest{
			SessionID: o.Checkout.SessionID, CustomerReferenceNo: reference,
			SupplierReferenceNo: o.Booked.SupplierReferenceNo, Reason: reason,
		}
	})
	if err == nil && req != nil {
		e.inBackground(ctx, func(ctx context.Context) { e.carryOut(ctx, req) })
	}
	return err
}

// carryOut cancels an order and stores the result. Until it is known, keepUp finds it out,
// also after a restart.
func (e *engine) carryOut(ctx context.Context, req *hotelstays.CancelRequest) {
	outcome, err := e.client.CancelAndRead(ctx, req)
	if err != nil {
		e.log.ErrorContext(ctx, "cancelling", "reference", req.CustomerReferenceNo, "error", err)
	}
	e.update(ctx, req.CustomerReferenceNo, func(o *order) {
		switch {
		case outcome != nil && outcome.Response != nil:
			o.Cancelling, o.Cancelled, o.Fee = time.Time{}, true, outcome.Response.ServiceFee
		case outcome != nil && outcome.State == hotelstays.OrderStateCancelled:
			o.Cancelling, o.Cancelled = time.Time{}, true
		case outcome == nil && !o.Cancelled: // refused: the order is unchanged
			o.Cancelling, o.Problem = time.Time{}, new(messageFor(err))
		}
		o.readNow()
	})
}

// newWebhooks returns the handler of order events. An event and what it changes are committed
// together, once.
func (e *engine) newWebhooks() (*hotelstays.WebhookHandler, error) {
	events, err := hotelstayssql.NewEventStore(e.db.DB, e.db.dialect, hotelstayssql.EventStoreOptions{})
	if err != nil {
		return nil, err
	}
	return hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{
		Secrets: []types.Secret{e.service.webhookSecret},
		OnError: func(_ *http.Request, err error) { e.log.Warn("webhook rejected or failed", "error", err) },
	}, func(ctx context.Context, event *hotelstays.WebhookEvent) error {
		e.log.InfoContext(ctx, "event", "kind", event.Kind, "reference", event.CustomerReferenceNo)
		err := events.HandleTx(ctx, event, func(ctx context.Context, tx *sql.Tx) error {
			return change(ctx, tx, event.CustomerReferenceNo, func(o *order) {
				if o.State == booked {
					o.readNow()
				}
			})
		})
		if err == nil {
			err = e.journal.Wake(ctx, event.CustomerReferenceNo) // the booking may be open
		}
		if errors.Is(err, errNoOrder) {
			return nil // it was booked elsewhere
		}
		return err
	})
}
