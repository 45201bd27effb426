// Rate limits per operation and client IP address, over an exact rolling second.

package hotelstaystest

import (
	"sort"
	"sync"
	"time"
)

const window = time.Second

type rateLimiter struct {
	mu   sync.Mutex
	logs map[rateLimitKey]callLog
}

type rateLimitKey struct {
	op     Operation
	client string
}

// callLog holds the times of allowed calls, oldest first.
type callLog []time.Time

func (c *rateLimiter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logs = nil
}

// arrive counts a call, and returns its time and how many more calls are allowed now. If the number of calls counted in
// the last second has reached limit, arrive refuses the call, does not count it, and returns -1. A call that is exactly one
// second old does not count any more.
func (c *rateLimiter) arrive(op Operation, client string, limit int) (now time.Time, remaining int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now = time.Now() // the clock is read under the lock, so that the times in a log are sorted
	key := rateLimitKey{op, client}
	if c.logs == nil {
		c.logs = map[rateLimitKey]callLog{}
	}
	log := c.logs[key].since(now)
	if len(log) >= limit {
		return now, -1
	}
	c.logs[key] = append(log, now)
	return now, limit - len(log) - 1
}

// since returns the calls in the second before now.
func (l callLog) since(now time.Time) callLog {
	return l[sort.Search(len(l), func(i int) bool { return now.Sub(l[i]) < window }):]
}
