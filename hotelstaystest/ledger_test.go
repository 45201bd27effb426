// The ledger keeps no secrets and a limited number of requests.

package hotelstaystest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestLedgerKeepsNoSecrets(t *testing.T) {
	s := start(t, Config{NoRateLimits: true})
	u := login(t, s)
	u.header("Trace-Id", "t").must(destinationsPath, "{}")
	text := fmt.Sprintf("%+v", s.Ledger().Requests(""))
	if strings.Contains(text, u.token) || strings.Contains(text, s.AppSecret) {
		t.Error("the ledger shows a secret")
	}
	reqs := s.Ledger().Requests(types.OpDestinations)
	if len(reqs) != 1 || reqs[0].Header.Get("Trace-Id") != "t" || reqs[0].TraceID != "t" ||
		!strings.HasPrefix(reqs[0].Header.Get("Authorization"), "sha256:") ||
		reqs[0].BodySHA256 != sha256Hex([]byte("{}")) || reqs[0].Status != 200 || !reqs[0].Executed {
		t.Errorf("%+v", reqs)
	}
	reqs[0].Header.Set("Trace-Id", "changed")
	if s.Ledger().Requests(types.OpDestinations)[0].Header.Get("Trace-Id") != "t" {
		t.Error("Requests does not return copies")
	}
}

func TestWebhookLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "not-to-be-seen"
		s := start(t, Config{Webhooks: WebhookConfig{CallbackHandler: &receiver{}, Secret: secret}, LedgerLimit: 3, ConfirmAfter: Never})
		login(t, s).bookWithCallback("ref", hook)
		for range 20 {
			s.SendWebhook("ref", "order_modified")
		}
		synctest.Wait()
		all := s.Ledger().Webhooks()
		if text := fmt.Sprintf("%+v %+v %+v", all, s.Ledger().Requests(""), s.Ledger().Orders()); strings.Contains(text, secret) {
			t.Error("the ledger shows the secret")
		}
		if len(all) != 3 {
			t.Fatalf("%d events kept", len(all))
		}
		all[0].Body[0], all[0].Attempts[0].Status = 'x', 1
		if again := s.Ledger().Webhooks()[0]; again.Body[0] != '{' || again.Attempts[0].Status != 200 {
			t.Error("Webhooks does not return copies")
		}
	})
}
