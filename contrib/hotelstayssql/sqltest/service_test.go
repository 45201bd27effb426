// The service of the README, and a test that kills it.

package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql/journaltest"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/types"
)

// facts tell the client what the order statuses mean. These are the statuses of the sandbox. For the statuses of your
// service, ask your supplier, or run hotelstays-probe.
var facts = hotelstays.ServiceFacts{StatusMeanings: hotelstays.StatusMeanings{
	Pending: []types.OrderStatus{4}, Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3},
}}

// storeOutcome stores the outcome of a booking.
func storeOutcome(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
	_, err := tx.ExecContext(ctx, `UPDATE bookings SET state = $1 WHERE reference = $2`,
		durable.EndingOf(outcome), outcome.Recovery.CustomerReferenceNo)
	if err == nil && durable.EndingOf(outcome) == durable.EndingFound {
		err = storeOrder(ctx, tx, outcome.Order) // it may be confirmed already
	}
	return err
}

// storeChange stores a change of an order.
func storeChange(ctx context.Context, tx *sql.Tx, change *durable.OrderChange) error {
	return storeOrder(ctx, tx, change.After)
}

func storeOrder(ctx context.Context, tx *sql.Tx, order *types.Order) error {
	_, err := tx.ExecContext(ctx, `UPDATE bookings SET status = $1, confirmation = $2 WHERE reference = $3`,
		order.Status, order.HotelConfirmNo, order.CustomerReferenceNo)
	return err
}

// storeCancel stores how a cancellation has ended.
func storeCancel(ctx context.Context, tx *sql.Tx, c *durable.Cancellation) error {
	_, err := tx.ExecContext(ctx, `UPDATE bookings SET cancellation = $1 WHERE reference = $2`, c.Ending, c.CustomerReferenceNo)
	return err
}

// run runs the service until ctx ends.
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
		Keys:        cfg.keys(),      // 32 random bytes, not hex or base64; a second key may follow
		BookTimeout: cfg.BookTimeout, // 0 for two minutes
		Logger:      slog.Default(),
		// Leave this out if several processes use the database.
		SingleProcess: true,
	})
	if err != nil {
		return err
	}
	webhooks, err := hotelstayssql.NewWebhookHandler(journal, hotelstays.WebhookOptions{Secrets: cfg.secrets()}, nil)
	if err != nil {
		return err
	}
	http.Handle("POST /hotel-events", webhooks)
	go servePages(ctx, cfg, db, journal)
	return journal.Run(ctx) // it finishes the bookings of a dead process, too
}

// book books a stay.
func book(ctx context.Context, journal *hotelstayssql.Journal, req *hotelstays.BookRequest) (*hotelstays.BookingOutcome, error) {
	err := journal.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error { // both are committed, or neither
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
	return journal.Send(ctx, req.CustomerReferenceNo) // durable.Bookings documents its errors
}

// cancel cancels a stay, unless that costs more than the fee that the traveller has seen.
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

// config is the configuration of the service.
type config struct {
	bookingstest.Account
	BaseURL, File, WebhookSecret string
	BookTimeout                  time.Duration
}

func (c config) credential() hotelstays.Credential {
	return hotelstays.TicketCredential{AppKey: c.AppKey, AppSecret: types.NewSecret(c.AppSecret)}
}

func (c config) keys() []types.Secret { return []types.Secret{bookingstest.Key} }

func (c config) secrets() []types.Secret { return []types.Secret{types.NewSecret(c.WebhookSecret)} }

const bookingsTable = `CREATE TABLE bookings (reference text PRIMARY KEY, state text NOT NULL, status integer NOT NULL DEFAULT 0,
	confirmation text NOT NULL DEFAULT '', cancellation text NOT NULL DEFAULT '')`

// pages is the number of travellers who book at the same time.
const pages = 8

// servePages listens for webhooks, prints its address, and books and cancels for the rows of the table wishes.
func servePages(ctx context.Context, cfg config, db *sql.DB, journal *hotelstayssql.Journal) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	each := func(query string, do func(reference string) error) {
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			var reference string
			if err := db.QueryRowContext(ctx, query+` ORDER BY random() LIMIT 1`).Scan(&reference); err == nil {
				_ = do(reference) // an error is expected if another page was faster
			}
		}
	}
	for range pages {
		go each(`SELECT reference FROM wishes WHERE reference NOT IN (SELECT reference FROM bookings)`, func(reference string) error {
			req := cfg.Request(reference)
			_, err := book(ctx, journal, req)
			return err
		})
	}
	go each(`SELECT reference FROM bookings JOIN wishes USING (reference)
		WHERE cancelled AND state IN ('pending', 'found') AND cancellation IN ('', 'refused', 'standing')`, func(reference string) error {
		return cancel(ctx, journal, reference, cfg.Session, cfg.Offer.TotalRate.NetRate)
	})
	_ = http.Serve(listener, nil)
}

func TestServiceOfTheReadmeBooksAgainAfterAnAbsence(t *testing.T) {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	cfg := config{Account: bookingstest.NewPlan(t, srv, nil).Accounts[0]}
	client, err := hotelstays.New(srv.URL, cfg.credential())
	require.NoError(t, err)
	db, err := hotelstayssql.Open(t.Context(), "sqlite", filepath.Join(t.TempDir(), "service.db"), hotelstayssql.SQLite,
		&hotelstayssql.OpenOptions{Migrate: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	(&database{DB: db, dialect: hotelstayssql.SQLite}).exec(t, bookingsTable)
	journal, err := hotelstayssql.NewJournal(db, hotelstayssql.SQLite,
		hotelstayssql.JournalOptions{Client: client, OnOutcome: storeOutcome, Keys: cfg.keys()})
	require.NoError(t, err)
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultStatus, Status: 400, Code: types.CodeRateChanged})
	for _, want := range []hotelstays.BookingState{hotelstays.BookingAbsent, hotelstays.BookingFound} {
		outcome, err := book(t.Context(), journal, cfg.Request("ref"))
		require.NoError(t, err)
		assert.Equal(t, want, outcome.State)
	}
}

// No booking is lost or made twice, and no cancellation stays open. HOTELSTAYS_CHAOS_SEED sets the seed of faults and
// kills.
func TestServiceOfTheReadmeSurvivesKills(t *testing.T) {
	fleet := chaostest.Fleet{Bookings: 15, Kills: 5, Processes: 1, Seed: chaostest.Seed(), Logf: t.Logf}
	if testsize.Full() {
		fleet.Bookings, fleet.Kills = 300, 100
	}
	t.Logf("HOTELSTAYS_CHAOS_SEED=%d: %d bookings, %d kills", fleet.Seed, fleet.Bookings, fleet.Kills)
	var address atomic.Pointer[url.URL] // the address of the running process
	address.Store(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})
	sandbox := chaostest.Config(fleet.Seed)
	sandbox.ConfirmAfter = 3 * time.Minute / chaostest.Speed
	sandbox.Webhooks.CallbackHandler = &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(address.Load()); r.Out.URL.Path = "/hotel-events" },
		Transport:    &http.Transport{DisableKeepAlives: true},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	srv := hotelstaystest.NewServer(sandbox)
	defer srv.Close()
	chaostest.Inject(srv)
	for _, made := range []bool{true, false} {
		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpCancel, Kind: hotelstaystest.FaultCut, Commit: made, Probability: 0.1, Times: -1})
	}

	cfg := config{bookingstest.NewPlan(t, srv, nil).Accounts[0], srv.URL, filepath.Join(t.TempDir(), "service.db"), srv.WebhookSecret, 2 * time.Second}
	db, err := hotelstayssql.Open(t.Context(), "sqlite", cfg.File, hotelstayssql.SQLite, &hotelstayssql.OpenOptions{Migrate: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	d := &database{DB: db, dialect: hotelstayssql.SQLite}
	d.exec(t, `CREATE TABLE wishes (reference text PRIMARY KEY, cancelled boolean NOT NULL)`)
	d.exec(t, bookingsTable)
	d.exec(t, `CREATE TABLE outcomes (reference text NOT NULL, state text NOT NULL, at integer NOT NULL)`)
	d.exec(t, `CREATE TRIGGER outcome AFTER UPDATE OF state ON bookings BEGIN INSERT INTO outcomes VALUES
		(NEW.reference, NEW.state, CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)); END`)
	for i := range fleet.Bookings {
		d.exec(t, `INSERT INTO wishes VALUES (?, ?)`, fmt.Sprint("ref-", i), i%3 == 0)
	}

	fleet.Start = func(int) (*chaostest.Process, error) {
		p, err := chaostest.Start(part{Service: &cfg})
		if err != nil {
			return nil, err
		}
		host, err := p.Line()
		address.Store(&url.URL{Scheme: "http", Host: host})
		return p, err
	}
	fleet.Ended = func(ctx context.Context) (n int, err error) {
		err = db.QueryRowContext(ctx, `SELECT COUNT(*) FROM bookings JOIN wishes USING (reference) WHERE state <> 'pending'
			AND (state <> 'found' OR status = CASE WHEN cancelled THEN 3 ELSE 2 END) AND cancellation <> 'begun'`).Scan(&n)
		return n, err
	}
	fleet.Hurry = func(ctx context.Context, span time.Duration) {
		_ = journaltest.PassTime(ctx, db, hotelstayssql.SQLite, span, journaltest.PollsOnly)
	}
	start := time.Now()
	require.NoError(t, fleet.Survive(t.Context()))

	orders := map[string]string{}
	for _, o := range srv.Ledger().Orders() {
		orders[o.CustomerReferenceNo] = o.PlatformReferenceNo
	}
	begun, outcomes := map[string]int{}, []chaostest.Outcome(nil)
	rows, err := db.QueryContext(t.Context(), `SELECT reference, state, at FROM outcomes ORDER BY at`)
	require.NoError(t, err)
	for rows.Next() {
		o := chaostest.Outcome{Round: 1}
		var state durable.Ending
		var at int64
		require.NoError(t, rows.Scan(&o.Reference, &state, &at))
		if o.At = time.UnixMicro(at); state == durable.EndingFound {
			o.OrderNo = orders[o.Reference]
		}
		begun[o.Reference] = 1
		outcomes = append(outcomes, o)
	}
	require.NoError(t, rows.Err())
	assert.Len(t, begun, fleet.Bookings)
	assert.NoError(t, chaostest.Check(srv.Ledger(), begun, outcomes))
	for _, table := range []string{"hotelstays_journal", "hotelstays_cancels"} {
		assert.Zero(t, d.number(t, `SELECT COUNT(*) FROM `+table+` WHERE live = 1`), table)
	}
	cancelled := d.number(t, `SELECT COUNT(*) FROM bookings JOIN wishes USING (reference) WHERE cancelled AND state = 'found'`)
	assert.Len(t, srv.Ledger().Cancellations(), int(cancelled))
	t.Logf("%s: %d orders, %d of them cancelled, %d without an order", time.Since(start).Round(time.Second), len(orders), cancelled,
		fleet.Bookings-len(orders))
}
