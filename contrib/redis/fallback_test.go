package hotelstaysredis

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// Processes keep the limit together while Redis is available, when it goes, while each has
// its own part of the limit, and when Redis is back.
func TestFallbackWhileRedisIsAway(t *testing.T) {
	parts := map[hotelstays.Operation]int{hotelstays.OpTicket: 1, hotelstays.OpBook: 3}
	if !testing.Short() {
		parts[hotelstays.OpQueryOrders] = 16
	}
	for op, atLeast := range parts {
		t.Run(string(op), func(t *testing.T) {
			withMini(t, func(t *testing.T, m *mini) {
				fleet, end := startFleet(t, m, 3, RateLimiterOptions{FallbackProcesses: 3})
				defer end()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				var sent departures
				for _, p := range fleet {
					go p.drive(ctx, budget(op), load{callers: 20}, &sent)
				}
				during := func(d time.Duration) int {
					sent.mu.Lock()
					before := len(sent.times)
					sent.mu.Unlock()
					time.Sleep(d)
					sent.mu.Lock()
					defer sent.mu.Unlock()
					return len(sent.times) - before
				}
				for range 5 {
					during(5 * time.Second)
					for _, p := range fleet {
						p.link.down.Store(true)
					}
					alone := during(10 * time.Second)
					assert.GreaterOrEqual(t, alone, 3*atLeast*7, "requests in ten seconds")
					for _, p := range fleet {
						p.link.down.Store(false)
					}
				}
				during(5 * time.Second)
				shared := during(5 * time.Second)
				<-ctx.Done()
				synctest.Wait()
				assert.GreaterOrEqual(t, shared, 4*op.RateLimit(), "requests in the last five seconds")
				assert.LessOrEqual(t, sent.busiest(full), op.RateLimit())
			})
		})
	}
}

// An idle process may find Redis again first, while the others still use their parts.
func TestIdleProcessFindsRedisFirst(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{FallbackProcesses: 2}, func(t *testing.T, _ *mini, a, b *process) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var sent departures
		a.link.down.Store(true)
		b.link.down.Store(true)
		a.take(t, key, 1)
		sent.add()
		go b.drive(ctx, key, load{callers: 20}, &sent)
		time.Sleep(20 * time.Second)
		a.link.down.Store(false)
		time.AfterFunc(defaultTimeout, func() { b.link.down.Store(false) }) // its last turn took so long to fail
		a.drive(ctx, key, load{callers: 20}, &sent)
		synctest.Wait()
		assert.LessOrEqual(t, sent.busiest(full), limit)
	})
}

// More processes than slots: each sends one request in several windows.
func TestFallbackOfLessThanOneSlot(t *testing.T) {
	withMini(t, func(t *testing.T, m *mini) {
		fleet, end := startFleet(t, m, 1, RateLimiterOptions{FallbackProcesses: 2*limit + 1})
		defer end()
		fleet[0].link.down.Store(true)
		fleet[0].take(t, key, 1)
		start := time.Now()
		fleet[0].take(t, key, 1)
		assert.Equal(t, 3*full, time.Since(start))
	})
}

func TestPauseHoldsTheFallback(t *testing.T) {
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
		_, err := a.Acquire(ctx, key)
		assert.ErrorIs(t, err, hotelstays.ErrRateLimited)
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 9*time.Second, time.Since(start), "at once")
	})
}
