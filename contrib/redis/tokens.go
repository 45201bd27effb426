// The token store: one token for a fleet, fetched by one process at a time.

package hotelstaysredis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
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
}

var _ hotelstays.TokenLeaser = (*TokenStore)(nil)

// NewTokenStore returns a store in the Redis that client reaches. It connects to
// nothing. Its error names every option that cannot work.
func NewTokenStore(client redis.UniversalClient, opts TokenStoreOptions) (*TokenStore, error) {
	var f faults
	f.client(client)
	s := &TokenStore{client: client, prefix: f.prefix(opts.Prefix), lease: opts.FetchLease, seals: newSeals(opts.Keys, &f), log: opts.Log}
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

// Store keeps t under key: encrypted, and until its Expiry where it has one.
func (s *TokenStore) Store(ctx context.Context, key string, t hotelstays.Token) error {
	if t.Value == "" {
		return errors.New("hotelstaysredis: storing the token: it is empty")
	}
	var left time.Duration // 0: for ever
	if !t.Expiry.IsZero() {
		if left = time.Until(t.Expiry).Truncate(time.Millisecond); left <= 0 {
			return errors.New("hotelstaysredis: storing the token: its end is past; compare the clocks of the processes")
		}
	}
	place, _ := s.places(key)
	sealed, err := s.seals.seal(place, t)
	if err == nil {
		_, err = within(ctx, func(ctx context.Context) (string, error) { return s.client.Set(ctx, place, sealed, left).Result() })
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

// Drop forgets the token under key if it is the refused one, for the whole fleet.
// A successor that comes at the same moment stays.
func (s *TokenStore) Drop(ctx context.Context, key string, refused hotelstays.Token) error {
	place, _ := s.places(key)
	sealed, token, err := s.read(ctx, place)
	if err == nil && sealed != nil && token.Value == refused.Value {
		_, err = script(ctx, s.client, deleteSame, []string{place}, sealed)
	}
	if err != nil {
		return fmt.Errorf("hotelstaysredis: dropping the token: %w", err)
	}
	return nil
}

// Lease makes the caller the one process that fetches the token under key, or
// returns nil while another is. The lease is renewed until release is called, and
// ends by itself, after FetchLease, when the process dies or loses Redis.
func (s *TokenStore) Lease(ctx context.Context, key string) (release func(), err error) {
	_, place := s.places(key)
	holder := newName()
	granted, err := within(ctx, func(ctx context.Context) (bool, error) {
		return s.client.SetNX(ctx, place, holder, s.lease).Result()
	})
	if err != nil {
		return nil, fmt.Errorf("hotelstaysredis: leasing the fetch of a token: %w", err)
	}
	if !granted {
		return nil, nil
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		s.renew(ctx, place, holder)
	}()
	return func() {
		stop()
		<-renewing
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = script(ctx, s.client, deleteSame, []string{place}, holder) // else it ends by itself
	}, nil
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
