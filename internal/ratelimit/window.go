// Package ratelimit keeps callers below a ceiling of N requests in any rolling window.
//
// A token bucket cannot do that: a full bucket followed by its refill lets nearly 2N requests through one window.
// Remembering when the last N callers were let through cannot either: a caller may dial for a while before it
// sends, and late requests bunch up. So there are N slots, and a slot comes back one window after its request
// really left. Whatever happens between the grant and the send, N+1 requests never share a window.
package ratelimit

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Window is an exact rolling-window ceiling, first come first served. Every permit is followed by Sent or
// Done; until then its slot is out, which holds up nobody but those who need that very slot.
type Window struct {
	window time.Duration

	mu sync.Mutex
	// The slots that are not out, as a ring: the times from which each may be taken again, earliest first.
	// It stays sorted by itself, since Sent adds now+window at the end, and Done without it adds "always" at the front.
	back       []time.Time
	head, home int // the earliest slot, and how many there are
	paused     time.Time
	waiters    list.List   // of chan struct{}, closed when granted; the longest waiting in front
	pool       []*Permit   // that are not in use
	timer      *time.Timer // runs only while somebody waits for a slot whose time is known
}

// Permit is a granted slot: Sent at most once, then Done exactly once.
type Permit struct {
	w          *Window
	out, spent bool // it was granted and is not done; its request left
}

// Result is what is known of a request once its attempt is over.
type Result struct {
	ArrivedBy   time.Time // it had arrived by then; zero: not known
	FirstByte   time.Time // of its answer; zero: there was none
	RateLimited bool      // its answer was a 429
}

// NewWindow returns a rate limit of n requests per window. The service sees requests arrive, not leave, so a
// margin for the jitter of the way there is added to its window.
func NewWindow(n int, window, margin time.Duration) *Window {
	return &Window{window: window + margin, back: make([]time.Time, n), home: n} // zero times: all can be taken
}

// Acquire waits for a slot. When ctx ends first it returns ctx's error, and no slot is used up.
func (w *Window) Acquire(ctx context.Context) (*Permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	now := time.Now()
	if w.waiters.Len() == 0 && w.take(now) {
		defer w.mu.Unlock()
		return w.permit(), nil
	}
	granted := make(chan struct{})
	me := w.waiters.PushBack(granted)
	w.serve(now)
	w.mu.Unlock()

	var ended <-chan struct{} = ctx.Done()
	select {
	case <-granted:
		ended = nil
	case <-ended:
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	if ended == nil {
		return w.permit(), nil
	}
	select {
	case <-granted: // at the same moment: the slot goes to the next in line
		w.putFront()
	default:
		w.waiters.Remove(me)
	}
	w.serve(time.Now())
	return nil, ctx.Err()
}

func (w *Window) permit() *Permit {
	if len(w.pool) == 0 {
		return &Permit{w: w, out: true}
	}
	last := len(w.pool) - 1
	p := w.pool[last]
	w.pool = w.pool[:last]
	p.out, p.spent = true, false
	return p
}

// Sent says that the request leaves now. The slot comes back one window later.
func (p *Permit) Sent() {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if !p.out || p.spent {
		panic("ratelimit: Sent without a granted slot")
	}
	p.spent = true
	now := time.Now() // read under the lock, or the ring would not be sorted
	w.putBack(now.Add(w.window))
	w.serve(now)
}

// Done says that the attempt is over. Without Sent the slot is back at once.
func (p *Permit) Done(Result) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if !p.out {
		panic("ratelimit: Done without a granted slot")
	}
	p.out = false
	w.pool = append(w.pool, p)
	if !p.spent {
		w.putFront()
		w.serve(time.Now())
	}
}

// Pause lets nobody through before until. Of several pauses the longest counts. Slots that are out stay out.
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
	for w.waiters.Len() > 0 && w.take(now) {
		close(w.waiters.Remove(w.waiters.Front()).(chan struct{}))
	}
	switch {
	case w.waiters.Len() == 0 || w.home == 0: // nobody to wake, or all slots are out: Sent or Done will come
		if w.timer != nil {
			w.timer.Stop()
		}
	case w.timer == nil:
		w.timer = time.AfterFunc(w.opens().Sub(now), w.tick)
	default:
		w.timer.Reset(w.opens().Sub(now))
	}
}

func (w *Window) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serve(time.Now())
}

// opens returns the time from which the earliest slot can be granted. There must be one.
func (w *Window) opens() time.Time {
	if at := w.back[w.head]; at.After(w.paused) {
		return at
	}
	return w.paused
}

// take takes the earliest slot if it can be granted now. A request exactly one window after another is allowed.
func (w *Window) take(now time.Time) bool {
	if w.home == 0 || w.opens().After(now) {
		return false
	}
	w.head = (w.head + 1) % len(w.back)
	w.home--
	return true
}

// putBack returns a slot that can be taken from at on, no earlier than any other.
func (w *Window) putBack(at time.Time) {
	w.mustBeOut()
	w.back[(w.head+w.home)%len(w.back)] = at
	w.home++
}

// putFront returns a slot that can be taken at once.
func (w *Window) putFront() {
	w.mustBeOut()
	w.head = (w.head + len(w.back) - 1) % len(w.back)
	w.back[w.head] = time.Time{}
	w.home++
}

// mustBeOut panics when all slots are home: one given back twice would silently raise the ceiling.
func (w *Window) mustBeOut() {
	if w.home == len(w.back) {
		panic("ratelimit: Sent or Done without a granted slot")
	}
}
