// The limiter of one key. Callers of this process wait in a queue. A turn is one call of Redis, which gets slots for
// these callers.

package hotelstaysredis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/pacing"
)

const (
	retryPause = window / 2
	// renewPause is how often the process renews the leases of its pending permits, and reports requests that have no
	// answer yet.
	renewPause = window / 2
)

// keyLimiter distributes the slots of one rate limit among the callers of this process. A turn is one call of turn.lua,
// which reports sent requests and gets slots. The method schedule starts the next turn, begin collects its input,
// exchange calls Redis, and apply or turnFailed handles the result. Callers never call Redis themselves, because Sent
// and Done must not block: they are called while a request is written.
type keyLimiter struct {
	limiter *RateLimiter
	key     hotelstays.RateLimitKey
	name    string // name of this rate limit in Redis
	limit   int
	keys    []string // names of the Redis keys that turn.lua uses

	mu        sync.Mutex  // guards all fields below
	timer     *time.Timer // starts the next turn
	taking    bool        // whether a turn is in progress
	turns     int64
	roundTrip time.Duration // duration of the last turn that got a reply
	waiters   pacing.Queue[chan grant]
	place     place
	paused    time.Time // end of the pause: before this time, no caller gets a slot
	outage    outage
	fallen    int // number of callers that wait for a slot of the fallback
	slots
}

type grant struct {
	permit hotelstays.Permit
	err    error
}

// place holds the tickets that Redis has given to this process. A ticket is one place in the queue of all processes.
type place struct {
	tickets    int
	maxTickets int       // maximum number of tickets that this process may have
	servedAt   time.Time // time at which Redis can grant a slot for the first ticket
}

// outage describes a failure of Redis. It is zero while Redis is available.
type outage struct {
	err     error
	over    context.Context // ends when Redis is available again
	end     context.CancelFunc
	retryAt time.Time
	// giveUpAt is the time at which the retries end if no caller waits. All leases in Redis have ended by then.
	giveUpAt time.Time
}

func newKeyLimiter(r *RateLimiter, key hotelstays.RateLimitKey, limit int) *keyLimiter {
	hash := sha256.Sum256([]byte(key.BaseURL)) // a hash, because the keys in Redis and its dumps must not contain the URL
	name := string(key.Operation) + ":" + hex.EncodeToString(hash[:8])
	l := &keyLimiter{limiter: r, key: key, name: name, limit: limit, place: place{maxTickets: limit},
		slots: slots{pending: make(map[int64]*permit), transit: pacing.Transit{Window: window, Margin: r.opts.Margin}}}
	for _, part := range []string{"memory", "slots:" + name, "alive:" + name, "turn:" + name + ":" + r.id,
		"line:1:" + name, "line:0:" + name, "line:-1:" + name} {
		l.keys = append(l.keys, r.opts.Prefix+":{ratelimit}:"+part)
	}
	l.timer = time.AfterFunc(time.Hour, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.schedule()
	})
	l.timer.Stop() // the timer waits until schedule starts it
	return l
}

func (l *keyLimiter) window() time.Duration { return window + l.limiter.opts.Margin }

// acquire waits for a slot. While Redis is unavailable, it takes a slot of the fallback.
func (l *keyLimiter) acquire(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	for {
		p, err := l.wait(ctx, req)
		if l.limiter.fallback == nil || !errors.Is(err, ErrUnavailable) {
			return p, err
		}
		p, err = l.fallBack(ctx, req)
		if err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !errors.Is(err, context.Canceled) {
			return p, err
		}
	}
}

// fallBack waits for a slot of the fallback. The error is context.Canceled if the outage ends.
func (l *keyLimiter) fallBack(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	l.mu.Lock()
	over := l.outage.over
	if over == nil {
		l.mu.Unlock()
		return nil, context.Canceled
	}
	l.fallen++
	l.schedule()
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.fallen--
		if l.outage.err != nil {
			l.outage.giveUpAt = later(l.outage.giveUpAt, time.Now().Add(l.limiter.opts.Lease))
		}
	}()
	// The new context has no deadline. With an early deadline the fallback would fail at once, although Redis may be
	// available again before the deadline.
	bounded, cancel := context.WithCancel(over)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return l.limiter.fallback.Acquire(bounded, req)
}

// wait waits until Redis grants a slot, the call of Redis fails, or ctx ends.
func (l *keyLimiter) wait(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	caller, granted := l.limiter.caller(req), make(chan grant, 1) // before l.mu is locked, because the caller's function Weight may panic
	l.mu.Lock()
	if err := l.refusal(ctx); err != nil {
		l.mu.Unlock()
		return nil, err
	}
	place := l.waiters.Push(caller, granted)
	l.schedule()
	l.mu.Unlock()

	select {
	case g := <-granted:
		return g.permit, g.err
	case <-ctx.Done():
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case g := <-granted: // the slot was granted at the moment when ctx ended, so it is released
		if p, ok := g.permit.(*permit); ok {
			l.end(p, hotelstays.PermitResult{}, time.Now())
		}
	default:
		l.waiters.Remove(place)
	}
	l.schedule()
	return nil, ctx.Err()
}

// refusal returns an error if a call should not wait: its deadline is before the end of a pause, or Redis is
// unavailable. With a fallback, no call waits for a retry, because the retry may take Timeout. The caller of refusal holds
// l.mu.
func (l *keyLimiter) refusal(ctx context.Context) error {
	now := time.Now()
	switch end, ok := ctx.Deadline(); {
	case ok && end.Before(l.paused):
		return fmt.Errorf("%w: the service asked for a pause until %s, which is after the deadline of this call",
			hotelstays.ErrRateLimited, l.paused.UTC().Format(time.RFC3339))
	case now.Before(l.outage.retryAt), l.limiter.fallback != nil && l.retrying(now):
		return l.outage.err
	}
	return nil
}

func (l *keyLimiter) pause(until time.Time) {
	now := time.Now()
	until = now.Add(until.Sub(now)) // with a monotonic time, so that a change of the wall clock has no effect
	if l.limiter.fallback != nil {
		l.limiter.fallback.Pause(l.key, until)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until.After(l.paused) {
		l.paused = until
		l.reportBy(now)
		l.schedule()
	}
}

// schedule starts the next turn (see keyLimiter), or sets the timer for it. The caller of schedule holds l.mu.
func (l *keyLimiter) schedule() {
	now := time.Now()
	at := l.due(now)
	switch {
	case l.taking: // takeTurn calls schedule again when the turn ends
	case at.IsZero():
		l.timer.Stop()
	case at.After(now):
		l.timer.Reset(at.Sub(now))
	default:
		l.taking = true
		go l.takeTurn()
	}
}

// due returns the time of the next turn (see keyLimiter), or the zero time if no turn is needed. The caller of due
// holds l.mu.
func (l *keyLimiter) due(now time.Time) time.Time {
	at := l.reportAt
	if len(l.pending) > 0 {
		at = sooner(at, l.renewAt)
	}
	waiting, tickets := l.waiters.Len(), l.place.tickets
	switch {
	case waiting > 0 && now.Before(l.paused):
		at = sooner(at, l.paused)
	case waiting == 0 && tickets > 0, waiting > tickets && tickets < l.place.maxTickets: // return unneeded tickets, or get more
		at = now
	case waiting > 0:
		at = sooner(at, l.place.servedAt)
	}
	if retryAt := l.outage.retryAt; l.retrying(retryAt) || !at.IsZero() {
		at = later(at, retryAt)
	}
	return at
}

// retrying reports whether the process still calls Redis at a time during an outage, even if no caller waits for Redis.
func (l *keyLimiter) retrying(at time.Time) bool { return l.fallen > 0 || at.Before(l.outage.giveUpAt) }

// sooner returns the earlier of a and b, or b if a is zero.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// takeTurn calls turn.lua once, handles the result, and schedules the next turn.
func (l *keyLimiter) takeTurn() {
	l.mu.Lock()
	t := l.begin(time.Now())
	l.mu.Unlock()
	r, err := l.exchange(t)
	l.mu.Lock()
	if err != nil {
		l.turnFailed(t, err)
	} else {
		l.roundTrip = time.Since(t.began)
		l.apply(r)
	}
	l.taking = false
	l.schedule()
	l.mu.Unlock()
	if err == nil && !l.limiter.checked.Swap(true) {
		l.limiter.checkEviction()
	}
}

// begin collects the input of the next call of turn.lua. The caller of begin holds l.mu.
func (l *keyLimiter) begin(now time.Time) turn {
	l.turns++
	t := turn{report: l.collect(now), number: l.turns, began: now, first: l.next, rest: max(0, l.paused.Sub(now)),
		roundTrip: l.roundTrip}
	if !now.Before(l.paused) {
		t.want = l.waiters.Waiting()
	}
	if l.outage.err != nil && l.limiter.fallback != nil {
		// During the outage, other processes may use the fallback, until they reach Redis again.
		t.rest = max(t.rest, l.restAfterOutage())
	}
	return t
}

// restAfterOutage returns how long Redis must grant no slots after an outage. Redis may have lost its memory, and
// processes that still use the fallback may send requests until they reach Redis. The service counts their last
// requests for one more window.
func (l *keyLimiter) restAfterOutage() time.Duration {
	rest := retryPause + l.limiter.opts.Timeout + l.window()
	if l.limiter.fallback != nil {
		rest += l.limiter.opts.Timeout // the fallback grants slots also during the turn that reaches Redis again
	}
	return rest
}

// apply stores the reply of Redis, and passes the granted slots to waiting callers. The caller of apply holds l.mu.
func (l *keyLimiter) apply(r reply) {
	now := time.Now()
	if l.outage.err != nil {
		l.outage.end()
	}
	l.outage = outage{}
	l.place = place{r.tickets, r.maxTickets, now.Add(r.wait)}
	l.transit.Enough = 10 * r.maxTickets
	if r.refused >= 0 {
		l.transit.Last429 = later(l.transit.Last429, now.Add(-r.refused))
	}
	if len(l.pending) == 0 {
		l.renewAt = now.Add(renewPause)
	}
	for range r.granted {
		p := &permit{limiter: l, number: l.next}
		l.pending[p.number] = p
		l.next++
		if l.waiters.Len() == 0 || now.Before(l.paused) {
			l.end(p, hotelstays.PermitResult{}, now)
			continue
		}
		l.answerFirst(grant{permit: p})
	}
}

// turnFailed handles a failed call of Redis. It keeps the report for the next call, and every waiting caller gets an
// error. The caller of turnFailed holds l.mu.
func (l *keyLimiter) turnFailed(t turn, err error) {
	now := time.Now()
	if l.outage.err == nil && l.limiter.fallback != nil {
		l.limiter.fallback.Pause(l.key, now.Add(l.window())) // the service still counts the latest requests of all processes
	}
	if l.outage.err == nil || t.want != [3]int{} { // Redis may have granted slots before the call failed; a later turn must return them
		l.outage.giveUpAt = now.Add(l.limiter.opts.Lease)
	}
	if l.outage.err == nil {
		l.outage.over, l.outage.end = context.WithCancel(context.Background())
	}
	l.outage.giveUpAt = later(l.outage.giveUpAt, l.paused)
	if errors.Is(err, redis.ErrClosed) { // no retry, because a closed client stays closed
		l.outage.giveUpAt = now
	}
	l.outage.retryAt = now.Add(retryPause)
	l.outage.err = fmt.Errorf("hotelstaysredis: %s: cannot share the rate limit, nothing was sent: %w: %w; "+
		"check Redis, or set FallbackProcesses", l.key.Operation, ErrUnavailable, err)
	l.place.tickets = 0
	l.restore(t.report)
	for l.waiters.Len() > 0 {
		l.answerFirst(grant{err: l.outage.err})
	}
}

// answerFirst passes g to the first caller in the queue. The caller of answerFirst holds l.mu.
func (l *keyLimiter) answerFirst(g grant) {
	l.waiters.Pop() <- g
}
