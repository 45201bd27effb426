// Tests of the walk: when it ends, and what mismatches cost.

package wire

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Reading ends with its ctx inside the longest number and the longest white space.
func TestLongValuesEndWithTheirCtx(t *testing.T) {
	const length = 3 * pollInterval
	digits, space := strings.Repeat("1", length), strings.Repeat(" \n", length/2)
	for name, data := range map[string]string{
		"an integer":                 `{"total":` + digits + `}`,
		"a literal":                  `{"list":[{"minPrice":{"amount":` + digits + `}}]}`,
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
		for reader, target := range map[string]func(*page) Target{"generated": (*page).target, "stdjson": (*page).standard} {
			ctx := endless(t)
			_, _ = Decode(ctx, body, target(new(page)), true)
			require.GreaterOrEqual(t, ctx.polls, length/pollInterval, "%s, %s", name, reader)
			for ends := range ctx.polls {
				ctx, into := &endingCtx{Context: t.Context(), ends: ends}, page{}
				_, err := Decode(ctx, body, target(&into), true)
				require.ErrorIs(t, err, context.Canceled, "%s, %s: ends at poll %d", name, reader, ends)
				assert.LessOrEqual(t, ctx.polls, ends+2, "%s, %s: it goes on", name, reader)
				assert.Zero(t, into, "%s, %s", name, reader)
			}
		}
	}
}

// A plain string is read in one go, and ctx is polled after it.
func TestLongStringsEndWithTheirCtx(t *testing.T) {
	long := `"` + strings.Repeat("a", 1<<20) + `"`
	for _, data := range []string{`{"list":[{"id":` + long + `}]}`, `{"new":` + long + `}`} {
		for _, target := range []Target{new(page).target(), new(page).standard()} {
			ctx := &endingCtx{Context: t.Context()}
			_, err := Decode(ctx, []byte(`{"code":0,"data":`+data+`}`), target, true)
			require.ErrorIs(t, err, context.Canceled)
			assert.LessOrEqual(t, ctx.polls, 2)
		}
	}
}

func TestLongInvalidUTF8EndsWithItsCtx(t *testing.T) {
	body := []byte(`{"code":0,"data":{"cost":{"currency":"` + strings.Repeat("\xff", 1<<18) + `"}}}`)
	for ends := 0; ; ends++ {
		ctx, got := &endingCtx{Context: t.Context(), ends: ends}, payload{}
		_, err := Decode(ctx, body, Target{Into: &got}, true)
		if err == nil {
			assert.Equal(t, strings.Repeat("\ufffd", 1<<18), got.Cost.Currency)
			assert.Greater(t, ends, 4)
			return
		}
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, ends+1, ctx.polls)
	}
}

// ctx is polled again in what is read again.
func TestRereadingEndsWithItsCtx(t *testing.T) {
	text := `"` + strings.Repeat(`\ud800`, 100_000) + `"`
	for _, body := range []string{`{"code":0,"data":{"cost":{"currency":` + text + `}}}`, `{"code":0,"data":{` + text + `:1}}`} {
		walked, whole := endless(t), endless(t)
		Peek(walked, []byte(body))
		_, err := Decode(whole, []byte(body), Target{Into: new(payload)}, true)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, whole.polls, walked.polls+3*(len(body)>>16))
	}
}

// The cost of mismatches: one in each offer, or one at the end.
func BenchmarkMismatches(b *testing.B) {
	clean := answers(1, 200, 5, 4)[0]
	last := bytes.LastIndex(clean, []byte(`"ratePkgId":"`))
	for _, answer := range []struct {
		name string
		body []byte
	}{
		{"none", clean},
		{"each", bytes.ReplaceAll(clean, []byte(`"checkIn":"`), []byte(`"checkIn":7,"x":"`))},
		{"last", append(bytes.Clone(clean[:last]), bytes.Replace(clean[last:], []byte(`"checkIn":"`), []byte(`"checkIn":7,"x":"`), 1)...)},
	} {
		for name, target := range map[string]func(*page) Target{"generated": (*page).target, "stdjson": (*page).standard} {
			b.Run(answer.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(answer.body)))
				b.ReportAllocs()
				for b.Loop() {
					env, err := Decode(b.Context(), answer.body, target(new(page)), true)
					require.NoError(b, err)
					require.Equal(b, answer.name != "none", env.Count > 0)
				}
			})
		}
	}
}
