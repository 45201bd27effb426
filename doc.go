// Package hotelstays is a client of the Hotel Stays Distribution API: it searches hotels, checks offers, books them, reads
// and cancels orders, and gets their vouchers. [New] returns a client; guides for each task are in docs/guides.
//
// A [Client] has one method per operation. It takes a ctx, a request and options, and returns a response, whose Meta field
// describes the answer. An invalid request is a [*ValidationError], and nothing is sent. Use one Client per process: it is
// safe for concurrent use, and its callers share connections, the token and the rate limits. [Client.WithCredential] returns
// a client of another account, and [Client.With] a client with other options. A client neither changes nor keeps a request,
// and a response belongs to the caller.
//
// An [Option] is for a client, a [CallOption] for a call, a [SharedOption] for either. An option that has no effect on a call
// is a [*ValidationError] that says where it belongs. From search to cancellation:
//
//	HotelList        hotels with prices, and the session of their offers
//	HotelRates       all offers of one hotel
//	CheckAvail       one offer as it is now; CompareOffer lists what changed
//	BookAndRecover   the order, even if the answer to Book is lost
//	AwaitOrder       the order, once its status is no longer 0 or 1, which count as open
//	SaveVoucher      the verified document
//	CancelAndRead    cancels the order and reads it back
//	HotelListStream  hotels before the page has arrived
//	WalkDestinations the whole catalogue, with HotelsMetadataAll
//	Do               an operation that has no method
//
// # Sessions and values
//
// An offer is valid only in the session of the search that returned it, HotelListResponse.Basic.SessionID. Put it into the
// SessionID of HotelRates, CheckAvail and Book, and store it with the order, because Cancel needs a session too. How long a
// session lives is undocumented. If the service refuses it, search again.
//
// A value holds what the service sent. [types.Money] keeps an amount's digits, and computes exactly. Dates are text; call
// Time to parse them. An enumeration has constants for the documented values and keeps all others. An optional object is a
// pointer. The Decimal of an absent price is an error, never 0. PlatformHotelID identifies a hotel for good.
//
// "Undocumented" means that the API's document does not say it. The client then passes the value on as text, a number or
// JSON. If you know more about your service, such as the meaning of order states, use [WithServiceFacts].
//
// A field of another type than documented stays empty, and ResponseMeta.Mismatches lists it. If a number stands where text is
// documented, the field holds its digits, and is listed as well. The status of an order is then
// [types.OrderStatusUnreadable], because 0 means open. CheckAvail, OrderVoucher, Ticket and OAuthToken are strict: they
// return a [*DecodeError]. Unknown fields are ignored. But if a name differs from code, data or orders only in letter case,
// the answer is unusable.
//
// # Errors
//
// An operation returns one of these error types. A helper may also wrap ctx.Err() or an error of your own function.
//
//	*ValidationError          the input is invalid; lists all faults; nothing was sent
//	*OutcomeUnknownError      Book or Cancel may have been executed
//	*APIError                 the service, or something in front of it, refused or failed
//	*TransportError           no answer; Sent reports whether the request may have arrived
//	*DecodeError              the answer cannot be read
//	*OrderNotFoundError       FindOrder or AwaitOrder found no order under the reference
//	*AmbiguousReferenceError  several orders have the reference, and one was asked for
//	*ReferenceReusedError     the order under this reference has other dates
//	*PageError                a list ends early; what came before is correct
//	*BatchError               one batch of HotelListBatches failed; the others go on
//	*VoucherError             the document is missing or not the one that was issued
//	*WebhookError             the delivery is not to be trusted
//
// An [*OutcomeUnknownError] never leads to a refusal: errors.As and errors.Is do not find its cause. [KindOf] returns one
// word for an error. Where the column "again" says ask, [Retryable] decides.
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
// An [*APIError] matches at most one sentinel, such as [ErrRateChanged]. If ctx ends, the error wraps ctx.Err(), and only the
// text of context.Cause(ctx). Each error type is a group of attributes for log/slog. slog writes them only for the error
// itself: log err, not fmt.Errorf("checkout: %w", err). [RequestIDOf] returns the id to quote to the supplier. [WithLogger]
// logs attempts, and [WithObserver] receives each call. Nothing that is logged or printed holds a secret.
//
// # Retries and unknown outcomes
//
// Book and Cancel are refused only if the service says so in its own form, with a documented code or status. Every other
// failure is an unknown outcome, unless the request provably never left: do not send it again, and ask QueryOrders. An
// enveloped answer has the service's own form and a code other than 0. A documented code is listed for the operation, as the
// variables ([ErrRateChanged]) say, or you name it in [ServiceFacts]. A Do that is not Idempotent counts as Book.
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
//	HTTP 404, enveloped, another code         error              unknown outcome; Cancel: refused
//	HTTP 4xx, not enveloped                   error              unknown outcome
//	HTTP 2xx, other 4xx, documented code      error              refused
//	HTTP 2xx, other 4xx, another code         error              unknown outcome
//	HTTP 2xx that cannot be read              error              unknown outcome
//
// Each of these proves that a request never left. After the end of ctx, the last two prove nothing, because net/http then
// returns any error:
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
// A call is sent at most four times ([WithMaxAttempts]). A 401 adds one attempt with a new token, and a 429 is not counted.
// Before the next attempt the client waits as long as Retry-After says, and then up to 250 ms, 500 ms and so on up to 8 s, at
// random. A failure is returned at once if the wait would pass the deadline, or if Retry-After is above 60 s. A 429 pauses
// its operation for all callers: with the code 100000429 for at most a day, else for at most a minute.
//
// # Recovery
//
// [Client.BookAndRecover] books. After an unknown outcome it asks for the order 0, 30, 90, 210, 450 and 600 seconds later. A
// booking is absent only when the last poll succeeds and shows no order. After a refusal with an undocumented code the first
// such poll is enough. Store the [BookingRecovery] before Book is sent ([WithSaveRecovery]): [Client.RecoverBooking] then
// continues in any process of the account, and [Client.StepRecovery] makes one poll, for job queues. Book may succeed at
// another price: with BookRequest.Expect, BookingOutcome.Changes lists it.
//
// # Time limits, rate limits and tokens
//
// A call ends with its ctx, or after [WithTimeout]. With neither, the constant of the operation ([OpBook]) names its limit,
// and its rate limit. The service counts requests per client IP address and operation. The client waits for a free slot until
// ctx ends. Callers with a common limit must share a client, or a [RateLimiter]; for several processes there is
// contrib/hotelstaysredis.
//
// The client fetches a token for its [TicketCredential] or [OAuthCredential], shares it among all callers, and renews it in
// the background before it expires. After a 401 it fetches another one. If the service refuses that one too, the next is
// fetched 2, 4, 8 and up to 60 seconds later; until then calls fail with the 401. [WithTokenStore] shares tokens between
// processes.
package hotelstays
