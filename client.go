// The client, and the pipeline of all operations.

package hotelstays

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/hotelstays/hotelstays-go/internal/clone"
	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/internal/token"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/types"
)

// Client calls the API. Create it with New. It is safe for concurrent use: use one client per process, because its callers
// share connections, the token and the rate limits. WithCredential returns a client of another account. With returns a
// client with other options. A call of a zero Client, or with a nil ctx, returns a *ValidationError.
type Client struct {
	baseURL      string
	loopback     bool     // whether the base URL is on this machine, as in tests
	voucherHosts []string // private hosts from which the client may download documents
	cred         Credential
	fingerprint  string
	store        TokenStore
	tokens       *token.Cache
	defaults     settings
	traceIDFrom  func(context.Context) string
	http         http.Client
	streams      http.Client // sends the requests of HotelListStream
	limiter      RateLimiter
	observers    []Observer
	policy       transport.Policy
	quota        *transport.RetryQuota
	bodySizes    map[Operation]*atomic.Int64 // size of the last answer of each operation, in bytes
	logger       *slog.Logger                // as WithLogger received it; derived clients start from it
	log          *slog.Logger                // logger with the account, because clients of several accounts may share a logger
}

// Credential is what a client authenticates with: a TicketCredential, an OAuthCredential or a TokenCredential.
type Credential interface {
	validate(*validation)
	// snapshot returns a copy that the caller cannot change.
	snapshot() Credential
	// tokenID returns the key of a token in a TokenStore. The key is a hash of the secret, so a wrong secret finds no
	// token. The result is empty for a TokenCredential, whose token is neither renewed nor shared.
	tokenID(secret types.Secret) string
	// account returns a text that identifies the account and does not depend on its secret. The text may contain a token:
	// use only a hash of it.
	account() string
	secret(ctx context.Context) (types.Secret, error)
	// fetch gets a token from the service. The result lifetime is how long the token is valid, counted from the answer; 0
	// means unknown.
	fetch(ctx context.Context, c *Client, secret types.Secret) (token types.Secret, lifetime time.Duration, err error)
	// callbacks reports whether BookRequest.CallbackURL is allowed with this credential.
	callbacks() bool
}

// usable refuses a client that New did not make, and a nil ctx, because a call would panic.
func (c *Client) usable(ctx context.Context, name Operation) error {
	var f faults
	if c == nil || c.cred == nil {
		f.add("client", "was not made by New; create it with hotelstays.New")
	}
	if ctx == nil {
		f.add("ctx", "is nil; pass the ctx of your caller, or context.Background()")
	}
	return f.err(name)
}

// CloseIdleConnections closes the connections that no call is using. Clients with the same Transport share these
// connections, for example a client and the clients that its WithCredential returns. All clients stay usable.
func (c *Client) CloseIdleConnections() {
	c.http.CloseIdleConnections()
	c.streams.CloseIdleConnections()
}

// String returns the base URL in the form hotelstays.Client(https://host.example).
func (c Client) String() string { return "hotelstays.Client(" + c.baseURL + ")" }

// Account identifies the environment and the account. It is the same in every process, and holds no secret. A new
// secret of the same key does not change it, but each TokenCredential counts as a separate account. It is the Fingerprint
// of a BookingRecovery, the Account of a RateLimitRequest, and the attribute account of log lines.
func (c *Client) Account() string { return c.fingerprint }

// LogValue names the environment and the account.
func (c Client) LogValue() slog.Value {
	return slog.GroupValue(slog.String("base_url", c.baseURL), slog.String("account", c.fingerprint))
}

// Format writes the result of String for every verb, because %+v would print the caller's http.Client and options.
func (c Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// anyRequest is the interface of every request type, such as *BookRequest.
type anyRequest interface {
	// validate adds a fault for each rule of the document that the request breaks.
	validate(*validation)
	parts() parts
}

type requestFor[P any] interface {
	anyRequest
	// check returns an error if a successful answer cannot be used, for example because the order is missing.
	check(P, *exchange) error
}

type responseTo[R any] interface {
	*R
	decodable
	meta() *ResponseMeta
}

// invocation is one call of a Client, from its request to its answer.
type invocation struct {
	exchange
	client  *Client
	cancel  context.CancelFunc
	input   validation
	watch   *observation
	outcome error // the error of the call; errPanicked until the call has ended
}

func invoke[R any, P responseTo[R]](ctx context.Context, c *Client, op Operation, req requestFor[P], opts []CallOption) (P, error) {
	x, err := begin(ctx, c, op, operations[op], req, c.collect(op, operations[op], opts))
	if err != nil {
		return nil, err
	}
	defer x.end()
	resp := P(new(R))
	x.into, x.call.Decoder = resp, &x.exchange
	x.execute()
	x.outcome = x.read(resp, resp.meta(), func() error { return req.check(resp, &x.exchange) })
	if x.outcome != nil {
		return nil, x.outcome
	}
	return resp, nil
}

func begin(ctx context.Context, c *Client, op Operation, row *operation, req anyRequest, set settings) (*invocation, error) {
	x := &invocation{exchange: exchange{ctx: ctx, op: op, row: row, set: set}, client: c, outcome: errPanicked}
	if err := x.check(req); err != nil {
		return nil, err
	}
	return x, x.prepare(req.parts())
}

// collect returns the client's options, then the options of a method, with a fault for each option that has no effect
// there. The parameter row is the operation whose options the method takes, such as Book for ValidateBook, or nil.
func (c *Client) collect(method Operation, row *operation, opts []CallOption) settings {
	if c == nil { // the method usable refuses a nil client later
		c = &Client{}
	}
	if len(opts) == 0 { // saves an allocation
		return c.defaults
	}
	set := c.defaults
	eachOption(&set.faults, opts, func(opt CallOption) { opt.applyCall(&set) })
	for _, o := range optionRows {
		if set.has(o) && !o.scope.has(method, row) {
			set.faults.add(o.name, "%s does not accept this option; it is an option of %s", method, o.scope.methods)
		}
	}
	return set
}

// checkCall validates a call before a helper, such as an iterator, begins to make calls.
func checkCall(ctx context.Context, c *Client, op Operation, req anyRequest, set settings) error {
	return (&invocation{exchange: exchange{ctx: ctx, op: op, set: set}, client: c}).check(req)
}

func (x *invocation) check(req anyRequest) error {
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

// prepare encodes the body and chooses the trace id. The request must be valid.
func (x *invocation) prepare(p parts) (err error) {
	if x.call.Body, err = wire.Encode(p.body); err != nil {
		x.input.add("body", "%v", err)
		return x.input.err(x.op)
	}
	if trace := &x.set.TraceID; *trace == "" {
		if x.client.traceIDFrom != nil {
			*trace = x.client.traceIDFrom(x.ctx)
		}
		if headerProblem(*trace) != "" { // a random id replaces an invalid id, because the id only helps to find requests in logs
			*trace = uuid.NewString()
		}
	}
	x.parts, x.call.Policy = p, x.client.policy
	if x.row.noAuth {
		x.call.Policy.MaxBody = min(x.call.Policy.MaxBody, maxTokenBody)
	}
	secrets := make(redact.Set, 1, len(p.secrets)+2) // x.received puts the secret of the credential into secrets[0]
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

func (x *invocation) execute() {
	x.limitTime()
	x.ctx, x.watch = observe(x.ctx, x.client.observers, CallStart{Operation: x.op, BaseURL: x.client.baseURL}, x.set.TraceID, Observer.call)
	x.received(x.send())
	x.watch.received(x.Answer, x.arriving, x.requestID(), x.trace())
}

func (x *invocation) received(r transport.Result) {
	x.Result = r
	x.secrets[0] = x.credential()
	x.secrets = append(x.secrets, r.Token)
}

func (x *invocation) scrubAttempt(text, token string) string {
	return redact.Set{token, x.credential()}.Text(x.scrub(text))
}

func (x *invocation) credential() string { return x.client.tokens.LastSecret().Reveal() }

func (x *invocation) end() {
	defer x.cancel()
	x.Answer.Release()
	x.watch.end(x.outcome)
}

const defaultUserAgent = "hotelstays-go"

// maxTokenBody is the maximum size of the answer to a token request, in bytes. Removing secrets from a longer answer
// could take longer than the call may last.
const maxTokenBody = 1 << 20

// maxTokenWait is the longest time that a token request waits for a slot of the rate limiter. In that time 1,500
// accounts can get their tickets, at five a second.
const maxTokenWait = 5 * time.Minute

// limitTime limits x.ctx to the duration of WithTimeout. Without WithTimeout and without a deadline, it uses the operation's
// default.
func (x *invocation) limitTime() {
	deadline, bounded := x.ctx.Deadline()
	if x.set.Timeout == 0 && bounded {
		x.cancel = func() {}
		return
	}
	timeout := cmp.Or(x.set.Timeout, x.op.Timeout())
	if x.set.queued {
		x.call.AttemptTimeout, timeout = timeout, maxTokenWait
	}
	if !bounded || time.Until(deadline) > timeout {
		x.call.Timeout = timeout
	}
	x.ctx, x.cancel = context.WithTimeout(x.ctx, timeout)
}

func (x *invocation) send() transport.Result {
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
	call.HTTP, call.ErrNotSent, call.ErrProxyAuth = &c.http, ErrNotSent, ErrProxyAuth
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

func (x *invocation) rateLimit() RateLimitRequest {
	return RateLimitRequest{RateLimitKey{x.client.baseURL, x.op}, x.client.fingerprint, x.set.Priority}
}

func (x *invocation) Acquire(ctx context.Context) (transport.Permit, error) {
	permit, err := x.client.limiter.Acquire(ctx, x.rateLimit())
	switch {
	// Only a RateLimiter that the caller wrote returns ErrRateLimited without ErrPaused.
	case errors.Is(err, ErrRateLimited) && !errors.Is(err, ratelimit.ErrPaused):
		return nil, fmt.Errorf("%w: %w", ratelimit.ErrPaused, err)
	case err != nil:
		return nil, err
	case isNil(permit):
		return unlimited{}, nil
	}
	return permit, nil
}

// Pause makes the rate limiter wait after an answer with status 429.
func (x *invocation) Pause(until time.Time) { x.client.limiter.Pause(x.rateLimit().Key, until) }

func (x *invocation) requestHeader() http.Header {
	h := make(http.Header)
	values := make([]string, 0, 12) // one slice for all values saves allocations
	put := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	put("Content-Type", "application/json")
	put("Accept", "application/json")
	put(userAgent, defaultUserAgent)
	for _, o := range optionRows {
		if o.header != "" && *o.value(&x.set) != "" && o.scope.has(x.op, x.row) {
			put(o.header, *o.value(&x.set))
		}
	}
	if x.parts.session != "" {
		put("Session-Id", x.parts.session)
	}
	maps.Copy(h, x.set.Header)
	return h
}

// helped runs a helper, such as AwaitOrder, between HelperStart and HelperEnd of the client's observers.
func helped[R any](ctx context.Context, c *Client, name Operation, run func(context.Context) (R, error)) (result R, err error) {
	ctx, watch := c.observeHelper(ctx, name)
	err = errPanicked
	defer func() { watch.end(err) }()
	return run(ctx)
}

// iterate validates the request of an iterator, and runs the iterator with a copy of the request between HelperStart and
// HelperEnd. HelperEnd receives the last error that the iterator yields.
func iterate[V, R any, P interface {
	*R
	anyRequest
}](ctx context.Context, c *Client, name, op Operation, req P, opts []CallOption,
	all func(context.Context, R, settings) iter.Seq2[V, error]) iter.Seq2[V, error] {
	set := c.collect(name, operations[op], opts)
	if err := checkCall(ctx, c, op, req, set); err != nil {
		return failedSeq[V](err)
	}
	request := *clone.Of(req)
	return helpedAll(ctx, c, name, func(ctx context.Context) iter.Seq2[V, error] { return all(ctx, request, set) })
}

// helpedAll runs an iterator as helped runs a helper. HelperEnd receives the last error that the iterator yields.
func helpedAll[V any](ctx context.Context, c *Client, name Operation, all func(context.Context) iter.Seq2[V, error]) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		ctx, watch := c.observeHelper(ctx, name)
		end := errPanicked
		defer func() { watch.end(end) }()
		var failed error
		for v, err := range all(ctx) {
			if err != nil {
				failed = err
			}
			if !yield(v, err) {
				break
			}
		}
		end = failed
	}
}

func failedSeq[V any](err error) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) { yield(*new(V), err) }
}

func (c *Client) observeHelper(ctx context.Context, name Operation) (context.Context, *observation) {
	return observe(ctx, c.observers, CallStart{Operation: name, BaseURL: c.baseURL}, "", Observer.helper)
}
