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
	// path is that of a Do. Other calls have the path of their Operation.
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
	OpTicket:            {noAuth: true},
	OpOAuthToken:        {noAuth: true, bare: true},
	OpDestinations:      {lenient: true, internStrings: true},
	OpHotelsMetadata:    {lenient: true, internStrings: true},
	OpHotelStaticDetail: {lenient: true, internStrings: true},
	OpHotelIDList:       {lenient: true, internStrings: true},
	OpHotelList:         {bookingFlow: true, lenient: true, internStrings: true},
	OpHotelRates:        {bookingFlow: true, lenient: true, internStrings: true},
	OpCheckAvail:        {bookingFlow: true, internStrings: true},
	OpBook:              {bookingFlow: true, mutates: true, lenient: true},
	OpQueryOrders:       {lenient: true},
	OpOrderVoucher:      {},
	OpCancel:            {bookingFlow: true, noData: true, mutates: true, lenient: true},
}
