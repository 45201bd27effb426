//go:build !race

// The generated decoder reads every type of answer as encoding/json does, also faulty answers and unusual JSON. These
// tests start no goroutines, and would take too long under the race detector.

package hotelstays_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/test/oracle"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/internal/wire"
)

// document is an answer, or the body of a webhook. The body of a webhook has no envelope, so bare is true.
type document struct {
	name string
	body []byte
	bare bool
	into reflect.Type
}

// documents returns an answer of each type, with every documented field.
func documents() []document {
	var docs []document
	for name, into := range answerTypes() {
		if into.NumField() == 1 { // only Meta
			continue
		}
		data, err := json.Marshal(filled(into).Interface())
		if err != nil {
			panic(err)
		}
		d := document{name: name, body: data, bare: name == recordedWebhooks, into: into}
		if !d.bare {
			d.body = slices.Concat([]byte(`{"code":0,"msg":"success","data":`), data, []byte("}"))
		}
		docs = append(docs, d)
	}
	return docs
}

func (d document) fresh() any { return reflect.New(d.into).Interface() }

func (d document) with(body string) document {
	d.body = []byte(body)
	return d
}

// read decodes the document as the client does. Then read overwrites the input, to show that the result does
// not point into the input.
func (d document) read(lenient bool) (env wire.Envelope, got any, err error) {
	got = d.fresh()
	target, input := hotelstays.DecodeTarget(got, lenient), bytes.Clone(d.body)
	if d.bare {
		env.Mismatches, err = wire.DecodeBare(context.Background(), input, target)
		env.HasData = err == nil
	} else {
		env, err = wire.Decode(context.Background(), input, target)
	}
	clear(input)
	return env, got, err
}

// agree requires that the client reads the document as the oracle does, and that an error leaves no data. It reports
// whether the document was read without a mismatch.
func (d document) agree(t testing.TB) (documented bool) {
	want := d.fresh()
	answer := oracle.Read(d.body, want, d.bare)
	for _, lenient := range []bool{false, true} {
		env, got, err := d.read(lenient)
		requireAsOracle(t, d.body, lenient, answer, want, env, got, err)
		documented = err == nil && env.Count == 0
	}
	return documented
}

func TestDecodeReadsDocumentedFieldsInAnyOrder(t *testing.T) {
	for _, d := range documents() {
		assert.True(t, d.agree(t), d.name)
		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, d.body, "\t", "\r\n "))
		assert.True(t, d.with(" \n"+indented.String()+"\t").agree(t), "%s, indented", d.name)
		var sorted any
		decoder := json.NewDecoder(bytes.NewReader(d.body))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&sorted))
		text, err := json.Marshal(sorted)
		require.NoError(t, err)
		assert.True(t, d.with(string(text)).agree(t), "%s, sorted by key", d.name)
		empty := d.with(`{"data":{},"code":0}`)
		assert.True(t, empty.agree(t), "%s, empty", d.name)
	}
}

// The test replaces each byte, and cuts the answer at each byte.
func TestDecodeAgreesWithTheOracleOnChangedBytes(t *testing.T) {
	for _, d := range documents() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			taken, left, chosen := 0, 0, portionOf(t, 139, 389)
			for i := range d.body {
				for c := range testsize.SomeOf(chosen, []byte("\"\\{]},:0x-.\n\x00\xff")) {
					mutant := d.with(string(d.body))
					mutant.body[i] = c
					if mutant.agree(t) {
						taken++
					} else {
						left++
					}
				}
				if chosen.Next() {
					require.False(t, d.with(string(d.body[:i])).agree(t), "cut at %d", i)
				}
			}
			assert.Positive(t, taken+left)
		})
	}
}

// oddValues has extreme values of every type. Some of them are not JSON.
var oddValues = []string{
	`null`, `true`, `false`, `nul`, `nullx`, `True`,
	`0`, `-0`, `-`, `1`, `-1`, `01`, `-01`, `1.`, `.5`, `+1`, `1.5`, `-0.0`, `1e3`, `1E+2`, `1e-2`, `1e`, `1e+`, `0x1`, `NaN`, `1_0`,
	`2147483648`, `999999999999999999`, `1000000000000000000`, `9223372036854775807`, `9223372036854775808`, `-9223372036854775808`,
	`-9223372036854775809`, `1e308`, `1e309`, `-1e400`, `1e-400`, `1e999999999999`,
	`0.1000000000000000055511151231257827021181583404541015625`,
	`""`, `"x"`, `"12"`, `"1.50"`, `"null"`, `"a\"b\\c\/d\b\f\n\r\t"`, `"\u00e9\u0000\uffff"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`, `"\ud83d"`,
	`"\ude00"`, `"\ud83d\ud83d"`, `"\ud83dx"`, `"\ud83d\n"`, `"\u12"`, `"\u12g4"`, `"\x"`, `"\`, `"`, `"é漢😀"`,
	"\"a\xffb\"", "\"\xed\xa0\x80\"", "\"a\x01b\"",
	"\"a\nb\"", `'x'`, `"` + strings.Repeat("long ", 30) + `"`,
	`{}`, `{"a":1}`, `{"a":null}`, `{"a":1,"a":2}`, `{"a":1,"b":"2"}`, `{"":[]}`, `{"en":"a","EN":"b"}`, `{"\u0065n":"a"}`, `{"amount":"1"}`,
	`{"a" : [ 1 , { } ] }`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1`, "{\"a\xff\":1}", `{"ſtatuſ":1}`,
	`[]`, `[null]`, `[{}]`, `[[]]`, `[1,2]`, `["a",null]`, `[1,]`, `[,1]`, `[`, `[}`, `[1 2]`, `[{"currency":"EUR","amount":1.50},null,{}]`,
	strings.Repeat("[", 400) + strings.Repeat("]", 400), strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600),
	strings.Repeat("[", 9990) + strings.Repeat("]", 9990), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
}

// The test replaces each value by each of oddValues. The test also misspells each key, repeats the key, and puts a misspelt
// key before the right key.
func TestDecodeAgreesWithTheOracleOnOddValuesAndKeys(t *testing.T) {
	for _, d := range documents() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			taken, chosen := 0, portionOf(t, 61, 83)
			for _, m := range members(t, d.body) {
				before, after := string(d.body[:m.Key]), string(d.body[m.End:])
				key, value := string(d.body[m.Key:m.Value]), string(d.body[m.Value:m.End])
				name := key[1 : len(key)-2]
				for v := range testsize.SomeOf(chosen, oddValues) {
					if d.with(before + key + v + after).agree(t) {
						taken++
					}
				}
				for v := range testsize.SomeOf(chosen, []string{`null`, `[{"x":1}]`, `"x"`, `"12"`, `[7,null,"x",{"a":1}]`, `{"en":7,"EN":"b"}`, `1.5`,
					`{"eur":[],"usd":1}`}) {
					d.with(before + key + v + after).agree(t)
				}
				for other := range testsize.SomeOf(chosen, []string{strings.ToUpper(name), strings.ToLower(name), name + " ", " " + name, name[1:], "",
					strings.ReplaceAll(name, "s", "ſ"), strings.ReplaceAll(name, "k", "K"), fmt.Sprintf(`\u%04x`, name[0]) + name[1:], name + `\n`, name +
						"\xff"}) {
					d.with(before + `"` + other + `":` + value + after).agree(t)
					d.with(before + `"` + other + `":` + value + `,` + key + value + after).agree(t)
				}
				for twice := range testsize.SomeOf(chosen, []string{value, `null`, `{}`, `[]`, `1`}) {
					d.with(before + key + value + `,` + key + twice + after).agree(t)
					d.with(before + key + twice + `,` + key + value + after).agree(t)
				}
			}
			assert.Positive(t, taken)
		})
	}
}

// The test leaves out the exchange rates, because any name in them is a currency.
func TestDecodeIgnoresUnknownFields(t *testing.T) {
	chosen := portionOf(t, 23, 53)
	for _, d := range documents() {
		for _, m := range members(t, d.body) {
			if key := string(d.body[m.Key:m.Value]); key == `"eur":` || key == `"kwd":` {
				continue
			}
			for v := range testsize.SomeOf(chosen, []string{`null`, `true`, `-1.5E+3`, `"\ud83d\ude00 é\n"`, `{"a":[{"b":null},"c"],"\u0061":0.0}`,
				`[]`, `{}`, strings.Repeat("[", 400) + strings.Repeat("]", 400)}) {
				more := d.with(string(d.body[:m.Key]) + `"brandNew":` + v + `,` + string(d.body[m.Key:]))
				require.True(t, more.agree(t), "%s: %s", d.name, more.body)
			}
		}
	}
}

func TestDecodeAgreesWithTheOracleOnEnvelopes(t *testing.T) {
	chosen := portionOf(t, 5, 11)
	for _, d := range documents() {
		if d.bare {
			continue
		}
		data := strings.TrimSuffix(strings.TrimPrefix(string(d.body), `{"code":0,"msg":"success","data":`), "}")
		parts := []string{`"data":` + data, `"data":null`, `"data":{}`, `"data":[]`, `"data":1`, `"Data":` + data, `"code":0`, `"code":7`,
			`"code":-0`, `"code":null`,
			`"code":"0"`, `"code":0.0`, `"CODE":0`, `"code":99999999999999999999`, `"msg":"m"`, `"msg":null`, `"msg":5`,
			`"msg":{}`, `"Msg":"n"`, `"more":[1]`, `"more"`}
		for _, a := range parts {
			d.with(`{` + a + `}`).agree(t)
			for b := range testsize.SomeOf(chosen, parts) {
				d.with(`{` + a + `,` + b + `}`).agree(t)
				d.with(`{` + a + `,` + b + `} x`).agree(t)
			}
		}
		for _, twice := range []string{`"code":0`, `"msg":"m"`, `"msg":null`, `"data":` +
			strings.ReplaceAll(strings.ReplaceAll(data, `"en":`, `"zh":`), `"currency":`, `"other":`)} {
			assert.False(t, d.with(`{"msg":"m","code":0,"data":`+data+`,`+twice+`}`).agree(t), "%s: %s", d.name, twice)
		}
		for _, ordinary := range []string{`{"data":%s,"code":0}`, `{"msg":null,"data":%s,"code":0,"more":[{"data":1}]}`} {
			assert.True(t, d.with(fmt.Sprintf(ordinary, data)).agree(t), "%s: %s", d.name, ordinary)
		}
		for _, whole := range []string{``, ` `, `null`, `[]`, `1`, `"x"`, `{`, `}`, `{}`, `{}{}`, "\xef\xbb\xbf{}", `<html>`, "\x00"} {
			d.with(whole).agree(t)
		}
	}
}

// The decoder uses the body and the buffers of the lexer and the lists again for the next answer.
func TestDecodedAnswerDoesNotChangeWithTheNextAnswer(t *testing.T) {
	docs := documents()
	for _, d := range docs {
		_, got, err := d.read(false)
		require.NoError(t, err)
		for _, other := range docs {
			text := bytes.ToUpper(bytes.ReplaceAll(other.body, []byte(`"`), []byte(`" `)))
			_, _, _ = other.with(string(text)).read(false)
			_, _, _ = other.with(strings.ReplaceAll(string(other.body), "e", "E")).read(false)
		}
		want := d.fresh()
		oracle.Read(d.body, want, d.bare)
		assert.Equal(t, want, got, d.name)
	}
}

// FuzzDecodeAgrees reads each fuzzed answer as each type.
func FuzzDecodeAgrees(f *testing.F) {
	docs := documents()
	for _, d := range docs {
		f.Add(d.body)
	}
	f.Add([]byte(`{"code":0,"data":{"":7}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, d := range docs {
			d.with(string(body)).agree(t)
		}
	})
}

func TestTextsOfWebhooksAreNotInterned(t *testing.T) {
	first, err := hookVerify(hookPaid)
	require.NoError(t, err)
	second, err := hookVerify(hookPaid)
	require.NoError(t, err)
	assert.NotSame(t, unsafe.StringData(first.HotelConfirmNo), unsafe.StringData(second.HotelConfirmNo))
}
