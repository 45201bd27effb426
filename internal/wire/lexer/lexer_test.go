// Proves that what a Lexer takes is what encoding/json makes of it, that it takes
// what is usual, and what it keeps in memory afterwards.

package lexer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kind is a type that is read both ways.
type kind struct {
	name string
	// read reports false where the Lexer gave up.
	read     func(text []byte, share bool) (any, bool)
	standard func(text []byte) (any, error)
}

func kindOf[T any](name string, read func(*Lexer, *T)) kind {
	return kind{
		name,
		func(text []byte, share bool) (any, bool) {
			text = bytes.Clone(text)
			l := New(text)
			l.Share(share)
			var v T
			read(l, &v)
			taken := l.End()
			l.Release()
			clear(text)
			return v, taken
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

var kinds = []kind{
	kindOf("string", readString),
	kindOf("secret", func(l *Lexer, v *string) { *v = l.Secret() }),
	kindOf("number", readNumber),
	kindOf("int", func(l *Lexer, v *int) { *v = l.Int() }),
	kindOf("int64", func(l *Lexer, v *int64) { *v = l.Int64() }),
	kindOf("float64", func(l *Lexer, v *float64) { *v = l.Float64() }),
	kindOf("bool", func(l *Lexer, v *bool) { *v = l.Bool() }),
	kindOf("raw", func(l *Lexer, v *json.RawMessage) { *v = l.Raw() }),
	kindOf("pointer", func(l *Lexer, v **bool) { *v = Pointer(l, func(l *Lexer, v *bool) { *v = l.Bool() }) }),
	kindOf("map", func(l *Lexer, v *map[string]json.Number) { *v = Map(l, readNumber) }),
	kindOf("struct", readPair),
	kindOf("empty struct", func(l *Lexer, v *struct{}) {
		for more := l.Object(); more; more = l.Member() {
			l.Unknown()
		}
	}),
	kindOf("strings", func(l *Lexer, v *[]string) { *v = strs.Read(l, 0, readString) }),
	kindOf("raws", func(l *Lexer, v *[]json.RawMessage) {
		*v = raws.Read(l, 0, func(l *Lexer, v *json.RawMessage) { *v = l.Raw() })
	}),
	kindOf("structs", func(l *Lexer, v *[]pair) { *v = pairs.Read(l, 0, readPair) }),
	kindOf("lists of lists", func(l *Lexer, v *[][]string) {
		*v = nesting.Read(l, 0, func(l *Lexer, v *[]string) { *v = strs.Read(l, 0, readString) })
	}),
}

// agree reports whether the Lexer took the text.
func (k kind) agree(t testing.TB, text []byte) bool {
	taken := false
	for _, share := range []bool{false, true} {
		got, ok := k.read(text, share)
		if !ok {
			continue
		}
		want, err := k.standard(text)
		if err != nil || !reflect.DeepEqual(want, got) {
			t.Fatalf("%s: %q is read as %#v, and by encoding/json as %#v, %v", k.name, text, got, want, err)
		}
		if a, isFloat := got.(float64); isFloat && math.Signbit(a) != math.Signbit(want.(float64)) {
			t.Fatalf("%s: %q has another sign", k.name, text)
		}
		taken = true
	}
	return taken
}

func kindNamed(t *testing.T, name string) kind {
	t.Helper()
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	require.FailNow(t, "no such kind", name)
	return kind{}
}

var nested = strings.Repeat("[", maxUnknownDepth) + strings.Repeat("]", maxUnknownDepth)

// What is usual is taken, and read as encoding/json does.
func TestUsualTextsAreTaken(t *testing.T) {
	for name, texts := range map[string][]string{
		"string": {`""`, `"a"`, `"seven b"`, `"eight by"`, `"nine byte"`, `"é漢😀"`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9\u0000\uFFFF"`, `"\ud83d\uDE00!"`,
			`"` + strings.Repeat("long ", 100) + `\n"`, `null`, " \t\r\n\"x\" \t\r\n", "\"\x7f\""},
		"secret":         {`"a"`, `"\u00e9"`, `null`},
		"number":         {`0`, `-0`, `1.50`, `-12.00e+10`, `1E5`, `123456789012345678901234567890.5`, `null`},
		"int":            {`0`, `-0`, `7`, `-7`, `2147483647`, `null`},
		"int64":          {`0`, `1732147200000`, `-999999999999999999`, `9223372036854775807`, `-9223372036854775808`, `null`},
		"float64":        {`0`, `-0`, `-0.0`, `4.5`, `25.204849`, `1e308`, `1e-400`, `5e-324`, `0.1000000000000000055511151231257827021181583404541015625`, `null`},
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
		k := kindNamed(t, name)
		for _, text := range texts {
			assert.True(t, k.agree(t, []byte(text)), "%s: %s", name, text)
		}
	}
}

// What encoding/json refuses, or reads by rules of its own, is left to it.
func TestOddTextsAreLeft(t *testing.T) {
	for name, texts := range map[string][]string{
		"string": {``, ` `, `"`, `"a`, `"\`, `"\"`, `"\u12"`, `"\u12G4"`, `"\x"`, `"\ud83d"`, `"\ude00"`, `"\ud83dx"`, `"\ud83d\n"`, `"\ud83d\u12"`,
			`"\ud83d\ud83d"`, `"\ud83dxude00"`, `"\ud83d\xde00"`, "\"\x01\"", "\"seven b\n\"", "\"a\xff\"", "\"\xed\xa0\x80\"", "\"\\n\xff\"", `'a'`, `1`, `true`, `{}`, `nul`, `nulll`, `"a" x`, `"a""b"`, "\"a\"\x00", "\v\"a\""},
		"secret":  {"\"\xff\"", `"\ud83d"`},
		"number":  {`01`, `-`, `-01`, `1.`, `.5`, `+1`, `1e`, `1e+`, `1.e1`, `0x1`, `1_0`, `NaN`, `"1"`, `1 2`, `true`},
		"int":     {`1.0`, `1e3`, `9223372036854775808`, `-9223372036854775809`, `01`, `-`, `"1"`, `123456789012345678901234567890`},
		"int64":   {`1.0`, `1e3`, `9223372036854775808`, `-9223372036854775809`, `123456789012345678901234567890`},
		"float64": {`1e309`, `-1e400`, `01`, `"1"`, `1e`},
		"bool":    {`tru`, `truee`, `True`, `1`, `"true"`, `f`},
		"raw":     {``, `{`, `[`, `[1,]`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{1:1}`, `{"a" 1}`, `[1 2]`, `[,1]`, `{,}`, `nul`, `"`, `[[` + nested + `]]`, nested[:maxUnknownDepth]},
		"map":     {`{"a":1,"a":2}`, `{"\u0061":1}`, "{\"\xff\":1}", `{"a":"1"}`, `[]`, `{"a":1`, `{"a":1,`, `{"a`},
		"struct": {`{"a":"x","a":"y"}`, `{"A":"x"}`, `{"B":1}`, `{"\u0061":"x"}`, `{"z":1,}`, `{"a":1}`, `{"a":"x"`, `[]`, `{"z":01}`, `{"a":"x"}{}`,
			`{"z":{"a":1},"z" }`},
		"strings": {`{}`, `["a"`, `["a",`, `["a",]`, `["a" "b"]`, `[1]`, `"a"`, `[`},
	} {
		k := kindNamed(t, name)
		for _, text := range texts {
			assert.False(t, k.agree(t, []byte(text)), "%s: %s", name, text)
		}
	}
}

// Nine characters may follow a backslash, and no others.
func TestEscapes(t *testing.T) {
	k, taken := kindNamed(t, "string"), 0
	for c := range 256 {
		if k.agree(t, append([]byte{'"', '\\', byte(c)}, `0041"`...)) {
			taken++
		}
	}
	assert.Equal(t, 9, taken)
}

// FuzzLexer takes a text and reads it as each type.
func FuzzLexer(f *testing.F) {
	for _, seed := range []string{`{"a":"x","b":1.50,"c":[1,{"d":null}]}`, `["\ud83d\ude00","é",null]`, `-0.5e+3`, `{"eur":1,"EUR":2}`, `[{"a":"\n"},{"b":7}]`, ` "x" `, `true`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, k := range kinds {
			k.agree(t, text)
		}
		skipAgrees(t, text)
	})
}

// skipAgrees passes over a text, which must succeed exactly where it is JSON.
func skipAgrees(t testing.TB, text []byte) {
	l := New(text)
	defer l.Release()
	l.Skip(0)
	if taken := l.End(); taken != json.Valid(text) {
		t.Fatalf("%.200q: passed over: %v, is JSON: %v", text, taken, !taken)
	}
}

// What is passed over is checked as encoding/json checks it, to every byte and depth.
func TestSkipTakesAllJSON(t *testing.T) {
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

// A Lexer that gives up says where: at the end where the text is cut off.
func TestWhereTheFaultIs(t *testing.T) {
	for text, at := range map[string]int{
		``: 0, ` `: 1, `<html>`: 0, `{"a":1,}`: 7, `{"a" 1}`: 5, `[1 2]`: 3, `[1]x`: 3, `01`: 1, `[1.]`: 3, `nulx`: 3, `"\x"`: 2, `"\u12x4"`: 5, "\"a\n\"": 2,
		`{"a":`: 5, `{"a`: 3, `"a\`: 3, `"\u1`: 4, `tru`: 3, `-`: 1, `1e`: 2, `[`: 1, `[1,`: 3, `{`: 1,
	} {
		l := New([]byte(text))
		l.Skip(0)
		require.False(t, l.End(), text)
		assert.Equal(t, at, l.Offset(), text)
		l.Release()
	}
}

// Only a name that must be exact makes the Lexer give up at another letter case of it.
func TestNamesInAnotherLetterCase(t *testing.T) {
	for text, taken := range map[string]bool{`{"orders":1}`: true, `{"Orders":1}`: false, `{"order\u017f":1}`: false, `{"orderſ":1}`: false, `{"other":1,"Other":2,"OTHER":3}`: true, `{"orders2":1}`: true} {
		l := New([]byte(text))
		for more := l.Object(); more; more = l.Member() {
			switch string(l.Name()) {
			case "orders", "other":
				l.Int()
			default:
				l.Unknown("orders")
			}
		}
		assert.Equal(t, taken, l.End(), text)
		l.Release()
	}
}

// A plain run ends at the first byte that ends one, and at no other, wherever it
// begins and whatever comes later.
func TestPlainRuns(t *testing.T) {
	const length = 20
	for _, fill := range []byte{'x', ' ', '!', '#', '[', ']', 0x7f, 0x80, 0xff} {
		for c := range 256 {
			for at := range length {
				text := bytes.Repeat([]byte{fill}, length)
				text[at] = byte(c)
				want := length
				if c == '"' || c == '\\' || c < ' ' {
					want = at
				}
				for begin := range at + 1 {
					require.Equal(t, want, plain(text, begin), "%q from %d", text, begin)
				}
				if at+1 < length {
					text[at+1] = '"'
					require.Equal(t, min(want, at+1), plain(text, 0), "%q", text)
				}
			}
		}
	}
}

// keptTexts are what a pooled Lexer keeps.
func (l *Lexer) keptTexts() (kept []string) {
	if l.texts == nil {
		return nil
	}
	for _, text := range l.texts {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}

// Of what is not shared, nothing stays in memory that is used again.
func TestSecretsDoNotStay(t *testing.T) {
	body := []byte(`["CANARY-1","CANARY\n2","CANARY-3","CANARY\u00e94",7001,"short"]`)
	l := &Lexer{}
	for _, share := range []bool{false, true} {
		l.body, l.pos, l.gaveUp, l.look, l.budget = bytes.Clone(body), 0, false, math.MaxInt, math.MaxInt
		l.Share(share)
		require.True(t, l.Array())
		assert.Equal(t, "CANARY-1", l.Secret())
		require.True(t, l.Element())
		assert.Equal(t, "CANARY\n2", l.Secret())
		l.Share(false)
		require.True(t, l.Element())
		assert.Equal(t, "CANARY-3", l.String())
		require.True(t, l.Element())
		assert.Equal(t, "CANARYé4", l.String())
		require.True(t, l.Element())
		assert.Equal(t, "7001", l.Number())
		l.Share(share)
		require.True(t, l.Element())
		assert.Equal(t, "short", l.String())
		require.False(t, l.Element())
		require.True(t, l.End())
		assert.Contains(t, string(l.scratch[:cap(l.scratch)]), "CANARY")
		l.Release()
		assert.NotContains(t, string(l.scratch[:cap(l.scratch)]), "CANARY")
		assert.Nil(t, l.body)
		assert.Nil(t, l.name)
		if share {
			assert.Equal(t, []string{"short"}, l.keptTexts())
		} else {
			assert.Empty(t, l.keptTexts())
		}
	}
}

// However many texts come, and however long, what stays is bounded.
func TestWhatStaysIsBounded(t *testing.T) {
	var body bytes.Buffer
	body.WriteString(`["` + strings.Repeat("\\n", 1<<20) + `"`)
	for i := range 100_000 {
		fmt.Fprintf(&body, `,"%s%d"`, strings.Repeat("x", i%200), i)
	}
	body.WriteString("]")
	l := &Lexer{body: body.Bytes(), look: math.MaxInt, budget: math.MaxInt}
	l.Share(true)
	got := strs.Read(l, 0, readString)
	require.True(t, l.End())
	require.Len(t, got, 100_001)
	l.Release()
	assert.LessOrEqual(t, cap(l.scratch), maxScratch)
	kept := l.keptTexts()
	assert.LessOrEqual(t, len(kept), sharedTexts)
	for _, text := range kept {
		assert.LessOrEqual(t, len(text), maxShared)
	}
}

// A text that repeats costs no memory.
func TestSharedTextsCostNothing(t *testing.T) {
	body := []byte(`"a text that comes again"`)
	l := &Lexer{look: math.MaxInt}
	l.Share(true)
	allocations := testing.AllocsPerRun(100, func() {
		l.body, l.pos = body, 0
		_ = l.String()
	})
	assert.Zero(t, allocations)
}

// A list has no room to spare, and what it points at is not kept alive.
func TestListsAreExact(t *testing.T) {
	var list List[*pair]
	read := func(l *Lexer, v **pair) { *v = Pointer(l, readPair) }
	for _, length := range []int{0, 1, 3, 100, 3500, maxWaiting + 1} {
		l := New([]byte("[" + strings.TrimSuffix(strings.Repeat(`{"a":"x"},`, length), ",") + "]"))
		got := list.Read(l, 0, read)
		require.True(t, l.End())
		l.Release()
		require.Len(t, got, length)
		assert.NotNil(t, got)
		assert.Equal(t, length, cap(got))
		if memory, _ := list.waiting.Get().(*[]*pair); memory != nil {
			assert.LessOrEqual(t, cap(*memory), maxWaiting)
			for _, kept := range (*memory)[:cap(*memory)] {
				require.Nil(t, kept)
			}
			list.waiting.Put(memory)
		}
	}
}

// A list of any length takes no more memory than encoding/json does for it, or a
// hostile answer could cost more than before.
func TestLongListsTakeNoMoreMemory(t *testing.T) {
	type wide struct{ Fields [16]string }
	var list List[wide]
	empty := func(l *Lexer, _ *wide) { l.Object() }
	body := []byte("[" + strings.Repeat("{},", 10*maxWaiting) + "{}]")
	allocated := func(read func() []wide) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		assert.Len(t, read(), 10*maxWaiting+1)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	fast := allocated(func() []wide { return list.Read(New(body), 0, empty) })
	standard := allocated(func() (v []wide) {
		require.NoError(t, json.Unmarshal(body, &v))
		return v
	})
	assert.LessOrEqual(t, float64(fast), 1.02*float64(standard))
}

// Lexers and lists serve many at once.
func TestConcurrentReading(t *testing.T) {
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
				l := New(text)
				l.Share(round%2 == 0)
				got := pairs.Read(l, 0, readPair)
				assert.True(t, l.End())
				l.Release()
				clear(text)
				assert.Equal(t, want, got)
			}
		})
	}
	all.Wait()
}
