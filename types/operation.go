// Operations: their names, their rate limits, and the scopes that they need.

package types

import (
	"strings"
	"time"
)

// Operation names an operation of the API in errors, logs, rate limits and observers. Package hotelstays has a constant
// for each operation.
type Operation string

// paths maps each operation to its path below the base URL.
var paths = map[Operation]string{ //nolint:gosec // the paths hold no secrets
	"Ticket":            "/api/auth/ticket",
	"OAuthToken":        "/api/v1/oauth/token",
	"Destinations":      "/api/search/destinations",
	"HotelsMetadata":    "/api/search/hotelsMetadata",
	"HotelStaticDetail": "/api/search/hotelStaticDetail",
	"HotelIDList":       "/api/search/hotelIdList",
	"HotelList":         "/api/search/hotelList",
	"HotelRates":        "/api/search/hotelRates",
	"CheckAvail":        "/api/search/checkAvail",
	"Book":              "/api/trade/book",
	"QueryOrders":       "/api/trade/queryOrders",
	"OrderVoucher":      "/api/trade/orderVoucher",
	"Cancel":            "/api/trade/cancel",
}

// Path returns the path of op below the base URL, or "" if op is not an operation of the API.
func (op Operation) Path() string { return paths[op] }

// OperationAt returns the operation whose path is the end of urlPath, or "". So urlPath may begin with the path of a base
// URL.
func OperationAt(urlPath string) Operation {
	for op, path := range paths {
		if strings.HasSuffix(urlPath, path) {
			return op
		}
	}
	return ""
}

// RateLimit returns how many requests of op the service accepts from one client IP address
// in any second, or 0 if the limit is undocumented.
func (op Operation) RateLimit() int {
	switch op {
	case "Ticket":
		return 5
	case "Destinations", "HotelsMetadata", "HotelStaticDetail", "HotelList", "HotelRates":
		return 100
	case "CheckAvail", "Book", "Cancel":
		return 10
	case "QueryOrders", "OrderVoucher":
		return 50
	}
	return 0
}

// Timeout returns the time limit of a call of op that has neither WithTimeout nor a deadline of ctx. A Book
// with this time limit has certainly ended when this time has passed since its start. If op is an operation for
// hotelstays.Client.Do that has no method of its own, Timeout returns a minute.
func (op Operation) Timeout() time.Duration {
	switch op {
	case "Ticket", "OAuthToken":
		return 20 * time.Second
	case "QueryOrders":
		return 30 * time.Second
	case "Book", "Cancel":
		return 2 * time.Minute
	}
	return time.Minute
}

// Scope is a permission of an OAuth token.
type Scope string

// The documented scopes. OrderVoucher needs ScopeBookingRead. What the other scopes
// allow is undocumented.
const (
	ScopeSearchRead    Scope = "search:read"
	ScopeContentRead   Scope = "content:read"
	ScopeBookingRead   Scope = "booking:read"
	ScopeBookingWrite  Scope = "booking:write"
	ScopeBookingCancel Scope = "booking:cancel"
)
