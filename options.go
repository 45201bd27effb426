// Options: settings of a client, of one call, or of both.

package hotelstays

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Option is a setting of New.
type Option interface{ applyClient(*config) }

// CallOption is a setting of one call. It wins over the client's.
type CallOption interface{ applyCall(*settings) }

// SharedOption is a setting that a client and a single call both take.
type SharedOption interface {
	Option
	CallOption
}

// header names the optional request headers that callers set.
type header int

const (
	headerLanguage header = iota
	headerMarket
	headerUserRef
	headerClientIP
	headerCurrency
	headerTest
	headerTraceID
	headerTimestamp
	headerCount
)

// headerRule says where a header is sent and what it may hold.
type headerRule struct {
	name   string // in net/http's canonical form
	option string
	sentOn func(*operation) bool
	check  func(value string) string // what is wrong with it, or ""
}

func everywhere(*operation) bool     { return true }
func withToken(op *operation) bool   { return !op.noAuth }
func inTheFlow(op *operation) bool   { return op.bookingFlow }
func printable(string) (none string) { return "" }

var headerRules = [headerCount]headerRule{
	headerLanguage:  {"Language", "WithLanguage", everywhere, checkLanguage},
	headerMarket:    {"Market", "WithMarket", withToken, checkMarket},
	headerUserRef:   {"User-Ref", "WithUserRef", withToken, printable},
	headerClientIP:  {"Ip", "WithClientIP", everywhere, checkIP},
	headerCurrency:  {"Currency", "WithCurrency", inTheFlow, checkCurrency},
	headerTest:      {"Test", "WithTestFlags", inTheFlow, printable},
	headerTraceID:   {"Trace-Id", "WithTraceID", everywhere, printable},
	headerTimestamp: {"Client-Request-Timestamp", "WithClientRequestTimestamp", everywhere, printable},
}

// settings are what a client sets for all calls and a call for itself.
type settings struct {
	headers [headerCount]string
	timeout time.Duration
	rawData bool
	// For HotelListBatches alone.
	batchSize int
	// For the iterators that can have several calls under way.
	parallelism int
	// For the helpers that wait.
	states *OrderStates
	wakeup <-chan struct{}

	validation
}

// collect applies the options of one call.
func collect(opts []CallOption) settings {
	var set settings
	for _, opt := range opts {
		if opt == nil {
			set.faults.add("opts", "holds a nil option")
			continue
		}
		opt.applyCall(&set)
	}
	return set
}

// over returns s on top of the client's settings.
func (s settings) over(base *settings) settings {
	for h, value := range s.headers {
		if value == "" {
			s.headers[h] = base.headers[h]
		}
	}
	if s.timeout == 0 {
		s.timeout = base.timeout
	}
	if s.states == nil {
		s.states = base.states
	}
	return s
}

// plainCall returns opts without what only the helpers take, and with more, for
// the calls that a helper makes.
func plainCall(opts []CallOption, more ...callOption) []CallOption {
	plain := append(slices.Clone(opts), callOption(func(s *settings) { s.batchSize, s.parallelism, s.wakeup = 0, 0, nil }))
	for _, opt := range more {
		plain = append(plain, opt)
	}
	return plain
}

// takeParallelism returns what WithParallelism says, 1 without it, and opts
// without it, for the calls that an iterator makes.
func takeParallelism(opts []CallOption) (int, []CallOption) {
	given := collect(opts).parallelism
	return max(1, given), append(slices.Clone(opts), callOption(func(s *settings) { s.parallelism = 0 }))
}

// forQueryOrders keeps what a call of QueryOrders takes of another operation's
// settings.
func (s settings) forQueryOrders() CallOption {
	for h := range s.headers {
		if !headerRules[h].sentOn(operations[OpQueryOrders]) {
			s.headers[h] = ""
		}
	}
	return callOption(func(into *settings) { *into = s })
}

// misplaced adds a fault for each setting that op does not take. It is meant for
// the settings of one call: headers set on a client are left out in silence.
func (s *settings) misplaced(name Operation, op *operation) {
	for h, value := range s.headers {
		if rule := headerRules[h]; value != "" && !rule.sentOn(op) {
			s.faults.add(rule.option, "%s does not take the header %s", name, rule.name)
		}
	}
	if s.batchSize != 0 {
		s.faults.add("WithBatchSize", "is for HotelListBatches alone")
	}
	if s.parallelism != 0 {
		s.faults.add("WithParallelism", "is for HotelListBatches, WalkDestinations and HotelsMetadataAll alone")
	}
	if s.wakeup != nil {
		s.faults.add("WithWakeup", "is for the helpers that wait alone")
	}
}

type sharedOption func(*settings)

func (o sharedOption) applyClient(c *config) { o(&c.settings) }
func (o sharedOption) applyCall(s *settings) { o(s) }

type clientOption func(*config)

func (o clientOption) applyClient(c *config) { o(c) }

type callOption func(*settings)

func (o callOption) applyCall(s *settings) { o(s) }

func withHeader(h header, value string) sharedOption {
	return func(s *settings) {
		rule := headerRules[h]
		switch problem := rule.check(value); {
		case strings.TrimSpace(value) == "":
			s.faults.add(rule.option, "is empty; leave the option out instead")
		case !isHeaderValue(value):
			s.faults.add(rule.option, "holds characters that a header cannot carry")
		case problem != "":
			s.faults.add(rule.option, "%s", problem)
		default:
			s.headers[h] = value
		}
	}
}

// WithLanguage asks for texts in a language, named by a BCP 47 tag: "ar",
// "en-GB". The service's default is en-US.
func WithLanguage(tag string) SharedOption { return withHeader(headerLanguage, tag) }

// WithMarket names the point of sale, as an ISO 3166-1 alpha-2 code. An account
// with a market restriction refuses calls without it; by which status and code is
// undocumented. It is not sent when a token is fetched.
func WithMarket(countryCode string) SharedOption { return withHeader(headerMarket, countryCode) }

// WithUserRef names the person on whose behalf the calls are made, in the
// caller's own terms. Once named users are authorised on an account, every call
// must carry one, and needs both the key's scopes and that user's. It is not sent
// when a token is fetched.
func WithUserRef(ref string) SharedOption { return withHeader(headerUserRef, ref) }

// WithCurrency asks for rates in a currency, as an ISO 4217 code. HotelList,
// HotelRates, CheckAvail, Book and Cancel take it: give it to New, or to each of them
// alike, for an offer in another currency is another offer to CompareOffer.
func WithCurrency(code string) SharedOption { return withHeader(headerCurrency, code) }

// WithClientIP names the end user's address, IPv4 or IPv6.
func WithClientIP(addr string) SharedOption { return withHeader(headerClientIP, addr) }

// WithTestFlags sends test flags on HotelList, HotelRates, CheckAvail, Book and
// Cancel. The service ignores flags that it does not know. A key or value may
// hold neither & nor =, for how they would be escaped is not shown.
func WithTestFlags(flags map[string]string) SharedOption {
	pairs := make([]string, 0, len(flags))
	problem := ""
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		if key == "" || strings.ContainsAny(key+flags[key], "&=") {
			problem = fmt.Sprintf("the flag %q is empty or holds & or =", key)
		}
		pairs = append(pairs, key+"="+flags[key])
	}
	return sharedOption(func(s *settings) {
		if problem != "" {
			s.faults.add("WithTestFlags", "%s", problem)
			return
		}
		withHeader(headerTest, strings.Join(pairs, "&"))(s)
	})
}

// WithTimeout bounds each call, with all its attempts and waits. A ctx that ends
// earlier still wins. Without it, a call whose ctx has no deadline is bounded by
// its operation's default, as the package documentation lists them.
//
// Helpers and iterators, such as AwaitOrder and BookAndRecover, make several calls:
// WithTimeout bounds each of them, and only the ctx bounds the whole.
func WithTimeout(d time.Duration) SharedOption {
	return sharedOption(func(s *settings) {
		if d <= 0 {
			s.faults.add("WithTimeout", "is %s; it must be positive", d)
			return
		}
		s.timeout = d
	})
}

// WithTraceID sets the identifier that correlates a group of requests. Without
// it every call makes up its own, which all attempts of the call share.
func WithTraceID(id string) CallOption { return callOption(withHeader(headerTraceID, id)) }

// WithClientRequestTimestamp sends the time at which the client began, as a Unix
// timestamp in the caller's own format, for the document does not show its unit.
func WithClientRequestTimestamp(unix string) CallOption {
	return callOption(withHeader(headerTimestamp, unix))
}

// WithRawData keeps the JSON of the answer's data in ResponseMeta.RawData, for
// fields that the types do not have. Tokens are masked in it.
func WithRawData() CallOption { return callOption(func(s *settings) { s.rawData = true }) }

// WithParallelism sets how many calls an iterator has under way at once, between 1
// and 1,024. Without it HotelListBatches has 8, and WalkDestinations and
// HotelsMetadataAll make one call after the other.
//
// The ceiling holds whatever it is. To use all of the ceiling it takes as many as
// may leave while one answer is on its way: 20, at 100 a second and 200 ms. More
// of them only wait in line, within the timeout of their call.
func WithParallelism(n int) CallOption {
	return callOption(func(s *settings) {
		if n < 1 || n > 1024 {
			s.faults.add("WithParallelism", "is %d; it must lie between 1 and 1024", n)
			return
		}
		s.parallelism = n
	})
}

// config is what New collects.
type config struct {
	settings
	httpClient  *http.Client
	log         *slog.Logger
	limiter     RateLimiter
	limitMargin time.Duration
	store       TokenStore
	observers   []Observer
	maxAttempts int
	maxBody     int64
	userAgent   string
}

// notNil is an option whose value is refused when it is nil.
func notNil(option string, value any, set clientOption) Option {
	return clientOption(func(c *config) {
		if isNil(value) {
			c.faults.add(option, "is nil")
			return
		}
		set(c)
	})
}

const minTLS = tls.VersionTLS12

// WithHTTPClient sends the calls through a copy of hc: its Transport (for
// tracing, proxies, certificates), Jar and Timeout (of one attempt) are used, its
// CheckRedirect is not, because redirects are never followed. An *http.Transport that
// allows TLS below 1.2 is a *ValidationError. As in net/http, a nil Transport is
// http.DefaultTransport, which mocks such as gock and httpmock replace, and which keeps
// only 2 idle connections to a host: for production start from NewTransport, which is
// also what a client without this option sends through.
//
// A RoundTripper must send a request once at most: one that tries again by itself
// can book twice. One that reports no net/http/httptrace events cannot prove that
// a request never left: more outcomes of Book and Cancel are then unknown, and each
// request holds its slot of the ceiling until it has an answer.
func WithHTTPClient(hc *http.Client) Option {
	return notNil("WithHTTPClient", hc, func(c *config) {
		if t, ok := hc.Transport.(*http.Transport); ok && t.TLSClientConfig != nil {
			if v := t.TLSClientConfig.MinVersion; v != 0 && v < minTLS {
				c.faults.add("WithHTTPClient", "its transport allows TLS below 1.2")
			}
		}
		c.httpClient = hc
	})
}

// WithLogger logs attempts (debug), retries and renewals (info) and what needs
// a look (warn), such as each HTTP 429 with its code, to l. Nothing is logged without
// it. No secret, token or passport number is ever logged.
func WithLogger(l *slog.Logger) Option {
	return notNil("WithLogger", l, func(c *config) { c.log = l })
}

// WithRateLimiter replaces the rate limits of this client, for a fleet of processes
// that share one address.
func WithRateLimiter(l RateLimiter) Option {
	return notNil("WithRateLimiter", l, func(c *config) { c.limiter = l })
}

// WithRateLimitMargin sets the margin that is added to the service's second: between
// 0 and 1 minute, 10 ms by default. A request keeps its slot for that long after it
// arrived, or left, where nothing more is known. Where answers prove that requests take
// longer to arrive, the client waits longer by itself. Set it where 429s come all the
// same, for instance because answers lack the Server-Cost-Milliseconds header and the
// way to the service varies by more; 100 ms cost a tenth of the limit. A limiter of your
// own has its own margin.
func WithRateLimitMargin(d time.Duration) Option {
	return clientOption(func(c *config) {
		if d < 0 || d > time.Minute {
			c.faults.add("WithRateLimitMargin", "is %s; it must lie between 0 and 1 minute", d)
			return
		}
		c.limitMargin = d
	})
}

// WithTokenStore shares tokens with other processes. If s is a TokenLeaser, only one
// of them at a time fetches a token.
func WithTokenStore(s TokenStore) Option {
	return notNil("WithTokenStore", s, func(c *config) { c.store = s })
}

// WithObserver calls o at the start and at the end of every call. Given several times,
// all observers are called: at the start in their order, at the end in reverse.
func WithObserver(o Observer) Option {
	return clientOption(func(c *config) {
		if o.CallStart == nil && o.CallEnd == nil {
			c.faults.add("WithObserver", "has neither CallStart nor CallEnd")
		}
		c.observers = append(c.observers, o)
	})
}

// WithMaxAttempts bounds how often one call is sent: between 1 and 100, 4 by default;
// 1 turns retries off. The attempt with a fresh token after a 401 comes on top.
func WithMaxAttempts(n int) Option {
	return clientOption(func(c *config) {
		if n < 1 || n > 100 {
			c.faults.add("WithMaxAttempts", "is %d; it must lie between 1 and 100", n)
			return
		}
		c.maxAttempts = n
	})
}

// WithMaxResponseBytes bounds an answer, counted after decompression: 64 MiB by
// default, 1 TiB at most. A larger answer is a *DecodeError, and so is one whose lists
// would take more memory than twice its size and 4 MiB. With its text and its own bytes
// an answer takes less than eight times its size and 16 MiB.
func WithMaxResponseBytes(n int64) Option {
	return clientOption(func(c *config) {
		if n < 1 || n > 1<<40 {
			c.faults.add("WithMaxResponseBytes", "is %d; it must lie between 1 and 1<<40", n)
			return
		}
		c.maxBody = n
	})
}

// WithUserAgent replaces the User-Agent header, which is hotelstays-go by default.
func WithUserAgent(ua string) Option {
	return clientOption(func(c *config) {
		if strings.TrimSpace(ua) == "" || !isHeaderValue(ua) {
			c.faults.add("WithUserAgent", "is empty or holds characters that a header cannot carry")
			return
		}
		c.userAgent = ua
	})
}

var bcp47 = regexp.MustCompile(`^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$`)

func checkLanguage(tag string) string {
	if !bcp47.MatchString(tag) {
		return fmt.Sprintf("%q is not a language tag such as en or en-US", tag)
	}
	return ""
}

func checkMarket(code string) string {
	if !isCode(code, 2) {
		return fmt.Sprintf("%q is not an ISO 3166-1 alpha-2 code such as AE", code)
	}
	return ""
}

func checkCurrency(code string) string {
	if !isCode(code, 3) {
		return fmt.Sprintf("%q is not an ISO 4217 code such as EUR", code)
	}
	return ""
}

func checkIP(addr string) string {
	if ip, err := netip.ParseAddr(addr); err != nil || ip.Zone() != "" {
		return fmt.Sprintf("%q is not an IPv4 or IPv6 address", addr)
	}
	return ""
}
