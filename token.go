// The client's token, and the store that shares it between processes.

package hotelstays

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/internal/token"
	"github.com/hotelstays/hotelstays-go/types"
)

// Token is a token and its expiry.
type Token struct {
	Value types.Secret
	// Expiry is wall-clock time, so that processes agree on it. Zero: unknown.
	Expiry time.Time
}

// TokenStore shares tokens between processes. Without one, every client fetches its own
// token. If a store fails, or takes longer than two seconds, the client logs that and
// continues without it. Its methods must return when ctx ends.
//
// Tokens are secrets: a store should encrypt them, and keeps Token.Value.Reveal(), which
// the JSON of a Token does not hold. Implementations must be safe for concurrent use.
type TokenStore interface {
	// Load returns the token under key, or a zero Token if there is none. The key
	// identifies environment and credential, and holds no secret.
	Load(ctx context.Context, key string) (Token, error)
	// Store keeps t under key, until t.Expiry if that is set.
	Store(ctx context.Context, key string, t Token) error
	// CompareAndDelete deletes the token under key if it still is the refused one.
	CompareAndDelete(ctx context.Context, key string, refused Token) error
}

// TokenLeaser is a TokenStore that lets one process at a time fetch a token. A fleet
// that starts together then makes one call, and all processes wait for its result. Near
// the expiry one process renews the token, and the others keep using the old one.
type TokenLeaser interface {
	TokenStore
	// TryLease makes the caller the process that fetches the token under key, until it
	// dies or calls release. It calls release once; release must return quickly. ok is
	// false if another process has the lease.
	TryLease(ctx context.Context, key string) (release func(), ok bool, err error)
}

// shareToken binds the cache to the store, if there is one and the credential's tokens
// can be shared.
func shareToken(cache *token.Cache, store TokenStore, baseURL, credentialID string) {
	if store == nil || credentialID == "" {
		return
	}
	key := baseURL + " " + credentialID
	cache.Store = boundStore{store, key}
	if leaser, ok := store.(TokenLeaser); ok {
		cache.TryLease = func(ctx context.Context) (func(), bool, error) { return leaser.TryLease(ctx, key) }
	}
}

// boundStore is a TokenStore with its key.
type boundStore struct {
	store TokenStore
	key   string
}

// Load refuses a token that the store has damaged: calls with it would fail until its
// expiry.
func (s boundStore) Load(ctx context.Context) (token.Token, error) {
	t, err := s.store.Load(ctx, s.key)
	switch value := t.Value.Reveal(); {
	case err != nil:
	case value == redact.Marker:
		err = fmt.Errorf("the token came back as %q: a Secret encodes itself as that text, so keep Token.Value.Reveal()", redact.Marker)
	case !isHeaderValue(value):
		err = errors.New("the token came back with characters that a header cannot carry, such as a line break at its end")
	}
	return token.Token(t), err
}

func (s boundStore) Store(ctx context.Context, t token.Token) error {
	return s.store.Store(ctx, s.key, Token(t))
}

func (s boundStore) CompareAndDelete(ctx context.Context, refused token.Token) error {
	return s.store.CompareAndDelete(ctx, s.key, Token(refused))
}
