package hotelstaysredis

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// traffic describes the callers of a test, and records when their requests arrived at the service.
type traffic struct {
	key     hotelstays.RateLimitKey
	callers int     // number of callers in each process
	dials   float64 // share of requests that leave up to 300 ms after their grant
	cancels float64 // share of callers who give up after at most 900 ms
	unused  float64 // share of permits that are not used
	road

	mu      sync.Mutex
	granted map[*process][]time.Time
	arrived []time.Time
}

// road describes the network and the service. With a zero road, requests arrive immediately, and the answers prove
// this.
type road struct {
	proofless   bool          // answers have no Server-Cost-Milliseconds
	near, far   time.Duration // minimum and maximum time from departure to arrival
	quick, slow time.Duration // minimum and maximum time from arrival to the answer
}

// drive starts the callers of every process. Each caller sends one request after another until ctx ends.
func (tr *traffic) drive(ctx context.Context, fleet ...*process) {
	var wg sync.WaitGroup
	for _, p := range fleet {
		for range tr.callers {
			wg.Go(func() {
				for ctx.Err() == nil {
					tr.call(ctx, p)
				}
			})
		}
	}
	wg.Wait()
}

func (tr *traffic) driveFor(d time.Duration, fleet ...*process) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	tr.drive(ctx, fleet...)
}

// call acquires a slot, and sends a request with it or releases it.
func (tr *traffic) call(ctx context.Context, p *process) {
	patience := time.Hour
	if rand.Float64() < tr.cancels {
		patience = rand.N(900 * ms)
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	permit, err := p.Acquire(waiting, hotelstays.RateLimitRequest{Key: tr.key})
	if err != nil {
		if waiting.Err() == nil {
			time.Sleep(rand.N(100 * ms))
		}
		return
	}
	tr.mu.Lock()
	if tr.granted == nil {
		tr.granted = make(map[*process][]time.Time)
	}
	tr.granted[p] = append(tr.granted[p], time.Now())
	tr.mu.Unlock()
	if rand.Float64() < tr.unused {
		permit.Done(hotelstays.PermitResult{})
		return
	}
	if rand.Float64() < tr.dials {
		time.Sleep(rand.N(300 * ms))
	}
	tr.send(permit)
}

func (tr *traffic) send(permits ...hotelstays.Permit) {
	for _, permit := range permits {
		permit.Sent()
		time.Sleep(span(tr.near, tr.far))
		arrived := time.Now()
		tr.mu.Lock()
		tr.arrived = append(tr.arrived, arrived)
		tr.mu.Unlock()
		time.Sleep(span(tr.quick, tr.slow))
		cost := time.Since(arrived).Truncate(ms)
		time.Sleep(span(tr.near, tr.far))
		result := hotelstays.PermitResult{FirstByte: time.Now()}
		if !tr.proofless {
			result.ArrivedBy = result.FirstByte.Add(-cost)
		}
		permit.Done(result)
	}
}

// keptLimit asserts that no span has more arrivals than the limit allows.
func (tr *traffic) keptLimit(t *testing.T, span time.Duration) {
	t.Helper()
	assert.NotEmpty(t, tr.arrived)
	assert.LessOrEqual(t, busiest(tr.arrived, span), tr.key.Operation.RateLimit(), "in %s", span)
}

// longestPause returns the longest time between start and end in which the process got no slot.
func (tr *traffic) longestPause(p *process, start, end time.Time) (longest time.Duration) {
	for _, at := range append(slices.Clone(tr.granted[p]), end) {
		longest = max(longest, at.Sub(start))
		start = at
	}
	return longest
}

func span(from, to time.Duration) time.Duration { return from + rand.N(to-from+1) }

// between counts the times t with from <= t < to.
func between(times []time.Time, from, to time.Time) (n int) {
	for _, at := range times {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// busiest returns how many of the times lie in the busiest span. The end of a span is not part of the span.
func busiest(times []time.Time, span time.Duration) int {
	slices.SortFunc(times, time.Time.Compare)
	most, from := 0, 0
	for to := range times {
		for times[to].Sub(times[from]) >= span {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

// used returns the used share of the limit. If limit is 10 and ten requests arrive in two seconds, the share is 0.5.
func used(times []time.Time, limit int) float64 {
	var sum time.Duration
	rounds := len(times) - limit
	for i := range max(0, rounds) {
		sum += times[i+limit].Sub(times[i])
	}
	return float64(rounds) / sum.Seconds()
}
