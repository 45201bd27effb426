// Pace: a part of the rate limits.

package probe

import (
	"context"
	"math"
	"time"

	"github.com/hotelstays/hotelstays-go"
)

// pace is a limiter that calls with a burst in their context do not wait for.
type pace struct{ hotelstays.RateLimiter }

type burst struct{}

// paced uses a share of each rate limit, as one of several processes would.
func paced(share float64) pace {
	return pace{hotelstays.NewRateLimiter(&hotelstays.RateLimiterOptions{Processes: int(math.Ceil(min(1/share, 1e6)))})}
}

func (p pace) Acquire(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	if ctx.Value(burst{}) != nil {
		return nil, ctx.Err()
	}
	return p.RateLimiter.Acquire(ctx, key)
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
