// Remembering events: the store behind the webhook handler.

package hotelstays

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// ClaimState is what became of a claim.
type ClaimState int

const (
	// ClaimGranted: the caller handles the event.
	ClaimGranted ClaimState = iota + 1
	// ClaimBusy: somebody else is handling it.
	ClaimBusy
	// ClaimDone: it has been handled.
	ClaimDone
)

// EventStore remembers which events were handled, for all processes that receive
// them. An event has several keys: it is the same event when one of them is known.
//
// Implementations must be safe for concurrent use.
type EventStore interface {
	// Claim takes all keys for a while, or none: ClaimDone when one is done,
	// ClaimBusy when one is claimed. A claim ends by itself with its lease.
	Claim(ctx context.Context, keys []string, lease time.Duration) (ClaimState, error)
	// Done remembers all keys as handled for at least retention.
	Done(ctx context.Context, keys []string, retention time.Duration) error
	// Release gives all keys up.
	Release(ctx context.Context, keys []string) error
}

// defaultEvents is how many keys the store in memory holds.
const defaultEvents = 200_000

// errEventsFull is returned while every key that is held is being handled.
var errEventsFull = errors.New("hotelstays: too many events are being handled at once")

// memoryEvents is an EventStore of one process. Beyond its limit it forgets what
// was handled longest ago, and never what is being handled.
type memoryEvents struct {
	limit int

	mu   sync.Mutex
	held map[string]*eventKey
	done list.List // of *eventKey, the oldest first
}

type eventKey struct {
	key   string
	until time.Time     // the lease's end, or the retention's
	place *list.Element // in done; nil: claimed
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
		return 0, errEventsFull
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
	m.makeRoom(0) // a claim that lapsed meanwhile had given its room away
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

// makeRoom forgets what is past, and beyond that what was handled longest ago.
// Claims are looked through only when nothing else is left: there can be many.
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
		for key, e := range m.held { // claims whose holders never came back
			if !e.until.After(now) {
				m.forget(key)
			}
		}
	}
	return !full()
}
