// Tests of reading in chunks.

package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Reading in chunks gives what reading at once does.
func TestReadingInChunks(t *testing.T) {
	type row struct {
		Count  int                    `json:"count"`
		Cost   *money                 `json:"cost"`
		Inner  inner                  `json:"inner"`
		ByName map[string]json.Number `json:"byName"`
		Flag   *bool                  `json:"flag"`
		Rating float64                `json:"rating"`
		Texts  []string               `json:"texts"`
		Rows   []payload              `json:"rows"`
		Maps   []map[string]*money    `json:"maps"`
		Text   string                 `json:"text"`
		Any    json.RawMessage        `json:"any"`
	}
	for _, size := range []int{1, chunkSize - 10, chunkSize - 1, chunkSize, chunkSize + 1, 2*chunkSize + 1} {
		fill := func(element string) string {
			return strings.TrimSuffix(strings.Repeat(element+" , ", size/(len(element)+3)+1), " , ")
		}
		keys, numbers := &strings.Builder{}, &strings.Builder{}
		for i := 0; keys.Len() < size; i++ {
			fmt.Fprintf(numbers, `"%d":%d,`, i, i)
			fmt.Fprintf(keys, `"k\u0041%d":{"amount":%d},`, i, i)
		}
		long := strings.Repeat("é", size/2)
		for _, text := range []string{
			`{"texts":[` + fill(`"a"`) + `]}`,
			`{"texts":[` + fill(`"a"`) + `,"` + long + `",` + fill(`"b"`) + `,"` + long + `","` + long + `","c"]}`,
			`{"texts":["` + long + `"]}`,
			`{"rows":[` + fill(`{"count":1,"inner":{"raw":[1,{}]},"cost":{"amount":"5"}}`) + `,null,{"list":[` + fill(`{"count":2}`) +
				`]},{}],"count":7,"unknown":[` + fill(`{}`) + `]}`,
			`{"texts":["a",` + strings.Repeat(" ", size) + `"b","c" ` + strings.Repeat("\n", size) + `,"d"]}`,
			`{"maps":[{` + keys.String() + `"":null},null,{}],"cost":{"x":"` + long + `","currency":"` + long + `"}}`,
			`{"text":"` + long + `\n","any": [ ` + fill(`1`) + `] }`,
			`{"text":"` + long + `\ud83d","any":"` + long + "\xff\"}",
			`{"inner":{"unknown":"` + long + `","count":3},"flag":true,"rating":1.5,"byName":{` + numbers.String() + `"b":2}}`,
		} {
			var got, want row
			require.NoError(t, json.Unmarshal([]byte(text), &want))
			require.NoError(t, standard(t.Context(), []byte(text), &got))
			require.Equal(t, want, got, "%d %.100s", size, text)
		}
	}
	assert.Error(t, standard(t.Context(), []byte(`7`), new(string)))
}

// Malformed names and strings are read as encoding/json reads them.
func TestMalformedStringsAreReadAlike(t *testing.T) {
	for _, s := range []string{
		`\n`, `\u0041`, `\ufffd`, `\ud83d`, `\ude00`, `\ud83d\ude00`, `\ud83d\ud83d\ude00`, `\ud83d\n`,
		"\xff", "\xe2\x82", "\\n\xff\xfeé", `\"\\`,
	} {
		for _, length := range []int{0, 2 * chunkSize} {
			long := s + strings.Repeat("a", length) + s
			for _, body := range []string{`{"` + long + `":{"amount":1}}`, `{"a":{"currency":"` + long + `"}}`} {
				var got, want map[string]*money
				require.NoError(t, json.Unmarshal([]byte(body), &want))
				require.NoError(t, standard(t.Context(), []byte(body), &got))
				assert.True(t, assert.ObjectsAreEqual(want, got), "%q %d", s, length)
			}
		}
		_, err := Decode(t.Context(), []byte(`{"code":0,"data":{"byName":{"`+s+`":1,"`+s+`":2}}}`), Target{Into: &payload{}}, true)
		assert.EqualError(t, err, "data.byName.* comes twice", s)
	}
}
