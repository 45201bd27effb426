// Faults of event stores.

package storetest_test

import (
	"strings"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

func TestEventStore(t *testing.T) {
	storetest.TestEventStore(t, eventFleet(func(*eventTable, *events) {}), storetest.InBubble())
}

// eventFleet makes fleets whose stores have a fault.
func eventFleet(plant func(*eventTable, *events)) func(*testing.T) storetest.Fleet[hotelstays.EventStore] {
	return func(*testing.T) storetest.Fleet[hotelstays.EventStore] {
		table := newEventTable()
		fleet := fleetOf[hotelstays.EventStore, *events](func() hotelstays.EventStore {
			s := table.open()
			plant(table, s)
			return s
		})
		fleet.SetBack = table.setBack
		return fleet
	}
}

func TestEventStoreWithAdvance(t *testing.T) {
	storetest.TestEventStore(t, func(*testing.T) storetest.Fleet[hotelstays.EventStore] {
		table := newEventTable()
		return storetest.Fleet[hotelstays.EventStore]{Open: func() hotelstays.EventStore { return table.open() }, Advance: table.advance}
	})
}

// mapKeys makes a store use other keys.
func mapKeys(s *events, change func(string) string) {
	changed := func(keys []string) []string {
		other := make([]string, len(keys))
		for i, key := range keys {
			other[i] = change(key)
		}
		return other
	}
	claim, finish, release := s.claim, s.finish, s.release
	s.claim = func(keys []string, lease time.Duration) hotelstays.ClaimState { return claim(changed(keys), lease) }
	s.finish = func(keys []string, retention time.Duration) { finish(changed(keys), retention) }
	s.release = func(keys []string) { release(changed(keys)) }
}

var eventFaults = []struct {
	name, caughtBy string
	plant          func(table *eventTable, s *events)
}{
	{"claims the first key alone", "Claim claims all keys", func(table *eventTable, s *events) {
		s.claim = func(keys []string, lease time.Duration) hotelstays.ClaimState {
			state := table.state(keys)
			if state == hotelstays.ClaimGranted {
				table.claim(keys[:1], lease)
			}
			return state
		}
	}},
	{"keeps what it claimed before a busy key", "a busy claim claims nothing", func(table *eventTable, s *events) {
		s.claim = func(keys []string, lease time.Duration) hotelstays.ClaimState {
			if table.state(keys) == hotelstays.ClaimDone {
				return hotelstays.ClaimDone
			}
			for _, key := range keys {
				if state := table.claim([]string{key}, lease); state != hotelstays.ClaimGranted {
					return state
				}
			}
			return hotelstays.ClaimGranted
		}
	}},
	{"keeps what it claimed before a done key", "a done claim claims nothing", func(table *eventTable, s *events) {
		s.claim = func(keys []string, lease time.Duration) hotelstays.ClaimState {
			if state := table.state(keys); state == hotelstays.ClaimBusy {
				return state
			}
			for _, key := range keys {
				if state := table.claim([]string{key}, lease); state != hotelstays.ClaimGranted {
					return state
				}
			}
			return hotelstays.ClaimGranted
		}
	}},
	{"returns busy before it sees a done key", "done counts for more than busy", func(table *eventTable, s *events) {
		s.claim = func(keys []string, lease time.Duration) hotelstays.ClaimState {
			for _, key := range keys {
				if state := table.state([]string{key}); state != hotelstays.ClaimGranted {
					return state
				}
			}
			return table.claim(keys, lease)
		}
	}},
	{"forgets the expiry of a claim", "a claim ends with its lease", func(table *eventTable, s *events) {
		s.claim = func(keys []string, _ time.Duration) hotelstays.ClaimState { return table.claim(keys, 1000*time.Hour) }
	}},
	{"takes the lease for milliseconds", "a claim ends with its lease", func(table *eventTable, s *events) {
		s.claim = func(keys []string, lease time.Duration) hotelstays.ClaimState { return table.claim(keys, lease/1000) }
	}},
	{"keeps the expiry of an expired claim", "an expired claim is claimed anew with a lease of its own", func(table *eventTable, s *events) {
		s.claim = func(keys []string, lease time.Duration) hotelstays.ClaimState {
			state := table.state(keys)
			table.mu.Lock()
			defer table.mu.Unlock()
			for _, key := range keys {
				if _, there := table.rows[key]; !there && state == hotelstays.ClaimGranted {
					table.put([]string{key}, eventRow{until: time.Now().Add(lease)})
				}
			}
			return state
		}
	}},
	{"ends done keys with the lease", "done keys stay done for the retention", func(table *eventTable, s *events) {
		s.finish = func(keys []string, retention time.Duration) { table.finish(keys, min(retention, time.Minute)) }
	}},
	{"marks the first key as done", "Done marks all keys for every process", func(table *eventTable, s *events) {
		s.finish = func(keys []string, retention time.Duration) { table.finish(keys[:1], retention) }
	}},
	{"remembers in its own process", "Done marks all keys for every process", func(_ *eventTable, s *events) {
		alone := newEventTable()
		s.claim, s.finish, s.release = alone.claim, alone.finish, alone.release
	}},
	{"marks claimed keys alone as done", "Done counts without a claim", func(table *eventTable, s *events) {
		s.finish = func(keys []string, retention time.Duration) {
			if table.state(keys) == hotelstays.ClaimBusy {
				table.finish(keys, retention)
			}
		}
	}},
	{"releases the first key", "Release ends the claims of all keys", func(table *eventTable, s *events) {
		s.release = func(keys []string) { table.release(keys[:1]) }
	}},
	{"releases all claims", "Release ends no other claim", func(table *eventTable, s *events) {
		s.release = func([]string) {
			table.mu.Lock()
			defer table.mu.Unlock()
			for key, row := range table.rows {
				if !row.done {
					delete(table.rows, key)
				}
			}
		}
	}},
	{"releases done keys", "done keys are not released", func(table *eventTable, s *events) {
		s.release = func(keys []string) {
			table.mu.Lock()
			defer table.mu.Unlock()
			for _, key := range keys {
				delete(table.rows, key)
			}
		}
	}},
	{"looks whether keys are done and then releases", "Done at the moment of Release wins", func(table *eventTable, s *events) {
		s.release = func(keys []string) {
			if table.state(keys) == hotelstays.ClaimDone {
				table.release(keys)
				return
			}
			hesitate()
			table.mu.Lock()
			defer table.mu.Unlock()
			for _, key := range keys {
				delete(table.rows, key)
			}
		}
	}},
	{"compares keys regardless of case", "keys differ in any byte", func(_ *eventTable, s *events) { mapKeys(s, strings.ToLower) }},
	{"ignores trailing blanks", "keys differ in any byte", func(_ *eventTable, s *events) { mapKeys(s, trimmed) }},
	{"cuts long keys", "keys differ in any byte", func(_ *eventTable, s *events) { mapKeys(s, cutAt(254)) }},
	{"forgets keys from the future", "a clock that is set back loses nothing", func(table *eventTable, s *events) {
		s.claim = func(keys []string, lease time.Duration) hotelstays.ClaimState {
			table.mu.Lock()
			for key, row := range table.rows {
				if row.until.After(table.now().Add(20 * time.Hour)) {
					delete(table.rows, key)
				}
			}
			table.mu.Unlock()
			return table.claim(keys, lease)
		}
	}},
	{"looks and then claims", "one of many claims at once is granted", func(table *eventTable, s *events) {
		s.claim = func(keys []string, lease time.Duration) hotelstays.ClaimState {
			state := table.state(keys)
			hesitate()
			if state == hotelstays.ClaimGranted {
				table.mu.Lock()
				defer table.mu.Unlock()
				table.put(keys, eventRow{until: time.Now().Add(lease)})
			}
			return state
		}
	}},
	{"waits whatever its ctx says", "methods return when ctx ends", func(_ *eventTable, s *events) { s.blind = true }},
}
