package ratelimit

import (
	"context"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go/pacing"
)

// Windows has a Window for each key that was used or paused. A key without a rate limit has a Window only after a pause.
type Windows[K comparable] struct {
	Margin    time.Duration
	Processes int         // how many processes share each rate limit
	Limit     func(K) int // the rate limit of a key, in requests per second, or 0 if the key has no rate limit

	mu      sync.Mutex
	windows map[K]*Window
}

// Acquire waits for a slot of the key, like Window.Acquire. The permit is nil if the key has no rate limit.
func (w *Windows[K]) Acquire(ctx context.Context, key K, caller pacing.Caller) (*Permit, error) {
	window := w.window(key, false)
	if window == nil {
		return nil, nil
	}
	return window.Acquire(ctx, caller)
}

// Pause stops granting slots of the key until the given time.
func (w *Windows[K]) Pause(key K, until time.Time) { w.window(key, true).Pause(until) }

func (w *Windows[K]) window(key K, pause bool) *Window {
	limit := w.Limit(key)
	w.mu.Lock()
	defer w.mu.Unlock()
	window := w.windows[key]
	switch {
	case window != nil:
		return window
	case limit > 0:
		seconds := (w.Processes + limit - 1) / limit
		window = NewWindow(max(1, limit/w.Processes), time.Duration(seconds)*time.Second, w.Margin)
	case pause:
		window = NewWindow(1<<20, time.Second, 0) // a limit that no process reaches, so that only Pause has an effect
	default:
		return nil
	}
	if w.windows == nil {
		w.windows = make(map[K]*Window)
	}
	w.windows[key] = window
	return window
}
