package probe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	"github.com/hotelstays/hotelstays-go/types"
)

func eur(amount json.Number) types.Money { return types.Money{Currency: "EUR", Amount: amount} }

// bookingRun is a run that may book, in a bubble with its sandbox.
type bookingRun struct {
	sandbox hotelstaystest.Config
	fault   fault
	change  func(*Config)
	ctx     context.Context // if it is not the test's
	panics  any
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

// noneIsOpen expects that each order is cancelled, and returns how many there are.
func noneIsOpen(t *testing.T, srv *hotelstaystest.Server) int {
	t.Helper()
	for _, o := range srv.Ledger().Orders() {
		assert.Equal(t, srv.Config().Variants.OrderStatusNumbers.Cancelled, o.Status, o.CustomerReferenceNo)
	}
	return len(srv.Ledger().Orders())
}

// noneIsLeft is noneIsOpen after a run.
func noneIsLeft(t *testing.T, srv *hotelstaystest.Server, _ Config) { noneIsOpen(t, srv) }

// leaves expects so many orders, all of them cancelled.
func leaves(n int) func(*testing.T, *hotelstaystest.Server, Config) {
	return func(t *testing.T, srv *hotelstaystest.Server, _ Config) { assert.Equal(t, n, noneIsOpen(t, srv)) }
}

func TestBookingRulesHoldAgainstTheSandbox(t *testing.T) {
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
		if result.State == NotTried && result.Needs == anAnswer {
			continue
		}
		assert.Contains(t, []State{Held, Found}, result.State, "%s: %s", result.Name, result.Reason)
		assert.NotEmpty(t, result.Evidence, result.Rule)
	}
	for rule, found := range map[string]string{
		"order/guests":    "dateOfBirth firstName gender lastName passportNumber roomIndex",
		"order/refunds":   "refundPrice refundTime",
		"voucher/host":    "http://127.0.0.1",
		"webhook/members": "customerReferenceNo event eventTime hotelConfirmNo; Content-Type: application/json",
	} {
		assert.Equal(t, found, report.result(t, rule).Found)
	}
	text, err := json.Marshal(report)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "/vouchers/V") // links to documents
	assert.NotContains(t, string(text), longestPassport)
}

// The facts are those of the sandbox, and what they are for works with them.
func TestOrderStatesAreTheSandboxsVariants(t *testing.T) {
	portion := testkit.PortionOf(t, 1, 4) // the last differs from the first in all
	for variant := range testkit.SomeOf(portion, []hotelstaystest.Variants{
		{}, {NullOrders: true}, {OrderStatusNumbers: hotelstaystest.OrderStatusNumbers{Confirmed: 5, Cancelled: 2, Pending: 3}},
		{BusinessFailureStatus: http.StatusConflict, NullOrders: true,
			OrderStatusNumbers: hotelstaystest.OrderStatusNumbers{Confirmed: 3, Cancelled: 5, Pending: 2}},
	}) {
		report, err := bookingRun{sandbox: hotelstaystest.Config{Variants: variant}, after: leaves(3)}.run(t)
		require.NoError(t, err)
		assert.Empty(t, report.broken())
		synctest.Test(t, func(t *testing.T) {
			srv, _ := testkit.NewSandbox(t, hotelstaystest.Config{Variants: variant})
			client := testkit.NewClient(t, srv, testkit.TicketOf(srv), hotelstays.WithServiceFacts(report.Facts))
			numbers := srv.Config().Variants.OrderStatusNumbers
			assert.Equal(t, hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{numbers.Confirmed},
				Cancelled: []types.OrderStatus{numbers.Cancelled}}, report.Facts.StatusMeanings)
			offer := testkit.FindOffer(t, srv, client, 0)
			offer.Book(t, client, "ref-1")
			order, err := client.AwaitOrder(t.Context(), "ref-1")
			require.NoError(t, err)
			assert.Equal(t, hotelstays.OrderStateConfirmed, client.StatusMeanings().StateOf(order.Status))
			ended, err := client.CancelAndRead(t.Context(), &hotelstays.CancelRequest{SessionID: offer.Session, CustomerReferenceNo: "ref-1",
				SupplierReferenceNo: order.SupplierReferenceNo})
			require.NoError(t, err)
			assert.Equal(t, hotelstays.OrderStateCancelled, ended.State)
			_, err = client.FindOrder(t.Context(), "none")
			assert.ErrorIs(t, err, hotelstays.ErrNotFound)
		})
	}
}

func TestStateThatTheServiceContradictsBreaksARule(t *testing.T) {
	known := hotelstays.ServiceFacts{StatusMeanings: hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{3},
		Pending: []types.OrderStatus{2}}}
	report, err := bookingRun{change: func(c *Config) { c.Facts = &known }}.run(t)
	require.NoError(t, err)
	assert.Equal(t, []string{"order/confirmed", "order/cancelled"}, report.broken())
	assert.Equal(t, hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{2}, Pending: []types.OrderStatus{},
		Cancelled: []types.OrderStatus{3}}, report.Facts.StatusMeanings)
	assert.Equal(t, []types.OrderStatus{3}, known.StatusMeanings.Confirmed)
}

// A code that came with a refusal, and left no order, is a fact.
func TestCodeOfARefusalIsFound(t *testing.T) {
	refusal := fault{op: opBook, told: answers(types.CodeParam, refused(200, 100009999))}
	report, err := bookingRun{fault: refusal, change: only("book/gender")}.run(t)
	require.NoError(t, err)
	assert.Equal(t, "HTTP 200 with code 100009999", report.result(t, "book/gender").Found)
	assert.Equal(t, map[hotelstays.Operation][]int{hotelstays.OpBook: {100009999}}, report.Facts.RefusalCodes)
}

func TestJournalOfAnotherAccountIsRefused(t *testing.T) {
	_, err := bookingRun{change: only("book/form"), // cancelled: there may be another one, late
		after: func(t *testing.T, _ *hotelstaystest.Server, cfg Config) {
			other, _ := testkit.NewSandbox(t, hotelstaystest.Config{Accounts: []hotelstaystest.Account{{AppKey: "other", AppSecret: "another"}}})
			cfg.BaseURL, cfg.Credential, cfg.HTTPClient = other.URL, testkit.TicketOf(other), other.Client()
			_, err := Cleanup(t.Context(), cfg)
			assert.ErrorContains(t, err, "another environment or account")
			other.Client().CloseIdleConnections()
		}}.run(t)
	require.NoError(t, err)
}

// What might cost more than is allowed is not sent at all.
func TestWhatIsNotAllowedIsNotBooked(t *testing.T) {
	portion := testkit.PortionOf(t, 3, 8)
	steps := func(first string) []any { // free from noon to evening, and from tomorrow on
		step := func(until string, fee int) obj {
			return obj{"until": until, "fee": obj{"currency": "EUR", "amount": fee}}
		}
		return []any{step(first, 0), step("2000-01-01T20:00:00Z", 5), step("2000-02-01T12:00:00Z", 0)}
	}
	for name, test := range map[string]struct {
		checked bool // the member changes at CheckAvail
		path    string
		value   any
		says    string
	}{
		"a net rate in another currency":      {false, "totalRate.netRate.currency", "USD", "currencies"},
		"a gross rate in another currency":    {false, "totalRate.grossRate", obj{"currency": "USD", "amount": 9}, "currencies"},
		"a gross rate above the limit":        {false, "totalRate.grossRate", obj{"currency": "EUR", "amount": 9999}, "2000 EUR is left"},
		"taxes above the limit":               {false, "tax.total.amount", 9999, "2000 EUR is left"},
		"taxes of items above the limit":      {false, "tax", taxed(obj{"amount": obj{"currency": "EUR", "amount": 9999}}), "2000 EUR is left"},
		"a tax without an amount":             {false, "tax", taxed(obj{"taxName": "city"}), "has no amount"},
		"a negative price":                    {false, "totalRate.netRate.amount", -9, "its price is -9 EUR"},
		"a negative tax":                      {false, "tax.total.amount", -9, "its tax is -9 EUR"},
		"no price":                            {false, "totalRate.netRate.amount", nil, "its price is no amount"},
		"a price that moves at CheckAvail":    {true, "totalRate.netRate.amount", 2001, "2000 EUR is left"},
		"a currency that moves at CheckAvail": {true, "totalRate.netRate.currency", "JPY", "currencies"},
		"a fee that appears at CheckAvail":    {true, "cancelFees", steps("1999-01-01T00:00:00Z"), "refundableMode is full"},
		"free until tonight":                  {false, "refundableUntil", "2000-01-01T20:00:00Z", "refundable only until"},
		"a fee between now and tomorrow":      {false, "cancelFees", steps("2000-01-01T12:00:00Z"), "refundableMode is full"},
		"a deadline without a zone":           {false, "refundableUntil", "2000-02-01T00:00:00", "UTC offset"},
		"no free cancellation":                {false, "refundableMode", "partial", "none is free to cancel"},
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
		notBooked(t, "an account without "+string(lacks), bookingRun{sandbox: hotelstaystest.Config{TicketScopes: scopes}}, "the account may not")
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
	assert.Equal(t, NotTried, report.result(t, "book/form").State, name)
	assert.Contains(t, report.result(t, "book/form").Reason, says, name)
}

// The limit is of all bookings together, and a price that only Book's answer has counts as well.
func TestLimitIsOfAllBookings(t *testing.T) {
	var price types.Money
	_, err := bookingRun{change: only("book/form"),
		after: func(t *testing.T, _ *hotelstaystest.Server, cfg Config) {
			entries, err := Cleanup(t.Context(), cfg)
			require.NoError(t, err)
			price = entries[0].Price
		}}.run(t)
	require.NoError(t, err)
	twice, err := price.Add(price)
	require.NoError(t, err)
	for want, limit := range map[int]types.Money{1: price, 2: twice} {
		report, err := bookingRun{change: func(c *Config) { c.Booking.MaxTotal = limit }, after: leaves(want)}.run(t)
		require.NoError(t, err)
		assert.Equal(t, want < 2, strings.Contains(report.result(t, "book/passport-largest").Reason, "is left of -max-total"))
	}
	_, err = bookingRun{fault: fault{op: opBook, told: sets("hotelOrder.netRate.amount", 1990)}, after: leaves(1)}.run(t)
	require.NoError(t, err)
}

// A run that ends early, for whatever reason, cancels what it has booked.
func TestRunThatEndsEarlyCancels(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	said := ""
	report, err := bookingRun{ctx: ctx, after: leaves(1), fault: fault{op: opBook, told: func(*reply) { cancel() }}, change: func(c *Config) {
		c.Waiting = func(what string, until time.Time) { said += fmt.Sprintln(what, time.Until(until)) }
	}}.run(t)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "the cancellation of 1 bookings, or the proof that there is none 25m0s\n", said)
	assert.GreaterOrEqual(t, report.Ended.Sub(report.Began), 5*time.Second, "with the cancellation, which is read after a pause")
	assert.Equal(t, len(report.Results), report.Count(NotTried)+report.Count(Held)+report.Count(Found))
	_, err = bookingRun{after: leaves(1), panics: "a broken terminal", change: func(c *Config) {
		c.Progress = func(r Result) {
			if r.Rule.Name == "book/status" {
				panic("a broken terminal")
			}
		}
	}}.run(t)
	require.NoError(t, err)
	_, _ = bookingRun{sandbox: hotelstaystest.Config{CancelRule: hotelstaystest.CancelForbiddenByContract}, change: func(c *Config) {
		c.Only, c.Progress = []string{"book/form"}, func(Result) { panic("a broken terminal") }
	}, panics: "a broken terminal\nbookings are left in "}.run(t)
}

// No service that confirms, cancels, hides or loses in its own way keeps an order open.
func TestNoOrderIsLeftOpen(t *testing.T) {
	const both = "book/form book/gender-forms"
	kept := func(q *question) { // no Cancel is carried out
		if q.path == opCancel.Path() {
			q.body["supplierReferenceNo"] = "none"
		}
	}
	unanswered := func(a *reply) { a.status, a.err = 0, errors.New("the connection is lost") }
	lost := func(books int) fault { // the first ones never arrive
		n := 0
		return fault{op: opBook, asked: func(q *question) {
			if n++; n <= books {
				q.body["ratePkgId"] = ""
			}
		}, told: func(a *reply) {
			if n <= books {
				unanswered(a)
			}
		}}
	}
	rolledBack := func(after time.Duration) fault {
		return during(opCancel, after, fault{asked: kept, told: func(a *reply) {
			if sets("orders.status", 4)(a); a.asked.path == opCancel.Path() {
				a.succeed(obj{"status": 4, "serviceFee": obj{"currency": "EUR", "amount": 0}})
			}
		}})
	}
	portion, sessions, books := testkit.PortionOf(t, 2, 6), map[string]time.Time{}, 0
	for name, test := range map[string]struct {
		only    string
		orders  int
		says    string // the run, though it has cancelled what it could
		again   bool   // another run follows
		broken  string // in the last run
		fault   fault
		sandbox hotelstaystest.Config
		facts   hotelstays.ServiceFacts
	}{
		"facts call the status of a confirmed order cancelled": {only: "voucher/form", orders: 1,
			facts: hotelstays.ServiceFacts{StatusMeanings: hotelstays.StatusMeanings{Cancelled: []types.OrderStatus{2}}}},
		"a cancellation is rolled back": {only: "book/form", orders: 1, fault: rolledBack(time.Minute), broken: "cancel/kept"},
		"a cancellation is rolled back for the next run": {only: "book/form", orders: 1, fault: rolledBack(20 * time.Minute), again: true,
			broken: "cancel/kept"},
		"a status that is known as pending is rolled back": {only: "book/form", orders: 1, fault: rolledBack(5 * time.Minute),
			facts: hotelstays.ServiceFacts{StatusMeanings: hotelstays.StatusMeanings{Pending: []types.OrderStatus{4}}}},
		"Book answers with an order without a name": {only: "book/form", orders: 1, fault: fault{op: opBook, told: sets("hotelOrder", obj{})},
			broken: "book/form"},
		"an answer is lost": {only: "book/form", orders: 1, fault: fault{op: opBook, told: unanswered}},
		"an answer is lost, and the order comes late": {only: "book/form", orders: 1, fault: fault{op: opBook, told: unanswered},
			sandbox: hotelstaystest.Config{LateVisibility: 8 * time.Minute}},
		"an answer is lost, and the order comes for the next run": {only: "book/form", orders: 1, again: true,
			fault: fault{op: opBook, told: unanswered}, sandbox: hotelstaystest.Config{LateVisibility: time.Hour}},
		"an answer is lost, and two orders have the reference": {only: "book/form", orders: 1, says: "order PO-TWIN: nothing shows",
			fault: fault{told: func(a *reply) {
				if a.asked.path == opBook.Path() {
					unanswered(a)
				}
				if orders, _ := a.data["orders"].([]any); len(orders) == 1 {
					twin := maps.Clone(orders[0].(obj))
					twin["platformReferenceNo"], twin["supplierReferenceNo"] = "PO-TWIN", "SUP-TWIN"
					a.data["orders"] = append(orders, twin)
				}
			}}},
		"a Book is lost before one that arrives": {only: both, orders: 1, fault: lost(1)},
		"all Books are lost":                     {only: both, fault: lost(3)},
		"no order is cancelled in its first minutes": {only: "cancel", orders: 2, sandbox: hotelstaystest.Config{ConfirmAfter: 5 * time.Minute},
			fault: during(opBook, 4*time.Minute, fault{asked: kept})},
		"a Cancel that succeeds does nothing for minutes": {only: "voucher/form", orders: 1,
			fault: during(opCancel, 9*time.Minute, fault{asked: kept, told: func(a *reply) {
				switch a.asked.path {
				case opCancel.Path():
					a.succeed(obj{"status": 2, "serviceFee": obj{"currency": "EUR", "amount": 0}})
				case opOrderVoucher.Path():
					a.refuse(http.StatusForbidden, 100000403)
				}
			}})},
		"QueryOrders fails, and the answer to the same Book again": {only: "book/form book/again", orders: 1, says: "QueryOrders: not permitted",
			fault: during(opBook, time.Hour, fault{told: func(a *reply) {
				on("customerReferenceNos", present, refused(http.StatusForbidden, 100000403))(a)
				if books += strings.Count(a.asked.path, opBook.Path()); books > 1 && a.asked.path == opBook.Path() {
					unanswered(a)
				}
			}})},
		"a session ends after eight minutes": {only: "voucher/form", orders: 1, sandbox: hotelstaystest.Config{ConfirmAfter: 9 * time.Minute},
			fault: fault{asked: func(q *question) {
				id := q.header.Get("Session-Id")
				if sessions[id].IsZero() {
					sessions[id] = time.Now()
				}
				if time.Since(sessions[id]) > 8*time.Minute {
					q.header.Del("Session-Id")
				}
			}}},
		"a Book that is refused with a code of its own is an order minutes later": {only: "book/gender", orders: 2,
			fault: fault{op: opBook, asked: ofGuest("gender", "PROBE", "OTHER"), told: func(a *reply) {
				if guests, _ := json.Marshal(a.asked.body["guests"]); strings.Contains(string(guests), "OTHER") {
					a.refuse(200, 100009999)
				}
			}}, sandbox: hotelstaystest.Config{LateVisibility: 8 * time.Minute}, broken: "book/refused"},
		"a refused Book is an order minutes later": {only: "book/gender", orders: 2, fault: bookFaults()["a refusal that books"],
			sandbox: hotelstaystest.Config{LateVisibility: 8 * time.Minute}, broken: "book/refused"},
		"a Book that is said to be a duplicate is an order minutes later": {only: "book/form", orders: 1,
			fault:   fault{op: opBook, told: refused(400, types.CodeDuplicateBooking)},
			sandbox: hotelstaystest.Config{LateVisibility: 5 * time.Minute}, broken: "book/refused"},
		"an order has no supplier's reference": {only: "book/form book/passport-largest", orders: 1,
			fault: during(opBook, 5*time.Minute, fault{told: func(a *reply) {
				sets("hotelOrder.supplierReferenceNo", "")(a)
				sets("orders.supplierReferenceNo", "")(a)
			}})},
	} {
		if !portion.Next() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			report, err := bookingRun{sandbox: test.sandbox, fault: test.fault, change: func(c *Config) {
				c.Only, c.Facts = strings.Fields(test.only), &test.facts
			}, after: func(t *testing.T, srv *hotelstaystest.Server, cfg Config) {
				if test.again {
					time.Sleep(time.Hour)
					cfg.Only = []string{"ticket/jwt"}
					report, err := Run(t.Context(), cfg)
					require.NoError(t, err)
					assert.ElementsMatch(t, strings.Fields(test.broken), report.broken())
				}
				assert.Equal(t, test.orders, noneIsOpen(t, srv))
				for _, c := range srv.Ledger().Cancellations() {
					assert.True(t, test.only != both || time.Since(c.At) > 9*time.Minute, "it has waited for those that are lost")
				}
			}}.run(t)
			assert.Contains(t, fmt.Sprint(err), cmp.Or(test.says, "<nil>"))
			if !test.again {
				assert.ElementsMatch(t, strings.Fields(test.broken), report.broken())
			}
			assert.Empty(t, report.Facts.RefusalCodes)
		})
	}
}

// An order without a reference may be anybody's: it is no proof of absence, and not cancelled.
func TestOrderWithoutAReferenceIsReported(t *testing.T) {
	f := bookFaults()["a refusal that books"]
	_, err := bookingRun{fault: fault{asked: f.asked, told: func(a *reply) {
		f.told(a)
		sets("orders.customerReferenceNo", nil)(a)
	}}, change: only("book/gender")}.run(t)
	assert.ErrorContains(t, err, "has no customerReferenceNo")
}

// An order that cannot be cancelled is the error of its run, and of each one that follows.
func TestOrderThatCannotBeCancelledIsReported(t *testing.T) {
	_, err := bookingRun{sandbox: hotelstaystest.Config{CancelRule: hotelstaystest.CancelForbiddenByContract},
		change: only("book/form"),
		after: func(t *testing.T, srv *hotelstaystest.Server, cfg Config) {
			reference := srv.Ledger().Orders()[0].CustomerReferenceNo
			report, err := Run(t.Context(), cfg)
			assert.Nil(t, report)
			assert.ErrorContains(t, err, reference)
			entries, err := Cleanup(t.Context(), cfg)
			assert.ErrorContains(t, err, "the contract takes no cancellations")
			assert.Contains(t, entries[0].Reason, "the contract takes no cancellations")
			assert.Equal(t, 1, srv.Ledger().Count(hotelstays.OpBook))
			srv.SetCancelRule(reference, hotelstaystest.CancelAllowed)
			cfg.Only = []string{"ticket/jwt"}
			report, err = Run(t.Context(), cfg)
			require.NoError(t, err)
			assert.Equal(t, []string{"an earlier run left open bookings in the journal, now cancelled: 1"}, report.Notes)
			assert.Equal(t, 1, noneIsOpen(t, srv))
		}}.run(t)
	assert.ErrorContains(t, err, "bookings are left")
}

func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := openJournal(path)
	require.NoError(t, err)
	_, err = openJournal(path)
	assert.ErrorIs(t, err, ErrJournalInUse)
	assert.ErrorIs(t, err, ErrConfig)
	first := &JournalEntry{State: EntrySent, Recovery: &hotelstays.BookingRecovery{CustomerReferenceNo: "one"}}
	require.NoError(t, j.write(first))
	require.NoError(t, j.write(&JournalEntry{Recovery: &hotelstays.BookingRecovery{CustomerReferenceNo: "two"}})) // its state is not set
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
		j, err = openJournal(path) // it is still one
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

// A Book that cannot be noted is not sent, and changes nothing in what is known.
func TestBookThatCannotBeNoted(t *testing.T) {
	j, err := openJournal(filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	known := &JournalEntry{State: EntryBooked, Recovery: &hotelstays.BookingRecovery{CustomerReferenceNo: "known"}}
	require.NoError(t, j.write(known))
	j.close() // as a disk that is full
	r := &run{session: &session{allowance: &allowance{journal: j}}}
	for _, reference := range []string{"known", "new"} {
		b := &booked{body: obj{"customerReferenceNo": reference},
			offer: stayOffer{RoomRatePkg: types.RoomRatePkg{TotalRate: types.Rate{NetRate: eur("5")}}}}
		assert.ErrorContains(t, attempt(func() { r.noted(b) }), "nothing was booked")
	}
	assert.Equal(t, []*JournalEntry{known}, j.entries)
	assert.Equal(t, EntryBooked, known.State)
}

// An entry is noted only when it is on disk. A pipe can be written, but has no disk.
func TestNoteThatIsNotOnDisk(t *testing.T) {
	reader, pipe, err := os.Pipe()
	require.NoError(t, err)
	defer reader.Close()
	defer pipe.Close()
	path := filepath.Join(t.TempDir(), "journal")
	healed, err := os.Create(path)
	require.NoError(t, err)
	defer healed.Close()
	j := &journal{}
	for _, j.file = range []*os.File{pipe, healed} { // after half a line nothing may follow
		require.Error(t, j.write(&JournalEntry{State: EntrySent, Recovery: &hotelstays.BookingRecovery{CustomerReferenceNo: "one"}}))
	}
	assert.Empty(t, j.entries)
	testkit.AssertFile(t, path, nil)
}

func TestBookingNeedsALimitAndAJournal(t *testing.T) {
	for _, b := range []Booking{{}, {Journal: "j"}, {MaxTotal: eur("5")}, {MaxTotal: eur("0"), Journal: "j"},
		{MaxTotal: eur("-5"), Journal: "j"},
		{MaxTotal: types.Money{Amount: "5"}, Journal: "j"}, {MaxTotal: eur("5"), Journal: "j", Callback: &Callback{}}} {
		_, err := Run(t.Context(), Config{Booking: &b})
		assert.ErrorIs(t, err, ErrConfig)
	}
	_, err := Cleanup(t.Context(), Config{})
	assert.ErrorIs(t, err, ErrConfig)
}
