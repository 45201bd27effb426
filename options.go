// Options of a client.

package hotelstays

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Option is a setting of New.
type Option interface{ applyClient(*config) }

// SharedOption is a setting that a client and a single call both take.
type SharedOption interface {
	Option
	CallOption
}

type clientOption func(*config)

func (o clientOption) applyClient(c *config) { o(c) }

type sharedOption struct{ callOption }

func (o sharedOption) applyClient(c *config) { o.callOption(&c.settings) }

func sharedHeader(h optionHeader, value string) SharedOption {
	return sharedOption{withHeader(h, value)}
}

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

// WithOrderStates gives AwaitOrder and CancelAndRead the meaning of the numbers of order
// states. Without it a status other than 0 and 1 only means that the status changed.
func WithOrderStates(states OrderStates) SharedOption {
	return sharedOption{func(s *settings) {
		all := slices.Concat(states.Confirmed, states.Pending, states.Cancelled)
		slices.Sort(all)
		switch {
		case len(all) == 0:
			s.faults.add("WithOrderStates", "names no status")
		case len(slices.Compact(slices.Clone(all))) != len(all):
			s.faults.add("WithOrderStates", "names a status twice")
		default:
			s.states = &states
		}
	}}
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
