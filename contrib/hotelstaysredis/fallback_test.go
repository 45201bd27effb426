package hotelstaysredis

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
)

// Redis is available, then unavailable, and then available again. While Redis is unavailable, each process uses its
// part of the limit.
func TestFleetKeepsTheRateLimitBeforeDuringAndAfterAnOutageOfRedis(t *testing.T) {
	quick := []hotelstays.Operation{hotelstays.OpBook}
	for _, op := range testsize.Of(t, "operations", append(quick, hotelstays.OpTicket, hotelstays.OpQueryOrders), quick, quick) {
		t.Run(string(op), func(t *testing.T) {
			withFleet(t, 3, RateLimiterOptions{FallbackProcesses: 3}, func(t *testing.T, m *mini, fleet []*process) {
				ctx, cancel := context.WithCancel(t.Context())
				sent := &traffic{key: budget(op), callers: op.RateLimit()}
				go sent.drive(ctx, fleet...)
				during := func(d time.Duration) int {
					begin := time.Now()
					time.Sleep(d)
					sent.mu.Lock()
					defer sent.mu.Unlock()
					return between(sent.arrived, begin, time.Now())
				}
				during(2 * time.Second)
				for range testsize.Of(t, "outages", 5, 2, 2) {
					for _, p := range fleet {
						p.link.down.Store(true)
					}
					alone := during(10 * time.Second)
					assert.GreaterOrEqual(t, alone, 3*(op.RateLimit()/3)*7, "requests in ten seconds")
					for _, p := range fleet {
						p.link.down.Store(false)
					}
					during(5 * time.Second)
				}
				assert.GreaterOrEqual(t, during(5*time.Second), 4*op.RateLimit(), "requests in the last five seconds")
				cancel()
				synctest.Wait()
				sent.keptLimit(t, full)
			})
		})
	}
}

// Redis answers too late, so every call of Redis takes Timeout.
func TestFallbackGrantsAllItsSlotsWhileRedisHangs(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{FallbackProcesses: 1}, func(t *testing.T, _ *mini, a, _ *process) {
		hang := func(redis.Cmder) { time.Sleep(2 * defaultTimeout) }
		a.link.before.Store(&hang)
		a.take(t, key, 1)
		time.Sleep(2 * window)
		for _, callers := range []int{1, 4 * limit} {
			sent := &traffic{key: key, callers: callers}
			sent.driveFor(30*time.Second, a)
			assert.GreaterOrEqual(t, len(sent.arrived), 29*limit, "%d callers", callers)
		}
		for range 20 { // with fewer calls than slots, no call waits for Redis
			time.Sleep(777 * ms)
			assert.Less(t, took(t, a, 1), window/2)
		}
		a.link.before.Store(nil)
		time.Sleep(time.Minute)
		assert.True(t, a.idle())
	})
}

// An idle process finds Redis again while other processes still use their parts of the limit.
func TestRateLimitHoldsWhileOnlyOneProcessHasReconnectedToRedis(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{FallbackProcesses: 2}, func(t *testing.T, _ *mini, a, b *process) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		sent := &traffic{key: key, callers: limit}
		a.link.down.Store(true)
		b.link.down.Store(true)
		sent.call(ctx, a)
		go sent.drive(ctx, b)
		time.Sleep(10 * time.Second)
		a.link.down.Store(false)
		slow := func(redis.Cmder) { time.Sleep(defaultTimeout - ms) }
		time.AfterFunc(defaultTimeout, func() { // as if a call of b had waited for a reply until now
			b.link.before.Store(&slow)
			b.link.down.Store(false)
		})
		sent.drive(ctx, a)
		synctest.Wait()
		sent.keptLimit(t, full)
	})
}

// The deadline is earlier than the first slot of the fallback.
func TestCallEndsByItsDeadlineDuringAnOutage(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{FallbackProcesses: 2}, func(t *testing.T, _ *mini, a, _ *process) {
		a.take(t, key, 1)
		a.link.down.Store(true)
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer cancel()
		_, err := a.Acquire(ctx, hotelstays.RateLimitRequest{Key: key})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 700*time.Millisecond, time.Since(start))
	})
}

func TestFallbackGrantsNoSlotDuringAPause(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{FallbackProcesses: 2}, func(t *testing.T, _ *mini, a, _ *process) {
		a.link.down.Store(true)
		a.take(t, key, 1)
		start := time.Now()
		a.Pause(key, start.Add(9*time.Second))
		a.take(t, key, 1)
		assert.Equal(t, 9*time.Second, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		a.Pause(key, start.Add(20*time.Second))
		_, err := a.Acquire(ctx, hotelstays.RateLimitRequest{Key: key})
		assert.ErrorIs(t, err, hotelstays.ErrRateLimited)
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 9*time.Second, time.Since(start), "the call fails at once")
	})
}

func TestFallbackFreesASlotOneWindowPlusMarginAfterItsRequest(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{Margin: 200 * ms, FallbackProcesses: 1}, func(t *testing.T, _ *mini, a, _ *process) {
		a.link.down.Store(true)
		a.take(t, key, 1) // the first slot comes after the pause at the start of an outage
		time.Sleep(2 * window)
		start := time.Now()
		a.take(t, key, limit)
		a.take(t, key, 1)
		assert.Equal(t, window+200*ms, time.Since(start))
	})
}
