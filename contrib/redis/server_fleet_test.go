//go:build redis_server

package hotelstaysredis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/types"
)

func (s settings) at(srv *hotelstaystest.Server) settings {
	s.URL, s.AppKey, s.AppSecret, s.WebhookSecret = srv.URL, srv.AppKey, srv.AppSecret, srv.WebhookSecret
	return s
}

// calls are of operations that the service refuses, and counts.
var calls = map[hotelstays.Operation]func(context.Context, *hotelstays.Client) error{
	hotelstays.OpQueryOrders: func(ctx context.Context, c *hotelstays.Client) error {
		_, err := c.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{})
		return err
	},
	hotelstays.OpCheckAvail: func(ctx context.Context, c *hotelstays.Client) error {
		_, err := c.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: "session", RatePkgID: "offer"})
		return err
	},
	hotelstays.OpBook: func(ctx context.Context, c *hotelstays.Client) error {
		_, err := c.Book(ctx, &hotelstays.BookRequest{SessionID: "session", CustomerReferenceNo: "ref", RatePkgID: "offer",
			Holder: types.Holder{FirstName: "First", LastName: "Last"}, Guests: []types.Guest{{RoomIndex: 1, FirstName: "First", LastName: "Last"}}})
		return err
	},
}

// runCaller calls its operations as fast as the fleet's rate limits let it, also when Redis
// was unavailable.
func runCaller(s settings) error {
	ctx := chaostest.UntilClosed()
	rdb := redis.NewClient(&redis.Options{Addr: s.Redis})
	defer rdb.Close()
	client, err := s.connect(rdb)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for _, op := range s.Operations {
		for range s.Callers {
			wg.Go(func() {
				for ctx.Err() == nil {
					if errors.Is(calls[op](ctx, client), ErrUnavailable) {
						time.Sleep(20 * ms)
					}
				}
			})
		}
	}
	wg.Wait()
	return nil
}

// runBurster makes one search for each caller at once, on new connections, for each line of
// its input.
func runBurster(s settings) error {
	rdb := redis.NewClient(&redis.Options{Addr: s.Redis})
	defer rdb.Close()
	client, err := s.connect(rdb)
	if err != nil {
		return err
	}
	req := &hotelstays.HotelListRequest{DestinationName: s.City, CheckIn: "2040-03-12", CheckOut: "2040-03-15",
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}}
	fmt.Println("ready")
	for told := bufio.NewScanner(os.Stdin); told.Scan(); {
		errs := make([]error, s.Callers)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = client.HotelList(context.Background(), req) })
		}
		wg.Wait()
		client.CloseIdleConnections()
		errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
		fmt.Println(len(errs), "failed")
	}
	return nil
}

// arrivals lists the requests of an operation in a span of time, and counts them by process.
func arrivals(srv *hotelstaystest.Server, op hotelstaystest.Operation, from, to time.Time) (times []time.Time, by map[string]int) {
	by = map[string]int{}
	for _, r := range srv.Ledger().Requests(op) {
		if !r.Arrived.Before(from) && r.Arrived.Before(to) {
			by[r.Header.Get("User-Agent")]++
			times = append(times, r.Arrived)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times, by
}

// spread returns the least and the most requests of the named processes.
func spread(by map[string]int, names ...string) (least, most int) {
	least = by[names[0]]
	for _, name := range names {
		least, most = min(least, by[name]), max(most, by[name])
	}
	return least, most
}

// Four processes at full demand; one is killed and replaced.
func TestServerProcessesShareTheRateLimits(t *testing.T) {
	t.Parallel()
	ran := watchMachine(t)
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{Catalog: hotelstaystest.Catalog{Countries: 1}, LedgerLimit: 1_000_000})
	defer srv.Close()
	s := sharedRedis(t).at(srv)
	s.Role, s.Callers, s.Operations = "caller", 30, []hotelstays.Operation{hotelstays.OpQueryOrders, hotelstays.OpCheckAvail}
	start := func(name string) *chaostest.Process {
		s.Name = name
		return startWorker(t, s)
	}
	arrived := func(name string) time.Time {
		require.Eventually(t, func() bool {
			_, by := arrivals(srv, hotelstays.OpCheckAvail, time.Time{}, time.Now())
			return by[name] > 0
		}, 30*time.Second, 50*time.Millisecond)
		return time.Now()
	}
	fleet := []*chaostest.Process{start("one"), start("two"), start("three"), start("doomed")}
	for _, name := range []string{"one", "two", "three", "doomed"} {
		arrived(name)
	}
	begin := time.Now().Add(time.Second)
	time.Sleep(time.Until(begin.Add(*fleetTime / 2)))
	fleet[3].Kill()
	killed := time.Now()
	fleet[3] = start("reborn")
	reborn := arrived("reborn").Add(time.Second / 2)
	end := begin.Add(*fleetTime)
	time.Sleep(time.Until(end))
	for _, w := range fleet {
		assert.NoError(t, w.Close())
	}

	for _, op := range s.Operations {
		all, _ := arrivals(srv, op, begin, end)
		used := used(all, op.RateLimit())
		_, before := arrivals(srv, op, begin, killed)
		_, after := arrivals(srv, op, reborn, end)
		t.Logf("%s: %.3f of the rate limit used; before the kill %v, after it %v", op, used, before, after)
		assert.Zero(t, srv.Ledger().RateLimited(op), "%s: requests refused with 429", op)
		if !ran() {
			continue
		}
		assert.GreaterOrEqual(t, used, 0.9, op)
		least, most := spread(before, "one", "two", "three", "doomed")
		assert.LessOrEqual(t, most, 2*least, "%s, before the kill", op)
		least, most = spread(after, "one", "two", "three", "reborn")
		assert.LessOrEqual(t, most, 2*least, "%s, after it", op)
	}
	assert.Equal(t, 1, srv.Ledger().TicketsIssued())
}

// runReceiver handles webhooks slowly, and counts them in Redis.
func runReceiver(s settings) error {
	rdb := redis.NewClient(&redis.Options{Addr: s.Redis})
	defer rdb.Close()
	store, err := NewEventStore(rdb, EventStoreOptions{Prefix: s.Prefix})
	if err != nil {
		return err
	}
	options := hotelstays.WebhookOptions{Secrets: []types.Secret{types.NewSecret(s.WebhookSecret)}, Store: store}
	handler, err := hotelstays.NewWebhookHandler(options,
		func(ctx context.Context, event *hotelstays.WebhookEvent) error {
			time.Sleep(20 * time.Millisecond)
			return rdb.Incr(ctx, s.Prefix+":handled:"+event.ID).Err()
		})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(listener, handler) }()
	fmt.Println("http://" + listener.Addr().String())
	<-chaostest.UntilClosed().Done()
	return nil
}

// Four processes get the same delivery at once, again and again until each answers 200.
func TestServerWebhookIsHandledOnceByFourProcesses(t *testing.T) {
	t.Parallel()
	s := sharedRedis(t)
	s.Role, s.WebhookSecret = "receiver", "the signing secret of this test"
	var urls []string
	for range 4 {
		w := startWorker(t, s)
		urls = append(urls, lineOf(t, w))
		defer func() { assert.NoError(t, w.Close()) }()
	}
	rdb := redis.NewClient(&redis.Options{Addr: s.Redis})
	defer rdb.Close()
	sender := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var answered sync.Map
	for i := range 10 {
		id := fmt.Sprintf("event-%d", i)
		body := fmt.Appendf(nil, `{"event":"order_paid","customerReferenceNo":"ref-%d","eventTime":%d}`, i, time.Now().Unix())
		at := time.Now()
		var wg sync.WaitGroup
		for _, url := range urls {
			wg.Go(func() {
				for {
					resp, err := sender.Do(hotelstaystest.NewWebhookRequest(url, s.WebhookSecret, at, id, body))
					if !assert.NoError(t, err) {
						return
					}
					resp.Body.Close()
					answered.Store(resp.StatusCode, true)
					if resp.StatusCode == http.StatusOK {
						return
					}
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		handled, err := rdb.Get(t.Context(), s.Prefix+":handled:"+id).Result()
		require.NoError(t, err)
		assert.Equal(t, "1", handled, id)
	}
	for _, status := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		_, seen := answered.Load(status)
		assert.True(t, seen, "a delivery was answered with %d", status)
	}
}
