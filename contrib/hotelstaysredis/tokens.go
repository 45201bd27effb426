// The token store: all processes share one token, and only one process fetches it at a time.

package hotelstaysredis

import (
	"cmp"
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
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

// TokenStoreOptions are the settings of NewTokenStore.
type TokenStoreOptions struct {
	// Keys encrypt the tokens with AES-256. Each key has 32 random bytes, not hex or base64 text. The first
	// key encrypts, and all keys decrypt. To change a key, append the new key in all processes,
	// then move it to the front, then remove the old key.
	Keys []types.Secret
	// Prefix begins every key in Redis; "hotelstays" if empty.
	Prefix string
	// FetchLease is how long the other processes wait if a process dies while it fetches a token;
	// 5 s if 0. It must be at least 1 s. A live process renews its lease.
	FetchLease time.Duration
	// Logger, if set, receives a warning for each stored token that cannot be decrypted.
	Logger *slog.Logger
}

const (
	defaultFetchLease = 5 * time.Second
	minFetchLease     = time.Second
)

// TokenStore is a hotelstays.TokenLeaser. Each token is encrypted with AES-256-GCM. A token that is copied to
// another Redis key cannot be decrypted. The Redis key is a hash that does not reveal the credential. A TokenStore
// is safe for concurrent use.
type TokenStore struct {
	client  redis.UniversalClient
	prefix  string
	lease   time.Duration
	keyring *keyring.Ring
	log     *slog.Logger

	mu     sync.Mutex
	leases map[string]string // token key -> id of the lease that this store holds
}

var _ hotelstays.TokenLeaser = (*TokenStore)(nil)

// NewTokenStore returns a store that uses the Redis of client. It opens no connection. The error
// names every invalid option.
func NewTokenStore(client redis.UniversalClient, opts TokenStoreOptions) (*TokenStore, error) {
	ring, err := keyring.New(opts.Keys)
	problems := []error{checkClient(client), checkPrefix(opts.Prefix), err}
	lease := cmp.Or(opts.FetchLease, defaultFetchLease)
	if lease < minFetchLease {
		problems = append(problems, fmt.Errorf("FetchLease is %s; it must be at least %s", lease, minFetchLease))
	}
	if err := invalid("NewTokenStore", problems...); err != nil {
		return nil, err
	}
	return &TokenStore{client: client, prefix: cmp.Or(opts.Prefix, defaultPrefix), lease: lease, keyring: ring,
		log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler)), leases: make(map[string]string)}, nil
}

func (s *TokenStore) redisKeys(key string) (token, lease string) {
	hash := sha256.Sum256([]byte(key))
	tag := s.prefix + ":{" + hex.EncodeToString(hash[:16]) + "}"
	return tag + ":token", tag + ":fetch"
}

// run runs a script that replies 1 for true or 0 for false.
func (s *TokenStore) run(ctx context.Context, script *redis.Script, keys []string, args ...any) (bool, error) {
	return runScript(ctx, s.client, script, (*redis.Cmd).Bool, keys, args...)
}

// Load returns the token under key. Without a token it returns a zero Token. If the stored token cannot be
// decrypted, Load logs a warning that does not contain the token, and returns a zero Token. The next Store
// overwrites the stored token.
func (s *TokenStore) Load(ctx context.Context, key string) (hotelstays.Token, error) {
	redisKey, _ := s.redisKeys(key)
	_, token, err := s.read(ctx, redisKey)
	if err != nil {
		return hotelstays.Token{}, fmt.Errorf("hotelstaysredis: loading the token: %w", err)
	}
	return token, nil
}

// read returns the stored token, both encrypted (sealed) and decrypted. If there is no token, sealed is nil.
func (s *TokenStore) read(ctx context.Context, redisKey string) (sealed []byte, token hotelstays.Token, err error) {
	sealed, err = within(ctx, func(ctx context.Context) ([]byte, error) { return s.client.Get(ctx, redisKey).Bytes() })
	if errors.Is(err, redis.Nil) {
		return nil, hotelstays.Token{}, nil
	}
	if err != nil {
		return nil, hotelstays.Token{}, err
	}
	token, err = s.keyring.OpenToken(redisKey, sealed)
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "cannot decrypt a stored token, so a new one is fetched; do all processes have the same Keys?",
			slog.String("key", redisKey), slog.String("error", err.Error()))
	}
	return sealed, token, nil
}

// storeToken is a script that stores a token and returns 1. If the process has lost its lease, the script stores
// nothing and returns 0, because another process may have stored a newer token. KEYS: token, lease. ARGV: the encrypted
// token, its life in ms or 0, the id of the lease or an empty text.
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

// Store stores t encrypted under key, until its Expiry if it has one. A process that has lost its
// lease never overwrites another process's token.
func (s *TokenStore) Store(ctx context.Context, key string, t hotelstays.Token) error {
	if err := s.store(ctx, key, t); err != nil {
		return fmt.Errorf("hotelstaysredis: storing the token: %w", err)
	}
	return nil
}

func (s *TokenStore) store(ctx context.Context, key string, t hotelstays.Token) error {
	if t.Value.IsZero() {
		return errors.New("the token is empty")
	}
	var life time.Duration // 0 means that the token does not expire
	if !t.Expiry.IsZero() {
		if life = time.Until(t.Expiry).Truncate(time.Millisecond); life <= 0 {
			return errors.New("the token has expired already; check the clocks of the processes")
		}
	}
	redisKey, lease := s.redisKeys(key)
	sealed, err := s.keyring.SealToken(redisKey, t)
	if err != nil {
		return err
	}
	s.mu.Lock()
	leaseID := s.leases[key]
	s.mu.Unlock()
	stored, err := s.run(ctx, storeToken, []string{redisKey, lease}, sealed, life.Milliseconds(), leaseID)
	if err == nil && !stored {
		err = errors.New("the lease ended during the fetch, so this token was not stored; set a longer FetchLease if this repeats")
	}
	return err
}

var compareAndDelete = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0`)

// CompareAndDelete deletes the token under key, for the whole fleet, if it is the token in the parameter refused. If
// another process has stored a new token, the new token stays.
func (s *TokenStore) CompareAndDelete(ctx context.Context, key string, refused hotelstays.Token) error {
	redisKey, _ := s.redisKeys(key)
	sealed, token, err := s.read(ctx, redisKey)
	if err == nil && sealed != nil && token.Value.Equal(refused.Value) {
		_, err = s.run(ctx, compareAndDelete, []string{redisKey}, sealed)
	}
	if err != nil {
		return fmt.Errorf("hotelstaysredis: deleting the token: %w", err)
	}
	return nil
}

// leaseFetch is a script that takes the lease for fetching a token. It also succeeds if the same id already holds the
// lease, because go-redis sends a command again if the reply was lost.
var leaseFetch = redis.NewScript(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
	return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)

// TryLease gives the caller the lease for fetching the token under key. The result ok is false if another caller has
// the lease. The store renews the lease until release is called. The lease ends after FetchLease if the process dies or
// cannot reach Redis.
func (s *TokenStore) TryLease(ctx context.Context, key string) (release func(), ok bool, err error) {
	_, redisKey := s.redisKeys(key)
	leaseID := newID()
	granted, err := s.run(ctx, leaseFetch, []string{redisKey}, leaseID, s.lease.Milliseconds())
	if err != nil {
		return nil, false, fmt.Errorf("hotelstaysredis: leasing the fetch of a token: %w", err)
	}
	if !granted {
		return nil, false, nil
	}
	s.mu.Lock()
	s.leases[key] = leaseID
	s.mu.Unlock()
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var renewing sync.WaitGroup
	renewing.Go(func() { s.renew(ctx, redisKey, leaseID) })
	return func() {
		s.mu.Lock()
		if s.leases[key] == leaseID { // if the ids differ, this lease has ended, and another caller of this store has a new lease
			delete(s.leases, key)
		}
		s.mu.Unlock()
		stop()
		renewing.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = s.run(ctx, compareAndDelete, []string{redisKey}, leaseID) // if this fails, the lease ends after FetchLease
	}, true, nil
}

var renewLease = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`)

// renew extends a lease three times per FetchLease, until ctx ends.
func (s *TokenStore) renew(ctx context.Context, redisKey, leaseID string) {
	ticker := time.NewTicker(s.lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			once, cancel := context.WithTimeout(ctx, s.lease/3)
			_, _ = s.run(once, renewLease, []string{redisKey}, leaseID, s.lease.Milliseconds())
			cancel()
		}
	}
}
