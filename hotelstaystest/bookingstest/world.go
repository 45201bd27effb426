// Package bookingstest tests what a durable.Bookings promises, with a sandbox as the service: a
// booking is sent once, its outcome is found whatever is lost, and OnOutcome stores it once.
//
// [Test] has a case for each promise. [Survive] kills processes while they book, and [New] is for
// further tests. contrib/hotelstaysriver and the journal of contrib/hotelstayssql run them, each in its database.
//
// A recovery takes ten minutes. Its times are stored, so a test lets time pass by moving them back.
//
// This package is outside the compatibility promise: a minor version may change it.
package bookingstest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// Table creates the table that the caller of an implementation has.
const Table = `CREATE TABLE bookings (reference varchar(64) PRIMARY KEY, state varchar(16) NOT NULL,
	order_no varchar(64) NOT NULL, ended integer NOT NULL, cancel varchar(16) NOT NULL DEFAULT '', cancels integer NOT NULL DEFAULT 0,
	mirror varchar(64) NOT NULL DEFAULT '', changes integer NOT NULL DEFAULT 0)`

// Patience bounds what a test waits for.
const Patience = 30 * time.Second

// Key encrypts requests.
var Key = types.NewSecret("0123456789abcdef0123456789abcdef")

// Options configure the Bookings of a process.
type Options[Tx any] struct {
	Client      *hotelstays.Client
	Clients     func(account string) durable.BookingClient // instead of Client
	OnOutcome   func(context.Context, Tx, *hotelstays.BookingOutcome) error
	OnCancel    func(context.Context, Tx, *durable.Cancellation) error
	OnOrder     func(context.Context, Tx, *durable.OrderChange) error
	Keys        []types.Secret
	BookTimeout time.Duration
}

// Database is where an implementation and its caller store. Statements have ? for parameters.
type Database[Tx any] struct {
	// InTx calls a function in a transaction, and commits if it returns nil.
	InTx func(context.Context, func(Tx) error) error
	// Exec executes a statement, and returns how many rows it has changed.
	Exec func(ctx context.Context, tx Tx, statement string, args ...any) (int64, error)
	// QueryRow returns the only row of a query.
	QueryRow func(ctx context.Context, query string, args ...any) interface{ Scan(...any) error }
	// Query returns all rows of a query, which are then read to their end.
	Query func(ctx context.Context, query string, args ...any) (Rows, error)
}

// Numbered returns a statement with $1, $2 and so on for parameters, as PostgreSQL has them.
func Numbered(statement string) string {
	for i := 1; strings.Contains(statement, "?"); i++ {
		statement = strings.Replace(statement, "?", fmt.Sprint("$", i), 1)
	}
	return statement
}

// Rows are the rows of a query.
type Rows interface {
	Next() bool
	Scan(...any) error
	Err() error
}

// Fleet starts processes that share a database of one test.
type Fleet[Tx any] struct {
	Database[Tx]
	// Open opens the Bookings of one more process.
	Open func(Options[Tx]) durable.Bookings[Tx]
	// Work lets a process work on the bookings, until stop is called or the test ends.
	Work func(durable.Bookings[Tx]) (stop func())
	// Pass lets time pass for open bookings that no worker has.
	Pass func(time.Duration)
	// Stored returns the latest booking of a reference.
	Stored func(reference string) Booking
	// Cancellation returns the latest cancellation of a reference.
	Cancellation func(reference string) Cancellation
}

// Booking is what the tests have to know of the stored state of a booking.
type Booking struct {
	durable.Booking
	Round   int                  `json:"round,omitempty"`
	Earlier time.Time            `json:"earlier,omitzero"`
	Ending  durable.Ending       `json:"ending,omitempty"`
	Changes hotelstays.OfferDiff `json:"changes,omitzero"`
}

// Cancellation is what the tests have to know of the stored state of a cancellation.
type Cancellation struct {
	PlatformReferenceNo, SupplierReferenceNo string
	SendBy                                   time.Time
	Accepted                                 bool
	Ending                                   durable.CancelEnding
	Cost, ServiceFee                         *types.Money
}

// World is a sandbox, and a process of a fleet that books there.
type World[Tx any] struct {
	testing.TB
	*hotelstaystest.Server
	durable.Bookings[Tx]
	Fleet   Fleet[Tx]
	Options Options[Tx]
	Offer   hotelstays.BookRequest // without reference and guests
	Lives   bool                   // of Plan

	accounts []hotelstaystest.Account
	clients  []*hotelstays.Client // of the accounts
	opts     []hotelstays.Option  // of its clients
	ended    *sync.Map            // of the *durable.Cancellation that OnCancel has received last, by reference
}

// Faults of the sandbox.
var (
	BookLost    = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut}
	BookMade    = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true}
	BookRefused = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultStatus, Status: 200,
		Code: types.CodeRateChanged}
	NoPoll = hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 200,
		Code: 100009999, Times: -1}
)

// facts are the facts of the sandbox.
var facts = hotelstays.ServiceFacts{StatusMeanings: hotelstays.StatusMeanings{
	Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3}, Pending: []types.OrderStatus{4}}}

// New starts a sandbox, without rate limits unless the configuration has some, and a process.
func New[Tx any](t testing.TB, fleet Fleet[Tx], config ...hotelstaystest.Config) *World[Tx] {
	t.Helper()
	c := append(config, hotelstaystest.Config{})[0]
	c.NoRateLimits = c.RateLimits == nil
	w := &World[Tx]{TB: t, Fleet: fleet, ended: new(sync.Map)}
	if c.NoRateLimits {
		w.opts = []hotelstays.Option{hotelstays.WithRateLimiter(testkit.NoRateLimits{})}
	}
	c.Webhooks.CallbackHandler = http.HandlerFunc(w.receive)
	w.Server = hotelstaystest.NewServer(&c)
	t.Cleanup(w.Close)
	w.Options = Options[Tx]{OnOutcome: fleet.StoreRow, OnCancel: w.storeCancel, Keys: []types.Secret{Key}, BookTimeout: 10 * time.Second}
	w.SendThrough(w.Server.Client().Transport)
	if w.accounts = c.Accounts; w.accounts == nil {
		w.accounts = []hotelstaystest.Account{{AppKey: w.AppKey, AppSecret: w.AppSecret}}
	}
	for _, account := range w.accounts {
		client, err := w.Options.Client.WithCredential(
			hotelstays.TicketCredential{AppKey: account.AppKey, AppSecret: types.NewSecret(account.AppSecret)})
		require.NoError(t, err)
		w.clients = append(w.clients, client)
	}
	w.Offer = w.offer(w.Options.Client)
	return w
}

// offer returns an offer of the sandbox for the account of a client.
func (w *World[Tx]) offer(client *hotelstays.Client) hotelstays.BookRequest {
	w.Helper()
	list, err := client.HotelList(w.Context(), &hotelstays.HotelListRequest{
		DestinationName: w.CityName(0), MaxRatesPerHotel: 1,
		CheckIn: types.DateOf(time.Now().AddDate(0, 2, 0)), CheckOut: types.DateOf(time.Now().AddDate(0, 2, 2)),
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}},
	})
	require.NoError(w, err)
	hotel := slices.IndexFunc(list.List, func(h types.Hotel) bool { return len(h.Rooms) > 0 && len(h.Rooms[0].Rates) > 0 })
	require.NotEqual(w, -1, hotel, "the sandbox has no offer")
	rate := list.List[hotel].Rooms[0].Rates[0]
	return hotelstays.BookRequest{SessionID: list.Basic.SessionID, RatePkgID: rate.RatePkgID, Expect: &rate}
}

func (w *World[Tx]) storeCancel(ctx context.Context, tx Tx, c *durable.Cancellation) error {
	w.ended.Store(c.CustomerReferenceNo, c)
	return w.Fleet.StoreCancel(ctx, tx, c)
}

// cancelErr is the Err of the cancellation of a reference that has ended last.
func (w *World[Tx]) cancelErr(reference string) error {
	w.Helper()
	c, ended := w.ended.Load(reference)
	require.True(w, ended, "no cancellation of %s has ended", reference)
	return c.(*durable.Cancellation).Err
}

// SendThrough opens the process anew, with a client that sends through a transport.
func (w *World[Tx]) SendThrough(transport http.RoundTripper) {
	w.Helper()
	var err error
	w.Options.Client, err = Plan{URL: w.URL, AppKey: w.AppKey, AppSecret: w.AppSecret}.Client(transport, w.opts...)
	require.NoError(w, err)
	w.Bookings = w.Fleet.Open(w.Options)
}

// Another opens another process, with changed options.
func (w *World[Tx]) Another(change func(*Options[Tx])) *World[Tx] {
	other := *w
	if change != nil {
		change(&other.Options)
	}
	other.Bookings = w.Fleet.Open(other.Options)
	return &other
}

// Work lets the process work.
func (w *World[Tx]) Work() (stop func()) { return w.Fleet.Work(w.Bookings) }

// RequestOf books an offer under a reference. Each reference has its own guests.
func RequestOf(offer hotelstays.BookRequest, reference string) *hotelstays.BookRequest {
	offer.CustomerReferenceNo = reference
	name := strings.ToUpper(reference)
	offer.Holder = types.Holder{FirstName: "Guest", LastName: name}
	offer.Guests = []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: name, PassportNumber: types.NewSecret("P1234567")}}
	return &offer
}

// Request books the world's offer.
func (w *World[Tx]) Request(reference string) *hotelstays.BookRequest {
	return RequestOf(w.Offer, reference)
}

// BookElsewhere books an order that the process does not know of.
func (w *World[Tx]) BookElsewhere(reference string) {
	w.Helper()
	_, err := w.Options.Client.Book(w.Context(), w.Request(reference))
	require.NoError(w, err)
}

// addRow inserts the caller's row.
func (w *World[Tx]) addRow(ctx context.Context, tx Tx, reference string) error {
	_, err := w.Fleet.Exec(ctx, tx, `INSERT INTO bookings (reference, state, order_no, ended) VALUES (?, 'pending', '', 0)`, reference)
	return err
}

// AddRow commits the caller's row.
func (w *World[Tx]) AddRow(reference string) {
	w.Helper()
	require.NoError(w, w.Fleet.InTx(w.Context(), func(tx Tx) error { return w.addRow(w.Context(), tx, reference) }))
}

// Begin commits a booking together with the caller's row.
func (w *World[Tx]) Begin(reference string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), Patience)
	defer cancel()
	require.NoError(w, w.Fleet.InTx(ctx, func(tx Tx) error {
		if err := w.BeginTx(ctx, tx, w.Request(reference)); err != nil {
			return err
		}
		return w.addRow(ctx, tx, reference)
	}))
}

// BeginAlone commits a booking without a row, or whose row is there.
func (w *World[Tx]) BeginAlone(req *hotelstays.BookRequest, opts ...hotelstays.CallOption) error {
	return w.Fleet.InTx(w.Context(), func(tx Tx) error { return w.BeginTx(w.Context(), tx, req, opts...) })
}

// MustSend sends a booking, whose outcome is then known.
func (w *World[Tx]) MustSend(reference string, opts ...hotelstays.CallOption) *hotelstays.BookingOutcome {
	w.Helper()
	outcome, err := w.Send(w.Context(), reference, opts...)
	require.NoError(w, err)
	return outcome
}

// SendUnknown begins and sends a booking whose outcome stays unknown: no answer comes, and the
// polls fail.
func (w *World[Tx]) SendUnknown(reference string, fault hotelstaystest.Fault) {
	w.Helper()
	w.Begin(reference)
	w.Inject(fault)
	w.Inject(NoPoll)
	defer w.ClearFaults()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	polls := w.polls()
	go func() { // Send need not wait for its BookTimeout
		for w.polls() == polls && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	outcome, err := w.Send(ctx, reference)
	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(w, err, &unknown)
	require.Nil(w, outcome)
	require.Equal(w, reference, unknown.CustomerReferenceNo)
	require.Equal(w, Row{State: "pending"}, w.Row(reference))
}

func (w *World[Tx]) polls() int { return w.Ledger().Count(hotelstays.OpQueryOrders) }
func (w *World[Tx]) books() int { return w.Ledger().Count(hotelstays.OpBook) }

// OrdersMade returns how many orders the service has under each reference.
func (w *World[Tx]) OrdersMade() map[string]int {
	made := map[string]int{}
	for _, o := range w.Ledger().Orders() {
		made[o.CustomerReferenceNo]++
	}
	return made
}

// Row is a row of the caller's table.
type Row struct {
	State, Order string
	Ended        int
}

// Row returns the row of a reference.
func (w *World[Tx]) Row(reference string) (r Row) {
	w.Helper()
	w.scan(reference, "state, order_no, ended", &r.State, &r.Order, &r.Ended)
	return r
}

// scan reads columns of the row of a reference.
func (w *World[Tx]) scan(reference, columns string, into ...any) {
	w.Helper()
	require.NoError(w, w.Fleet.QueryRow(w.Context(), `SELECT `+columns+` FROM bookings WHERE reference = ?`, reference).Scan(into...))
}

// StoreRow is the caller's OnOutcome.
func (d Database[Tx]) StoreRow(ctx context.Context, tx Tx, outcome *hotelstays.BookingOutcome) error {
	order := ""
	if outcome.Order != nil {
		order = outcome.Order.PlatformReferenceNo
	}
	return d.update(ctx, tx, `state = ?, order_no = ?, ended = ended + 1 WHERE reference = ?`,
		string(durable.EndingOf(outcome)), order, outcome.Recovery.CustomerReferenceNo)
}

// StoreCancel is the caller's OnCancel.
func (d Database[Tx]) StoreCancel(ctx context.Context, tx Tx, c *durable.Cancellation) error {
	return d.update(ctx, tx, `cancel = ?, cancels = cancels + 1 WHERE reference = ?`, string(c.Ending), c.CustomerReferenceNo)
}

// StoreOrder is the caller's OnOrder. It refuses a change of another order than the one it has.
func (d Database[Tx]) StoreOrder(ctx context.Context, tx Tx, change *durable.OrderChange) error {
	return d.update(ctx, tx, `mirror = ?, changes = changes + 1 WHERE mirror IN (?, '') AND reference = ?`,
		mirrorOf(change.After), mirrorOf(change.Before), change.After.CustomerReferenceNo)
}

// update changes the row of the reference that is the last of args.
func (d Database[Tx]) update(ctx context.Context, tx Tx, set string, args ...any) error {
	n, err := d.Exec(ctx, tx, `UPDATE bookings SET `+set, args...)
	if err == nil && n != 1 {
		err = fmt.Errorf("%d rows of reference %s", n, args[len(args)-1])
	}
	return err
}

// mirrorOf is the status, and a digest of the whole order.
func mirrorOf(o *types.Order) string {
	text, _ := json.Marshal(o)
	return fmt.Sprintf("%d %x", o.Status, sha256.Sum256(text))[:40]
}

// Eventually waits until a condition holds.
func (w *World[Tx]) Eventually(what string, condition func() bool) {
	w.Helper()
	require.Eventually(w, condition, Patience, 10*time.Millisecond, what)
}

// PassUntil lets time pass in steps until a condition holds. What a worker has begun can be in vain
// after a step, so the pauses between them grow with the time that this takes, up to half a second.
func (w *World[Tx]) PassUntil(what string, step time.Duration, condition func() bool) {
	w.Helper()
	began, next := time.Now(), time.Time{}
	w.Eventually(what, func() bool {
		if condition() {
			return true
		}
		if step > 0 && time.Now().After(next) {
			w.Fleet.Pass(step)
			next = time.Now().Add(min(time.Since(began)/10, time.Second/2))
		}
		return false
	})
}

// HasState waits until the caller's row has a state, and lets time pass in steps.
func (w *World[Tx]) HasState(reference string, want durable.Ending, step time.Duration) {
	w.Helper()
	w.PassUntil(fmt.Sprintf("%s is %s", reference, want), step, func() bool { return w.Row(reference).State == string(want) })
}

// Held is an answer that is held back.
type Held struct {
	http.RoundTripper
	path      string
	once      sync.Once
	held, end chan struct{}
	// Release lets the answer pass.
	Release func()
	lose    bool // the answer, after all
}

// RoundTrip sends a request.
func (h *Held) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.RoundTripper.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, h.path) {
		h.once.Do(func() {
			close(h.held)
			<-h.end
			if h.lose {
				_ = resp.Body.Close()
				resp, err = nil, errors.New("the answer is lost")
			}
		})
	}
	return resp, err
}

// Wait waits until the service has answered.
func (h *Held) Wait() { <-h.held }

// Hold opens the process anew. It holds the next answer of a path back.
func (w *World[Tx]) Hold(path string) *Held {
	w.Helper()
	end := make(chan struct{})
	h := &Held{RoundTripper: w.Server.Client().Transport, path: path, held: make(chan struct{}), end: end,
		Release: sync.OnceFunc(func() { close(end) })}
	w.Cleanup(h.Release)
	w.SendThrough(h)
	return h
}
