package hotelstayssql_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"log/slog"
	"net/http"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// The tables are created when a version is deployed, and checked when a process starts.
func ExampleCheck() {
	start := func(ctx context.Context, dsn string) (*sql.DB, error) {
		db, err := sql.Open("pgx", dsn) // import _ "github.com/jackc/pgx/v5/stdlib"
		if err != nil {
			return nil, err
		}
		if err := hotelstayssql.Migrate(ctx, db, hotelstayssql.PostgreSQL); err != nil {
			return nil, err
		}
		warnings, err := hotelstayssql.Check(ctx, db, hotelstayssql.PostgreSQL)
		for _, w := range warnings {
			slog.WarnContext(ctx, "a setting of the database does harm", "setting", w.String())
		}
		return db, err
	}
	_ = start
}

// An event is handled once, in one transaction with the caller's row.
func ExampleEventStore_HandleTx() {
	receive := func(db *sql.DB, journal *hotelstayssql.Journal, secret types.Secret) error {
		events, err := hotelstayssql.NewEventStore(db, hotelstayssql.PostgreSQL, nil)
		if err != nil {
			return err
		}
		handler, err := hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{
			Secrets: []types.Secret{secret},
		}, func(ctx context.Context, event *hotelstays.WebhookEvent) error {
			err := events.HandleTx(ctx, event, func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, `UPDATE bookings SET last_event = $1 WHERE reference = $2`,
					string(event.Kind), event.CustomerReferenceNo)
				return err
			})
			if err != nil {
				return err
			}
			return journal.Wake(ctx, event.CustomerReferenceNo) // after the transaction, whose lock it would wait for
		})
		if err != nil {
			return err
		}
		http.Handle("POST /hotel-events", handler)
		return nil
	}
	_ = receive
}

// An event is handled once, whichever process gets it or its copies.
func ExampleNewEventStore() {
	receive := func(db *sql.DB, secret types.Secret, handle func(context.Context, *hotelstays.WebhookEvent) error) (http.Handler, error) {
		events, err := hotelstayssql.NewEventStore(db, hotelstayssql.MySQL, nil)
		if err != nil {
			return nil, err
		}
		return hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{
			Secrets: []types.Secret{secret},
			Store:   events,
		}, handle)
	}
	_ = receive
}

// One journal serves the accounts of a platform.
func ExampleJournal_ForAccount() {
	book := func(ctx context.Context, db *sql.DB, clients []*hotelstays.Client, key types.Secret,
		client *hotelstays.Client, req *hotelstays.BookRequest) error {
		accounts := map[string]*hotelstays.Client{} // by Client.Account; guard it if accounts come and go
		for _, client := range clients {
			accounts[client.Account()] = client
		}
		journal, err := hotelstayssql.NewJournal(db, hotelstayssql.PostgreSQL, hotelstayssql.JournalOptions{
			Clients: func(account string) durable.BookingClient { return accounts[account] },
			OnOutcome: func(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
				_, err := tx.ExecContext(ctx, `UPDATE bookings SET state = $1 WHERE account = $2 AND reference = $3`,
					outcome.State, outcome.Recovery.Fingerprint, outcome.Recovery.CustomerReferenceNo)
				return err
			},
			Keys: []types.Secret{key},
		})
		if err != nil {
			return err
		}
		bookings := journal.ForAccount(client.Account()) // of the account whose user books
		outcome, err := bookings.Book(ctx, req)
		if err != nil {
			return err
		}
		fmt.Println(outcome.State)
		return nil
	}
	_ = book
}

// A booking is committed together with the caller's row, and then sent.
func ExampleJournal() {
	book := func(ctx context.Context, db *sql.DB, client *hotelstays.Client, key types.Secret, req *hotelstays.BookRequest) error {
		// mirror stores an order: that of OnOutcome, and what OnOrder brings later.
		mirror := func(ctx context.Context, tx *sql.Tx, order *types.Order) error {
			_, err := tx.ExecContext(ctx, `UPDATE bookings SET status = $1, confirmation = $2 WHERE reference = $3`,
				order.Status, order.HotelConfirmNo, order.CustomerReferenceNo)
			return err
		}
		journal, err := hotelstayssql.NewJournal(db, hotelstayssql.PostgreSQL, hotelstayssql.JournalOptions{
			Client: client,
			OnOutcome: func(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
				_, err := tx.ExecContext(ctx, `UPDATE bookings SET state = $1 WHERE reference = $2`,
					outcome.State, outcome.Recovery.CustomerReferenceNo)
				if err == nil && durable.EndingOf(outcome) == durable.EndingFound {
					err = mirror(ctx, tx, outcome.Order) // it may be confirmed already
				}
				return err
			},
			OnCancel: func(ctx context.Context, tx *sql.Tx, c *durable.Cancellation) error { // if you use CancelTx
				_, err := tx.ExecContext(ctx, `UPDATE bookings SET cancellation = $1 WHERE reference = $2`,
					c.Ending, c.CustomerReferenceNo)
				return err
			},
			OnOrder: func(ctx context.Context, tx *sql.Tx, change *durable.OrderChange) error { // if orders are to be followed
				return mirror(ctx, tx, change.After)
			},
			Keys: []types.Secret{key}, // 32 random bytes, not hex or base64; a second key may follow
		})
		if err != nil {
			return err
		}
		go func() { // in every process: it ends what others could not
			if err := journal.Run(ctx); err != nil {
				log.Fatal(err) // the tables are of another version
			}
		}()

		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := journal.BeginTx(ctx, tx, req); err != nil { // first: OnOutcome locks in this order, too
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO bookings (reference, state) VALUES ($1, 'pending')`, req.CustomerReferenceNo); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		outcome, err := journal.Send(ctx, req.CustomerReferenceNo) // in this process or another
		if err != nil {
			return err // what it means is in the documentation of durable.Bookings
		}
		slog.InfoContext(ctx, "booked", "state", outcome.State, "refusal", outcome.Err)
		return nil
	}
	_ = book
}

// A cancellation is committed together with the caller's row. Run sends it, and calls OnCancel.
func ExampleJournal_CancelTx() {
	cancel := func(ctx context.Context, db *sql.DB, journal *hotelstayssql.Journal, reference, session string, seen types.Money) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := journal.CancelTx(ctx, tx, durable.CancelOrder{
			CustomerReferenceNo: reference,
			SessionID:           session, // of the booking
			MaxFee:              &seen,   // of order.CancelFeeAt: what the traveller has agreed to pay
		}); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE bookings SET state = 'cancelling' WHERE reference = $1`, reference); err != nil {
			return err
		}
		return tx.Commit()
	}
	_ = cancel
}

// The people on call look for bookings that no poll can settle.
func ExampleJournal_List() {
	report := func(ctx context.Context, journal *hotelstayssql.Journal) {
		for booking, err := range journal.List(ctx) {
			if err != nil {
				slog.ErrorContext(ctx, "a booking needs a person", "error", err)
				continue
			}
			if booking.Unverified > 3 {
				slog.WarnContext(ctx, "nothing is known", "reference", booking.Recovery.CustomerReferenceNo, "polls", booking.Unverified)
			}
		}
	}
	_ = report
}

// One process fetches the token, and all use it.
func ExampleNewTokenStore() {
	connect := func(db *sql.DB, baseURL string, cred hotelstays.TicketCredential, key types.Secret) (*hotelstays.Client, error) {
		tokens, err := hotelstayssql.NewTokenStore(db, hotelstayssql.SQLite, hotelstayssql.TokenStoreOptions{
			Keys:   []types.Secret{key}, // 32 random bytes; a second key may follow
			Logger: slog.Default(),
		})
		if err != nil {
			return nil, err
		}
		return hotelstays.New(baseURL, cred, hotelstays.WithTokenStore(tokens))
	}
	_ = connect
}
