package hotelstaysredis

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

func budget(op hotelstays.Operation) hotelstays.RateLimitKey {
	return hotelstays.RateLimitKey{BaseURL: "https://host.example", Operation: op}
}

var key = budget(hotelstays.OpTicket) // Ticket has the lowest rate limit

const (
	limit = 5
	full  = window + defaultMargin
	soon  = full - reportPause // time from the report of an arrival until the slot is free
)

type process struct {
	*RateLimiter
	link *link // nil if the client has no link
}

func newProcess(t *testing.T, client redis.UniversalClient, opts RateLimiterOptions) *process {
	t.Helper()
	r, err := NewRateLimiter(client, &opts)
	require.NoError(t, err)
	l, _ := client.(*link)
	return &process{r, l}
}

// withFleet runs a test with n processes that share Redis. The pause at the first use of Redis is over, so the limiter
// grants slots.
func withFleet(t *testing.T, n int, opts RateLimiterOptions, test func(t *testing.T, m *mini, fleet []*process)) {
	synctest.Test(t, func(t *testing.T) {
		m := newMini(t)
		var fleet []*process
		for range n {
			fleet = append(fleet, newProcess(t, m.connect(t), opts))
		}
		defer time.Sleep(time.Minute) // until the limiters have nothing more to report
		fleet[0].take(t, key, 1)
		time.Sleep(2 * time.Minute) // until the limiter has forgotten the travel time of this request
		test(t, m, fleet)
	})
}

func twoProcesses(t *testing.T, opts RateLimiterOptions, test func(t *testing.T, m *mini, a, b *process)) {
	withFleet(t, 2, opts, func(t *testing.T, m *mini, fleet []*process) { test(t, m, fleet[0], fleet[1]) })
}

// take acquires n slots and sends a request with each slot.
func (p *process) take(t *testing.T, key hotelstays.RateLimitKey, n int) {
	t.Helper()
	leave(p.hold(t, key, n)...)
}

// hold acquires n slots, and sends no request.
func (p *process) hold(t *testing.T, key hotelstays.RateLimitKey, n int) (permits []hotelstays.Permit) {
	t.Helper()
	for range n {
		permit, err := p.Acquire(t.Context(), hotelstays.RateLimitRequest{Key: key})
		if !assert.NoError(t, err) { // not require, because other goroutines also call hold
			return permits
		}
		permits = append(permits, permit)
	}
	return permits
}

// leave sends a request with each permit. The answers prove that the requests arrived immediately.
func leave(permits ...hotelstays.Permit) {
	for _, permit := range permits {
		permit.Sent()
		permit.Done(hotelstays.PermitResult{ArrivedBy: time.Now()})
	}
}

// took returns how long a process waits for n slots. It sends a request with each slot.
func took(t *testing.T, p *process, n int) time.Duration {
	t.Helper()
	time.Sleep(reportPause)
	synctest.Wait() // until each limiter has reported its requests
	start := time.Now()
	p.take(t, key, n)
	return time.Since(start)
}

// idle reports whether a process has nothing more to report and no caller waits.
func (p *process) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.keys {
		l.mu.Lock()
		busy := l.taking || !l.due(time.Now()).IsZero()
		l.mu.Unlock()
		if busy {
			return false
		}
	}
	return true
}

// Redis grants a slot while the process calls Pause. The process must not use this slot.
func TestProcessThatBeginsAPauseUsesNoSlotUntilThePauseEnds(t *testing.T) {
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

// The process itself remembers the pause, and does not poll Redis during the pause.
func TestPauseContinuesAfterRedisHasLostIt(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, _ *process) {
		held := a.hold(t, key, 1)
		start, before := time.Now(), a.link.commands.Load()
		a.Pause(key, start.Add(9*time.Second))
		synctest.Wait()
		m.FlushAll()
		a.take(t, key, 1)
		assert.Equal(t, 9*time.Second, time.Since(start))
		assert.LessOrEqual(t, a.link.commands.Load()-before, int64(2*9+10), "including the renewals of the held slot")
		leave(held...)
	})
}

func TestPauseLastsADayAtMost(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		start := time.Now()
		a.Pause(key, start.Add(365*24*time.Hour))
		synctest.Wait()
		time.Sleep(24*time.Hour - 10*time.Second)
		b.take(t, key, 1)
		assert.WithinDuration(t, start.Add(24*time.Hour), time.Now(), 5*time.Second)
	})
}

func TestProcessReportsItsPauseToRedisAfterAnOutage(t *testing.T) {
	for _, away := range []time.Duration{0, 2 * defaultLease} {
		twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
			a.link.down.Store(true)
			end := time.Now().Add(away + 7*time.Second)
			a.Pause(key, end)
			time.Sleep(away)
			synctest.Wait()
			a.link.down.Store(false)
			time.Sleep(retryPause)
			synctest.Wait()
			b.take(t, key, 1)
			assert.Equal(t, end, time.Now())
		})
	}
}

func TestSlotGrantedAtTheEndOfACallersContextIsReleased(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		a.link.latency.Store(int64(10 * ms))
		l := a.ofKey(key)
		for range 50 {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if permit, err := a.Acquire(ctx, hotelstays.RateLimitRequest{Key: key}); err == nil {
					permit.Done(hotelstays.PermitResult{})
				}
			}()
			synctest.Wait()
			l.mu.Lock() // so that the grant and the end of ctx happen at the same moment
			cancel()
			l.apply(reply{granted: 1, maxTickets: limit})
			l.mu.Unlock()
			time.Sleep(time.Second)
			synctest.Wait()
			assert.Empty(t, l.pending)
		}
	})
}

func TestWaitingProcessAsksRedisFourTimesASecond(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		held := a.hold(t, key, limit)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		before := a.link.commands.Load() + b.link.commands.Load()
		for range 100 {
			go func() { _, _ = a.Acquire(ctx, hotelstays.RateLimitRequest{Key: key}) }()
			go func() { _, _ = b.Acquire(ctx, hotelstays.RateLimitRequest{Key: key}) }()
		}
		<-ctx.Done()
		synctest.Wait()
		commands := a.link.commands.Load() + b.link.commands.Load() - before
		assert.LessOrEqual(t, commands, int64(2*10*4+2*10+20), "in ten seconds, including renewals")
		for _, permit := range held {
			permit.Done(hotelstays.PermitResult{})
		}
	})
}

func TestBusyFleetNeedsOneCommandPerRequest(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		busy := &traffic{key: budget(hotelstays.OpQueryOrders), callers: 60}
		a.take(t, busy.key, 1)
		before := a.link.commands.Load() + b.link.commands.Load()
		busy.driveFor(4*time.Second, a, b)
		synctest.Wait()
		assert.LessOrEqual(t, a.link.commands.Load()+b.link.commands.Load()-before, int64(len(busy.arrived)))
	})
}

func TestCallFailsWhileRedisIsUnavailable(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		held := a.hold(t, key, 2)
		a.link.down.Store(true)
		leave(held[0])
		for range 3 {
			start := time.Now()
			_, err := a.Acquire(t.Context(), hotelstays.RateLimitRequest{Key: key})
			assert.Zero(t, time.Since(start), "the call fails at once")
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorIs(t, err, errLost)
			assert.EqualError(t, err, "hotelstaysredis: Ticket: cannot share the rate limit, nothing was sent: "+
				"redis is unavailable: the connection is lost; check Redis, or set FallbackProcesses")
			time.Sleep(200 * ms)
		}
		a.link.down.Store(false)
		time.Sleep(retryPause)
		assert.Zero(t, took(t, a, limit-2), "all slots except one that was used during the outage and one that is held")
		leave(held[1])
		assert.Equal(t, soon, took(t, a, limit))
	})
}

func TestClosedRedisClientIsNotUsedAgain(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		held := a.hold(t, key, 2)
		a.link.Close()
		leave(held[0])
		held[1].Done(hotelstays.PermitResult{})
		a.Pause(key, time.Now().Add(time.Hour))
		time.Sleep(2 * retryPause)
		synctest.Wait()
		assert.True(t, a.idle())
		_, err := a.Acquire(t.Context(), hotelstays.RateLimitRequest{Key: budget(hotelstays.OpBook)})
		assert.ErrorIs(t, err, ErrUnavailable)
		_, err = a.Acquire(t.Context(), hotelstays.RateLimitRequest{Key: budget(hotelstays.OpOAuthToken)})
		assert.NoError(t, err, "an operation without a rate limit needs no Redis")
	})
}

func TestRedisThatDoesNotAnswerCountsAsUnavailable(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{Timeout: 300 * ms}, func(t *testing.T, _ *mini, a, _ *process) {
		a.link.latency.Store(int64(time.Hour))
		start := time.Now()
		_, err := a.Acquire(t.Context(), hotelstays.RateLimitRequest{Key: key})
		assert.ErrorIs(t, err, ErrUnavailable)
		assert.ErrorContains(t, err, "no answer within 300ms")
		assert.Equal(t, 300*ms, time.Since(start))
		time.Sleep(3 * time.Hour) // until the commands end
	})
}
