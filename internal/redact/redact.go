// Package redact removes secrets from texts of the service, before they reach an error or a
// log.
package redact

import (
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	// Marker is the text that replaces a secret.
	Marker = "[redacted]"
	// MaxText is the number of bytes of a text that Set.Text and Words.Text keep.
	MaxText = 4 << 10
	// minSecret is the minimum length of a secret in bytes. Redacting a shorter secret would damage ordinary words
	// and protect nothing.
	minSecret = 3
	// minWord is the minimum length of personal data in bytes. It is small, because many names have two letters.
	minWord = 2
	// minPiece is a number of bytes. If a text has only the beginning of a secret, a beginning of at least minPiece
	// bytes is redacted. Error messages often quote only the beginning of a secret.
	minPiece = 16
	// minCompact is a number of letters and digits. A secret with at least this number is redacted even if the text
	// leaves out the secret's punctuation.
	minCompact = 6
	// maxEntity is the maximum length of an HTML entity, such as "&quot;", in bytes. A longer entity is not decoded.
	maxEntity = 12
)

// Set holds secrets in plain text. Do not keep a Set after the call whose texts the Set redacts.
type Set []string

// Text returns the first MaxText bytes of text, with Marker in place of each secret. A secret may be whole or cut off,
// in any letter case, plain or escaped. It may also be written as URL base64, without punctuation, or as hexadecimal bytes.
func (s Set) Text(text string) string {
	return replace(text, func(_, rest string) (size int) {
		first := read(rest)
		for _, secret := range s {
			if mayBegin(first, secret) {
				size = max(size, secretSize(rest, secret))
			}
		}
		return size
	})
}

// mayBegin reports whether a text may begin with a secret. It compares only the first character of the text. The
// parameter first has the readings of this character.
func mayBegin(first [3]reading, secret string) bool {
	want, _ := utf8.DecodeRuneInString(secret)
	for _, c := range first {
		if c.size > 0 && fold(c.char) == fold(want) {
			return true
		}
	}
	return isPunctuation(want) && canLosePunctuation(secret)
}

// In reports whether text contains a whole, unescaped secret, in any letter case.
func (s Set) In(text string) bool {
	for _, secret := range s {
		for end := len(secret); len(secret) >= minSecret && end <= len(text); end++ {
			if strings.EqualFold(text[end-len(secret):end], secret) {
				return true
			}
		}
	}
	return false
}

// Words holds personal data, such as names, in plain text. Do not keep Words after the call whose texts they redact.
type Words []string

// Text returns the first MaxText bytes of text, with Marker in place of each of the words, in any letter case or
// escaped. It does not change a longer word that contains one of the words, because many names are parts of other
// words.
func (w Words) Text(text string) string {
	return replace(text, func(before, rest string) (size int) {
		for _, word := range w {
			if end, n := match(rest, word); n == len(word) && n >= minWord && !inOneWord(before, word) && !inOneWord(word, rest[end:]) {
				size = max(size, end)
			}
		}
		return size
	})
}

// inOneWord reports whether there is no word boundary between the end of a and the beginning of b. Letters without
// upper and lower case, as in Chinese, always count as a boundary, because such scripts may write no spaces.
func inOneWord(a, b string) bool {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	isInner := func(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsDigit(r) }
	return isInner(last) && isInner(first)
}

// replace returns the first MaxText bytes of text, with Marker in place of each part that the function find reports.
// find receives the text before a position and the text from this position on (rest). It returns how many bytes of rest
// to replace, or 0.
func replace(text string, find func(before, rest string) (size int)) string {
	text = text[:min(len(text), MaxText)]
	var b strings.Builder
	done := 0
	for at := 0; at < len(text); {
		size := find(text[:at], text[at:])
		if size == 0 {
			at++
			continue
		}
		b.WriteString(text[done:at])
		b.WriteString(Marker)
		at += size
		done = at
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// lazy compiles a regular expression when the expression is first used, because most programs never use the expression.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// secretSize returns how many bytes at the beginning of text to redact, because they contain the secret or a part of
// it.
func secretSize(text, secret string) int {
	size, n := match(text, secret)
	switch {
	case min(size, n) < minSecret:
	case n < len(secret) && cutOff().MatchString(text[size:]):
		return len(text)
	case n == len(secret), n >= minPiece:
		return size
	}
	return 0
}

// cutOff matches the text after the last complete character if the text was cut off: nothing, or the beginning of an
// escape such as `\u00`.
var cutOff = lazy(`^(?:\\(?:u[[:xdigit:]]{0,3})?|(?:%[[:xdigit:]]{0,2})*|&[#[:alnum:]]*|\x{FFFD}*)$`)

// match compares the beginning of text with the beginning of secret. The result size is how many bytes of text match,
// and n is how many bytes of the secret they match. The text may contain escapes, or text that only looks like an
// escape, so match tries both readings of each character.
func match(text, secret string) (size, n int) {
	var rooms [2][8]int // backing arrays on the stack save allocations
	ends, next := append(rooms[0][:0], 0), rooms[1][:0]
	for i, want := range secret {
		for _, end := range ends {
			for _, c := range read(text[end:]) {
				if c.size > 0 && fold(c.char) == fold(want) && !slices.Contains(next, end+c.size) {
					next = append(next, end+c.size)
				}
			}
		}
		if isPunctuation(want) && canLosePunctuation(secret) {
			next = append(next, ends...)
		}
		if len(next) == 0 {
			return slices.Max(ends), i
		}
		ends, next = next, ends[:0]
	}
	return slices.Max(ends), len(secret)
}

func isPunctuation(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// canLosePunctuation reports whether secret has enough letters and digits. If so, a text that contains the secret without
// its punctuation is redacted, too.
func canLosePunctuation(secret string) bool {
	n := 0
	for _, r := range secret {
		if !isPunctuation(r) {
			n++
		}
	}
	return n >= minCompact
}

// fold returns the same character for all characters that count as equal. Upper and lower case are equal, all spaces
// are equal, and - and _ are equal to + and / of the other base64 alphabet.
func fold(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case r == '-':
		return '+'
	case r == '_':
		return '/'
	}
	return unicode.ToLower(unicode.ToUpper(r))
}

type reading struct {
	char rune
	size int // size in bytes; 0: this reading does not exist
}

// read returns the first character of a text in three readings: as plain text, as an escape of JSON, HTML or URLs,
// and as two hexadecimal digits. A reading of size 0 does not exist.
func read(text string) (readings [3]reading) {
	if text == "" {
		return readings
	}
	r, size := utf8.DecodeRuneInString(text)
	readings[0] = reading{r, size}
	decoded := ""
	switch r {
	case '+':
		decoded = " "
	case '\\':
		decoded, size = readJSON(text)
	case '&':
		size = strings.IndexByte(text[:min(len(text), maxEntity)], ';') + 1
		decoded = html.UnescapeString(text[:size])
	case '%':
		for n := 3; n <= min(len(text), 3*utf8.UTFMax) && !utf8.FullRuneInString(decoded); n += 3 {
			decoded, _ = url.PathUnescape(text[:n])
			size = n
		}
	}
	r, n := utf8.DecodeRuneInString(decoded)
	if n == len(decoded) && n > 0 {
		readings[1] = reading{r, size}
	}
	var b [1]byte
	if _, err := hex.Decode(b[:], []byte(text[:min(len(text), 2)])); err == nil {
		readings[2] = reading{rune(b[0]), 2}
	}
	return readings
}

// readJSON decodes a JSON escape at the beginning of text, such as `\n` or a pair of `\u` escapes for one character.
func readJSON(text string) (decoded string, size int) {
	for _, size = range []int{12, 6, 2} {
		if size <= len(text) && json.Unmarshal([]byte(`"`+text[:size]+`"`), &decoded) == nil && utf8.RuneCountInString(decoded) == 1 {
			break
		}
	}
	return decoded, size
}

// secretKeys matches a JSON key of a secret with its value, even if the text ends within the value.
var secretKeys = lazy(`(?i)("(?:ticket|access_token|refresh_token|id_token|token|` +
	`appSecret|client_secret|passportNumber)"\s*:\s*)` +
	`(?:"(?:[^"\\]|\\.)*"?|\[[^\]]*\]?|\{[^}]*\}?|[^\s",}]+)`)

// Keys redacts the values of JSON keys that name secrets, such as "ticket".
func Keys(text string) string {
	return secretKeys().ReplaceAllString(text, `${1}"`+Marker+`"`)
}

// token matches the text from the first possible token to the end. A possible token is an object, a JWT, or the value
// after a name such as "ticket", whose quotes may be escaped.
var token = lazy(`(?is)(?:\{|\b(?-i:eyJ)|((?:ticket|token|secret)(?:\\*["']|&quot;|&#34;)?\s*[:=])).*`)

// Tokens redacts a text from its first possible token to its end.
func Tokens(text string) string { return token().ReplaceAllString(text, "${1}"+Marker) }

// Shorten cuts a text to at most maxBytes bytes, without cutting a character, and adds "…" to a text that it has cut.
func Shorten(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	for !utf8.RuneStart(text[maxBytes]) {
		maxBytes--
	}
	return text[:maxBytes] + "…"
}
