// Search results beside the hotels: the session, and the reason for an empty list.

package types

import "encoding/json"

// SearchBasic describes a search as a whole.
type SearchBasic struct {
	Destination *Destination `json:"destination,omitempty"`
	// SessionID is the session of the offers. HotelRates, CheckAvail, Book and Cancel need
	// it.
	SessionID string `json:"sessionId,omitempty"`
	// StatusRemark is a sentence that says why hotels are missing.
	StatusRemark string `json:"statusRemark,omitempty"`
	// Notices say what is missing from a successful result. They never come with EmptyReason.
	Notices []string `json:"notices,omitempty"`
	// EmptyReason is set if the list is empty because of the account's configuration. An
	// empty list without it means that the suppliers had no hotels.
	EmptyReason *EmptyReason `json:"emptyReason,omitempty"`
}

// EmptyReasonCode is the reason for an empty search.
type EmptyReasonCode string

// The documented reasons.
const (
	EmptyReasonNoSupplierEnabled   EmptyReasonCode = "NO_SUPPLIER_ENABLED"
	EmptyReasonNoSupplierPermitted EmptyReasonCode = "NO_SUPPLIER_PERMITTED"
	// EmptyReasonAllSuppliersExcluded: a restriction of market, currency, language or inventory has excluded every
	// supplier.
	EmptyReasonAllSuppliersExcluded EmptyReasonCode = "ALL_SUPPLIERS_EXCLUDED"
	EmptyReasonNoSupplierAnswered   EmptyReasonCode = "NO_SUPPLIER_ANSWERED" // all suppliers were asked, and all failed
)

// EmptyReason explains a search without hotels.
type EmptyReason struct {
	Code EmptyReasonCode `json:"code"`
	// Suppliers is set only for accounts that are allowed to see the suppliers.
	Suppliers []EmptyReasonSupplier `json:"suppliers,omitempty"`
}

// EmptyReasonSupplier says why one supplier has no hotels.
type EmptyReasonSupplier struct {
	SupplierCode string `json:"supplierCode,omitempty"`
	Reason       string `json:"reason,omitempty"`
}

// Retryable reports whether the same search may succeed later without a change of the account. Only
// EmptyReasonNoSupplierAnswered is retryable. A nil *EmptyReason is not: nil means that the suppliers had no hotels.
func (r *EmptyReason) Retryable() bool { return r != nil && r.Code == EmptyReasonNoSupplierAnswered }

// AvailabilityStatus is 1 or 2. One of them means available, but which one is undocumented,
// so neither has a name. CheckAvailResponse.Available checks for the offer instead.
type AvailabilityStatus int

// ExchangeRateSnapshot holds the exchange rates at CheckAvail. The booking and its refunds
// use the same rates.
type ExchangeRateSnapshot struct {
	Date Date `json:"date,omitempty"`
	// USD maps a lower-case currency code to its rate. Only the currencies that are needed are sent.
	// From which currency to which currency a rate converts is undocumented.
	USD map[string]json.Number `json:"usd,omitempty"`
}

// SortBy says how the hotels are sorted. Other values are sent unchanged; their effect is undocumented.
type SortBy string

// The documented values of SortBy.
const (
	SortPriceAsc    SortBy = "price-asc"
	SortPriceDesc   SortBy = "price-desc"
	SortRatingDesc  SortBy = "rating-desc"
	SortDistanceAsc SortBy = "distance-asc"
)
