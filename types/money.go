// Money: an amount with its original digits, and exact arithmetic on it.

package types

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shopspring/decimal"
)

// ErrCurrencyMismatch is returned by Add and Cmp if the two amounts have different currencies. The methods of Money convert no
// amount.
var ErrCurrencyMismatch = errors.New("the currencies differ")

// ErrAmount is returned for an amount that is empty or not a JSON number. A missing amount is never 0.
var ErrAmount = errors.New("invalid amount")

// maxExponent limits the exponent of an amount, because arithmetic writes out all digits: 1e999999999
// would fill the memory.
const maxExponent = 64

// maxLiteral limits the length of an amount, because parsing takes quadratic time.
const maxLiteral = 256

// Money is an amount in one currency. Amount keeps the digits that were sent: "120.50" stays "120.50", and no step uses a
// float. Equal compares by value; == does not compile.
//
// The number of decimals of a currency is not sent. JPY amounts usually have none, and KWD amounts three.
type Money struct {
	_ [0]func() // makes == a compile error, because 120.5 and 120.50 are equal amounts

	// Currency is the currency's code, as it was sent.
	Currency string `json:"currency"`
	// Amount is the number that was sent, or empty. Whether it counts units of the currency
	// or cents is undocumented. An empty amount is left out of JSON, because an encoder would
	// write 0.
	Amount json.Number `json:"amount,omitempty"`
}

// NewMoney returns an amount with the digits of d: 120.50 stays "120.50". If the exponent of d is beyond ±64,
// the method Decimal of the result returns an error.
func NewMoney(currency string, d decimal.Decimal) Money {
	if d.Exponent() > maxExponent || d.Exponent() < -maxExponent { // StringFixed could write so many digits that they fill the memory
		return Money{Currency: currency, Amount: json.Number(fmt.Sprintf("%se%d", d.Coefficient(), d.Exponent()))}
	}
	return Money{Currency: currency, Amount: json.Number(d.StringFixed(-min(d.Exponent(), 0)))}
}

// Decimal returns the amount for exact arithmetic. If the amount is empty, malformed or longer than 256 characters, Decimal
// returns an error that wraps ErrAmount.
func (m Money) Decimal() (decimal.Decimal, error) {
	if m.Amount == "" {
		return decimal.Decimal{}, fmt.Errorf("%w: the amount is missing", ErrAmount)
	}
	if len(m.Amount) > maxLiteral {
		return decimal.Decimal{}, fmt.Errorf("%w: %d characters; the limit is %d", ErrAmount, len(m.Amount), maxLiteral)
	}
	d, err := decimal.NewFromString(string(m.Amount))
	if err != nil || !json.Valid([]byte(m.Amount)) { // decimal also accepts a leading + or 0, which JSON forbids
		return decimal.Decimal{}, fmt.Errorf("%w: %q is not a JSON number", ErrAmount, string(m.Amount))
	}
	if d.Exponent() > maxExponent || d.Exponent() < -maxExponent {
		return decimal.Decimal{}, fmt.Errorf("%w: the exponent of %q is beyond ±%d", ErrAmount, string(m.Amount), maxExponent)
	}
	return d, nil
}

// Add returns m + n. The error is ErrCurrencyMismatch if the currencies differ, or ErrAmount
// if an amount is invalid.
func (m Money) Add(n Money) (Money, error) {
	a, b, err := decimals(m, n)
	if err != nil {
		return Money{}, err
	}
	return NewMoney(m.Currency, a.Add(b)), nil // Add keeps the larger number of decimals: 1.5 + 1.50 is 3.00
}

// Cmp compares m and n by value, so that 120.5 equals 120.50. It returns -1 if m is less than n, 0 if they are equal, and 1
// if m is greater. It returns the same errors as Add.
func (m Money) Cmp(n Money) (int, error) {
	a, b, err := decimals(m, n)
	if err != nil {
		return 0, err
	}
	return a.Cmp(b), nil
}

// Equal reports whether the currencies are the same and the amounts have the same value: 120.5 equals 120.50. Two invalid
// amounts are equal only if their texts are equal.
func (m Money) Equal(n Money) bool {
	if m.Currency == n.Currency && m.Amount == n.Amount {
		return true
	}
	order, err := m.Cmp(n)
	return err == nil && order == 0
}

// String returns amount and currency for people, such as "120.50 EUR".
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
		return a, b, fmt.Errorf("%w: %s and %s; convert one amount first", ErrCurrencyMismatch, m, n)
	}
	if a, err = m.Decimal(); err != nil {
		return a, b, err
	}
	b, err = n.Decimal()
	return a, b, err
}
