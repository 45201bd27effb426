// Package measure measures the cost of a call in this process.
package measure

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Sample is the cost of the calls of one Take. Except for Batch, Peak and Calls, each field is the mean of one call.
type Sample struct {
	CPU    float64 // seconds of CPU time, in user and system mode, including the garbage collector
	Wall   float64 // seconds that a caller waits for its answer
	Batch  float64 // seconds that all calls took together, divided by the number of calls of one caller
	Byte   float64 // seconds until the first byte of the answer, as in Arrival
	First  float64 // seconds until the first hotel, as in Arrival
	Allocs float64
	Bytes  float64 // allocated bytes
	Peak   float64 // maximum size of the heap, in bytes, while all callers run together
	Calls  int
}

// Arrival is the result of a call that yields hotels while it reads: the time until the first byte of the answer,
// and until the first hotel.
type Arrival struct{ Byte, Hotel time.Duration }

// Load says how often Take makes a call. All callers call at the same time. Each caller makes at least one call, and makes
// further calls until AtLeast has passed. If Warm is set, each caller first makes one call that is not measured, to open
// connections and fill pools. If Before is set, each caller calls Before before each of its calls. The field Sample.Wall
// does not include the time of Before.
type Load struct {
	Callers int
	AtLeast time.Duration
	Warm    bool
	Before  func()
}

// Take makes the calls of load and returns their mean cost. It runs the garbage collector before and after.
func Take(ctx context.Context, call func(context.Context) (any, error), load Load) (Sample, error) {
	liveHeap()
	if load.Warm {
		if made := load.run(ctx, call, 0); made.err != nil {
			return Sample{}, made.err
		}
	}
	peak := watchHeap()
	before := read()
	start := time.Now()
	made := load.run(ctx, call, load.AtLeast)
	took := time.Since(start)
	after := read()
	most := peak()
	if made.err != nil {
		return Sample{}, made.err
	}
	base := liveHeap()

	n := float64(made.calls)
	return Sample{
		CPU:    (after.cpu - before.cpu).Seconds() / n,
		Wall:   made.waited.Seconds() / n,
		Batch:  took.Seconds() * float64(load.Callers) / n,
		Byte:   made.arrived.Byte.Seconds() / n,
		First:  made.arrived.Hotel.Seconds() / n,
		Allocs: float64(after.allocs-before.allocs) / n,
		Bytes:  float64(after.bytes-before.bytes) / n,
		Peak:   max(0, float64(most)-float64(base)),
		Calls:  made.calls,
	}, nil
}

type run struct {
	calls   int
	waited  time.Duration
	arrived Arrival
	err     error
}

func (l Load) run(ctx context.Context, call func(context.Context) (any, error), atLeast time.Duration) run {
	each := make([]run, l.Callers)
	start := time.Now()
	var working sync.WaitGroup
	for i := range each {
		working.Go(func() {
			r := &each[i]
			for {
				if l.Before != nil {
					l.Before()
				}
				begun := time.Now()
				result, err := call(ctx)
				r.waited += time.Since(begun)
				r.calls++
				if at, ok := result.(Arrival); ok {
					r.arrived.add(at)
				}
				if r.err = err; err != nil || time.Since(start) >= atLeast {
					return
				}
			}
		})
	}
	working.Wait()
	var all run
	for _, r := range each {
		all.calls += r.calls
		all.waited += r.waited
		all.arrived.add(r.arrived)
		all.err = errors.Join(all.err, r.err)
	}
	return all
}

func (a *Arrival) add(b Arrival) { a.Byte, a.Hotel = a.Byte+b.Byte, a.Hotel+b.Hotel }

// counters are the CPU time and the allocations of this process since its start.
type counters struct {
	cpu           time.Duration
	allocs, bytes uint64
}

func read() counters {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // Getrusage fails only for a wrong argument
	}
	return counters{time.Duration(r.Utime.Nano() + r.Stime.Nano()), m.Mallocs, m.TotalAlloc}
}

// liveHeap returns the heap in use after two garbage collections. The second collection empties the sync.Pools.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// watchHeap samples the heap every 500 µs. The function most stops the sampling and returns the maximum.
func watchHeap() (most func() uint64) {
	quit, result := make(chan struct{}), make(chan uint64)
	go func() {
		heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		look := func(most uint64) uint64 {
			metrics.Read(heap)
			return max(most, heap[0].Value.Uint64())
		}
		most := look(0)
		tick := time.NewTicker(500 * time.Microsecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = look(most)
			case <-quit:
				result <- look(most)
				return
			}
		}
	}()
	return func() uint64 { close(quit); return <-result }
}

// Spread is the median and the range of a figure over several rounds.
type Spread struct{ Median, Least, Most float64 }

// SpreadOf returns the spread of values, which must have at least one element.
func SpreadOf(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Least: sorted[0], Most: sorted[n-1]}
}
