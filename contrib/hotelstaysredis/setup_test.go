package hotelstaysredis

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

const ms = time.Millisecond

// mini is a miniredis that runs in a synctest bubble and uses the bubble's clock. Only the latency of a link
// delays commands.
type mini struct {
	*miniredis.Miniredis

	ahead atomic.Int64 // a time.Duration: how far the server's clock is ahead of the bubble's clock

	mu   sync.Mutex
	last time.Time
}

func newMini(t *testing.T) *mini {
	m := &mini{Miniredis: miniredis.NewMiniRedis()}
	t.Cleanup(m.Close)
	return m
}

// tick sets the server's clock to the bubble's time plus ahead.
func (m *mini) tick() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.SetTime(now.Add(time.Duration(m.ahead.Load())))
	if !m.last.IsZero() {
		m.FastForward(now.Sub(m.last))
	}
	m.last = now
}

// link is the connection of one process to Redis. It can delay and lose commands.
type link struct {
	*redis.Client
	mini     *mini                         // nil if Redis is real
	latency  atomic.Int64                  // a time.Duration: the maximum delay of a command, and of its reply
	losing   atomic.Int64                  // percentage of lost replies
	down     atomic.Bool                   // if true, no command arrives
	frozen   atomic.Pointer[chan struct{}] // if set, commands wait until it is closed, and are then lost
	before   atomic.Pointer[func(cmd redis.Cmder)]
	commands atomic.Int64
}

// newLink returns the link of one more process. The link ends with the test.
func newLink(t *testing.T, opts *redis.Options, m *mini) *link {
	l := &link{Client: redis.NewClient(opts), mini: m}
	l.AddHook(l)
	t.Cleanup(func() { l.Close() })
	return l
}

func (m *mini) connect(t *testing.T) *link {
	dial := func(context.Context, string, string) (net.Conn, error) { return m.Dial() }
	return newLink(t, &redis.Options{Dialer: dial, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}}, m)
}

var errLost = errors.New("the connection is lost")

func (l *link) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *link) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *link) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		l.commands.Add(1)
		if thawed := l.frozen.Load(); thawed != nil {
			<-*thawed
			return lose(cmd)
		}
		time.Sleep(time.Duration(rand.N(l.latency.Load() + 1)))
		if l.down.Load() {
			return lose(cmd)
		}
		if before := l.before.Load(); before != nil {
			(*before)(cmd)
		}
		if l.mini != nil {
			l.mini.tick()
		}
		err := next(ctx, cmd)
		time.Sleep(time.Duration(rand.N(l.latency.Load() + 1)))
		if rand.Int64N(100) < l.losing.Load() {
			return lose(cmd)
		}
		return err
	}
}

func lose(cmd redis.Cmder) error {
	cmd.SetErr(errLost)
	return errLost
}

func (l *link) freeze() (thaw func()) {
	thawed := make(chan struct{})
	l.frozen.Store(&thawed)
	return func() {
		l.frozen.Store(nil)
		close(thawed)
	}
}

func fleetOf[S any](connect func() *link, open func(*redis.Client) S) storetest.Fleet[S] {
	links := map[any]*link{}
	return storetest.Fleet[S]{
		Open: func() S {
			l := connect()
			s := open(l.Client)
			links[s] = l
			return s
		},
		Freeze: func(s S) func() { return links[s].freeze() },
	}
}

// miniFleet returns processes that share a miniredis. Each command is executed twice, as if its first reply was lost
// and go-redis sent the command again.
func miniFleet[S any](t *testing.T, open func(*redis.Client) S) storetest.Fleet[S] {
	m := newMini(t)
	fleet := fleetOf(func() *link {
		l, first := m.connect(t), m.connect(t)
		twice := func(cmd redis.Cmder) {
			_ = first.Process(context.Background(), redis.NewCmd(context.Background(), cmd.Args()...))
		}
		l.before.Store(&twice)
		return l
	}, open)
	fleet.SetBack = func(d time.Duration) { m.ahead.Add(-int64(d)) }
	return fleet
}
