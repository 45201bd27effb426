// Webhooks in the ledger.

package hotelstaystest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

func TestWebhookLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "not-to-be-seen"
		s := start(t, WithCallbackHandler(&receiver{}), WithWebhookSecret(secret), WithLedgerLimit(3), WithConfirmAfter(-1))
		login(t, s).bookWithCallback("ref", hook)
		for range 20 {
			s.SendWebhook("ref", "order_modified")
		}
		synctest.Wait()
		all := s.Ledger().Webhooks()
		if text := fmt.Sprintf("%+v %+v %+v", all, s.Ledger().Requests(""), s.Ledger().Orders()); strings.Contains(text, secret) {
			t.Error("the ledger shows the secret")
		}
		if len(all) != 3 || len(s.ledger.webhooks) > 6 {
			t.Fatalf("%d events kept", len(all))
		}
		all[0].Body[0], all[0].Attempts[0].Status = 'x', 1
		if again := s.Ledger().Webhooks()[0]; again.Body[0] != '{' || again.Attempts[0].Status != 200 {
			t.Error("Webhooks does not return copies")
		}
	})
}
