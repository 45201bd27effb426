// The line of one operation: the callers of this process who wait for a slot, and
// the one goroutine that speaks with Redis for them.

package hotelstaysredis

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

const (
	// awayPause is how long Redis is left alone after it could not be asked.
	awayPause = window / 2
	// renewPause is how often Redis hears of permits that are out for long, and of requests
	// that are not answered yet: also in the rest after it has lost its memory.
	renewPause = window / 2
	// leftPause is how long an arrival may wait to be said together with others, or with
	// the next question. Its slot comes back no later for that.
	leftPause = 20 * time.Millisecond
)

// line takes turns with the other processes. Its goroutine runs while there is
// something to say or to wait for, and callers only ever touch memory: Sent and
// Done are called while a request is being written.
type line struct {
	limiter *RateLimiter
	op      hotelstays.Operation
	limit   int
	keys    []string
	share   *share        // of this process alone while Redis is away; nil: refuse
	bell    chan struct{} // something has changed

	mu      sync.Mutex
	running bool
	waiters list.List // of *waiter, the longest waiting in front

	turns int64 // how many were taken

	// What Redis is to be told: permits by their numbers.
	left      []arrival
	unused    []int64
	out       map[int64]*permit // granted, and neither given back nor known to have left
	next      int64             // the number of the next permit
	refused   time.Time         // when the last 429 came, to any process
	news      bool              // it came to this one, and Redis has not heard of it
	transit   transit
	renewAt   time.Time // when the leases of those that are out are renewed
	paused    time.Time
	pauseTold bool
	tellAt    time.Time // when it is told at the latest; zero: there is nothing

	// What Redis said last.
	inLine int       // tickets there
	most   int       // how many there may be: this process's part of the slots
	wakeAt time.Time // when the first of them can be served

	// Redis is away.
	away      error // why; nil: it is not
	awaySince time.Time
	retryAt   time.Time
	lostAt    time.Time // when a turn that asked for slots got no answer; zero: there is none
}

// waiter is a caller in line. Its fields are set before done is closed.
type waiter struct {
	done   chan struct{}
	permit hotelstays.Permit
	err    error
}

// permit is a slot that was granted here.
type permit struct {
	line   *line
	number int64
	sent   time.Time // zero: its request has not left
}

// arrival is a permit whose request left, and by when it counts as arrived.
type arrival struct {
	number int64
	by     time.Time
}

// Sent keeps the time. Redis hears of it with the answer, or half a second later.
func (p *permit) Sent() {
	l := p.line
	l.mu.Lock()
	defer l.mu.Unlock()
	p.sent = time.Now()
}

// Done has the slot come back a window after its request arrived, as its answer proves, or
// after the longest time that requests are known to travel.
func (p *permit) Done(r hotelstays.PermitResult) {
	l, now := p.line, time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, out := l.out[p.number]
	delete(l.out, p.number)
	if p.sent.IsZero() {
		l.unused = append(l.unused, p.number)
		l.tell(now)
		return
	}
	l.transit.learn(p.sent, r, now)
	if r.RateLimited {
		l.refused, l.news = now, true
	}
	least := l.limiter.opts.Margin
	by, known := r.ArrivedBy, !r.ArrivedBy.IsZero()
	if !known {
		by = p.sent.Add(l.margin(now) - least)
	} else if soonest := p.sent.Add(l.distrust(now)); by.Before(soonest) {
		by = soonest
	}
	if !r.FirstByte.IsZero() && r.FirstByte.Before(by) { // of this there is no doubt
		by, known = r.FirstByte, true
	}
	if !known && !out {
		return // Redis has heard of the margin
	}
	if by.Before(p.sent) { // the service says that it took longer than the answer did
		by = p.sent
	}
	by = by.Add(least)
	l.left = append(l.left, arrival{p.number, by})
	l.tell(now.Add(leftPause))
}

func newLine(r *RateLimiter, op hotelstays.Operation, limit int) *line {
	l := &line{limiter: r, op: op, limit: limit, bell: make(chan struct{}, 1), out: make(map[int64]*permit), most: limit, pauseTold: true}
	for _, part := range []string{"memory", "slots:" + string(op), "line:" + string(op), "alive:" + string(op), "turn:" + string(op) + ":" + r.me} {
		l.keys = append(l.keys, r.opts.Prefix+":{ratelimit}:"+part)
	}
	switch n := r.opts.ShareAmong; {
	case n == 0:
	case n <= limit:
		l.share = newShare(limit/n, l.window())
	default: // less than one a window: one in several
		l.share = newShare(1, l.window()*time.Duration((n+limit-1)/limit))
	}
	return l
}

// margin is how long a request counts as on its way while no answer proves otherwise. l.mu
// is held.
func (l *line) margin(now time.Time) time.Duration {
	return max(l.limiter.opts.Margin, l.distrust(now), l.transit.longest(10*l.most, now))
}

// distrust is how long a request counts as on its way whatever its answer says of that: after
// a 429 something was wrong with what was known. It is a window in the first minute, and half
// as long with each minute that follows. l.mu is held.
func (l *line) distrust(now time.Time) time.Duration {
	if l.refused.IsZero() {
		return 0
	}
	return window >> (now.Sub(l.refused) / time.Minute)
}

func (l *line) window() time.Duration { return window + l.limiter.opts.Margin }

func (l *line) acquire(ctx context.Context) (hotelstays.Permit, error) {
	for {
		p, err := l.wait(ctx)
		if l.share == nil || !errors.Is(err, ErrAway) {
			return p, err
		}
		p, err = l.acquireAlone(ctx)
		if err == nil || ctx.Err() != nil {
			return p, err
		}
	}
}

// acquireAlone waits for a slot of this process's share, until Redis is to be asked
// again.
func (l *line) acquireAlone(ctx context.Context) (hotelstays.Permit, error) {
	l.mu.Lock()
	retryAt := l.retryAt
	l.mu.Unlock()
	bounded, cancel := context.WithDeadline(ctx, retryAt)
	defer cancel()
	return l.share.acquire(bounded)
}

// wait waits in line for a slot of the fleet.
func (l *line) wait(ctx context.Context) (hotelstays.Permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	if time.Now().Before(l.retryAt) {
		err := l.away
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

// tell has Redis told what there is to tell at a time. l.mu is held.
func (l *line) tell(at time.Time) {
	if l.tellAt.IsZero() || at.Before(l.tellAt) {
		l.tellAt = at
		l.wake()
	}
}

func (l *line) pause(until time.Time) {
	now := time.Now()
	until = now.Add(until.Sub(now)) // without the wall clock
	if l.share != nil {
		l.share.pause(until)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until.After(l.paused) {
		l.paused, l.pauseTold = until, false
		l.tell(now)
	}
}

// wake makes the goroutine look at what has changed. l.mu is held.
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

// run takes turns until there is nothing left to do.
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
			l.failed(t, err)
		} else {
			l.heed(t, r)
		}
		l.mu.Unlock()
		if err == nil {
			l.limiter.checked.Do(l.limiter.checkEviction)
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

// due says when the next turn is, and whether that is now; the zero time when none
// is needed. l.mu is held.
func (l *line) due(now time.Time) (at time.Time, due bool) {
	l.forget(now)
	sooner := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	waiting := l.waiters.Len()
	switch {
	case waiting > 0 && l.pauseTold && now.Before(l.paused):
		sooner(l.paused)
	case waiting == 0 && l.inLine > 0, waiting > l.inLine && (l.inLine == 0 || l.inLine < l.most):
		sooner(now)
	case waiting > 0:
		sooner(l.wakeAt)
	}
	if !l.tellAt.IsZero() {
		sooner(l.tellAt)
	}
	if len(l.out) > 0 {
		sooner(l.renewAt)
	}
	if !l.lostAt.IsZero() {
		sooner(now)
	}
	if !at.IsZero() && at.Before(l.retryAt) {
		at = l.retryAt
	}
	return at, !at.After(now)
}

// forget gives up telling Redis what its own leases have ended meanwhile.
func (l *line) forget(now time.Time) {
	if l.away != nil && now.Sub(l.awaySince) > l.limiter.opts.Lease {
		l.left, l.unused = nil, nil
	}
	if now.Sub(l.lostAt) > l.limiter.opts.Lease {
		l.lostAt = time.Time{}
	}
	if now.After(l.paused) {
		l.pauseTold = true
	}
	if len(l.left)+len(l.unused) == 0 && l.pauseTold {
		l.tellAt = time.Time{}
	}
}

// turn is what one script call says.
type turn struct {
	number       int64 // turns are numbered, so that none is played after a later one
	want         int
	first        int64
	began        time.Time
	pause        time.Duration
	refused      time.Duration // how long ago a 429 came here; less than 0: Redis has heard
	left         []arrival
	unused, held []int64
}

// reply is what it answers.
type reply struct {
	granted      int
	inLine, most int
	wait         time.Duration
	refused      time.Duration
}

// begin takes together what is to be said. l.mu is held.
func (l *line) begin(now time.Time) turn {
	l.turns++
	t := turn{number: l.turns, first: l.next, began: now, refused: -time.Microsecond, left: l.left, unused: l.unused}
	if l.news {
		t.refused, l.news = now.Sub(l.refused), false
	}
	if !now.Before(l.paused) {
		t.want = l.waiters.Len()
	}
	l.left, l.unused, l.tellAt = nil, nil, time.Time{}
	if !l.pauseTold {
		t.pause = l.paused.Sub(now)
		l.pauseTold = true
	}
	if l.away != nil && l.share != nil {
		// Others may go on with their shares until they, too, find that Redis is back.
		t.pause = max(t.pause, l.afterAway())
	}
	if len(l.out) > 0 && !now.Before(l.renewAt) {
		for number, p := range l.out {
			if p.sent.IsZero() {
				t.held = append(t.held, number)
				continue
			}
			t.left = append(t.left, arrival{number, p.sent.Add(l.margin(now))})
			delete(l.out, number)
		}
	}
	return t
}

// afterAway is how long after the moment at which Redis is back, with its memory or
// without, a process may still send what Redis has not heard of, and a window more.
func (l *line) afterAway() time.Duration {
	return awayPause + l.limiter.opts.Timeout + l.window()
}

// heed does what the reply says. l.mu is held.
func (l *line) heed(t turn, r reply) {
	now := time.Now()
	l.away, l.awaySince, l.retryAt, l.lostAt = nil, time.Time{}, time.Time{}, time.Time{}
	l.inLine, l.most, l.wakeAt = r.inLine, r.most, now.Add(r.wait)
	if r.refused >= 0 && !l.news {
		l.refused = now.Add(-r.refused)
	}
	if len(t.held) > 0 || len(l.out) == 0 {
		l.renewAt = now.Add(renewPause)
	}
	for range r.granted {
		number := l.next
		l.next++
		if l.waiters.Len() == 0 || now.Before(l.paused) {
			l.unused = append(l.unused, number)
			l.tellAt = now
			continue
		}
		p := &permit{line: l, number: number}
		l.out[number] = p
		w := l.waiters.Remove(l.waiters.Front()).(*waiter)
		w.permit = p
		close(w.done)
	}
}

// failed keeps what was not said, and sends the callers away. l.mu is held.
func (l *line) failed(t turn, err error) {
	now := time.Now()
	l.left, l.unused = append(t.left, l.left...), append(t.unused, l.unused...)
	if t.pause > 0 {
		l.pauseTold = false
	}
	l.tellAt = now
	l.news = l.news || t.refused >= 0
	if t.want > 0 {
		l.lostAt = now // the next turn gives back what this one may have been granted, or still may
	}
	if errors.Is(err, redis.ErrClosed) { // for good: leases will end what is out
		l.left, l.unused, l.pauseTold, l.lostAt = nil, nil, true, time.Time{}
	}
	l.away = fmt.Errorf("hotelstaysredis: the fleet's ceiling of %s cannot be kept, and nothing was sent: %w: %w; check Redis, or see RateLimiterOptions.ShareAmong", l.op, ErrAway, err)
	l.retryAt = now.Add(awayPause)
	l.inLine = 0
	if l.awaySince.IsZero() {
		l.awaySince = now
		if l.share != nil {
			l.share.pause(now.Add(l.window())) // what the fleet has just sent still counts
		}
	}
	for l.waiters.Len() > 0 {
		w := l.waiters.Remove(l.waiters.Front()).(*waiter)
		w.err = l.away
		close(w.done)
	}
}
