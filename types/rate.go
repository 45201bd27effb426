// Rates: the price of an offer, what it includes, and its cancellation fees.

package types

import (
	"fmt"
	"time"
)

// Rate is a price in three forms. What NetRate and GrossRate cover, and who pays which of them, is undocumented.
type Rate struct {
	// CommissionableRate is the base of the commission.
	CommissionableRate *Money `json:"commissionableRate,omitempty"`
	NetRate            Money  `json:"netRate"` // always sent
	GrossRate          *Money `json:"grossRate,omitempty"`
	// RespectGrossRate reports whether the seller must honour GrossRate.
	RespectGrossRate bool `json:"respectGrossRate,omitempty"`
}

// CancelFee is one step of a cancellation policy.
type CancelFee struct {
	// Until is the deadline of this step: its Fee applies to a cancellation before this time.
	Until Timestamp `json:"until,omitempty"`
	// Fee is the price of cancelling during the step. An amount of 0 is free. A missing
	// amount is unknown: Fee.Decimal then returns an error.
	Fee Money `json:"fee"`
}

// RefundableMode is how much of the price a cancellation refunds.
type RefundableMode string

// The documented refundable modes.
const (
	RefundableFull    RefundableMode = "full"    // free cancellation
	RefundablePartial RefundableMode = "partial" // a part of the price: see RoomRatePkg.CancelFees
	RefundableNo      RefundableMode = "no"      // not refundable
)

// OriginalRoomNaming is the room as its supplier names it.
type OriginalRoomNaming struct {
	ID       string `json:"id,omitempty"`       // the supplier's room code
	Name     string `json:"name,omitempty"`     // the supplier's room name
	Supplier int    `json:"supplier,omitempty"` // the supplier's id
}

// BoardID is a standard meal-plan code.
type BoardID string

// The documented meal-plan codes. The texts of Board explain them.
const (
	BoardRO BoardID = "RO"
	BoardBB BoardID = "BB"
	BoardHB BoardID = "HB"
	BoardFB BoardID = "FB"
	BoardAI BoardID = "AI"
	BoardTI BoardID = "TI"
	BoardBI BoardID = "BI"
	BoardLU BoardID = "LU"
	BoardDI BoardID = "DI"
	BoardBD BoardID = "BD"
	BoardBL BoardID = "BL"
	BoardLD BoardID = "LD"
)

// Board is the meal plan of an offer.
type Board struct {
	BoardID   BoardID `json:"boardId"` // always sent
	BoardName *I18N   `json:"boardName,omitempty"`
	BoardDesc *I18N   `json:"boardDesc,omitempty"`
}

// Tax holds taxes and fees that governments receive. They are listed separately, because no
// markup applies to them.
type Tax struct {
	Total *Money    `json:"total,omitempty"`
	Items []TaxItem `json:"items,omitempty"`
}

// TaxItem is one tax or fee.
type TaxItem struct {
	TaxType string `json:"taxType,omitempty"`
	TaxName string `json:"taxName,omitempty"`
	Amount  *Money `json:"amount,omitempty"`
	Desc    string `json:"desc,omitempty"`
}

// RoomRatePkg is an offer: a price with its conditions.
type RoomRatePkg struct {
	// RatePkgID identifies the offer for CheckAvail and Book. It is valid only within the
	// session of its search.
	RatePkgID string `json:"ratePkgId"`
	// RefundableMode is always set by searches and CheckAvail.
	RefundableMode RefundableMode `json:"refundableMode,omitempty"`
	// RefundableUntil is the time until which RefundableMode applies.
	RefundableUntil    Timestamp           `json:"refundableUntil,omitempty"`
	CancelFees         []CancelFee         `json:"cancelFees,omitempty"`
	OriginalRoomNaming *OriginalRoomNaming `json:"originalRoomNaming,omitempty"`
	// Rate is the price of one room for all nights.
	Rate Rate `json:"rate"`
	// TotalRate is the price of all rooms for all nights.
	TotalRate   Rate   `json:"totalRate"`
	RateComment string `json:"rateComment,omitempty"`
	// IncludesPackaging reports whether the offer is part of a package, such as flight and
	// hotel.
	IncludesPackaging bool   `json:"includesPackaging,omitempty"`
	CheckIn           Date   `json:"checkIn"`
	CheckOut          Date   `json:"checkOut"`
	Board             *Board `json:"board,omitempty"`
	Tax               *Tax   `json:"tax,omitempty"`
}

// CancelFeeAt returns the fee of a cancellation at t: the fee of the step with the next deadline after t. If no step
// covers t, but the cancellation is free until a time after t, the fee is 0. Whether a fee is per room or for all rooms
// is undocumented.
//
// It returns an error if t is zero, or if the offer does not decide the fee. Then show the traveller CancelFees and
// RateComment. The fee is undecided if
//
//   - a deadline is not an ISO 8601 time with a UTC offset;
//   - a deadline is t itself, or all deadlines have passed;
//   - the fee has no amount or no currency, or is negative;
//   - two steps with the same deadline have different fees;
//   - the fee and RefundableMode contradict each other at t.
func (p RoomRatePkg) CancelFeeAt(t time.Time) (Money, error) {
	unknown := func(format string, args ...any) (Money, error) {
		return Money{}, fmt.Errorf("the cancellation fee at %s is unknown: "+format, append([]any{t.Format(time.RFC3339)}, args...)...)
	}
	until, err := p.RefundableUntil.Time()
	endless := p.RefundableUntil == ""
	switch {
	case t.IsZero():
		return unknown("it is the zero time")
	case err != nil && !endless:
		return unknown("refundableUntil: %w", err)
	case until.Equal(t):
		return unknown("refundableUntil is that instant")
	}
	var fee *Money
	var next time.Time
	fees := map[time.Time]Money{}
	for i, step := range p.CancelFees {
		deadline, err := step.Until.Time()
		other, twice := fees[deadline.UTC()]
		switch fees[deadline.UTC()] = step.Fee; {
		case err != nil:
			return unknown("cancelFees[%d]: %w", i, err)
		case deadline.Equal(t):
			return unknown("cancelFees[%d] ends at that instant", i)
		case twice && !other.Equal(step.Fee):
			return unknown("two steps until %s have different fees", step.Until)
		case deadline.After(t) && (fee == nil || deadline.Before(next)):
			fee, next = &step.Fee, deadline
		}
	}
	full := p.RefundableMode == RefundableFull
	free := full && (endless || until.After(t))
	switch {
	case fee == nil && free && !endless:
		fee = &Money{Currency: p.TotalRate.NetRate.Currency, Amount: "0"}
	case fee == nil:
		return unknown("no step of cancelFees covers it")
	}
	amount, err := fee.Decimal()
	switch {
	case err != nil:
		return unknown("%w", err)
	case amount.IsNegative(), fee.Currency == "":
		return unknown("the fee %q is negative, or has no currency", fee)
	case free && !amount.IsZero(), amount.IsZero() && (full && !free || p.RefundableMode == RefundableNo):
		return unknown("the fee is %s, and refundableMode is %s until %q", fee, p.RefundableMode, p.RefundableUntil)
	}
	return *fee, nil
}

// OfferField names a part of an offer in a comparison of two offers.
type OfferField string

// The parts of an offer. The totals are for all rooms and all nights.
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
	OfferCancelTime       OfferField = "cancelTime" // only for CompareOrder, because an offer has no cancelTime
)
