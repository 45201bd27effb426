// The rules: what each judgement is about, and how sure it is.

package judge

import "slices"

// Grade is how sure a finding is. The zero value is not set.
type Grade string

// The grades of findings.
const (
	// Violation contradicts a sentence of the document.
	Violation Grade = "violation"
	// Doubt is implausible, though no sentence forbids it.
	Doubt Grade = "doubt"
	// Hint may have a cause outside the service, such as another process behind the same address.
	Hint Grade = "hint"
)

// Rule is one thing that is judged.
type Rule struct {
	// Name is unique, such as "list/dates".
	Name string `json:"rule"`
	// Section is the section of the API document.
	Section string `json:"section"`
	// Promise is what must hold.
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
	{"envelope/failure", "Errors", "a failure is JSON with a code other than 0 and msg, and no data", Violation},
	{"errors/codes", "Errors", "code 100001112 is never emitted, and 100001111 not by CheckAvail", Violation},
	{"errors/unlisted", "Errors", "a failure has a status that is listed for its operation, and no code of another operation", Doubt},
	{"voucher/not-found", "OrderVoucher", "HTTP 404 and code 100000404 come together", Violation},
	{"ticket/refused", "Ticket", "a refused pair of key and secret gets code 100000401", Violation},
	{"limits/refusal", "Limits", "a 429 has code 100000429 and Retry-After", Violation},
	{"limits/retry-after", "Limits", "Retry-After comes with a 429 alone", Violation},
	{"limits/limit", "Limits", "X-RateLimit-Limit is the documented limit", Violation},
	{"limits/remaining", "Limits", "X-RateLimit-Remaining is from 0 to below the documented limit", Violation},
	{"limits/reset", "Limits", "X-RateLimit-Reset is 1", Violation},
	{"headers/request-id", headersAre, "each success has a Request-Id", Violation},
	{"headers/trace-id", headersAre, "each success has a Trace-Id", Violation},
	{"headers/server-cost", headersAre, "Server-Cost-Milliseconds is a number from 0 on", Violation},
	{"headers/session-id", headersAre, "a search has a Session-Id in its header", Violation},
	{"headers/currency", headersAre, "Currency names the currency of the rates", Violation},
	{"headers/failure", headersAre, "a failure has the headers of a success", Doubt},
	{"auth/anonymous", "Authentication", "nothing but Ticket and OAuth works without a token", Violation},
	{"ticket/form", "Ticket", "a ticket is a JWT", Violation},
	{"ticket/jwt", "Ticket", "the ticket is the only member", Violation},
	{"ticket/ttl", "Ticket", "what a ticket says about itself is its ttl", Violation},
	{"ticket/kept", "Ticket", "a ticket is accepted until its end", Violation},
	{"ticket/ended", "Ticket", "a ticket is refused after its end", Violation},
	{"destinations/form", "Destinations", "places have the documented form", Violation},
	{"destinations/country", "Destinations", "places are of the country of the request", Violation},
	{"destinations/children", "Destinations", "with parentDestinationId its children are returned", Violation},
	{"destinations/levels", "Destinations", "with countryCode only top-level destinations are returned", Violation},
	{"destinations/hotels", "Destinations", "a city has at least minHotelCount hotels", Violation},
	{"destinations/details", "Destinations", "details have coordinates", Violation},
	{"metadata/form", "HotelsMetadata", "hotels and page have the documented form", Violation},
	{"metadata/size", "HotelsMetadata", "a page has no more hotels than pageSize", Violation},
	{"metadata/total", "PageResp", "a total is 0, or at least what the page has", Violation},
	{"metadata/has-more", "PageResp", "hasMore fits total", Violation},
	{"metadata/destination-of", "HotelsMetadata", "the hotels are of the city of the request", Violation},
	{"static/form", "HotelStaticDetail", "the hotel has the documented form", Doubt},
	{"list/form", "HotelList", "list and basic have the documented form", Violation},
	{"list/size", "HotelList", "a page has no more hotels than pageSize", Violation},
	{"list/total", "PageResp", "a total is 0, or at least what the page has", Violation},
	{"list/has-more", "PageResp", "hasMore fits total", Violation},
	{"list/destination", "HotelList", "the hotels are of the destination of the request", Violation},
	{"list/by-id", "HotelList", "hotels are those of hotelIds", Violation},
	{"list/dates", offersAre, "offers have the dates of the search", Violation},
	{"list/max-rates", "HotelList", "a hotel has no more rates than maxRatesPerHotel", Violation},
	{"list/price-asc", "HotelList", "the cheapest hotel comes first, on all pages", Violation},
	{"list/price-desc", "HotelList", "the cheapest hotel comes last, on all pages", Violation},
	{"list/rating-desc", "HotelList", "the best rating comes first, on all pages", Violation},
	{"list/min-price", "Hotel (search and static detail)", "no offer of a hotel is cheaper than minPrice", Violation},
	{"list/reasons", "HotelList", "notices never come with emptyReason", Violation},
	{"list/room-hotel", "Room", "a room repeats its hotel's id", Violation},
	{"offer/total", offersAre, "the total of equal rooms is the rate of one for each", Violation},
	{"rates/form", "HotelRates", "rooms have the documented form", Violation},
	{"rates/dates", offersAre, "offers have the dates of the request", Violation},
	{"rates/hotel", "Room", "rooms are those of the hotel of the request", Violation},
	{"check/form", "CheckAvail", "status and package have the documented form", Violation},
	{"check/dates", "CheckAvail", "the package has the dates of the search", Violation},
	{"check/same", "CheckAvail", "a price that moved has a statusRemark", Violation},
	{"book/form", "Book", "an accepted booking has an order of the documented form", Violation},
	{"book/status", "Order status", "a new order has status 0 or 1", Violation},
	{"book/stay", "Book", "an order has the reference, the hotel and the dates of its Book", Violation},
	{"book/again", "Book", "the same reference is the same order", Violation},
	{"book/holder", "Order", "the holder is that of the Book", Violation},
	{"book/read", "QueryOrders", "an order reads as Book returned it", Violation},
	{"book/passport-shown", "Order", "an order shows no more than the last four characters of a passport number", Violation},
	{"orders/form", "QueryOrders", "orders have the documented form", Violation},
	{"order/others", "QueryOrders", "orders are those of the references of the request", Violation},
	{"order/nights", "Order", "nightCount is the nights from checkIn to checkOut", Violation},
	{"order/rooms", "Order", "there is one room for each that was booked, and roomCount counts them", Violation},
	{"order/room-dates", "Order", "a room has the dates of its order", Violation},
	{"order/created", "Order", "bookingTime stays what it was", Violation},
	{"voucher/form", "OrderVoucher", "status and voucher have the documented form", Violation},
	{"voucher/order", "OrderVoucher", "the voucher is that of the references of the request", Violation},
	{"voucher/generated", statesAre, "only GENERATED carries a document", Violation},
	{"voucher/content-unasked", "Voucher", "content comes with includeDocument alone", Violation},
	{"voucher/inline", "OrderVoucher", "includeDocument returns the document of the digest", Violation},
	{"voucher/signed", "Voucher", "the voucher of a new order is signed", Violation},
	{"voucher/version", "Voucher", "a version follows the one before", Violation},
	{"voucher/download", "OrderVoucher", "the linked document is that of the digest", Violation},
	{"cancel/form", "Cancel", "a cancellation has a fee and a status", Violation},
	{"cancel/foreign", "Cancel", "a supplierReferenceNo of another order cancels nothing", Violation},
	{"webhook/form", "Events", "an event has a reference, a documented kind, and its time in milliseconds", Violation},
	{"webhook/id", "Events", "another event has another id", Violation},
	{"webhook/agent", "Events", "User-Agent is that of a webhook agent of version 1.0", Violation},
	{"value/members", "Shared types", "expected members are there, and objects have documented members", Doubt},
	{"value/plausible", "Shared types", "values lie in the range that their meaning suggests", Doubt},
	{"value/currency", "Shared types", "other amounts are in the currency of the rates", Doubt},
	{"value/empty", "HotelList", "an empty result alone has an emptyReason", Doubt},
	{"value/by-id", "HotelList", "a hotel has one of the ids of the request", Doubt},
	{"value/name", "HotelList", "a hotel is in a city of destinationName", Doubt},
	{"value/total", "PageResp", "all pages of a list have the same total", Doubt},
	{"value/max-rates", "HotelList", "maxRatesPerHotel keeps the cheapest offers, and 0 keeps all", Doubt},
	{"value/min-price", "Hotel (search and static detail)", "minPrice is a price of the hotel, also in minPricesByCurrency", Doubt},
	{"value/session", headersAre, "Session-Id is basic.sessionId", Doubt},
	{"value/offer", offersAre, "offers at different prices have different ids", Doubt},
	{"value/terms", offersAre, "refundableMode, refundableUntil and cancelFees go together, and CheckAvail keeps them", Doubt},
	{"value/package", "CheckAvail", "a status that came with a package always does", Doubt},
	{"value/exchange", "Shared types", "exchange rates include the currency of the offer", Doubt},
	{"value/price", "Book", "an order has the price of its offer", Doubt},
	{"value/guests", "Order", "rooms have the guests of the Book", Doubt},
	{"value/time", "Order", "times are those of the requests that caused them", Doubt},
	{"value/refund", "Order", "refundedPrice is the price without serviceFee", Doubt},
	{"value/orders", "QueryOrders", "an order that was read is found again, once", Doubt},
	{"value/window", "QueryOrders", "orders fit the time windows and statusList of the request", Doubt},
	{"value/size", "Voucher", "byteSize is the size of the document", Doubt},
	{"value/tax", "Shared types", "the total of taxes is the sum of its items, in one currency", Doubt},
	{"value/gross", "Shared types", "a grossRate that is to be honoured is there, and grossRate is at least netRate", Doubt},
	{"value/amended", "Order", "an order that is no longer open keeps its dates and its price", Doubt},
	{"value/voucher", statesAre, "GENERATED comes with a document", Doubt},
	{"value/version", "Voucher", "a version keeps its digest", Doubt},
	{"value/fee", "Cancel", "a cancellation costs no more than the order", Doubt},
	{"value/event", "Events", "an event has a time", Doubt},
	{"limits/shared", "Limits", "X-RateLimit-Remaining is 0 on a 429", Hint},
}

// formRules are the rules about the form of a success, by operation. Its type has the operation's name.
var formRules = map[string]string{"Ticket": "ticket/form", "Destinations": "destinations/form", "HotelsMetadata": "metadata/form",
	"HotelStaticDetail": "static/form", "HotelList": "list/form", "HotelRates": "rates/form", "CheckAvail": "check/form", "Book": "book/form",
	"QueryOrders": "orders/form", "OrderVoucher": "voucher/form", "Cancel": "cancel/form", "Event": "webhook/form"}
