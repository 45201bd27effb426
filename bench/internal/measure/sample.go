// Package measure finds out what a call costs this process, and compares the costs
// of several clients that were measured in turn.
package measure

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Sample is what calls cost this process in one stretch of measuring. Where it does
// not say otherwise, a figure is for one call.
type Sample struct {
	CPU    float64 // seconds, of user and system, the garbage collector's among them
	Wall   float64 // seconds that a caller waits
	Allocs float64
	Bytes  float64 // allocated
	Peak   float64 // bytes of heap at the worst moment, of all callers together
	Live   float64 // bytes of heap that one result keeps, after a collection
	Calls  int     // made, of all callers together
}

// Call makes one call and returns what it decoded.
type Call func(context.Context) (any, error)

// Take lets callers call at the same time, for at least a time, and at least once
// each.
func Take(ctx context.Context, call Call, callers int, atLeast time.Duration) (Sample, error) {
	results := make([]any, callers)
	failures := make([]error, callers)
	waits := make([]time.Duration, callers)
	calls := make([]int, callers)

	before := reading()
	stopSampling := samplePeak()
	start := time.Now()
	var working sync.WaitGroup
	for i := range callers {
		working.Go(func() {
			for {
				begun := time.Now()
				results[i], failures[i] = call(ctx)
				waits[i] += time.Since(begun)
				calls[i]++
				if failures[i] != nil || time.Since(start) >= atLeast {
					return
				}
			}
		})
	}
	working.Wait()
	peak := stopSampling()
	after := reading()
	live := liveHeap()
	runtime.KeepAlive(results)
	clear(results)
	base := liveHeap()

	for _, err := range failures {
		if err != nil {
			return Sample{}, fmt.Errorf("a call failed: %w", err)
		}
	}
	s := Sample{Peak: max(0, float64(peak)-float64(before.heap)), Live: (float64(live) - float64(base)) / float64(callers)}
	var waited time.Duration
	for i := range callers {
		s.Calls += calls[i]
		waited += waits[i]
	}
	n := float64(s.Calls)
	s.CPU = (after.cpu - before.cpu).Seconds() / n
	s.Wall = waited.Seconds() / n
	s.Allocs = float64(after.allocs-before.allocs) / n
	s.Bytes = float64(after.bytes-before.bytes) / n
	return s, nil
}

// counters are what this process has used so far.
type counters struct {
	cpu           time.Duration
	allocs, bytes uint64
	heap          uint64
}

func reading() counters {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return counters{cpu: processCPU(), allocs: m.Mallocs, bytes: m.TotalAlloc, heap: m.HeapAlloc}
}

func processCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // it knows no other error than a wrong argument
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// liveHeap is the heap that is still in use. What sync.Pools hold survives one
// collection, and goes with the second.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// samplePeak watches the heap until it is told to stop, and returns the most that
// it saw. It looks often enough for calls of a millisecond, and rarely enough to
// cost all clients the same little.
func samplePeak() (stop func() uint64) {
	quit, result := make(chan struct{}), make(chan uint64)
	go func() {
		heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		look := func(most uint64) uint64 {
			metrics.Read(heap)
			return max(most, heap[0].Value.Uint64())
		}
		most := look(0)
		tick := time.NewTicker(time.Millisecond)
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

// Spread is a figure of several rounds: its median, and how far the rounds lie apart.
type Spread struct{ Median, Least, Most float64 }

// Spreading returns the spread of values, of which there must be one.
func Spreading(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Least: sorted[0], Most: sorted[n-1]}
}
