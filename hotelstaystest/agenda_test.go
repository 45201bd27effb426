package hotelstaystest

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestAdvanceConfirmsOrdersAndDeliversWebhooksInOrderOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := answering(200, 500, 500, 200)
		s, u := open(t, Config{Webhooks: WebhookConfig{CallbackHandler: rc}, RateLimits: map[Operation]int{opBook: 1}})
		u = u.plain()
		began := time.Now()
		u.bookWithCallback("ref", hook)
		synctest.Wait()
		s.Advance(2 * time.Minute)
		same(t, rc.events(), "created")
		u.book("later", 1)
		s.Advance(10 * time.Minute)
		w := s.Ledger().Webhooks()
		at := func(d time.Duration) time.Time { return began.Add(d) }
		failIf(t, rc.events() != "created paid modified paid modified" || s.Now() != at(12*time.Minute) || time.Now() != began,
			"%s; the clock is at %v", rc.events(), s.Now())
		orders := s.Ledger().Orders()
		for i, confirmed := range []time.Duration{3 * time.Minute, 5 * time.Minute} {
			h := orders[i].History
			failIf(t, len(h) != 2 || h[1].At != at(confirmed) || orders[1].CreatedAt != at(2*time.Minute), "%+v", orders)
		}
		a := w[1].Attempts
		failIf(t, len(a) != 2 || a[1].Started != at(3*time.Minute+time.Second) || w[1].EventTime != at(3*time.Minute), "%+v", w[1])
		panics(t, "cannot go back", func() { s.Advance(-1) })

		u.bookWithCallback("third", hook)
		s.Advance(3*time.Minute - 1)
		synctest.Wait()
		early := len(rc.all())
		time.Sleep(time.Nanosecond) // lets the agenda's goroutine notice the new time
		synctest.Wait()
		failIf(t, early != 6 || len(rc.all()) != 8, "%d deliveries, then %d: %s", early, len(rc.all()), rc.events())
	})
}

func TestAdvanceDoesNotAffectRateLimitsDelaysAndSignatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := verifying("sandbox-webhook-secret")
		s := start(t, Config{
			Webhooks: WebhookConfig{CallbackHandler: rc}, ConfirmAfter: Never, RateLimits: map[Operation]int{"Destinations": 1},
		})
		u := login(t, s).plain()
		began := time.Now()

		u.must(destinationsPath, "{}")
		s.Advance(time.Hour)
		u.refused(destinationsPath, "{}", 429, types.CodeRateLimited, "")

		u.bookWithCallback("ref", hook)
		synctest.Wait()
		same(t, signedAt(rc.all()[0], s.WebhookSecret), began.Unix())
		s.Inject(Fault{Operation: OpWebhook, Kind: FaultDelay, Delay: time.Minute})
		s.SendWebhook("ref", types.EventOrderModified)
		synctest.Wait()
		s.Advance(time.Hour)
		same(t, rc.events(), "created")
		time.Sleep(time.Minute)
		synctest.Wait()
		same(t, rc.events(), "created modified")
	})
}

// If the receiver does not answer, Advance waits in real time until WebhookConfig.Timeout.
func TestAdvanceWaitsForCallbackAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{answer: func(n int, r *http.Request) int {
			if n == 0 {
				<-r.Context().Done()
			}
			return 200
		}}
		s := start(t, Config{Webhooks: WebhookConfig{CallbackHandler: rc, Timeout: 30 * time.Second}, ConfirmAfter: Never})
		login(t, s).bookWithCallback("ref", hook)
		synctest.Wait()
		began := time.Now()
		s.Advance(time.Second)
		failIf(t, time.Since(began) != 30*time.Second || s.Now() != time.Now(), "after %v the clock is at %v", time.Since(began), s.Now())
		s.Advance(time.Second)
		same(t, s.Now(), began.Add(31*time.Second))
		w := s.Ledger().Webhooks()[0]
		a := w.Attempts
		failIf(t, len(a) != 2 || w.State != WebhookDelivered || a[0].Done != began.Add(30*time.Second) || a[0].Status != 0 ||
			a[0].Error == "", "%+v", w)
	})
}

func TestCloseEndsARunningCallOfAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		s := start(t, Config{Webhooks: WebhookConfig{CallbackHandler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()                         // Close ends the ctx although the handler has not read the body
			w.WriteHeader(http.StatusServiceUnavailable) // the answer may still reach the server
			ended = true
		})}})
		login(t, s).bookWithCallback("ref", hook)
		synctest.Wait()
		began := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { s.Advance(time.Hour) })
		synctest.Wait()
		s.Close()
		failIf(t, !ended, "Close did not wait for the handler")
		wg.Wait()
		failIf(t, time.Since(began) != 0 || len(s.Ledger().Webhooks()) != 1 || s.Ledger().Webhooks()[0].State != WebhookPending,
			"after %v: %+v", time.Since(began), s.Ledger().Webhooks())
	})
}
