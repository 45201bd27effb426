// A state: the orders at the service, the rows, the calls of the workers, and the time, which jumps to the next moment
// that may change something.

package bookingsmodel

import (
	"cmp"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/durable"
)

// state is a state of the world. Its times, also those of its rows, are seconds from now.
type state struct {
	skew    int16 // how far the clock of the second worker is ahead
	rows    [kinds]int32
	workers [2]worker
	round   uint8
	called  bool // Send was called in this round
	faults  uint8
	wakes   uint8
	acts    uint8
	cancels uint8

	books   [2]book
	foreign look
	sent    is // the state of a Cancel
	target  int8
	sentBy  int16
	left    uint8 // the number of Cancels that were sent for this cancellation

	delivered  uint8 // the number of outcomes delivered in this round
	told       durable.Ending
	ended      uint8 // how often OnCancel has received this cancellation
	done       bool  // the cancellation ended as cancelled
	slot       int8  // the slot of the order that was found
	seen       look  // the look that the caller has received last
	unfollowed bool
	wrong      broken
}

// broken is a promise that a step has broken.
type broken uint8

const (
	wrongCancel broken = iota + 1
	falseRefusal
	wrongChange
)

func (b broken) String() string {
	return [...]string{"", WrongCancel, FalseEnding, WrongChange}[b]
}

// book is a Book that may make an order, or has made it.
type book struct {
	is    is
	by    int16 // the time by which the order becomes visible, or changes next
	look  look
	round uint8
}

type is uint8

const (
	nothing is = iota
	flying     // the request may still arrive
	exists     // the order exists, or is cancelled
	shown      // QueryOrders returns it
)

// worker is a call of the engine.
type worker struct {
	history  int32
	age      int16 // the age of the call
	does     does
	still    bool  // it stands still while time passes
	mine     int8  // the order of its Book
	recovery int32 // the recovery with which its Book polls
}

type does uint8

const (
	asks     does = iota
	awaits        // waits for the answer to Book or Cancel
	recovers      // polls by itself, after Book
	holds         // has not committed a transaction that it has run
)

// compare orders workers.
func (a worker) compare(b worker) int {
	n := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(b.history, a.history), cmp.Compare(a.age, b.age), cmp.Compare(a.does, b.does), n(a.still)-n(b.still),
		cmp.Compare(a.mine, b.mine), cmp.Compare(a.recovery, b.recovery))
}

func (s *state) idle() bool { return s.workers[0].history == 0 && s.workers[1].history == 0 }

// clock returns the time of a worker's clock.
func (s *state) clock(w int) int16 { return int16(w) * s.skew }

// orders counts the orders of Book.
func (s *state) orders() (n int) {
	for _, b := range s.books {
		if b.is >= exists {
			n++
		}
	}
	return n
}

// view returns what QueryOrders returns.
func (s *state) view() (v view) {
	for i, b := range s.books {
		if b.is == shown {
			v[i] = b.look
		}
	}
	v[foreign] = s.foreign
	return v
}

// mayCome reports whether an order of Book exists, or may still be made.
func (s *state) mayCome() bool { return s.books[0].is != nothing || s.books[1].is != nothing }

// awaited reports whether a worker waits for the answer to a Book.
func (s *state) awaited(i int) bool {
	return slices.ContainsFunc(s.workers[:], func(w worker) bool { return w.does == awaits && int(w.mine) == i })
}

// marks holds the next time at which something can happen, and the time that may not pass before something does.
type marks struct {
	next  int16
	limit int16 // time may not pass this mark before something happens
}

func (m *marks) at(t int16) {
	if t > 0 {
		m.next = min(m.next, t)
	}
}

func (m *marks) until(t int16) {
	m.at(t)
	m.limit = min(m.limit, t)
}

// time lets time pass to the next mark, unless something has to happen before.
func (v *visit) time() {
	s, m, waits := v.from, marks{1<<15 - 1, never}, false
	for w := range s.workers {
		if v.mark(&m, w) && !s.workers[w].still && (w == 0 || !v.Alone) {
			waits = true
			v.fault(w, "", "stands still", func(s *state) { s.workers[w].still = true })
		}
	}
	for _, b := range s.books {
		if b.is == flying || b.is == exists || b.is == shown && v.changes(b) {
			m.until(b.by - 1)
		}
		m.at(b.by)
	}
	if s.sent == flying || s.sent == exists {
		m.until(s.sentBy - 1)
	}
	if waits || m.next > m.limit {
		return
	}
	v.passes = time.Duration(m.next) * second
	for _, me := range s.workers {
		v.ends = v.ends || me.does == awaits && v.limit(me) == m.next
	}
	v.to(-1, "", "time passes by "+v.passes.String(), func(s *state) { v.pass(s, m.next) })
	v.passes, v.ends = 0, false
}

// mark adds the times that count for a worker, and reports whether it has something to do now.
func (v *visit) mark(m *marks, w int) (busy bool) {
	s, now := v.from, v.from.clock(w)
	me := s.workers[w]
	for k, n := range s.rows {
		if n == 0 || v.rows[n].life != durable.Open {
			continue
		}
		m.at(int16(v.rows[n].due) - now)
		busy = busy || me.history == 0 && v.rows[n].due <= int32(now)
		b, c := v.facts[n].booking, v.facts[n].cancel
		for _, mark := range []struct {
			of    time.Time
			later int16
			kind  int
		}{{b.BookBy, 0, booking}, {b.Recovery.EndedAt, 600, booking}, {b.Recovery.EndedAt, 605, booking}, {b.Earlier, 605, booking},
			{c.Begun, 900, cancel}, {c.SendBy, 0, cancel}, {c.SendBy, 605, cancel}} {
			if k == mark.kind && !mark.of.IsZero() {
				m.at(clockOf(mark.of) + mark.later - now)
			}
		}
	}
	switch {
	case me.history == 0:
		return busy
	case me.does == awaits:
		m.until(v.limit(me))
	case me.does == recovers:
		m.until(v.limit(me))
		m.at(clockOf(v.facts[me.recovery].booking.Recovery.NextPoll))
	default:
		return true
	}
	return false
}

// limit returns when the ctx of the operation that a worker asks for ends.
func (v *visit) limit(me worker) int16 {
	return int16(min(v.replay(me.history).limit-int32(me.age), never))
}

// pass lets time pass: it moves the times of a state back.
func (v *visit) pass(s *state, by int16) {
	for k := range s.rows {
		s.rows[k] = v.move(s.rows[k], -by)
	}
	for i := range s.workers {
		if me := &s.workers[i]; me.history != 0 {
			me.age += by
			me.recovery = v.move(me.recovery, -by)
		}
	}
	for i := range s.books {
		s.books[i].by = max(s.books[i].by-by, 0)
	}
	s.sentBy = max(s.sentBy-by, 0)
}
