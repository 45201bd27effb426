// The operations: one row each with what the pipeline needs to know.

package hotelstays

import "github.com/hotelstays/hotelstays-go/types"

// Operation names an operation of the API in errors, logs, rate limits and observers. Package types declares it
// for the sandbox as well, so that a Fault takes OpBook.
type Operation = types.Operation

// The operations of the API: how long a call may take whose ctx has no deadline, how many
// requests of a client address the service accepts in any second (OAuthToken, HotelIDList:
// undocumented), and which belong to the booking flow, with its session, currency and test flags.
//
//	Ticket              20 s     5 a second
//	OAuthToken          20 s
//	Destinations        60 s   100 a second
//	HotelsMetadata      60 s   100 a second
//	HotelStaticDetail   60 s   100 a second
//	HotelIDList         60 s
//	HotelList           60 s   100 a second   booking flow
//	HotelRates          60 s   100 a second   booking flow
//	CheckAvail          60 s    10 a second   booking flow
//	Book               120 s    10 a second   booking flow
//	QueryOrders         30 s    50 a second
//	OrderVoucher        60 s    50 a second
//	Cancel             120 s    10 a second   booking flow
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

// operation is what differs between operations.
type operation struct {
	path string
	// noAuth: the operation fetches a token and sends none. Its answers are secret.
	noAuth bool
	// bare: the answer may come without an envelope.
	bare bool
	// bookingFlow: takes Session-Id, Currency, Test and Timeout-Milliseconds.
	bookingFlow bool
	// noData: a success needs no data.
	noData bool
	// mutates: resent only when the service cannot have acted; the outcome may be unknown.
	mutates bool
	// lenient: a field of the wrong type is left out, so that no order and no page is lost.
	lenient bool
	// internStrings: answers name no person and hold no secret, so that repeated short
	// texts may be kept from one answer to the next.
	internStrings bool
}

var operations = map[Operation]*operation{
	OpTicket:            {path: "/api/auth/ticket", noAuth: true},
	OpOAuthToken:        {path: "/api/v1/oauth/token", noAuth: true, bare: true},
	OpDestinations:      {path: "/api/search/destinations", lenient: true, internStrings: true},
	OpHotelsMetadata:    {path: "/api/search/hotelsMetadata", lenient: true, internStrings: true},
	OpHotelStaticDetail: {path: "/api/search/hotelStaticDetail", lenient: true, internStrings: true},
	OpHotelIDList:       {path: "/api/search/hotelIdList", lenient: true, internStrings: true},
	OpHotelList:         {path: "/api/search/hotelList", bookingFlow: true, lenient: true, internStrings: true},
	OpHotelRates:        {path: "/api/search/hotelRates", bookingFlow: true, lenient: true, internStrings: true},
	OpCheckAvail:        {path: "/api/search/checkAvail", bookingFlow: true, internStrings: true},
	OpBook:              {path: "/api/trade/book", bookingFlow: true, mutates: true, lenient: true},
	OpQueryOrders:       {path: "/api/trade/queryOrders", lenient: true},
	OpOrderVoucher:      {path: "/api/trade/orderVoucher"},
	OpCancel: {path: "/api/trade/cancel", bookingFlow: true, noData: true,
		mutates: true, lenient: true},
}
