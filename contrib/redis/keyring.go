// Encryption of tokens at rest.

package hotelstaysredis

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	keySize = 32 // AES-256
	// sealVersion is the first byte of every sealed token.
	sealVersion = 1
)

var errCannotDecrypt = errors.New("none of the keys decrypts it: it is damaged, was moved, or was encrypted with another key")

// keyring encrypts with its first key and decrypts with any.
type keyring []cipher.AEAD

func newKeyring(keys []types.Secret, p *problems) keyring {
	if len(keys) == 0 {
		p.add("Keys is empty; it must hold at least one key of %d bytes", keySize)
	}
	var k keyring
	for i, key := range keys {
		if len(key.Reveal()) != keySize {
			p.add("Keys[%d] has %d bytes; it must have %d", i, len(key.Reveal()), keySize)
			continue
		}
		block, err := aes.NewCipher([]byte(key.Reveal()))
		if err != nil {
			p.add("Keys[%d]: %w", i, err)
			continue
		}
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			p.add("Keys[%d]: %w", i, err)
			continue
		}
		k = append(k, gcm)
	}
	return k
}

// content is the plain text of a sealed token.
type content struct {
	Token  string    `json:"token"`
	Expiry time.Time `json:"expiry,omitzero"`
}

// seal encrypts a token for one key of Redis: under another key it does not decrypt.
func (k keyring) seal(redisKey string, t hotelstays.Token) ([]byte, error) {
	plain, err := json.Marshal(content{t.Value.Reveal(), t.Expiry.Round(0)})
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, k[0].NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return k[0].Seal(append([]byte{sealVersion}, nonce...), nonce, plain, []byte(redisKey)), nil
}

func (k keyring) open(redisKey string, sealed []byte) (hotelstays.Token, error) {
	for _, gcm := range k {
		if len(sealed) < 1+gcm.NonceSize() || sealed[0] != sealVersion {
			break
		}
		nonce, rest := sealed[1:1+gcm.NonceSize()], sealed[1+gcm.NonceSize():]
		plain, err := gcm.Open(nil, nonce, rest, []byte(redisKey))
		if err != nil {
			continue
		}
		var c content
		if err := json.Unmarshal(plain, &c); err != nil {
			return hotelstays.Token{}, errors.New("it decrypts, but holds no token")
		}
		return hotelstays.Token{Value: types.NewSecret(c.Token), Expiry: c.Expiry}, nil
	}
	return hotelstays.Token{}, errCannotDecrypt
}
