package hotelstaysredis

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
	"github.com/hotelstays/hotelstays-go/types"
)

const tokenKey = "https://host.example a-hash"

var (
	oldKey = types.NewSecret("an old key of thirty-two bytes..")
	newKey = types.NewSecret("a new key of thirty-two bytes...")
)

func withTokens(t *testing.T, test func(t *testing.T, m *mini, l *link, s *TokenStore)) {
	synctest.Test(t, func(t *testing.T) {
		m := newMini(t)
		l := m.connect(t)
		test(t, m, l, newTokens(t, l, TokenStoreOptions{}))
	})
}

func newTokens(t *testing.T, client redis.UniversalClient, opts TokenStoreOptions) *TokenStore {
	t.Helper()
	if opts.Keys == nil {
		opts.Keys = []types.Secret{oldKey}
	}
	s, err := NewTokenStore(client, opts)
	require.NoError(t, err)
	return s
}

func mustLoad(t *testing.T, s *TokenStore) hotelstays.Token {
	t.Helper()
	token, err := s.Load(t.Context(), tokenKey)
	require.NoError(t, err)
	return token
}

func mustStore(t *testing.T, s *TokenStore, value types.Secret) {
	t.Helper()
	require.NoError(t, s.Store(t.Context(), tokenKey, hotelstays.Token{Value: value, Expiry: time.Now().Add(time.Hour)}))
}

func mustLease(t *testing.T, s *TokenStore) (release func()) {
	t.Helper()
	release, ok, err := s.TryLease(t.Context(), tokenKey)
	require.NoError(t, err)
	require.True(t, ok)
	return release
}

func TestTokenStorePassesTheSuiteOfStoretest(t *testing.T) {
	storetest.TestTokenLeaser(t, func(t *testing.T) storetest.Fleet[hotelstays.TokenLeaser] {
		return miniFleet(t, func(client *redis.Client) hotelstays.TokenLeaser {
			return newTokens(t, client, TokenStoreOptions{})
		})
	}, &storetest.Options{InBubble: true})
}

// A token that is copied to a key with another prefix cannot be decrypted.
func TestStoresWithDifferentPrefixesShareNoTokens(t *testing.T) {
	withTokens(t, func(t *testing.T, m *mini, l *link, s *TokenStore) {
		mustStore(t, s, types.NewSecret("token"))
		test := newTokens(t, l, TokenStoreOptions{Prefix: "test"})
		assert.Zero(t, mustLoad(t, test))
		stored, _ := s.redisKeys(tokenKey)
		elsewhere, _ := test.redisKeys(tokenKey)
		value, err := m.Get(stored)
		require.NoError(t, err)
		require.NoError(t, m.Set(elsewhere, value))
		assert.Zero(t, mustLoad(t, test))
		m.Del(elsewhere)
		time.Sleep(time.Hour)
		m.tick()
		assert.Empty(t, m.Keys(), "Redis deletes a token when it expires")
	})
}

// A printed store contains no secret and no host.
func TestKeysAndValuesInRedisContainNoSecret(t *testing.T) {
	withTokens(t, func(t *testing.T, m *mini, l *link, s *TokenStore) {
		mustStore(t, s, types.NewSecret("the-secret-token"))
		release := mustLease(t, s)
		newProcess(t, l, RateLimiterOptions{}).take(t, key, 1)
		dump := m.Dump()
		release()
		for _, part := range []string{":token", ":fetch", ":slots:"} {
			assert.Contains(t, dump, part)
		}
		for _, secret := range []string{"the-secret-token", "secret-token", "the-app-key", "ticket", "host.example", oldKey.Reveal()} {
			assert.NotContains(t, dump, secret)
		}
		idle := newTokens(t, new(redis.Client), TokenStoreOptions{})
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			assert.NotContains(t, fmt.Sprintf(format, idle), oldKey.Reveal())
			assert.NotContains(t, fmt.Sprintf(format, TokenStoreOptions{Keys: []types.Secret{oldKey}}), oldKey.Reveal())
		}
		time.Sleep(time.Minute) // until the limiter has nothing more to report
	})
}

// If a token cannot be decrypted, it counts as missing, the store logs a warning, and the next Store overwrites it.
func TestTokenIsReadableOnlyWhileItsEncryptionKeyIsInKeys(t *testing.T) {
	withTokens(t, func(t *testing.T, _ *mini, l *link, _ *TokenStore) {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		first := newTokens(t, l, TokenStoreOptions{Logger: logger})
		turned := newTokens(t, l, TokenStoreOptions{Keys: []types.Secret{newKey, oldKey}, Logger: logger})
		mustStore(t, first, types.NewSecret("sealed with the old key"))
		assert.NotZero(t, mustLoad(t, turned))
		assert.Empty(t, log.String())
		mustStore(t, turned, types.NewSecret("sealed with the new key"))
		assert.Zero(t, mustLoad(t, first))
		assert.Contains(t, log.String(), "cannot decrypt")
		for _, secret := range []string{oldKey.Reveal(), newKey.Reveal(), "sealed with"} {
			assert.NotContains(t, log.String(), secret)
		}
		mustStore(t, first, types.NewSecret("the next"))
		assert.NotZero(t, mustLoad(t, first))
	})
}

func TestTokenStoreFailsWithoutRedis(t *testing.T) {
	withTokens(t, func(t *testing.T, _ *mini, l *link, s *TokenStore) {
		calls := map[string]func(context.Context) error{
			"loading": func(ctx context.Context) error { _, err := s.Load(ctx, tokenKey); return err },
			"storing": func(ctx context.Context) error {
				return s.Store(ctx, tokenKey, hotelstays.Token{Value: types.NewSecret("token")})
			},
			"deleting": func(ctx context.Context) error {
				return s.CompareAndDelete(ctx, tokenKey, hotelstays.Token{Value: types.NewSecret("token")})
			},
			"leasing": func(ctx context.Context) error { _, _, err := s.TryLease(ctx, tokenKey); return err },
		}
		l.down.Store(true)
		for what, call := range calls {
			err := call(t.Context())
			assert.ErrorIs(t, err, errLost)
			assert.ErrorContains(t, err, "hotelstaysredis: "+what)
		}
	})
}

func TestTokenStoreRefusesInvalidOptions(t *testing.T) {
	_, err := NewTokenStore((*redis.Client)(nil), TokenStoreOptions{
		Keys: []types.Secret{oldKey, types.NewSecret("short-key")}, Prefix: "}", FetchLease: time.Millisecond})
	require.Error(t, err)
	for _, fault := range []string{"the client is nil", "keys[1] has 9 bytes; pass 32 random bytes", `"}"`, "FetchLease is 1ms"} {
		assert.ErrorContains(t, err, fault)
	}
	assert.NotContains(t, err.Error(), "short-key")
	s := newTokens(t, new(redis.Client), TokenStoreOptions{})
	assert.ErrorContains(t, s.Store(t.Context(), tokenKey, hotelstays.Token{}), "empty")
	late := hotelstays.Token{Value: types.NewSecret("late"), Expiry: time.Now()}
	assert.ErrorContains(t, s.Store(t.Context(), tokenKey, late), "the token has expired")
}

// A process is frozen while it fetches a token, and stores the token late.
func TestLateTokenNeverReplacesANewerToken(t *testing.T) {
	older, newer := types.NewSecret("older"), types.NewSecret("newer")
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, other *TokenStore)
		stays     types.Secret
	}{
		"another process has fetched": {func(t *testing.T, other *TokenStore) {
			release := mustLease(t, other)
			mustStore(t, other, newer)
			release()
		}, newer},
		"another process fetches":  {func(t *testing.T, other *TokenStore) { time.AfterFunc(time.Minute, mustLease(t, other)) }, types.Secret{}},
		"no other process fetches": {func(*testing.T, *TokenStore) {}, older},
	} {
		t.Run(name, func(t *testing.T) {
			withTokens(t, func(t *testing.T, m *mini, l *link, s *TokenStore) {
				release := mustLease(t, s)
				l.down.Store(true)
				time.Sleep(defaultFetchLease)
				c.meanwhile(t, newTokens(t, m.connect(t), TokenStoreOptions{}))
				l.down.Store(false)
				err := s.Store(t.Context(), tokenKey, hotelstays.Token{Value: older})
				assert.Equal(t, c.stays, mustLoad(t, s).Value)
				if c.stays.Equal(older) {
					assert.NoError(t, err)
				} else {
					assert.ErrorContains(t, err, "the lease ended during the fetch")
				}
				release()
				time.Sleep(time.Hour)
				mustStore(t, s, types.NewSecret("without a lease"))
				assert.Equal(t, types.NewSecret("without a lease"), mustLoad(t, s).Value)
			})
		})
	}
}

// The first lease has ended before its release, and the same store already has another lease.
func TestLateReleaseKeepsTheNextLease(t *testing.T) {
	withTokens(t, func(t *testing.T, m *mini, l *link, s *TokenStore) {
		away := func() {
			l.down.Store(true)
			time.Sleep(defaultFetchLease)
			m.tick()
		}
		earlier := mustLease(t, s)
		away()
		l.down.Store(false)
		later := mustLease(t, s)
		earlier()
		away()
		mustStore(t, newTokens(t, m.connect(t), TokenStoreOptions{}), types.NewSecret("newer"))
		l.down.Store(false)
		assert.ErrorContains(t, s.Store(t.Context(), tokenKey, hotelstays.Token{Value: types.NewSecret("older")}), "the lease ended")
		later()
	})
}

// late is a ctx whose deadline has passed although its timer has not fired, as after a freeze of the process.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-ms), true }

// A process was frozen during TryLease. Its lease may have ended, and another process may have a new lease.
func TestTryLeaseReturnsNoLeaseAfterAFreezeOfTheProcess(t *testing.T) {
	withTokens(t, func(t *testing.T, _ *mini, _ *link, s *TokenStore) {
		_, ok, err := s.TryLease(late{t.Context()}, tokenKey)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.False(t, ok)
	})
}
