// Helpers make several calls: how observers see them, and how they wait between polls.

package hotelstays

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
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

// awaitSchedule is when a wait polls again, from its start; after it, it polls every awaitPause. Suppliers
// usually take 3 to 10 minutes.
var awaitSchedule = []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second}

const awaitPause = 30 * time.Second

// await polls until that is done or fails for good. If ctx ends before, the error has the progress.
func await(ctx context.Context, wakeup <-chan struct{}, poll func() (done bool, err error), progress func() string) error {
	start := time.Now()
	for {
		done, err := poll()
		if done || err != nil && !transient(err) {
			return err
		}
		if ended := waitUntil(ctx, awaitNext(start), wakeup); ended != nil {
			hint := "call again to continue"
			if err != nil {
				hint = "the last poll failed: " + fact(err)
			}
			return fmt.Errorf("hotelstays: %s; the caller's ctx ended the wait: %w; %s", progress(), ended, hint)
		}
	}
}

func awaitNext(start time.Time) time.Time {
	elapsed := time.Since(start)
	for _, at := range awaitSchedule {
		if at > elapsed {
			return start.Add(at)
		}
	}
	last := awaitSchedule[len(awaitSchedule)-1]
	return start.Add(last + ((elapsed-last)/awaitPause+1)*awaitPause)
}

func transient(err error) bool {
	var api *APIError
	if _, ok := errors.AsType[*ValidationError](err); ok {
		return false
	}
	if errors.Is(err, ErrAmbiguousReference) {
		return false
	}
	return !errors.As(err, &api) || api.HTTPStatus >= 500 || errors.Is(err, ErrRateLimited)
}

// waitUntil waits for a time or a wake-up. It returns the error of ctx.
func waitUntil(ctx context.Context, at time.Time, wakeup <-chan struct{}) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
		case _, open := <-wakeup:
			if !open {
				wakeup = nil
				continue
			}
		}
		return ctx.Err()
	}
}
