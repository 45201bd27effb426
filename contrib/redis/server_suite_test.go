//go:build redis_server

package hotelstaysredis

import (
	"testing"

	"github.com/redis/go-redis/v9"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

// connectServer returns a function that connects to the common Redis.
func connectServer(t *testing.T) func() *redis.Client {
	addr := sharedRedis(t).Redis
	return func() *redis.Client {
		client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
		t.Cleanup(func() { client.Close() })
		return client
	}
}

func TestServerEventStore(t *testing.T) {
	t.Parallel() // mostly waiting
	storetest.TestEventStore(t, func(t *testing.T) storetest.Fleet[hotelstays.EventStore] {
		return fleetOf(connectServer(t), func(client *redis.Client) hotelstays.EventStore { return newEvents(t, client) })
	})
}

func TestServerTokenStore(t *testing.T) {
	t.Parallel() // mostly waiting
	storetest.TestTokenLeaser(t, func(t *testing.T) storetest.Fleet[hotelstays.TokenLeaser] {
		return fleetOf(connectServer(t), func(client *redis.Client) hotelstays.TokenLeaser {
			return newTokens(t, client, TokenStoreOptions{FetchLease: minFetchLease})
		})
	})
}
