// A worker books in three steps: it checks the offer, commits its row together with the journal's row, and sends Book.
// Later it stores the outcome.

package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// tables belong to the booking service, not to the journal. Times are microseconds since 1970. A booking is new,
// pending, found or absent. The table events has no primary key, so that the verdict counts an event that was handled
// twice.
const tables = `
	CREATE TABLE bookings (reference text PRIMARY KEY, state text NOT NULL DEFAULT 'new', order_no text NOT NULL DEFAULT '',
		rounds integer NOT NULL DEFAULT 0);
	CREATE TABLE outcomes (reference text NOT NULL, round integer NOT NULL, order_no text NOT NULL, at bigint NOT NULL);
	CREATE TABLE events (id text NOT NULL)`

// maxRounds limits the rounds of a booking that has no order.
const maxRounds = 5

// book makes one booking after another until ctx ends. It does not interrupt the last booking.
func (w *worker) book(ctx context.Context) {
	for ctx.Err() == nil {
		reference, err := w.begin(ctx)
		if err == nil {
			// The trace id is the reference, so that the booking is easy to find in the service's logs.
			_, err = w.journal.Send(context.WithoutCancel(ctx), reference, hotelstays.WithTraceID(reference))
		}
		var unknown *hotelstays.OutcomeUnknownError
		switch {
		case err == nil:
			continue
		case errors.Is(err, sql.ErrNoRows): // no booking is left to begin
		case errors.Is(err, durable.ErrAlreadyBegun), errors.Is(err, durable.ErrAlreadyBooked): // another process has begun the booking first
		case errors.As(err, &unknown): // Journal.Run finds the outcome later
		case errors.Is(err, durable.ErrConflictingOutcome):
			slog.ErrorContext(ctx, "a person must look at a booking", slog.Any("error", err))
		default: // for example: the database is restarting, or the offer cannot be booked
			slog.WarnContext(ctx, "a booking is tried again", slog.Any("error", err))
		}
		pause(ctx)
	}
}

// pause waits for a random time. Otherwise processes that failed together would also retry together.
func pause(ctx context.Context) {
	select {
	case <-time.After(100*time.Millisecond + rand.N(200*time.Millisecond)):
	case <-ctx.Done():
	}
}

// begin checks the offer of a new or absent booking, and then commits the next round together with the journal's row. If
// several processes choose one booking, the journal lets only one process begin the round. No transaction is open during
// CheckAvail, because a transaction keeps a connection and locks.
func (w *worker) begin(ctx context.Context) (reference string, err error) {
	err = w.db.QueryRowContext(ctx, `SELECT reference FROM bookings WHERE state IN ('new', 'absent') AND rounds < $1
		ORDER BY random() LIMIT 1`, maxRounds).Scan(&reference)
	if err != nil {
		return "", err
	}
	req, err := w.request(ctx, reference)
	if err != nil {
		return "", err
	}
	return reference, w.journal.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		// BeginTx locks the journal's row before the UPDATE locks the booking's row. OnOutcome uses the same order, so no
		// deadlock occurs.
		if err := w.journal.BeginTx(ctx, tx, req); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `UPDATE bookings SET state = 'pending', rounds = rounds + 1 WHERE reference = $1 AND rounds < $2
			RETURNING reference`, reference, maxRounds).Scan(&reference)
	})
}

// request checks the offer, and returns the request that books it. The name of the guest is the reference. If the offer is
// worse than before, request fails.
func (w *worker) request(ctx context.Context, reference string) (*hotelstays.BookRequest, error) {
	req := w.offer
	now, err := w.client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: req.SessionID, RatePkgID: req.RatePkgID})
	switch {
	case err != nil:
		return nil, err
	case !now.Available() || !hotelstays.CompareOffer(req.Expect, now.RoomRatePkg).Within(hotelstays.Tolerance{}):
		return nil, errors.New("the offer is gone or has changed")
	}
	name := strings.ToUpper(reference)
	req.CustomerReferenceNo, req.RatePkgID, req.Expect = reference, now.RoomRatePkg.RatePkgID, now.RoomRatePkg
	req.Holder = types.Holder{FirstName: "Guest", LastName: name}
	req.Guests = []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: name}}
	return &req, nil
}

// storeOutcome is the OnOutcome of every worker. The journal commits the rows of storeOutcome once for each round. If
// no order exists, outcome.Err says why. A real service uses this error to decide whether to book again.
func storeOutcome(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
	reference, orderNo := outcome.Recovery.CustomerReferenceNo, ""
	if outcome.Order != nil {
		orderNo = outcome.Order.PlatformReferenceNo
	}
	_, err := tx.ExecContext(ctx, `UPDATE bookings SET state = $1, order_no = $2 WHERE reference = $3`,
		string(outcome.State), orderNo, reference)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO outcomes (reference, round, order_no, at)
		SELECT reference, rounds, order_no, $1 FROM bookings WHERE reference = $2`, time.Now().UnixMicro(), reference)
	return err
}

// search returns the first offer in the city.
func (w *worker) search(ctx context.Context) (offer hotelstays.BookRequest, err error) {
	list, err := w.client.HotelList(ctx, &hotelstays.HotelListRequest{
		DestinationName: w.City, PageSize: 5, MaxRatesPerHotel: 1, RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}},
		CheckIn: types.DateOf(time.Now().AddDate(0, 2, 0)), CheckOut: types.DateOf(time.Now().AddDate(0, 2, 2))})
	if err != nil {
		return offer, err
	}
	if len(list.List) == 0 {
		return offer, errors.New("no hotel has an offer")
	}
	rate := list.List[0].Rooms[0].Rates[0]
	return hotelstays.BookRequest{SessionID: list.Basic.SessionID, RatePkgID: rate.RatePkgID, Expect: &rate,
		CallbackURL: "https://fleet.example/hotel-events"}, nil
}

// searchOn repeats searches as fast as the rate limit allows, until ctx ends.
func (w *worker) searchOn(ctx context.Context) {
	for ctx.Err() == nil {
		if _, err := w.search(ctx); err != nil {
			pause(ctx)
		}
	}
}
