// What helpers share: they make several calls, report to observers, and wait between polls.

package hotelstays

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// helped runs a helper, such as AwaitOrder. It calls HelperStart of the client's observers before the helper, and
// HelperEnd after it.
func helped[R any](ctx context.Context, c *Client, name Operation, run func(context.Context) (R, error)) (result R, err error) {
	ctx, watch := c.observeHelper(ctx, name)
	err = errPanicked
	defer func() { watch.end(err) }()
	return run(ctx)
}

// helpedAll is like helped, but for an iterator. It reports the last error that the iterator yields.
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

// observeHelper calls HelperStart of the observers. It does nothing if the Client or ctx is unusable, because the first
// call of the helper then fails.
func (c *Client) observeHelper(ctx context.Context, name Operation) (context.Context, *observation) {
	if c.usable(ctx, name) != nil {
		return ctx, nil
	}
	return observe(ctx, c.observers, CallStart{Operation: name, BaseURL: c.baseURL}, "", Observer.helper)
}

// awaitSchedule has the times of the first polls from the start of a wait. Later polls come every awaitPause, because
// suppliers usually take 3 to 10 minutes.
var awaitSchedule = []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second}

const awaitPause = 30 * time.Second

// await calls poll until poll returns done, returns an error that is not transient, or ctx ends. If ctx ends, the error
// contains the text of progress.
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
			return fmt.Errorf("hotelstays: %s; the wait ended with the caller's ctx: %w; %s", progress(), ended, hint)
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

// waitUntil waits for a time or a wake-up. If ctx ends first, it returns the error of ctx.
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
