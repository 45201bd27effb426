package hotelstaysredis

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// freshRest is how long a Redis without data grants no slots.
const freshRest = retryPause + defaultTimeout + full

// Several operations use a Redis without data, one after another. Only the first operation waits.
func TestOperationsWaitOnlyOnceForAnEmptyRedis(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, b *process) {
		m.FlushAll()
		start := time.Now()
		for _, op := range []hotelstays.Operation{hotelstays.OpTicket, hotelstays.OpHotelList, hotelstays.OpCheckAvail, hotelstays.OpBook} {
			a.take(t, budget(op), 1)
			b.take(t, budget(op), 1)
		}
		assert.Equal(t, freshRest, time.Since(start))
	})
}

func TestRateLimitHoldsAfterRedisEvictedAKey(t *testing.T) {
	for _, evicted := range []string{"memory", "slots", "line", "alive", "turn", "with a time to live"} {
		t.Run(evicted, func(t *testing.T) {
			twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, b *process) {
				sent := &traffic{key: key, callers: limit}
				ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
				defer cancel()
				go sent.drive(ctx, a, b)
				for ctx.Err() == nil {
					time.Sleep(1700 * ms)
					for _, key := range m.Keys() {
						if strings.Contains(key, evicted) || evicted == "with a time to live" && m.TTL(key) > 0 {
							m.Del(key)
						}
					}
				}
				synctest.Wait()
				sent.keptLimit(t, full)
			})
		})
	}
}

// A turn that has timed out reaches Redis late, before or after the next turn of its process.
func TestTurnThatReachesRedisLateBreaksNoRateLimit(t *testing.T) {
	for name, late := range map[string]time.Duration{"before the next turn": 1200 * ms, "after the next turn": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, b *process) {
				ghost := m.connect(t)
				hold := func(cmd redis.Cmder) {
					if cmd.Name() != "evalsha" {
						return
					}
					a.link.before.Store(nil)
					time.Sleep(late)
					assert.NoError(t, ghost.Process(t.Context(), redis.NewCmd(t.Context(), cmd.Args()...)))
				}
				a.link.before.Store(&hold)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
				defer cancel()
				_, err := a.Acquire(ctx, hotelstays.RateLimitRequest{Key: key})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				time.Sleep(late + retryPause)
				assert.Zero(t, took(t, b, limit))
				_, err = a.ofKey(key).exchange(turn{}) // fails, because the turn's number is too low
				assert.ErrorContains(t, err, "unexpected reply")
			})
		})
	}
}

// The reply with the grants was lost, and no caller waits any longer. In the second case, an earlier outage lasted longer
// than the lease, so the limiter had ended its retries.
func TestGrantsOfALostReplyGoToOtherProcesses(t *testing.T) {
	for _, away := range []time.Duration{0, defaultLease + full} {
		twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
			if away > 0 {
				a.link.down.Store(true)
				_, err := a.Acquire(t.Context(), hotelstays.RateLimitRequest{Key: key})
				require.ErrorIs(t, err, ErrUnavailable)
				time.Sleep(away)
				require.True(t, a.idle())
				a.link.down.Store(false)
			}
			a.link.losing.Store(100)
			for range limit {
				go func() { _, _ = a.Acquire(t.Context(), hotelstays.RateLimitRequest{Key: key}) }()
			}
			synctest.Wait()
			a.link.losing.Store(0)
			time.Sleep(retryPause)
			assert.Zero(t, took(t, b, limit))
		})
	}
}

// The reply with the grants was lost. The next turn gets the same grants again.
func TestSlotsGrantedAgainAfterALostReplyHaveAFullLease(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		l := a.ofKey(key)
		l.mu.Lock()
		next := turn{number: l.turns + 1, want: [3]int{1: limit}, first: l.next}
		l.mu.Unlock()
		lost, err := l.exchange(next)
		require.NoError(t, err)
		require.Equal(t, limit, lost.granted)
		time.Sleep(defaultLease + full - 100*ms)
		start := time.Now()
		held := a.hold(t, key, limit)
		assert.Zero(t, time.Since(start))
		time.AfterFunc(3*time.Second, func() { leave(held...) })
		assert.GreaterOrEqual(t, took(t, b, 1), 3*time.Second+window-reportPause, "one second after the requests have left")
	})
}

// Redis has lost its data, or its clock was set back, so Redis does not know which requests were sent.
func TestRedisGrantsNoSlotForAWhileAfterItLostItsData(t *testing.T) {
	for name, lose := range map[string]func(m *mini){
		"data flushed":   func(m *mini) { m.FlushAll() },
		"clock set back": func(m *mini) { m.ahead.Store(-int64(time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			withFleet(t, 3, RateLimiterOptions{}, func(t *testing.T, m *mini, fleet []*process) {
				a, b, dead := fleet[0], fleet[1], fleet[2]
				held := a.hold(t, key, 1)
				a.take(t, key, limit-1)
				go func() { _, _ = dead.Acquire(t.Context(), hotelstays.RateLimitRequest{Key: key}) }() // this call waits while its process dies
				time.Sleep(100 * ms)
				dead.link.down.Store(true)
				lose(m)
				assert.Equal(t, freshRest, took(t, b, 1))
				assert.Zero(t, took(t, b, limit-2))
				assert.Equal(t, soon-reportPause, took(t, b, 1), "the held slot is remembered")
				leave(held...)
			})
		})
	}
}

// Redis waits until its clock has reached the last stored time again.
func TestRedisClockSetBackByHalfAWindowDelaysSlotsByAtMostHalfAWindow(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, b *process) {
		a.take(t, key, 1)
		m.ahead.Store(-int64(window / 2))
		assert.LessOrEqual(t, took(t, b, limit-1), window/2)
	})
}

// A process has lost its connection to Redis. It sends requests with the slots that it holds, and reports them later.
func TestProcessThatLostItsConnectionKeepsTheRateLimit(t *testing.T) {
	type cut struct {
		name        string
		lease       time.Duration
		timeout     time.Duration
		after       time.Duration // time at which the process is cut off
		hanging     bool          // its turns hang until Timeout instead of failing immediately
		lost        bool          // Redis has lost its data
		leave, back time.Duration // times after the cut at which requests leave and Redis is available again
	}
	const second = time.Second
	cases := []cut{
		{"turns fail, and Redis loses its memory", 6 * second, second, 0, false, true, window + renewPause, renewPause + second},
		{"a turn hangs, and Redis loses its memory", 9 * second, 3 * second, renewPause - ms, true, true,
			3*second + retryPause - ms, 3*second + retryPause - ms},
	}
	for wait := time.Duration(0); wait < renewPause; wait += 100 * ms {
		cases = append(cases, cut{"the cut is shorter than Lease less Timeout", 6 * second, 2 * second, renewPause + wait, true, false,
			4*second - ms, 4*second - ms})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			twoProcesses(t, RateLimiterOptions{Lease: c.lease, Timeout: c.timeout}, func(t *testing.T, m *mini, a, b *process) {
				sent := &traffic{key: key, callers: limit}
				held := a.hold(t, key, limit)
				time.Sleep(c.after)
				a.link.down.Store(true)
				if c.hanging {
					a.link.latency.Store(int64(time.Hour))
				}
				if c.lost {
					time.AfterFunc(2*ms, func() { m.FlushAll() })
				}
				time.AfterFunc(c.back, func() {
					a.link.latency.Store(0)
					a.link.down.Store(false)
				})
				time.AfterFunc(c.leave, func() { sent.send(held...) })
				sent.driveFor(12*time.Second, b)
				sent.keptLimit(t, full)
				time.Sleep(3 * time.Hour) // until the hanging turns end
			})
		})
	}
}
