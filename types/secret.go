// Secret: a text that does not print.

package types

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// redacted is what a Secret shows instead of its value.
const redacted = "[redacted]"

// Secret is a text that must not reach a log, an error or a dump, such as an application
// secret, a token or a passport number. The zero value is empty. Packages fmt, slog and
// encoding/json print "[redacted]"; dumps by reflection show an address or masked bytes. The
// client sends the value. Compare secrets with Equal; == does not compile.
//
// JSON does not keep secrets: the client refuses a request that was decoded from its own
// JSON.
type Secret struct {
	_ [0]func() // no ==
	// masked is a pointer to a string, because package fmt does not follow it.
	masked *string
}

// NewSecret returns a Secret of value.
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
	return mask(*s.masked)
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

// GoString returns String.
func (s Secret) GoString() string { return s.String() }

// Format writes String, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue returns String for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns String for encoding/json and other encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes text as the value.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}

// pad masks values from readers by reflection, such as the diff of a test. It is longer than
// a token, because a repeated pad can be found out.
var pad = func() (p [4 << 10]byte) {
	_, _ = rand.Read(p[:]) // never fails
	return p
}()

// mask masks a text, or unmasks it.
func mask(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := range len(text) {
		b.WriteByte(text[i] ^ pad[i%len(pad)])
	}
	return b.String()
}
