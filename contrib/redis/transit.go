// How long requests travel, as far as their answers say.

package hotelstaysredis

import (
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// transit is what the answers of this minute and of the one before say.
type transit struct {
	began      time.Time
	this, last minute
}

type minute struct {
	longest   time.Duration // of the arrivals that are proved
	proofs    int           // answers that prove one
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

func (t *transit) learn(sent time.Time, r hotelstays.PermitResult, now time.Time) {
	t.at(now)
	switch {
	case !r.ArrivedBy.IsZero():
		t.this.proofs++
		t.this.longest = max(t.this.longest, r.ArrivedBy.Sub(sent))
	case !r.FirstByte.IsZero():
		t.this.proofless++
	}
}

// longest is how long a request may travel: a quarter more than the longest that was proved
// in a busy minute, one with as many proofs as busy; at least a window otherwise, because
// requests may have been faster than those of a burst that follows; and nothing where answers
// prove nothing.
func (t *transit) longest(busy int, now time.Time) time.Duration {
	t.at(now)
	longest := max(t.this.longest, t.last.longest)
	longest = min(longest+longest/4, 5*window)
	switch {
	case t.last.proofs >= busy:
		return longest
	case t.this.proofs+t.last.proofs == 0 && t.this.proofless+t.last.proofless > 0:
		return 0
	}
	return max(longest, window)
}
