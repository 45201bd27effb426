package hotelstaysredis

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// A slot is free again a window and the margin after its request arrived, as its answer proves.
func TestSlotIsFreeAWindowAfterTheArrival(t *testing.T) {
	for name, c := range map[string]struct {
		margin   time.Duration
		dial     time.Duration // until the request leaves
		answered time.Duration // after the request left
		arrived  time.Duration // as the answer proves
		refused  bool          // the answer is a 429, so its proof is not believed
		back     time.Duration
	}{
		"on the way for long":        {0, 0, 400 * ms, 300 * ms, false, 300*ms + full},
		"on the way, another margin": {200 * ms, 0, 400 * ms, 300 * ms, false, 300*ms + window + 200*ms},
		"left late":                  {0, 3 * time.Second, 0, 0, false, full},
		"before it left":             {0, 0, 400 * ms, -time.Hour, false, full}, // the service's clock is not the client's
		"answered after a second":    {0, 0, 1500 * ms, 700 * ms, false, 700*ms + full},
		"sooner than was thought":    {0, 0, 1500 * ms, 10 * ms, false, 1500*ms + reportPause},
		"refused":                    {0, 0, 400 * ms, 300 * ms, true, window + full},
	} {
		t.Run(name, func(t *testing.T) {
			twoProcesses(t, RateLimiterOptions{Margin: c.margin}, func(t *testing.T, _ *mini, a, b *process) {
				held := a.hold(t, key, limit)
				time.Sleep(c.dial)
				start := time.Now()
				for _, permit := range held {
					permit.Sent()
					time.AfterFunc(c.answered, func() {
						permit.Done(hotelstays.PermitResult{ArrivedBy: start.Add(c.arrived), RateLimited: c.refused})
					})
				}
				time.Sleep(c.back - ms)
				early, cancel := context.WithTimeout(t.Context(), ms/2)
				defer cancel()
				_, err := b.Acquire(early, hotelstays.RateLimitRequest{Key: key})
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				time.Sleep(ms / 2)
				synctest.Wait()
				b.take(t, key, limit)
				assert.Equal(t, c.back, time.Since(start))
			})
		})
	}
}

// A request without an answer counts as under way for a window, if nothing else is known.
func TestSlotOfARequestWithoutAnAnswer(t *testing.T) {
	for after, n := range map[time.Duration]int{100 * ms: limit, full: 2} { // so many callers hang up
		twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
			a.take(t, key, 1) // one proof in a minute proves nothing
			time.Sleep(time.Minute)
			start := time.Now()
			held := a.hold(t, key, limit)
			for _, permit := range held {
				permit.Sent()
			}
			time.Sleep(after)
			for _, permit := range held[:n] {
				permit.Done(hotelstays.PermitResult{})
			}
			b.take(t, key, limit)
			assert.Equal(t, 2*window, time.Since(start))
			for _, permit := range held[n:] {
				permit.Done(hotelstays.PermitResult{})
			}
		})
	}
}

// A live process keeps the slot of a request that takes long to leave.
func TestSlotOfALivingProcessIsKept(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		held := a.hold(t, key, limit)
		time.Sleep(20 * time.Second)
		leave(held[1:]...)
		time.Sleep(20 * time.Second)
		assert.Zero(t, took(t, b, limit-1))
		assert.Equal(t, soon, took(t, b, 1), "the fifth is still out")
		leave(held[0])
	})
}

// A process dies with slots and with tickets in line. Its slots come back when its lease ends, and
// not before.
func TestSlotsOfADeadProcessComeBackAfterItsLease(t *testing.T) {
	for _, waiting := range []int{0, 10} {
		twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
			held := a.hold(t, key, limit)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for range waiting {
				go func() { _, _ = a.Acquire(ctx, hotelstays.RateLimitRequest{Key: key}) }()
			}
			synctest.Wait()
			a.link.down.Store(true)
			assert.Equal(t, defaultLease+full, reportPause+took(t, b, limit))
			for _, permit := range held {
				permit.Done(hotelstays.PermitResult{}) // the test goes on
			}
		})
	}
}

// All processes learn of a 429, and its effect halves each minute.
func TestEffectOfA429Fades(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		for _, p := range []*process{a, b} {
			p.link.latency.Store(int64(100 * ms))
		}
		answer := func(p *process, limited bool) {
			permit := p.hold(t, key, 1)[0]
			permit.Sent()
			permit.Done(hotelstays.PermitResult{FirstByte: time.Now(), RateLimited: limited})
		}
		answer(a, true)
		start := time.Now()
		for minutes := range 3 {
			for time.Since(start) < time.Duration(minutes)*time.Minute+50*time.Second {
				answer(a, false)
				answer(b, false)
				time.Sleep(2 * time.Second)
			}
			for _, p := range []*process{a, b} {
				l := p.ofKey(key)
				l.mu.Lock()
				assert.Equal(t, window>>minutes, l.transit.Longest(time.Now()), "after %s", time.Since(start))
				l.mu.Unlock()
			}
			time.Sleep(5 * time.Second)
		}
		answer(b, true) // a later one counts, also for the other process
		time.Sleep(5 * time.Second)
		answer(a, false)
		l := a.ofKey(key)
		l.mu.Lock()
		defer l.mu.Unlock()
		assert.Equal(t, window, l.transit.Longest(time.Now()))
	})
}

// What happens while Redis is away is known to all processes as soon as it is back: a 429, with its age, and
// slots that were not used.
func TestReportsOfAnOutage(t *testing.T) {
	for _, away := range []time.Duration{2 * retryPause, time.Minute} {
		twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, b *process) {
			held := a.hold(t, key, limit)
			held[0].Sent()
			a.link.down.Store(true)
			refused := time.Now()
			held[0].Done(hotelstays.PermitResult{FirstByte: refused, RateLimited: true})
			for _, permit := range held[1:] {
				permit.Done(hotelstays.PermitResult{})
			}
			time.Sleep(away)
			a.link.down.Store(false)
			time.Sleep(2 * retryPause)
			if away < defaultLease {
				assert.Zero(t, took(t, b, limit-1))
			}
			a.take(t, key, 1)
			b.take(t, key, 1)
			l := b.ofKey(key)
			l.mu.Lock()
			defer l.mu.Unlock()
			assert.WithinDuration(t, refused, l.transit.Last429, 10*ms)
			stored, err := m.ZMembers(l.keys[1])
			assert.NoError(t, err)
			assert.LessOrEqual(t, len(stored), 4, "the rest, the 429, and the two that have just left: %v", stored)
		})
	}
}
