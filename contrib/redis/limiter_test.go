package hotelstaysredis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

const ms = time.Millisecond

func TestRateLimiter(t *testing.T) {
	storetest.TestRateLimiter(t, func(t *testing.T) storetest.Fleet[hotelstays.RateLimiter] {
		return miniFleet(t, func(client *redis.Client) hotelstays.RateLimiter {
			t.Cleanup(func() { time.Sleep(time.Minute) }) // reports
			r, err := NewRateLimiter(client, RateLimiterOptions{})
			require.NoError(t, err)
			return r
		})
	}, storetest.InBubble())
}

// process is a process of a fleet.
type process struct {
	*RateLimiter
	link *link
}

// startFleet starts n processes inside a bubble; end waits for their reports and closes them.
func startFleet(t *testing.T, m *mini, n int, opts RateLimiterOptions) (fleet []*process, end func()) {
	for range n {
		fleet = append(fleet, startProcess(t, m, opts))
	}
	return fleet, func() {
		time.Sleep(time.Minute)
		for _, p := range fleet {
			p.link.Close()
		}
	}
}

func startProcess(t *testing.T, m *mini, opts RateLimiterOptions) *process {
	l := m.connect()
	r, err := NewRateLimiter(l, opts)
	require.NoError(t, err)
	return &process{r, l}
}

// take takes n slots and sends.
func (p *process) take(t *testing.T, key hotelstays.RateLimitKey, n int) {
	t.Helper()
	for _, permit := range p.hold(t, key, n) {
		leave(permit)
	}
}

// hold takes n slots.
func (p *process) hold(t *testing.T, key hotelstays.RateLimitKey, n int) (permits []hotelstays.Permit) {
	t.Helper()
	for range n {
		permit, err := p.Acquire(t.Context(), key)
		if !assert.NoError(t, err) { // not require: also called in goroutines
			return permits
		}
		permits = append(permits, permit)
	}
	return permits
}

// leave sends a request that arrives at once, as its answer proves.
func leave(permit hotelstays.Permit) {
	permit.Sent()
	permit.Done(hotelstays.PermitResult{ArrivedBy: time.Now()})
}

// departures records when requests left, and when each process was granted a slot.
type departures struct {
	mu      sync.Mutex
	times   []time.Time
	granted map[*process][]time.Time
}

func (d *departures) add() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.times = append(d.times, time.Now())
}

func (d *departures) grant(p *process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.granted == nil {
		d.granted = make(map[*process][]time.Time)
	}
	d.granted[p] = append(d.granted[p], time.Now())
}

// longestPause returns the longest time, from start to end, in which a process was granted nothing.
func (d *departures) longestPause(p *process, start, end time.Time) (longest time.Duration) {
	for _, at := range append(slices.Clone(d.granted[p]), end) {
		longest = max(longest, at.Sub(start))
		start = at
	}
	return longest
}

// busiest returns the largest number of departures that share one half-open window.
func (d *departures) busiest(window time.Duration) int {
	slices.SortFunc(d.times, time.Time.Compare)
	most, from := 0, 0
	for to := range d.times {
		for d.times[to].Sub(d.times[from]) >= window {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

// load is what the callers of a process do.
type load struct {
	callers int
	dials   float64 // share of requests that leave up to 300 ms after their grant
	cancels float64 // share of callers who give up after at most 900 ms
	unused  float64 // share of permits that are not used
}

// drive runs the callers of a process until ctx ends.
func (p *process) drive(ctx context.Context, key hotelstays.RateLimitKey, l load, d *departures) {
	var wg sync.WaitGroup
	for range l.callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				patience := time.Hour
				if rand.Float64() < l.cancels {
					patience = rand.N(900 * ms)
				}
				waiting, cancel := context.WithTimeout(ctx, patience)
				permit, err := p.Acquire(waiting, key)
				cancel()
				if err != nil {
					if errors.Is(err, ErrUnavailable) {
						time.Sleep(rand.N(100 * ms))
					}
					continue
				}
				d.grant(p)
				if rand.Float64() < l.unused {
					permit.Done(hotelstays.PermitResult{})
					continue
				}
				if rand.Float64() < l.dials {
					time.Sleep(rand.N(300 * ms))
				}
				d.add()
				leave(permit)
			}
		})
	}
	wg.Wait()
}

// Processes at full demand use all of the rate limit, never exceed it, and none starves.
func TestFleetAtTheRateLimit(t *testing.T) {
	const duration = 13 * time.Second
	for _, c := range []struct {
		name      string
		processes int
		load      load
		latency   time.Duration
		losing    int64
		atLeast   float64
	}{
		{"one process", 1, load{callers: 20}, 0, 0, 0.97},
		{"four processes", 4, load{callers: 50}, 0, 0, 0.97},
		{"a call at a time", 4, load{callers: 1}, 0, 0, 0.97},
		{"a slow network", 4, load{callers: 50}, 5 * ms, 0, 0.95},
		{"slow dials", 4, load{callers: 50, dials: 0.1}, ms, 0, 0.9},
		{"all cancel now and then", 4, load{callers: 50, cancels: 0.3}, ms, 0, 0.95},
		{"permits go unused", 4, load{callers: 50, unused: 0.3}, ms, 0, 0.8},
		{"replies get lost", 4, load{callers: 50}, ms, 2, 0.7},
		{"all at once", 8, load{callers: 30, dials: 0.1, cancels: 0.2, unused: 0.1}, 3 * ms, 1, 0.7},
	} {
		for _, op := range []hotelstays.Operation{hotelstays.OpTicket, hotelstays.OpQueryOrders}[:portion(2, 1)] {
			t.Run(fmt.Sprintf("%s, %s", c.name, op), func(t *testing.T) {
				withMini(t, func(t *testing.T, m *mini) {
					fleet, end := startFleet(t, m, c.processes, RateLimiterOptions{})
					defer end()
					fleet[0].take(t, budget(op), 1) // a new memory rests for a window
					for _, p := range fleet {
						p.link.latency.Store(int64(c.latency))
						p.link.losing.Store(c.losing)
					}
					start := time.Now()
					var sent departures
					ctx, cancel := context.WithTimeout(t.Context(), duration)
					defer cancel()
					var wg sync.WaitGroup
					for _, p := range fleet {
						wg.Go(func() { p.drive(ctx, budget(op), c.load, &sent) })
					}
					wg.Wait()
					require.WithinDuration(t, start.Add(duration), time.Now(), 400*ms)

					limit := op.RateLimit()
					assert.LessOrEqual(t, sent.busiest(window+defaultMargin), limit)
					used := float64(len(sent.times)) / (float64(limit) * duration.Seconds())
					t.Logf("%.3f of the budget used", used)
					assert.GreaterOrEqual(t, used, c.atLeast)
					if c.losing > 0 { // a process whose turn is lost loses its place
						return
					}
					for _, p := range fleet {
						assert.LessOrEqual(t, sent.longestPause(p, start, time.Now()), 2*full+300*ms, "two windows, and a dial")
					}
				})
			})
		}
	}
}

func TestRateLimiterOptions(t *testing.T) {
	_, err := NewRateLimiter(nil, RateLimiterOptions{
		Prefix: "a{b}", Margin: -1, Lease: time.Second, Timeout: 2 * time.Hour, FallbackProcesses: -3})
	require.Error(t, err)
	for _, problem := range []string{
		"the client is nil", `"a{b}"`, "Margin is -1ns", "Timeout is 2h0m0s", "Lease is 1s", "FallbackProcesses is -3",
	} {
		assert.ErrorContains(t, err, problem)
	}
}

func TestOperationsWithoutARateLimitNeedNoRedis(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		a.link.down.Store(true)
		for range 1000 {
			permit, err := a.Acquire(t.Context(), budget(hotelstays.OpOAuthToken))
			require.NoError(t, err)
			require.Nil(t, permit)
		}
		a.Pause(budget(hotelstays.OpOAuthToken), time.Now().Add(time.Hour))
	})
}
