// Package redact takes secrets out of texts that others wrote, before they reach an
// error or a log.
package redact

import (
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// Marker stands in a text for a secret.
	Marker = "[redacted]"
	// MaxText is how many bytes of a text are searched, and kept at most.
	MaxText = 4 << 10
	// minSecret is the length of the shortest secret: a shorter one would tear words
	// apart, and hide nothing.
	minSecret = 3
	// minPiece is how many bytes of the beginning of a secret are hidden like the
	// whole: messages show such pieces, followed by dots.
	minPiece = 16
)

// Set holds secrets in plain text. It must not outlive a call.
type Set []string

// Text returns the first MaxText bytes of text without the secrets, in any letter case,
// plain or escaped once, whole or cut off.
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
		slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) }) // one may begin like another
		for _, form := range forms {
			text = hide(text, form, len(form))
		}
		for _, form := range forms {
			text = hide(text, form, min(len(form), minPiece))
		}
	}
	return text
}

// In reports whether text holds a whole secret as it is.
func (s Set) In(text string) bool {
	for _, secret := range s {
		if len(secret) >= minSecret && strings.Contains(text, secret) {
			return true
		}
	}
	return false
}

// escapes are how JSON, HTML and URLs write a text.
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

// hide marks the beginnings of the secret that have at least so many bytes, and shorter
// ones at the end of the text.
func hide(text, secret string, least int) string {
	var b strings.Builder
	done := 0
	for at := 0; at < len(text); {
		n := common(text[at:], secret)
		rest := text[at+n:]
		switch {
		case n >= least:
		case n >= minSecret && strings.Trim(rest, "\uFFFD") == "": // it is cut off, maybe within a character
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

// common returns how many bytes text and secret begin with alike, in any letter case.
func common(text, secret string) int {
	n := 0
	for n < len(secret) {
		if n < len(text) && text[n] == secret[n] && text[n] < utf8.RuneSelf {
			n++ // the same, much faster
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

// secretKeys are JSON keys whose values are never shown, also where the text ends
// within one.
var secretKeys = regexp.MustCompile(`(?i)("(?:ticket|access_token|refresh_token|id_token|token|appSecret|client_secret|passportNumber)"\s*:\s*)` +
	`(?:"(?:[^"\\]|\\.)*"?|\[[^\]]*\]?|\{[^}]*\}?|[^\s",}]+)`)

// Keys marks the values of the JSON keys that name secrets.
func Keys(text string) string {
	return secretKeys.ReplaceAllString(text, `${1}"`+Marker+`"`)
}

// token matches a text from where a token may begin: an object, a JWT, or what follows
// a name, whose quotes may be escaped.
var token = regexp.MustCompile(`(?is)(?:\{|\b(?-i:eyJ)|((?:ticket|token|secret)(?:\\*["']|&quot;|&#34;)?\s*[:=])).*`)

// Tokens marks the rest of a text from where a token may begin.
func Tokens(text string) string { return token.ReplaceAllString(text, "${1}"+Marker) }

// Shorten cuts a text between two characters.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
