// A state has the orders at the service, the rows, the calls of the workers, and the time. Time jumps to the next
// moment at which something can change.

package bookingsmodel

import (
	"cmp"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/durable"
)

// state is a state of the world. All its times are seconds from now, including the times of its rows.
type state struct {
	skew    int16 // time by which the clock of the second worker is ahead
	rows    [kinds]int32
	workers [2]worker
	round   uint8
	called  bool // Send was called in this round
	faults  uint8
	wakes   uint8
	acts    uint8
	cancels uint8

	books          [2]book
	foreign        revision
	cancelProgress progress
	cancelSlot     int8
	cancelBy       int16
	cancelsSent    uint8 // how many Cancels were sent for this cancellation

	delivered        uint8 // how many outcomes OnOutcome has received in this round
	ending           durable.Ending
	cancelDeliveries uint8    // how often OnCancel has received this cancellation
	cancelDone       bool     // the cancellation ended as cancelled
	foundSlot        int8     // index of the order with which the booking ended as found
	seen             revision // the revision of the order that the caller has received last
	unfollowed       bool
	broken           string // the invariant that a step has violated, or empty
}

// book is a Book and the order that it may make.
type book struct {
	progress progress
	by       int16 // latest time at which the order becomes visible, or changes next
	revision revision
	round    uint8
}

// progress is how far a Book or Cancel has come.
type progress uint8

const (
	noRequest progress = iota
	inFlight           // the request may still arrive
	exists             // the order is made, or Cancel is accepted, but QueryOrders does not show it yet
	visible            // QueryOrders shows the order, or that it is cancelled
)

// worker is a worker and the call of the engine that it makes. If history is 0, the worker makes no call.
type worker struct {
	history  int32
	age      int16 // seconds since the call began
	activity activity
	standing bool  // the worker stands still while time passes
	slot     int8  // index of the order that the worker's Book makes, or foreign
	recovery int32 // row number of the recovery with which the worker's Book polls
}

type activity uint8

const (
	asking      activity = iota // the call asks for its next operation
	awaiting                    // the call waits for the answer to Book or Cancel
	recovering                  // the call polls in its own process, after Book
	uncommitted                 // the call has run a transaction, and has not committed it
)

// compare sorts workers, because the search treats two workers with the same clock as interchangeable.
func (a worker) compare(b worker) int {
	return cmp.Or(cmp.Compare(b.history, a.history), cmp.Compare(a.age, b.age), cmp.Compare(a.activity, b.activity),
		count(a.standing)-count(b.standing), cmp.Compare(a.slot, b.slot), cmp.Compare(a.recovery, b.recovery))
}

func (s *state) idle() bool { return s.workers[0].history == 0 && s.workers[1].history == 0 }

// clock returns how many seconds the clock of worker w is ahead of the first worker's clock.
func (s *state) clock(w int) int16 { return int16(w) * s.skew }

// orders counts the orders that Book has made.
func (s *state) orders() (n int) {
	for _, b := range s.books {
		if b.progress >= exists {
			n++
		}
	}
	return n
}

func (s *state) view() (v view) {
	for i, b := range s.books {
		if b.progress == visible {
			v[i] = b.revision
		}
	}
	v[foreign] = s.foreign
	return v
}

// mayCome reports whether Book has made an order, or may still make one.
func (s *state) mayCome() bool {
	return s.books[0].progress != noRequest || s.books[1].progress != noRequest
}

// awaited reports whether a worker still waits for the answer to Book number i.
func (s *state) awaited(i int) bool {
	return slices.ContainsFunc(s.workers[:], func(w worker) bool { return w.activity == awaiting && int(w.slot) == i })
}

type marks struct {
	next  int16 // the next time at which something can happen
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

// passTime yields the step in which time passes until something can happen. It yields no such step if a worker has
// something to do now, or if an order or a Cancel would miss its latest time. For each worker that has something to do,
// it also yields the fault that the worker stands still.
func (v *visit) passTime() {
	s, m, waits := v.from, marks{1<<15 - 1, never}, false
	for w := range s.workers {
		if v.mark(&m, w) && !s.workers[w].standing && (w == 0 || !v.Alone) {
			waits = true
			v.fault(w, "", "stands still", func(s *state) { s.workers[w].standing = true })
		}
	}
	for _, b := range s.books {
		if b.progress == inFlight || b.progress == exists || b.progress == visible && v.changes(b) {
			m.until(b.by - 1)
		}
		m.at(b.by)
	}
	if s.cancelProgress == inFlight || s.cancelProgress == exists {
		m.until(s.cancelBy - 1)
	}
	if waits || m.next > m.limit {
		return
	}
	v.passes = time.Duration(m.next) * second
	for _, me := range s.workers {
		v.ends = v.ends || me.activity == awaiting && v.limit(me) == m.next
	}
	v.to(-1, "", "time passes by "+v.passes.String(), func(s *state) { v.moveTimes(s, m.next) })
	v.passes, v.ends = 0, false
}

// mark adds to m the times at which worker w may act, and reports whether the worker has something to do now.
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
	case me.activity == awaiting:
		m.until(v.limit(me))
	case me.activity == recovering:
		m.until(v.limit(me))
		m.at(clockOf(v.facts[me.recovery].booking.Recovery.NextPoll))
	default:
		return true
	}
	return false
}

// limit returns the seconds until the ctx of a worker's next operation ends.
func (v *visit) limit(me worker) int16 {
	return int16(min(v.replay(me.history).limit-int32(me.age), never))
}

// moveTimes lets time pass: it subtracts seconds from all times of a state, and adds them to the ages of the calls.
func (v *visit) moveTimes(s *state, by int16) {
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
	s.cancelBy = max(s.cancelBy-by, 0)
}
