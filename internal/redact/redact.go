// Package redact removes secrets from texts of the service, before they reach an error or a
// log.
package redact

import (
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// Marker replaces a secret.
	Marker = "[redacted]"
	// MaxText is how many bytes of a text are kept.
	MaxText = 4 << 10
	// minSecret is the shortest length of a secret. Redacting shorter ones would damage words
	// and protect nothing.
	minSecret = 3
	// minPiece is the shortest beginning of a secret that is redacted, because messages quote
	// such beginnings.
	minPiece = 16
)

// Set holds secrets in plain text. It must not outlive a call.
type Set []string

// Text returns the first MaxText bytes of text without the secrets, in any letter case, plain
// or escaped once, whole or cut off.
func (s Set) Text(text string) string {
	text = text[:min(len(text), MaxText)]
	escaped := strings.ContainsAny(text, `\&%+`)
	var room [1 + len(escapes)]string
	for _, secret := range s {
		if len(secret) < minSecret {
			continue
		}
		forms := room[:0]
		if escaped {
			for _, escape := range escapes {
				forms = append(forms, escape(secret))
			}
		}
		forms = append(forms, secret)
		slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) }) // longest first: one may begin like another
		for _, form := range forms {
			text = hide(text, form, len(form))
		}
		for _, form := range forms {
			text = hide(text, form, min(len(form), minPiece))
		}
	}
	return text
}

// In reports whether text contains a whole, unescaped secret.
func (s Set) In(text string) bool {
	for _, secret := range s {
		if len(secret) >= minSecret && strings.Contains(text, secret) {
			return true
		}
	}
	return false
}

// escapes are the escapes of JSON, HTML and URLs.
var escapes = [...]func(string) string{
	strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace,
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, `/`, `\/`).Replace,
	func(s string) string {
		text, _ := json.Marshal(s) // a string never fails
		return string(text[1 : len(text)-1])
	},
	html.EscapeString,
	url.QueryEscape,
}

// hide redacts beginnings of the secret of at minBytes minBytes, and shorter ones at the end of
// text.
func hide(text, secret string, minBytes int) string {
	var b strings.Builder
	done := 0
	for at := 0; at < len(text); {
		n := common(text[at:], secret)
		rest := text[at+n:]
		switch {
		case n >= minBytes && n < len(secret) && rest != "" && strings.ContainsRune(`\&%+`, rune(rest[0])):
			// The rest may follow, escaped in another way.
			rest = strings.TrimLeftFunc(rest, func(r rune) bool { return !unicode.IsSpace(r) && !strings.ContainsRune(`"'<>`, r) })
		case n >= minBytes:
		case n >= minSecret && strings.Trim(rest, "\uFFFD") == "": // text ends within the secret, maybe within a character
			rest = ""
		default:
			at++
			continue
		}
		b.WriteString(text[done:at])
		b.WriteString(Marker)
		at = len(text) - len(rest)
		done = at
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// common returns the length of the common beginning of text and secret, in any letter case.
func common(text, secret string) int {
	n := 0
	for n < len(secret) {
		if n < len(text) && text[n] == secret[n] && text[n] < utf8.RuneSelf {
			n++ // fast path
			continue
		}
		_, size := utf8.DecodeRuneInString(secret[n:])
		if n+size > len(text) || !strings.EqualFold(text[n:n+size], secret[n:n+size]) {
			break
		}
		n += size
	}
	return n
}

// secretKeys matches JSON keys of secrets with their values, even if the text ends within
// one.
var secretKeys = regexp.MustCompile(`(?i)("(?:ticket|access_token|refresh_token|id_token|token|appSecret|client_secret|passportNumber)"\s*:\s*)` +
	`(?:"(?:[^"\\]|\\.)*"?|\[[^\]]*\]?|\{[^}]*\}?|[^\s",}]+)`)

// Keys redacts the values of JSON keys that name secrets.
func Keys(text string) string {
	return secretKeys.ReplaceAllString(text, `${1}"`+Marker+`"`)
}

// token matches from a possible token to the end: from an object, a JWT, or the value after a
// name, whose quotes may be escaped.
var token = regexp.MustCompile(`(?is)(?:\{|\b(?-i:eyJ)|((?:ticket|token|secret)(?:\\*["']|&quot;|&#34;)?\s*[:=])).*`)

// Tokens redacts the rest of a text from the first possible token on.
func Tokens(text string) string { return token.ReplaceAllString(text, "${1}"+Marker) }

// Shorten cuts a text to at maxBytes maxBytes, between two characters.
func Shorten(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	for !utf8.RuneStart(text[maxBytes]) {
		maxBytes--
	}
	return text[:maxBytes] + "…"
}
