// An event store that passes the suite, and stores with a fault that the suite must find.

package storetest_test

import (
	"context"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// eventMap is an event store in memory.
type eventMap struct {
	mu    sync.Mutex
	rows  map[string]eventRow
	ahead time.Duration // how far the clock of the store is ahead of real time
}

type eventRow struct {
	done  bool
	until time.Time
}

func newEvents() *eventMap { return &eventMap{rows: map[string]eventRow{}} }

func (e *eventMap) advance(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ahead += d
}

func (e *eventMap) now() time.Time { return time.Now().Add(e.ahead) }

func (e *eventMap) Claim(_ context.Context, keys []string, lease time.Duration) (hotelstays.ClaimState, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	state := hotelstays.ClaimGranted
	for _, key := range keys {
		switch row := e.rows[key]; {
		case !row.until.After(e.now()):
		case row.done:
			return hotelstays.ClaimDone, nil
		default:
			state = hotelstays.ClaimBusy
		}
	}
	if state == hotelstays.ClaimGranted {
		e.set(keys, eventRow{until: e.now().Add(lease)})
	}
	return state, nil
}

func (e *eventMap) set(keys []string, row eventRow) {
	for _, key := range keys {
		e.rows[key] = row
	}
}

func (e *eventMap) Done(_ context.Context, keys []string, retention time.Duration) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.set(keys, eventRow{true, e.now().Add(retention)})
	return nil
}

func (e *eventMap) Release(_ context.Context, keys []string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, key := range keys {
		if !e.rows[key].done {
			delete(e.rows, key)
		}
	}
	return nil
}

type claimsFirstKey struct{ *eventMap }

func (e claimsFirstKey) Claim(ctx context.Context, keys []string, lease time.Duration) (hotelstays.ClaimState, error) {
	return e.eventMap.Claim(ctx, keys[:1], lease)
}

type claimsOneByOne struct{ *eventMap }

func (e claimsOneByOne) Claim(ctx context.Context, keys []string, lease time.Duration) (state hotelstays.ClaimState, err error) {
	for _, key := range keys {
		if state, err = e.eventMap.Claim(ctx, []string{key}, lease); state != hotelstays.ClaimGranted {
			break
		}
	}
	return state, err
}

type claimsInTwoSteps struct{ *eventMap }

func (e claimsInTwoSteps) Claim(ctx context.Context, keys []string, lease time.Duration) (hotelstays.ClaimState, error) {
	e.mu.Lock()
	row := e.rows[keys[0]]
	e.mu.Unlock()
	time.Sleep(time.Millisecond)
	state, err := e.eventMap.Claim(ctx, keys, lease)
	if row == (eventRow{}) {
		state = hotelstays.ClaimGranted
	}
	return state, err
}

type shortRetention struct{ *eventMap }

func (e shortRetention) Done(ctx context.Context, keys []string, retention time.Duration) error {
	return e.eventMap.Done(ctx, keys, min(retention, time.Minute))
}

type releasesDone struct{ *eventMap }

func (e releasesDone) Release(_ context.Context, keys []string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.set(keys, eventRow{})
	return nil
}

// eventFaults maps the case that finds a fault to a store with this fault.
var eventFaults = map[string]func(*eventMap) hotelstays.EventStore{
	"Claim claims all keys":                         func(e *eventMap) hotelstays.EventStore { return claimsFirstKey{e} },
	"a refused claim claims nothing":                func(e *eventMap) hotelstays.EventStore { return claimsOneByOne{e} },
	"done keys stay done for the retention":         func(e *eventMap) hotelstays.EventStore { return shortRetention{e} },
	"Release does not undo Done":                    func(e *eventMap) hotelstays.EventStore { return releasesDone{e} },
	"only one of many concurrent claims is granted": func(e *eventMap) hotelstays.EventStore { return claimsInTwoSteps{e} },
}
