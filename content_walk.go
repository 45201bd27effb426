// The walk through the tree of destinations, with one call under way or several.

package hotelstays

import (
	"context"
	"iter"
	"sync"

	"github.com/hotelstays/hotelstays-go/types"
)

// WalkDestinations visits the tree from what req asks for downwards, parents
// before their children, and yields each place once. It makes one call for each
// place, and keeps the ids of those that it has seen. An error is yielded once and
// ends the walk.
//
// By default it makes one call after the other, each when the loop has come that
// far, and the order is always the same. WithParallelism(n) keeps up to n calls
// under way while the loop is busy; the order then depends on which answer comes
// first, with parents still before their children. A loop that is slower than the
// calls holds them up: none is made while n answers wait. Leaving the loop stops
// the calls that are under way.
//
// Places below the first level are asked for by their parent alone: a country
// code would override it, and the walk would never end. The walk is this client's own:
// whether it reaches every place of the service is undocumented.
func (c *Client) WalkDestinations(ctx context.Context, req *DestinationsRequest, opts ...CallOption) iter.Seq2[*types.Destination, error] {
	if req == nil {
		return func(yield func(*types.Destination, error) bool) { yield(nil, nilRequest(OpDestinations)) }
	}
	first := *req
	parallelism, opts := takeParallelism(opts)
	return func(yield func(*types.Destination, error) bool) {
		if err := c.usable(ctx, OpDestinations); err != nil {
			yield(nil, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		w := newPlaceWalk(first, parallelism, func(req *DestinationsRequest) (resp *DestinationsResponse, err error) {
			defer recovered(&err, string(OpDestinations))
			return c.Destinations(ctx, req, opts...)
		})
		defer w.calls.Wait() // also when the loop is broken off
		defer cancel()
		for w.await() {
			if !w.yield(yield) {
				return
			}
		}
	}
}

// placeWalk is a walk under way. The loop takes what there is to yield, and every
// call that ends makes the next ones.
type placeWalk struct {
	call        func(*DestinationsRequest) (*DestinationsResponse, error)
	parallelism int
	calls       sync.WaitGroup // all that were made

	mu       sync.Mutex
	arrived  *sync.Cond            // an answer has come
	pending  []DestinationsRequest // not made yet; the deepest last
	underway int
	failed   bool // no more calls are made
	seen     map[string]bool
	waiting  []placesFound // to be yielded in this order, which has parents first
}

// placesFound is what an answer has that was not seen before, or its error.
type placesFound struct {
	places []*types.Destination
	err    error
}

func newPlaceWalk(first DestinationsRequest, parallelism int, call func(*DestinationsRequest) (*DestinationsResponse, error)) *placeWalk {
	w := &placeWalk{call: call, parallelism: parallelism, pending: []DestinationsRequest{first}, seen: make(map[string]bool)}
	w.arrived = sync.NewCond(&w.mu)
	return w
}

// await waits until there is something to yield, and tells whether there is.
func (w *placeWalk) await() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.askMore(); len(w.waiting) == 0 && w.underway > 0; {
		w.arrived.Wait()
	}
	return len(w.waiting) > 0
}

// yield yields what was found first, and tells whether the loop goes on. Until it
// is all yielded it counts as waiting.
func (w *placeWalk) yield(yield func(*types.Destination, error) bool) bool {
	w.mu.Lock()
	found := w.waiting[0]
	w.mu.Unlock()
	if found.err != nil {
		yield(nil, found.err)
		return false
	}
	for _, place := range found.places {
		if !yield(place, nil) {
			return false
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = w.waiting[1:]
	return true
}

// askMore makes as many calls as may be under way, with mu held. The deepest
// places come first: that keeps the pending ones few.
func (w *placeWalk) askMore() {
	for !w.failed && len(w.pending) > 0 && w.underway < w.parallelism && len(w.waiting) < w.parallelism {
		last := len(w.pending) - 1
		req := w.pending[last]
		w.pending = w.pending[:last]
		w.underway++
		w.calls.Go(func() {
			resp, err := w.call(&req)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.underway--
			w.take(&req, resp, err)
			w.askMore()
			w.arrived.Signal()
		})
	}
}

// take keeps what is new in an answer, with mu held.
func (w *placeWalk) take(req *DestinationsRequest, resp *DestinationsResponse, err error) {
	if err != nil {
		w.waiting = append(w.waiting, placesFound{err: err})
		w.failed = true
		return
	}
	below := *req
	below.CountryCode = ""
	var fresh []*types.Destination
	for i := range resp.Destinations {
		place := &resp.Destinations[i]
		if place.ID != "" {
			if w.seen[place.ID] {
				continue
			}
			w.seen[place.ID] = true
			below.ParentDestinationID = place.ID
			w.pending = append(w.pending, below)
		}
		fresh = append(fresh, place)
	}
	if len(fresh) > 0 {
		w.waiting = append(w.waiting, placesFound{places: fresh})
	}
}
