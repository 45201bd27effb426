// Webhook options, valid and invalid.

package hotelstaystest

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWebhookEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{}
		s := start(t, WithoutRateLimits(), WithCallbackHandler(rc), WithConfirmAfter(0),
			WithWebhookEvents(OnConfirm, "order_paid", "order_strange"), WithWebhookEvents(OnBook))
		u := login(t, s)
		in, _ := u.bookWithCallback("ref", hook)
		synctest.Wait()
		in.must(bookPath, booking("ref", "any", object{"callbackUrl": hook})) // the same order again: no event
		s.SetOrderStatus("ref", 5)
		s.SetOrderStatus("ref", 5)
		s.SetOrderStatus("ref", 3)
		synctest.Wait()
		if got := rc.events(); got != "paid strange modified cancelled" {
			t.Errorf("got %s", got)
		}
	})
}

func TestUnsignedWebhooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{}
		s := start(t, WithCallbackHandler(rc), WithUnsignedWebhooks())
		login(t, s).bookWithCallback("ref", hook)
		synctest.Wait()
		d := rc.all()[0]
		if len(d.header.Values("X-Platform-Signature")) != 0 || d.header.Get("X-Platform-Event-Id") == "" || s.WebhookSecret != "" {
			t.Errorf("%v", d.header)
		}
	})
}

func TestInvalidWebhookOptions(t *testing.T) {
	for name, opt := range map[string]Option{
		"no secret":       WithWebhookSecret(""),
		"no delay":        WithWebhookRetryDelays(time.Second, 0),
		"no timeout":      WithWebhookTimeout(0),
		"no handler":      WithCallbackHandler(nil),
		"unknown trigger": WithWebhookEvents("odd", EventOrderPaid),
		"nameless event":  WithWebhookEvents(OnBook, ""),
	} {
		if s, err := StartServer(opt); err == nil {
			s.Close()
			t.Errorf("%s is accepted", name)
		}
	}
}
