// The token store: one token for a fleet, fetched by one process at a time.

package hotelstaysredis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// TokenStoreOptions are the settings of NewTokenStore.
type TokenStoreOptions struct {
	// Keys encrypt the tokens: AES-256, 32 random bytes each. The first encrypts,
	// all decrypt. To change a key, first add the new one at the end everywhere, then
	// put it first, then take the old one away.
	Keys []types.Secret
	// Prefix begins every key in Redis; "hotelstays" if empty.
	Prefix string
	// FetchLease is how long the fleet waits for a process that died while it
	// fetched; 5 s if 0, and at least 1 s. A process that lives renews it.
	FetchLease time.Duration
	// Log is told of stored tokens that cannot be decrypted; nil: nobody is.
	Log *slog.Logger
}

const (
	defaultFetchLease = 5 * time.Second
	minFetchLease     = time.Second
)

// TokenStore is a hotelstays.TokenLeaser. Tokens are encrypted with AES-256-GCM and
// bound to their key in Redis, whose name is a hash and shows nothing of the
// credential. It is safe for concurrent use.
type TokenStore struct {
	client redis.UniversalClient
	prefix string
	lease  time.Duration
	seals  seals
	log    *slog.Logger

	mu      sync.Mutex
	fetches map[string]string // token key -> name of the lease that this store holds
}

var _ hotelstays.TokenLeaser = (*TokenStore)(nil)

// NewTokenStore returns a store in the Redis that client reaches. It connects to
// nothing. Its error names every option that cannot work.
func NewTokenStore(client redis.UniversalClient, opts TokenStoreOptions) (*TokenStore, error) {
	var f faults
	f.client(client)
	s := &TokenStore{client: client, prefix: f.prefix(opts.Prefix), lease: opts.FetchLease, seals: newSeals(opts.Keys, &f), log: opts.Log, fetches: make(map[string]string)}
	switch {
	case s.lease == 0:
		s.lease = defaultFetchLease
	case s.lease < minFetchLease:
		f.add("FetchLease is %s; it must be at least %s", s.lease, minFetchLease)
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := f.err("NewTokenStore"); err != nil {
		return nil, err
	}
	return s, nil
}

// places returns the keys in Redis that belong to a token: its own, and that of
// the lease to fetch it.
func (s *TokenStore) places(key string) (token, lease string) {
	hash := sha256.Sum256([]byte(key))
	tag := s.prefix + ":{" + hex.EncodeToString(hash[:16]) + "}"
	return tag + ":token", tag + ":fetch"
}

// Load returns the token under key, or a zero Token where there is none. One that
// cannot be decrypted counts as none, and is logged: the next that is fetched
// takes its place.
func (s *TokenStore) Load(ctx context.Context, key string) (hotelstays.Token, error) {
	place, _ := s.places(key)
	_, token, err := s.read(ctx, place)
	if err != nil {
		return hotelstays.Token{}, fmt.Errorf("hotelstaysredis: loading the token: %w", err)
	}
	return token, nil
}

// read returns what lies at a place, sealed and opened.
func (s *TokenStore) read(ctx context.Context, place string) (sealed []byte, token hotelstays.Token, err error) {
	sealed, err = within(ctx, func(ctx context.Context) ([]byte, error) { return s.client.Get(ctx, place).Bytes() })
	if errors.Is(err, redis.Nil) {
		return nil, hotelstays.Token{}, nil
	}
	if err != nil {
		return nil, hotelstays.Token{}, err
	}
	token, err = s.seals.open(place, sealed)
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "a stored token cannot be decrypted, and counts as absent; do all processes have the same keys?",
			slog.String("key", place), slog.String("error", err.Error()))
	}
	return sealed, token, nil
}

// storeToken stores a token, and returns 0 where its fetch has lost the lease meanwhile:
// then another may have fetched a newer one.
// KEYS: token, lease. ARGV: the sealed token, the ms that it lives or 0, the lease's name
// or nothing.
var storeToken = redis.NewScript(`
local holder = redis.call('GET', KEYS[2])
if ARGV[3] ~= '' and holder ~= ARGV[3] and (holder or redis.call('EXISTS', KEYS[1]) == 1) then
	return 0
end
if ARGV[2] == '0' then
	redis.call('SET', KEYS[1], ARGV[1])
else
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return 1`)

// Store keeps t under key: encrypted, and until its Expiry where it has one. A process
// that has lost its lease while it fetched stores nothing over the token of another.
func (s *TokenStore) Store(ctx context.Context, key string, t hotelstays.Token) error {
	if t.Value.IsZero() {
		return errors.New("hotelstaysredis: storing the token: it is empty")
	}
	var left time.Duration // 0: for ever
	if !t.Expiry.IsZero() {
		if left = time.Until(t.Expiry).Truncate(time.Millisecond); left <= 0 {
			return errors.New("hotelstaysredis: storing the token: its end is past; compare the clocks of the processes")
		}
	}
	place, lease := s.places(key)
	s.mu.Lock()
	holder := s.fetches[key]
	s.mu.Unlock()
	sealed, err := s.seals.seal(place, t)
	var stored any
	if err == nil {
		stored, err = script(ctx, s.client, storeToken, []string{place, lease}, sealed, left.Milliseconds(), holder)
	}
	if err == nil && stored != int64(1) {
		err = errors.New("its lease ended while it was fetched, and another process may have stored a newer one, which stays; is FetchLease too short?")
	}
	if err != nil {
		return fmt.Errorf("hotelstaysredis: storing the token: %w", err)
	}
	return nil
}

// deleteSame deletes a key if its value still is the given one.
var deleteSame = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0`)

// CompareAndDelete deletes the token under key if it is the refused one, for the whole
// fleet. A successor that another process stores meanwhile stays.
func (s *TokenStore) CompareAndDelete(ctx context.Context, key string, refused hotelstays.Token) error {
	place, _ := s.places(key)
	sealed, token, err := s.read(ctx, place)
	if err == nil && sealed != nil && token.Value.Equal(refused.Value) {
		_, err = script(ctx, s.client, deleteSame, []string{place}, sealed)
	}
	if err != nil {
		return fmt.Errorf("hotelstaysredis: deleting the token: %w", err)
	}
	return nil
}

// leaseFetch knows its own name: a client may send a command again whose answer was
// lost.
var leaseFetch = redis.NewScript(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
	return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)

// TryLease makes the caller the one process that fetches the token under key. ok is false
// if another process has the lease. The lease is renewed until release is called. It ends
// by itself after FetchLease if the process dies or loses Redis.
func (s *TokenStore) TryLease(ctx context.Context, key string) (release func(), ok bool, err error) {
	_, place := s.places(key)
	holder := newName()
	granted, err := script(ctx, s.client, leaseFetch, []string{place}, holder, s.lease.Milliseconds())
	if err != nil {
		return nil, false, fmt.Errorf("hotelstaysredis: leasing the fetch of a token: %w", err)
	}
	if granted != int64(1) {
		return nil, false, nil
	}
	s.mu.Lock()
	s.fetches[key] = holder
	s.mu.Unlock()
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		s.renew(ctx, place, holder)
	}()
	return func() {
		s.mu.Lock()
		if s.fetches[key] == holder { // else its lease ended, and another caller has one
			delete(s.fetches, key)
		}
		s.mu.Unlock()
		stop()
		<-renewing
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = script(ctx, s.client, deleteSame, []string{place}, holder) // else it ends by itself
	}, true, nil
}

var renewLease = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`)

// renew keeps a lease alive until ctx ends.
func (s *TokenStore) renew(ctx context.Context, place, holder string) {
	ticker := time.NewTicker(s.lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			once, cancel := context.WithTimeout(ctx, s.lease/3)
			_, _ = script(once, s.client, renewLease, []string{place}, holder, s.lease.Milliseconds())
			cancel()
		}
	}
}
