// Package ratelimit keeps callers within N requests in any rolling window.
//
// A token bucket does not suffice: a full bucket and its refill let nearly 2N requests through one window. Counting
// departures does not suffice either, because the service counts arrivals. Requests that left together on new connections
// may arrive half a second apart. The next requests use open connections, and arrive immediately.
//
// So there are N slots, and a slot is free one window after its request arrived. The answer proves the latest time of the
// arrival. Without a proof the request counts as in transit for as long as other requests took.
package ratelimit

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go/pacing"
)

// Window limits the requests to n in any time span of the window's length. It serves callers in the order of
// pacing.Queue.
type Window struct {
	window, margin time.Duration

	mu sync.Mutex
	// Together these fields hold the n slots: unused is the number of slots without a request, sent has the slots whose
	// request is in transit, and arrived has the slots whose request has arrived. A slot that was granted, but whose
	// request was not sent yet, is in none of these fields.
	unused        int
	sent, arrived slots
	transit       pacing.Transit
	pausedUntil   time.Time
	waiters       pacing.Queue[chan *Permit]
	// The timer calls serve when the next slot is free. The timer runs only while a caller waits, and the time of the
	// next slot is known.
	timer *time.Timer
	pool  []*Permit // permits that are reused for later grants, which saves allocations
}

// Permit is a granted slot. Call Sent at most once, then Done exactly once.
type Permit struct {
	w       *Window
	granted bool      // true from the grant until Done
	left    time.Time // time at which the request left; zero before
	since   time.Time // time of the departure in the heap sent, or of the arrival in the heap arrived; orders the heap
	index   int       // position in the heap; -1: another permit has the slot
}

// NewWindow returns a rate limit of n requests per window. The margin is added to the
// window, because the service may count a request a little after its arrival.
func NewWindow(n int, window, margin time.Duration) *Window {
	return &Window{window: window, margin: margin, unused: n, transit: pacing.Transit{Window: window, Margin: margin, Enough: 10 * n}}
}

// ErrPaused is part of the error of Acquire if the caller's deadline comes before the end of a pause. When Acquire
// returns ErrPaused, the deadline has not passed yet. So the error does not wrap an error of ctx.
var ErrPaused = errors.New("the service asked for a pause")

// Acquire waits for a slot. If ctx ends before a slot is free, Acquire returns ctx's error and uses no slot. If the
// deadline comes before the end of a pause, Acquire returns ErrPaused immediately.
func (w *Window) Acquire(ctx context.Context, caller pacing.Caller) (*Permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	now := time.Now()
	if end, ok := ctx.Deadline(); ok && end.Before(w.pausedUntil) {
		defer w.mu.Unlock()
		return nil, fmt.Errorf("%w until %s, which is after the deadline of this call; %d other calls wait", ErrPaused,
			w.pausedUntil.UTC().Format(time.RFC3339), w.waiters.Len())
	}
	if w.waiters.Len() == 0 {
		if p := w.grant(now); p != nil {
			w.mu.Unlock()
			return p, nil
		}
	}
	granted := make(chan *Permit, 1)
	place := w.waiters.Push(caller, granted)
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
	case p := <-granted: // the slot was granted at the same moment
		w.unused++
		w.recycle(p)
	default:
		w.waiters.Remove(place)
	}
	w.serve(time.Now())
	return nil, ctx.Err()
}

// Sent must be called when the request leaves.
func (p *Permit) Sent() {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if !p.granted || !p.left.IsZero() {
		panic("ratelimit: Sent twice, or without a granted slot") // each request needs its own slot, or more than n would leave
	}
	now := time.Now()
	p.left, p.since = now, now
	heap.Push(&p.w.sent, p)
	p.w.serve(now)
}

// Done must be called when the request has ended, or when the caller decides not to send the request. If the caller has
// not called Sent, the slot is free immediately.
func (p *Permit) Done(r pacing.PermitResult) {
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
	w.transit.Learn(p.left, r, now)
	if r.RateLimited {
		w.transit.Last429 = now
	}
	arrivedBy, known := w.transit.ArrivedBy(p.left, r, now)
	switch {
	case p.index < 0:
		w.recycle(p)
	case known:
		heap.Remove(&w.sent, p.index)
		p.since = arrivedBy
		heap.Push(&w.arrived, p)
	}
	w.serve(now)
}

// Pause stops all grants until the given time. If pauses overlap, the latest end counts. Callers that already have a
// slot may still send their requests.
func (w *Window) Pause(until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	// A date from a header has no monotonic reading. A step of the wall clock must not move the end of the pause.
	until = now.Add(until.Sub(now))
	if until.After(w.pausedUntil) {
		w.pausedUntil = until // if a timer runs, it now fires too early; then serve sets the timer again
	}
}

// serve grants the free slots to waiting callers, and sets the timer for the next slot. It may be called at any time:
// a timer that fires too early or too often does no harm.
func (w *Window) serve(now time.Time) {
	for w.waiters.Len() > 0 {
		p := w.grant(now)
		if p == nil {
			break
		}
		w.waiters.Pop() <- p
	}
	_, at, ok := w.next(now)
	switch {
	case w.waiters.Len() == 0 || !ok: // needs no timer: if all slots are granted, the next Sent or Done calls serve
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

// grant returns a permit of a free slot, or nil. A slot is free again when the window and the margin have passed since
// the arrival of its request.
func (w *Window) grant(now time.Time) *Permit {
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

// next returns the time at which the next slot is free, and the heap that holds the slot. For a slot without a request,
// the heap is nil. If every slot is granted, and no request has left yet, ok is false.
func (w *Window) next(now time.Time) (from *slots, at time.Time, ok bool) {
	if len(w.arrived) > 0 {
		from, at = &w.arrived, w.arrived[0].since.Add(w.window+w.margin)
	}
	if len(w.sent) > 0 {
		if then := w.sent[0].since.Add(w.window + w.transit.Longest(now)); from == nil || then.Before(at) {
			from, at = &w.sent, then
		}
	}
	// A free slot with an old permit comes first, because the next grant can reuse this permit.
	if w.unused > 0 && (from == nil || at.After(now)) {
		from, at = nil, now
	}
	if at.Before(w.pausedUntil) {
		at = w.pausedUntil
	}
	return from, at, from != nil || w.unused > 0
}

// slots is a heap of permits. The permit whose field since is earliest is in front.
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
