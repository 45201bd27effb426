// The search, which is breadth first, so that it finds the shortest counterexample. It also finds paths that lead a
// real implementation through every transition.

package bookingsmodel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotelstays/hotelstays-go/durable"
)

// graph holds the states that a search has reached. The number of a state is its index in states.
type graph struct {
	states   []state
	previous []int32 // for each state, the index of the state before it on its first path; -1 for initial states
	edges    [][]int32
	known    map[state]int32
	next     func(state, func(Step, state))
}

// explore visits all states that can follow the initial states. It stops at a state that violates an invariant, or
// after limit states. Then it returns the reason (why) and the number of the state (at). The reason is NeverEnds if no
// step follows a state that is not done, or if the steps between the states form a cycle.
func (m *model) explore(limit int, next func(state, func(Step, state))) (g *graph, why string, at int32) {
	g = &graph{known: map[state]int32{}, next: next}
	add := func(s state, from int32) (n int32) {
		n, seen := g.known[s]
		if !seen {
			n = int32(len(g.states))
			g.known[s] = n
			g.states, g.previous = append(g.states, s), append(g.previous, from)
			if what := m.violated(s); what != "" && why == "" {
				why, at = what, n
			}
		}
		return n
	}
	for _, s := range m.initialStates() {
		add(s, -1)
	}
	for n := int32(0); int(n) < len(g.states) && why == ""; n++ {
		if len(g.states) > limit {
			return g, fmt.Sprintf("more than %d states", limit), n
		}
		var edges []int32
		next(g.states[n], func(_ Step, s state) { edges = append(edges, add(s, n)) })
		if g.edges = append(g.edges, edges); edges == nil && !m.done(g.states[n]) && why == "" {
			return g, NeverEnds, n
		}
	}
	if why == "" {
		if n := g.cycle(); n >= 0 {
			return g, NeverEnds, n
		}
	}
	return g, why, at
}

// cycle returns a state in a cycle or after a cycle, or -1 if there is no cycle.
func (g *graph) cycle() int32 {
	into := make([]int, len(g.states))
	for _, edges := range g.edges {
		for _, n := range edges {
			into[n]++
		}
	}
	var free []int32
	for n, count := range into {
		if count == 0 {
			free = append(free, int32(n))
		}
	}
	for len(free) > 0 {
		n := free[len(free)-1]
		free = free[:len(free)-1]
		into[n] = -1
		for _, n := range g.edges[n] {
			if into[n]--; into[n] == 0 {
				free = append(free, n)
			}
		}
	}
	return int32(slices.IndexFunc(into, func(count int) bool { return count > 0 }))
}

// Now is the part of a state that a test with a real Store can compare: the endings in the rows, and what the caller
// has received.
type Now struct {
	Booking   durable.Ending
	Delivered int // the number of outcomes that OnOutcome has received in this round
	Cancel    durable.CancelEnding
	Cancelled int    // how often OnCancel has received this cancellation
	Order     string // the HotelConfirmNo and the status of the order, as the caller last received them
}

func (m *model) now(s state) Now {
	n := Now{Booking: m.facts[s.rows[booking]].booking.Ending, Delivered: int(s.delivered),
		Cancel: m.facts[s.rows[cancel]].cancel.Ending, Cancelled: int(s.cancelDeliveries)}
	if s.seen > 0 {
		o := orderOf(int(s.foundSlot), s.seen)
		n.Order = fmt.Sprint(o.HotelConfirmNo, " ", o.Status)
	}
	return n
}

// Paths returns paths from the beginning of a booking to a state in which nothing is left to do. Together, the paths
// contain each possible step in each situation. A situation is the phase of each row and the next operation of each worker.
// The paths contain only steps for which keep returns true. Call Paths outside of a bubble of testing/synctest.
func (w World) Paths(t *testing.T, limit int, keep func(Step) bool) (paths [][]Step) {
	m := w.model(t)
	next := func(s state, yield func(Step, state)) {
		m.next(s, func(step Step, to state) {
			if keep(step) {
				step.Now = m.now(to)
				yield(step, to)
			}
		})
	}
	g, why, _ := m.explore(limit, next)
	if why != "" {
		panic("the model has no paths: " + why)
	}
	ends := g.stepsToEnd(m.done)
	seen := map[transition]bool{}
	for n, from := range slices.Backward(g.states) { // the last states have the longest paths, which cover the most transitions
		var fresh []int32
		next(from, func(step Step, to state) {
			if t := m.transition(from, step); !seen[t] {
				seen[t] = true
				fresh = append(fresh, g.known[to])
			}
		})
		for _, to := range fresh {
			through := append(g.pathTo(int32(n)), to)
			for ; ends[to] >= 0; to = ends[to] {
				through = append(through, ends[to])
			}
			path := g.steps(through, func(from state, step Step) { seen[m.transition(from, step)] = true })
			setTimes(path)
			paths = append(paths, path)
		}
	}
	return paths
}

// transition is a step in a situation, see Paths.
type transition struct {
	words       [kinds]string
	mine, other opKind
	do          string
}

func (m *model) transition(s state, step Step) transition {
	t := transition{do: step.Do}
	if step.Worker < 0 {
		t.do, _, _ = strings.Cut(step.Do, " by ")
	} else {
		t.mine, t.other = m.results[s.workers[step.Worker].history].opKind, m.results[s.workers[1-step.Worker].history].opKind
	}
	for k, n := range s.rows {
		if n != 0 {
			t.words[k] = m.word(n, 0)
		}
	}
	return t
}

// stepsToEnd returns, for each state, the next state on the shortest path to a done state: -1 for a done state, and -2
// if no path leads to a done state.
func (g *graph) stepsToEnd(done func(state) bool) []int32 {
	back := make([][]int32, len(g.states))
	for n, edges := range g.edges {
		for _, to := range edges {
			back[to] = append(back[to], int32(n))
		}
	}
	after := make([]int32, len(g.states))
	var queue []int32
	for n, s := range g.states {
		if after[n] = -2; done(s) {
			after[n] = -1
			queue = append(queue, int32(n))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, n := range back[queue[0]] {
			if after[n] == -2 {
				after[n] = queue[0]
				queue = append(queue, n)
			}
		}
	}
	return after
}

// pathTo returns the numbers of the states on the path by which the search first reached state n.
func (g *graph) pathTo(n int32) (through []int32) {
	for ; n >= 0; n = g.previous[n] {
		through = append(through, n)
	}
	slices.Reverse(through)
	return through
}

// steps returns the steps that lead through the given states. It calls visit with each step and the state before the
// step.
func (g *graph) steps(through []int32, visit func(state, Step)) (steps []Step) {
	for i, n := range through[1:] {
		from, found := g.states[through[i]], false
		g.next(from, func(step Step, s state) {
			if !found && s == g.states[n] {
				steps, found = append(steps, step), true
				visit(from, step)
			}
		})
	}
	return steps
}
