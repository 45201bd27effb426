// The rate limits on a virtual clock.

package hotelstaystest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestRateLimitWindowIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		u := login(t, s)
		cancel := func() *reply { return u.post(cancelPath, "{}") } // limit 10
		for range 5 {
			cancel()
		}
		time.Sleep(400 * time.Millisecond)
		for i := range 5 {
			if r := cancel(); r.status == 429 || r.header.Get("X-RateLimit-Remaining") != []string{"4", "3", "2", "1", "0"}[i] {
				t.Fatalf("call %d: HTTP %d, %v", i+6, r.status, r.header)
			}
		}
		time.Sleep(600*time.Millisecond - 1) // a nanosecond too early
		r := cancel()
		stopIf(t, r.status != 429 || r.code != types.CodeRateLimited || r.header.Get("Retry-After") != "1" ||
			r.header.Get("X-RateLimit-Remaining") != "0", "the 11th call within a second: HTTP %d %s %v", r.status, r.body, r.header)
		time.Sleep(time.Nanosecond)
		for i := range 5 {
			if r := cancel(); r.status == 429 {
				t.Fatalf("call %d of the second burst was refused", i)
			}
		}
		if cancel().status != 429 { // a fixed window or a token bucket would allow more
			t.Fatal("the other five calls no longer count")
		}
		same(t, s.Ledger().RateLimited(types.OpCancel), 2)
	})
}

func TestRateLimitsComeBeforeEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		u := &user{t: t, s: s, http: s.Client()}
		for _, body := range []string{"not JSON", "", "{}", `{"appKey":"a","appSecret":"b"}`, "{"} {
			stopIf(t, u.post(ticketPath, body).status == 429, "refused too early")
		}
		u.refused(ticketPath, object{"appKey": s.AppKey, "appSecret": s.AppSecret}, 429, types.CodeRateLimited, "5 calls per second")
		failIf(t, u.post(destinationsPath, "{}").status != 401, "two operations share a limit")
		other := *u
		other.http = s.ClientFrom("192.0.2.7")
		failIf(t, other.post(ticketPath, "{}").status != 400, "two addresses share a limit")
		for range 30 { // no limit is documented
			stopIf(t, u.post(oauthPath, "{}").status == 429, "OAuthToken has a rate limit")
		}
		reqs := s.Ledger().Requests(types.OpTicket)
		last := reqs[len(reqs)-1]
		failIf(t, last.ClientIP != "192.0.2.7" || !reqs[5].RateLimited, "the ledger has %+v", last)
	})
}

func TestIdleLogsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(rateLimiter)
		for i := range maxClients {
			c.arrive(types.OpBook, base36(int64(i)), 10)
		}
		time.Sleep(window)
		c.arrive(types.OpBook, "one more", 10)
		failIf(t, len(c.logs) != 1, "%d logs are kept", len(c.logs))
	})
}
