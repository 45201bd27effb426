package main

import (
	"context"
	"database/sql"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

var free = url.Values{"fee": {"free"}}

// checkoutOf returns the address of the checkout of an order.
func checkoutOf(order string) string { return strings.Replace(order, "/orders/", "/checkouts/", 1) }

// The answer to Book is lost. The page tells the guest not to book again, and after a webhook the engine finds the
// order.
func TestOrderIsFoundAfterALostAnswer(t *testing.T) {
	inBubble(t, func(s *testSite) {
		s.cut(hotelstays.OpBook, true)
		s.status(hotelstays.OpQueryOrders, 503, -1)
		address, reference := s.toOrder()
		time.Sleep(usualWait)
		page := s.get(address)
		assert.Contains(s.t, page, "We are finding out whether your room is booked")
		assert.Contains(s.t, page, "Please do not book again: this page keeps itself up to date.")
		assert.NotContains(s.t, page, "Check the offer again")
		assert.Contains(s.t, page, price(selling(s.checkoutAt(address).Offer.TotalRate)))

		s.srv.ClearFaults()
		s.srv.SendWebhook(reference, types.EventOrderCreated)
		time.Sleep(time.Second)
		s.shows(address, "Waiting for the hotel to confirm")
		assert.Equal(s.t, 1, s.srv.Ledger().Count(hotelstays.OpBook))
	})
}

// The first engine ends during Book. The second engine uses the same database.
func TestOrderIsFoundAfterARestartDuringBook(t *testing.T) {
	for _, killed := range []bool{false, true} {
		inBubble(t, func(s *testSite) {
			s.srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: time.Hour, Commit: true})
			s.webhooksAreLost()
			address, reference := s.toOrder()
			time.Sleep(time.Second) // Book is in progress
			s.status(hotelstays.OpQueryOrders, 503, -1)
			s.restart(killed, time.Minute)
			if killed { // Book of the killed engine may still be in progress
				s.shows(address, "We are finding out whether your room is booked")
			}
			s.srv.ClearFaults()
			s.webhooksAreLost()
			assert.Equal(s.t, address, s.post(checkoutOf(address)+"/book", guests()), "booking again leads back to the order")

			time.Sleep(30 * time.Minute)
			s.shows(address, "Your booking is confirmed")
			assert.NotContains(s.t, s.get(address), `class="notice bad"`)
			assert.Len(s.t, s.srv.Ledger().OrdersFor(reference), 1)
			assert.Equal(s.t, 1, s.srv.Ledger().Count(hotelstays.OpBook))
			assert.Equal(s.t, http.StatusOK, s.send(http.MethodGet, address+"/voucher", nil).Code)
			s.post(address+"/cancel", free)
			time.Sleep(journalPause + time.Second)
			s.shows(address, "Your booking is cancelled")
		})
	}
}

// Ten minutes after the lost request it is certain that no order exists. The guest books again under the same reference.
func TestGuestBooksAgainAfterALostRequest(t *testing.T) {
	inBubble(t, func(s *testSite) {
		s.cut(hotelstays.OpBook, false)
		address, reference := s.toOrder()
		time.Sleep(9 * time.Minute)
		s.shows(address, "We are finding out")
		time.Sleep(2 * time.Minute)
		checkout := checkoutOf(address)
		page := s.get(address)
		assert.Contains(s.t, page, "Your booking did not reach the hotel")
		assert.Contains(s.t, page, "Nothing was booked.")
		assert.Contains(s.t, page, `action="`+checkout+`/check"`)
		assert.Equal(s.t, checkout, s.post(checkout+"/check", nil))
		s.shows(checkout, `value="guest3"`) // the form still has the guest's input
		assert.Equal(s.t, address, s.post(checkout+"/book", guests()))
		time.Sleep(time.Second)
		s.shows(address, "Waiting for the hotel to confirm")
		assert.Len(s.t, s.srv.Ledger().OrdersFor(reference), 1)
	})
}

// The reference has an order for other dates. The page asks the guest to wait, and offers no cancellation.
func TestOrderOfAnotherBookingIsNotShown(t *testing.T) {
	inBubble(t, func(s *testSite) {
		address := s.toCheckout(60)
		s.bookElsewhere(address, s.checkoutAt(s.toCheckout(70)))
		address = s.post(address+"/book", guests())
		time.Sleep(10 * time.Minute)
		page := s.get(address)
		assert.Contains(s.t, page, `<h2 id="status">We are checking this booking`)
		for _, not := range []string{"confirm", "Booking number", "Cancel the booking", "Check the offer again", "Nothing was booked"} {
			assert.NotContains(s.t, page, not)
		}
		assert.Equal(s.t, address, s.post(address+"/cancel", free))
		time.Sleep(journalPause + time.Second)
		assert.Zero(s.t, s.srv.Ledger().Count(hotelstays.OpCancel))
	})
}

// The page shows the other terms and the other price of the order, and lets the guest cancel.
func TestPageShowsHowTheOrderDiffersFromItsOffer(t *testing.T) {
	inBubble(t, func(s *testSite) {
		address := s.toCheckout(60)
		other := s.checkoutAt(s.offer(links(s.get(s.searchAddress(60)))[1]))
		s.bookElsewhere(address, other)
		address = s.post(address+"/book", guests())
		time.Sleep(time.Second)
		page := s.get(address)
		assert.Contains(s.t, page, "Your booking is not quite what you agreed to")
		assert.Contains(s.t, page, "<dd>"+price(selling(other.Offer.TotalRate)))
		assert.Contains(s.t, page, price(other.Offer.CancelFees[1].Fee))
		assert.Contains(s.t, page, "Cancel the booking")
		s.post(address+"/cancel", free)
		time.Sleep(journalPause + time.Second)
		page = s.get(address)
		assert.Contains(s.t, page, "Your booking is cancelled")
		assert.NotContains(s.t, page, "Your booking is not quite")
	})
}

func TestPageExplainsWhyABookingWasRefused(t *testing.T) {
	for told, fault := range map[string]hotelstaystest.Fault{
		"The offer has changed":         {Status: 200, Code: types.CodeRateChanged},
		"You have this booking already": {Status: 200, Code: types.CodeDuplicateBooking},
		"That was not accepted":         {Status: 409, Code: 100009999, Msg: "internal words"},
	} {
		inBubble(t, func(s *testSite) {
			fault.Operation, fault.Kind = hotelstays.OpBook, hotelstaystest.FaultStatus
			s.srv.Inject(fault)
			address, _ := s.toOrder()
			time.Sleep(3 * time.Minute)
			page := s.get(address)
			assert.Contains(s.t, page, told)
			assert.Contains(s.t, page, "Nothing was booked.")
			assert.Contains(s.t, page, "Check the offer again")
			assert.NotContains(s.t, page, "internal words")
			assert.Empty(s.t, s.srv.Ledger().Orders())
		})
	}
}

func TestGuestCancelsOnlyForTheFeeOnThePage(t *testing.T) {
	inBubble(t, func(s *testSite) {
		address := s.post(s.toCheckout(5)+"/book", guests())
		time.Sleep(10 * time.Minute)
		s.shows(address+"/cancel", "Cancelling is free")
		assert.Equal(s.t, http.StatusConflict, s.send(http.MethodPost, address+"/cancel", nil).Code, "a fee that was not shown")

		offered := s.stored(address).Checkout.Offer
		// The page must show the fee of the order, not the fee of the stored offer.
		require.NoError(s.t, s.engine.journal.InTx(s.t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			return change(ctx, tx, strings.TrimPrefix(address, "/orders/"), func(o *order) {
				for i := range o.Checkout.Offer.CancelFees {
					o.Checkout.Offer.CancelFees[i].Fee.Amount = "0.01"
				}
			})
		}))
		s.restart(false, 3*24*time.Hour) // free cancellation ends while the page is open
		w := s.send(http.MethodPost, address+"/cancel", free)
		assert.Equal(s.t, http.StatusConflict, w.Code)
		assert.Contains(s.t, w.Body.String(), "has changed while you were reading")
		assert.Contains(s.t, w.Body.String(), "Cancelling costs at most EUR\u00a0")
		assert.NotContains(s.t, w.Body.String(), "EUR\u00a00.01")
		assert.Empty(s.t, s.srv.Ledger().Cancellations())

		cost, err := s.stored(address).Booked.CancelFeeAt(time.Now())
		require.NoError(s.t, err)
		keeps, err := offered.CancelFeeAt(time.Now())
		require.NoError(s.t, err)
		for range 3 { // a double click cancels once
			assert.Equal(s.t, address, s.post(address+"/cancel", url.Values{"fee": {price(cost)}}))
		}
		s.shows(address, "We are cancelling your booking")
		time.Sleep(journalPause + time.Second)
		page := s.get(address)
		assert.Contains(s.t, page, "Your booking is cancelled")
		assert.Contains(s.t, page, "The hotel keeps "+price(keeps))
		assert.NotContains(s.t, page, "Download the voucher")
		assert.Equal(s.t, 1, s.srv.Ledger().Count(hotelstays.OpCancel))
		assert.Equal(s.t, address, s.send(http.MethodGet, address+"/cancel", nil).Header().Get("Location"), "there is nothing to cancel")
	})
}

func TestRefusedCancellationKeepsTheBooking(t *testing.T) {
	inBubble(t, func(s *testSite) {
		address, reference := s.toOrder()
		time.Sleep(10 * time.Minute)
		s.srv.SetCancelRule(reference, hotelstaystest.CancelForbiddenByContract)
		s.post(address+"/cancel", free)
		time.Sleep(journalPause + time.Second)
		page := s.get(address)
		assert.Contains(s.t, page, "This booking cannot be cancelled online")
		assert.Contains(s.t, page, "Your booking is confirmed")
		assert.Contains(s.t, page, "Cancel the booking")
	})
}
