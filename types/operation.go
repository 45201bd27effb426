// Operations: their names, their rate limits, and the scopes that they need.

package types

import "time"

// Operation names an operation of the API in errors, logs, rate limits and observers.
type Operation string

// The operations of the API.
const (
	OpTicket            Operation = "Ticket"
	OpOAuthToken        Operation = "OAuthToken"
	OpDestinations      Operation = "Destinations"
	OpHotelsMetadata    Operation = "HotelsMetadata"
	OpHotelStaticDetail Operation = "HotelStaticDetail"
	OpHotelIDList       Operation = "HotelIDList"
	OpHotelList         Operation = "HotelList"
	OpHotelRates        Operation = "HotelRates"
	OpCheckAvail        Operation = "CheckAvail"
	OpBook              Operation = "Book"
	OpQueryOrders       Operation = "QueryOrders"
	OpOrderVoucher      Operation = "OrderVoucher"
	OpCancel            Operation = "Cancel"
)

// RateLimit returns how many requests of op the service accepts from one client address
// in any second; 0 where the limit is undocumented.
func (op Operation) RateLimit() int {
	switch op {
	case OpTicket:
		return 5
	case OpDestinations, OpHotelsMetadata, OpHotelStaticDetail, OpHotelList, OpHotelRates:
		return 100
	case OpCheckAvail, OpBook, OpCancel:
		return 10
	case OpQueryOrders, OpOrderVoucher:
		return 50
	}
	return 0
}

// Timeout returns how long a call of op may take without WithTimeout and without a deadline of ctx. After
// this time a Book has certainly ended. An operation without a method has a minute.
func (op Operation) Timeout() time.Duration {
	switch op {
	case OpTicket, OpOAuthToken:
		return 20 * time.Second
	case OpQueryOrders:
		return 30 * time.Second
	case OpBook, OpCancel:
		return 2 * time.Minute
	}
	return time.Minute
}

// PermitResult is what an answer proves about its request to a rate limiter. It is zero without an
// answer.
type PermitResult struct {
	// ArrivedBy is the latest time at which the request can have arrived: the first byte of the answer
	// less Server-Cost-Milliseconds, which may be rounded up. Zero means unknown.
	ArrivedBy time.Time
	// FirstByte is when the answer began. Without ArrivedBy it is a weak proof of arrival.
	FirstByte   time.Time
	RateLimited bool // the answer was a 429; a call of Pause follows
}

// Scope is a permission of an OAuth token.
type Scope string

// The documented scopes. OrderVoucher needs ScopeBookingRead; what the others allow is
// undocumented.
const (
	ScopeSearchRead    Scope = "search:read"
	ScopeContentRead   Scope = "content:read"
	ScopeBookingRead   Scope = "booking:read"
	ScopeBookingWrite  Scope = "booking:write"
	ScopeBookingCancel Scope = "booking:cancel"
)
