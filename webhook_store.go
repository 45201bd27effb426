// EventStore deduplicates events; the default is in memory.

package hotelstays

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// ClaimState is the result of a claim. Any value but these is treated as ClaimBusy.
type ClaimState string

const (
	// ClaimGranted: the caller handles the event.
	ClaimGranted ClaimState = "granted"
	// ClaimBusy: another caller is handling it.
	ClaimBusy ClaimState = "busy"
	// ClaimDone: it has been handled.
	ClaimDone ClaimState = "done"
)

// EventStore remembers handled events, for all processes that receive them. Two events with a common
// key are duplicates. Keys are compared byte by byte, and have at most 255 bytes of UTF-8. A call has
// at least one, and none twice. Claims and done keys stay if a server's clock is set back.
//
// Methods must return when ctx ends, and be safe for concurrent use. Package hotelstaystest/storetest
// tests implementations.
type EventStore interface {
	// Claim claims all keys, or none of them: it returns ClaimDone if any key is done,
	// else ClaimBusy if any is claimed. A claim expires after lease.
	Claim(ctx context.Context, keys []string, lease time.Duration) (ClaimState, error)
	// Done marks all keys as done, for at least retention, also if their claim has expired
	// or another caller has claimed them.
	Done(ctx context.Context, keys []string, retention time.Duration) error
	// Release ends the claims of all keys. Keys that are done stay done.
	Release(ctx context.Context, keys []string) error
}

const defaultEvents = 200_000 // keys, two per event

var errEventsFull = errors.New("hotelstays: webhook: too many events are being handled at once")

// memoryEvents is an EventStore for one process. At its limit it drops the oldest done keys,
// and never a claim.
type memoryEvents struct {
	limit int // keys

	mu   sync.Mutex
	held map[string]*eventKey
	done list.List // of *eventKey, oldest first
}

type eventKey struct {
	key   string
	until time.Time     // the end of the lease or of the retention
	place *list.Element // in done; nil if claimed
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
		case e.place != nil:
			return ClaimDone, nil
		default:
			busy = true
		}
	}
	if busy {
		return ClaimBusy, nil
	}
	for _, key := range keys {
		m.forget(key)
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
		m.forget(key)
		e := &eventKey{key: key, until: until}
		e.place = m.done.PushBack(e)
		m.held[key] = e
	}
	m.makeRoom(0) // the room of an expired claim may be taken
	return nil
}

func (m *memoryEvents) Release(_ context.Context, keys []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		if e := m.held[key]; e != nil && e.place == nil {
			m.forget(key)
		}
	}
	return nil
}

func (m *memoryEvents) forget(key string) {
	e := m.held[key]
	if e == nil {
		return
	}
	if e.place != nil {
		m.done.Remove(e.place)
	}
	delete(m.held, key)
}

// makeRoom drops expired keys, then the oldest done keys. It searches the claims last,
// because there can be many.
func (m *memoryEvents) makeRoom(n int) bool {
	now := time.Now()
	full := func() bool { return len(m.held)+n > m.limit }
	for front := m.done.Front(); front != nil; front = m.done.Front() {
		e := front.Value.(*eventKey)
		if e.until.After(now) && !full() {
			break
		}
		m.forget(e.key)
	}
	if full() {
		for key, e := range m.held {
			if !e.until.After(now) {
				m.forget(key)
			}
		}
	}
	return !full()
}
