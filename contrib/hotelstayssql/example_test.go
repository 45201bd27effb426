package hotelstayssql_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

func ExampleOpen() {
	start := func(ctx context.Context, dsn string) (*sql.DB, error) {
		db, err := hotelstayssql.Open(ctx, "pgx", dsn, hotelstayssql.PostgreSQL, // import _ "github.com/jackc/pgx/v5/stdlib"
			&hotelstayssql.OpenOptions{Migrate: true, Logger: slog.Default()})
		return db, err
	}
	_ = start
}

// A service that opens its pool with sql.Open calls Check before it uses the pool. The tables were created at the deployment.
func ExampleCheck() {
	start := func(ctx context.Context, db *sql.DB) error {
		return hotelstayssql.Check(ctx, db, hotelstayssql.MySQL, slog.Default())
	}
	_ = start
}

// The function runs once per event, and its writes are committed together with the event. Each delivery wakes the journal.
func ExampleNewWebhookHandler() {
	receive := func(journal *hotelstayssql.Journal, secret types.Secret) error {
		handler, err := hotelstayssql.NewWebhookHandler(journal, hotelstays.WebhookOptions{Secrets: []types.Secret{secret}},
			func(ctx context.Context, tx *sql.Tx, event *hotelstays.WebhookEvent) error {
				_, err := tx.ExecContext(ctx, `UPDATE bookings SET last_event = $1 WHERE reference = $2`,
					event.Kind, event.CustomerReferenceNo)
				return err
			})
		if err != nil {
			return err
		}
		http.Handle("POST /hotel-events", handler)
		return nil
	}
	_ = receive
}

// Without a journal, HandleTx calls a function once per event, in the transaction that marks the event as handled.
func ExampleEventStore_HandleTx() {
	handle := func(ctx context.Context, events *hotelstayssql.EventStore, event *hotelstays.WebhookEvent) error {
		return events.HandleTx(ctx, event, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE bookings SET last_event = $1 WHERE reference = $2`,
				event.Kind, event.CustomerReferenceNo)
			return err
		})
	}
	_ = handle
}

// An event is handled once, even if several processes receive it.
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

// One journal serves several accounts.
func ExampleJournal_ForAccount() {
	book := func(ctx context.Context, db *sql.DB, clients []*hotelstays.Client, key types.Secret,
		client *hotelstays.Client, req *hotelstays.BookRequest) error {
		accounts := map[string]*hotelstays.Client{} // the keys are Client.Account; if accounts may change, lock the map
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
		bookings := journal.ForAccount(client.Account()) // the account of the user who books
		outcome, err := bookings.Book(ctx, req)
		if err != nil {
			return err
		}
		fmt.Println(outcome.State)
		return nil
	}
	_ = book
}

// A booking is committed together with the caller's row, and then sent. The module's README has a complete service.
func ExampleJournal() {
	book := func(ctx context.Context, journal *hotelstayssql.Journal, req *hotelstays.BookRequest) (*hotelstays.BookingOutcome, error) {
		err := journal.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if err := journal.BeginTx(ctx, tx, req); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO bookings (reference) VALUES ($1)`, req.CustomerReferenceNo)
			return err
		})
		if err != nil {
			return nil, err
		}
		return journal.Send(ctx, req.CustomerReferenceNo)
	}
	_ = book
}

// A check lists the bookings that stay unverified, for the people on call.
func ExampleJournal_List() {
	report := func(ctx context.Context, journal *hotelstayssql.Journal) {
		for booking, err := range journal.List(ctx) {
			if err != nil {
				slog.ErrorContext(ctx, "a booking cannot be read", "error", err)
				continue
			}
			if booking.Unverified > 3 {
				slog.WarnContext(ctx, "a booking is still unverified", "reference", booking.Recovery.CustomerReferenceNo, "polls", booking.Unverified)
			}
		}
	}
	_ = report
}

// One process fetches the token, and all processes use it.
func ExampleNewTokenStore() {
	connect := func(db *sql.DB, baseURL string, cred hotelstays.TicketCredential, key types.Secret) (*hotelstays.Client, error) {
		tokens, err := hotelstayssql.NewTokenStore(db, hotelstayssql.SQLite, hotelstayssql.TokenStoreOptions{
			Keys:   []types.Secret{key}, // 32 random bytes each; the first key encrypts, and all keys decrypt
			Logger: slog.Default(),
		})
		if err != nil {
			return nil, err
		}
		return hotelstays.New(baseURL, cred, hotelstays.WithTokenStore(tokens))
	}
	_ = connect
}
