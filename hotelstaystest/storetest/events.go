// The promises of an EventStore.

package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// TestEventStore tests an EventStore. The function start must start a fleet for one case.
func TestEventStore(t *testing.T, start func(t *testing.T) Fleet[hotelstays.EventStore], opts *Options) {
	t.Helper()
	runAll(t, start, opts, eventPromises, func(*eventCase) {})
}

type eventCase = run[hotelstays.EventStore]

const (
	granted = hotelstays.ClaimGranted
	busy    = hotelstays.ClaimBusy
	done    = hotelstays.ClaimDone
)

const saysAllOrNone = "Claim claims all keys, or none of them"

var eventPromises = []promise[hotelstays.EventStore]{
	{"Claim claims all keys or none", saysAllOrNone + ": it returns ClaimBusy if any key is claimed",
		"Claim: does it look at every key, and at the claims of its own process? Are earlier keys released if a later key is busy or done?",
		allOrNone},
	{"Claim returns done if any key is done", "Claim returns ClaimDone if any key is done, else ClaimBusy if any is claimed",
		"Claim: does it return at the first key that is busy?", doneBeforeBusy},
	{"a claim ends with its lease", "a claim expires after lease",
		"the expiry that Claim stores, its unit, the clock it is compared with; does Claim replace the expiry of an expired claim?", claimEnds},
	{"done keys stay done for the retention", "Done marks all keys as done, for at least retention",
		"Done: its loop over keys, and where it stores the state; does the lease of the claim still end the key?", doneForRetention},
	{"Done marks keys that are not claimed", "Done marks all keys as done, also if their claim has expired or another caller has claimed them",
		"Done: does it update only keys that are claimed, or only its own claims?", doneWithoutClaim},
	{"Release ends the claims of all keys", "Release ends the claims of all keys; keys that are done stay done",
		"Release: its loop over keys, and which rows it deletes; does it look at the state of a key?", releaseEnds},
	{"concurrent calls do not undo Done", "keys that are done stay done",
		"Release and Claim: they must compare and change in one step, not read and then write", doneStays},
	{"keys that differ in one byte are different keys", "keys are compared byte by byte, and have at most 255 bytes of UTF-8",
		"the collation of the column (case, accents, trailing blanks), its length, and how keys are escaped", eventKeysDiffer},
	{"only one of many concurrent claims is granted", "the methods must be safe for concurrent use",
		"Claim: it must look and claim in one step; keys in different orders must not deadlock", oneOfManyClaims},
	{"claims and done keys stay if a clock is set back", "claims and done keys stay if a server's clock is set back",
		"how expired keys are found, and how the store treats times in the future", eventsAfterSetBack},
	{"methods return when ctx ends", "methods must return when ctx ends",
		"what the methods wait for: a lock, a connection, a retry", eventsReturn},
}

// claim calls Claim, and fails the test unless the resulting state is want.
func claim(c *eventCase, s hotelstays.EventStore, want hotelstays.ClaimState, lease time.Duration, keys ...string) {
	c.Helper()
	state, err := s.Claim(c.Context(), keys, lease)
	c.mustNot(err, "Claim(%q)", keys)
	if state != want {
		c.broken("Claim(%q) is %q instead of %q", keys, state, want)
	}
}

func wants(c *eventCase, s hotelstays.EventStore, want hotelstays.ClaimState, keys ...string) {
	c.Helper()
	claim(c, s, want, time.Hour, keys...)
}

// stays fails the test unless both processes see the state want for each key.
func stays(c *eventCase, want hotelstays.ClaimState, keys ...string) {
	c.Helper()
	for _, key := range keys {
		wants(c, c.a, want, key)
		wants(c, c.b, want, key)
	}
}

func markDone(c *eventCase, s hotelstays.EventStore, retention time.Duration, keys ...string) {
	c.Helper()
	c.mustNot(s.Done(c.Context(), keys, retention), "Done(%q)", keys)
}

func release(c *eventCase, s hotelstays.EventStore, keys ...string) {
	c.Helper()
	c.mustNot(s.Release(c.Context(), keys), "Release(%q)", keys)
}

func allOrNone(c *eventCase) {
	for _, taken := range []hotelstays.ClaimState{busy, done} {
		for place := range 3 {
			k := keys("a", "b", "c")
			wants(c, c.a, granted, k[place])
			if taken == done {
				markDone(c, c.a, time.Hour, k[place])
			}
			wants(c, c.a, taken, k...)
			wants(c, c.b, taken, k...)
			free := slices.Delete(k, place, place+1)
			wants(c, c.a, granted, free...)
			stays(c, busy, free...)
		}
	}
}

func doneBeforeBusy(c *eventCase) {
	k := keys("busy", "done")
	wants(c, c.a, granted, k[0])
	markDone(c, c.a, time.Hour, k[1])
	wants(c, c.b, done, k[0], k[1])
	wants(c, c.b, done, k[1], k[0])
}

func claimEnds(c *eventCase) {
	var k []string
	c.halfway(func(lease time.Duration) {
		k = keys("a", "b")
		claim(c, c.a, granted, lease, k...)
	}, func() string {
		state, err := c.b.Claim(c.Context(), k[1:], time.Hour)
		c.mustNot(err, "Claim(%q)", k[1:])
		if state == busy {
			return ""
		}
		return fmt.Sprintf("a claimed key is %q instead of busy", state)
	})
	wants(c, c.b, granted, k...)
	stays(c, busy, k...)
}

func doneForRetention(c *eventCase) {
	k := keys("a", "b")
	retention := 14 * 24 * time.Hour
	claim(c, c.a, granted, time.Second/2, k...)
	markDone(c, c.a, retention, k...)
	wants(c, c.b, done, k[0])
	if c.isWaiting() {
		c.pass(time.Second) // longer than the lease
	} else {
		c.pass(retention - time.Minute)
	}
	stays(c, done, k...)
}

func doneWithoutClaim(c *eventCase) {
	k := keys("never claimed", "expired", "claimed by another")
	markDone(c, c.a, time.Hour, k[0])
	wants(c, c.b, done, k[0])
	claim(c, c.a, granted, time.Second/2, k[1:]...)
	c.pass(time.Second/2 + slack)
	wants(c, c.b, granted, k[2])
	markDone(c, c.a, time.Hour, k[1:]...)
	stays(c, done, k[1:]...)
	release(c, c.b, k[2])
	wants(c, c.b, done, k[2])
}

func releaseEnds(c *eventCase) {
	k, kept := keys("done", "a", "b", "never claimed"), key()
	wants(c, c.a, granted, k[:3]...)
	wants(c, c.a, granted, kept)
	markDone(c, c.a, time.Hour, k[0])
	release(c, c.a, k...)
	wants(c, c.b, done, k[0])
	for _, key := range k[1:] {
		wants(c, c.b, granted, key)
	}
	wants(c, c.b, busy, kept)
}

func doneStays(c *eventCase) {
	for range 30 {
		k := keys("a", "b")
		wants(c, c.a, granted, k...)
		order := rand.Perm(3)
		err := atOnce(3, func(i int) (err error) {
			switch order[i] {
			case 0:
				return c.a.Done(c.Context(), k, time.Hour)
			case 1:
				return c.a.Release(c.Context(), k)
			}
			_, err = c.b.Claim(c.Context(), k, time.Hour)
			return err
		})
		c.mustNot(err, "a concurrent Done, Release or Claim of the same keys")
		stays(c, done, k...)
	}
}

func eventKeysDiffer(c *eventCase) {
	all := similarKeys()
	for _, key := range all {
		wants(c, c.a, granted, key)
	}
	stays(c, busy, all...)
	for i, key := range all {
		if i%2 == 0 {
			markDone(c, c.a, time.Hour, key)
		} else {
			release(c, c.a, key)
		}
	}
	for i, key := range all {
		if i%2 == 0 {
			wants(c, c.b, done, key)
		} else {
			wants(c, c.b, granted, key)
		}
	}
}

func oneOfManyClaims(c *eventCase) {
	const callers = 12
	for range 10 {
		common := keys("a", "b", "c")
		var states [callers]hotelstays.ClaimState
		err := atOnce(callers, func(i int) (err error) {
			mine := append(keys("own"), common...)
			rand.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			states[i], err = c.both[i%2].Claim(c.Context(), mine, time.Hour)
			return err
		})
		c.mustNot(err, "Claim, called by %d callers at the same time,", callers)
		count := map[hotelstays.ClaimState]int{}
		for _, state := range states {
			count[state]++
		}
		if count[granted] != 1 || count[busy] != callers-1 {
			c.broken("of %d concurrent claims of the same keys %d were granted and %d busy", callers, count[granted], count[busy])
		}
	}
}

func eventsAfterSetBack(c *eventCase) {
	if c.SetBack == nil {
		c.Log("this case was skipped because Fleet.SetBack is nil")
		return
	}
	k := keys("claimed", "done", "new")
	wants(c, c.a, granted, k[0])
	markDone(c, c.a, time.Hour, k[1])
	c.SetBack(24 * time.Hour)
	stays(c, busy, k[0])
	stays(c, done, k[1])
	wants(c, c.b, granted, k[2])
	markDone(c, c.b, time.Hour, k[2])
	wants(c, c.a, done, k[2])
}

func eventsReturn(c *eventCase) {
	k := keys("a", "b")
	c.returnsWithCtx(c.a, []call{
		{"Claim", func(ctx context.Context) error { _, err := c.a.Claim(ctx, k, time.Hour); return err }},
		{"Done", func(ctx context.Context) error { return c.a.Done(ctx, k, time.Hour) }},
		{"Release", func(ctx context.Context) error { return c.a.Release(ctx, k) }},
	})
}
