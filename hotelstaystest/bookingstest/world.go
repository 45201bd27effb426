// Package bookingstest tests the promises of an implementation of durable.Bookings, with a sandbox as the service. The
// implementation must commit and lock bookings, find them again and deliver their outcomes, even if processes, answers
// or transactions fail.
//
// [Test] has a case for each promise. [World.Survive] kills processes while they book, and [New] is for
// further tests. contrib/hotelstaysriver and the journal of contrib/hotelstayssql run these tests in their databases.
//
// A recovery takes ten minutes. Its times are stored, so a test makes time pass by moving the stored times back.
//
// This package is outside the compatibility promise: a minor version may change it.
package bookingstest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// Patience is the maximum time of each wait in a test.
const Patience = 30 * time.Second

// Key is the key with which an implementation under test encrypts stored requests.
var Key = types.NewSecret("0123456789abcdef0123456789abcdef")

// Fleet starts the processes of one test. They share one database.
type Fleet[Tx any] struct {
	Database[Tx]
	// Open opens the Bookings of one more process.
	Open func(durable.Options[Tx]) durable.Bookings[Tx]
	// Work starts the workers of a process. They run until stop is called or the test ends.
	Work func(durable.Bookings[Tx]) (stop func())
	// Pass moves the times of the open bookings, cancellations and followed orders back, as if time had passed. Pass may
	// leave out rows on which a worker works.
	Pass func(time.Duration)
	// Stored returns the latest booking of a reference.
	Stored func(reference string) Booking
	// Cancellation returns the latest cancellation of a reference.
	Cancellation func(reference string) Cancellation
}

// Booking holds the fields of a stored booking that the tests need.
type Booking struct {
	durable.Booking
	Round   int                  `json:"round,omitempty"`
	Earlier time.Time            `json:"earlier,omitzero"`
	Ending  durable.Ending       `json:"ending,omitempty"`
	Changes hotelstays.OfferDiff `json:"changes,omitzero"`
}

// Cancellation holds the fields of a stored cancellation that the tests need.
type Cancellation struct {
	SendBy           time.Time
	Ending           durable.CancelEnding
	Cost, ServiceFee *types.Money
}

// Plan holds the URL of a sandbox, and its accounts with their offers.
type Plan struct {
	BaseURL  string
	Accounts []Account
}

// Account is an account of a sandbox, with an offer that it can book.
type Account struct {
	hotelstaystest.Account
	Session string
	Offer   types.RoomRatePkg
}

// Request returns a request that books the offer under a reference. The guest's name is made from the reference.
func (a Account) Request(reference string) *hotelstays.BookRequest {
	name := strings.ToUpper(reference)
	return &hotelstays.BookRequest{CustomerReferenceNo: reference, SessionID: a.Session, RatePkgID: a.Offer.RatePkgID, Expect: &a.Offer,
		Holder: types.Holder{FirstName: "Guest", LastName: name},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: name, PassportNumber: types.NewSecret("P1234567")}}}
}

// Accounts returns n accounts for the configuration of a sandbox.
func Accounts(n int) (accounts []hotelstaystest.Account) {
	for i := range n {
		accounts = append(accounts, hotelstaystest.Account{AppKey: fmt.Sprint("key-", i), AppSecret: fmt.Sprint("secret-", i)})
	}
	return accounts
}

// NewPlan returns a plan for accounts of a sandbox. If accounts is nil, the plan has the only account of the sandbox.
func NewPlan(t testing.TB, srv *hotelstaystest.Server, accounts []hotelstaystest.Account) Plan {
	t.Helper()
	if accounts == nil {
		accounts = []hotelstaystest.Account{{AppKey: srv.AppKey, AppSecret: srv.AppSecret}}
	}
	p := Plan{BaseURL: srv.URL}
	for _, account := range accounts {
		p.Accounts = append(p.Accounts, Account{Account: account})
	}
	clients, err := p.Connect(srv.Client().Transport)
	require.NoError(t, err)
	for i := range p.Accounts {
		list, err := clients[i].HotelList(t.Context(), &hotelstays.HotelListRequest{
			DestinationName: srv.CityName(0), MaxRatesPerHotel: 1, RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}},
			CheckIn: types.DateOf(time.Now().AddDate(0, 2, 0)), CheckOut: types.DateOf(time.Now().AddDate(0, 2, 2)),
		})
		require.NoError(t, err)
		hotel := slices.IndexFunc(list.List, func(h types.Hotel) bool { return len(h.Rooms) > 0 && len(h.Rooms[0].Rates) > 0 })
		require.NotEqual(t, -1, hotel, "the sandbox has no offer")
		p.Accounts[i].Session, p.Accounts[i].Offer = list.Basic.SessionID, list.List[hotel].Rooms[0].Rates[0]
	}
	return p
}

// Connect returns a client for each account. The clients share rate limits, and send through transport.
func (p Plan) Connect(transport http.RoundTripper, opts ...hotelstays.Option) (clients []*hotelstays.Client, err error) {
	opts = append(opts, hotelstays.WithHTTPClient(&http.Client{Transport: transport}), hotelstays.WithServiceFacts(hotelstays.ServiceFacts{
		StatusMeanings: hotelstays.StatusMeanings{ // the status numbers of the sandbox
			Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3}, Pending: []types.OrderStatus{4}}}))
	for i, account := range p.Accounts {
		var client *hotelstays.Client
		credential := hotelstays.TicketCredential{AppKey: account.AppKey, AppSecret: types.NewSecret(account.AppSecret)}
		if i == 0 {
			client, err = hotelstays.New(p.BaseURL, credential, opts...)
		} else {
			client, err = clients[0].WithCredential(credential)
		}
		if err != nil {
			return nil, err
		}
		clients = append(clients, client)
	}
	return clients, nil
}

// World is a sandbox, and one process of a fleet that books there with the first account.
type World[Tx any] struct {
	testing.TB
	*hotelstaystest.Server
	durable.Bookings[Tx]
	Plan
	Fleet   Fleet[Tx]
	Options durable.Options[Tx]
	Clients []*hotelstays.Client // one client for each account

	opts []hotelstays.Option
}

// Faults of the sandbox, for [World.SendUnknown] and Inject.
var (
	BookLost    = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut}
	BookMade    = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true}
	BookRefused = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultStatus, Status: 200,
		Code: types.CodeRateChanged}
	NoPoll = hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 200,
		Code: 100009999, Times: -1}
)

// New starts a sandbox and opens one process. The sandbox has rate limits only if the configuration sets them.
func New[Tx any](t testing.TB, fleet Fleet[Tx], config ...hotelstaystest.Config) *World[Tx] {
	t.Helper()
	c := append(config, hotelstaystest.Config{})[0]
	c.NoRateLimits = c.RateLimits == nil
	w := &World[Tx]{TB: t, Fleet: fleet}
	if c.NoRateLimits {
		w.opts = []hotelstays.Option{hotelstays.WithRateLimiter(testkit.NoRateLimits{})}
	}
	c.Webhooks.CallbackHandler = http.HandlerFunc(w.receive)
	w.Server = hotelstaystest.NewServer(&c)
	t.Cleanup(w.Close)
	w.Plan = NewPlan(t, w.Server, c.Accounts)
	w.Options = durable.Options[Tx]{OnOutcome: fleet.StoreRow, OnCancel: fleet.StoreCancel, Keys: []types.Secret{Key},
		BookTimeout: 10 * time.Second}
	w.SendThrough(w.Server.Client().Transport)
	return w
}

// SendThrough replaces the process by a new process, whose clients send through a transport.
func (w *World[Tx]) SendThrough(transport http.RoundTripper) {
	w.Helper()
	var err error
	w.Clients, err = w.Connect(transport, w.opts...)
	require.NoError(w, err)
	w.Options.Client = w.Clients[0]
	w.Bookings = w.Fleet.Open(w.Options)
}

// Another opens one more process with the options of w. The function change, if not nil, can modify these options.
func (w *World[Tx]) Another(change func(*durable.Options[Tx])) *World[Tx] {
	other := *w
	if change != nil {
		change(&other.Options)
	}
	other.Bookings = w.Fleet.Open(other.Options)
	return &other
}

// Work starts the workers of the process. They run until stop is called or the test ends.
func (w *World[Tx]) Work() (stop func()) { return w.Fleet.Work(w.Bookings) }

// Request returns a request that books the offer of the first account.
func (w *World[Tx]) Request(reference string) *hotelstays.BookRequest {
	return w.Accounts[0].Request(reference)
}

// BookElsewhere makes an order without the process, by a direct call of Book.
func (w *World[Tx]) BookElsewhere(reference string) {
	w.Helper()
	_, err := w.Clients[0].Book(w.Context(), w.Request(reference))
	require.NoError(w, err)
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

// BeginAlone commits a booking without adding the caller's row.
func (w *World[Tx]) BeginAlone(req *hotelstays.BookRequest, opts ...hotelstays.CallOption) error {
	return w.Fleet.InTx(w.Context(), func(tx Tx) error { return w.BeginTx(w.Context(), tx, req, opts...) })
}

// MustSend sends a booking, and requires that Send returns its outcome.
func (w *World[Tx]) MustSend(reference string, opts ...hotelstays.CallOption) *hotelstays.BookingOutcome {
	w.Helper()
	outcome, err := w.Send(w.Context(), reference, opts...)
	require.NoError(w, err)
	return outcome
}

// Booked books each reference.
func (w *World[Tx]) Booked(references ...string) {
	w.Helper()
	for _, reference := range references {
		w.Begin(reference)
		w.MustSend(reference)
	}
}

// SendUnknown begins and sends a booking whose outcome stays unknown: the answer to Book is lost, and the
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
	go func() { // ends Send after the first poll, because Send would otherwise wait for BookTimeout
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

// CancelAlone commits a cancellation without changing the caller's row.
func (w *World[Tx]) CancelAlone(reference string, change func(*durable.CancelOrder), opts ...hotelstays.CallOption) error {
	req := durable.CancelOrder{CustomerReferenceNo: reference, SessionID: w.Accounts[0].Session}
	if change != nil {
		change(&req)
	}
	return w.Fleet.InTx(w.Context(), func(tx Tx) error { return w.CancelTx(w.Context(), tx, req, opts...) })
}

func (w *World[Tx]) polls() int   { return w.Ledger().Count(hotelstays.OpQueryOrders) }
func (w *World[Tx]) books() int   { return w.Ledger().Count(hotelstays.OpBook) }
func (w *World[Tx]) cancels() int { return w.Ledger().Count(hotelstays.OpCancel) }

// OrdersMade returns the number of orders that the service has under each reference.
func (w *World[Tx]) OrdersMade() map[string]int {
	made := map[string]int{}
	for _, o := range w.Ledger().Orders() {
		made[o.CustomerReferenceNo]++
	}
	return made
}

// Eventually waits until a condition holds.
func (w *World[Tx]) Eventually(what string, condition func() bool) {
	w.Helper()
	require.Eventually(w, condition, Patience, 10*time.Millisecond, what)
}

// PassUntil makes time pass in steps until a condition holds. A step can change a row on which a worker works, so that
// the worker's result is lost. So the pauses between the steps grow, up to half a second.
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

// HasState waits until the caller's row has a state. Meanwhile it makes time pass in steps.
func (w *World[Tx]) HasState(reference string, want durable.Ending, step time.Duration) {
	w.Helper()
	w.PassUntil(fmt.Sprintf("%s is %s", reference, want), step, func() bool { return w.Row(reference).State == string(want) })
}

// CancelEnds waits until the caller's row has the ending want. The parameter times is how many calls of OnCancel must have
// succeeded until then. Meanwhile CancelEnds makes time pass in steps.
func (w *World[Tx]) CancelEnds(reference string, want durable.CancelEnding, times int, step time.Duration) {
	w.Helper()
	w.PassUntil(fmt.Sprintf("the cancellation of %s is %s", reference, want), step, func() bool {
		var ending string
		var n int
		w.scan(reference, "cancel, cancels", &ending, &n)
		assert.LessOrEqual(w, n, times)
		return n == times && ending == string(want)
	})
}

// Held is a transport that holds back one answer.
type Held struct {
	http.RoundTripper
	path      string
	once      sync.Once
	held, end chan struct{}
	// Release passes the answer on to the client.
	Release func()
	lose    bool // whether the client gets an error instead of the answer
}

// RoundTrip sends a request. It holds back the answer if the request's path matches.
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

// Hold replaces the process by a new process, and holds back the next answer from a path.
func (w *World[Tx]) Hold(path string) *Held {
	w.Helper()
	end := make(chan struct{})
	h := &Held{RoundTripper: w.Server.Client().Transport, path: path, held: make(chan struct{}), end: end,
		Release: sync.OnceFunc(func() { close(end) })}
	w.Cleanup(h.Release)
	w.SendThrough(h)
	return h
}
