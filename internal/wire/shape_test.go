// Tests of which numbers fit.

package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The longest numbers that are parsed, and longer ones.
func TestLongValues(t *testing.T) {
	digits := func(n int) string { return strings.Repeat("1", n) }
	for name, c := range map[string]struct{ body, mismatch string }{
		"an integer":                 {`{"count":` + digits(1<<20) + `}`, "data.count: want integer, got number"},
		"the longest float":          {`{"rating":0.` + digits(1022) + `}`, ""},
		"a longer float":             {`{"rating":0.` + digits(1023) + `}`, "data.rating: want number, got number"},
		"a literal":                  {`{"cost":{"amount":` + digits(1<<20) + `}}`, ""},
		"the longest quoted":         {`{"cost":{"amount":"` + digits(1022) + `"}}`, ""},
		"a longer quoted":            {`{"cost":{"amount":"` + digits(1023) + `"}}`, "data.cost.amount: want number, got string"},
		"the longest with an escape": {`{"cost":{"amount":"` + digits(1016) + `\u0031"}}`, ""},
		"a longer with an escape":    {`{"cost":{"amount":"` + digits(1017) + `\u0031"}}`, "data.cost.amount: want number, got string"},
	} {
		var got, want payload
		env, err := Decode(t.Context(), []byte(`{"code":0,"data":`+c.body+`}`), Target{Into: &got}, true)
		require.NoError(t, err, name)
		if c.mismatch != "" {
			require.Len(t, env.List, 1, name)
			assert.Equal(t, c.mismatch, env.List[0].String(), name)
			continue
		}
		assert.Empty(t, env.List, name)
		require.NoError(t, json.Unmarshal([]byte(c.body), &want))
		assert.Equal(t, want, got, name)
	}

	for _, code := range []string{digits(20), "-" + digits(20), digits(1 << 20)} {
		_, err := Decode(t.Context(), []byte(`{"code":`+code+`}`), Target{Into: &payload{}}, true)
		assert.EqualError(t, err, "code: want integer, got number")
	}
}
