// How long requests travel, as their answers prove it.

package hotelstaysredis

import (
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// transit holds what the answers of this minute and of the one before proved.
type transit struct {
	began      time.Time
	this, last minute
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
		*t = transit{began: now}
	case age >= time.Minute:
		*t = transit{began: t.began.Add(time.Minute), last: t.this}
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

// longest is how long a request may travel. After a busy minute, one with at least busy
// proofs, it is a quarter more than the longest proved time. Otherwise it is at least a
// window, because a burst may be slower than what was seen. If answers prove nothing, it
// is 0.
func (t *transit) longest(busy int, now time.Time) time.Duration {
	t.rotate(now)
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
