// Planted faults: each suite catches each of them, and each case catches at least one.

package storetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
)

// plantVariable makes TestPlanted run the faulty implementations, in a process of its own.
const plantVariable = "HOTELSTAYS_TEST_PLANTED"

// TestFaultsAreCaught runs TestPlanted in another process, because there it must fail.
func TestFaultsAreCaught(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run", "^TestPlanted$", "-test.v")
	cmd.Env = append(os.Environ(), plantVariable+"=1")
	output, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if !errors.As(err, &failed) || failed.ExitCode() != 1 {
		t.Fatalf("the process with the faults ended with %v:\n%s", err, output)
	}
	ran := matches(`(?m)^=== RUN   TestPlanted/(.*)$`, output)
	broken := matches(`(?m)^ *--- FAIL: TestPlanted/(\S*)`, output)
	if !strings.Contains(string(output), "promised: ") || !strings.Contains(string(output), "look at:  ") {
		t.Error("no failure names the promise and where to look")
	}

	caught := map[string]bool{}
	for name, want := range planted() {
		name, want = subtest(name), subtest(want)
		if !slices.Contains(broken, name+"/"+want) {
			t.Errorf("fault %q is not caught by %q", name, want)
		}
	}
	for _, name := range broken {
		if suite, rest, ok := strings.Cut(name, "/"); ok {
			if _, test, ok := strings.Cut(rest, "/"); ok {
				caught[suite+"/"+test] = true
			}
		}
	}
	for _, name := range ran {
		if parts := strings.SplitN(name, "/", 3); len(parts) == 3 && !caught[parts[0]+"/"+parts[2]] {
			t.Errorf("%s: the case %q catches no fault", parts[0], parts[2])
			caught[parts[0]+"/"+parts[2]] = true // once
		}
	}
}

func subtest(name string) string { return strings.ReplaceAll(name, " ", "_") }

func matches(pattern string, text []byte) (found []string) {
	for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
		found = append(found, string(match[1]))
	}
	return found
}

// planted returns which case catches a fault, by suite and fault.
func planted() map[string]string {
	all := map[string]string{}
	for _, f := range eventFaults {
		all["events/"+f.name] = f.caughtBy
	}
	for _, f := range tokenFaults {
		all["tokens/"+f.name] = f.caughtBy
	}
	for _, f := range limiterFaults {
		all["limiter/"+f.name] = f.caughtBy
	}
	return all
}

// TestPlanted fails. It is run by TestFaultsAreCaught.
func TestPlanted(t *testing.T) {
	if os.Getenv(plantVariable) == "" {
		return
	}
	t.Run("events", func(t *testing.T) {
		for _, f := range eventFaults {
			t.Run(f.name, func(t *testing.T) {
				storetest.TestEventStore(t, func(*testing.T) storetest.Fleet[hotelstays.EventStore] {
					table := newEventTable()
					return fleetOf[hotelstays.EventStore, *events](func() hotelstays.EventStore {
						s := table.open()
						f.plant(table, s)
						return s
					})
				}, storetest.InBubble())
			})
		}
	})
	t.Run("tokens", func(t *testing.T) {
		for _, f := range tokenFaults {
			t.Run(f.name, func(t *testing.T) {
				storetest.TestTokenLeaser(t, func(*testing.T) storetest.Fleet[hotelstays.TokenLeaser] {
					table := newTokenTable()
					return fleetOf[hotelstays.TokenLeaser, *tokens](func() hotelstays.TokenLeaser {
						s := table.open()
						f.plant(table, s)
						return s
					})
				}, storetest.InBubble())
			})
		}
	})
	t.Run("limiter", func(t *testing.T) {
		for _, f := range limiterFaults {
			t.Run(f.name, func(t *testing.T) {
				storetest.TestRateLimiter(t, func(*testing.T) storetest.Fleet[hotelstays.RateLimiter] {
					shared := newWindows(hotelstays.Operation.RateLimit, time.Second)
					fleet := fleetOf[hotelstays.RateLimiter, *limiter](func() hotelstays.RateLimiter {
						l := shared.open()
						f.plant(shared, l)
						return l
					})
					if f.immortal {
						fleet.Freeze = func(hotelstays.RateLimiter) func() { return func() {} }
					}
					return fleet
				}, storetest.InBubble())
			})
		}
	})
}

// hesitate makes room for other callers between two steps.
func hesitate() { time.Sleep(time.Millisecond) }

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

func cutAt(n int) func(string) string {
	return func(key string) string { return key[:min(n, len(key))] }
}

func trimmed(key string) string { return strings.TrimRight(key, " ") }

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
	{"looks at the first key alone", "a claim of one common key is busy", func(table *eventTable, s *events) {
		s.claim = func(keys []string, lease time.Duration) hotelstays.ClaimState {
			state := table.claim(keys[:1], lease)
			if state == hotelstays.ClaimGranted {
				for _, key := range keys[1:] {
					table.claim([]string{key}, lease)
				}
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
	{"looks and then claims", "one of many claims at once is granted", looksAndThenClaims},
	{"looks, and then claims", "no key is claimed twice at once", looksAndThenClaims},
	{"waits whatever its ctx says", "methods return when ctx ends", func(_ *eventTable, s *events) { s.blind = true }},
}

func looksAndThenClaims(table *eventTable, s *events) {
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

var tokenFaults = []struct {
	name, caughtBy string
	plant          func(table *tokenTable, s *tokens)
}{
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
	{"rounds the expiry up", "Load returns what was stored", func(table *tokenTable, s *tokens) {
		mapExpiry(table, s, func(at time.Time) time.Time { return at.Add(time.Second / 2) })
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
	{"keeps the expiry of the first token", "a later token replaces an earlier one", func(table *tokenTable, s *tokens) {
		s.store = func(key string, t hotelstays.Token) {
			if found, _ := table.load(key); !found.Expiry.IsZero() && t.Expiry.IsZero() {
				t.Expiry = found.Expiry
			}
			table.store(key, t)
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
	{"takes a past expiry for none", "an expired token is never loaded", func(table *tokenTable, s *tokens) {
		s.store = func(key string, t hotelstays.Token) {
			if !t.Expiry.After(time.Now()) {
				t.Expiry = time.Time{}
			}
			table.store(key, t)
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

	{"leases to everybody", "one caller has the lease", func(_ *tokenTable, s *tokens) {
		s.lease = func(context.Context, string) (func(), bool) { return func() {}, true }
	}},
	{"releases nothing", "release gives the lease to the next caller", func(table *tokenTable, s *tokens) {
		s.lease = func(_ context.Context, key string) (func(), bool) {
			_, ok := table.lease(key, 30*time.Second)
			return func() {}, ok
		}
	}},
	{"has one lease for all keys", "each key has its own lease", func(table *tokenTable, s *tokens) {
		s.lease = func(context.Context, string) (func(), bool) { return table.lease("", 30*time.Second) }
	}},
	{"cuts long keys of leases", "each key has its own lease", func(table *tokenTable, s *tokens) {
		s.lease = func(_ context.Context, key string) (func(), bool) {
			return table.lease(cutAt(254)(key), 30*time.Second)
		}
	}},
	{"has lease and token in one row", "a lease leaves the token alone", func(table *tokenTable, s *tokens) {
		s.lease = func(_ context.Context, key string) (func(), bool) {
			release, ok := table.lease(key, 30*time.Second)
			if ok {
				table.store(key, hotelstays.Token{})
			}
			return release, ok
		}
	}},
	{"looks and then leases", "of many callers at once one has the lease", func(table *tokenTable, s *tokens) {
		s.lease = func(_ context.Context, key string) (func(), bool) {
			table.mu.Lock()
			leased := table.leased(key)
			table.mu.Unlock()
			if leased {
				return nil, false
			}
			hesitate()
			release, ok := table.lease(key, 30*time.Second)
			if !ok {
				release = func() {}
			}
			return release, true
		}
	}},
	{"ends a lease with ctx", "a lease outlives the ctx of TryLease", func(table *tokenTable, s *tokens) {
		s.lease = func(ctx context.Context, key string) (func(), bool) {
			release, ok := table.lease(key, 30*time.Second)
			if ok {
				context.AfterFunc(ctx, release)
			}
			return release, ok
		}
	}},
	{"has a lease of five seconds", "a live holder keeps the lease", func(table *tokenTable, s *tokens) {
		s.lease = func(_ context.Context, key string) (func(), bool) { return table.lease(key, 5*time.Second) }
	}},
	{"has leases that do not end", "the lease of a dead process ends", func(table *tokenTable, s *tokens) {
		s.lease = func(_ context.Context, key string) (func(), bool) { return table.lease(key, time.Hour) }
	}},
	{"releases whatever lease there is", "a late release ends no other lease", func(table *tokenTable, s *tokens) {
		s.lease = func(_ context.Context, key string) (func(), bool) {
			_, ok := table.lease(key, 30*time.Second)
			return func() {
				table.mu.Lock()
				defer table.mu.Unlock()
				delete(table.leases, key)
			}, ok
		}
	}},
	{"renews whatever lease there is", "a late renewal keeps no other lease", func(table *tokenTable, s *tokens) {
		s.lease = func(ctx context.Context, key string) (func(), bool) {
			release, ok := table.lease(key, 5*time.Second)
			if !ok {
				return nil, false
			}
			ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
			var renewing sync.WaitGroup
			renewing.Go(func() { s.renewAny(ctx, table, key) })
			return func() {
				stop()
				renewing.Wait()
				release()
			}, true
		}
	}},
	{"leases whatever its ctx says", "TryLease returns when ctx ends, and leaves no lease for good", func(_ *tokenTable, s *tokens) { s.blind = true }},
}

// renewAny prolongs the lease of a key each second, whoever has it, unless s is frozen.
func (s *tokens) renewAny(ctx context.Context, table *tokenTable, key string) {
	for s.pass(ctx) == nil {
		table.mu.Lock()
		if end := table.leases[key]; end != nil && table.leased(key) {
			*end = time.Now().Add(5 * time.Second)
		}
		table.mu.Unlock()
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// changedPermit ends another way than its permit.
type changedPermit struct {
	hotelstays.Permit
	sent bool
	at   time.Time
	done func(p *changedPermit, r hotelstays.PermitResult)
}

func (p *changedPermit) Sent() {
	p.sent, p.at = true, time.Now()
	p.Permit.Sent()
}

func (p *changedPermit) Done(r hotelstays.PermitResult) { p.done(p, r) }

// changeDone makes a limiter's permits end another way.
func changeDone(w windows, l *limiter, done func(p *changedPermit, r hotelstays.PermitResult)) {
	l.acquire = func(ctx context.Context, op hotelstays.Operation) (hotelstays.Permit, error) {
		p, err := w.acquire(ctx, op)
		if err != nil || p == nil {
			return nil, err
		}
		return &changedPermit{Permit: p, done: done}, nil
	}
}

// changeLimit makes a limiter use other windows.
func changeLimit(w windows, n func(hotelstays.Operation) int, window time.Duration) {
	other := newWindows(n, window)
	for op := range other {
		if w[op] == nil || w[op] != other[op] {
			w[op] = other[op]
		}
	}
}

// once plants in the first process to open, for what processes share.
func once(w windows, plant func()) {
	if w["planted"] == nil {
		w["planted"] = ratelimit.NewWindow(1, time.Second, 0)
		plant()
	}
}

// poll tries again and again to get a slot that is free.
func poll(ctx context.Context, w windows, op hotelstays.Operation, pause time.Duration) (hotelstays.Permit, error) {
	for {
		try, cancel := context.WithTimeout(ctx, time.Nanosecond)
		p, err := w.acquire(try, op)
		cancel()
		if err == nil {
			return p, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func isLimited(op hotelstays.Operation) bool { return op.RateLimit() > 0 }

var limiterFaults = []struct {
	name, caughtBy string
	plant          func(w windows, l *limiter)
	immortal       bool // processes
}{
	{name: "grants one slot less", caughtBy: "all slots are granted", plant: func(w windows, _ *limiter) {
		once(w, func() { changeLimit(w, func(op hotelstays.Operation) int { return op.RateLimit() - 1 }, time.Second) })
	}},
	{name: "grants one slot more", caughtBy: "no more slots are granted than the limit", plant: func(w windows, _ *limiter) {
		once(w, func() {
			changeLimit(w, func(op hotelstays.Operation) int {
				if n := op.RateLimit(); n > 0 {
					return n + 1
				}
				return 0
			}, time.Second)
		})
	}},
	{name: "counts in its own process", caughtBy: "no more slots are granted than the limit", plant: func(_ windows, l *limiter) {
		alone := newWindows(hotelstays.Operation.RateLimit, time.Second)
		l.acquire, l.pause = alone.acquire, alone.pause
	}},
	{name: "frees a slot at Done", caughtBy: "no more requests leave in a second than the limit", plant: func(w windows, _ *limiter) {
		once(w, func() { changeLimit(w, hotelstays.Operation.RateLimit, time.Millisecond) })
	}},
	{name: "counts from the departure", caughtBy: "no more requests arrive in a second than the limit", plant: func(w windows, l *limiter) {
		changeDone(w, l, func(p *changedPermit, _ hotelstays.PermitResult) {
			p.Permit.Done(hotelstays.PermitResult{ArrivedBy: p.at})
		})
	}},
	{name: "counts over three seconds", caughtBy: "waiting callers use most of the limit", plant: func(w windows, _ *limiter) {
		once(w, func() { changeLimit(w, hotelstays.Operation.RateLimit, 3*time.Second) })
	}},
	{name: "forgets who waits", caughtBy: "every waiting caller gets a slot", plant: func(w windows, l *limiter) {
		l.acquire = func(ctx context.Context, op hotelstays.Operation) (hotelstays.Permit, error) {
			if !isLimited(op) {
				return w.acquire(ctx, op)
			}
			return poll(ctx, w, op, 1000*time.Hour)
		}
	}},
	{name: "takes a permit that was not sent for sent", caughtBy: "a permit that was not sent is free at once", plant: func(w windows, l *limiter) {
		changeDone(w, l, func(p *changedPermit, r hotelstays.PermitResult) {
			if !p.sent {
				p.Permit.Sent()
			}
			p.Permit.Done(r)
		})
	}},
	{name: "loses a permit that was not sent", caughtBy: "a permit that was not sent is free at once", plant: func(w windows, l *limiter) {
		changeDone(w, l, func(p *changedPermit, r hotelstays.PermitResult) {
			if p.sent {
				p.Permit.Done(r)
			}
		})
	}},
	{name: "looks for a slot each second", caughtBy: "a caller that waits gets a permit that was not sent", plant: func(w windows, l *limiter) {
		l.acquire = func(ctx context.Context, op hotelstays.Operation) (hotelstays.Permit, error) {
			if !isLimited(op) {
				return w.acquire(ctx, op)
			}
			return poll(ctx, w, op, time.Second)
		}
	}},
	{name: "ignores Pause", caughtBy: "Pause grants nothing until its end", plant: func(_ windows, l *limiter) {
		l.pause = func(hotelstays.Operation, time.Time) {}
	}},
	{name: "looks at the pause before it waits", caughtBy: "Pause holds callers that wait", plant: func(w windows, l *limiter) {
		var paused time.Time
		l.pause = func(op hotelstays.Operation, until time.Time) { paused = until }
		l.acquire = func(ctx context.Context, op hotelstays.Operation) (hotelstays.Permit, error) {
			time.Sleep(time.Until(paused))
			return w.acquire(ctx, op)
		}
	}},
	{name: "pauses its own process", caughtBy: "Pause holds every process", plant: func(w windows, l *limiter) {
		alone := newWindows(hotelstays.Operation.RateLimit, time.Second)
		l.pause = alone.pause
		l.acquire = func(ctx context.Context, op hotelstays.Operation) (hotelstays.Permit, error) {
			if isLimited(op) {
				p, err := alone.acquire(ctx, op)
				if err != nil {
					return nil, err
				}
				p.Done(hotelstays.PermitResult{})
			}
			return w.acquire(ctx, op)
		}
	}},
	{name: "keeps the last pause", caughtBy: "the longest pause counts", plant: func(w windows, l *limiter) {
		var paused time.Time
		l.pause = func(op hotelstays.Operation, until time.Time) {
			if isLimited(op) {
				paused = until
			}
		}
		l.acquire = func(ctx context.Context, op hotelstays.Operation) (hotelstays.Permit, error) {
			time.Sleep(time.Until(paused))
			return w.acquire(ctx, op)
		}
	}},
	{name: "pauses all operations", caughtBy: "Pause holds its operation alone", plant: func(w windows, l *limiter) {
		l.pause = func(_ hotelstays.Operation, until time.Time) {
			for op := range w {
				w.pause(op, until)
			}
		}
	}},
	{name: "has one budget", caughtBy: "operations have separate budgets", plant: func(w windows, _ *limiter) {
		once(w, func() {
			for op := range w {
				w[op] = w[hotelstays.OpTicket]
			}
		})
	}},
	{name: "counts the token's request with the ticket's", caughtBy: "operations have separate budgets", plant: func(w windows, _ *limiter) {
		w[hotelstays.OpOAuthToken] = w[hotelstays.OpTicket]
	}},
	{name: "limits all operations", caughtBy: "operations without a rate limit are granted at once", plant: func(w windows, _ *limiter) {
		w[hotelstays.OpOAuthToken] = ratelimit.NewWindow(10, time.Second, 0)
	}},
	{name: "ignores ctx", caughtBy: "Acquire returns ctx's error when ctx ends", plant: func(w windows, l *limiter) {
		l.acquire = func(_ context.Context, op hotelstays.Operation) (hotelstays.Permit, error) {
			forLong, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			return w.acquire(forLong, op)
		}
	}},
	{name: "hides ctx's error", caughtBy: "Acquire returns ctx's error when ctx ends", plant: func(w windows, l *limiter) {
		l.acquire = func(ctx context.Context, op hotelstays.Operation) (hotelstays.Permit, error) {
			p, err := w.acquire(ctx, op)
			if err != nil {
				err = errors.New("no slot")
			}
			return p, err
		}
	}},
	{name: "takes a slot for an ended ctx", caughtBy: "an ended ctx takes no slot", plant: func(w windows, l *limiter) {
		l.acquire = func(ctx context.Context, op hotelstays.Operation) (hotelstays.Permit, error) {
			if ctx.Err() != nil {
				lost, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Nanosecond)
				defer cancel()
				_, _ = w.acquire(lost, op)
				return nil, ctx.Err()
			}
			return w.acquire(ctx, op)
		}
	}},
	{name: "grants a slot to a caller that gave up", caughtBy: "a caller that gives up takes no slot", plant: func(w windows, l *limiter) {
		l.acquire = func(ctx context.Context, op hotelstays.Operation) (hotelstays.Permit, error) {
			if ctx.Err() != nil || !isLimited(op) {
				return w.acquire(ctx, op)
			}
			forLong, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			p, err := w.acquire(forLong, op)
			if ctx.Err() != nil { // and loses it
				return nil, ctx.Err()
			}
			return p, err
		}
	}},
	{name: "waits for its server in Done", caughtBy: "Sent and Done do not block", plant: func(_ windows, l *limiter) { l.slow = time.Second }},
	{name: "keeps the slots of the dead", caughtBy: "slots of a dead process come back", plant: func(windows, *limiter) {}, immortal: true},
}
