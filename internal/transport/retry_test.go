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
	r.last.Answer = &Answer{Status: http.StatusServiceUnavailable}
	assert.Zero(t, r.retryAfter(), "of all answers without Retry-After, only a 429 asks for a second more")
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
	for name, config := range map[string]struct{ server, client *tls.Config }{
		"the server has TLS 1.1 at most": {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
			&tls.Config{MinVersion: tls.VersionTLS12}},
		"the server has only TLS 1.3": {&tls.Config{MinVersion: tls.VersionTLS13}, &tls.Config{MaxVersion: tls.VersionTLS12}},
	} {
		ts := httptest.NewUnstartedServer(nil)
		ts.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		ts.TLS = config.server
		ts.StartTLS()
		defer ts.Close()
		r := do(t, newTransport(t, config.client), ts.URL, mutates)
		require.ErrorContains(t, r.Err, "protocol version", name)
		assert.Equal(t, 1, r.Attempts, name)
		assert.False(t, r.Sent, name)
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

// In an outage, the client makes the first attempt of every call, and makes retries until the quota is spent. A retry
// after a time-out takes twice as much of the quota. Calls that succeed fill the quota again.
func TestRetriesEndWhenTheQuotaIsSpent(t *testing.T) {
	for err, requests := range map[error]int{ // the requests of 300 calls, with at most three attempts each
		&net.OpError{Op: "dial", Err: errors.New("connection refused")}: 300 + 500/5,
		context.DeadlineExceeded: 300 + 500/10,
	} {
		sent, refused, quota := 0, 0, new(RetryQuota)
		for range 300 {
			r := do(t, fails(err), nowhere, func(call *Call) { call.Quota = quota })
			sent += r.Attempts
			if r.QuotaSpent {
				refused++
			}
		}
		assert.Equal(t, requests, sent, err)
		assert.GreaterOrEqual(t, refused, 200, err)
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
