// Observing calls, for traces and metrics.

package hotelstays

import (
	"context"
	"time"
)

// Observer is told of every call, once at its start and once at its end. A call
// that fails validation is not a call: nothing was sent. The calls that fetch
// tokens are reported like all others.
//
// Implementations must be safe for concurrent use.
type Observer interface {
	// CallStart returns the ctx that the call goes on with.
	CallStart(ctx context.Context, op Operation) context.Context
	// CallEnd receives the ctx that CallStart returned.
	CallEnd(ctx context.Context, info CallInfo)
}

// CallInfo is how a call went. It holds no personal data.
type CallInfo struct {
	Operation Operation
	// Duration is the whole call: waits, attempts and decoding.
	Duration time.Duration
	// Attempts is how often the request was sent.
	Attempts int
	// HTTPStatus is the last attempt's, or 0 where it brought no answer.
	HTTPStatus int
	// Bytes is the size of the last answer's body after decompression.
	Bytes     int
	RequestID string
	TraceID   string
	// Err is what the call returns.
	Err error

	start time.Time
}

func (c *Client) observeStart(ctx context.Context, op Operation) context.Context {
	if c.observer == nil {
		return ctx
	}
	return c.observer.CallStart(ctx, op)
}

func (c *Client) observeEnd(ctx context.Context, info CallInfo, err error) {
	if c.observer == nil {
		return
	}
	info.Err = err
	info.Duration = time.Since(info.start)
	c.observer.CallEnd(ctx, info)
}
