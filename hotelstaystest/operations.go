// The operations: one table row each.

package hotelstaystest

import "slices"

// Operation names an operation in faults and in the ledger.
type Operation string

// The operations. OpVoucherDownload and OpVoucherVerify are the GETs of a voucher's
// downloadUrl and verifyUrl. OpWebhook is a delivery to a callbackUrl, for faults only.
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
	OpVoucherDownload   Operation = "VoucherDownload"
	OpVoucherVerify     Operation = "VoucherVerify"
	OpWebhook           Operation = "Webhook"
)

// The scopes of tokens, tickets and users.
const (
	ScopeSearchRead    = "search:read"
	ScopeContentRead   = "content:read"
	ScopeBookingRead   = "booking:read"
	ScopeBookingWrite  = "booking:write"
	ScopeBookingCancel = "booking:cancel"
)

// AllScopes returns the five scopes.
func AllScopes() []string {
	return []string{ScopeSearchRead, ScopeContentRead, ScopeBookingRead, ScopeBookingWrite, ScopeBookingCancel}
}

// sessionRule is an operation's use of the Session-Id header.
type sessionRule int

const (
	sessionNone     sessionRule = iota // the header is refused
	sessionOptional                    // used when sent, made when not
	sessionRequired                    // must be sent and known
)

// runner decodes a request body and executes the operation.
type runner func(s *Server, c *call, body []byte) (any, error)

type operation struct {
	name      Operation
	path      string
	rateLimit int         // calls per second and client address; 0: none
	session   sessionRule // unless sessionNone, Currency, Test and Timeout-Milliseconds are allowed too
	scope     string      // empty: takes no Authorization
	run       runner
}

// operations is the table of the POST operations.
func operations() []*operation {
	return []*operation{
		{OpTicket, "/api/auth/ticket", 5, sessionNone, "", decoded(runTicket)},
		{OpOAuthToken, "/api/v1/oauth/token", 0, sessionNone, "", decoded(runOAuthToken)},

		{OpDestinations, "/api/search/destinations", 100, sessionNone, ScopeContentRead, decoded(runDestinations)},
		{OpHotelsMetadata, "/api/search/hotelsMetadata", 100, sessionNone, ScopeContentRead, decoded(runHotelsMetadata)},
		{OpHotelStaticDetail, "/api/search/hotelStaticDetail", 100, sessionNone, ScopeContentRead, decoded(runHotelStaticDetail)},
		{OpHotelIDList, "/api/search/hotelIdList", 0, sessionNone, ScopeContentRead, decoded(runHotelIDList)},

		{OpHotelList, "/api/search/hotelList", 100, sessionOptional, ScopeSearchRead, decoded(runHotelList)},
		{OpHotelRates, "/api/search/hotelRates", 100, sessionRequired, ScopeSearchRead, decoded(runHotelRates)},
		{OpCheckAvail, "/api/search/checkAvail", 10, sessionRequired, ScopeSearchRead, decoded(runCheckAvail)},
		{OpBook, "/api/trade/book", 10, sessionRequired, ScopeBookingWrite, decoded(runBook)},

		{OpQueryOrders, "/api/trade/queryOrders", 50, sessionNone, ScopeBookingRead, decoded(runQueryOrders)},
		{OpOrderVoucher, "/api/trade/orderVoucher", 50, sessionNone, ScopeBookingRead, decoded(runOrderVoucher)},
		{OpCancel, "/api/trade/cancel", 10, sessionRequired, ScopeBookingCancel, decoded(runCancel)},
	}
}

// documented reports whether op is a POST operation of the API.
func (op Operation) documented() bool {
	return slices.ContainsFunc(operations(), func(o *operation) bool { return o.name == op })
}
