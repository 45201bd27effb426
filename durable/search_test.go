package durable_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hotelstays/hotelstays-go/durable"
	model "github.com/hotelstays/hotelstays-go/internal/test/bookingsmodel"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
)

// limit is the maximum number of states of a search. A million states take about 1.5 GB.
const limit = 5_000_000

// worlds returns the worlds to search, by name. Each world says what may happen, and how often.
func worlds() map[string]model.World {
	plain := model.World{Faults: 2, Wakes: 1, Rounds: 2, BookTimeout: 2 * time.Minute, ShowsWithin: 10 * time.Minute}
	clocks, alone, person := plain, plain, plain
	clocks.Faults, clocks.Skew = 1, durable.ClockMargin
	alone.Faults, alone.BookTimeout, alone.InProcess = 1, 15*time.Minute, true
	person.Faults, person.Wakes, person.Idempotent, person.Acts = 1, 0, true, 2
	cancels := plain
	cancels.Cancels, cancels.Idempotent, cancels.Wakes, cancels.Rounds, cancels.Found = 1, true, 0, 1, true
	cancelClocks := cancels
	cancelClocks.Faults, cancelClocks.Wakes, cancelClocks.Skew = 1, 1, durable.ClockMargin
	acts := cancels // without Found, so that rounds may begin at any time
	acts.Found, acts.Rounds, acts.Faults, acts.Acts, acts.Alone = false, 2, 0, 1, true
	rounds := acts
	rounds.Faults, rounds.Acts, rounds.ShowsWithin = 1, 0, 2*time.Minute // with ten minutes, the states exceed 20 GB
	together := acts
	together.Alone, together.Cancels = false, 2
	foreign := rounds
	foreign.Cancels, foreign.Foreign, foreign.Rounds = 2, true, 1
	follows := plain
	follows.Follows, follows.Found, follows.Idempotent, follows.Foreign = true, true, true, true
	follows.Faults, follows.Rounds, follows.Changes, follows.Acts = 1, 1, 1, 1
	follows.ShowsWithin = 2 * time.Minute // also limits the time until the order changes
	many := plain
	many.Faults, many.Wakes, many.Rounds, many.Many = 1, 0, 1, true
	followsMany := follows
	followsMany.Acts, followsMany.Wakes, followsMany.Many, followsMany.Foreign = 0, 0, true, false
	return map[string]model.World{"one clock": plain, "two clocks": clocks, "a process polls for itself": alone,
		"a person abandons and retries": person, "a cancellation": cancels, "a cancellation, and two clocks": cancelClocks,
		"cancellations and rounds": rounds, "cancellations and rounds, and a person": acts,
		"cancellations and rounds of two workers": together,
		"an order of somebody else":               foreign, "a followed order": follows, "polls for many": many, "reads of many orders": followsMany}
}

// search searches a world, and prints the shortest path to a broken promise.
func search(t *testing.T, w model.World) (r model.Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { r = w.Search(limit) })
	t.Logf("%d states, depth %d, %d replays. %s", r.States, r.Depth, r.Replays, r.Violated)
	for _, step := range r.Path {
		t.Log(step)
	}
	return r
}

// sized returns the whole world with HOTELSTAYS_LONG, and otherwise a smaller part.
func sized(w model.World) model.World {
	if testsize.Full() {
		return w
	}
	if testing.Short() {
		if w.Faults = max(w.Faults-1, 0); w.Faults > 0 || w.Found || w.Cancels > 0 {
			w.Wakes, w.Acts, w.Cancels = 0, 0, min(w.Cancels, 1)
		}
		if w.Cancels > 0 {
			w.Faults, w.ShowsWithin = 0, 2*time.Minute
		}
	} else {
		w.Faults, w.Acts = min(w.Faults, 1), min(w.Acts, 1)
		switch {
		case w.Skew > 0 && w.Cancels > 0:
			w.Faults, w.Wakes = 0, 0
		case w.Skew > 0, w.InProcess:
			w.Rounds = 1
		case w.Follows:
			w.Acts, w.Wakes = 0, 0
		case w.Cancels > 0 && !w.Found:
			w.Faults, w.Cancels, w.ShowsWithin = 0, 1, 2*time.Minute
		}
	}
	if w.Cancels > 0 && !w.Found && !w.Alone { // a world with two workers has too many states
		w.Acts, w.Rounds = 0, 1
	}
	return w
}

// small returns a world without webhooks and without a second round. Its search is faster, and finds most faults.
func small(w model.World) model.World {
	w.Wakes, w.Rounds = 0, 1
	return w
}

func TestEverySequenceOfEventsKeepsThePromises(t *testing.T) {
	for name, world := range worlds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Empty(t, search(t, sized(world)).Violated)
		})
	}
}

// A search that finds nothing in broken code would prove nothing.
func TestSearchFindsEachPlantedFault(t *testing.T) {
	const one, cancels = "one clock", "a cancellation"
	for name, planted := range map[string]struct {
		violates string
		world    string
		breaks   model.Breaks
	}{
		"a commit is undone before Book":            {model.TwoOrders, one, model.Breaks{CommitLost: true}},
		"a lock does not lock":                      {model.TwoOrders, one, model.Breaks{NoLock: true}},
		"versions do not differ":                    {model.FalseAbsent, one, model.Breaks{SameVersion: true}},
		"Book is sent after its time limit":         {model.FalseAbsent, one, model.Breaks{LateClient: true}},
		"OnOutcome does not use its transaction":    {model.Twice, one, model.Breaks{DeliverApart: true}},
		"an ending is not saved":                    {model.Twice, one, model.Breaks{EndingLost: true}},
		"a lease has no end":                        {model.NeverEnds, one, model.Breaks{LeaseStays: true}},
		"Run does not send waiting bookings":        {model.NeverEnds, one, model.Breaks{NobodySends: true}},
		"a lock does not lock before Cancel":        {model.TwoCancels, cancels, model.Breaks{NoLock: true}},
		"a commit is undone before Cancel":          {model.TwoCancels, cancels, model.Breaks{CommitLost: true}},
		"Cancel is sent after its time limit":       {model.FalseEnding, cancels, model.Breaks{LateClient: true}},
		"OnCancel does not use its transaction":     {model.Twice, cancels, model.Breaks{DeliverApart: true}},
		"the ending of a cancellation is not saved": {model.Twice, cancels, model.Breaks{EndingLost: true}},
		"a lock does not lock before OnOrder":       {model.WrongChange, "a followed order", model.Breaks{NoLock: true}},
		"OnOrder does not use its transaction":      {model.WrongChange, "a followed order", model.Breaks{DeliverApart: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := small(worlds()[planted.world])
			switch {
			case planted.breaks.SameVersion: // this fault needs a second round
				w.Faults, w.Wakes, w.Rounds = 1, 1, 2
			case planted.breaks.NoLock:
				w.Faults, w.Acts, w.Foreign = 1, 0, false
			}
			w.Breaks, w.Only = planted.breaks, planted.violates
			assert.Equal(t, planted.violates, search(t, w).Violated)
		})
	}
}

// The promises hold only under two assumptions. The test breaks each assumption once.
func TestSearchFindsFalseAbsenceIfAnAssumptionIsBroken(t *testing.T) {
	late := small(worlds()["one clock"])
	late.ShowsWithin += time.Minute
	assert.Equal(t, model.FalseAbsent, search(t, late).Violated, "an order appears later than ten minutes after its Book")
	apart := small(worlds()["two clocks"])
	apart.Skew = 4 * durable.ClockMargin
	assert.Equal(t, model.FalseAbsent, search(t, apart).Violated, "clocks differ by more than ClockMargin")
}
