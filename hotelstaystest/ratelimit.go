// The rate limits: per operation and client address, over an exact rolling window of
// one second.

package hotelstaystest

import (
	"sort"
	"sync"
	"time"
)

// window is the length of the rolling window.
const window = time.Second

// maxClients bounds how many clients are remembered before idle ones are dropped.
const maxClients = 4096

// rateLimiter counts calls per operation and client address.
type rateLimiter struct {
	mu   sync.Mutex
	logs map[rateLimitKey]*callLog
}

type rateLimitKey struct {
	op     Operation
	client string
}

// callLog is a ring of the times of the last counted calls, with one slot per allowed
// call.
type callLog struct {
	times []time.Time
	next  int
}

// verdict is the decision about one call.
type verdict struct {
	at        time.Time // when the call was counted
	allowed   bool
	limit     int
	remaining int
	wait      time.Duration // until the next call would be allowed
}

func newRateLimiter() *rateLimiter { return &rateLimiter{logs: map[rateLimitKey]*callLog{}} }

// arrive counts a call. A call is refused when limit calls were counted within the
// second before it; one exactly a second after the first is allowed again. A
// refused call is not counted.
func (c *rateLimiter) arrive(op Operation, client string, limit int) verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now() // under the lock: times in a log never go back
	key := rateLimitKey{op, client}
	log := c.logs[key]
	if log == nil || len(log.times) != limit {
		c.dropIdle(now)
		log = &callLog{times: make([]time.Time, limit)}
		c.logs[key] = log
	}
	if oldest := log.times[log.next]; within(oldest, now) {
		return verdict{at: now, limit: limit, wait: window - now.Sub(oldest)}
	}
	log.times[log.next] = now
	log.next = (log.next + 1) % limit
	return verdict{at: now, allowed: true, limit: limit, remaining: log.free(now)}
}

// free counts the slots that a call at now could use. The ring is in order of time
// from next on, unused slots first.
func (l *callLog) free(now time.Time) int {
	return sort.Search(len(l.times), func(i int) bool { return within(l.times[(l.next+i)%len(l.times)], now) })
}

// within says whether a call at t still counts at now.
func within(t, now time.Time) bool { return !t.IsZero() && now.Sub(t) < window }

// dropIdle forgets the logs in which nothing counts any more, once there are many.
func (c *rateLimiter) dropIdle(now time.Time) {
	if len(c.logs) < maxClients {
		return
	}
	for key, log := range c.logs {
		if log.free(now) == len(log.times) {
			delete(c.logs, key)
		}
	}
}
