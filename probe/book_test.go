package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/types"
)

func eur(amount json.Number) types.Money { return types.Money{Currency: "EUR", Amount: amount} }

// bookingRun is a run with Config.Booking, in a synctest bubble with its sandbox.
type bookingRun struct {
	sandbox hotelstaystest.Config
	fault   fault
	change  func(*Config)
	ctx     context.Context // default: the context of the test
	panics  any             // text of the expected panic of Run, if any
	after   func(t *testing.T, srv *hotelstaystest.Server, cfg Config)
}

func (b bookingRun) run(t *testing.T) (report *Report, err error) {
	t.Helper()
	journal := filepath.Join(t.TempDir(), "journal")
	synctest.Test(t, func(t *testing.T) {
		callback := &Callback{URL: "https://callback.example.com/events", Secrets: []types.Secret{types.NewSecret("a-webhook-secret")}}
		b.sandbox.Webhooks.StrictCallbacks, b.sandbox.Webhooks.CallbackHandler = true, b.fault.beforeCallback(callback)
		b.sandbox.Webhooks.Secret = "a-webhook-secret"
		cfg, srv := sandboxed(t, b.sandbox, b.fault)
		cfg.Only, cfg.Share = []string{"book", "order", "voucher", "cancel", "webhook"}, 1
		cfg.Booking = &Booking{MaxTotal: eur("2000"), Journal: journal, Callback: callback}
		if b.change != nil {
			b.change(&cfg)
		}
		ctx := b.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		func() {
			defer func() { assert.Contains(t, fmt.Sprint(recover()), fmt.Sprint(b.panics)) }()
			report, err = Run(ctx, cfg)
		}()
		if b.after != nil {
			b.after(t, srv, cfg)
		}
	})
	return report, err
}

// noneIsOpen requires that each order is cancelled, and returns the number of orders.
func noneIsOpen(t *testing.T, srv *hotelstaystest.Server) int {
	t.Helper()
	for _, o := range srv.Ledger().Orders() {
		assert.Equal(t, srv.Config().Variants.OrderStatusNumbers.Cancelled, o.Status, o.CustomerReferenceNo)
	}
	return len(srv.Ledger().Orders())
}

// noneIsLeft is noneIsOpen for bookingRun.after.
func noneIsLeft(t *testing.T, srv *hotelstaystest.Server, _ Config) { noneIsOpen(t, srv) }

// leaves returns a function for bookingRun.after, which requires n orders, all of them cancelled.
func leaves(n int) func(*testing.T, *hotelstaystest.Server, Config) {
	return func(t *testing.T, srv *hotelstaystest.Server, _ Config) { assert.Equal(t, n, noneIsOpen(t, srv)) }
}

func TestNoBookingRuleIsBrokenByTheSandbox(t *testing.T) {
	report, err := bookingRun{after: func(t *testing.T, srv *hotelstaystest.Server, cfg Config) {
		assert.Equal(t, 3, noneIsOpen(t, srv))
		for _, c := range srv.Ledger().Cancellations() {
			assert.Equal(t, "0.00 EUR", c.ServiceFee)
		}
		entries, err := Cleanup(t.Context(), cfg)
		require.NoError(t, err)
		for _, e := range entries {
			assert.Contains(t, []EntryState{EntryCancelled, EntryAbsent}, e.State)
		}
	}}.run(t)
	require.NoError(t, err)
	for _, result := range report.Results {
		if result.State == NotTried && isJudged(result) {
			continue
		}
		assert.Contains(t, []State{Held, Found}, result.State, "%s: %s", result.Name, result.Reason)
		assert.NotEmpty(t, result.Evidence, result.Rule)
	}
	for rule, found := range map[string]string{
		"voucher/host": "http://127.0.0.1",
		"webhook/delivered": "order_created order_created order_paid order_modified order_cancelled; " +
			"members: customerReferenceNo event eventTime hotelConfirmNo; Content-Type: application/json",
	} {
		assert.Equal(t, found, report.result(t, rule).Found)
	}
	text, err := json.Marshal(report)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "/vouchers/V") // links to documents are secret
	assert.NotContains(t, string(text), longestPassport)
}

func TestRunFindsTheMeaningOfEachOrderStatus(t *testing.T) {
	portion := testsize.PortionOf(t, 2, 4) // with -short only the last variant, whose status numbers differ from the defaults
	for variant := range testsize.SomeOf(portion, []hotelstaystest.Variants{
		{}, {NullOrders: true}, {OrderStatusNumbers: hotelstaystest.OrderStatusNumbers{Confirmed: 5, Cancelled: 2, Pending: 3}},
		{BusinessFailureStatus: http.StatusConflict, NullOrders: true,
			OrderStatusNumbers: hotelstaystest.OrderStatusNumbers{Confirmed: 3, Cancelled: 5, Pending: 2}},
	}) {
		var numbers hotelstaystest.OrderStatusNumbers
		sandbox := hotelstaystest.Config{Variants: variant}
		report, err := bookingRun{sandbox: sandbox, after: func(t *testing.T, srv *hotelstaystest.Server, _ Config) {
			numbers = srv.Config().Variants.OrderStatusNumbers
			assert.Equal(t, 3, noneIsOpen(t, srv))
		}}.run(t)
		require.NoError(t, err)
		assert.Empty(t, report.broken())
		assert.Equal(t, hotelstays.ServiceFacts{NullOrders: variant.NullOrders, StatusMeanings: hotelstays.StatusMeanings{
			Confirmed: []types.OrderStatus{numbers.Confirmed}, Cancelled: []types.OrderStatus{numbers.Cancelled}}}, report.Facts)
	}
}

func TestWrongStatusMeaningsInTheFactsBreakARule(t *testing.T) {
	known := hotelstays.ServiceFacts{StatusMeanings: hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{3},
		Pending: []types.OrderStatus{2}}}
	report, err := bookingRun{change: func(c *Config) { c.Facts, c.Only = &known, []string{"order/confirmed", "order/cancelled"} }}.run(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"order/confirmed", "order/cancelled"}, report.broken())
	assert.Equal(t, hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{2}, Pending: []types.OrderStatus{},
		Cancelled: []types.OrderStatus{3}}, report.Facts.StatusMeanings)
	assert.Equal(t, []types.OrderStatus{3}, known.StatusMeanings.Confirmed)
}

// A code is added to ServiceFacts.RefusalCodes only if the refused Book left no order.
func TestRunFindsTheCodeOfARefusal(t *testing.T) {
	refusal := fault{op: opBook, told: answers(types.CodeParam, refused(200, 100009999))}
	report, err := bookingRun{fault: refusal, change: only("book/gender")}.run(t)
	require.NoError(t, err)
	assert.Equal(t, "HTTP 200 with code 100009999", report.result(t, "book/gender").Found)
	assert.Equal(t, map[hotelstays.Operation][]int{hotelstays.OpBook: {100009999}}, report.Facts.RefusalCodes)
}

// Cleanup refuses the journal even if all its bookings are cancelled, because a late order may still appear.
func TestCleanupRefusesAJournalOfAnotherAccount(t *testing.T) {
	_, err := bookingRun{change: only("book/price"),
		after: func(t *testing.T, _ *hotelstaystest.Server, cfg Config) {
			other, _ := testkit.NewSandbox(t, hotelstaystest.Config{Accounts: []hotelstaystest.Account{{AppKey: "other", AppSecret: "another"}}})
			cfg.BaseURL, cfg.Credential, cfg.HTTPClient = other.URL, testkit.TicketOf(other), other.Client()
			_, err := Cleanup(t.Context(), cfg)
			assert.ErrorContains(t, err, "another environment or account")
			other.Client().CloseIdleConnections()
		}}.run(t)
	require.NoError(t, err)
}

func TestOfferThatMayCostTooMuchIsNotBooked(t *testing.T) {
	portion := testsize.PortionOf(t, 5, 11)
	steps := func(first string) []any { // the fee is 0 until first, 5 EUR until 20:00, and then 0
		step := func(until string, fee int) obj {
			return obj{"until": until, "fee": obj{"currency": "EUR", "amount": fee}}
		}
		return []any{step(first, 0), step("2000-01-01T20:00:00Z", 5), step("2000-02-01T12:00:00Z", 0)}
	}
	for name, test := range map[string]struct {
		checked bool // only CheckAvail returns this value
		path    string
		value   any
		says    string
	}{
		"a net rate in another currency":        {false, "totalRate.netRate.currency", "USD", "currencies"},
		"a gross rate in another currency":      {false, "totalRate.grossRate", obj{"currency": "USD", "amount": 9}, "currencies"},
		"a gross rate above the limit":          {false, "totalRate.grossRate", obj{"currency": "EUR", "amount": 9999}, "2000 EUR is left"},
		"taxes above the limit":                 {false, "tax.total.amount", 9999, "2000 EUR is left"},
		"tax items above the limit":             {false, "tax", taxed(obj{"amount": obj{"currency": "EUR", "amount": 9999}}), "2000 EUR is left"},
		"a tax without an amount":               {false, "tax", taxed(obj{"taxName": "city"}), "has no amount"},
		"a negative price":                      {false, "totalRate.netRate.amount", -9, "the price of the offer is invalid: -9 EUR"},
		"a negative tax":                        {false, "tax.total.amount", -9, "a tax of the offer is invalid: -9 EUR"},
		"no price":                              {false, "totalRate.netRate.amount", nil, "the price of the offer is invalid: no amount"},
		"a price that changes at CheckAvail":    {true, "totalRate.netRate.amount", 2001, "2000 EUR is left"},
		"a currency that changes at CheckAvail": {true, "totalRate.netRate.currency", "JPY", "currencies"},
		"a fee that only CheckAvail returns":    {true, "cancelFees", steps("1999-01-01T00:00:00Z"), "refundableMode is full"},
		"free cancellation until tonight":       {false, "refundableUntil", "2000-01-01T20:00:00Z", "refundable only until"},
		"a fee between now and tomorrow":        {false, "cancelFees", steps("2000-01-01T12:00:00Z"), "refundableMode is full"},
		"a deadline without a time zone":        {false, "refundableUntil", "2000-02-01T00:00:00", "UTC offset"},
		"no free cancellation":                  {false, "refundableMode", "partial", "no offer can be cancelled free of charge"},
	} {
		if !portion.Next() {
			continue
		}
		changed := fault{told: func(a *reply) {
			if sets("roomRatePkg."+test.path, test.value)(a); !test.checked {
				sets("list.rooms.rates."+test.path, test.value)(a)
			}
		}}
		notBooked(t, name, bookingRun{fault: changed}, test.says)
	}
	notBooked(t, "a limit below the price", bookingRun{change: func(c *Config) { c.Booking.MaxTotal = eur("60") }}, "60 EUR is left")
	notBooked(t, "a service whose clock is two months ahead", bookingRun{fault: fault{told: func(a *reply) {
		a.header.Set("Date", time.Now().AddDate(0, 2, 0).UTC().Format(http.TimeFormat))
	}}}, "refundable only until")
	for _, lacks := range []types.Scope{types.ScopeBookingCancel, types.ScopeBookingRead} {
		scopes := slices.DeleteFunc([]types.Scope{types.ScopeSearchRead, types.ScopeContentRead, types.ScopeBookingRead, types.ScopeBookingWrite,
			types.ScopeBookingCancel}, func(s types.Scope) bool { return s == lacks })
		notBooked(t, "an account without the scope "+string(lacks),
			bookingRun{sandbox: hotelstaystest.Config{TicketScopes: scopes}}, "the account may not")
	}
}

func taxed(item obj) obj { return obj{"items": []any{item}} }

func notBooked(t *testing.T, name string, b bookingRun, says string) {
	t.Helper()
	b.after = func(t *testing.T, srv *hotelstaystest.Server, _ Config) {
		assert.Zero(t, srv.Ledger().Count(hotelstays.OpBook), name)
	}
	report, err := b.run(t)
	require.NoError(t, err, name)
	assert.Equal(t, NotTried, report.result(t, "book/price").State, name)
	assert.Contains(t, report.result(t, "book/price").Reason, says, name)
}

// If the answer to Book has a higher price than the offer, the higher price counts.
func TestMaxTotalLimitsAllBookingsTogether(t *testing.T) {
	var price types.Money
	_, err := bookingRun{change: only("book/price"),
		after: func(t *testing.T, _ *hotelstaystest.Server, cfg Config) {
			entries, err := Cleanup(t.Context(), cfg)
			require.NoError(t, err)
			price = entries[0].Price
		}}.run(t)
	require.NoError(t, err)
	twice, err := price.Add(price)
	require.NoError(t, err)
	both := []string{"book/price", "book/passport-largest"}
	for want, limit := range map[int]types.Money{1: price, 2: twice} {
		report, err := bookingRun{change: func(c *Config) { c.Booking.MaxTotal, c.Only = limit, both }, after: leaves(want)}.run(t)
		require.NoError(t, err)
		assert.Equal(t, want < 2, strings.Contains(report.result(t, "book/passport-largest").Reason, "is left of -max-total"))
	}
	_, err = bookingRun{fault: fault{op: opBook, told: sets("hotelOrder.netRate.amount", 1990)}, change: only(both...), after: leaves(1)}.run(t)
	require.NoError(t, err)
}

// A run ends early if its ctx ends, or if a callback panics.
func TestRunThatEndsEarlyCancelsItsBookings(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	said := ""
	report, err := bookingRun{ctx: ctx, after: leaves(1), fault: fault{op: opBook, told: func(*reply) { cancel() }}, change: func(c *Config) {
		c.Waiting = func(what string, until time.Time) { said += fmt.Sprintln(what, time.Until(until)) }
	}}.run(t)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "the cancellation of 1 bookings, or the proof that they do not exist 25m0s\n", said)
	assert.GreaterOrEqual(t, report.Ended.Sub(report.Began), 5*time.Second, "the run also waits for the cancellation")
	assert.Equal(t, len(report.Results), report.Count(NotTried)+report.Count(Held)+report.Count(Found))
	_, err = bookingRun{after: leaves(1), panics: "a broken terminal", change: func(c *Config) {
		c.Progress = func(r Result) {
			if r.Rule.Name == "voucher/before" {
				panic("a broken terminal")
			}
		}
	}}.run(t)
	require.NoError(t, err)
	_, _ = bookingRun{sandbox: hotelstaystest.Config{CancelRule: hotelstaystest.CancelForbiddenByContract}, change: func(c *Config) {
		c.Only, c.Progress = []string{"book/price"}, func(Result) { panic("a broken terminal") }
	}, panics: "a broken terminal\nbookings in the journal "}.run(t)
}

func TestJournalKeepsTheLastStateOfEachBooking(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := openJournal(path)
	require.NoError(t, err)
	_, err = openJournal(path)
	assert.ErrorIs(t, err, ErrJournalInUse)
	assert.ErrorIs(t, err, ErrConfig)
	first := &JournalEntry{State: EntrySent, Recovery: &hotelstays.BookingRecovery{CustomerReferenceNo: "one"}}
	require.NoError(t, j.write(first))
	require.NoError(t, j.write(&JournalEntry{Recovery: &hotelstays.BookingRecovery{CustomerReferenceNo: "two"}})) // no state
	first.State = EntryCancelled
	require.NoError(t, j.write(first))
	j.close()
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, torn := range []string{"", "{", `{"time":"2000-01-01T00:00:00Z","recovery":{"customerReferenceNo":"two"}}`} {
		require.NoError(t, os.WriteFile(path, append(slices.Clone(whole), torn...), 0o600))
		j, err = openJournal(path)
		require.NoError(t, err)
		require.Len(t, j.unfinished(), 1)
		assert.Equal(t, "two", j.unfinished()[0].reference())
		testkit.AssertFile(t, path, whole)
		require.NoError(t, j.write(j.unfinished()[0]))
		j.close()
		j, err = openJournal(path) // the journal is still valid
		require.NoError(t, err)
		j.close()
	}
	for _, other := range []string{"{}\n", "a diary\n", "a key", `{"a":1}`, string(bytes.Replace(whole, []byte("{"), nil, 1))} {
		require.NoError(t, os.WriteFile(path, []byte(other), 0o600))
		_, err = openJournal(path)
		assert.ErrorIs(t, err, ErrConfig)
		testkit.AssertFile(t, path, []byte(other))
	}
}

// The failed write changes no entry in memory.
func TestBookIsNotSentIfTheJournalCannotBeWritten(t *testing.T) {
	j, err := openJournal(filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	known := &JournalEntry{State: EntryBooked, Recovery: &hotelstays.BookingRecovery{CustomerReferenceNo: "known"}}
	require.NoError(t, j.write(known))
	j.close() // writes fail now, as on a full disk
	r := &run{session: &session{allowance: &allowance{journal: j}}}
	for _, reference := range []string{"known", "new"} {
		b := &booked{body: obj{"customerReferenceNo": reference},
			offer: stayOffer{RoomRatePkg: types.RoomRatePkg{TotalRate: types.Rate{NetRate: eur("5")}}}}
		assert.ErrorContains(t, attempt(func() { r.noted(b) }), "nothing was booked")
	}
	assert.Equal(t, []*JournalEntry{known}, j.entries)
	assert.Equal(t, EntryBooked, known.State)
}

// A pipe accepts the text of an entry, but cannot sync it to a disk.
func TestEntryIsInTheJournalOnlyIfItIsOnDisk(t *testing.T) {
	reader, pipe, err := os.Pipe()
	require.NoError(t, err)
	defer reader.Close()
	defer pipe.Close()
	path := filepath.Join(t.TempDir(), "journal")
	healed, err := os.Create(path)
	require.NoError(t, err)
	defer healed.Close()
	j := &journal{}
	for _, j.file = range []*os.File{pipe, healed} { // after the first error nothing may be written, because the last line may be incomplete
		require.Error(t, j.write(&JournalEntry{State: EntrySent, Recovery: &hotelstays.BookingRecovery{CustomerReferenceNo: "one"}}))
	}
	assert.Empty(t, j.entries)
	testkit.AssertFile(t, path, nil)
}

func TestRunRefusesAConfigWithoutMaxTotalOrAJournal(t *testing.T) {
	for _, b := range []Booking{{}, {Journal: "j"}, {MaxTotal: eur("5")}, {MaxTotal: eur("0"), Journal: "j"},
		{MaxTotal: eur("-5"), Journal: "j"},
		{MaxTotal: types.Money{Amount: "5"}, Journal: "j"}, {MaxTotal: eur("5"), Journal: "j", Callback: &Callback{}}} {
		_, err := Run(t.Context(), Config{Booking: &b})
		assert.ErrorIs(t, err, ErrConfig)
	}
	_, err := Cleanup(t.Context(), Config{})
	assert.ErrorIs(t, err, ErrConfig)
}
