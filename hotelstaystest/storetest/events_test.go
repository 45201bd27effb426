package storetest_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

func TestEventStorePassesTheSuite(t *testing.T) {
	storetest.TestEventStore(t, eventFleet(""), &storetest.Options{InBubble: true})
}

func TestEventStorePassesTheSuiteWithAdvance(t *testing.T) {
	storetest.TestEventStore(t, func(*testing.T) storetest.Fleet[hotelstays.EventStore] {
		table := &eventTable{rows: map[string]eventRow{}}
		return storetest.Fleet[hotelstays.EventStore]{Open: table.open, Advance: table.advance}
	}, nil)
}

var eventFaults = []plantedFault{
	{"claims only the first key", "Claim claims all keys or none"},
	{"keeps what it claimed before a busy key", "Claim claims all keys or none"},
	{"keeps what it claimed before a done key", "Claim claims all keys or none"},
	{"returns busy before it sees a done key", "Claim returns done if any key is done"},
	{"stores claims without an expiry", "a claim ends with its lease"},
	{"keeps the expiry of an expired claim", "a claim ends with its lease"},
	{"ends done keys when the lease ends", "done keys stay done for the retention"},
	{"marks only the first key as done", "done keys stay done for the retention"},
	{"stores done keys in its own process", "done keys stay done for the retention"},
	{"marks only claimed keys as done", "Done marks keys that are not claimed"},
	{"releases only the first key", "Release ends the claims of all keys"},
	{"releases done keys", "Release ends the claims of all keys"},
	{"looks and releases in two steps", "concurrent calls do not undo Done"},
	{ignoresCase, "keys that differ in one byte are different keys"},
	{ignoresBlanks, "keys that differ in one byte are different keys"},
	{cutsKeys, "keys that differ in one byte are different keys"},
	{"drops keys with a time in the future", "claims and done keys stay if a clock is set back"},
	{"looks and claims in two steps", "only one of many concurrent claims is granted"},
	{waitsOn, "methods return when ctx ends"},
}

// eventFleet returns a function that starts a fleet of event stores. The stores have the fault; "" means no fault.
func eventFleet(fault string) func(*testing.T) storetest.Fleet[hotelstays.EventStore] {
	return func(*testing.T) storetest.Fleet[hotelstays.EventStore] {
		table := &eventTable{fault: fault, rows: map[string]eventRow{}}
		fleet := fleetOf[hotelstays.EventStore, *events](table.open)
		fleet.SetBack = func(d time.Duration) { table.advance(-d) }
		return fleet
	}
}

// eventTable holds the rows that the event stores of all processes share.
type eventTable struct {
	fault string
	mu    sync.Mutex
	rows  map[string]eventRow
	ahead time.Duration // how far the table's clock is ahead of real time
}

type eventRow struct {
	done  bool
	until time.Time
}

// events is the event store of one process.
type events struct {
	gate
	*eventTable
}

func (e *eventTable) open() hotelstays.EventStore {
	if e.fault == "stores done keys in its own process" {
		e = &eventTable{rows: map[string]eventRow{}}
	}
	return &events{gate{blind: e.fault == waitsOn}, e}
}

func (e *eventTable) advance(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ahead += d
}

func (e *eventTable) now() time.Time { return time.Now().Add(e.ahead) }

func (e *eventTable) state(keys ...string) hotelstays.ClaimState {
	state := hotelstays.ClaimGranted
	for _, key := range keys {
		switch row, there := e.rows[key]; {
		case !there || !row.until.After(e.now()):
		case row.done:
			return hotelstays.ClaimDone
		default:
			state = hotelstays.ClaimBusy
			if e.fault == "returns busy before it sees a done key" {
				return state
			}
		}
	}
	return state
}

func (e *events) Claim(ctx context.Context, keys []string, lease time.Duration) (hotelstays.ClaimState, error) {
	if err := e.pass(ctx); err != nil {
		return "", err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	keys = changeKeys(e.fault, keys)
	switch e.fault {
	case "stores claims without an expiry":
		lease = 1000 * time.Hour
	case "drops keys with a time in the future":
		maps.DeleteFunc(e.rows, func(_ string, row eventRow) bool { return row.until.After(e.now().Add(20 * time.Hour)) })
	}
	state, claimed := e.state(keys...), keys
	if state != hotelstays.ClaimGranted {
		claimed = nil
		if e.fault == "keeps what it claimed before a "+string(state)+" key" {
			isTaken := func(key string) bool { return e.state(key) != hotelstays.ClaimGranted }
			claimed = keys[:slices.IndexFunc(keys, isTaken)]
		}
	}
	switch e.fault {
	case "claims only the first key":
		claimed = claimed[:min(1, len(claimed))]
	case "keeps the expiry of an expired claim":
		claimed = slices.DeleteFunc(claimed, func(key string) bool { _, there := e.rows[key]; return there })
	case "looks and claims in two steps":
		hesitate(&e.mu)
	}
	for _, key := range claimed {
		e.rows[key] = eventRow{until: e.now().Add(lease)}
	}
	return state, nil
}

func (e *events) Done(ctx context.Context, keys []string, retention time.Duration) error {
	if err := e.pass(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	keys = changeKeys(e.fault, keys)
	switch e.fault {
	case "ends done keys when the lease ends":
		retention = min(retention, time.Minute)
	case "marks only the first key as done":
		keys = keys[:1]
	case "marks only claimed keys as done":
		if e.state(keys...) != hotelstays.ClaimBusy {
			return nil
		}
	}
	for _, key := range keys {
		e.rows[key] = eventRow{done: true, until: e.now().Add(retention)}
	}
	return nil
}

func (e *events) Release(ctx context.Context, keys []string) error {
	if err := e.pass(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	keys = changeKeys(e.fault, keys)
	isClaim := func(key string) bool { return !e.rows[key].done || e.fault == "releases done keys" }
	switch e.fault {
	case "releases only the first key":
		keys = keys[:1]
	case "looks and releases in two steps":
		if e.state(keys...) != hotelstays.ClaimDone {
			hesitate(&e.mu)
			isClaim = func(string) bool { return true }
		}
	}
	for _, key := range keys {
		if isClaim(key) {
			delete(e.rows, key)
		}
	}
	return nil
}
