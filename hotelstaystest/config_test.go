// What the fields of a configuration do that no other test needs.

package hotelstaystest

import (
	"encoding/json"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// The server's own copy has the defaults, and is not changed through the caller's.
func TestServerConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given := Config{
			InMemory: true, ConfirmAfter: time.Minute, Accounts: []Account{{AppKey: "k", AppSecret: "s"}},
			Variants: Variants{OrderStatusNumbers: OrderStatusNumbers{Confirmed: 5}},
			Webhooks: WebhookConfig{Events: map[WebhookTrigger][]types.EventKind{OnBook: nil}}, RateLimits: map[Operation]int{types.OpBook: 3},
		}
		s := NewServer(&given)
		defer s.Close()
		defer s.Client().CloseIdleConnections()
		complete := s.Config()
		failIf(t, len(given.RateLimits) != 1 || len(given.Webhooks.Events) != 1 || given.LedgerLimit != 0, "the caller's became %+v", given)
		failIf(t, complete.VoucherDelay != 5*time.Second || complete.RateLimits[types.OpBook] != 3 || complete.RateLimits[types.OpCancel] == 0 ||
			len(complete.Webhooks.Events[OnBook]) != 0 || len(complete.Webhooks.Events[OnConfirm]) != 2, "%+v", complete)
		complete.RateLimits[types.OpTicket] = 1
		got := s.Config().RateLimits
		failIf(t, got[types.OpTicket] != 5, "%v", got)
		again, err := complete.complete()
		failIf(t, err != nil || !reflect.DeepEqual(again, complete), "as a configuration of its own: %+v, %v", again, err)
		u := login(t, s)
		given.Accounts[0].AppSecret, complete.Accounts[0].AppSecret = "changed", "changed"
		u.ticket("k", "s")
		u.book("ref", 0)
		s.Advance(time.Minute)
		same(t, s.Ledger().Orders()[0].Status, 5)
	})
}

func TestServerSharesNothingWithAConfig(t *testing.T) {
	given := Config{
		Webhooks:     WebhookConfig{Events: map[WebhookTrigger][]types.EventKind{OnBook: {types.EventOrderPaid}}},
		OAuthClients: []OAuthClient{{"id", "secret", []types.Scope{types.ScopeSearchRead}}},
		UserRefs:     map[string][]types.Scope{"u": {types.ScopeSearchRead}},
		EmptyReason:  &types.EmptyReason{Suppliers: []types.EmptyReasonSupplier{{Reason: "r"}}},
	}
	s := start(t, given)
	before := string(must(json.Marshal(s.Config())))
	for _, c := range []Config{given, s.Config()} {
		c.Webhooks.Events[OnBook][0], c.OAuthClients[0].Scopes[0], c.UserRefs["u"][0], c.EmptyReason.Suppliers[0].Reason = "x", "x", "x", "x"
	}
	same(t, string(must(json.Marshal(s.Config()))), before)
}
