// The operations: one table row each.

package hotelstaystest

import (
	"slices"

	"github.com/hotelstays/hotelstays-go/types"
)

// Operation names an operation in faults and in the ledger.
type Operation = types.Operation

// What the server does beside the operations of the API: the GETs of a voucher's downloadUrl and
// verifyUrl, and a delivery to a callbackUrl, which is for faults only.
const (
	OpVoucherDownload Operation = "VoucherDownload"
	OpVoucherVerify   Operation = "VoucherVerify"
	OpWebhook         Operation = "Webhook"
)

var allScopes = []types.Scope{
	types.ScopeSearchRead, types.ScopeContentRead, types.ScopeBookingRead, types.ScopeBookingWrite, types.ScopeBookingCancel,
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
	name    Operation
	path    string
	session sessionRule // unless sessionNone, Currency, Test and Timeout-Milliseconds are allowed too
	scope   types.Scope // empty: takes no Authorization
	run     runner
}

// operations is the table of the POST operations.
func operations() []*operation {
	return []*operation{
		{types.OpTicket, "/api/auth/ticket", sessionNone, "", decoded(runTicket)},
		{types.OpOAuthToken, "/api/v1/oauth/token", sessionNone, "", decoded(runOAuthToken)},

		{types.OpDestinations, "/api/search/destinations", sessionNone, types.ScopeContentRead, decoded(runDestinations)},
		{types.OpHotelsMetadata, "/api/search/hotelsMetadata", sessionNone, types.ScopeContentRead, decoded(runHotelsMetadata)},
		{types.OpHotelStaticDetail, "/api/search/hotelStaticDetail", sessionNone, types.ScopeContentRead, decoded(runHotelStaticDetail)},
		{types.OpHotelIDList, "/api/search/hotelIdList", sessionNone, types.ScopeContentRead, decoded(runHotelIDList)},

		{types.OpHotelList, "/api/search/hotelList", sessionOptional, types.ScopeSearchRead, decoded(runHotelList)},
		{types.OpHotelRates, "/api/search/hotelRates", sessionRequired, types.ScopeSearchRead, decoded(runHotelRates)},
		{types.OpCheckAvail, "/api/search/checkAvail", sessionRequired, types.ScopeSearchRead, decoded(runCheckAvail)},
		{types.OpBook, "/api/trade/book", sessionRequired, types.ScopeBookingWrite, decoded(runBook)},

		{types.OpQueryOrders, "/api/trade/queryOrders", sessionNone, types.ScopeBookingRead, decoded(runQueryOrders)},
		{types.OpOrderVoucher, "/api/trade/orderVoucher", sessionNone, types.ScopeBookingRead, decoded(runOrderVoucher)},
		{types.OpCancel, "/api/trade/cancel", sessionRequired, types.ScopeBookingCancel, decoded(runCancel)},
	}
}

// bookingFlow returns the names of those that take the headers of the booking flow.
func bookingFlow() (names []string) {
	for _, op := range operations() {
		if op.session != sessionNone {
			names = append(names, string(op.name))
		}
	}
	return names
}

func documented(op Operation) bool {
	return slices.ContainsFunc(operations(), func(o *operation) bool { return o.name == op })
}
