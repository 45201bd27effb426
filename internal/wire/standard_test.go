// Reading in pieces gives what reading at once does.

package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadingInPieces(t *testing.T) {
	type row struct {
		payload
		Texts []string            `json:"texts"`
		Rows  []payload           `json:"rows"`
		Maps  []map[string]*money `json:"maps"`
		Text  string              `json:"text"`
		Any   json.RawMessage     `json:"any"`
	}
	for _, size := range []int{1, piece - 10, piece - 1, piece, piece + 1, 3 * piece} {
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
			`{"rows":[` + fill(`{"count":1,"inner":{"raw":[1,{}]},"cost":{"amount":"5"}}`) + `,null,{"list":[` + fill(`{"count":2}`) + `]},{}],"count":7,"unknown":[` + fill(`{}`) + `]}`,
			`{"maps":[{` + keys.String() + `"":null},null,{}],"cost":{"x":"` + long + `","currency":"` + long + `"}}`,
			`{"text":"` + long + `\n","any": [ ` + fill(`1`) + `] }`,
			`{"text":"` + long + `\ud83d","any":"` + long + "\xff\"}",
			`{"inner":{"unknown":"` + long + `","count":3},"flag":true,"rating":1.5,"byName":{` + numbers.String() + `"b":2}}`,
		} {
			var got, want row
			require.NoError(t, json.Unmarshal([]byte(text), &want))
			require.NoError(t, standard(context.Background(), []byte(text), &got))
			require.Equal(t, want, got, "%d %.100s", size, text)
		}
	}
	assert.Error(t, standard(context.Background(), []byte(`7`), new(string)))
}
