//go:build redis_server

package hotelstaysredis

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/types"
)

// calls has a call of each operation. The service refuses the requests, and counts them for the rate limit.
var calls = map[hotelstays.Operation]func(context.Context, *hotelstays.Client) error{
	hotelstays.OpQueryOrders: func(ctx context.Context, c *hotelstays.Client) error {
		_, err := c.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{})
		return err
	},
	hotelstays.OpBook: func(ctx context.Context, c *hotelstays.Client) error {
		_, err := c.Book(ctx, &hotelstays.BookRequest{SessionID: "session", CustomerReferenceNo: "ref", RatePkgID: "offer",
			Holder: types.Holder{FirstName: "First", LastName: "Last"}, Guests: []types.Guest{{RoomIndex: 1, FirstName: "First", LastName: "Last"}}})
		return err
	},
}

type settings struct{ Name, Redis, URL, AppKey, AppSecret string }

// runCaller makes calls as fast as the shared rate limits allow, with the shared token. It continues after an outage of
// Redis.
func runCaller(s settings) error {
	ctx := chaostest.UntilClosed()
	rdb := redis.NewClient(&redis.Options{Addr: s.Redis})
	defer rdb.Close()
	tokens, err := NewTokenStore(rdb, TokenStoreOptions{Keys: []types.Secret{oldKey}})
	if err != nil {
		return err
	}
	limiter, err := NewRateLimiter(rdb, nil)
	if err != nil {
		return err
	}
	client, err := hotelstays.New(s.URL, hotelstays.TicketCredential{AppKey: s.AppKey, AppSecret: types.NewSecret(s.AppSecret)},
		hotelstays.WithTokenStore(tokens), hotelstays.WithRateLimiter(limiter),
		hotelstays.WithHeader("User-Agent", s.Name), hotelstays.WithMaxAttempts(1))
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for _, call := range calls {
		for range 20 {
			wg.Go(func() {
				for ctx.Err() == nil {
					if errors.Is(call(ctx, client), ErrUnavailable) {
						time.Sleep(20 * ms)
					}
				}
			})
		}
	}
	wg.Wait()
	return nil
}

// arrivals returns the times at which requests of an operation arrived, and how many of these requests each process
// sent. It ignores requests that arrived before the given time.
func arrivals(srv *hotelstaystest.Server, op hotelstaystest.Operation, since time.Time) (times []time.Time, by map[string]int) {
	by = map[string]int{}
	for _, r := range srv.Ledger().Requests(op) {
		if !r.Arrived.Before(since) {
			by[r.Header.Get("User-Agent")]++
			times = append(times, r.Arrived)
		}
	}
	return times, by
}

// Four processes with one token make calls as fast as they can. Redis forgets its scripts every five seconds, and is
// replaced by a new Redis. One process is frozen for a while, and another process is killed and replaced.
func TestServerFleetKeepsTheRateLimitWhileRedisAndProcessesFail(t *testing.T) {
	t.Parallel()
	lasts := testsize.Of(t, "duration", time.Minute, 16*time.Second, 16*time.Second)
	own := startServer(t)
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{Catalog: hotelstaystest.Catalog{Countries: 1}, LedgerLimit: 1_000_000})
	defer srv.Close()
	start := func(name string) *chaostest.Process {
		p, err := chaostest.Start(settings{name, own.addr, srv.URL, srv.AppKey, srv.AppSecret})
		require.NoError(t, err)
		t.Cleanup(p.Kill)
		require.Eventually(t, func() bool {
			_, by := arrivals(srv, hotelstays.OpBook, time.Time{})
			return by[name] > 0
		}, 30*time.Second, 50*time.Millisecond)
		return p
	}
	fleet := []*chaostest.Process{start("one"), start("two"), start("three"), start("four")}

	begin := time.Now().Add(time.Second)
	at := func(percent time.Duration) { time.Sleep(time.Until(begin.Add(percent * lasts / 100))) }
	admin := connectTo(t, own.addr)
	for flush := 5 * time.Second; flush < lasts; flush += 5 * time.Second {
		timer := time.AfterFunc(time.Until(begin.Add(flush)), func() { _ = admin.ScriptFlush(t.Context()).Err() }) // this Redis may have stopped
		defer timer.Stop()
	}
	at(20)
	require.NoError(t, fleet[0].Cmd.Process.Signal(syscall.SIGSTOP))
	at(32)
	require.NoError(t, fleet[0].Cmd.Process.Signal(syscall.SIGCONT))
	at(36)
	fleet[1].Kill()
	fleet[1] = start("reborn")
	at(50)
	own.stop()
	time.Sleep(time.Second)
	own.start(t)
	rested := time.Now().Add(retryPause + freshRest)
	at(100)
	for op := range calls {
		require.Eventually(t, func() bool {
			_, by := arrivals(srv, op, rested)
			return min(by["one"], by["reborn"], by["three"], by["four"]) > 0
		}, 30*time.Second, 50*time.Millisecond, "%s: every process gets slots after the failures", op)
	}
	for _, w := range fleet {
		assert.NoError(t, w.Close())
	}

	for op := range calls {
		all, _ := arrivals(srv, op, time.Time{})
		assert.LessOrEqual(t, busiest(all, window), op.RateLimit(), "%s: arrivals in a second", op)
		assert.Zero(t, srv.Ledger().RateLimited(op), "%s: requests refused with 429", op)
	}
	assert.Equal(t, 1, srv.Ledger().TicketsIssued())
}
