// The operations: one table row each.

package hotelstaystest

import "github.com/hotelstays/hotelstays-go/types"

// Operation names an operation in faults and in the ledger.
type Operation = types.Operation

// The operations of the API, as the client and its errors name them.
const (
	opTicket            Operation = "Ticket"
	opOAuthToken        Operation = "OAuthToken"
	opDestinations      Operation = "Destinations"
	opHotelsMetadata    Operation = "HotelsMetadata"
	opHotelStaticDetail Operation = "HotelStaticDetail"
	opHotelIDList       Operation = "HotelIDList"
	opHotelList         Operation = "HotelList"
	opHotelRates        Operation = "HotelRates"
	opCheckAvail        Operation = "CheckAvail"
	opBook              Operation = "Book"
	opQueryOrders       Operation = "QueryOrders"
	opOrderVoucher      Operation = "OrderVoucher"
	opCancel            Operation = "Cancel"
)

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
type runner interface {
	run(s *Server, c *call, body []byte) (any, error)
}

type operation struct {
	name    Operation
	path    string
	session sessionRule // unless sessionNone, Currency, Test and Timeout-Milliseconds are allowed too
	scope   types.Scope // empty: takes no Authorization
	runner              // nil: a GET of a document
	summary string      // for openapi.json
}

// operations is the table of the POST operations.
func operations() []*operation {
	return []*operation{
		{opTicket, "/api/auth/ticket", sessionNone, "", runs(runTicket),
			"Issues a ticket for an appKey and its secret."},
		{opOAuthToken, "/api/v1/oauth/token", sessionNone, "", runs(runOAuthToken),
			"Issues an access token for an OAuth client and its secret."},

		{opDestinations, "/api/search/destinations", sessionNone, types.ScopeContentRead, runs(runDestinations),
			"Lists the destinations of a country, or those below another one."},
		{opHotelsMetadata, "/api/search/hotelsMetadata", sessionNone, types.ScopeContentRead, runs(runHotelsMetadata),
			"Lists the hotels of a destination in pages, without prices."},
		{opHotelStaticDetail, "/api/search/hotelStaticDetail", sessionNone, types.ScopeContentRead, runs(runHotelStaticDetail),
			"Describes one hotel. It is under development."},
		{opHotelIDList, "/api/search/hotelIdList", sessionNone, types.ScopeContentRead, runs(runHotelIDList),
			"Lists hotel ids, as an older reference describes it."},

		{opHotelList, "/api/search/hotelList", sessionOptional, types.ScopeSearchRead, runs(runHotelList),
			"Searches hotels with their offers for some dates and rooms."},
		{opHotelRates, "/api/search/hotelRates", sessionRequired, types.ScopeSearchRead, runs(runHotelRates),
			"Lists all offers of one hotel."},
		{opCheckAvail, "/api/search/checkAvail", sessionRequired, types.ScopeSearchRead, runs(runCheckAvail),
			"Checks one offer: whether it still exists, and its present price."},
		{opBook, "/api/trade/book", sessionRequired, types.ScopeBookingWrite, runs(runBook),
			"Books an offer, or returns the order of a customerReferenceNo that was used before."},

		{opQueryOrders, "/api/trade/queryOrders", sessionNone, types.ScopeBookingRead, runs(runQueryOrders),
			"Lists the orders that match the filters."},
		{opOrderVoucher, "/api/trade/orderVoucher", sessionNone, types.ScopeBookingRead, runs(runOrderVoucher),
			"Returns the status of an order's voucher, and where to download it."},
		{opCancel, "/api/trade/cancel", sessionRequired, types.ScopeBookingCancel, runs(runCancel),
			"Cancels an order."},
	}
}

// Operations returns all that a [Fault] can name: the operations of the API, and then those that
// this package adds.
func Operations() []Operation {
	names := []Operation{}
	for _, op := range operations() {
		names = append(names, op.name)
	}
	return append(names, OpVoucherDownload, OpVoucherVerify, OpWebhook)
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
