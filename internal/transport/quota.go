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
	timeoutCost = 10 // a retry after a time-out costs more, because a call that waits long delays other calls
)

// RetryQuota limits retries, because retries would multiply the traffic in an outage. While most calls fail, the client
// makes only the first attempt of each call. A retry takes points, and a call that succeeds returns points. The zero
// value is full. A nil quota never runs out.
type RetryQuota struct{ spent atomic.Int64 }

// take pays points for a retry after a failed attempt, and reports whether there were enough points.
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
