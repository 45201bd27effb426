// Options of a client.

package hotelstays

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/clone"
	"github.com/hotelstays/hotelstays-go/internal/hosts"
)

// Option is an option of New, With and WithCredential.
type Option interface{ applyClient(*config) }

// SharedOption is an option of New, and of each call on which it has an effect.
type SharedOption interface {
	Option
	CallOption
}

type clientOption func(*config)

func (o clientOption) applyClient(c *config) { o(c) }

func (o callOption) applyClient(c *config) { o(&c.settings) }

// WithLanguage sets the language of texts, as a BCP 47 tag such as "en-GB". The service's default is en-US.
func WithLanguage(tag string) SharedOption { return optLanguage.text(tag) }

// WithMarket sets the point of sale, as an ISO 3166-1 alpha-2 code. If the account has a market restriction, the service
// refuses calls without it, with an undocumented status and code. Token requests do not send it.
func WithMarket(countryCode string) SharedOption { return optMarket.text(countryCode) }

// WithUserRef sets your identifier of the person for whom you make the calls. Once an account has authorised users,
// every call must name a user. Then the application's key and the user both need the scope that the call requires.
// Token requests do not send the identifier.
func WithUserRef(ref string) SharedOption { return optUserRef.text(ref) }

// WithCurrency sets the currency of rates, as an ISO 4217 code, for the operations of the booking flow ([OpBook]). Use the
// same currency for all calls of a booking, because CompareOffer reports another currency as a change.
func WithCurrency(code string) SharedOption { return optCurrency.text(code) }

// WithClientIP sends an IPv4 or IPv6 address in the header Ip. Whether the service expects the address of your server or of
// the traveller is undocumented.
func WithClientIP(addr string) SharedOption { return optClientIP.text(addr) }

// WithTestFlags sends test flags with the operations of the booking flow ([OpBook]). The service ignores unknown flags. Keys
// and values must not contain & or =, because their escaping is undocumented.
func WithTestFlags(flags map[string]string) SharedOption {
	flags = maps.Clone(flags)
	pairs := make([]string, 0, len(flags))
	problem := ""
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		if key == "" || strings.ContainsAny(key+flags[key], "&=") {
			problem = fmt.Sprintf("the flag %q is empty or contains & or =", key)
		}
		pairs = append(pairs, key+"="+flags[key])
	}
	text := strings.Join(pairs, "&")
	return optTestFlags.option(cmp.Or(problem, headerProblem(text)), func(s *settings) { s.TestFlags, s.test = flags, text })
}

// WithRequestID uses the result of the function id as the Request-Id of each attempt, instead of a UUID. The service
// accepts an id once, so the function must return a new id each time. The function must be safe for concurrent use. ctx
// is the ctx of the call, after Observer.CallStart. A client that has this option also calls id for its token
// requests. The ctx of a token request has the values of a call that needed the token.
//
// The call ends with a *TransportError if the result is empty, cannot be a header value, or repeats the previous id.
func WithRequestID(id func(ctx context.Context) string) SharedOption {
	return optRequestID.option(nilProblem(id), func(s *settings) { s.RequestID = id })
}

// WithHeader adds a header to each request to the API, also to token requests, for example for a gateway. The name
// User-Agent replaces the client's own User-Agent, hotelstays-go. A header that the client sets itself is a
// *ValidationError that says what to use instead. The download of a document sends only the User-Agent of the client.
//
// Use WithHeader once for each header. The client does not log the value. If an answer or an error of a RoundTripper
// repeats a value of eight bytes or more, the client redacts it. It redacts neither the User-Agent nor a Session-Id.
func WithHeader(name, value string) SharedOption {
	name = http.CanonicalHeaderKey(name)
	problem := cmp.Or(headerNameProblem(name), headerProblem(value))
	if problem != "" {
		problem = fmt.Sprintf("%.100q %s", name, problem)
	}
	return optHeader.option(problem, func(s *settings) {
		s.Header = maps.Clone(s.Header)
		if s.Header == nil {
			s.Header = http.Header{}
		}
		s.Header[name] = []string{value}
	})
}

const userAgent = "User-Agent"

// ownHeaders are the headers that WithHeader refuses. A value of the map names what to use instead; "" means that only
// the client sets the header.
var ownHeaders = map[string]string{
	"Accept": "", "Accept-Encoding": "", "Content-Type": "", "Content-Length": "", "Host": "",
	"Connection": "", "Keep-Alive": "", "Te": "", "Trailer": "", "Transfer-Encoding": "", "Upgrade": "",
	"Expect": "", "Proxy-Connection": "", "Http2-Settings": "",
	// With these headers net/http may send a request twice.
	"Idempotency-Key": "", "X-Idempotency-Key": "",
	// With these headers the service would read the request differently, or leave out a part of the answer.
	"Content-Encoding": "", "X-Http-Method-Override": "", "Range": "", "If-Range": "", "If-Match": "",
	"If-None-Match": "", "If-Modified-Since": "", "If-Unmodified-Since": "",
	"Cookie":                   "a Jar of WithHTTPClient",
	"Proxy-Authorization":      "the URL of the proxy in a Transport",
	"Authorization":            "a Credential",
	"Session-Id":               "the SessionID of the request",
	"Request-Id":               "WithRequestID",
	"Client-Request-Timestamp": "WithClientRequestTimestamp",
	"Timeout-Milliseconds":     "WithTimeout or a deadline of ctx",
}

func headerNameProblem(name string) string {
	const token = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"
	if name == "" || strings.Trim(name, token) != "" {
		return "is not the name of a header"
	}
	instead, own := ownHeaders[name]
	for _, o := range optionRows {
		if o.header == name {
			instead, own = o.name, true
		}
	}
	switch {
	case instead != "":
		return "is a header that the client sets; use " + instead
	case own:
		return "is a header that only the client sets"
	}
	return ""
}

// WithClientRequestTimestamp sends the time of each attempt. The function format returns this time as a Unix timestamp: you
// choose the unit, because it is undocumented. The function receives the ctx of the call, and must be safe for concurrent
// use. If its result is empty or cannot be a header value, the call ends with a *TransportError.
func WithClientRequestTimestamp(format func(ctx context.Context, sent time.Time) string) SharedOption {
	return optTimestamp.option(nilProblem(format), func(s *settings) { s.ClientRequestTimestamp = format })
}

// unusableValue reports that an option's function returned a value that no header can have.
type unusableValue struct{ option, problem string }

func (e *unusableValue) Error() string { return "the value from " + e.option + " " + e.problem }

func checkedHeader(option, value string) (string, error) {
	if problem := headerProblem(value); problem != "" {
		return "", &unusableValue{option, problem}
	}
	return value, nil
}

// WithTimeout bounds each call, with all its attempts and waits. An earlier deadline of ctx wins. Without both, the
// default of the operation applies, see [OpBook]. In a helper or an iterator, WithTimeout bounds each single call. Only
// ctx bounds all calls together.
func WithTimeout(d time.Duration) SharedOption {
	return optTimeout.option(positiveProblem(d), func(s *settings) { s.Timeout = d })
}

// WithMaxAttempts bounds how often one call is sent: between 1 and 100, 4 by default; 1 turns retries off. The attempt
// after a 401 is not counted. If n is 2 or more, attempts after a 429 are not counted either.
//
// In an outage a client makes fewer retries, because it has a quota of 500 points. A retry costs 5 points, or 10 after a
// time-out. Each answered call returns 1 point. First attempts, waits after a 429 and polls of a recovery cost nothing.
func WithMaxAttempts(n int) SharedOption {
	return optMaxAttempts.option(rangeProblem(n, 100), func(s *settings) { s.MaxAttempts = n })
}

// WithPriority sets how urgent a call is among the calls that wait for the same rate limit: a traveller's search goes before
// a catalogue sync. The default is PriorityDefault, and PriorityInteractive for the polls of a recovery. Your own
// RateLimiter may ignore it.
func WithPriority(p Priority) SharedOption {
	problem := ""
	if p < PriorityBackground || p > PriorityInteractive {
		problem = fmt.Sprintf("is %d; it must be PriorityInteractive, PriorityDefault or PriorityBackground", p)
	}
	return optPriority.option(problem, func(s *settings) { s.Priority = p })
}

// WithServiceFacts sets what you know about the service beyond its document. On a call the option replaces all facts of
// the client. Book, Cancel, QueryOrders, Do and the helpers that make these calls accept the option.
func WithServiceFacts(facts ServiceFacts) SharedOption {
	known := clone.Of(&facts)
	return optServiceFacts.option("", func(s *settings) {
		s.faults.serviceFacts(known)
		s.ServiceFacts = known
	})
}

type config struct {
	settings
	traceIDFrom  func(context.Context) string
	httpClient   *http.Client
	log          *slog.Logger
	limiter      RateLimiter
	store        TokenStore
	observers    []Observer
	maxBody      int64
	voucherHosts []string
}

func notNil(option string, value any, set clientOption) Option {
	return clientOption(func(c *config) {
		if isNil(value) {
			c.faults.add(option, "is nil")
			return
		}
		set(c)
	})
}

// WithHTTPClient sends the calls through a copy of hc, with its Transport, Jar and Timeout. Timeout bounds one attempt,
// with its wait for the rate limit. Redirects are never followed. An *http.Transport that allows TLS below 1.2 is a
// *ValidationError. A nil Transport is http.DefaultTransport, which mocks such as gock replace. http.DefaultTransport
// keeps only 2 idle connections to a host: in production start from NewTransport.
//
// A RoundTripper must send a request at most once: if it retries by itself, it can book twice. Its error is part of the
// call's error, so the error must not contain the request, whose header has the token.
//
// A RoundTripper may fire no net/http/httptrace events. Then only an error that wraps ErrNotSent, or a dial error,
// proves that a request never left. Other failures of Book and Cancel are unknown outcomes. Each request then holds its
// slot of the rate limit until it has an answer.
func WithHTTPClient(hc *http.Client) Option {
	return notNil("WithHTTPClient", hc, func(c *config) {
		if allowsOldTLS(hc.Transport) || hc.Transport == nil && allowsOldTLS(http.DefaultTransport) {
			c.faults.add("WithHTTPClient", "its transport allows TLS below 1.2; raise MinVersion in its TLSClientConfig")
		}
		c.httpClient = hc
	})
}

// WithTraceIDFrom uses the result of the function id, such as the trace id in ctx, as the Trace-Id of each call. ctx is
// the ctx of your call, before Observer.CallStart; in a helper ctx has the helper's span. The examples of
// contrib/hotelstaysotel show this option with OpenTelemetry.
//
// If the result is empty or cannot be a header value, the call has a new id, as without this option. WithTraceID of a
// call wins. The function must be safe for concurrent use.
func WithTraceIDFrom(id func(ctx context.Context) string) Option {
	return notNil("WithTraceIDFrom", id, func(c *config) { c.traceIDFrom = id })
}

// WithLogger sets the logger. Attempts are logged at level debug. Retries, token renewals and ends of recoveries are logged
// at level info. Events that need attention, such as each HTTP 429, are logged at level warn. Each line has the attribute account,
// the result of Client.Account. No secret, token or passport number is logged.
func WithLogger(l *slog.Logger) Option {
	return notNil("WithLogger", l, func(c *config) { c.log = l })
}

// WithRateLimiter replaces the rate limiter. Use one NewRateLimiter for several clients of a process. For several
// processes with one client IP address, use contrib/hotelstaysredis or your own limiter.
func WithRateLimiter(l RateLimiter) Option {
	return notNil("WithRateLimiter", l, func(c *config) { c.limiter = l })
}

// WithTokenStore shares tokens between processes. If the store is a TokenLeaser, only one process at a time fetches a token.
func WithTokenStore(s TokenStore) Option {
	return notNil("WithTokenStore", s, func(c *config) { c.store = s })
}

// WithObserver calls the functions of o at the start and at the end of every call and helper. Several observers are called
// in their order at the start, and in reverse order at the end.
func WithObserver(o Observer) Option {
	return clientOption(func(c *config) {
		if o.CallStart == nil && o.CallEnd == nil && o.HelperStart == nil && o.HelperEnd == nil {
			c.faults.add("WithObserver", "has no function")
		}
		c.observers = append(c.observers, o)
	})
}

// WithMaxResponseBytes limits the size of an answer after decompression: 64 MiB by default, at most 1 TiB. For Ticket
// and OAuthToken the limit is at most 1 MiB. A larger answer is a *DecodeError. So is an answer whose lists would take
// more memory than twice its size plus 4 MiB. In all, an answer takes less memory than eight times its size plus 16
// MiB.
func WithMaxResponseBytes(n int64) Option {
	return clientOption(func(c *config) {
		if problem := rangeProblem(n, 1<<40); problem != "" {
			c.faults.add("WithMaxResponseBytes", "%s", problem)
		}
		c.maxBody = n
	})
}

// WithVoucherHosts names private hosts that voucher documents may come from, such as "store.internal" or "10.0.0.5", without
// a port. There are no wildcards. All other hosts must have public addresses, see DownloadVoucher.
func WithVoucherHosts(names ...string) Option {
	names = slices.Clone(names)
	return clientOption(func(c *config) {
		for _, host := range names {
			if _, err := netip.ParseAddr(host); err != nil && !hosts.IsName(strings.TrimSuffix(host, ".")) {
				c.faults.add("WithVoucherHosts", "%q is neither a host name in ASCII nor an IP address; leave out the port", host)
			}
		}
		c.voucherHosts = append(c.voucherHosts, names...)
	})
}
