// Package hotelstays is a client for the Hotel Stays Distribution API: it searches hotels,
// checks offers, books them, reads and cancels orders, and gets their vouchers. Create a
// client with [New]. This page is the index of the manual; each name below has its details.
//
//	client, err := hotelstays.New("https://host.example", hotelstays.TicketCredential{
//		AppKey: key, AppSecret: types.NewSecret(secret),
//	})
//	...
//	found, err := client.HotelList(ctx, &hotelstays.HotelListRequest{
//		DestinationName: "Abu Dhabi", CheckIn: "2027-03-10", CheckOut: "2027-03-12",
//		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}},
//	})
//
// A [Client] has one method per operation. It takes a ctx, a request and options, and returns a
// response, whose Meta field describes the answer. An invalid request is a [*ValidationError], and
// nothing is sent. Use one Client per process: it is safe for concurrent use, and its callers share
// connections, the token and the rate limits. Derive further clients from it: by [Client.WithCredential]
// for another account, by [Client.With] for another market or logger. A client neither changes nor keeps a
// request, and a response belongs to the caller. The JSON of a request is a full copy for a queue, but for
// secrets; it is not what is sent.
//
// An [Option] is for a client, a [CallOption] for a call, a [SharedOption] for both. Every method that calls
// takes a []CallOption. One that has no effect there is a [*ValidationError] that says where it belongs.
//
// From search to cancellation:
//
//	HotelList        hotels with prices, and the session of their offers
//	HotelRates       all offers of one hotel
//	CheckAvail       one offer as it is now; CompareOffer lists what changed
//	BookAndRecover   the order, even if the answer to Book is lost
//	AwaitOrder       the order, once its status is no longer 0 or 1, which count as open
//	SaveVoucher      the verified document
//	CancelAndRead    cancels the order and reads it back
//
// HotelListStream hands out hotels before the page has arrived. WalkDestinations and HotelsMetadataAll
// read the whole catalogue. Do calls an operation that has no method.
//
// # Sessions
//
// An offer is valid only in the session of the search that returned it, HotelListResponse.Basic.SessionID.
// Put it into the SessionID of HotelRates, CheckAvail and Book, and store it with the order, because
// Cancel needs a session too. If the service refuses one, search again: its life is undocumented.
//
// # Values
//
// A value holds what the service sent. [types.Money] keeps an amount's digits, computes and compares
// exactly, and does not mix currencies. [types.RoomRatePkg.CancelFeeAt] is what a cancellation at some
// time costs. Dates are text; call Time to parse one. An enumeration has constants for the documented
// values and keeps all others. An optional object is a pointer. PlatformHotelID identifies a hotel;
// Hotel.ID differs between searches.
//
// "Undocumented" means that the API's document leaves something open. The client then passes the value
// on as text, a number or JSON, and [WithRawData] keeps the JSON of data. What you know about your
// service, such as the meaning of order states, pass to [WithServiceFacts].
//
// A field of another type than documented stays empty, and a number in the place of text is read as its
// digits; ResponseMeta.Mismatches lists both, and says what else is left out. The status of an order is then
// types.OrderStatusUnreadable, because 0 means open. An integer but for code may be 2.0. CheckAvail, OrderVoucher,
// Ticket and OAuthToken are strict: there it is a [*DecodeError]. Unknown fields are ignored, but a name
// that differs from code, data or orders in letter case alone makes an answer unusable.
//
// A field that is absent or null stays empty and is not listed. The Decimal of an absent price is an
// error, never 0, and CompareOffer reports it. An amount in quotes, such as "120.50", is that number.
//
// # Errors
//
// An operation returns one of these, for errors.As; a helper may also wrap ctx.Err() or your
// own error. An [*OutcomeUnknownError] is never also a refusal: errors.As and errors.Is do not find its cause.
//
//	*ValidationError          the input is invalid; lists all faults; nothing was sent
//	*OutcomeUnknownError      Book or Cancel may have been executed
//	*APIError                 the service, or something in front of it, refused or failed
//	*TransportError           no answer; Sent reports whether the request may have arrived
//	*DecodeError              the answer cannot be read
//	*OrderNotFoundError       no order under the reference, of FindOrder or AwaitOrder
//	*AmbiguousReferenceError  several orders under the reference, of what reads one
//	*ReferenceReusedError     the order under this reference has other dates
//	*PageError                a list ends early; what came before is correct
//	*BatchError               one batch of HotelListBatches failed; the others go on
//	*VoucherError             the document is missing or not the one that was issued
//	*WebhookError             the delivery is not to be trusted
//
// [KindOf] returns one word for an error, for metrics and for your own callers. A switch over kinds needs no
// order: an unknown outcome is never a refusal. Under again, ask means that [Retryable] decides.
//
//	kind                                   HTTP  again  what to tell the traveller
//	outcome_unknown                         202  no     we are finding out; please do not book again
//	validation, parameter_refused           400  no     please check what you entered
//	webhook, voucher_too_large              400  no     nothing: no traveller causes it
//	not_found                               404  no     we do not know this booking
//	no_voucher                              404  no     there is no voucher for this booking
//	rate_changed                            409  no     the offer has changed: please look at it again
//	duplicate_booking                       409  no     you have this booking already
//	reference_reused, ambiguous_reference   409  no     we are checking this booking; please do not book again
//	cancel_refused                          409  no     this booking cannot be cancelled online
//	refused                                 409  no     nothing was done; please choose another offer
//	rate_limited, server_error, canceled    503  yes    please try again in a moment
//	transport                               503  ask    please try again in a moment
//	voucher_not_ready                       503  yes    the voucher is made once the hotel has confirmed
//	timeout                                 504  ask    it took too long; please try again
//	upstream_timeout                        504  yes    it took too long; please try again
//	unauthorized, forbidden, invalid_scope  502  no     something is wrong on our side
//	proxy_authentication                    502  no     something is wrong on our side
//	unreadable_answer, unexpected           502  no     something is wrong on our side
//	incomplete_listing                      502  no     we could not find all hotels
//	batch                                   502  ask    we could not find all hotels
//	voucher                                 502  ask    the voucher could not be verified
//	other                                   500  no     something is wrong on our side
//
// An *APIError matches at most one sentinel, for errors.Is, such as [ErrRateChanged]. Each error type is a
// group for log/slog, with kind, operation, status, code and ids; of one that you wrapped slog writes the
// text alone, so log the error itself, or what errors.As finds. [RequestIDOf] returns the id to quote. If
// ctx ends, the error wraps ctx.Err(), and no more of context.Cause(ctx) than its text. A message names
// the next step if there is one, and the request id if a request of the client failed. No error, log line or %+v holds a secret, a token or a passport
// number. [WithLogger] logs attempts; [WithObserver] receives each call and helper, for metrics and traces
// (contrib/hotelstaysotel).
//
// # Retries and unknown outcomes
//
// Reads are resent if that can help. Book and Cancel, and a Do that is not Idempotent, are
// resent only if the service provably did not execute them:
//
//	what happened                             reads              Book, Cancel
//	the request never left                    again              again
//	the connection broke, or no answer came   again              unknown outcome
//	HTTP 401, enveloped                       once, new token    once, new token
//	HTTP 401, not enveloped                   once, new token    unknown outcome
//	HTTP 429, enveloped                       wait, again        wait, again
//	HTTP 429, not enveloped                   wait, again        unknown outcome
//	HTTP 500, 502, 503, 504                   again              unknown outcome
//	HTTP 3xx, other 5xx                       error              unknown outcome
//	HTTP 400, 403, enveloped                  error              refused
//	HTTP 404, enveloped, code not listed      error              unknown outcome; Cancel: refused
//	HTTP 4xx, not enveloped                   error              unknown outcome
//	HTTP 2xx, other 4xx, listed code          error              refused
//	HTTP 2xx, other 4xx, another code         error              unknown outcome
//	HTTP 2xx that cannot be read              error              unknown outcome
//
// An enveloped answer has the service's own form and a code other than 0. A listed code is documented for
// the operation, as the variables ([ErrRateChanged]) say; or it is one that you know, of [ServiceFacts]. An
// untrusted certificate or TLS version is an error at once.
//
// Each of these proves that the request of an attempt never left. Once ctx has ended, the last two prove
// nothing, because net/http then returns whatever error ended it:
//
//	what failed                     where
//	no slot                         the RateLimiter returned an error
//	no token                        the client's call for it failed
//	a function of an option         WithRequestID or WithClientRequestTimestamp returned no header
//	an error before a connection    an http.Transport: it refuses a header, or its Proxy failed
//	an error before WroteHeaders    a RoundTripper that fires the events of net/http/httptrace
//	a dial error                    any RoundTripper
//	an error that wraps ErrNotSent  a RoundTripper of yours that refuses, such as a circuit breaker
//
// A call makes up to four attempts ([WithMaxAttempts]), or five if the fourth ended in a 401. Those that
// end in a 429 do not count. Before the next attempt it waits for the answer's Retry-After (a 429
// without one: 1 s), plus a random time of up to 250 ms, then 500 ms, 1 s and so on up to 8 s. It
// returns the failure at once if that wait would pass the deadline, or if Retry-After is above 60 s. A
// 429 pauses its operation for all callers until Retry-After is over: with the code 100000429 for a day
// at most, else for a minute at most. Each attempt has a new Request-Id ([WithRequestID]); all of them
// share the Trace-Id ([WithTraceIDFrom]).
//
// In an outage a client makes few retries: it has 500 points, a retry takes 5, or 10 after a time-out,
// and a call that is answered gives 1 back. First attempts and waits after a 429 are always made. So is
// each poll of a recovery: once the points are spent, a poll is one request.
//
// After an unknown outcome, an [*OutcomeUnknownError], do not send it again: QueryOrders shows what
// happened.
//
// # Recovery
//
// [Client.BookAndRecover] books. After an unknown outcome it asks for the order at 0, 30, 90, 210, 450
// and 600 seconds. Only a successful last poll without any order proves absence; after a refusal with an
// undocumented code one such poll does. If the order appears even later, the same reference still
// prevents a second one. A [BookingRecovery] that is stored before Book is sent ([WithSaveRecovery])
// survives the process: [Client.RecoverBooking] continues it in any process of the account, and
// [Client.StepRecovery] makes one poll, for job queues. Book may succeed at another price: with
// BookRequest.Expect, BookingOutcome.Changes lists it.
//
// # Time limits and rate limits
//
// A call ends with its ctx or after [WithTimeout]. With neither, it has the limit of its operation. The
// constants ([OpBook]) name it, and the rate limit. The client's own call for a token has this limit from
// its slot of the rate limit on, for which it waits up to five minutes. The operations of the booking
// flow send the remaining time to the service.
//
// The service counts the requests of a client address in any second, per operation. The client waits
// for a free slot, in the order of the callers, until ctx ends. A slot is free again 1.01 seconds after
// its request arrived ([RateLimiterOptions]). Clients behind one address share the limits: derive them by
// [Client.WithCredential], or give them a common [RateLimiter], of [NewRateLimiter], or for several
// processes of contrib/hotelstaysredis.
//
// # Tokens
//
// The client fetches a token for its [TicketCredential] or [OAuthCredential], shares it among all
// callers and renews it in the background before it expires. After a 401 a new one is fetched. If that
// is refused as well, within seconds, further ones are fetched after 2, 4, 8 and so on up to 60
// seconds. Until then calls fail with the 401, and the errors say how long. A secret that is rotated comes
// from a function, AppSecretFrom or ClientSecretFrom. [WithTokenStore] shares tokens between processes; with
// a [TokenLeaser] one process fetches for all.
//
// # Vouchers and webhooks
//
// [Client.SaveVoucher], [Client.OpenVoucher] and [Client.DownloadVoucher] return only a document whose
// SHA-256 is as issued, from public hosts or those of [WithVoucherHosts]. The function of a
// [NewWebhookHandler] succeeds once per event. Events may overtake each other, so ask QueryOrders for the
// current state. A [WakeHub] makes a wait poll at once.
//
// # Testing
//
// Package [hotelstaystest] is the whole service inside a test, with faults on demand and a ledger of
// what it did. With InMemory of hotelstaystest.Config, ten minutes of recovery take milliseconds under
// testing/synctest. To intercept requests, use [WithHTTPClient]; mocks that replace
// http.DefaultTransport, such as gock, need WithHTTPClient(http.DefaultClient).
//
// [hotelstaystest]: https://pkg.go.dev/github.com/hotelstays/hotelstays-go/hotelstaystest
package hotelstays
