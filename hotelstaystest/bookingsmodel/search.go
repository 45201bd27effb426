// The search: breadth first, so that a counterexample is the shortest.

package bookingsmodel

import "fmt"

// graph is what a search has seen. A state is its index in states.
type graph struct {
	states []state
	from   []int32 // the state that each was first reached from; -1 for the first states
	depth  int
	edges  [][]int32
	known  map[state]int32
	next   func(state, func(Step, state))
}

// explore searches all states that are reached from the first ones. It ends at a state that is wrong,
// and after a number of states. A state that nothing follows and that is not done, and one that a
// state behind it leads back to, never end.
func (m *model) explore(limit int, next func(state, func(Step, state))) (g *graph, why string, at int32) {
	g = &graph{known: map[state]int32{}, next: next}
	add := func(s state, from int32) (n int32) {
		n, seen := g.known[s]
		if !seen {
			n = int32(len(g.states))
			g.known[s] = n
			g.states, g.from = append(g.states, s), append(g.from, from)
			if what := m.wrong(s); what != "" && why == "" {
				why, at = what, n
			}
		}
		return n
	}
	for _, s := range m.first() {
		add(s, -1)
	}
	layer := len(g.states)
	for n := int32(0); int(n) < len(g.states) && why == ""; n++ {
		if int(n) == layer {
			g.depth++
			layer = len(g.states)
		}
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
		if n := g.circle(); n >= 0 {
			return g, NeverEnds, n
		}
	}
	return g, why, at
}

// circle returns a state that leads back to itself, or -1.
func (g *graph) circle() int32 {
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
	for n, count := range into {
		if count > 0 {
			return int32(n)
		}
	}
	return -1
}
