//go:build redis_server

package hotelstaysredis

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

// Four processes book at full demand. Redis forgets its scripts every five seconds and is
// replaced by a new one; a process is stopped for a while, and another is killed and
// replaced.
func TestServerBooksThroughTrouble(t *testing.T) {
	ran := watchMachine(t)
	duration := max(*fleetTime, 15*time.Second)
	own := startServer(t)
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{Catalog: hotelstaystest.Catalog{Countries: 1}, LedgerLimit: 1_000_000})
	defer srv.Close()
	s := settings{Role: "booker", Redis: own.addr, Callers: 10}.at(srv)
	start := func(name string) *chaostest.Process {
		s.Name = name
		return startWorker(t, s)
	}
	fleet := []*chaostest.Process{start("one"), start("two"), start("three"), start("four")}
	require.Eventually(t, func() bool { return srv.Ledger().Count(hotelstays.OpBook) > 0 }, 30*time.Second, 10*time.Millisecond)
	time.Sleep(2 * time.Second)

	begin := time.Now()
	at := func(part time.Duration) { time.Sleep(time.Until(begin.Add(part * duration / 60))) }
	admin := redis.NewClient(&redis.Options{Addr: own.addr})
	defer admin.Close()
	flushing := time.NewTicker(5 * time.Second)
	defer flushing.Stop()
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-flushing.C:
				_ = admin.ScriptFlush(t.Context()).Err() // it may be stopped
			case <-done:
				return
			}
		}
	}()
	at(8)
	require.NoError(t, fleet[0].Cmd.Process.Signal(syscall.SIGSTOP))
	at(18)
	require.NoError(t, fleet[0].Cmd.Process.Signal(syscall.SIGCONT))
	at(22)
	fleet[1].Kill()
	fleet[1] = start("reborn")
	at(30)
	own.stop()
	stopped := time.Now()
	time.Sleep(time.Second)
	own.start(t)
	started := time.Now()
	rested := started.Add(retryPause + freshRest)
	at(60)
	end := time.Now()
	for _, w := range fleet {
		assert.NoError(t, w.Close())
	}

	limit := hotelstays.OpBook.RateLimit()
	all, _ := arrivals(srv, hotelstays.OpBook, time.Time{}, time.Now())
	assert.LessOrEqual(t, (&departures{times: all}).busiest(window), limit, "arrivals in a second")
	assert.Zero(t, srv.Ledger().RateLimited(hotelstays.OpBook))
	before, _ := arrivals(srv, hotelstays.OpBook, begin, stopped)
	after, _ := arrivals(srv, hotelstays.OpBook, rested, end)
	up, _ := arrivals(srv, hotelstays.OpBook, begin, end)
	t.Logf("%.3f of the limit before Redis was replaced, %.3f after its rest; %.3f while it was up, its rest included",
		used(before, limit), used(after, limit),
		float64(len(up))/float64(limit)/(end.Sub(begin)-started.Sub(stopped)).Seconds())
	if ran() {
		assert.GreaterOrEqual(t, used(before, limit), 0.9)
		assert.GreaterOrEqual(t, used(after, limit), 0.9)
	}
}

// Four processes search at once on new connections, and no request is refused.
func TestServerColdBursts(t *testing.T) {
	bursts := 2
	if os.Getenv("HOTELSTAYS_LONG") != "" {
		bursts = 20
	}
	t.Logf("%d bursts each; HOTELSTAYS_LONG=1 tries 20", bursts)
	for _, callers := range []int{150, 300} {
		srv := hotelstaystest.NewServer(&hotelstaystest.Config{LedgerLimit: 1_000_000})
		defer srv.Close()
		s := sharedRedis(t).at(srv)
		s.Role, s.Callers, s.City = "burster", callers/4, srv.CityName(0)
		var fleet []*chaostest.Process
		for i := range 4 {
			s.Name = fmt.Sprint("burster ", i)
			w := startWorker(t, s)
			require.Equal(t, "ready", lineOf(t, w))
			fleet = append(fleet, w)
		}
		for range bursts {
			start := time.Now()
			for _, w := range fleet {
				_, err := fmt.Fprintln(w, "now")
				require.NoError(t, err)
			}
			for _, w := range fleet {
				assert.Equal(t, "0 failed", lineOf(t, w))
			}
			t.Logf("%d searches took %s, %d refused so far", callers, time.Since(start).Round(time.Millisecond),
				srv.Ledger().RateLimited(hotelstays.OpHotelList))
		}
		for _, w := range fleet {
			assert.NoError(t, w.Close())
		}
		all, _ := arrivals(srv, hotelstays.OpHotelList, time.Time{}, time.Now())
		assert.Len(t, all, bursts*(callers/4)*4)
		assert.LessOrEqual(t, (&departures{times: all}).busiest(window), hotelstays.OpHotelList.RateLimit(), "arrivals in a second")
	}
}

// A Redis that evicts keys with a time to live keeps the slots.
func TestServerEvictsKeys(t *testing.T) {
	own := startServer(t, "--maxmemory", "8mb", "--maxmemory-policy", "volatile-lru")
	rdb := redis.NewClient(&redis.Options{Addr: own.addr})
	defer rdb.Close()
	var log bytes.Buffer
	limiter, err := NewRateLimiter(rdb, RateLimiterOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	p := &process{RateLimiter: limiter}
	p.take(t, budget(hotelstays.OpBook), 1)
	time.Sleep(full)
	start := time.Now()
	p.take(t, budget(hotelstays.OpBook), 10)
	settle(t, limiter)
	require.NoError(t, rdb.Set(t.Context(), "evictable", 1, time.Hour).Err())
	filler := make([]byte, 1<<20)
	for i := 0; rdb.Set(t.Context(), fmt.Sprint("filler:", i), filler, 0).Err() == nil; i++ {
		require.Less(t, i, 10, "the memory is full")
	}
	require.Zero(t, rdb.Exists(t.Context(), "evictable").Val(), "keys that end are evicted")
	for i := range 10 {
		require.NoError(t, rdb.Del(t.Context(), fmt.Sprint("filler:", i)).Err())
	}
	p.take(t, budget(hotelstays.OpBook), 1)
	assert.GreaterOrEqual(t, time.Since(start), window)
	assert.Contains(t, log.String(), "maxmemory-policy=volatile-lru")
	settle(t, limiter)
}

func TestServerPolicyIsChecked(t *testing.T) {
	own := startServer(t)
	admin := redis.NewClient(&redis.Options{Addr: own.addr})
	defer admin.Close()
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "managed", "on", ">password", "~*", "+@all", "-config", "-info").Err())
	for _, c := range []struct{ policy, user, password, logged string }{
		{"noeviction", "", "", ""},
		{"allkeys-lru", "", "", "Redis may evict keys"},
		{"volatile-ttl", "", "", "Redis may evict keys"},
		{"noeviction", "managed", "password", "cannot check"},
	} {
		require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory-policy", c.policy).Err())
		rdb := redis.NewClient(&redis.Options{Addr: own.addr, Username: c.user, Password: c.password})
		var log bytes.Buffer
		limiter, err := NewRateLimiter(rdb, RateLimiterOptions{Prefix: "test:" + newID(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		p := &process{RateLimiter: limiter}
		p.take(t, budget(hotelstays.OpBook), 3)
		p.take(t, budget(hotelstays.OpCancel), 3)
		settle(t, limiter)
		rdb.Close()
		if c.logged == "" {
			assert.Empty(t, log.String(), c.policy)
		} else {
			assert.Equal(t, 1, bytes.Count(log.Bytes(), []byte(c.logged)), "%s: %s", c.policy, log.String())
		}
		assert.NotContains(t, log.String(), "password")
	}
}
