// The comparison of offers and orders, and which differences a Tolerance accepts.

package hotelstays_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

func usd(amount json.Number) *types.Money { return &types.Money{Currency: "USD", Amount: amount} }

// seenOffer returns an offer in which each compared part is set.
func seenOffer() *types.RoomRatePkg {
	return &types.RoomRatePkg{
		RatePkgID: "pkg", RefundableMode: types.RefundableFull, RefundableUntil: "2000-03-01T12:00:00Z",
		CancelFees: []types.CancelFee{{Until: "2000-03-01T12:00:00Z", Fee: *usd("0")}, {Until: "2000-03-10T00:00:00Z", Fee: *usd("60.25")}},
		TotalRate:  types.Rate{NetRate: *usd("120.50"), GrossRate: usd("150.00")},
		CheckIn:    checkIn, CheckOut: checkOut, Board: &types.Board{BoardID: types.BoardBB},
		Tax: &types.Tax{Total: usd("10.00"), Items: []types.TaxItem{{TaxType: "city", TaxName: "City tax", Amount: usd("10.00")}}},
	}
}

func TestCompareOfferListsEachDifference(t *testing.T) {
	type pkg = types.RoomRatePkg
	none, ten := hotelstays.Tolerance{}, hotelstays.Tolerance{NetRise: types.Money{Currency: "USD", Amount: "10"}}
	fields := func(f ...types.OfferField) []types.OfferField { return f }
	net, gross, tax, fees := fields(types.OfferNetTotal), fields(types.OfferGrossTotal), fields(types.OfferTax), fields(types.OfferCancelFees)
	for _, tc := range []struct {
		name    string
		change  func(now *pkg)
		changes []types.OfferField
		none    bool // whether the zero Tolerance accepts the change
		ten     bool // whether a Tolerance with a NetRise of 10 USD accepts the change
	}{
		// Only one part changes.
		{"net total rises by the limit", func(o *pkg) { o.TotalRate.NetRate.Amount = "130.50" }, net, false, true},
		{"net total rises by more than the limit", func(o *pkg) { o.TotalRate.NetRate.Amount = "130.51" }, net, false, false},
		{"net total falls", func(o *pkg) { o.TotalRate.NetRate.Amount = "1" }, net, true, true},
		{"net total is gone", func(o *pkg) { o.TotalRate.NetRate.Amount = "" }, net, false, false},
		{"net total is not a number", func(o *pkg) { o.TotalRate.NetRate.Amount = "much" }, net, false, false},
		{"gross total falls", func(o *pkg) { o.TotalRate.GrossRate.Amount = "149.99" }, gross, true, true},
		{"gross total is gone", func(o *pkg) { o.TotalRate.GrossRate = nil }, gross, false, false},
		{"gross total without a currency", func(o *pkg) { *o.TotalRate.GrossRate = types.Money{Amount: "100"} }, gross, false, false},
		{"respectGrossRate", func(o *pkg) { o.TotalRate.RespectGrossRate = true }, fields(types.OfferRespectGrossRate), false, false},
		{"a lower amount in another currency", func(o *pkg) { o.TotalRate.NetRate = types.Money{Currency: "KWD", Amount: "100"} },
			fields(types.OfferNetTotal, types.OfferCurrency), false, false},
		{"no currency", func(o *pkg) { o.TotalRate.NetRate.Currency = "" },
			fields(types.OfferNetTotal, types.OfferCurrency), false, false},
		{"tax total rises", func(o *pkg) { o.Tax.Total.Amount = "11.00" }, tax, false, true},
		{"a tax rises by more than the limit", func(o *pkg) { o.Tax.Total.Amount, o.Tax.Items[0].Amount.Amount = "9.00", "20.01" },
			tax, false, false},
		{"tax of another name", func(o *pkg) { o.Tax.Items[0].TaxName = "Tourism fee" }, tax, false, false},
		{"tax is gone", func(o *pkg) { o.Tax = nil }, tax, false, false},
		{"cancel fee rises", func(o *pkg) { o.CancelFees[1].Fee.Amount = "60.26" }, fees, false, true},
		{"cancel fee rises by more than the limit", func(o *pkg) { o.CancelFees[0].Fee.Amount = "10.01" }, fees, false, false},
		{"cancel deadline changes", func(o *pkg) { o.CancelFees[0].Until = "2000-03-01T11:59:59Z" }, fees, false, false},
		{"refundableMode", func(o *pkg) { o.RefundableMode = types.RefundableNo }, fields(types.OfferRefundableMode), false, false},
		{"refundableUntil", func(o *pkg) { o.RefundableUntil = "2000-03-01T11:00:00Z" }, fields(types.OfferRefundableUntil), false, false},
		{"board changes", func(o *pkg) { o.Board.BoardID = types.BoardRO }, fields(types.OfferBoard), false, false},
		{"board is gone", func(o *pkg) { o.Board = nil }, fields(types.OfferBoard), false, false},
		{"check-in changes", func(o *pkg) { o.CheckIn = "2000-03-11" }, fields(types.OfferCheckIn), false, false},
		{"check-out changes", func(o *pkg) { o.CheckOut = "2000-03-12" }, fields(types.OfferCheckOut), false, false},
		{"packaging changes", func(o *pkg) { o.IncludesPackaging = true }, fields(types.OfferPackaging), false, false},
		{"ratePkgId changes", func(o *pkg) { o.RatePkgID = "other" }, fields(types.OfferRatePkgID), false, false},

		// The parts are written in another way, but their values are equal.
		{"no change", func(*pkg) {}, nil, true, true},
		{"amounts written with other digits", func(o *pkg) {
			o.TotalRate.NetRate.Amount, o.TotalRate.GrossRate.Amount = "120.5", "1.5e2"
			o.Tax.Total.Amount, o.CancelFees[1].Fee.Amount, o.CancelFees[0].Fee.Amount = "10", "60.250", "0.00"
		}, nil, true, true},
		{"other offsets of the same instants", func(o *pkg) {
			o.RefundableUntil, o.CancelFees[0].Until = "2000-03-01T16:00:00+04:00", "2000-03-01T07:00:00.000-05:00"
		}, nil, true, true},

		// Several parts change.
		{"all amounts fall", func(o *pkg) {
			o.TotalRate.NetRate.Amount, o.TotalRate.GrossRate.Amount = "108.45", "135.00"
			o.Tax.Total.Amount, o.Tax.Items[0].Amount.Amount, o.CancelFees[1].Fee.Amount = "9.00", "9.00", "54.22"
		}, slices.Concat(net, gross, tax, fees), true, true},
		{"the net total falls, and the offer is no longer refundable", func(o *pkg) {
			o.TotalRate.NetRate.Amount, o.RefundableMode = "100",
				types.RefundableNo
		},
			fields(types.OfferNetTotal, types.OfferRefundableMode), false, false},
	} {
		now := seenOffer()
		tc.change(now)
		diff := hotelstays.CompareOffer(seenOffer(), now)
		changed := func(d hotelstays.OfferDiff) (changed []types.OfferField) {
			for _, c := range d.Changes {
				changed = append(changed, c.Field)
				assert.NotEqual(t, c.Seen, c.Now)
				assert.Contains(t, diff.String(), string(c.Field))
			}
			return changed
		}
		assert.Equal(t, tc.changes, changed(diff), tc.name)
		assert.Equal(t, tc.changes, changed(hotelstays.CompareOffer(now, seenOffer())), "%s, seen and now swapped", tc.name)
		assert.Equal(t, tc.none, diff.Within(none), tc.name)
		assert.Equal(t, tc.ten, diff.Within(ten), tc.name)
		assert.True(t, diff.Within(hotelstays.Tolerance{Accept: tc.changes}), tc.name)
		if !tc.none {
			others := fields(types.OfferCancelTime, tc.changes[0])[:len(tc.changes)] // an unchanged field, and all changed fields but the last
			assert.False(t, diff.Within(hotelstays.Tolerance{Accept: others}), tc.name)
		}
	}

	assert.False(t, hotelstays.CompareOffer(nil, nil).Within(ten), "an offer without a price is within no tolerance")
	for _, amount := range []json.Number{"", "12,5"} {
		unreadable := seenOffer()
		unreadable.TotalRate.NetRate.Amount = amount
		assert.False(t, hotelstays.CompareOffer(unreadable, unreadable).Within(ten), "the price %q cannot be read", amount)
	}
	gone := hotelstays.CompareOffer(seenOffer(), nil)
	assert.Len(t, gone.Changes, 11, "all parts but the two that are false in both offers")
	assert.False(t, gone.Within(ten), "a missing price is not a lower price")
	assert.Len(t, hotelstays.CompareOffer(nil, seenOffer()).Changes, 11)
}

func TestCompareOrderSkipsFieldsThatTheOrderLacks(t *testing.T) {
	ordered := func() *types.Order {
		room := func(index int) types.OrderRoom {
			o := seenOffer()
			return types.OrderRoom{RatePkgID: o.RatePkgID, RefundableMode: o.RefundableMode,
				RefundableUntil: o.RefundableUntil, CancelFees: o.CancelFees,
				Rate: o.Rate, TotalRate: o.TotalRate, IncludesPackaging: o.IncludesPackaging, Board: o.Board, Tax: o.Tax, RoomIndex: index}
		}
		return &types.Order{CheckIn: checkIn, CheckOut: checkOut, NetRate: *usd("120.5"), GrossRate: usd("150"),
			BookingTime: "2000-01-01T00:00:00Z", Rooms: []types.OrderRoom{room(1), room(2)}}
	}
	for name, tc := range map[string]struct {
		change func(*types.Order)
		want   string
	}{
		"the same order":        {func(*types.Order) {}, "no change"},
		"no rooms":              {func(o *types.Order) { o.Rooms = nil }, "no change"},
		"no gross total":        {func(o *types.Order) { o.GrossRate = nil }, "no change"},
		"rooms without details": {func(o *types.Order) { o.Rooms = make([]types.OrderRoom, 2) }, "no change"},
		"rooms without amounts": {func(o *types.Order) {
			o.Rooms[0].Rate, o.Rooms[0].TotalRate, o.Rooms[1].CancelFees, o.Rooms[1].Tax = types.Rate{}, types.Rate{}, nil, nil
		}, "no change"},
		"net total":        {func(o *types.Order) { o.NetRate.Amount = "121" }, "netTotal: 121 USD, was 120.50 USD"},
		"no net total":     {func(o *types.Order) { o.NetRate.Amount = "" }, "netTotal: no amount USD, was 120.50 USD"},
		"gross total":      {func(o *types.Order) { o.GrossRate = usd("151") }, "grossTotal: 151 USD, was 150.00 USD"},
		"respectGrossRate": {func(o *types.Order) { o.RespectGrossRate = true }, "respectGrossRate: true, was false"},
		"currency": {func(o *types.Order) { o.NetRate.Currency = "EUR" },
			"netTotal: 120.5 EUR, was 120.50 USD; currency: EUR, was USD"},
		"no currency":    {func(o *types.Order) { o.NetRate.Currency = "" }, "netTotal: 120.5, was 120.50 USD"},
		"refundableMode": {func(o *types.Order) { o.Rooms[1].RefundableMode = types.RefundableNo }, "refundableMode: no, was full"},
		"refundableUntil": {func(o *types.Order) { o.Rooms[0].RefundableUntil = "2000-02-01T12:00:00Z" },
			"refundableUntil: 2000-02-01T12:00:00Z, was 2000-03-01T12:00:00Z"},
		"board changes":     {func(o *types.Order) { o.Rooms[1].Board = &types.Board{BoardID: types.BoardRO} }, "board: RO, was BB"},
		"check-in changes":  {func(o *types.Order) { o.CheckIn = "2000-03-09" }, "checkIn: 2000-03-09, was 2000-03-10"},
		"check-out changes": {func(o *types.Order) { o.CheckOut = "2000-03-19" }, "checkOut: 2000-03-19, was 2000-03-13"},
		"packaging changes": {func(o *types.Order) { o.Rooms[0].IncludesPackaging = true }, "includesPackaging: true, was false"},
		"ratePkgId changes": {func(o *types.Order) { o.Rooms[0].RatePkgID, o.Rooms[1].RatePkgID = "a", "b" }, "ratePkgId: a, was pkg"},
		"cancelTime":        {func(o *types.Order) { o.CancelTime = "0001-01-01T00:00:00Z" }, "cancelTime: 0001-01-01T00:00:00Z, was nothing"},
	} {
		order := ordered()
		tc.change(order)
		diff := hotelstays.CompareOrder(seenOffer(), order)
		assert.Equal(t, tc.want, diff.String(), name)
		assert.Equal(t, len(diff.Changes) == 0, diff.Within(hotelstays.Tolerance{}), name)
	}
	cheaper := ordered()
	cheaper.NetRate.Amount = "100"
	assert.True(t, hotelstays.CompareOrder(seenOffer(), cheaper).Within(hotelstays.Tolerance{}))
	assert.False(t, hotelstays.CompareOrder(nil, nil).Within(hotelstays.Tolerance{}))
	assert.False(t, hotelstays.CompareOrder(seenOffer(), nil).Within(hotelstays.Tolerance{}))
}

// NetRise must be in the currency of the amount. If one amount falls, this does not compensate the rise of another amount.
func TestEachRiseMustBeWithinTheLimit(t *testing.T) {
	offer := func(taxes ...string) *types.RoomRatePkg {
		o := seenOffer()
		o.Tax = &types.Tax{}
		for _, tax := range taxes {
			amount, currency, _ := strings.Cut(tax, " ")
			o.Tax.Items = append(o.Tax.Items, types.TaxItem{TaxName: "Tax",
				Amount: &types.Money{Currency: cmp.Or(currency, "EUR"), Amount: json.Number(amount)}})
		}
		return o
	}
	for name, diff := range map[string]hotelstays.OfferDiff{
		"the first tax falls by 5, the second rises by 3":   hotelstays.CompareOffer(offer("10", "10"), offer("5", "13")),
		"the second tax rises by 3, the third falls by 8":   hotelstays.CompareOffer(offer("10", "10", "10"), offer("10", "13", "2")),
		"a tax rises by 3, a tax in another currency falls": hotelstays.CompareOffer(offer("10", "1000 JPY"), offer("13", "900 JPY")),
	} {
		for _, limit := range []types.Money{{}, {Currency: "EUR", Amount: "2.99"}, {Currency: "EUR", Amount: "-3"}, {Currency: "EUR"},
			{Currency: "EUR", Amount: "3,00"}, {Currency: "USD", Amount: "1000000"}, {Amount: "1000000"}} {
			assert.False(t, diff.Within(hotelstays.Tolerance{NetRise: limit}), "%s: %s", name, limit)
		}
		assert.True(t, diff.Within(hotelstays.Tolerance{NetRise: types.Money{Currency: "EUR", Amount: "3"}}), name)
	}
	limit := hotelstays.Tolerance{NetRise: types.Money{Currency: "EUR", Amount: "5"}}
	for taxes, want := range map[[2]string]bool{{"9", "999 JPY"}: true, {"9", "1001 JPY"}: false, {"11", "1001 JPY"}: false} {
		diff := hotelstays.CompareOffer(offer("10", "1000 JPY"), offer(taxes[:]...))
		assert.Equal(t, []bool{want, want}, []bool{diff.Within(limit), diff.Within(hotelstays.Tolerance{})}, taxes)
	}
}

// NetRisePercent is a share of the net total that the traveller saw, also for taxes and fees. If NetRise is set, too, both
// limits apply.
func TestRiseInPercentIsAShareOfTheNetTotal(t *testing.T) {
	net := func(seen, now *types.Money) func(seen, now *types.RoomRatePkg) {
		return func(was, is *types.RoomRatePkg) { was.TotalRate.NetRate, is.TotalRate.NetRate = *seen, *now }
	}
	rise := func(now json.Number) func(seen, now *types.RoomRatePkg) { return net(usd("120.50"), usd(now)) }
	for _, tc := range []struct {
		name    string
		change  func(seen, now *types.RoomRatePkg)
		percent string
		amount  types.Money
		want    bool
	}{
		{"a rise within the percentage", rise("123.5125"), "2.5", types.Money{}, true},
		{"a rise beyond the percentage", rise("123.5126"), "2.5", types.Money{}, false},
		{"a rise with a negative percentage", rise("120.51"), "-5", types.Money{}, false},
		{"a percentage of 1e99", rise("120.51"), "1e99", types.Money{}, false},
		{"a rise within the amount, with a percentage of zero", rise("121.50"), "0", *usd("1"), true},
		{"a rise from a net total of zero", net(usd("0"), usd("0.01")), "50", types.Money{}, false},
		{"the seen offer has no net total", net(&types.Money{Currency: "USD"}, usd("0.01")), "50", types.Money{}, false},
		{"the currency changes", net(usd("120.50"), &types.Money{Currency: "KWD", Amount: "120.51"}), "50", types.Money{}, false},
		{"gross total rises within the percentage", func(_, now *types.RoomRatePkg) { now.TotalRate.GrossRate.Amount = "153.01" }, "2.5",
			types.Money{}, true},
		{"cancellation fee rises beyond the percentage", func(_, now *types.RoomRatePkg) { now.CancelFees[0].Fee.Amount = "3.02" }, "2.5",
			types.Money{}, false},
		{"tax in another currency", func(seen, now *types.RoomRatePkg) {
			seen.Tax.Total, now.Tax.Total = &types.Money{Currency: "JPY", Amount: "1"}, &types.Money{Currency: "JPY", Amount: "2"}
		}, "50", types.Money{}, false},
		{"within the percentage, beyond the amount", rise("121.51"), "2.5", *usd("1"), false},
		{"within the amount, beyond the percentage", rise("123.52"), "2.5", *usd("10"), false},
		{"the limit is an empty amount", rise("120.51"), "2.5", *usd(""), false},
		{"the limit has another currency", rise("120.51"), "2.5", types.Money{Currency: "EUR", Amount: "10"}, false},
	} {
		seen, now := seenOffer(), seenOffer()
		tc.change(seen, now)
		tolerance := hotelstays.Tolerance{NetRise: tc.amount, NetRisePercent: decimal.RequireFromString(tc.percent),
			Accept: []types.OfferField{types.OfferCurrency}}
		assert.Equal(t, tc.want, hotelstays.CompareOffer(seen, now).Within(tolerance), tc.name)
	}
	order := &types.Order{CheckIn: checkIn, CheckOut: checkOut, NetRate: *usd("123.51")}
	diff := hotelstays.CompareOrder(seenOffer(), order)
	assert.True(t, diff.Within(hotelstays.Tolerance{NetRisePercent: decimal.RequireFromString("2.5")}))
	assert.False(t, diff.Within(hotelstays.Tolerance{NetRisePercent: decimal.RequireFromString("2.49")}))
}

// The JSON of an OfferDiff leaves out the exact amounts, so Within no longer knows that the price has fallen.
func TestDecodedOfferDiffAcceptsNoChangeOfAnAmount(t *testing.T) {
	cheaper := seenOffer()
	cheaper.TotalRate.NetRate.Amount = "100"
	diff := hotelstays.CompareOffer(seenOffer(), cheaper)
	require.True(t, diff.Within(hotelstays.Tolerance{}))
	text, err := json.Marshal(diff)
	require.NoError(t, err)
	assert.JSONEq(t, `{"changes":[{"field":"netTotal","seen":"120.50 USD","now":"100 USD"}]}`, string(text))
	var decoded hotelstays.OfferDiff
	require.NoError(t, json.Unmarshal(text, &decoded))
	assert.False(t, decoded.Within(hotelstays.Tolerance{}))
	assert.True(t, decoded.Within(hotelstays.Tolerance{Accept: []types.OfferField{types.OfferNetTotal}}))

	for _, none := range []any{hotelstays.OfferDiff{}, &hotelstays.OfferDiff{}, hotelstays.CompareOffer(seenOffer(), seenOffer())} {
		text, err = json.Marshal(none)
		require.NoError(t, err)
		assert.Equal(t, `{"changes":[]}`, string(text))
	}
}
