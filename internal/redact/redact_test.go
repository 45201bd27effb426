// Tests of texts with secrets. A secret is redacted if the text escapes the secret, and also if the text ends within
// the secret.

package redact

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func asJSON(secret string) string {
	text, _ := json.Marshal(secret) // the encoding of a string cannot fail
	return string(text[1 : len(text)-1])
}

var writings = map[string]func(string) string{
	"unchanged":              func(s string) string { return s },
	"JSON":                   asJSON,
	"JSON, HTML not escaped": strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace,
	"JSON, slashes escaped":  strings.NewReplacer(`"`, `\"`, `\`, `\\`, "/", `\/`).Replace,
	"HTML":                   html.EscapeString,
	"JSON, all escaped": func(s string) (text string) {
		for _, unit := range utf16.Encode([]rune(s)) {
			text += fmt.Sprintf(`\u%04x`, unit)
		}
		return text
	},
	"URL":        url.QueryEscape,
	"URL path":   url.PathEscape,
	"URL base64": strings.NewReplacer("+", "-", "/", "_").Replace,
}

var secrets = []string{"AB1234567", "app-secret_0001.~", `x/y+z==`, `a"b&c<d>'e'`, `back\slash\`, `\\\`, "100%25",
	"a&amp;b", "%%%", "n&e 7", "Pä77", "k😀y"}

func TestSetTextRedactsEachWrittenFormOfASecret(t *testing.T) {
	for how, write := range writings {
		for _, secret := range secrets {
			for _, echoed := range []string{secret, strings.ToLower(secret), strings.ToUpper(secret)} {
				text := write(echoed)
				assert.Equal(t, "before [redacted] and after", Set{secret}.Text("before "+text+" and after"), "%s as %s of %s", secret, how, echoed)
				assert.Equal(t, "[redacted]", Set{"other", secret}.Text(text), "%s as %s of %s", secret, how, echoed)
			}
		}
	}
}

func TestSetTextRedactsASecretThatIsCutOff(t *testing.T) {
	const secret = `0123+"/é=89-abcdefghijklmnop`
	for how, write := range writings {
		text := write(secret)
		for end := len(write(secret[:minSecret])); end < len(text); end++ {
			assert.Equal(t, "for [redacted]", Set{secret}.Text("for "+text[:end]), "%s, cut at %q", how, text[:end])
		}
		piece := write(`0123+"/é=89-abcd`)
		assert.Equal(t, "for [redacted]... it is", Set{secret}.Text("for "+piece+"... it is"), how)
	}
	assert.Equal(t, "for [redacted]", Set{"née 7"}.Text("for NÉE 7"))
	assert.Equal(t, "for [redacted]", Set{secret}.Text("for 0123\uFFFD"), "a character that was cut in two")
}

func TestTextWithoutASecretIsNotChanged(t *testing.T) {
	for _, text := range []string{"", "the to-ken is bad", "100% of &amp; \\ and t&o", "tok&en;", `\u0074`, "to", "%74%6f", "tokentoke to"} {
		assert.Equal(t, text, Set{"token-0123456789", "", "ba"}.Text(text))
	}
	assert.Equal(t, "[redacted] is bad", Set{"secret-0123456789x"}.Text("secret-0123456789x is bad"))
	assert.Equal(t, "secret-01234567 is bad", Set{"secret-0123456789x"}.Text("secret-01234567 is bad"), "a word may begin like a secret")
}

func TestSetTextRedactsALongTextAndCutsItOff(t *testing.T) {
	text := strings.Repeat("x", MaxText-4) + "secret"
	assert.Equal(t, text[:MaxText-4]+Marker, Set{"secret"}.Text(text), "a secret that is cut off at the limit")
	assert.Len(t, Set{}.Text(text), MaxText)
}

func TestSetInFindsOnlyWholeSecrets(t *testing.T) {
	assert.True(t, Set{"other", "secret"}.In("a secret is here"))
	assert.False(t, Set{"secret", "", "a"}.In("a secre"), "only a whole secret of at least three bytes")
	assert.True(t, Set{"secret", "Pä7"}.In("a PÄ7"))
	assert.True(t, Set{"secret"}.In("SECRET"))
}

func TestWordsTextRedactsOnlyWholeWords(t *testing.T) {
	words := Words{"", "A", "An", "Ann", "O'Brien", "García", "a.b+c@mail.example", "1990-01-31", "山田"}
	for text, want := range map[string]string{
		"Ann O&#39;Brien, GARC\u00cdA":          "[redacted] [redacted], [redacted]",
		`"ann"_a.b%2Bc@mail.example_1990-01-31`: `"[redacted]"_[redacted]_[redacted]`,
		"山田様は":                                  "[redacted]様は",
		"Cannot plan: A banner, Annas, an1":     "Cannot plan: A banner, Annas, an1",
		"xa.b+c@mail.example":                   "xa.b+c@mail.example",
		"":                                      "",
	} {
		assert.Equal(t, want, words.Text(text))
	}
}

func TestValuesOfSecretKeysAreRedacted(t *testing.T) {
	for text, want := range map[string]string{
		`{"ticket":"a","later":1}`:                         `{"ticket":"[redacted]","later":1}`,
		`{"Access_Token" : "a\"b","id_token":["a"]}`:       `{"Access_Token" : "[redacted]","id_token":"[redacted]"}`,
		`{"token":{"jwt":"a"},"refresh_token":null,"x":1}`: `{"token":"[redacted]","refresh_token":"[redacted]","x":1}`,
		`{"passportNumber":"cut o`:                         `{"passportNumber":"[redacted]"`,
		`{"appSecret":["cut o`:                             `{"appSecret":"[redacted]"`,
		`{"client_secret":12,"msg":"ticket"}`:              `{"client_secret":"[redacted]","msg":"ticket"}`,
	} {
		assert.Equal(t, want, Keys(text))
	}
}

func TestTokensRedactsATextFromItsFirstToken(t *testing.T) {
	for text, want := range map[string]string{
		"expired":                   "expired",
		"the ticket's ttl":          "the ticket's ttl",
		"accessToken=opaque, sorry": "accessToken=[redacted]",
		`of {"ticket":"opaque"}`:    "of [redacted]",
		`\"token\": \"opaque`:       `\"token\":[redacted]`,
		"ticket eyJhbGciOiJ is\nin": "ticket [redacted]",
		"EYJ is not one":            "EYJ is not one",
	} {
		assert.Equal(t, want, Tokens(text))
	}
}

func TestShortenCutsBetweenCharacters(t *testing.T) {
	assert.Equal(t, "four", Shorten("four", 4))
	assert.Equal(t, "four…", Shorten("four5", 4))
	assert.Equal(t, "fou…", Shorten("foué", 4), "no half character")
}

// FuzzText puts fuzzed text around a secret. The secret must still be found.
func FuzzText(f *testing.F) {
	for _, secret := range secrets {
		f.Add(secret, `{"msg":"`, `"}`)
		f.Add(secret, secret[:3], `\u00`)
	}
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		marker := strings.ContainsAny(secret, "[]") || strings.Contains("redacted", secret)
		if len(secret) < minSecret || marker || !utf8.ValidString(secret) {
			return
		}
		for how, write := range writings {
			got := Set{secret}.Text(before + write(secret) + after)
			require.NotContains(t, got, write(secret), how)
			require.NotContains(t, got, secret, how)
		}
	})
}

func TestSetTextRedactsASecretWithOtherPunctuationOrAsHexadecimalBytes(t *testing.T) {
	const passport, secret = "AB 123-456 789", "AAAABBBBCCCCDDDD+EEEEFFFF1234/GGGG=="
	for _, text := range []string{
		"AB123-456789", "ab123456789", "AB\u00a0123-456\u00a0789", "AB&nbsp;123-456&nbsp;789", "4142203132332d34353620373839",
		`AAAABBBBCCCCDDDD\u002BEEEEFFFF1234/GGGG==`, `AAAABBBBCCCCDDDD&#43;EEEEFFFF1234/GGGG&#x3D;=`, "AAAABBBBCCCCDDDD-EEEEFFFF1234_GGGG",
	} {
		assert.Equal(t, `before "[redacted]" and after`, Set{passport, secret}.Text(`before "`+text+`" and after`), text)
	}
	assert.Equal(t, "[redacted], not [redacted]", Set{"AB123", "AB123456"}.Text("AB123456, not AB123"), "one secret begins like the other")
	assert.Equal(t, "a 1 b", Set{"a-1", "-----"}.Text("a 1 b"), "too little is left without punctuation")
}
