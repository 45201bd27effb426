// How New, With and WithCredential make a client.

package hotelstays

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/hosts"
	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/internal/token"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	defaultAttempts = 4
	defaultMaxBody  = 64 << 20
)

// New returns a client of the environment at baseURL, such as https://host.example, without the path /api. Plain http is
// accepted only for loopback. The first call connects, and fetches the first token. The error is a *ValidationError with
// all faults.
func New(baseURL string, cred Credential, opts ...Option) (*Client, error) {
	cfg := config{
		settings: settings{CallOptions: CallOptions{ServiceFacts: &ServiceFacts{}, MaxAttempts: defaultAttempts}},
		log:      slog.New(slog.DiscardHandler),
		maxBody:  defaultMaxBody,
	}
	eachOption(&cfg.faults, opts, func(opt Option) { opt.applyClient(&cfg) })
	base, loopback, problem := hosts.BaseURL(baseURL)
	if problem != "" {
		cfg.faults.add("baseURL", "%s", problem)
	}
	cred = cfg.credential(cred)
	if err := cfg.faults.err("New"); err != nil {
		return nil, err
	}

	if cfg.limiter == nil {
		cfg.limiter = NewRateLimiter(nil)
	}
	streams := cfg.httpClient
	if cfg.httpClient == nil {
		cfg.httpClient, streams = &http.Client{Transport: NewTransport()}, &http.Client{Transport: streamTransport()}
	}
	c := &Client{
		baseURL:   base,
		loopback:  loopback,
		cred:      cred,
		store:     cfg.store,
		http:      *cfg.httpClient,
		streams:   *streams,
		limiter:   cfg.limiter,
		bodySizes: make(map[Operation]*atomic.Int64, len(operations)),
		policy: transport.Policy{Backoff: 250 * time.Millisecond, MaxBackoff: 8 * time.Second,
			MaxRetryAfter: 60 * time.Second}, // configure sets MaxBody later, and send sets MaxAttempts
		quota: new(transport.RetryQuota),
	}
	for op := range operations {
		c.bodySizes[op] = new(atomic.Int64)
	}
	if c.http.Transport == nil {
		c.http.Transport, c.streams.Transport = defaultTransport{}, defaultTransport{}
	}
	c.configure(&cfg)
	c.tokens = c.newTokenCache()
	return c, nil
}

// With returns a client of the same account that has the options of c, followed by opts. The two clients share connections,
// the rate limiter, the quota of retries and the token. So With refuses WithHTTPClient, WithTokenStore and WithRateLimiter.
// The error is a *ValidationError with all faults.
func (c *Client) With(opts ...Option) (*Client, error) {
	if err := c.usable(context.Background(), "With"); err != nil {
		return nil, err
	}
	return c.derive("With", c.cred, opts)
}

// WithCredential is like With, but returns a client of another account in the environment of c. The new client fetches
// its own token, so keep the client for all calls of the account. It has the options of c: do not give c an option that
// belongs to one account, such as WithUserRef.
func (c *Client) WithCredential(cred Credential, opts ...Option) (*Client, error) {
	if err := c.usable(context.Background(), "WithCredential"); err != nil {
		return nil, err
	}
	other, err := c.derive("WithCredential", cred, opts)
	if err != nil {
		return nil, err
	}
	other.tokens = other.newTokenCache()
	return other, nil
}

func (c *Client) derive(method Operation, cred Credential, opts []Option) (*Client, error) {
	cfg := config{settings: c.defaults, traceIDFrom: c.traceIDFrom, log: c.logger, observers: slices.Clip(c.observers), maxBody: c.policy.MaxBody,
		voucherHosts: slices.Clip(c.voucherHosts)}
	eachOption(&cfg.faults, opts, func(opt Option) { opt.applyClient(&cfg) })
	const shared = "can be set only in New: the client that %s returns shares it with the original client"
	if cfg.httpClient != nil {
		cfg.faults.add("WithHTTPClient", shared, method)
	}
	if cfg.store != nil {
		cfg.faults.add("WithTokenStore", shared, method)
	}
	if cfg.limiter != nil {
		cfg.faults.add("WithRateLimiter", shared, method)
	}
	cred = cfg.credential(cred)
	if err := cfg.faults.err(method); err != nil {
		return nil, err
	}
	other := *c
	other.cred = cred
	other.configure(&cfg)
	return &other, nil
}

// configure sets the fields that may differ between clients that share connections.
func (c *Client) configure(cfg *config) {
	sum := sha256.Sum256([]byte(c.baseURL + " " + c.cred.account()))
	c.fingerprint = hex.EncodeToString(sum[:16])
	c.logger, c.log = cfg.log, cfg.log.With(slog.String("account", c.fingerprint))
	c.defaults, c.traceIDFrom, c.observers = cfg.settings, cfg.traceIDFrom, cfg.observers
	c.defaults.given = 0
	c.policy.MaxBody, c.voucherHosts = cfg.maxBody, cfg.voucherHosts
}

func (c *config) credential(cred Credential) Credential {
	if isNil(cred) {
		c.faults.add("cred", "is nil; give a TicketCredential, an OAuthCredential or a TokenCredential")
		return nil
	}
	cred = cred.snapshot()
	v := validation{faults: c.faults}
	cred.validate(&v)
	c.faults = v.faults
	return cred
}

func (c *Client) newTokenCache() *token.Cache {
	cache := &token.Cache{
		Secret: c.cred.secret,
		Fetch: func(ctx context.Context, secret types.Secret) (types.Secret, time.Duration, error) {
			return c.cred.fetch(ctx, c, secret)
		},
		Key:       func(secret types.Secret) string { return c.baseURL + " " + c.cred.tokenID(secret) },
		Renewable: c.cred.tokenID(types.Secret{}) != "",
		IsRefusal: refusesCredential,
		Advise:    adviseOnToken,
		Log:       c.log,
		Redact: func(text string, secret types.Secret) string {
			return redact.Set{secret.Reveal(), c.tokens.LastSecret().Reveal()}.Text(text)
		},
	}
	if c.store != nil && cache.Renewable {
		cache.Store = checkedTokens{c.store}
		if leaser, ok := c.store.(TokenLeaser); ok {
			cache.TryLease = leaser.TryLease
		}
	}
	return cache
}

// refusesCredential reports whether the service itself, and not a proxy, refused to issue a token.
func refusesCredential(err error) bool {
	var api *APIError
	if !errors.As(err, &api) || api.HTTPStatus >= 500 || errors.Is(err, ErrRateLimited) {
		return false
	}
	row := operations[api.Operation]
	return api.Code != 0 || row != nil && row.bare && api.Msg != "" // an OAuth error has a text (Msg), but no code
}

// adviseOnToken adds advice about the next token fetch to the refusal of a credential.
func adviseOnToken(err error, advice string) error {
	api, ok := errors.AsType[*APIError](err)
	if !ok {
		return err
	}
	advised := *api // a copy, because other calls that waited for the same token share the error
	advised.tokenAdvice = api.next() + "; " + advice
	return &advised
}
