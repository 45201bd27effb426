// Package events remembers the webhook events that one process handles and has handled.
package events

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// The states of a claim.
const (
	Granted = "granted"
	Busy    = "busy"
	Done    = "done"
)

// ErrFull is the error of Claim if the claims alone exceed the limit.
var ErrFull = errors.New("too many events are being handled at the same time; set WebhookOptions.Store to a store without this limit")

// Memory is the EventStore of one process. At its limit it drops the oldest done keys, and never a claim.
type Memory struct {
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

// New returns a Memory with the maximum number of keys.
func New(limit int) *Memory {
	return &Memory{limit: limit, held: make(map[string]*eventKey)}
}

// Claim claims all keys or none.
func (m *Memory) Claim(_ context.Context, keys []string, lease time.Duration) (state string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	busy := false
	for _, key := range keys {
		e := m.held[key]
		switch {
		case e == nil || !e.until.After(now):
		case e.done:
			return Done, nil
		default:
			busy = true
		}
	}
	if busy {
		return Busy, nil
	}
	for _, key := range keys {
		delete(m.held, key)
	}
	if !m.makeRoom(len(keys)) {
		return "", ErrFull
	}
	for _, key := range keys {
		m.held[key] = &eventKey{key: key, until: now.Add(lease)}
	}
	return Granted, nil
}

// Done marks all keys as done.
func (m *Memory) Done(_ context.Context, keys []string, retention time.Duration) error {
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

// Release ends the claims of all keys.
func (m *Memory) Release(_ context.Context, keys []string) error {
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
func (m *Memory) makeRoom(n int) bool {
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
