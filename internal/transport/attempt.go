// One attempt: what happens between go-retryablehttp and the connection.

package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// attempt is what became of one sending.
type attempt struct {
	requestID     string
	authorization Authorization
	answer        *Answer
	err           error // why there is no answer
	sent          bool  // the request may have reached the service
	final         bool  // err stands whatever the policy says
}

// RoundTrip makes one attempt: ceiling, token, identity, sending, reading.
func (c *Call) RoundTrip(in *http.Request) (*http.Response, error) {
	defer in.Body.Close()
	ctx := in.Context()
	c.tries++
	if c.last.answer != nil {
		c.earlier = c.last.answer.Status
		c.last.answer.Release()
	}
	c.last = attempt{}
	start := time.Now()

	err := c.attempt(ctx, in)

	c.last.err = err
	c.keep()
	c.log(ctx, time.Since(start), err)
	if err != nil {
		return nil, err
	}
	// http.Client is shown a 200 whatever came, or it would look for a redirect to
	// follow; the status that counts is in c.last.
	return &http.Response{StatusCode: http.StatusOK, Header: c.last.answer.Header, Body: http.NoBody, Request: in}, nil
}

// attempt fills in c.last; its error is why there is no answer.
func (c *Call) attempt(ctx context.Context, in *http.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	permit, err := c.acquire(ctx)
	if err != nil {
		c.last.final = errors.Is(err, context.DeadlineExceeded) // also where the limiter did not wait for it
		return err
	}
	if c.last.authorization, err = c.authorization(ctx); err != nil {
		permit.Done(PermitResult{})
		c.last.final = true // the token's own call has been retried enough
		return err
	}
	if err := ctx.Err(); err != nil {
		permit.Done(PermitResult{}) // net/http would refuse it silently, without a trace of that
		return err
	}

	c.attempts++
	c.last.requestID = uuid.NewString()
	c.requestID = c.last.requestID
	c.Timeline.begin()
	trace := &trace{permit: permit}
	defer trace.finish(true, nil) // where the transport panics
	resp, err := c.next.RoundTrip(c.request(trace.context(ctx), in))
	if resp == nil && err == nil {
		err = errors.New("the transport returned neither an answer nor an error")
	}
	c.last.sent = trace.ended(resp, err)
	if err != nil {
		return trace.explain(err)
	}
	return c.read(resp)
}

func (c *Call) acquire(ctx context.Context) (Permit, error) {
	if c.Ceiling == nil {
		return unlimited{}, nil
	}
	start := c.Timeline.now()
	permit, err := c.Ceiling.Acquire(ctx)
	c.Timeline.waited(start)
	if err != nil {
		return nil, fmt.Errorf("waiting for a slot below the ceiling: %w", err)
	}
	return permit, nil
}

// unlimited is the permit of an operation without a rate limit.
type unlimited struct{}

func (unlimited) Sent()             {}
func (unlimited) Done(PermitResult) {}

func (c *Call) authorization(ctx context.Context) (Authorization, error) {
	if c.Bearer == nil {
		return Authorization{}, nil
	}
	return c.Bearer.Authorization(ctx)
}

// request is the attempt's own copy, with all that differs between attempts. What
// another attempt left behind may still read its header, and a RoundTripper that
// rewrites the address, though it should not, must not find it rewritten already.
func (c *Call) request(ctx context.Context, in *http.Request) *http.Request {
	req := in.WithContext(ctx)
	req.Header = in.Header.Clone()
	address := *in.URL
	req.URL = &address
	req.Header.Set("Request-Id", c.last.requestID)
	if c.last.authorization.Header != "" {
		req.Header.Set("Authorization", c.last.authorization.Header)
	}
	if deadline, ok := ctx.Deadline(); ok && c.Hint {
		req.Header.Set("Timeout-Milliseconds", strconv.FormatInt(hint(time.Until(deadline)), 10))
	}
	// net/http resends a POST by itself when it can rewind the body, past ceiling
	// and policy; without GetBody it cannot.
	req.GetBody = nil
	// The Timeout of an http.Client ends ctx, and this channel beside it; whichever came
	// first would name the error, and this one's says that the caller cancelled.
	//lint:ignore SA1019 deprecated, and set by http.Client all the same
	req.Cancel = nil
	return req
}

// hint is what the service is told of the time that is left, in milliseconds: less by
// a tenth, or by a second where that is shorter, so that its answer can still travel.
func hint(left time.Duration) int64 {
	return max(1, (left - min(left/10, time.Second)).Milliseconds())
}

// read takes the whole answer in, so that a connection that breaks in the middle
// is this attempt's fault and not the decoder's.
func (c *Call) read(resp *http.Response) error {
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusOK {
		resp.Body = http.NoBody // after a 101 the body is the connection, and has no end
	}
	buf := newBuffer()
	body, err := buf.readAll(resp.Body, resp.ContentLength, c.Usual.Load(), c.Policy.MaxBody)
	c.last.final = err == ErrBodyTooLarge // it will not shrink
	if err != nil && !c.last.final {
		buf.release()
		return fmt.Errorf("the answer (HTTP %d) broke off after %d bytes: %w", resp.StatusCode, len(body), err)
	}
	c.Usual.Store(int64(len(body)))
	c.last.answer = &Answer{Status: resp.StatusCode, Header: resp.Header, Body: body, buffer: buf}
	return err
}

func (c *Call) log(ctx context.Context, took time.Duration, err error) {
	if c.last.requestID == "" || !c.Log.Enabled(ctx, slog.LevelDebug) { // nothing was sent
		return
	}
	attrs := []slog.Attr{
		slog.String("operation", c.Operation),
		slog.Int("attempt", c.attempts),
		slog.String("request_id", c.last.requestID),
		slog.String("trace_id", c.Header.Get("Trace-Id")),
		slog.Duration("took", took),
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", c.scrubbed(err)), slog.Bool("sent", c.last.sent))
	} else {
		attrs = append(attrs, slog.Int("status", c.last.answer.Status), slog.Int("bytes", len(c.last.answer.Body)))
	}
	c.Log.LogAttrs(ctx, slog.LevelDebug, "attempt", attrs...)
}
