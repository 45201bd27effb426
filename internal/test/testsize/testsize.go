// Package testsize decides how much of a long test runs: all of it with HOTELSTAYS_LONG=1, less by default, and
// least with -short.
package testsize

import (
	"iter"
	"os"
	"testing"
)

const variable = "HOTELSTAYS_LONG"

// Full reports whether HOTELSTAYS_LONG is set, so that long tests run all their cases.
func Full() bool { return os.Getenv(variable) != "" }

// Of returns full with HOTELSTAYS_LONG, short with -short, and otherwise typical. It logs what the full test would use.
func Of[T any](t testing.TB, what string, full, typical, short T) T {
	t.Helper()
	v := typical
	switch {
	case Full():
		return full
	case testing.Short():
		v = short
	}
	t.Logf("%s: %v; %s=1 tests %v", what, v, variable, full)
	return v
}

// Portion selects every n-th case.
type Portion struct{ every, count int }

// PortionOf returns the portion of the cases to test. With HOTELSTAYS_LONG the portion is all cases. Otherwise it is every
// n-th case, where n is the parameter short with -short, and the parameter typical without -short. Choose prime numbers:
// then an inner loop does not select the same cases in each run of the outer loop.
func PortionOf(t testing.TB, typical, short int) *Portion {
	t.Helper()
	return &Portion{every: Of(t, "one case in", 1, typical, short)}
}

func (p *Portion) Next() bool {
	p.count++
	return p.count%p.every == 0
}

// SomeOf returns the cases of list that p selects.
func SomeOf[V any](p *Portion, list []V) iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, v := range list {
			if p.Next() && !yield(v) {
				return
			}
		}
	}
}
