package types

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMoneyKeepsTheDigitsOfItsJSON(t *testing.T) {
	for _, literal := range []string{"0", "120.50", "100", "0.001", "1234567890123456789.123456789", "-3.10", "1E+2", "1e-7", "0.10"} {
		var m Money
		require.NoError(t, json.Unmarshal([]byte(`{"currency":"KWD","amount":`+literal+`}`), &m))
		assert.Equal(t, json.Number(literal), m.Amount)
		back, err := json.Marshal(m)
		require.NoError(t, err)
		assert.Equal(t, `{"currency":"KWD","amount":`+literal+`}`, string(back))
	}
}

func TestMoneyLeavesAnEmptyAmountOutOfJSON(t *testing.T) {
	back, err := json.Marshal(Money{Currency: "EUR"})
	require.NoError(t, err)
	assert.Equal(t, `{"currency":"EUR"}`, string(back))
}

func eur(amount json.Number) Money { return Money{Currency: "EUR", Amount: amount} }

func TestMoneyAddsAndComparesExactly(t *testing.T) {
	cases := []struct{ a, b, sum json.Number }{
		{"0.1", "0.2", "0.3"},
		{"1.50", "1.50", "3.00"},
		{"100", "0.005", "100.005"},
		{"-5", "5", "0"},
		{"1E+2", "1", "101"},
		{"9007199254740993", "1", "9007199254740994"},
	}
	for _, c := range cases {
		sum, err := eur(c.a).Add(eur(c.b))
		require.NoError(t, err)
		assert.Equal(t, eur(c.sum), sum)
	}
	equal, err := eur("120.5").Cmp(eur("120.50"))
	require.NoError(t, err)
	assert.Zero(t, equal)
	less, err := eur("9.99").Cmp(eur("10"))
	require.NoError(t, err)
	assert.Equal(t, -1, less)
}

func TestNewMoneyKeepsTheDigits(t *testing.T) {
	for _, amount := range []string{"120.50", "0", "-0.001", "500", "12345678901234567890.123"} {
		made := NewMoney("EUR", decimal.RequireFromString(amount))
		assert.Equal(t, amount+" EUR", made.String())
	}
	assert.Equal(t, "120000 JPY", NewMoney("JPY", decimal.New(12, 4)).String())
	_, err := NewMoney("EUR", decimal.New(1, 1<<30)).Decimal()
	assert.ErrorIs(t, err, ErrAmount, "its digits would fill the memory")
}

func TestMoneyEqualComparesByValue(t *testing.T) {
	for _, c := range []struct {
		m, n Money
		want bool
	}{
		{eur("120.5"), eur("120.50"), true},
		{eur("1E+2"), eur("100"), true},
		{eur("120.5"), eur("120.51"), false},
		{eur("120.5"), Money{Currency: "USD", Amount: "120.5"}, false},
		{eur("1,5"), eur("1,5"), true}, // both amounts are invalid, but their text is the same
		{eur("1,5"), eur("1,50"), false},
		{eur("0"), eur(""), false},
		{Money{}, Money{}, true},
	} {
		assert.Equal(t, c.want, c.m.Equal(c.n), "%s and %s", c.m, c.n)
		assert.Equal(t, c.want, c.n.Equal(c.m), "%s and %s", c.n, c.m)
	}
	assert.False(t, reflect.TypeFor[Money]().Comparable(), "== would find 120.5 and 120.50 different")
	assert.Equal(t, 2*reflect.TypeFor[string]().Size(), reflect.TypeFor[Money]().Size(), "the field that forbids == takes no memory")
}

func TestInvalidAmountIsAnErrorAndNeverZero(t *testing.T) {
	_, err := eur("1").Add(Money{Currency: "USD", Amount: "1"})
	assert.ErrorIs(t, err, ErrCurrencyMismatch)
	for _, pair := range [][2]Money{{eur("1"), {Amount: "1"}}, {{Amount: "1"}, eur("1")}} {
		_, err = pair[0].Cmp(pair[1])
		assert.ErrorIs(t, err, ErrCurrencyMismatch)
	}
	for _, bad := range []json.Number{"", " ", "abc", "1,5", "NaN", "1e999999999", "1e-999999999", "1e65", "1e-65",
		"+5", ".5", "5.", "007", "-01", "1.e3"} {
		_, err := eur(bad).Decimal()
		assert.ErrorIs(t, err, ErrAmount, "%q is not an amount, and not zero", bad)
		_, err = eur("1").Add(eur(bad))
		assert.ErrorIs(t, err, ErrAmount)
	}
	for _, extreme := range []json.Number{"1e64", "1e-64"} {
		_, err := eur(extreme).Decimal()
		assert.NoError(t, err)
	}
}

// The time to parse an amount grows with the square of its length, so a hostile amount of some megabytes would take hours.
func TestDecimalRefusesAmountsBeyond256Characters(t *testing.T) {
	for _, endless := range []string{strings.Repeat("9", 100_000), "0." + strings.Repeat("9", 100_000)} {
		_, err := eur(json.Number(endless)).Decimal()
		require.ErrorIs(t, err, ErrAmount)
		assert.Less(t, len(err.Error()), 200)
	}
	longest := json.Number(strings.Repeat("9", 256))
	amount, err := eur(longest).Decimal()
	require.NoError(t, err, "256 characters are accepted")
	assert.Equal(t, string(longest), amount.String())
	_, err = eur(longest + "9").Decimal()
	assert.ErrorIs(t, err, ErrAmount, "257 are not")
}

func TestMoneyPrintsAmountAndCurrency(t *testing.T) {
	assert.Equal(t, "120.50 EUR", eur("120.50").String())
	assert.Equal(t, "no amount EUR", Money{Currency: "EUR"}.String())
	assert.Equal(t, "no amount", Money{}.String())
}

func TestDateIsConvertedToAndFromATime(t *testing.T) {
	day, err := Date("2028-02-29").Time()
	require.NoError(t, err)
	assert.Equal(t, time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC), day)
	east := time.FixedZone("", 14*3600)
	assert.Equal(t, Date("2027-01-01"), DateOf(time.Date(2027, 1, 1, 3, 0, 0, 0, east)), "the day in the location of the time")
	for _, bad := range []Date{"", "2027-02-29", "2027-2-3", "01/02/2027", "2027-01-01T00:00:00Z"} {
		_, err := bad.Time()
		assert.Error(t, err, "%q", bad)
	}
}

func TestTimeReadsOnlyTimestampsWithAUTCOffset(t *testing.T) {
	want := time.Date(2027, 1, 2, 15, 4, 5, 0, time.UTC)
	for _, good := range []Timestamp{
		"2027-01-02T15:04:05Z", "2027-01-02T19:04:05+04:00", "2027-01-02T19:04:05+0400", "2027-01-02T19:04:05+04",
		"2027-01-02T15:04:05.000Z", "2027-01-02T15:04:05,000Z", "2027-01-02T19:04:05.000+04",
		"20270102T150405Z", "20270102T190405+0400", "20270102T190405+04", "20270102T150405.000Z",
	} {
		at, err := good.Time()
		require.NoError(t, err)
		assert.True(t, want.Equal(at), "%q", good)
	}
	for _, minutes := range []Timestamp{
		"2027-01-02T15:04Z", "2027-01-02T19:04+04:00", "2027-01-02T19:04+0400", "2027-01-02T19:04+04",
		"20270102T1504Z", "20270102T1904+0400", "20270102T1904+04",
	} {
		at, err := minutes.Time()
		require.NoError(t, err)
		assert.True(t, want.Truncate(time.Minute).Equal(at), "%q", minutes)
	}
	for _, bad := range []Timestamp{"", "2027-01-02", "2027-01-02T15:04:05", "2027-01-02 15:04:05", "20270102T150405", "1790000000"} {
		_, err := bad.Time()
		assert.Error(t, err, "%q is not an instant", bad)
	}
}

func TestOnlySearchesThatNoSupplierAnsweredAreRetryable(t *testing.T) {
	for code, want := range map[EmptyReasonCode]bool{
		EmptyReasonNoSupplierEnabled: false, EmptyReasonNoSupplierPermitted: false,
		EmptyReasonAllSuppliersExcluded: false, EmptyReasonNoSupplierAnswered: true, "OTHER": false,
	} {
		assert.Equal(t, want, (&EmptyReason{Code: code}).Retryable(), code)
	}
	assert.False(t, (*EmptyReason)(nil).Retryable())
}

func TestCancelFeeAtReturnsTheFeeOfTheNextStepOrAnError(t *testing.T) {
	const early, later = "2027-02-01T00:00:00Z", "2027-03-02T00:00:00Z"
	free, ten := CancelFee{"2027-03-01T12:00:00Z", eur("0")}, CancelFee{"2027-03-05T16:00:00+04:00", eur("10.0")}
	all, ten0 := CancelFee{"20270310T120000Z", eur("99")}, CancelFee{ten.Until, eur("0")}
	steps := func(steps ...CancelFee) RoomRatePkg { return RoomRatePkg{CancelFees: steps} }
	mode := func(p RoomRatePkg, mode RefundableMode, until Timestamp) RoomRatePkg {
		p.RefundableMode, p.RefundableUntil, p.TotalRate.NetRate = mode, until, eur("99")
		return p
	}
	for name, c := range map[string]struct {
		offer     RoomRatePkg
		at        string
		want, err string
	}{
		"a second before a deadline":               {steps(free, ten, all), "2027-03-01T11:59:59Z", "0 EUR", ""},
		"at a deadline":                            {steps(free, ten, all), "2027-03-01T12:00:00Z", "", "cancelFees[0] ends at that instant"},
		"a second after a deadline":                {steps(free, ten, all), "2027-03-01T12:00:01Z", "10.0 EUR", ""},
		"after a deadline in another time zone":    {steps(free, ten, all), "2027-03-05T12:00:01Z", "99 EUR", ""},
		"steps in another order":                   {steps(all, free, ten), later, "10.0 EUR", ""},
		"after the last deadline":                  {steps(free, ten, all), "2027-03-11T00:00:00Z", "", "no step"},
		"no steps":                                 {RoomRatePkg{}, "2027-03-01T00:00:00Z", "", "no step"},
		"a deadline without a zone":                {steps(free, CancelFee{"2027-03-05T12:00:00", eur("10")}), early, "", "cancelFees[1]: "},
		"a fee without a deadline":                 {steps(CancelFee{"", eur("10")}), early, "", "cancelFees[0]: "},
		"a fee without an amount":                  {steps(CancelFee{free.Until, eur("")}), early, "", "invalid amount"},
		"two fees for one deadline":                {steps(free, CancelFee{free.Until, eur("10")}), early, "", "different fees"},
		"the same fee twice":                       {steps(ten, CancelFee{"2027-03-05T12:00:00Z", eur("10")}), early, "10.0 EUR", ""},
		"refundable now, no steps":                 {mode(steps(), RefundableFull, free.Until), early, "0 EUR", ""},
		"refundableUntil has passed, no steps":     {mode(steps(), RefundableFull, free.Until), later, "", "no step"},
		"refundableUntil without a zone, no steps": {mode(steps(), RefundableFull, "2027-03-01T12:00:00"), early, "", "refundableUntil: "},
		"refundableUntil is not a time":            {mode(steps(free), RefundableFull, "soon"), early, "", "refundableUntil: "},
		"the asked time is zero":                   {steps(free), "0001-01-01T00:00:00Z", "", "zero time"},
		"a negative fee":                           {steps(CancelFee{free.Until, eur("-1")}), early, "", "-1 EUR"},
		"a fee without a currency":                 {steps(CancelFee{free.Until, Money{Amount: "1"}}), early, "", "no currency"},
		"refundable now, no currency": {RoomRatePkg{RefundableMode: RefundableFull, RefundableUntil: free.Until},
			early, "", "no currency"},
		"two fees for a later deadline":           {steps(free, ten, CancelFee{ten.Until, eur("60")}), early, "", "different fees"},
		"two fees for a past deadline":            {steps(free, CancelFee{free.Until, eur("10")}, all), later, "", "different fees"},
		"refundableUntil has passed, a free step": {mode(steps(ten0), RefundableFull, free.Until), later, "", "refundableMode is full"},
		"refundable now, a free step":             {mode(steps(ten0), RefundableFull, free.Until), early, "0 EUR", ""},
		"refundableUntil is the asked time":       {mode(steps(ten), RefundableFull, later), later, "", "refundableUntil is that instant"},
		"full, no refundableUntil, but a fee":     {mode(steps(ten), RefundableFull, ""), early, "", "refundableMode is full"},
		"full, no refundableUntil, a free step":   {mode(steps(free), RefundableFull, ""), early, "0 EUR", ""},
		"full, no refundableUntil, no steps":      {mode(steps(), RefundableFull, ""), early, "", "no step"},
		"partial, no steps":                       {mode(steps(), RefundablePartial, free.Until), early, "", "no step"},
		"not refundable, no steps":                {mode(steps(), RefundableNo, ""), early, "", "no step"},
		"not refundable":                          {mode(steps(all), RefundableNo, ""), early, "99 EUR", ""},
		"not refundable, but the step is free":    {mode(steps(free), RefundableNo, ""), early, "", "refundableMode is no"},
		"refundable now, but a fee":               {mode(steps(ten), RefundableFull, free.Until), early, "", "refundableMode is full"},
		"refundableUntil has passed, a fee":       {mode(steps(free, ten), RefundableFull, free.Until), later, "10.0 EUR", ""},
		"partial, and the step is free":           {mode(steps(free, ten), RefundablePartial, ten.Until), early, "0 EUR", ""},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		require.NoError(t, err)
		turned := c.offer
		turned.CancelFees = slices.Clone(c.offer.CancelFees)
		slices.Reverse(turned.CancelFees)
		fee, err := c.offer.CancelFeeAt(at)
		same, turnedErr := turned.CancelFeeAt(at)
		if c.err != "" {
			assert.ErrorContains(t, err, c.err, name)
			assert.Error(t, turnedErr, "%s, in another order", name)
			continue
		}
		require.NoError(t, err, name)
		require.NoError(t, turnedErr, name)
		assert.Equal(t, c.want, fee.String(), name)
		assert.True(t, fee.Equal(same), "%s, in another order", name)
	}
}

func TestI18NReturnsEnglishForAMissingLanguage(t *testing.T) {
	text := I18N{EN: "one", ZH: "一"}
	for language, want := range map[string]string{
		"en": "one", "zh": "一", "zh-Hant-TW": "一", "ZH-cn": "一", "zh_CN": "一", "ar": "one",
		"ar-AE": "one", "fr": "one", "": "one", "zhuang": "one",
	} {
		assert.Equal(t, want, text.In(language), language)
	}
	assert.Equal(t, "一", (&I18N{ZH: "一"}).In("en"), "the first that was sent")
	assert.Empty(t, (*I18N)(nil).In("en"))
}

func TestI18NPrintsItsText(t *testing.T) {
	var missing *I18N
	for want, text := range map[string]any{
		"one":   I18N{EN: "one", ZH: "一", AR: "واحد"},
		"一":     &I18N{ZH: "一", AR: "واحد"},
		"واحد":  I18N{AR: "واحد"},
		"":      I18N{},
		"<nil>": missing,
	} {
		assert.Equal(t, want, fmt.Sprint(text))
	}
	assert.Empty(t, missing.String())
	sent, err := json.Marshal(I18N{AR: "واحد"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"ar":"واحد"}`, string(sent))
}

func TestOfferOfAnOrderRoomHasEverySharedField(t *testing.T) {
	text := []byte(`{"ratePkgId":"p","refundableMode":"full","refundableUntil":"u","cancelFees":[{"until":"v"}],
		"originalRoomNaming":{"id":"n"},"rate":{"netRate":{"amount":1}},"totalRate":{"netRate":{"amount":2}},"rateComment":"c",
		"includesPackaging":true,"checkIn":"i","checkOut":"o","board":{"boardId":"RO"},"tax":{"items":[]}}`)
	var room OrderRoom
	var offer RoomRatePkg
	require.NoError(t, json.Unmarshal(text, &room))
	require.NoError(t, json.Unmarshal(text, &offer))
	for f, v := range reflect.ValueOf(offer).Fields() {
		assert.False(t, v.IsZero(), f.Name)
	}
	assert.Equal(t, offer, room.Offer())
}
