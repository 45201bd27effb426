// How a worker books: it claims a booking, checks its offer again, commits a row and a job,
// then sends Book. And how it searches, which only uses up the rate limit.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// offer is what a worker books, each time for other guests.
type offer struct {
	search *hotelstays.HotelRatesRequest // that finds it
	rate   types.RoomRatePkg
}

// storeOutcome is the OnOutcome of every worker. A booking is stored as found, absent, or
// refused.
func storeOutcome(ctx context.Context, tx pgx.Tx, outcome *hotelstays.BookingOutcome) error {
	reference, state, orderNo := outcome.Recovery.CustomerReferenceNo, outcome.State.String(), ""
	if outcome.Order != nil {
		orderNo = outcome.Order.PlatformReferenceNo
	}
	if outcome.Err != nil {
		state = "refused"
	}
	if _, err := tx.Exec(ctx, `UPDATE bookings SET state = $2, order_no = $3 WHERE reference = $1`, reference, state, orderNo); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO rounds (reference, state) VALUES ($1, $2)`, reference, state)
	return err
}

// book makes one booking after another until ctx ends, and finishes the last one.
func (w *worker) book(ctx context.Context) {
	for ctx.Err() == nil {
		req, err := w.enqueue(ctx)
		if err == nil {
			_, err = w.bookings.Book(context.WithoutCancel(ctx), req)
		}
		if err != nil { // nothing to do, the database is restarting, or a job has to find out
			pause(ctx, 200*time.Millisecond)
		}
	}
}

// claimFor is how long a claim lasts, and bounds the CheckAvail in it. The claim of a dead
// worker expires.
const claimFor = 5 * time.Second

// enqueue claims a booking, checks its offer again if this is not the first round, and commits
// the next round together with its job. No transaction is open during CheckAvail, because it
// would keep a connection and a lock while it waits for the service.
func (w *worker) enqueue(ctx context.Context) (*hotelstays.BookRequest, error) {
	reference, rounds, err := w.claim(ctx)
	if err != nil {
		return nil, err
	}
	rate := &w.offer.rate
	if rounds > 0 {
		if rate, err = w.recheck(ctx, rate); err != nil {
			return nil, err
		}
	}
	req := w.request(reference, rate)
	return req, pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE bookings SET state = 'pending', rounds = rounds + 1
			WHERE reference = $1 AND rounds = $2`, reference, rounds)
		switch {
		case err != nil:
			return err
		case tag.RowsAffected() == 0: // the claim has expired
			return fmt.Errorf("another worker has taken %s meanwhile", reference)
		}
		return w.bookings.EnqueueTx(ctx, tx, w.client.NewBookingRecovery(req))
	})
}

// claim claims a booking that is new or has no order. Its number of rounds shows later whether
// the claim was still valid.
func (w *worker) claim(ctx context.Context) (reference string, rounds int, err error) {
	err = w.db.QueryRow(ctx, `UPDATE bookings SET claimed_until = now() + $2::interval WHERE reference = (
			SELECT reference FROM bookings WHERE state IN ('new', 'absent', 'refused') AND rounds < $1 AND claimed_until <= now()
			ORDER BY rounds DESC LIMIT 1 FOR UPDATE SKIP LOCKED)
		RETURNING reference, rounds`, maxRounds, claimFor).Scan(&reference, &rounds)
	return reference, rounds, err
}

// recheck returns the offer as it is now, or an error if it is worse.
func (w *worker) recheck(ctx context.Context, rate *types.RoomRatePkg) (*types.RoomRatePkg, error) {
	ctx, cancel := context.WithTimeout(ctx, claimFor)
	defer cancel()
	now, err := w.client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: w.offer.search.SessionID, RatePkgID: rate.RatePkgID})
	switch {
	case err != nil:
		return nil, err
	case !now.Available() || !hotelstays.CompareOffer(rate, now.RoomRatePkg).Within(hotelstays.Tolerance{}):
		return nil, errors.New("the offer is gone or has changed")
	}
	return now.RoomRatePkg, nil
}

// request books the offer for a guest with the name of the reference.
func (w *worker) request(reference string, rate *types.RoomRatePkg) *hotelstays.BookRequest {
	name := strings.ToUpper(reference)
	return &hotelstays.BookRequest{
		SessionID: w.offer.search.SessionID, RatePkgID: rate.RatePkgID, Expect: rate,
		CustomerReferenceNo: reference, CallbackURL: w.Callback,
		Holder: types.Holder{FirstName: "Guest", LastName: name},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: name}},
	}
}

// search requests the offers of one hotel, as fast as the rate limit allows.
func (w *worker) search(ctx context.Context, until time.Time) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	for ctx.Err() == nil {
		if _, err := w.client.HotelRates(ctx, w.offer.search); err != nil {
			pause(ctx, 100*time.Millisecond)
		}
	}
}

// findOffer returns the first offer of a city.
func findOffer(ctx context.Context, client *hotelstays.Client, city string) (o offer, err error) {
	list, err := client.HotelList(ctx, &hotelstays.HotelListRequest{
		DestinationName: city, PageSize: 5, MaxRatesPerHotel: 1,
		CheckIn:         types.DateOf(time.Now().AddDate(0, 2, 0)),
		CheckOut:        types.DateOf(time.Now().AddDate(0, 2, 2)),
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}},
	})
	if err != nil {
		return offer{}, err
	}
	for _, hotel := range list.List {
		for _, room := range hotel.Rooms {
			for _, rate := range room.Rates {
				return offer{rate: rate, search: &hotelstays.HotelRatesRequest{
					SessionID: list.Basic.SessionID, HotelID: cmp.Or(hotel.PlatformHotelID, hotel.ID),
					CheckIn:         types.DateOf(time.Now().AddDate(0, 2, 0)),
					CheckOut:        types.DateOf(time.Now().AddDate(0, 2, 2)),
					RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}},
				}}, nil
			}
		}
	}
	return offer{}, errors.New("no hotel has an offer")
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
