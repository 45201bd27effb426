// How long requests are in transit, estimated from their answers.

package pacing

import (
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// Transit estimates by when a request has arrived, from what the answers of this minute and of the one before
// prove. Set Window, Margin and Enough before use. For each answer call Learn, set Last429 if it is a 429, and
// then call ArrivedBy. It is not safe for concurrent use.
type Transit struct {
	Window time.Duration // over which the service counts
	Margin time.Duration // the service may count a request that much after its arrival; add it to the Window yourself
	// Enough is how many answers in a minute must prove their arrival before the longest of them is believed:
	// ten times the limit. With 0 none is.
	Enough  int
	Last429 time.Time // when a 429 proved the estimates wrong; zero: never

	began      time.Time
	this, last minute
}

type minute struct {
	longest   time.Duration // proved transit
	proofs    int           // answers that prove an arrival
	proofless int           // answers that do not
}

// Learn takes the answer to a request.
func (t *Transit) Learn(left time.Time, r types.PermitResult, now time.Time) {
	t.roll(now)
	switch {
	case !r.ArrivedBy.IsZero():
		t.this.proofs++
		t.this.longest = max(t.this.longest, r.ArrivedBy.Sub(left))
	case !r.FirstByte.IsZero():
		t.this.proofless++
	}
}

// ArrivedBy returns the time by which a request that left has arrived, and whether the answer proves it. It is
// the time that the answer names, but not sooner than a 429 lets us believe, and not later than the answer's first
// byte. If nothing proves it, the time is an estimate, which an answer of a later request may prove wrong.
func (t *Transit) ArrivedBy(left time.Time, r types.PermitResult, now time.Time) (by time.Time, known bool) {
	by, known = r.ArrivedBy, !r.ArrivedBy.IsZero()
	if !known {
		by = left.Add(t.Longest(now) - t.Margin)
	} else if soonest := left.Add(t.distrust(now)); by.Before(soonest) {
		by = soonest
	}
	if !r.FirstByte.IsZero() && r.FirstByte.Before(by) {
		by, known = r.FirstByte, true
	}
	if by.Before(left) { // the service's cost can exceed the round trip
		by = left
	}
	return by, known
}

// Longest is how long a request without an answer counts as in transit.
func (t *Transit) Longest(now time.Time) time.Duration {
	t.roll(now)
	return max(t.Margin, t.distrust(now), min(t.proved(), 5*t.Window))
}

// distrust is how long a request counts as in transit whatever its answer says, because a
// 429 proves an estimate wrong: one window in the first minute after it, then half as long
// with each minute.
func (t *Transit) distrust(now time.Time) time.Duration {
	if t.Last429.IsZero() {
		return 0
	}
	return t.Window >> (now.Sub(t.Last429) / time.Minute)
}

// proved is how long a request may be in transit: the longest proved transit and a
// quarter. Unless the last minute had enough proofs, it is at
// least a window, because requests of a burst are slower. If answers prove nothing it is 0,
// or callers would wait a window for each of them.
func (t *Transit) proved() time.Duration {
	longest := max(t.this.longest, t.last.longest)
	longest += longest / 4
	switch {
	case t.Enough > 0 && t.last.proofs >= t.Enough:
		return longest
	case t.this.proofs+t.last.proofs == 0 && t.this.proofless+t.last.proofless > 0:
		return 0
	}
	return max(longest, t.Window)
}

// roll drops what is older than a minute before this one.
func (t *Transit) roll(now time.Time) {
	switch age := now.Sub(t.began); {
	case age >= 2*time.Minute:
		t.began, t.this, t.last = now, minute{}, minute{}
	case age >= time.Minute:
		t.began, t.this, t.last = t.began.Add(time.Minute), minute{}, t.this
	}
}
