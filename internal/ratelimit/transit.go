// How long requests are in transit, estimated from their answers.

package ratelimit

import (
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// arrival is the time by which a request that left has arrived, and whether the answer
// proves it: the time that the answer names, but not sooner than a 429 lets us believe,
// and not later than the answer's first byte.
func (w *Window) arrival(left time.Time, r types.PermitResult, now time.Time) (by time.Time, known bool) {
	by, known = r.ArrivedBy, !r.ArrivedBy.IsZero()
	if !known {
		by = left.Add(w.transitTime(now) - w.margin)
	} else if soonest := left.Add(w.distrust(now)); by.Before(soonest) {
		by = soonest
	}
	if !r.FirstByte.IsZero() && r.FirstByte.Before(by) {
		by, known = r.FirstByte, true
	}
	return by, known
}

// transitTime is how long a request without an answer counts as in transit.
func (w *Window) transitTime(now time.Time) time.Duration {
	w.transit.roll(now)
	return max(w.margin, w.distrust(now), min(w.transit.longest(w.n, w.window), 5*w.window))
}

// distrust is how long a request counts as in transit whatever its answer says, because a
// 429 proves an estimate wrong: one window in the first minute after it, then half as long
// with each minute.
func (w *Window) distrust(now time.Time) time.Duration {
	if w.last429.IsZero() {
		return 0
	}
	return w.window >> (now.Sub(w.last429) / time.Minute)
}

// transit holds what the answers of this minute and of the one before say.
type transit struct {
	began      time.Time
	this, last minute
}

type minute struct {
	longest   time.Duration // proved transit
	proofs    int           // answers that prove an arrival
	proofless int           // answers that do not
}

// roll drops what is older than a minute before this one.
func (t *transit) roll(now time.Time) {
	switch age := now.Sub(t.began); {
	case age >= 2*time.Minute:
		*t = transit{began: now}
	case age >= time.Minute:
		*t = transit{began: t.began.Add(time.Minute), last: t.this}
	}
}

func (t *transit) learn(left time.Time, r types.PermitResult, now time.Time) {
	t.roll(now)
	switch {
	case !r.ArrivedBy.IsZero():
		t.this.proofs++
		t.this.longest = max(t.this.longest, r.ArrivedBy.Sub(left))
	case !r.FirstByte.IsZero():
		t.this.proofless++
	}
}

// longest is how long a request may be in transit: the longest proved transit and a
// quarter. Unless the last minute was busy, with the requests of ten windows, it is at
// least a window, because requests of a burst are slower. If answers prove nothing it is 0,
// or callers would wait a window for each of them.
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
