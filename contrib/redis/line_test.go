// Slots, one by one: when each comes back, and who gets it.

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

const (
	op    = hotelstays.OpTicket // the lowest ceiling
	limit = 5
	full  = window + defaultMargin
	soon  = full - leftPause // what is left of it when Redis has heard of the arrival
)

// twoProcesses runs a test with two processes of a fleet whose first rest is over.
func twoProcesses(t *testing.T, opts RateLimiterOptions, test func(t *testing.T, m *mini, a, b *process)) {
	m := startMini(t)
	synctest.Test(t, func(t *testing.T) {
		fleet, end := startFleet(t, m, 2, opts)
		defer end()
		fleet[0].take(t, op, 1)
		time.Sleep(time.Minute)
		test(t, m, fleet[0], fleet[1])
	})
}

// took is how long a process waits for n slots that it sends with.
func took(t *testing.T, p *process, n int) time.Duration {
	t.Helper()
	time.Sleep(leftPause)
	synctest.Wait() // Redis has heard of everything
	start := time.Now()
	p.take(t, op, n)
	return time.Since(start)
}

func TestSlotComesBackAWindowAfterItsRequestLeft(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		held := a.hold(t, op, limit)
		time.Sleep(3 * time.Second) // they dial
		for _, permit := range held {
			leave(permit)
		}
		assert.Equal(t, soon, took(t, b, limit))
		assert.Equal(t, soon, took(t, b, 1))
		time.Sleep(full)
		assert.Zero(t, took(t, a, limit))
	})
}

// What an answer says of the arrival of its request decides when the slot is back.
func TestSlotComesBackAWindowAfterItsRequestArrived(t *testing.T) {
	for name, c := range map[string]struct {
		answered time.Duration // after the request left
		arrived  time.Duration // as the answer proves
		back     time.Duration
	}{
		"on the way for long":     {400 * ms, 300 * ms, 300*ms + full},
		"before it left":          {400 * ms, -time.Hour, full}, // the service's clock is not the client's
		"answered after a second": {1500 * ms, 700 * ms, 700*ms + full},
		"sooner than was thought": {1500 * ms, 10 * ms, 1500*ms + leftPause},
	} {
		t.Run(name, func(t *testing.T) {
			twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
				start := time.Now()
				for _, permit := range a.hold(t, op, limit) {
					permit.Sent()
					time.AfterFunc(c.answered, func() { permit.Done(hotelstays.PermitResult{ArrivedBy: start.Add(c.arrived)}) })
				}
				time.Sleep(c.back - ms)
				early, cancel := context.WithTimeout(t.Context(), ms/2)
				defer cancel()
				_, err := b.Acquire(early, op)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				time.Sleep(ms / 2)
				synctest.Wait()
				b.take(t, op, limit)
				assert.Equal(t, c.back, time.Since(start))
			})
		})
	}
}

// A request that is not answered counts as on its way for a window, while nothing is known.
func TestSlotOfARequestWithoutAnAnswer(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		start := time.Now()
		held := a.hold(t, op, limit)
		for _, permit := range held {
			permit.Sent()
		}
		time.Sleep(full)
		for _, permit := range held[:2] { // their callers have hung up
			permit.Done(hotelstays.PermitResult{})
		}
		b.take(t, op, limit)
		assert.Equal(t, 2*window, time.Since(start))
		for _, permit := range held[2:] {
			permit.Done(hotelstays.PermitResult{})
		}
	})
}

func TestMarginIsAddedToTheWindow(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{Margin: 200 * ms}, func(t *testing.T, _ *mini, a, b *process) {
		a.take(t, op, limit)
		assert.Equal(t, window+200*ms-leftPause, took(t, b, 1))
	})
}

func TestUnusedSlotIsBackAtOnce(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		held := a.hold(t, op, limit)
		for _, permit := range held[1:] {
			permit.Done(hotelstays.PermitResult{})
		}
		synctest.Wait()
		assert.Zero(t, took(t, b, limit-1))
		start := time.Now()
		waiting := make(chan time.Duration)
		go func() {
			b.take(t, op, 1)
			waiting <- time.Since(start)
		}()
		time.Sleep(time.Second / 10)
		held[0].Done(hotelstays.PermitResult{})
		assert.LessOrEqual(t, <-waiting, 250*ms, "for a caller of another process who waits already")
	})
}

// A request may take long to leave: its slot is not lost meanwhile.
func TestSlotOfALivingProcessIsKept(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		slow := a.hold(t, op, 1)
		held := a.hold(t, op, limit-1)
		time.Sleep(time.Minute)
		for _, permit := range held {
			leave(permit)
		}
		time.Sleep(time.Minute)
		assert.Zero(t, took(t, b, limit-1))
		assert.Equal(t, soon, took(t, b, 1), "the fifth is still out")
		leave(slow[0])
	})
}

// A process dies with slots and with tickets in line.
func TestSlotsOfADeadProcessComeBack(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		held := a.hold(t, op, limit)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 10 {
			go func() { _, _ = a.Acquire(ctx, op) }()
		}
		synctest.Wait()
		a.link.down.Store(true)
		took := took(t, b, limit)
		assert.Greater(t, took, full, "its last request may have left just now")
		assert.LessOrEqual(t, took, defaultLease+full+500*ms)
		for _, permit := range held {
			permit.Done(hotelstays.PermitResult{}) // the test's process, after all, lives
		}
	})
}

// A process in line comes for its ticket, whatever the demand of the others.
func TestNoProcessStarves(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		ctx, cancel := context.WithCancel(t.Context())
		go a.drive(ctx, op, load{callers: 500}, new(departures))
		time.Sleep(10 * time.Second)
		for range 20 {
			assert.LessOrEqual(t, took(t, b, 1), 2*full)
		}
		cancel()
	})
}

func TestFirstComeFirstServedInAProcess(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		a.take(t, op, limit)
		turn := make(chan int, 40)
		for i := range 40 {
			go func() {
				a.take(t, op, 1)
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

func TestPauseHoldsTheFleet(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		start := time.Now()
		held := b.hold(t, op, 1)
		a.Pause(op, start.Add(7*time.Second))
		a.Pause(op, start.Add(2*time.Second)) // the longest counts
		synctest.Wait()
		b.Pause(op, start.Add(3*time.Second))
		a.Pause(op, start.Add(-time.Hour))
		a.Pause(hotelstays.OpHotelIDList, start.Add(time.Hour))
		synctest.Wait()
		leave(held[0])
		b.take(t, op, limit)
		assert.Equal(t, 7*time.Second, time.Since(start))
		assert.Equal(t, soon, took(t, a, 1))
		start = time.Now()
		b.Pause(op, start.Add(20*time.Second))
		synctest.Wait()
		a.take(t, op, 1)
		assert.Equal(t, 20*time.Second, time.Since(start))
	})
}

// Whoever has paused is not granted a slot that was on its way meanwhile.
func TestPauseHoldsTheProcessAtOnce(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		a.link.latency.Store(int64(100 * ms))
		start := time.Now()
		granted := make(chan time.Duration)
		go func() {
			a.take(t, op, 1)
			granted <- time.Since(start)
		}()
		synctest.Wait()
		a.Pause(op, start.Add(3*time.Second))
		assert.GreaterOrEqual(t, <-granted, 3*time.Second)
	})
}

// A pause that Redis has forgotten still holds its process, which waits in peace.
func TestPauseThatRedisForgets(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, _ *process) {
		held := a.hold(t, op, 1)
		start, before := time.Now(), a.link.commands.Load()
		a.Pause(op, start.Add(9*time.Second))
		synctest.Wait()
		m.FlushAll()
		a.take(t, op, 1)
		assert.Equal(t, 9*time.Second, time.Since(start))
		assert.LessOrEqual(t, a.link.commands.Load()-before, int64(2*9+10), "renewals of what is out included")
		leave(held[0])
	})
}

// A pause that Redis could not hear of is told again.
func TestPauseWhileRedisIsAway(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		start := time.Now()
		a.link.down.Store(true)
		a.Pause(op, start.Add(7*time.Second))
		synctest.Wait()
		a.link.down.Store(false)
		time.Sleep(awayPause)
		synctest.Wait()
		b.take(t, op, 1)
		assert.Equal(t, 7*time.Second, time.Since(start))
	})
}

func TestEndedContext(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 {
			_, err := a.Acquire(ended, op)
			require.Equal(t, context.Canceled, err)
		}
		b.take(t, op, limit)
		start := time.Now()
		const last = 10 * ms
		late, cancel := context.WithTimeout(t.Context(), full-last)
		defer cancel()
		_, err := a.Acquire(late, op)
		assert.Equal(t, context.DeadlineExceeded, err)
		assert.Equal(t, full-last, time.Since(start))
		b.take(t, op, limit)
		assert.Equal(t, full, time.Since(start), "whoever has left the line takes no slot")
	})
}

// A grant may meet the end of its caller's ctx: whichever of them the caller sees
// first, the slot is not lost.
func TestGrantAtTheEndOfAContext(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		a.link.latency.Store(int64(10 * ms))
		l := a.line(op)
		for range 50 {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan hotelstays.Permit)
			go func() {
				permit, _ := a.Acquire(ctx, op)
				ended <- permit
			}()
			synctest.Wait()
			l.mu.Lock() // over both
			cancel()
			l.heed(turn{}, reply{granted: 1})
			l.mu.Unlock()
			if permit := <-ended; permit != nil {
				permit.Done(hotelstays.PermitResult{})
			}
		}
		time.Sleep(time.Second)
		assert.Empty(t, l.out)
		assert.Zero(t, took(t, b, limit))
	})
}

// nextTurn is the turn that takes all slots next.
func nextTurn(l *line) turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return turn{number: l.turns + 1, want: limit, first: l.next}
}

// Grants whose reply was lost are found again by the next turn.
func TestGrantsWhoseReplyIsLost(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		l := a.line(op)
		lost, err := l.take(nextTurn(l))
		require.NoError(t, err)
		require.Equal(t, limit, lost.granted)
		assert.Zero(t, took(t, a, limit))
	})
}

// They may be found late: from then on they are kept as others are.
func TestGrantsFoundAtTheEndOfTheirLease(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		l := a.line(op)
		lost, err := l.take(nextTurn(l))
		require.NoError(t, err)
		require.Equal(t, limit, lost.granted)
		time.Sleep(defaultLease + full - 100*ms)
		held := a.hold(t, op, limit)
		time.AfterFunc(3*time.Second, func() {
			for _, permit := range held {
				leave(permit)
			}
		})
		assert.GreaterOrEqual(t, took(t, b, 1), 3*time.Second+window-leftPause, "a second after they have left")
	})
}

func TestOperationsWithoutACeilingAreFree(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		a.link.down.Store(true)
		for range 1000 {
			permit, err := a.Acquire(t.Context(), hotelstays.OpOAuthToken)
			require.NoError(t, err)
			require.Nil(t, permit)
		}
		a.Pause(hotelstays.OpOAuthToken, time.Now().Add(time.Hour))
	})
}

// Operations do not wait for each other.
func TestEachOperationHasItsOwnCeiling(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		b.take(t, hotelstays.OpBook, 1)
		time.Sleep(time.Minute)
		a.Pause(op, time.Now().Add(time.Hour))
		start := time.Now()
		b.take(t, hotelstays.OpBook, 10)
		assert.Zero(t, time.Since(start))
	})
}

// Waiting costs Redis little: a look now and then, however many callers wait.
func TestWaitingDoesNotHammer(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		held := a.hold(t, op, limit)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		before := a.link.commands.Load() + b.link.commands.Load()
		for range 1000 {
			go func() { _, _ = a.Acquire(ctx, op) }()
			go func() { _, _ = b.Acquire(ctx, op) }()
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

// A full fleet costs Redis a command a request at most.
func TestCommandsPerRequest(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		const busy = hotelstays.OpHotelList
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

// A Redis that has forgotten everything does not know what was sent.
func TestLostMemoryIsFollowedByARest(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, b *process) {
		held := a.hold(t, op, 1)
		a.take(t, op, limit-1)
		time.Sleep(100 * ms)
		m.FlushAll()
		assert.Equal(t, b.line(op).afterAway(), took(t, b, 1))
		assert.Zero(t, took(t, b, limit-2))
		assert.Equal(t, soon-leftPause, took(t, b, 1), "a slot that is out is remembered")
		leave(held[0])
	})
}

// A clock that is set back leaves times behind that would hold the fleet for as long as
// it was ahead.
func TestClockThatIsSetBack(t *testing.T) {
	m := startMini(t)
	m.ahead.Store(int64(time.Hour))
	synctest.Test(t, func(t *testing.T) {
		fleet, end := startFleet(t, m, 3, RateLimiterOptions{})
		defer end()
		a, b, dead := fleet[0], fleet[1], fleet[2]
		a.take(t, op, 1)
		time.Sleep(time.Minute)
		held := a.hold(t, op, 1)
		a.take(t, op, limit-1)
		go func() { _, _ = dead.Acquire(t.Context(), op) }() // it is in line when it dies
		time.Sleep(100 * ms)
		dead.link.down.Store(true)
		m.ahead.Store(0)
		assert.Equal(t, b.line(op).afterAway(), took(t, b, 1))
		assert.Zero(t, took(t, b, limit-2))
		assert.Equal(t, soon-leftPause, took(t, b, 1), "a slot that is out is remembered")
		leave(held[0])
	})
}

// A new Redis takes the place of one that is gone. A process whose question of that
// moment hangs tells it what is out only after Timeout, and a pause.
func TestLostMemoryHeardOfLate(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, b *process) {
		var sent departures
		held := a.hold(t, op, limit)
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
		b.drive(ctx, op, load{callers: 20}, &sent)
		assert.LessOrEqual(t, sent.busiest(full), limit)
	})
}

// A process may be cut off for Lease less Timeout: its last question of the outage
// may hang for so long, and only the next one tells what has left.
func TestCutOffForShorterThanTheLease(t *testing.T) {
	opts := RateLimiterOptions{Lease: 6 * time.Second, Timeout: 2 * time.Second}
	cut := opts.Lease - opts.Timeout - ms
	for wait := time.Duration(0); wait < renewPause; wait += 50 * ms {
		twoProcesses(t, opts, func(t *testing.T, _ *mini, a, b *process) {
			var sent departures
			held := a.hold(t, op, limit)
			time.Sleep(renewPause + wait)
			a.link.latency.Store(int64(time.Hour)) // every question hangs until Timeout
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
			b.drive(ctx, op, load{callers: 10}, &sent)
			assert.LessOrEqual(t, sent.busiest(full), limit, "cut off after %s", wait)
			time.Sleep(3 * time.Hour) // the questions that hung come to their end
		})
	}
}

func TestRedisAwayIsRefused(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		held := a.hold(t, op, 2)
		a.link.down.Store(true)
		leave(held[0])
		for range 3 {
			_, err := a.Acquire(t.Context(), op)
			require.ErrorIs(t, err, ErrAway)
			require.ErrorIs(t, err, errLost)
			assert.EqualError(t, err, "hotelstaysredis: the fleet's ceiling of Ticket cannot be kept, and nothing was sent: redis is away: the connection is lost; check Redis, or see RateLimiterOptions.ShareAmong")
			time.Sleep(200 * ms)
		}
		a.link.down.Store(false)
		time.Sleep(awayPause)
		assert.Zero(t, took(t, a, limit-2), "one was sent meanwhile, one is out")
		leave(held[1])
		assert.Equal(t, soon, took(t, a, limit))
	})
}

// What Redis never heard of is forgotten with its leases.
func TestRedisAwayForLongerThanALease(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		held := a.hold(t, op, limit)
		a.link.down.Store(true)
		for _, permit := range held {
			leave(permit)
		}
		time.Sleep(defaultLease + full)
		assert.Zero(t, took(t, b, limit))
		synctest.Wait()
		l := a.line(op)
		l.mu.Lock()
		defer l.mu.Unlock()
		assert.False(t, l.running, "nothing is left to say")
	})
}

// Nobody tries to tell anything to a client that is closed.
func TestClosedClient(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, _ *process) {
		held := a.hold(t, op, 2)
		a.link.Close()
		leave(held[0])
		held[1].Done(hotelstays.PermitResult{})
		a.Pause(op, time.Now().Add(time.Hour))
		time.Sleep(leftPause)
		synctest.Wait()
		assert.False(t, a.line(op).running)
		_, err := a.Acquire(t.Context(), op)
		assert.ErrorIs(t, err, ErrAway)
	})
}

// A Redis that does not answer is away, too.
func TestSilentRedisIsAway(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{Timeout: 300 * ms}, func(t *testing.T, _ *mini, a, _ *process) {
		a.link.latency.Store(int64(time.Hour))
		start := time.Now()
		_, err := a.Acquire(t.Context(), op)
		assert.ErrorIs(t, err, ErrAway)
		assert.ErrorContains(t, err, "no answer within 300ms")
		assert.Equal(t, 300*ms, time.Since(start))
		time.Sleep(3 * time.Hour) // what was sent comes to its end
	})
}

// Processes that lose Redis go on with their shares, and together keep the ceiling
// all the time: while it is there, when it goes, and when it is back.
func TestSharesWhileRedisIsAway(t *testing.T) {
	for name, atLeast := range map[hotelstays.Operation]int{hotelstays.OpTicket: 1, hotelstays.OpBook: 3, hotelstays.OpQueryOrders: 16} {
		t.Run(string(name), func(t *testing.T) {
			m := startMini(t)
			synctest.Test(t, func(t *testing.T) {
				fleet, end := startFleet(t, m, 3, RateLimiterOptions{ShareAmong: 3})
				defer end()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				var sent departures
				for _, p := range fleet {
					go p.drive(ctx, name, load{callers: 20}, &sent)
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
				assert.GreaterOrEqual(t, shared, 4*name.RateLimit(), "requests in the last five seconds")
				assert.LessOrEqual(t, sent.busiest(full), name.RateLimit())
			})
		})
	}
}

// Whoever was idle may be the first to find that Redis is back, while the others
// still go on with their shares.
func TestIdleProcessFindsRedisFirst(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{ShareAmong: 2}, func(t *testing.T, _ *mini, a, b *process) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var sent departures
		a.link.down.Store(true)
		b.link.down.Store(true)
		a.take(t, op, 1)
		sent.add()
		go b.drive(ctx, op, load{callers: 20}, &sent)
		time.Sleep(20 * time.Second)
		a.link.down.Store(false)
		time.AfterFunc(defaultTimeout, func() { b.link.down.Store(false) }) // its last turn took so long to fail
		a.drive(ctx, op, load{callers: 20}, &sent)
		synctest.Wait()
		assert.LessOrEqual(t, sent.busiest(full), limit)
	})
}

// More processes than slots: each sends one request in several windows.
func TestShareOfLessThanOneSlot(t *testing.T) {
	m := startMini(t)
	synctest.Test(t, func(t *testing.T) {
		fleet, end := startFleet(t, m, 1, RateLimiterOptions{ShareAmong: 2*limit + 1})
		defer end()
		fleet[0].link.down.Store(true)
		fleet[0].take(t, op, 1)
		start := time.Now()
		fleet[0].take(t, op, 1)
		assert.Equal(t, 3*full, time.Since(start))
	})
}

func TestPauseHoldsAShare(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{ShareAmong: 2}, func(t *testing.T, _ *mini, a, _ *process) {
		a.link.down.Store(true)
		a.take(t, op, 1)
		start := time.Now()
		a.Pause(op, start.Add(9*time.Second))
		a.take(t, op, 1)
		assert.Equal(t, 9*time.Second, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		a.Pause(op, start.Add(20*time.Second))
		_, err := a.Acquire(ctx, op)
		assert.Equal(t, context.DeadlineExceeded, err)
	})
}

func TestRateLimiterOptions(t *testing.T) {
	_, err := NewRateLimiter(nil, RateLimiterOptions{Prefix: "a{b}", Margin: -1, Lease: time.Second, Timeout: 2 * time.Hour, ShareAmong: -3})
	require.Error(t, err)
	for _, fault := range []string{"the client is nil", `"a{b}"`, "Margin is -1ns", "Timeout is 2h0m0s", "Lease is 1s", "ShareAmong is -3"} {
		assert.ErrorContains(t, err, fault)
	}
}

// A stranger's reply is an error, not a panic.
func TestReadReply(t *testing.T) {
	for _, answer := range []any{nil, "OK", []any{}, []any{1, 2, 3, 4}, []any{int64(1), "2", int64(3), int64(4)}, []any{int64(1), int64(2), int64(3)}} {
		_, err := readReply(answer)
		assert.Error(t, err)
	}
}

// freshRest is how long a fresh Redis rests.
const freshRest = awayPause + defaultTimeout + full

// Six operations that begin one after another on a fresh Redis rest together.
func TestFreshRedisCostsOneRest(t *testing.T) {
	m := startMini(t)
	synctest.Test(t, func(t *testing.T) {
		fleet, end := startFleet(t, m, 2, RateLimiterOptions{})
		defer end()
		start := time.Now()
		for i, op := range []hotelstays.Operation{hotelstays.OpTicket, hotelstays.OpHotelList, hotelstays.OpCheckAvail, hotelstays.OpBook, hotelstays.OpQueryOrders, hotelstays.OpCancel} {
			fleet[i%2].take(t, op, 1)
		}
		assert.Equal(t, freshRest, time.Since(start))
	})
}

// A server that has forgotten its scripts remembers the rest.
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

// Whichever key is evicted, the limit holds.
func TestEvictedKeysAreMissed(t *testing.T) {
	for _, evicted := range []string{"memory", "slots", "line", "alive", "turn", "with a time to live"} {
		t.Run(evicted, func(t *testing.T) {
			twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, m *mini, a, b *process) {
				var sent departures
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				for _, p := range []*process{a, b} {
					go p.drive(ctx, op, load{callers: 10}, &sent)
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

// A turn that was given up arrives, after all, when nobody waits for it any more: before
// the next turn of its process, or after it.
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
				_, err := a.Acquire(ctx, op)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				time.Sleep(late + awayPause)
				assert.Zero(t, took(t, b, limit))
			})
		})
	}
}

// The callers of a turn whose answer is lost have gone: what it was granted is not kept
// from the others.
func TestLostGrantsThatNobodyWaitsFor(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		a.link.losing.Store(100)
		for range limit {
			go func() { _, _ = a.Acquire(t.Context(), op) }()
		}
		synctest.Wait()
		a.link.losing.Store(0)
		time.Sleep(awayPause)
		assert.Zero(t, took(t, b, limit))
	})
}

// A 429 is known to all processes, and what it teaches fades, however often they speak.
func TestRefusalFades(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		a.link.latency.Store(int64(100 * ms))
		b.link.latency.Store(int64(100 * ms))
		time.Sleep(2 * time.Minute) // what answers proved is forgotten
		permit := a.hold(t, op, 1)[0]
		permit.Sent()
		permit.Done(hotelstays.PermitResult{FirstByte: time.Now(), RateLimited: true})
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		for _, p := range []*process{a, b} {
			for range limit {
				go func() {
					for ctx.Err() == nil {
						if permit, err := p.Acquire(ctx, op); err == nil {
							permit.Sent()
							permit.Done(hotelstays.PermitResult{FirstByte: time.Now()})
						}
					}
				}()
			}
		}
		for minutes := range 3 {
			time.Sleep(time.Until(start.Add(time.Duration(minutes)*time.Minute + 50*time.Second)))
			for _, p := range []*process{a, b} {
				l := p.line(op)
				l.mu.Lock()
				assert.Equal(t, window>>minutes, l.margin(time.Now()), "after %s", time.Since(start))
				l.mu.Unlock()
			}
		}
		<-ctx.Done()
	})
}

// Nobody asks for the slots of a process that died, until its lease is nearly over.
func TestSlotsOfADeadProcessAreKeptForItsLease(t *testing.T) {
	twoProcesses(t, RateLimiterOptions{}, func(t *testing.T, _ *mini, a, b *process) {
		held := a.hold(t, op, limit)
		a.link.down.Store(true)
		time.Sleep(defaultLease)
		assert.Equal(t, soon, took(t, b, limit))
		for _, permit := range held {
			permit.Done(hotelstays.PermitResult{})
		}
	})
}

// A process whose question hangs while the memory is lost is heard after Timeout and a
// pause: what it sent until then counts for a window.
func TestRestLastsUntilAHangingProcessIsHeard(t *testing.T) {
	opts := RateLimiterOptions{Lease: 9 * time.Second, Timeout: 3 * time.Second}
	twoProcesses(t, opts, func(t *testing.T, m *mini, a, b *process) {
		var sent departures
		held := a.hold(t, op, limit)
		time.Sleep(renewPause - ms)
		a.link.latency.Store(int64(time.Hour)) // the question hangs
		a.link.down.Store(true)
		time.Sleep(2 * ms)
		m.FlushAll()
		time.AfterFunc(opts.Timeout+awayPause-3*ms, func() {
			a.link.latency.Store(0)
			a.link.down.Store(false)
			for _, permit := range held {
				sent.add()
				leave(permit)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		b.drive(ctx, op, load{callers: 20}, &sent)
		assert.LessOrEqual(t, sent.busiest(full), limit)
		time.Sleep(3 * time.Hour) // the question that hung comes to its end
	})
}
