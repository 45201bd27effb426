// Package pacing has two parts of a hotelstays.RateLimiter, for one process or a fleet: Queue decides who is next,
// and Transit estimates when a request has arrived. Use it to write your own limiter. Most programs need only
// hotelstays.NewRateLimiter or contrib/hotelstaysredis.
package pacing

import "container/list"

// Caller describes a call that waits for a slot.
type Caller struct {
	Account string
	Weight  int // how many slots the account gets in each of its turns; below 1 counts as 1
	// Priority chooses the lane, as in hotelstays.Priority: 1 is the most urgent lane, and -1 the least urgent.
	Priority int
}

// maxPassed is how many slots in a row may go to other lanes while a lane has callers. So each lane with callers gets
// at least a tenth of the slots.
const maxPassed = 9

// Queue holds waiting callers and decides who is next. It has three lanes, one for each priority. Urgent lanes go
// first, but each lane with callers gets at least a tenth of the slots. Within a lane the accounts take turns (deficit
// round robin). Within an account, the caller that came first is first. A Queue keeps nothing of an account without
// callers. Each caller has a value, such as a channel, which Pop returns.
//
// The zero Queue is empty. It is not safe for concurrent use.
type Queue[V any] struct {
	lanes [3]lane
}

type lane struct {
	accounts map[string]*account
	turns    list.List // a list of *account; the account in front gets the next slot of the lane
	callers  int
	passed   int // how many slots in a row went to other lanes while callers waited in this lane
}

type account struct {
	name    string
	callers list.List // a list of V
	left    int       // how many slots are left in the current turn
	weight  int
	turn    *list.Element // the element of this account in lane.turns
}

// Place is the position of a caller, for Remove.
type Place struct {
	lane    *lane
	account *account
	caller  *list.Element
}

// Len returns how many callers wait.
func (q *Queue[V]) Len() int { return q.lanes[0].callers + q.lanes[1].callers + q.lanes[2].callers }

// Waiting returns how many callers wait in each lane, the most urgent lane first.
func (q *Queue[V]) Waiting() (callers [3]int) {
	for i := range q.lanes {
		callers[i] = q.lanes[i].callers
	}
	return callers
}

// Push adds a caller with its value.
func (q *Queue[V]) Push(c Caller, v V) Place {
	l := &q.lanes[1-min(max(c.Priority, -1), 1)]
	a := l.accounts[c.Account]
	if a == nil {
		if l.accounts == nil {
			l.accounts = make(map[string]*account)
		}
		a = &account{name: c.Account}
		a.turn = l.turns.PushBack(a)
		l.accounts[c.Account] = a
	}
	a.weight = max(c.Weight, 1)
	l.callers++
	return Place{l, a, a.callers.PushBack(v)}
}

// Pop removes the next caller and returns its value. It panics if the queue is empty.
func (q *Queue[V]) Pop() V {
	l := q.next()
	a := l.turns.Front().Value.(*account)
	if a.left == 0 {
		a.left = a.weight
	}
	if a.left--; a.left == 0 {
		l.turns.MoveToBack(a.turn)
	}
	first := a.callers.Front()
	v := first.Value.(V)
	q.Remove(Place{l, a, first})
	return v
}

// next returns the most urgent lane with callers, or a less urgent lane that was passed over maxPassed times.
func (q *Queue[V]) next() *lane {
	var first *lane
	for i := range q.lanes {
		if l := &q.lanes[i]; l.turns.Len() > 0 && (first == nil || l.passed >= maxPassed) {
			first = l
		}
	}
	for i := range q.lanes {
		if l := &q.lanes[i]; l == first || l.turns.Len() == 0 {
			l.passed = 0
		} else {
			l.passed++
		}
	}
	return first
}

// Remove removes a caller whose ctx has ended, and reports whether the caller was waiting. If the caller was not waiting,
// Pop has already returned the caller's value, and you must release the slot that the caller got.
func (q *Queue[V]) Remove(p Place) (waited bool) {
	if p.caller == nil {
		return false
	}
	waiting := p.account.callers.Len()
	p.account.callers.Remove(p.caller) // does nothing if Pop or Remove has already removed the caller
	if p.account.callers.Len() == waiting {
		return false
	}
	p.lane.callers--
	if p.account.callers.Len() == 0 {
		p.lane.turns.Remove(p.account.turn)
		delete(p.lane.accounts, p.account.name)
	}
	return true
}
