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

// All but the mismatches is decoded, to the byte.
func TestDecodeAroundMismatches(t *testing.T) {
	body := `{"code":0,"msg":"m","data":{"count":"x","cost":{"currency":"EUR","amount":"12.50"},
		"inner":{"count":3,"raw":[{"z":"<b>","a":1.50},7]},
		"list":[{"count":1},"text",{"count":2.5,"cost":{"amount":"abc","currency":"JPY"}}],
		"byName":{"eur":1.25,"usd":true},"flag":"yes","rating":4.5,"-":"kept out","new":{"any":1}}}`
	var got payload
	env, err := Decode(t.Context(), []byte(body), got.target(true))
	require.NoError(t, err)
	assert.True(t, env.HasData)
	var found []string
	for _, m := range env.List {
		found = append(found, m.String())
	}
	assert.Equal(t, []string{
		"data.count: want integer, got string",
		"data.list[1]: want object, got string",
		"data.list[2].count: want integer, got number",
		"data.list[2].cost.amount: want number, got string",
		"data.byName.usd: want number, got boolean",
		"data.flag: want boolean, got string",
	}, found)
	assert.Zero(t, got.Count)
	assert.Equal(t, &money{"EUR", "12.50"}, got.Cost)
	assert.Equal(t, 3, got.Inner.Count)
	assert.Equal(t, `{"z":"<b>","a":1.50}`, string(got.Inner.Raw[0]))
	require.Len(t, got.List, 3)
	assert.Equal(t, 1, got.List[0].Count)
	assert.Equal(t, inner{}, got.List[1])
	assert.Equal(t, &money{"JPY", ""}, got.List[2].Cost)
	assert.Equal(t, json.Number("1.25"), got.ByName["eur"])
	assert.Nil(t, got.Flag)
	assert.Equal(t, 4.5, got.Rating)
	assert.Empty(t, got.Hidden)

	_, err = Decode(t.Context(), []byte(body), new(payload).target(false))
	var mismatch *MismatchError
	require.ErrorAs(t, err, &mismatch)
	assert.Len(t, mismatch.List, 6)
}

func TestEnvelope(t *testing.T) {
	cases := []struct {
		body          string
		hasCode, data bool
		code          int
		failed        bool
	}{
		{`{"code":0,"data":{}}`, true, true, 0, false},
		{`{"data":{"rating":1},"code":0}`, true, true, 0, false},
		{`{"code":0}`, true, false, 0, false},
		{`{"code":0,"data":null}`, true, false, 0, false},
		{`{"code":0,"data":[]}`, true, false, 0, true},
		{`{"code":7,"msg":5,"data":"whatever"}`, true, false, 7, false},
		{`{"code":"0","data":{}}`, false, false, 0, true},
		{`{"code":0.0,"data":{}}`, false, false, 0, true},
		{`{"code":null,"data":{}}`, false, false, 0, false},
		{`{}`, false, false, 0, false},
		{`[]`, false, false, 0, false},
		{`"text"`, false, false, 0, false},
		{``, false, false, 0, true},
		{`{"code":0,"data":{}`, false, false, 0, true},
		{`{"code":0,"data":{}} trailing`, false, false, 0, true},
		{`<html>`, false, false, 0, true},
	}
	for _, c := range cases {
		env, err := Decode(t.Context(), []byte(c.body), new(payload).target(true))
		assert.Equal(t, c.hasCode, env.HasCode, c.body)
		assert.Equal(t, c.data, env.HasData, c.body)
		assert.Equal(t, c.code, env.Code, c.body)
		assert.Equal(t, c.failed, err != nil, "%s: %v", c.body, err)
	}
}

// The list of mismatches is bounded, their count is not.
func TestMismatchesAreCounted(t *testing.T) {
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

func TestSyntaxErrorTruncated(t *testing.T) {
	for body, truncated := range map[string]bool{`{"code":0,"da`: true, ``: true, `{"code":0,}`: false, `<html>`: false} {
		_, err := Decode(t.Context(), []byte(body), new(payload).target(false))
		var syntax *SyntaxError
		require.ErrorAs(t, err, &syntax, body)
		assert.Equal(t, truncated, syntax.Truncated, body)
	}
}

func TestEncodeLeavesTextAlone(t *testing.T) {
	body, err := Encode(map[string]string{"name": "<Ü & O'>"})
	require.NoError(t, err)
	assert.Equal(t, `{"name":"<Ü & O'>"}`, string(body))
}

// endingCtx is a ctx that ends after so many polls.
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

// Peek returns nothing if ctx ends, whenever it does.
func TestEnvelopesEndWithTheirCtx(t *testing.T) {
	body := []byte(`{"data":{"count":1},` + strings.Repeat(`"\n":1,`, 40<<10) + `"code":1}`)
	env, data, ok := Peek(t.Context(), body)
	assert.True(t, ok)
	assert.Equal(t, 1, env.Code)
	assert.JSONEq(t, `{"count":1}`, string(data))

	counted := endless(t)
	Peek(counted, body)
	require.GreaterOrEqual(t, counted.polls, len(body)>>16)
	for ends := range counted.polls {
		ctx := &endingCtx{Context: t.Context(), ends: ends}
		env, data, ok := Peek(ctx, body)
		assert.False(t, ok)
		assert.Zero(t, env)
		assert.Nil(t, data)
		assert.Equal(t, ends+1, ctx.polls, "it goes on")
	}
}

// A long msg is cut, and kept as it is written. Of one that is no text they keep the shape.
func TestMessages(t *testing.T) {
	for _, code := range []string{"0", "7"} {
		for name, c := range map[string]struct{ msg, want string }{
			"the longest":     {`"` + strings.Repeat(`\n`, maxMsg/2-1) + `"`, strings.Repeat("\n", maxMsg/2-1)},
			"a longer one":    {`"` + strings.Repeat(`\n`, maxMsg/2) + `"`, `"` + strings.Repeat(`\n`, maxMsg/2-1) + `\`},
			"lone surrogates": {` "` + strings.Repeat(`\ud800`, 100_000) + `"`, `"` + strings.Repeat(`\ud800`, 100_000)[:maxMsg-1]},
			"cut in two":      {`"` + strings.Repeat(`é`, maxMsg) + `"`, `"` + strings.Repeat(`é`, maxMsg/2-1) + "\ufffd"},
			"a list":          {`[true,"Ada"]`, "[boolean]"},
			"a long list":     {`[` + strings.Repeat(`1,`, maxMsg) + `1]`, "[number…"},
			"an object":       {`{"field":{"email":"ada@host.example"},"n":1}`, "{field:{email:string},n:number}"},
			"a number":        {`5`, "5"},
		} {
			env, err := Decode(t.Context(), []byte(`{"code":`+code+`,"msg":`+c.msg+`,"data":{}}`), new(page).target())
			require.NoError(t, err, name)
			assert.Equal(t, c.want, env.Msg, name)
		}
	}
}

// A document of another type is an error, because nothing would be left of it.
func TestDocumentOfAnotherTypeIsRefused(t *testing.T) {
	var got payload
	_, err := DecodeBare(t.Context(), []byte(`[1]`), got.target(true))
	assert.EqualError(t, err, "the document: want object, got array")
}

// A message may quote anything: it is never interned.
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
