// Options that are refused.

package hotelstaystest

import (
	"math"
	"testing"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestInvalidOptions(t *testing.T) {
	for name, opt := range map[string]Option{
		"public address":   WithAddr("0.0.0.0:0"),
		"every address":    WithAddr(":8080"),
		"foreign address":  WithAddr("192.0.2.1:8080"),
		"host name":        WithAddr("example.com:80"),
		"no port":          WithAddr("127.0.0.1"),
		"nil":              nil,
		"rate limit":       WithRateLimit(types.OpBook, 0),
		"endless limit":    WithRateLimit(types.OpBook, math.MaxInt),
		"unknown":          WithRateLimit("Nothing", 5),
		"same states":      WithOrderStatusNumbers(OrderStatusNumbers{Confirmed: 3}),
		"known state":      WithOrderStatusNumbers(OrderStatusNumbers{Confirmed: 1}),
		"availability":     WithAvailabilityNumbers(1, 1),
		"http1 alone":      WithHTTP1Only(),
		"too many":         WithCatalog(Catalog{Countries: 1000}),
		"negative":         WithCatalog(Catalog{HotelsPerCity: -1}),
		"life":             WithTokenLifetime(0),
		"credentials":      WithAccount("", ""),
		"guest field":      WithRequiredGuestFields("shoeSize"),
		"business failure": WithBusinessFailureStatus(500),
		"cancel rule":      WithCancelRule(99),
		"no secret":        WithWebhookSecret(""),
		"no delay":         WithWebhookRetryDelays(time.Second, 0),
		"no timeout":       WithWebhookTimeout(0),
		"no handler":       WithCallbackHandler(nil),
		"unknown trigger":  WithWebhookEvents("odd", types.EventOrderPaid),
		"nameless event":   WithWebhookEvents(OnBook, ""),
	} {
		if s, err := StartServer(opt); err == nil {
			s.Close()
			t.Errorf("%s: accepted", name)
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("NewServer does not panic")
			}
		}()
		NewServer(WithAddr("0.0.0.0:0"))
	}()
	for _, addr := range []string{"127.0.0.1:0", "localhost:0"} {
		s, err := StartServer(WithAddr(addr))
		if err != nil {
			t.Fatalf("%s: %v", addr, err)
		}
		s.Close()
	}
}
