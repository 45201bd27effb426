// The operations, and in one table what each requires.

package hotelstaystest

import "slices"

// Operation names an operation of the API, in faults and in the ledger.
type Operation string

// The operations. OpVoucherDownload is the GET of a voucher's downloadUrl,
// OpVoucherVerify the GET of its verifyUrl, and OpWebhook, in faults only, a delivery
// to a callbackUrl.
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

// The scopes a token, a ticket or a named user can carry.
const (
	ScopeSearchRead    = "search:read"
	ScopeContentRead   = "content:read"
	ScopeBookingRead   = "booking:read"
	ScopeBookingWrite  = "booking:write"
	ScopeBookingCancel = "booking:cancel"
)

// AllScopes returns every documented scope.
func AllScopes() []string {
	return []string{ScopeSearchRead, ScopeContentRead, ScopeBookingRead, ScopeBookingWrite, ScopeBookingCancel}
}

// sessionRule says what an operation does with the Session-Id header.
type sessionRule int

const (
	sessionNone     sessionRule = iota // the header is refused
	sessionOptional                    // used when sent, made when not
	sessionRequired                    // must be sent and known
)

// runner decodes a request body and carries the operation out.
type runner func(s *Server, c *call, body []byte) (any, error)

// operation is one row of the table.
type operation struct {
	name      Operation
	path      string
	rateLimit int         // calls per second and client address; 0: none documented
	noAuth    bool        // needs no Authorization and is not bound to an account
	session   sessionRule // anything but sessionNone also allows Currency, Test and Timeout-Milliseconds
	scope     string      // the scope a restricted credential must carry
	run       runner
}

// operations returns the table of POST operations.
func operations() []*operation {
	return []*operation{
		{name: OpTicket, path: "/api/auth/ticket", rateLimit: 5, noAuth: true, run: decoded(runTicket)},
		{name: OpOAuthToken, path: "/api/v1/oauth/token", noAuth: true, run: decoded(runOAuthToken)},

		{name: OpDestinations, path: "/api/search/destinations", rateLimit: 100, scope: ScopeContentRead, run: decoded(runDestinations)},
		{name: OpHotelsMetadata, path: "/api/search/hotelsMetadata", rateLimit: 100, scope: ScopeContentRead, run: decoded(runHotelsMetadata)},
		{name: OpHotelStaticDetail, path: "/api/search/hotelStaticDetail", rateLimit: 100, scope: ScopeContentRead, run: decoded(runHotelStaticDetail)},
		{name: OpHotelIDList, path: "/api/search/hotelIdList", scope: ScopeContentRead, run: decoded(runHotelIDList)},

		{name: OpHotelList, path: "/api/search/hotelList", rateLimit: 100, session: sessionOptional, scope: ScopeSearchRead, run: decoded(runHotelList)},
		{name: OpHotelRates, path: "/api/search/hotelRates", rateLimit: 100, session: sessionRequired, scope: ScopeSearchRead, run: decoded(runHotelRates)},
		{name: OpCheckAvail, path: "/api/search/checkAvail", rateLimit: 10, session: sessionRequired, scope: ScopeSearchRead, run: decoded(runCheckAvail)},
		{name: OpBook, path: "/api/trade/book", rateLimit: 10, session: sessionRequired, scope: ScopeBookingWrite, run: decoded(runBook)},

		{name: OpQueryOrders, path: "/api/trade/queryOrders", rateLimit: 50, scope: ScopeBookingRead, run: decoded(runQueryOrders)},
		{name: OpOrderVoucher, path: "/api/trade/orderVoucher", rateLimit: 50, scope: ScopeBookingRead, run: decoded(runOrderVoucher)},
		{name: OpCancel, path: "/api/trade/cancel", rateLimit: 10, session: sessionRequired, scope: ScopeBookingCancel, run: decoded(runCancel)},
	}
}

// documented tells the operations of the API from other texts.
func (op Operation) documented() bool {
	return slices.ContainsFunc(operations(), func(o *operation) bool { return o.name == op })
}
