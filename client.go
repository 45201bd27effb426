// The client and the one pipeline that every operation goes through.

package hotelstays

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/types"
)

// Client calls the API. Create it with New: calls of a zero Client, and calls with a nil
// ctx, are a *ValidationError. It is safe for concurrent use, and one client should serve
// a whole process: it shares connections, the token and the ceilings among its callers.
type Client struct {
	baseURL  string
	loopback bool // the base URL is this machine: tests and the sandbox
	cred     Credential
	tokens   *tokenCache
	defaults settings
	http     http.Client
	limiter  RateLimiter
	observer Observer
	policy   transport.Policy
	usual    map[Operation]*atomic.Int64 // how long the last answer was
	log      *slog.Logger
	agent    string
}

const (
	minTLS           = tls.VersionTLS12
	defaultAttempts  = 4
	defaultMaxBody   = 64 << 20
	defaultUserAgent = "hotelstays-go"
)

// New returns a client of the environment at baseURL, such as
// https://host.example: what comes before the /api of the operations' paths.
// Plain http is refused except for loopback. New connects to nothing: the first
// call fetches the first token. Its error is a *ValidationError with all faults
// at once.
func New(baseURL string, cred Credential, opts ...Option) (*Client, error) {
	cfg := config{
		httpClient:  &http.Client{Transport: NewTransport()},
		log:         slog.New(slog.DiscardHandler),
		limitMargin: defaultLimitMargin,
		maxAttempts: defaultAttempts,
		maxBody:     defaultMaxBody,
		userAgent:   defaultUserAgent,
	}
	for _, opt := range opts {
		if opt == nil {
			cfg.faults.add("opts", "holds a nil option")
			continue
		}
		opt.applyClient(&cfg)
	}
	base, loopback := checkBaseURL(baseURL, &cfg.faults)
	if isNil(cred) {
		cfg.faults.add("cred", "is nil: give a TicketCredential, an OAuthCredential or a TokenCredential")
	} else {
		cred = cred.snapshot()
		cred.validate(&cfg.faults)
	}
	if err := cfg.faults.err("New"); err != nil {
		return nil, err
	}

	if cfg.limiter == nil {
		cfg.limiter = newCeilings(cfg.limitMargin)
	}
	c := &Client{
		baseURL:  base,
		loopback: loopback,
		cred:     cred,
		defaults: cfg.settings,
		http:     *cfg.httpClient,
		limiter:  cfg.limiter,
		observer: cfg.observer,
		log:      cfg.log,
		agent:    cfg.userAgent,
		usual:    make(map[Operation]*atomic.Int64, len(operations)),
		policy: transport.Policy{
			MaxAttempts:   cfg.maxAttempts,
			Backoff:       250 * time.Millisecond,
			MaxBackoff:    8 * time.Second,
			MaxRetryAfter: 60 * time.Second,
			MaxBody:       cfg.maxBody,
		},
	}
	for op := range operations {
		c.usual[op] = new(atomic.Int64)
	}
	if c.http.Transport == nil {
		c.http.Transport = defaultTransport{}
	}
	c.tokens = newTokenCache(c, cfg.store)
	return c, nil
}

// CloseIdleConnections closes the connections that no call is using. The client
// stays usable.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// String names the environment.
func (c Client) String() string { return "hotelstays.Client(" + c.baseURL + ")" }

// Format writes String, whatever the verb: others would print a part of the caller's
// http.Client and options.
func (c Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// defaultTransport is http.DefaultTransport as it is when a request is sent: mocks
// replace it.
type defaultTransport struct{}

func (defaultTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return http.DefaultTransport.RoundTrip(r)
}

func (defaultTransport) CloseIdleConnections() { http.DefaultClient.CloseIdleConnections() }

// NewTransport returns the transport of a client without WithHTTPClient, for a caller who
// wants to change a part of it: the proxy, certificates, or the number of connections. It
// uses the proxies that the environment names, TLS 1.2 or later, and HTTP/2. It keeps up
// to 256 idle connections to a host, where http.DefaultTransport keeps 2, for 45 seconds.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: minTLS},
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        512,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     45 * time.Second,
		// A connection that has gone silent is given up, or every call on it would
		// run into its deadline.
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		ExpectContinueTimeout:  time.Second,
		OnProxyConnectResponse: refusedByProxy,
	}
}

// refusedByProxy is the error of a CONNECT that was refused. net/http's own is the
// text of the status alone, which reads as if the service had said it.
func refusedByProxy(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("the proxy %s answered CONNECT with HTTP %d", proxy.Host, resp.StatusCode)
}

func checkBaseURL(raw string, f *faults) (base string, loopback bool) {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		f.add("baseURL", "is empty; give an address such as https://host.example")
		return "", false
	case err != nil || u.Host == "" || u.Hostname() == "":
		f.add("baseURL", "is not an address with a scheme and a host, such as https://host.example")
		return "", false
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		f.add("baseURL", "must hold no user, query or fragment")
		return "", false
	}
	loopback = isLoopback(u.Hostname())
	if u.Scheme != "https" && !(u.Scheme == "http" && loopback) {
		f.add("baseURL", "must be https; plain http is for loopback alone")
	}
	return strings.TrimRight(u.String(), "/"), loopback
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// request is what every XRequest implements.
type request interface {
	// validate adds what the API's document rules out. It must not change the request.
	validate(*faults)
}

// sessionRequest is a request that names a session.
type sessionRequest interface{ session() string }

// wireRequest is a request whose body differs from its own JSON, because it
// holds secrets or durations.
type wireRequest interface{ wire() any }

// secretRequest is a request with values that must not reach any text.
type secretRequest interface{ secrets() []types.Secret }

// referenced is a request whose outcome can be asked for by a reference.
type referenced interface{ reference() string }

// checkedResponse is a response that is worth nothing without some field.
type checkedResponse interface{ missing() string }

// partResponse is a response that may hold only a part of what was asked for. It looks
// for signs of that in the whole answer.
type partResponse interface{ look(status int, body []byte) }

// tokenResponse is a response that brings a token.
type tokenResponse interface{ token() types.Secret }

// orderResponse is a response that is worth nothing if it has another order than the
// one that was asked for.
type orderResponse interface{ isOf(request) bool }

// usable reports what would panic later: a Client that New did not make, or a nil ctx.
func (c *Client) usable(ctx context.Context, name Operation) error {
	var f faults
	if c == nil || c.cred == nil {
		f.add("client", "was not made by New: create it with hotelstays.New")
	}
	if ctx == nil {
		f.add("ctx", "is nil: pass context.Background(), or the ctx of what the call is part of")
	}
	return f.err(name)
}

// call runs one operation: settings, validation, sending, reading. resp is the
// struct that the answer's data is decoded into, meta its Meta field.
func (c *Client) call(ctx context.Context, name Operation, req request, resp any, meta *ResponseMeta, opts []CallOption) (err error) {
	if err := c.usable(ctx, name); err != nil {
		return err
	}
	op := operations[name]
	set, err := c.prepare(name, op, req, opts)
	if err != nil {
		return err
	}
	body, err := encode(req)
	if err != nil {
		return &ValidationError{Operation: name, Faults: faults{{Path: "body", Problem: err.Error()}}}
	}
	ctx, cancel := withTimeout(ctx, op, set.timeout)
	defer cancel()

	ctx, watch := c.observe(ctx, name, set.headers[headerTraceID])
	err = errPanicked // until it is known better
	defer func() { watch.end(err) }()

	result := c.send(ctx, name, op, set, req, body, watch.timeline())
	defer result.Answer.Release()
	x := exchange{client: c, ctx: ctx, name: name, op: op, req: req, set: set, result: result}
	watch.sent(&x)
	return x.read(resp, meta)
}

// errPanicked is what an observer sees of a call that a RoundTripper's panic ended.
var errPanicked = errors.New("hotelstays: the call panicked")

// recovered is deferred where a call is made in a goroutine of the client's own: there a
// RoundTripper or an Observer that panics would end the process, so it is an error.
func recovered(err *error, what string) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("hotelstays: %s panicked: %v", what, p)
	}
}

// prepare merges the settings of the call with the client's and checks both them
// and the request.
func (c *Client) prepare(name Operation, op *operation, req request, opts []CallOption) (settings, error) {
	set := collect(opts)
	set.misplaced(name, op)
	if isNil(req) {
		set.faults.add("request", "is nil")
	} else {
		req.validate(&set.faults)
		c.validateCallback(req, &set.faults)
	}
	if err := set.faults.err(name); err != nil {
		return set, err
	}
	set = set.over(&c.defaults)
	if set.headers[headerTraceID] == "" {
		set.headers[headerTraceID] = uuid.NewString()
	}
	return set, nil
}

func encode(req request) ([]byte, error) {
	if w, ok := req.(wireRequest); ok {
		return wire.Encode(w.wire())
	}
	return wire.Encode(req)
}

// withTimeout bounds the call: by its own timeout, or by the operation's where
// the ctx has no deadline either.
func withTimeout(ctx context.Context, op *operation, timeout time.Duration) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); timeout == 0 && !bounded {
		timeout = op.timeout
	}
	if timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}

// send hands the call to the transport.
func (c *Client) send(ctx context.Context, name Operation, op *operation, set settings, req request, body []byte, timeline *transport.Timeline) transport.Result {
	call := &transport.Call{
		Operation: string(name),
		URL:       c.baseURL + op.path,
		Header:    c.header(op, set, req),
		Body:      body,
		Acts:      op.acts,
		Hint:      op.flow,
		Usual:     c.usual[name],
		HTTP:      c.http,
		Ceiling:   &opCeiling{limiter: c.limiter, op: name},
		Policy:    c.policy,
		Log:       c.log,
		Scrub:     func(text, authorization string) string { return c.scrub(text, authorization, req) },
		Timeline:  timeline,
	}
	if !op.open {
		call.Bearer = c.tokens
	}
	return call.Do(ctx)
}

// header is what all attempts of a call send alike.
func (c *Client) header(op *operation, set settings, req request) http.Header {
	h := make(http.Header)
	values := make([]string, 0, 4+headerCount) // one allocation for all of them
	put := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	put("Content-Type", "application/json")
	put("Accept", "application/json")
	put("User-Agent", c.agent)
	for i, value := range set.headers {
		if rule := &headerRules[i]; value != "" && rule.sentOn(op) {
			put(rule.name, value)
		}
	}
	if s, ok := req.(sessionRequest); ok && s.session() != "" {
		put("Session-Id", s.session())
	}
	return h
}

// isNil tells a nil pointer inside an interface, too.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	rv := reflect.ValueOf(v)
	return rv.Kind() == reflect.Pointer && rv.IsNil()
}
