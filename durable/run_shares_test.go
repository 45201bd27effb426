package durable

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Each kind without a worker can still get one. But every kind may have two workers before a worker is reserved for
// other kinds.
func TestWorkersAreSharedByKind(t *testing.T) {
	for _, tc := range []struct{ total, bookings, cancels, orders, free int }{
		{10, 0, 0, 0, 8},
		{10, 0, 1, 0, 8},
		{10, 1, 1, 1, 7},
		{10, 8, 0, 0, 0},
		{10, 0, 4, 4, 2},
		{10, 0, 6, 4, 0},
		{10, 0, 9, 0, 1},
		{3, 0, 0, 0, 2},
		{2, 0, 0, 0, 2},
		{1, 0, 0, 0, 1},
		{1, 1, 0, 0, 0},
	} {
		s := newShares(tc.total, []Kind{KindBooking, KindCancel, KindOrder}, false)
		for kind, running := range map[Kind]int{KindBooking: tc.bookings, KindCancel: tc.cancels, KindOrder: tc.orders} {
			for range running + 1 {
				s.take(kind, "")
			}
			s.give(kind, "")
		}
		assert.Equal(t, tc.free, s.free(KindBooking), "%+v", tc)
	}
}

// An account may get a further worker only while it has fewer workers than are free.
func TestWorkersAreSharedByAccount(t *testing.T) {
	s := newShares(5, []Kind{KindBooking}, true)
	for _, account := range []string{"a", "a", "a", "b", "c", "a"} {
		s.takeShare(KindBooking, account)
	}
	assert.Equal(t, map[string]int{"a": 3, "b": 1, "c": 1}, s.accounts)
	s.give(KindBooking, "a")
	s.give(KindBooking, "a")
	assert.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1}, s.accounts)
	s.give(KindBooking, "a")
	assert.Equal(t, map[string]int{"b": 1, "c": 1}, s.accounts)
	assert.True(t, s.mayHave("a", 0, 2))
	assert.False(t, s.mayHave("a", 1, 2))
	assert.True(t, s.mayHave("b", 0, 1))
	assert.False(t, s.mayHave("b", 0, 2))
}
