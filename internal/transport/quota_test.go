// Tests of the retry quota.

package transport

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
)

// In an outage first attempts are always made, and retries only until the quota is spent. Calls
// that succeed fill it again.
func TestRetryQuota(t *testing.T) {
	down := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, c := range []struct {
		name     string
		answer   roundTripper
		mutates  bool
		requests int // of 300 calls of at most three attempts
	}{
		{"503", replies(503, "busy"), false, 300 + 500/5},
		{"no connection", fails(down), false, 300 + 500/5},
		{"time-out", fails(context.DeadlineExceeded), false, 300 + 500/10},
		{"Book, 503", replies(503, "busy"), true, 300},
		{"400", replies(400, `{"code":1}`), false, 300},
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
	assert.Zero(t, quota.spent.Load(), "it is never more than full")
}
