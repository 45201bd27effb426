// The service of the README.

package sqltest

import (
	"context"
	"database/sql"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/types"
)

// facts tell the client what the order statuses mean. These are the statuses of the sandbox. For the statuses of your
// service, ask your supplier, or run hotelstays-probe.
var facts = hotelstays.ServiceFacts{StatusMeanings: hotelstays.StatusMeanings{
	Pending: []types.OrderStatus{4}, Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3},
}}

func storeOutcome(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
	_, err := tx.ExecContext(ctx, `UPDATE bookings SET state = $1 WHERE reference = $2`,
		durable.EndingOf(outcome), outcome.Recovery.CustomerReferenceNo)
	if err == nil && durable.EndingOf(outcome) == durable.EndingFound {
		err = storeOrder(ctx, tx, outcome.Order) // the order may be confirmed already
	}
	return err
}

func storeChange(ctx context.Context, tx *sql.Tx, change *durable.OrderChange) error {
	return storeOrder(ctx, tx, change.After)
}

func storeOrder(ctx context.Context, tx *sql.Tx, order *types.Order) error {
	_, err := tx.ExecContext(ctx, `UPDATE bookings SET status = $1, confirmation = $2 WHERE reference = $3`,
		order.Status, order.HotelConfirmNo, order.CustomerReferenceNo)
	return err
}

func storeCancel(ctx context.Context, tx *sql.Tx, c *durable.Cancellation) error {
	_, err := tx.ExecContext(ctx, `UPDATE bookings SET cancellation = $1 WHERE reference = $2`, c.Ending, c.CustomerReferenceNo)
	return err
}

func run(ctx context.Context, cfg config) error {
	client, err := hotelstays.New(cfg.BaseURL, cfg.credential(), hotelstays.WithServiceFacts(facts))
	if err != nil {
		return err
	}
	// import _ "modernc.org/sqlite"
	db, err := hotelstayssql.Open(ctx, "sqlite", cfg.File, hotelstayssql.SQLite,
		&hotelstayssql.OpenOptions{Migrate: true, Logger: slog.Default()})
	if err != nil {
		return err
	}
	defer db.Close()
	journal, err := hotelstayssql.NewJournal(db, hotelstayssql.SQLite, hotelstayssql.JournalOptions{
		Client: client, OnOutcome: storeOutcome, OnOrder: storeChange, OnCancel: storeCancel,
		Keys:        cfg.keys(),      // 32 random bytes each, not hex or base64; the first key encrypts, and all keys decrypt
		BookTimeout: cfg.BookTimeout, // 0 for two minutes
		Logger:      slog.Default(),
		// Leave this out if several processes use the database.
		SingleProcess: true,
	})
	if err != nil {
		return err
	}
	webhooks, err := hotelstayssql.NewWebhookHandler(journal, hotelstays.WebhookOptions{
		Secrets: cfg.secrets(),
		OnError: func(r *http.Request, err error) { // without OnError nobody notices a wrong secret
			slog.WarnContext(r.Context(), "webhook refused", "err", err)
		},
	}, nil)
	if err != nil {
		return err
	}
	http.Handle("POST /hotel-events", webhooks)
	go servePages(ctx, cfg, db, journal)
	return journal.Run(ctx) // Run also finishes the bookings of a dead process
}

func book(ctx context.Context, journal *hotelstayssql.Journal, req *hotelstays.BookRequest) (*hotelstays.BookingOutcome, error) {
	err := journal.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error { // the booking and your row are committed together
		if err := journal.BeginTx(ctx, tx, req, hotelstays.WithTraceID(req.CustomerReferenceNo)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO bookings (reference, state) VALUES ($1, 'pending')
			ON CONFLICT (reference) DO UPDATE SET state = 'pending'`, req.CustomerReferenceNo) // the row exists after an absence
		return err
	})
	if err != nil {
		return nil, err
	}
	return journal.Send(ctx, req.CustomerReferenceNo) // durable.Bookings documents the errors of Send
}

// cancel cancels a stay, unless the cancellation costs more than the fee that the traveller has seen.
func cancel(ctx context.Context, journal *hotelstayssql.Journal, reference, session string, seen types.Money) error {
	return journal.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := journal.CancelTx(ctx, tx, durable.CancelOrder{
			CustomerReferenceNo: reference,
			SessionID:           session, // the session of the booking
			MaxFee:              &seen,   // the result of order.CancelFeeAt
		}); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE bookings SET cancellation = 'begun' WHERE reference = $1`, reference)
		return err
	})
}

type config struct {
	bookingstest.Account
	BaseURL, File, WebhookSecret string
	BookTimeout                  time.Duration
	opened                       chan *hotelstayssql.Journal
}

func (c config) credential() hotelstays.Credential {
	return hotelstays.TicketCredential{AppKey: c.AppKey, AppSecret: types.NewSecret(c.AppSecret)}
}

func (c config) keys() []types.Secret { return []types.Secret{bookingstest.Key} }

func (c config) secrets() []types.Secret { return []types.Secret{types.NewSecret(c.WebhookSecret)} }

// servePages passes the journal to the test.
func servePages(_ context.Context, cfg config, _ *sql.DB, journal *hotelstayssql.Journal) {
	cfg.opened <- journal
}

// The service refuses the first Book. The next round under the same reference makes an order, which is then cancelled.
func TestServiceOfTheReadmeBooksAndCancels(t *testing.T) {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	db := &database{dialect: hotelstayssql.SQLite}
	cfg := config{Account: bookingstest.NewPlan(t, srv, nil).Accounts[0], BaseURL: srv.URL, File: filepath.Join(t.TempDir(), "service.db"),
		WebhookSecret: srv.WebhookSecret, opened: make(chan *hotelstayssql.Journal)}
	var err error
	db.DB, err = hotelstayssql.Open(t.Context(), "sqlite", cfg.File, db.dialect, &hotelstayssql.OpenOptions{Migrate: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	db.exec(t, `CREATE TABLE bookings (reference text PRIMARY KEY, state text NOT NULL, status integer NOT NULL DEFAULT 0,
		confirmation text NOT NULL DEFAULT '', cancellation text NOT NULL DEFAULT '')`)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- run(ctx, cfg) }()
	journal := <-cfg.opened

	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultStatus, Status: 400, Code: types.CodeRateChanged})
	for _, want := range []hotelstays.BookingState{hotelstays.BookingAbsent, hotelstays.BookingFound} {
		outcome, err := book(t.Context(), journal, cfg.Request("ref"))
		require.NoError(t, err)
		assert.Equal(t, want, outcome.State)
	}
	require.NoError(t, cancel(t.Context(), journal, "ref", cfg.Session, cfg.Offer.TotalRate.NetRate))
	require.Eventually(t, func() bool {
		return db.number(t, `SELECT COUNT(*) FROM bookings WHERE state = 'found' AND cancellation = 'cancelled'`) == 1
	}, patience, 10*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
}
