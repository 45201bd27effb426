//go:build redis_server

package hotelstaysredis

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

type phases struct{ stopped, started, ended time.Time }

// driveThroughAnOutage lets two processes send before, during and after an outage.
func driveThroughAnOutage(t *testing.T, opts RateLimiterOptions) (*departures, phases) {
	own := startServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var sent departures
	var wg sync.WaitGroup
	for range 2 {
		rdb := redis.NewClient(&redis.Options{Addr: own.addr, MaxRetries: -1})
		defer rdb.Close()
		limiter, err := NewRateLimiter(rdb, opts)
		require.NoError(t, err)
		p := &process{RateLimiter: limiter}
		wg.Go(func() { p.drive(ctx, budget(hotelstays.OpQueryOrders), load{callers: 20}, &sent) })
	}
	time.Sleep(3 * time.Second)
	var when phases
	own.stop()
	when.stopped = time.Now()
	time.Sleep(4 * time.Second)
	own.start(t)
	when.started = time.Now()
	time.Sleep(6 * time.Second)
	when.ended = time.Now()
	cancel()
	wg.Wait()
	return &sent, when
}

// between counts the departures of a span.
func (d *departures) between(from, to time.Time) (n int) {
	for _, at := range d.times {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

func TestServerStoppedRedisIsRefused(t *testing.T) {
	sent, when := driveThroughAnOutage(t, RateLimiterOptions{})
	limit := hotelstays.OpQueryOrders.RateLimit()
	assert.GreaterOrEqual(t, sent.between(time.Time{}, when.stopped), limit)
	assert.Zero(t, sent.between(when.stopped.Add(time.Second), when.started), "while Redis was away")
	assert.GreaterOrEqual(t, sent.between(when.started, when.ended), 3*limit)
	assert.LessOrEqual(t, sent.busiest(window+defaultMargin), limit)
}

func TestServerFallbackWithoutRedis(t *testing.T) {
	sent, when := driveThroughAnOutage(t, RateLimiterOptions{FallbackProcesses: 2})
	limit := hotelstays.OpQueryOrders.RateLimit()
	alone := sent.between(when.stopped.Add(time.Second/10), when.started)
	t.Logf("%d requests in the 4 s without Redis", alone)
	assert.GreaterOrEqual(t, alone, limit)
	assert.GreaterOrEqual(t, sent.between(when.started, when.ended), 2*limit)
	assert.LessOrEqual(t, sent.busiest(window+defaultMargin), limit)
}

// A Redis that restarts from its disk may not know the last requests.
func TestServerStartsFromOldData(t *testing.T) {
	own := startServer(t)
	var fleet [2]*process
	for i := range fleet {
		rdb := redis.NewClient(&redis.Options{Addr: own.addr})
		defer rdb.Close()
		limiter, err := NewRateLimiter(rdb, RateLimiterOptions{})
		require.NoError(t, err)
		fleet[i] = &process{RateLimiter: limiter}
	}
	fleet[0].take(t, key, 1)
	time.Sleep(full)
	disk := redis.NewClient(&redis.Options{Addr: own.addr})
	defer disk.Close()
	require.NoError(t, disk.Save(t.Context()).Err())
	held := fleet[0].hold(t, key, limit)
	sent := time.Now()
	for _, permit := range held {
		leave(permit)
	}
	settle(t, fleet[0].RateLimiter)
	own.stop()
	own.start(t)
	require.Equal(t, int64(1), disk.Exists(t.Context(), fleet[0].line(key).keys[0]).Val(), "there is a memory")
	fleet[1].take(t, key, 1)
	assert.GreaterOrEqual(t, time.Since(sent), window)
	settle(t, fleet[1].RateLimiter)
}

// Every script runs on a cluster, which refuses keys of several slots.
func TestServerCluster(t *testing.T) {
	own := startServer(t, "--cluster-enabled", "yes")
	node := redis.NewClient(&redis.Options{Addr: own.addr})
	defer node.Close()
	require.NoError(t, node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{own.addr}})
	defer cluster.Close()
	require.Eventually(t, func() bool { return cluster.Set(t.Context(), "ready", 1, 0).Err() == nil }, 20*time.Second, 50*time.Millisecond)

	limiter, err := NewRateLimiter(cluster, RateLimiterOptions{})
	require.NoError(t, err)
	p := &process{RateLimiter: limiter}
	p.take(t, budget(hotelstays.OpTicket), limit)
	p.take(t, budget(hotelstays.OpTicket), 1)

	events := newEvents(t, cluster)
	keys := []string{"one", "another"}
	require.Equal(t, hotelstays.ClaimGranted, claim(t, events, keys...))
	require.NoError(t, events.Release(t.Context(), keys))
	require.Equal(t, hotelstays.ClaimGranted, claim(t, events, keys...))
	require.NoError(t, events.Done(t.Context(), keys, time.Hour))
	require.Equal(t, hotelstays.ClaimDone, claim(t, events, keys...))

	tokens := newTokens(t, cluster, TokenStoreOptions{})
	mustStore(t, tokens, types.NewSecret("token"))
	require.Equal(t, "token", mustLoad(t, tokens).Value.Reveal())
	release := mustLease(t, tokens)
	release()
	require.NoError(t, tokens.CompareAndDelete(t.Context(), tokenKey, hotelstays.Token{Value: types.NewSecret("token")}))
	require.Zero(t, mustLoad(t, tokens))
}
