// Spelling: a secret in a text, whichever way its characters are escaped there.

package hotelstays

import (
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// minPiece is how much of the beginning of a secret, in bytes, counts as that
	// secret wherever it stands: messages show such pieces, followed by dots.
	minPiece = 16
	// escapes are the characters that may not stand for themselves.
	escapes = `\&%+`
)

// without marks the places at which text holds the secret, in any letter case, and then
// those at which it holds a piece of it.
func without(text, secret string) string {
	return withoutPieces(withoutPieces(text, secret, len(secret)), secret, min(len(secret), minPiece))
}

// withoutPieces marks what is at least so many bytes from the beginning of the
// secret, or minSecret of them where the text ends.
func withoutPieces(text, secret string, least int) string {
	first, _ := utf8.DecodeRuneInString(secret)
	lower, upper := unicode.ToLower(first), unicode.ToUpper(first)
	begins := func(r rune) bool { return r == lower || r == upper || strings.ContainsRune(escapes, r) }
	var marked strings.Builder
	done, at := 0, 0
	for {
		next := strings.IndexFunc(text[at:], begins)
		if next < 0 {
			break
		}
		at += next
		size, found := spelled(text[at:], secret)
		rest := text[at+size:]
		switch {
		case found >= least:
		case found >= minSecret && cutOff.MatchString(rest):
			rest = ""
		default:
			at++
			continue
		}
		marked.WriteString(text[done:at])
		marked.WriteString(redacted)
		at = len(text) - len(rest)
		done = at
	}
	if done == 0 {
		return text
	}
	marked.WriteString(text[done:])
	return marked.String()
}

// cutOff is the end of a text, be it in the middle of a character, escaped or not.
var cutOff = regexp.MustCompile(`^(?:\\+(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?|&#?[0-9a-zA-Z]{0,8}|%[0-9a-fA-F%]{0,10}|\x{FFFD}{0,3})$`)

// spelled returns how much of the secret text begins with: in bytes of text, and of
// the secret. Where a character can be read in two ways, what gives more counts.
func spelled(text, secret string) (size, found int) {
	plain := 0
	for plain < min(len(text), len(secret)) && lower(text[plain]) == lower(secret[plain]) && text[plain] < utf8.RuneSelf && !strings.Contains(escapes, text[plain:plain+1]) {
		plain++
	}
	text, secret = text[plain:], secret[plain:]
	if text == "" || secret == "" {
		return plain, plain
	}
	_, first := utf8.DecodeRuneInString(secret)
	for _, n := range spellings(text, secret[:first]) {
		if n == 0 {
			continue
		}
		more, further := spelled(text[n:], secret[first:])
		if length := first + further; length > found || length == found && n+more > size {
			size, found = n+more, length
		}
	}
	return plain + size, plain + found
}

// spellings are the numbers of bytes at the beginning of text that may stand for a
// character: as it is, or escaped in JSON or a like literal, in HTML, or in a URL.
func spellings(text, char string) (sizes [3]int) {
	if hasPrefixFold(text, char) {
		sizes[0] = len(char)
	}
	switch text[0] {
	case '\\':
		bare := strings.TrimLeft(text, `\`) // JSON inside JSON has more than one
		escape := bare[:min(len(bare), len("u0000"))]
		if code, _, rest, err := strconv.UnquoteChar(`\`+escape, 0); err == nil && strings.EqualFold(string(code), char) {
			sizes[1] = len(text) - len(bare) + len(escape) - len(rest)
		}
		switch {
		case char == `\`:
			sizes[2] = len(text) - len(bare)
		case hasPrefixFold(bare, char):
			sizes[2] = len(text) - len(bare) + len(char)
		}
	case '&':
		end := 1 + strings.IndexByte(text[:min(len(text), 12)], ';')
		if end > 0 && strings.EqualFold(html.UnescapeString(text[:end]), char) {
			sizes[1] = end
		}
	case '%':
		end := min(len(text), len("%00")*len(char))
		if plain, err := url.PathUnescape(text[:end]); err == nil && strings.EqualFold(plain, char) {
			sizes[1] = end
		}
	case '+':
		if char == " " {
			sizes[1] = 1
		}
	}
	return sizes
}

func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// lower is an ASCII letter's small form, and any other byte itself.
func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}
