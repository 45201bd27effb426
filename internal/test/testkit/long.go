// How much of a long test runs.

package testkit

import (
	"iter"
	"os"
	"testing"
)

const longVariable = "HOTELSTAYS_LONG"

// Long reports whether HOTELSTAYS_LONG asks for the whole of each long test.
func Long() bool { return os.Getenv(longVariable) != "" }

// HowMany returns how many of something a test takes: with HOTELSTAYS_LONG, by default, or with -short.
func HowMany(t testing.TB, what string, all, typical, short int) int {
	t.Helper()
	n := typical
	switch {
	case Long():
		return all
	case testing.Short():
		n = short
	}
	if n < all {
		t.Logf("%d %s; %s=1 takes %d", n, what, longVariable, all)
	}
	return n
}

// Portion picks every n-th case.
type Portion struct{ every, seen int }

// PortionOf returns the portion to test: one case in typical, or in short with -short. With prime numbers, nested loops
// take different cases each time.
func PortionOf(t testing.TB, typical, short int) *Portion {
	t.Helper()
	p := &Portion{every: typical}
	switch {
	case Long():
		p.every = 1
	case testing.Short():
		p.every = short
	}
	if p.every > 1 {
		t.Logf("one case in %d; %s=1 takes all", p.every, longVariable)
	}
	return p
}

// Next reports whether to take the next case.
func (p *Portion) Next() bool {
	p.seen++
	return p.seen%p.every == 0
}

// SomeOf ranges over the cases of a list that p takes.
func SomeOf[V any](p *Portion, list []V) iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, v := range list {
			if p.Next() && !yield(v) {
				return
			}
		}
	}
}
