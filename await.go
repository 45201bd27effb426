// Waits between polls, and WakeHub: with it, a webhook ends a wait early.

package hotelstays

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// WakeHub lets a webhook handler wake the helpers that wait in this process, such as AwaitOrder. The zero value is ready to
// use. A WakeHub is safe for concurrent use, and must not be copied.
type WakeHub struct {
	mu       sync.Mutex
	watchers map[string][]chan struct{} // customer reference -> channels of Watch
}

// Watch returns a channel for WithWakeup. The channel receives a value when Wake is called with the reference, and keeps
// one value until you receive it. Call Watch before Book, once for each wait, and call stop after the wait.
func (h *WakeHub) Watch(customerReferenceNo string) (wakeup <-chan struct{}, stop func()) {
	watcher := make(chan struct{}, 1) // the buffer keeps one wake-up until the wait begins
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = make(map[string][]chan struct{})
	}
	h.watchers[customerReferenceNo] = append(h.watchers[customerReferenceNo], watcher)
	return watcher, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		others := slices.DeleteFunc(h.watchers[customerReferenceNo], func(c chan struct{}) bool { return c == watcher })
		if h.watchers[customerReferenceNo] = others; len(others) == 0 {
			delete(h.watchers, customerReferenceNo)
		}
	}
}

// Wake wakes all watchers of a reference, if there are any. It does not block.
func (h *WakeHub) Wake(customerReferenceNo string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, watcher := range h.watchers[customerReferenceNo] {
		select {
		case watcher <- struct{}{}:
		default: // the channel already holds a wake-up
		}
	}
}

// awaitSchedule lists the times of the first polls, counted from the start of the wait. Later polls come every
// awaitPause, because suppliers usually take 3 to 10 minutes.
var awaitSchedule = []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second}

const awaitPause = 30 * time.Second

// await calls poll until poll reports done, poll returns an error that is not transient, or ctx ends. If ctx ends, the
// error contains the text of progress.
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
	if _, invalid := errors.AsType[*ValidationError](err); invalid || errors.Is(err, ErrAmbiguousReference) {
		return false
	}
	return !errors.As(err, &api) || api.HTTPStatus >= 500 || errors.Is(err, ErrRateLimited)
}

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
