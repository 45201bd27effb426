// The order in which waiting callers are served.

package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// TestFairRateLimiter tests that accounts take turns if they wait for the same rate limit. It also tests that calls of
// higher priority go first. It tests both rules in one process and in several processes. A RateLimiter need not be fair,
// so TestRateLimiter does not test these rules.
func TestFairRateLimiter(t *testing.T, start func(t *testing.T) Fleet[hotelstays.RateLimiter], opts *Options) {
	t.Helper()
	runAll(t, start, opts, fairPromises, rest)
}

const (
	saysTurns    = "accounts that wait for one budget take turns"
	saysPriority = "calls of one priority are served before those of the next, but each priority gets at least a tenth of the slots"
)

var fairPromises = []promise[hotelstays.RateLimiter]{
	{"an account with many calls delays only itself", saysTurns, "Acquire: who is next, by RateLimitRequest.Account", func(c *limiterCase) {
		lastServedAmong(c, 2*limited.Operation.RateLimit(), 30, caller("loud", 0), caller("quiet", 0))
	}},
	{"a call of higher priority goes first", saysPriority, "Acquire: who is next, by RateLimitRequest.Priority", func(c *limiterCase) {
		lastServedAmong(c, limited.Operation.RateLimit(), 30, caller("one", hotelstays.PriorityBackground),
			caller("one", hotelstays.PriorityInteractive))
	}},
	{"no priority starves", saysPriority, "Acquire: calls of low priority while urgent ones wait", func(c *limiterCase) {
		lastServedAmong(c, 20, 40, caller("one", hotelstays.PriorityInteractive), caller("one", hotelstays.PriorityBackground))
	}},
}

func caller(account string, priority hotelstays.Priority) hotelstays.RateLimitRequest {
	return hotelstays.RateLimitRequest{Key: limited, Account: account, Priority: priority}
}

// lastServedAmong first lets several callers wait, each with the request other. The parameter others is their number. Then
// it lets a last caller wait with the request last. It fails the test unless the limiter serves the last caller among the
// first n callers. It does this once with all callers in one process, and once with the last caller in another process.
func lastServedAmong(c *limiterCase, n, others int, other, last hotelstays.RateLimitRequest) {
	c.Helper()
	for _, l := range c.both {
		lastOfServedAmong(c, l, n, others, other, last)
		time.Sleep(2 * window)
	}
}

func lastOfServedAmong(c *limiterCase, l hotelstays.RateLimiter, n, others int, other, last hotelstays.RateLimitRequest) {
	c.Helper()
	permits := acquireAll(c, c.a, limited)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	var before atomic.Int32
	wait := func(l hotelstays.RateLimiter, req hotelstays.RateLimitRequest, served func()) {
		wg.Go(func() {
			if permit, err := l.Acquire(ctx, req); err == nil {
				served()
				send(permit)
			}
		})
	}
	for range others {
		wait(c.a, other, func() { before.Add(1) })
	}
	time.Sleep(window / 4) // time for the callers to begin their wait
	served := make(chan int32, 1)
	wait(l, last, func() { served <- before.Load() })
	time.Sleep(window / 4)
	giveBack(permits...)
	select {
	case i := <-served:
		if int(i) >= n {
			c.broken("the last caller was served after %d others instead of at most %d", i, n-1)
		}
	case <-ctx.Done():
		c.broken("the last caller was not served within a minute")
	}
}
