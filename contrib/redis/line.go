// The line of one rate limit: the callers of this process that wait for a slot, and
// the goroutine that talks to Redis for them.

package hotelstaysredis

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

const (
	// retryPause is between two attempts to reach a Redis that is unavailable.
	retryPause = window / 2
	// renewPause is between two reports of permits that are still out and of requests
	// without an answer.
	renewPause = window / 2
	// reportPause is how long an arrival may wait to be reported together with others. Its
	// slot is free no later for that.
	reportPause = 20 * time.Millisecond
)

// line takes turns with the other processes. Its goroutine runs while there is something
// to report or to wait for. Callers only touch memory, because Sent and Done are called
// while a request is being written.
type line struct {
	limiter  *RateLimiter
	op       hotelstays.Operation
	name     string // in Redis
	limit    int
	keys     []string
	fallback *fallback     // while Redis is unavailable; nil: refuse
	bell     chan struct{} // something has changed

	mu      sync.Mutex
	running bool
	waiters list.List         // of *waiter, the longest waiting in front
	turns   int64             // how many were taken
	granted map[int64]*permit // by their numbers: neither done nor reported as sent
	next    int64             // number of the next permit
	renewAt time.Time         // when the leases of granted are renewed
	refused time.Time         // the last 429, in any process
	paused  time.Time         // until then
	transit transit
	report  report
	place   place
	outage  outage
}

// report is what the next turn reports to Redis. Permits have numbers.
type report struct {
	arrived []arrival
	unused  []int64
	refusal bool      // a 429 came to this process
	pause   bool      // this process was asked to pause
	at      time.Time // when it is reported at the latest; zero: there is nothing to report
}

// place is what the last reply says of this process's places in the line of the fleet.
type place struct {
	tickets    int       // its places
	maxTickets int       // its share of the slots
	servedAt   time.Time // when the first ticket can be served
}

// outage is zero while Redis is available.
type outage struct {
	err     error // why Redis is unavailable
	since   time.Time
	retryAt time.Time
	lostAt  time.Time // when a turn that asked for slots got no reply; zero: none
}

// waiter is a caller in line. permit and err are set before done is closed.
type waiter struct {
	done   chan struct{}
	permit hotelstays.Permit
	err    error
}

func newLine(r *RateLimiter, key hotelstays.RateLimitKey, limit int) *line {
	l := &line{limiter: r, op: key.Operation, name: redisName(key), limit: limit, bell: make(chan struct{}, 1),
		granted: make(map[int64]*permit), place: place{maxTickets: limit}}
	for _, part := range []string{"memory", "slots:" + l.name, "line:" + l.name, "alive:" + l.name, "turn:" + l.name + ":" + r.id} {
		l.keys = append(l.keys, r.opts.Prefix+":{ratelimit}:"+part)
	}
	switch n := r.opts.FallbackProcesses; {
	case n == 0:
	case n <= limit:
		l.fallback = newFallback(limit/n, l.window())
	default: // less than one slot in a window: one in several windows
		l.fallback = newFallback(1, l.window()*time.Duration((n+limit-1)/limit))
	}
	return l
}

// redisName hashes the base URL, because Redis and its dumps show no addresses.
func redisName(key hotelstays.RateLimitKey) string {
	hash := sha256.Sum256([]byte(key.BaseURL))
	return string(key.Operation) + ":" + hex.EncodeToString(hash[:8])
}

func (l *line) window() time.Duration { return window + l.limiter.opts.Margin }

func (l *line) acquire(ctx context.Context) (hotelstays.Permit, error) {
	if err := l.refusePaused(ctx); err != nil {
		return nil, err
	}
	for {
		p, err := l.wait(ctx)
		if l.fallback == nil || !errors.Is(err, ErrUnavailable) {
			return p, err
		}
		p, err = l.acquireFallback(ctx)
		if err == nil || ctx.Err() != nil {
			return p, err
		}
	}
}

// refusePaused refuses a caller whose deadline comes before the end of a pause that this process
// knows of.
func (l *line) refusePaused(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if end, ok := ctx.Deadline(); ok && ctx.Err() == nil && end.Before(l.paused) {
		return fmt.Errorf("%w until %s, and the call's limit ends before that", hotelstays.ErrRateLimited, l.paused.UTC().Format(time.RFC3339))
	}
	return nil
}

// acquireFallback waits for a slot of this process's part of the limit, until Redis is
// tried again.
func (l *line) acquireFallback(ctx context.Context) (hotelstays.Permit, error) {
	l.mu.Lock()
	retryAt := l.outage.retryAt
	l.mu.Unlock()
	bounded, cancel := context.WithDeadline(ctx, retryAt)
	defer cancel()
	return l.fallback.acquire(bounded)
}

// wait waits in line for a slot.
func (l *line) wait(ctx context.Context) (hotelstays.Permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	if time.Now().Before(l.outage.retryAt) {
		err := l.outage.err
		l.mu.Unlock()
		return nil, err
	}
	w := &waiter{done: make(chan struct{})}
	place := l.waiters.PushBack(w)
	l.wake()
	l.mu.Unlock()

	select {
	case <-w.done:
		return w.permit, w.err
	case <-ctx.Done():
	}

	l.mu.Lock()
	select {
	case <-w.done: // at the same moment
	default:
		l.waiters.Remove(place)
		l.wake()
	}
	l.mu.Unlock()
	if w.permit != nil {
		w.permit.Done(hotelstays.PermitResult{})
	}
	return nil, ctx.Err()
}

// reportBy schedules a report. l.mu is held.
func (l *line) reportBy(at time.Time) {
	if l.report.at.IsZero() || at.Before(l.report.at) {
		l.report.at = at
		l.wake()
	}
}

func (l *line) pause(until time.Time) {
	now := time.Now()
	until = now.Add(until.Sub(now)) // without the wall clock
	if l.fallback != nil {
		l.fallback.pause(until)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until.After(l.paused) {
		l.paused, l.report.pause = until, true
		l.reportBy(now)
	}
}

// wake starts the goroutine, or makes it look again. l.mu is held.
func (l *line) wake() {
	if !l.running {
		l.running = true
		go l.run()
		return
	}
	select {
	case l.bell <- struct{}{}:
	default:
	}
}

// run takes turns while there is something to do.
func (l *line) run() {
	for {
		l.mu.Lock()
		now := time.Now()
		at, due := l.due(now)
		if at.IsZero() {
			l.running = false
			l.mu.Unlock()
			return
		}
		if !due {
			l.mu.Unlock()
			l.sleep(at.Sub(now))
			continue
		}
		t := l.begin(now)
		l.mu.Unlock()
		r, err := l.take(t)
		l.mu.Lock()
		if err != nil {
			l.fail(t, err)
		} else {
			l.apply(t, r)
		}
		l.mu.Unlock()
		if err == nil {
			l.limiter.checkOnce.Do(l.limiter.checkEviction)
		}
	}
}

func (l *line) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.bell:
	}
}

// due returns when the next turn is, and whether that is now; the zero time if none is
// needed. l.mu is held.
func (l *line) due(now time.Time) (at time.Time, due bool) {
	l.dropExpired(now)
	sooner := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	waiting := l.waiters.Len()
	switch {
	case waiting > 0 && !l.report.pause && now.Before(l.paused):
		sooner(l.paused)
	case waiting == 0 && l.place.tickets > 0, waiting > l.place.tickets && (l.place.tickets == 0 || l.place.tickets < l.place.maxTickets):
		sooner(now)
	case waiting > 0:
		sooner(l.place.servedAt)
	}
	if !l.report.at.IsZero() {
		sooner(l.report.at)
	}
	if len(l.granted) > 0 {
		sooner(l.renewAt)
	}
	if !l.outage.lostAt.IsZero() {
		sooner(now)
	}
	if !at.IsZero() && at.Before(l.outage.retryAt) {
		at = l.outage.retryAt
	}
	return at, !at.After(now)
}

// dropExpired drops reports that no longer matter, because the leases have ended. l.mu is
// held.
func (l *line) dropExpired(now time.Time) {
	if l.outage.err != nil && now.Sub(l.outage.since) > l.limiter.opts.Lease {
		l.report.arrived, l.report.unused = nil, nil
	}
	if now.Sub(l.outage.lostAt) > l.limiter.opts.Lease {
		l.outage.lostAt = time.Time{}
	}
	if now.After(l.paused) {
		l.report.pause = false
	}
	if len(l.report.arrived)+len(l.report.unused) == 0 && !l.report.pause {
		l.report.at = time.Time{}
	}
}

// begin collects what the next turn reports and asks for. l.mu is held.
func (l *line) begin(now time.Time) turn {
	l.turns++
	t := turn{number: l.turns, first: l.next, began: now, refused: -time.Microsecond, arrived: l.report.arrived, unused: l.report.unused}
	if l.report.refusal {
		t.refused = now.Sub(l.refused)
	}
	if !now.Before(l.paused) {
		t.want = l.waiters.Len()
	}
	if l.report.pause {
		t.pause = l.paused.Sub(now)
	}
	l.report = report{}
	if l.outage.err != nil && l.fallback != nil {
		// Others may continue alone until they find Redis again.
		t.pause = max(t.pause, l.restAfterOutage())
	}
	if len(l.granted) > 0 && !now.Before(l.renewAt) {
		for number, p := range l.granted {
			if p.sent.IsZero() {
				t.held = append(t.held, number)
				continue
			}
			t.arrived = append(t.arrived, arrival{number, p.sent.Add(l.travelTime(now))})
			delete(l.granted, number)
		}
	}
	return t
}

// restAfterOutage is how long after Redis is back, with its memory or without, requests that
// Redis does not know of may still be sent, and one window more.
func (l *line) restAfterOutage() time.Duration {
	return retryPause + l.limiter.opts.Timeout + l.window()
}

// apply takes over a reply. l.mu is held.
func (l *line) apply(t turn, r reply) {
	now := time.Now()
	l.outage, l.place = outage{}, place{r.tickets, r.maxTickets, now.Add(r.wait)}
	if r.refused >= 0 && !l.report.refusal {
		l.refused = now.Add(-r.refused)
	}
	if len(t.held) > 0 || len(l.granted) == 0 {
		l.renewAt = now.Add(renewPause)
	}
	for range r.granted {
		number := l.next
		l.next++
		if l.waiters.Len() == 0 || now.Before(l.paused) {
			l.report.unused = append(l.report.unused, number)
			l.report.at = now
			continue
		}
		p := &permit{line: l, number: number}
		l.granted[number] = p
		w := l.waiters.Remove(l.waiters.Front()).(*waiter)
		w.permit = p
		close(w.done)
	}
}

// fail keeps what was not reported, and ends the waits with an error. l.mu is held.
func (l *line) fail(t turn, err error) {
	now := time.Now()
	l.report.arrived, l.report.unused = append(t.arrived, l.report.arrived...), append(t.unused, l.report.unused...)
	if t.pause > 0 {
		l.report.pause = true
	}
	l.report.at = now
	l.report.refusal = l.report.refusal || t.refused >= 0
	if t.want > 0 {
		l.outage.lostAt = now // the next turn returns what this one was granted, or may still be granted
	}
	if errors.Is(err, redis.ErrClosed) { // for good: the leases end what is out
		l.report.arrived, l.report.unused, l.report.pause, l.outage.lostAt = nil, nil, false, time.Time{}
	}
	l.outage.err = fmt.Errorf("hotelstaysredis: %s: cannot share the rate limit, nothing was sent: %w: %w; check Redis, or set FallbackProcesses",
		l.op, ErrUnavailable, err)
	l.outage.retryAt = now.Add(retryPause)
	l.place.tickets = 0
	if l.outage.since.IsZero() {
		l.outage.since = now
		if l.fallback != nil {
			l.fallback.pause(now.Add(l.window())) // what the fleet has just sent still counts
		}
	}
	for l.waiters.Len() > 0 {
		w := l.waiters.Remove(l.waiters.Front()).(*waiter)
		w.err = l.outage.err
		close(w.done)
	}
}
