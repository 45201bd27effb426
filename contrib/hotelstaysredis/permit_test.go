package hotelstaysredis

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// The answer proves when the request arrived.
func TestSlotIsFreeOneWindowAfterItsRequestArrived(t *testing.T) {
	for name, c := range map[string]struct {
		margin   time.Duration
		dial     time.Duration // from the grant until the request leaves
		answered time.Duration // from the request's departure to its answer
		arrived  time.Duration // from the request's departure to its arrival, as the answer says
		refused  bool          // the answer is a 429, whose time of arrival is not used
		back     time.Duration
	}{
		"a long travel time":                     {0, 0, 400 * ms, 300 * ms, false, 300*ms + full},
		"a long travel time and another Margin":  {200 * ms, 0, 400 * ms, 300 * ms, false, 300*ms + window + 200*ms},
		"a slow dial":                            {0, 3 * time.Second, 0, 0, false, full},
		"an arrival before the departure":        {0, 0, 400 * ms, -time.Hour, false, full}, // the answer's time is wrong
		"answered after a window":                {0, 0, 1500 * ms, 700 * ms, false, 700*ms + full},
		"answered after the slot should be free": {0, 0, 1500 * ms, 10 * ms, false, 1500*ms + reportPause},
		"answered with a 429":                    {0, 0, 400 * ms, 300 * ms, true, window + full},
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

// If the limiter knows no travel times, it assumes that a request without an answer arrives within one window.
func TestSlotOfAnUnansweredRequestIsHeldForTwoWindows(t *testing.T) {
	for after, n := range map[time.Duration]int{100 * ms: limit, full: 2} { // time after which callers give up -> number of these callers
		twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
			a.take(t, key, 1) // one answer per minute is too little to estimate travel times
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

// The requests leave 20 and 40 seconds after the grants, which is longer than the lease.
func TestSlotOfALivingProcessIsKept(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		held := a.hold(t, key, limit)
		time.Sleep(20 * time.Second)
		leave(held[1:]...)
		time.Sleep(20 * time.Second)
		assert.Zero(t, took(t, b, limit-1))
		assert.Equal(t, soon, took(t, b, 1), "one slot is still held")
		leave(held[0])
	})
}

// A process dies while it holds slots and has tickets in the queue.
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
				permit.Done(hotelstays.PermitResult{}) // only to end the test
			}
		})
	}
}

// A 429 in one process changes the assumed travel time in all processes.
func TestAssumedTravelTimeAfterA429HalvesEveryMinute(t *testing.T) {
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
		answer(b, true) // a later 429 has its full effect again, also in the other process
		time.Sleep(5 * time.Second)
		answer(a, false)
		l := a.ofKey(key)
		l.mu.Lock()
		defer l.mu.Unlock()
		assert.Equal(t, window, l.transit.Longest(time.Now()))
	})
}

// The report contains the age of a 429, and slots that were not used.
func TestProcessReportsA429AndUnusedSlotsWhenRedisIsBack(t *testing.T) {
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
			assert.LessOrEqual(t, len(stored), 4, "the members rest and refused, and the two requests that have just left: %v", stored)
		})
	}
}
