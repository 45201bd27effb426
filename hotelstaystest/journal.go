// The journal: the bodies of requests and answers, with secrets masked.

package hotelstaystest

import (
	"bytes"
	"encoding/json"
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxJournalBody = 16 << 10 // bytes of each body
	maxReference   = 200      // bytes of each
)

// bodies are the texts of a request, and the references in them. They never change.
type bodies struct {
	request, answer string
	references      []string
}

func (b *bodies) size() int {
	if b == nil {
		return 0
	}
	n := 64 + len(b.request) + len(b.answer)
	for _, ref := range b.references {
		n += 16 + len(ref)
	}
	return n
}

// keepRequest keeps a request's body for the journal, with control only.
func (s *Server) keepRequest(c *call, body []byte) {
	if s.cfg.Control.Enabled {
		c.bodies = &bodies{request: s.masker.text(body), references: referencesIn(nil, beginning(body))}
	}
}

// keepAnswer keeps the answer to a call too.
func (s *Server) keepAnswer(c *call, a *answer) {
	if s.cfg.Control.Enabled {
		kept := given(c.bodies, bodies{}) // a fault may end a call before its body is read
		c.bodies = &bodies{kept.request, s.masker.text(a.body), referencesIn(kept.references, beginning(a.body))}
	}
}

// secretNames are of fields and parameters whose values the journal masks, in lower case.
var secretNames = []string{
	"appsecret", "clientsecret", "client_secret", "ticket", "token", "accesstoken", "access_token", "refresh_token", "authorization", "proof",
	"passportnumber", "dateofbirth", "email", "number",
}

const masked = "***"

type masker struct{ secrets []string }

func newMasker(c *Config) *masker {
	secrets := []string{c.Webhooks.Secret, c.Control.Token}
	for _, a := range c.Accounts {
		secrets = append(secrets, a.AppSecret)
	}
	for _, o := range c.OAuthClients {
		secrets = append(secrets, o.ClientSecret)
	}
	isShort := func(secret string) bool { return len(secret) < 6 } // it would mask what only looks like it
	return &masker{slices.DeleteFunc(secrets, isShort)}
}

// beginning is what the journal reads of a body: more than it keeps, so that no secret is cut before
// it is masked.
func beginning(body []byte) []byte { return body[:min(len(body), 2*maxJournalBody)] }

// text masks a body and cuts it. It returns nothing for a body that is no text.
func (m *masker) text(body []byte) string {
	body = beginning(body)
	text := strings.ToValidUTF8(string(body), "")
	if len(text) < len(body)-utf8.UTFMax || strings.Contains(text, "\x00") {
		return ""
	}
	for _, secret := range m.secrets {
		text = strings.ReplaceAll(text, secret, masked)
	}
	text = maskFields(text)
	return strings.ToValidUTF8(text[:min(len(text), maxJournalBody)], "")
}

type span struct{ from, to int }

// secretValue is what follows the name of a secret: a JSON value, which may be cut off, or the
// value of a form's parameter. The groups are what is masked; quotes stay.
var secretValue = regexp.MustCompile(`(?s)^(?:"\s*:\s*(?:"((?:[^"\\]|\\.)*)|([^\s,}\]]*))|=([^&\s"\\]*))`)

var bearerToken = regexp.MustCompile(`^[^\s"\\,;]*`)

// maskFields masks the values of secretNames, in JSON that may be malformed or cut off and in
// forms, and bearer tokens. It looks for names first, because it masks every body.
func maskFields(text string) string {
	lower := strings.Map(func(r rune) rune { // as long as text
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
	var secrets []span
	for _, name := range secretNames {
		for at := range indexes(lower, name) {
			value := at + len(name)
			isJSON := strings.HasPrefix(text[value:], `"`)
			if isJSON && (at == 0 || text[at-1] != '"') {
				continue // the end of a longer name
			}
			groups := secretValue.FindStringSubmatchIndex(text[value:])
			for i := 2; i < len(groups); i += 2 {
				if groups[i] >= 0 {
					secrets = append(secrets, span{value + groups[i], value + groups[i+1]})
				}
			}
		}
	}
	for at := range indexes(lower, "bearer ") {
		from := at + len("bearer ")
		secrets = append(secrets, span{from, from + len(bearerToken.FindString(text[from:]))})
	}
	slices.SortFunc(secrets, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	done := 0
	for _, secret := range secrets {
		if secret.from < done {
			continue // in a value that is masked
		}
		out.WriteString(text[done:secret.from])
		out.WriteString(masked)
		done = secret.to
	}
	out.WriteString(text[done:])
	return out.String()
}

// indexes iterates over where a word is in a text.
func indexes(text, word string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; ; at++ {
			i := strings.Index(text[at:], word)
			if at += i; i < 0 || !yield(at) {
				return
			}
		}
	}
}

var referenceName = regexp.MustCompile(`"(?:customerReferenceNos?|platformReferenceNo)"\s*:\s*`)

// referencesIn adds the references to orders that a body has.
func referencesIn(found []string, body []byte) []string {
	found = slices.Clip(found)
	for _, at := range referenceName.FindAllIndex(body, -1) {
		value := body[at[1]:]
		refs := make([]string, 1)
		var into any = &refs[0]
		if bytes.HasPrefix(value, []byte("[")) {
			into = &refs
		}
		json.NewDecoder(bytes.NewReader(value)).Decode(into) // none in what is cut off or malformed
		for _, ref := range refs {
			if ref != "" && len(ref) <= maxReference && !slices.Contains(found, ref) {
				found = append(found, ref)
			}
		}
	}
	return found
}

// Bodies returns the bodies of a request and of its answer, cut off after 16 KiB. Secrets,
// passport numbers, birth dates, e-mail addresses and phone numbers are masked, names are not.
// Bodies are kept with [ControlConfig.Enabled] only.
func (r *Request) Bodies() (request, answer string) {
	if r.bodies == nil {
		return "", ""
	}
	return r.bodies.request, r.bodies.answer
}

// References returns the references to orders in the bodies of a request and of its answer.
// They are kept with [ControlConfig.Enabled] only.
func (r *Request) References() []string {
	if r.bodies == nil {
		return nil
	}
	return slices.Clone(r.bodies.references)
}
