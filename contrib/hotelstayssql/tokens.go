// The token store: all processes share one token, and only one process fetches it at a time.

package hotelstayssql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

// TokenStoreOptions are the settings of NewTokenStore.
type TokenStoreOptions struct {
	// Keys encrypt the tokens with AES-256. Each key has 32 random bytes, not hex or base64 text. The first key
	// encrypts, and all keys decrypt. To change a key, append the new key in all processes, then move it to the front,
	// then remove the old key.
	Keys []types.Secret
	// FetchLease is how long the other processes wait if a process dies while it fetches the token. Default: 5 s;
	// minimum: 1 s. A live process renews its lease.
	FetchLease time.Duration
	// Logger, if set, receives a warning for each stored token that cannot be decrypted.
	Logger *slog.Logger
}

const (
	defaultFetchLease = 5 * time.Second
	minFetchLease     = time.Second
)

// TokenStore is a hotelstays.TokenLeaser. Each token is encrypted with AES-256-GCM, and decrypts
// only in its own row. The key of the row is a hash, which does not show the credential. A TokenStore is safe
// for concurrent use.
type TokenStore struct {
	db      database
	lease   time.Duration
	keyring *keyring.Ring
	log     *slog.Logger

	mu     sync.Mutex
	leases map[string]int64 // token key -> number of the lease that this store holds
}

var _ hotelstays.TokenLeaser = (*TokenStore)(nil)

// NewTokenStore returns a store that uses the tables of Migrate. It opens no connection.
// Its error names every invalid option.
func NewTokenStore(db *sql.DB, dialect Dialect, opts TokenStoreOptions) (*TokenStore, error) {
	var p problems
	p.checkDatabase(db, dialect)
	s := &TokenStore{
		db:      database{db, dialect},
		lease:   opts.FetchLease,
		keyring: p.keyring(opts.Keys),
		log:     opts.Logger,
		leases:  make(map[string]int64),
	}
	switch {
	case s.lease == 0:
		s.lease = defaultFetchLease
	case s.lease < minFetchLease:
		p.add("FetchLease is %s; it must be at least %s", s.lease, minFetchLease)
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := p.err("NewTokenStore"); err != nil {
		return nil, err
	}
	return s, nil
}

// tokenRow returns the primary key for a token's row, which is a hash of key.
func tokenRow(key string) []byte {
	hash := sha256.Sum256([]byte(key))
	return hash[:]
}

// tokenPlace returns the name with which the token of a row is encrypted. A token that was copied to another row cannot
// be decrypted, because the name differs.
func tokenPlace(row []byte) string { return "hotelstays_tokens " + hex.EncodeToString(row) }

// Load returns the token under key, or the zero Token if no token is stored. If the stored token cannot be
// decrypted, Load logs a warning without the token, and returns the zero Token. The next Store
// overwrites the stored token.
func (s *TokenStore) Load(ctx context.Context, key string) (hotelstays.Token, error) {
	_, token, err := s.read(ctx, tokenRow(key))
	if err != nil {
		return hotelstays.Token{}, s.db.failed(err, "loading the token")
	}
	return token, nil
}

// read returns the stored token, both encrypted (sealed) and decrypted. If there is no token, sealed is nil.
func (s *TokenStore) read(ctx context.Context, row []byte) (sealed []byte, token hotelstays.Token, err error) {
	err = s.db.QueryRowContext(ctx, s.db.dialect.sql(`SELECT sealed FROM hotelstays_tokens
		WHERE token_key = ? AND sealed IS NOT NULL AND (expires_at = 0 OR expires_at > {now})`), row).Scan(&sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, hotelstays.Token{}, nil
	}
	if err != nil {
		return nil, hotelstays.Token{}, err
	}
	token, err = s.keyring.OpenToken(tokenPlace(row), sealed)
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "cannot decrypt a stored token, so a new one is fetched; do all processes have the same Keys?",
			slog.String("token_key", hex.EncodeToString(row)), slog.String("error", err.Error()))
	}
	return sealed, token, nil
}

// Store encrypts t and stores it under key, until its Expiry if it has one. A process whose lease has ended
// never overwrites the token of the process that got the next lease.
func (s *TokenStore) Store(ctx context.Context, key string, t hotelstays.Token) error {
	if err := s.store(ctx, key, t); err != nil {
		return s.db.failed(err, "storing the token")
	}
	return nil
}

func (s *TokenStore) store(ctx context.Context, key string, t hotelstays.Token) error {
	if t.Value.IsZero() {
		return errors.New("the token is empty")
	}
	expires, life := "0", []any(nil)
	if !t.Expiry.IsZero() {
		left := time.Until(t.Expiry)
		if left < time.Microsecond {
			return errors.New("the token has expired; compare the clocks of the processes")
		}
		expires, life = "{now} + ?", []any{left.Microseconds()} // counted on the database's clock
	}
	row := tokenRow(key)
	sealed, err := s.keyring.SealToken(tokenPlace(row), t)
	if err != nil {
		return err
	}
	s.mu.Lock()
	lease := s.leases[key]
	s.mu.Unlock()
	if lease == 0 {
		_, err := s.db.exec(ctx, `INSERT INTO hotelstays_tokens (token_key, lease, lease_until, sealed, expires_at)
			VALUES (?, 0, 0, ?, `+expires+`)
			{conflict token_key} sealed = {new sealed}, expires_at = {new expires_at}`, append([]any{row, sealed}, life...)...)
		return err
	}
	ok, err := s.db.exec(ctx, `UPDATE hotelstays_tokens SET sealed = ?, expires_at = `+expires+` WHERE token_key = ? AND lease = ?`,
		append(append([]any{sealed}, life...), row, lease)...)
	if err == nil && !ok {
		err = errors.New("another process took the lease during the fetch, so this token was not stored; set a longer FetchLease if this repeats")
	}
	return err
}

// CompareAndDelete deletes the token under key for the whole fleet, if it is the refused token. A newer token, which
// another process stores meanwhile, stays.
func (s *TokenStore) CompareAndDelete(ctx context.Context, key string, refused hotelstays.Token) error {
	row := tokenRow(key)
	sealed, token, err := s.read(ctx, row)
	if err == nil && sealed != nil && token.Value.Equal(refused.Value) {
		_, err = s.db.exec(ctx, `UPDATE hotelstays_tokens SET sealed = NULL, expires_at = 0 WHERE token_key = ? AND sealed = ?`, row, sealed)
	}
	if err != nil {
		return s.db.failed(err, "deleting the token")
	}
	return nil
}

// TryLease gives the caller the lease for fetching the token under key. The result ok is false if another caller has
// the lease. The store renews the lease until release is called. The lease ends after FetchLease if the process dies or
// loses the database.
func (s *TokenStore) TryLease(ctx context.Context, key string) (release func(), ok bool, err error) {
	row, lease := tokenRow(key), newID()
	ok, err = s.acquire(ctx, row, lease)
	if err != nil {
		return nil, false, s.db.failed(err, "leasing the fetch of a token")
	}
	if !ok {
		return nil, false, nil
	}
	s.mu.Lock()
	s.leases[key] = lease
	s.mu.Unlock()
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		s.renew(ctx, row, lease)
	}()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		if s.leases[key] == lease { // if the numbers differ, this lease has ended, and another caller has a new lease
			delete(s.leases, key)
		}
		s.mu.Unlock()
		stop()
		<-renewing
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		// If this update fails, the lease ends when its time is over.
		_, _ = s.db.exec(ctx, `UPDATE hotelstays_tokens SET lease_until = 0 WHERE token_key = ? AND lease = ?`, row, lease)
	}), true, nil
}

// acquire takes the lease if it is free or has ended. It reports whether the caller now has the lease.
func (s *TokenStore) acquire(ctx context.Context, row []byte, lease int64) (bool, error) {
	var holder int64
	err := s.db.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := s.db.dialect.exec(ctx, tx, `INSERT INTO hotelstays_tokens (token_key, expires_at, lease, lease_until)
			VALUES (?, 0, ?, {now} + ?)
			{conflict token_key} `+replaced("hotelstays_tokens", "lease_until <= {now}", "lease", "lease_until"),
			row, lease, s.lease.Microseconds()); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, s.db.dialect.sql(`SELECT lease FROM hotelstays_tokens WHERE token_key = ?`), row).Scan(&holder)
	})
	return holder == lease, err
}

// renew extends a lease three times per FetchLease, until ctx ends.
func (s *TokenStore) renew(ctx context.Context, row []byte, lease int64) {
	ticker := time.NewTicker(s.lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			limited, cancel := context.WithTimeout(ctx, s.lease/3)
			_, _ = s.db.exec(limited, `UPDATE hotelstays_tokens SET lease_until = {now} + ? WHERE token_key = ? AND lease = ?`,
				s.lease.Microseconds(), row, lease)
			cancel()
		}
	}
}
