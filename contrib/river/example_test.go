// A durable booking from the row in the database to its end.

package hotelstaysriver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstaysriver "github.com/hotelstays/hotelstays-go/contrib/river"
	"github.com/hotelstays/hotelstays-go/types"
)

// store keeps the caller's row in step with what is known of the booking.
func store(ctx context.Context, tx pgx.Tx, e *hotelstaysriver.Ending) error {
	var orderNo string
	if e.Order != nil {
		orderNo = e.Order.PlatformReferenceNo
	}
	_, err := tx.Exec(ctx, `UPDATE bookings SET state = $2, order_no = $3, session_id = $4 WHERE reference = $1`,
		e.CustomerReferenceNo, e.State, orderNo, e.Recovery.SessionID)
	return err
}

// A process that books, and works on recoveries.
func Example() {
	run := func(ctx context.Context, client *hotelstays.Client, pool *pgxpool.Pool, req *hotelstays.BookRequest) error {
		bookings, err := hotelstaysriver.New(hotelstaysriver.Config{Client: client, Pool: pool, OnEnd: store})
		if err != nil {
			return err
		}
		cfg := &river.Config{}
		if err := bookings.Configure(cfg); err != nil {
			return err
		}
		jobs, err := river.NewClient(riverpgxv5.New(pool), cfg)
		if err != nil {
			return err
		}
		if err := jobs.Start(ctx); err != nil {
			return err
		}
		defer jobs.Stop(ctx)

		// The row and the job are committed together, before anything is sent.
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `INSERT INTO bookings (reference, state) VALUES ($1, 'pending')`, req.CustomerReferenceNo); err != nil {
				return err
			}
			return bookings.EnqueueTx(ctx, tx, client.NewBookingRecovery(req))
		})
		if err != nil {
			return err
		}
		ending, err := bookings.Book(ctx, req)
		var unknown *hotelstays.OutcomeUnknownError
		switch {
		case errors.As(err, &unknown):
			fmt.Println("we will tell you within a quarter of an hour")
		case err != nil:
			return err
		case ending.State == hotelstaysriver.Found:
			fmt.Println("booked:", ending.Order.PlatformReferenceNo)
		default:
			fmt.Println("not booked:", ending.State, ending.Err)
		}
		return nil
	}
	_ = run
}

// What to do about a booking that is absent is the caller's to decide. Here it is tried
// once more, if the offer still holds at the same price. A loop of the caller's takes up
// the rows that store has marked as absent.
func Example_bookingAgain() {
	again := func(ctx context.Context, client *hotelstays.Client, pool *pgxpool.Pool, bookings *hotelstaysriver.Bookings, req *hotelstays.BookRequest) error {
		offer, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: req.SessionID, RatePkgID: req.RatePkgID})
		if err != nil {
			return err
		}
		if !offer.Available() || !hotelstays.CompareOffer(req.Expect, offer.RoomRatePkg).Within(hotelstays.Tolerance{}) {
			return errors.New("the offer is gone: ask the traveller")
		}
		// The same reference, a new recovery. The row's state lets one loop alone do it.
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `UPDATE bookings SET state = 'pending', again = true
				WHERE reference = $1 AND state = 'absent' AND NOT again`, req.CustomerReferenceNo)
			if err != nil || tag.RowsAffected() == 0 {
				return errors.Join(err, errors.New("not, or no longer, to be booked again"))
			}
			return bookings.EnqueueTx(ctx, tx, client.NewBookingRecovery(req))
		})
		if err != nil {
			return err
		}
		_, err = bookings.Book(ctx, req)
		return err
	}
	_ = again
}

// A webhook wakes the recovery: what it tells of is found within a second, instead of
// at the next scheduled poll.
func ExampleBookings_Wake() {
	handler := func(bookings *hotelstaysriver.Bookings, signingSecret types.Secret) (http.Handler, error) {
		return hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{Secrets: []types.Secret{signingSecret}},
			func(ctx context.Context, event *hotelstays.WebhookEvent) error {
				return bookings.Wake(ctx, event.CustomerReferenceNo)
			})
	}
	_ = handler
}
