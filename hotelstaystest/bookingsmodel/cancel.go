// The cancellation of an order, whose Book may still be under way.

package bookingsmodel

import (
	"context"
	"encoding/json"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// The invariants of a cancellation.
const (
	TwoCancels  = "Cancel leaves twice"
	FalseEnding = "a cancellation is reported otherwise than the order is, or may become"
)

// CancelRules are what the workers of SearchCancel decide by.
type CancelRules struct {
	Start    func(c durable.Cancellation, at, sendBy time.Time, order *types.Order, s hotelstays.OrderStates) (durable.Cancellation, error)
	Answered func(c durable.Cancellation, at time.Time, r *hotelstays.CancelResponse, err error, s hotelstays.OrderStates) durable.Cancellation
	Read     func(c durable.Cancellation, at time.Time, order *types.Order, s hotelstays.OrderStates) durable.Cancellation
}

// RealCancel returns the rules of this module.
func RealCancel() *CancelRules {
	return &CancelRules{durable.Cancellation.Start, durable.Cancellation.Answered, durable.Cancellation.Read}
}

// The order, by its status.
const (
	confirmed types.OrderStatus = 2
	cancelled types.OrderStatus = 9
)

var orderStates = hotelstays.OrderStates{Confirmed: []types.OrderStatus{confirmed}, Cancelled: []types.OrderStatus{cancelled}}

// cancelState is a state of the world. Its times are seconds from now, as in state.
type cancelState struct {
	skew      int16
	row       int32
	live      bool // OnCancel has not received how it ended
	delivered uint8
	order     types.OrderStatus // 0 while it does not show
	shownBy   int16
	left      uint8  // Cancels
	cancel    bookIs // flying: it may be carried out
	by        int16  // until then
	workers   [2]canceller
	faults    uint8
	wakes     uint8
}

// canceller is a worker.
type canceller struct {
	does  does
	fresh bool
	still bool
	next  int32
	lost  Answer // what became of its Cancel
	at    int16
}

// cancels computes what follows a state.
type cancels struct {
	World
	rules   *CancelRules
	rows    []durable.Cancellation
	numbers map[string]int32
	passed  map[[2]int32]int32
	answers map[Answer]cancelAnswer
}

type cancelAnswer struct {
	resp *hotelstays.CancelResponse
	err  error
}

func (m *cancels) number(c durable.Cancellation) int32 {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	id := string(text) + c.Due.String()
	n, known := m.numbers[id]
	if !known {
		n = int32(len(m.rows))
		m.numbers[id] = n
		m.rows = append(m.rows, c)
	}
	return n
}

// SearchCancel searches all states of a cancellation, as Search does. ShowsWithin is how long after the
// beginning the order shows, and after its end a Cancel is carried out, at the latest.
func (w World) SearchCancel(rules *CancelRules, limit int) Result {
	s := newService()
	m := &cancels{World: w, rules: rules, numbers: map[string]int32{}, passed: map[[2]int32]int32{}, answers: map[Answer]cancelAnswer{}}
	for _, answer := range []Answer{Made, Refused, Lost, Unsent} {
		resp, err := s.cancel(answer)
		m.answers[answer] = cancelAnswer{resp, err}
	}
	c, err := durable.NewCancellation(durable.CancelRequest{CustomerReferenceNo: reference, SessionID: "session"}, "account", epoch)
	if err != nil {
		panic(err)
	}
	skew := int16(w.Skew / second)
	var first []cancelState
	for _, skew := range []int16{0, skew, -skew}[:min(3, 1+2*int(skew))] {
		first = append(first, cancelState{skew: skew, row: m.number(c), live: true, shownBy: int16(w.ShowsWithin / second),
			faults: uint8(w.Faults), wakes: uint8(w.Wakes)})
	}
	g, why, at := explore(first, limit, m.next, m.wrong, func(s cancelState) bool {
		idle := s.workers[0].does == nothing && s.workers[1].does == nothing
		return !s.live && idle || m.Only != "" && m.Only != NeverEnds
	})
	r := Result{States: len(g.states), Depth: g.depth, Violated: why}
	if why != "" {
		r.Path = g.steps(g.to(at), func(cancelState, Step) {})
		tell(r.Path)
	}
	return r
}

// cancel is Cancel.
func (s *service) cancel(answer Answer) (*hotelstays.CancelResponse, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if s.answer, s.end = answer, cancel; answer == Unsent {
		cancel()
	}
	return s.client.Cancel(ctx, &hotelstays.CancelRequest{SessionID: "session", CustomerReferenceNo: reference, SupplierReferenceNo: "s-1"})
}

func (m *cancels) wrong(s cancelState) string {
	ending := m.rows[s.row].Ending
	is := s.order == cancelled
	for _, invariant := range [...]struct {
		name     string
		violated bool
	}{
		{TwoCancels, s.left > 1},
		{Twice, s.delivered > 1},
		{FalseEnding, s.delivered > 0 && (ending == durable.CancelDone && !is ||
			ending != durable.CancelDone && (is || s.cancel == flying))},
	} {
		if invariant.violated && (m.Only == "" || m.Only == invariant.name) {
			return invariant.name
		}
	}
	return ""
}

func (s *cancelState) put(row int32) {
	s.row = row
	s.workers[0].fresh, s.workers[1].fresh = false, false
}

func (m *cancels) next(s cancelState, yield func(Step, cancelState)) {
	to := func(w int, do string, change func(s *cancelState)) {
		next := s
		if w >= 0 {
			next.workers[w].still = false
		}
		change(&next)
		yield(Step{Worker: w, Do: do}, next)
	}
	fault := func(w int, do string, change func(s *cancelState)) {
		if s.faults > 0 {
			to(w, do, func(s *cancelState) { s.faults--; change(s) })
		}
	}
	if !s.live { // others may still have something to do
		for w := range s.workers {
			m.work(&s, w, to, fault)
		}
		return
	}
	if s.order == 0 {
		to(-1, "the order shows", func(s *cancelState) { s.order = confirmed })
	}
	if s.cancel == flying {
		to(-1, "the order is cancelled", func(s *cancelState) { s.order, s.cancel = cancelled, made })
		if s.workers[0].does != awaits && s.workers[1].does != awaits {
			to(-1, "Cancel never arrives", func(s *cancelState) { s.cancel = noBook })
		}
	}
	if woken, ok := m.rows[s.row].Wake(epoch); ok && s.wakes > 0 {
		to(-1, "a webhook wakes the cancellation", func(s *cancelState) { s.wakes--; s.put(m.number(woken)) })
	}
	for w, me := range s.workers {
		m.work(&s, w, to, fault)
		if me.does != nothing {
			fault(w, "dies", func(s *cancelState) { m.leave(s, w) })
		}
	}
	m.time(&s, to, fault, yield)
}

// leave ends what a worker does.
func (m *cancels) leave(s *cancelState, w int) {
	if s.workers[w].does == awaits {
		s.by = min(s.by, int16(m.ShowsWithin/second))
	}
	s.workers[w] = canceller{}
}

type stepper = func(w int, do string, change func(s *cancelState))

// work is what a worker may do next, as Journal.stepCancel.
func (m *cancels) work(s *cancelState, w int, to, fault stepper) {
	me, now := s.workers[w], int16(w)*s.skew
	row := m.rows[s.row]
	leave := func(s *cancelState) { m.leave(s, w) }
	write := func(do string, applied, then func(s *cancelState)) {
		to(w, do, func(s *cancelState) { applied(s); then(s) })
		fault(w, do+", which fails", leave)
		fault(w, do+", which is applied, but seems to fail", func(s *cancelState) { applied(s); leave(s) })
	}
	stale := !me.fresh && !m.Breaks.NoFence
	switch me.does {
	case polls, stores, endsBook:
		if stale {
			to(w, "does nothing, because the row has changed", leave)
			return
		}
	}
	switch me.does {
	case nothing:
		if phase := row.Phase(timeOf(now)); s.live && phase != durable.PhaseSending && !row.Due.After(timeOf(now)) {
			row.Due = timeOf(now + lease)
			leased := m.number(row)
			write("takes a lease", func(s *cancelState) { s.put(leased) }, func(s *cancelState) {
				s.workers[w] = canceller{does: polls, fresh: true}
				if phase == durable.PhaseEnded {
					s.workers[w].does = endsBook
				}
			})
		}
	case polls:
		to(w, "reads the order", func(s *cancelState) { m.read(s, w, s.order) })
		fault(w, "reads the order, which fails", func(s *cancelState) {
			if leave(s); row.Phase(timeOf(now)) == durable.PhasePolling {
				m.read(s, w, 0)
			}
		})
	case stores:
		write("stores what it has read", func(s *cancelState) { s.put(me.next) }, func(s *cancelState) {
			if m.stored(s, w); m.rows[me.next].Phase(timeOf(now)) == durable.PhaseSending && row.SendBy.IsZero() {
				s.workers[w] = canceller{does: sends, next: me.next, at: now}
			}
		})
	case sends, awaits:
		m.send(s, w, to, fault)
	case recovers: // stores the answer
		if row.Ending != "" {
			to(w, "finds the cancellation ended", leave)
			return
		}
		a := m.answers[me.lost]
		next := m.number(m.rules.Answered(row, timeOf(now), a.resp, a.err, orderStates))
		write("stores the answer", func(s *cancelState) { s.put(next) }, func(s *cancelState) { m.stored(s, w) })
	case endsBook:
		deliver := func(s *cancelState) { s.delivered++ }
		applied, then := func(s *cancelState) { s.put(s.row); s.live = false; deliver(s) }, leave
		if m.Breaks.DeliverApart {
			applied = func(s *cancelState) { s.put(s.row); s.live = false }
			leave = func(s *cancelState) { deliver(s); m.leave(s, w) }
			then = leave
		}
		write("delivers that it is "+string(row.Ending), applied, then)
	}
}

// read is what a worker makes of the order.
func (m *cancels) read(s *cancelState, w int, status types.OrderStatus) {
	now, row := int16(w)*s.skew, m.rows[s.row]
	var order *types.Order
	if status != 0 {
		order = &types.Order{Status: status, SupplierReferenceNo: "s-1"}
	}
	next, err := row, error(nil)
	if row.Phase(timeOf(now)) == durable.PhasePolling {
		next = m.rules.Read(row, timeOf(now), order, orderStates)
	} else {
		next, err = m.rules.Start(row, timeOf(now), timeOf(now).Add(m.BookTimeout), order, orderStates)
	}
	if s.workers[w] = (canceller{does: stores, fresh: true, next: m.number(next), at: now}); err != nil {
		s.workers[w] = canceller{}
	}
}

// stored is what a worker does after a write: it delivers the ending that it has stored.
func (m *cancels) stored(s *cancelState, w int) {
	s.workers[w] = canceller{}
	if m.rows[s.row].Ending != "" {
		s.workers[w] = canceller{does: endsBook, fresh: true}
	}
}

// send sends Cancel, and awaits its answer.
func (m *cancels) send(s *cancelState, w int, to, fault stepper) {
	me, now := s.workers[w], int16(w)*s.skew
	if me.does == sends {
		if now > clockOf(m.rows[me.next].SendBy)-5 && !m.Breaks.SendLate {
			to(w, "sends nothing, because it is too late", func(s *cancelState) { s.workers[w].does, s.workers[w].lost = recovers, Unsent })
			return
		}
		to(w, "sends Cancel", func(s *cancelState) {
			s.left++
			s.cancel, s.by = flying, clockOf(m.rows[me.next].SendBy)-5-now+int16(m.ShowsWithin/second)
			s.workers[w].does = awaits
		})
		fault(w, "cannot send Cancel", func(s *cancelState) { s.workers[w].does, s.workers[w].lost = recovers, Unsent })
		return
	}
	if s.cancel == flying {
		to(w, "is refused", func(s *cancelState) {
			s.cancel = noBook
			s.workers[w].does, s.workers[w].lost = recovers, Refused
		})
	} else {
		to(w, "receives the answer", func(s *cancelState) { s.workers[w].does, s.workers[w].lost = recovers, Made })
	}
	fault(w, "loses the answer", func(s *cancelState) {
		s.by = min(s.by, int16(m.ShowsWithin/second))
		s.workers[w].does, s.workers[w].lost = recovers, Lost
	})
}

// time lets time pass.
func (m *cancels) time(s *cancelState, to, fault stepper, yield func(Step, cancelState)) {
	marks := marks{1<<15 - 1, never}
	row := m.rows[s.row]
	waits := false
	for w, me := range s.workers {
		now := int16(w) * s.skew
		marks.at(clockOf(row.Due) - now)
		marks.at(clockOf(row.Begun) + 900 - now)
		if !row.SendBy.IsZero() {
			marks.at(clockOf(row.SendBy) - now)
			marks.at(clockOf(row.SendBy) + 605 - now)
		}
		if me.does == awaits {
			marks.until(clockOf(m.rows[me.next].SendBy) - 5 - now)
		}
		busy := me.does != nothing && me.does != awaits ||
			me.does == nothing && !row.Due.After(timeOf(now)) && row.Phase(timeOf(now)) != durable.PhaseSending
		if busy && !me.still {
			waits = true
			fault(w, "stands still", func(s *cancelState) { s.workers[w].still = true })
		}
	}
	if s.order == 0 {
		marks.until(s.shownBy - 1)
	}
	if s.cancel == flying {
		marks.until(s.by - 1)
	}
	if waits || marks.next > marks.limit {
		return
	}
	next := *s
	by := marks.next
	for _, n := range []*int32{&next.row, &next.workers[0].next, &next.workers[1].next} {
		*n = m.pass(*n, by)
	}
	for w := range next.workers {
		next.workers[w].at = 0
		if next.workers[w].does == nothing {
			next.workers[w].next = 0
		}
	}
	next.by, next.shownBy = max(next.by-by, 0), max(next.shownBy-by, 0)
	span := time.Duration(by) * second
	yield(Step{Worker: -1, Do: "time passes by " + span.String(), At: span}, next)
}

func (m *cancels) pass(number int32, by int16) int32 {
	moved, known := m.passed[[2]int32{number, int32(by)}]
	if !known {
		c := m.rows[number]
		for _, t := range []*time.Time{&c.Begun, &c.SendBy, &c.Due} {
			if !t.IsZero() {
				*t = t.Add(time.Duration(by) * -second)
			}
		}
		moved = m.number(c)
		m.passed[[2]int32{number, int32(by)}] = moved
	}
	return moved
}
