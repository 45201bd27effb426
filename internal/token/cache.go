// Package token holds the token of one client. All callers share it, a background fetch
// renews it before it expires, and a store may share it with other processes.
package token

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// expiryWindow is the time before a token's expiry in which the cache renews the token. If a tenth of the token's
	// lifetime is shorter, the cache renews the token in the last tenth.
	expiryWindow = 5 * time.Minute
	// The shortest and the longest pause after a failed renewal.
	minPause = time.Second
	maxPause = 30 * time.Second
)

// Cache holds one token. Reading a fresh token takes one atomic load. Set the exported fields before use. Store and
// TryLease are optional. With them, several processes share tokens. Key returns the key under which the store keeps the
// token of a secret.
type Cache struct {
	// Secret returns the secret with which a token is fetched. Each fetch calls Secret. If the service refuses the secret, the
	// fetch calls Secret once more.
	Secret func(ctx context.Context) (types.Secret, error)
	// Fetch gets a token. A lifetime of 0 means unknown.
	Fetch func(ctx context.Context, secret types.Secret) (value types.Secret, lifetime time.Duration, err error)
	// Renewable is false if Fetch returns the same token each time.
	Renewable bool
	// IsRefusal reports whether an error of Fetch means that the service refused the credential. Advise adds the time
	// of the next fetch to such an error.
	IsRefusal func(err error) bool
	Advise    func(err error, advice string) error
	Store     Store
	TryLease  TryLease
	Key       func(secret types.Secret) string
	Log       *slog.Logger
	// Redact removes the secret, and all other secrets of the client, from a text.
	Redact func(text string, secret types.Secret) string

	fresh   atomic.Pointer[entry] // the current token, until its expiry window begins
	secret  atomic.Pointer[types.Secret]
	refused atomic.Pointer[entry] // the last token that a 401 refused

	mu         sync.Mutex
	current    *entry
	generation uint64
	pending    *fetch    // the fetch that is in progress, or nil
	failures   int       // failed fetches in a row
	nextTry    time.Time // the earliest time of the next renewal
	refusal    error     // error of the last fetch if the service refused the credential
	refusals   refusals
}

// refusals delays fetches after the service has refused a token or the credential. The first two fetches have no pause.
// The next pauses are 2, 4, 8 and so on up to 60 seconds. A time without a refusal may follow a pause. If this time is
// longer than the pause, and longer than two seconds, the next pause is not longer. If nothing is refused for a minute,
// the series begins again. A successful call changes nothing, because the service may accept a token for one operation
// and refuse the token for another operation.
type refusals struct {
	inARow int
	next   time.Time // the earliest time of the next fetch
	pause  time.Duration
}

// add counts a refusal, and sets the time of the next fetch.
func (r *refusals) add(now time.Time) {
	switch good := now.Sub(r.next); {
	case good > time.Minute:
		r.inARow = 0
	case good > max(r.pause, 2*time.Second):
		r.inARow--
	}
	r.pause = 0
	if r.inARow > 0 {
		r.pause = min(time.Second<<min(r.inARow, 6), time.Minute)
	}
	r.next = now.Add(r.pause)
	r.inARow++
}

// wait returns how long the next fetch must wait, rounded up to whole seconds.
func (r *refusals) wait(now time.Time) time.Duration {
	return max(0, r.next.Sub(now)+time.Second-1).Truncate(time.Second)
}

// entry is a token in use. The field expires has a monotonic reading, so a step of the wall clock does not move the
// expiry.
type entry struct {
	authorization transport.Authorization
	// The timer removes the entry from Cache.fresh when the token must be renewed. Without the timer, each call would
	// compare times. This would take twenty times longer than a load of Cache.fresh.
	timer   *time.Timer // nil if expires is zero
	token   types.Token // a token without an Expiry stays in use until the service refuses the token
	key     string      // key of the token in the store
	expires time.Time   // zero: unknown
}

func (e *entry) expired(now time.Time) bool { return !e.expires.IsZero() && !now.Before(e.expires) }

// fetch is one fetch of a token. Its result is valid once done is closed.
type fetch struct {
	done          chan struct{}
	authorization transport.Authorization
	err           error
}

// Authorization returns the token if the token is valid. Otherwise Authorization waits until a fetch has ended. All
// callers wait for the same fetch.
func (c *Cache) Authorization(ctx context.Context) (transport.Authorization, error) {
	if e := c.fresh.Load(); e != nil {
		return e.authorization, nil
	}
	authorization, pending, err := c.renewOrFetch(ctx)
	if pending != nil {
		return pending.wait(ctx)
	}
	return authorization, err
}

// renewOrFetch returns the token if the token is valid, and starts a renewal if the renewal is due. Without a valid
// token, it returns the fetch for which the caller must wait.
func (c *Cache) renewOrFetch(ctx context.Context) (transport.Authorization, *fetch, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	e := c.current
	switch {
	case e != nil && !e.expired(now):
		if c.fresh.Load() != e && c.pending == nil && !now.Before(c.nextTry) {
			c.start(ctx, e)
		}
		return e.authorization, nil, nil
	case c.refusal != nil && now.Before(c.refusals.next):
		return transport.Authorization{}, nil, c.refusedCredential(now)
	case c.pending == nil:
		c.start(ctx, nil)
	}
	return transport.Authorization{}, c.pending, nil
}

func (f *fetch) wait(ctx context.Context) (transport.Authorization, error) {
	select {
	case <-f.done:
		return f.authorization, f.err
	case <-ctx.Done():
		return transport.Authorization{}, fmt.Errorf("waiting for a token: %w", ctx.Err())
	}
}

// start fetches a token in the background, because other callers may wait for the fetch longer than the caller that
// began the fetch. For tracing, the fetch keeps the values of the first caller's ctx. The parameter renewed is the
// token in use, or nil.
func (c *Cache) start(ctx context.Context, renewed *entry) {
	f := &fetch{done: make(chan struct{}), err: errors.New("hotelstays: fetching a token ended without a result")}
	c.pending = f
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer c.finish(f)
		f.authorization, f.err = c.obtain(ctx, renewed)
		if renewed != nil && f.err != nil {
			c.Log.LogAttrs(ctx, slog.LevelWarn, "token renewal failed; the old token is still in use",
				slog.String(transport.LogError, c.Redact(f.err.Error(), renewed.token.Value)))
		}
	}()
}

func (c *Cache) finish(f *fetch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(f.done)
	c.pending, c.refusal = nil, nil
	if f.err == nil {
		c.failures, c.nextTry = 0, time.Time{}
		return
	}
	now := time.Now()
	c.nextTry = now.Add(min(minPause<<min(c.failures, 8), maxPause))
	c.failures++
	if c.IsRefusal(f.err) {
		c.refusals.add(now)
		c.refusal = f.err
		f.err = c.refusedCredential(now)
	}
}

func (c *Cache) refusedCredential(now time.Time) error {
	if wait := c.refusals.wait(now); wait > 0 {
		return c.Advise(c.refusal, fmt.Sprintf("the client asks for a token again in %s", wait))
	}
	return c.Advise(c.refusal, "the next call asks for a token again")
}

// LastSecret returns the secret of the last fetch, or the zero Secret before the first fetch.
func (c *Cache) LastSecret() (last types.Secret) {
	if secret := c.secret.Load(); secret != nil {
		last = *secret
	}
	return last
}

// secretTimeout limits the time of each call of Secret, because all callers wait for the secret.
const secretTimeout = 20 * time.Second

func (c *Cache) askSecret(ctx context.Context) (types.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	secret, err := c.Secret(ctx)
	if err == nil {
		c.secret.Store(&secret)
	}
	return secret, err
}

// obtain returns a token. If the service refuses the secret, obtain calls Secret again, because the secret may just have
// been replaced.
func (c *Cache) obtain(ctx context.Context, renewed *entry) (_ transport.Authorization, err error) {
	defer transport.Recovered(&err, c.Log, "fetching a token")
	secret, err := c.askSecret(ctx)
	if err != nil {
		return transport.Authorization{}, err
	}
	authorization, err := c.obtainWith(ctx, secret, renewed)
	if err == nil || !c.IsRefusal(err) {
		return authorization, err
	}
	if next, askErr := c.askSecret(ctx); askErr == nil && !next.Equal(secret) {
		return c.obtainWith(ctx, next, renewed)
	}
	return authorization, err
}

// obtainWith takes a token from the store. If the store has no token, obtainWith fetches a token with the secret.
func (c *Cache) obtainWith(ctx context.Context, secret types.Secret, renewed *entry) (transport.Authorization, error) {
	key := c.Key(secret)
	t, found, release := c.fromStore(ctx, key, renewed)
	defer release()
	if found {
		return c.use(t, key), nil
	}
	value, lifetime, err := c.Fetch(ctx, secret)
	if err != nil {
		return transport.Authorization{}, err
	}
	t = types.Token{Value: value}
	var attrs []slog.Attr
	if lifetime > 0 {
		t.Expiry = time.Now().Add(lifetime)
		attrs = append(attrs, slog.Duration("lifetime", lifetime))
	}
	authorization := c.use(t, key)
	c.Log.LogAttrs(ctx, slog.LevelInfo, "token fetched", attrs...)
	_ = c.call(ctx, "Store", &t, func(ctx context.Context) error { return c.Store.Store(ctx, key, t) })
	return authorization, nil
}

func (c *Cache) use(t types.Token, key string) transport.Authorization {
	e := &entry{token: t, key: key}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	e.authorization = transport.Authorization{Token: t.Value, Generation: c.generation}
	c.current = e
	c.fresh.Store(e)
	if !t.Expiry.IsZero() {
		lifetime := t.Expiry.Sub(now)
		e.expires = now.Add(lifetime)
		e.timer = time.AfterFunc(lifetime-min(expiryWindow, lifetime/10), func() { c.fresh.CompareAndSwap(e, nil) })
	}
	return e.authorization
}

const checkAccount = "check that the account is active, and may call this operation"

// Refused drops the token that a 401 refused, and reports whether another token is available now. If the call ends with
// this 401, the advice becomes part of the call's error. A late 401 does not drop a newer token. If other tokens were
// refused shortly before, the token stays in use: other operations may need it, and a new token would be refused as
// well.
func (c *Cache) Refused(ctx context.Context, refused transport.Authorization) (again bool, advice string) {
	if !c.Renewable {
		return false, "use a new token: give it to WithCredential, or to a new client"
	}
	if wait := c.drop(ctx, refused); wait > 0 {
		return false, fmt.Sprintf("a new token was refused, too; "+checkAccount+"; the client asks for another token in %s", wait)
	}
	return true, "a new token was refused, too; " + checkAccount + "; the next call uses another token"
}

// drop removes the refused token if it is the current token. After several refusals, the next fetch must wait. Until
// then, drop keeps the token and returns the rest of the wait. Without this wait, the client would fetch a token for
// each call.
func (c *Cache) drop(ctx context.Context, refused transport.Authorization) (stays time.Duration) {
	c.mu.Lock()
	now := time.Now()
	e := c.current
	if e == nil || e.authorization.Generation != refused.Generation {
		c.mu.Unlock()
		return 0
	}
	if wait := c.refusals.wait(now); wait > 0 {
		c.mu.Unlock()
		return wait
	}
	c.refusals.add(now)
	c.refused.Store(e)
	c.current = nil
	c.fresh.Store(nil)
	c.mu.Unlock()
	if e.timer != nil {
		e.timer.Stop()
	}
	_ = c.call(ctx, "CompareAndDelete", &e.token, func(ctx context.Context) error { return c.Store.CompareAndDelete(ctx, e.key, e.token) })
	return 0
}
