package durable_test

import (
	"flag"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hotelstays/hotelstays-go/durable"
	model "github.com/hotelstays/hotelstays-go/hotelstaystest/bookingsmodel"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// limit is how many states a search may have.
const limit = 30_000_000

var more = flag.Int("more", 0, "how many more faults each whole world has")

// worlds are what may happen, and how often.
func worlds() map[string]model.World {
	plain := model.World{Faults: 2, Wakes: 1, Rounds: 2, BookTimeout: 2 * time.Minute, ShowsWithin: 10 * time.Minute}
	clocks, alone, person := plain, plain, plain
	clocks.Faults, clocks.Skew = 1, durable.ClockMargin
	alone.Faults, alone.BookTimeout, alone.InProcess = 1, 15*time.Minute, true
	person.Faults, person.Wakes, person.Idempotent, person.Acts = 1, 0, true, 2
	cancels, cancelClocks := plain, clocks
	cancels.Cancels, cancelClocks.Cancels = true, true
	return map[string]model.World{"one clock": plain, "two clocks": clocks, "a process polls for itself": alone,
		"a person abandons and retries": person, "a cancellation": cancels, "a cancellation, and two clocks": cancelClocks}
}

// search searches a world, and prints the shortest path to what is violated.
func search(t *testing.T, w model.World) (r model.Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { r = w.Search(limit) })
	t.Logf("%d states, depth %d. %s", r.States, r.Depth, r.Violated)
	for _, step := range r.Path {
		t.Log(step)
	}
	return r
}

// sized returns the whole of a world, or the part of it that HOTELSTAYS_LONG is not needed for.
func sized(w model.World) model.World {
	switch {
	case testkit.Long() || *more > 0:
		w.Faults += *more
	case testing.Short():
		if w.Faults--; w.Faults > 0 {
			w.Wakes = 0
		}
	default:
		w.Faults, w.Acts = 1, min(w.Acts, 1)
		if w.Skew > 0 {
			w.Rounds = 1
		}
	}
	return w
}

// small returns a world without webhooks and a second round, which cost time. Most faults show without.
func small(w model.World) model.World {
	w.Wakes, w.Rounds = 0, 1
	return w
}

func TestEveryOrderOfEventsKeepsThePromises(t *testing.T) {
	for name, world := range worlds() {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, search(t, sized(world)).Violated)
		})
	}
}

// A search that finds nothing in broken code would prove nothing. Each path is the shortest one.
func TestSearchFindsEachPlantedFault(t *testing.T) {
	const one, cancels = "one clock", "a cancellation"
	for name, planted := range map[string]struct {
		violates string
		world    string
		breaks   model.Breaks
	}{
		"Book leaves before it is saved":         {model.TwoOrders, one, model.Breaks{SendFirst: true}},
		"a fence is not checked":                 {model.TwoOrders, one, model.Breaks{NoFence: true}},
		"Book leaves after its time":             {model.FalseAbsent, one, model.Breaks{SendLate: true}},
		"OnOutcome has a transaction of its own": {model.Twice, one, model.Breaks{DeliverApart: true}},
		"what has ended is delivered again":      {model.Twice, one, model.Breaks{DeliverAgain: true}},
		"a lease has no end":                     {model.NeverEnds, one, model.Breaks{LeaseStays: true}},
		"Run leaves what waits":                  {model.NeverEnds, one, model.Breaks{NobodySends: true}},
		"a fence is not checked before Cancel":   {model.TwoCancels, cancels, model.Breaks{NoFence: true}},
		"Cancel leaves after its time":           {model.FalseEnding, cancels, model.Breaks{SendLate: true}},
		"a fence is not checked before OnCancel": {model.Twice, cancels, model.Breaks{NoFence: true}},
		"OnCancel has a transaction of its own":  {model.Twice, cancels, model.Breaks{DeliverApart: true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := small(worlds()[planted.world])
			w.Breaks, w.Only = planted.breaks, planted.violates
			assert.Equal(t, planted.violates, search(t, w).Violated)
		})
	}
}

// The promises rest on these assumptions.
func TestSearchFindsWhatNoAssumptionCovers(t *testing.T) {
	late := small(worlds()["one clock"])
	late.ShowsWithin += time.Minute
	assert.Equal(t, model.FalseAbsent, search(t, late).Violated, "an order shows later than ten minutes after its Book")
	apart := small(worlds()["two clocks"])
	apart.Skew = 4 * durable.ClockMargin
	assert.Equal(t, model.FalseAbsent, search(t, apart).Violated, "clocks differ by more than ClockMargin")
}
