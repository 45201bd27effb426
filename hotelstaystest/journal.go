// The journal: the bodies of requests and answers, with secrets masked.

package hotelstaystest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxJournalBody = 16 << 10 // maximum size of each body in bytes
	maxReference   = 200      // maximum size of each reference in bytes
)

// keep returns the masked text of a body and the references in the body, for the ledger. If the control API is off, it
// returns no text and no references.
func (s *Server) keep(body []byte) (text string, references []string) {
	if !s.cfg.Control.Enabled {
		return "", []string{}
	}
	body = body[:min(len(body), 2*maxJournalBody)] // masker.text finds only whole secrets, so it gets more bytes than it returns
	return s.masker.text(body), referencesIn(body)
}

// secretNames are the lower-case names of fields and parameters whose values the journal masks.
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
	isShort := func(secret string) bool { return len(secret) < 6 } // not masked, because other texts may contain a short secret by chance
	return &masker{slices.DeleteFunc(secrets, isShort)}
}

// text masks the secrets in a body, and cuts the body to maxJournalBody bytes. For a body that is not text it returns
// an empty string.
func (m *masker) text(body []byte) string {
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

// secretValues match bearer tokens, and the values of secretNames in forms and in JSON, even in malformed or cut-off
// text. The first group of a match is not secret.
var secretValues = func() []*regexp.Regexp {
	names := strings.Join(secretNames, "|")
	return []*regexp.Regexp{
		regexp.MustCompile(`(?is)("(?:` + names + `)"\s*:\s*")(?:[^"\\]|\\.)*`),
		regexp.MustCompile(`(?i)("(?:` + names + `)"\s*:\s*)[^\s,}\]"]+`),
		regexp.MustCompile(`(?i)((?:` + names + `)=)[^&\s"\\]*`),
		regexp.MustCompile(`(?i)(bearer )[^\s"\\,;]*`),
	}
}()

// maskFields masks the matches of secretValues. It first searches for secretNames, because this search is faster, and
// most bodies contain no such name.
func maskFields(text string) string {
	lower := strings.ToLower(text)
	has := func(name string) bool { return strings.Contains(lower, name) }
	if slices.ContainsFunc(secretNames, has) || has("bearer ") {
		for _, value := range secretValues {
			text = value.ReplaceAllString(text, "${1}"+masked)
		}
	}
	return text
}

var referenceName = regexp.MustCompile(`"(?:customerReferenceNos?|platformReferenceNo)"\s*:\s*`)

func referencesIn(body []byte) []string {
	found := []string{}
	for _, at := range referenceName.FindAllIndex(body, -1) {
		value := body[at[1]:]
		refs := make([]string, 1)
		var into any = &refs[0]
		if bytes.HasPrefix(value, []byte("[")) {
			into = &refs
		}
		json.NewDecoder(bytes.NewReader(value)).Decode(into) // malformed and incomplete values are ignored
		refs = slices.DeleteFunc(refs, func(ref string) bool { return ref == "" || len(ref) > maxReference })
		found = union(found, refs)
	}
	return found
}

func union(list, more []string) []string {
	list = slices.Clip(list)
	for _, item := range more {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}
