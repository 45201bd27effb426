// Package keyring encrypts the secrets in a store: tokens, and the requests of waiting bookings.
// contrib/hotelstaysredis, contrib/hotelstayssql and contrib/hotelstaysriver use it; use it in your own store.
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
	// sealVersion is the first byte of sealed data. The key's id and a nonce follow.
	sealVersion = 1
)

var (
	errDamaged = errors.New("cannot decrypt the data: it was changed, or was sealed for another place; restore it from a backup")
	errNoKey   = errors.New("the ring has no key; create it with keyring.New")
)

// Ring encrypts with its first key and decrypts with each of its keys. It is safe for concurrent use.
type Ring struct{ keys []ringKey }

type ringKey struct {
	id [keyIDSize]byte // the beginning of the key's hash; the error about a missing key names this id
	cipher.AEAD
}

// New returns a ring of AES-256 keys. It needs at least one key, and each key is 32 random bytes, not hex or base64
// text. To change a key, append the new key in all processes. Then move the new key to the front in all processes. Then
// remove the old key. The error names every invalid key.
func New(keys []types.Secret) (*Ring, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("keys is empty; pass at least one key of %d random bytes", keySize)
	}
	r := &Ring{}
	var problems []error
	for i, key := range keys {
		if len(key.Reveal()) != keySize {
			problems = append(problems, fmt.Errorf("keys[%d] has %d bytes; pass %d random bytes, not hex or base64 text",
				i, len(key.Reveal()), keySize))
			continue
		}
		block, _ := aes.NewCipher([]byte(key.Reveal())) // NewCipher fails only for a wrong size, and the size is checked above
		gcm, err := cipher.NewGCM(block)
		if err != nil { // NewGCM fails in FIPS mode, for example
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

// Seal encrypts data for one place, such as a column of a row. Open decrypts it only with the same place. Seal fails
// only if New did not make the ring.
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

// Open decrypts the data that Seal has encrypted for the same place. The error says whether the ring lacks the key, or
// the data was changed or sealed for another place.
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
	return nil, fmt.Errorf("cannot decrypt the data: it needs key %x, which is not in Keys; give all processes the same Keys", head[1:])
}

type token struct {
	Token  string    `json:"token"`
	Expiry time.Time `json:"expiry,omitzero"`
}

// SealToken encrypts a token for one place, as Seal does.
func (r *Ring) SealToken(place string, t hotelstays.Token) ([]byte, error) {
	plain, err := json.Marshal(token{t.Value.Reveal(), t.Expiry.Round(0)})
	if err != nil {
		return nil, err
	}
	return r.Seal(place, plain)
}

// OpenToken decrypts the token that SealToken has encrypted for the same place.
func (r *Ring) OpenToken(place string, sealed []byte) (hotelstays.Token, error) {
	plain, err := r.Open(place, sealed)
	var t token
	if err == nil && json.Unmarshal(plain, &t) != nil {
		err = errors.New("the decrypted data is not a token; at this place, store only what SealToken returned")
	}
	if err != nil {
		return hotelstays.Token{}, err
	}
	return hotelstays.Token{Value: types.NewSecret(t.Token), Expiry: t.Expiry}, nil
}
