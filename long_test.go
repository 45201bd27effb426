// How much the longest tests do. They go through thousands of bookings, and through
// every byte of every answer, with HOTELSTAYS_LONG=1, which the gate sets. Without it
// they do a part of that, and with -short a smaller one, and log which.

package hotelstays_test

import (
	"os"
	"testing"
)

const longVariable = "HOTELSTAYS_LONG"

// howMany returns how many of something a test takes: in all, typically, or with -short.
func howMany(t *testing.T, what string, all, typical, short int) int {
	t.Helper()
	n := typical
	switch {
	case os.Getenv(longVariable) != "":
		return all
	case testing.Short():
		n = short
	}
	if n < all {
		t.Logf("%d %s; %s=1 takes %d", n, what, longVariable, all)
	}
	return n
}

// portion picks one of so many cases, evenly.
type portion struct{ every, seen int }

// portionOf returns the portion to take: one case in so many typically, or with -short.
// Numbers that are prime make loops in loops take other cases each time.
func portionOf(t *testing.T, typical, short int) *portion {
	t.Helper()
	p := &portion{every: typical}
	switch {
	case os.Getenv(longVariable) != "":
		p.every = 1
	case testing.Short():
		p.every = short
	}
	if p.every > 1 {
		t.Logf("one case in %d; %s=1 takes all", p.every, longVariable)
	}
	return p
}

func (p *portion) next() bool {
	p.seen++
	return p.seen%p.every == 0
}
