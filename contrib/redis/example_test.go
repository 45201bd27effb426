// A process of a fleet that shares everything there is to share.

package hotelstaysredis_test

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstaysredis "github.com/hotelstays/hotelstays-go/contrib/redis"
	"github.com/hotelstays/hotelstays-go/types"
)

// One process fetches the token, and all use it.
func ExampleNewTokenStore() {
	connect := func(baseURL string, cred hotelstays.TicketCredential, key types.Secret) (*hotelstays.Client, error) {
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
		tokens, err := hotelstaysredis.NewTokenStore(rdb, hotelstaysredis.TokenStoreOptions{
			Keys: []types.Secret{key}, // 32 random bytes; a second one may follow
			Log:  slog.Default(),
		})
		if err != nil {
			return nil, err
		}
		return hotelstays.New(baseURL, cred, hotelstays.WithTokenStore(tokens))
	}
	_ = connect
}

// The processes behind one address together keep the service's ceilings.
func ExampleNewRateLimiter() {
	connect := func(baseURL string, cred hotelstays.Credential, rdb redis.UniversalClient) (*hotelstays.Client, error) {
		limiter, err := hotelstaysredis.NewRateLimiter(rdb, hotelstaysredis.RateLimiterOptions{
			Prefix: "hotelstays:production", // one environment, one client address
			Margin: 20 * time.Millisecond,   // what the service counts may come this much later
			Log:    slog.Default(),
		})
		if err != nil {
			return nil, err
		}
		return hotelstays.New(baseURL, cred, hotelstays.WithRateLimiter(limiter))
	}
	_ = connect
}

// Whichever process gets an event, or a copy of it, it is handled once.
func ExampleNewEventStore() {
	receive := func(rdb redis.UniversalClient, secret types.Secret, handle func(context.Context, *hotelstays.WebhookEvent) error) error {
		events, err := hotelstaysredis.NewEventStore(rdb, hotelstaysredis.EventStoreOptions{})
		if err != nil {
			return err
		}
		handler, err := hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{
			Secrets: []types.Secret{secret},
			Store:   events,
		}, handle)
		if err != nil {
			return err
		}
		http.Handle("POST /hotel-events", handler)
		return nil
	}
	_ = receive
}
