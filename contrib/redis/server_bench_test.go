//go:build redis_server

package hotelstaysredis

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// ample is a rate limit that is never reached, because waiting is not measured.
const ample = 1_000_000

// unlimited grants everything at once.
type unlimited struct{}

func (unlimited) Acquire(context.Context, hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	return nil, nil
}

func (unlimited) Pause(hotelstays.RateLimitKey, time.Time) {}

// BenchmarkServerCall alternates calls without a limiter and with the shared one, over
// loopback, and reports their times and the ratio.
func BenchmarkServerCall(b *testing.B) {
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{NoRateLimits: true, LedgerLimit: 1})
	defer srv.Close()
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("HOTELSTAYS_REDIS_ADDR")})
	defer rdb.Close()
	shared, err := NewRateLimiter(rdb, RateLimiterOptions{Prefix: "bench:" + newID()})
	require.NoError(b, err)
	orders := hotelstays.RateLimitKey{BaseURL: srv.URL, Operation: hotelstays.OpQueryOrders}
	shared.lines[orders] = newLine(shared, orders, ample)

	connect := func(limiter hotelstays.RateLimiter) func() time.Duration {
		cred := hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)}
		client, err := hotelstays.New(srv.URL, cred, hotelstays.WithRateLimiter(limiter))
		require.NoError(b, err)
		b.Cleanup(client.CloseIdleConnections)
		call := func() time.Duration {
			start := time.Now()
			_, err := client.QueryOrders(b.Context(), &hotelstays.QueryOrdersRequest{})
			require.NoError(b, err)
			return time.Since(start)
		}
		call() // the token, the connection, the first rest
		return call
	}
	alone, fleet := connect(unlimited{}), connect(shared)
	var own, redis time.Duration
	for b.Loop() {
		own += alone()
		redis += fleet()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(own.Microseconds())/float64(b.N), "µs/call-without")
	b.ReportMetric(float64(redis.Microseconds())/float64(b.N), "µs/call-redis")
	b.ReportMetric(float64(redis)/float64(own), "ratio")
}
