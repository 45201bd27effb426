// Package hotelstaystest is a sandbox of the Hotel Stays Distribution API: the
// whole service over real HTTP, inside the caller's process. It is to that API
// what net/http/httptest is to HTTP.
//
//	srv := hotelstaystest.NewServer(nil)
//	defer srv.Close()
//	// point a client at srv.URL with srv.AppKey and srv.AppSecret
//
// The sandbox enforces the documented rules: rate limits, token lifetimes, scopes,
// sessions, idempotency, duplicate bookings, moved prices, voucher links. It is
// strict, so that a client's mistakes show. It refuses an unknown body field, a JSON
// value of the wrong type, a documented header on an operation that does not take it,
// and a Request-Id used twice. The message names the field or header.
//
// [Server.Inject] makes calls fail on demand. [Server.Ledger] records what the sandbox
// really did, so that a test can prove that nothing was booked twice or lost.
//
// # Answers
//
// Answers are in the API's envelope. The first example is the answer to a QueryOrders without a matching order
// (HTTP 200). The second is the answer to a refused QueryOrders (HTTP 400):
//
//	{"code":0,"msg":"success","data":{"orders":[]}}
//	{"code":100000400,"msg":"ERR.PARAM: statusList[0] must be between 0 and 5, not 6"}
//
// # Webhooks
//
// The sandbox posts the events of an order to its callbackUrl, signed with [Server.WebhookSecret].
// A delivery without a 2xx answer is retried ([WebhookConfig.RetryDelays]). [Ledger.Webhooks] lists
// every event and attempt. Faults on [OpWebhook] spoil deliveries, and [SignWebhook] signs your own.
//
// Deliveries go only to loopback addresses and to [WebhookConfig.CallbackHosts]. With
// [Config.AllowRemote] they go only to CallbackHosts. Any other address is refused without a DNS
// lookup and recorded as [WebhookRefused]. If [WebhookConfig.CallbackHandler] is set, it receives all
// deliveries in memory, whatever their address.
//
// # Configuration
//
// A [Config] has all settings, in Go and as JSON; a zero field has its default.
// [Server.Config] returns all settings with their defaults. [Server.Reset] returns a server to its
// initial state.
//
//	srv := hotelstaystest.NewServer(&hotelstaystest.Config{ConfirmAfter: 5 * time.Second, VoucherDelay: hotelstaystest.AtOnce})
//
// # The clock
//
// [Server.Advance] moves the sandbox's clock. Orders are then confirmed, webhooks retried and
// tokens expired, in their order and without waiting. It is for scripts and tests that choose when
// to poll. A client that waits by its own clock still waits.
//
// # The control API
//
// [ControlConfig] serves all of this as JSON under /_sandbox/, for programs in any language
// and for people: faults, orders, offers, sessions and tokens, webhooks, the clock, reset.
// /_sandbox/openapi.json documents every route. /healthz answers without a token.
//
//   - Errors are {"error":{"field","message"}}, with the path of the field.
//   - /_sandbox/events sends the ledger's log as Server-Sent Events.
//     A slow reader misses the entries that later entries have replaced, or that the log has dropped.
//   - /_sandbox/requests lists each request with the bodies of request and answer, cut off after 16 KiB each.
//     Only a server with the control API keeps bodies. [Request] lists what is masked in them.
//
// Control requests are not in the ledger. Rate limits and faults do not apply to them. Their Host
// header must name a host that [ControlConfig].Hosts allows. A page of another site cannot make
// changes. With a Token, each request needs "Authorization: Bearer <token>". In a browser, open
// /_sandbox/?token=<token> once: the answer sets a cookie for /_sandbox/ and redirects to a URL
// without the token.
//
// The sandbox keeps every order until [Server.Reset]. An order takes about 3 KB of memory.
//
// # Under testing/synctest
//
// The sandbox uses package time directly, so in a testing/synctest bubble it runs on
// the bubble's clock. Use [Config.InMemory] there, and [WebhookConfig.CallbackHandler] for
// webhooks, because a goroutine that waits for a socket is not durably blocked. At the end of the
// test, close every response body, then the client's idle connections, then the server.
//
// # Undocumented behaviour
//
// The API's document leaves some values and forms open, so the sandbox has to choose.
// The real service may behave differently:
//
// Answers:
//
//   - A token that is expired, revoked or unknown gets [types.CodeUnauthorized]. Every other
//     bad request gets [types.CodeParam]: a missing selector, a malformed or repeated header, an
//     unknown gender, a ttl out of range, an unknown session or offer, a callbackUrl with an OAuth
//     token. Cancel of an unknown order gets [types.CodeNotFound].
//   - 100000403 (forbidden), 100000405 (no such operation), 100002001 (cancellation
//     refused) and 100000500 (an injected failure) are the sandbox's own codes.
//   - HTTP status 200 for a moved price and a duplicate booking
//     ([Variants.BusinessFailureStatus]), 400 for an oversized voucher, 403 for a missing
//     Market or User-Ref and an expired downloadUrl, 410 for the downloadUrl of a
//     superseded voucher.
//   - A request refused with 429 does not count against the rate limit; every other
//     request does. OAuthToken and HotelIDList have no limit.
//
// Authentication:
//
//   - The answer to OAuthToken has token_type, expires_in and scope besides the token, in the
//     envelope. [Variants.OAuthTopLevel] puts them at the top level, with errors as
//     {"error", "error_description"}. A token lives for an hour ([Config.TokenLifetime]).
//     Without scope a token gets all scopes of the client, with an empty scope no scope.
//   - Scopes: content:read for content, search:read for HotelList, HotelRates and
//     CheckAvail, booking:write for Book, booking:read for QueryOrders and
//     OrderVoucher, booking:cancel for Cancel.
//
// Content:
//
//   - Destinations without a country or a parent lists the countries. Its standard
//     level omits coordinates, extra, destinationName and parentDestinationName. Empty
//     cities need both filterEmptyCities false and minHotelCount 0.
//   - The answer to HotelStaticDetail for an unknown hotel has no hotel.
//   - HotelIDList requires one of its fields. Its integers are 10000000 plus the
//     hotel's index, and a regionCode is the city's index plus 1. A regionName is part of a
//     city's name, as a destinationName is.
//   - Amounts, names, boards and supplier numbers are invented. The same seed makes the
//     same values.
//
// Search:
//
//   - checkIn and checkOut are required and may be in the past. Limits: 365 nights, 50
//     rooms, 1 to 20 adults a room, children up to 17 years. pageSize is at least 1.
//     Guests' nationalityCode and HotelsMetadata's countryCode are ISO 3166-1 alpha-2.
//   - HotelList without Session-Id starts a session; with Session-Id it continues that session.
//     Sessions and their offers do not expire, unless [Config.SessionLifetime] is set.
//     Cancel accepts any session of the account, even an expired session.
//   - HotelList with hotelIds and a destination returns hotels that match both.
//     destinationId takes precedence over destinationName. A destination expands to
//     2,000 hotels at most, with a notice. Cursors are ignored, and an unknown sortBy
//     keeps the default order.
//   - The answer to HotelRates for an unknown hotel has no rooms.
//   - Every room of a stay costs the same: the price of the most expensive room.
//   - Without a Currency header a search has prices in USD, and CheckAvail and Book use the
//     currency of the search. A search in a currency without prices is empty, with the reason
//     ALL_SUPPLIERS_EXCLUDED.
//   - Times in offers are RFC 3339 in UTC, the date of exchange rates is a day, and
//     polygon coordinates nest as in GeoJSON.
//
// Booking:
//
//   - CheckAvail's status is 1 for available and 2 for unavailable
//     ([Variants.Available]). Its statusRemark is a field of data.
//   - Book without CheckAvail expects the price of the search. Bookings of two rate plans of
//     one room type count as the same stay. The case of names and the order of guests do not
//     matter.
//   - A guest's roomIndex above the number of rooms is a bad request. Book of an offer that is
//     closed gets [types.CodeRateChanged], as after a moved price.
//   - Order statuses: 2 confirmed, 3 cancelled, 4 pending ([Variants.OrderStatusNumbers]).
//   - An order's guests have the fields that the Book request had. An item of refundInfo has a
//     refundTime and a refundPrice.
//   - QueryOrders: windows include both ends. A bound is a date, which stands for the
//     whole UTC day, or an RFC 3339 time. An order without the time that a window is about is
//     outside this window, even if the window has no bounds. statusList holds integers. All
//     matching orders are in one answer, oldest first. If no order matches, the list is empty, or
//     null ([Variants.NullOrders]).
//   - Cancel refuses a cancelled order. Check-in passes at midnight UTC of the check-in
//     day; the cut-off is 24 hours earlier ([Config.CancelCutoff]).
//   - The 8 MB limit of inline voucher documents is 8 x 1024 x 1024 bytes.
//
// Webhooks:
//
//   - Book sends order_created. The confirmation sends order_paid, then order_modified
//     with the hotel's confirmation number. [Server.AmendOrder] sends order_modified. A
//     cancellation sends order_cancelled, and any other status sends order_modified
//     ([WebhookConfig.Events]). A regenerated voucher sends no event. The first event may
//     arrive before Book's answer.
//   - hotelConfirmNo is empty until the order is confirmed. Event ids are opaque.
//   - First attempts of an order's events go out one after another. Retries follow
//     after 1, 2, 4, 8 and 16 seconds ([WebhookConfig.RetryDelays]), each with a new
//     signature. An attempt takes ten seconds at most ([WebhookConfig.Timeout]).
//   - [Server.WebhookSecret] signs for all accounts.
package hotelstaystest
