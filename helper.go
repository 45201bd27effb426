// Helpers make several calls: how observers see them.

package hotelstays

import (
	"context"
	"iter"
)

// helped runs a helper between the HelperStart and the HelperEnd of the client's observers.
func helped[R any](ctx context.Context, c *Client, name Operation, run func(context.Context) (R, error)) (result R, err error) {
	ctx, watch := c.observeHelper(ctx, name)
	err = errPanicked
	defer func() { watch.end(err) }()
	return run(ctx)
}

// helpedAll is helped for an iterator: its error is the last one that it yields.
func helpedAll[V any](ctx context.Context, c *Client, name Operation, all func(context.Context) iter.Seq2[V, error]) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		ctx, watch := c.observeHelper(ctx, name)
		end := errPanicked
		defer func() { watch.end(end) }()
		var failed error
		for v, err := range all(ctx) {
			if err != nil {
				failed = err
			}
			if !yield(v, err) {
				break
			}
		}
		end = failed
	}
}

// observeHelper leaves it to the calls of the helper to refuse a Client or a ctx that cannot be used.
func (c *Client) observeHelper(ctx context.Context, name Operation) (context.Context, *observation) {
	if c.usable(ctx, name) != nil {
		return ctx, nil
	}
	return observe(ctx, c.observers, CallStart{Operation: name, BaseURL: c.baseURL}, "", Observer.helper)
}
