// Observing calls, for traces and metrics.

package hotelstays

import (
	"context"
	"errors"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/transport"
)

// Observer is called at the start and at the end of every call, for traces and metrics. All functions are optional, and must
// be safe for concurrent use; the call waits for them. A call that fails validation is not reported. Token requests are
// reported with the ctx of a call that needs the token. A token request may end after this call.
type Observer struct {
	// CallStart returns the ctx for the call and all its attempts: the ctx that it received, or a ctx derived from it.
	CallStart func(ctx context.Context, start CallStart) context.Context
	// CallEnd receives the ctx that CallStart returned.
	CallEnd func(ctx context.Context, info CallInfo)
	// HelperStart and HelperEnd are called around BookAndRecover, RecoverBooking, AwaitOrder, CancelAndRead,
	// AwaitVoucher, SaveVoucher, OpenVoucher, DownloadVoucher and the iterators. HelperStart returns the ctx for the
	// helper's calls. Operation is the name of the helper. CallInfo has only Operation, BaseURL, Duration and Err; for
	// an iterator Err is the last error that it yielded.
	HelperStart func(ctx context.Context, start CallStart) context.Context
	HelperEnd   func(ctx context.Context, info CallInfo)
}

type observerFuncs struct {
	start func(context.Context, CallStart) context.Context
	end   func(context.Context, CallInfo)
}

func (o Observer) call() observerFuncs   { return observerFuncs{o.CallStart, o.CallEnd} }
func (o Observer) helper() observerFuncs { return observerFuncs{o.HelperStart, o.HelperEnd} }

// CallStart describes a call that begins.
type CallStart struct {
	Operation Operation
	BaseURL   string // the base URL of the client, without a slash at its end
}

// CallInfo describes a call that ended. It holds no secret. But the text of an error may contain your reference, and text
// from the service: record the kind of an error, not its text.
type CallInfo struct {
	Operation Operation
	BaseURL   string
	// Duration is the time of the whole call: waits, attempts, decoding, and for HotelListStream the caller's loop.
	Duration time.Duration
	// RateLimitWait is how long all attempts together waited for the rate limit. Account and Priority are the fields
	// of the RateLimitRequest.
	RateLimitWait time.Duration
	Account       string
	Priority      Priority
	// DecodeTime is how long the decoding of the answer took, without the waits for its bytes; 0 without an answer. An
	// answer is decoded while it arrives, so most of DecodeTime is also part of the attempt's Duration. For
	// HotelListStream it is the decoding after the last hotel.
	DecodeTime time.Duration
	// FirstHotel is the time until HotelListStream yielded its first hotel; 0 for other calls.
	FirstHotel time.Duration
	// Attempts are the requests that the RoundTripper received, in order.
	Attempts []AttemptInfo
	// HTTPStatus is the status of the final answer; 0 if the last attempt had no answer.
	HTTPStatus int
	// Bytes is the size of the final answer's body after decompression.
	Bytes     int
	RequestID string // see ResponseMeta; empty if there was no attempt
	TraceID   string // see ResponseMeta
	Err       error  // the error that the call returns
}

// AttemptInfo describes one attempt.
type AttemptInfo struct {
	Start time.Time
	// Duration is the time from Start until the answer was read and decoded, or until the attempt failed.
	Duration   time.Duration
	HTTPStatus int  // 0 if no answer came
	Sent       bool // whether the request may have reached the service
	RequestID  string
	Err        error // why no answer came; nil after an answer of any status
}

// observation records one call or helper for its observers. Without observers it is nil.
type observation struct {
	observers []observerFuncs
	ctxs      []context.Context // for each observer, the ctx that its start function returned
	start     time.Time
	answered  time.Time // time when the answer was decoded; zero if no answer came
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

func (o *observation) rateLimit(req RateLimitRequest) {
	if o != nil {
		o.info.Account, o.info.Priority = req.Account, req.Priority
	}
}

// received records the final answer. The time decoded is how long the decoding of the answer has taken so far.
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

func (o *observation) yieldsFirstHotel() {
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
			defer observer.end(o.ctxs[i], o.info) // deferred, so that every observer is called even if one of them panics
		}
	}
}

// errPanicked is the Err of a CallInfo if a RoundTripper or the loop over a stream panics.
var errPanicked = errors.New("hotelstays: the call panicked")
