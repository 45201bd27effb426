// The operations: one row each for what the pipeline has to know of them.

package hotelstays

import "time"

// Operation names an operation of the API, as errors, logs, ceilings and
// observers do.
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

// operation is what sets one operation apart from the others.
type operation struct {
	path string
	// ceiling is how many requests one client address may make in any second; 0
	// where no figure is shown.
	ceiling int
	// timeout bounds a call whose ctx has no deadline.
	timeout time.Duration
	// open operations fetch the token and carry none.
	open bool
	// flow operations take the headers of the booking flow: Session-Id, Currency,
	// Test and Timeout-Milliseconds.
	flow bool
	// acts marks an operation that is sent again only when the service cannot
	// have acted, and whose outcome may be unknown.
	acts bool
	// lenient operations read orders: a field of the wrong type does not lose one.
	lenient bool
	// impersonal operations answer without secrets and people: short texts of theirs
	// that repeat are kept in memory from one answer to the next.
	impersonal bool
}

var operations = map[Operation]*operation{
	OpTicket:            {path: "/api/auth/ticket", ceiling: 5, timeout: 20 * time.Second, open: true},
	OpOAuthToken:        {path: "/api/v1/oauth/token", timeout: 20 * time.Second, open: true},
	OpDestinations:      {path: "/api/search/destinations", ceiling: 100, timeout: 60 * time.Second, impersonal: true},
	OpHotelsMetadata:    {path: "/api/search/hotelsMetadata", ceiling: 100, timeout: 60 * time.Second, impersonal: true},
	OpHotelStaticDetail: {path: "/api/search/hotelStaticDetail", ceiling: 100, timeout: 60 * time.Second, impersonal: true},
	OpHotelIDList:       {path: "/api/search/hotelIdList", timeout: 60 * time.Second, impersonal: true},
	OpHotelList:         {path: "/api/search/hotelList", ceiling: 100, timeout: 60 * time.Second, flow: true, impersonal: true},
	OpHotelRates:        {path: "/api/search/hotelRates", ceiling: 100, timeout: 60 * time.Second, flow: true, impersonal: true},
	OpCheckAvail:        {path: "/api/search/checkAvail", ceiling: 10, timeout: 60 * time.Second, flow: true, impersonal: true},
	OpBook:              {path: "/api/trade/book", ceiling: 10, timeout: 120 * time.Second, flow: true, acts: true, lenient: true},
	OpQueryOrders:       {path: "/api/trade/queryOrders", ceiling: 50, timeout: 30 * time.Second, lenient: true},
	OpOrderVoucher:      {path: "/api/trade/orderVoucher", ceiling: 50, timeout: 60 * time.Second},
	OpCancel:            {path: "/api/trade/cancel", ceiling: 10, timeout: 120 * time.Second, flow: true, acts: true, lenient: true},
}
