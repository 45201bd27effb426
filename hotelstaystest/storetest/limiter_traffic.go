// Limiters under more calls than the limit allows.

package storetest

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// traffic records when the requests of a case left and arrived.
type traffic struct {
	mu             sync.Mutex
	left, arrived  []time.Time
	begin          time.Time
	slots          int
	unansweredPart float64       // share of requests whose answer does not prove when they arrived
	travel         time.Duration // longest time from a request's departure to its arrival
	late           bool          // whether a request took longer than travel, because the machine was too slow
}

// busiest returns the largest number of times in one window. Two times that are exactly one window apart are in different
// windows.
func busiest(times []time.Time) int {
	slices.SortFunc(times, time.Time.Compare)
	most, from := 0, 0
	for to := range times {
		for times[to].Sub(times[from]) >= window {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

func drive(c *limiterCase, traffic *traffic) {
	c.Helper()
	span := 10 * time.Second
	if !c.bubble {
		span = 4 * time.Second
	}
	ctx, cancel := context.WithTimeout(c.Context(), span)
	defer cancel()
	traffic.begin = time.Now()
	err := atOnce(16, func(caller int) error {
		for ctx.Err() == nil {
			permit, err := c.both[caller%2].Acquire(ctx, hotelstays.RateLimitRequest{Key: limited})
			switch {
			case err == nil:
				traffic.send(permit)
			case ctx.Err() == nil:
				return err
			}
		}
		return nil
	})
	c.mustNot(err, "Acquire(%s)", limited)
	traffic.slots = int(span.Seconds() * float64(limited.Operation.RateLimit()))
}

// send sends one request, but in one of ten calls it returns the permit without a request.
func (t *traffic) send(permit hotelstays.Permit) {
	if rand.IntN(10) == 0 {
		giveBack(permit)
		return
	}
	time.Sleep(rand.N(window / 20)) // simulates the time of a dial
	left := time.Now()
	permit.Sent()
	time.Sleep(rand.N(t.travel + 1))
	arrived := time.Now()
	t.mu.Lock()
	t.left, t.arrived = append(t.left, left), append(t.arrived, arrived)
	t.late = t.late || arrived.Sub(left) > window*9/10
	t.mu.Unlock()
	if rand.Float64() < t.unansweredPart {
		permit.Done(hotelstays.PermitResult{})
	} else {
		permit.Done(hotelstays.PermitResult{ArrivedBy: arrived, FirstByte: arrived})
	}
}

func mustKeepLimit(c *limiterCase, left []time.Time) {
	c.Helper()
	if most := busiest(left); most > limited.Operation.RateLimit() {
		c.broken("%d requests left in one second, and the limit is %d", most, limited.Operation.RateLimit())
	}
}

func limitByDeparture(c *limiterCase) {
	traffic := traffic{unansweredPart: 0.5}
	drive(c, &traffic)
	mustKeepLimit(c, traffic.left)
}

// limitByArrival tests that no more requests than the limit arrive in one window. It repeats a test in which a
// request took about a second, because a limiter may assume that a request arrives within a second.
func limitByArrival(c *limiterCase) {
	for range 5 {
		traffic := traffic{travel: window * 6 / 10}
		drive(c, &traffic)
		most := busiest(traffic.arrived)
		if most <= limited.Operation.RateLimit() {
			return
		}
		if !traffic.late {
			c.broken("%d requests arrived in one second, and the limit is %d", most, limited.Operation.RateLimit())
		}
	}
	c.Log("this case was skipped because the machine was too slow in five attempts")
}

func limitAfterSetBack(c *limiterCase) {
	if c.SetBack == nil {
		c.Log("this case was skipped because Fleet.SetBack is nil")
		return
	}
	var traffic traffic
	setBack := time.AfterFunc(3*window, func() { c.SetBack(24 * time.Hour) })
	defer setBack.Stop()
	drive(c, &traffic)
	mustKeepLimit(c, traffic.left)
	giveBack(acquire(c, c.Open(), limited))
}

func limitIsUsed(c *limiterCase) {
	var traffic traffic
	drive(c, &traffic)
	if len(traffic.left) < traffic.slots/2 && c.bubble || len(traffic.left) < limited.Operation.RateLimit() {
		c.broken("%d requests left in %s, and the limit allows %d", len(traffic.left), time.Since(traffic.begin), traffic.slots)
	}
}
