// The one pipeline that every operation goes through.

package hotelstays

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/internal/wire"
)

// anyRequest is the interface of every request type, such as *BookRequest.
type anyRequest interface {
	// validate adds a fault for each rule of the document that the request breaks.
	validate(*validation)
	parts() parts
}

// requestFor is the interface of every request whose response type is P.
type requestFor[P any] interface {
	anyRequest
	// check returns an error if a successful answer cannot be used, for example because the order is missing.
	check(P, *exchange) error
}

// responseTo is the interface of every response type, such as *BookResponse.
type responseTo[R any] interface {
	*R
	decodable
	meta() *ResponseMeta
}

// invoke makes one call: it validates the request, sends it and reads the answer.
func invoke[R any, P responseTo[R]](ctx context.Context, c *Client, op Operation, req requestFor[P], opts []CallOption) (P, error) {
	x, err := begin(ctx, c, op, operations[op], req, collect(op, operations[op], opts))
	if err != nil {
		return nil, err
	}
	return complete[R](x, req)
}

// invokeQueued is like invoke, for a token request. The time limit begins when the rate limiter grants a slot, because
// many accounts may wait for the few slots of Ticket.
func invokeQueued[R any, P responseTo[R]](ctx context.Context, c *Client, op Operation, req requestFor[P]) (P, error) {
	x, err := begin(ctx, c, op, operations[op], req, settings{})
	if err != nil {
		return nil, err
	}
	x.queued = true
	return complete[R](x, req)
}

func complete[R any, P responseTo[R]](x *exchange, req requestFor[P]) (P, error) {
	defer x.end()
	resp := P(new(R))
	x.into, x.call.Decoder = resp, x
	x.execute()
	x.outcome = x.read(resp, resp.meta(), func() error { return req.check(resp, x) })
	if x.outcome != nil {
		return nil, x.outcome
	}
	return resp, nil
}

func begin(ctx context.Context, c *Client, op Operation, row *operation, req anyRequest, set settings) (*exchange, error) {
	x := &exchange{client: c, ctx: ctx, op: op, row: row, set: set, outcome: errPanicked}
	if err := x.check(req); err != nil {
		return nil, err
	}
	return x, x.prepare(req.parts())
}

// checkCall validates a call before a helper, such as an iterator, begins to make calls.
func checkCall(ctx context.Context, c *Client, op Operation, req anyRequest, set settings) error {
	return (&exchange{client: c, ctx: ctx, op: op, set: set}).check(req)
}

func (x *exchange) check(req anyRequest) error {
	if err := x.client.usable(x.ctx, x.op); err != nil {
		return err
	}
	x.input = validation{faults: x.set.faults, loopback: x.client.loopback, callbacks: x.client.cred.callbacks()}
	if reflect.ValueOf(req).IsNil() { // req can be a nil pointer in a non-nil interface
		x.input.add("request", "is nil")
	} else {
		req.validate(&x.input)
	}
	return x.input.err(x.op)
}

// prepare encodes the body and combines the options of the call with the options of the client. The request must be
// valid.
func (x *exchange) prepare(p parts) (err error) {
	if x.call.Body, err = wire.Encode(p.body); err != nil {
		x.input.add("body", "%v", err)
		return x.input.err(x.op)
	}
	x.set.inherit(&x.client.defaults)
	if trace := &x.set.TraceID; *trace == "" {
		if x.client.traceIDFrom != nil {
			*trace = x.client.traceIDFrom(x.ctx)
		}
		if headerProblem(*trace) != "" { // replaced by a random id: a trace id only helps to find requests in logs
			*trace = uuid.NewString()
		}
	}
	x.parts, x.call.Policy = p, x.client.policy
	if x.row.noAuth {
		x.call.Policy.MaxBody = min(x.call.Policy.MaxBody, maxTokenBody)
	}
	secrets := make(redact.Set, 1, len(p.secrets)+2) // secrets[0] is for the credential; the method received sets it
	for _, secret := range p.secrets {
		secrets = append(secrets, secret.Reveal())
	}
	for name, values := range x.set.Header {
		if name != userAgent && len(values[0]) >= 8 {
			secrets = append(secrets, values[0])
		}
	}
	x.secrets = secrets
	return nil
}

func (x *exchange) execute() {
	x.limitTime()
	x.ctx, x.watch = observe(x.ctx, x.client.observers, CallStart{Operation: x.op, BaseURL: x.client.baseURL}, x.set.TraceID, Observer.call)
	x.received(x.send())
	x.watch.received(x.Answer, x.arriving, x.requestID(), x.trace())
}

func (x *exchange) end() {
	defer x.cancel()
	x.Answer.Release()
	x.watch.end(x.outcome)
}

// maxTokenWait is the longest time that a token request waits for a slot of the rate limiter. In that time 1,500
// accounts can get their tickets.
const maxTokenWait = 5 * time.Minute

// limitTime limits x.ctx to WithTimeout. Without WithTimeout and without a deadline, it uses the operation's default.
func (x *exchange) limitTime() {
	deadline, bounded := x.ctx.Deadline()
	if x.set.Timeout == 0 && bounded {
		x.cancel = func() {}
		return
	}
	timeout := cmp.Or(x.set.Timeout, x.op.Timeout())
	if x.queued {
		x.call.AttemptTimeout, timeout = timeout, maxTokenWait
	}
	if !bounded || time.Until(deadline) > timeout {
		x.call.Timeout = timeout
	}
	x.ctx, x.cancel = context.WithTimeout(x.ctx, timeout)
}

func (x *exchange) send() transport.Result {
	c := x.client
	bodySize := c.bodySizes[x.op]
	if bodySize == nil { // Do was called with an unknown path
		bodySize = new(atomic.Int64)
	}
	x.watch.rateLimit(x.rateLimit())
	call := &x.call
	call.Operation, call.URL = string(x.op), c.baseURL+cmp.Or(x.row.path, x.op.Path())
	call.Header, call.TraceID = x.requestHeader, x.set.TraceID
	call.Mutates, call.SendTimeout = x.row.mutates, x.row.bookingFlow
	call.HTTP, call.ErrNotSent = &c.http, ErrNotSent
	call.RateLimiter, call.Quota = x, c.quota
	call.Log, call.Scrub, call.Timeline = c.log, x.scrubAttempt, x.watch.timeline()
	call.BodySizeHint = bodySize
	call.Policy.MaxAttempts = x.set.MaxAttempts
	if call.AttemptTimeout > 0 { // a token request must not wait long, because other calls wait for its token
		call.Policy.MaxRetryAfter = min(call.Policy.MaxRetryAfter, call.AttemptTimeout)
	}
	if call.Streams {
		call.HTTP = &c.streams
	}
	if id := x.set.RequestID; id != nil {
		call.RequestID = func(ctx context.Context) (string, error) { return checkedHeader("WithRequestID", id(ctx)) }
	}
	if format := x.set.ClientRequestTimestamp; format != nil {
		call.Timestamp = func(ctx context.Context, sent time.Time) (string, error) {
			return checkedHeader("WithClientRequestTimestamp", format(ctx, sent))
		}
	}
	if !x.row.noAuth {
		call.TokenSource = c.tokens
	}
	return transport.Send(x.ctx, call)
}

func (x *exchange) rateLimit() RateLimitRequest {
	return RateLimitRequest{RateLimitKey{x.client.baseURL, x.op}, x.client.fingerprint, x.set.Priority}
}

func (x *exchange) Acquire(ctx context.Context) (transport.Permit, error) {
	permit, err := x.client.limiter.Acquire(ctx, x.rateLimit())
	switch {
	case errors.Is(err, ErrRateLimited) && !errors.Is(err, ratelimit.ErrPaused): // only a RateLimiter of the caller returns such an error
		return nil, fmt.Errorf("%w: %w", ratelimit.ErrPaused, err)
	case err != nil:
		return nil, err
	case isNil(permit):
		return unlimited{}, nil
	}
	return permit, nil
}

// Pause makes the rate limiter wait after an answer with status 429.
func (x *exchange) Pause(until time.Time) { x.client.limiter.Pause(x.rateLimit().Key, until) }

func (x *exchange) requestHeader() http.Header {
	h := make(http.Header)
	values := make([]string, 0, 4+len(headerRows)) // one slice for all values saves allocations
	put := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	put("Content-Type", "application/json")
	put("Accept", "application/json")
	put(userAgent, defaultUserAgent)
	for _, o := range headerRows {
		if value := *o.value(&x.set); value != "" && o.scope.has(x.op, x.row) {
			put(o.header, value)
		}
	}
	if x.parts.session != "" {
		put("Session-Id", x.parts.session)
	}
	maps.Copy(h, x.set.Header)
	return h
}
