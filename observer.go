// Observing calls, for traces and metrics.

package hotelstays

import (
	"context"
	"errors"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/transport"
)

// Observer is called at the start and at the end of every call, for traces and metrics. All functions
// are optional, and must be safe for concurrent use; the call waits for them. A call that fails
// validation is not reported. Calls that fetch tokens are, under the ctx of a call that needs the
// token; in the background they may end after it.
type Observer struct {
	// CallStart returns the ctx for the call and all its attempts: ctx, or one derived from it.
	CallStart func(ctx context.Context, start CallStart) context.Context
	// CallEnd receives the ctx that CallStart returned.
	CallEnd func(ctx context.Context, info CallInfo)
	// HelperStart and HelperEnd are called around BookAndRecover, RecoverBooking, AwaitOrder,
	// CancelAndRead, AwaitVoucher, SaveVoucher, OpenVoucher, DownloadVoucher and the iterators.
	// HelperStart returns the ctx for the helper's calls. Operation is its name; of CallInfo only
	// BaseURL, Duration and Err are set besides. Err of an iterator is the last error that it yielded.
	HelperStart func(ctx context.Context, start CallStart) context.Context
	HelperEnd   func(ctx context.Context, info CallInfo)
}

// observerFuncs are the functions of an Observer for what is observed: a call or a helper.
type observerFuncs struct {
	start func(context.Context, CallStart) context.Context
	end   func(context.Context, CallInfo)
}

func (o Observer) call() observerFuncs   { return observerFuncs{o.CallStart, o.CallEnd} }
func (o Observer) helper() observerFuncs { return observerFuncs{o.HelperStart, o.HelperEnd} }

// CallStart describes a call that begins.
type CallStart struct {
	Operation Operation
	BaseURL   string // of the client, without a slash at its end
}

// CallInfo describes a call that ended. It holds no secret, but the texts of errors may contain text
// of the service and your reference: record the kind of an error, not its text.
type CallInfo struct {
	Operation Operation
	BaseURL   string
	// Duration is the time of the whole call: waits, attempts and decoding, and for
	// HotelListStream the caller's loop.
	Duration time.Duration
	// RateLimitWait is how long all attempts together waited for the rate limit. Account and Priority are
	// those of their RateLimitRequests.
	RateLimitWait time.Duration
	Account       string
	Priority      Priority
	// DecodeTime is how long decoding the answer took, without the waits for its bytes; 0 without an
	// answer. An answer is decoded while it arrives, so that most of it is also in the time of the
	// attempt. Of HotelListStream it is what follows the last hotel.
	DecodeTime time.Duration
	// FirstHotel is the time until HotelListStream handed out its first hotel; 0 for other calls.
	FirstHotel time.Duration
	// Attempts are the requests that the RoundTripper received, in order. A wait for the rate limit or the
	// token that failed is not listed.
	Attempts []AttemptInfo
	// HTTPStatus is the status of the final answer; 0 if the last attempt had none.
	HTTPStatus int
	// Bytes is the size of the body of that answer after decompression.
	Bytes int
	// RequestID and TraceID are as in ResponseMeta. RequestID is empty if there was no attempt.
	RequestID string
	TraceID   string
	// Err is the error that the call returns.
	Err error
}

// AttemptInfo describes one attempt.
type AttemptInfo struct {
	Start time.Time
	// Duration ends when the whole answer was read, and decoded as it arrived, or the attempt failed.
	Duration time.Duration
	// HTTPStatus is 0 without an answer.
	HTTPStatus int
	// Sent reports whether the request may have reached the service.
	Sent      bool
	RequestID string
	// Err is why there is no answer; nil for an answer of any status.
	Err error
}

// observation is one call or helper as its observers see it. Without observers it is nil.
type observation struct {
	observers []observerFuncs
	ctxs      []context.Context // from each start
	start     time.Time
	answered  time.Time // zero without an answer
	attempts  transport.Timeline
	info      CallInfo
}

func observe(ctx context.Context, observers []Observer, start CallStart, traceID string,
	of func(Observer) observerFuncs) (context.Context, *observation) {
	if len(observers) == 0 {
		return ctx, nil
	}
	o := &observation{start: time.Now(), info: CallInfo{Operation: start.Operation, BaseURL: start.BaseURL, TraceID: traceID}}
	for _, observer := range observers {
		funcs := of(observer)
		if funcs.start != nil {
			ctx = funcs.start(ctx, start)
		}
		o.observers, o.ctxs = append(o.observers, funcs), append(o.ctxs, ctx)
	}
	return ctx, o
}

func (o *observation) timeline() *transport.Timeline {
	if o == nil {
		return nil
	}
	return &o.attempts
}

// asks records for whom the call waits for the rate limit.
func (o *observation) asks(req RateLimitRequest) {
	if o != nil {
		o.info.Account, o.info.Priority = req.Account, req.Priority
	}
}

// received records the final answer, and how long it was decoded while it arrived.
func (o *observation) received(answer *transport.Answer, decoded time.Duration, requestID, traceID string) {
	if o == nil {
		return
	}
	o.info.RequestID, o.info.TraceID = requestID, traceID
	if answer != nil {
		o.answered, o.info.DecodeTime = time.Now(), decoded
		o.info.HTTPStatus, o.info.Bytes = answer.Status, answer.Size
	}
}

// handsOutFirstHotel records the time of a stream's first hotel.
func (o *observation) handsOutFirstHotel() {
	if o != nil {
		o.info.FirstHotel = time.Since(o.start)
	}
}

func (o *observation) end(err error) {
	if o == nil {
		return
	}
	o.info.Err = err
	o.info.Duration = time.Since(o.start)
	if !o.answered.IsZero() {
		o.info.DecodeTime += time.Since(o.answered)
	}
	o.info.RateLimitWait = o.attempts.RateLimitWait
	o.info.Attempts = make([]AttemptInfo, len(o.attempts.Sent))
	for i, s := range o.attempts.Sent {
		o.info.Attempts[i] = AttemptInfo{Start: s.Start, Duration: s.Duration, HTTPStatus: s.Status,
			Sent: s.Sent, RequestID: s.RequestID, Err: s.Err}
	}
	for i, observer := range o.observers {
		if observer.end != nil {
			defer observer.end(o.ctxs[i], o.info) // a panic of one does not silence the others
		}
	}
}

// errPanicked is what an observer receives when a RoundTripper or the loop over a stream panics.
var errPanicked = errors.New("hotelstays: the call panicked")
