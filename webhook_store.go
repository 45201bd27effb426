// EventStore deduplicates events; the default is in memory.

package hotelstays

import (
	"context"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/events"
)

// ClaimState is the result of a claim. Every other value, also the zero value, counts as ClaimBusy.
type ClaimState string

const (
	// ClaimGranted: the caller handles the event.
	ClaimGranted ClaimState = events.Granted
	// ClaimBusy: another caller is handling the event.
	ClaimBusy ClaimState = events.Busy
	// ClaimDone: the event has been handled.
	ClaimDone ClaimState = events.Done
)

// EventStore remembers handled events, for all processes that receive them. Two events with a common key are duplicates.
// Keys are compared byte by byte, and have at most 255 bytes of UTF-8. Each call passes at least one key, and no key
// twice. Claims and done keys must stay even if the clock from which the store reads the time is set back.
//
// Methods must return when ctx ends, and be safe for concurrent use. Package hotelstaystest/storetest tests
// implementations.
type EventStore interface {
	// Claim claims all keys or none. It returns ClaimDone if any key is done, and otherwise ClaimBusy if any is claimed. A
	// claim expires when the time in lease has passed.
	Claim(ctx context.Context, keys []string, lease time.Duration) (ClaimState, error)
	// Done marks all keys as done for at least the time in retention. This applies even if their claim has expired, or
	// another caller has claimed the keys.
	Done(ctx context.Context, keys []string, retention time.Duration) error
	// Release ends the claims of all keys. Keys that are done stay done.
	Release(ctx context.Context, keys []string) error
}

const defaultEvents = 200_000 // the maximum number of keys in memory; an event has up to two

// memoryEvents is an EventStore for one process.
type memoryEvents struct{ *events.Memory }

func (m memoryEvents) Claim(ctx context.Context, keys []string, lease time.Duration) (ClaimState, error) {
	state, err := m.Memory.Claim(ctx, keys, lease)
	return ClaimState(state), err
}
