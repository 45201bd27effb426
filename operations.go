// The operations: one row each with what the pipeline needs to know.

package hotelstays

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
	if row := operations[op]; row != nil {
		return row.perSecond
	}
	return 0
}

// operation is what differs between operations.
type operation struct {
	path string
	// perSecond is the documented rate limit: requests of one client address in a second; 0:
	// undocumented.
	perSecond int
	// timeout bounds a call whose ctx has no deadline.
	timeout time.Duration
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
	OpTicket:            {path: "/api/auth/ticket", perSecond: 5, timeout: 20 * time.Second, noAuth: true},
	OpOAuthToken:        {path: "/api/v1/oauth/token", timeout: 20 * time.Second, noAuth: true, bare: true},
	OpDestinations:      {path: "/api/search/destinations", perSecond: 100, timeout: 60 * time.Second, lenient: true, internStrings: true},
	OpHotelsMetadata:    {path: "/api/search/hotelsMetadata", perSecond: 100, timeout: 60 * time.Second, lenient: true, internStrings: true},
	OpHotelStaticDetail: {path: "/api/search/hotelStaticDetail", perSecond: 100, timeout: 60 * time.Second, lenient: true, internStrings: true},
	OpHotelIDList:       {path: "/api/search/hotelIdList", timeout: 60 * time.Second, lenient: true, internStrings: true},
	OpHotelList:         {path: "/api/search/hotelList", perSecond: 100, timeout: 60 * time.Second, bookingFlow: true, lenient: true, internStrings: true},
	OpHotelRates:        {path: "/api/search/hotelRates", perSecond: 100, timeout: 60 * time.Second, bookingFlow: true, lenient: true, internStrings: true},
	OpCheckAvail:        {path: "/api/search/checkAvail", perSecond: 10, timeout: 60 * time.Second, bookingFlow: true, internStrings: true},
	OpBook:              {path: "/api/trade/book", perSecond: 10, timeout: 120 * time.Second, bookingFlow: true, mutates: true, lenient: true},
	OpQueryOrders:       {path: "/api/trade/queryOrders", perSecond: 50, timeout: 30 * time.Second, lenient: true},
	OpOrderVoucher:      {path: "/api/trade/orderVoucher", perSecond: 50, timeout: 60 * time.Second},
	OpCancel:            {path: "/api/trade/cancel", perSecond: 10, timeout: 120 * time.Second, bookingFlow: true, noData: true, mutates: true, lenient: true},
}
