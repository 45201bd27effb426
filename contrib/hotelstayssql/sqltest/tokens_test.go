package sqltest

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
	"github.com/hotelstays/hotelstays-go/types"
)

var key = types.NewSecret("a key of thirty-two bytes.......")

func TestTokenStorePassesTheSuite(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		storetest.TestTokenLeaser(t, func(t *testing.T) storetest.Fleet[hotelstays.TokenLeaser] {
			return fleetOf(t, db, func(db *database) hotelstays.TokenLeaser { return newTokens(t, db) },
				"hotelstays_tokens", "expires_at", "lease_until")
		}, nil)
	})
}

const tokenKey = "https://host.example a-hash"

func newTokens(t *testing.T, db *database, change ...func(*hotelstayssql.TokenStoreOptions)) *hotelstayssql.TokenStore {
	t.Helper()
	opts := hotelstayssql.TokenStoreOptions{Keys: []types.Secret{key}}
	for _, c := range change {
		c(&opts)
	}
	s, err := hotelstayssql.NewTokenStore(db.DB, db.dialect, opts)
	require.NoError(t, err)
	return s
}

func mustLoad(t *testing.T, s *hotelstayssql.TokenStore) hotelstays.Token {
	t.Helper()
	token, err := s.Load(t.Context(), tokenKey)
	require.NoError(t, err)
	return token
}

func mustStore(t *testing.T, s *hotelstayssql.TokenStore, value string) {
	t.Helper()
	require.NoError(t, s.Store(t.Context(), tokenKey, hotelstays.Token{Value: types.NewSecret(value), Expiry: time.Now().Add(time.Hour)}))
}

func TestStoreReplacesTheExpiryOfTheEarlierToken(t *testing.T) {
	db := inDatabase(t)
	s := newTokens(t, db)
	mustStore(t, s, "an hour")
	require.NoError(t, s.Store(t.Context(), tokenKey, hotelstays.Token{Value: types.NewSecret("a day"), Expiry: time.Now().Add(24 * time.Hour)}))
	db.pass(t, "hotelstays_tokens", "expires_at", 23*time.Hour)
	assert.Equal(t, "a day", mustLoad(t, s).Value.Reveal())
}

// Another process has taken the lease. If the first process renewed the lease, the lease would continue after the other
// process has died.
func TestLostLeaseIsNotRenewed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *process) {
		release, _, err := newTokens(t, p.db).TryLease(t.Context(), tokenKey)
		require.NoError(t, err)
		p.db.exec(t, `UPDATE hotelstays_tokens SET lease = lease + 1, lease_until = 1`)
		time.Sleep(time.Minute)
		release()
		assert.EqualValues(t, 1, p.db.number(t, `SELECT lease_until FROM hotelstays_tokens`))
	})
}

// A token that cannot be decrypted counts as missing. Load logs a warning, and the next Store overwrites the token.
func TestTokenIsReadableOnlyWhileItsEncryptionKeyIsInKeys(t *testing.T) {
	db := inDatabase(t)
	var log bytes.Buffer
	with := func(keys ...types.Secret) *hotelstayssql.TokenStore {
		return newTokens(t, db, func(o *hotelstayssql.TokenStoreOptions) {
			o.Keys, o.Logger = keys, slog.New(slog.NewTextHandler(&log, nil))
		})
	}
	newKey := types.NewSecret("a new key of thirty-two bytes...")
	first, both := with(key), with(newKey, key)
	mustStore(t, first, "sealed with the old key")
	assert.Equal(t, "sealed with the old key", mustLoad(t, both).Value.Reveal())
	assert.Empty(t, log.String())
	mustStore(t, both, "sealed with the new key")
	assert.Zero(t, mustLoad(t, first))
	assert.Regexp(t, `cannot decrypt.*it needs key [0-9a-f]{8}, which is not in Keys`, log.String())
	for _, secret := range []string{key.Reveal(), newKey.Reveal(), "sealed with"} {
		assert.NotContains(t, log.String(), secret)
	}
	mustStore(t, first, "the next one")
	assert.NotZero(t, mustLoad(t, first))
}

// The lease ends before its holder stores the token. The holder may even have another lease by then.
func TestLateTokenNeverReplacesANewerToken(t *testing.T) {
	db := inDatabase(t)
	s, other := newTokens(t, db), newTokens(t, db)
	lease := func(s *hotelstayssql.TokenStore) (release func()) {
		start := time.Now()
		release, ok, err := s.TryLease(t.Context(), tokenKey)
		require.NoError(t, err)
		require.True(t, ok)
		assert.Greater(t, db.number(t, `SELECT lease_until FROM hotelstays_tokens`), start.Add(4*time.Second).UnixMicro(), "5 s, the default")
		db.pass(t, "hotelstays_tokens", "lease_until", 6*time.Second)
		return release
	}
	release := lease(s)
	mustStore(t, s, "no other process took the lease")
	assert.Equal(t, "no other process took the lease", mustLoad(t, s).Value.Reveal())
	release()
	release()

	first, second := lease(s), lease(s)
	first()
	third := lease(other)
	mustStore(t, other, "newer")
	third()
	assert.ErrorContains(t, s.Store(t.Context(), tokenKey, hotelstays.Token{Value: types.NewSecret("older")}), "another process took the lease")
	assert.Equal(t, "newer", mustLoad(t, other).Value.Reveal())
	second()
	mustStore(t, s, "without a lease")
	assert.Equal(t, "without a lease", mustLoad(t, other).Value.Reveal())
}

// A token that was copied to the row of another key cannot be decrypted.
func TestTokenRowShowsNoSecretAndDecryptsOnlyInItsPlace(t *testing.T) {
	db := inDatabase(t)
	s := newTokens(t, db)
	mustStore(t, s, "the-secret-token")
	var row, sealed []byte
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT token_key, sealed FROM hotelstays_tokens").Scan(&row, &sealed))
	for _, secret := range []string{"secret-token", "the-app-key", "host.example", key.Reveal()} {
		assert.NotContains(t, string(row)+string(sealed), secret)
		assert.NotContains(t, fmt.Sprintf("%v %+v", s, s), secret)
	}
	require.NoError(t, s.Store(t.Context(), "another key", hotelstays.Token{Value: types.NewSecret("the-other")}))
	db.exec(t, "UPDATE hotelstays_tokens SET sealed = ?", sealed)
	token, err := s.Load(t.Context(), "another key")
	require.NoError(t, err)
	assert.Zero(t, token)
}
