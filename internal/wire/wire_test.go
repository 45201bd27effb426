// The seam: what is read, what is not, and what stays as it came.

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
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
	inner
	Inner  inner                  `json:"inner"`
	List   []inner                `json:"list"`
	ByName map[string]json.Number `json:"byName"`
	Flag   *bool                  `json:"flag"`
	Rating float64                `json:"rating"`
	Hidden string                 `json:"-"`
}

// Everything that fits survives what does not, to the byte.
func TestDecodeAroundMismatches(t *testing.T) {
	body := `{"code":0,"msg":"m","data":{"count":"x","cost":{"currency":"EUR","amount":"12.50"},
		"inner":{"count":3,"raw":[{"z":"<b>","a":1.50},7]},
		"list":[{"count":1},"odd",{"count":2.5,"cost":{"amount":"abc","currency":"JPY"}}],
		"byName":{"eur":1.25,"usd":true},"flag":"yes","rating":4.5,"-":"kept out","new":{"any":1}}}`
	var got payload
	env, err := Decode(context.Background(), []byte(body), Target{Into: &got}, true)
	require.NoError(t, err)
	assert.True(t, env.HasData)
	var places []string
	for _, m := range env.List {
		places = append(places, m.String())
	}
	assert.Equal(t, []string{
		"data.count: want integer, got string",
		"data.list[1]: want object, got string",
		"data.list[2].count: want integer, got number",
		"data.list[2].cost.amount: want number, got string",
		"data.byName.usd: want number, got boolean",
		"data.flag: want boolean, got string",
	}, places)
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

	_, err = Decode(context.Background(), []byte(body), Target{Into: &payload{}}, false)
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
		env, err := Decode(context.Background(), []byte(c.body), Target{Into: &payload{}}, true)
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
	env, err := Decode(context.Background(), []byte(body), Target{Into: &got}, true)
	require.NoError(t, err)
	assert.Len(t, env.List, maxListed)
	assert.Equal(t, 10_000, env.Count)
	assert.Equal(t, 1, got.List[10_000].Count)

	_, err = Decode(context.Background(), []byte(body), Target{Into: &got}, false)
	assert.ErrorContains(t, err, "and 9992 more")
}

func TestSyntaxErrorTellsTruncation(t *testing.T) {
	for body, truncated := range map[string]bool{`{"code":0,"da`: true, ``: true, `{"code":0,}`: false, `<html>`: false} {
		_, err := Decode(context.Background(), []byte(body), Target{Into: &payload{}}, false)
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

// Whatever the bytes, decoding returns: with an envelope, or with an error that
// can be printed.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"code":0,"data":{"count":"x","list":[1,{"cost":{"amount":"1"}}]}}`, `{"code":1,"msg":"no"}`, `[[[`, `{"data":{"byName":{"a":{}}},"code":0}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var strict, lenient payload
		envS, errS := Decode(context.Background(), body, Target{Into: &strict}, false)
		envL, errL := Decode(context.Background(), body, Target{Into: &lenient}, true)
		if envS.HasCode != envL.HasCode || envS.Code != envL.Code {
			t.Fatalf("lenient reads another envelope: %+v and %+v", envS, envL)
		}
		if errS == nil && errL != nil {
			t.Fatalf("lenient fails where strict does not: %v", errL)
		}
		if errS != nil {
			_ = errS.Error()
		}
	})
}

// FuzzFast takes a whole answer. What the fast path takes is what encoding/json makes
// of it; where it gives up, nothing shows that it was there.
func FuzzFast(f *testing.F) {
	small := answers(1, 1, 1, 1)[0]
	f.Add(small)
	for _, seed := range []string{`{"data":{"list":[],"total":1},"code":0,"msg":null}`, `{"code":0,"data":{"list":null},"more":[1.5e3,"\ud83d\ude00"]}`, `{"msg":"no","code":7,"data":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, lenient := range []bool{false, true} {
			var got, want page
			env, err := Decode(context.Background(), bytes.Clone(body), got.target(), lenient)
			wantEnv, wantErr := Decode(context.Background(), body, Target{Into: &want}, lenient)
			if !reflect.DeepEqual(err, wantErr) || !reflect.DeepEqual(env, wantEnv) || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q is read as\n%+v %+v, %v, and by encoding/json as\n%+v %+v, %v", body, env, got, err, wantEnv, want, wantErr)
			}
		}
	})
}

// The samples that the benchmarks read are such that the fast path takes them.
func TestFastTakesTheSamples(t *testing.T) {
	for _, sample := range samples() {
		for _, body := range sample.bodies[:1] {
			var got, want page
			env, taken := Fast(context.Background(), body, got.target())
			require.True(t, taken, sample.name)
			wantEnv, err := Decode(context.Background(), body, Target{Into: &want}, false)
			require.NoError(t, err)
			require.Equal(t, wantEnv, env)
			require.True(t, reflect.DeepEqual(want, got), sample.name)
		}
	}
}

// A message may quote anything: it is never kept for another answer.
func TestMessagesAreNotShared(t *testing.T) {
	for _, body := range []string{`{"code":0,"msg":"message","data":{}}`, `{"data":{},"msg":"message","code":0}`} {
		var first, second page
		one, taken := Fast(context.Background(), []byte(body), first.target())
		require.True(t, taken)
		other, taken := Fast(context.Background(), []byte(body), second.target())
		require.True(t, taken)
		assert.Equal(t, one.Msg, other.Msg)
		assert.NotSame(t, unsafe.StringData(one.Msg), unsafe.StringData(other.Msg), body)
	}
}
