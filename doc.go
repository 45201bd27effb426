// Package hotelstays is a client of the Hotel Stays Distribution API. It searches hotels, checks and books offers, reads and
// cancels orders, and downloads vouchers. [New] returns a client. The folder docs/guides has a guide for each task.
//
// A [Client] has one method per operation. A method takes a ctx, a request and options, and returns a response. The Meta
// field of the response describes the answer. An invalid request is not sent: the method returns a [*ValidationError]. Use
// one Client per process. It is safe for concurrent use, and its callers share connections, the token and the rate limits.
// [Client.WithCredential] returns a client of another account. [Client.With] returns a client with other options. A client
// neither changes nor keeps a request, and a response belongs to the caller.
//
// An [Option] is for a client, a [CallOption] for a call, a [SharedOption] for either. If an option has no effect on a call,
// the call returns a [*ValidationError], which says where the option belongs. From search to cancellation:
//
//	HotelList        hotels with prices, and the session of their offers
//	HotelRates       all offers of one hotel
//	CheckAvail       one offer as it is now; CompareOffer lists what changed
//	BookAndRecover   the order, even if the answer to Book is lost
//	AwaitOrder       the order, once its status is neither 0 nor 1
//	SaveVoucher      the verified document
//	CancelAndRead    cancels the order and reads it back
//	HotelListStream  the first hotels before the whole page has arrived
//	WalkDestinations the whole catalogue, with HotelsMetadataAll
//	Do               an operation that has no method
//
// # Sessions and values
//
// An offer is valid only in the session of its search, HotelListResponse.Basic.SessionID. Put the session into the SessionID
// of HotelRates, CheckAvail and Book. Store the session with the order, because Cancel also needs a session. How long a
// session lives is undocumented. If the service refuses the session, search again.
//
// A value holds what the service sent. [types.Money] keeps an amount's digits, and computes exactly. Dates are text; call
// Time to parse them. An enumeration has constants for the documented values and keeps all others. An optional object is a
// pointer. If a price is absent, Decimal returns an error, never 0. PlatformHotelID always identifies the same hotel.
//
// "Undocumented" means that the API's document does not say it. The client then passes the value on as text, a number or
// JSON. If you know more about your service, such as the meaning of order states, use [WithServiceFacts].
//
// If a field has another type than documented, the client leaves the field empty, and ResponseMeta.Mismatches lists the
// field. A number in the place of text is also listed, but becomes text with the same digits. An unreadable order status becomes
// [types.OrderStatusUnreadable], because 0 means open. CheckAvail, OrderVoucher, Ticket and OAuthToken are strict: they
// return a [*DecodeError]. Unknown fields are ignored. A wrong letter case in code, data or orders makes the answer unreadable.
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
//	*AmbiguousReferenceError  several orders have the reference, but the call needs one
//	*ReferenceReusedError     the order under this reference has other dates
//	*PageError                a list ends early; what came before is correct
//	*BatchError               one batch of HotelListBatches failed; the other batches continue
//	*VoucherError             there is no verified document; Err is the cause
//	*WebhookError             the delivery must not be trusted
//
// In an [*OutcomeUnknownError], errors.As and errors.Is never find a refusal. [KindOf] returns one word for an error. Where
// the column "again" says ask, call [Retryable].
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
// An [*APIError] matches at most one sentinel, such as [ErrRateChanged]. If ctx ends, the error wraps ctx.Err(), and
// contains the text of context.Cause(ctx), but does not wrap the cause. log/slog writes an error of these types as a group of
// attributes, but only the error itself: log err, not fmt.Errorf("checkout: %w", err). [RequestIDOf] returns the id to quote
// to the supplier. [WithLogger] logs attempts, and [WithObserver] receives each call. No log or error contains a secret.
//
// # Retries and unknown outcomes
//
// Book and Cancel are refused only if the service says so in its own form, with a documented code or status. Every other
// failure is an unknown outcome, unless the request provably never left. After an unknown outcome, ask QueryOrders, and do
// not send Book again. An enveloped answer has the service's own form and a code other than 0. A code is documented if a
// variable ([ErrRateChanged]) or your [ServiceFacts] list it. A Do that is not Idempotent counts as Book.
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
// Each of these failures proves that a request never left. After the end of ctx the last two prove nothing, because net/http
// may then return any error:
//
//	what failed                     where
//	no slot                         the RateLimiter returned an error
//	no token                        the client's request for a token failed
//	a function of an option         WithRequestID or WithClientRequestTimestamp returned no header
//	an error before a connection    an http.Transport: it refuses a header, or its Proxy failed
//	an error before WroteHeaders    a RoundTripper that fires the events of net/http/httptrace
//	a dial error                    any RoundTripper
//	an error that wraps ErrNotSent  your own RoundTripper, such as a circuit breaker
//
// A call is sent at most four times ([WithMaxAttempts]). A 401 adds one attempt with a new token, and a 429 is not counted.
// Before the next attempt the client waits as long as Retry-After says, plus a random time. The random time is at most
// 250 ms, then 500 ms, and so on up to 8 s. If the wait would pass the deadline, or Retry-After is above 60 s, the call fails
// immediately. A 429 pauses its operation for all callers: for at most a minute, or at most a day if its code is 100000429.
//
// # Recovery
//
// [Client.BookAndRecover] books. After an unknown outcome it asks for the order 0, 30, 90, 210, 450 and 600 seconds later. A
// booking is absent only if the last poll succeeds and shows no order. After a refusal with an undocumented code the first
// such poll is enough. Store the [BookingRecovery] before Book is sent ([WithSaveRecovery]): then [Client.RecoverBooking]
// can continue in any process of the account. [Client.StepRecovery] makes a single poll, for job queues. Book may succeed at
// another price: with BookRequest.Expect, BookingOutcome.Changes lists the differences.
//
// # Time limits, rate limits and tokens
//
// A call ends with its ctx, or after [WithTimeout]. With neither, it ends after the time limit of its operation. The
// constants ([OpBook]) name this limit and the rate limit. The service counts requests per client IP address and operation. The
// client waits for a free slot until ctx ends. Programs behind one IP address must share a client or a [RateLimiter]; for
// several processes, use contrib/hotelstaysredis.
//
// The client fetches a token for its [TicketCredential] or [OAuthCredential]. All callers share the token. The client renews
// the token in the background before the token expires, and fetches a new token after a 401. If the service also refuses the
// new token, the client fetches the next token 2, 4, 8 and up to 60 seconds later. Until then calls fail with the 401.
// [WithTokenStore] shares tokens between processes.
package hotelstays
