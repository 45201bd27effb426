// Observing calls, for traces and metrics.

package hotelstays

import (
	"context"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/transport"
)

// Observer receives the start and the end of every call, for traces and metrics. Both
// functions are optional. A call that fails validation is not reported. The calls that
// fetch tokens are reported like all others, under the ctx of a call that needs the token;
// a fetch in the background may end after that call.
//
// The functions must be safe for concurrent use. The call waits for them.
type Observer struct {
	// CallStart returns the ctx that the call goes on with: ctx, or one derived from it.
	// Every attempt is sent under it.
	CallStart func(ctx context.Context, start CallStart) context.Context
	// CallEnd receives the ctx that CallStart returned.
	CallEnd func(ctx context.Context, info CallInfo)
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
	// RateLimitWait is how long all attempts together waited for the rate limit.
	RateLimitWait time.Duration
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

// observation is one call as its observers see it. Without observers it is nil, and its
// methods do nothing.
type observation struct {
	observers []Observer
	ctxs      []context.Context // that each CallStart returned
	start     time.Time
	answered  time.Time // zero without an answer
	attempts  transport.Timeline
	info      CallInfo
}

// observe starts an observation, and returns the ctx that the call goes on with.
func observe(ctx context.Context, observers []Observer, start CallStart) (context.Context, *observation) {
	if len(observers) == 0 {
		return ctx, nil
	}
	o := &observation{observers: observers, start: time.Now(), info: CallInfo{Operation: start.Operation, BaseURL: start.BaseURL}}
	for _, observer := range observers {
		if observer.CallStart != nil {
			ctx = observer.CallStart(ctx, start)
		}
		o.ctxs = append(o.ctxs, ctx)
	}
	return ctx, o
}

// timeline is where the attempts are noted.
func (o *observation) timeline() *transport.Timeline {
	if o == nil {
		return nil
	}
	return &o.attempts
}

// received notes how the sending ended. Reading the answer comes next.
func (o *observation) received(answer *transport.Answer, requestID, traceID string) {
	if o == nil {
		return
	}
	o.info.RequestID, o.info.TraceID = requestID, traceID
	if answer != nil {
		o.answered = time.Now()
		o.info.HTTPStatus, o.info.Bytes = answer.Status, len(answer.Body)
	}
}

// end calls the observers, the last one first.
func (o *observation) end(err error) {
	if o == nil {
		return
	}
	o.info.Err = err
	o.info.Duration = time.Since(o.start)
	if !o.answered.IsZero() {
		o.info.DecodeTime = time.Since(o.answered)
	}
	o.info.RateLimitWait = o.attempts.RateLimitWait
	o.info.Attempts = make([]AttemptInfo, len(o.attempts.Sent))
	for i, s := range o.attempts.Sent {
		o.info.Attempts[i] = AttemptInfo{Start: s.Start, Duration: s.Duration, HTTPStatus: s.Status,
			Sent: s.Sent, RequestID: s.RequestID, Err: s.Err}
	}
	for i, observer := range slices.Backward(o.observers) {
		if observer.CallEnd != nil {
			observer.CallEnd(o.ctxs[i], o.info)
		}
	}
}
