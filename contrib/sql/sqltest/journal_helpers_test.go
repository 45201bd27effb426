// Helpers of the tests of the journal.
//
// A recovery takes ten minutes. Its times are plain data in the rows, so a test lets time pass
// by moving them back.

package sqltest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/contrib/sql/journaltest"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// journalKey encrypts requests in the tests.
var journalKey = types.NewSecret("0123456789abcdef0123456789abcdef")

// service is a sandbox and a client of it.
type service struct {
	*hotelstaystest.Server
	t      testing.TB
	client *hotelstays.Client
	offer  hotelstays.BookRequest // without reference and guests
}

// newService starts a sandbox, without rate limits unless the configuration has some.
func newService(t testing.TB, config ...hotelstaystest.Config) *service {
	t.Helper()
	c := append(config, hotelstaystest.Config{})[0]
	c.NoRateLimits = c.RateLimits == nil
	s := &service{Server: hotelstaystest.NewServer(&c), t: t}
	t.Cleanup(s.Close)
	s.sendThrough(s.Client().Transport)
	list, err := s.client.HotelList(t.Context(), &hotelstays.HotelListRequest{
		DestinationName: s.CityName(0), MaxRatesPerHotel: 1,
		CheckIn: types.DateOf(time.Now().AddDate(0, 2, 0)), CheckOut: types.DateOf(time.Now().AddDate(0, 2, 2)),
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}},
	})
	require.NoError(t, err)
	for _, hotel := range list.List {
		if len(hotel.Rooms) > 0 && len(hotel.Rooms[0].Rates) > 0 {
			rate := hotel.Rooms[0].Rates[0]
			s.offer = hotelstays.BookRequest{SessionID: list.Basic.SessionID, RatePkgID: rate.RatePkgID, Expect: &rate}
			return s
		}
	}
	t.Fatal("the sandbox has no offer")
	return nil
}

// sendThrough makes the journals that are opened from now on send through a transport.
func (s *service) sendThrough(transport http.RoundTripper) {
	s.t.Helper()
	var err error
	s.client, err = hotelstays.New(s.URL, hotelstays.TicketCredential{AppKey: s.AppKey, AppSecret: types.NewSecret(s.AppSecret)},
		hotelstays.WithHTTPClient(&http.Client{Transport: transport}))
	require.NoError(s.t, err)
}

// requestOf books an offer under a reference. Each reference has its own guests.
func requestOf(offer hotelstays.BookRequest, reference string) *hotelstays.BookRequest {
	offer.CustomerReferenceNo = reference
	name := strings.ToUpper(reference)
	offer.Holder = types.Holder{FirstName: "Guest", LastName: name}
	offer.Guests = []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: name, PassportNumber: types.NewSecret("P1234567")}}
	return &offer
}

// books is one process with a journal, and the caller's table.
type books struct {
	*hotelstayssql.Journal
	*service
	db *database
	t  *testing.T
}

// newBooks creates the caller's table and a journal.
func newBooks(t *testing.T, db *database, change func(*hotelstayssql.JournalOptions), config ...hotelstaystest.Config) *books {
	t.Helper()
	createBookings(t, db)
	b := &books{service: newService(t, config...), db: db, t: t}
	return b.another(change)
}

func createBookings(t *testing.T, db *database) {
	t.Helper()
	db.exec(t, `CREATE TABLE bookings (reference varchar(64) PRIMARY KEY, state varchar(16) NOT NULL, order_no varchar(64) NOT NULL, ended integer NOT NULL)`)
}

// another returns another process with the same database and service.
func (b *books) another(change func(*hotelstayssql.JournalOptions)) *books {
	b.t.Helper()
	return b.through(b.db.open(b.t), change)
}

// through returns another process with a pool.
func (b *books) through(pool *sql.DB, change func(*hotelstayssql.JournalOptions)) *books {
	b.t.Helper()
	other := *b
	opts := hotelstayssql.JournalOptions{OnOutcome: b.db.storeRow, Keys: []types.Secret{journalKey},
		BookTimeout: 10 * time.Second, PollInterval: 20 * time.Millisecond}
	if change != nil {
		change(&opts)
	}
	var err error
	other.Journal, err = hotelstayssql.NewJournal(pool, b.db.dialect, b.client, opts)
	require.NoError(b.t, err)
	return &other
}

// storeRow is the caller's OnOutcome.
func (d *database) storeRow(ctx context.Context, tx *sql.Tx, o *hotelstays.BookingOutcome) error {
	order := ""
	if o.Order != nil {
		order = o.Order.PlatformReferenceNo
	}
	done, err := tx.ExecContext(ctx, d.translate(`UPDATE bookings SET state = ?, order_no = ?, ended = ended + 1 WHERE reference = ?`),
		string(durable.EndingOf(o)), order, o.Recovery.CustomerReferenceNo)
	if err != nil {
		return err
	}
	n, err := done.RowsAffected()
	if err == nil && n != 1 {
		err = fmt.Errorf("%d rows of reference %s", n, o.Recovery.CustomerReferenceNo)
	}
	return err
}

func (b *books) request(reference string) *hotelstays.BookRequest {
	return requestOf(b.offer, reference)
}

// addRow inserts the caller's row.
func (b *books) addRow(reference string) {
	b.t.Helper()
	b.db.exec(b.t, `INSERT INTO bookings (reference, state, order_no, ended) VALUES (?, 'pending', '', 0)`, reference)
}

// begin commits a booking's row together with its entry in the journal.
func (b *books) begin(reference string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	tx, err := b.db.BeginTx(ctx, nil)
	require.NoError(b.t, err)
	_, err = tx.ExecContext(ctx, b.db.translate(`INSERT INTO bookings (reference, state, order_no, ended) VALUES (?, 'pending', '', 0)`),
		reference)
	require.NoError(b.t, err)
	require.NoError(b.t, b.BeginTx(ctx, tx, b.request(reference)))
	require.NoError(b.t, tx.Commit())
}

// beginAgain begins another round of a booking.
func (b *books) beginAgain(req *hotelstays.BookRequest) error {
	b.t.Helper()
	tx, err := b.db.BeginTx(b.t.Context(), nil)
	require.NoError(b.t, err)
	if err := b.BeginTx(b.t.Context(), tx, req); err != nil {
		require.NoError(b.t, tx.Rollback())
		return err
	}
	return tx.Commit()
}

// run starts Run, and returns a function that stops it.
func (b *books) run() (stop func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		assert.NoError(b.t, b.Run(ctx))
	}()
	stop = func() { cancel(); <-done }
	b.t.Cleanup(stop)
	return stop
}

// callerRow is a row of the caller's table.
type callerRow struct {
	State, Order string
	Ended        int
}

func (b *books) row(reference string) (r callerRow) {
	b.t.Helper()
	require.NoError(b.t, b.db.QueryRowContext(b.t.Context(), b.db.translate(`SELECT state, order_no, ended FROM bookings WHERE reference = ?`),
		reference).Scan(&r.State, &r.Order, &r.Ended))
	return r
}

// stored returns a booking from the journal's table.
func (b *books) stored(reference string) (booking durable.Booking) {
	b.t.Helper()
	var text []byte
	var due int64
	require.NoError(b.t, b.db.QueryRowContext(b.t.Context(), b.db.translate(`SELECT booking, due FROM hotelstays_journal WHERE reference = ?`),
		[]byte(reference)).Scan(&text, &due))
	require.NoError(b.t, json.Unmarshal(text, &booking))
	booking.Due = time.UnixMicro(due)
	return booking
}

// sealed returns the stored request of a booking.
func (b *books) sealed(reference string) (request []byte) {
	b.t.Helper()
	require.NoError(b.t, b.db.QueryRowContext(b.t.Context(), b.db.translate(`SELECT request FROM hotelstays_journal WHERE reference = ?`),
		[]byte(reference)).Scan(&request))
	return request
}

// pass lets time pass for the bookings of the journal.
func (b *books) pass(span time.Duration) {
	b.t.Helper()
	require.NoError(b.t, journaltest.PassTime(b.t.Context(), b.db.DB, b.db.dialect, span, nil))
}

// fill stores many bookings whose Book has ended long ago with an unknown outcome.
func (b *books) fill(n int, change func(i int, booking *durable.Booking)) {
	b.t.Helper()
	tx, err := b.db.BeginTx(b.t.Context(), nil)
	require.NoError(b.t, err)
	const rows = 100
	for from := 0; from < n; from += rows {
		var values []string
		var args []any
		for i := from; i < min(from+rows, n); i++ {
			recovery := *b.client.NewBookingRecovery(b.request(fmt.Sprintf("many-%06d", i)))
			recovery.EndedAt = time.Now().Add(-time.Minute).UTC()
			recovery.NextPoll = recovery.EndedAt
			booking := durable.New(recovery, time.Time{})
			if change != nil {
				change(i, &booking)
			}
			text, err := json.Marshal(booking)
			require.NoError(b.t, err)
			values = append(values, "(?, ?, 1, 1, ?, ?)")
			args = append(args, []byte(recovery.Fingerprint), []byte(recovery.CustomerReferenceNo), booking.Due.UnixMicro(), text)
		}
		_, err := tx.ExecContext(b.t.Context(), b.db.translate(
			`INSERT INTO hotelstays_journal (account, reference, fence, live, due, booking) VALUES `+strings.Join(values, ", ")), args...)
		require.NoError(b.t, err)
	}
	require.NoError(b.t, tx.Commit())
}

// fillBooked is fill with the caller's rows, and with orders.
func (b *books) fillBooked(n int, change func(i int, booking *durable.Booking)) {
	b.t.Helper()
	b.fill(n, change)
	for i := range n {
		reference := fmt.Sprintf("many-%06d", i)
		b.addRow(reference)
		_, err := b.client.Book(b.t.Context(), b.request(reference))
		require.NoError(b.t, err)
	}
}

func (b *books) eventually(what string, condition func() bool) {
	b.t.Helper()
	require.Eventually(b.t, condition, patience, 10*time.Millisecond, what)
}

// hasState waits until the caller's row has a state, and lets time pass in steps.
func (b *books) hasState(reference string, want durable.Ending, step time.Duration) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("%s is %s", reference, want), func() bool {
		if b.row(reference).State == string(want) {
			return true
		}
		if step > 0 {
			b.pass(step)
		}
		return false
	})
}

var (
	bookLost    = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut}
	bookMade    = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true}
	bookRefused = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultStatus, Status: 200,
		Code: types.CodeRateChanged}
	noPoll = hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 200,
		Code: 100009999, Times: -1}
)

// sendUnknown makes a booking with an unknown outcome: no answer comes, and the polls fail.
func (b *books) sendUnknown(reference string, fault hotelstaystest.Fault) {
	b.t.Helper()
	b.begin(reference)
	b.Inject(fault)
	b.Inject(noPoll)
	defer b.ClearFaults()
	ctx, cancel := context.WithCancel(b.t.Context())
	polls := b.Ledger().Count(hotelstays.OpQueryOrders)
	go func() { // Send need not wait for its BookTimeout
		for b.Ledger().Count(hotelstays.OpQueryOrders) == polls && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	outcome, err := b.Send(ctx, reference)
	cancel()
	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(b.t, err, &unknown)
	require.Nil(b.t, outcome)
	require.Equal(b.t, reference, unknown.CustomerReferenceNo)
	require.Equal(b.t, callerRow{State: "pending"}, b.row(reference))
}

// bookingsMade returns how many orders the service has under each reference.
func (s *service) bookingsMade() map[string]int {
	made := map[string]int{}
	for _, o := range s.Ledger().Orders() {
		made[o.CustomerReferenceNo]++
	}
	return made
}
