package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// The middle seller of docs/scaling.md makes ten bookings per second at random times, in twenty processes behind two IP
// addresses. Half of the Books meet a fault. The rate limits allow twice as many bookings per second, so no request
// gets a 429.
func TestTenBookingsPerSecondKeepTheRateLimits(t *testing.T) {
	t.Parallel()
	const perSecond, processes, addresses = 10, 20, 2
	seed := chaostest.Seed()
	bookings := perSecond * howMany(t, "seconds", 3600, 20, 20)
	synctest.Test(t, func(t *testing.T) {
		config := *chaostest.Config(seed)
		config.LateVisibility *= chaostest.Speed
		config.NoRateLimits = false
		w := newWorld(t, config)
		chaostest.Inject(w.Server)
		var clients []*hotelstays.Client
		limiters := [addresses]hotelstays.RateLimiter{hotelstays.NewRateLimiter(nil), hotelstays.NewRateLimiter(nil)}
		for i := range processes {
			client, err := hotelstays.New(w.URL, ticketOf(w.Server), hotelstays.WithRateLimiter(limiters[i%addresses]),
				hotelstays.WithHTTPClient(w.ClientFrom(fmt.Sprint("10.0.0.", 1+i%addresses))))
			require.NoError(t, err)
			clients = append(clients, client)
		}
		s := &chaosService{srv: w.Server, begun: map[string]int{}, tally: map[string]int{}}
		called := make(map[string]time.Time, bookings)
		rng, start := rand.New(rand.NewPCG(seed, 0)), time.Now()
		var wg sync.WaitGroup
		for i := range bookings {
			time.Sleep(time.Duration(rng.ExpFloat64() / perSecond * float64(time.Second)))
			reference := fmt.Sprint("ref-", i)
			called[reference] = time.Now()
			wg.Go(func() { s.bookToItsEnd(t, clients[i%processes], w.offer, reference) })
		}
		lasted := time.Since(start)
		wg.Wait()

		var waits []time.Duration
		var last time.Time
		for _, r := range w.Ledger().Requests(hotelstays.OpBook) {
			if from, first := called[r.TraceID]; first {
				delete(called, r.TraceID)
				waits, last = append(waits, r.Arrived.Sub(from)), r.Arrived
			}
		}
		require.Len(t, waits, bookings)
		slices.Sort(waits)
		at := func(share float64) time.Duration { return waits[int(share*float64(bookings))].Round(time.Millisecond) }
		t.Logf("HOTELSTAYS_CHAOS_SEED=%d: %d bookings called in %s, sent at %.2f a second; waits %s (50 %%), %s (99 %%), %s (99.9 %%), %s",
			seed, bookings, lasted.Round(time.Second), float64(bookings)/last.Sub(start).Seconds(), at(0.5), at(0.99), at(0.999),
			waits[bookings-1].Round(time.Millisecond))
		t.Logf("%d found, %d absent, %d refused; %.1f Books and %.1f QueryOrders per booking", s.tally["found"], s.tally["absent"],
			s.tally["refused"], float64(w.Ledger().Count(hotelstays.OpBook))/float64(bookings),
			float64(w.Ledger().Count(hotelstays.OpQueryOrders))/float64(bookings))
		assert.Zero(t, w.Ledger().RateLimited(""), "429s")
		assert.NoError(t, chaostest.Check(w.Ledger(), s.begun, s.outcomes))
	})
}

func (s *chaosService) bookToItsEnd(t *testing.T, client *hotelstays.Client, chosen offer, reference string) {
	req, trace := chosen.Request(reference), hotelstays.WithTraceID(reference)
	req.Guests[0].LastName = reference
	outcome, err := client.BookAndRecover(t.Context(), req, trace)
	for hotelstays.Retryable(err) { // no token after four attempts, so nothing was sent
		outcome, err = client.BookAndRecover(t.Context(), req, trace)
	}
	for err == nil && outcome.State == hotelstays.BookingUnverified {
		outcome, err = client.RecoverBooking(t.Context(), outcome.Recovery, trace)
	}
	var api *hotelstays.APIError
	switch {
	case errors.As(err, &api) && api.Operation == hotelstays.OpBook:
		s.count("refused")
		s.learned(reference, 1, "")
	case !assert.NoError(t, err, reference):
	case outcome.State == hotelstays.BookingFound:
		s.count("found")
		s.learned(reference, 1, outcome.Order.PlatformReferenceNo)
	default:
		s.count(string(outcome.State))
		s.learned(reference, 1, "")
	}
}

// The calls start together on a client without a connection. The first request of each connection arrives up to half a
// second late, and later requests arrive immediately. No request gets a 429.
func TestBurstsOnNewConnectionsKeepTheRateLimit(t *testing.T) {
	for i := range howMany(t, "bursts", 20, 1, 1) {
		synctest.Test(t, func(t *testing.T) {
			srv, client := testkit.NewSandbox(t)
			transport := srv.Client().Transport.(*http.Transport)
			dial := transport.DialContext
			transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dial(ctx, network, addr)
				return &coldConn{Conn: conn}, err
			}
			var wg sync.WaitGroup
			for range 120 + i%2*180 {
				wg.Go(func() {
					_, err := client.HotelList(t.Context(), &hotelstays.HotelListRequest{
						DestinationName: srv.CityName(0), CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults(), PageSize: 1,
					})
					assert.NoError(t, err)
				})
			}
			wg.Wait()
			assert.Zero(t, srv.Ledger().RateLimited(""), "429s")
		})
	}
}

// coldConn is a connection that delays its first request.
type coldConn struct {
	net.Conn
	warm bool
}

func (c *coldConn) Write(b []byte) (int, error) {
	if !c.warm {
		time.Sleep(rand.N(time.Second / 2))
	}
	c.warm = true
	return c.Conn.Write(b)
}
