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

// nextTurn is the turn that takes all slots next.
func nextTurn(l *line) turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return turn{number: l.turns + 1, want: limit, first: l.next}
}

// A malformed reply is an error, not a panic.
func TestReadReply(t *testing.T) {
	for _, answer := range []any{
		nil, "OK", []any{}, []any{1, 2, 3, 4, 5}, []any{int64(1), "2", int64(3), int64(4), int64(5)}, []any{int64(1), int64(2), int64(3)},
	} {
		_, err := readReply(answer)
		assert.Error(t, err)
	}
}

// Six operations that begin one after another on a fresh Redis share one rest.
func TestFreshRedisCostsOneRest(t *testing.T) {
	withMini(t, func(t *testing.T, m *mini) {
		fleet, end := startFleet(t, m, 2, RateLimiterOptions{})
		defer end()
		start := time.Now()
		for i, op := range []hotelstays.Operation{hotelstays.OpTicket, hotelstays.OpHotelList, hotelstays.OpCheckAvail,
			hotelstays.OpBook, hotelstays.OpQueryOrders, hotelstays.OpCancel} {
			fleet[i%2].take(t, budget(op), 1)
		}
		assert.Equal(t, freshRest, time.Since(start))
	})
}

// A server that has lost its scripts still has its memory.
func TestForgottenScriptsAreLoadedAgain(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		for range 3 {
			require.NoError(t, a.link.ScriptFlush(t.Context()).Err())
			assert.Zero(t, took(t, a, limit))
			require.NoError(t, a.link.ScriptFlush(t.Context()).Err())
			assert.Equal(t, soon, took(t, b, limit))
			time.Sleep(full)
		}
	})
}

// The limit holds, whichever key is evicted.
func TestEvictedKeysAreMissed(t *testing.T) {
	for _, evicted := range []string{"memory", "slots", "line", "alive", "turn", "with a time to live"} {
		t.Run(evicted, func(t *testing.T) {
			twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, b *process) {
				var sent departures
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				for _, p := range []*process{a, b} {
					go p.drive(ctx, key, load{callers: 10}, &sent)
				}
				for ctx.Err() == nil {
					time.Sleep(1700 * ms)
					for _, key := range m.Keys() {
						if strings.Contains(key, evicted) || evicted == "with a time to live" && m.TTL(key) > 0 {
							m.Del(key)
						}
					}
				}
				synctest.Wait()
				assert.NotEmpty(t, sent.times)
				assert.LessOrEqual(t, sent.busiest(full), limit)
			})
		})
	}
}

// A turn that timed out arrives late: before the next turn of its process, or after it.
func TestTurnThatArrivesLate(t *testing.T) {
	for name, late := range map[string]time.Duration{"before the next": 1200 * ms, "after it": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, b *process) {
				ghost := m.connect()
				defer ghost.Close()
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
				_, err := a.Acquire(ctx, key)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				time.Sleep(late + retryPause)
				assert.Zero(t, took(t, b, limit))
			})
		})
	}
}

// Grants whose reply was lost go to other processes if no caller waits any more.
func TestLostGrantsThatNobodyWaitsFor(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		a.link.losing.Store(100)
		for range limit {
			go func() { _, _ = a.Acquire(t.Context(), key) }()
		}
		synctest.Wait()
		a.link.losing.Store(0)
		time.Sleep(retryPause)
		assert.Zero(t, took(t, b, limit))
	})
}

// The next turn finds grants whose reply was lost.
func TestGrantsWhoseReplyIsLost(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		l := a.line(key)
		lost, err := l.take(nextTurn(l))
		require.NoError(t, err)
		require.Equal(t, limit, lost.granted)
		assert.Zero(t, took(t, a, limit))
	})
}

// Grants that are found late get a full lease.
func TestGrantsFoundAtTheEndOfTheirLease(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		l := a.line(key)
		lost, err := l.take(nextTurn(l))
		require.NoError(t, err)
		require.Equal(t, limit, lost.granted)
		time.Sleep(defaultLease + full - 100*ms)
		held := a.hold(t, key, limit)
		time.AfterFunc(3*time.Second, func() {
			for _, permit := range held {
				leave(permit)
			}
		})
		assert.GreaterOrEqual(t, took(t, b, 1), 3*time.Second+window-reportPause, "a second after they have left")
	})
}

// A Redis that has lost its memory rests, because it does not know what was sent.
func TestLostMemoryIsFollowedByARest(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, b *process) {
		held := a.hold(t, key, 1)
		a.take(t, key, limit-1)
		time.Sleep(100 * ms)
		m.FlushAll()
		assert.Equal(t, b.line(key).restAfterOutage(), took(t, b, 1))
		assert.Zero(t, took(t, b, limit-2))
		assert.Equal(t, soon-reportPause, took(t, b, 1), "a slot that is out is remembered")
		leave(held[0])
	})
}

// A clock that is set back does not hold the fleet for as long as it was ahead.
func TestClockThatIsSetBack(t *testing.T) {
	withMini(t, func(t *testing.T, m *mini) {
		m.ahead.Store(int64(time.Hour))
		fleet, end := startFleet(t, m, 3, RateLimiterOptions{})
		defer end()
		a, b, dead := fleet[0], fleet[1], fleet[2]
		a.take(t, key, 1)
		time.Sleep(time.Minute)
		held := a.hold(t, key, 1)
		a.take(t, key, limit-1)
		go func() { _, _ = dead.Acquire(t.Context(), key) }() // it is in line when it dies
		time.Sleep(100 * ms)
		dead.link.down.Store(true)
		m.ahead.Store(0)
		assert.Equal(t, b.line(key).restAfterOutage(), took(t, b, 1))
		assert.Zero(t, took(t, b, limit-2))
		assert.Equal(t, soon-reportPause, took(t, b, 1), "a slot that is out is remembered")
		leave(held[0])
	})
}

// A new Redis replaces a lost one. A process with a hanging turn reports only after Timeout
// and a pause.
func TestLostMemoryHeardOfLate(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, b *process) {
		var sent departures
		held := a.hold(t, key, limit)
		a.link.down.Store(true)
		m.FlushAll()
		time.AfterFunc(renewPause+defaultTimeout, func() { a.link.down.Store(false) })
		time.AfterFunc(window+renewPause, func() {
			for _, permit := range held {
				sent.add()
				leave(permit)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		b.drive(ctx, key, load{callers: 20}, &sent)
		assert.LessOrEqual(t, sent.busiest(full), limit)
	})
}

// The rest covers what a process with a hanging turn sends until Timeout and a pause are
// over, and one window more.
func TestRestLastsUntilAHangingProcessIsHeard(t *testing.T) {
	opts := RateLimiterOptions{Lease: 9 * time.Second, Timeout: 3 * time.Second}
	twoProcesses(t, opts, func(t *testing.T, m *mini, a, b *process) {
		var sent departures
		held := a.hold(t, key, limit)
		time.Sleep(renewPause - ms)
		a.link.latency.Store(int64(time.Hour)) // the turn hangs
		a.link.down.Store(true)
		time.Sleep(2 * ms)
		m.FlushAll()
		time.AfterFunc(opts.Timeout+retryPause-3*ms, func() {
			a.link.latency.Store(0)
			a.link.down.Store(false)
			for _, permit := range held {
				sent.add()
				leave(permit)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		b.drive(ctx, key, load{callers: 20}, &sent)
		assert.LessOrEqual(t, sent.busiest(full), limit)
		time.Sleep(3 * time.Hour) // the hanging turn ends
	})
}

// A process may be cut off for Lease less Timeout: its last turn may hang until Timeout, and
// only the next one reports.
func TestCutOffForShorterThanTheLease(t *testing.T) {
	opts := RateLimiterOptions{Lease: 6 * time.Second, Timeout: 2 * time.Second}
	cut := opts.Lease - opts.Timeout - ms
	for wait := time.Duration(0); wait < renewPause; wait += 50 * ms {
		twoProcesses(t, opts, func(t *testing.T, _ *mini, a, b *process) {
			var sent departures
			held := a.hold(t, key, limit)
			time.Sleep(renewPause + wait)
			a.link.latency.Store(int64(time.Hour)) // every turn hangs until Timeout
			a.link.down.Store(true)
			time.AfterFunc(cut, func() {
				a.link.latency.Store(0)
				a.link.down.Store(false)
				for _, permit := range held {
					sent.add()
					leave(permit)
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			b.drive(ctx, key, load{callers: 10}, &sent)
			assert.LessOrEqual(t, sent.busiest(full), limit, "cut off after %s", wait)
			time.Sleep(3 * time.Hour) // the hanging turns end
		})
	}
}
