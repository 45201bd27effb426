package hotelstaysredis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// road is a service and the way to it. It counts arrivals over an exact rolling second, and
// refuses those above the limit.
type road struct {
	op          hotelstays.Operation
	header      bool          // answers carry Server-Cost-Milliseconds
	near, far   time.Duration // one way, at least and at most
	quick, slow time.Duration // until the answer, at least and at most

	mu       sync.Mutex
	arrivals departures  // of requests that were not refused
	refused  []time.Time // when the others left
	known    time.Time   // when the first 429 was known
}

// span returns a random duration.
func span(from, to time.Duration) time.Duration { return from + rand.N(to-from+1) }

// send sends one request and receives its answer.
func (r *road) send(p *process, permit hotelstays.Permit) {
	permit.Sent()
	left := time.Now()
	time.Sleep(span(r.near, r.far))
	arrived := time.Now()
	r.mu.Lock()
	recent := 0
	for i := len(r.arrivals.times) - 1; i >= 0 && arrived.Sub(r.arrivals.times[i]) < window; i-- {
		recent++
	}
	limited := recent >= r.op.RateLimit()
	if limited {
		r.refused = append(r.refused, left)
	} else {
		r.arrivals.add()
	}
	r.mu.Unlock()
	if !limited {
		time.Sleep(span(r.quick, r.slow))
	}
	cost := time.Since(arrived).Truncate(ms)
	time.Sleep(span(r.near, r.far))
	result := hotelstays.PermitResult{FirstByte: time.Now(), RateLimited: limited}
	if r.header {
		result.ArrivedBy = result.FirstByte.Add(-cost)
	}
	permit.Done(result)
	if limited {
		r.mu.Lock()
		if r.known.IsZero() {
			r.known = time.Now()
		}
		r.mu.Unlock()
		p.Pause(budget(r.op), time.Now().Add(time.Second))
	}
}

// drive lets the callers of every process send one request after another.
func (r *road) drive(t *testing.T, fleet []*process, callers int, duration time.Duration) {
	end, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	var wg sync.WaitGroup
	for _, p := range fleet {
		for range callers {
			wg.Go(func() {
				for {
					permit, err := p.Acquire(end, budget(r.op))
					if err != nil {
						return
					}
					r.send(p, permit)
				}
			})
		}
	}
	wg.Wait()
}

// fourProcesses runs a test with a fleet whose first rest is over.
func fourProcesses(t *testing.T, op hotelstays.Operation, test func(t *testing.T, fleet []*process)) {
	withMini(t, func(t *testing.T, m *mini) {
		fleet, end := startFleet(t, m, 4, RateLimiterOptions{})
		defer end()
		fleet[0].take(t, budget(op), 1)
		time.Sleep(3 * time.Minute) // older proofs no longer count
		for _, p := range fleet {
			p.link.latency.Store(int64(2 * ms))
		}
		test(t, fleet)
	})
}

// roadOperations have limits of 5, 10 and, in the long form, 50 requests a second.
func roadOperations(t *testing.T) []hotelstays.Operation {
	ops := portion([]hotelstays.Operation{hotelstays.OpTicket, hotelstays.OpBook}, []hotelstays.Operation{hotelstays.OpTicket})
	if os.Getenv("HOTELSTAYS_LONG") != "" {
		return append(ops, hotelstays.OpQueryOrders)
	}
	t.Logf("%v; HOTELSTAYS_LONG=1 tries QueryOrders, too", ops)
	return ops
}

// Requests take up to 600 ms to arrive, and answers 50 ms to 5 s. Because each answer carries
// its cost, nothing is refused: not in the first burst, and not in one that follows a rest.
func TestNoMoreThanTheLimitEverArrives(t *testing.T) {
	for _, op := range roadOperations(t) {
		t.Run(string(op), func(t *testing.T) {
			fourProcesses(t, op, func(t *testing.T, fleet []*process) {
				r := &road{op: op, header: true, far: 600 * ms, quick: 50 * ms, slow: 5 * time.Second}
				for range portion(2, 1) {
					r.drive(t, fleet, op.RateLimit(), 70*time.Second)
					time.Sleep(5 * time.Minute)
				}
				assert.Empty(t, r.refused)
				assert.LessOrEqual(t, r.arrivals.busiest(window), op.RateLimit())
				assert.NotEmpty(t, r.arrivals.times)
			})
		})
	}
}

// If answers prove nothing, the first 429 is the last one for a minute, in every process.
// Requests that left before it was known do not count.
func TestOneRefusalAMinuteWithoutProof(t *testing.T) {
	refused := 0
	for _, op := range roadOperations(t) {
		t.Run(string(op), func(t *testing.T) {
			fourProcesses(t, op, func(t *testing.T, fleet []*process) {
				r := &road{op: op, far: 600 * ms, quick: 50 * ms, slow: 5 * time.Second}
				r.drive(t, fleet, 2*op.RateLimit(), 2*time.Minute)
				for _, left := range r.refused {
					refused++
					if after := left.Sub(r.known); after > 0 {
						assert.GreaterOrEqual(t, after, time.Minute, "after the first 429")
					}
				}
			})
		})
	}
	assert.NotZero(t, refused, "the road is too easy")
}

// The used share of the limit at full demand, 20 ms away with 9 ms of jitter.
func TestThroughput(t *testing.T) {
	for _, c := range []struct {
		name     string
		thinking time.Duration
		header   bool
		before   time.Duration // how long the fleet has been at it
		after429 bool
		atLeast  float64
	}{
		{"at once", 0, true, 0, false, 0.95},
		{"at once, after a 429", 0, true, 0, true, 0.95},
		{"at once, no header", 0, false, 0, false, 0.95},
		{"at once, no header, after a 429", 0, false, 0, true, 0.93},
		{"after 3 s, at first", 3 * time.Second, true, 0, false, 0.45},
		{"after 3 s, later", 3 * time.Second, true, 2 * time.Minute, false, 0.93},
		{"after 3 s, no header", 3 * time.Second, false, 0, false, 0.93},
	} {
		if testing.Short() && c.before > 0 {
			t.Logf("-short leaves out %q", c.name)
			continue
		}
		for _, op := range roadOperations(t)[portion(1, 0):] {
			t.Run(fmt.Sprintf("%s, %s", c.name, op), func(t *testing.T) {
				fourProcesses(t, op, func(t *testing.T, fleet []*process) {
					limit := op.RateLimit()
					r := &road{op: op, header: c.header, near: 10 * ms, far: 14500 * time.Microsecond, quick: c.thinking, slow: c.thinking}
					r.drive(t, fleet, 2*limit, c.before)
					if c.after429 {
						permit := fleet[0].hold(t, budget(op), 1)[0]
						permit.Sent()
						permit.Done(hotelstays.PermitResult{FirstByte: time.Now(), RateLimited: true})
						fleet[0].Pause(budget(op), time.Now().Add(time.Second))
					}
					before := len(r.arrivals.times)
					r.drive(t, fleet, 2*limit, time.Minute)
					used := float64(len(r.arrivals.times)-before) / float64(60*limit)
					t.Logf("%.3f of the limit", used)
					assert.GreaterOrEqual(t, used, c.atLeast)
					assert.Empty(t, r.refused)
				})
			})
		}
	}
}
