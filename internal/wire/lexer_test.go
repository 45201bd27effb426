// Tests of skipping values, of the offsets of faults, and of scanning strings.

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testLexer returns a Lexer whose memory has no limit, and whose ctx does not end.
func testLexer(text []byte) *Lexer {
	l := newLexer(context.Background(), whole(text))
	l.budget = math.MaxInt
	return l
}

// skipAgrees requires that skip accepts a valid JSON text and refuses an invalid one.
func skipAgrees(t testing.TB, text []byte) {
	l := testLexer(text)
	defer l.release()
	l.skip(0)
	if ok := l.end(); ok != json.Valid(text) {
		t.Fatalf("%.200q: skipped: %v, valid: %v", text, ok, !ok)
	}
}

// skip accepts the same texts as encoding/json. The test nests values up to and above maxDepth. In a text, the test
// replaces every byte, and inserts every byte at every place.
func TestSkipRefusesInvalidJSON(t *testing.T) {
	for depth := maxDepth - 1; depth <= maxDepth+1; depth++ {
		skipAgrees(t, []byte(strings.Repeat("[", depth)+strings.Repeat("]", depth)))
		skipAgrees(t, []byte(strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth)))
	}
	const text = ` { "a\u00e9\n" : [ -0.5e+3 , 10 , true , false , null , { } , [ ] , "\ud83d" , {"b":"\\"} ] } `
	for i := range text {
		skipAgrees(t, []byte(text[:i]))
		for c := range 256 {
			skipAgrees(t, []byte(text[:i]+string([]byte{byte(c)})+text[i+1:]))
			skipAgrees(t, []byte(text[:i]+string([]byte{byte(c)})+text[i:]))
		}
	}
}

// If a text ends before the JSON is complete, the fault is at the end of the text, and the text is truncated.
func TestSyntaxErrorHasTheOffsetOfTheFault(t *testing.T) {
	for text, at := range map[string]int{
		``: 0, ` `: 1, `<html>`: 0, `{"a":1,}`: 7, `{"a" 1}`: 5, `[1 2]`: 3, `[1]x`: 3, `01`: 1, `[1.]`: 3, `nulx`: 3, `"\x"`: 2,
		`"\u12x4"`: 5, "\"a\n\"": 2,
		`{"a":`: 5, `{"a`: 3, `"a\`: 3, `"\u1`: 4, `tru`: 3, `-`: 1, `1e`: 2, `[`: 1, `[1,`: 3, `{`: 1,
	} {
		l := testLexer([]byte(text))
		l.skip(0)
		want := &SyntaxError{Offset: int64(at) + 1}
		if at == len(text) {
			want = &SyntaxError{Offset: int64(at), Truncated: true}
		}
		assert.Equal(t, want, l.finish(), text)
		l.release()
	}
}

// SkipPlain finds the first quote, backslash or control character, from every start index and whatever bytes follow.
func TestSkipPlainEndsAtTheFirstSpecialByte(t *testing.T) {
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
					if got := SkipPlain(text, begin); got != want {
						t.Fatalf("%q from %d: %d, not %d", text, begin, got, want)
					}
				}
				if at+1 < length {
					text[at+1] = '"'
					require.Equal(t, min(want, at+1), SkipPlain(text, 0), "%q", text)
				}
			}
		}
	}
}
