// The price guard: what differs between the offer that the traveller saw and the
// one that is about to be booked, or the order that was.

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
	OfferCancelTime       OfferField = "cancelTime" // of an order: CompareOrder
)

// OfferChange is one part that differs, both sides written for people.
type OfferChange struct {
	Field OfferField `json:"field"`
	Seen  string     `json:"seen"`
	Now   string     `json:"now"`

	// rise is the largest rise among the part's amounts; it means something only
	// where nothing but amounts differs, in one currency.
	rise    decimal.Decimal
	amounts bool
}

// OfferDiff is what differs between two offers, or between an offer and an order. Its JSON
// is for logs and people: of one that was read back, Within accepts no amount that differs,
// not even a lower one.
type OfferDiff struct {
	// Changes are in the order of the constants of OfferField; none means that the
	// offers agree in every part.
	Changes []OfferChange `json:"changes"`
}

// Tolerance is what a caller accepts without asking the traveller again. The zero
// Tolerance accepts an offer that is as it was, or cheaper.
type Tolerance struct {
	// NetRise is by how much an amount of the offer may rise, in the offer's own
	// currency: the net total, and with it the gross total, each tax, and the fee of
	// each cancellation step, for they move together. An amount may always fall.
	NetRise decimal.Decimal
	// Accept lists the parts that may differ in any way.
	Accept []OfferField
}

// CompareOffer compares the offer that the traveller saw with the refreshed one of
// CheckAvail; CompareOrder compares it with what was booked. Amounts are compared by
// value, 120.5 with 120.50. A part that only one side has differs: what is absent is
// not known to be the same. A nil offer differs from every other in all that it lacks.
func CompareOffer(seen, now *types.RoomRatePkg) OfferDiff {
	if seen == nil {
		seen = &types.RoomRatePkg{}
	}
	if now == nil {
		now = &types.RoomRatePkg{}
	}
	var d OfferDiff
	d.amounts(OfferNetTotal, totals(&seen.TotalRate.NetRate), totals(&now.TotalRate.NetRate))
	d.amounts(OfferGrossTotal, totals(seen.TotalRate.GrossRate), totals(now.TotalRate.GrossRate))
	d.text(OfferRespectGrossRate, fmt.Sprint(seen.TotalRate.RespectGrossRate), fmt.Sprint(now.TotalRate.RespectGrossRate))
	d.text(OfferCurrency, seen.TotalRate.NetRate.Currency, now.TotalRate.NetRate.Currency)
	d.amounts(OfferTax, taxes(seen.Tax), taxes(now.Tax))
	d.amounts(OfferCancelFees, fees(seen.CancelFees), fees(now.CancelFees))
	d.text(OfferRefundableMode, string(seen.RefundableMode), string(now.RefundableMode))
	d.text(OfferRefundableUntil, instant(seen.RefundableUntil), instant(now.RefundableUntil))
	d.text(OfferBoard, boardText(seen.Board), boardText(now.Board))
	d.text(OfferCheckIn, string(seen.CheckIn), string(now.CheckIn))
	d.text(OfferCheckOut, string(seen.CheckOut), string(now.CheckOut))
	d.text(OfferPackaging, fmt.Sprint(seen.IncludesPackaging), fmt.Sprint(now.IncludesPackaging))
	d.text(OfferRatePkgID, seen.RatePkgID, now.RatePkgID)
	return d
}

// CompareOrder lists what an order says otherwise than the offer that was booked. A
// difference is no error: what an order's totals cover, and what a cancelTime stands
// for, is undocumented. What the order does not say is no difference, except the net
// total, which every order has.
//
// Of the rooms it compares refundableMode and its end, board, packaging and ratePkgId,
// and reports the first room that differs. It leaves out their rates, taxes and
// cancellation fees: whether these are of the room or of the order is undocumented.
// A nil order differs as an empty one does.
func CompareOrder(offer *types.RoomRatePkg, order *types.Order) OfferDiff {
	if offer == nil {
		offer = &types.RoomRatePkg{}
	}
	if order == nil {
		order = &types.Order{}
	}
	var d OfferDiff
	said := func(field OfferField, seen, now string) {
		if now != "" {
			d.text(field, seen, now)
		}
	}
	rooms := func(field OfferField, text func(*types.RoomRatePkg) string) {
		seen := text(offer)
		for i := range order.Rooms {
			if now := text(&order.Rooms[i].RoomRatePkg); now != seen && now != "" {
				d.text(field, seen, now)
				return
			}
		}
	}
	d.amounts(OfferNetTotal, totals(&offer.TotalRate.NetRate), totals(&order.NetRate))
	if gross := totals(order.GrossRate); gross != nil {
		d.amounts(OfferGrossTotal, totals(offer.TotalRate.GrossRate), gross)
	}
	d.text(OfferRespectGrossRate, fmt.Sprint(offer.TotalRate.RespectGrossRate), fmt.Sprint(order.RespectGrossRate))
	said(OfferCurrency, offer.TotalRate.NetRate.Currency, order.NetRate.Currency)
	rooms(OfferRefundableMode, func(o *types.RoomRatePkg) string { return string(o.RefundableMode) })
	rooms(OfferRefundableUntil, func(o *types.RoomRatePkg) string { return instant(o.RefundableUntil) })
	rooms(OfferBoard, func(o *types.RoomRatePkg) string { return boardText(o.Board) })
	said(OfferCheckIn, string(offer.CheckIn), string(order.CheckIn))
	said(OfferCheckOut, string(offer.CheckOut), string(order.CheckOut))
	rooms(OfferPackaging, func(o *types.RoomRatePkg) string { return fmt.Sprint(o.IncludesPackaging) })
	rooms(OfferRatePkgID, func(o *types.RoomRatePkg) string { return o.RatePkgID })
	said(OfferCancelTime, "", string(order.CancelTime))
	return d
}

// Within tells whether everything that differs is accepted.
func (d OfferDiff) Within(t Tolerance) bool {
	for _, change := range d.Changes {
		cheap := change.amounts && (!change.rise.IsPositive() || change.rise.LessThanOrEqual(t.NetRise))
		if !cheap && !slices.Contains(t.Accept, change.Field) {
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
		d.Changes = append(d.Changes, OfferChange{Field: field, Seen: seen, Now: now})
	}
}

// sum is one amount of a part of an offer, and what it is for.
type sum struct {
	label  string
	amount types.Money
}

func (s sum) String() string { return strings.TrimSpace(s.label + " " + plainMoney(s.amount)) }

// amounts compares the sums of one part. They are comparable when they are for the
// same things, in the same order and currency.
func (d *OfferDiff) amounts(field OfferField, seen, now []sum) {
	change := OfferChange{Field: field, Seen: sumsText(seen), Now: sumsText(now), amounts: len(seen) == len(now)}
	priceless := field == OfferNetTotal && !(priced(seen) && priced(now)) // a guard without a price must not pass
	if change.Seen == change.Now && !priceless {
		return
	}
	change.amounts = change.amounts && !priceless
	for i := range min(len(seen), len(now)) {
		was, wasErr := seen[i].amount.Decimal()
		is, isErr := now[i].amount.Decimal()
		if wasErr != nil || isErr != nil || seen[i].label != now[i].label || seen[i].amount.Currency != now[i].amount.Currency {
			change.amounts = false
			break
		}
		if rise := is.Sub(was); i == 0 || rise.GreaterThan(change.rise) {
			change.rise = rise
		}
	}
	d.Changes = append(d.Changes, change)
}

// priced tells a total that can be read.
func priced(total []sum) bool {
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
	if m == nil || *m == (types.Money{}) {
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

// plainMoney writes equal amounts alike.
func plainMoney(m types.Money) string {
	amount, err := m.Decimal()
	if err != nil {
		return m.String()
	}
	return amount.String() + " " + m.Currency
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
