// The price guard: what differs between the offer that the traveller saw and the
// one that is about to be booked, or that was booked.

package hotelstays

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/hotelstays/hotelstays-go/types"
)

// OfferField names a part of an offer that CompareOffer compares.
type OfferField string

// The parts of an offer. Totals are those of all rooms and nights.
const (
	OfferNetTotal         OfferField = "netTotal"
	OfferGrossTotal       OfferField = "grossTotal"
	OfferRespectGrossRate OfferField = "respectGrossRate"
	OfferCurrency         OfferField = "currency"
	OfferTax              OfferField = "tax"
	OfferCancelFees       OfferField = "cancelFees"
	OfferRefundableMode   OfferField = "refundableMode"
	OfferRefundableUntil  OfferField = "refundableUntil"
	OfferBoard            OfferField = "board"
	OfferCheckIn          OfferField = "checkIn"
	OfferCheckOut         OfferField = "checkOut"
	OfferPackaging        OfferField = "includesPackaging"
	OfferRatePkgID        OfferField = "ratePkgId"
)

// OfferChange is one part that differs, both sides written for people.
type OfferChange struct {
	Field     OfferField
	Seen, Now string
}

// OfferDiff is what differs between two offers.
type OfferDiff struct {
	// Changes are in the order of the constants of OfferField; none means that the
	// offers agree in every part.
	Changes []OfferChange

	netRise decimal.Decimal // above zero: dearer; meaningful when comparable
	// comparable tells that both net totals are amounts in one currency.
	comparable bool
}

// Tolerance is what a caller accepts without asking the traveller again. The zero
// Tolerance accepts an offer that is as it was, or cheaper.
type Tolerance struct {
	// NetRise is by how much the net total may rise, in the offer's own currency.
	// It may always fall. Accepting OfferNetTotal accepts any rise.
	NetRise decimal.Decimal
	// Accept lists the other parts that may differ in any way.
	Accept []OfferField
}

// CompareOffer compares the offer that the traveller saw with the refreshed one of
// CheckAvail, or with a booked room: CompareOffer(seen, &order.Rooms[0].RoomRatePkg).
// Amounts are compared by value, 120.5 with 120.50. A part that only one side has
// differs: what is absent is not known to be the same. A nil offer differs from
// every other in all that it lacks.
func CompareOffer(seen, now *types.RoomRatePkg) OfferDiff {
	if seen == nil {
		seen = &types.RoomRatePkg{}
	}
	if now == nil {
		now = &types.RoomRatePkg{}
	}
	var d OfferDiff
	d.amounts(OfferNetTotal, &seen.TotalRate.NetRate, &now.TotalRate.NetRate)
	d.amounts(OfferGrossTotal, seen.TotalRate.GrossRate, now.TotalRate.GrossRate)
	d.text(OfferRespectGrossRate, fmt.Sprint(seen.TotalRate.RespectGrossRate), fmt.Sprint(now.TotalRate.RespectGrossRate))
	d.text(OfferCurrency, seen.TotalRate.NetRate.Currency, now.TotalRate.NetRate.Currency)
	d.text(OfferTax, taxText(seen.Tax), taxText(now.Tax))
	d.text(OfferCancelFees, feesText(seen.CancelFees), feesText(now.CancelFees))
	d.text(OfferRefundableMode, string(seen.RefundableMode), string(now.RefundableMode))
	d.text(OfferRefundableUntil, instant(seen.RefundableUntil), instant(now.RefundableUntil))
	d.text(OfferBoard, boardText(seen.Board), boardText(now.Board))
	d.text(OfferCheckIn, string(seen.CheckIn), string(now.CheckIn))
	d.text(OfferCheckOut, string(seen.CheckOut), string(now.CheckOut))
	d.text(OfferPackaging, fmt.Sprint(seen.IncludesPackaging), fmt.Sprint(now.IncludesPackaging))
	d.text(OfferRatePkgID, seen.RatePkgID, now.RatePkgID)

	was, wasErr := seen.TotalRate.NetRate.Decimal()
	is, isErr := now.TotalRate.NetRate.Decimal()
	d.comparable = wasErr == nil && isErr == nil && seen.TotalRate.NetRate.Currency == now.TotalRate.NetRate.Currency
	if d.comparable {
		d.netRise = is.Sub(was)
	}
	return d
}

// Within tells whether everything that differs is accepted.
func (d OfferDiff) Within(t Tolerance) bool {
	for _, change := range d.Changes {
		accepted := slices.Contains(t.Accept, change.Field)
		if change.Field == OfferNetTotal && d.comparable {
			accepted = accepted || !d.netRise.IsPositive() || d.netRise.LessThanOrEqual(t.NetRise)
		}
		if !accepted {
			return false
		}
	}
	return true
}

// String lists the changes for people.
func (d OfferDiff) String() string {
	if len(d.Changes) == 0 {
		return "no change"
	}
	texts := make([]string, len(d.Changes))
	for i, c := range d.Changes {
		texts[i] = fmt.Sprintf("%s: %s, was %s", c.Field, orNothing(c.Now), orNothing(c.Seen))
	}
	return strings.Join(texts, "; ")
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

func (d *OfferDiff) text(field OfferField, seen, now string) {
	if seen != now {
		d.Changes = append(d.Changes, OfferChange{field, seen, now})
	}
}

// amounts compares two sums by value, and as text where they are none.
func (d *OfferDiff) amounts(field OfferField, seen, now *types.Money) {
	if seen != nil && now != nil && !differ(seen, now) {
		return
	}
	d.text(field, moneyText(seen), moneyText(now))
}

func moneyText(m *types.Money) string {
	if m == nil || m.Amount == "" && m.Currency == "" {
		return ""
	}
	return plainMoney(*m)
}

// plainMoney writes equal amounts alike.
func plainMoney(m types.Money) string {
	amount, err := m.Decimal()
	if err != nil {
		return m.String()
	}
	return amount.String() + " " + m.Currency
}

func taxText(t *types.Tax) string {
	if t == nil {
		return ""
	}
	parts := []string{moneyText(t.Total)}
	for _, item := range t.Items {
		parts = append(parts, strings.TrimSpace(item.TaxType+" "+item.TaxName+" "+moneyText(item.Amount)))
	}
	return strings.Join(parts, ", ")
}

func feesText(fees []types.CancelFee) string {
	parts := make([]string, len(fees))
	for i, f := range fees {
		parts[i] = "until " + instant(f.Until) + " " + plainMoney(f.Fee)
	}
	return strings.Join(parts, ", ")
}

// instant writes equal instants alike, whatever offset they are told in.
func instant(t types.Timestamp) string {
	at, err := t.Time()
	if err != nil {
		return string(t)
	}
	return at.UTC().Format("2006-01-02T15:04:05.999999999Z")
}

func boardText(b *types.Board) string {
	if b == nil {
		return ""
	}
	return string(b.BoardID)
}
