// Tests of reading an answer: the results equal those of encoding/json, the reading ends when ctx ends, and an outline
// shows no values.

package wire

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecodingOfLongNumbersAndSpaceEndsWhenCtxEnds(t *testing.T) {
	const length = 3 * pollInterval
	digits, space := strings.Repeat("1", length), strings.Repeat(" \n", length/2)
	for name, data := range map[string]string{
		"an integer":                 `{"total":` + digits + `}`,
		"an amount without quotes":   `{"list":[{"minPrice":{"amount":` + digits + `}}]}`,
		"a fraction":                 `{"list":[{"minPrice":{"amount":0.` + digits + `}}]}`,
		"an exponent":                `{"list":[{"rating":1e` + digits + `}]}`,
		"an unknown number":          `{"new":-` + digits + `}`,
		"space before a name":        `{` + space + `"total":1}`,
		"space before a value":       `{"total":` + space + `1}`,
		"space between elements":     `{"list":[{},` + space + `{"id":"1"},{}]}`,
		"space in an unknown object": `{"new":{"a":1` + space + `}}`,
		"space after a mismatch":     `{"total":"1"` + space + `,"list":[{"rating":"2"},` + space + `{}]}`,
	} {
		body := []byte(`{"code":0,"data":` + data + `}`)
		ctx := endless(t)
		_, _ = Decode(ctx, body, new(page).target())
		require.GreaterOrEqual(t, ctx.polls, length/pollInterval, name)
		for ends := range ctx.polls {
			ctx, into := &endingCtx{Context: t.Context(), ends: ends}, page{}
			_, err := Decode(ctx, body, into.target())
			require.ErrorIs(t, err, context.Canceled, "%s: ends at poll %d", name, ends)
			assert.Equal(t, ends+1, ctx.polls, "%s: the reading continues", name)
			assert.Zero(t, into, name)
		}
	}
}

// The decoder does not check ctx within a string without escapes. It checks ctx after the string.
func TestDecodingOfALongStringEndsWhenCtxEnds(t *testing.T) {
	long := `"` + strings.Repeat("a", 1<<20) + `"`
	for _, data := range []string{`{"list":[{"id":` + long + `}]}`, `{"new":` + long + `}`} {
		ctx := &endingCtx{Context: t.Context()}
		_, err := Decode(ctx, []byte(`{"code":0,"data":`+data+`}`), new(page).target())
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 1, ctx.polls)
	}
}

func TestDecodingOfLongInvalidUTF8EndsWhenCtxEnds(t *testing.T) {
	body := []byte(`{"code":0,"data":{"cost":{"currency":"` + strings.Repeat("\xff", 1<<18) + `"}}}`)
	for ends := 0; ; ends++ {
		ctx, got := &endingCtx{Context: t.Context(), ends: ends}, payload{}
		_, err := Decode(ctx, body, got.target(true))
		if err == nil {
			assert.Equal(t, strings.Repeat("\ufffd", 1<<18), got.Cost.Currency)
			assert.Greater(t, ends, 4)
			return
		}
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, ends+1, ctx.polls)
	}
}

func TestDecodingOfLongEscapesChecksCtx(t *testing.T) {
	text := `"` + strings.Repeat(`\ud800`, 100_000) + `"`
	for _, body := range []string{`{"code":0,"data":{"cost":{"currency":` + text + `}}}`, `{"code":0,"data":{` + text + `:1}}`} {
		ctx := endless(t)
		_, err := Decode(ctx, []byte(body), new(payload).target(true))
		require.NoError(t, err)
		assert.GreaterOrEqual(t, ctx.polls, len(body)>>16)
	}
}

func readCosts(l *Lexer, v *map[string]*money) {
	*v = Map(l, func(l *Lexer, v **money) { *v = Pointer(l, readMoney) })
}

func TestNamesAndStringsAreReadAsByEncodingJSON(t *testing.T) {
	for _, s := range []string{
		`\n`, `\u0041`, `\ufffd`, `\ud83d`, `\ude00`, `\ud83d\ude00`, `\ud83d\ud83d\ude00`, `\ud83d\n`,
		"\xff", "\xe2\x82", "\\n\xff\xfeé", `\"\\`,
	} {
		for _, length := range []int{0, 2 * pollInterval} {
			long := s + strings.Repeat("a", length) + s
			for _, body := range []string{`{"` + long + `":{"amount":1}}`, `{"a":{"currency":"` + long + `"}}`} {
				var got, want map[string]*money
				require.NoError(t, json.Unmarshal([]byte(body), &want))
				_, err := DecodeBare(t.Context(), []byte(body), Target{Into: &got, Read: func(l *Lexer) { readCosts(l, &got) }})
				require.NoError(t, err)
				assert.True(t, assert.ObjectsAreEqual(want, got), "%q %d", s, length)
			}
		}
		_, err := Decode(t.Context(), []byte(`{"code":0,"data":{"byName":{"`+s+`":1,"`+s+`":2}}}`), new(payload).target(true))
		assert.EqualError(t, err, "data.byName.* comes twice", s)
	}
}

func TestOutlineShowsNamesAndTypesButNoValue(t *testing.T) {
	for text, want := range map[string]string{
		``: ``, `<html lang="en">Bad gateway [12]</html>`: `<html lang="en">Bad gateway [number]`,
		`[ERR] {x} [if lt IE 7]`: `[ERR] {x} [if lt IE 7]`,
		`{}`:                     `{}`, `[]`: `[]`, `[[]]`: `[[]]`, `{"a":{}}`: `{a:{}}`,
		` {"code" : 0, "data":[{"b":"CANARY"},{"CANARY":1}]} CANARY`: ` {code:number,data:[{b:string}]}`,
		`{"x":null,"y":true,"z":-1.5}`:                               `{x:null,y:boolean,z:number}`,
		`{"data":{"orders":[{"holder":{"email":"CANARY`:              `{data:{orders:[{holder:{email:…`,
		`{"a":1,"b":CANARY}`:                                         `{a:number,b:…`,
		`{"a":1,"CANARY`:                                             `{a:number…`,
		`{"a":[1,CANARY]}`:                                           `{a:[number…`,
		`["CANARY`:                                                   `[…`,
		`[-15550199,1]`:                                              `[number]`,
		`"CANARY"`:                                                   `string`,
		` "CANARY`:                                                   `…`,
		"\ufeff{\"a\":\"CANARY\"}":                                   "\ufeff{a:string}",
		`)]}',` + "\n" + `{"a":"CANARY"}`:                            `)]}',` + "\n{a:string}",
		`callback({"a":"CANARY"})`:                                   `callback({a:string}`,
		`<pre>{&quot;a&quot;:&quot;CANARY&quot;}`:                    `<pre>{…`,
		`upstream: {\"a\":\"CANARY\"}`:                               `upstream: {…`,
		`{"a@b":1,"+49155":2,"X1":[],"` + strings.Repeat("a", 33) + `":[],"\u0061":[],"a_b":[]}`: `{*:number,*:number,*:[],*:[],a:[],a_b:[]}`,
		strings.Repeat("[", 4000): strings.Repeat("[", 4000) + "…",
	} {
		got := Outline([]byte(text))
		assert.Equal(t, want, got, text)
		assert.NotContains(t, got, "CANARY")
	}
}

func TestNumbersLongerThanTheirLimitAreMismatches(t *testing.T) {
	digits := func(n int) string { return strings.Repeat("1", n) }
	for name, c := range map[string]struct{ body, mismatch string }{
		"an integer":                   {`{"count":` + digits(1<<20) + `}`, "data.count: want integer, got number"},
		"the longest float":            {`{"rating":0.` + digits(1022) + `}`, ""},
		"a longer float":               {`{"rating":0.` + digits(1023) + `}`, "data.rating: want number, got number"},
		"an amount without quotes":     {`{"cost":{"amount":` + digits(1<<20) + `}}`, ""},
		"the longest number in quotes": {`{"cost":{"amount":"` + digits(1022) + `"}}`, ""},
		"a longer number in quotes": {`{"cost":{"amount":"` + digits(1023) + `"}}`,
			"data.cost.amount: want number, got string"},
		"the longest number in quotes with an escape": {`{"cost":{"amount":"` + digits(1016) + `\u0031"}}`, ""},
		"a longer number in quotes with an escape": {`{"cost":{"amount":"` + digits(1017) + `\u0031"}}`,
			"data.cost.amount: want number, got string"},
	} {
		var got, want payload
		env, err := Decode(t.Context(), []byte(`{"code":0,"data":`+c.body+`}`), got.target(true))
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
		_, err := Decode(t.Context(), []byte(`{"code":`+code+`}`), new(payload).target(true))
		assert.EqualError(t, err, "code: want integer, got number")
	}
}
