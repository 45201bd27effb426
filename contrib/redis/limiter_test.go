package hotelstaysredis

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

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

// Processes at full demand use most of the rate limit, never exceed it, and none starves.
func TestFleetAtTheRateLimit(t *testing.T) {
	duration, key := amount(t, 30*time.Second, 8*time.Second), budget(amount(t, hotelstays.OpQueryOrders, hotelstays.OpBook))
	for name, c := range map[string]struct {
		traffic *traffic
		latency time.Duration
		losing  int64
		atLeast float64
	}{
		"a call at a time":        {&traffic{key: key, callers: 1}, 0, 0, 0.97},
		"a slow network":          {&traffic{key: key, callers: 20}, 5 * ms, 0, 0.95},
		"slow dials":              {&traffic{key: key, callers: 20, dials: 0.1}, ms, 0, 0.9},
		"all cancel now and then": {&traffic{key: key, callers: 20, cancels: 0.3}, ms, 0, 0.95},
		"permits go unused":       {&traffic{key: key, callers: 20, unused: 0.3}, ms, 0, 0.8},
		"replies get lost":        {&traffic{key: key, callers: 20, dials: 0.1, cancels: 0.2, unused: 0.1}, 3 * ms, 2, 0.6},
	} {
		t.Run(name, func(t *testing.T) {
			withFleet(t, 4, RateLimiterOptions{}, func(t *testing.T, m *mini, fleet []*process) {
				for _, p := range fleet {
					p.link.latency.Store(int64(c.latency))
					p.link.losing.Store(c.losing)
				}
				start := time.Now()
				c.traffic.driveFor(duration, fleet...)
				require.WithinDuration(t, start.Add(duration), time.Now(), 400*ms)

				c.traffic.keptLimit(t, full)
				used := used(c.traffic.arrived, key.Operation.RateLimit())
				t.Logf("%.3f of the budget used", used)
				assert.GreaterOrEqual(t, used, c.atLeast)
				if c.losing > 0 { // a process whose turn is lost loses its place
					return
				}
				for _, p := range fleet {
					assert.LessOrEqual(t, c.traffic.longestPause(p, start, time.Now()), 2*full+300*ms, "two windows, and a dial")
				}
			})
		})
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
