package durable_test

import (
	"errors"
	"flag"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	model "github.com/hotelstays/hotelstays-go/hotelstaystest/bookingsmodel"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
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

// search searches a world with changed rules, and prints the shortest path to what is violated.
func search(t *testing.T, w model.World, change func(r *model.Rules)) (r model.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w.Rules = model.Real()
		if change != nil {
			change(w.Rules)
		}
		r = w.Search(limit)
	})
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
			assert.Empty(t, search(t, sized(world), nil).Violated)
		})
	}
}

// A search that finds nothing in broken code would prove nothing. Each path is the shortest one.
func TestSearchFindsEachPlantedFault(t *testing.T) {
	type rules = model.Rules
	type outcome = *hotelstays.BookingOutcome
	const cancels = "a cancellation"
	for name, planted := range map[string]struct {
		violates string
		world    string
		breaks   model.Breaks
		change   func(r *rules)
	}{
		"Book leaves before it is saved": {model.TwoOrders, "", model.Breaks{SendFirst: true}, nil},
		"a fence is not checked":         {model.TwoOrders, "", model.Breaks{NoFence: true}, nil},
		"Start starts again": {model.TwoOrders, "", model.Breaks{}, func(r *rules) {
			start := r.Start
			r.Start = func(b durable.Booking, bookBy time.Time) (durable.Booking, error) {
				b.BookBy = time.Time{}
				return start(b, bookBy)
			}
		}},
		"Book leaves after its time": {model.FalseAbsent, "", model.Breaks{SendLate: true}, nil},
		"absence is proven one poll early": {model.FalseAbsent, "", model.Breaks{}, func(r *rules) {
			r.Polled = func(b durable.Booking, at time.Time, o outcome, err error) (durable.Booking, outcome) {
				if err == nil && o.State == hotelstays.BookingOpen && o.Err == nil && o.Recovery.Polls == 5 {
					return b, &hotelstays.BookingOutcome{State: hotelstays.BookingAbsent, Recovery: o.Recovery}
				}
				return b.Polled(at, o, err)
			}
		}},
		"absence is proven without the margin of the clocks": {model.FalseAbsent, "two clocks", model.Breaks{}, func(r *rules) {
			r.Polled = func(b durable.Booking, at time.Time, o outcome, err error) (durable.Booking, outcome) {
				return b.Polled(at.Add(durable.ClockMargin), o, err)
			}
		}},
		"a failed poll counts as one without an order": {model.FalseAbsent, "", model.Breaks{}, func(r *rules) {
			step := r.Step
			r.Step = func(recovery *hotelstays.BookingRecovery, answer model.Answer) (outcome, error) {
				if answer == model.Failed {
					answer = model.NoOrder
				}
				return step(recovery, answer)
			}
		}},
		"a lost answer counts as a refusal": {model.FalseAbsent, "", model.Breaks{}, func(r *rules) {
			r.Booked = func(b durable.Booking, at time.Time, o outcome, err error) outcome {
				if hotelstays.KindOf(err) == hotelstays.KindOutcomeUnknown {
					o, err = nil, hotelstays.ErrRateChanged
				}
				return b.Booked(at, o, err)
			}
		}},
		"the earlier round is forgotten": {model.FalseAbsent, "a person abandons and retries", model.Breaks{}, func(r *rules) {
			r.LastBook = func(durable.Booking) time.Time { return time.Time{} }
		}},
		"OnOutcome has a transaction of its own": {model.Twice, "", model.Breaks{DeliverApart: true}, nil},
		"what has ended is delivered again":      {model.Twice, "", model.Breaks{DeliverAgain: true}, nil},
		"End ends again": {model.Twice, "", model.Breaks{}, func(r *rules) {
			r.End = func(b durable.Booking, o outcome) (durable.Booking, bool, error) {
				b.Ending = ""
				return b.End(o)
			}
		}},
		"a lease has no end":    {model.NeverEnds, "", model.Breaks{LeaseStays: true}, nil},
		"Run leaves what waits": {model.NeverEnds, "", model.Breaks{NobodySends: true}, nil},
		"a wake-up stops the schedule": {model.NeverEnds, "one clock", model.Breaks{}, func(r *rules) {
			r.Wake = func(b durable.Booking, now time.Time) (durable.Booking, bool) {
				next, ok := b.Wake(now)
				next.Due = now.Add(9 * time.Hour)
				return next, ok
			}
		}},
		"what was sent is never due": {model.NeverEnds, "", model.Breaks{}, func(r *rules) {
			r.Start = func(b durable.Booking, bookBy time.Time) (durable.Booking, error) {
				next, err := b.Start(bookBy)
				next.Due = bookBy.Add(8 * time.Hour)
				return next, err
			}
		}},

		"a fence is not checked before Cancel": {model.TwoCancels, cancels, model.Breaks{NoFence: true}, nil},
		"a lost answer sends again": {model.TwoCancels, cancels, model.Breaks{}, func(r *rules) {
			r.Answered = func(c durable.Cancellation, at time.Time, resp *hotelstays.CancelResponse, err error,
				states hotelstays.OrderStates) durable.Cancellation {
				if hotelstays.KindOf(err) == hotelstays.KindOutcomeUnknown {
					err = errors.New("not sent")
				}
				return c.Answered(at, resp, err, states)
			}
		}},
		"Cancel leaves after its time": {model.FalseEnding, cancels, model.Breaks{SendLate: true}, nil},
		"an order stands one poll early": {model.FalseEnding, cancels, model.Breaks{}, func(r *rules) {
			r.Read = func(c durable.Cancellation, at time.Time, order *types.Order, states hotelstays.OrderStates) durable.Cancellation {
				return c.Read(at.Add(3*time.Minute), order, states)
			}
		}},
		"a fence is not checked before OnCancel": {model.Twice, cancels, model.Breaks{NoFence: true}, nil},
		"OnCancel has a transaction of its own":  {model.Twice, cancels, model.Breaks{DeliverApart: true}, nil},
		"a lost answer is never due": {model.NeverEnds, cancels, model.Breaks{}, func(r *rules) {
			r.Answered = func(c durable.Cancellation, at time.Time, resp *hotelstays.CancelResponse, err error,
				states hotelstays.OrderStates) durable.Cancellation {
				c = c.Answered(at, resp, err, states)
				c.Due = c.Due.Add(8 * time.Hour)
				return c
			}
		}},
		"the mark is never due": {model.NeverEnds, cancels, model.Breaks{}, func(r *rules) {
			r.StartCancel = func(c durable.Cancellation, at, sendBy time.Time, order *types.Order,
				states hotelstays.OrderStates) (durable.Cancellation, error) {
				c, err := c.Start(at, sendBy, order, states)
				if !c.SendBy.IsZero() {
					c.Due = at.Add(8 * time.Hour)
				}
				return c, err
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, given := worlds()[planted.world]
			if !given {
				w = worlds()["one clock"]
			}
			switch {
			case !given, w.Cancels:
				w = small(w)
			case w.Skew > 0:
				w.Rounds = 1
			}
			w.Breaks, w.Only = planted.breaks, planted.violates
			assert.Equal(t, planted.violates, search(t, w, planted.change).Violated)
		})
	}
}

// The promises rest on these assumptions.
func TestSearchFindsWhatNoAssumptionCovers(t *testing.T) {
	late := small(worlds()["one clock"])
	late.ShowsWithin += time.Minute
	assert.Equal(t, model.FalseAbsent, search(t, late, nil).Violated, "an order shows later than ten minutes after its Book")
	apart := small(worlds()["two clocks"])
	apart.Skew = 4 * durable.ClockMargin
	assert.Equal(t, model.FalseAbsent, search(t, apart, nil).Violated, "clocks differ by more than ClockMargin")
}
