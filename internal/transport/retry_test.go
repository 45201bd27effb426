// Tests of the retry policy and its quota.

package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// After a 429, the rate limiter pauses all calls for the time in Retry-After, or for a second without this header. The
// call itself waits as long. If the wait is longer than MaxRetryAfter, the call ends immediately. A 429 with the
// service's own code pauses for at most a day. Any other 429 pauses for at most a minute.
func TestEach429PausesTheRateLimiterForItsRetryAfter(t *testing.T) {
	const day, envelope, page = 24 * time.Hour, `{"code":100000429}`, "<html>"
	cases := []struct {
		header, body string
		want         time.Duration
	}{
		{"", envelope, time.Second}, {"2", envelope, 2 * time.Second}, {"0", envelope, 0},
		{"5", envelope, 5 * time.Second}, {"6", envelope, 6 * time.Second}, {"1.5", envelope, 1500 * time.Millisecond},
		{"86399", envelope, day - time.Second}, {"86401", envelope, day}, {"99999999999999999999", envelope, day},
		{"1e999", envelope, time.Second}, {"-1e999", envelope, time.Second}, {"0x1p4000", envelope, time.Second},
		{"-5", envelope, time.Second}, {"NaN", envelope, time.Second}, {"soon", envelope, time.Second},
		{"Sat, 01 Jan 2000 00:00:02 GMT", envelope, 2 * time.Second},
		{"Fri, 31 Dec 9999 23:59:59 GMT", envelope, day}, {"Mon, 01 Jan 0001 00:00:00 GMT", envelope, 0},
		{"", page, time.Second}, {"2", page, 2 * time.Second}, {"61", page, time.Minute}, {"86400", page, time.Minute},
		{"-1e999", page, time.Second}, {"Fri, 31 Dec 9999 23:59:59 GMT", page, time.Minute},
		{"86400", `{"code":0}`, time.Minute}, {"86400", `{"code":429,"message":"Too Many Requests"}`, time.Minute},
		{"30", `{"code":429}`, 30 * time.Second},
	}
	for _, c := range cases {
		t.Run(c.header+" "+c.body, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				limiter := &recording{}
				rt := roundTripper(func(*http.Request) (*http.Response, error) {
					if time.Since(start) >= c.want && len(limiter.pauses) > 0 {
						return reply(200, `{"code":0}`), nil
					}
					return reply(429, c.body, "Retry-After", c.header), nil
				})
				call := newCall(rt, nowhere)
				call.RateLimiter, call.Policy.MaxRetryAfter = limiter, time.Minute
				r := Send(t.Context(), call)
				r.Answer.Release()
				require.NoError(t, r.Err)
				require.Len(t, limiter.pauses, 1)
				assert.Equal(t, c.want, limiter.pauses[0].Sub(start).Round(time.Microsecond))
				if c.want >= time.Minute { // Retry-After is longer than MaxRetryAfter, so the call ends immediately
					assert.Equal(t, 429, r.Answer.Status)
					assert.Equal(t, 1, r.Attempts)
					assert.Zero(t, time.Since(start))
					return
				}
				assert.Equal(t, 200, r.Answer.Status)
				assert.LessOrEqual(t, time.Since(start), c.want+time.Millisecond, "the wait and its jitter")
			})
		})
	}
}

// A backoff is drawn between 0 and a limit. The limit doubles with each attempt, up to MaxBackoff.
func TestBackoffIsRandomUpToALimitThatDoubles(t *testing.T) {
	r := &run{Call: &Call{Policy: Policy{Backoff: 100 * time.Millisecond, MaxBackoff: time.Second}}}
	for attempt, bound := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		bound *= time.Millisecond
		r.attemptsBegun = attempt + 1
		var low, high int
		for range 200 {
			wait := r.backoff()
			require.LessOrEqual(t, wait, bound)
			if wait < bound/2 {
				low++
			} else {
				high++
			}
		}
		assert.Positive(t, low, "attempt %d", attempt)
		assert.Positive(t, high, "attempt %d", attempt)
	}
}

// If client and server have no TLS version in common, the call is tried once, and nothing is sent.
func TestCallWithoutACommonTLSVersionIsTriedOnce(t *testing.T) {
	server := func(config *tls.Config) string {
		ts := httptest.NewUnstartedServer(nil)
		ts.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		ts.TLS = config
		ts.StartTLS()
		t.Cleanup(ts.Close)
		return ts.URL
	}
	old := listen(t) // answers every ClientHello with TLS 1.0
	serve(t, old, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		hello := append([]byte{22, 3, 1, 0, 42, 2, 0, 0, 38, 3, 1}, make([]byte, 32+1)...) // 32 random bytes, here zeros, and an empty session id
		_, _ = conn.Write(append(hello, 0xc0, 0x13, 0, 0))
		_, _ = conn.Read(make([]byte, 4096)) // reads the client's alert
		conn.Close()
	})
	for _, tc := range []struct {
		name, url string
		client    *tls.Config
	}{
		{"the server has TLS 1.1 at most", server(&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}),
			&tls.Config{MinVersion: tls.VersionTLS12}},
		{"the server has only TLS 1.3", server(&tls.Config{MinVersion: tls.VersionTLS13}), &tls.Config{MaxVersion: tls.VersionTLS12}},
		{"the server answers with TLS 1.0", "https://" + old.Addr().String(), &tls.Config{MinVersion: tls.VersionTLS12}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := do(t, newTransport(t, tc.client), tc.url, mutates)
			require.ErrorContains(t, r.Err, "protocol version")
			assert.Equal(t, 1, r.Attempts)
			assert.False(t, r.Sent)
		})
	}
}

// The client logs each 429 as a warning with the service's code and the pause. This holds also for the 429 that ends
// the call. Other retries are logged at level info. Each line names operation, attempt and Request-Id, and hides the
// token.
func TestEach429IsLoggedAsAWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var ids []string
		answers := []*http.Response{nil, reply(429, `{"code":100000429,"msg":"slow down"}`), reply(429, "<html>", "Retry-After", "9")}
		rt := roundTripper(func(r *http.Request) (*http.Response, error) {
			ids = append(ids, r.Header.Get("Request-Id"))
			if len(ids) == 1 {
				return nil, errors.New("reset by token-0")
			}
			return answers[len(ids)-1], nil
		})
		limiter := &recording{}
		do(t, rt, nowhere, func(c *Call) {
			c.RateLimiter, c.Log, c.TokenSource = limiter, logTo(&log, "took", "wait"), &tokenSeries{}
			c.Scrub = func(text, token string) string { return strings.ReplaceAll(text, token, "***") }
		})
		require.Len(t, ids, 3)
		assert.Equal(t, fmt.Sprintf(`level=DEBUG msg=attempt operation=Test attempt=1 request_id=%[1]s trace_id=t error="reset by ***" sent=true
level=INFO msg="trying again" operation=Test attempt=1 request_id=%[1]s trace_id=t status=0 error="reset by ***"
level=DEBUG msg=attempt operation=Test attempt=2 request_id=%[2]s trace_id=t status=429 bytes=36
level=WARN msg="rate limited" operation=Test attempt=2 request_id=%[2]s trace_id=t status=429 pause=1s code=100000429 again=true
level=DEBUG msg=attempt operation=Test attempt=3 request_id=%[3]s trace_id=t status=429 bytes=6
level=WARN msg="rate limited" operation=Test attempt=3 request_id=%[3]s trace_id=t status=429 pause=9s code=0 again=false
`, ids[0], ids[1], ids[2]), log.String())
		assert.Len(t, limiter.pauses, 2)
	})
}

// If the rate limiter returns an error, the attempt has failed, and nothing counts as sent. The client asks the rate
// limiter again until MaxAttempts is reached.
func TestFailingLimiterIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct{ open, attempts, asked, earlier int }{
			{0, 0, 4, 0}, // the limiter never grants a slot
			{1, 1, 4, 503},
			{3, 3, 4, 503},
			{4, 4, 4, 503},
		} {
			start := time.Now()
			limiter := grants(tc.open)
			r := do(t, replies(503, "busy"), nowhere, func(c *Call) {
				c.RateLimiter = limiter
				c.Policy = Policy{MaxAttempts: 4, Backoff: time.Second, MaxBackoff: time.Hour, MaxBody: 1 << 20}
			})
			assert.Equal(t, tc.attempts, r.Attempts)
			assert.Equal(t, tc.asked, limiter.asked)
			assert.Equal(t, tc.earlier, r.EarlierStatus)
			assert.LessOrEqual(t, time.Since(start), 7*time.Second, "at most 1, 2 and 4 seconds")
			assert.Greater(t, time.Since(start), time.Millisecond)
		}
	})
}

// In an outage, the client makes the first attempt of every call. The client makes retries only until the quota is
// spent. Calls that succeed fill the quota again.
func TestRetriesEndWhenTheQuotaIsSpent(t *testing.T) {
	down := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, c := range []struct {
		name     string
		answer   roundTripper
		mutates  bool
		requests int // the requests of 300 calls, with at most three attempts each
	}{
		{"a read gets HTTP 503", replies(503, "busy"), false, 300 + 500/5},
		{"a read gets no connection", fails(down), false, 300 + 500/5},
		{"a read times out", fails(context.DeadlineExceeded), false, 300 + 500/10},
		{"Book gets HTTP 503", replies(503, "busy"), true, 300},
		{"a read gets HTTP 400", replies(400, `{"code":1}`), false, 300},
	} {
		requests, refused, quota := 0, 0, new(RetryQuota)
		for range 300 {
			r := do(t, c.answer, nowhere, func(call *Call) { call.Quota, call.Mutates = quota, c.mutates })
			requests += r.Attempts
			if r.QuotaSpent {
				refused++
			}
		}
		assert.Equal(t, c.requests, requests, c.name)
		assert.Equal(t, c.requests > 300, refused >= 200, c.name)
	}

	quota := new(RetryQuota)
	quota.spent.Store(quotaSize)
	attempts := func(rt roundTripper) int {
		return do(t, rt, nowhere, func(c *Call) { c.Quota = quota }).Attempts
	}
	for i := range retryCost {
		assert.Equal(t, 1, attempts(replies(503, "busy")), "%d", i)
		attempts(replies(200, "{}"))
	}
	assert.Equal(t, 2, attempts(replies(503, "busy")))
	for range 2 * quotaSize {
		attempts(replies(200, "{}"))
	}
	assert.Zero(t, quota.spent.Load(), "the quota is never more than full")
}
