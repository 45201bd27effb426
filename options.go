// Options: settings of a client, of one call, or of both.

package hotelstays

import (
	"context"
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

// CallOption is a setting of one call. It wins over the client's. Every method and helper
// that sends something takes it; what only some of them take has a type of its own.
type CallOption interface {
	IterOption
	WaitOption
	VoucherOption
	applyCall(*settings)
}

// SharedOption is a setting that a client and a single call both take.
type SharedOption interface {
	Option
	CallOption
}

// BatchOption is a setting of HotelListBatches.
type BatchOption interface{ applyBatch(*batchSettings) }

// IterOption is a setting of WalkDestinations, HotelsMetadataAll and HotelListBatches.
type IterOption interface {
	BatchOption
	applyIter(*iterSettings)
}

// RecoverOption is a setting of BookAndRecover and RecoverBooking.
type RecoverOption interface{ applyRecover(*recoverSettings) }

// WaitOption is a setting of AwaitOrder, AwaitVoucher, BookAndRecover and RecoverBooking.
type WaitOption interface {
	RecoverOption
	applyWait(*waitSettings)
}

// VoucherOption is a setting of SaveVoucher and DownloadVoucher.
type VoucherOption interface{ applyVoucher(*voucherSettings) }

// JoinCallOptions makes one option of several, for helpers that take another kind as well.
func JoinCallOptions(opts ...CallOption) CallOption {
	opts = slices.Clone(opts)
	return callOption(func(s *settings) { applyAll(opts, s, CallOption.applyCall) })
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

// settings are those of a call, or of a client for all its calls.
type settings struct {
	headers [headerCount]string
	timeout time.Duration
	rawData bool
	states  *OrderStates // for AwaitOrder and CancelAndRead
	validation
}

type iterSettings struct {
	settings
	parallelism int
}

type batchSettings struct {
	iterSettings
	size int
}

type waitSettings struct {
	settings
	wakeup <-chan struct{}
}

type recoverSettings struct {
	waitSettings
	save func(context.Context, *BookingRecovery) error
}

type voucherSettings struct {
	settings
	allowUnsigned bool
	maxBytes      int64
}

// applyAll applies opts to the settings of their kind.
func applyAll[O any, S interface{ problems() *faults }](opts []O, into S, apply func(O, S)) {
	for _, opt := range opts {
		if any(opt) == nil {
			into.problems().add("opts", "holds a nil option")
			continue
		}
		apply(opt, into)
	}
}

func (s *settings) problems() *faults { return &s.faults }

func collect(opts []CallOption) (set settings) {
	applyAll(opts, &set, CallOption.applyCall)
	return set
}

// option is s as an option of the calls that a helper makes.
func (s settings) option() CallOption {
	return callOption(func(into *settings) { *into = s })
}

// forOperation returns s without the headers that op does not take.
func (s settings) forOperation(op Operation) settings {
	for h := range s.headers {
		if !headerRules[h].sentOn(operations[op]) {
			s.headers[h] = ""
		}
	}
	return s
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

// misplaced adds a fault for each header of one call that op does not take. Headers of a
// client are left out in silence there.
func (s *settings) misplaced(name Operation, op *operation) {
	for h, value := range s.headers {
		if rule := headerRules[h]; value != "" && !rule.sentOn(op) {
			s.faults.add(rule.option, "%s does not take the header %s", name, rule.name)
		}
	}
}

type clientOption func(*config)

func (o clientOption) applyClient(c *config) { o(c) }

type callOption func(*settings)

func (o callOption) applyCall(s *settings)           { o(s) }
func (o callOption) applyIter(s *iterSettings)       { o(&s.settings) }
func (o callOption) applyBatch(s *batchSettings)     { o(&s.settings) }
func (o callOption) applyWait(s *waitSettings)       { o(&s.settings) }
func (o callOption) applyRecover(s *recoverSettings) { o(&s.settings) }
func (o callOption) applyVoucher(s *voucherSettings) { o(&s.settings) }

type sharedOption struct{ callOption }

func (o sharedOption) applyClient(c *config) { o.callOption(&c.settings) }

type iterOption func(*iterSettings)

func (o iterOption) applyIter(s *iterSettings)   { o(s) }
func (o iterOption) applyBatch(s *batchSettings) { o(&s.iterSettings) }

type batchOption func(*batchSettings)

func (o batchOption) applyBatch(s *batchSettings) { o(s) }

type waitOption func(*waitSettings)

func (o waitOption) applyWait(s *waitSettings)       { o(s) }
func (o waitOption) applyRecover(s *recoverSettings) { o(&s.waitSettings) }

type recoverOption func(*recoverSettings)

func (o recoverOption) applyRecover(s *recoverSettings) { o(s) }

type voucherOption func(*voucherSettings)

func (o voucherOption) applyVoucher(s *voucherSettings) { o(s) }

func withHeader(h header, value string) callOption {
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

func sharedHeader(h header, value string) SharedOption { return sharedOption{withHeader(h, value)} }

// WithLanguage asks for texts in a language, named by a BCP 47 tag: "ar", "en-GB". The
// service's default is en-US.
func WithLanguage(tag string) SharedOption { return sharedHeader(headerLanguage, tag) }

// WithMarket names the point of sale, as an ISO 3166-1 alpha-2 code. An account with a
// market restriction refuses calls without it, with an undocumented status and code. It is
// not sent when a token is fetched.
func WithMarket(countryCode string) SharedOption { return sharedHeader(headerMarket, countryCode) }

// WithUserRef names the person on whose behalf the calls are made, by an identifier of
// yours. Once an account authorises named users, every call must carry one, and needs both
// the key's scopes and that user's. It is not sent when a token is fetched.
func WithUserRef(ref string) SharedOption { return sharedHeader(headerUserRef, ref) }

// WithCurrency asks for rates in a currency, as an ISO 4217 code. HotelList, HotelRates,
// CheckAvail, Book and Cancel take it: give it to New, or to each of them alike, because
// CompareOffer treats an offer in another currency as another offer.
func WithCurrency(code string) SharedOption { return sharedHeader(headerCurrency, code) }

// WithClientIP names the end user's address, IPv4 or IPv6.
func WithClientIP(addr string) SharedOption { return sharedHeader(headerClientIP, addr) }

// WithTestFlags sends test flags on HotelList, HotelRates, CheckAvail, Book and Cancel.
// The service ignores flags that it does not know. Keys and values must hold neither & nor
// =, because how to escape them is undocumented.
func WithTestFlags(flags map[string]string) SharedOption {
	pairs := make([]string, 0, len(flags))
	problem := ""
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		if key == "" || strings.ContainsAny(key+flags[key], "&=") {
			problem = fmt.Sprintf("the flag %q is empty or holds & or =", key)
		}
		pairs = append(pairs, key+"="+flags[key])
	}
	return sharedOption{func(s *settings) {
		if problem != "" {
			s.faults.add("WithTestFlags", "%s", problem)
			return
		}
		withHeader(headerTest, strings.Join(pairs, "&"))(s)
	}}
}

// WithTimeout bounds each call, with all its attempts and waits. A ctx that ends earlier
// still wins. Without it, a call whose ctx has no deadline is bounded by its operation's
// default, which the package documentation lists.
//
// Helpers and iterators, such as AwaitOrder and BookAndRecover, make several calls:
// WithTimeout bounds each of them, and only the ctx bounds the whole.
func WithTimeout(d time.Duration) SharedOption {
	return sharedOption{func(s *settings) {
		if d <= 0 {
			s.faults.add("WithTimeout", "is %s; it must be positive", d)
			return
		}
		s.timeout = d
	}}
}

// WithTraceID sets the identifier that correlates a group of requests. Without it every
// call has a new one, which all its attempts share.
func WithTraceID(id string) CallOption { return withHeader(headerTraceID, id) }

// WithClientRequestTimestamp sends the time at which the client began, as a Unix timestamp
// that you format: its unit is undocumented.
func WithClientRequestTimestamp(unix string) CallOption { return withHeader(headerTimestamp, unix) }

// WithRawData keeps the JSON of the answer's data in ResponseMeta.RawData, for fields that
// the types do not have. Tokens are masked in it.
func WithRawData() CallOption { return callOption(func(s *settings) { s.rawData = true }) }

// WithParallelism sets how many calls an iterator has under way at once, between 1 and
// 1,024. The default is 8 for HotelListBatches, and 1 for WalkDestinations and
// HotelsMetadataAll.
//
// The rate limit holds in any case. To use all of it takes as many calls as may leave while
// one answer is on its way: 20, at 100 a second and 200 ms. More only wait in line, within
// the timeout of their call.
func WithParallelism(n int) IterOption {
	return iterOption(func(s *iterSettings) {
		if n < 1 || n > 1024 {
			s.faults.add("WithParallelism", "is %d; it must lie between 1 and 1024", n)
			return
		}
		s.parallelism = n
	})
}

// WithWakeup makes a helper that waits ask at once whenever wakeup delivers: feed it from a
// webhook. Give each wait its own channel, with room for one: a wake-up that comes during a
// poll is then not lost, and no sender waits. A closed channel is not a wake-up.
func WithWakeup(wakeup <-chan struct{}) WaitOption {
	return waitOption(func(s *waitSettings) {
		if wakeup == nil {
			s.faults.add("WithWakeup", "is nil")
			return
		}
		s.wakeup = wakeup
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
// A RoundTripper must send a request once at most: one that tries again by itself can book
// twice. One that reports no net/http/httptrace events cannot prove that a request never
// left: more outcomes of Book and Cancel are then unknown, and each request holds its slot
// of the rate limit until it has an answer.
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

// WithLogger logs to l: attempts (debug), retries, renewals and ends of recoveries (info),
// and what needs a look (warn), such as each HTTP 429 with its code. No secret, token or
// passport number is ever logged.
func WithLogger(l *slog.Logger) Option {
	return notNil("WithLogger", l, func(c *config) { c.log = l })
}

// WithRateLimiter replaces the rate limits of this client, for a fleet of processes
// that share one address.
func WithRateLimiter(l RateLimiter) Option {
	return notNil("WithRateLimiter", l, func(c *config) { c.limiter = l })
}

// WithRateLimitMargin sets the margin that is added to the service's second: between 0 and
// 1 minute, 10 ms by default. A request keeps its slot for that long after it arrived, or
// left, where nothing more is known. Where answers prove a longer way, the client waits
// longer by itself. Raise it where 429s still come, for instance because answers lack the
// Server-Cost-Milliseconds header and the way varies by more; 100 ms cost a tenth of the
// limit. Your own limiter has its own margin.
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
