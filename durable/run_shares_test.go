package durable

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
