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
	// sealVersion begins every sealed token: another form will begin otherwise.
	sealVersion = 1
)

var errCannotOpen = errors.New("none of the keys opens it: it is damaged, was moved, or was encrypted under another key")

// seals encrypts under the first of its keys and decrypts under any, so that keys
// can be changed one after another.
type seals []cipher.AEAD

func newSeals(keys []types.Secret, f *faults) seals {
	if len(keys) == 0 {
		f.add("Keys is empty: give at least one key of %d bytes", keySize)
	}
	var s seals
	for i, key := range keys {
		if len(key.Reveal()) != keySize {
			f.add("Keys[%d] has %d bytes; it must have %d", i, len(key.Reveal()), keySize)
			continue
		}
		block, err := aes.NewCipher([]byte(key.Reveal()))
		if err != nil {
			f.add("Keys[%d]: %w", i, err)
			continue
		}
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			f.add("Keys[%d]: %w", i, err)
			continue
		}
		s = append(s, gcm)
	}
	return s
}

// content is what is sealed.
type content struct {
	Token  string    `json:"token"`
	Expiry time.Time `json:"expiry,omitzero"`
}

// seal encrypts a token for one place: under another name it does not open.
func (s seals) seal(place string, t hotelstays.Token) ([]byte, error) {
	plain, err := json.Marshal(content{t.Value.Reveal(), t.Expiry.Round(0)})
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, s[0].NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return s[0].Seal(append([]byte{sealVersion}, nonce...), nonce, plain, []byte(place)), nil
}

func (s seals) open(place string, sealed []byte) (hotelstays.Token, error) {
	for _, gcm := range s {
		if len(sealed) < 1+gcm.NonceSize() || sealed[0] != sealVersion {
			break
		}
		nonce, rest := sealed[1:1+gcm.NonceSize()], sealed[1+gcm.NonceSize():]
		plain, err := gcm.Open(nil, nonce, rest, []byte(place))
		if err != nil {
			continue
		}
		var c content
		if err := json.Unmarshal(plain, &c); err != nil {
			return hotelstays.Token{}, errors.New("it opens, and holds no token")
		}
		return hotelstays.Token{Value: types.NewSecret(c.Token), Expiry: c.Expiry}, nil
	}
	return hotelstays.Token{}, errCannotOpen
}
