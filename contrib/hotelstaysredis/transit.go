// How long requests travel, as their answers prove it.

package hotelstaysredis

import (
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// transit holds what the answers of this minute and of the one before proved.
type transit struct {
	margin       time.Duration
	enoughProofs int       // in a minute, to believe them
	refused      time.Time // the last 429, in any process
	began        time.Time // this minute
	this, last   minute
}

type minute struct {
	longest   time.Duration // of the proved arrivals
	proofs    int           // answers that prove an arrival
	proofless int           // answers that do not
}

// rotate drops what is too old.
func (t *transit) rotate(now time.Time) {
	switch age := now.Sub(t.began); {
	case age >= 2*time.Minute:
		t.began, t.this, t.last = now, minute{}, minute{}
	case age >= time.Minute:
		t.began, t.this, t.last = t.began.Add(time.Minute), minute{}, t.this
	}
}

func (t *transit) learn(sent time.Time, r hotelstays.PermitResult, now time.Time) {
	t.rotate(now)
	switch {
	case !r.ArrivedBy.IsZero():
		t.this.proofs++
		t.this.longest = max(t.this.longest, r.ArrivedBy.Sub(sent))
	case !r.FirstByte.IsZero():
		t.this.proofless++
	}
}

// arrivedBy returns the latest time at which a request arrived. It is known if the answer
// proves it, and an estimate otherwise.
func (t *transit) arrivedBy(sent time.Time, r hotelstays.PermitResult, now time.Time) (by time.Time, known bool) {
	by, known = r.ArrivedBy, !r.ArrivedBy.IsZero()
	if known {
		by = later(by, sent.Add(t.leastTravel(now)))
	} else {
		by = sent.Add(t.travelTime(now) - t.margin)
	}
	if !r.FirstByte.IsZero() && r.FirstByte.Before(by) {
		by, known = r.FirstByte, true
	}
	return later(by, sent), known // the service's cost can exceed the round trip
}

// travelTime is how long a request counts as under way while no answer proves otherwise.
func (t *transit) travelTime(now time.Time) time.Duration {
	return max(t.margin, t.leastTravel(now), t.mostTravel(now))
}

// leastTravel is how long a request counts as under way even if its answer says otherwise,
// because a 429 proved the answers wrong: one window in the first minute after it, half as
// long with each further minute.
func (t *transit) leastTravel(now time.Time) time.Duration {
	if t.refused.IsZero() {
		return 0
	}
	return window >> (now.Sub(t.refused) / time.Minute)
}

// mostTravel is how long a request may travel. After a minute with enough proofs it is a quarter more than
// the longest proved time. Otherwise it is at least a window, because a burst may be slower
// than what was seen. If answers prove nothing, it is 0.
func (t *transit) mostTravel(now time.Time) time.Duration {
	t.rotate(now)
	longest := max(t.this.longest, t.last.longest)
	longest = min(longest+longest/4, 5*window)
	switch {
	case t.last.proofs >= t.enoughProofs:
		return longest
	case t.this.proofs+t.last.proofs == 0 && t.this.proofless+t.last.proofless > 0:
		return 0
	}
	return max(longest, window)
}
