// Tests of the rate limit at the service, which counts a request when the request arrives after the delay of the
// network.

package ratelimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/pacing"
)

// remote is a service and the network to it. The service counts arrivals over an exact rolling second, and refuses requests
// above the limit.
type remote struct {
	limit   int
	header  bool                               // whether the answers have the header Server-Cost-Milliseconds
	delay   func(rnd *rand.Rand) time.Duration // the delay of the network, in one direction
	cost    func(rnd *rand.Rand) time.Duration // the time that the service needs for an answer
	hangUps float64                            // share of requests, 0 to 1, whose callers hang up before the answer

	mu       sync.Mutex
	left     int
	arrivals []time.Time // when the requests arrived that were not refused
	refused  int
}

func (r *remote) send(w *Window, p *Permit, rnd *rand.Rand) {
	p.Sent()
	time.Sleep(r.delay(rnd))

	r.mu.Lock()
	r.left++
	arrived, inWindow := time.Now(), 0
	for i := len(r.arrivals) - 1; i >= 0 && arrived.Sub(r.arrivals[i]) < time.Second; i-- {
		inWindow++
	}
	limited := inWindow >= r.limit
	if limited {
		r.refused++
	} else {
		r.arrivals = append(r.arrivals, arrived)
	}
	r.mu.Unlock()

	if rnd.Float64() < r.hangUps {
		p.Done(pacing.PermitResult{})
		return
	}
	if !limited {
		time.Sleep(r.cost(rnd))
	}
	cost := time.Since(arrived).Truncate(ms)
	time.Sleep(r.delay(rnd))
	result := pacing.PermitResult{FirstByte: time.Now(), RateLimited: limited}
	if r.header {
		result.ArrivedBy = result.FirstByte.Add(-cost)
	}
	p.Done(result)
	if limited {
		w.Pause(time.Now().Add(time.Second))
	}
}

func (r *remote) load(t *testing.T, w *Window, seed uint64, callers int, duration time.Duration) {
	end, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			for {
				p, err := w.Acquire(end, pacing.Caller{})
				if err != nil {
					return
				}
				r.send(w, p, rnd)
			}
		})
	}
	wg.Wait()
}

func between(from, to time.Duration) func(*rand.Rand) time.Duration {
	return func(rnd *rand.Rand) time.Duration { return from + time.Duration(rnd.Int64N(int64(to-from)+1)) }
}

// A request arrives after at most 600 ms, and the service answers after 50 ms to 5 s. The answer says how long the
// service took. So no request is refused: not in the first burst, not after a pause, and not if callers hang up before
// the answer.
func TestServiceNeverReceivesMoreRequestsThanTheLimit(t *testing.T) {
	for _, test := range []struct {
		callersPerSlot int
		pause          time.Duration
		hangUps        float64
	}{{6, 0, 0.1}, {6, 5 * time.Second, 0}, {2, 5 * time.Minute, 0.1}} {
		for _, n := range testsize.Of(t, "rate limits", []int{5, 20, 100}, []int{5, 20}, []int{5, 20}) {
			for seed := range testsize.Of(t, "random networks", uint64(20), 1, 1) {
				t.Run(fmt.Sprintf("N=%d, %+v, network %d", n, test, seed), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := &remote{limit: n, header: true, delay: between(0, 600*ms), cost: between(50*ms, 5*time.Second), hangUps: test.hangUps}
						w := NewWindow(n, time.Second, 10*ms)
						for range 3 {
							r.load(t, w, seed, test.callersPerSlot*n, 70*time.Second)
							time.Sleep(test.pause)
						}
						assert.Zero(t, r.refused, "of %d requests", r.left)
					})
				})
			}
		}
	}
}

// The network delays a request and its answer together by 20 to 29 ms. Busy callers must use at least the share atLeast
// of the limit.
func TestBusyCallersUseNearlyTheWholeLimit(t *testing.T) {
	const jitter = 4500 * time.Microsecond // the maximum jitter in each direction
	for _, test := range []struct {
		name     string
		cost     time.Duration
		header   bool
		warmUp   time.Duration // how long callers send before the measurement
		after429 bool
		atLeast  float64 // the minimum share of the limit that the callers use, 0 to 1
	}{
		{"immediate answers", 0, true, 0, false, 0.95},
		{"immediate answers, after a 429", 0, true, 0, true, 0.95},
		{"immediate answers without the header", 0, false, 0, false, 0.97},
		{"immediate answers without the header, after a 429", 0, false, 0, true, 0.92},
		{"answers after 3 s, from the start", 3 * time.Second, true, 0, false, 0.5},
		{"answers after 3 s, two minutes later", 3 * time.Second, true, 2 * time.Minute, false, 0.95},
		{"answers after 3 s without the header", 3 * time.Second, false, 0, false, 0.95},
	} {
		for _, n := range testsize.Of(t, "rate limits", []int{10, 50, 5, 100}, []int{10, 50}, []int{10, 50}) {
			t.Run(fmt.Sprintf("%s, N=%d", test.name, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := &remote{limit: n, header: test.header, delay: between(10*ms, 10*ms+jitter), cost: between(test.cost, test.cost)}
					w := NewWindow(n, time.Second, 10*ms)
					r.load(t, w, 0, 4*n, test.warmUp)
					if test.after429 {
						p := acquire(t, w)
						p.Sent()
						p.Done(pacing.PermitResult{FirstByte: time.Now(), RateLimited: true})
						w.Pause(time.Now().Add(time.Second))
					}
					before := r.left
					r.load(t, w, 1, 4*n, time.Minute)
					used := float64(r.left-before) / float64(60*n)
					t.Logf("%.3f of the limit", used)
					assert.GreaterOrEqual(t, used, test.atLeast)
					assert.Zero(t, r.refused)
				})
			})
		}
	}
}

func TestCallerGetsTheSlotThatIsFreeEarliest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWindow(2, time.Second, 10*ms)
		start := time.Now()
		acquire(t, w).Sent() // without an answer, the slot stays taken for two seconds: one for the transit, and one window
		time.Sleep(1500 * ms)
		answered := acquire(t, w)
		answered.Sent()
		answered.Done(pacing.PermitResult{FirstByte: time.Now(), ArrivedBy: time.Now()})
		acquire(t, w)
		assert.Equal(t, 2*time.Second, time.Since(start))
	})
}

// The answer to the slot's own request proves when the request arrived. Without such a proof, the Window estimates the
// arrival from other answers.
func TestSlotStaysTakenForOneWindowAfterTheArrival(t *testing.T) {
	// request sends a request. The answer comes when the time answered has passed. The answer proves that the request
	// arrived within the time arrived. If arrived is never, the answer proves nothing.
	const never = -1
	request := func(t *testing.T, w *Window, answered, arrived time.Duration, limited bool) {
		p := acquire(t, w)
		p.Sent()
		r := pacing.PermitResult{FirstByte: time.Now().Add(answered), RateLimited: limited}
		if arrived != never {
			r.ArrivedBy = time.Now().Add(arrived)
		}
		time.Sleep(answered)
		p.Done(r)
	}
	proofs := func(n int, arrived time.Duration) func(*testing.T, *Window) {
		return func(t *testing.T, w *Window) {
			for range n {
				request(t, w, arrived, arrived, false)
			}
			time.Sleep(time.Minute)
		}
	}
	proofless := func(t *testing.T, w *Window) { request(t, w, 50*ms, -1, false) }
	refused := func(ago time.Duration) func(*testing.T, *Window) {
		return func(t *testing.T, w *Window) {
			request(t, w, 50*ms, -1, true)
			time.Sleep(ago - 10*time.Second)
			proofless(t, w)
			time.Sleep(10 * time.Second)
		}
	}
	for _, test := range []struct {
		name     string
		before   func(*testing.T, *Window)
		answered time.Duration // the time from the departure to the answer
		arrived  time.Duration // the time from the departure to the arrival, at most, as the answer says
		want     time.Duration
	}{
		{"no answer", nil, never, never, 2 * time.Second},
		{"a quick answer", nil, 400 * ms, 300 * ms, 1310 * ms},
		{"an answer that comes before the slot is taken again", nil, 1900 * ms, 1800 * ms, 2810 * ms},
		{"an answer that comes too late", nil, 2100 * ms, 1800 * ms, 2 * time.Second},
		{"an answer that claims an arrival before the departure", nil, 400 * ms, -300 * ms, 1010 * ms},
		{"no answer, after nine answers in a minute", proofs(9, 400*ms), never, never, 2 * time.Second},
		{"no answer, after a minute with ten answers", proofs(10, 400*ms), never, never, 1500 * ms},
		{"no answer, after a minute of fast requests", proofs(10, 4*ms), never, never, 1010 * ms},
		{"no answer, after a slow request", proofs(1, 1200*ms), never, never, 2500 * ms},
		{"no answer, after a minute of slow requests", proofs(10, 1200*ms), never, never, 2500 * ms},
		{"no answer, after a minute of very slow requests", proofs(10, 4200*ms), never, never, 6 * time.Second},
		{"no answer, long after a minute of fast requests", func(t *testing.T, w *Window) {
			proofs(10, 4*ms)(t, w)
			time.Sleep(2 * time.Minute)
		}, never, never, 2 * time.Second},
		{"no answer, after a minute of fast requests and a slow request", func(t *testing.T, w *Window) {
			proofs(10, 4*ms)(t, w)
			request(t, w, 200*ms, 200*ms, false)
			time.Sleep(2 * time.Second)
		}, never, never, 1250 * ms},
		{"an answer without proof, before any proof", nil, 400 * ms, never, 1010 * ms},
		{"no answer, where answers prove nothing", proofless, never, never, 1010 * ms},
		{"no answer, where one of two answers proved the arrival", func(t *testing.T, w *Window) {
			request(t, w, 40*ms, 40*ms, false)
			proofless(t, w)
		}, never, never, 2 * time.Second},
		{"no answer, after a 429", refused(20 * time.Second), never, never, 2 * time.Second},
		{"an answer without proof, after a 429", refused(20 * time.Second), 400 * ms, never, 1410 * ms},
		{"an answer, after a 429", refused(20 * time.Second), 400 * ms, 100 * ms, 1410 * ms},
		{"a slow answer, after a 429", refused(20 * time.Second), 1500 * ms, 100 * ms, 2010 * ms},
		{"an answer to a request that arrived late, after a 429", refused(20 * time.Second), 1500 * ms, 1400 * ms, 2410 * ms},
		{"a slow answer without proof, after a 429", refused(20 * time.Second), 1500 * ms, never, 2 * time.Second},
		{"no answer, a minute after a 429", refused(70 * time.Second), never, never, 1500 * ms},
		{"no answer, two minutes after a 429", refused(130 * time.Second), never, never, 1250 * ms},
		{"no answer, ten minutes after a 429", refused(10 * time.Minute), never, never, 1010 * ms},
		{"no answer, after a second 429", func(t *testing.T, w *Window) {
			refused(10*time.Minute)(t, w)
			refused(20*time.Second)(t, w)
		}, never, never, 2 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWindow(1, time.Second, 10*ms)
				if test.before != nil {
					test.before(t, w)
				}
				time.Sleep(2 * time.Second)
				start := time.Now()
				if test.answered != never {
					go request(t, w, test.answered, test.arrived, false)
				} else {
					acquire(t, w).Sent()
				}
				synctest.Wait()
				acquire(t, w)
				assert.Equal(t, test.want, time.Since(start))
				time.Sleep(time.Second) // waits until the late answer has come
			})
		})
	}
}
