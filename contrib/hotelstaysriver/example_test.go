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
	"github.com/hotelstays/hotelstays-go/contrib/hotelstaysriver"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// store writes an outcome into the caller's row.
func store(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
	var orderNo, problem string
	if o.Order != nil {
		orderNo = o.Order.PlatformReferenceNo
	}
	switch {
	case o.Err != nil: // refused, or not the expected order
		problem = o.Err.Error()
	case !o.Changes.Within(hotelstays.Tolerance{}): // the order differs from the offer, for example in its price
		problem = o.Changes.String()
	}
	_, err := tx.Exec(ctx, `UPDATE bookings SET state = $2, order_no = $3, problem = $4, session_id = $5 WHERE reference = $1`,
		o.Recovery.CustomerReferenceNo, o.State, orderNo, problem, o.Recovery.SessionID)
	return err
}

// A process books a stay, and its workers finish the bookings of dead processes.
func Example() {
	run := func(ctx context.Context, client *hotelstays.Client, pool *pgxpool.Pool, key types.Secret, req *hotelstays.BookRequest) error {
		bookings, err := hotelstaysriver.New(hotelstaysriver.Options{Pool: pool, Options: durable.Options[pgx.Tx]{
			Client: client, OnOutcome: store,
			Keys: []types.Secret{key}, // 32 random bytes, not hex or base64; a second key may follow
		}})
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
			if err := bookings.BeginTx(ctx, tx, req); err != nil { // locks the job before the row, as in OnOutcome: so no deadlock occurs
				return err
			}
			_, err := tx.Exec(ctx, `INSERT INTO bookings (reference, state) VALUES ($1, 'pending')`, req.CustomerReferenceNo)
			return err
		})
		if err != nil {
			return err
		}
		outcome, err := bookings.Send(ctx, req.CustomerReferenceNo) // another process may also call Send
		var unknown *hotelstays.OutcomeUnknownError
		switch {
		case errors.As(err, &unknown):
			fmt.Println("you will hear from us within a quarter of an hour")
		case err != nil:
			return err
		case outcome.Err != nil:
			fmt.Println("refused, or another order:", outcome.Err)
		case outcome.State == hotelstays.BookingFound:
			fmt.Println("booked:", outcome.Order.PlatformReferenceNo)
		default:
			fmt.Println("not booked:", outcome.State)
		}
		return nil
	}
	_ = run
}

// A booking that ended as absent is booked again if the offer still exists at the same price. A loop of the caller
// finds these bookings: the function store has marked their rows as absent.
func Example_bookingAgain() {
	again := func(ctx context.Context, client *hotelstays.Client, pool *pgxpool.Pool,
		bookings *hotelstaysriver.Bookings, req *hotelstays.BookRequest) error {
		offer, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: req.SessionID, RatePkgID: req.RatePkgID})
		if err != nil {
			return err
		}
		if !offer.Available() || !hotelstays.CompareOffer(req.Expect, offer.RoomRatePkg).Within(hotelstays.Tolerance{}) {
			return errors.New("the offer is gone or has changed: ask the traveller")
		}
		// The booking begins again under the same reference. If several processes run this loop, the UPDATE changes
		// the row in only one of them.
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `UPDATE bookings SET state = 'pending', again = true
				WHERE reference = $1 AND state = 'absent' AND problem = '' AND NOT again`, req.CustomerReferenceNo)
			if err != nil || tag.RowsAffected() == 0 {
				return errors.Join(err, errors.New("another loop has begun this booking again"))
			}
			return bookings.BeginTx(ctx, tx, req)
		})
		if err != nil {
			return err
		}
		_, err = bookings.Send(ctx, req.CustomerReferenceNo)
		return err
	}
	_ = again
}

// A webhook makes a worker poll: the order is found within a second, instead of at the next scheduled poll.
func ExampleBookings_Wake() {
	handler := func(bookings *hotelstaysriver.Bookings, signingSecret types.Secret) (http.Handler, error) {
		return hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{Secrets: []types.Secret{signingSecret}},
			func(ctx context.Context, event *hotelstays.WebhookEvent) error {
				return bookings.Wake(ctx, event.CustomerReferenceNo)
			})
	}
	_ = handler
}

// One Bookings serves several accounts.
func ExampleBookings_ForAccount() {
	book := func(ctx context.Context, pool *pgxpool.Pool, clients []*hotelstays.Client, key types.Secret,
		client *hotelstays.Client, req *hotelstays.BookRequest) error {
		accounts := map[string]*hotelstays.Client{} // the keys are Client.Account; if accounts may change, lock the map
		for _, client := range clients {
			accounts[client.Account()] = client
		}
		bookings, err := hotelstaysriver.New(hotelstaysriver.Options{Pool: pool, Options: durable.Options[pgx.Tx]{
			Clients: func(account string) durable.BookingClient { return accounts[account] },
			OnOutcome: func(ctx context.Context, tx pgx.Tx, outcome *hotelstays.BookingOutcome) error {
				_, err := tx.Exec(ctx, `UPDATE bookings SET state = $1 WHERE account = $2 AND reference = $3`,
					outcome.State, outcome.Recovery.Fingerprint, outcome.Recovery.CustomerReferenceNo)
				return err
			},
			Keys: []types.Secret{key},
		}})
		if err != nil {
			return err
		}
		outcome, err := bookings.ForAccount(client.Account()).Book(ctx, req) // the account of the user who books
		if err != nil {
			return err
		}
		fmt.Println(outcome.State)
		return nil
	}
	_ = book
}
