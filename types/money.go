// Money: an amount as the wire wrote it, and exact arithmetic on it.

package types

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shopspring/decimal"
)

// ErrCurrencyMismatch is returned by arithmetic on amounts of two currencies.
// The service converts nothing for its callers, and neither does this package.
var ErrCurrencyMismatch = errors.New("two currencies do not mix")

// ErrAmount is returned when an amount is empty or is not a JSON number. An
// amount that is missing is never taken for zero.
var ErrAmount = errors.New("not an amount")

// maxExponent bounds the powers of ten of an amount: arithmetic writes them out
// as digits, and a literal such as 1e999999999 would fill the memory.
const maxExponent = 64

// maxLiteral bounds the characters of an amount: reading digits takes quadratic time.
const maxLiteral = 256

// Money is a sum in one currency. Amount keeps the digits that the service
// sent: "120.50" stays "120.50", and no step on the way is a float.
//
// How many decimals a currency has is not part of the wire: JPY amounts
// usually have none and KWD amounts three, and both arrive as they were sent.
type Money struct {
	// Currency is the currency's code as the service sent it.
	Currency string `json:"currency"`
	// Amount is the number that was sent. Whether it counts units of the currency or
	// its cents is undocumented. An empty one was not sent; it is left out when the
	// value is encoded again, because an encoder would turn it into 0.
	Amount json.Number `json:"amount,omitempty"`
}

// Decimal returns the amount for exact arithmetic. An amount that is empty, malformed
// or longer than 256 characters is ErrAmount, never 0.
func (m Money) Decimal() (decimal.Decimal, error) {
	if m.Amount == "" {
		return decimal.Decimal{}, fmt.Errorf("%w: the amount is empty", ErrAmount)
	}
	if len(m.Amount) > maxLiteral {
		return decimal.Decimal{}, fmt.Errorf("%w: it has %d characters", ErrAmount, len(m.Amount))
	}
	d, err := decimal.NewFromString(string(m.Amount))
	if err != nil || !json.Valid([]byte(m.Amount)) { // decimals may begin with a plus or a zero, too
		return decimal.Decimal{}, fmt.Errorf("%w: %q", ErrAmount, string(m.Amount))
	}
	if d.Exponent() > maxExponent || d.Exponent() < -maxExponent {
		return decimal.Decimal{}, fmt.Errorf("%w: %q has an exponent beyond %d", ErrAmount, string(m.Amount), maxExponent)
	}
	return d, nil
}

// Add returns the sum of m and n. The currencies must be the same, else the
// error is ErrCurrencyMismatch; an amount that cannot be read is ErrAmount.
func (m Money) Add(n Money) (Money, error) {
	a, b, err := decimals(m, n)
	if err != nil {
		return Money{}, err
	}
	sum := a.Add(b)
	// The sum keeps the finer of the two scales, so that 1.50 + 1.50 is 3.00.
	places := -min(a.Exponent(), b.Exponent(), 0)
	return Money{Currency: m.Currency, Amount: json.Number(sum.StringFixed(places))}, nil
}

// Cmp compares m and n by value: -1, 0 or 1 as m is less than, equal to or
// greater than n, so that 120.5 equals 120.50. The errors are those of Add.
func (m Money) Cmp(n Money) (int, error) {
	a, b, err := decimals(m, n)
	if err != nil {
		return 0, err
	}
	return a.Cmp(b), nil
}

// String returns amount and currency, such as "120.50 EUR", for people to read.
func (m Money) String() string {
	switch {
	case m.Amount == "" && m.Currency == "":
		return "no amount"
	case m.Amount == "":
		return "no amount " + m.Currency
	default:
		return string(m.Amount) + " " + m.Currency
	}
}

func decimals(m, n Money) (a, b decimal.Decimal, err error) {
	if m.Currency != n.Currency {
		return a, b, fmt.Errorf("%w: %s and %s", ErrCurrencyMismatch, m.Currency, n.Currency)
	}
	if a, err = m.Decimal(); err != nil {
		return a, b, err
	}
	b, err = n.Decimal()
	return a, b, err
}
