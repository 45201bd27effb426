// Scrubbing: what of the service's own text may stand in an error.

package hotelstays

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxExcerpt is how much of an answer an error keeps, and maxMsg how much of a
	// message, in bytes.
	maxExcerpt = 256
	maxMsg     = 1024
	// maxScrubbed is how much of a text is looked at, and kept at most: looking takes
	// its time where much is escaped.
	maxScrubbed = 4 << 10
	// minSecret is the length from which a secret is looked for: a shorter one
	// would tear words apart, and hides nothing.
	minSecret = 3
	// usualSecrets is how many secrets a call has room for without an allocation.
	usualSecrets = 4
	// redacted stands in a text for what was taken out.
	redacted = "[redacted]"
)

// excerpt is the beginning of an answer that is no envelope, fit to be logged. It is
// empty for the operations that fetch tokens: any of it may be one.
func (x *exchange) excerpt() string {
	if x.op.open {
		return ""
	}
	body := x.result.Answer.Body
	text := strings.TrimSpace(string(body[:min(len(body), maxScrubbed)]))
	return shorten(strings.ToValidUTF8(maskKeys(x.scrub(text)), "?"), maxExcerpt)
}

// message is the envelope's msg, fit to be logged. Of the operations that fetch tokens
// it ends where a token may begin, and is empty where it is JSON.
func (x *exchange) message(msg string) string {
	text := x.scrub(msg)
	if x.op.open {
		if json.Valid([]byte(msg)) {
			return ""
		}
		text = beforeToken.ReplaceAllString(text, "${1}"+redacted)
	}
	return shorten(text, maxMsg)
}

// beforeToken is a message from where a token may begin: an object, a JWT, or what
// follows a name, whose quotes may be escaped.
var beforeToken = regexp.MustCompile(`(?is)(?:\{|\b(?-i:eyJ)|((?:ticket|token|secret)(?:\\*["']|&quot;|&#34;)?\s*[:=])).*`)

// sessionID is the answer's Session-Id header. It is sent again, and so stays exact
// unless it holds a whole secret.
func (x *exchange) sessionID() string {
	id := x.result.Answer.Header.Get("Session-Id")
	for _, secret := range x.client.secrets(make([]string, 0, usualSecrets), x.result.Authorization, x.req) {
		if strings.Contains(id, secret) {
			return x.scrub(id)
		}
	}
	return id
}

// scrub takes the call's own secrets out of a text that the service wrote, also
// where they are escaped or cut off.
func (x *exchange) scrub(text string) string {
	return x.client.scrub(text, x.result.Authorization, x.req)
}

// scrubError is err, or, where net/http's text quotes a secret that came back in a
// malformed answer, that text alone.
func (x *exchange) scrubError(err error) error {
	if text := err.Error(); x.scrub(text) != text {
		return errors.New(shorten(x.scrub(text), maxMsg))
	}
	return err
}

// scrub is what exchange.scrub does, of an attempt and a request.
func (c *Client) scrub(text, authorization string, req request) string {
	text = text[:min(len(text), maxScrubbed)]
	for _, secret := range c.secrets(make([]string, 0, usualSecrets), authorization, req) {
		text = without(text, secret)
	}
	return text
}

// secrets appends what is looked for: the token, the credential's secret, and those of
// the request.
func (c *Client) secrets(found []string, authorization string, req request) []string {
	found = append(found, strings.TrimPrefix(authorization, "Bearer "), c.cred.secret().Reveal())
	if s, ok := req.(secretRequest); ok {
		for _, secret := range s.secrets() {
			found = append(found, secret.Reveal())
		}
	}
	return slices.DeleteFunc(found, func(s string) bool { return len(s) < minSecret })
}

// secretKeys are the JSON keys whose values are never shown, also where they are
// cut off at the end.
var secretKeys = regexp.MustCompile(`(?i)("(?:ticket|access_token|refresh_token|id_token|token|appSecret|client_secret|passportNumber)"\s*:\s*)` +
	`(?:"(?:[^"\\]|\\.)*"?|\[[^\]]*\]?|\{[^}]*\}?|[^\s",}]+)`)

func maskKeys(text string) string {
	return secretKeys.ReplaceAllString(text, `${1}"`+redacted+`"`)
}

// shorten cuts a text between two characters.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
