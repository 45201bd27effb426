//go:build !hotelstays_stdjson && !race

// Proves that the generated functions and encoding/json read the same: of every
// type of answer, with everything that can be wrong or unusual about it. It starts no
// goroutines and takes too long under the race detector, which leaves it out.

package hotelstays_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/wire"
)

// agreeDocument is an answer, or a webhook, which has no envelope.
type agreeDocument struct {
	name string
	body []byte
	bare bool
	into reflect.Type
}

// agreeDocuments has every type of answer, with every documented field.
func agreeDocuments() []agreeDocument {
	docs := []agreeDocument{{"webhook", []byte(hookPaid), true, reflect.TypeFor[hotelstays.WebhookEvent]()}}
	for _, op := range wireOperations() {
		data := strings.Replace(op.data, wireOrderJSON+","+wireOrderJSON, wireOrderJSON, 1) // one is enough
		body := `{"code":0,"msg":"success","data":` + data + `}`
		docs = append(docs, agreeDocument{op.name, []byte(body), false, reflect.TypeOf(op.want).Elem()})
	}
	return docs
}

func (d agreeDocument) fresh() any { return reflect.New(d.into).Interface() }

func (d agreeDocument) with(body string) agreeDocument {
	d.body = []byte(body)
	return d
}

// fast reads the document by the generated functions alone, and destroys the memory
// that it was read from.
func (d agreeDocument) fast() (env wire.Envelope, got any, taken bool) {
	got = d.fresh()
	target, input := hotelstays.DecodeTarget(got, true), bytes.Clone(d.body)
	if d.bare {
		taken = wire.FastBare(context.Background(), input, target)
	} else {
		env, taken = wire.Fast(context.Background(), input, target)
	}
	clear(input)
	return env, got, taken
}

// standard reads the document by encoding/json alone.
func (d agreeDocument) standard(lenient bool) (wire.Envelope, any, error) {
	into := d.fresh()
	env, err := d.decode(wire.Target{Into: into}, lenient)
	return env, into, err
}

func (d agreeDocument) decode(target wire.Target, lenient bool) (env wire.Envelope, err error) {
	if d.bare {
		env.Mismatches, err = wire.DecodeBare(context.Background(), d.body, target, lenient)
		return env, err
	}
	return wire.Decode(context.Background(), d.body, target, lenient)
}

// agree reports whether the generated functions took the document. What they take
// must be what encoding/json makes of it; what they leave must be left untouched.
func (d agreeDocument) agree(t testing.TB) bool {
	env, got, taken := d.fast()
	if !taken {
		if !reflect.ValueOf(got).Elem().IsZero() {
			t.Fatalf("%s: %q is given up and something is left behind: %+v", d.name, d.body, got)
		}
		return false
	}
	wantEnv, want, err := d.standard(false)
	if err != nil || !reflect.DeepEqual(wantEnv, env) || !reflect.DeepEqual(want, got) {
		t.Fatalf("%s: %q is read as\n%+v %+v, and by encoding/json as\n%+v %+v, %v", d.name, d.body, env, got, wantEnv, want, err)
	}
	return true
}

// agreeWhole compares what the client makes of the document: value, mismatches, error.
func (d agreeDocument) agreeWhole(t testing.TB) {
	for _, lenient := range []bool{false, true} {
		got := d.fresh()
		env, err := d.decode(hotelstays.DecodeTarget(got, true), lenient)
		wantEnv, want, wantErr := d.standard(lenient)
		if !reflect.DeepEqual(wantErr, err) || !reflect.DeepEqual(wantEnv, env) || !reflect.DeepEqual(want, got) {
			t.Fatalf("%s: %q is read as\n%+v %+v, %v, and by encoding/json as\n%+v %+v, %v", d.name, d.body, env, got, err, wantEnv, want, wantErr)
		}
	}
}

// What is documented is taken, however it is spaced and in whatever order.
func TestDecodeTakesWhatIsDocumented(t *testing.T) {
	for _, d := range agreeDocuments() {
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

// Every byte replaced by each of these, and every end, or a portion of them.
func TestDecodeAgreesOnMutations(t *testing.T) {
	for _, d := range agreeDocuments() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			taken, left, chosen := 0, 0, portionOf(t, 13, 101)
			for i := range d.body {
				for _, c := range []byte("\"\\{]},:0x-.\n\x00\xff") {
					if !chosen.next() {
						continue
					}
					mutant := d.with(string(d.body))
					mutant.body[i] = c
					if mutant.agree(t) {
						taken++
					} else {
						left++
					}
				}
				if chosen.next() {
					require.False(t, d.with(string(d.body[:i])).agree(t), "cut at %d", i)
				}
			}
			assert.Positive(t, taken)
			assert.Positive(t, left)
		})
	}
}

// A success that the sandbox answers to each operation, not too long, with every byte
// replaced by each of a few, and cut everywhere, or a portion of that.
func TestDecodeAgreesOnMutatedSandboxAnswers(t *testing.T) {
	var bodies map[string][][]byte
	synctest.Test(t, func(t *testing.T) { bodies = recordBooking(t) })
	docs := map[string]agreeDocument{recordedWebhooks: {"webhook", nil, true, reflect.TypeFor[hotelstays.WebhookEvent]()}}
	for _, op := range wireOperations() {
		docs[op.path] = agreeDocument{op.name, nil, false, reflect.TypeOf(op.want).Elem()}
	}
	for path, d := range docs {
		for _, body := range bodies[path] {
			if len(body) > len(d.body) && len(body) < 15_000 && d.with(string(body)).agree(t) {
				d.body = body
			}
		}
		require.NotEmpty(t, d.body, d.name)
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			chosen := portionOf(t, 13, 101)
			for i := range d.body {
				for _, c := range []byte("\"\xff") {
					if !chosen.next() {
						continue
					}
					mutant := d.with(string(d.body))
					mutant.body[i] = c
					mutant.agree(t)
				}
				if chosen.next() {
					d.with(string(d.body[:i])).agree(t)
				}
			}
		})
	}
}

// agreeValues are values of every type, at every edge; some are no JSON.
var agreeValues = []string{
	`null`, `true`, `false`, `nul`, `nullx`, `True`,
	`0`, `-0`, `-`, `1`, `-1`, `01`, `-01`, `1.`, `.5`, `+1`, `1.5`, `-0.0`, `1e3`, `1E+2`, `1e-2`, `1e`, `1e+`, `0x1`, `NaN`, `1_0`,
	`2147483648`, `999999999999999999`, `1000000000000000000`, `9223372036854775807`, `9223372036854775808`, `-9223372036854775808`,
	`-9223372036854775809`, `1e308`, `1e309`, `-1e400`, `1e-400`, `1e999999999999`, `0.1000000000000000055511151231257827021181583404541015625`,
	`""`, `"x"`, `"12"`, `"1.50"`, `"null"`, `"a\"b\\c\/d\b\f\n\r\t"`, `"\u00e9\u0000\uffff"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`, `"\ud83d"`,
	`"\ude00"`, `"\ud83d\ud83d"`, `"\ud83dx"`, `"\ud83d\n"`, `"\u12"`, `"\u12g4"`, `"\x"`, `"\`, `"`, `"é漢😀"`, "\"a\xffb\"", "\"\xed\xa0\x80\"", "\"a\x01b\"",
	"\"a\nb\"", `'x'`, `"` + strings.Repeat("long ", 30) + `"`,
	`{}`, `{"a":1}`, `{"a":null}`, `{"a":1,"a":2}`, `{"a":1,"b":"2"}`, `{"":[]}`, `{"en":"a","EN":"b"}`, `{"\u0065n":"a"}`, `{"amount":"1"}`,
	`{"a" : [ 1 , { } ] }`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1`, "{\"a\xff\":1}", `{"ſtatuſ":1}`,
	`[]`, `[null]`, `[{}]`, `[[]]`, `[1,2]`, `["a",null]`, `[1,]`, `[,1]`, `[`, `[}`, `[1 2]`, `[{"currency":"EUR","amount":1.50},null,{}]`,
	strings.Repeat("[", 400) + strings.Repeat("]", 400), strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600),
	strings.Repeat("[", 9990) + strings.Repeat("]", 9990), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
}

// Every value replaced by each of these; every key written otherwise, repeated, and
// preceded by an unknown one; or a portion of that.
func TestDecodeAgreesOnValuesAndKeys(t *testing.T) {
	for _, d := range agreeDocuments() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			taken, chosen := 0, portionOf(t, 7, 31)
			for _, m := range agreeMembers(t, d.body) {
				before, after := string(d.body[:m.key]), string(d.body[m.end:])
				key, value := string(d.body[m.key:m.value]), string(d.body[m.value:m.end])
				name := key[1 : len(key)-2]
				for _, v := range agreeValues {
					if chosen.next() && d.with(before+key+v+after).agree(t) {
						taken++
					}
				}
				for _, v := range []string{`null`, `[{"x":1}]`, `"x"`, `"12"`, `[7,null,"x",{"a":1}]`, `{"en":7,"EN":"b"}`, `1.5`, `{"eur":[],"usd":1}`} {
					if !chosen.next() {
						continue
					}
					d.with(before + key + v + after).agreeWhole(t)
				}
				for _, other := range []string{strings.ToUpper(name), strings.ToLower(name), name + " ", " " + name, name[1:], "",
					strings.ReplaceAll(name, "s", "ſ"), strings.ReplaceAll(name, "k", "K"), fmt.Sprintf(`\u%04x`, name[0]) + name[1:], name + `\n`, name + "\xff"} {
					if !chosen.next() {
						continue
					}
					d.with(before + `"` + other + `":` + value + after).agreeWhole(t)
					d.with(before + `"` + other + `":` + value + `,` + key + value + after).agreeWhole(t)
				}
				for _, twice := range []string{value, `null`, `{}`, `[]`, `1`} {
					if !chosen.next() {
						continue
					}
					d.with(before + key + value + `,` + key + twice + after).agreeWhole(t)
					d.with(before + key + twice + `,` + key + value + after).agreeWhole(t)
				}
			}
			assert.Positive(t, taken)
		})
	}
}

// Unknown fields of any kind are passed over, in every object but the rates of
// exchange, which have no other.
func TestDecodeTakesUnknownFields(t *testing.T) {
	for _, d := range agreeDocuments() {
		for _, m := range agreeMembers(t, d.body) {
			if key := string(d.body[m.key:m.value]); key == `"eur":` || key == `"kwd":` {
				continue
			}
			for _, v := range []string{`null`, `true`, `-1.5E+3`, `"\ud83d\ude00 é\n"`, `{"a":[{"b":null},"c"],"\u0061":0.0}`, `[]`, `{}`, strings.Repeat("[", 400) + strings.Repeat("]", 400)} {
				more := d.with(string(d.body[:m.key]) + `"brandNew":` + v + `,` + string(d.body[m.key:]))
				_, _, taken := more.fast()
				require.True(t, taken, "%s: %s", d.name, more.body)
			}
		}
	}
}

// The envelope in any order, and with anything else in it.
func TestDecodeAgreesOnEnvelopes(t *testing.T) {
	chosen := portionOf(t, 1, 7)
	for _, d := range agreeDocuments() {
		if d.bare {
			continue
		}
		data := strings.TrimSuffix(strings.TrimPrefix(string(d.body), `{"code":0,"msg":"success","data":`), "}")
		parts := []string{`"data":` + data, `"data":null`, `"data":{}`, `"data":[]`, `"data":1`, `"Data":` + data, `"code":0`, `"code":7`, `"code":-0`, `"code":null`,
			`"code":"0"`, `"code":0.0`, `"CODE":0`, `"code":99999999999999999999`, `"msg":"m"`, `"msg":null`, `"msg":5`, `"msg":{}`, `"Msg":"n"`, `"more":[1]`, `"more"`}
		for _, a := range parts {
			d.with(`{` + a + `}`).agreeWhole(t)
			for _, b := range parts {
				if !chosen.next() {
					continue
				}
				d.with(`{` + a + `,` + b + `}`).agreeWhole(t)
				d.with(`{` + a + `,` + b + `} x`).agreeWhole(t)
			}
		}
		for _, twice := range []string{`"code":0`, `"msg":"m"`, `"msg":null`, `"data":` + strings.ReplaceAll(strings.ReplaceAll(data, `"en":`, `"zh":`), `"currency":`, `"other":`)} {
			assert.False(t, d.with(`{"msg":"m","code":0,"data":`+data+`,`+twice+`}`).agree(t), "%s: %s", d.name, twice)
		}
		for _, ordinary := range []string{`{"data":%s,"code":0}`, `{"msg":null,"data":%s,"code":0,"more":[{"data":1}]}`} {
			assert.True(t, d.with(fmt.Sprintf(ordinary, data)).agree(t), "%s: %s", d.name, ordinary)
		}
		for _, whole := range []string{``, ` `, `null`, `[]`, `1`, `"x"`, `{`, `}`, `{}`, `{}{}`, "\xef\xbb\xbf{}", `<html>`, "\x00"} {
			d.with(whole).agreeWhole(t)
		}
	}
}

// Nothing of a result lies in memory that is used again: not in the body, and not in
// what the lexer and the lists keep.
func TestDecodeSharesNoMemory(t *testing.T) {
	docs := agreeDocuments()
	for _, d := range docs {
		_, got, taken := d.fast()
		require.True(t, taken)
		for _, other := range docs {
			text := bytes.ToUpper(bytes.ReplaceAll(other.body, []byte(`"`), []byte(`" `)))
			other.with(string(text)).fast()
			other.with(strings.ReplaceAll(string(other.body), "e", "E")).fast()
		}
		_, want, _ := d.standard(false)
		assert.Equal(t, want, got, d.name)
	}
}

// FuzzDecodeAgrees takes a whole answer and reads it as each type.
func FuzzDecodeAgrees(f *testing.F) {
	docs := agreeDocuments()
	for _, d := range docs {
		f.Add(d.body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, d := range docs {
			d.with(string(body)).agree(t)
			d.with(string(body)).agreeWhole(t)
		}
	})
}
