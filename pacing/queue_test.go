package pacing

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const interactive, background = 1, -1

// serveAll pushes callers, and returns their names in the order in which Pop returns the callers. A name is the account and
// the number of the caller within the account.
func serveAll(callers []Caller) []string {
	var q Queue[chan int]
	names, pushed := map[chan int]string{}, map[string]int{}
	for _, c := range callers {
		granted := make(chan int)
		pushed[c.Account]++
		names[granted] = fmt.Sprint(c.Account, pushed[c.Account])
		q.Push(c, granted)
	}
	var served []string
	for q.Len() > 0 {
		served = append(served, names[q.Pop()])
	}
	return served
}

// callersOf returns one caller for each letter; the letter is the account. Account w has the weight 3.
func callersOf(accounts string, priority int) (callers []Caller) {
	for account := range strings.SplitSeq(accounts, "") {
		callers = append(callers, Caller{Account: account, Priority: priority, Weight: map[string]int{"w": 3}[account]})
	}
	return callers
}

func TestQueueServesLanesAndAccountsInTurn(t *testing.T) {
	for name, test := range map[string]struct {
		callers []Caller
		want    string
	}{
		"the first caller is first":             {callersOf("aaa", 0), "a1 a2 a3"},
		"accounts take turns":                   {callersOf("aaaabbc", 0), "a1 b1 c1 a2 b2 a3 a4"},
		"a weight of 3 is three slots per turn": {callersOf("aawwwwww", 0), "a1 w1 w2 w3 a2 w4 w5 w6"},
		"unused slots of a turn are dropped":    {callersOf("wwaaw", 0), "w1 w2 w3 a1 a2"},
		"interactive callers are first":         {append(append(callersOf("c", background), callersOf("ab", 0)...), callersOf("xy", interactive)...), "x1 y1 a1 b1 c1"},
		"a less urgent lane gets every tenth slot": {append(callersOf("b", background), callersOf("aaaaaaaaaa", 0)...),
			"a1 a2 a3 a4 a5 a6 a7 a8 a9 b1 a10"},
		"no lane starves": {append(append(callersOf("bb", background), callersOf("dd", 0)...), callersOf("iiiiiiiiiiiiiiiii", interactive)...),
			"i1 i2 i3 i4 i5 i6 i7 i8 i9 b1 d1 i10 i11 i12 i13 i14 i15 i16 i17 b2 d2"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, strings.Join(serveAll(test.callers), " ")) })
	}
}

// A thousand accounts would use 95 % of a rate limit. But one of them, the loud account, sends a hundred times its share, so the
// accounts together exceed the limit.
func TestLoudAccountDelaysOnlyItself(t *testing.T) {
	const limit, accounts, loudness, seconds = 100, 1000, 100, 20 * 60
	const each, total = 0.95 * limit / accounts, 0.95 * limit / accounts * (accounts - 1 + loudness) // requests a second
	for name, test := range map[string]struct {
		account func(int) string
		atMost  float64 // seconds that 99 of 100 requests of the other accounts wait
	}{
		"first come, first served": {func(int) string { return "" }, seconds},
		"accounts take turns":      {strconv.Itoa, 1},
	} {
		t.Run(name, func(t *testing.T) {
			type request struct {
				account int
				at      float64 // the time of the request, in seconds
			}
			var q Queue[request]
			var waits [2][]float64 // [0]: waits of the loud account; [1]: waits of the other accounts
			rnd, next := rand.New(rand.NewPCG(1, 2)), 0.0
			for slot := 0; slot < limit*seconds || q.Len() > 0; slot++ {
				now := float64(slot) / limit
				for ; next <= min(now, seconds); next += rnd.ExpFloat64() / total {
					account := 0
					if rnd.Float64() > each*loudness/total {
						account = 1 + rnd.IntN(accounts-1)
					}
					q.Push(Caller{Account: test.account(account)}, request{account, next})
				}
				if q.Len() > 0 {
					r := q.Pop()
					kind := min(r.account, 1)
					waits[kind] = append(waits[kind], now-r.at)
				}
			}
			at99 := func(waits []float64) float64 { slices.Sort(waits); return waits[len(waits)*99/100] }
			t.Logf("99 of 100 requests wait at most %.1f s, requests of the loud account %.1f s", at99(waits[1]), at99(waits[0]))
			assert.LessOrEqual(t, at99(waits[1]), test.atMost)
		})
	}
}

func TestQueueForgetsCallersThatLeft(t *testing.T) {
	var q Queue[chan int]
	first, second := q.Push(Caller{Account: "a"}, make(chan int, 1)), q.Push(Caller{Account: "a"}, make(chan int, 2))
	third := q.Push(Caller{Account: "b", Priority: background}, make(chan int, 3))
	q.Remove(first)
	assert.Equal(t, 2, cap(q.Pop()))
	assert.True(t, q.Remove(third))
	assert.False(t, q.Remove(third), "it was removed before")
	assert.False(t, q.Remove(second), "it was served")
	assert.False(t, q.Remove(Place{}))
	assert.Zero(t, q.Len())
	assert.Empty(t, second.lane.accounts)
	assert.Empty(t, third.lane.accounts)
}

func TestWaitingAccountTakesLessThan1000Bytes(t *testing.T) {
	const accounts = 10_000
	names := make([]string, accounts)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var q Queue[chan int]
	before := heap()
	for _, name := range names {
		q.Push(Caller{Account: name}, make(chan int, 1))
	}
	each := (heap() - before) / accounts
	t.Logf("%d bytes an account", each)
	assert.Less(t, each, uint64(1000))
	runtime.KeepAlive(&q)
}
