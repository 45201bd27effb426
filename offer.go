// The price check: the offer that the traveller saw, compared with the current offer or with the order.

package hotelstays

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/hotelstays/hotelstays-go/types"
)

// OfferChange is one difference, with both values as text for people.
type OfferChange struct {
	Field types.OfferField `json:"field"`
	Seen  string           `json:"seen"`
	Now   string           `json:"now"`

	seen, now []sum // the amounts that Within compares; empty if a net total is missing
}

// OfferDiff lists the differences between two offers, or between an offer and an order. Its JSON is for logs and
// people. It lacks data that Within needs, so for a decoded OfferDiff Within accepts no change of an amount.
type OfferDiff struct {
	// Changes are in the order of the types.OfferField constants; empty if nothing differs.
	Changes []OfferChange `json:"changes"`

	seenNet types.Money // the net total that the traveller saw
}

// MarshalJSON encodes nil Changes as an empty array.
func (d OfferDiff) MarshalJSON() ([]byte, error) {
	type plain OfferDiff
	return json.Marshal(plain{Changes: append([]OfferChange{}, d.Changes...)})
}

// Tolerance describes the changes that you accept without asking the traveller again. The zero value accepts an unchanged or
// a cheaper offer.
//
// NetRise and NetRisePercent limit how much the net total may rise. If both are set, both limits apply. The same limits
// apply to the gross total, each tax and each cancellation fee, because they change with the net total. Amounts may always
// fall.
type Tolerance struct {
	// NetRise is an amount in the currency of the offer. An amount of zero or in another currency accepts no rise. If
	// NetRise is not set, only NetRisePercent is the limit.
	NetRise types.Money
	// NetRisePercent is a share of the net total that the traveller saw, in percent, such as
	// decimal.RequireFromString("2.5"). If it is zero, only NetRise is the limit. If it is negative, or the net total is
	// zero, no rise is accepted. Amounts in another currency than the net total must not rise.
	NetRisePercent decimal.Decimal
	// Accept lists the parts that may change in any way.
	Accept []types.OfferField
}

// CompareOffer compares the offer that the traveller saw with the current offer, which CheckAvail returns. Amounts are
// compared by value: 120.5 equals 120.50. A part that only one offer has is a difference. A nil offer has no parts.
func CompareOffer(seen, now *types.RoomRatePkg) OfferDiff {
	seen, now = cmp.Or(seen, &types.RoomRatePkg{}), cmp.Or(now, &types.RoomRatePkg{})
	d := OfferDiff{seenNet: seen.TotalRate.NetRate}
	d.amounts(types.OfferNetTotal, totals(&seen.TotalRate.NetRate), totals(&now.TotalRate.NetRate))
	d.amounts(types.OfferGrossTotal, totals(seen.TotalRate.GrossRate), totals(now.TotalRate.GrossRate))
	d.text(types.OfferRespectGrossRate, fmt.Sprint(seen.TotalRate.RespectGrossRate), fmt.Sprint(now.TotalRate.RespectGrossRate))
	d.text(types.OfferCurrency, seen.TotalRate.NetRate.Currency, now.TotalRate.NetRate.Currency)
	d.amounts(types.OfferTax, taxes(seen.Tax), taxes(now.Tax))
	d.amounts(types.OfferCancelFees, fees(seen.CancelFees), fees(now.CancelFees))
	d.text(types.OfferRefundableMode, string(seen.RefundableMode), string(now.RefundableMode))
	d.text(types.OfferRefundableUntil, instant(seen.RefundableUntil), instant(now.RefundableUntil))
	d.text(types.OfferBoard, boardText(seen.Board), boardText(now.Board))
	d.text(types.OfferCheckIn, string(seen.CheckIn), string(now.CheckIn))
	d.text(types.OfferCheckOut, string(seen.CheckOut), string(now.CheckOut))
	d.text(types.OfferPackaging, fmt.Sprint(seen.IncludesPackaging), fmt.Sprint(now.IncludesPackaging))
	d.text(types.OfferRatePkgID, seen.RatePkgID, now.RatePkgID)
	return d
}

// CompareOrder lists where an order differs from the booked offer. A difference is not always an error: what the totals of
// an order cover, and what its cancelTime means, is undocumented. Parts that the order lacks are not compared, except for
// the net total. A nil order counts as an empty order.
//
// The rooms are compared by refundableMode, refundableUntil, board, packaging and ratePkgId, and only the first difference
// is reported. Their rates, taxes and cancellation fees are not compared: whether these are per room or per order is
// undocumented.
func CompareOrder(offer *types.RoomRatePkg, order *types.Order) OfferDiff {
	offer, order = cmp.Or(offer, &types.RoomRatePkg{}), cmp.Or(order, &types.Order{})
	d := OfferDiff{seenNet: offer.TotalRate.NetRate}
	textIfSet := func(field types.OfferField, seen, now string) {
		if now != "" {
			d.text(field, seen, now)
		}
	}
	firstRoom := func(field types.OfferField, text func(*types.RoomRatePkg) string) {
		seen := text(offer)
		for i := range order.Rooms {
			room := order.Rooms[i].Offer()
			if now := text(&room); now != seen && now != "" {
				d.text(field, seen, now)
				return
			}
		}
	}
	d.amounts(types.OfferNetTotal, totals(&offer.TotalRate.NetRate), totals(&order.NetRate))
	if gross := totals(order.GrossRate); gross != nil {
		d.amounts(types.OfferGrossTotal, totals(offer.TotalRate.GrossRate), gross)
	}
	d.text(types.OfferRespectGrossRate, fmt.Sprint(offer.TotalRate.RespectGrossRate), fmt.Sprint(order.RespectGrossRate))
	textIfSet(types.OfferCurrency, offer.TotalRate.NetRate.Currency, order.NetRate.Currency)
	firstRoom(types.OfferRefundableMode, func(o *types.RoomRatePkg) string { return string(o.RefundableMode) })
	firstRoom(types.OfferRefundableUntil, func(o *types.RoomRatePkg) string { return instant(o.RefundableUntil) })
	firstRoom(types.OfferBoard, func(o *types.RoomRatePkg) string { return boardText(o.Board) })
	textIfSet(types.OfferCheckIn, string(offer.CheckIn), string(order.CheckIn))
	textIfSet(types.OfferCheckOut, string(offer.CheckOut), string(order.CheckOut))
	firstRoom(types.OfferPackaging, func(o *types.RoomRatePkg) string { return fmt.Sprint(o.IncludesPackaging) })
	firstRoom(types.OfferRatePkgID, func(o *types.RoomRatePkg) string { return o.RatePkgID })
	textIfSet(types.OfferCancelTime, "", string(order.CancelTime))
	return d
}

// Within reports whether t accepts all changes.
func (d OfferDiff) Within(t Tolerance) bool {
	limits := t.limits(d.seenNet)
	return !slices.ContainsFunc(d.Changes, func(c OfferChange) bool {
		tooHigh := func(rise types.Money) bool {
			return slices.ContainsFunc(limits, func(limit types.Money) bool {
				order, err := rise.Cmp(limit)
				return err != nil || order > 0
			})
		}
		rises, onlyAmounts := c.rises()
		return (!onlyAmounts || slices.ContainsFunc(rises, tooHigh)) && !slices.Contains(t.Accept, c.Field)
	})
}

// limits returns the amounts that no rise may exceed. An empty amount accepts no rise.
func (t Tolerance) limits(seenNet types.Money) []types.Money {
	if t.NetRisePercent.IsZero() {
		return []types.Money{t.NetRise}
	}
	limits := make([]types.Money, 1, 2)
	if net, err := seenNet.Decimal(); err == nil {
		limits[0] = types.NewMoney(seenNet.Currency, net.Mul(t.NetRisePercent).Shift(-2))
	}
	if t.NetRise.Amount != "" || t.NetRise.Currency != "" {
		limits = append(limits, t.NetRise)
	}
	return limits
}

// String lists the changes for people.
func (d OfferDiff) String() string {
	if len(d.Changes) == 0 {
		return "no change"
	}
	texts := make([]string, len(d.Changes))
	for i, c := range d.Changes {
		texts[i] = fmt.Sprintf("%s: %s, was %s", c.Field, cmp.Or(c.Now, "nothing"), cmp.Or(c.Seen, "nothing"))
	}
	return strings.Join(texts, "; ")
}

func (d *OfferDiff) text(field types.OfferField, seen, now string) {
	if seen != now {
		d.Changes = append(d.Changes, OfferChange{Field: field, Seen: seen, Now: now})
	}
}

// sum is one amount of a part of an offer, such as one tax.
type sum struct {
	label  string
	amount types.Money
}

func (s sum) String() string { return strings.TrimSpace(s.label + " " + s.amount.String()) }

func (s sum) equal(other sum) bool { return s.label == other.label && s.amount.Equal(other.amount) }

func (d *OfferDiff) amounts(field types.OfferField, seen, now []sum) {
	noPrice := field == types.OfferNetTotal && !(hasPrice(seen) && hasPrice(now)) // a missing net total always counts as a change
	if slices.EqualFunc(seen, now, sum.equal) && !noPrice {
		return
	}
	change := OfferChange{Field: field, Seen: sumsText(seen), Now: sumsText(now)}
	if !noPrice {
		change.seen, change.now = seen, now
	}
	d.Changes = append(d.Changes, change)
}

// rises returns how much each amount rose. onlyAmounts is false if anything else differs, such as a currency.
func (c OfferChange) rises() (all []types.Money, onlyAmounts bool) {
	if len(c.seen) != len(c.now) || len(c.now) == 0 {
		return nil, false
	}
	for i, now := range c.now {
		was, wasErr := c.seen[i].amount.Decimal()
		is, isErr := now.amount.Decimal()
		if wasErr != nil || isErr != nil || c.seen[i].label != now.label || c.seen[i].amount.Currency != now.amount.Currency {
			return nil, false
		}
		if is.GreaterThan(was) {
			all = append(all, types.NewMoney(now.amount.Currency, is.Sub(was)))
		}
	}
	return all, true
}

func hasPrice(total []sum) bool {
	if len(total) == 0 {
		return false
	}
	_, err := total[0].amount.Decimal()
	return err == nil
}

func sumsText(sums []sum) string {
	texts := make([]string, len(sums))
	for i, s := range sums {
		texts[i] = s.String()
	}
	return strings.Join(texts, ", ")
}

func totals(m *types.Money) []sum {
	if m == nil || m.Equal(types.Money{}) {
		return nil
	}
	return []sum{{"", *m}}
}

func taxes(t *types.Tax) []sum {
	if t == nil {
		return nil
	}
	sums := totals(t.Total)
	for _, item := range t.Items {
		s := sum{label: strings.TrimSpace(item.TaxType + " " + item.TaxName)}
		if item.Amount != nil {
			s.amount = *item.Amount
		}
		sums = append(sums, s)
	}
	return sums
}

func fees(steps []types.CancelFee) []sum {
	sums := make([]sum, len(steps))
	for i, f := range steps {
		sums[i] = sum{"until " + instant(f.Until), f.Fee}
	}
	return sums
}

// instant returns the same text for equal instants with different UTC offsets.
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
