// Package hotelstaystest is a sandbox of the Hotel Stays Distribution API: the
// whole service over real HTTP, inside the caller's process. It is to that API
// what net/http/httptest is to HTTP.
//
//	srv := hotelstaystest.NewServer()
//	defer srv.Close()
//	// point a client at srv.URL with srv.AppKey and srv.AppSecret
//
// The sandbox enforces the documented rules (ceilings, token lifetimes, scopes,
// sessions, idempotency, duplicate bookings, moved prices, voucher links) and is
// strict where a lenient server would hide a client's slip: an unknown body
// field, a JSON value of the wrong type, a header on an operation that does not
// take it, or a Request-Id used twice is refused with a message that names it.
//
// [Server.Inject] makes it fail on demand, and [Server.Ledger] tells what it truly
// did, so that a test can prove that nothing was booked twice or lost.
//
// # Webhooks
//
// What happens to an order that was booked with a callbackUrl is posted there, signed
// with [Server.WebhookSecret], and again until the receiver answers with a 2xx status.
// [Ledger.Webhooks] has every event and attempt, faults on [OpWebhook] spoil them, and
// [SignWebhook] makes deliveries of a test's own. Deliveries reach loopback addresses
// alone: anything else is refused, without a look-up of its name, and is in the ledger
// as [WebhookRefused]. [WithCallbackHandler] receives them in memory instead, whatever
// their address.
//
// # Under testing/synctest
//
// The sandbox reads package time directly, so under testing/synctest its clock
// is the bubble's. Use [WithInMemory] there, and [WithCallbackHandler] for webhooks: real
// sockets do not block durably. At the end close every response body, then the
// client's idle connections, then the server.
//
// # What is the sandbox's own
//
// The API's reference leaves some values and forms open. A server has to pick
// something; what this one picks says nothing about the real service:
//
//   - Order statuses above 1: confirmed 2, cancelled 3, pending 4 ([WithOrderStatusNumbers]).
//   - Availability: 1 available, 2 unavailable ([WithAvailabilityNumbers]).
//   - CheckAvail's statusRemark stands in data ([WithRemarkInBasic] moves it).
//   - Codes: [CodeForbidden], [CodeNoSuchOperation], [CodeCancelRefused] and
//     [CodeUpstream]; a token that is expired, revoked or unknown answers
//     [CodeUnauthorized]. Every other request that is refused as bad answers
//     [CodeParam], be it a missing selector, an unknown gender, a ttl out of range, a
//     session or an offer that does not resolve, or a callbackUrl under an OAuth
//     token. Cancel answers [CodeNotFound] for an unknown order.
//   - HTTP statuses: moved prices and duplicate bookings answer 200
//     ([WithBusinessFailureStatus]); ambiguous references and oversized vouchers 400;
//     a missing Market or User-Ref 403. A downloadUrl that has expired answers 403,
//     one of a superseded version 410.
//   - OAuth's response carries token_type, expires_in and scope besides the
//     token, in the envelope ([WithOAuthTopLevel] puts them at the top level, with
//     errors as {"error", "error_description"}). The token lives an hour
//     ([WithTokenLifetime]). An absent scope asks for all the client has; an
//     empty one makes a token that nothing accepts.
//   - Scopes: content:read guards content, search:read HotelList, HotelRates
//     and CheckAvail, booking:write Book, booking:read QueryOrders and
//     OrderVoucher, booking:cancel Cancel.
//   - A refused call (429) does not consume its ceiling; every other call does.
//     OAuthToken and HotelIDList have none.
//   - checkIn and checkOut are required, dates in the past can be searched, and a search
//     takes at most 365 nights, 50 rooms, 1 to 20 adults a room and children up to 17.
//     Page sizes start from 1. The nationalityCode of a guest and the countryCode of
//     HotelsMetadata are ISO 3166-1 alpha-2, as they are elsewhere.
//   - Of a hotel that does not exist HotelRates has no rooms, and HotelStaticDetail no
//     hotel.
//   - The guests of an order have the fields that Book took, and items of refundInfo a
//     refundTime and a refundPrice. Times in offers are RFC 3339 in UTC, the date of
//     exchange rates is a day, and the coordinates of a polygon nest as in GeoJSON.
//   - A HotelList without Session-Id starts a session, with one continues it.
//     Sessions do not expire. Cancel takes any session of the account.
//   - Destinations without a country or a parent lists the countries. Its standard
//     level leaves out coordinates, extra, destinationName and parentDestinationName.
//     minHotelCount counts on its own: empty cities come only with filterEmptyCities
//     false and minHotelCount 0.
//   - hotelIds together with a destination mean both. Cursors are ignored. An
//     unknown sortBy keeps the default order. destinationId goes before
//     destinationName. A destination is expanded to 2,000 hotels at most, with a notice.
//   - Every room of a stay costs the same, priced for the fullest room.
//   - A Book without CheckAvail is held to the price that the search showed. Two rate
//     plans of one room type are the same content. The same content is compared without
//     regard to case or the order of guests.
//   - Without a Currency header, a search prices in USD, and CheckAvail and Book in the
//     currency that the offer was shown in. A currency without prices empties a search
//     with ALL_SUPPLIERS_EXCLUDED.
//   - A Book makes order_created; the confirmation order_paid, then order_modified for
//     the hotel's confirmation number; [Server.AmendOrder] order_modified; a cancellation
//     order_cancelled; any other status order_modified ([WithWebhookEvents]). The first
//     may arrive before Book's answer. A regenerated voucher makes no event.
//   - hotelConfirmNo is empty in an event until there is one. Event ids are opaque.
//   - The first attempts of an order's events go out one after another; retries follow
//     after 1, 2, 4, 8 and 16 seconds ([WithWebhookRetryDelays]), each signed anew. An attempt
//     takes ten seconds at most ([WithWebhookTimeout]).
//   - One webhook signing secret, [Server.WebhookSecret], serves all accounts.
//   - Windows of QueryOrders include both ends. A bound is a date or an RFC 3339
//     time; a date means the whole UTC day. An order without the time in question is
//     outside, even of a window without bounds. statusList holds integers. Orders
//     come in the order they were made, all at once.
//   - The limit of 8 MB for inline documents is 8 x 1024 x 1024 bytes.
//   - Cancelling a cancelled order is refused, like any order that is not in a
//     cancellable state. Check-in passes at midnight UTC of the check-in day; the
//     cut-off is 24 hours before it ([WithCancelCutoff]).
//   - HotelIDList's integers are 10000000 plus the hotel's index, regionCode is
//     the city's index plus 1. One of HotelIDList's fields is required.
//   - Amounts, names, board and supplier numbers are made up, the same for the same seed.
package hotelstaystest
