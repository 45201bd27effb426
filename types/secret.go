// Secret: a text that is never printed, such as a token.

package types

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
)

const redacted = "[redacted]"

// Secret is a text that must not reach a log, an error or a dump, such as an application
// secret, a token or a passport number. The zero value is empty. Packages fmt, slog and
// encoding/json print "[redacted]"; dumps by reflection show an address or masked bytes. The
// client sends the value. Compare secrets with Equal; == does not compile.
//
// JSON does not keep secrets: if you encode a request and decode the JSON again, the secrets of the request are
// "[redacted]". The client refuses to send such a request.
type Secret struct {
	_ [0]func() // makes == a compile error
	// masked is a pointer, because package fmt does not follow a pointer to a string.
	masked *string
}

// NewSecret returns a Secret that holds the value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	masked := mask(value)
	return Secret{masked: &masked}
}

// Reveal returns the value.
func (s Secret) Reveal() string {
	if s.masked == nil {
		return ""
	}
	return unmask(*s.masked)
}

// IsZero reports whether s is empty.
func (s Secret) IsZero() bool { return s.masked == nil }

// Equal compares two secrets in constant time.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// String returns "[redacted]", or nothing for an empty secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// GoString returns the text of String.
func (s Secret) GoString() string { return s.String() }

// Format writes the text of String, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue returns the text of String for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns the text of String for encoding/json and other encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets the value of the secret to text.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}

// Token is a token and its expiry.
type Token struct {
	Value Secret
	// Expiry is when the token expires. Processes that share the token compare Expiry with their own wall clocks. Zero means
	// unknown.
	Expiry time.Time
}

// maskKey masks values, so that a dump by reflection, such as the diff of a test, does not show them. Each process has its
// own key.
var maskKey = func() (key [32]byte) {
	_, _ = rand.Read(key[:]) // never fails
	return key
}()

const nonceSize = 16 // bytes

// mask returns a nonce and the masked value. Each value has its own keystream: if two values shared a keystream, a reader
// who knows one value could read the other value. The nonce is a hash of the value, so reflect.DeepEqual reports that
// equal secrets are equal.
func mask(value string) string {
	mac := hmac.New(sha256.New, maskKey[:])
	_, _ = io.WriteString(mac, value)
	nonce := string(mac.Sum(nil)[:nonceSize])
	return nonce + xor(nonce, value)
}

func unmask(masked string) string { return xor(masked[:nonceSize], masked[nonceSize:]) }

// xor masks or unmasks a text with the keystream of a nonce: a sequence of hashes.
func xor(nonce, text string) string {
	var block [len(maskKey) + nonceSize + 4]byte
	n := copy(block[:], maskKey[:])
	n += copy(block[n:], nonce)
	var out strings.Builder
	out.Grow(len(text))
	for i := 0; i < len(text); i += sha256.Size {
		binary.BigEndian.PutUint32(block[n:], uint32(i/sha256.Size))
		pad := sha256.Sum256(block[:])
		size := subtle.XORBytes(pad[:], pad[:], []byte(text[i:min(i+sha256.Size, len(text))]))
		out.Write(pad[:size])
	}
	return out.String()
}
