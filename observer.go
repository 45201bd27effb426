// Observing calls, for traces and metrics.

package hotelstays

import (
	"context"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/transport"
)

// Observer is told of every call, once at its start and once at its end. A call
// that fails validation is not reported: nothing was sent. The calls that fetch
// tokens are reported like all others, under the ctx of a call that needs the
// token; one that fetches it in the background may end after that call.
//
// Implementations must be safe for concurrent use. They run in the call's
// goroutine, which waits for them.
type Observer interface {
	// CallStart returns the ctx that the call goes on with: ctx, or one that is
	// derived from it. Every attempt is sent under it.
	CallStart(ctx context.Context, start CallStart) context.Context
	// CallEnd receives the ctx that CallStart returned.
	CallEnd(ctx context.Context, info CallInfo)
}

// CallStart is a call that begins.
type CallStart struct {
	Operation Operation
	// BaseURL is the environment that is called, as New was given it, without a slash
	// at its end.
	BaseURL string
}

// CallInfo is how a call went. It holds no secret. The texts of errors can hold
// what the service wrote and the caller's reference: record their kinds, not
// their texts.
type CallInfo struct {
	Operation Operation
	// BaseURL is the environment that was called, as in CallStart.
	BaseURL string
	// Duration is the whole call: waits, attempts and decoding.
	Duration time.Duration
	// CeilingWait is how long all attempts together waited for a slot below the
	// ceiling.
	CeilingWait time.Duration
	// DecodeTime is how long reading the answer took, once it was there; 0 without
	// one.
	DecodeTime time.Duration
	// Attempts are the requests that were sent, in order. An attempt that ended
	// while it waited for its slot or its token is not among them.
	Attempts []AttemptInfo
	// HTTPStatus is that of the answer that the call ended with, or 0 where its last
	// attempt brought none.
	HTTPStatus int
	// Bytes is the size of that answer's body after decompression.
	Bytes int
	// RequestID and TraceID are those to quote in reports, as in ResponseMeta. Of a
	// call that sent nothing there is no RequestID.
	RequestID string
	TraceID   string
	// Err is what the call returns.
	Err error
}

// AttemptInfo is how one sending of a request went.
type AttemptInfo struct {
	Start time.Time
	// Duration lasts until the answer was read whole, or the attempt failed.
	Duration time.Duration
	// HTTPStatus is 0 where no answer was read.
	HTTPStatus int
	// Sent tells that the request may have reached the service.
	Sent bool
	// RequestID is the attempt's own.
	RequestID string
	// Err is why no answer was read; nil with one, whatever its status.
	Err error
}

// observation is one call on its way to an Observer. Without one it is nil, and
// its methods do nothing.
type observation struct {
	observer Observer
	ctx      context.Context // of CallStart
	start    time.Time
	answered time.Time // when the answer was there; zero without one
	attempts transport.Timeline
	info     CallInfo
}

// observe starts an observation and returns the ctx that the call goes on with.
func (c *Client) observe(ctx context.Context, op Operation, traceID string) (context.Context, *observation) {
	if c.observer == nil {
		return ctx, nil
	}
	o := &observation{observer: c.observer, start: time.Now(), info: CallInfo{Operation: op, BaseURL: c.baseURL, TraceID: traceID}}
	o.ctx = c.observer.CallStart(ctx, CallStart{Operation: op, BaseURL: c.baseURL})
	return o.ctx, o
}

// timeline is where the attempts are noted.
func (o *observation) timeline() *transport.Timeline {
	if o == nil {
		return nil
	}
	return &o.attempts
}

// sent notes how the sending ended. Reading the answer comes next.
func (o *observation) sent(x *exchange) {
	if o == nil {
		return
	}
	o.info.RequestID, o.info.TraceID = x.requestID(), x.traceID()
	if answer := x.result.Answer; answer != nil {
		o.answered = time.Now()
		o.info.HTTPStatus, o.info.Bytes = answer.Status, len(answer.Body)
	}
}

// end tells the observer.
func (o *observation) end(err error) {
	if o == nil {
		return
	}
	o.info.Err = err
	o.info.Duration = time.Since(o.start)
	if !o.answered.IsZero() {
		o.info.DecodeTime = time.Since(o.answered)
	}
	o.info.CeilingWait = o.attempts.CeilingWait
	o.info.Attempts = make([]AttemptInfo, len(o.attempts.Sendings))
	for i, s := range o.attempts.Sendings {
		o.info.Attempts[i] = AttemptInfo{Start: s.Start, Duration: s.Duration, HTTPStatus: s.Status,
			Sent: s.Sent, RequestID: s.RequestID, Err: s.Err}
	}
	o.observer.CallEnd(o.ctx, o.info)
}
