// How the cache uses a store that several processes share.

package token

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/types"
)

// Store shares tokens between processes. Its methods must return when ctx ends.
type Store interface {
	// Load returns a zero Token if the store has no token under key. Load may return a Token together with an error.
	// Then the cache removes the token from the text of the error before the cache logs this text.
	Load(ctx context.Context, key string) (types.Token, error)
	Store(ctx context.Context, key string, t types.Token) error
	CompareAndDelete(ctx context.Context, key string, refused types.Token) error
}

// TryLease lets only one process at a time fetch a token. ok is false if another process has the lease.
type TryLease func(ctx context.Context, key string) (release func(), ok bool, err error)

const (
	// storeTimeout limits the time of each call of a store, because all callers of the cache wait for the store.
	storeTimeout = 2 * time.Second
	// leasePause is the mean pause before the cache loads the token again while another process fetches a token.
	leasePause = 100 * time.Millisecond
	// leaseTimeout is how long the cache waits for another process to fetch a token. Then the cache fetches a token
	// itself. A fetch takes less time, so the other process has probably ended.
	leaseTimeout = 25 * time.Second
)

// fromStore returns the token in the store, which all processes share. If found is false, the caller must fetch a
// token. In both cases the caller must call release.
func (c *Cache) fromStore(ctx context.Context, key string, renewed *entry) (t types.Token, found bool, release func()) {
	release = func() {}
	for start := time.Now(); ; time.Sleep(leasePause/2 + rand.N(leasePause)) {
		t, found, err := c.load(ctx, key, renewed)
		if found || err != nil || c.TryLease == nil {
			return t, found, release
		}
		leased, ok, err := c.tryLease(ctx, key, time.Since(start))
		switch {
		case ok: // meanwhile the last holder of the lease may have stored a token
			t, found, _ = c.load(ctx, key, renewed)
			return t, found, leased
		case err != nil:
			return types.Token{}, false, release
		}
	}
}

func (c *Cache) tryLease(ctx context.Context, key string, waited time.Duration) (release func(), ok bool, err error) {
	err = c.call(ctx, "TryLease", &types.Token{}, func(ctx context.Context) (err error) {
		release, ok, err = c.TryLease(ctx, key)
		if err == nil && !ok && waited > leaseTimeout {
			err = errors.New("another process has held the lease for too long; this process now fetches a token itself")
		}
		return err
	})
	if release == nil {
		release = func() {}
	}
	return release, ok, err
}

// load returns the shared token. The result found is false if the store has no usable token. A token is not usable if
// the service refused the token, if it has expired, or if it expires no later than renewed. The parameter renewed is
// the token that the cache is renewing, or nil.
func (c *Cache) load(ctx context.Context, key string, renewed *entry) (t types.Token, found bool, err error) {
	err = c.call(ctx, "Load", &t, func(ctx context.Context) (err error) {
		t, err = c.Store.Load(ctx, key)
		return err
	})
	if err != nil || t.Value.IsZero() {
		return types.Token{}, false, err
	}
	switch refused := c.refused.Load(); {
	case refused != nil && refused.token.Value.Equal(t.Value):
		return types.Token{}, false, nil
	case t.Expiry.IsZero():
		return t, true, nil
	case renewed != nil && !t.Expiry.After(renewed.token.Expiry):
		return types.Token{}, false, nil
	}
	return t, time.Now().Before(t.Expiry), nil
}

// call calls f, which uses the store, for at most storeTimeout, and logs its error. call removes the token t from the
// logged text. The server of a store may quote the command that failed, and this command may contain the token.
func (c *Cache) call(ctx context.Context, name string, t *types.Token, f func(context.Context) error) error {
	if c.Store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := f(ctx)
	if err != nil {
		c.Log.LogAttrs(ctx, slog.LevelWarn, "token store failed; this process continues without the store",
			slog.String("call", name), slog.String(transport.LogError, c.Redact(err.Error(), t.Value)))
	}
	return err
}
