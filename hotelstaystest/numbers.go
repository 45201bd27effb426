// Exact decimals, without floats, and the currencies.

package hotelstaystest

import (
	"encoding/json"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// micro is a decimal number in millionths: 1500000 is 1.5.
type micro int64

func (m micro) MarshalJSON() ([]byte, error) { return []byte(decimalString(int64(m), 6)), nil }

// tenth is a decimal number in tenths: 45 is 4.5.
type tenth int

func (t tenth) MarshalJSON() ([]byte, error) { return []byte(decimalString(int64(t), 1)), nil }

// decimalString returns minor / 10^decimals, with final zeros: 120.50, 1500, 3.075.
func decimalString(minor int64, decimals int) string {
	sign := ""
	if minor < 0 {
		sign, minor = "-", -minor
	}
	digits := strconv.FormatInt(minor, 10)
	if decimals == 0 {
		return sign + digits
	}
	if pad := decimals + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	cut := len(digits) - decimals
	return sign + digits[:cut] + "." + digits[cut:]
}

type currency struct {
	code     string
	decimals int
	perUSD   micro // price of one US dollar in this currency
}

// currencies have fixed, invented exchange rates.
var currencies = []currency{
	{"AED", 2, 3_672500}, {"BHD", 3, 376000}, {"CNY", 2, 7_150000}, {"EGP", 2, 48_500000},
	{"EUR", 2, 920000}, {"GBP", 2, 785000}, {"INR", 2, 83_900000}, {"JPY", 0, 151_250000},
	{"KRW", 0, 1380_000000}, {"KWD", 3, 307150}, {"SAR", 2, 3_750000}, {"THB", 2, 34_600000},
	{"TRY", 2, 34_250000}, {"USD", 2, 1_000000},
}

func findCurrency(code string) (currency, bool) {
	i := slices.IndexFunc(currencies, func(c currency) bool { return c.code == code })
	if i < 0 {
		return currency{}, false
	}
	return currencies[i], true
}

// fromCents converts US cents to minor units of c, rounded half up.
func (c currency) fromCents(cents int64) int64 {
	scale := uint64(1)
	for range c.decimals {
		scale *= 10
	}
	const unit = 100 * 1_000_000 // cents per dollar x micros per unit
	hi, lo := bits.Mul64(uint64(cents), uint64(c.perUSD)*scale)
	lo, carry := bits.Add64(lo, unit/2, 0)
	q, _ := bits.Div64(hi+carry, lo, unit)
	return int64(q)
}

type money struct {
	Currency string      `json:"currency"`
	Amount   json.Number `json:"amount"`
}

func (c currency) money(minor int64) money {
	return money{Currency: c.code, Amount: json.Number(decimalString(minor, c.decimals))}
}
