package storetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

func TestTokenLeaserPassesTheSuite(t *testing.T) {
	storetest.TestTokenLeaser(t, tokenFleet(""), &storetest.Options{InBubble: true})
}

var tokenFaults = []plantedFault{
	{"returns an error if there is no token", "every process loads the token"},
	{"stores the JSON of a Token", "Load returns what was stored"},
	{"stores tokens in its own process", "every process loads the token"},
	{"keeps the first token", "a later token replaces an earlier one"},
	{"replaces a missing expiry by an expiry in a day", "a later token replaces an earlier one"},
	{"ends a token early", "Load returns a token until its expiry"},
	{"treats a past expiry as a missing expiry", "an expired token is never loaded"},
	{"ignores the expiry of a token", "Load returns a token until its expiry"},
	{ignoresCase, "keys that differ in one byte are different keys"},
	{ignoresBlanks, "keys that differ in one byte are different keys"},
	{cutsKeys, "keys that differ in one byte are different keys"},
	{"deletes nothing", "CompareAndDelete deletes the refused token for all processes"},
	{"compares the expiry", "CompareAndDelete deletes the refused token for all processes"},
	{"deletes any token", "CompareAndDelete keeps every other token"},
	{"deletes the tokens of all keys", "CompareAndDelete keeps every other token"},
	{"returns an error if there is nothing to delete", "CompareAndDelete deletes the refused token for all processes"},
	{"compares and deletes in two steps", "CompareAndDelete never deletes a successor"},
	{"stores value and expiry in two steps", "concurrent callers load whole tokens"},
	{waitsOn, "methods return when ctx ends"},
	{"grants the lease to every caller", "one caller has the lease until it calls release"},
	{"releases nothing", "one caller has the lease until it calls release"},
	{"has one lease for all keys", "each key has its own lease"},
	{"has lease and token in one row", "a lease does not change the token"},
	{"looks and leases in two steps", "only one of many concurrent callers has the lease"},
	{"ends a lease when ctx ends", "a live holder keeps the lease"},
	{"has a lease of five seconds", "a live holder keeps the lease"},
	{"has leases that do not end", "the lease of a dead process ends, even after a late renewal"},
	{"releases the lease of another caller, too", "a late release ends no other lease"},
	{"renews the lease of another caller, too", "the lease of a dead process ends, even after a late renewal"},
}

// tokenFleet returns a function that starts a fleet of token stores. The stores have the fault; "" means no fault.
func tokenFleet(fault string) func(*testing.T) storetest.Fleet[hotelstays.TokenLeaser] {
	return func(*testing.T) storetest.Fleet[hotelstays.TokenLeaser] {
		return fleetOf[hotelstays.TokenLeaser, *tokens](newTokenTable(fault).open)
	}
}

// tokenTable holds the tokens and leases that the token stores of all processes share. Its leases are longer than a fetch, so they
// need no renewal.
type tokenTable struct {
	fault  string
	mu     sync.Mutex
	tokens map[string]hotelstays.Token
	leases map[string]*time.Time
}

func newTokenTable(fault string) *tokenTable {
	return &tokenTable{fault: fault, tokens: map[string]hotelstays.Token{}, leases: map[string]*time.Time{}}
}

// tokens is the token store of one process.
type tokens struct {
	gate
	*tokenTable
}

func (s *tokenTable) open() hotelstays.TokenLeaser {
	if s.fault == "stores tokens in its own process" {
		s = newTokenTable("")
	}
	return &tokens{gate{blind: s.fault == waitsOn}, s}
}

var errNoRows = errors.New("no rows")

// find returns the token under a key. If the token has expired, find returns a zero Token.
func (s *tokenTable) find(key string) hotelstays.Token {
	t := s.tokens[key]
	if !t.Expiry.IsZero() && !t.Expiry.After(time.Now()) && s.fault != "ignores the expiry of a token" {
		return hotelstays.Token{}
	}
	return t
}

func (s *tokens) Load(ctx context.Context, key string) (hotelstays.Token, error) {
	if err := s.pass(ctx); err != nil {
		return hotelstays.Token{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(changeKey(s.fault, key))
	if s.fault == "returns an error if there is no token" && found.Value.IsZero() {
		return found, errNoRows
	}
	return found, nil
}

func (s *tokens) Store(ctx context.Context, key string, t hotelstays.Token) error {
	if err := s.pass(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key = changeKey(s.fault, key)
	found := s.find(key)
	switch s.fault {
	case "stores the JSON of a Token":
		text, _ := json.Marshal(t)
		_ = json.Unmarshal(text, &t)
	case "keeps the first token":
		if !found.Value.IsZero() {
			t = found
		}
	case "replaces a missing expiry by an expiry in a day":
		if t.Expiry.IsZero() {
			t.Expiry = time.Now().Add(24 * time.Hour)
		}
	case "treats a past expiry as a missing expiry":
		if !t.Expiry.After(time.Now()) {
			t.Expiry = time.Time{}
		}
	case "ends a token early":
		if !t.Expiry.IsZero() {
			t.Expiry = t.Expiry.Add(-time.Minute)
		}
	case "stores value and expiry in two steps":
		s.tokens[key] = hotelstays.Token{Value: t.Value, Expiry: found.Expiry}
		hesitate(&s.mu)
	}
	s.tokens[key] = t
	return nil
}

func (s *tokens) CompareAndDelete(ctx context.Context, key string, refused hotelstays.Token) error {
	if err := s.pass(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key = changeKey(s.fault, key)
	found := s.find(key)
	isRefused := func(t hotelstays.Token) bool { return t.Value.Equal(refused.Value) }
	remove := isRefused(found)
	switch s.fault {
	case "deletes nothing":
		remove = false
	case "compares the expiry":
		remove = remove && found.Expiry.Equal(refused.Expiry)
	case "deletes any token":
		remove = true
	case "deletes the tokens of all keys":
		for key, t := range s.tokens {
			if isRefused(t) {
				delete(s.tokens, key)
			}
		}
	case "returns an error if there is nothing to delete":
		if found.Value.IsZero() {
			return errNoRows
		}
	case "compares and deletes in two steps":
		hesitate(&s.mu)
	}
	if remove {
		delete(s.tokens, key)
	}
	return nil
}

func (s *tokenTable) isLeased(key string) bool {
	end := s.leases[key]
	return end != nil && end.After(time.Now())
}

func (s *tokens) TryLease(ctx context.Context, key string) (release func(), ok bool, err error) {
	if err := s.pass(ctx); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key = changeKey(s.fault, key)
	span := 30 * time.Second
	switch s.fault {
	case "has one lease for all keys":
		key = ""
	case "has a lease of five seconds":
		span = 5 * time.Second
	case "has leases that do not end":
		span = time.Hour
	}
	if s.isLeased(key) && s.fault != "grants the lease to every caller" {
		return nil, false, nil
	}
	if s.fault == "looks and leases in two steps" {
		hesitate(&s.mu)
	}
	end := time.Now().Add(span)
	s.leases[key] = &end
	release = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.leases[key] == &end && s.fault != "releases nothing" || s.fault == "releases the lease of another caller, too" {
			delete(s.leases, key)
		}
	}
	switch s.fault {
	case "has lease and token in one row":
		s.tokens[key] = hotelstays.Token{}
	case "ends a lease when ctx ends":
		context.AfterFunc(ctx, release)
	}
	return release, true, nil
}

// freeze blocks the calls of a process. With the fault below, thaw renews all leases, also those of other callers.
func (s *tokens) freeze() (thaw func()) {
	open := s.gate.freeze()
	if s.fault != "renews the lease of another caller, too" {
		return open
	}
	return func() {
		open()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, end := range s.leases {
			*end = time.Now().Add(time.Hour)
		}
	}
}
