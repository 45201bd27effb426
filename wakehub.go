// WakeHub: webhooks wake the helpers that wait.

package hotelstays

import (
	"slices"
	"sync"
)

// WakeHub passes wake-ups from a webhook handler to the waiting helpers of this process. Its zero value is ready to use. It
// is safe for concurrent use, and must not be copied.
type WakeHub struct {
	mu       sync.Mutex
	watchers map[string][]chan struct{} // by reference
}

// Watch returns a channel for WithWakeup. The channel receives a value after a Wake of the reference, and keeps one value
// until you receive it. Call Watch before Book, once for each wait, and call stop after the wait.
func (h *WakeHub) Watch(customerReferenceNo string) (wakeup <-chan struct{}, stop func()) {
	watcher := make(chan struct{}, 1) // the buffer keeps one wake-up until the wait begins
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = make(map[string][]chan struct{})
	}
	h.watchers[customerReferenceNo] = append(h.watchers[customerReferenceNo], watcher)
	return watcher, func() { h.forget(customerReferenceNo, watcher) }
}

func (h *WakeHub) forget(reference string, watcher chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	others := slices.DeleteFunc(h.watchers[reference], func(c chan struct{}) bool { return c == watcher })
	if len(others) == 0 {
		delete(h.watchers, reference)
		return
	}
	h.watchers[reference] = others
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
