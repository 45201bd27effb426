// Only Reveal shows a Secret.

package types

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const canary = "canary-5d1f"

// secretHolders returns values that hold a Secret in each place where a struct can have one.
func secretHolders() map[string]any {
	type inner struct{ secret Secret }
	s := NewSecret(canary)
	holder := struct {
		Secret     Secret
		Pointer    *Secret
		Map        map[string]Secret
		unexported Secret
		pointer    *Secret
		list       []Secret
		nested     inner
		deep       *inner
		any        any
	}{s, &s, map[string]Secret{"k": s}, s, &s, []Secret{s}, inner{s}, &inner{s}, inner{s}}
	return map[string]any{
		"value": s, "pointer": &s, "list": []Secret{s}, "list of pointers": []*Secret{&s}, "map": map[string]Secret{"k": s},
		"struct": holder, "pointer to a struct": &holder, "list of structs": []any{holder, &holder},
		"unexported": inner{s}, "pointers to unexported": []*inner{{s}}, "guest": Guest{PassportNumber: s},
		"guests": []*Guest{{PassportNumber: s}},
	}
}

// requireHidden fails if a text has the canary in any of the forms that fmt prints.
func requireHidden(t *testing.T, what, text string) {
	t.Helper()
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary),
		fmt.Sprintf("% x", canary), fmt.Sprint([]byte(canary)[:4])[1:14]} {
		assert.NotContains(t, text, form, what)
	}
}

func TestPrintingNeverShowsASecret(t *testing.T) {
	for what, v := range secretHolders() {
		for verb := range strings.FieldsSeq("%v %+v %#v %s %q %x %X %#x %d %10.3s %t %p %w %T %z %c %U %e %b %!") {
			requireHidden(t, what+" "+verb, fmt.Sprintf(verb, v))
			requireHidden(t, what+" "+verb, fmt.Errorf(verb, v).Error())
			requireHidden(t, what+" in a list "+verb, fmt.Sprintf(verb, []any{v, &v}))
		}
		requireHidden(t, what+" % x", fmt.Sprintf("% x", v))
		requireHidden(t, what, fmt.Sprint(v)+fmt.Sprintln(v))
		if text, err := json.Marshal(v); assert.NoError(t, err) {
			requireHidden(t, what+" JSON", string(text))
		}
		var log bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
			slog.New(handler).With("with", v).Info("m", "v", v, slog.Group("g", "v", v))
		}
		requireHidden(t, what+" slog", log.String())
	}
}

func TestDiffOfATestNeverShowsASecret(t *testing.T) {
	for what, v := range secretHolders() {
		var failed report
		assert.Equal(&failed, "something else", v)
		assert.Equal(&failed, v, reflect.Zero(reflect.TypeOf(v)).Interface())
		assert.Empty(&failed, v)
		assert.Contains(&failed, []any{1}, v)
		require.NotEmpty(t, failed.text, what)
		requireHidden(t, what, failed.text)
	}
}

type report struct{ text string }

func (r *report) Errorf(format string, args ...any) { r.text += fmt.Sprintf(format, args...) }

// A reader of a dump who knows one secret, such as the beginning of all tickets, cannot read another secret.
func TestSecretsInMemoryShareNoKeystream(t *testing.T) {
	const known, secret = "known to all", canary + "!"
	a, b := []byte(*NewSecret(known).masked), *NewSecret(secret).masked
	for from := range len(a) - len(known) + 1 {
		part := make([]byte, len(known))
		for i := range part {
			part[i] = a[from+i] ^ b[from+i] ^ known[i]
		}
		assert.NotEqual(t, secret, string(part))
	}
}

func TestSecretPrintsRedacted(t *testing.T) {
	s := NewSecret(canary)
	for verb := range strings.FieldsSeq("%v %+v %#v %s %q %x %X %d %t %10.3s") {
		assert.Equal(t, "[redacted]", fmt.Sprintf(verb, s), verb)
		assert.Equal(t, "[redacted]", fmt.Sprintf(verb, &s), verb)
		assert.Empty(t, fmt.Sprintf(verb, Secret{}), "%s of an empty secret", verb)
	}
	assert.Equal(t, "{[redacted] }", fmt.Sprint(struct{ A, B Secret }{A: s}))
	assert.Regexp(t, `^\{\{\[\] 0x[0-9a-f]+\}\}$`, fmt.Sprint(struct{ a Secret }{s}), "an unexported field")
	text, err := json.Marshal(struct {
		A, B Secret
		C    Secret `json:",omitzero"`
	}{A: s})
	require.NoError(t, err)
	assert.JSONEq(t, `{"A":"[redacted]","B":""}`, string(text))
	text, err = xml.Marshal(Guest{PassportNumber: s})
	require.NoError(t, err)
	assert.Contains(t, string(text), "<PassportNumber>[redacted]</PassportNumber>")
}

func TestSecretRevealsAndComparesItsValue(t *testing.T) {
	for _, value := range []string{"", "x", canary, "\x00\xff", strings.Repeat("long ", 2000)} {
		s := NewSecret(value)
		assert.Equal(t, value, s.Reveal())
		assert.Equal(t, value == "", s.IsZero())
		assert.True(t, s.Equal(NewSecret(value)))
		assert.False(t, s.Equal(NewSecret(value+"x")))
		assert.False(t, s.Equal(NewSecret("other")))
		assert.True(t, reflect.DeepEqual(s, NewSecret(value)), "equal values are equal to assert.Equal")
	}
	assert.False(t, reflect.DeepEqual(NewSecret("one"), NewSecret("two")))
	assert.False(t, reflect.TypeFor[Secret]().Comparable(), "== would compare addresses")
	var back struct{ S, None, Null Secret }
	require.NoError(t, json.Unmarshal([]byte(`{"S":"`+canary+`","None":"","Null":null}`), &back))
	assert.Equal(t, canary, back.S.Reveal(), "JSON is decoded as the value")
	assert.True(t, back.None.IsZero() && back.Null.IsZero())
	require.Error(t, json.Unmarshal([]byte(`{"S":1}`), &back))
}
