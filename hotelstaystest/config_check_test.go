package hotelstaystest

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// Every error names the field, by its path in JSON.
func TestInvalidConfigs(t *testing.T) {
	catalog := func(c Catalog) *Config { return &Config{Catalog: c} }
	webhooks := func(w WebhookConfig) *Config { return &Config{Webhooks: w} }
	variants := func(v Variants) *Config { return &Config{Variants: v} }
	numbers := func(n OrderStatusNumbers) *Config { return variants(Variants{OrderStatusNumbers: n}) }
	for _, tc := range []struct {
		config *Config
		want   string // how the fault begins
	}{
		{&Config{Addr: "0.0.0.0:0"}, "addr"},
		{&Config{Addr: ":8080"}, "addr"},
		{&Config{Addr: "192.0.2.1:8080"}, "addr"},
		{&Config{Addr: "example.com:80"}, "addr"},
		{&Config{Addr: "127.0.0.1"}, "addr"},
		{&Config{Addr: "::80"}, "addr"},
		{&Config{InMemory: true, Addr: "127.0.0.1:80"}, "inMemory and addr"},
		{&Config{HTTP1Only: true}, "http1Only needs tls"},
		{&Config{TLSNames: []string{"a"}}, "tlsNames needs tls"},
		{&Config{TLS: true, TLSNames: []string{"a", "a:80"}}, "tlsNames[1]"},
		{&Config{Control: ControlConfig{Token: "                    "}}, "control.token"},
		{catalog(Catalog{Countries: 1000}), "catalog.countries"},
		{catalog(Catalog{HotelsPerCity: -1}), "catalog.hotelsPerCity"},
		{catalog(Catalog{RoomsPerHotel: 51}), "catalog.roomsPerHotel"},
		{&Config{Accounts: []Account{{"k", "s"}, {"k", ""}}}, "accounts[1]"},
		{&Config{OAuthClients: []OAuthClient{{ClientID: "id"}}}, "oauthClients[0]"},
		{&Config{RateLimits: map[Operation]int{types.OpBook: 0}}, "rateLimits.Book"},
		{&Config{RateLimits: map[Operation]int{types.OpBook: math.MaxInt}}, "rateLimits.Book"},
		{&Config{RateLimits: map[Operation]int{"Nothing": 5}}, "rateLimits"},
		{&Config{RequiredGuestFields: []string{"gender", "shoeSize"}}, "requiredGuestFields[1]"},
		{&Config{CancelRule: "odd"}, "cancelRule"},
		{&Config{TokenLifetime: AtOnce}, "tokenLifetime must be positive, not 0s"},
		{&Config{SessionLifetime: AtOnce}, "sessionLifetime"},
		{&Config{VoucherLinkLifetime: AtOnce}, "voucherLinkLifetime"},
		{&Config{ConfirmAfter: -time.Second}, "confirmAfter"},
		{&Config{LateVisibility: -time.Second}, "lateVisibility"},
		{&Config{CancelCutoff: -time.Second}, "cancelCutoff"},
		{&Config{VoucherDelay: -time.Second}, "voucherDelay"},
		{webhooks(WebhookConfig{CallbackHosts: []string{"http://engine"}}), "webhooks.callbackHosts[0]"},
		{webhooks(WebhookConfig{RetryDelays: []time.Duration{time.Second, 0}}), "webhooks.retryDelays[1]"},
		{webhooks(WebhookConfig{Timeout: AtOnce}), "webhooks.timeout"},
		{webhooks(WebhookConfig{Events: map[WebhookTrigger][]types.EventKind{"odd": {types.EventOrderPaid}}}), "webhooks.events: "},
		{webhooks(WebhookConfig{Events: map[WebhookTrigger][]types.EventKind{OnBook: {""}}}), "webhooks.events.book"},
		{variants(Variants{Available: 3}), "variants.available"},
		{variants(Variants{BusinessFailureStatus: 500}), "variants.businessFailureStatus"},
		{numbers(OrderStatusNumbers{Confirmed: 6}), "variants.orderStatusNumbers"},
		{numbers(OrderStatusNumbers{Confirmed: 1}), "variants.orderStatusNumbers"},
		{numbers(OrderStatusNumbers{Pending: 2}), "variants.orderStatusNumbers"},
		{&Config{VoucherSize: -1}, "voucherSize must be 0 or more, not -1"},
		{&Config{LedgerLimit: -1}, "ledgerLimit"},
	} {
		s, err := StartServer(tc.config)
		if err == nil {
			s.Close()
		}
		failIf(t, !errors.Is(err, ErrInvalidConfig) || !strings.HasPrefix(err.Error(), ErrInvalidConfig.Error()+": "+tc.want),
			"want %s: %v", tc.want, err)
	}
	all := &Config{LedgerLimit: -1, HTTP1Only: true, CancelCutoff: -time.Second}
	const faults = "http1Only needs tls; without TLS there is no HTTP/2; cancelCutoff must be positive, not -1s; ledgerLimit must be"
	panics(t, faults, func() { NewServer(all) })
}
