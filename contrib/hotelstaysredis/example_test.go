package hotelstaysredis_test

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstaysredis"
	"github.com/hotelstays/hotelstays-go/types"
)

// One process fetches the token, and all processes use it.
func ExampleNewTokenStore() {
	connect := func(baseURL string, cred hotelstays.TicketCredential, key types.Secret) (*hotelstays.Client, error) {
		rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
		tokens, err := hotelstaysredis.NewTokenStore(rdb, hotelstaysredis.TokenStoreOptions{
			Keys:   []types.Secret{key}, // 32 random bytes
			Logger: slog.Default(),
		})
		if err != nil {
			return nil, err
		}
		return hotelstays.New(baseURL, cred, hotelstays.WithTokenStore(tokens))
	}
	_ = connect
}

// The processes behind one client IP address share the rate limits.
func ExampleNewRateLimiter() {
	connect := func(baseURL string, cred hotelstays.Credential, rdb redis.UniversalClient) (*hotelstays.Client, error) {
		limiter, err := hotelstaysredis.NewRateLimiter(rdb, &hotelstaysredis.RateLimiterOptions{
			Prefix: "hotelstays:production", // one prefix per client IP address
			Margin: 20 * time.Millisecond,   // the service may count a request up to 20 ms later than its answer says
			Logger: slog.Default(),
		})
		if err != nil {
			return nil, err
		}
		return hotelstays.New(baseURL, cred, hotelstays.WithRateLimiter(limiter))
	}
	_ = connect
}

// An event is handled once, even if several processes receive copies of it.
func ExampleNewEventStore() {
	receive := func(rdb redis.UniversalClient, secret types.Secret, handle func(context.Context, *hotelstays.WebhookEvent) error) error {
		events, err := hotelstaysredis.NewEventStore(rdb, nil)
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
