// Many accounts behind one rate limit.

package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hotelstays/hotelstays-go/pacing"
)

// A thousand accounts share 100 requests a second. Each sends at random times, all together at 0.95 of the limit. One
// of them sends a hundred times its share besides, so that the limit is exceeded. The other accounts wait as long as
// the loud one if callers are served first come first served, and hardly at all if accounts take turns.
func TestALoudAccountDelaysItself(t *testing.T) {
	const limit, accounts, loudness = 100, 1000, 100
	lasts := time.Minute * time.Duration(seeds(t))
	run := func(account func(i int) string) (loud, others time.Duration, used float64) {
		synctest.Test(t, func(t *testing.T) {
			w := NewWindow(limit, time.Second, 10*ms)
			var mu sync.Mutex
			var waits [2][]time.Duration // of the others, and of the loud one
			var wg sync.WaitGroup
			var last time.Time
			start := time.Now()
			send := func(i, kind int) {
				wg.Go(func() {
					asked := time.Now()
					p, err := w.Acquire(t.Context(), pacing.Caller{Account: account(i)})
					if assert.NoError(t, err) {
						leave(p)
					}
					mu.Lock()
					defer mu.Unlock()
					last = time.Now()
					waits[kind] = append(waits[kind], last.Sub(asked))
				})
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			const share = 0.95 * limit / accounts // a second
			total := share * (accounts - 1 + loudness)
			for time.Since(start) < lasts {
				time.Sleep(time.Duration(rnd.ExpFloat64() / total * float64(time.Second)))
				if rnd.Float64() < share*loudness/total {
					send(0, 1)
				} else {
					send(1+rnd.IntN(accounts-1), 0)
				}
			}
			wg.Wait()
			slices.Sort(waits[0])
			slices.Sort(waits[1])
			at99 := func(w []time.Duration) time.Duration { return w[len(w)*99/100].Round(ms) }
			loud, others, used = at99(waits[1]), at99(waits[0]), float64(len(waits[0])+len(waits[1]))/(limit*last.Sub(start).Seconds())
		})
		return loud, others, used
	}
	for _, way := range []struct {
		name    string
		account func(int) string
		atMost  time.Duration // for the others
	}{
		{"first come first served", func(int) string { return "" }, lasts},
		{"accounts take turns", func(i int) string { return fmt.Sprint(i) }, time.Second},
	} {
		loud, others, used := run(way.account)
		t.Logf("%s, %s: 99 of 100 callers wait at most %s, those of the loud account %s; %.3f of the limit", way.name, lasts, others, loud, used)
		assert.LessOrEqual(t, others, way.atMost)
		assert.Greater(t, used, 0.97)
	}
}

// What an account costs while one call of it waits.
func TestMemoryOfAnAccountThatWaits(t *testing.T) {
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
	var q pacing.Queue[chan *Permit]
	before := heap()
	for _, name := range names {
		q.Push(pacing.Caller{Account: name}, make(chan *Permit, 1))
	}
	each := (heap() - before) / accounts
	t.Logf("%d bytes an account", each)
	assert.Less(t, each, uint64(1000))
	runtime.KeepAlive(&q)
}
