// Tests of the scanners of strings.

package wire

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Nine characters may follow a backslash.
func TestEscapes(t *testing.T) {
	read := 0
	for c := range 256 {
		l := testLexer(append([]byte{'"', '\\', byte(c)}, `0041"`...))
		if l.text(); l.end() {
			read++
		}
		l.release()
	}
	assert.Equal(t, 9, read)
}

// Plain text ends at the first byte that ends it, wherever it begins and whatever follows.
func TestSkipPlain(t *testing.T) {
	const length = 20
	for _, fill := range []byte{'x', ' ', '!', '#', '[', ']', 0x7f, 0x80, 0xff} {
		for c := range 256 {
			for at := range length {
				text := bytes.Repeat([]byte{fill}, length)
				text[at] = byte(c)
				want := length
				if c == '"' || c == '\\' || c < ' ' {
					want = at
				}
				for begin := range at + 1 {
					if got := skipPlain(text, begin); got != want {
						t.Fatalf("%q from %d: %d, not %d", text, begin, got, want)
					}
				}
				if at+1 < length {
					text[at+1] = '"'
					require.Equal(t, min(want, at+1), skipPlain(text, 0), "%q", text)
				}
			}
		}
	}
}
