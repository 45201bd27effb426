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
	lru "github.com/hashicorp/golang-lru/v2"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// engine is safe for concurrent use.
type engine struct {
	client   *hotelstays.Client
	service  *service
	db       *database
	journal  *hotelstayssql.Journal
	webhooks *hotelstays.WebhookHandler // nil without a callback URL
	log      *slog.Logger

	// In memory, the latest ones. A real engine keeps them in a shared cache.
	searches  *lru.Cache[string, search]
	shown     *lru.Cache[string, checkout] // offers as a guest saw them, by offerID: prices never come from a browser
	checkouts *lru.Cache[string, checkout] // by reference
	changing  sync.Mutex                   // of a checkout

	ctx      context.Context // of the engine's goroutines
	stop     context.CancelFunc
	sends    context.Context // of a Book and a Cancel, which have more time to end
	endSends context.CancelFunc
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
	e := &engine{service: svc, db: db, log: log}
	e.searches, _ = lru.New[string, search](1_000) // only a size below 1 is an error
	e.shown, _ = lru.New[string, checkout](20_000)
	e.checkouts, _ = lru.New[string, checkout](5_000)
	opts := []hotelstays.Option{hotelstays.WithCurrency("EUR"), hotelstays.WithLogger(e.log),
		hotelstays.WithServiceFacts(svc.facts), hotelstays.WithTraceIDFrom(pageIDOf)}
	var err error
	if e.client, err = hotelstays.New(svc.BaseURL, svc.credential, append(opts, svc.options...)...); err != nil {
		return nil, err
	}
	// The key encrypts a request from Begin to Send. If this process is killed in between, the next
	// one sends it, so the key is made of what both have.
	key := sha256.Sum256([]byte("journal:" + svc.credential.AppSecret.Reveal()))
	e.journal, err = hotelstayssql.NewJournal(db.DB, db.dialect, e.client, hotelstayssql.JournalOptions{
		OnOutcome: e.settle, Keys: []types.Secret{types.NewSecret(string(key[:]))},
		BookTimeout: sendTimeout, PollInterval: svc.pause, Logger: e.log,
	})
	if err != nil {
		return nil, err
	}
	if svc.callbackURL != "" {
		if e.webhooks, err = e.newWebhooks(); err != nil {
			return nil, err
		}
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.sends, e.endSends = context.WithCancel(context.Background())
	e.work.Go(e.follow)
	e.work.Go(func() {
		if err := e.journal.Run(e.ctx); err != nil {
			e.log.Error("open bookings stay open", "error", err)
		}
	})
	return e, nil
}

// close ends the work and waits for it. The next start continues it.
func (e *engine) close() {
	e.stop()
	late := time.AfterFunc(stopGrace, e.endSends) // an answer that comes before saves ten minutes of polls
	e.work.Wait()
	late.Stop()
	e.endSends()
	e.client.CloseIdleConnections()
}

// inBackground does work that must not end with the request of its page.
func (e *engine) inBackground(page context.Context, work func(context.Context)) {
	e.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithValue(e.sends, pageID{}, pageIDOf(page)), sendTimeout)
		defer cancel()
		work(ctx)
	})
}

// search is a search of a guest.
type search struct {
	ID string
	// Request has the session of the search, to which its offers belong.
	Request hotelstays.HotelListRequest
	Hotels  []types.Hotel // that have arrived
}

// arriving is a search whose hotels are on their way.
type arriving struct {
	search
	// Arriving yields the hotels as they arrive, and stores each before the guest can choose it.
	Arriving iter.Seq[*types.Hotel]
	Err      error // why hotels are missing
	Partial  bool  // not every supplier answered
	Retry    bool  // the same search may find something in a moment
}

// search returns a search that begins with the range over its hotels. It calls shown when the page
// has received a hotel.
func (e *engine) search(ctx context.Context, req hotelstays.HotelListRequest, shown func()) *arriving {
	req.MaxRatesPerHotel, req.SortBy = 1, types.SortPriceAsc
	a := &arriving{search: search{ID: uuid.NewString(), Request: req}}
	a.Arriving = func(yield func(*types.Hotel) bool) {
		stream := e.client.HotelListStream(ctx, &req) // the first page; HotelListPages has them all
		for hotel, err := range stream.Hotels() {
			if a.Err = err; err != nil {
				return
			}
			resp, _ := stream.Response()
			a.Request.SessionID = resp.Basic.SessionID // if a header names it
			a.Hotels = append(a.Hotels, *hotel)
			e.searches.Add(a.ID, a.search)
			if !yield(hotel) {
				return
			}
			shown()
		}
		resp, _ := stream.Response()
		a.Request.SessionID = resp.Basic.SessionID
		e.searches.Add(a.ID, a.search)
		a.Partial, a.Retry = len(resp.Basic.Notices) > 0, resp.Basic.EmptyReason.Retryable()
		if a.Partial || resp.Total == 0 {
			e.log.InfoContext(ctx, "the search is not complete",
				"remark", resp.Basic.StatusRemark, "notices", resp.Basic.Notices, "reason", resp.Basic.EmptyReason)
		}
	}
	return a
}

// rates returns the rooms of a hotel with their offers, the cheapest first, and stores them. It
// omits offers that may only be sold with a flight.
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
		slices.SortStableFunc(room.Rates, func(a, b types.RoomRatePkg) int {
			order, _ := selling(a.TotalRate).Cmp(selling(b.TotalRate)) // 0 if they cannot be compared
			return order
		})
		for _, rate := range room.Rates {
			e.shown.Add(offerID(s.ID, rate.RatePkgID), checkout{
				SearchID: s.ID, SessionID: s.Request.SessionID, Occupancies: s.Request.RoomOccupancies,
				Hotel: hotel, Room: room.RoomTypeName.In("en"), Offer: rate,
			})
		}
	}
	return slices.DeleteFunc(resp.Rooms, func(r types.Room) bool { return len(r.Rates) == 0 }), nil
}

// offerID identifies an offer: a ratePkgId is unique only within its search.
func offerID(searchID, ratePkgID string) string { return searchID + " " + ratePkgID }

// choose starts the checkout of an offer that the guest has seen.
func (e *engine) choose(ctx context.Context, searchID, ratePkgID string) (checkout, error) {
	co, shown := e.shown.Get(offerID(searchID, ratePkgID))
	if !shown {
		return co, errExpired
	}
	co.Reference = uuid.NewString()
	e.checkouts.Add(co.Reference, co)
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
	e.changing.Lock()
	defer e.changing.Unlock()
	co, known := e.checkouts.Get(reference)
	if !known {
		return co, errExpired
	}
	how(&co)
	e.checkouts.Add(reference, co)
	return co, nil
}

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

// carryOut cancels an order and stores the result. Until it is known, follow finds it out,
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
