//go:build redis_server

package hotelstaysredis

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestServerEventStorePassesTheSuiteOfStoretest(t *testing.T) {
	t.Parallel()
	storetest.TestEventStore(t, serverFleet(t, func(client *redis.Client) hotelstays.EventStore { return newEvents(t, client) }), nil)
}

func TestServerTokenStorePassesTheSuiteOfStoretest(t *testing.T) {
	t.Parallel()
	open := func(client *redis.Client) hotelstays.TokenLeaser { return newTokens(t, client, TokenStoreOptions{}) }
	storetest.TestTokenLeaser(t, serverFleet(t, open), nil)
}

// serverFleet returns a function that starts a fleet with its own Redis, for a suite of storetest.
func serverFleet[S any](t *testing.T, open func(*redis.Client) S) func(*testing.T) storetest.Fleet[S] {
	own := startServer(t)
	return func(t *testing.T) storetest.Fleet[S] {
		return fleetOf(func() *link { return newLink(t, &redis.Options{Addr: own.addr, MaxRetries: -1}, nil) }, open)
	}
}

// A Redis that restarts from its disk may have lost the records of the last requests.
func TestServerRestartFromDiskBreaksNoRateLimit(t *testing.T) {
	t.Parallel()
	own := startServer(t)
	a, b, disk := limiterAt(t, own.addr, RateLimiterOptions{}), limiterAt(t, own.addr, RateLimiterOptions{}), connectTo(t, own.addr)
	a.take(t, key, 1)
	time.Sleep(full)
	require.NoError(t, disk.Save(t.Context()).Err())
	held := a.hold(t, key, limit)
	sent := time.Now()
	leave(held...)
	settle(t, a)
	own.stop()
	own.start(t)
	require.Equal(t, int64(1), disk.Exists(t.Context(), a.ofKey(key).keys[0]).Val(), "Redis has data on its disk")
	b.take(t, key, 1)
	assert.GreaterOrEqual(t, time.Since(sent), window)
}

// The ACL of one process denies INFO, so this process does not know the id of the server's run.
func TestServerLimiterKeepsItsKeysIfOnlySomeProcessesMayReadInfo(t *testing.T) {
	t.Parallel()
	own := startServer(t)
	admin := connectTo(t, own.addr)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "managed", "on", ">password", "~*", "+@all", "-@dangerous").Err())
	managed := redis.NewClient(&redis.Options{Addr: own.addr, Username: "managed", Password: "password"})
	defer managed.Close()
	a, b := limiterAt(t, own.addr, RateLimiterOptions{}), newProcess(t, managed, RateLimiterOptions{})
	var created []string
	for _, p := range []*process{a, b, a} {
		p.take(t, key, 1)
		settle(t, p)
		created = append(created, admin.HGet(t.Context(), p.ofKey(key).keys[0], "since").Val())
	}
	assert.Equal(t, []string{created[0], created[0], created[0]}, created, "otherwise the limiter would rest at every turn")
}

// A cluster refuses scripts with keys of several hash slots.
func TestServerClusterRunsEveryScript(t *testing.T) {
	t.Parallel()
	own := startServer(t, "--cluster-enabled", "yes")
	require.NoError(t, connectTo(t, own.addr).ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{own.addr}})
	defer cluster.Close()
	require.Eventually(t, func() bool { return cluster.Set(t.Context(), "ready", 1, 0).Err() == nil }, 20*time.Second, 50*ms)

	p := newProcess(t, cluster, RateLimiterOptions{})
	p.take(t, key, limit)
	p.take(t, key, 1)
	settle(t, p)

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

func TestServerEvictionPolicyIsCheckedAtTheFirstUse(t *testing.T) {
	t.Parallel()
	own := startServer(t)
	admin := connectTo(t, own.addr)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "managed", "on", ">password", "~*", "+@all", "-config", "-info").Err())
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "restricted", "on", ">password", // the rights in the README
		"~hotelstays:*", "+@read", "+@write", "+@scripting", "+@connection", "+time", "+info").Err())
	for _, c := range []struct{ policy, user, password, logged string }{
		{"volatile-lru", "", "", "Redis may evict keys"},
		{"noeviction", "", "", ""},
		{"noeviction", "managed", "password", "cannot check"},
		{"noeviction", "restricted", "password", ""},
	} {
		require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory-policy", c.policy).Err())
		rdb := redis.NewClient(&redis.Options{Addr: own.addr, Username: c.user, Password: c.password})
		defer rdb.Close()
		log := make(logLines, 2)
		p := newProcess(t, rdb, RateLimiterOptions{Logger: slog.New(slog.NewTextHandler(log, nil))})
		for range 2 {
			p.take(t, key, 1)
			settle(t, p)
		}
		if c.logged != "" {
			line := <-log
			assert.Contains(t, line, c.logged)
			assert.NotContains(t, line, "password")
		}
		assert.Empty(t, log)
	}
}

// logLines receives the lines of a log.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}
