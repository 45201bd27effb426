// Package transport carries one call to the service and back.
//
// A Call is one operation with its finished body; Do sends it in one or more
// attempts. The order of an attempt is readable in RoundTrip (attempt.go), what
// may follow it in verdict (retry.go), and what is known to have left the
// machine in trace.go. go-retryablehttp drives the attempts; all that decides
// anything is here.
package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Permit is one slot of a rate limit. Sent is called at most once, when the request
// leaves; Done exactly once, last.
type Permit interface {
	Sent()
	Done(PermitResult)
}

// PermitResult is what is known of a request once its attempt is over.
type PermitResult struct {
	ArrivedBy   time.Time // it had arrived by then; zero: not known
	FirstByte   time.Time // of its answer; zero: there was none
	RateLimited bool      // its answer was a 429
}

// Ceiling is the request budget of one operation.
type Ceiling interface {
	Acquire(ctx context.Context) (Permit, error)
	Pause(until time.Time)
}

// Authorization is a token as it is sent, and which one it is: a service may issue the
// same text again.
type Authorization struct {
	Header     string // the header's whole value
	Generation uint64
}

// Bearer supplies tokens.
type Bearer interface {
	// Authorization returns the token to send.
	Authorization(ctx context.Context) (Authorization, error)
	// Refused reports that the service refused this token with a 401. It returns
	// whether another one may be had.
	Refused(ctx context.Context, refused Authorization) bool
}

// Policy says how often and how patiently a call is sent.
type Policy struct {
	MaxAttempts   int           // in all, at least 1
	Backoff       time.Duration // the first wait is drawn from 0 to this
	MaxBackoff    time.Duration // no drawn wait is longer
	MaxRetryAfter time.Duration // a call with a longer Retry-After ends at once
	MaxBody       int64         // bytes of an answer, after decompression
}

// Call is one operation, ready to be sent. It is used once.
type Call struct {
	Operation string
	URL       string
	Header    http.Header // the same for every attempt; the call's own
	Body      []byte      // the same for every attempt
	// Acts marks an operation that changes something (Book, Cancel): it is sent
	// again only when the service cannot have acted.
	Acts bool
	// Hint sends what is left of the deadline as Timeout-Milliseconds.
	Hint bool

	// Usual is the length of the operation's last answer, for the next one that does
	// not announce its own: a compressed one.
	Usual *atomic.Int64

	HTTP    http.Client // its Transport carries the attempts
	Ceiling Ceiling     // nil: none
	Bearer  Bearer      // nil: the call carries no token
	Policy  Policy
	Log     *slog.Logger
	// Scrub takes secrets out of a text; nil: there are none. It is given the
	// attempt's Authorization value.
	Scrub func(text, authorization string) string
	// Timeline is filled in while the call goes on; nil: nobody wants it.
	Timeline *Timeline

	tries     int  // attempts begun, also those that ended in a wait
	attempts  int  // attempts sent
	renewed   bool // a 401 has been answered with a fresh token
	last      attempt
	requestID string        // of the newest attempt that was sent
	earlier   int           // HTTP status of the newest attempt before last that was answered
	wait      time.Duration // before the next attempt
	next      http.RoundTripper
}

// Result is how a call ended.
type Result struct {
	// Answer is the last attempt's answer, nil where it brought none. With Err set
	// it is the answer that was about to be followed by another attempt.
	Answer *Answer
	// Err is why the call ended without an answer to return.
	Err error
	// Sent tells that the last attempt's request may have reached the service. It
	// means something only without an Answer.
	Sent bool
	// RequestID is the last attempt's, or, where that one ended before it was sent,
	// that of the one before it.
	RequestID string
	// Authorization is the last attempt's header value, so that it can be kept
	// out of texts.
	Authorization string
	Attempts      int
	// EarlierStatus is the HTTP status that an earlier attempt got, or 0.
	EarlierStatus int
}

// Answer is a whole HTTP answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // valid until Release

	buffer *buffer
}

// Release gives the body's memory back. The answer must not be used after it.
func (a *Answer) Release() {
	if a != nil && a.buffer != nil {
		a.buffer.release()
		a.buffer, a.Body = nil, nil
	}
}

// Do sends the call. The caller releases the Result's Answer.
func (c *Call) Do(ctx context.Context) Result {
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, c.URL, c.Body)
	if err != nil {
		return Result{Err: err}
	}
	req.Header = c.Header

	client := c.client()
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close() // an empty one: the answer has been read already
	}
	return c.result(err)
}

// client puts the call between go-retryablehttp and the transport. Being no
// http.Transport itself, the call also hides CloseIdleConnections from
// go-retryablehttp, which would close the connections of all other calls after
// every failure.
func (c *Call) client() *retryablehttp.Client {
	c.next = c.HTTP.Transport
	c.HTTP.Transport = c
	return &retryablehttp.Client{
		HTTPClient:   &c.HTTP,
		RetryMax:     c.Policy.MaxAttempts + 1, // verdict counts; a fresh token's attempt comes on top
		CheckRetry:   c.checkRetry,
		PrepareRetry: c.prepareRetry,
		Backoff:      func(time.Duration, time.Duration, int, *http.Response) time.Duration { return c.wait },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
}

// prepareRetry takes out what http.Client has added, for it adds it again.
func (c *Call) prepareRetry(req *http.Request) error {
	req.Header.Del("Cookie")
	return nil
}

func (c *Call) result(err error) Result {
	r := Result{
		Answer:        c.last.answer,
		Err:           c.last.err,
		Sent:          c.last.sent,
		RequestID:     c.requestID,
		Authorization: c.last.authorization.Header,
		Attempts:      c.attempts,
		EarlierStatus: c.earlier,
	}
	switch {
	case err == nil || errors.Is(err, r.Err): // the last attempt's own
	case r.Err == nil: // the ctx ended in a backoff after an answer, or before the first attempt
		r.Err = err
	default: // in a backoff after an attempt without an answer
		r.Err = fmt.Errorf("%w before another attempt, after: %w", err, r.Err)
	}
	return r
}

// ErrBodyTooLarge is the fault of an answer above Policy.MaxBody.
var ErrBodyTooLarge = errors.New("the answer is larger than the limit")
