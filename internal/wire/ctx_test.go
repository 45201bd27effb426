// However long one value is, its reading ends with its ctx, and what is read of it is
// bounded.

package wire

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// endingCtx is a ctx that ends when it has been looked at so many times.
type endingCtx struct {
	context.Context
	looks, ends int
}

func (c *endingCtx) Err() error {
	if c.looks++; c.looks > c.ends {
		return context.Canceled
	}
	return nil
}

// Peek and Data end with their ctx, wherever it ends, and find nothing.
func TestEnvelopesEndWithTheirCtx(t *testing.T) {
	body := []byte(`{"data":{"count":1},` + strings.Repeat(`"\n":1,`, 100<<10) + `"code":1}`)
	env, ok := Peek(t.Context(), body)
	assert.True(t, ok)
	assert.Equal(t, 1, env.Code)
	assert.JSONEq(t, `{"count":1}`, string(Data(t.Context(), body)))

	counted := &endingCtx{Context: t.Context(), ends: 1 << 30}
	Peek(counted, body)
	require.GreaterOrEqual(t, counted.looks, len(body)>>16)
	for ends := range counted.looks {
		ctx := &endingCtx{Context: t.Context(), ends: ends}
		env, ok := Peek(ctx, body)
		assert.False(t, ok)
		assert.Zero(t, env)
		assert.Equal(t, ends+1, ctx.looks, "it goes on")
		assert.Nil(t, Data(&endingCtx{Context: t.Context(), ends: ends}, body))
	}
}

// A number or a text is looked at once more when it has been passed over, so that a
// ctx that ended meanwhile ends the reading there.
func TestLongValuesEndWithTheirCtx(t *testing.T) {
	const length = 1 << 20
	for name, body := range map[string]string{
		"an amount":  `{"code":0,"data":{"total":1,"x":1,"list":[{"minPrice":{"amount":` + strings.Repeat("1", length) + `}}]}}`,
		"a text":     `{"code":0,"data":{"list":[{"id":"` + strings.Repeat("a", length) + `"}]}}`,
		"an unknown": `{"code":0,"data":{"new":"` + strings.Repeat("a", length) + `"}}`,
	} {
		for _, target := range []Target{new(page).target(), {Into: new(page)}} {
			ctx := &endingCtx{Context: t.Context()}
			_, err := Decode(ctx, []byte(body), target, true)
			require.ErrorIs(t, err, context.Canceled, name)
			assert.LessOrEqual(t, ctx.looks, 2, name)
		}
	}
}

// How long a value may be that is turned into something else than its text.
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

// Of a msg that is too long, the beginning is kept as it is written, by both readers.
func TestLongMessages(t *testing.T) {
	for _, code := range []string{"0", "7"} {
		for name, c := range map[string]struct{ msg, want string }{
			"the longest":     {`"` + strings.Repeat(`\n`, maxMsg/2-1) + `"`, strings.Repeat("\n", maxMsg/2-1)},
			"a longer one":    {`"` + strings.Repeat(`\n`, maxMsg/2) + `"`, `"` + strings.Repeat(`\n`, maxMsg/2-1) + `\`},
			"half characters": {` "` + strings.Repeat(`\ud800`, 100_000) + `"`, `"` + strings.Repeat(`\ud800`, 100_000)[:maxMsg-1]},
			"cut in two":      {`"` + strings.Repeat(`é`, maxMsg) + `"`, `"` + strings.Repeat(`é`, maxMsg/2-1) + "\ufffd"},
			"a list":          {`[` + strings.Repeat(`1,`, maxMsg) + `1]`, `[` + strings.Repeat(`1,`, maxMsg)[:maxMsg-1]},
		} {
			for _, target := range []Target{new(page).target(), {Into: new(page)}} {
				env, err := Decode(t.Context(), []byte(`{"code":`+code+`,"msg":`+c.msg+`,"data":{}}`), target, true)
				require.NoError(t, err, name)
				assert.Equal(t, c.want, env.Msg, name)
			}
		}
	}
}

// Names and long texts are read as encoding/json reads them, whatever they hold.
func TestOddTextsAreReadAlike(t *testing.T) {
	for _, odd := range []string{`\n`, `\u0041`, `\ud83d`, `\ude00`, `\ud83d\ude00`, `\ud83d\ud83d\ude00`, `\ud83d\n`, "\xff", "\xe2\x82", "\\n\xff\xfeé", `\"\\`} {
		for _, length := range []int{0, 2 * piece} {
			long := odd + strings.Repeat("a", length) + odd
			for _, body := range []string{`{"` + long + `":{"amount":1}}`, `{"a":{"currency":"` + long + `"}}`} {
				var got, want map[string]*money
				require.NoError(t, json.Unmarshal([]byte(body), &want))
				require.NoError(t, standard(t.Context(), []byte(body), &got))
				assert.True(t, assert.ObjectsAreEqual(want, got), "%q %d", odd, length)
			}
		}
		_, err := Decode(t.Context(), []byte(`{"code":0,"data":{"byName":{"`+odd+`":1,"`+odd+`":2}}}`), Target{Into: &payload{}}, true)
		assert.EqualError(t, err, "data.byName.* comes twice", odd)
	}
}

// A long malformed text is mended in pieces, too.
func TestMendingEndsWithItsCtx(t *testing.T) {
	body := []byte(`{"code":0,"data":{"cost":{"currency":"` + strings.Repeat("\xff", 1<<20) + `"}}}`)
	for ends := 0; ; ends++ {
		ctx, got := &endingCtx{Context: t.Context(), ends: ends}, payload{}
		_, err := Decode(ctx, body, Target{Into: &got}, true)
		if err == nil {
			assert.Equal(t, strings.Repeat("\ufffd", 1<<20), got.Cost.Currency)
			assert.Greater(t, ends, 16)
			return
		}
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, ends+1, ctx.looks)
	}
}

// What is read once more is looked at once more.
func TestReadingAgainEndsWithTheCtx(t *testing.T) {
	text := `"` + strings.Repeat(`\ud800`, 100_000) + `"`
	for _, body := range []string{`{"code":0,"data":{"cost":{"currency":` + text + `}}}`, `{"code":0,"data":{` + text + `:1}}`} {
		walked, whole := &endingCtx{Context: t.Context(), ends: 1 << 30}, &endingCtx{Context: t.Context(), ends: 1 << 30}
		Peek(walked, []byte(body))
		_, err := Decode(whole, []byte(body), Target{Into: new(payload)}, true)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, whole.looks, walked.looks+3*(len(body)>>16))
	}
}
