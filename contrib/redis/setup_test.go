package hotelstaysredis

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

// portion returns full, or fewer cases under -short.
func portion[T any](full, short T) T {
	if testing.Short() {
		return short
	}
	return full
}

// mini is a miniredis in a bubble, with its clock. Commands take no time except the latency
// of a link.
type mini struct {
	*miniredis.Miniredis

	ahead atomic.Int64 // a time.Duration: how far its wall clock is ahead of the bubble's

	mu   sync.Mutex
	last time.Time
}

// withMini runs a test in a bubble.
func withMini(t *testing.T, test func(t *testing.T, m *mini)) {
	synctest.Test(t, func(t *testing.T) {
		m := &mini{Miniredis: miniredis.NewMiniRedis()}
		defer m.Close()
		test(t, m)
	})
}

// link is the connection of one process to Redis.
type link struct {
	*redis.Client
	mini     *mini
	latency  atomic.Int64 // a time.Duration: one way, at most
	losing   atomic.Int64 // percentage of lost replies
	down     atomic.Bool  // nothing arrives
	before   atomic.Pointer[func(cmd redis.Cmder)]
	commands atomic.Int64
}

// connect returns the link of one more process.
func (m *mini) connect() *link {
	l := &link{mini: m, Client: redis.NewClient(&redis.Options{Dialer: m.dial, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})}
	l.AddHook(l)
	return l
}

func (m *mini) dial(context.Context, string, string) (net.Conn, error) { return m.Dial() }

var errLost = errors.New("the connection is lost")

// tick sets the server's clock by the bubble's.
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

func (l *link) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *link) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *link) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		l.commands.Add(1)
		time.Sleep(time.Duration(rand.N(l.latency.Load() + 1)))
		if l.down.Load() {
			cmd.SetErr(errLost)
			return errLost
		}
		if before := l.before.Load(); before != nil {
			(*before)(cmd)
		}
		l.mini.tick()
		err := next(ctx, cmd)
		time.Sleep(time.Duration(rand.N(l.latency.Load() + 1)))
		if rand.Int64N(100) < l.losing.Load() {
			cmd.SetErr(errLost)
			return errLost
		}
		return err
	}
}

// gate is a hook of a client. It holds the commands of a frozen process, which are then lost.
type gate struct{ frozen atomic.Pointer[chan struct{}] }

func (g *gate) freeze() (thaw func()) {
	held := make(chan struct{})
	g.frozen.Store(&held)
	return func() {
		g.frozen.Store(nil)
		close(held)
	}
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if held := g.frozen.Load(); held != nil {
			<-*held
			cmd.SetErr(errLost)
			return errLost
		}
		return next(ctx, cmd)
	}
}

// fleetOf returns a fleet for a suite of storetest. Each of its processes has a client.
func fleetOf[S any](connect func() *redis.Client, open func(*redis.Client) S) storetest.Fleet[S] {
	gates := map[any]*gate{}
	return storetest.Fleet[S]{
		Open: func() S {
			client, g := connect(), new(gate)
			client.AddHook(g)
			s := open(client)
			gates[s] = g
			return s
		},
		Freeze: func(s S) func() { return gates[s].freeze() },
	}
}

// miniFleet returns a fleet on a miniredis.
func miniFleet[S any](t *testing.T, open func(*redis.Client) S) storetest.Fleet[S] {
	m := &mini{Miniredis: miniredis.NewMiniRedis()}
	t.Cleanup(m.Close)
	connect := func() *redis.Client {
		l := m.connect()
		t.Cleanup(func() { l.Close() })
		return l.Client
	}
	fleet := fleetOf(connect, open)
	fleet.SetBack = func(d time.Duration) { m.ahead.Add(-int64(d)) }
	return fleet
}
