// The token cache: one token for all callers, renewed before it ends.

package hotelstays

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/hotelstays/hotelstays-go/internal/transport"
)

const (
	// renewalMargin is how long before its end a token is renewed; a short-lived
	// one is renewed in its last tenth.
	renewalMargin = 5 * time.Minute
	// refusalMemory is how long a definite refusal answers further callers.
	refusalMemory = 10 * time.Second
	// Renewals that fail while the old token lives are tried again after these.
	renewalBackoff    = time.Second
	maxRenewalBackoff = 30 * time.Second
)

// phase is where a held token stands. Timers move it, so that reading a token
// takes no look at the clock.
type phase int32

const (
	fresh   phase = iota
	ageing        // inside the margin: used, and renewed in the background
	expired       // not used
)

type heldToken struct {
	authorization transport.Authorization
	token         Token
	fetched       time.Time
	replaces      bool // a token that a 401 had refused
	phase         atomic.Int32
	timers        []*time.Timer
}

// tokenCache holds the token of one client. Reading a fresh token is two atomic
// loads.
type tokenCache struct {
	client *Client
	store  TokenStore // nil: none
	key    string

	current atomic.Pointer[heldToken]
	flight  singleflight.Group

	renewing atomic.Bool
	mu       sync.Mutex
	held     uint64    // tokens so far: the generation of the newest
	failures int       // renewals that failed one after another
	nextTry  time.Time // no renewal before
	refusal  error     // the last definite refusal
	refused  time.Time // when that was
	// The token that a 401 refused last, and whether its successor is still to come.
	rejected  *heldToken
	replacing bool
}

func newTokenCache(c *Client, store TokenStore) *tokenCache {
	t := &tokenCache{client: c, key: c.baseURL + " " + c.cred.id()}
	if c.cred.id() != "" {
		t.store = store
	}
	return t
}

// Authorization returns the token to send: at once while the token lives, else
// as soon as the one shared call has fetched another.
func (t *tokenCache) Authorization(ctx context.Context) (transport.Authorization, error) {
	held := t.current.Load()
	if held != nil {
		switch phase(held.phase.Load()) {
		case fresh:
			return held.authorization, nil
		case ageing:
			t.renew(ctx)
			return held.authorization, nil
		}
	}
	if err := t.recentRefusal(); err != nil {
		return transport.Authorization{}, err
	}
	return t.wait(ctx)
}

// wait joins the one call that fetches a token. It goes on when this caller's
// ctx ends, for the sake of the others.
func (t *tokenCache) wait(ctx context.Context) (transport.Authorization, error) {
	detached := context.WithoutCancel(ctx)
	result := t.flight.DoChan("", func() (any, error) { return t.obtain(detached, expired) })
	select {
	case r := <-result:
		if r.Err != nil {
			return transport.Authorization{}, r.Err
		}
		return r.Val.(*heldToken).authorization, nil
	case <-ctx.Done():
		return transport.Authorization{}, fmt.Errorf("waiting for a token: %w", ctx.Err())
	}
}

// renew replaces an ageing token in the background: one call at a time, and with
// growing pauses while it fails.
func (t *tokenCache) renew(ctx context.Context) {
	if !t.renewing.CompareAndSwap(false, true) {
		return
	}
	t.mu.Lock()
	early := time.Now().Before(t.nextTry)
	t.mu.Unlock()
	if early {
		t.renewing.Store(false)
		return
	}
	detached := context.WithoutCancel(ctx)
	go func() {
		defer t.renewing.Store(false)
		_, err, _ := t.flight.Do("", func() (any, error) { return t.obtain(detached, ageing) })
		if err != nil {
			t.client.log.LogAttrs(detached, slog.LevelWarn, "token renewal failed; the old token still serves", slog.String("error", err.Error()))
		}
	}()
}

// obtain takes a token from the store, or fetches one, unless another flight has
// just brought one that is younger than worn. Its ctx has the values of the caller
// who came first, so that spans nest, and the end of none. It runs in a goroutine
// of its own.
func (t *tokenCache) obtain(ctx context.Context, worn phase) (held *heldToken, err error) {
	defer recovered(&err, "fetching a token")
	if held := t.current.Load(); held != nil && phase(held.phase.Load()) < worn {
		return held, nil
	}
	// A flight may have ended with a refusal while this caller was on its way. Not so
	// in a renewal, which keeps its own pauses.
	if err := t.recentRefusal(); err != nil && worn == expired {
		return nil, err
	}
	token, release := t.shared(ctx, worn)
	if release == nil {
		return t.hold(token, time.Until(token.Expiry)), nil
	}
	defer release()
	value, lifetime, err := t.client.cred.fetch(ctx, t.client)
	t.note(err)
	if err != nil {
		return nil, err
	}
	token = Token{Value: value}
	var attrs []slog.Attr
	if lifetime > 0 { // else it is not known, and 0 would read as none
		token.Expiry = time.Now().Add(lifetime)
		attrs = append(attrs, slog.Duration("lifetime", lifetime))
	}
	held = t.hold(token, lifetime)
	t.client.log.LogAttrs(ctx, slog.LevelInfo, "token fetched", attrs...)
	t.save(ctx, token)
	return held, nil
}

// note keeps how fetching went, for the callers that come next.
func (t *tokenCache) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.refusal = nil
	if err == nil {
		t.failures, t.nextTry = 0, time.Time{}
		return
	}
	t.nextTry = now.Add(min(renewalBackoff<<min(t.failures, 8), maxRenewalBackoff))
	t.failures++
	if isDefinite(err) {
		t.refusal, t.refused = err, now
	}
}

// isDefinite tells whether err is the service's own refusal of a token, which
// asking again will not change.
func isDefinite(err error) bool {
	var api *APIError
	if !errors.As(err, &api) || api.HTTPStatus >= 500 || errors.Is(err, ErrRateLimited) {
		return false
	}
	return api.Code != 0 || api.Operation == OpOAuthToken && api.Msg != "" // OAuth's own error object
}

// recentRefusal returns a definite refusal while it is young: a wrong secret
// does not become right by asking more often.
func (t *tokenCache) recentRefusal() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refusal != nil && time.Since(t.refused) < refusalMemory {
		return t.refusal
	}
	return nil
}

// hold makes token the current one. Its life runs on the monotonic clock from
// now on; without a lifetime it lasts until it is refused.
func (t *tokenCache) hold(token Token, lifetime time.Duration) *heldToken {
	t.mu.Lock()
	replaces := t.replacing
	t.replacing = false
	t.held++
	authorization := transport.Authorization{Header: "Bearer " + token.Value.Reveal(), Generation: t.held}
	t.mu.Unlock()
	held := &heldToken{authorization: authorization, token: token, fetched: time.Now(), replaces: replaces}
	if !token.Expiry.IsZero() {
		held.timers = []*time.Timer{
			time.AfterFunc(lifetime-margin(lifetime), func() { held.phase.CompareAndSwap(int32(fresh), int32(ageing)) }),
			time.AfterFunc(lifetime, func() { held.phase.Store(int32(expired)) }),
		}
	}
	t.discard(t.current.Swap(held))
	return held
}

func (t *tokenCache) discard(held *heldToken) {
	if held == nil {
		return
	}
	for _, timer := range held.timers {
		timer.Stop()
	}
}

func margin(lifetime time.Duration) time.Duration { return min(renewalMargin, lifetime/10) }

// Refused drops the token that a 401 was the answer to, and no other: a late 401
// must not throw away its successor. A successor that is refused at once, too, is
// kept for a while: the fault is not the token's, and other callers need it.
func (t *tokenCache) Refused(ctx context.Context, refused transport.Authorization) bool {
	if !t.client.cred.renewable() {
		return false
	}
	held := t.current.Load()
	if held == nil || held.authorization.Generation != refused.Generation {
		return true
	}
	if held.replaces && time.Since(held.fetched) < refusalMemory {
		return false
	}
	t.mu.Lock() // in one step, or another caller could take it from the store again
	dropped := t.current.CompareAndSwap(held, nil)
	if dropped {
		t.rejected, t.replacing = held, true
	}
	t.mu.Unlock()
	if dropped {
		t.discard(held)
		t.drop(ctx, held.token)
	}
	return true
}
