// The estimate of how long requests take to arrive.

package pacing

import "time"

// PermitResult says when the request arrived at the service, as far as the answer proves it. It is zero if there was no
// answer.
type PermitResult struct {
	// ArrivedBy is the latest time at which the request can have arrived. The client subtracts the header
	// Server-Cost-Milliseconds from FirstByte. The client subtracts one millisecond less than the header says, because the
	// service may round the header up. Zero means unknown.
	ArrivedBy time.Time
	// FirstByte is when the answer began. If ArrivedBy is unknown, FirstByte proves only that the request had arrived by
	// this time.
	FirstByte   time.Time
	RateLimited bool // the answer was a 429; the client then also calls RateLimiter.Pause
}

// Transit estimates when a request has arrived, from the answers of this minute and of the minute before. Set
// Window, Margin and Enough before use. For each answer call Learn, set Last429 if it is a 429, and then call
// ArrivedBy. It is not safe for concurrent use.
type Transit struct {
	Window time.Duration // the time over which the service counts requests
	Margin time.Duration // the service may count a request this long after its arrival; a limiter must wait for Window plus Margin
	// Enough is a number of answers. Transit relies on the longest proved transit only if at least this many answers of the
	// minute before have proved when their request arrived. Use ten times the rate limit. If Enough is 0, Transit never
	// relies on the longest proved transit.
	Enough  int
	Last429 time.Time // time of the last 429, which proves that an estimate was wrong; zero before the first 429

	began      time.Time
	this, last minute
}

type minute struct {
	longest   time.Duration // the longest transit that an answer of this minute proved
	proofs    int           // number of answers that prove when their request had arrived
	proofless int           // number of the other answers
}

// Learn adds the answer to a request. The parameter left is when the request was sent.
func (t *Transit) Learn(left time.Time, r PermitResult, now time.Time) {
	t.roll(now)
	switch {
	case !r.ArrivedBy.IsZero():
		t.this.proofs++
		t.this.longest = max(t.this.longest, r.ArrivedBy.Sub(left))
	case !r.FirstByte.IsZero():
		t.this.proofless++
	}
}

// ArrivedBy returns the time by which a request has arrived, and whether the answer proves this time. The parameter
// left is when the request was sent. The returned time is r.ArrivedBy. If r.ArrivedBy is zero, the returned time is an
// estimate, which the answer to a later request may prove wrong. After a recent 429 the returned time may be later than
// r.ArrivedBy. The returned time is never after the first byte of the answer.
func (t *Transit) ArrivedBy(left time.Time, r PermitResult, now time.Time) (by time.Time, known bool) {
	by, known = r.ArrivedBy, !r.ArrivedBy.IsZero()
	if !known {
		by = left.Add(t.Longest(now) - t.Margin)
	} else if soonest := left.Add(t.distrust(now)); by.Before(soonest) {
		by = soonest
	}
	if !r.FirstByte.IsZero() && r.FirstByte.Before(by) {
		by, known = r.FirstByte, true
	}
	if by.Before(left) { // Server-Cost-Milliseconds can exceed the round trip, but no request arrives before it leaves
		by = left
	}
	return by, known
}

// Longest returns how long a request without an answer counts as in transit.
func (t *Transit) Longest(now time.Time) time.Duration {
	t.roll(now)
	return max(t.Margin, t.distrust(now), min(t.proved(), 5*t.Window))
}

// distrust returns the minimum transit time of a request after a 429, because the 429 has proved an estimate wrong. The
// minimum is one window in the first minute after the 429, and halves with each further minute.
func (t *Transit) distrust(now time.Time) time.Duration {
	if t.Last429.IsZero() {
		return 0
	}
	return t.Window >> (now.Sub(t.Last429) / time.Minute)
}

// proved returns how long a request may be in transit: 1.25 times the longest transit that an earlier answer proved. If
// fewer than Enough answers of the minute before prove a transit, the result is at least one window, because requests
// of a burst are slower. If answers came, but no answer proves a transit, the result is 0. With a result of one window,
// each slot would stay in use for up to one window longer.
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

// roll starts a new minute if the current minute is over. It keeps the data of the minute before, and drops older data.
func (t *Transit) roll(now time.Time) {
	switch age := now.Sub(t.began); {
	case age >= 2*time.Minute:
		t.began, t.this, t.last = now, minute{}, minute{}
	case age >= time.Minute:
		t.began, t.this, t.last = t.began.Add(time.Minute), minute{}, t.this
	}
}
