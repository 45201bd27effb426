// How a worker books: a booking is claimed and its offer looked at again, a row and a job
// are committed, then Book is sent. And how it searches, which only takes what the rate
// limit has.

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
	hotelstaysriver "github.com/hotelstays/hotelstays-go/contrib/river"
	"github.com/hotelstays/hotelstays-go/types"
)

// offer is what a worker books, for different guests.
type offer struct {
	search *hotelstays.HotelRatesRequest // by which it is seen again
	rate   types.RoomRatePkg
}

// storeEnding is the OnEnd of every worker: it stores what became of a booking.
func storeEnding(ctx context.Context, tx pgx.Tx, e *hotelstaysriver.Ending) error {
	var orderNo string
	if e.Order != nil {
		orderNo = e.Order.PlatformReferenceNo
	}
	if _, err := tx.Exec(ctx, `UPDATE bookings SET state = $2, order_no = $3 WHERE reference = $1`, e.CustomerReferenceNo, string(e.State), orderNo); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO endings (reference, state) VALUES ($1, $2)`, e.CustomerReferenceNo, string(e.State))
	return err
}

// book makes one booking after another until ctx ends. A booking that is begun is not
// given up then.
func (w *worker) book(ctx context.Context) {
	for ctx.Err() == nil {
		req, err := w.enqueue(ctx)
		if err == nil {
			_, err = w.bookings.Book(context.WithoutCancel(ctx), req)
		}
		if err != nil { // nothing to do, the database is away, or a job has to find out
			pause(ctx, 200*time.Millisecond)
		}
	}
}

// claimFor is how long a claim lasts, and bounds the CheckAvail in it. The claim of a
// worker that dies lapses.
const claimFor = 5 * time.Second

// enqueue claims a booking, looks at its offer again where time has passed, and commits
// its next round together with the job that will know what became of it. Nothing has
// been sent to book it then. While the service is asked no transaction is open: one that
// waits for another company's answer keeps a connection and a lock.
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
		tag, err := tx.Exec(ctx, `UPDATE bookings SET state = 'pending', rounds = rounds + 1 WHERE reference = $1 AND rounds = $2`, reference, rounds)
		switch {
		case err != nil:
			return err
		case tag.RowsAffected() == 0: // the claim had lapsed
			return fmt.Errorf("another worker has taken %s meanwhile", reference)
		}
		return w.bookings.EnqueueTx(ctx, tx, w.client.NewBookingRecovery(req))
	})
}

// claim claims a booking that is new or came to nothing, in a transaction of its own. The
// number of its rounds tells later whether the claim still held.
func (w *worker) claim(ctx context.Context) (reference string, rounds int, err error) {
	err = w.db.QueryRow(ctx, `UPDATE bookings SET claimed_until = now() + $2::interval WHERE reference = (
			SELECT reference FROM bookings WHERE state IN ('new', 'absent', 'failed') AND rounds < $1 AND claimed_until <= now()
			ORDER BY rounds DESC LIMIT 1 FOR UPDATE SKIP LOCKED)
		RETURNING reference, rounds`, maxRounds, claimFor).Scan(&reference, &rounds)
	return reference, rounds, err
}

// recheck returns the offer as it is now, if it is as good as it was.
func (w *worker) recheck(ctx context.Context, rate *types.RoomRatePkg) (*types.RoomRatePkg, error) {
	ctx, cancel := context.WithTimeout(ctx, claimFor)
	defer cancel()
	now, err := w.client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: w.offer.search.SessionID, RatePkgID: rate.RatePkgID})
	switch {
	case err != nil:
		return nil, err
	case !now.Available() || !hotelstays.CompareOffer(rate, now.RoomRatePkg).Within(hotelstays.Tolerance{}):
		return nil, errors.New("the offer is gone")
	}
	return now.RoomRatePkg, nil
}

// request books the offer for a guest of the reference's name: each is a stay of its own.
func (w *worker) request(reference string, rate *types.RoomRatePkg) *hotelstays.BookRequest {
	name := strings.ToUpper(reference)
	return &hotelstays.BookRequest{
		SessionID: w.offer.search.SessionID, RatePkgID: rate.RatePkgID, Expect: rate,
		CustomerReferenceNo: reference, CallbackURL: w.Callback,
		Holder: types.Holder{FirstName: "Guest", LastName: name},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: name}},
	}
}

// search looks at the offers of one hotel again and again, as fast as the fleet may.
func (w *worker) search(ctx context.Context, until time.Time) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	for ctx.Err() == nil {
		if _, err := w.client.HotelRates(ctx, w.offer.search); err != nil {
			pause(ctx, 100*time.Millisecond)
		}
	}
}

// findOffer searches for the first offer of a city.
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

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
