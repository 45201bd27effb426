// One attempt: token, rate limit, request, answer.

package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
)

// ErrBodyTooLarge reports an answer that is larger than Policy.MaxBody.
var ErrBodyTooLarge = errors.New("the answer is larger than the limit")

// attempt is the state of one attempt. The Result describes only this attempt, and no earlier attempt. RequestID is
// empty if the attempt ended before the request was sent.
type attempt struct {
	Result
	authorization Authorization
	timestamp     string    // sent as Client-Request-Timestamp, if not empty
	start         time.Time // when the request was sent
	permanent     bool      // Err ends the call, even if the policy allows another attempt
}

func (a *attempt) status() int {
	if a.Answer == nil {
		return 0
	}
	return a.Answer.Status
}

// try makes one attempt, within the http.Client's Timeout.
func (r *run) try() {
	r.attemptsBegun++
	if r.last.Answer != nil {
		r.earlierStatus = r.last.Answer.Status
		r.last.Answer.Release()
	}
	r.last = attempt{}
	ctx, start := r.ctx, time.Now()
	if r.HTTP.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.HTTP.Timeout)
		defer cancel()
	}
	r.last.Err = r.attempt(ctx)
	if r.last.RequestID != "" {
		r.record()
		r.log(ctx, start)
	}
}

// attempt gets a token, waits for a slot, sends the request and reads the answer into r.last. It returns an error if
// there is no complete answer.
func (r *run) attempt(ctx context.Context) error {
	if ctx.Err() != nil {
		return r.explainEnd(ctx, ctx.Err())
	}
	if err := r.authorize(ctx); err != nil { // the token comes before the slot: a call that waits for a token holds no slot
		return err
	}
	permit, err := r.acquire(ctx)
	if err != nil {
		// The limiter may refuse a call before its deadline has passed, because the call would miss the deadline.
		r.last.permanent = errors.Is(err, ratelimit.ErrPaused) || errors.Is(err, context.DeadlineExceeded)
		return fmt.Errorf("waiting for the rate limit: %w", r.explainEnd(ctx, err))
	}
	trace := &trace{permit: permit}
	defer func() { trace.finish(r.last.RequestID != "", nil) }() // calls Done even if a function of the caller panics
	if r.AttemptTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.AttemptTimeout)
		defer cancel()
		defer func() { r.last.permanent = r.last.permanent || ctx.Err() != nil }()
	}
	err = r.authorize(ctx) // again: the token may have expired while the call waited for its slot
	var id string
	if err == nil {
		id, err = r.identify(ctx)
		r.last.permanent = err != nil
	}
	// If ctx has ended, net/http reports no trace event. Without events, the request would count as sent.
	if err == nil {
		err = r.explainEnd(ctx, ctx.Err())
	}
	if err == nil && r.Mutates && overslept(ctx) {
		r.last.permanent, err = true, errOverslept
	}
	if err != nil {
		return err
	}

	body := bytes.NewReader(r.Body)
	req, err := r.request(trace.context(ctx), id, body)
	if err != nil {
		r.last.permanent = true
		return err
	}
	r.requestsSent++
	r.last.RequestID, r.lastSentID = id, id
	resp, err := r.HTTP.Transport.RoundTrip(req)
	if resp == nil && err == nil {
		err = errors.New("the transport returned neither an answer nor an error")
	}
	// explainEnd must come before trace.ended. If ctx has ended, err may contain the cause of ctx, and this cause may be
	// a dial error of another connection. So explainEnd removes the cause.
	err = r.explainEnd(ctx, withoutGuests(err))
	_, netHTTP := r.HTTP.Transport.(*http.Transport)
	// Only after an error has net/http stopped reading the body: over HTTP/2 an answer may arrive before that.
	unread := netHTTP && err != nil && body.Len() == len(r.Body)
	r.last.Sent = trace.ended(resp, err, unread || errors.Is(err, r.ErrNotSent))
	if err != nil {
		r.last.permanent = errors.Is(err, r.ErrProxyAuth)
		return trace.explain(err)
	}
	r.keepCookies(resp)
	return r.read(ctx, resp)
}

var errOverslept = fmt.Errorf("the deadline of ctx passed while the machine was suspended, or its clock was set forward: %w",
	context.DeadlineExceeded)

// overslept reports whether the deadline of ctx has passed by the wall clock. While the machine is suspended, the timer
// of ctx stands still. Meanwhile another process may have reported the booking as absent. So the request must not be
// sent any more.
func overslept(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Round(0).Before(deadline.Round(0))
}

// authorize gets the token. If the token must be fetched, authorize waits for the fetch. An error is permanent, because
// the fetch of a token has its own retries.
func (r *run) authorize(ctx context.Context) (err error) {
	if r.TokenSource != nil {
		r.last.authorization, err = r.TokenSource.Authorization(ctx)
		r.last.permanent, r.last.NoToken = err != nil, err != nil
	}
	return err
}

// ErrReusedID reports that Call.RequestID returned the id of the previous request again.
var ErrReusedID = errors.New("the Request-Id repeats the id of the attempt before; each attempt needs a new id")

// identify returns the Request-Id of the attempt that begins now, and stores its start and its timestamp.
func (r *run) identify(ctx context.Context) (id string, err error) {
	r.last.start = time.Now()
	if r.Timestamp != nil {
		if r.last.timestamp, err = r.Timestamp(ctx, r.last.start); err != nil {
			return "", err
		}
	}
	if r.RequestID == nil {
		return uuid.NewString(), nil
	}
	if id, err = r.RequestID(ctx); err == nil && id == r.lastSentID {
		err = ErrReusedID
	}
	return id, err
}

func (r *run) acquire(ctx context.Context) (Permit, error) {
	start := time.Now()
	permit, err := r.RateLimiter.Acquire(ctx)
	if r.Timeline != nil {
		r.Timeline.RateLimitWait += time.Since(start)
	}
	return permit, err
}

// request returns a new request for each attempt, because a RoundTripper may still read the request of an earlier
// attempt, or may have changed that request.
func (r *run) request(ctx context.Context, id string, body *bytes.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, body)
	if err != nil {
		return nil, err
	}
	// With GetBody, net/http would send a POST again without regard to the rate limit and the policy.
	req.GetBody = nil
	req.Header = r.Header()
	req.Header.Set("Request-Id", id)
	if r.last.timestamp != "" {
		req.Header.Set("Client-Request-Timestamp", r.last.timestamp)
	}
	if r.last.Token = r.last.authorization.Token.Reveal(); r.last.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.last.Token)
	}
	if deadline, ok := ctx.Deadline(); ok && r.SendTimeout {
		req.Header.Set("Timeout-Milliseconds", strconv.FormatInt(serviceTimeout(time.Until(deadline)), 10))
	}
	if r.HTTP.Jar != nil {
		for _, cookie := range r.HTTP.Jar.Cookies(req.URL) {
			req.AddCookie(cookie)
		}
	}
	return req, nil
}

func (r *run) keepCookies(resp *http.Response) {
	if r.HTTP.Jar == nil {
		return
	}
	if cookies := resp.Cookies(); len(cookies) > 0 {
		address, _ := url.Parse(r.URL) // uses r.URL, because a RoundTripper may have changed the URL of the request
		r.HTTP.Jar.SetCookies(address, cookies)
	}
}

// serviceTimeout returns the value of the header Timeout-Milliseconds. The value is the remaining time minus a tenth of
// this time. If the tenth is longer than a second, the value is the remaining time minus a second. The answer needs the
// rest of the time to travel back.
func serviceTimeout(left time.Duration) int64 {
	return max(1, (left - min(left/10, time.Second)).Milliseconds())
}

// read reads and decodes the whole answer. If the connection breaks in the middle of the answer, the attempt has
// failed.
func (r *run) read(ctx context.Context, resp *http.Response) error {
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusOK {
		resp.Body = http.NoBody // after a 101, the body is the connection and has no end
	}
	if resp.ContentLength > r.Policy.MaxBody {
		r.last.Answer, r.last.permanent = &Answer{Status: resp.StatusCode, Header: resp.Header}, true
		return ErrBodyTooLarge
	}
	body := r.buffer(resp)
	a := &Answer{Status: resp.StatusCode, Header: resp.Header, buffer: body}
	var again, err = true, error(nil)
	if r.Decoder != nil && resp.StatusCode/100 == 2 {
		r.last.Answer = a
		again, err = r.Decoder.DecodeFeed(r.result(), &body.Feed)
	}
	if err == nil {
		a.Body, err = body.Rest()
	}
	a.Size = int(body.Size())
	switch {
	case body.Size() > r.Policy.MaxBody:
		again, err = false, ErrBodyTooLarge
	case err != nil:
		a.Release()
		a, err = nil, r.brokeOff(ctx, resp.StatusCode, a.Size, err)
	case !r.Streams: // a stream's size says nothing about the next answer: the caller may stop the stream early
		r.BodySizeHint.Store(body.Size())
	}
	r.last.Answer, r.last.permanent = a, !again
	return err
}

func (r *run) buffer(resp *http.Response) *buffer {
	if r.Streams {
		return newBuffer(&windows, shortReads{resp.Body}, windowSize, r.Policy.MaxBody)
	}
	room := resp.ContentLength
	if room < 0 {
		hint := r.BodySizeHint.Load()
		room = hint + hint/8
	}
	return newBuffer(&buffers, resp.Body, min(room, maxPrepared), r.Policy.MaxBody)
}

func (r *run) brokeOff(ctx context.Context, status, size int, err error) error {
	return fmt.Errorf("the answer (HTTP %d) broke off after %d bytes: %w", status, size, r.explainEnd(ctx, err))
}

// explainEnd adds to err why ctx has ended. If ctx has not ended, it returns err unchanged.
func (r *run) explainEnd(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	err = WithoutCause(ctx, err)
	switch {
	case r.ctx.Err() == nil && r.AttemptTimeout > 0 && (r.HTTP.Timeout == 0 || r.AttemptTimeout < r.HTTP.Timeout):
		return fmt.Errorf("the call's own time limit of %s passed: %w", r.AttemptTimeout, err)
	case r.ctx.Err() == nil:
		return fmt.Errorf("the http.Client's Timeout passed: %w", err)
	case ctx.Err() == context.Canceled:
		return fmt.Errorf("the call was cancelled: %w", err)
	case r.Timeout > 0:
		return fmt.Errorf("the call's own time limit of %s passed: %w", r.Timeout, err)
	}
	return fmt.Errorf("the deadline of ctx passed: %w", err)
}

// WithoutCause returns err unchanged while ctx has not ended. After the end of ctx, it returns an error that has the
// texts of err and of the cause of ctx, but wraps only ctx.Err(). Then err may wrap the cause, because net/http returns
// that cause. The caller may choose any error as the cause, so the cause says nothing about this call.
func WithoutCause(ctx context.Context, err error) error {
	ended := ctx.Err()
	if err == nil || ended == nil {
		return err
	}
	text := err.Error()
	if !strings.Contains(text, ended.Error()) {
		text = ended.Error() + ": " + text
	}
	if cause := context.Cause(ctx).Error(); !strings.Contains(text, cause) {
		text += ": " + cause
	}
	return &endedError{text, ended}
}

type endedError struct {
	text string
	err  error // the error of ctx
}

func (e *endedError) Error() string { return e.text }
func (e *endedError) Unwrap() error { return e.err }

func (r *run) log(ctx context.Context, start time.Time) {
	if !r.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := append(r.identity(), slog.Duration("took", time.Since(start)))
	if err := r.last.Err; err != nil {
		attrs = append(attrs, slog.String(LogError, r.scrubbed(err)), slog.Bool("sent", r.last.Sent))
	} else {
		attrs = append(attrs, slog.Int(LogStatus, r.last.status()), slog.Int("bytes", r.last.Answer.Size))
	}
	r.Log.LogAttrs(ctx, slog.LevelDebug, "attempt", attrs...)
}

// The names of attributes in log lines, and in the LogValue of errors.
const (
	LogKind      = "kind"
	LogOperation = "operation"
	LogReference = "reference"
	LogStatus    = "status"
	LogCode      = "code"
	LogRequestID = "request_id"
	LogTraceID   = "trace_id"
	LogNoToken   = "no_token"
	LogError     = "error"
)

// identity returns the attributes with which every log line begins.
func (r *run) identity() []slog.Attr {
	return []slog.Attr{
		slog.String(LogOperation, r.Operation),
		slog.Int("attempt", r.requestsSent),
		slog.String(LogRequestID, r.last.RequestID),
		slog.String(LogTraceID, r.TraceID),
	}
}
