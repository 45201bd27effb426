// Tests of memory and concurrency: pools keep no secrets and little memory, and goroutines can share readers.

package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
	strs  List[string]
	raws  List[json.RawMessage]
	pairs List[pair]
)

func (table *internTable) strings() (kept []string) {
	for _, text := range table {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}

func TestReleasedLexerKeepsNoSecret(t *testing.T) {
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

func TestMemoryOfAReleasedLexerIsLimited(t *testing.T) {
	var body bytes.Buffer
	body.WriteString(`["` + strings.Repeat("\\n", 1<<20) + `"`)
	for i := range 5_000 {
		fmt.Fprintf(&body, `,"%s%d"`, strings.Repeat("x", i%200), i)
	}
	body.WriteString("]")
	l := testLexer(body.Bytes())
	l.internStrings(true)
	got := strs.Read(l, readString)
	require.True(t, l.end())
	require.Len(t, got, 5_001)
	kept := l.interned.strings()
	l.release()
	assert.LessOrEqual(t, cap(l.scratch), maxScratch)
	assert.LessOrEqual(t, len(kept), internedSize)
	for _, text := range kept {
		assert.LessOrEqual(t, len(text), maxInterned)
	}
}

// The capacity of a list is its length. The pooled buffer keeps no pointer to an element.
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

func TestGoroutinesCanShareTheReadersOfListsAndStructs(t *testing.T) {
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
