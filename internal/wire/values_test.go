// Tests of names, interned strings, lists and pooled memory.

package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The Lexer fails only at another letter case of an exact name.
func TestUnknownNames(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"orders":1}`: true, `{"orders2":1}`: true, `{"other":1,"Other":2,"OTHER":3}`: true,
		`{"Orders":1}`: false, `{"order\u017f":1}`: false, `{"orderſ":1}`: false,
	} {
		l := testLexer([]byte(text))
		for more := l.Object(); more; more = l.Member() {
			switch string(l.Name()) {
			case "orders", "other":
				l.Int()
			default:
				l.Unknown("orders")
			}
		}
		assert.Equal(t, ok, l.end(), text)
		l.release()
	}
}

// keptStrings are those that a pooled Lexer keeps.
func (l *Lexer) keptStrings() (kept []string) {
	if l.interned == nil {
		return nil
	}
	for _, text := range l.interned {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}

// Pooled pooled keeps nothing of secrets, nor of what is not interned.
func TestPooledMemoryKeepsNoSecrets(t *testing.T) {
	body := []byte(`["CANARY-1","CANARY\n2","CANARY-3","CANARY\u00e94",7001,"short"]`)
	l := &Lexer{}
	for _, intern := range []bool{false, true} {
		l.body, l.pos, l.failed, l.nextPoll, l.budget = bytes.Clone(body), 0, false, math.MaxInt, math.MaxInt
		l.internStrings(intern)
		require.True(t, l.array())
		assert.Equal(t, "CANARY-1", l.Secret())
		require.True(t, l.element())
		assert.Equal(t, "CANARY\n2", l.Secret())
		l.internStrings(false)
		require.True(t, l.element())
		assert.Equal(t, "CANARY-3", l.String())
		require.True(t, l.element())
		assert.Equal(t, "CANARYé4", l.String())
		require.True(t, l.element())
		assert.Equal(t, "7001", l.Number())
		l.internStrings(intern)
		require.True(t, l.element())
		assert.Equal(t, "short", l.String())
		require.False(t, l.element())
		require.True(t, l.end())
		assert.Contains(t, string(l.scratch[:cap(l.scratch)]), "CANARY")
		l.release()
		assert.NotContains(t, string(l.scratch[:cap(l.scratch)]), "CANARY")
		assert.Nil(t, l.body)
		assert.Nil(t, l.name)
		if intern {
			assert.Equal(t, []string{"short"}, l.keptStrings())
		} else {
			assert.Empty(t, l.keptStrings())
		}
	}
}

func TestPooledMemoryIsBounded(t *testing.T) {
	var body bytes.Buffer
	body.WriteString(`["` + strings.Repeat("\\n", 1<<20) + `"`)
	for i := range 100_000 {
		fmt.Fprintf(&body, `,"%s%d"`, strings.Repeat("x", i%200), i)
	}
	body.WriteString("]")
	l := &Lexer{ctx: t.Context(), body: body.Bytes(), nextPoll: math.MaxInt, budget: math.MaxInt}
	l.internStrings(true)
	got := strs.Read(l, 0, readString)
	require.True(t, l.end())
	require.Len(t, got, 100_001)
	l.release()
	assert.LessOrEqual(t, cap(l.scratch), maxScratch)
	kept := l.keptStrings()
	assert.LessOrEqual(t, len(kept), internedSize)
	for _, text := range kept {
		assert.LessOrEqual(t, len(text), maxInterned)
	}
}

func TestInternedStringsAllocateNothing(t *testing.T) {
	body := []byte(`"a text that comes again"`)
	l := &Lexer{nextPoll: math.MaxInt}
	l.internStrings(true)
	allocations := testing.AllocsPerRun(100, func() {
		l.body, l.pos = body, 0
		_ = l.String()
	})
	assert.Zero(t, allocations)
}

// A list has its exact capacity, and the pool keeps nothing alive.
func TestListsAreExact(t *testing.T) {
	var list List[*pair]
	read := func(l *Lexer, v **pair) { *v = Pointer(l, readPair) }
	for _, length := range []int{0, 1, 3, 100, 3500, maxBuffered + 1} {
		l := testLexer([]byte("[" + strings.TrimSuffix(strings.Repeat(`{"a":"x"},`, length), ",") + "]"))
		got := list.Read(l, 0, read)
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

// A long list allocates no more than encoding/json does for it.
func TestLongListsTakeNoMoreMemory(t *testing.T) {
	type wide struct{ Fields [16]string }
	var list List[wide]
	empty := func(l *Lexer, _ *wide) { l.Object() }
	body := []byte("[" + strings.Repeat("{},", 10*maxBuffered) + "{}]")
	allocated := func(read func() []wide) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		assert.Len(t, read(), 10*maxBuffered+1)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	fast := allocated(func() []wide { return list.Read(testLexer(body), 0, empty) })
	standard := allocated(func() (v []wide) {
		require.NoError(t, json.Unmarshal(body, &v))
		return v
	})
	assert.LessOrEqual(t, float64(fast), 1.02*float64(standard))
}

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
				l := testLexer(text)
				l.internStrings(round%2 == 0)
				got := pairs.Read(l, 0, readPair)
				assert.True(t, l.end())
				l.release()
				clear(text)
				assert.Equal(t, want, got)
			}
		})
	}
	all.Wait()
}
