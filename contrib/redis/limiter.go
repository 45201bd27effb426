// The rate limiter: the ceilings of the service, kept by a fleet together.

package hotelstaysredis

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// ErrAway is wrapped by the errors of a RateLimiter whose Redis cannot be asked.
// Nothing was sent.
var ErrAway = errors.New("redis is away")

// RateLimiterOptions are the settings of NewRateLimiter, the same for all processes
// that share a Prefix.
type RateLimiterOptions struct {
	// Prefix begins every key in Redis; "hotelstays" if empty. The service counts by
	// client address: processes with the same prefix must share one, and one
	// environment of the service.
	Prefix string
	// Margin is added to the service's second: what the service counts may come so much
	// later than its answer says. Where answers prove nothing, the limit holds as long as
	// the time that requests take to arrive varies by less, until a 429 shows that it does
	// not. 10 ms if 0, as in a client of its own.
	Margin time.Duration
	// Lease is how long the slot of a process that died stays taken, and a window
	// more; 6 s if 0, and at least three times Timeout. A process that lives renews it.
	Lease time.Duration
	// Timeout bounds one exchange with Redis; 1 s if 0. Then Redis counts as away.
	Timeout time.Duration
	// ShareAmong chooses what happens while Redis is away. With 0, Acquire returns an
	// error that wraps ErrAway. With the number of processes that share the ceilings,
	// each goes on by itself with an equal share of them.
	ShareAmong int
	// Log, if set, receives a warning at the first use if Redis may evict keys, or if
	// that cannot be checked.
	Log *slog.Logger
}

const (
	window         = time.Second // the service's
	defaultMargin  = 10 * time.Millisecond
	defaultLease   = 6 * time.Second
	defaultTimeout = time.Second
)

// RateLimiter is a hotelstays.RateLimiter. The slots of an operation lie in Redis,
// whose clock alone decides: a slot comes back one window after its request arrived, as far
// as its answer proves when, and at once when none left. Processes stand in one
// line, in which each has its part of the places; inside a process, who comes first
// is served first. A RateLimiter is safe for concurrent use. It needs no closing: its
// goroutines end once its permits have been given back and its pauses are over, or
// the client is closed; where Redis cannot be told, after the Lease.
type RateLimiter struct {
	client redis.UniversalClient
	opts   RateLimiterOptions
	me     string

	checked sync.Once

	mu    sync.Mutex
	lines map[hotelstays.Operation]*line
}

var _ hotelstays.RateLimiter = (*RateLimiter)(nil)

// NewRateLimiter returns a limiter with its slots in the Redis that client reaches.
// It connects to nothing. Its error names every option that cannot work.
func NewRateLimiter(client redis.UniversalClient, opts RateLimiterOptions) (*RateLimiter, error) {
	var f faults
	f.client(client)
	opts.Prefix = f.prefix(opts.Prefix)
	for _, span := range []struct {
		name  string
		value *time.Duration
		usual time.Duration
	}{{"Margin", &opts.Margin, defaultMargin}, {"Lease", &opts.Lease, defaultLease}, {"Timeout", &opts.Timeout, defaultTimeout}} {
		switch {
		case *span.value == 0:
			*span.value = span.usual
		case *span.value < time.Millisecond || *span.value > time.Hour:
			f.add("%s is %s; it must lie between 1 ms and 1 h", span.name, *span.value)
		}
	}
	if opts.Lease < 3*opts.Timeout {
		f.add("Lease is %s; with a Timeout of %s it must be at least %s, so that a renewal can fail and be tried again", opts.Lease, opts.Timeout, 3*opts.Timeout)
	}
	if opts.ShareAmong < 0 {
		f.add("ShareAmong is %d; it is a number of processes, or 0 to refuse", opts.ShareAmong)
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if err := f.err("NewRateLimiter"); err != nil {
		return nil, err
	}
	return &RateLimiter{client: client, opts: opts, me: newName(), lines: make(map[hotelstays.Operation]*line)}, nil
}

// Acquire waits for a slot of op that no process of the fleet uses. While Redis is
// away it does as ShareAmong says.
func (r *RateLimiter) Acquire(ctx context.Context, op hotelstays.Operation) (hotelstays.Permit, error) {
	l := r.line(op)
	if l == nil {
		return nil, ctx.Err()
	}
	return l.acquire(ctx)
}

// Pause keeps op from being granted until a time: in this process at once, and in
// the others as soon as Redis has heard of it.
func (r *RateLimiter) Pause(op hotelstays.Operation, until time.Time) {
	if l := r.line(op); l != nil {
		l.pause(until)
	}
}

// line returns the line of an operation, or nil where there is no ceiling.
func (r *RateLimiter) line(op hotelstays.Operation) *line {
	limit := op.RateLimit()
	if limit == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lines[op]
	if l == nil {
		l = newLine(r, op, limit)
		r.lines[op] = l
	}
	return l
}

// checkEviction logs what is wrong with maxmemory-policy. INFO shows it on managed servers,
// too, where CONFIG is forbidden.
func (r *RateLimiter) checkEviction() {
	ctx, cancel := context.WithTimeout(context.Background(), r.opts.Timeout)
	defer cancel()
	info, err := within(ctx, func(ctx context.Context) (string, error) { return r.client.Info(ctx, "memory").Result() })
	_, policy, found := strings.Cut(info, "maxmemory_policy:")
	policy, _, _ = strings.Cut(policy, "\r")
	if err == nil && !found {
		err = errors.New("INFO memory does not show it")
	}
	switch {
	case err != nil:
		r.opts.Log.LogAttrs(ctx, slog.LevelWarn, "maxmemory-policy of Redis could not be checked; it must be noeviction", slog.String("error", err.Error()))
	case policy != "noeviction":
		r.opts.Log.LogAttrs(ctx, slog.LevelWarn, "Redis may evict keys, and an operation whose keys are gone rests; set maxmemory-policy to noeviction", slog.String("maxmemory-policy", policy))
	}
}
