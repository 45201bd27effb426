// Walking a tree, with one or more calls at the same time.

package paging

import (
	"context"
	"iter"
	"sync"
)

// Tree yields the nodes below a root: parents before their children, and each id once. The function ask sends a
// request, and returns the nodes in the answer. The function below returns the id of a node and the request for its
// children. If the id is empty, Tree does not request the children.
//
// Tree makes up to parallelism calls of ask at the same time. It makes no further call while parallelism answers wait
// to be yielded. An error is yielded once and ends the walk. Tree returns once every call has ended.
func Tree[Q, N any](ctx context.Context, root Q, parallelism int, ask func(context.Context, Q) ([]N, error),
	below func(Q, N) (id string, next Q)) iter.Seq2[N, error] {
	return func(yield func(N, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		t := &tree[Q, N]{
			ask:         func(q Q) ([]N, error) { return ask(ctx, q) },
			below:       below,
			parallelism: parallelism,
			pending:     []Q{root},
			seen:        make(map[string]bool),
		}
		t.arrived = sync.NewCond(&t.mu)
		defer t.calls.Wait()
		defer cancel()
		for t.await() {
			if !t.yield(yield) {
				return
			}
		}
	}
}

type tree[Q, N any] struct {
	ask         func(Q) ([]N, error)
	below       func(Q, N) (string, Q)
	parallelism int
	calls       sync.WaitGroup

	mu       sync.Mutex
	arrived  *sync.Cond
	pending  []Q // requests to make; the deepest request is last
	underway int
	failed   bool // a call has failed, so no new call begins
	seen     map[string]bool
	waiting  []found[N] // answers that wait to be yielded, oldest first
}

// found holds an answer's error, or those nodes of the answer that were in no earlier answer.
type found[N any] struct {
	nodes []N
	err   error
}

// await waits for an answer to yield. If the walk has ended, await returns false.
func (t *tree[Q, N]) await() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.askMore(); len(t.waiting) == 0 && t.underway > 0; {
		t.arrived.Wait()
	}
	return len(t.waiting) > 0
}

// yield yields the nodes of the oldest answer, or its error. It reports whether the walk continues. The answer counts
// as waiting until its last node is yielded.
func (t *tree[Q, N]) yield(yield func(N, error) bool) bool {
	t.mu.Lock()
	oldest := t.waiting[0]
	t.mu.Unlock()
	if oldest.err != nil {
		var none N
		yield(none, oldest.err)
		return false
	}
	for _, node := range oldest.nodes {
		if !yield(node, nil) {
			return false
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = t.waiting[1:]
	return true
}

// askMore starts as many calls of ask as the limits allow. The caller must hold mu. askMore starts
// with the deepest requests, which keeps the list of pending requests short.
func (t *tree[Q, N]) askMore() {
	for !t.failed && len(t.pending) > 0 && t.underway < t.parallelism && len(t.waiting) < t.parallelism {
		last := len(t.pending) - 1
		request := t.pending[last]
		t.pending = t.pending[:last]
		t.underway++
		t.calls.Go(func() {
			nodes, err := t.ask(request)
			t.mu.Lock()
			defer t.mu.Unlock()
			t.underway--
			t.add(request, nodes, err)
			t.askMore()
			t.arrived.Signal()
		})
	}
}

// add queues the new nodes of an answer for the loop, and the requests for the children of these nodes for askMore. The
// caller must hold mu.
func (t *tree[Q, N]) add(request Q, nodes []N, err error) {
	if err != nil {
		t.waiting = append(t.waiting, found[N]{err: err})
		t.failed = true
		return
	}
	var fresh []N
	for _, node := range nodes {
		id, next := t.below(request, node)
		if id != "" {
			if t.seen[id] {
				continue
			}
			t.seen[id] = true
			t.pending = append(t.pending, next)
		}
		fresh = append(fresh, node)
	}
	if len(fresh) > 0 {
		t.waiting = append(t.waiting, found[N]{nodes: fresh})
	}
}
