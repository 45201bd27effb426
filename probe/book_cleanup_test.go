package probe

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/types"
)

// No order stays open, no matter how a service confirms, cancels, hides or loses orders.
func TestNoOrderIsLeftOpen(t *testing.T) {
	const both = "book/price book/gender-forms"
	kept := func(q *question) { // the service executes no Cancel
		if q.path == opCancel.Path() {
			q.body["supplierReferenceNo"] = "none"
		}
	}
	unanswered := func(a *reply) { a.status, a.err = 0, errors.New("the connection is lost") }
	lost := func(books int) fault { // Book 1 to Book n never arrive, where n is books
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
	portion, sessions, books := testsize.PortionOf(t, 7, 13), map[string]time.Time{}, 0
	for name, test := range map[string]struct {
		only    string
		orders  int
		says    string // the error of the run; "" means no error
		again   bool   // a second run follows an hour later
		broken  string // the rules broken in the last run
		fault   fault
		sandbox hotelstaystest.Config
		facts   hotelstays.ServiceFacts
	}{
		"a wrong fact says that status 2 means cancelled": {only: "order/confirmed", orders: 1,
			facts: hotelstays.ServiceFacts{StatusMeanings: hotelstays.StatusMeanings{Cancelled: []types.OrderStatus{2}}}, broken: "order/confirmed"},
		"the service rolls a cancellation back for a minute": {only: "book/price", orders: 1,
			fault: rolledBack(time.Minute), broken: "cancel/kept"},
		"the service rolls a cancellation back until the next run": {only: "book/price", orders: 1,
			fault: rolledBack(20 * time.Minute), again: true,
			broken: "cancel/kept"},
		"a cancellation in a pending status is rolled back": {only: "book/price", orders: 1, fault: rolledBack(5 * time.Minute),
			facts: hotelstays.ServiceFacts{StatusMeanings: hotelstays.StatusMeanings{Pending: []types.OrderStatus{4}}}},
		"the order in the answer to Book has no platformReferenceNo": {only: "book/price", orders: 1,
			fault:  fault{op: opBook, told: sets("hotelOrder", obj{})},
			broken: "book/form"},
		"the answer to Book is lost": {only: "book/price", orders: 1, fault: fault{op: opBook, told: unanswered}},
		"the answer to Book is lost, and the order appears after eight minutes": {only: "book/price", orders: 1,
			fault:   fault{op: opBook, told: unanswered},
			sandbox: hotelstaystest.Config{LateVisibility: 8 * time.Minute}},
		"the answer to Book is lost, and the order appears before the next run": {only: "book/price", orders: 1, again: true,
			fault: fault{op: opBook, told: unanswered}, sandbox: hotelstaystest.Config{LateVisibility: time.Hour}},
		"the answer to Book is lost, and two orders have the reference": {only: "book/price", orders: 1,
			says: "order PO-TWIN: neither its voucher",
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
		"the first Book is lost, and the second arrives": {only: both, orders: 1, fault: lost(1)},
		"all Books are lost":                             {only: both, fault: lost(3)},
		"the service cancels no order in its first four minutes": {only: "cancel", orders: 2,
			sandbox: hotelstaystest.Config{ConfirmAfter: 5 * time.Minute},
			fault:   during(opBook, 4*time.Minute, fault{asked: kept})},
		"Cancel succeeds, but has no effect for nine minutes": {only: "order/confirmed", orders: 1,
			fault: during(opCancel, 9*time.Minute, fault{asked: kept, told: func(a *reply) {
				switch a.asked.path {
				case opCancel.Path():
					a.succeed(obj{"status": 2, "serviceFee": obj{"currency": "EUR", "amount": 0}})
				case opOrderVoucher.Path():
					a.refuse(http.StatusForbidden, 100000403)
				}
			}})},
		"QueryOrders fails, and the answer to the repeated Book is lost": {only: "book/price book/again-soon", orders: 1,
			says: "QueryOrders: not permitted",
			fault: during(opBook, time.Hour, fault{told: func(a *reply) {
				on("customerReferenceNos", present, refused(http.StatusForbidden, 100000403))(a)
				if books += strings.Count(a.asked.path, opBook.Path()); books > 1 && a.asked.path == opBook.Path() {
					unanswered(a)
				}
			}})},
		"sessions end after eight minutes": {only: "order/confirmed", orders: 1, sandbox: hotelstaystest.Config{ConfirmAfter: 9 * time.Minute},
			fault: fault{asked: func(q *question) {
				id := q.header.Get("Session-Id")
				if sessions[id].IsZero() {
					sessions[id] = time.Now()
				}
				if time.Since(sessions[id]) > 8*time.Minute {
					q.header.Del("Session-Id")
				}
			}}},
		"a Book refused with an undocumented code makes an order after eight minutes": {only: "book/gender", orders: 2,
			fault: fault{op: opBook, asked: ofGuest("gender", "PROBE", "OTHER"), told: func(a *reply) {
				if guests, _ := json.Marshal(a.asked.body["guests"]); strings.Contains(string(guests), "OTHER") {
					a.refuse(200, 100009999)
				}
			}}, sandbox: hotelstaystest.Config{LateVisibility: 8 * time.Minute}, broken: "book/refused"},
		"a Book refused with a documented code makes an order after eight minutes": {only: "book/gender", orders: 2,
			fault:   bookFaults()["Book refuses an unknown gender but makes an order"],
			sandbox: hotelstaystest.Config{LateVisibility: 8 * time.Minute}, broken: "book/refused"},
		"a Book refused as a duplicate makes an order after five minutes": {only: "book/price", orders: 1,
			fault:   fault{op: opBook, told: refused(400, types.CodeDuplicateBooking)},
			sandbox: hotelstaystest.Config{LateVisibility: 5 * time.Minute}, broken: "book/refused"},
		"an order has no supplierReferenceNo for five minutes": {only: "book/price book/passport-largest", orders: 1,
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
					cfg.Only = []string{"ticket/ttl-above"}
					report, err := Run(t.Context(), cfg)
					require.NoError(t, err)
					assert.ElementsMatch(t, strings.Fields(test.broken), report.broken())
				}
				assert.Equal(t, test.orders, noneIsOpen(t, srv))
				for _, c := range srv.Ledger().Cancellations() {
					assert.True(t, test.only != both || time.Since(c.At) > 9*time.Minute, "the run has waited until the lost Books are proven absent")
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

// Run must not cancel this order, because another program may have made the order.
func TestErrorOfRunReportsAnOrderWithoutACustomerReference(t *testing.T) {
	f := bookFaults()["Book refuses an unknown gender but makes an order"]
	_, err := bookingRun{fault: fault{asked: f.asked, told: func(a *reply) {
		f.told(a)
		sets("orders.customerReferenceNo", nil)(a)
	}}, change: only("book/gender")}.run(t)
	assert.ErrorContains(t, err, "has no customerReferenceNo")
}

// The error of the run and of every later run names the order.
func TestOrderThatCannotBeCancelledIsReported(t *testing.T) {
	_, err := bookingRun{sandbox: hotelstaystest.Config{CancelRule: hotelstaystest.CancelForbiddenByContract},
		change: only("book/price"),
		after: func(t *testing.T, srv *hotelstaystest.Server, cfg Config) {
			reference := srv.Ledger().Orders()[0].CustomerReferenceNo
			report, err := Run(t.Context(), cfg)
			assert.Nil(t, report)
			assert.ErrorContains(t, err, reference)
			entries, err := Cleanup(t.Context(), cfg)
			assert.ErrorContains(t, err, "the contract does not allow cancellation")
			assert.Contains(t, entries[0].Reason, "the contract does not allow cancellation")
			assert.Equal(t, 1, srv.Ledger().Count(hotelstays.OpBook))
			srv.SetCancelRule(reference, hotelstaystest.CancelAllowed)
			cfg.Only = []string{"ticket/ttl-above"}
			report, err = Run(t.Context(), cfg)
			require.NoError(t, err)
			assert.Equal(t, []string{"1 bookings of an earlier run were not cancelled; this run cancels them first"}, report.Notes)
			assert.Equal(t, 1, noneIsOpen(t, srv))
		}}.run(t)
	assert.ErrorContains(t, err, "are not cancelled; try again with -cleanup")
}
