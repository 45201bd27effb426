// The client's token, and the store that shares it between processes.

package hotelstays

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/types"
)

// Token is a token and its expiry. Package types declares it, because packages of internal/ use it as well.
type Token = types.Token

// TokenStore shares tokens between processes. If a method fails, or takes longer than two seconds, the client logs a
// warning and continues without the store. Methods must return when ctx ends, and be safe for concurrent use. Package
// hotelstaystest/storetest tests implementations.
//
// Tokens are secrets: encrypt them. Store Token.Value.Reveal(), because the JSON of a Token is redacted. A store may
// round Expiry down to a second.
type TokenStore interface {
	// Load returns the token under key, or a zero Token. The key is the base URL and a hash of the credential with its
	// secret: without the secret nobody finds the token, and a new secret gets a new token. Keys are compared byte by
	// byte.
	Load(ctx context.Context, key string) (Token, error)
	// Store stores t under key, until t.Expiry unless Expiry is zero.
	Store(ctx context.Context, key string, t Token) error
	// CompareAndDelete deletes the token under key, but only if its value still equals refused.Value: another
	// process may have stored a new token meanwhile.
	CompareAndDelete(ctx context.Context, key string, refused Token) error
}

// TokenLeaser is a TokenStore that lets one process at a time fetch a token. When a fleet starts, the other processes wait
// for the token. While one process renews the token, the others continue with the old token.
type TokenLeaser interface {
	TokenStore
	// TryLease gives the caller the lease to fetch the token under key, until the caller calls release or its process dies.
	// The result ok is false if another caller has the lease. ctx bounds the call, not the lease.
	//
	// A fetch takes less than 25 seconds, plus the time for which it waits for the rate limit of Ticket. The lease of a dead
	// process must end within a minute. The function release is called once, and must return quickly. It must not end the
	// lease of another caller.
	TryLease(ctx context.Context, key string) (release func(), ok bool, err error)
}

// hashed returns a key for a store. The length of each text is hashed before the text, so that no two lists of texts have
// the same key.
func hashed(texts ...string) string {
	h := sha256.New()
	for _, part := range texts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

type checkedTokens struct{ TokenStore }

// Load returns an error for a redacted token, and for a token that a header cannot carry: every call would fail.
func (s checkedTokens) Load(ctx context.Context, key string) (Token, error) {
	t, err := s.TokenStore.Load(ctx, key)
	switch value := t.Value.Reveal(); {
	case err != nil:
	case value == redact.Marker:
		err = fmt.Errorf("the store returned the text %q instead of the token; store Token.Value.Reveal()", redact.Marker)
	case !isHeaderValue(value):
		err = errors.New("the store returned a token with characters that a header cannot carry, such as a line break; " +
			"return exactly what was stored")
	}
	return t, err
}
