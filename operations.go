// The table of operations: what the pipeline needs to know about each.

package hotelstays

import "github.com/hotelstays/hotelstays-go/types"

// Operation names an operation of the API in errors, logs, rate limits and observers. The sandbox uses the same type.
type Operation = types.Operation

// The operations of the API. Behind each name is the time limit of a call without a deadline, and then the rate limit per
// client IP address. The rate limits of OAuthToken and HotelIDList are undocumented. Calls of the booking flow take a
// session, a currency and test flags.
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

// operation has the properties in which operations differ.
type operation struct {
	// path is the path of a Do. Other calls have the path of their Operation.
	path string
	// noAuth: the operation gets a token, so it sends no token. Its answers are secret.
	noAuth bool
	// bare: the answer may have no envelope.
	bare bool
	// bookingFlow: the operation accepts the headers Session-Id, Currency, Test and Timeout-Milliseconds.
	bookingFlow bool
	// noData: a successful answer may have no data.
	noData bool
	// mutates: the operation changes something. It is resent only if the service cannot have executed it, and its
	// outcome may be unknown.
	mutates bool
	// lenient: a field of the wrong type is left out, so that the rest of an order or of a page is not lost.
	lenient bool
	// internStrings: a short text that repeats is allocated once for several answers. This is safe, because answers of
	// this operation hold no names of people and no secrets.
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
