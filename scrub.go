// Scrubbing: what of the service's own text may stand in an error.

package hotelstays

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// maxExcerpt is how much of an answer an error keeps, and maxMsg how much of a
	// message, in bytes.
	maxExcerpt = 256
	maxMsg     = 1024
	// maxScrubbed is how much of a text is looked at, and kept at most: looking takes
	// its time where much is escaped.
	maxScrubbed = 16 << 10
	// minSecret is the length from which a secret is looked for: a shorter one
	// would tear words apart, and hides nothing.
	minSecret = 3
)

// excerpt is the beginning of an answer that is no envelope, fit to be logged. Of
// the operations that fetch tokens it shows nothing that may be one: only what
// comes with a failing status and is no JSON.
func (x *exchange) excerpt() string {
	body := x.result.Answer.Body
	text := strings.TrimSpace(string(body[:min(len(body), maxScrubbed)]))
	if x.op.open && (x.result.Answer.Status < http.StatusMultipleChoices || strings.IndexAny(text, `{["`) == 0) {
		return ""
	}
	return shorten(strings.ToValidUTF8(maskKeys(x.scrub(text)), "?"), maxExcerpt)
}

// scrub takes the call's own secrets out of a text that the service wrote, also
// where they are escaped or cut off.
func (x *exchange) scrub(text string) string { return scrub(text, x.result.Authorization, x.req) }

// scrubError is err, or, where net/http's text quotes a secret that came back in a
// malformed answer, that text alone.
func (x *exchange) scrubError(err error) error {
	if text := err.Error(); x.scrub(text) != text {
		return errors.New(shorten(x.scrub(text), maxMsg))
	}
	return err
}

// scrub is what exchange.scrub does, of an attempt and a request.
func scrub(text, authorization string, req request) string {
	text = text[:min(len(text), maxScrubbed)]
	secrets := []types.Secret{types.Secret(strings.TrimPrefix(authorization, "Bearer "))}
	if s, ok := req.(secretRequest); ok {
		secrets = append(secrets, s.secrets()...)
	}
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			text = without(text, string(secret))
		}
	}
	return text
}

// secretKeys are the JSON keys whose values are never shown, also where they are
// cut off at the end.
var secretKeys = regexp.MustCompile(`(?i)("(?:ticket|access_token|refresh_token|id_token|token|appSecret|client_secret|passportNumber)"\s*:\s*)` +
	`(?:"(?:[^"\\]|\\.)*"?|\[[^\]]*\]?|\{[^}]*\}?|[^\s",}]+)`)

func maskKeys(text string) string {
	return secretKeys.ReplaceAllString(text, `${1}"`+types.Redacted+`"`)
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
