// Package ratelimit keeps callers below a rate limit of N requests in any rolling window.
//
// A token bucket cannot do that: a full bucket followed by its refill lets nearly 2N requests through one window.
// Nor can a count of departures: the service counts arrivals, and requests that left together on new connections
// may arrive half a second apart, while the next ones, on connections that stand, arrive at once.
//
// So there are N slots, and a slot is free again one window after its request arrived. Its answer proves by when
// that was. Until the answer is there, and where it proves nothing, the request counts as on its way for as long as
// others were seen to take.
package ratelimit

import (
	"container/heap"
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Window is a rate limit over a rolling window, first come first served.
type Window struct {
	n             int
	window, least time.Duration

	mu sync.Mutex
	// The n slots: those that need no wait, those whose requests have left, those whose requests are known to have
	// arrived, and the granted ones, which are nowhere. A granted slot holds up nobody but who needs that very slot.
	unused        int
	sent, arrived slots
	transit       transit
	refused       time.Time // when the last 429 came
	paused        time.Time
	waiters       list.List   // of chan *Permit; the longest waiting in front
	timer         *time.Timer // runs only while somebody waits for a slot whose time is known
	pool          []*Permit   // that are not in use
}

// Permit is a granted slot: Sent at most once, then Done exactly once.
type Permit struct {
	w       *Window
	granted bool      // Done is still to come
	left    time.Time // when the request left; zero: it has not
	since   time.Time // when the request left, or by when it arrived: whichever its slots are sorted by
	index   int       // in its slots; -1: the slot is another permit's by now
}

// Result is what is known of a request once its attempt is over.
type Result struct {
	ArrivedBy   time.Time // it had arrived by then; zero: not known
	FirstByte   time.Time // of its answer; zero: there was none
	RateLimited bool      // its answer was a 429
}

// NewWindow returns a rate limit of n requests per window. The margin is added to the window, because the service may
// count a request a little after it arrived.
func NewWindow(n int, window, margin time.Duration) *Window {
	return &Window{n: n, window: window, least: margin, unused: n}
}

// ErrPaused is part of the error of a caller whose deadline comes before the end of a pause.
var ErrPaused = errors.New("a 429 asked to stay away for longer than this call may take")

// Acquire waits for a slot. When ctx ends first it returns ctx's error, and no slot is used up. Where its deadline
// comes before the end of a pause it does so at once.
func (w *Window) Acquire(ctx context.Context) (*Permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	now := time.Now()
	if end, ok := ctx.Deadline(); ok && end.Before(w.paused) {
		defer w.mu.Unlock()
		return nil, fmt.Errorf("%w, another %s: %w", ErrPaused, w.paused.Sub(now).Round(time.Second), context.DeadlineExceeded)
	}
	if w.waiters.Len() == 0 {
		if p := w.take(now); p != nil {
			w.mu.Unlock()
			return p, nil
		}
	}
	granted := make(chan *Permit, 1)
	me := w.waiters.PushBack(granted)
	w.serve(now)
	w.mu.Unlock()

	select {
	case p := <-granted:
		return p, nil
	case <-ctx.Done():
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case p := <-granted: // at the same moment: the slot goes to the next in line
		w.unused++
		w.recycle(p)
	default:
		w.waiters.Remove(me)
	}
	w.serve(time.Now())
	return nil, ctx.Err()
}

// Sent says that the request leaves now.
func (p *Permit) Sent() {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if !p.granted || !p.left.IsZero() {
		panic("ratelimit: Sent twice, or without a granted slot") // it would silently raise the limit
	}
	now := time.Now()
	p.left, p.since = now, now
	heap.Push(&p.w.sent, p)
	p.w.serve(now)
}

// Done says that the attempt is over. Without Sent the slot is free at once.
func (p *Permit) Done(r Result) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if !p.granted {
		panic("ratelimit: Done without a granted slot")
	}
	p.granted = false
	now := time.Now()
	if p.left.IsZero() {
		w.unused++
		w.recycle(p)
		w.serve(now)
		return
	}
	w.transit.learn(p.left, r, now)
	if r.RateLimited {
		w.refused = now
	}
	by, known := r.ArrivedBy, !r.ArrivedBy.IsZero()
	if !known {
		by = p.left.Add(w.margin(now) - w.least)
	} else if soonest := p.left.Add(w.distrust(now)); by.Before(soonest) {
		by = soonest
	}
	if !r.FirstByte.IsZero() && r.FirstByte.Before(by) { // of this there is no doubt
		by, known = r.FirstByte, true
	}
	switch {
	case p.index < 0:
		w.recycle(p)
	case known:
		heap.Remove(&w.sent, p.index)
		if by.After(p.left) {
			p.since = by
		}
		heap.Push(&w.arrived, p)
	}
	w.serve(now)
}

// Pause lets nobody through before until. Of several pauses the longest counts. Slots that are granted stay so.
func (w *Window) Pause(until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	// A date from a header has no monotonic reading; from here on a step of the wall clock must not move it.
	until = now.Add(until.Sub(now))
	if until.After(w.paused) {
		w.paused = until // a timer that runs fires too early, and is set anew
	}
}

// serve grants what can be granted now and sets the timer for the next grant. It decides from the state alone,
// so it may be called at any time: a timer that fires too early or once too often does no harm.
func (w *Window) serve(now time.Time) {
	for w.waiters.Len() > 0 {
		p := w.take(now)
		if p == nil {
			break
		}
		w.waiters.Remove(w.waiters.Front()).(chan *Permit) <- p
	}
	_, at, ok := w.next(now)
	switch {
	case w.waiters.Len() == 0 || !ok: // nobody to wake, or all slots are granted: Sent or Done will come
		if w.timer != nil {
			w.timer.Stop()
		}
	case w.timer == nil:
		w.timer = time.AfterFunc(at.Sub(now), w.tick)
	default:
		w.timer.Reset(at.Sub(now))
	}
}

func (w *Window) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serve(time.Now())
}

// take grants a slot, or returns nil where none is free. A request may arrive exactly one window after another.
func (w *Window) take(now time.Time) *Permit {
	from, at, ok := w.next(now)
	if !ok || at.After(now) {
		return nil
	}
	if from == nil {
		w.unused--
	} else if p := heap.Pop(from).(*Permit); !p.granted {
		w.recycle(p)
	}
	if len(w.pool) == 0 {
		for i, some := 0, make([]Permit, 16); i < len(some); i++ {
			w.pool = append(w.pool, &some[i])
		}
	}
	last := len(w.pool) - 1
	p := w.pool[last]
	w.pool = w.pool[:last]
	*p = Permit{w: w, granted: true}
	return p
}

func (w *Window) recycle(p *Permit) {
	p.granted = false
	w.pool = append(w.pool, p)
}

// next returns when the next slot is free, and its place, nil for an unused one. ok is false while all are granted.
func (w *Window) next(now time.Time) (from *slots, at time.Time, ok bool) {
	if len(w.arrived) > 0 {
		from, at = &w.arrived, w.arrived[0].since.Add(w.window+w.least)
	}
	if len(w.sent) > 0 {
		if then := w.sent[0].since.Add(w.window + w.margin(now)); from == nil || then.Before(at) {
			from, at = &w.sent, then
		}
	}
	if w.unused > 0 && (from == nil || at.After(now)) { // the last choice: a slot that was used has a permit to use again
		from, at = nil, now
	}
	if at.Before(w.paused) {
		at = w.paused
	}
	return from, at, from != nil || w.unused > 0
}

// margin is how long a request counts as on its way while no answer proves otherwise.
func (w *Window) margin(now time.Time) time.Duration {
	w.transit.at(now)
	return max(w.least, w.distrust(now), min(w.transit.longest(w.n, w.window), 5*w.window))
}

// distrust is how long a request counts as on its way whatever its answer says of that: after a 429 something was
// wrong with what was known. It is a window in the first minute, and half as long with each minute that follows.
func (w *Window) distrust(now time.Time) time.Duration {
	if w.refused.IsZero() {
		return 0
	}
	return w.window >> (now.Sub(w.refused) / time.Minute)
}

// transit is what the answers of this minute and of the one before say of how long requests travel.
type transit struct {
	began      time.Time
	this, last minute
}

type minute struct {
	longest   time.Duration // of those that are proved
	proofs    int           // answers that prove an arrival
	proofless int           // answers that do not
}

// at forgets what is too old.
func (t *transit) at(now time.Time) {
	switch age := now.Sub(t.began); {
	case age >= 2*time.Minute:
		*t = transit{began: now}
	case age >= time.Minute:
		*t = transit{began: t.began.Add(time.Minute), last: t.this}
	}
}

func (t *transit) learn(left time.Time, r Result, now time.Time) {
	t.at(now)
	switch {
	case !r.ArrivedBy.IsZero():
		t.this.proofs++
		t.this.longest = max(t.this.longest, r.ArrivedBy.Sub(left))
	case !r.FirstByte.IsZero():
		t.this.proofless++
	}
}

// longest is how long a request may travel: a quarter more than the longest of a busy minute, one with the requests of
// ten windows. After a quiet minute it is at least a window, because requests of a burst are slower. Where answers
// prove nothing it is 0, or callers would wait a window for each of them.
func (t *transit) longest(n int, window time.Duration) time.Duration {
	longest := max(t.this.longest, t.last.longest)
	longest += longest / 4
	switch {
	case t.last.proofs >= 10*n:
		return longest
	case t.this.proofs+t.last.proofs == 0 && t.this.proofless+t.last.proofless > 0:
		return 0
	}
	return max(longest, window)
}

// slots is a heap: the permits whose requests left or arrived earliest come first.
type slots []*Permit

func (s slots) Len() int           { return len(s) }
func (s slots) Less(i, j int) bool { return s[i].since.Before(s[j].since) }
func (s slots) Swap(i, j int)      { s[i], s[j] = s[j], s[i]; s[i].index, s[j].index = i, j }
func (s *slots) Push(p any)        { p.(*Permit).index = len(*s); *s = append(*s, p.(*Permit)) }
func (s *slots) Pop() any {
	last := len(*s) - 1
	p := (*s)[last]
	p.index, *s = -1, (*s)[:last]
	return p
}
