// The SDK, as New makes it.

package peers

import (
	"context"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/types"
)

// newOurs has the default options but for the ceilings: at 10 calls a second there
// would be nothing to measure. The client's own kind of ceiling stays in, with room
// for everybody.
func newOurs(baseURL string) (Peer, error) {
	client, err := hotelstays.New(baseURL, hotelstays.TokenCredential{Token: types.NewSecret(Token)},
		hotelstays.WithRateLimiter(roomyCeiling{ratelimit.NewWindow(1<<16, time.Nanosecond, 0)}))
	if err != nil {
		return Peer{}, err
	}
	calls := map[hotelstays.Operation]Call{
		hotelstays.OpHotelList:  func(ctx context.Context) (any, error) { return client.HotelList(ctx, hotelList) },
		hotelstays.OpHotelRates: func(ctx context.Context) (any, error) { return client.HotelRates(ctx, hotelRates) },
		hotelstays.OpCheckAvail: func(ctx context.Context) (any, error) { return client.CheckAvail(ctx, checkAvail) },
		hotelstays.OpBook:       func(ctx context.Context) (any, error) { return client.Book(ctx, book) },
	}
	return Peer{Calls: calls, Close: client.CloseIdleConnections}, nil
}

// roomyCeiling is one ceiling for all operations that nobody ever waits for.
type roomyCeiling struct{ window *ratelimit.Window }

func (r roomyCeiling) Acquire(ctx context.Context, _ hotelstays.Operation) (hotelstays.Permit, error) {
	permit, err := r.window.Acquire(ctx)
	return (*slot)(permit), err
}

func (r roomyCeiling) Pause(hotelstays.Operation, time.Time) {}

type slot ratelimit.Permit

func (s *slot) Sent()                          { (*ratelimit.Permit)(s).Sent() }
func (s *slot) Done(r hotelstays.PermitResult) { (*ratelimit.Permit)(s).Done(ratelimit.Result(r)) }
