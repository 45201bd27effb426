// What the fields of a configuration do that no other test needs.

package hotelstaystest

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// The server's own copy has the defaults, and shares nothing with the caller's or with what it returns.
func TestServerConfig(t *testing.T) {
	text := func(c Config) string { return string(must(json.Marshal(c))) }
	given := Config{
		Accounts:     []Account{{"key", "secret"}},
		OAuthClients: []OAuthClient{{"id", "secret", []types.Scope{types.ScopeSearchRead}}},
		UserRefs:     map[string][]types.Scope{"u": {types.ScopeSearchRead}},
		EmptyReason:  &types.EmptyReason{Suppliers: []types.EmptyReasonSupplier{{Reason: "r"}}},
		RateLimits:   map[Operation]int{types.OpBook: 3},
		Webhooks:     WebhookConfig{Events: map[WebhookTrigger][]types.EventKind{OnBook: {types.EventOrderPaid}, OnCancel: nil}},
	}
	before := text(given)
	s := start(t, given)
	same(t, text(given), before)
	complete := s.Config()
	failIf(t, complete.VoucherDelay != 5*time.Second || complete.RateLimits[types.OpBook] != 3 || complete.RateLimits[types.OpTicket] != 5 ||
		len(complete.Webhooks.Events[OnCancel]) != 0 || len(complete.Webhooks.Events[OnConfirm]) != 2, "%+v", complete)
	again, err := complete.complete()
	failIf(t, err != nil || !reflect.DeepEqual(again, complete), "as a configuration of its own: %+v, %v", again, err)
	whole := text(complete)
	for _, c := range []Config{given, complete} {
		c.Webhooks.Events[OnBook][0], c.OAuthClients[0].Scopes[0], c.UserRefs["u"][0], c.EmptyReason.Suppliers[0].Reason = "x", "x", "x", "x"
		c.Accounts[0].AppSecret, c.RateLimits[types.OpBook] = "x", 1
		delete(c.Webhooks.Events, OnCancel)
	}
	same(t, text(s.Config()), whole)
}
