package hotelstaystest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestMisplacedAndMalformedHeadersAreRefused(t *testing.T) {
	s := start(t, Config{NoRateLimits: true})
	u := login(t, s)
	for _, tc := range []struct{ path, name, value, msg string }{
		{destinationsPath, "Session-Id", "x", "Destinations does not accept the header Session-Id;"},
		{destinationsPath, "Currency", "USD", "Destinations does not accept the header Currency;"},
		{ticketPath, "Market", "AE", "Ticket does not accept the header Market"},
		{ticketPath, "User-Ref", "u", "Ticket does not accept the header User-Ref"},
		{destinationsPath, "Content-Type", "text/plain", "Content-Type must be application/json"},
		{destinationsPath, "Client-Request-Timestamp", "now", "Client-Request-Timestamp has a malformed"},
		{destinationsPath, "IP", "300.1.1.1", "IP has a malformed"},
		{destinationsPath, "Language", "en_US", "Language has a malformed"},
		{destinationsPath, "Market", "Emirates", "Market has a malformed"},
		{listPath, "Currency", "dollars", "Currency has a malformed"},
		{listPath, "Timeout-Milliseconds", "0", "Timeout-Milliseconds has a malformed"},
		{listPath, "Session-Id", "made-up", "not a session of this account"},
	} {
		u.header(tc.name, tc.value).refused(tc.path, "{}", 400, types.CodeParam, tc.msg)
	}
	twice := must(exchange(t, u.http, "POST", s.URL+destinationsPath, "{}", func(r *http.Request) {
		r.Header["Authorization"], r.Header["Language"] = []string{"Bearer " + u.token}, []string{"en", "ar"}
	}))
	failIf(t, twice.code != types.CodeParam || !strings.Contains(twice.msg, "Language was sent twice"), "%s", twice.body)
	u.header("Request-Id", "one").must(destinationsPath, "{}")
	u.header("Request-Id", "one").refused(destinationsPath, "{}", 400, types.CodeParam, "was used before")
	all := u.header("Client-Request-Timestamp", "1700000000").header("IP", "2001:db8::1").header("Language", "zh-Hans-CN").
		header("Market", "AE").header("User-Ref", "someone").header("Content-Type", "application/json; charset=utf-8")
	all.must(destinationsPath, "{}")
	u.header("Language", "x-house-style").must(destinationsPath, "{}")
	u.header("Test", "what=ever&x").header("Timeout-Milliseconds", "2500").header("Currency", "JPY").must(listPath, search(s, nil))
}

func TestServerForgetsTheOldestRequestIDs(t *testing.T) {
	ids := new(seenIDs)
	for i := range maxSeenIDs + 10 {
		ids.repeated(base36(int64(i)))
	}
	kept := len(ids.now) + len(ids.earlier)
	failIf(t, kept > maxSeenIDs || kept < maxSeenIDs/2, "the server remembers %d ids", kept)
	failIf(t, ids.repeated("0") || !ids.repeated(base36(maxSeenIDs/2+10)) || !ids.repeated(base36(maxSeenIDs+9)),
		"the server forgot a recent id, or remembers the oldest id")
}

func TestUnknownPathAndMethodAreRefused(t *testing.T) {
	s := start(t)
	u := login(t, s)
	u.refused("/api/search/nothing", "{}", 404, codeNoSuchOperation, "/api/search/nothing")
	r := must(u.get(s.URL + destinationsPath))
	failIf(t, r.status != http.StatusMethodNotAllowed || r.code != codeNoSuchOperation, "GET gives HTTP %d: %s", r.status, r.body)
}

func TestLargeAnswersAreCompressed(t *testing.T) {
	s := start(t, Config{Compression: true})
	u := login(t, s)
	r, err := u.header("Accept-Encoding", "gzip").send(listPath, search(s, nil))
	stopIf(t, err != nil, "%v", err)
	z, err := gzip.NewReader(bytes.NewReader(r.body))
	stopIf(t, err != nil || r.header.Get("Content-Encoding") != "gzip", "%v %v", err, r.header)
	if b, err := io.ReadAll(z); err != nil || !bytes.HasPrefix(b, []byte(`{"code":0`)) {
		t.Errorf("%v %.100s", err, b)
	}
	u.must(listPath, search(s, nil)) // net/http decompresses the answer
}

func TestRateLimitWindowIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		u := login(t, s)
		cancel := func() *reply { return u.post(cancelPath, "{}") } // the rate limit is 10 a second
		for range 5 {
			cancel()
		}
		time.Sleep(400 * time.Millisecond)
		for i := range 5 {
			if r := cancel(); r.status == 429 || r.header.Get("X-RateLimit-Remaining") != []string{"4", "3", "2", "1", "0"}[i] {
				t.Fatalf("call %d: HTTP %d, %v", i+6, r.status, r.header)
			}
		}
		time.Sleep(600*time.Millisecond - 1) // one nanosecond before the next call is allowed
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
			t.Fatal("the rate limit no longer counts the other five calls")
		}
		same(t, s.Ledger().RateLimited(opCancel), 2)
	})
}

func TestRateLimitIsCheckedBeforeTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		u := &user{t: t, s: s, http: s.Client()}
		for _, body := range []string{"not JSON", "", "{}", `{"appKey":"a","appSecret":"b"}`, "{"} {
			stopIf(t, u.post(ticketPath, body).status == 429, "the rate limit refused a call too early")
		}
		u.refused(ticketPath, object{"appKey": s.AppKey, "appSecret": s.AppSecret}, 429, types.CodeRateLimited, "5 calls per second")
		failIf(t, u.post(destinationsPath, "{}").status != 401, "two operations share a rate limit")
		other := *u
		other.http = s.ClientFrom("192.0.2.7")
		failIf(t, other.post(ticketPath, "{}").status != 400, "two client IP addresses share a rate limit")
		for range 30 { // the API document has no rate limit for OAuthToken
			stopIf(t, u.post(oauthPath, "{}").status == 429, "OAuthToken has a rate limit")
		}
		reqs := s.Ledger().Requests(opTicket)
		last := reqs[len(reqs)-1]
		failIf(t, last.ClientIP != "192.0.2.7" || !reqs[5].RateLimited, "the ledger has %+v", last)
	})
}
