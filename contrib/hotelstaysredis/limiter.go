// The rate limiter: all processes together keep the service's rate limits.

package hotelstaysredis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/pacing"
)

// ErrUnavailable matches the errors of a RateLimiter that cannot reach Redis. The request was not
// sent.
var ErrUnavailable = errors.New("redis is unavailable")

// RateLimiterOptions are the settings of NewRateLimiter. All processes that share a Prefix must have
// the same settings.
type RateLimiterOptions struct {
	// Prefix begins every key in Redis; "hotelstays" if empty. The service counts requests per client IP address, so
	// processes with the same prefix must share one address. Each operation and base URL has its own slots.
	Prefix string
	// Margin is added to the service's window of one second, because the service may count a request later than its
	// answer says. 0 means 10 ms, as in the client's own limiter. If answers lack Server-Cost-Milliseconds, travel
	// times must vary by less than Margin. Otherwise the limit may be exceeded. After a 429 the limiter uses a larger
	// margin for some minutes.
	Margin time.Duration
	// Lease is how long a dead process keeps its slots, in addition to one second and Margin; 6 s if
	// 0. It must be at least three times Timeout. A live process renews its lease.
	Lease time.Duration
	// Timeout bounds one exchange with Redis; 1 s if 0. If an exchange takes longer, Redis counts
	// as unavailable.
	Timeout time.Duration
	// FallbackProcesses decides what happens while Redis is unavailable. If it is 0, Acquire returns an
	// error that wraps ErrUnavailable. Otherwise it is the number N of processes that share the rate limits:
	// each process then continues alone with one Nth of every limit.
	FallbackProcesses int
	// Weight, if set, returns how many slots an account gets in its turn, as in
	// hotelstays.RateLimiterOptions.
	Weight func(account string) int
	// Logger, if set, receives a warning at the first use if Redis may evict keys, or if the
	// limiter cannot check this.
	Logger *slog.Logger
}

const (
	window         = time.Second // the period in which the service counts requests
	defaultMargin  = 10 * time.Millisecond
	defaultLease   = 6 * time.Second
	defaultTimeout = time.Second
)

// RateLimiter is a hotelstays.RateLimiter. Redis stores the slots of each RateLimitKey, and Redis's clock decides when
// a slot is free. A slot is free one second plus Margin after its request arrived at the service. The limiter
// calculates the time of the arrival from the answer. The slot is free immediately if the request never left. Processes
// wait in one queue, and share its places equally. Priorities apply across all processes. Inside a process, accounts
// take turns, as in the limiter of hotelstays.NewRateLimiter.
//
// A RateLimiter is safe for concurrent use and needs no closing: its goroutines end when its permits are done and its
// pauses are over, or when the client is closed. While Redis is unavailable, the goroutines end after the Lease.
type RateLimiter struct {
	client   redis.UniversalClient
	opts     RateLimiterOptions
	id       string                 // random id of this process
	fallback hotelstays.RateLimiter // limiter for the time while Redis is unavailable; if it is nil, Acquire fails during that time
	pauses   hotelstays.RateLimiter // pauses of operations without a rate limit; they apply only to this process
	checked  atomic.Bool            // whether the setting maxmemory-policy was checked

	mu   sync.Mutex
	keys map[hotelstays.RateLimitKey]*keyLimiter
}

var _ hotelstays.RateLimiter = (*RateLimiter)(nil)

// NewRateLimiter returns a limiter that stores its slots in the Redis of client. It opens no
// connection. nil options mean the defaults. The error names every invalid option.
func NewRateLimiter(client redis.UniversalClient, options *RateLimiterOptions) (*RateLimiter, error) {
	var opts RateLimiterOptions
	if options != nil {
		opts = *options
	}
	problems := []error{checkClient(client), checkPrefix(opts.Prefix)}
	opts.Prefix = cmp.Or(opts.Prefix, defaultPrefix)
	for _, span := range []struct {
		name   string
		value  *time.Duration
		preset time.Duration
	}{{"Margin", &opts.Margin, defaultMargin}, {"Lease", &opts.Lease, defaultLease}, {"Timeout", &opts.Timeout, defaultTimeout}} {
		*span.value = cmp.Or(*span.value, span.preset)
		if *span.value < time.Millisecond || *span.value > time.Hour {
			problems = append(problems, fmt.Errorf("%s is %s; it must be between 1 ms and 1 h", span.name, *span.value))
		}
	}
	if opts.Lease < 3*opts.Timeout {
		problems = append(problems, fmt.Errorf("the Lease is %s; with a Timeout of %s it must be at least %s, so that a renewal can fail once",
			opts.Lease, opts.Timeout, 3*opts.Timeout))
	}
	if opts.FallbackProcesses < 0 {
		problems = append(problems, fmt.Errorf("FallbackProcesses is %d; set the number of processes, or 0: "+
			"then calls fail while Redis is unavailable", opts.FallbackProcesses))
	}
	if err := invalid("NewRateLimiter", problems...); err != nil {
		return nil, err
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	r := &RateLimiter{client: client, opts: opts, id: newID(), pauses: hotelstays.NewRateLimiter(nil),
		keys: make(map[hotelstays.RateLimitKey]*keyLimiter)}
	if opts.FallbackProcesses > 0 {
		r.fallback = hotelstays.NewRateLimiter(&hotelstays.RateLimiterOptions{Margin: opts.Margin, Processes: opts.FallbackProcesses,
			Weight: opts.Weight})
	}
	return r, nil
}

// Acquire waits for a slot that no other process uses. FallbackProcesses decides what Acquire does while Redis is
// unavailable.
func (r *RateLimiter) Acquire(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	l := r.ofKey(req.Key)
	if l == nil {
		return r.pauses.Acquire(ctx, req)
	}
	return l.acquire(ctx, req)
}

// caller returns the account, the priority and the weight of a call, which decide its place in the queue of this
// process.
func (r *RateLimiter) caller(req hotelstays.RateLimitRequest) pacing.Caller {
	c := pacing.Caller{Account: req.Account, Priority: int(req.Priority)}
	if r.opts.Weight != nil {
		c.Weight = r.opts.Weight(req.Account)
	}
	return c
}

// Pause makes the limiter grant no slot of the key before the given time. This process stops immediately. Other
// processes stop when Redis has stored the pause. An operation without a rate limit is paused only in this process.
func (r *RateLimiter) Pause(key hotelstays.RateLimitKey, until time.Time) {
	if l := r.ofKey(key); l != nil {
		l.pause(until)
	} else {
		r.pauses.Pause(key, until)
	}
}

// ofKey returns the limiter of a key, or nil if its operation has no rate limit.
func (r *RateLimiter) ofKey(key hotelstays.RateLimitKey) *keyLimiter {
	limit := key.Operation.RateLimit()
	if limit == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.keys[key]
	if l == nil {
		l = newKeyLimiter(r, key, limit)
		r.keys[key] = l
	}
	return l
}

// checkEviction logs a warning if Redis may evict keys under its maxmemory-policy. It reads the policy with INFO,
// because managed servers forbid CONFIG.
func (r *RateLimiter) checkEviction() {
	ctx, cancel := context.WithTimeout(context.Background(), r.opts.Timeout)
	defer cancel()
	info, err := within(ctx, func(ctx context.Context) (string, error) { return r.client.Info(ctx, "memory").Result() })
	_, policy, found := strings.Cut(info, "maxmemory_policy:")
	policy, _, _ = strings.Cut(policy, "\r")
	if err == nil && !found {
		err = errors.New("the reply to INFO memory contains no maxmemory_policy")
	}
	switch {
	case err != nil:
		r.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "cannot check the maxmemory-policy of Redis; it must be noeviction",
			slog.String("error", err.Error()))
	case policy != "noeviction":
		r.opts.Logger.LogAttrs(ctx, slog.LevelWarn,
			"Redis may evict keys, which stops an operation for seconds; set maxmemory-policy to noeviction",
			slog.String("maxmemory-policy", policy))
	}
}
