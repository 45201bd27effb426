// Package bookingsmodel searches every order of events around a booking for one that breaks a promise.
//
// A [World] has one service, two workers and one stored booking. Its workers do what the journal of
// contrib/sql does, step by step, and decide by the transitions of package durable and by
// Client.BookAndRecover and Client.StepRecovery themselves. Between two steps the other worker
// acts, time passes, an order is made or shows, a webhook comes, or something fails. World.Search visits
// each state once, breadth first, so that the path to a violated promise is the shortest.
//
// With World.Cancels it does the same around a cancellation.
//
// docs/decisions/every-order.md says what it found, and what its bounds leave out.
//
// This package is outside the compatibility promise: a minor version may change it.
package bookingsmodel

import (
	"fmt"
	"slices"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// The invariants, by the words of Result.Violated.
const (
	TwoOrders   = "two orders for one booking"
	FalseAbsent = "an absence is reported while an order exists or may still come"
	Twice       = "an outcome is delivered twice"
	NeverEnds   = "a booking does not end, although nothing fails any more"
)

// World is what may happen to a booking.
type World struct {
	// Faults is how often something may fail, in all: a crash, an answer of Book that is lost, a poll
	// that fails, a write that fails, a write that is applied although it reports a failure, or a
	// worker that stands still while time passes, until it goes on at any time.
	Faults int
	// Wakes is how many webhooks come, at any time and for any reason.
	Wakes int
	// Rounds is how often a booking begins under the reference.
	Rounds int
	// Skew is how far the clock of the second worker may be ahead of the first's, or behind it.
	Skew time.Duration
	// BookTimeout is that of the workers.
	BookTimeout time.Duration
	// InProcess lets a worker poll by itself after its Book, until BookTimeout.
	InProcess bool
	// ShowsWithin is how long after the end of Book an order is shown at the latest.
	ShowsWithin time.Duration
	// Idempotent: a second Book under the reference returns the first order. If it is false, no
	// service protects the booking, and each Book that arrives makes an order.
	Idempotent bool
	// Acts is how often a person abandons a booking, or retries it.
	Acts int
	// Cancels: the world is one around a cancellation, without Rounds, InProcess, Idempotent and Acts. Its
	// order shows within ShowsWithin after the beginning, and a Cancel is carried out within it after its end.
	Cancels bool
	// Breaks is what the workers do wrong.
	Breaks Breaks
	// Only is the one invariant to look at. Empty is all.
	Only string
}

// Breaks are faults of a store or of a worker.
type Breaks struct {
	NoFence      bool // writes do not look whether the row has changed
	SendFirst    bool // Book leaves before it is saved that it does
	SendLate     bool // Book leaves after its time limit
	DeliverApart bool // OnOutcome runs in another transaction
	DeliverAgain bool // OnOutcome runs for a booking that has ended already
	LeaseStays   bool // a lease has no end
	NobodySends  bool // Run leaves the bookings alone that wait for Send
}

const (
	second = time.Second
	lease  = 60   // seconds, as in contrib/sql
	never  = 7200 // seconds: longer than any pause between two polls
)

// epoch is the time 0 of a state.
var epoch = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func timeOf(clock int16) time.Time { return epoch.Add(time.Duration(clock) * second) }
func clockOf(t time.Time) int16    { return int16(t.Sub(epoch) / second) }

// Step is a step of a path.
type Step struct {
	Worker int // 0 or 1, or -1 for what no worker does
	Do     string
	At     time.Duration // since the booking began
	Now    Now           // after the step; only in Paths
	swaps  bool
}

// String is a line of a path.
func (s Step) String() string {
	who := "        "
	if s.Worker >= 0 {
		who = fmt.Sprintf("worker %d", s.Worker+1)
	}
	return fmt.Sprintf("%8s  %s  %s", s.At, who, s.Do)
}

// Result is what a search has found.
type Result struct {
	States, Depth int
	// Violated is the invariant that does not hold, or empty. Path leads there.
	Violated string
	Path     []Step
}

// Search searches all states of a world, but at most limit. Call it in a bubble of testing/synctest:
// the recovery's times must not pass in it.
func (w World) Search(limit int) Result {
	m := w.model()
	g, why, at := m.explore(limit, m.next)
	last := int32(len(g.states) - 1)
	r := Result{States: len(g.states), Depth: len(g.to(last)) - 1, Violated: why}
	if why != "" {
		r.Path = g.steps(g.to(at), func(state, Step) {})
		tell(r.Path)
	}
	return r
}

// tell sets the times and the workers of a path. The search takes workers with one clock for alike.
func tell(path []Step) {
	var now time.Duration
	swapped := false
	for i := range path {
		s := &path[i]
		s.At, now = now, now+s.At
		if s.Worker >= 0 && swapped {
			s.Worker = 1 - s.Worker
		}
		swapped = swapped != s.swaps
	}
}

// model computes what follows a state of a world.
type model struct {
	World
	table[durable.Booking]
	results []result
	cancels table[durable.Cancellation]
	service *service
}

func (w World) model() *model {
	return &model{World: w, table: newTable(func(b durable.Booking) time.Time { return b.Due }),
		cancels: newTable(func(c durable.Cancellation) time.Time { return c.Due }), service: newService()}
}

// first returns the states in which a world begins.
func (m *model) first() (first []state) {
	s := state{faults: uint8(m.Faults), wakes: uint8(m.Wakes), acts: uint8(m.Acts)}
	if m.Cancels {
		s.row, s.live, s.shownBy = m.cancels.number(beginCancel()), true, m.within()
	} else {
		s.row, s.round = m.number(m.begun(epoch)), 1
	}
	skew := int16(m.Skew / second)
	for _, s.skew = range []int16{0, skew, -skew}[:min(3, 1+2*int(skew))] {
		first = append(first, s)
	}
	return first
}

// begun returns a booking that begins at a time.
func (m *model) begun(at time.Time) durable.Booking {
	recovery := m.service.client.NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: reference})
	return durable.New(*recovery, at.Add(m.BookTimeout))
}

// clock returns the time of a worker's clock.
func (s *state) clock(w int) int16 { return int16(w) * s.skew }

func (s *state) orders() (n int) {
	for _, b := range s.books {
		if b.is >= made {
			n++
		}
	}
	return n
}

// shows reports whether a poll finds an order.
func (s *state) shows() bool { return s.books[0].is == shown || s.books[1].is == shown }

// mayCome reports whether there is an order, or one may come.
func (s *state) mayCome() bool { return s.books[0].is != noBook || s.books[1].is != noBook }

// invariant is what must never be in a state.
type invariant struct {
	name     string
	violated bool
}

func (m *model) wrong(s state) string {
	invariants := [...]invariant{
		{TwoOrders, s.orders() > 1},
		{FalseAbsent, (s.told == absent || s.told == failed) && s.mayCome()},
		{Twice, s.delivered > 1},
	}
	if m.Cancels {
		invariants = m.wrongCancel(s)
	}
	for _, invariant := range invariants {
		if invariant.violated && (m.Only == "" || m.Only == invariant.name) {
			return invariant.name
		}
	}
	return ""
}

func (m *model) done(s state) bool {
	if m.Only != "" && m.Only != NeverEnds {
		return true
	}
	if m.Cancels {
		return s.idle() && !s.live
	}
	ended := m.rows[s.row].Ending
	return s.idle() && ended != "" && (s.delivered == 1 || ended == durable.EndingAbandoned)
}

func (s *state) idle() bool { return s.workers[0].does == nothing && s.workers[1].does == nothing }

// put stores the row of the next state.
func (s *state) put(row int32) {
	s.row = row
	s.workers[0].fresh, s.workers[1].fresh = false, false
}

// put stores a booking. A worker that can do nothing any more but see that it has changed is idle.
func (v *visit) put(s *state, row int32) {
	s.put(row)
	for i := range s.workers {
		me := &s.workers[i]
		if me.does == stores && ending(me.final) != found && !v.Breaks.NoFence {
			*me = worker{}
		}
	}
}

// visit is the visit of a state: it yields what may follow.
type visit struct {
	*model
	from   state
	passes time.Duration // in the next step
	yield  func(Step, state)
}

func (m *model) next(s state, yield func(Step, state)) {
	v := &visit{model: m, from: s, yield: yield}
	if m.Cancels {
		v.cancellation()
		return
	}
	for w := range s.workers {
		v.work(w)
	}
	for i := range s.books {
		v.serve(i)
	}
	if m.rows[s.row].Ending.HasOrder() {
		return // time and webhooks change nothing any more
	}
	v.world()
	v.time()
}

// to yields the state that follows by a step.
func (v *visit) to(worker int, do string, change func(s *state)) {
	s := v.from
	if worker >= 0 {
		s.workers[worker].still = false
	}
	change(&s)
	swap := !v.Cancels && s.skew == 0 && s.workers[1].before(s.workers[0])
	if swap { // workers with one clock are alike
		s.workers[0], s.workers[1] = s.workers[1], s.workers[0]
	}
	v.yield(Step{Worker: worker, Do: do, At: v.passes, swaps: swap}, s)
}

// fault is to for what costs a fault.
func (v *visit) fault(worker int, do string, change func(s *state)) {
	if v.from.faults > 0 {
		v.to(worker, do, func(s *state) {
			s.faults--
			change(s)
		})
	}
}

// serve is what the service does with a Book.
func (v *visit) serve(i int) {
	ended := v.rows[v.from.row].Ending.HasOrder()
	what := [...]string{"the first Book", "the second Book"}[i]
	switch b := v.from.books[i]; {
	case ended && !v.from.awaited(i):
	case b.is == flying && v.Idempotent && v.from.orders() > 0:
		v.to(-1, what+" arrives, and makes no second order", func(s *state) { s.release(i) })
	case b.is == flying:
		v.to(-1, what+" makes an order", func(s *state) { s.books[i].is = made })
		if !v.from.awaited(i) {
			v.to(-1, what+" never arrives", func(s *state) { s.books[i] = book{} })
		}
	case b.is == made && !ended:
		v.to(-1, "the order of "+what+" shows", func(s *state) { s.books[i].is = shown })
	}
}

// awaited reports whether a worker awaits the answer of a Book.
func (s *state) awaited(i int) bool {
	return slices.ContainsFunc(s.workers[:], func(w worker) bool { return w.does == awaits && int(w.mine) == i })
}

// release forgets a Book: who awaits it awaits the order of the other one.
func (s *state) release(i int) {
	for j, w := range s.workers {
		if w.does == awaits && int(w.mine) == i {
			s.workers[j].mine = int8(1 - i)
		}
	}
	s.books[i] = book{}
}

// world is what webhooks and persons do.
func (v *visit) world() {
	s, b := v.from, v.rows[v.from.row]
	for w := range s.workers {
		if w > 0 && s.skew == 0 {
			break // as the first
		}
		if s.wakes > 0 {
			if woken := v.once(key{"wake", s.row, s.clock(w), 0}, func(b durable.Booking) value {
				next, ok := b.Wake(timeOf(s.clock(w)))
				return value{v.number(next), 0, ok}
			}); woken.ok {
				v.to(w, "a webhook wakes the booking", func(s *state) {
					s.wakes--
					v.put(s, woken.row)
				})
			}
		}
	}
	if s.acts > 0 {
		act := func(does string, next durable.Booking, err error) {
			if err == nil {
				v.to(-1, "a person "+does+" the booking", func(s *state) {
					s.acts--
					v.put(s, v.number(next))
				})
			}
		}
		next, err := b.Abandon(timeOf(0))
		act("abandons", next, err)
		next, err = b.Retry(timeOf(0))
		act("retries", next, err)
	}
	if b.Ending != "" && !b.Ending.HasOrder() && int(s.round) < v.Rounds {
		next := v.begun(timeOf(0))
		next.Earlier = b.LastBook()
		v.to(-1, "the booking begins again", func(s *state) {
			v.put(s, v.number(next))
			s.round++
			s.called, s.delivered, s.told = false, 0, 0
		})
	}
}
