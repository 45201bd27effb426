// The SDK.

package peers

import (
	"context"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/pacing"
	"github.com/hotelstays/hotelstays-go/types"
)

// ourClient returns a client with default options, except that its rate limits are too high to be reached.
func ourClient(baseURL string) (*hotelstays.Client, error) {
	return hotelstays.New(baseURL, hotelstays.TokenCredential{Token: types.NewSecret(Token)},
		hotelstays.WithRateLimiter(roomyLimit{ratelimit.NewWindow(1<<16, time.Nanosecond, 0)}))
}

// ourHotelList returns the search request with its SessionID set. The SDK sends it as the header Session-Id.
func ourHotelList() *hotelstays.HotelListRequest {
	req := *hotelList
	req.SessionID = answers.Session
	return &req
}

func newOurs(baseURL string) (Peer, error) {
	client, err := ourClient(baseURL)
	if err != nil {
		return Peer{}, err
	}
	list, avail := ourHotelList(), *checkAvail
	avail.SessionID = answers.Session
	calls := map[hotelstays.Operation]Call{
		hotelstays.OpHotelList:  func(ctx context.Context) (any, error) { return client.HotelList(ctx, list) },
		hotelstays.OpCheckAvail: func(ctx context.Context) (any, error) { return client.CheckAvail(ctx, &avail) },
	}
	return Peer{Calls: calls, Close: client.CloseIdleConnections}, nil
}

type roomyLimit struct{ window *ratelimit.Window }

func (r roomyLimit) Acquire(ctx context.Context, _ hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	return r.window.Acquire(ctx, pacing.Caller{})
}

func (r roomyLimit) Pause(hotelstays.RateLimitKey, time.Time) {}
