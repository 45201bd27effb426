// The quota of retries, which derived clients share.

package transport

import (
	"errors"
	"net"
	"sync/atomic"
)

const (
	quotaSize   = 500
	retryCost   = 5
	timeoutCost = 10 // more, because a call that waits long also delays others
)

// RetryQuota keeps retries from multiplying the traffic of an outage: while most calls fail, only first attempts are
// left. Retries take from it, and calls that succeed give back. The zero value is full. A nil quota never runs out.
type RetryQuota struct{ spent atomic.Int64 }

// take pays for another attempt after a failed one. It reports whether there was enough.
func (q *RetryQuota) take(failed *attempt) bool {
	if q == nil {
		return true
	}
	cost := int64(retryCost)
	var network net.Error
	if errors.As(failed.Err, &network) && network.Timeout() {
		cost = timeoutCost
	}
	if q.spent.Add(cost) <= quotaSize {
		return true
	}
	q.spent.Add(-cost)
	return false
}

func (q *RetryQuota) succeeded() {
	if q != nil && q.spent.Load() > 0 {
		q.spent.Add(-1)
	}
}
