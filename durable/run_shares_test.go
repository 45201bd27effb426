package durable

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// One worker stays free for each other kind of row that has no worker. A kind without a worker may take the last free
// worker.
func TestSharesReserveAWorkerForEachKindOfRow(t *testing.T) {
	for _, tc := range []struct{ total, bookings, cancels, orders, free int }{
		{10, 0, 0, 0, 8},
		{10, 0, 1, 0, 8},
		{10, 1, 1, 1, 7},
		{10, 8, 0, 0, 0},
		{10, 9, 0, 0, 0},
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

func TestAccountGetsAnotherWorkerOnlyIfMoreWorkersAreFreeThanTheAccountHas(t *testing.T) {
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

// Two workers read the orders of the four users of account a. Account b waits, because no worker is left.
func TestOrdersOfManyUsersShareTheWorkersOfTheirAccount(t *testing.T) {
	r := &run[any]{last: map[Kind]string{}, workers: newShares(4, []Kind{KindOrder}, true)}
	var due []Row
	for _, id := range []ID{{"a", KindOrder, "1"}, {"a", KindOrder, "2"}, {"a", KindOrder, "3"}, {"a", KindOrder, "4"}, {"b", KindOrder, "5"}} {
		state, err := json.Marshal(followed{CustomerReferenceNo: id.Reference, Fingerprint: id.Account, UserRef: "user-" + id.Reference})
		require.NoError(t, err)
		due = append(due, Row{ID: id, Life: Open, State: state})
	}
	jobs := r.jobsOf(KindOrder, due, time.Time{}, 2)
	assert.Equal(t, [][]Row{{due[0], due[2]}, {due[1], due[3]}}, jobs)
}
