//go:build redis_server

// Each test with this build tag starts its own redis-server.

package hotelstaysredis

import (
	"context"
	"flag"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // go-redis would log every refused dial
	chaostest.Main(runCaller)  // of TestServerFleetKeepsTheRateLimitWhileRedisAndProcessesFail
	flag.Parse()
	_ = flag.Set("test.parallel", "16") // the tests mostly wait
	goleak.VerifyTestMain(m)
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func connectTo(t *testing.T, addr string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	t.Cleanup(func() { client.Close() })
	return client
}

func limiterAt(t *testing.T, addr string, opts RateLimiterOptions) *process {
	t.Helper()
	p := newProcess(t, connectTo(t, addr), opts)
	t.Cleanup(func() { settle(t, p) })
	return p
}

func settle(t *testing.T, p *process) {
	t.Helper()
	require.Eventually(t, p.idle, 10*time.Second, 5*time.Millisecond)
}

// server is a redis-server process that only one test uses.
type server struct {
	addr, folder string
	args         []string
	cmd          *exec.Cmd
}

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
