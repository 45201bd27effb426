// The rate limit as the service counts it: by arrivals, at the end of a road that takes its time.

package ratelimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// road is a service and the way to it. It counts arrivals over an exact rolling second, and refuses those above.
type road struct {
	limit    int
	header   bool                               // answers carry Server-Cost-Milliseconds
	way      func(rnd *rand.Rand) time.Duration // one way
	thinking func(rnd *rand.Rand) time.Duration // until the answer
	deaf     float64                            // share of requests whose callers hang up before the answer

	mu       sync.Mutex
	left     int
	arrivals []time.Time // of requests that were not refused
	refused  []time.Time // when the others left
	known    time.Time   // when the first 429 was known
}

// send takes one request there and its answer back.
func (r *road) send(w *Window, p *Permit, rnd *rand.Rand) {
	p.Sent()
	left := time.Now()
	time.Sleep(r.way(rnd))

	r.mu.Lock()
	r.left++
	arrived, inWindow := time.Now(), 0
	for i := len(r.arrivals) - 1; i >= 0 && arrived.Sub(r.arrivals[i]) < time.Second; i-- {
		inWindow++
	}
	limited := inWindow >= r.limit
	if limited {
		r.refused = append(r.refused, left)
	} else {
		r.arrivals = append(r.arrivals, arrived)
	}
	r.mu.Unlock()

	if rnd.Float64() < r.deaf {
		p.Done(Result{})
		return
	}
	if !limited {
		time.Sleep(r.thinking(rnd))
	}
	cost := time.Since(arrived).Truncate(ms)
	time.Sleep(r.way(rnd))
	result := Result{FirstByte: time.Now(), RateLimited: limited}
	if r.header {
		result.ArrivedBy = result.FirstByte.Add(-cost)
	}
	p.Done(result)
	if limited {
		r.mu.Lock()
		if r.known.IsZero() {
			r.known = time.Now()
		}
		r.mu.Unlock()
		w.Pause(time.Now().Add(time.Second))
	}
}

// drive has callers send for a while, one request after another.
func (r *road) drive(t *testing.T, w *Window, seed uint64, callers int, duration time.Duration) {
	end, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			for {
				p, err := w.Acquire(end)
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
	return func(rnd *rand.Rand) time.Duration { return from + upTo(rnd, to-from+1) }
}

// seeds is how many random roads each test tries.
func seeds(t *testing.T) uint64 {
	if os.Getenv("HOTELSTAYS_LONG") != "" {
		t.Log("the long form: 20 roads each")
		return 20
	}
	t.Log("the short form: one road each; HOTELSTAYS_LONG=1 tries 20")
	return 1
}

// Requests take from nothing to 600 ms to arrive, and answers from 50 ms to 5 s. Each answer says how long the
// service took, so nothing is ever refused: not in the first burst, not after a rest, and not where callers hang up
// before the answer is there.
func TestNoMoreThanTheLimitEverArrives(t *testing.T) {
	for seed := range seeds(t) {
		for _, n := range []int{5, 20, 100} {
			for _, callers := range []int{2 * n, 6 * n} {
				for _, rest := range []time.Duration{0, 5 * time.Second, 5 * time.Minute} {
					for _, deaf := range []float64{0, 0.1} {
						t.Run(fmt.Sprintf("N=%d, %d callers, rests of %v, %.0f %% hang up, road %d", n, callers, rest, 100*deaf, seed), func(t *testing.T) {
							synctest.Test(t, func(t *testing.T) {
								r := &road{limit: n, header: true, way: between(0, 600*ms), thinking: between(50*ms, 5*time.Second), deaf: deaf}
								w := NewWindow(n, time.Second, 10*ms)
								for range 3 {
									r.drive(t, w, seed, callers, 70*time.Second)
									time.Sleep(rest)
								}
								if len(r.refused) > 0 || busiest(r.arrivals, time.Second) > n {
									t.Errorf("%d of %d requests were refused", len(r.refused), r.left)
								}
							})
						})
					}
				}
			}
		}
	}
}

// The same road, and answers that prove nothing: the first 429 is the last one for a minute. Those that had left
// before it was known do not count.
func TestOneRefusalAMinuteWithoutProof(t *testing.T) {
	refused, roads := 0, 3*seeds(t)
	for _, n := range []int{5, 10, 50, 100} {
		for _, callers := range []int{2 * n, 6 * n} {
			for seed := range roads {
				t.Run(fmt.Sprintf("N=%d, %d callers, seed %d", n, callers, seed), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := &road{limit: n, way: between(0, 600*ms), thinking: between(50*ms, 5*time.Second)}
						r.drive(t, NewWindow(n, time.Second, 10*ms), seed, callers, 2*time.Minute)
						for _, left := range r.refused {
							refused++
							if after := left.Sub(r.known); !r.known.IsZero() && after > 0 && after < time.Minute {
								t.Errorf("one that left %v after the first 429 was refused", after)
							}
						}
					})
				})
			}
		}
	}
	if refused == 0 {
		t.Error("nothing was refused: the road is too easy")
	}
	t.Logf("%d refused", refused)
}

// How much of the limit callers get who never rest, 20 ms away with 9 ms of jitter.
func TestThroughput(t *testing.T) {
	const short = 4500 * time.Microsecond // of jitter, each way
	for _, test := range []struct {
		name     string
		thinking time.Duration
		header   bool
		after    time.Duration // how long callers have been at it
		after429 bool
		atLeast  float64 // of the limit
	}{
		{"at once", 0, true, 0, false, 0.95},
		{"at once, after a 429", 0, true, 0, true, 0.95},
		{"at once, no header", 0, false, 0, false, 0.97},
		{"at once, no header, after a 429", 0, false, 0, true, 0.92},
		{"after 3 s, at first", 3 * time.Second, true, 0, false, 0.5},
		{"after 3 s, later", 3 * time.Second, true, 2 * time.Minute, false, 0.95},
		{"after 3 s, no header", 3 * time.Second, false, 0, false, 0.95},
	} {
		for _, n := range []int{5, 10, 50, 100} {
			t.Run(fmt.Sprintf("%s, N=%d", test.name, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := &road{limit: n, header: test.header, way: between(10*ms, 10*ms+short), thinking: between(test.thinking, test.thinking)}
					w := NewWindow(n, time.Second, 10*ms)
					r.drive(t, w, 0, 4*n, test.after)
					if test.after429 {
						p := acquire(t, w)
						p.Sent()
						p.Done(Result{FirstByte: time.Now(), RateLimited: true})
						w.Pause(time.Now().Add(time.Second))
					}
					before := r.left
					r.drive(t, w, 1, 4*n, time.Minute)
					used := float64(r.left-before) / float64(60*n)
					t.Logf("%.3f of the limit", used)
					if used < test.atLeast {
						t.Errorf("%.3f of the limit, want at least %.2f", used, test.atLeast)
					}
					if len(r.refused) > 0 {
						t.Errorf("%d refused", len(r.refused))
					}
				})
			})
		}
	}
}
