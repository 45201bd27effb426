// What surrounds the hotels of a search: the session, and why a list is short.

package types

import "encoding/json"

// SearchBasic is what HotelList says about the search as a whole.
type SearchBasic struct {
	Destination *Destination `json:"destination,omitempty"`
	// SessionID is the session in which the offers of this search hold. HotelRates,
	// CheckAvail, Book and Cancel need it.
	SessionID string `json:"sessionId,omitempty"`
	// StatusRemark explains an empty or incomplete result in one sentence.
	StatusRemark string `json:"statusRemark,omitempty"`
	// Notices list what a successful result lacks; never sent with EmptyReason.
	Notices []string `json:"notices,omitempty"`
	// EmptyReason is present when the list is empty because of how the account is
	// set up. An empty list without it means that suppliers had nothing.
	EmptyReason *EmptyReason `json:"emptyReason,omitempty"`
}

// EmptyReasonCode says why suppliers could not answer a search.
type EmptyReasonCode string

// The documented reasons.
const (
	NoSupplierEnabled    EmptyReasonCode = "NO_SUPPLIER_ENABLED"
	NoSupplierPermitted  EmptyReasonCode = "NO_SUPPLIER_PERMITTED"
	AllSuppliersExcluded EmptyReasonCode = "ALL_SUPPLIERS_EXCLUDED" // restrictions of market, language, currency or stock
	NoSupplierAnswered   EmptyReasonCode = "NO_SUPPLIER_ANSWERED"   // all were called and all failed
)

// EmptyReason is a state of the account that left a search without hotels.
type EmptyReason struct {
	Code EmptyReasonCode `json:"code"`
	// Suppliers are shown only to accounts that are entitled to them.
	Suppliers []EmptyReasonSupplier `json:"suppliers,omitempty"`
}

// EmptyReasonSupplier is one supplier's part in an empty result.
type EmptyReasonSupplier struct {
	SupplierCode string `json:"supplierCode,omitempty"`
	Reason       string `json:"reason,omitempty"`
}

// Retryable reports whether the same search may succeed later without a change
// to the account: true for NoSupplierAnswered alone. A nil reason is not
// retryable, for suppliers answered and had nothing.
func (r *EmptyReason) Retryable() bool { return r != nil && r.Code == NoSupplierAnswered }

// AvailabilityStatus is CheckAvail's outcome: 1 or 2, for available and
// unavailable. Which number is which is undocumented, so neither has a name:
// CheckAvailResponse.Available checks for the offer instead.
type AvailabilityStatus int

// ExchangeRateSnapshot is the rates of exchange at CheckAvail, used again for
// the booking and for refunds.
type ExchangeRateSnapshot struct {
	Date string `json:"date,omitempty"`
	// USD maps a lower-case currency code to its rate; only those needed are sent.
	// Which way a rate converts is undocumented.
	USD map[string]json.Number `json:"usd,omitempty"`
}
