// The journal: the bodies of requests and answers, with secrets and personal data masked.

package hotelstaystest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxJournalBody = 16 << 10 // bytes of each body
	maxReferences  = 20       // of a request
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

// keepRequest returns what the journal keeps of a request's body, or nil without control.
func (s *Server) keepRequest(body []byte) *bodies {
	if !s.cfg.Control.Enabled {
		return nil
	}
	return &bodies{request: s.masker.text(body), references: referencesIn(nil, body)}
}

// keepAnswer returns what the journal keeps of a call with its answer, or nil without control.
func (s *Server) keepAnswer(c *call, a *answer) *bodies {
	if !s.cfg.Control.Enabled {
		return nil
	}
	var kept bodies
	if before := s.ledger.bodiesOf(c.rec); before != nil {
		kept = *before
	}
	kept.answer, kept.references = s.masker.text(a.body), referencesIn(kept.references, a.body)
	return &kept
}

const jsonString = `"(?:[^"\\]|\\.)*`

var (
	// secretField matches a field and its value, in JSON that may be malformed or cut off.
	secretField = regexp.MustCompile(`(?is)("(?:appSecret|client_?secret|ticket|access_?token|refresh_?token|token|authorization|` +
		`passportNumber|dateOfBirth|email|number)"\s*:\s*)(?:` + jsonString + `"?|[^\s,}\]]+)`)
	secretForm = regexp.MustCompile(`(?i)((?:appSecret|client_?secret|access_?token|proof)=)[^&\s"\\]*`)
	bearer     = regexp.MustCompile(`(?i)(bearer\s+)[A-Za-z0-9._~+/=-]+`)

	referenceField = regexp.MustCompile(`(?s)"(?:customerReferenceNo|platformReferenceNo)"\s*:\s*(` + jsonString + `")`)
	referenceList  = regexp.MustCompile(`(?s)"customerReferenceNos"\s*:\s*(\[[^\]]*\])`)
)

const masked = "***"

// masker makes the texts of the journal.
type masker struct{ secrets *strings.Replacer }

func newMasker(c *Config) *masker {
	secrets := []string{c.Webhooks.Secret, c.Control.Token}
	for _, a := range c.Accounts {
		secrets = append(secrets, a.AppSecret)
	}
	for _, o := range c.OAuthClients {
		secrets = append(secrets, o.ClientSecret)
	}
	var pairs []string
	for _, secret := range secrets {
		if len(secret) >= 6 { // a shorter one would mask what only looks like it
			pairs = append(pairs, secret, masked)
		}
	}
	return &masker{strings.NewReplacer(pairs...)}
}

// text masks a body and cuts it. It returns nothing for a body that is no text.
func (m *masker) text(body []byte) string {
	// More than is kept, so that no secret is cut in two before it is masked.
	body = body[:min(len(body), 2*maxJournalBody)]
	text := strings.ToValidUTF8(string(body), "")
	if len(text) < len(body)-utf8.UTFMax || strings.Contains(text, "\x00") {
		return ""
	}
	text = m.secrets.Replace(text)
	text = secretField.ReplaceAllString(text, `${1}"`+masked+`"`)
	text = secretForm.ReplaceAllString(text, "${1}"+masked)
	text = bearer.ReplaceAllString(text, "${1}"+masked)
	return strings.ToValidUTF8(text[:min(len(text), maxJournalBody)], "")
}

// referencesIn adds the references to orders that a body has.
func referencesIn(found []string, body []byte) []string {
	body = body[:min(len(body), 2*maxJournalBody)]
	found = slices.Clip(found)
	add := func(ref string) {
		if ref != "" && len(ref) <= 200 && len(found) < maxReferences && !slices.Contains(found, ref) {
			found = append(found, ref)
		}
	}
	for _, match := range referenceList.FindAllSubmatch(body, -1) {
		var refs []string
		if json.Unmarshal(match[1], &refs) == nil {
			for _, ref := range refs {
				add(ref)
			}
		}
	}
	for _, match := range referenceField.FindAllSubmatch(body, -1) {
		var ref string
		if json.Unmarshal(match[1], &ref) == nil {
			add(ref)
		}
	}
	return found
}

// Bodies returns the bodies of a request and of its answer, with secrets and personal data
// masked, and cut off after 16 KiB. They are kept with [WithControl] only.
func (r *Request) Bodies() (request, answer string) {
	if r.bodies == nil {
		return "", ""
	}
	return r.bodies.request, r.bodies.answer
}

// References returns the references to orders in the bodies of a request and of its answer.
// They are kept with [WithControl] only.
func (r *Request) References() []string {
	if r.bodies == nil {
		return nil
	}
	return slices.Clone(r.bodies.references)
}
