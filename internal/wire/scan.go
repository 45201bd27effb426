// Scanning strings and numbers, for all readers of this package.

package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/shopspring/decimal"
)

// text reads a string, and returns its decoded bytes. The bytes are valid until the Lexer reads on, and may be invalid
// UTF-8.
func (l *Lexer) text() []byte {
	begin := l.pos + 1
	plain := l.skipString()
	switch {
	case l.failed:
		return nil
	case plain:
		return l.body[begin : l.pos-1]
	}
	return l.unescape(l.body[begin : l.pos-1])
}

const (
	each = 0x0101010101010101 // each*b is a 64-bit word that holds the byte b eight times
	high = 0x8080808080808080 // a 64-bit word in which only the highest bit of each byte is set
)

// SkipPlain returns the index of the first special byte of b from index i on, or the length of b. A quote, a backslash
// and a control character are special.
//
// SkipPlain compares eight bytes in one step. In found, the highest bit of each special byte is set. A subtraction may
// borrow from later bytes, and so set their bits by mistake. So only the first bit that is set counts.
func SkipPlain(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, backslash := x^(each*'"'), x^(each*'\\')
		found := (quote-each)&^quote | (backslash-each)&^backslash | (x-each*' ')&^x
		if found &= high; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < ' ' {
			break
		}
	}
	return i
}

// unescape decodes a valid text with escapes. The returned bytes are valid until the next call.
func (l *Lexer) unescape(text []byte) []byte {
	out := l.scratch[:0]
	for {
		plain := SkipPlain(text, 0)
		out = append(out, text[:plain]...)
		if text = text[plain:]; len(text) == 0 {
			l.scratch = out
			return out
		}
		r, length := escape(text)
		out = utf8.AppendRune(out, r) // a lone surrogate becomes the replacement character U+FFFD
		text = text[length:]
	}
}

const escapeLetters, escapeMeanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"

// escape decodes the valid escape at the beginning of b, which may be a surrogate pair, and returns its length.
func escape(b []byte) (r rune, length int) {
	if b[1] != 'u' {
		return rune(escapeMeanings[strings.IndexByte(escapeLetters, b[1])]), 2
	}
	r = hex4(b[2:])
	if low := b[maxEscape:]; len(low) >= maxEscape && low[0] == '\\' && low[1] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(low[2:])); pair != utf8.RuneError {
			return pair, 2 * maxEscape
		}
	}
	return r, maxEscape
}

const maxEscape = len(`\u0000`)

// escapeLength returns the length of the escape at the beginning of b. If ok is false, the escape is malformed or
// incomplete. Then length is the number of valid bytes at the beginning of the escape.
func escapeLength(b []byte) (length int, ok bool) {
	switch {
	case len(b) == 0 || b[0] != '\\':
		return 0, false
	case len(b) == 1 || strings.IndexByte(escapeLetters+"u", b[1]) < 0:
		return 1, false
	case b[1] != 'u':
		return 2, true
	}
	for length = 2; length < maxEscape && length < len(b) && hex(b[length]) >= 0; length++ {
	}
	return length, length == maxEscape
}

func hex4(b []byte) rune { return hex(b[0])<<12 | hex(b[1])<<8 | hex(b[2])<<4 | hex(b[3]) }

func hex(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c | 0x20 - 'a' + 10)
	}
	return -1
}

// copyString copies b into a string. The replacement character takes the place of each invalid byte.
func (l *Lexer) copyString(b []byte) string {
	l.poll()
	if utf8.Valid(b) {
		return string(b)
	}
	var text strings.Builder
	for n := 1; len(b) > 0 && !l.failed; n++ {
		if text.Cap()-text.Len() < utf8.UTFMax {
			text.Grow(len(b) + utf8.UTFMax)
		}
		r, size := utf8.DecodeRune(b)
		text.WriteRune(r)
		if b = b[size:]; n%pollInterval == 0 {
			l.pollAt(l.pos)
		}
	}
	return text.String()
}

func (l *Lexer) number() []byte {
	l.peek()
	begin := l.pos
	i := begin
	if l.at(i) == '-' {
		i++
	}
	whole := i
	i = l.digits(i)
	ok := i > whole
	if i > whole+1 && l.at(whole) == '0' {
		i = whole + 1 // JSON allows no digit after a leading 0, so the number ends here
	}
	if ok && l.at(i) == '.' {
		fraction := i + 1
		i = l.digits(fraction)
		ok = i > fraction
	}
	if ok && l.at(i)|0x20 == 'e' {
		i++
		if sign := l.at(i); sign == '+' || sign == '-' {
			i++
		}
		exponent := i
		i = l.digits(exponent)
		ok = i > exponent
	}
	switch {
	case l.failed: // ctx ended
		return nil
	case !ok:
		l.failAt(i)
		return nil
	}
	l.pos = i
	return l.body[begin:i]
}

// at returns the byte at offset i, or 0 at the end of the text.
func (l *Lexer) at(i int) (c byte) {
	if i < len(l.body) {
		if c = l.body[i]; c == 0 {
			return l.atZero(i)
		}
	}
	return c
}

func (l *Lexer) atZero(i int) byte {
	if !l.moreAt(i) {
		return 0
	}
	return l.body[i]
}

// digits returns the index after the digits that begin at i.
func (l *Lexer) digits(i int) int {
	for more := true; more; more = l.moreAt(i) {
		for next := l.nextPoll; i < len(l.body) && '0' <= l.body[i] && l.body[i] <= '9'; i++ {
			if i >= next {
				l.pollAt(i)
				next = l.nextPoll
			}
		}
	}
	return i
}

const (
	maxInteger = 20      // an integer with more characters is out of range
	maxFloat   = 1 << 10 // a float with more characters is not read
)

func parseInt(text []byte, bits int) (int64, bool) {
	if len(text) > maxInteger {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, bits)
	if err != nil {
		return 0, false
	}
	return n, true
}

// parseWhole reads an integer that may be written with a fraction or an exponent, such as 2.0.
func parseWhole(text []byte, bits int) (int64, bool) {
	n, ok := parseInt(text, bits)
	if ok || len(text) > maxInteger {
		return n, ok
	}
	d, err := decimal.NewFromString(string(text))
	if err != nil || max(d.Exponent(), -d.Exponent()) > maxInteger || !d.IsInteger() {
		return 0, false
	}
	return parseInt([]byte(d.StringFixed(0)), bits)
}

func isNumber(text []byte) bool {
	return len(bytes.TrimSpace(text)) == len(text) && len(text) > 0 && jsonTypeOf(text) == "number" && json.Valid(text)
}

// jsonTypeOf returns the type of a JSON text, judged by its first byte. An empty text counts as null.
func jsonTypeOf(text []byte) string {
	if len(text) == 0 {
		return "null"
	}
	switch text[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
