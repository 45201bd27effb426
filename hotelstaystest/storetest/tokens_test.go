// Faults of token stores.

package storetest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

func TestTokenLeaser(t *testing.T) {
	storetest.TestTokenLeaser(t, tokenFleet(func(*tokenTable, *tokens) {}), storetest.InBubble())
}

// tokenFleet makes fleets whose stores have a fault.
func tokenFleet(plant func(*tokenTable, *tokens)) func(*testing.T) storetest.Fleet[hotelstays.TokenLeaser] {
	return func(*testing.T) storetest.Fleet[hotelstays.TokenLeaser] {
		table := newTokenTable()
		return fleetOf[hotelstays.TokenLeaser, *tokens](func() hotelstays.TokenLeaser {
			s := table.open()
			plant(table, s)
			return s
		})
	}
}

// mapTokenKeys makes a store use other keys.
func mapTokenKeys(s *tokens, change func(string) string) {
	load, store, remove := s.load, s.store, s.remove
	s.load = func(key string) (hotelstays.Token, error) { return load(change(key)) }
	s.store = func(key string, t hotelstays.Token) { store(change(key), t) }
	s.remove = func(key string, refused hotelstays.Token) error { return remove(change(key), refused) }
}

// mapExpiry makes a store keep another expiry.
func mapExpiry(table *tokenTable, s *tokens, change func(time.Time) time.Time) {
	s.store = func(key string, t hotelstays.Token) {
		if !t.Expiry.IsZero() {
			t.Expiry = change(t.Expiry)
		}
		table.store(key, t)
	}
}

var errNoRows = errors.New("no rows")

type tokenFault struct {
	name, caughtBy string
	plant          func(table *tokenTable, s *tokens)
}

var tokenFaults = []tokenFault{
	{"has an error for no token", "Load without a token returns a zero Token", func(table *tokenTable, s *tokens) {
		s.load = func(key string) (hotelstays.Token, error) {
			t, err := table.load(key)
			if t.Value.IsZero() {
				err = errNoRows
			}
			return t, err
		}
	}},
	{"keeps the JSON of a Token", "Load returns what was stored", func(table *tokenTable, s *tokens) {
		s.store = func(key string, t hotelstays.Token) {
			text, _ := json.Marshal(t)
			_ = json.Unmarshal(text, &t)
			table.store(key, t)
		}
	}},
	{"stores in its own process", "every process loads the token", func(_ *tokenTable, s *tokens) {
		alone := newTokenTable().open()
		s.load, s.store, s.remove = alone.load, alone.store, alone.remove
	}},
	{"keeps the first token", "a later token replaces an earlier one", func(table *tokenTable, s *tokens) {
		s.store = func(key string, t hotelstays.Token) {
			if found, _ := table.load(key); found.Value.IsZero() {
				table.store(key, t)
			}
		}
	}},
	{"takes no expiry for a day", "a token without an expiry stays", func(table *tokenTable, s *tokens) {
		s.store = func(key string, t hotelstays.Token) {
			if t.Expiry.IsZero() {
				t.Expiry = time.Now().Add(24 * time.Hour)
			}
			table.store(key, t)
		}
	}},
	{"ends a token early", "a token is there until its expiry", func(table *tokenTable, s *tokens) {
		mapExpiry(table, s, func(at time.Time) time.Time { return at.Add(-time.Minute) })
	}},
	{"forgets the expiry of a token", "a token is there until its expiry", func(table *tokenTable, s *tokens) {
		s.load = func(key string) (hotelstays.Token, error) {
			table.mu.Lock()
			defer table.mu.Unlock()
			return table.tokens[key], nil
		}
	}},
	{"compares keys regardless of case", "keys differ in any byte", func(_ *tokenTable, s *tokens) { mapTokenKeys(s, strings.ToLower) }},
	{"ignores trailing blanks", "keys differ in any byte", func(_ *tokenTable, s *tokens) { mapTokenKeys(s, trimmed) }},
	{"cuts long keys", "keys differ in any byte", func(_ *tokenTable, s *tokens) { mapTokenKeys(s, cutAt(255)) }},
	{"deletes nothing", "CompareAndDelete deletes the refused token for all", func(_ *tokenTable, s *tokens) {
		s.remove = func(string, hotelstays.Token) error { return nil }
	}},
	{"compares the expiry", "CompareAndDelete compares the value alone", func(table *tokenTable, s *tokens) {
		s.remove = func(key string, refused hotelstays.Token) error {
			if found, _ := table.load(key); found.Expiry.Equal(refused.Expiry) {
				return table.remove(key, refused)
			}
			return nil
		}
	}},
	{"deletes any token", "CompareAndDelete keeps every other token", func(table *tokenTable, s *tokens) {
		s.remove = func(key string, _ hotelstays.Token) error {
			found, _ := table.load(key)
			return table.remove(key, found)
		}
	}},
	{"deletes the token under all keys", "CompareAndDelete keeps every other token", func(table *tokenTable, s *tokens) {
		s.remove = func(_ string, refused hotelstays.Token) error {
			table.mu.Lock()
			defer table.mu.Unlock()
			for key, t := range table.tokens {
				if t.Value.Equal(refused.Value) {
					delete(table.tokens, key)
				}
			}
			return nil
		}
	}},
	{"has an error for nothing to delete", "CompareAndDelete without a token does nothing", func(table *tokenTable, s *tokens) {
		s.remove = func(key string, refused hotelstays.Token) error {
			if found, _ := table.load(key); found.Value.IsZero() {
				return errNoRows
			}
			return table.remove(key, refused)
		}
	}},
	{"compares and then deletes", "CompareAndDelete never deletes a successor", func(table *tokenTable, s *tokens) {
		s.remove = func(key string, refused hotelstays.Token) error {
			found, _ := table.load(key)
			if !found.Value.Equal(refused.Value) {
				return nil
			}
			hesitate()
			found, _ = table.load(key)
			return table.remove(key, found)
		}
	}},
	{"stores value and expiry apart", "callers at once load whole tokens", func(table *tokenTable, s *tokens) {
		s.store = func(key string, t hotelstays.Token) {
			found, _ := table.load(key)
			table.store(key, hotelstays.Token{Value: t.Value, Expiry: found.Expiry})
			hesitate()
			table.store(key, t)
		}
	}},
	{"waits whatever its ctx says", "methods return when ctx ends", func(_ *tokenTable, s *tokens) { s.blind = true }},
}
