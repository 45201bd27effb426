package hotelstaysredis

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"
)

// mini is a miniredis outside of the bubble, with the clock of the bubble. Commands take no
// time except the latency of a link.
type mini struct {
	*miniredis.Miniredis

	ahead atomic.Int64 // a time.Duration: how far its wall clock is ahead of the bubble's

	mu   sync.Mutex
	last time.Time
}

func startMini(t *testing.T) *mini {
	m := &mini{Miniredis: miniredis.NewMiniRedis()}
	require.NoError(t, m.Start())
	t.Cleanup(m.Close)
	return m
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

// connect returns the link of one more process. Close it in the same bubble.
func (m *mini) connect() *link {
	l := &link{mini: m, Client: redis.NewClient(&redis.Options{Addr: m.Addr(), MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})}
	l.AddHook(l)
	return l
}

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
