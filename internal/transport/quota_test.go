// Tests of the retry quota.

package transport

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

// In an outage first attempts are always made, and retries only until the quota is spent. Calls
// that succeed fill it again.
func TestRetryQuota(t *testing.T) {
	down := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, c := range []struct {
		name     string
		answer   func() (*http.Response, error)
		mutates  bool
		requests int // of 300 calls of at most three attempts
	}{
		{"503", func() (*http.Response, error) { return reply(503, "busy"), nil }, false, 300 + 500/5},
		{"no connection", func() (*http.Response, error) { return nil, down }, false, 300 + 500/5},
		{"time-out", func() (*http.Response, error) { return nil, context.DeadlineExceeded }, false, 300 + 500/10},
		{"Book, 503", func() (*http.Response, error) { return reply(503, "busy"), nil }, true, 300},
		{"400", func() (*http.Response, error) { return reply(400, `{"code":1}`), nil }, false, 300},
	} {
		requests, refused, quota := 0, 0, new(RetryQuota)
		rt := roundTripper(func(*http.Request) (*http.Response, error) { requests++; return c.answer() })
		for range 300 {
			r := do(t, rt, "http://127.0.0.1:1", func(call *Call) { call.Quota, call.Mutates = quota, c.mutates })
			if r.QuotaSpent {
				refused++
			}
		}
		assert.Equal(t, c.requests, requests, c.name)
		assert.Equal(t, c.requests > 300, refused >= 200, c.name)
	}

	quota := new(RetryQuota)
	quota.spent.Store(quotaSize)
	fails := true
	rt := roundTripper(func(*http.Request) (*http.Response, error) {
		if fails {
			return reply(503, "busy"), nil
		}
		return reply(200, "{}"), nil
	})
	for i := range retryCost {
		assert.Equal(t, 1, do(t, rt, "http://127.0.0.1:1", func(c *Call) { c.Quota = quota }).Attempts, "%d", i)
		fails = false
		do(t, rt, "http://127.0.0.1:1", func(c *Call) { c.Quota = quota })
		fails = true
	}
	assert.Equal(t, 2, do(t, rt, "http://127.0.0.1:1", func(c *Call) { c.Quota = quota }).Attempts)
	fails = false
	for range 2 * quotaSize {
		do(t, rt, "http://127.0.0.1:1", func(c *Call) { c.Quota = quota })
	}
	assert.Zero(t, quota.spent.Load(), "it is never more than full")
}
