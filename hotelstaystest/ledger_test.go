// The ledger keeps no secrets and a limited number of requests.

package hotelstaystest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestLedgerKeepsNoSecrets(t *testing.T) {
	s, u := open(t, Config{Webhooks: WebhookConfig{CallbackHandler: &receiver{}, Secret: "not-to-be-seen"}})
	u.header("Trace-Id", "t").must(destinationsPath, "{}")
	u.bookWithCallback("ref", hook)
	text := fmt.Sprintf("%+v %+v %+v", s.Ledger().Requests(""), s.Ledger().Orders(), s.Ledger().Webhooks())
	for _, secret := range []string{u.token, s.AppSecret, s.WebhookSecret} {
		failIf(t, strings.Contains(text, secret), "the ledger shows %s", secret)
	}
	reqs := s.Ledger().Requests(types.OpDestinations)
	failIf(t, len(reqs) != 1 || reqs[0].Header.Get("Trace-Id") != "t" || reqs[0].TraceID != "t" ||
		!strings.HasPrefix(reqs[0].Header.Get("Authorization"), "sha256:") ||
		reqs[0].BodySHA256 != sha256Hex([]byte("{}")) || reqs[0].Status != 200 || !reqs[0].Executed, "%+v", reqs)
}

func TestZeroLedgerIsEmpty(t *testing.T) {
	l := reflect.ValueOf(new(Ledger))
	for method := range l.Type().Methods() {
		args := []reflect.Value{l}
		for i := 1; i < method.Type.NumIn(); i++ {
			args = append(args, reflect.Zero(method.Type.In(i)))
		}
		got := method.Func.Call(args)[0]
		failIf(t, !got.IsZero(), "%s returns %v", method.Name, got)
	}
}
