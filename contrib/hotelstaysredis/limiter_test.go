package hotelstaysredis

import (
	"cmp"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
)

func TestRateLimiterPassesTheSuitesOfStoretest(t *testing.T) {
	start := func(t *testing.T) storetest.Fleet[hotelstays.RateLimiter] {
		return miniFleet(t, func(client *redis.Client) hotelstays.RateLimiter {
			t.Cleanup(func() { time.Sleep(time.Minute) }) // until the limiters have nothing more to report
			return newProcess(t, client, RateLimiterOptions{}).RateLimiter
		})
	}
	storetest.TestRateLimiter(t, start, &storetest.Options{InBubble: true})
	storetest.TestFairRateLimiter(t, start, &storetest.Options{InBubble: true})
}

// Every process gets slots. If answers have Server-Cost-Milliseconds, the service refuses no request, even if requests
// travel for a long time.
func TestFleetUsesTheSharedRateLimitAndNeverExceedsIt(t *testing.T) {
	key := budget(testsize.Of(t, "operation", hotelstays.OpQueryOrders, hotelstays.OpBook, hotelstays.OpBook))
	away := func(thinking time.Duration, proofless bool) road { // a request and its answer together travel 20 to 29 ms
		return road{proofless, 10 * ms, 14500 * time.Microsecond, thinking, thinking}
	}
	for name, c := range map[string]struct {
		traffic  *traffic
		latency  time.Duration
		losing   int64
		before   time.Duration // how long the processes send requests before the measurement
		rest     time.Duration // how long the processes then send nothing
		after429 bool
		atLeast  float64
	}{
		"one caller per process":               {&traffic{callers: 1}, 0, 0, 0, 0, false, 0.97},
		"a slow network":                       {&traffic{callers: 20}, 5 * ms, 0, 0, 0, false, 0.95},
		"slow dials":                           {&traffic{callers: 20, dials: 0.1}, ms, 0, 0, 0, false, 0.9},
		"callers give up":                      {&traffic{callers: 20, cancels: 0.3}, ms, 0, 0, 0, false, 0.95},
		"permits go unused":                    {&traffic{callers: 20, unused: 0.3}, ms, 0, 0, 0, false, 0.8},
		"replies get lost":                     {&traffic{callers: 20, dials: 0.1, cancels: 0.2, unused: 0.1}, 3 * ms, 2, 0, 0, false, 0.6},
		"immediate answers, after a 429":       {&traffic{road: away(0, false)}, 2 * ms, 0, 0, 0, true, 0.95},
		"unproved arrivals, after a 429":       {&traffic{road: away(0, true)}, 2 * ms, 0, 0, 0, true, 0.93},
		"answers after 3 s, no traffic before": {&traffic{road: away(3*time.Second, false)}, 2 * ms, 0, 0, 0, false, 0.45},
		"answers after 3 s, traffic before":    {&traffic{road: away(3*time.Second, false)}, 2 * ms, 0, 70 * time.Second, 0, false, 0.93},
		"varying travel times": {&traffic{road: road{far: 600 * ms, quick: 50 * ms, slow: 5 * time.Second}}, 2 * ms, 0,
			testsize.Of(t, "rest", 70*time.Second, 15*time.Second, 15*time.Second), 5 * time.Minute, false, 0},
		"unproved arrivals, answers after 3 s": {&traffic{road: away(3*time.Second, true)}, 2 * ms, 0, 5 * time.Second, 0, false, 0.93},
	} {
		t.Run(name, func(t *testing.T) {
			withFleet(t, 4, RateLimiterOptions{}, func(t *testing.T, m *mini, fleet []*process) {
				for _, p := range fleet {
					p.link.latency.Store(int64(c.latency))
					p.link.losing.Store(c.losing)
				}
				sent, onRoad := c.traffic, c.traffic.road != road{}
				sent.key, sent.callers = key, cmp.Or(sent.callers, 2*key.Operation.RateLimit())
				sent.driveFor(c.before, fleet...)
				time.Sleep(c.rest)
				if c.after429 {
					permit := fleet[0].hold(t, key, 1)[0]
					permit.Sent()
					permit.Done(hotelstays.PermitResult{FirstByte: time.Now(), RateLimited: true})
					fleet[0].Pause(key, time.Now().Add(time.Second))
					time.Sleep(2 * time.Second)
				}
				before, start := len(sent.arrived), time.Now()
				duration := testsize.Of(t, "duration", 30*time.Second, 8*time.Second, 8*time.Second)
				sent.driveFor(duration, fleet...)
				if onRoad {
					sent.keptLimit(t, window)
				} else {
					require.WithinDuration(t, start.Add(duration), time.Now(), 400*ms)
					sent.keptLimit(t, full)
				}
				used := used(sent.arrived[before:], key.Operation.RateLimit())
				t.Logf("%.3f of the limit used", used)
				assert.GreaterOrEqual(t, used, c.atLeast)
				if onRoad || c.losing > 0 { // if the reply to a turn is lost, its process loses its place in the queue
					return
				}
				for _, p := range fleet {
					assert.LessOrEqual(t, sent.longestPause(p, start, time.Now()), 2*full+300*ms, "two windows and a dial")
				}
			})
		})
	}
}

// A process whose turns arrive late stays in the queue.
func TestProcessFarFromRedisGetsSlots(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, near, far *process) {
		slow := func(redis.Cmder) { time.Sleep(400 * ms) }
		far.link.before.Store(&slow)
		sent := &traffic{key: key, callers: 2 * limit}
		sent.driveFor(30*time.Second, near, far)
		assert.GreaterOrEqual(t, len(sent.granted[far]), 30*limit/4)
		far.link.before.Store(nil)
	})
}

// Processes behind another client IP address have another prefix.
func TestLimitersWithDifferentPrefixesShareNoSlots(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, _ *process) {
		held := a.hold(t, key, limit)
		time.AfterFunc(time.Minute, func() { leave(held...) })
		assert.Equal(t, freshRest, took(t, newProcess(t, m.connect(t), RateLimiterOptions{Prefix: "elsewhere"}), limit))
		time.Sleep(time.Minute)
	})
}

func TestPanicInWeightFunctionAffectsNoOtherCall(t *testing.T) {
	weight := func(account string) int {
		if account == "unknown" {
			panic(account)
		}
		return 1
	}
	twoProcesses(t, RateLimiterOptions{Weight: weight}, func(t *testing.T, _ *mini, a, _ *process) {
		assert.Panics(t, func() { _, _ = a.Acquire(t.Context(), hotelstays.RateLimitRequest{Key: key, Account: "unknown"}) })
		require.True(t, a.ofKey(key).mu.TryLock(), "otherwise the next call would hang")
		a.ofKey(key).mu.Unlock()
		took(t, a, limit)
	})
}

func TestNewRateLimiterNamesEveryInvalidOption(t *testing.T) {
	_, err := NewRateLimiter(nil, &RateLimiterOptions{
		Prefix: "a{b}", Margin: -1, Lease: time.Second, Timeout: 2 * time.Hour, FallbackProcesses: -3})
	require.Error(t, err)
	for _, problem := range []string{
		"the client is nil", `"a{b}"`, "Margin is -1ns", "Timeout is 2h0m0s", "Lease is 1s", "FallbackProcesses is -3",
	} {
		assert.ErrorContains(t, err, problem)
	}
	_, err = NewRateLimiter(nil, &RateLimiterOptions{Lease: 5 * time.Second, Timeout: 2 * time.Second})
	assert.ErrorContains(t, err, "at least 6s")
}

// Three processes have waiting callers of one priority. Then a call with another priority begins to wait in a fourth
// process.
func TestPriorityAppliesAcrossProcesses(t *testing.T) {
	for _, c := range []struct {
		others, last hotelstays.Priority
		within       time.Duration
	}{
		{hotelstays.PriorityBackground, hotelstays.PriorityInteractive, window / 2},
		{hotelstays.PriorityInteractive, hotelstays.PriorityBackground, 4 * window}, // background gets every tenth slot
	} {
		withFleet(t, 4, RateLimiterOptions{}, func(t *testing.T, _ *mini, fleet []*process) {
			last := fleet[3]
			held := last.hold(t, key, limit)
			ctx, cancel := context.WithCancel(t.Context())
			send := func(p *process, priority hotelstays.Priority) error {
				permit, err := p.Acquire(ctx, hotelstays.RateLimitRequest{Key: key, Priority: priority})
				if err == nil {
					leave(permit)
				}
				return err
			}
			var wg sync.WaitGroup
			for _, p := range fleet[:3] {
				for range 20 {
					wg.Go(func() { _ = send(p, c.others) })
				}
			}
			time.Sleep(window)
			start := time.Now()
			time.AfterFunc(window/4, func() {
				for _, permit := range held {
					permit.Done(hotelstays.PermitResult{})
				}
			})
			assert.NoError(t, send(last, c.last))
			assert.LessOrEqual(t, time.Since(start), c.within)
			cancel()
			wg.Wait()
		})
	}
}
