// Faults of leases.

package storetest_test

import (
	"context"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

var leaseFaults = []tokenFault{
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
