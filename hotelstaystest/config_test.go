// The configuration file: what it holds, and what it refuses.

package hotelstaystest

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// parsed writes a configuration as JSON and reads it again.
func parsed(t *testing.T, c Config) Config {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseConfig(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return got
}

func TestConfigIsItsFile(t *testing.T) {
	plain := DefaultConfig()
	if got := parsed(t, plain); !reflect.DeepEqual(got, plain) {
		t.Errorf("got  %+v\nwant %+v", got, plain)
	}
	for name, opts := range map[string][]Option{
		"WithAddr": {WithAddr("localhost:8080")}, "WithTLS": {WithTLS()}, "WithHTTP1Only": {WithTLS(), WithHTTP1Only()},
		"WithAllowRemote": {WithAddr("0.0.0.0:80"), WithAllowRemote()}, "WithTLSNames": {WithTLS(), WithTLSNames("sandbox", "192.0.2.1")},
		"WithCallbackHosts": {WithCallbackHosts("engine")},
		"WithInMemory":      {WithInMemory()}, "WithCompression": {WithCompression()}, "WithSeed": {WithSeed(7)},
		"WithCatalog": {WithCatalog(Catalog{Countries: 1, EmptyEvery: -1})}, "WithAccount": {WithAccount("key", "secret")},
		"WithOAuthClient": {WithOAuthClient("id", "secret", types.ScopeContentRead)}, "WithTicketScopes": {WithTicketScopes(types.ScopeContentRead)},
		"WithMarkets": {WithMarkets("AE")}, "WithUserRefs": {WithUserRefs(map[string][]types.Scope{"u": {types.ScopeContentRead}})},
		"WithOAuthTopLevel": {WithOAuthTopLevel()}, "WithTokenLifetime": {WithTokenLifetime(time.Minute)},
		"WithSessionLifetime": {WithSessionLifetime(time.Minute)},
		"WithVisibilityBand":  {WithVisibilityBand()}, "WithoutRateLimits": {WithoutRateLimits()}, "WithRateLimit": {WithRateLimit(types.OpBook, 3)},
		"WithoutTotals": {WithoutTotals()}, "WithEmptyReason": {WithEmptyReason("NO", types.EmptyReasonSupplier{SupplierCode: "A", Reason: "off"})},
		"WithNotices": {WithNotices("note")}, "WithAvailabilityNumbers": {WithAvailabilityNumbers(2, 1)},
		"WithRemarkInBasic": {WithRemarkInBasic()}, "WithRequiredGuestFields": {WithRequiredGuestFields("gender")},
		"WithStrictCallbacks": {WithStrictCallbacks()}, "WithBusinessFailureStatus": {WithBusinessFailureStatus(409)},
		"WithOrderStatusNumbers": {WithOrderStatusNumbers(OrderStatusNumbers{Confirmed: 5})}, "WithConfirmAfter": {WithConfirmAfter(-1)},
		"WithLateVisibility": {WithLateVisibility(time.Minute)}, "WithCancelRule": {WithCancelRule(CancelForbiddenByContract)},
		"WithCancelCutoff": {WithCancelCutoff(0)}, "WithVoucherDelay": {WithVoucherDelay(0)},
		"WithVoucherLinkLifetime": {WithVoucherLinkLifetime(time.Second)}, "WithVoucherSize": {WithVoucherSize(1)},
		"WithUnsignedVouchers": {WithUnsignedVouchers()}, "WithWebhookSecret": {WithWebhookSecret("s")},
		"WithUnsignedWebhooks": {WithUnsignedWebhooks()}, "WithWebhookRetryDelays": {WithWebhookRetryDelays(time.Second)},
		"WithWebhookTimeout": {WithWebhookTimeout(time.Second)}, "WithWebhookEvents": {WithWebhookEvents(OnBook, "strange")},
		"WithLedgerLimit": {WithLedgerLimit(1)}, "WithControl": {WithControl()},
	} {
		c := DefaultConfig()
		for _, opt := range opts {
			opt(&c)
		}
		if got := parsed(t, c); reflect.DeepEqual(got, plain) || !reflect.DeepEqual(got, c) {
			t.Errorf("%s: got %+v\nwant %+v", name, got, c)
		}
	}
}

// Every error names the field.
func TestParseConfigRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"unknown":1}`:                    `"unknown"`,
		`{} {}`:                            "after top-level value",
		`[]`:                               "array",
		`{"seed":"x"}`:                     "seed",
		`{"addr":"::80"}`:                  "addr",
		`{"addr":"0.0.0.0:80"}`:            "addr",
		`{"http1Only":true}`:               "http1Only",
		`{"tlsNames":["a"]}`:               "tlsNames",
		`{"tls":true,"tlsNames":["a:80"]}`: "tlsNames",
		`{"webhooks":{"callbackHosts":["http://engine"]}}`:             "webhooks.callbackHosts[0]",
		`{"catalog":{"roomsPerHotel":51}}`:                             "catalog.roomsPerHotel",
		`{"accounts":[{"appKey":"k","appSecret":"s"},{"appKey":"k"}]}`: "accounts[1]",
		`{"oauthClients":[{"clientId":"c"}]}`:                          "oauthClients[0]",
		`{"tokenLifetime":"0s"}`:                                       "tokenLifetime",
		`{"tokenLifetime":"an hour"}`:                                  "tokenLifetime",
		`{"tokenLifetime":3600}`:                                       "tokenLifetime",
		`{"rateLimits":{"Book":0}}`:                                    "rateLimits.Book",
		`{"rateLimits":{"Nothing":1}}`:                                 "rateLimits",
		`{"requiredGuestFields":["gender","shoeSize"]}`:                "requiredGuestFields[1]",
		`{"cancelRule":"odd"}`:                                         "cancelRule",
		`{"cancelRule":0}`:                                             "cancelRule",
		`{"sessionLifetime":"-1s"}`:                                    "sessionLifetime",
		`{"cancelCutoff":"-1s"}`:                                       "cancelCutoff",
		`{"voucherDelay":"-1s"}`:                                       "voucherDelay",
		`{"voucherLinkLifetime":"0s"}`:                                 "voucherLinkLifetime",
		`{"webhooks":{"secret":""}}`:                                   "webhooks.secret",
		`{"webhooks":{"retryDelays":["1s","soon"]}}`:                   "webhooks",
		`{"webhooks":{"retryDelays":["1s","0s"]}}`:                     "webhooks.retryDelays[1]",
		`{"webhooks":{"timeout":"0s"}}`:                                "webhooks.timeout",
		`{"webhooks":{"events":{"odd":[]}}}`:                           "webhooks.events",
		`{"webhooks":{"events":{"book":[""]}}}`:                        "webhooks.events.book",
		`{"variants":{"available":2}}`:                                 "variants.available",
		`{"variants":{"businessFailureStatus":500}}`:                   "variants.businessFailureStatus",
		`{"variants":{"orderStatusNumbers":{"confirmed":6}}}`:          "variants.orderStatusNumbers",
		`{"variants":{"orderStatusNumbers":{"pending":2}}}`:            "variants.orderStatusNumbers",
		`{"ledgerLimit":0}`:                                            "ledgerLimit",
		`{"control":{"token":"                    "}}`:                 "control.token",
	} {
		if _, err := ParseConfig([]byte(text)); !errors.Is(err, ErrInvalidOption) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestServerWithConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := ParseConfig([]byte(`{"inMemory":true, "confirmAfter":"1m", "accounts":[{"appKey":"k","appSecret":"s"}],
			"variants":{"orderStatusNumbers":{"confirmed":5}}}`))
		if err != nil {
			t.Fatal(err)
		}
		s := NewServer(WithConfig(c), WithWebhookEvents(OnBook))
		defer s.Close()
		defer s.Client().CloseIdleConnections()
		if got := c.Webhooks.Events[OnBook]; !slices.Equal(got, []types.WebhookKind{types.EventOrderCreated}) {
			t.Errorf("an option changed the configuration to %q", got)
		}
		u := login(t, s)
		c.Accounts[0].AppSecret = "changed"
		u.ticket("k", "s")
		u.book("ref", 0)
		s.Advance(time.Minute)
		if got := s.Ledger().Orders()[0].Status; got != 5 {
			t.Errorf("status %d", got)
		}
	})
}
