// Package keyring encrypts what a store keeps: tokens, and the requests of bookings that wait.
// contrib/hotelstaysredis, contrib/hotelstayssql and contrib/hotelstaysriver use it; use it for a store of your own.
package keyring

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	keySize   = 32 // AES-256
	keyIDSize = 4
	// sealVersion is the first byte of everything sealed. The key's id and a nonce follow.
	sealVersion = 1
)

var (
	errDamaged = errors.New("it does not decrypt: it is damaged, or was moved from another place")
	errNoKey   = errors.New("the ring has no key; create it with keyring.New")
)

// Ring encrypts with its first key and decrypts with any. It is safe for concurrent use.
type Ring struct{ keys []ringKey }

type ringKey struct {
	id [keyIDSize]byte // says which key is missing, and nothing about it
	cipher.AEAD
}

// New returns a ring of AES-256 keys: at least one of 32 random bytes, not hex or base64 text.
// To change a key, append the new one in all processes, then move it to the front, then remove
// the old one. The error names every invalid key, and the ring is then nil.
func New(keys []types.Secret) (*Ring, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("keys is empty; it must hold at least one key of %d bytes", keySize)
	}
	r := &Ring{}
	var problems []error
	for i, key := range keys {
		if len(key.Reveal()) != keySize {
			problems = append(problems, fmt.Errorf("keys[%d] has %d bytes; it must have %d", i, len(key.Reveal()), keySize))
			continue
		}
		block, _ := aes.NewCipher([]byte(key.Reveal())) // its only error is the size of the key
		gcm, err := cipher.NewGCM(block)
		if err != nil { // as in FIPS mode
			problems = append(problems, fmt.Errorf("keys[%d]: %w", i, err))
			continue
		}
		hash := sha256.Sum256([]byte("hotelstays key id" + key.Reveal()))
		r.keys = append(r.keys, ringKey{[keyIDSize]byte(hash[:]), gcm})
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	return r, nil
}

// Seal encrypts plain for one place, such as a column of a row: it does not decrypt anywhere
// else. The error says that the ring has no key, because New did not make it.
func (r *Ring) Seal(place string, plain []byte) ([]byte, error) {
	if r == nil || len(r.keys) == 0 {
		return nil, errNoKey
	}
	key := r.keys[0]
	head := append([]byte{sealVersion}, key.id[:]...)
	nonce := make([]byte, key.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return key.AEAD.Seal(append(head, nonce...), nonce, plain, append(head, place...)), nil
}

// Open decrypts what Seal has encrypted for a place. The error says whether a key is missing.
func (r *Ring) Open(place string, sealed []byte) ([]byte, error) {
	if r == nil {
		return nil, errNoKey
	}
	const headSize = 1 + keyIDSize
	if len(sealed) < headSize || sealed[0] != sealVersion {
		return nil, errDamaged
	}
	head, rest := sealed[:headSize:headSize], sealed[headSize:]
	for _, key := range r.keys {
		if key.id != [keyIDSize]byte(head[1:]) || len(rest) < key.NonceSize() {
			continue
		}
		plain, err := key.AEAD.Open(nil, rest[:key.NonceSize()], rest[key.NonceSize():], append(head, place...))
		if err != nil {
			return nil, errDamaged
		}
		return plain, nil
	}
	return nil, fmt.Errorf("it was encrypted with key %x, which is not in Keys; give all processes the same Keys", head[1:])
}

// token is the plain text of a sealed token.
type token struct {
	Token  string    `json:"token"`
	Expiry time.Time `json:"expiry,omitzero"`
}

// SealToken encrypts a token for one place.
func (r *Ring) SealToken(place string, t hotelstays.Token) ([]byte, error) {
	plain, err := json.Marshal(token{t.Value.Reveal(), t.Expiry.Round(0)})
	if err != nil {
		return nil, err
	}
	return r.Seal(place, plain)
}

// OpenToken decrypts what SealToken has encrypted for a place.
func (r *Ring) OpenToken(place string, sealed []byte) (hotelstays.Token, error) {
	plain, err := r.Open(place, sealed)
	var t token
	if err == nil && json.Unmarshal(plain, &t) != nil {
		err = errors.New("it decrypts, but holds no token")
	}
	if err != nil {
		return hotelstays.Token{}, err
	}
	return hotelstays.Token{Value: types.NewSecret(t.Token), Expiry: t.Expiry}, nil
}
