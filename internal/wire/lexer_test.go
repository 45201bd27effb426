// What a Lexer reads is what encoding/json makes of it.

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testLexer returns a Lexer without limits.
func testLexer(text []byte) *Lexer { return newLexer(context.Background(), text, math.MaxInt) }

// valueType is a type that is read both ways.
type valueType struct {
	name     string
	read     func(text []byte, intern bool) (value any, ok bool)
	standard func(text []byte) (any, error)
}

func newType[T any](name string, read func(*Lexer, *T)) valueType {
	return valueType{
		name,
		func(text []byte, intern bool) (any, bool) {
			text = bytes.Clone(text)
			l := testLexer(text)
			l.internStrings(intern)
			var v T
			read(l, &v)
			ok := l.end()
			l.release()
			clear(text)
			return v, ok
		},
		func(text []byte) (any, error) {
			var v T
			err := json.Unmarshal(text, &v)
			return v, err
		},
	}
}

type pair struct {
	A string      `json:"a"`
	B json.Number `json:"b"`
}

func readPair(l *Lexer, v *pair) {
	var seen Seen
	for more := l.Object(); more; more = l.Member() {
		switch string(l.Name()) {
		case "a":
			l.Once(&seen, 0)
			v.A = l.String()
		case "b":
			l.Once(&seen, 1)
			v.B = json.Number(l.Number())
		default:
			l.Unknown("a", "b")
		}
	}
}

func readString(l *Lexer, v *string)      { *v = l.String() }
func readNumber(l *Lexer, v *json.Number) { *v = json.Number(l.Number()) }

var (
	strs    List[string]
	raws    List[json.RawMessage]
	pairs   List[pair]
	nesting List[[]string]
)

var valueTypes = []valueType{
	newType("string", readString),
	newType("secret", func(l *Lexer, v *string) { *v = l.Secret() }),
	newType("number", readNumber),
	newType("int", func(l *Lexer, v *int) { *v = l.Int() }),
	newType("int64", func(l *Lexer, v *int64) { *v = l.Int64() }),
	newType("float64", func(l *Lexer, v *float64) { *v = l.Float64() }),
	newType("bool", func(l *Lexer, v *bool) { *v = l.Bool() }),
	newType("raw", func(l *Lexer, v *json.RawMessage) { *v = l.Raw() }),
	newType("pointer", func(l *Lexer, v **bool) { *v = Pointer(l, func(l *Lexer, v *bool) { *v = l.Bool() }) }),
	newType("map", func(l *Lexer, v *map[string]json.Number) { *v = Map(l, readNumber) }),
	newType("struct", readPair),
	newType("empty struct", func(l *Lexer, v *struct{}) {
		for more := l.Object(); more; more = l.Member() {
			l.Unknown()
		}
	}),
	newType("strings", func(l *Lexer, v *[]string) { *v = strs.Read(l, 0, readString) }),
	newType("raws", func(l *Lexer, v *[]json.RawMessage) {
		*v = raws.Read(l, 0, func(l *Lexer, v *json.RawMessage) { *v = l.Raw() })
	}),
	newType("structs", func(l *Lexer, v *[]pair) { *v = pairs.Read(l, 0, readPair) }),
	newType("lists of lists", func(l *Lexer, v *[][]string) {
		*v = nesting.Read(l, 0, func(l *Lexer, v *[]string) { *v = strs.Read(l, 0, readString) })
	}),
}

// agree reports whether the Lexer read the text, which it must read as encoding/json does.
func (k valueType) agree(t testing.TB, text []byte) bool {
	ok := false
	for _, intern := range []bool{false, true} {
		got, read := k.read(text, intern)
		if !read {
			continue
		}
		want, err := k.standard(text)
		if err != nil || !reflect.DeepEqual(want, got) {
			t.Fatalf("%s: %q is read as %#v, and by encoding/json as %#v, %v", k.name, text, got, want, err)
		}
		if a, isFloat := got.(float64); isFloat && math.Signbit(a) != math.Signbit(want.(float64)) {
			t.Fatalf("%s: %q has another sign", k.name, text)
		}
		ok = true
	}
	return ok
}

func typeNamed(t *testing.T, name string) valueType {
	t.Helper()
	for _, k := range valueTypes {
		if k.name == name {
			return k
		}
	}
	require.FailNow(t, "no such type", name)
	return valueType{}
}

var nested = strings.Repeat("[", maxUnknownDepth) + strings.Repeat("]", maxUnknownDepth)

func TestValidTextsAreRead(t *testing.T) {
	for name, texts := range map[string][]string{
		"string": {`""`, `"a"`, `"seven b"`, `"eight by"`, `"nine byte"`, `"é漢😀"`, `"\"\\\/\b\f\n\r\t"`,
			`"\u00e9\u0000\uFFFF\ufffd"`, `"\ud83d\uDE00!"`, `"` + strings.Repeat("long ", 100) + `\n"`, `null`, " \t\r\n\"x\" \t\r\n", "\"\x7f\""},
		"secret": {`"a"`, `"\u00e9"`, `null`},
		"number": {`0`, `-0`, `1.50`, `-12.00e+10`, `1E5`, `123456789012345678901234567890.5`, `null`},
		"int":    {`0`, `-0`, `7`, `-7`, `2147483647`, `null`},
		"int64":  {`0`, `1732147200000`, `-999999999999999999`, `9223372036854775807`, `-9223372036854775808`, `null`},
		"float64": {`0`, `-0`, `-0.0`, `4.5`, `25.204849`, `1e308`, `1e-400`, `5e-324`,
			`0.1000000000000000055511151231257827021181583404541015625`, `null`},
		"bool":           {`true`, `false`, `null`},
		"raw":            {`null`, `1`, `"a\u0041"`, ` { "a" : [ 1 , {} ] } `, `[]`, nested},
		"pointer":        {`null`, `true`, `false`},
		"map":            {`null`, `{}`, `{"eur":0.91,"kwd":0.307,"x":null}`, `{"é":1}`},
		"struct":         {`null`, `{}`, `{"a":"x","b":1.5}`, `{"b":null,"z":{"a":1,"a":2},"a":null}`, `{"aa":1,"":2}`},
		"empty struct":   {`{"x":` + nested + `}`, `{"x":"` + "\xff" + `"}`, `{"x":{"a` + "\xff" + `":"\u0041\n"}}`},
		"strings":        {`null`, `[]`, `["a",null,"b"]`, `[ "a" , "b" ]`},
		"raws":           {`[1,"a",null,{"a": 1}]`},
		"structs":        {`[{"a":"x"},null,{}]`},
		"lists of lists": {`[["a","b"],[],null,["c"]]`},
	} {
		k := typeNamed(t, name)
		for _, text := range texts {
			assert.True(t, k.agree(t, []byte(text)), "%s: %s", name, text)
		}
	}
}

// What encoding/json refuses, repairs or merges is not read.
func TestInvalidTextsAreNotRead(t *testing.T) {
	for name, texts := range map[string][]string{
		"string": {``, ` `, `"`, `"a`, `"\`, `"\"`, `"\u12"`, `"\u12G4"`, `"\x"`, `"\ud83d"`, `"\ude00"`, `"\ud83dx"`, `"\ud83d\n"`,
			`"\ud83d\u12"`, `"\ud83d\ud83d"`, `"\ud83dxude00"`, `"\ud83d\xde00"`,
			"\"\x01\"", "\"seven b\n\"", "\"a\xff\"", "\"\xed\xa0\x80\"", "\"\\n\xff\"", `'a'`, `1`, `true`, `{}`, `nul`, `nulll`,
			`"a" x`, `"a""b"`, "\"a\"\x00", "\v\"a\""},
		"secret":  {"\"\xff\"", `"\ud83d"`},
		"number":  {`01`, `-`, `-01`, `1.`, `.5`, `+1`, `1e`, `1e+`, `1.e1`, `0x1`, `1_0`, `NaN`, `"1"`, `1 2`, `true`},
		"int":     {`1.0`, `1e3`, `9223372036854775808`, `-9223372036854775809`, `01`, `-`, `"1"`, `123456789012345678901234567890`},
		"int64":   {`1.0`, `1e3`, `9223372036854775808`, `-9223372036854775809`, `123456789012345678901234567890`},
		"float64": {`1e309`, `-1e400`, `01`, `"1"`, `1e`},
		"bool":    {`tru`, `truee`, `True`, `1`, `"true"`, `f`},
		"raw": {``, `{`, `[`, `[1,]`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{1:1}`, `{"a" 1}`, `[1 2]`, `[,1]`, `{,}`, `nul`, `"`,
			`[[` + nested + `]]`, nested[:maxUnknownDepth]},
		"map": {`{"a":1,"a":2}`, `{"\u0061":1}`, "{\"\xff\":1}", `{"a":"1"}`, `[]`, `{"a":1`, `{"a":1,`, `{"a`},
		"struct": {`{"a":"x","a":"y"}`, `{"A":"x"}`, `{"B":1}`, `{"\u0061":"x"}`, `{"z":1,}`, `{"a":1}`, `{"a":"x"`, `[]`, `{"z":01}`,
			`{"a":"x"}{}`, `{"z":{"a":1},"z" }`},
		"strings": {`{}`, `["a"`, `["a",`, `["a",]`, `["a" "b"]`, `[1]`, `"a"`, `[`},
	} {
		k := typeNamed(t, name)
		for _, text := range texts {
			assert.False(t, k.agree(t, []byte(text)), "%s: %s", name, text)
		}
	}
}

// FuzzLexer reads a text as each type.
func FuzzLexer(f *testing.F) {
	for _, seed := range []string{
		`{"a":"x","b":1.50,"c":[1,{"d":null}]}`, `["\ud83d\ude00","é",null]`, `-0.5e+3`, `{"eur":1,"EUR":2}`,
		`[{"a":"\n"},{"b":7}]`, ` "x" `, `true`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, k := range valueTypes {
			k.agree(t, text)
		}
		skipAgrees(t, text)
	})
}

// skipAgrees skips a text, which must fail exactly if it is invalid JSON.
func skipAgrees(t testing.TB, text []byte) {
	l := testLexer(text)
	defer l.release()
	l.skip(0)
	if ok := l.end(); ok != json.Valid(text) {
		t.Fatalf("%.200q: skipped: %v, valid: %v", text, ok, !ok)
	}
}

// skip validates as encoding/json does, to every byte and depth.
func TestSkipValidates(t *testing.T) {
	for depth := maxDepth - 1; depth <= maxDepth+1; depth++ {
		skipAgrees(t, []byte(strings.Repeat("[", depth)+strings.Repeat("]", depth)))
		skipAgrees(t, []byte(strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth)))
	}
	const text = ` { "a\u00e9\n" : [ -0.5e+3 , 10 , true , false , null , { } , [ ] , "\ud83d" , {"b":"\\"} ] } `
	for i := range text {
		skipAgrees(t, []byte(text[:i]))
		for c := range 256 {
			skipAgrees(t, []byte(text[:i]+string([]byte{byte(c)})+text[i+1:]))
			skipAgrees(t, []byte(text[:i]+string([]byte{byte(c)})+text[i:]))
		}
	}
}

// A Lexer that fails says where: at the end if the text is cut off.
func TestWhereALexerFails(t *testing.T) {
	for text, at := range map[string]int{
		``: 0, ` `: 1, `<html>`: 0, `{"a":1,}`: 7, `{"a" 1}`: 5, `[1 2]`: 3, `[1]x`: 3, `01`: 1, `[1.]`: 3, `nulx`: 3, `"\x"`: 2,
		`"\u12x4"`: 5, "\"a\n\"": 2,
		`{"a":`: 5, `{"a`: 3, `"a\`: 3, `"\u1`: 4, `tru`: 3, `-`: 1, `1e`: 2, `[`: 1, `[1,`: 3, `{`: 1,
	} {
		l := testLexer([]byte(text))
		l.skip(0)
		require.False(t, l.end(), text)
		assert.Equal(t, at, l.pos, text)
		l.release()
	}
}
