// The rules, and how sure their findings are.

package judge

import "slices"

// Grade is how certain a finding is. The zero value means that no grade is set.
type Grade string

// The grades of findings.
const (
	// Violation means that the answer contradicts a sentence of the document.
	Violation Grade = "violation"
	// Doubt means that the answer is implausible, although no sentence of the document forbids it.
	Doubt Grade = "doubt"
	// Hint means that the cause may be outside the service, such as another process with the same client IP address.
	Hint Grade = "hint"
)

// Rule is a promise that each answer is compared with.
type Rule struct {
	// Name is unique, such as "list/dates".
	Name string `json:"rule"`
	// Section is the section of the API document.
	Section string `json:"section"`
	// Promise is the sentence that must be true.
	Promise string `json:"promise"`
	Grade   Grade  `json:"grade"`
}

// Rules returns all rules.
func Rules() []Rule { return slices.Clone(rules) }

const (
	headersAre = "Common request headers"
	offersAre  = "RoomRatePkg (a priced offer)"
	statesAre  = "Voucher status"
)

var rules = []Rule{
	{"envelope/success", "Envelope", "a success is JSON with code 0, msg and data, and has HTTP 200", Violation},
	{"envelope/failure", "Errors", "a failure is JSON with msg, a code other than 0, and no data", Violation},
	{"errors/codes", "Errors", "no answer has code 100001112, and no answer of CheckAvail has code 100001111", Violation},
	{"errors/unlisted", "Errors", "a failure has a documented HTTP status, and no code of another operation", Doubt},
	{"voucher/not-found", "OrderVoucher", "HTTP 404 and code 100000404 come together", Violation},
	{"ticket/refused", "Ticket", "a refused pair of key and secret gets code 100000401", Violation},
	{"limits/refusal", "Limits", "HTTP 429 has code 100000429 and Retry-After", Violation},
	{"limits/retry-after", "Limits", "only HTTP 429 has a Retry-After", Violation},
	{"limits/limit", "Limits", "X-RateLimit-Limit is the documented limit", Violation},
	{"limits/remaining", "Limits", "X-RateLimit-Remaining is at least 0, and below the documented limit", Violation},
	{"limits/reset", "Limits", "X-RateLimit-Reset is 1", Violation},
	{"headers/request-id", headersAre, "each success has a Request-Id", Violation},
	{"headers/trace-id", headersAre, "each success has a Trace-Id", Violation},
	{"headers/server-cost", headersAre, "Server-Cost-Milliseconds is a number of 0 or more", Violation},
	{"headers/session-id", headersAre, "a search has a Session-Id in its header", Violation},
	{"headers/currency", headersAre, "Currency names the currency of the rates", Violation},
	{"headers/failure", headersAre, "a failure has the headers of a success", Doubt},
	{"auth/anonymous", "Authentication", "only Ticket and OAuthToken work without a token", Violation},
	{"ticket/form", "Ticket", "a ticket is a JWT", Violation},
	{"ticket/jwt", "Ticket", "the ticket is the only member", Violation},
	{"ticket/ttl", "Ticket", "the lifetime in the claims of a ticket is its ttl", Violation},
	{"ticket/kept", "Ticket", "a ticket is accepted until it expires", Violation},
	{"ticket/ended", "Ticket", "a ticket is refused after it has expired", Violation},
	{"destinations/form", "Destinations", "places have the documented form", Violation},
	{"destinations/country", "Destinations", "places are in the country of the request", Violation},
	{"destinations/children", "Destinations", "a request with parentDestinationId returns its children", Violation},
	{"destinations/levels", "Destinations", "a request with countryCode returns only top-level destinations", Violation},
	{"destinations/hotels", "Destinations", "a city has at least minHotelCount hotels", Violation},
	{"destinations/details", "Destinations", "details have coordinates", Violation},
	{"metadata/form", "HotelsMetadata", "hotels and page have the documented form", Violation},
	{"metadata/size", "HotelsMetadata", "a page has no more hotels than pageSize", Violation},
	{"metadata/total", "PageResp", "total is 0, or at least the number of elements on the page", Violation},
	{"metadata/has-more", "PageResp", "hasMore fits total", Violation},
	{"metadata/destination-of", "HotelsMetadata", "the hotels are in the city of the request", Violation},
	{"static/form", "HotelStaticDetail", "the hotel has the documented form", Doubt},
	{"list/form", "HotelList", "list and basic have the documented form", Violation},
	{"list/size", "HotelList", "a page has no more hotels than pageSize", Violation},
	{"list/total", "PageResp", "total is 0, or at least the number of elements on the page", Violation},
	{"list/has-more", "PageResp", "hasMore fits total", Violation},
	{"list/destination", "HotelList", "the hotels are in the destination of the request", Violation},
	{"list/by-id", "HotelList", "a search by hotelIds returns only these hotels", Violation},
	{"list/dates", offersAre, "offers have the dates of the search", Violation},
	{"list/max-rates", "HotelList", "a hotel has no more rates than maxRatesPerHotel", Violation},
	{"list/price-asc", "HotelList", "with price-asc the cheapest hotel comes first, across all pages", Violation},
	{"list/price-desc", "HotelList", "with price-desc the cheapest hotel comes last, across all pages", Violation},
	{"list/rating-desc", "HotelList", "with rating-desc the best rating comes first, across all pages", Violation},
	{"list/min-price", "Hotel (search and static detail)", "no offer of a hotel is cheaper than minPrice", Violation},
	{"list/reasons", "HotelList", "notices never come with emptyReason", Violation},
	{"list/room-hotel", "Room", "the hotelId of a room is an id of its hotel", Violation},
	{"offer/total", offersAre, "the total of equal rooms is the price of one room times their number", Violation},
	{"rates/form", "HotelRates", "rooms have the documented form", Violation},
	{"rates/dates", offersAre, "offers have the dates of the request", Violation},
	{"rates/hotel", "Room", "the rooms belong to the hotel of the request", Violation},
	{"check/form", "CheckAvail", "status and package have the documented form", Violation},
	{"check/dates", "CheckAvail", "the package has the dates of the search", Violation},
	{"check/same", "CheckAvail", "an answer with a changed price has a statusRemark", Violation},
	{"book/form", "Book", "an accepted booking has an order of the documented form", Violation},
	{"book/status", "Order status", "a new order has status 0 or 1", Violation},
	{"book/stay", "Book", "an order has the reference, the hotel and the dates of its Book", Violation},
	{"book/again", "Book", "a second Book with the same reference returns the same order", Violation},
	{"book/holder", "Order", "an order has the holder of its Book", Violation},
	{"book/read", "QueryOrders", "QueryOrders returns an order as Book returned it", Violation},
	{"book/passport-shown", "Order", "an order shows no more than the last four characters of a passport number", Violation},
	{"orders/form", "QueryOrders", "orders have the documented form", Violation},
	{"order/others", "QueryOrders", "QueryOrders returns only orders with the references of the request", Violation},
	{"order/nights", "Order", "nightCount is the number of nights from checkIn to checkOut", Violation},
	{"order/rooms", "Order", "an order has all booked rooms, and roomCount is their number", Violation},
	{"order/room-dates", "Order", "a room has the dates of its order", Violation},
	{"order/created", "Order", "the bookingTime of an order does not change", Violation},
	{"voucher/form", "OrderVoucher", "status and voucher have the documented form", Violation},
	{"voucher/order", "OrderVoucher", "the voucher has the references of the request", Violation},
	{"voucher/generated", statesAre, "only status GENERATED has a voucher", Violation},
	{"voucher/content-unasked", "Voucher", "content comes only with includeDocument", Violation},
	{"voucher/inline", "OrderVoucher", "with includeDocument the answer has a document that matches its digest", Violation},
	{"voucher/signed", "Voucher", "the voucher of a new order is signed", Violation},
	{"voucher/version", "Voucher", "the version of a voucher does not fall", Violation},
	{"voucher/download", "OrderVoucher", "the document behind downloadUrl matches the digest", Violation},
	{"cancel/form", "Cancel", "the answer to Cancel has a fee and a status", Violation},
	{"cancel/foreign", "Cancel", "a supplierReferenceNo of another order cancels nothing", Violation},
	{"webhook/form", "Events", "an event has a reference, a documented kind, and its time in milliseconds", Violation},
	{"webhook/id", "Events", "different events have different ids", Violation},
	{"webhook/agent", "Events", "the User-Agent of an event ends in -webhook/1.0", Violation},
	{"value/members", "Shared types", "expected members exist, and an object has at least one documented member", Doubt},
	{"value/plausible", "Shared types", "values are plausible, such as a latitude from -90 to 90", Doubt},
	{"value/currency", "Shared types", "all amounts are in the currency of the rates", Doubt},
	{"value/empty", "HotelList", "only an empty result has an emptyReason", Doubt},
	{"value/by-id", "HotelList", "a hotel has one of the ids of the request", Doubt},
	{"value/name", "HotelList", "a hotel is in a city of destinationName", Doubt},
	{"value/total", "PageResp", "all pages of a list have the same total", Doubt},
	{"value/max-rates", "HotelList", "maxRatesPerHotel keeps the cheapest offers, and 0 keeps all offers", Doubt},
	{"value/min-price", "Hotel (search and static detail)", "minPrice is the price of an offer, and agrees with minPricesByCurrency", Doubt},
	{"value/session", headersAre, "basic.sessionId is the Session-Id of the answer", Doubt},
	{"value/offer", offersAre, "offers at different prices have different ids", Doubt},
	{"value/terms", offersAre, "refundableMode, refundableUntil and cancelFees agree, and CheckAvail does not change them", Doubt},
	{"value/package", "CheckAvail", "CheckAvail returns a roomRatePkg if an earlier answer with the same status had one", Doubt},
	{"value/exchange", "Shared types", "exchange rates include the currency of the offer", Doubt},
	{"value/price", "Book", "an order has the price of its offer", Doubt},
	{"value/guests", "Order", "the rooms of an order have the guests of its Book", Doubt},
	{"value/time", "Order", "bookingTime and cancelTime are the times of Book and Cancel", Doubt},
	{"value/refund", "Order", "refundedPrice is the price minus serviceFee", Doubt},
	{"value/orders", "QueryOrders", "QueryOrders returns a known order again, and only once", Doubt},
	{"value/window", "QueryOrders", "QueryOrders returns only orders in the time windows and statusList of the request", Doubt},
	{"value/size", "Voucher", "byteSize is the size of the document", Doubt},
	{"value/tax", "Shared types", "the total of taxes is the sum of its items, in one currency", Doubt},
	{"value/gross", "Shared types", "grossRate exists if respectGrossRate is true, and is at least netRate", Doubt},
	{"value/amended", "Order", "a confirmed or cancelled order keeps its dates and its price", Doubt},
	{"value/voucher", statesAre, "status GENERATED has a voucher", Doubt},
	{"value/version", "Voucher", "a version of a voucher always has the same digest", Doubt},
	{"value/fee", "Cancel", "the cancellation fee is at most the price of the order", Doubt},
	{"value/event", "Events", "an event has a time", Doubt},
	{"limits/shared", "Limits", "X-RateLimit-Remaining is 0 in an HTTP 429", Hint},
}

// formRules maps an operation to the rule about the form of its successful answers. In the constant shapes, the type
// with the name of the operation describes this form.
var formRules = map[string]string{"Ticket": "ticket/form", "Destinations": "destinations/form", "HotelsMetadata": "metadata/form",
	"HotelStaticDetail": "static/form", "HotelList": "list/form", "HotelRates": "rates/form", "CheckAvail": "check/form", "Book": "book/form",
	"QueryOrders": "orders/form", "OrderVoucher": "voucher/form", "Cancel": "cancel/form", "Event": "webhook/form"}
