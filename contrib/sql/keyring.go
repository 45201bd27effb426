// Encryption at rest.

package hotelstayssql

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/hotelstays/hotelstays-go/types"
)

const (
	keySize   = 32 // AES-256
	keyIDSize = 4
	// sealVersion is the first byte of everything sealed. The key's id and a nonce follow.
	sealVersion = 1
)

var errDamaged = errors.New("it does not decrypt: it is damaged, or was moved from another row")

// keyring encrypts with its first key and decrypts with any.
type keyring []ringKey

type ringKey struct {
	id [keyIDSize]byte // says which key is missing, and nothing about it
	cipher.AEAD
}

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
		hash := sha256.Sum256([]byte("hotelstays key id" + key.Reveal()))
		k = append(k, ringKey{[keyIDSize]byte(hash[:]), gcm})
	}
	return k
}

// seal encrypts plain for one place, such as a column of a row: it does not decrypt anywhere
// else.
func (k keyring) seal(place string, plain []byte) []byte {
	key := k[0]
	head := append([]byte{sealVersion}, key.id[:]...)
	nonce := make([]byte, key.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return key.Seal(append(head, nonce...), nonce, plain, append(head, place...))
}

func (k keyring) open(place string, sealed []byte) ([]byte, error) {
	const headSize = 1 + keyIDSize
	if len(sealed) < headSize || sealed[0] != sealVersion {
		return nil, errDamaged
	}
	head, rest := sealed[:headSize:headSize], sealed[headSize:]
	for _, key := range k {
		if key.id != [keyIDSize]byte(head[1:]) || len(rest) < key.NonceSize() {
			continue
		}
		plain, err := key.Open(nil, rest[:key.NonceSize()], rest[key.NonceSize():], append(head, place...))
		if err != nil {
			return nil, errDamaged
		}
		return plain, nil
	}
	return nil, fmt.Errorf("it was encrypted with key %x, which is not in Keys; give all processes the same Keys", head[1:])
}
