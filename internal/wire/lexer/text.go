// Text: strings and names, escapes, and the texts that are kept once.

package lexer

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// String reads a string; null is empty.
func (l *Lexer) String() string {
	if l.Null() {
		return ""
	}
	return l.keep(l.text())
}

// Secret reads a string that is not shared, whatever Share said; null is empty.
func (l *Lexer) Secret() string {
	if l.Null() {
		return ""
	}
	return l.clone(l.text())
}

// text reads a string into bytes that hold until the next call. They may not be
// valid UTF-8.
func (l *Lexer) text() []byte {
	if l.peek() != '"' {
		l.GiveUp()
		return nil
	}
	begin := l.pos + 1
	end := plain(l.body, begin)
	if end < len(l.body) && l.body[end] == '"' {
		l.pos = end + 1
		return l.body[begin:end]
	}
	return l.unescape(begin, end)
}

const (
	each = 0x0101010101010101 // times a byte: that byte eight times
	high = 0x8080808080808080 // the highest bit of each byte
)

// plain returns where a run of plain text that begins at i ends: at a quote, a
// backslash, a control character, or the end of b.
//
// It looks at eight bytes at once. A subtraction that borrows marks a byte by its
// highest bit; it may mark further bytes above the first, which is the one that
// counts.
func plain(b []byte, i int) int {
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

// unescape reads a string that is not plain: up to stop it is.
func (l *Lexer) unescape(begin, stop int) []byte {
	out := l.scratch[:0]
	for {
		out = append(out, l.body[begin:stop]...)
		if stop >= l.look {
			l.lookAt(stop)
		}
		if l.gaveUp || stop >= len(l.body) {
			l.GiveUp()
			return nil
		}
		if l.body[stop] == '"' {
			l.scratch, l.pos = out, stop+1
			return out
		}
		r, length := escape(l.body[stop:])
		if length == 0 {
			half, ok := escapeLength(l.body[stop:])
			if !ok || !l.loose {
				l.GiveUp()
				return nil
			}
			r, length = utf8.RuneError, half
		}
		out = utf8.AppendRune(out, r)
		begin = stop + length
		stop = plain(l.body, begin)
	}
}

// escape returns the character that an escape at the beginning of b stands for,
// and how long it is; 0 where there is none that is sure. Half a surrogate pair is
// not: encoding/json puts another character in its place.
func escape(b []byte) (r rune, length int) {
	if _, ok := escapeLength(b); !ok {
		return 0, 0
	}
	if b[1] != 'u' {
		return rune(meanings[strings.IndexByte(letters, b[1])]), 2
	}
	r, _ = hex4(b[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(b) < 8 || b[6] != '\\' || b[7] != 'u' {
		return 0, 0
	}
	low, ok := hex4(b[8:])
	r = utf16.DecodeRune(r, low)
	if !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

const letters, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"

// escapeLength returns how long an escape at the beginning of b is. Where there is
// none it reports false, and returns how much there is of one.
func escapeLength(b []byte) (length int, ok bool) {
	switch {
	case len(b) == 0 || b[0] != '\\':
		return 0, false
	case len(b) == 1 || strings.IndexByte(letters+"u", b[1]) < 0:
		return 1, false
	case b[1] != 'u':
		return 2, true
	}
	for length = 2; length < 6 && length < len(b); length++ {
		if _, ok := hex(b[length]); !ok {
			break
		}
	}
	return length, length == 6
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		digit, ok := hex(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | digit
	}
	return r, true
}

func hex(c byte) (digit rune, ok bool) {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0'), true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c | 0x20 - 'a' + 10), true
	}
	return 0, false
}

const (
	maxShared   = 64   // the longest text that is shared, in bytes
	sharedTexts = 2048 // how many are kept; a power of two
)

// texts are the texts that were read lately, each at the place that its hash names,
// where it stays until another one comes there. All of them are valid UTF-8.
type texts [sharedTexts]string

var seed = maphash.MakeSeed()

// keep makes a string of bytes that will not last. What is not valid UTF-8 is left
// to encoding/json, which mends it.
func (l *Lexer) keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if !l.share || len(b) > maxShared {
		return l.clone(b)
	}
	at := &l.texts[maphash.Bytes(seed, b)%sharedTexts]
	if *at != string(b) {
		*at = l.clone(b)
	}
	return *at
}

func (l *Lexer) clone(b []byte) string {
	l.glance()
	if utf8.Valid(b) {
		return string(b)
	}
	return l.mend(b)
}

// mend puts the replacement character in the place of each byte that is not of UTF-8,
// where it may.
func (l *Lexer) mend(b []byte) string {
	if !l.loose {
		l.GiveUp()
	}
	var text strings.Builder
	for n := 1; len(b) > 0 && !l.gaveUp; n++ {
		if text.Cap()-text.Len() < utf8.UTFMax {
			text.Grow(len(b) + utf8.UTFMax)
		}
		r, size := utf8.DecodeRune(b)
		text.WriteRune(r)
		if b = b[size:]; n%lookEvery == 0 {
			l.lookAt(l.pos)
		}
	}
	return text.String()
}
