// The suites pass correct implementations.

package storetest_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEventStore(t *testing.T) {
	storetest.TestEventStore(t, func(*testing.T) storetest.Fleet[hotelstays.EventStore] {
		table := newEventTable()
		return fleetOf[hotelstays.EventStore, *events](func() hotelstays.EventStore { return table.open() })
	}, storetest.InBubble())
}

func TestTokenStore(t *testing.T) {
	storetest.TestTokenLeaser(t, func(*testing.T) storetest.Fleet[hotelstays.TokenLeaser] {
		table := newTokenTable()
		return fleetOf[hotelstays.TokenLeaser, *tokens](func() hotelstays.TokenLeaser { return table.open() })
	}, storetest.InBubble())
}

func TestRateLimiter(t *testing.T) {
	storetest.TestRateLimiter(t, func(*testing.T) storetest.Fleet[hotelstays.RateLimiter] {
		shared := newWindows(hotelstays.Operation.RateLimit, time.Second)
		return fleetOf[hotelstays.RateLimiter, *limiter](func() hotelstays.RateLimiter { return shared.open() })
	}, storetest.InBubble())
}
