// However a page writes a secret, and wherever it breaks off, the secret is found.

package hotelstays

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// each writes every character in one form.
func each(form string) func(string) string {
	return func(secret string) string {
		var b strings.Builder
		for _, char := range secret {
			fmt.Fprintf(&b, form, char)
		}
		return b.String()
	}
}

func asJSON(secret string) string {
	text, _ := json.Marshal(secret) // a string cannot fail
	return string(text[1 : len(text)-1])
}

// writings are the ways in which a page may write a secret.
var writings = map[string]func(string) string{
	"as it is":                   func(s string) string { return s },
	"JSON":                       asJSON,
	"JSON inside JSON":           func(s string) string { return asJSON(asJSON(s)) },
	"JSON, slashes escaped":      func(s string) string { return strings.ReplaceAll(asJSON(s), "/", `\/`) },
	"JSON, base64 escaped":       strings.NewReplacer("+", `\u002B`, "=", `\u003d`, `"`, `\"`, `\`, `\\`).Replace,
	"JSON, all escaped":          each(`\u%04x`),
	"JSON, all escaped, capital": each(`\u%04X`),
	"a Go literal":               func(s string) string { q := strconv.QuoteToASCII(s); return q[1 : len(q)-1] },
	"a script":                   each(`\x%02x`),
	"HTML":                       html.EscapeString,
	"HTML, decimal":              each("&#%d;"),
	"HTML, zeros before":         each("&#%05d;"),
	"HTML, hexadecimal":          each("&#x%x;"),
	"HTML inside JSON":           func(s string) string { return strings.NewReplacer("/", `\/`, `\`, `\\`).Replace(html.EscapeString(s)) },
	"URL":                        url.QueryEscape,
	"URL, path":                  url.PathEscape,
	"URL, all escaped": func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, "%%%02x", s[i])
		}
		return b.String()
	},
}

var spelledSecrets = []string{"AB1234567", "app-secret_0001.~", `x/y+z==`, `a"b&c<d>'e'`, `back\slash\`, `\\\`, "100%25", "&amp;&amp;", "%%%", `\u0041\u0042`, "née 7"}

func TestSecretsAreFoundHoweverTheyAreEscaped(t *testing.T) {
	for how, write := range writings {
		for _, secret := range spelledSecrets {
			for _, echoed := range []string{secret, strings.ToLower(secret), strings.ToUpper(secret)} {
				got := without("before "+write(echoed)+" and after", secret)
				assert.Equal(t, "before [redacted] and after", got, "%s as %s of %s", secret, how, echoed)
				got = without(write(echoed), secret)
				assert.Equal(t, "[redacted]", got, "%s as %s of %s", secret, how, echoed)
			}
		}
	}
}

func TestSecretsAreFoundWhereTheyAreCutOff(t *testing.T) {
	const secret = `0123+"/é=89-abcdefghijklmnop`
	for how, write := range writings {
		text := write(secret)
		for end := len(write(secret[:minSecret])); end < len(text); end++ {
			assert.Equal(t, "for [redacted]", without("for "+text[:end], secret), "%s, cut at %q", how, text[:end])
		}
		piece := write(`0123+"/é=89-abcd`)
		assert.Equal(t, "for [redacted]... it is", without("for "+piece+"... it is", secret), how)
	}
}

func TestWhatIsNoSecretStays(t *testing.T) {
	for _, text := range []string{"", "the to-ken is bad", "100% of &amp; \\ and t&o", "tok&en;", `\u0074`, "to", "%74%6f", "tokentoke to"} {
		assert.Equal(t, text, without(text, "token-0123456789"))
	}
	assert.Equal(t, "[redacted] is bad", without("secret-0123456789x is bad", "secret-0123456789x"))
	assert.Equal(t, "secret-01234567 is bad", without("secret-01234567 is bad", "secret-0123456789x"), "a word can begin like it")
}

// What stands around a secret does not hide it.
func FuzzSpelling(f *testing.F) {
	for _, secret := range spelledSecrets {
		f.Add(secret, `{"msg":"`, `"}`)
		f.Add(secret, secret[:3], `\u00`)
	}
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		odd := func(char rune) bool { return char > 0xff || !unicode.IsPrint(char) } // not in every form
		marker := strings.ContainsAny(secret, "[]") || strings.Contains("redacted", secret)
		if len(secret) < minSecret || marker || strings.ContainsFunc(secret, odd) {
			return
		}
		for how, write := range writings {
			got := without(before+write(secret)+after, secret)
			require.NotContains(t, got, write(secret), how)
			require.NotContains(t, got, secret, how)
		}
	})
}
