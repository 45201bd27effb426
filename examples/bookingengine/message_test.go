package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestPricesKeepEveryDigit(t *testing.T) {
	for amount, want := range map[json.Number]string{
		"120.50":                 "EUR\u00a0120.50",
		"1044.360":               "EUR\u00a01,044.360",
		"9007199254740993.01":    "EUR\u00a09,007,199,254,740,993.01", // a float64 would round this amount
		"-1234":                  "EUR\u00a0-1,234",
		"1044.36; DROP TABLE ..": "price on request",
	} {
		assert.Equal(t, want, price(types.Money{Currency: "EUR", Amount: amount}))
	}
	assert.Equal(t, "free", fee(types.Money{Currency: "EUR", Amount: "0.00"}))
	assert.Equal(t, "price on request", fee(types.Money{}), "an absent amount is not free")
}

func TestPageShowsTheBindingSellingPrice(t *testing.T) {
	net, gross := types.Money{Currency: "EUR", Amount: "100"}, types.Money{Currency: "EUR", Amount: "118"}
	assert.Equal(t, net, selling(types.Rate{NetRate: net}))
	assert.Equal(t, net, selling(types.Rate{NetRate: net, GrossRate: &gross}))
	assert.Equal(t, gross, selling(types.Rate{NetRate: net, GrossRate: &gross, RespectGrossRate: true}))
}

func TestPageShowsDatesRoomsAndMealsInWords(t *testing.T) {
	for want, got := range map[string]string{
		"Mon 18 Jan 2027, 18:00 UTC":       deadline("2027-01-18T18:00:00Z"),
		"Mon 18 Jan 2027, 18:00 UTC+04:00": deadline("2027-01-18T18:00:00+04:00"),
		"18 January, 6 p.m.":               deadline("18 January, 6 p.m."),
		"Thu 24 Dec 2026":                  day("2026-12-24"),
		"24.12.2026":                       day("24.12.2026"),
		"1\u00a0night":                     nights("2026-12-24", "2026-12-25"),
		"":                                 nights("2026-12-24", "25.12.2026"),
		"2\u00a0rooms, 3\u00a0adults, 1\u00a0child":  occupancy([]types.GuestPerRoom{{AdultCount: 2}, {AdultCount: 1, ChildrenAges: []int{5}}}),
		"1\u00a0room, 1\u00a0adult, 2\u00a0children": occupancy([]types.GuestPerRoom{{AdultCount: 1, ChildrenAges: []int{5, 9}}}),
		"1\u00a0room, 2\u00a0adults":                 occupancy([]types.GuestPerRoom{{AdultCount: 2}}),
		"Breakfast buffet":                           meals(&types.Board{BoardID: types.BoardBB, BoardName: &types.I18N{EN: "Breakfast buffet"}}),
		"Meal plan TI":                               meals(&types.Board{BoardID: types.BoardTI}),
		"Meals not stated":                           meals(nil),
	} {
		assert.Equal(t, want, got)
	}
}

func panel(t *testing.T, o order) string {
	var page strings.Builder
	require.NoError(t, parsePages(nil).ExecuteTemplate(&page, "panel", o))
	return page.String()
}

// Without ServiceFacts the meaning of most status numbers is unknown.
func TestPageInterpretsOnlyKnownStatuses(t *testing.T) {
	none, states := hotelstays.StatusMeanings{}, hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{2}, Pending: []types.OrderStatus{4}}
	for _, test := range []struct {
		order  types.Order
		states hotelstays.StatusMeanings
		want   string
	}{
		{types.Order{Status: types.OrderConfirming}, none, "Waiting for the hotel to confirm"},
		{types.Order{Status: 2}, none, "The hotel has answered"},
		{types.Order{Status: 2}, states, "Your booking is confirmed"},
		{types.Order{Status: 4}, states, "Waiting for the hotel to confirm"},
		{types.Order{Status: 5}, states, "The hotel has answered"},
		{types.Order{Status: 5, HotelConfirmNo: "HC-1"}, none, "Your booking is confirmed"},
	} {
		o := order{State: booked}
		o.read(&test.order, test.states)
		assert.Contains(t, panel(t, o), `<h2 id="status">`+test.want+"</h2>")
	}
	for since, want := range map[time.Duration]string{
		0: "We are cancelling your booking", usualWait: "We are finding out whether your booking is cancelled",
	} {
		page := panel(t, order{State: cancelling, Booked: &types.Order{Status: 2}, Since: time.Now().Add(-since)})
		assert.Contains(t, page, want)
		assert.NotContains(t, page, `id="cancel"`)
	}
}

// A non-refundable rate shows no free cancellation, even if its terms list a free step.
func TestNonRefundableOfferShowsNoFreeCancellation(t *testing.T) {
	steps := []types.CancelFee{{Until: "2027-01-20T12:00:00Z", Fee: types.Money{Currency: "EUR", Amount: "90.10"}}}
	terms := func(mode types.RefundableMode, steps []types.CancelFee) string {
		var page strings.Builder
		require.NoError(t, parsePages(nil).ExecuteTemplate(&page, "terms", types.RoomRatePkg{RefundableMode: mode, CancelFees: steps}))
		return page.String()
	}
	assert.Contains(t, terms(types.RefundableFull, steps), "until Wed 20 Jan 2027, 12:00 UTC: EUR\u00a090.10")
	assert.Contains(t, terms(types.RefundablePartial, nil), "Partly refundable")
	no := terms(types.RefundableNo, steps)
	assert.Contains(t, no, "Not refundable")
	assert.NotContains(t, no, "until")
}

func TestPageShowsTheResultOfACancellation(t *testing.T) {
	for ending, want := range map[durable.CancelEnding]*message{
		durable.CancelDone: nil, durable.CancelStanding: &notCancelled, durable.CancelUnknown: &cancelUnknown, durable.CancelRefused: &dearer,
	} {
		o := order{State: cancelling, Booked: &types.Order{Status: 2}, Status: hotelstays.OrderStateUnknown, Since: time.Now()}
		o.cancelled(&durable.Cancellation{Ending: ending, Err: durable.ErrCancelCost})
		assert.Equal(t, want, o.Problem)
		assert.Equal(t, want == nil, o.State == cancelled)
		assert.Equal(t, ending == durable.CancelStanding || ending == durable.CancelRefused, o.State == booked,
			"%s: the guest can cancel again only if the result of the first cancellation is known", ending)
		if want != nil {
			assert.Equal(t, ending == durable.CancelUnknown, strings.Contains(panel(t, o), `<h2 id="status">`+want.Title), ending)
		}
		o.read(&types.Order{Status: 3}, hotelstays.StatusMeanings{Cancelled: []types.OrderStatus{3}})
		o.cancelled(&durable.Cancellation{Ending: ending, Err: durable.ErrCancelCost})
		assert.Contains(t, panel(t, o), "Your booking is cancelled", "the hotel cancelled it, too")
		assert.Nil(t, o.Problem, "a cancelled booking has no problem")
	}
}
