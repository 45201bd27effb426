// Package hotelstays is a client of the Hotel Stays Distribution API: it finds
// hotels, prices and re-checks offers, books them, and reads, vouchers and
// cancels orders. This page is its manual; [New] is where to begin.
//
// # Quick start
//
//	client, err := hotelstays.New("https://host.example", hotelstays.TicketCredential{
//		AppKey:    key,
//		AppSecret: types.NewSecret(secret),
//	})
//	...
//	found, err := client.HotelList(ctx, &hotelstays.HotelListRequest{
//		DestinationName: "Abu Dhabi",
//		CheckIn:         "2027-03-10",
//		CheckOut:        "2027-03-12",
//		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}},
//	})
//
// A [Client] has one method for each operation of the service. Each takes a ctx, a
// request struct and options, and returns a response struct, whose Meta field says
// what the answer said about itself. Bad input is refused before anything is sent.
// Use one Client for a whole process: it is safe for concurrent use, and it shares
// connections, the token and the ceilings among its callers.
//
// All other types are plain values, unless they say something else: several
// goroutines may read one, and none may change it meanwhile. A call neither keeps nor
// changes its request, and its response belongs to the caller. The interfaces that
// callers implement must be safe for concurrent use.
//
// A booking usually takes these calls:
//
//	HotelList        hotels with prices, and the session that they hold in
//	HotelRates       every offer of one hotel
//	CheckAvail       one offer, as it is now; CompareOffer tells what changed
//	BookAndRecover   the order, even if the answer to Book is lost
//	AwaitOrder       the order once its status has left 0 and 1
//	SaveVoucher      the document for the traveller
//	CancelAndRead    cancels the order, then reads it back
//
// The catalogue of places and hotels is apart from that: WalkDestinations and
// HotelsMetadataAll read all of it.
//
// # Credentials
//
// A [TicketCredential] is an application's key and secret, an [OAuthCredential] the
// client-credentials grant, a [TokenCredential] a token got elsewhere. The client
// fetches a token with the first call and keeps it. It renews the token in the
// background from five minutes before its end on (a short-lived one in its last
// tenth) while calls go on using it; only when none is left do callers wait, all of
// them for one shared request, each no longer than its own ctx.
//
// A 401 drops the token that was refused, and the call is sent once more with a new
// one; when the new one is refused within ten seconds, too, it is kept for the other
// callers, for then the fault is not the token's. A credential that is refused for
// good is not tried again for ten seconds. [WithTokenStore] shares tokens between
// processes; with a [TokenLeaser] as the store one process fetches for all.
//
// # Sessions
//
// An offer holds in the session of the search that returned it, and nowhere
// else. HotelListResponse.Basic.SessionID is that session; the requests of
// HotelRates, CheckAvail, Book and Cancel have a SessionID field for it. The
// client keeps no session of its own. Cancel needs a session, too: store the one that
// was booked in with the order. How long a session lives is undocumented: where one is
// refused, search again.
//
// # Money and dates
//
// What the service sent is what a value holds. An amount is its literal, never a
// float: [types.Money] has exact arithmetic, refuses to mix two currencies, and never
// takes a missing amount for 0. Dates and timestamps are text that parses when asked.
// Enumerations are named kinds with constants for the documented values, and another
// value survives. Optional objects are pointers, for absent is not zero. Hotels are
// told apart by PlatformHotelID: the other id differs from search to search.
//
// A comment that calls something undocumented, or not shown, means that the service's
// own document leaves it open. Nothing is guessed there: the value stays text, a number
// or JSON, and [WithRawData] keeps the whole answer. [WithOrderStates] takes the
// meaning of the order states from a caller who knows it.
//
// # Errors
//
// A call fails with one of these, for errors.As; a wait that its ctx ends
// returns an error that wraps ctx.Err():
//
//	*ValidationError        bad input, all faults at once; nothing was sent
//	*OutcomeUnknownError    Book or Cancel may have been carried out: see below
//	*APIError               the service refused, or something in front of it did
//	*TransportError         no answer; Sent tells whether the request may have arrived
//	*DecodeError            an answer that cannot be read
//	*ReferenceReusedError   the order under the reference is of another stay
//	*PageError              pages that end early; what came is good, and not all
//	*BatchError             a batch of HotelListBatches; the others go on
//	*VoucherError           a document that cannot be had or trusted
//	*WebhookError           a delivery that is not to be believed
//
// After Book and Cancel look for an *OutcomeUnknownError first: its cause is one of
// the others, and no refusal. An *APIError matches the conditions that a program acts
// on, with errors.Is:
//
//	ErrRateChanged         Book: nothing was booked; CheckAvail has the new price
//	ErrDuplicateBooking    Book: an active order has the same hotel, stay and guests
//	ErrCancelRefused       Cancel: not online; the message names the cause
//	ErrNotFound            no such order; to OrderVoucher, or another account's
//	ErrAmbiguousReference  OrderVoucher: ask by PlatformReferenceNo
//	ErrVoucherTooLarge     OrderVoucher: ask without IncludeDocument
//	ErrUnauthorized        the credential is wrong, inactive, or of another platform
//	ErrForbidden           a scope is missing; perhaps WithMarket or WithUserRef, too
//	ErrInvalidScope        the OAuth client is not registered for the scope
//	ErrRateLimited         above the ceiling, and still after all attempts
//	ErrUpstreamTimeout     the supplier did not answer in time
//	ErrParam               a parameter was refused; sending it again fails again
//
// Each message says what to do next. Those of a call that was refused, or that went
// unanswered, hold the request id to quote. No error, log line or dump holds a secret,
// a token or a passport number.
//
// # Retries and unknown outcomes
//
// Reads are sent again when that can help; Book and Cancel only where it is certain
// that the service has not acted:
//
//	what happened                             reads              Book, Cancel
//	the request never left                    again              again
//	the connection broke, or no answer came   again              unknown outcome
//	HTTP 401, enveloped                       once, new token    once, new token
//	HTTP 401, not enveloped                   once, new token    unknown outcome
//	HTTP 429, enveloped                       again              again
//	HTTP 429, not enveloped                   again              unknown outcome
//	HTTP 500, 502, 503, 504                   again              unknown outcome
//	HTTP 3xx, other 5xx                       error              unknown outcome
//	HTTP 400, 403, 404, enveloped             error              refused
//	HTTP 4xx, not enveloped                   error              unknown outcome
//	HTTP 2xx, other 4xx, listed code          error              refused
//	HTTP 2xx, other 4xx, another code         error              unknown outcome
//	HTTP 2xx that cannot be read              error              unknown outcome
//
// A certificate that is not trusted and a TLS version that one side does not speak are
// not tried again. "Enveloped" is an answer of the service's own form with a code that
// is not 0. A code is listed where the service's document gives it for the operation:
// 100000400, 100000429, 100001003 and 100001111 for Book, 100000429 alone for Cancel. A
// call makes at most four attempts ([WithMaxAttempts]), and one more after a 401. The
// wait before another is drawn at random from nothing up to 250 ms, 500 ms, 1 s and so
// on to 8 s, plus the Retry-After header (a second after a 429 without one). No wait
// reaches past the deadline, and no Retry-After of more than 60 s is waited for: the
// last failure is returned at once instead. A 429 pauses its operation for every caller
// for the whole of Retry-After. Every attempt has its own Request-Id; all attempts of a
// call share its Trace-Id.
//
// An unknown outcome is an [*OutcomeUnknownError]. It means that the booking, or
// the cancellation, may have been made. Ask QueryOrders for the reference; do
// not send again. BookAndRecover believes a refusal with a code that is not listed
// after one poll that finds no order.
//
// # Recovering a booking
//
// [Client.BookAndRecover] books, and after an unknown outcome asks for the order
// under the reference: at once, then 30, 90, 210, 450 and 600 seconds after the Book
// ended. BookingOutcome.State is what came of it:
//
//	BookingFound        the order exists; its status says how far it has come
//	BookingAbsent       there is none: check the offer again, then Book may be
//	                    called again, under the same reference and with a new
//	                    recovery
//	BookingUnverified   nothing is known: do not book again, keep asking
//
// Only a poll that succeeded and held no order at all proves absence, and only the
// last one decides. An order that the service shows later than ten minutes after
// the Book is therefore reported absent. Booking again is still safe under the same
// reference, for which the service makes one order, and could book twice under a new
// one.
//
// A process can die at any moment. Store [Client.NewBookingRecovery] before Book is
// called; [Client.RecoverBooking] goes on with it in any process of the same account,
// and [Client.StepRecovery] does so one poll at a time, for job queues.
// BookRequest.Expect makes an order of another stay an error: its reference was used
// before. [CompareOrder] lists what else the order says otherwise than the offer.
//
// # Deadlines
//
// A call ends with its ctx. [WithTimeout] bounds it further. Where the ctx has no
// deadline and there is no WithTimeout, the operation's default bounds the call:
//
//	Book, Cancel                                                  120 s
//	Destinations, HotelsMetadata, HotelStaticDetail, HotelIDList   60 s
//	HotelList, HotelRates, CheckAvail, OrderVoucher                60 s
//	QueryOrders                                                    30 s
//	Ticket, OAuthToken                                             20 s
//
// A helper or an iterator makes several calls, each with a bound of its own; only its
// ctx bounds the whole. A poll of a recovery has 20 s at most.
//
// HotelList, HotelRates, CheckAvail, Book and Cancel tell the service how much time
// is left, less a margin: a tenth of it, or a second where that is shorter.
//
// # Rate limits
//
// The service counts requests by endpoint and client address over a rolling
// second, as they arrive. The client keeps to it by itself: callers wait for a slot,
// first come first served, and no longer than their ctx.
//
//	Destinations, HotelsMetadata, HotelStaticDetail   100 a second
//	HotelList, HotelRates                             100 a second
//	QueryOrders, OrderVoucher                          50 a second
//	CheckAvail, Book, Cancel                           10 a second
//	Ticket                                              5 a second
//
// Each operation has its own budget. A slot is free again a second and a margin of
// 10 ms ([WithRateLimitMargin]) after its request arrived. The answer proves by when
// that was: its first byte less the service's Server-Cost-Milliseconds. Until the
// answer is there, the request counts as on its way for a quarter more than the longest
// of this minute and the last one took, and for at least a second after a minute with
// few answers. So the rate limit holds in bursts, too, while requests arrive within
// that time or are answered before their slot is free. The time that an answer travels
// is lost to the limit: 2 % at a round trip of 20 ms.
//
// Where answers lack that header, requests count as arrived when they left.
//
// A 429 pauses the operation for every caller, and a call whose deadline comes before
// the end of the pause fails at once. For the next minute requests count as on
// their way until their answer begins, or for a second, whatever the header says; then
// for half as long with each minute that passes. The client knows of its own requests
// alone: processes behind one address share the rate limits, so give them a shared
// limiter with [WithRateLimiter].
//
// One caller alone does not come near a rate limit, because each call waits for the
// one before. [WithParallelism] lets the iterators WalkDestinations, HotelsMetadataAll and
// HotelListBatches have several calls under way.
//
// # Vouchers
//
// A voucher is made once the supplier confirms; [Client.AwaitVoucher] waits for it.
// Its document is handed out once its size and SHA-256 are found to be those that
// were issued: [Client.SaveVoucher] leaves a file that is whole and
// verified, or none, and [Client.DownloadVoucher] writes nothing before. That proves
// that the bytes are as they were issued, and not that the voucher is still current.
//
// # Webhooks
//
// [NewWebhookHandler] receives the events of orders that were booked with a
// callbackUrl. It believes a delivery only by its signature, over the raw body, and
// within 300 seconds of its time; deliveries without a signature are accepted by
// explicit choice alone. Each event is handled successfully once, whatever copies
// come, within the retention of its [EventStore]; the default store is this
// process's memory. Events may overtake each other: QueryOrders tells what an order
// is now.
//
//	handler, err := hotelstays.NewWebhookHandler(
//		hotelstays.WebhookOptions{Secrets: []types.Secret{signingSecret}}, handle)
//
// A handler can cut a wait short: [WithWakeup] makes AwaitOrder, AwaitVoucher and
// RecoverBooking ask at once.
//
// # Several processes, logs and traces
//
// What processes have to share goes through interfaces: a [TokenStore] for tokens, a
// [RateLimiter] for rate limits, an [EventStore] for webhooks, and a [BookingRecovery]
// is JSON for any database or job queue. [WithLogger] logs, [WithObserver] measures,
// and [WithHTTPClient] brings proxies, certificates and tracing of requests. The
// modules contrib/redis, contrib/river and contrib/otel implement these.
//
// # Decoding
//
// Answers are read by functions that are generated from the structs, several times
// as fast as encoding/json and with the same result: at anything that is not as
// documented they leave the answer to encoding/json. The build tag hotelstays_stdjson
// leaves them out. Both builds follow the same rules:
//
//   - Names match exactly, and what is not documented is ignored. An object that has a
//     documented name twice makes the answer unreadable. So does another letter case of
//     the envelope's code and data, or of QueryOrders' orders.
//   - A field of another JSON type than documented is a *DecodeError. Book, QueryOrders
//     and Cancel leave it out instead, and ResponseMeta says which and how many; an order
//     that cannot be read at all is an error there, too.
//   - A page holds as many hotels as is documented, and lists may take at most twice the
//     memory of the answer's text, and 4 MiB: more is a *DecodeError.
//   - The ctx of a call ends the reading of its answer: a *TransportError, or an unknown
//     outcome.
//
// # Testing your own code
//
// Package [hotelstaystest] is the whole service in the caller's process, with
// faults on demand and a ledger of what it truly did:
//
//	srv := hotelstaystest.NewServer()
//	defer srv.Close()
//	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{
//		AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret),
//	}, hotelstays.WithHTTPClient(srv.Client()))
//	srv.Inject(hotelstaystest.Fault{
//		Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true,
//	})
//	// Your code books, and the answer is lost. Then:
//	orders := srv.Ledger().OrdersFor(reference) // one, and not two
//
// With hotelstaystest.WithInMemory it runs under testing/synctest, where ten minutes of
// recovery take milliseconds. At the end of such a test, close the client's idle
// connections, then the server; a token that is being fetched in the background is
// waited for by synctest.Wait.
//
// To intercept the requests yourself, give the client a RoundTripper by [WithHTTPClient].
// A mock that replaces http.DefaultTransport, such as gock, is used by
// WithHTTPClient(http.DefaultClient); without the option a client sends through its own
// transport, which no mock sees.
//
// [hotelstaystest]: https://pkg.go.dev/github.com/hotelstays/hotelstays-go/hotelstaystest
package hotelstays
