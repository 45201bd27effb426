package durable_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hotelstays/hotelstays-go/durable"
	model "github.com/hotelstays/hotelstays-go/internal/test/bookingsmodel"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
)

// limit is the maximum number of states of a search. A million states take about 1.5 GB.
const limit = 5_000_000

// world is a world to search. The numbers replace Faults, Wakes, Rounds and Acts in its smaller form. If within is set, it
// replaces BookTimeout and ShowsWithin, so that less can happen meanwhile.
type world struct {
	model.World
	faults, wakes, rounds, acts int
	within                      time.Duration
}

// quick is a short time until Book and Cancel have ended, and until their effects appear.
const quick = 10 * time.Second

// worlds returns the worlds to search, by name.
func worlds() map[string]world {
	plain := model.World{Faults: 2, Wakes: 1, Rounds: 2, BookTimeout: 2 * time.Minute, ShowsWithin: 10 * time.Minute}
	clocks, alone, person := plain, plain, plain
	clocks.Faults, clocks.Skew = 1, durable.ClockMargin
	alone.Faults, alone.BookTimeout, alone.InProcess = 1, 15*time.Minute, true
	person.Faults, person.Wakes, person.Idempotent, person.Acts = 1, 0, true, 2
	cancels := plain
	cancels.Cancels, cancels.Idempotent, cancels.Wakes, cancels.Rounds, cancels.Found = 1, true, 0, 1, true
	cancelClocks := cancels
	cancelClocks.Faults, cancelClocks.Skew = 1, durable.ClockMargin
	acts := cancels // without Found, so that rounds may begin at any time
	acts.Found, acts.Rounds, acts.Faults, acts.Acts, acts.Alone = false, 2, 0, 1, true
	rounds := acts
	rounds.Faults, rounds.Acts, rounds.ShowsWithin = 1, 0, 2*time.Minute // with ten minutes, the states exceed 20 GB
	together := acts
	together.Alone, together.Cancels = false, 2
	foreign := rounds
	foreign.Cancels, foreign.Foreign, foreign.Rounds = 2, true, 1
	cancels.BookTimeout, cancels.ShowsWithin = 30*time.Second, 30*time.Second // with longer times, the states exceed the limit
	follows := plain
	follows.Follows, follows.Found, follows.Idempotent, follows.Foreign = true, true, true, true
	follows.Faults, follows.Rounds, follows.Changes, follows.Acts = 1, 1, 1, 1
	follows.ShowsWithin = 2 * time.Minute // also limits the time until the order changes
	many := plain
	many.Faults, many.Wakes, many.Rounds, many.Many = 1, 0, 1, true
	followsMany := follows
	followsMany.Acts, followsMany.Wakes, followsMany.Many, followsMany.Foreign = 0, 0, true, false
	return map[string]world{
		"one clock":                               {plain, 2, 0, 1, 0, quick},
		"two clocks":                              {clocks, 1, 0, 1, 0, 0},
		"a process polls for itself":              {alone, 1, 0, 1, 0, 0},
		"a person abandons and retries":           {person, 1, 0, 1, 1, quick},
		"a cancellation":                          {cancels, 1, 0, 1, 0, quick},
		"a cancellation, and two clocks":          {cancelClocks, 0, 0, 1, 0, quick},
		"cancellations and rounds":                {rounds, 0, 0, 2, 0, quick},
		"cancellations and rounds, and a person":  {acts, 0, 0, 1, 1, quick},
		"cancellations and rounds of two workers": {together, 0, 0, 1, 0, quick},
		"an order of somebody else":               {foreign, 0, 0, 1, 0, quick},
		"a followed order":                        {follows, 1, 0, 1, 0, 30 * time.Second},
		"polls for many":                          {many, 1, 0, 1, 0, quick},
		"reads of many orders":                    {followsMany, 1, 0, 1, 0, 30 * time.Second},
	}
}

// search searches a world, and prints the shortest path to a broken promise.
func search(t *testing.T, w model.World) (r model.Result) {
	t.Helper()
	r = w.Search(t, limit)
	t.Logf("%d states, depth %d, %d replays. %s", r.States, r.Depth, r.Replays, r.Violated)
	for _, step := range r.Path {
		t.Log(step)
	}
	return r
}

// smaller returns the smaller form of a world.
func (w world) smaller() model.World {
	s := w.World
	s.Faults, s.Wakes, s.Rounds, s.Acts, s.Cancels = w.faults, w.wakes, w.rounds, w.acts, min(w.Cancels, 1)
	s.BookTimeout, s.ShowsWithin = cmp.Or(w.within, s.BookTimeout), cmp.Or(w.within, s.ShowsWithin)
	return s
}

// sized returns the whole world with HOTELSTAYS_LONG, and otherwise its smaller form: with -short, a quick world without
// faults and with one round.
func (w world) sized() model.World {
	if testsize.Full() {
		return w.World
	}
	if testing.Short() {
		w.faults, w.rounds, w.within = 0, 1, quick
	}
	return w.smaller()
}

func TestEverySequenceOfEventsKeepsThePromises(t *testing.T) {
	for name, world := range worlds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Empty(t, search(t, world.sized()).Violated)
		})
	}
}

// A search that finds nothing in broken code would prove nothing. With -short, only faults that cause a second order are
// searched for.
func TestSearchFindsEachPlantedFault(t *testing.T) {
	const one, cancels = "one clock", "a cancellation"
	for name, planted := range map[string]struct {
		violates string
		world    string
		breaks   model.Breaks
	}{
		"a commit is undone before Book":            {model.TwoOrders, one, model.Breaks{CommitLost: true}},
		"a lock does not lock":                      {model.TwoOrders, one, model.Breaks{NoLock: true}},
		"versions do not differ":                    {model.Twice, one, model.Breaks{SameVersion: true}},
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
		if testing.Short() && planted.violates != model.TwoOrders {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			small := worlds()[planted.world]
			small.within = time.Second
			w := small.smaller()
			w.Breaks, w.Only = planted.breaks, planted.violates
			w.Alone = w.Breaks.CommitLost || w.Breaks.DeliverApart || w.Breaks.EndingLost // one worker is enough
			assert.Equal(t, planted.violates, search(t, w).Violated)
		})
	}
}

// The promises hold only under two assumptions. The test breaks each assumption once.
func TestSearchFindsFalseAbsenceIfAnAssumptionIsBroken(t *testing.T) {
	late := worlds()["one clock"].smaller()
	late.Faults, late.Alone, late.ShowsWithin = 1, true, 11*time.Minute
	assert.Equal(t, model.FalseAbsent, search(t, late).Violated, "an order appears later than ten minutes after its Book")
	apart := worlds()["two clocks"].smaller()
	apart.Skew = 4 * durable.ClockMargin
	assert.Equal(t, model.FalseAbsent, search(t, apart).Violated, "clocks differ by more than ClockMargin")
}
