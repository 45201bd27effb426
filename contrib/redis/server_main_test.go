//go:build redis_server

// The tests of this build need a real Redis, whose address is in HOTELSTAYS_REDIS_ADDR.
// Some start this program again, in one of the roles below, as a process of a fleet. Some
// start a Redis of their own, to stop it.

package hotelstaysredis

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/types"
)

var fleetTime = flag.Duration("fleet-time", 8*time.Second, "how long the fleet of processes is driven")

// settings are those of a process of the fleet.
type settings struct {
	Role                   string
	Name                   string
	Redis, Prefix          string
	URL, AppKey, AppSecret string
	WebhookSecret          string
	Callers                int
	Operations             []hotelstays.Operation // that a caller calls
	City                   string
}

var roles = map[string]func(settings) error{"caller": runCaller, "burster": runBurster, "receiver": runReceiver}

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // it logs every refused dial
	chaostest.Main(func(s settings) error { return roles[s.Role](s) })
	flag.Parse()
	if os.Getenv("HOTELSTAYS_REDIS_ADDR") == "" {
		fmt.Println("HOTELSTAYS_REDIS_ADDR is not set: tests with the tag redis_server need the address of a Redis on loopback")
		os.Exit(1)
	}
	_ = flag.Set("test.parallel", "16") // they mostly wait
	goleak.VerifyTestMain(m)
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// connect returns a client that shares its token and its rate limits through Redis.
func (s settings) connect(rdb *redis.Client) (*hotelstays.Client, error) {
	tokens, err := NewTokenStore(rdb, TokenStoreOptions{Keys: []types.Secret{oldKey}, Prefix: s.Prefix})
	if err != nil {
		return nil, err
	}
	limiter, err := NewRateLimiter(rdb, RateLimiterOptions{Prefix: s.Prefix})
	if err != nil {
		return nil, err
	}
	return hotelstays.New(s.URL, hotelstays.TicketCredential{AppKey: s.AppKey, AppSecret: types.NewSecret(s.AppSecret)},
		hotelstays.WithTokenStore(tokens), hotelstays.WithRateLimiter(limiter),
		hotelstays.WithHeader("User-Agent", s.Name), hotelstays.WithMaxAttempts(1))
}

// startWorker starts a process of the fleet, which ends with the test.
func startWorker(t *testing.T, s settings) *chaostest.Process {
	t.Helper()
	p, err := chaostest.Start(s)
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p
}

// lineOf returns the next line of a process's output.
func lineOf(t *testing.T, p *chaostest.Process) string {
	t.Helper()
	line, err := p.Line()
	require.NoError(t, err)
	return line
}

// sharedRedis returns settings for the common Redis, with a prefix for this test.
func sharedRedis(t *testing.T) settings {
	return settings{Redis: os.Getenv("HOTELSTAYS_REDIS_ADDR"), Prefix: "test:" + t.Name() + ":" + newID()}
}

// connectTo returns a client of a Redis, which ends with the test.
func connectTo(t *testing.T, addr string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	t.Cleanup(func() { client.Close() })
	return client
}

// limiterAt returns a process with a limiter on a Redis.
func limiterAt(t *testing.T, addr string, opts RateLimiterOptions) *process {
	t.Helper()
	limiter, err := NewRateLimiter(connectTo(t, addr), opts)
	require.NoError(t, err)
	p := &process{RateLimiter: limiter}
	t.Cleanup(func() { settle(t, p) })
	return p
}

// settle waits until a process has reported everything.
func settle(t *testing.T, p *process) {
	t.Helper()
	require.Eventually(t, p.idle, 10*time.Second, 5*time.Millisecond)
}

// watchMachine returns a function that reports whether the machine ran all the time since.
// Where it stood still, the shares of processes say nothing about the limiter.
func watchMachine(t *testing.T) (ran func() bool) {
	const most = 250 * time.Millisecond
	stop := make(chan struct{})
	longest := make(chan time.Duration)
	go func() {
		var late time.Duration
		for {
			begin := time.Now()
			select {
			case <-time.After(10 * time.Millisecond):
				late = max(late, time.Since(begin))
			case <-stop:
				longest <- late
				return
			}
		}
	}()
	ran = sync.OnceValue(func() bool {
		close(stop)
		late := <-longest
		if late > most {
			t.Logf("the machine stood still for %v: shares are not judged", late)
		}
		return late <= most
	})
	t.Cleanup(func() { ran() })
	return ran
}

// server is a Redis that only this test uses.
type server struct {
	addr, folder string
	args         []string
	cmd          *exec.Cmd
}

// startServer starts a Redis with further args on a free port of loopback.
func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{addr: free.Addr().String(), folder: t.TempDir(), args: args}
	require.NoError(t, free.Close())
	s.start(t)
	t.Cleanup(s.stop)
	return s
}

func (s *server) start(t *testing.T) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.addr)
	require.NoError(t, err)
	s.cmd = exec.Command("redis-server", append([]string{"--bind", "127.0.0.1", "--port", port, "--dir", s.folder,
		"--save", "", "--appendonly", "no", "--logfile", filepath.Join(s.folder, "log")}, s.args...)...)
	require.NoError(t, s.cmd.Start())
	client := connectTo(t, s.addr)
	require.Eventually(t, func() bool { return client.Ping(t.Context()).Err() == nil }, 20*time.Second, 20*time.Millisecond)
}

func (s *server) stop() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}
