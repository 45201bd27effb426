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

// freshRest is how long a fresh Redis rests.
const freshRest = retryPause + defaultTimeout + full

// Operations that begin one after another on a fresh Redis share one rest.
func TestFreshRedisCostsOneRest(t *testing.T) {
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

// The limit holds, whichever key is evicted.
func TestEvictedKeysAreMissed(t *testing.T) {
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

// A turn that timed out arrives late: before the next turn of its process, or after it.
func TestTurnThatArrivesLate(t *testing.T) {
	for name, late := range map[string]time.Duration{"before the next": 1200 * ms, "after it": 3 * time.Second} {
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
				_, err = a.ofKey(key).exchange(turn{}) // an early one
				assert.ErrorContains(t, err, "unexpected answer")
			})
		})
	}
}

// Grants whose reply was lost go to other processes if no caller waits any more, also at the end of
// an outage as long as a lease. By then a limiter stops asking.
func TestLostGrantsThatNobodyWaitsFor(t *testing.T) {
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

// The next turn finds grants whose reply was lost. They get a full lease, although they are
// found late.
func TestGrantsFoundAtTheEndOfTheirLease(t *testing.T) {
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
		assert.GreaterOrEqual(t, took(t, b, 1), 3*time.Second+window-reportPause, "a second after they have left")
	})
}

// A Redis that has lost its memory, or whose clock was set back, rests, because it does not
// know what was sent. The rest does not depend on how far the clock was ahead.
func TestLostMemoryIsFollowedByARest(t *testing.T) {
	for name, lose := range map[string]func(m *mini){
		"flushed":  func(m *mini) { m.FlushAll() },
		"set back": func(m *mini) { m.ahead.Store(-int64(time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			withFleet(t, 3, RateLimiterOptions{}, func(t *testing.T, m *mini, fleet []*process) {
				a, b, dead := fleet[0], fleet[1], fleet[2]
				held := a.hold(t, key, 1)
				a.take(t, key, limit-1)
				go func() { _, _ = dead.Acquire(t.Context(), hotelstays.RateLimitRequest{Key: key}) }() // it is in line when it dies
				time.Sleep(100 * ms)
				dead.link.down.Store(true)
				lose(m)
				assert.Equal(t, freshRest, took(t, b, 1))
				assert.Zero(t, took(t, b, limit-2))
				assert.Equal(t, soon-reportPause, took(t, b, 1), "a slot that is out is remembered")
				leave(held...)
			})
		})
	}
}

// Clocks jitter. Redis waits until one that was set back by less than a window is where it was.
func TestJitterCostsNoRest(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, b *process) {
		a.take(t, key, 1)
		m.ahead.Store(-int64(window / 2))
		assert.LessOrEqual(t, took(t, b, limit-1), window/2)
	})
}

// A process that is cut off sends with what it holds, and reports that when Redis is back. The
// limit holds nevertheless, for as long as the lease and the rest allow.
func TestProcessThatIsCutOff(t *testing.T) {
	type cut struct {
		name        string
		lease       time.Duration
		timeout     time.Duration
		after       time.Duration // when it is cut off
		hanging     bool          // its turns hang until Timeout, and do not fail
		lost        bool          // Redis has lost its memory
		leave, back time.Duration // after the cut
	}
	const second = time.Second
	cases := []cut{
		{"a new Redis, and turns that fail", 6 * second, second, 0, false, true, window + renewPause, renewPause + second},
		{"a new Redis, and a turn that hangs", 9 * second, 3 * second, renewPause - ms, true, true,
			3*second + retryPause - ms, 3*second + retryPause - ms},
	}
	for wait := time.Duration(0); wait < renewPause; wait += 100 * ms {
		cases = append(cases, cut{"shorter than Lease less Timeout", 6 * second, 2 * second, renewPause + wait, true, false,
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
				time.Sleep(3 * time.Hour) // the hanging turns end
			})
		})
	}
}
