// EventStore deduplicates events; the default is in memory.

package hotelstays

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// ClaimState is the result of a claim. Every other value, also the zero value, counts as ClaimBusy.
type ClaimState string

const (
	// ClaimGranted: the caller handles the event.
	ClaimGranted ClaimState = "granted"
	// ClaimBusy: another caller is handling the event.
	ClaimBusy ClaimState = "busy"
	// ClaimDone: the event has been handled.
	ClaimDone ClaimState = "done"
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

const defaultEvents = 200_000 // the maximum number of keys; an event has up to two

var errEventsFull = errors.New("too many events are being handled at the same time; set WebhookOptions.Store to a store without this limit")

// memoryEvents is an EventStore for one process. At its limit it drops the oldest done keys, and never a claim.
type memoryEvents struct {
	limit int // the maximum number of keys

	mu   sync.Mutex
	held map[string]*eventKey
	done []*eventKey // keys that are done, oldest first; some are no longer in the map held
}

type eventKey struct {
	key   string
	until time.Time // when the lease or the retention ends
	done  bool      // true if the event was handled, false while the key is claimed
}

func newMemoryEvents(limit int) *memoryEvents {
	return &memoryEvents{limit: limit, held: make(map[string]*eventKey)}
}

func (m *memoryEvents) Claim(_ context.Context, keys []string, lease time.Duration) (ClaimState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	busy := false
	for _, key := range keys {
		e := m.held[key]
		switch {
		case e == nil || !e.until.After(now):
		case e.done:
			return ClaimDone, nil
		default:
			busy = true
		}
	}
	if busy {
		return ClaimBusy, nil
	}
	for _, key := range keys {
		delete(m.held, key)
	}
	if !m.makeRoom(len(keys)) {
		return "", errEventsFull
	}
	for _, key := range keys {
		m.held[key] = &eventKey{key: key, until: now.Add(lease)}
	}
	return ClaimGranted, nil
}

func (m *memoryEvents) Done(_ context.Context, keys []string, retention time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	until := time.Now().Add(retention)
	for _, key := range keys {
		m.held[key] = &eventKey{key, until, true}
		m.done = append(m.done, m.held[key])
	}
	m.makeRoom(0) // the map exceeds the limit if it had already dropped the expired claims of these keys for newer keys
	return nil
}

func (m *memoryEvents) Release(_ context.Context, keys []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		if e := m.held[key]; e != nil && !e.done {
			delete(m.held, key)
		}
	}
	return nil
}

// makeRoom drops expired done keys and, if n new keys do not fit, the oldest done keys. If that is not enough, it also
// drops expired claims, which takes long if there are many keys.
func (m *memoryEvents) makeRoom(n int) bool {
	now := time.Now()
	full := func() bool { return len(m.held)+n > m.limit }
	for len(m.done) > 0 {
		oldest := m.done[0]
		held := m.held[oldest.key] == oldest
		if held && oldest.until.After(now) && !full() {
			break
		}
		if held {
			delete(m.held, oldest.key)
		}
		m.done = m.done[1:]
	}
	if full() {
		maps.DeleteFunc(m.held, func(_ string, e *eventKey) bool { return !e.until.After(now) })
	}
	return !full()
}
