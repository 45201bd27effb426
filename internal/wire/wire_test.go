// Tests of envelopes, mismatches and errors.

package wire

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type money struct {
	Currency string      `json:"currency"`
	Amount   json.Number `json:"amount"`
}

type inner struct {
	Count int               `json:"count"`
	Cost  *money            `json:"cost"`
	Raw   []json.RawMessage `json:"raw"`
}

type payload struct {
	Count  int                    `json:"count"`
	Cost   *money                 `json:"cost"`
	Inner  inner                  `json:"inner"`
	List   []inner                `json:"list"`
	ByName map[string]json.Number `json:"byName"`
	Flag   *bool                  `json:"flag"`
	Rating float64                `json:"rating"`
	Hidden string                 `json:"-"`
}

var (
	innerList List[inner]

	readMoney = Struct([]Field[money]{
		{Name: "currency", Read: func(l *Lexer, v *money) { v.Currency = l.String() }},
		{Name: "amount", Read: func(l *Lexer, v *money) { v.Amount = json.Number(l.Number()) }},
	})
	readInner = Struct([]Field[inner]{
		{Name: "count", Read: func(l *Lexer, v *inner) { v.Count = l.Int() }},
		{Name: "cost", Read: func(l *Lexer, v *inner) { v.Cost = Pointer(l, readMoney) }},
		{Name: "raw", Read: func(l *Lexer, v *inner) {
			v.Raw = raws.Read(l, func(l *Lexer, v *json.RawMessage) { *v = l.Raw() })
		}},
	})
	readPayload = Struct([]Field[payload]{
		{Name: "count", Read: func(l *Lexer, v *payload) { v.Count = l.Int() }},
		{Name: "cost", Read: func(l *Lexer, v *payload) { v.Cost = Pointer(l, readMoney) }},
		{Name: "inner", Read: func(l *Lexer, v *payload) { readInner(l, &v.Inner) }},
		{Name: "list", Read: func(l *Lexer, v *payload) { v.List = innerList.Read(l, readInner) }},
		{Name: "byName", Read: func(l *Lexer, v *payload) { v.ByName = Map(l, readNumber) }},
		{Name: "flag", Read: func(l *Lexer, v *payload) { v.Flag = Pointer(l, func(l *Lexer, v *bool) { *v = l.Bool() }) }},
		{Name: "rating", Read: func(l *Lexer, v *payload) { v.Rating = l.Float64() }},
	})
)

func (v *payload) target(lenient bool) Target {
	return Target{Into: v, Read: func(l *Lexer) { readPayload(l, v) }, Lenient: lenient}
}

func TestAllMismatchesAreCountedAndTheFirstAreListed(t *testing.T) {
	var got payload
	body := `{"code":0,"data":{"list":[` + strings.Repeat(`{"count":"x"},7,`, 5000) + `{"count":1}]}}`
	env, err := Decode(t.Context(), []byte(body), got.target(true))
	require.NoError(t, err)
	assert.Len(t, env.List, maxListed)
	assert.Equal(t, 10_000, env.Count)
	assert.Equal(t, 1, got.List[10_000].Count)

	_, err = Decode(t.Context(), []byte(body), got.target(false))
	assert.ErrorContains(t, err, "and 9992 more")
}

// endingCtx is a ctx that ends when Err was called a number of times. The field polls counts the calls.
type endingCtx struct {
	context.Context
	polls, ends int
}

func (c *endingCtx) Err() error {
	if c.polls++; c.polls > c.ends {
		return context.Canceled
	}
	return nil
}

func endless(t *testing.T) *endingCtx { return &endingCtx{Context: t.Context(), ends: 1 << 30} }

// A msg of more than maxMsg bytes is cut off, and its escapes are not decoded. A msg that is an object or an array is
// reduced to names and types.
func TestLongMessagesAreCutOff(t *testing.T) {
	for _, code := range []string{"0", "7"} {
		for name, c := range map[string]struct{ msg, want string }{
			"the longest message": {`"` + strings.Repeat(`\n`, maxMsg/2-1) + `"`, strings.Repeat("\n", maxMsg/2-1)},
			"a longer message":    {`"` + strings.Repeat(`\n`, maxMsg/2) + `"`, `"` + strings.Repeat(`\n`, maxMsg/2-1) + `\`},
			"lone surrogates": {` "` + strings.Repeat(`\ud800`, 100_000) + `"`, `"` +
				strings.Repeat(`\ud800`, 100_000)[:maxMsg-1]},
			"a character that the limit cuts in two": {`"` + strings.Repeat(`é`, maxMsg) + `"`, `"` + strings.Repeat(`é`, maxMsg/2-1) + "\ufffd"},
			"a list":                                 {`[true,"Ada"]`, "[boolean]"},
			"a long list":                            {`[` + strings.Repeat(`1,`, maxMsg) + `1]`, "[number…"},
			"an object":                              {`{"field":{"email":"ada@host.example"},"n":1}`, "{field:{email:string},n:number}"},
			"a number":                               {`5`, "5"},
		} {
			env, err := Decode(t.Context(), []byte(`{"code":`+code+`,"msg":`+c.msg+`,"data":{}}`), new(page).target())
			require.NoError(t, err, name)
			assert.Equal(t, c.want, env.Msg, name)
		}
	}
}

// A message may quote any text, also a secret, so the decoder never interns a message.
func TestMessagesAreNotInterned(t *testing.T) {
	for _, body := range []string{`{"code":0,"msg":"message","data":{}}`, `{"data":{},"msg":"message","code":0}`} {
		one, err := Decode(t.Context(), []byte(body), new(page).target())
		require.NoError(t, err)
		other, err := Decode(t.Context(), []byte(body), new(page).target())
		require.NoError(t, err)
		assert.Equal(t, one.Msg, other.Msg)
		assert.NotSame(t, unsafe.StringData(one.Msg), unsafe.StringData(other.Msg), body)
	}
}
