// Rates: what an offer costs, what it includes, and what cancelling it costs.

package types

// Rate is a price in its three readings. What the net and the gross one cover, and who
// pays which, is undocumented.
type Rate struct {
	// CommissionableRate is the basis on which a commission is counted.
	CommissionableRate *Money `json:"commissionableRate,omitempty"`
	NetRate            Money  `json:"netRate"` // always sent
	GrossRate          *Money `json:"grossRate,omitempty"`
	// RespectGrossRate, when true, binds the seller to GrossRate.
	RespectGrossRate bool `json:"respectGrossRate,omitempty"`
}

// CancelFee is one step of a cancellation policy.
type CancelFee struct {
	// Until is the deadline of this step.
	Until Timestamp `json:"until,omitempty"`
	// Fee is what cancelling costs during the step. An amount of 0 is free; no
	// amount at all (Fee.Decimal returns an error) says nothing.
	Fee Money `json:"fee"`
}

// RefundableMode says whether an offer can be cancelled, and at what price.
type RefundableMode string

// The documented refundable modes.
const (
	RefundableFull    RefundableMode = "full"    // free cancellation
	RefundablePartial RefundableMode = "partial" // partial cancellation; CancelFees may say more
	RefundableNo      RefundableMode = "no"      // not refundable
)

// OriginalRoomNaming is the room in its supplier's own words.
type OriginalRoomNaming struct {
	ID       string `json:"id,omitempty"`       // the supplier's room code
	Name     string `json:"name,omitempty"`     // the supplier's room name
	Supplier int    `json:"supplier,omitempty"` // the supplier's id
}

// BoardID is a standard meal-plan code.
type BoardID string

// The documented meal-plan codes. The service spells their meaning out in
// Board's texts.
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

// Tax is what is collected on behalf of governments: fixed costs outside any
// markup, and therefore itemised.
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

// RoomRatePkg is a priced offer.
type RoomRatePkg struct {
	// RatePkgID is what CheckAvail and Book take. It means something only within
	// the session of the search that returned it.
	RatePkgID string `json:"ratePkgId"`
	// RefundableMode is always sent in searches and by CheckAvail.
	RefundableMode RefundableMode `json:"refundableMode,omitempty"`
	// RefundableUntil is the instant up to which RefundableMode holds. It may have
	// passed already: compare it with the time.
	RefundableUntil    Timestamp           `json:"refundableUntil,omitempty"`
	CancelFees         []CancelFee         `json:"cancelFees,omitempty"`
	OriginalRoomNaming *OriginalRoomNaming `json:"originalRoomNaming,omitempty"`
	// Rate is the price of one room for all nights.
	Rate Rate `json:"rate"`
	// TotalRate is the price of all rooms for all nights.
	TotalRate   Rate   `json:"totalRate"`
	RateComment string `json:"rateComment,omitempty"`
	// IncludesPackaging marks an offer that is sold as part of a package, such as
	// flight and hotel.
	IncludesPackaging bool   `json:"includesPackaging,omitempty"`
	CheckIn           Date   `json:"checkIn"`
	CheckOut          Date   `json:"checkOut"`
	Board             *Board `json:"board,omitempty"`
	Tax               *Tax   `json:"tax,omitempty"`
}
