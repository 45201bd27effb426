// The engine: all use of the SDK. The journal books, follows and cancels orders, also after a
// restart.

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

	stop     context.CancelFunc // of the journal
	sends    context.Context    // of the Books of this process, which have more time to end
	endSends context.CancelFunc
	work     sync.WaitGroup
}

const (
	// bookTimeout bounds a Book.
	bookTimeout = 2 * time.Minute
	// stopGrace is how long the end of the engine waits for it. The next start finds its order.
	stopGrace = 10 * time.Second
)

// newEngine returns an engine, which continues what an earlier one left open. Close it, then the
// database.
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
	// The key encrypts requests that wait, and orders. The next process needs it, too, so it is made of
	// what both have.
	key := sha256.Sum256([]byte("journal:" + svc.credential.AppSecret.Reveal()))
	e.journal, err = hotelstayssql.NewJournal(db.DB, hotelstayssql.SQLite, e.client, hotelstayssql.JournalOptions{
		OnOutcome: e.booked, OnOrder: e.changed, OnCancel: e.cancelled, Keys: []types.Secret{types.NewSecret(string(key[:]))},
		BookTimeout: bookTimeout, PollInterval: svc.pause, Logger: e.log,
	})
	if err != nil {
		return nil, err
	}
	if svc.callbackURL != "" {
		if e.webhooks, err = e.newWebhooks(); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	e.sends, e.endSends = context.WithCancel(context.Background())
	e.work.Go(func() {
		if err := e.journal.Run(ctx); err != nil {
			e.log.Error("open bookings stay open", "error", err)
		}
	})
	return e, nil
}

// close ends the work and waits for it. The next start continues it.
func (e *engine) close() {
	e.stop()
	defer time.AfterFunc(stopGrace, e.endSends).Stop() // an answer that comes before saves ten minutes of polls
	e.work.Wait()
	e.client.CloseIdleConnections()
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

// book begins a booking, once for each checkout, and returns at once. Its row and its entry in the
// journal are committed before Book is sent.
func (e *engine) book(ctx context.Context, co checkout, holder types.Holder, guests []types.Guest) error {
	req := &hotelstays.BookRequest{
		SessionID: co.SessionID, CustomerReferenceNo: co.Reference, RatePkgID: co.Offer.RatePkgID,
		Holder: holder, Guests: guests, CallbackURL: e.service.callbackURL,
		Expect: &co.Offer, // an order of other dates is an error
	}
	err := e.db.inTx(ctx, func(tx *sql.Tx) error {
		if err := e.journal.BeginTx(ctx, tx, req, hotelstays.WithTraceID(pageIDOf(ctx))); err != nil {
			return err
		}
		return put(ctx, tx, order{Checkout: co, State: placing, Since: time.Now()})
	})
	switch {
	case errors.Is(err, durable.ErrAlreadyBegun), errors.Is(err, durable.ErrAlreadyBooked):
		return nil // the same form, once more
	case err != nil:
		return err
	}
	e.work.Go(func() { // it must not end with the page
		if _, err := e.journal.Send(e.sends, co.Reference); err != nil {
			e.log.Error("booking", "reference", co.Reference, "error", err)
		}
	})
	return nil
}

// booked stores the outcome of a booking, together with the end of its entry in the journal.
func (e *engine) booked(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
	reference := outcome.Recovery.CustomerReferenceNo
	e.log.InfoContext(ctx, "booking", "reference", reference, "outcome", outcome.State, "error", outcome.Err)
	return change(ctx, tx, reference, func(o *order) { o.settle(outcome, e.client.OrderStates()) })
}

// changed stores a change of an order.
func (e *engine) changed(ctx context.Context, tx *sql.Tx, _, after *types.Order) error {
	return change(ctx, tx, after.CustomerReferenceNo, func(o *order) { o.read(after, e.client.OrderStates()) })
}

// cancel begins a cancellation, once, and returns at once. The journal sends it, unless it would cost
// more than most.
func (e *engine) cancel(ctx context.Context, co checkout, reason string, most *types.Money) error {
	err := e.db.inTx(ctx, func(tx *sql.Tx) error {
		err := e.journal.CancelTx(ctx, tx, durable.CancelRequest{
			CustomerReferenceNo: co.Reference, SessionID: co.SessionID, Reason: reason, MaxFee: most,
		}, hotelstays.WithTraceID(pageIDOf(ctx)))
		if err != nil {
			return err
		}
		return change(ctx, tx, co.Reference, func(o *order) { o.Cancelling, o.Problem = time.Now(), nil })
	})
	if errors.Is(err, durable.ErrAlreadyCancelling) || errors.Is(err, durable.ErrAlreadyCancelled) {
		return nil // the same form, once more
	}
	return err
}

// cancelled stores how a cancellation has ended.
func (e *engine) cancelled(ctx context.Context, tx *sql.Tx, c *durable.Cancellation) error {
	e.log.InfoContext(ctx, "cancelling", "reference", c.CustomerReferenceNo, "ending", c.Ending, "error", c.Err())
	return change(ctx, tx, c.CustomerReferenceNo, func(o *order) { o.cancelled(c) })
}

// newWebhooks returns the handler of order events. An event makes the journal read its order.
func (e *engine) newWebhooks() (*hotelstays.WebhookHandler, error) {
	return hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{
		Secrets: []types.Secret{e.service.webhookSecret},
		OnError: func(_ *http.Request, err error) { e.log.Warn("webhook rejected or failed", "error", err) },
	}, func(ctx context.Context, event *hotelstays.WebhookEvent) error {
		e.log.InfoContext(ctx, "event", "kind", event.Kind, "reference", event.CustomerReferenceNo)
		return e.journal.Wake(ctx, event.CustomerReferenceNo)
	})
}
