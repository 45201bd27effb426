// The promises of a RateLimiter.

package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// TestRateLimiter tests a RateLimiter. The function start must start a fleet for one case. The fleet's limiters must not
// have granted a slot before.
func TestRateLimiter(t *testing.T, start func(t *testing.T) Fleet[hotelstays.RateLimiter], opts *Options) {
	t.Helper()
	runAll(t, start, opts, limiterPromises, rest)
}

type limiterCase = run[hotelstays.RateLimiter]

func budget(op hotelstays.Operation) hotelstays.RateLimitKey {
	return hotelstays.RateLimitKey{BaseURL: "https://host.example", Operation: op}
}

var (
	limited   = budget(hotelstays.OpTicket) // the operation with the lowest rate limit
	elsewhere = hotelstays.RateLimitKey{BaseURL: "https://other.example", Operation: hotelstays.OpTicket}
)

const window = time.Second // the window in which the service counts requests

const (
	saysLimit   = "the service counts requests by endpoint and client IP address over a rolling second"
	saysUnsent  = "without a call of Sent no request was sent, and the slot is free immediately"
	saysAcquire = "Acquire waits for a slot, or returns an error that wraps ctx's when ctx ends"
	saysPause   = "after Pause, no caller gets a slot of key until the given time, even if it already waits; the longest pause counts"
	saysAtOnce  = "operations without a rate limit are granted immediately unless they are paused; their permit may be nil"
	saysBudgets = "each key needs its own budget, also those of OpTicket and OpOAuthToken"
)

var limiterPromises = []promise[hotelstays.RateLimiter]{
	{"as many slots are granted as the limit allows, and no more", saysLimit,
		"the number of slots, and op.RateLimit(); does Acquire count permits that are not done?", noMoreSlots},
	{"no more requests leave in a second than the limit", saysLimit,
		"when a slot is free again (a second after its request, not at Done), and whether a bucket refills", limitByDeparture},
	{"no more requests arrive in a second than the limit", saysLimit + "; PermitResult.ArrivedBy is when the request arrived",
		"Done: a slot is free a second after ArrivedBy or FirstByte, not after Sent", limitByArrival},
	{"the limit holds if a clock is set back", "a limiter that processes share must keep the limit if a server's clock is set back",
		"the times that the limiter stores: a time in the future is wrong", limitAfterSetBack},
	{"waiting callers use most of the limit", saysAcquire, "whether slots are lost, or callers are woken too late", limitIsUsed},
	{"every waiting caller gets a slot", saysAcquire, "how waiting callers are woken", everyCallerServed},
	{"the slot of a permit without Sent is free immediately", saysUnsent, "Done without Sent", unsentIsFree},
	{"a waiting caller gets the slot of a permit without Sent", saysUnsent,
		"Done without Sent: does it wake a caller, in every process?", unsentWakes},
	{"no slot is granted before the end of a pause", saysPause, "Pause: the times it compares, and slots that are free", pauseHolds},
	{"Pause delays callers that already wait", saysPause,
		"Acquire: does a caller that waits look at the pause again before it is granted a slot?", pauseHoldsWaiting},
	{"the longest pause delays the callers of every process", saysPause,
		"where Pause stores its time; does a shorter pause replace a longer one?", longestPause},
	{"Pause affects only its own key", saysPause, "the key of the pause", pauseOfOne},
	{"Pause delays an operation without a rate limit", saysPause, "Pause with op.RateLimit() == 0", pauseHoldsUnlimited},
	{"operations and environments have separate budgets", saysBudgets, "the key of the slots", separateBudgets},
	{"operations without a rate limit are granted immediately", saysAtOnce,
		"Acquire with op.RateLimit() == 0", unlimitedAtOnce},
	{"Acquire returns ctx's error when ctx ends", saysAcquire, "Acquire: does its wait end with ctx?", acquireReturns},
	{"Acquire with an ended ctx takes no slot", saysAcquire, "Acquire: does it look at ctx first, and release its slot?", endedTakesNone},
	{"a caller that gives up takes no slot", saysAcquire,
		"Acquire: a slot that is granted while ctx ends must go to the next caller", givenUpTakesNone},
	{"Sent and Done do not block", "Permit's methods must not block", "Sent and Done: they must not wait for a server", sentDoesNotBlock},
	{"the slots of a dead process become free", "a limiter that processes share must free the slots of a process that dies",
		"the lease of a granted slot", deadSlotsComeBack},
}

// acquire gets a permit of an operation with a rate limit. It fails the test if it gets no permit within a minute.
func acquire(c *limiterCase, l hotelstays.RateLimiter, key hotelstays.RateLimitKey) hotelstays.Permit {
	c.Helper()
	permit, err := acquireWithin(c, l, key, time.Minute)
	c.mustNot(err, "Acquire(%s), with a minute to wait,", key)
	if permit == nil {
		c.broken("Acquire(%s) returned a nil permit for an operation with a rate limit", key)
	}
	return permit
}

func acquireWithin(c *limiterCase, l hotelstays.RateLimiter, key hotelstays.RateLimitKey, d time.Duration) (hotelstays.Permit, error) {
	ctx, cancel := context.WithTimeout(c.Context(), d)
	defer cancel()
	return l.Acquire(ctx, hotelstays.RateLimitRequest{Key: key})
}

// tryAcquire acquires a slot and releases it without a request. If it gets no slot within d, it returns an error.
func tryAcquire(c *limiterCase, l hotelstays.RateLimiter, d time.Duration) error {
	permit, err := acquireWithin(c, l, limited, d)
	if err == nil {
		giveBack(permit)
	}
	return err
}

func acquireAll(c *limiterCase, l hotelstays.RateLimiter, key hotelstays.RateLimitKey) (permits []hotelstays.Permit) {
	c.Helper()
	for range key.Operation.RateLimit() {
		permits = append(permits, acquire(c, l, key))
	}
	return permits
}

// giveBack returns permits without a request: it calls Done, but not Sent.
func giveBack(permits ...hotelstays.Permit) {
	for _, permit := range permits {
		permit.Done(hotelstays.PermitResult{})
	}
}

// send uses a permit for a request whose answer comes immediately.
func send(permit hotelstays.Permit) {
	permit.Sent()
	now := time.Now()
	permit.Done(hotelstays.PermitResult{ArrivedBy: now, FirstByte: now})
}

// rest waits until both limiters have granted a slot and are idle again. A limiter whose server has just started may not
// grant its first slot immediately.
func rest(c *limiterCase) {
	c.Helper()
	giveBack(acquire(c, c.a, limited), acquire(c, c.b, limited))
	time.Sleep(window / 2) // time for all processes to learn that the slots are free
}

// grantedWithin calls f, which acquires slots. It fails the test if f takes so long that slots of earlier requests may
// have become free again.
func grantedWithin(c *limiterCase, what string, f func()) {
	c.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took >= window/2 && (c.bubble || took >= c.patience()) {
		c.broken("%s took %s", what, took)
	}
}

func noMoreSlots(c *limiterCase) {
	permits := acquireAll(c, c.a, limited)
	for _, l := range c.both {
		if tryAcquire(c, l, 2*window) == nil {
			c.broken("although all %d slots were in use, Acquire granted another slot", len(permits))
		}
	}
	giveBack(permits...)
}

func everyCallerServed(c *limiterCase) {
	callers := 3 * limited.Operation.RateLimit()
	err := atOnce(callers, func(i int) error {
		permit, err := acquireWithin(c, c.both[i%2], limited, time.Minute)
		if err == nil {
			send(permit)
		}
		return err
	})
	c.mustNot(err, "Acquire(%s), called by %d callers at the same time, with a minute to wait,", limited, callers)
}

func unsentIsFree(c *limiterCase) {
	for range 3 {
		giveBack(acquireAll(c, c.a, limited)...)
		time.Sleep(window / 4) // time for all processes to learn that the slots are free
		grantedWithin(c, "all slots, after they were given back by another process,", func() {
			giveBack(acquireAll(c, c.b, limited)...)
		})
		time.Sleep(window / 2)
	}
}

func unsentWakes(c *limiterCase) {
	for _, l := range c.both {
		permits := acquireAll(c, c.a, limited)
		got := make(chan error, 1)
		go func() { got <- tryAcquire(c, l, time.Minute) }()
		time.Sleep(window / 4)
		grantedWithin(c, "a slot for a caller that waits, after one was given back,", func() {
			giveBack(permits[0])
			c.mustNot(<-got, "Acquire(%s)", limited)
		})
		giveBack(permits[1:]...)
		time.Sleep(window / 2)
	}
}

// mustWait acquires a slot, and fails the test if Acquire grants it before the time until.
func mustWait(c *limiterCase, l hotelstays.RateLimiter, until time.Time) {
	c.Helper()
	permit := acquire(c, l, limited)
	early := time.Until(until)
	giveBack(permit)
	if early > 0 {
		c.broken("a slot was granted %s before the end of the pause", early)
	}
}

func pauseHolds(c *limiterCase) {
	for _, span := range []time.Duration{2 * window, window / 2, -time.Hour} {
		until := time.Now().Add(span)
		c.a.Pause(limited, until)
		mustWait(c, c.a, until)
		if late := time.Since(until); span > 0 && late > window+c.patience() {
			c.broken("the first slot was granted %s after the end of the pause", late)
		}
	}
}

func pauseHoldsWaiting(c *limiterCase) {
	permits := acquireAll(c, c.a, limited)
	grants := make(chan time.Time, len(permits))
	for range permits {
		go func() {
			permit, err := acquireWithin(c, c.a, limited, time.Minute)
			grants <- time.Now()
			if err == nil {
				giveBack(permit)
			}
		}()
	}
	time.Sleep(window / 4)
	until := time.Now().Add(2 * window)
	c.a.Pause(limited, until)
	giveBack(permits...)
	for range permits {
		if early := until.Sub(<-grants); early > 0 {
			c.broken("a caller that waited was granted a slot %s before the end of the pause", early)
		}
	}
}

func longestPause(c *limiterCase) {
	until := time.Now().Add(4 * window)
	c.a.Pause(limited, until)
	c.a.Pause(limited, time.Now().Add(window))
	c.a.Pause(limited, time.Now().Add(-time.Hour))
	time.Sleep(window) // time for all processes to learn of the pause
	c.b.Pause(limited, time.Now().Add(window/2))
	time.Sleep(window)
	mustWait(c, c.b, until.Add(-c.patience()/10)) // a little before until, because clocks may differ
}

func pauseOfOne(c *limiterCase) {
	others := []hotelstays.RateLimitKey{budget(hotelstays.OpBook), elsewhere}
	for _, key := range others { // the first grant for a key may take longer
		giveBack(acquire(c, c.a, key))
	}
	c.a.Pause(limited, time.Now().Add(20*window))
	c.a.Pause(budget(hotelstays.OpOAuthToken), time.Now().Add(20*window))
	time.Sleep(window / 2)
	for _, key := range others {
		grantedWithin(c, fmt.Sprintf("a slot of %s during a pause of %s", key, limited), func() { giveBack(acquire(c, c.a, key)) })
	}
}

func pauseHoldsUnlimited(c *limiterCase) {
	for _, op := range []hotelstays.Operation{hotelstays.OpOAuthToken, "of no method"} {
		until := time.Now().Add(2 * window)
		c.a.Pause(budget(op), until)
		permit, err := acquireWithin(c, c.a, budget(op), time.Minute)
		c.mustNot(err, "Acquire(%s), with a minute to wait,", op)
		if early := time.Until(until); early > 0 {
			c.broken("%s was granted %s before the end of its pause", op, early)
		}
		if permit != nil {
			giveBack(permit)
		}
	}
}

func separateBudgets(c *limiterCase) {
	others := []hotelstays.RateLimitKey{elsewhere, budget(hotelstays.OpBook), budget(hotelstays.OpCheckAvail),
		budget(hotelstays.OpCancel), budget(hotelstays.OpQueryOrders)}
	for _, key := range others { // the first grant for a key may take longer
		giveBack(acquire(c, c.a, key), acquire(c, c.b, key))
	}
	time.Sleep(window / 2)
	permits := acquireAll(c, c.a, limited)
	for _, key := range others {
		grantedWithin(c, fmt.Sprintf("all slots of %s while the slots of other keys are taken", key), func() {
			permits = append(permits, acquireAll(c, c.b, key)...)
		})
	}
	oauth := budget(hotelstays.OpOAuthToken)
	permit, err := acquireWithin(c, c.a, oauth, c.patience())
	c.mustNot(err, "Acquire(%s), with the slots of other operations taken,", oauth)
	if permit != nil {
		send(permit)
	}
	giveBack(permits...)
}

func unlimitedAtOnce(c *limiterCase) {
	grantedWithin(c, "permits of operations without a rate limit", func() {
		for range 200 {
			for _, op := range []hotelstays.Operation{hotelstays.OpOAuthToken, "of no method"} {
				permit, err := acquireWithin(c, c.a, budget(op), c.patience())
				c.mustNot(err, "Acquire(%s)", op)
				if permit != nil {
					send(permit)
				}
			}
		}
	})
}

func acquireReturns(c *limiterCase) {
	permits := acquireAll(c, c.a, limited)
	returns := func(want error, l hotelstays.RateLimiter, ctx context.Context) {
		var err error
		c.returnsWithin(window/2+c.patience(), "Acquire with a ctx that ends after half a second", func() {
			_, err = l.Acquire(ctx, hotelstays.RateLimitRequest{Key: limited})
		})
		if !errors.Is(err, want) {
			c.broken("Acquire returned the error %v when its ctx ended with %v", err, want)
		}
	}
	for _, l := range c.both {
		cancelled, cancel := context.WithCancel(c.Context())
		time.AfterFunc(window/2, cancel)
		returns(context.Canceled, l, cancelled)
		short, cancel := context.WithTimeout(c.Context(), window/2)
		returns(context.DeadlineExceeded, l, short)
		cancel()
	}
	giveBack(permits...)
}

func endedTakesNone(c *limiterCase) {
	ctx, cancel := context.WithCancel(c.Context())
	cancel()
	for range 2 * limited.Operation.RateLimit() {
		if _, err := c.a.Acquire(ctx, hotelstays.RateLimitRequest{Key: limited}); !errors.Is(err, context.Canceled) {
			c.broken("Acquire with a cancelled ctx returned the error %v", err)
		}
	}
	time.Sleep(window / 2)
	grantedWithin(c, "all slots, after calls with an ended ctx,", func() { giveBack(acquireAll(c, c.b, limited)...) })
}

func givenUpTakesNone(c *limiterCase) {
	permits := acquireAll(c, c.a, limited)
	given := make(chan struct{})
	go func() { // a slot becomes free at the moment when the callers give up
		defer close(given)
		time.Sleep(window / 2)
		giveBack(permits...)
	}()
	_ = atOnce(4*limited.Operation.RateLimit(), func(i int) error { return tryAcquire(c, c.both[i%2], window/2) })
	<-given
	time.Sleep(window)
	grantedWithin(c, "all slots, after callers that gave up,", func() { giveBack(acquireAll(c, c.b, limited)...) })
}

func sentDoesNotBlock(c *limiterCase) {
	permits := acquireAll(c, c.a, limited)
	if c.Freeze == nil {
		c.Log("not tested with a store that hangs, because Fleet.Freeze is nil")
	}
	c.freeze(c.a)
	for i, permit := range permits {
		if i > 0 {
			c.returnsWithin(c.patience(), "Sent", permit.Sent)
		}
		c.returnsWithin(c.patience(), "Done", func() { permit.Done(hotelstays.PermitResult{FirstByte: time.Now()}) })
	}
}

func deadSlotsComeBack(c *limiterCase) {
	if c.Freeze == nil {
		c.Log("this case was skipped because Fleet.Freeze is nil")
		return
	}
	permits := acquireAll(c, c.a, limited)
	thaw := c.freeze(c.a)
	giveBack(acquireAll(c, c.b, limited)...)
	thaw()
	giveBack(permits...)
}
