// The cache and its store: shared tokens, leases, and stores that fail.

package token_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/internal/token"
	"github.com/hotelstays/hotelstays-go/types"
)

const sharedKey = "environment ticket:app"

// store is a Store in memory that keeps one token, under sharedKey, and has one lease.
type store struct {
	mu         sync.Mutex
	token      types.Token
	fails      func(context.Context, types.Token) error // if set, each method only calls this function
	keeps      bool                                     // if true, CompareAndDelete does not delete the token
	leased     bool
	onTryLease func()
}

func (s *store) Load(ctx context.Context, key string) (t types.Token, err error) {
	if s.fails != nil {
		return s.token, s.fails(ctx, s.token)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if key != sharedKey {
		return types.Token{}, nil
	}
	return s.token, nil
}

func (s *store) Store(ctx context.Context, key string, t types.Token) error {
	return s.change(ctx, key, t, func() { s.token = t })
}

func (s *store) CompareAndDelete(ctx context.Context, key string, refused types.Token) error {
	return s.change(ctx, key, refused, func() {
		if !s.keeps && s.token.Value.Equal(refused.Value) {
			s.token = types.Token{}
		}
	})
}

func (s *store) change(ctx context.Context, key string, t types.Token, f func()) error {
	if s.fails != nil {
		return s.fails(ctx, t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == sharedKey {
		f()
	}
	return nil
}

func (s *store) tryLease(_ context.Context, key string) (release func(), ok bool, err error) {
	if s.onTryLease != nil {
		s.onTryLease()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leased {
		return nil, false, nil
	}
	s.leased = key == sharedKey
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leased = false
	}, true, nil
}

func sharing(s token.Store) func(*token.Cache) { return func(c *token.Cache) { c.Store = s } }

// fleet returns n caches that share a store with a lease, each as in a separate process.
func (s *service) fleet(n int, st *store) []*token.Cache {
	caches := make([]*token.Cache, n)
	for i := range caches {
		caches[i] = s.cache(sharing(st), func(c *token.Cache) { c.TryLease = st.tryLease })
	}
	return caches
}

// A token from the store expires at its Expiry, not one lifetime after it was loaded. A token without an Expiry does
// not expire.
func TestStoredTokenKeepsItsExpiry(t *testing.T) {
	for lifetime, fetches := range map[time.Duration]int64{time.Hour: 2, 0: 1} {
		synctest.Test(t, func(t *testing.T) {
			s, st := &service{lifetime: lifetime}, &store{}
			s.mustCall(t, 1, s.cache(sharing(st)))
			time.Sleep(30 * time.Minute)
			c := s.cache(sharing(st))
			s.mustCall(t, 1, c)
			time.Sleep(30 * time.Minute)
			s.mustCall(t, 1, c)
			assert.Equal(t, fetches, s.fetches.Load())
		})
	}
}

func TestEachCallOfAHangingStoreEndsAfterTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{lifetime: time.Hour}
		c := s.cache(sharing(&store{fails: func(ctx context.Context, _ types.Token) error { <-ctx.Done(); return ctx.Err() }}))
		assert.Equal(t, 4*time.Second, s.mustCall(t, 100, c), "Load and Store")
		assert.Zero(t, s.mustCall(t, 100, c))
		s.revoke()
		assert.Equal(t, 6*time.Second, s.mustCall(t, 1, c), "CompareAndDelete, Load and Store")
	})
}

func TestFailingStoreDoesNotDelayCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := &service{lifetime: time.Hour}, &store{leased: true, fails: func(context.Context, types.Token) error { return errFailed }}
		c := s.fleet(1, st)[0]
		assert.Zero(t, s.mustCall(t, 10, c))
		s.revoke()
		assert.Zero(t, s.mustCall(t, 10, c))
		assert.EqualValues(t, 2, s.fetches.Load())
	})
}

func TestCacheDoesNotUseARefusedTokenOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := &service{lifetime: time.Hour}, &store{keeps: true}
		c := s.cache(sharing(st))
		s.mustCall(t, 1, c)
		s.revoke()
		s.mustCall(t, 1, c)
		assert.EqualValues(t, 2, s.fetches.Load())
		st.keeps, s.err = false, errFailed
		s.revoke()
		s.callAll(t.Context(), 1, c)
		assert.True(t, st.token.Value.IsZero(), "it is deleted")
	})
}

func TestCacheFetchesAfter25SecondsIfAnotherLeaseNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{lifetime: time.Hour}
		waited := s.mustCall(t, 1, s.fleet(1, &store{leased: true})...)
		assert.InDelta(t, 25, waited.Seconds(), 1)
		assert.EqualValues(t, 1, s.fetches.Load())
	})
}

func TestCacheAcceptsALeaseWithoutAReleaseFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{lifetime: time.Hour}
		c := s.cache(sharing(&store{}), func(c *token.Cache) {
			c.TryLease = func(context.Context, string) (func(), bool, error) { return nil, true, nil }
		})
		s.mustCall(t, 1, c)
	})
}

// Another process stores a token after this process has called Load, and before it calls TryLease. The cache must use
// this token.
func TestTokenStoredBeforeTheLeaseIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := &service{lifetime: time.Hour}, &store{}
		fleet := s.fleet(2, st)
		st.onTryLease = func() {
			st.onTryLease = nil
			require.NoError(t, s.call(t.Context(), fleet[1]))
		}
		s.mustCall(t, 1, fleet[0])
		assert.EqualValues(t, 1, s.fetches.Load())
		assert.False(t, st.leased)
	})
}
