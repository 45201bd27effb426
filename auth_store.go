// The token that processes share: what a store has to offer, and how the cache uses it.

package hotelstays

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/types"
)

// TokenStore shares tokens between processes. Without one, every client fetches
// its own. A store that fails, or takes longer than two seconds, is logged and done
// without: a token is fetched. Its methods must return when their ctx ends.
//
// Tokens are secrets: a store should encrypt them, and keeps Token.Value.Reveal(), which
// the JSON of a Token does not hold. Implementations must be safe for concurrent use.
type TokenStore interface {
	// Load returns the token under key, or a zero Token where there is none. The
	// key tells environment and credential apart and holds no secret.
	Load(ctx context.Context, key string) (Token, error)
	// Store keeps t under key, until t.Expiry where there is one.
	Store(ctx context.Context, key string, t Token) error
	// Drop forgets the token under key if it still is the refused one.
	Drop(ctx context.Context, key string, refused Token) error
}

// TokenLeaser is a TokenStore that lets one process at a time fetch a token. A
// fleet whose processes start together then makes one call, and all wait for its end;
// when a token ages, one process renews it, and the others go on with the old one.
type TokenLeaser interface {
	TokenStore
	// Lease makes the caller the one that fetches the token under key, until it
	// dies or calls release, which it does once; release must not take long. A nil
	// release, with a nil error: another process is fetching.
	Lease(ctx context.Context, key string) (release func(), err error)
}

// Token is a token with its end.
type Token struct {
	Value types.Secret
	// Expiry is wall-clock time, so that processes agree on it. Zero: not known.
	Expiry time.Time
}

// spoiled tells what a store did to a token that cannot be sent. Without a look at it
// the calls would fail until its end.
func (t Token) spoiled() error {
	switch {
	case t.Value.Reveal() == redact.Marker:
		return fmt.Errorf("the token came back as %q: a Secret encodes itself as that text, so keep Token.Value.Reveal()", redact.Marker)
	case !isHeaderValue(t.Value.Reveal()):
		return errors.New("the token came back with characters that a header cannot carry, such as a line break at its end")
	}
	return nil
}

const (
	// storeTimeout bounds one call of a TokenStore, which all callers wait for.
	storeTimeout = 2 * time.Second
	// While another process fetches, the store is asked this often for its token,
	// and for so long: no fetch takes longer, unless the client's timeout says so.
	leasePause    = 100 * time.Millisecond
	leasePatience = 25 * time.Second
)

// shared returns the fleet's token, or, with a release to be called afterwards, the
// word to fetch one. Where the store leases, that word goes to one process, and the
// others wait here.
func (t *tokenCache) shared(ctx context.Context, worn phase) (token Token, release func()) {
	alone := func() {}
	leaser, leases := t.store.(TokenLeaser)
	for start := time.Now(); ; {
		token, found, err := t.load(ctx, worn)
		switch {
		case found && release != nil:
			release() // the holder before stored it
			return token, nil
		case found:
			return token, nil
		case release != nil:
			return Token{}, release
		case !leases || err != nil:
			return Token{}, alone
		}
		if release, err = t.lease(ctx, leaser); err != nil {
			return Token{}, alone
		}
		switch {
		case release != nil: // look once more: it may just have been stored
		case time.Since(start) > leasePatience:
			t.warn(ctx, "Lease", Token{}, errors.New("another process has been fetching for too long"))
			return Token{}, alone
		default:
			time.Sleep(leasePause/2 + rand.N(leasePause))
		}
	}
}

func (t *tokenCache) lease(ctx context.Context, leaser TokenLeaser) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	release, err = leaser.Lease(ctx, t.key)
	t.warn(ctx, "Lease", Token{}, err)
	return release, err
}

// load returns the shared token if it serves longer than a token in phase worn.
func (t *tokenCache) load(ctx context.Context, worn phase) (token Token, found bool, err error) {
	if t.store == nil {
		return Token{}, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if token, err = t.store.Load(ctx, t.key); err == nil {
		err = token.spoiled()
	}
	t.warn(ctx, "Load", token, err)
	if err != nil || token.Value.IsZero() {
		return Token{}, false, err
	}
	t.mu.Lock()
	rejected := t.rejected != nil && token.Value.Equal(t.rejected.token.Value)
	t.mu.Unlock()
	if rejected {
		return Token{}, false, nil
	}
	left := time.Until(token.Expiry)
	if token.Expiry.IsZero() {
		return token, true, nil
	}
	if held := t.current.Load(); worn == ageing && held != nil && !token.Expiry.After(held.token.Expiry) {
		return Token{}, false, nil // no younger than the one that is to be renewed
	}
	return token, left > 0, nil
}

func (t *tokenCache) drop(ctx context.Context, refused Token) {
	if t.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	t.warn(ctx, "Drop", refused, t.store.Drop(ctx, t.key, refused))
}

func (t *tokenCache) save(ctx context.Context, token Token) {
	if t.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	t.warn(ctx, "Store", token, t.store.Store(ctx, t.key, token))
}

// warn logs that a store failed. Servers quote the command that they refuse, and with
// it the token.
func (t *tokenCache) warn(ctx context.Context, what string, token Token, err error) {
	if err != nil {
		t.client.log.LogAttrs(ctx, slog.LevelWarn, "token store failed; going on without it",
			slog.String("call", what), slog.String("error", redact.Set{token.Value.Reveal(), t.client.cred.secret().Reveal()}.Text(err.Error())))
	}
}
