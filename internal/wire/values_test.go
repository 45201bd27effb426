// A Lexer reads values as encoding/json does, and keeps no secrets and little memory.

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// valueType is a type that the Lexer and encoding/json read.
type valueType struct {
	name     string
	read     func(*Lexer) (value any)
	standard func(text []byte) (any, error)
}

func newType[T any](name string, read func(*Lexer, *T)) valueType {
	return valueType{
		name,
		func(l *Lexer) any {
			var v T
			read(l, &v)
			return v
		},
		func(text []byte) (any, error) {
			var v T
			err := json.Unmarshal(text, &v)
			return v, err
		},
	}
}

// wholeType returns an integer type, whose values may be written as 2.0.
func wholeType[T int | int64](name string, read func(*Lexer, *T)) valueType {
	k := newType(name, read)
	k.standard = func(text []byte) (any, error) {
		var number json.Number
		if err := json.Unmarshal(text, &number); err != nil || number == "" {
			return T(0), err
		}
		exact, _ := new(big.Rat).SetString(string(number))
		n, err := strconv.ParseInt(exact.Num().String(), 10, 64)
		return T(n), errors.Join(err, map[bool]error{false: errors.New("is not an integer")}[exact.IsInt()])
	}
	return k
}

type pair struct {
	A string      `json:"a"`
	B json.Number `json:"b"`
}

var readPair = Struct([]Field[pair]{
	{Name: "a", Exact: true, Read: func(l *Lexer, v *pair) { v.A = l.String() }},
	{Name: "b", Exact: true, Read: func(l *Lexer, v *pair) { v.B = json.Number(l.Number()) }},
})

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
	wholeType("int", func(l *Lexer, v *int) { *v = l.Int() }),
	wholeType("int64", func(l *Lexer, v *int64) { *v = l.Int64() }),
	newType("float64", func(l *Lexer, v *float64) { *v = l.Float64() }),
	newType("bool", func(l *Lexer, v *bool) { *v = l.Bool() }),
	newType("raw", func(l *Lexer, v *json.RawMessage) { *v = l.Raw() }),
	newType("pointer", func(l *Lexer, v **bool) { *v = Pointer(l, func(l *Lexer, v *bool) { *v = l.Bool() }) }),
	newType("map", func(l *Lexer, v *map[string]json.Number) { *v = Map(l, readNumber) }),
	newType("struct", readPair),
	newType("empty struct", Struct([]Field[struct{}]{})),
	newType("strings", func(l *Lexer, v *[]string) { *v = strs.Read(l, readString) }),
	newType("raws", func(l *Lexer, v *[]json.RawMessage) {
		*v = raws.Read(l, func(l *Lexer, v *json.RawMessage) { *v = l.Raw() })
	}),
	newType("structs", func(l *Lexer, v *[]pair) { *v = pairs.Read(l, readPair) }),
	newType("lists of lists", func(l *Lexer, v *[][]string) {
		*v = nesting.Read(l, func(l *Lexer, v *[]string) { *v = strs.Read(l, readString) })
	}),
}

// agree requires that the Lexer reads the text as encoding/json does, also if the text arrives byte by byte, or if its end
// is missing. It reports whether the text was read without a mismatch.
func (k valueType) agree(t testing.TB, text []byte) bool {
	fed := func(r io.Reader) *Lexer { return newLexer(context.Background(), feedOf(r)) }
	unfed := bytes.Clone(text)
	lexers := []*Lexer{testLexer(unfed), testLexer(unfed), fed(iotest.OneByteReader(bytes.NewReader(text))), fed(bytes.NewReader(text))}
	lexers[1].internStrings(true)
	ok := false
	for i, l := range lexers {
		got := k.read(l)
		read := l.end() && l.found.Count == 0
		if i == 1 {
			clear(unfed) // the values that were read are copies
		} else if i > 1 && read != ok && len(text) < maxFloat {
			t.Fatalf("%s: %q is read: %v, and fed: %v (%d)", k.name, text, ok, read, i)
		}
		l.release()
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

// areRead checks that all texts of each type are read, or that no text is.
func areRead(t *testing.T, want bool, texts map[string][]string) {
	t.Helper()
	for _, k := range valueTypes {
		for _, text := range texts[k.name] {
			assert.Equal(t, want, k.agree(t, []byte(text)), "%s: %s", k.name, text)
		}
		delete(texts, k.name)
	}
	assert.Empty(t, texts, "these types do not exist")
}

var nested = strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1)

func TestValidTextsAreRead(t *testing.T) {
	areRead(t, true, map[string][]string{
		"string": {`""`, `"a"`, `"seven b"`, `"eight by"`, `"nine byte"`, `"é漢😀"`, `"\"\\\/\b\f\n\r\t"`,
			`"\u00e9\u0000\uFFFF\ufffd"`, `"\ud83d\uDE00!"`, `"\ud83d"`, `"\ude00"`, `"\ud83dx"`,
			`"\ud83d\n"`, `"\ud83d\ud83d"`, `"\ud83dxude00"`, "\"a\xff\"", "\"\xed\xa0\x80\"", "\"\\n\xff\"", `"` + strings.Repeat("long ", 100) + `\n"`, `null`, " \t\r\n\"x\" \t\r\n", "\"\x7f\""},
		"secret": {`"a"`, `"\u00e9"`, `null`, "\"\xff\"", `"\ud83d"`},
		"number": {`0`, `-0`, `1.50`, `-12.00e+10`, `1E5`, `123456789012345678901234567890.5`, `null`, `"1"`, `"1.50"`, `"\u0031"`},
		"int":    {`1.0`, `1e3`, `200e-2`, `0`, `-0`, `7`, `-7`, `2147483647`, `null`},
		"int64":  {`0`, `1732147200000`, `-999999999999999999`, `9223372036854775807`, `-9223372036854775808`, `null`},
		"float64": {`0`, `-0`, `-0.0`, `4.5`, `25.204849`, `1e308`, `1e-400`, `5e-324`,
			`0.1000000000000000055511151231257827021181583404541015625`, `null`},
		"bool":    {`true`, `false`, `null`},
		"raw":     {`null`, `1`, `"a\u0041"`, ` { "a" : [ 1 , {} ] } `, `[]`, nested},
		"pointer": {`null`, `true`, `false`},
		"map": {`null`, `{}`, `{"eur":0.91,"kwd":0.307,"x":null}`, `{"é":1}`, `{"\u0061":1}`, "{\"\xff\":1}",
			`{"a":"1"}`},
		"struct":         {`null`, `{}`, `{"a":"x","b":1.5}`, `{"b":null,"z":{"a":1,"a":2},"a":null}`, `{"aa":1,"":2}`, `{"\u0061":"x"}`},
		"empty struct":   {`{"x":` + nested + `}`, `{"x":"` + "\xff" + `"}`, `{"x":{"a` + "\xff" + `":"\u0041\n"}}`},
		"strings":        {`null`, `[]`, `["a",null]`, `["a","b"]`, `[ "a" , "b" ]`},
		"raws":           {`[1,"a",{"a": 1}]`},
		"structs":        {`[{"a":"x"},{}]`},
		"lists of lists": {`[["a","b"],[],["c"]]`},
	})
}

// The Lexer reads no text that encoding/json refuses, and no object whose duplicate members encoding/json merges.
func TestInvalidTextsAreNotRead(t *testing.T) {
	areRead(t, false, map[string][]string{
		"string": {``, ` `, `"`, `"a`, `"\`, `"\"`, `"\u12"`, `"\u12G4"`, `"\x"`, `"\ud83d\u12"`, `"\ud83d\xde00"`,
			"\"\x01\"", "\"seven b\n\"", `'a'`, `1`, `true`, `{}`, `nul`, `nulll`,
			`"a" x`, `"a""b"`, "\"a\"\x00", "\v\"a\""},
		"secret":  {`1`, `"`},
		"number":  {`01`, `-`, `-01`, `1.`, `.5`, `+1`, `1e`, `1e+`, `1.e1`, `0x1`, `1_0`, `NaN`, `" 1"`, `"01"`, `""`, `"1`, `"1\x"`, `1 2`, `true`},
		"int":     {`1.5`, `1e-3`, `1e400`, `9223372036854775808`, `-9223372036854775809`, `01`, `-`, `"1"`, `123456789012345678901234567890`},
		"int64":   {`1.5`, `9223372036854775808`, `-9223372036854775809`, `123456789012345678901234567890`},
		"float64": {`1e309`, `-1e400`, `01`, `"1"`, `1e`},
		"bool":    {`tru`, `truee`, `True`, `1`, `"true"`, `f`},
		"raw": {``, `{`, `[`, `[1,]`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{1:1}`, `{"a" 1}`, `[1 2]`, `[,1]`, `{,}`, `nul`, `"`,
			`[[` + nested + `]]`, nested[:maxDepth]},
		"map": {`{"a":1,"a":2}`, `{"\u0061":1,"a":1}`, `{"a":true}`, `[]`, `{"a":1`, `{"a":1,`, `{"a`},
		"struct": {`{"a":"x","a":"y"}`, `{"A":"x"}`, `{"B":1}`, `{"\u0041":"x"}`, `{"z":1,}`, `{"a":1}`, `{"a":"x"`, `[]`, `{"z":01}`,
			`{"a":"x"}{}`, `{"z":{"a":1},"z" }`},
		"strings": {`{}`, `["a"`, `["a",`, `["a",]`, `["a" "b"]`, `[1]`, `"a"`, `[`},
	})
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

func (table *internTable) strings() (kept []string) {
	for _, text := range table {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}

func TestPooledMemoryKeepsNoSecrets(t *testing.T) {
	body := []byte(`["CANARY-1","CANARY\n2","CANARY-3","CANARY\u00e94",7001,"short"]`)
	for _, table := range []*internTable{nil, {}} {
		l := testLexer(bytes.Clone(body))
		l.interned = table
		require.True(t, l.array())
		assert.Equal(t, "CANARY-1", l.Secret())
		require.True(t, l.element())
		assert.Equal(t, "CANARY\n2", l.Secret())
		l.interned = nil
		require.True(t, l.element())
		assert.Equal(t, "CANARY-3", l.String())
		require.True(t, l.element())
		assert.Equal(t, "CANARYé4", l.String())
		require.True(t, l.element())
		assert.Equal(t, "7001", l.Number())
		l.interned = table
		require.True(t, l.element())
		assert.Equal(t, "short", l.String())
		require.False(t, l.element())
		require.True(t, l.end())
		assert.Contains(t, string(l.scratch[:cap(l.scratch)]), "CANARY")
		l.release()
		assert.NotContains(t, string(l.scratch[:cap(l.scratch)]), "CANARY")
		assert.Nil(t, l.body)
		assert.Nil(t, l.name)
		if table != nil {
			assert.Equal(t, []string{"short"}, table.strings())
		}
	}
}

func TestPooledMemoryIsBounded(t *testing.T) {
	var body bytes.Buffer
	body.WriteString(`["` + strings.Repeat("\\n", 1<<20) + `"`)
	for i := range 30_000 {
		fmt.Fprintf(&body, `,"%s%d"`, strings.Repeat("x", i%200), i)
	}
	body.WriteString("]")
	l := testLexer(body.Bytes())
	l.internStrings(true)
	got := strs.Read(l, readString)
	require.True(t, l.end())
	require.Len(t, got, 30_001)
	kept := l.interned.strings()
	l.release()
	assert.LessOrEqual(t, cap(l.scratch), maxScratch)
	assert.LessOrEqual(t, len(kept), internedSize)
	for _, text := range kept {
		assert.LessOrEqual(t, len(text), maxInterned)
	}
}

func TestInternedStringsAllocateNothing(t *testing.T) {
	body := []byte(`"a text that comes again"`)
	l := testLexer(body)
	l.internStrings(true)
	allocations := testing.AllocsPerRun(100, func() {
		l.pos = 0
		_ = l.String()
	})
	assert.Zero(t, allocations)
}

// The capacity of a list is its length, and the pool keeps no elements alive.
func TestCapacityOfAListIsItsLength(t *testing.T) {
	var list List[*pair]
	read := func(l *Lexer, v **pair) { *v = Pointer(l, readPair) }
	for _, length := range []int{0, 1, 3, 100, 3500, maxBuffered + 1} {
		l := testLexer([]byte("[" + strings.TrimSuffix(strings.Repeat(`{"a":"x"},`, length), ",") + "]"))
		got := list.Read(l, read)
		require.True(t, l.end())
		l.release()
		require.Len(t, got, length)
		assert.NotNil(t, got)
		assert.Equal(t, length, cap(got))
		if pooled, _ := list.buffers.Get().(*[]*pair); pooled != nil {
			assert.LessOrEqual(t, cap(*pooled), maxBuffered)
			for _, kept := range (*pooled)[:cap(*pooled)] {
				require.Nil(t, kept)
			}
			list.buffers.Put(pooled)
		}
	}
}

func TestLongListsTakeNoMoreMemoryThanInEncodingJSON(t *testing.T) {
	type wide struct{ Fields [16]string }
	var list List[wide]
	empty := func(l *Lexer, _ *wide) { l.object() }
	body := []byte("[" + strings.Repeat("{},", 10*maxBuffered) + "{}]")
	allocated := func(read func() []wide) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		assert.Len(t, read(), 10*maxBuffered+1)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	fast := allocated(func() []wide { return list.Read(testLexer(body), empty) })
	standard := allocated(func() (v []wide) {
		require.NoError(t, json.Unmarshal(body, &v))
		return v
	})
	assert.LessOrEqual(t, float64(fast), 1.02*float64(standard))
}

func TestReadersCanBeUsedConcurrently(t *testing.T) {
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for round := range 200 {
				var want []pair
				for i := range round % 7 {
					want = append(want, pair{"worker " + strconv.Itoa(worker), json.Number(strconv.Itoa(i))})
				}
				text, err := json.Marshal(want)
				assert.NoError(t, err)
				l := testLexer(text)
				l.internStrings(round%2 == 0)
				got := pairs.Read(l, readPair)
				assert.True(t, l.end())
				l.release()
				clear(text)
				assert.Equal(t, want, got)
			}
		})
	}
	all.Wait()
}
