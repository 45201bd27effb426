// Rate limits per operation and client address, over an exact rolling second.

package hotelstaystest

import (
	"sort"
	"sync"
	"time"
)

const window = time.Second

// maxClients is the number of logs above which idle ones are dropped.
const maxClients = 4096

type rateLimiter struct {
	mu   sync.Mutex
	logs map[rateLimitKey]*callLog
}

type rateLimitKey struct {
	op     Operation
	client string
}

// callLog is a ring of the times of the last counted calls. Its length is the limit.
type callLog struct {
	times []time.Time
	next  int
}

type verdict struct {
	at        time.Time
	allowed   bool
	limit     int
	remaining int
	wait      time.Duration // until the next call is allowed
}

func newRateLimiter() *rateLimiter { return &rateLimiter{logs: map[rateLimitKey]*callLog{}} }

func (c *rateLimiter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.logs)
}

// arrive counts a call, or refuses it when limit calls were counted in the last second.
// A call exactly one second after the first of them is allowed. Refused calls do not
// count.
func (c *rateLimiter) arrive(op Operation, client string, limit int) verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now() // under the lock, so that a log stays in order of time
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

// free counts the free slots at now. From next on the ring is in order of time, unused
// slots first.
func (l *callLog) free(now time.Time) int {
	return sort.Search(len(l.times), func(i int) bool { return within(l.times[(l.next+i)%len(l.times)], now) })
}

// within reports whether a call at t still counts at now.
func within(t, now time.Time) bool { return !t.IsZero() && now.Sub(t) < window }

// dropIdle deletes idle logs once there are many.
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
