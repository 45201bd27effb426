// The promises of a TokenLeaser.

package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// TestTokenLeaser tests a TokenLeaser. It includes TestTokenStore. The function start must start a fleet for one case.
// Without [Options.InBubble], use a store whose lease lasts at most five seconds. One case holds a lease
// for eight seconds to check that the holder renews it. Do not use a much shorter lease, because a slow
// machine may renew it too late.
func TestTokenLeaser(t *testing.T, start func(t *testing.T) Fleet[hotelstays.TokenLeaser], opts *Options) {
	t.Helper()
	TestTokenStore(t, func(t *testing.T) Fleet[hotelstays.TokenStore] {
		f := start(t)
		stores := Fleet[hotelstays.TokenStore]{Open: func() hotelstays.TokenStore { return f.Open() }, Advance: f.Advance}
		if f.Freeze != nil {
			stores.Freeze = func(s hotelstays.TokenStore) func() { return f.Freeze(s.(hotelstays.TokenLeaser)) }
		}
		return stores
	}, opts)
	runAll(t, start, opts, leasePromises, func(*leaseCase) {})
}

type leaseCase = run[hotelstays.TokenLeaser]

const (
	saysOneLease = "ok is false if another caller has the lease"
	saysUntil    = "the caller has the lease until it calls release or dies"
)

var leasePromises = []promise[hotelstays.TokenLeaser]{
	{"one caller has the lease until it calls release", saysOneLease + "; " + saysUntil,
		"TryLease: does it look for a lease, in its own process as well? Does release delete the lease in the store?", oneLease},
	{"each key has its own lease", "TryLease leases the fetch of the token under key",
		"how the key of the lease is made from the token's key", leasesPerKey},
	{"a lease does not change the token", "one process renews the token, and the others continue with the old one",
		"whether lease and token share a row", leaseLeavesToken},
	{"only one of many concurrent callers has the lease", saysOneLease, "TryLease: it must look and lease in one step", oneOfManyLeases},
	{"a live holder keeps the lease", saysUntil + "; a fetch takes less than 25 seconds, and ctx bounds the call, not the lease",
		"the length of the lease, its renewal while the holder works, and whether a renewal or a connection ends with ctx", liveHolderKeeps},
	{"a late release ends no other lease", "release ends no later lease", "release: it must compare and delete in one step", lateRelease},
	{"the lease of a dead process ends, even after a late renewal", "the lease of a dead process must end within a minute",
		"the expiry of the lease: does the store end it, without the process? A renewal must compare and prolong in one step", deadHolderLoses},
	{"TryLease returns when ctx ends, and leaves no permanent lease", "methods must return when ctx ends",
		"what TryLease waits for, and the expiry of a lease whose caller has gone", leasesReturn},
}

// tryLease calls TryLease. If another caller has the lease, release is nil. If the case does not call release, a
// cleanup calls release, so that the renewal ends.
func tryLease(c *leaseCase, s hotelstays.TokenLeaser, key string) (release func()) {
	c.Helper()
	end, ok, err := s.TryLease(c.Context(), key)
	c.mustNot(err, "TryLease(%q)", key)
	if !ok {
		return nil
	}
	if end == nil {
		c.broken("TryLease(%q) returned ok without a release", key)
	}
	release = sync.OnceFunc(end)
	c.Cleanup(release)
	return release
}

func mustLease(c *leaseCase, s hotelstays.TokenLeaser, key string) (release func()) {
	c.Helper()
	release = tryLease(c, s, key)
	if release == nil {
		c.broken("TryLease(%q) returned no lease, and no caller has it", key)
	}
	return release
}

func mustNotLease(c *leaseCase, s hotelstays.TokenLeaser, key string) {
	c.Helper()
	if tryLease(c, s, key) != nil {
		c.broken("TryLease(%q) returned the lease of another caller", key)
	}
}

func oneLease(c *leaseCase) {
	k := key()
	for _, holder := range []hotelstays.TokenLeaser{c.a, c.b, c.a, c.a} {
		release := mustLease(c, holder, k)
		mustNotLease(c, c.a, k)
		mustNotLease(c, c.b, k)
		release()
	}
}

func leasesPerKey(c *leaseCase) {
	all := similarKeys()
	for some := range slices.Chunk(all[1:], 15) { // 16 leases at a time, because a slow machine must be able to renew all held leases
		some = append(some, all[0])
		releases := make([]func(), len(some))
		for i, key := range some {
			releases[i] = mustLease(c, c.a, key)
		}
		for i, key := range some {
			mustNotLease(c, c.b, key)
			releases[i]()
			mustLease(c, c.b, key)()
		}
	}
}

func leaseLeavesToken(c *leaseCase) {
	k := key()
	first, second := newToken("first"), newToken("second")
	release := mustLease(c, c.a, k)
	wantNone(c, c.b, k)
	store(c, c.a, k, first)
	wantToken(c, c.b, k, first)
	release()
	wantToken(c, c.b, k, first)
	release = mustLease(c, c.b, k)
	wantToken(c, c.b, k, first)
	store(c, c.b, k, second)
	mustNotLease(c, c.a, k)
	compareAndDelete(c, c.a, k, second)
	wantNone(c, c.b, k)
	mustNotLease(c, c.a, k)
	release()
}

func oneOfManyLeases(c *leaseCase) {
	k := key()
	var holders, leases atomic.Int32
	err := atOnce(12, func(caller int) error {
		for range 20 {
			release, ok, err := c.both[caller%2].TryLease(c.Context(), k)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			leases.Add(1)
			alone := holders.Add(1) == 1
			time.Sleep(time.Millisecond)
			holders.Add(-1)
			release()
			if !alone {
				return errors.New("two callers had the lease")
			}
		}
		return nil
	})
	if err != nil {
		c.broken("concurrent callers: %v", err)
	}
	if leases.Load() == 0 {
		c.broken("no caller got the lease")
	}
	if c.bubble {
		mustLease(c, c.a, k)
		return
	}
	takeOver(c, c.a, k) // takeOver waits, because the last release may have failed
}

func liveHolderKeeps(c *leaseCase) {
	k := key()
	ctx, cancel := context.WithCancel(c.Context())
	release, ok, err := c.a.TryLease(ctx, k)
	c.mustNot(err, "TryLease(%q)", k)
	cancel()
	if !ok {
		c.broken("TryLease(%q) returned no lease, and no caller has it", k)
	}
	span := 8 * time.Second
	if c.bubble {
		span = fetchTime
	}
	for range 10 {
		time.Sleep(span / 10) // real time passes, without Advance, so that the holder can renew the lease
		mustNotLease(c, c.b, k)
	}
	c.returnsWithin(c.patience(), "release", release)
	mustLease(c, c.b, k)
}

// takeOver calls TryLease until the lease of a dead process has ended and the caller gets it.
func takeOver(c *leaseCase, s hotelstays.TokenLeaser, key string) (release func()) {
	c.Helper()
	step := time.Second / 2
	for waited := time.Duration(0); waited <= deathTime; waited += step {
		if release = tryLease(c, s, key); release != nil {
			return release
		}
		c.pass(step)
	}
	hint := ""
	if c.Freeze == nil {
		hint = "; if a goroutine of the process renews it, set Fleet.Freeze"
	}
	c.broken("the lease has not ended %s after the death of its holder%s", deathTime, hint)
	return nil
}

func lateRelease(c *leaseCase) {
	third, k := c.Open(), key()
	for _, again := range []bool{false, true} { // if again is true, process a has a new lease of the key when it releases the old lease
		late := mustLease(c, c.a, k)
		thaw := c.freeze(c.a)
		release := takeOver(c, c.b, k)
		thaw()
		if again {
			release()
			release = mustLease(c, c.a, k)
		}
		c.returnsWithin(deathTime, "a late release", late)
		mustNotLease(c, third, k)
		mustNotLease(c, c.a, k)
		release()
	}
}

func deadHolderLoses(c *leaseCase) {
	third, k := c.Open(), key()
	mustLease(c, c.a, k)
	thaw := c.freeze(c.a)
	takeOver(c, c.b, k)
	c.freeze(c.b)
	thaw()
	takeOver(c, third, k)
}

func leasesReturn(c *leaseCase) {
	k := key()
	var releases []func()
	c.returnsWithCtx(c.a, []call{{"TryLease", func(ctx context.Context) error {
		release, ok, err := c.a.TryLease(ctx, k)
		if ok && err == nil {
			releases = append(releases, release)
		}
		return err
	}}})
	for _, release := range releases {
		release()
	}
	takeOver(c, c.b, k)
}
