// Secret: a string that does not print.

package types

import (
	"fmt"
	"io"
	"log/slog"
)

// Redacted is what a Secret shows instead of its value.
const Redacted = "[redacted]"

// Secret is a string that must not reach a log, an error or a dump: an
// application secret, a token, a passport number. Every formatting verb but %p and
// %w, slog and encoding/json show Redacted in its place; the client puts the value
// on the wire by its own route. string(s) is the value.
//
// For %p, and for a %w that finds no error, fmt prints the bare value without asking
// it: go vet reports both. Nor can fmt ask a value in an unexported field: keep a
// Secret in exported fields, or let the struct around it format itself.
//
// A struct with a Secret that is stored as JSON therefore loses it. Requests
// refuse a Secret that holds the text of Redacted, so that such a copy cannot
// be sent by mistake.
type Secret string

// String returns Redacted, or nothing for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Redacted
}

// Format shows Redacted under every verb and flag that fmt asks it for, %#v and %x
// among them.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// GoString returns what String does.
func (s Secret) GoString() string { return s.String() }

// LogValue shows Redacted to every slog handler.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText encodes Redacted, for JSON and all else that encodes text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
