package hotelstaysredis

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

func budget(op hotelstays.Operation) hotelstays.RateLimitKey {
	return hotelstays.RateLimitKey{BaseURL: "https://host.example", Operation: op}
}

var key = budget(hotelstays.OpTicket) // the lowest limit

const (
	limit = 5
	full  = window + defaultMargin
	soon  = full - reportPause // after the report of the arrival
)

// twoProcesses runs a test with two processes of a fleet whose first rest is over.
func twoProcesses(t *testing.T, opts RateLimiterOptions, test func(t *testing.T, m *mini, a, b *process)) {
	withMini(t, func(t *testing.T, m *mini) {
		fleet, end := startFleet(t, m, 2, opts)
		defer end()
		fleet[0].take(t, key, 1)
		time.Sleep(time.Minute)
		test(t, m, fleet[0], fleet[1])
	})
}

// took is how long a process waits for n slots that it sends with.
func took(t *testing.T, p *process, n int) time.Duration {
	t.Helper()
	time.Sleep(reportPause)
	synctest.Wait() // everything is reported
	start := time.Now()
	p.take(t, key, n)
	return time.Since(start)
}

// A process in line is served, whatever the demand of the others.
func TestNoProcessStarves(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		ctx, cancel := context.WithCancel(t.Context())
		go a.drive(ctx, key, load{callers: 500}, new(departures))
		time.Sleep(10 * time.Second)
		for range 20 {
			assert.LessOrEqual(t, took(t, b, 1), 2*full)
		}
		cancel()
	})
}

func TestFirstComeFirstServedInAProcess(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		a.take(t, key, limit)
		turn := make(chan int, 40)
		for i := range 40 {
			go func() {
				a.take(t, key, 1)
				turn <- i
			}()
			synctest.Wait()
		}
		for i := range 40 {
			got := <-turn
			assert.Equal(t, i/limit, got/limit, "caller %d was served as number %d", got, i)
		}
	})
}

// A slot that is granted during the call of Pause is not used.
func TestPauseHoldsTheProcessAtOnce(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		a.link.latency.Store(int64(100 * ms))
		start := time.Now()
		granted := make(chan time.Duration)
		go func() {
			a.take(t, key, 1)
			granted <- time.Since(start)
		}()
		synctest.Wait()
		a.Pause(key, start.Add(3*time.Second))
		assert.GreaterOrEqual(t, <-granted, 3*time.Second)
	})
}

// A pause that Redis has lost still holds its process, which does not poll.
func TestPauseThatRedisForgets(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, _ *process) {
		held := a.hold(t, key, 1)
		start, before := time.Now(), a.link.commands.Load()
		a.Pause(key, start.Add(9*time.Second))
		synctest.Wait()
		m.FlushAll()
		a.take(t, key, 1)
		assert.Equal(t, 9*time.Second, time.Since(start))
		assert.LessOrEqual(t, a.link.commands.Load()-before, int64(2*9+10), "renewals of what is out included")
		leave(held[0])
	})
}

// No pause outlives a day, whoever asked for it: a later process finds none.
func TestLongestPause(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		a.Pause(key, time.Now().Add(365*24*time.Hour))
		synctest.Wait()
		time.Sleep(24*time.Hour - 10*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := b.Acquire(ctx, key)
		cancel()
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(5 * time.Second)
		ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		permit, err := b.Acquire(ctx, key)
		require.NoError(t, err)
		permit.Done(hotelstays.PermitResult{})
	})
}

// A pause that could not be reported is reported again.
func TestPauseWhileRedisIsAway(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		start := time.Now()
		a.link.down.Store(true)
		a.Pause(key, start.Add(7*time.Second))
		synctest.Wait()
		a.link.down.Store(false)
		time.Sleep(retryPause)
		synctest.Wait()
		b.take(t, key, 1)
		assert.Equal(t, 7*time.Second, time.Since(start))
	})
}

// A grant at the moment when ctx ends is not lost.
func TestGrantAtTheEndOfAContext(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		a.link.latency.Store(int64(10 * ms))
		l := a.line(key)
		for range 50 {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan hotelstays.Permit)
			go func() {
				permit, _ := a.Acquire(ctx, key)
				ended <- permit
			}()
			synctest.Wait()
			l.mu.Lock() // over both
			cancel()
			l.apply(turn{}, reply{granted: 1})
			l.mu.Unlock()
			if permit := <-ended; permit != nil {
				permit.Done(hotelstays.PermitResult{})
			}
		}
		time.Sleep(time.Second)
		assert.Empty(t, l.granted)
		assert.Zero(t, took(t, b, limit))
	})
}

// The number of commands does not grow with the number of waiting callers.
func TestWaitingDoesNotHammer(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		held := a.hold(t, key, limit)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		before := a.link.commands.Load() + b.link.commands.Load()
		for range 1000 {
			go func() { _, _ = a.Acquire(ctx, key) }()
			go func() { _, _ = b.Acquire(ctx, key) }()
		}
		<-ctx.Done()
		synctest.Wait()
		commands := a.link.commands.Load() + b.link.commands.Load() - before
		assert.LessOrEqual(t, commands, int64(2*60*4+2*60+100), "in a minute")
		for _, permit := range held {
			permit.Done(hotelstays.PermitResult{})
		}
	})
}

// A busy fleet needs at most one command for each request.
func TestCommandsPerRequest(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		busy := budget(hotelstays.OpHotelList)
		a.take(t, busy, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		before := a.link.commands.Load() + b.link.commands.Load()
		var sent departures
		go a.drive(ctx, busy, load{callers: 300}, &sent)
		b.drive(ctx, busy, load{callers: 300}, &sent)
		synctest.Wait()
		commands := a.link.commands.Load() + b.link.commands.Load() - before
		t.Logf("%d commands, %d requests", commands, len(sent.times))
		assert.LessOrEqual(t, commands, int64(len(sent.times)))
	})
}

func TestRedisAwayIsRefused(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		held := a.hold(t, key, 2)
		a.link.down.Store(true)
		leave(held[0])
		for range 3 {
			_, err := a.Acquire(t.Context(), key)
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorIs(t, err, errLost)
			assert.EqualError(t, err, "hotelstaysredis: Ticket: cannot share the rate limit, nothing was sent: "+
				"redis is unavailable: the connection is lost; check Redis, or set FallbackProcesses")
			time.Sleep(200 * ms)
		}
		a.link.down.Store(false)
		time.Sleep(retryPause)
		assert.Zero(t, took(t, a, limit-2), "one was sent meanwhile, one is out")
		leave(held[1])
		assert.Equal(t, soon, took(t, a, limit))
	})
}

// Unreported arrivals are dropped when their leases have ended.
func TestRedisAwayForLongerThanALease(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		held := a.hold(t, key, limit)
		a.link.down.Store(true)
		for _, permit := range held {
			leave(permit)
		}
		time.Sleep(defaultLease + full)
		assert.Zero(t, took(t, b, limit))
		synctest.Wait()
		l := a.line(key)
		l.mu.Lock()
		defer l.mu.Unlock()
		assert.False(t, l.running, "nothing is left to say")
	})
}

func TestClosedClient(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		held := a.hold(t, key, 2)
		a.link.Close()
		leave(held[0])
		held[1].Done(hotelstays.PermitResult{})
		a.Pause(key, time.Now().Add(time.Hour))
		time.Sleep(reportPause)
		synctest.Wait()
		assert.False(t, a.line(key).running)
		_, err := a.Acquire(t.Context(), key)
		assert.ErrorIs(t, err, ErrUnavailable)
	})
}

// A Redis that does not answer counts as unavailable.
func TestSilentRedisIsAway(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{Timeout: 300 * ms}, func(t *testing.T, _ *mini, a, _ *process) {
		a.link.latency.Store(int64(time.Hour))
		start := time.Now()
		_, err := a.Acquire(t.Context(), key)
		assert.ErrorIs(t, err, ErrUnavailable)
		assert.ErrorContains(t, err, "no answer within 300ms")
		assert.Equal(t, 300*ms, time.Since(start))
		time.Sleep(3 * time.Hour) // the command ends
	})
}
