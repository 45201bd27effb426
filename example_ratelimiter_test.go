// An example of a RateLimiter.

package hotelstays_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// countingLimiter grants at once and counts what left. A limiter of a fleet asks a
// store that its processes share, such as the one of contrib/redis.
type countingLimiter struct {
	mu   sync.Mutex
	left map[hotelstays.Operation]int
}

func (l *countingLimiter) Acquire(ctx context.Context, op hotelstays.Operation) (hotelstays.Permit, error) {
	return &countedPermit{l, op}, ctx.Err()
}

func (l *countingLimiter) Pause(hotelstays.Operation, time.Time) {}

type countedPermit struct {
	limiter *countingLimiter
	op      hotelstays.Operation
}

func (p *countedPermit) Sent() {
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	p.limiter.left[p.op]++
}

func (p *countedPermit) Done(hotelstays.PermitResult) {}

// A limiter of your own takes the place of the client's rate limits.
func ExampleWithRateLimiter() {
	srv := hotelstaystest.NewServer()
	defer srv.Close()
	limiter := &countingLimiter{left: map[hotelstays.Operation]int{}}
	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
		hotelstays.WithHTTPClient(srv.Client()), hotelstays.WithRateLimiter(limiter))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		if _, err := client.Destinations(context.Background(), &hotelstays.DestinationsRequest{}); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(limiter.left)
	// Output: map[Destinations:3 Ticket:1]
}
